"""What is frozen of estimates, plans and audits; and all cases by the file that keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from frozen import api
from frozen.counts import (
    BY_VALUE,
    CATEGORICAL,
    CHANNELS,
    FUSED,
    NUMBERS,
    PAIRS,
    PURE,
    SETS,
    SURVEYS,
    Cases,
    channel,
    counted,
    digest,
    draws,
    epsilon,
    fused,
    load,
    many,
    personal_draws,
    personal_epsilons,
    some_values,
    stream,
    tally_cases,
)


def group_case(name: str) -> Any:
    """Reports of one channel, drawn as its device draws."""
    random, built = stream(f"group {name}"), channel(name)
    drawn = [api.draw(built, int(value), random) for value in some_values(name, CHANNELS[name][1], 400)]
    if isinstance(drawn[0], str):
        rows = np.frombuffer(bytes.fromhex("".join(map(str, drawn))), np.uint8).reshape(len(drawn), -1)
        return api.group_shares(built, rows)
    return api.group_shares(built, np.array(drawn))


BASKETS = [["bread"], ["milk", "bread"], ["fish", "milk", "bread"], ["beer", "medicine"]]
POOLS, TARGETS = ("precision", "size"), ("population", "respondents")
CUTS = ("norm-sub", "norm-cut", "base-cut")


def choices_of(survey: str) -> list[str]:
    return api.question_names(load(survey), "choice")


def closed() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in CATEGORICAL:
        yield f"group, {name}", partial(group_case, name)
    for survey in ("every_kind", "commute", "health"):
        for question in choices_of(survey):
            for pool, target in product(POOLS, TARGETS):
                yield (
                    f"shares, {survey}, {question}, {pool}, {target}",
                    lambda s=survey, q=question, p=pool, t=target: api.frequencies(
                        counted(s), q, method="unbiased", pool=p, target=t
                    ),
                )
            for cut in CUTS:
                yield (
                    f"{cut}, {survey}, {question}",
                    lambda s=survey, q=question, c=cut: api.consistent(counted(s), q, c),
                )
    for survey in ("hidden", "capped"):
        for question, target in product(choices_of(survey), TARGETS):
            yield (
                f"moments, {survey}, {question}, {target}",
                lambda s=survey, q=question, t=target: api.frequencies(counted(s), q, method="unbiased", target=t),
            )
    for mechanism in ("krr", "sue", "oue"):
        yield f"personal {mechanism}", partial(personal_case, mechanism)
    for survey, pairs in PAIRS.items():
        for (one, two), pool in product(pairs, POOLS):
            yield (
                f"table, {survey}, {one} × {two}, {pool}",
                lambda s=survey, a=one, b=two, p=pool: api.two_way(counted(s), a, b, p),
            )
    for pool, target in product(POOLS, TARGETS):
        yield (
            f"supports, {pool}, {target}",
            lambda p=pool, t=target: api.supports(counted("every_kind"), "item_set", BASKETS, target=t, pool=p),
        )
        for control in ("any", "each"):
            yield (
                f"itemsets, {control}, {pool}, {target}",
                lambda c=control, p=pool, t=target: api.itemsets(
                    counted("every_kind"), "item_set", 0.1, control=c, target=t, pool=p
                ),
            )


def personal_case(mechanism: str) -> Any:
    return api.personal_frequencies(mechanism, personal_draws(mechanism), personal_epsilons(mechanism), 10)


# --- fits ---


def fits() -> Iterator[tuple[str, Callable[[], Any]]]:
    for survey in ("every_kind", "commute", "health", "hidden", "capped"):
        for question in choices_of(survey):
            for target in TARGETS:
                yield (
                    f"likelihood, {survey}, {question}, {target}",
                    lambda s=survey, q=question, t=target: api.frequencies(
                        counted(s, patterns=True), q, method="likelihood", target=t
                    ),
                )
            yield (
                f"shrunk, {survey}, {question}",
                lambda s=survey, q=question: api.consistent(counted(s, patterns=True), q, "shrunk"),
            )
    for survey, pairs in PAIRS.items():
        for one, two in pairs:
            yield (
                f"table, {survey}, {one} × {two}",
                lambda s=survey, a=one, b=two: api.consistent_table(counted(s), a, b),
            )
    for services in FUSED:
        yield f"likelihood, {' + '.join(services)}", lambda s=services: api.fused_likelihood(fused(*s))


def densities() -> Iterator[tuple[str, Callable[[], Any]]]:
    for question in (*NUMBERS, "mixed_number"):
        yield f"density, {question}", lambda q=question: api.density(api.number_tally(counted("every_kind"), q))
        for method, target in product(("weights", "fitted"), TARGETS):
            yield (
                f"mean, {question}, {method}, {target}",
                lambda q=question, m=method, t=target: api.mean(
                    api.number_tally(counted("every_kind"), q), method=m, target=t, pool="precision"
                ),
            )
    for services in FUSED[1:]:
        for method, target in product(("weights", "average", "posterior", "fitted"), TARGETS):
            for pool in POOLS if method == "weights" else POOLS[:1]:
                yield (
                    f"mean, {' + '.join(services)}, {method}, {target}, {pool}",
                    lambda s=services, m=method, t=target, p=pool: api.mean(fused(*s), method=m, target=t, pool=p),
                )
    yield "density, pm + sw + laplace", lambda: api.density(fused("pm", "sw", "laplace"))


def arithmetic() -> Any:
    """Sums as this machine's linear algebra rounds them."""
    square = (some_values("arithmetic", 1 << 20, 96 * 96) / 2.0**20).reshape(96, 96)
    product = square @ square.T + np.eye(96)
    return digest(np.stack([product, np.linalg.inv(product), np.linalg.cholesky(product)]))[2]


# --- plans and audits ---


def plans() -> Iterator[tuple[str, Callable[[], Any]]]:
    for survey in ("commute", "health", "hidden", "capped"):
        yield survey, lambda survey=survey: api.plan_numbers(load(survey), 10_000)
    yield (
        "commute with shares and mix",
        lambda: api.plan_numbers(
            load("commute"), 5000, shares={"late": [0.3, 0.7]}, level_mix={"strict": 1, "standard": 2, "open": 3}
        ),
    )
    yield "commute, levels hidden", lambda: api.plan_numbers(load("commute"), 5000, hide_level=1)


def audits() -> Iterator[tuple[str, Callable[[], Any]]]:
    for survey in SURVEYS:
        yield survey, lambda survey=survey: api.audit_numbers(load(survey))
    for name in (*PURE, *BY_VALUE, SETS, *NUMBERS, "label"):
        yield name, lambda name=name: api.audit_numbers(name)


FILES: dict[str, Cases] = {
    "draws": dict(draws()),
    "many_draws": dict(many()),
    "epsilon": dict(epsilon()),
    "tallies": dict(tally_cases()),
    "closed_forms": dict(closed()),
    "fits": dict(fits()),
    "densities": dict(densities()),
    "plans": dict(plans()),
    "audits": dict(audits()),
}
