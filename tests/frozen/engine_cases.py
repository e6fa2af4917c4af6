"""Estimates of every way to ask, as they were before one engine decoded all of them; `make_engine` keeps them.

A *row* is what is asked, how levels are hidden, how levels are pooled and what is known. Its numbers come from the
verbs that everybody calls and from reports that a seed makes, whose counts are digested beside them: where estimates
differ, a digest says whether it is the reports that changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np

import pldp
from pldp.estimates import Result, SetSupports, baskets_of, estimate_fused, supports
from pldp.simulate import Population, simulate_reports
from pldp.tallies import Fused, Tally, join_services, keyed_reports

Question = dict[str, Any]
Numbers = dict[str, Any]

PEOPLE = 20_000
FUSED_PEOPLE, GIVE = 9_000, 6_000
"""People of two services, who are 0 to 6,000 and 3,000 to 9,000: a third of them gives to both."""

TWO = {"strict": 1, "open": 3}
THREE = {"strict": 0.5, "standard": 1, "open": 3}
CONFIDENCE = 0.95
LABELS = [f"v{place}" for place in range(8)]
ITEMS = [f"i{place}" for place in range(6)]
HIDING = {False: "shown", True: "hidden"}


# --- reports ---


@cache
def _survey(content: str) -> pldp.Survey:
    return pldp.Survey.read(json.loads(content))


def content_of(
    questions: Sequence[Question], *, hidden: bool, levels: Mapping[str, float] | None = None, label: float = 1
) -> str:
    """Return the survey file that asks these questions at two levels, or at others."""
    content = {"pldp": 1, "title": "Frozen", "levels": levels or TWO, "questions": questions}
    return json.dumps(content | ({"hide_level": {"epsilon": label}} if hidden else {}))


@cache
def counted(content: str, *pairs: tuple[str, ...], people: int = PEOPLE) -> Tally:
    """Return the tally of people with falling shares, and of these questions together."""
    survey = _survey(content)
    population = Population.of_shares(survey, people, seed=1)
    return pldp.tally(survey, simulate_reports(survey, population, seed=1), patterns=True, pairs=pairs)


@cache
def joined(*contents: str) -> Fused:
    """Return what two or more services know of the same people; each survey asks one question, named x."""
    drawn = Population.of_shares(_survey(contents[0]), FUSED_PEOPLE, seed=5).values["x"]
    services = []
    for place, content in enumerate(contents):
        survey, first = _survey(content), place * (FUSED_PEOPLE - GIVE) // max(1, len(contents) - 1)
        chosen = slice(first, first + GIVE)
        levels = np.random.default_rng(place).integers(0, len(survey.levels), GIVE).astype(np.uint8)
        people = Population({"x": drawn[chosen]}, {"x": levels})
        reports = simulate_reports(survey, people, seed=place + 1)
        services.append(keyed_reports(f"s{place}", survey, reports, range(first, first + GIVE)))
    return join_services(services)["x"]


def digest(tallied: Tally | Fused) -> str:
    """Return the SHA-256 of all counts, so that other reports are not taken for another estimate."""
    if isinstance(tallied, Fused):
        arrays = [tallied.cells, tallied.counts]
    else:
        every = [*sorted(tallied.counts.items()), *sorted(tallied.pairs.items(), key=str)]
        arrays = [array for _, counts in every for _, array in sorted(counts.arrays().items())]
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).astype("<i8"))
    return whole.hexdigest()


# --- numbers ---


def numbers_of(result: Result | SetSupports) -> Numbers:
    """Return everything that a reader sees of an estimate."""
    estimates = result.support if isinstance(result, SetSupports) else result.estimates
    ends = result.interval(CONFIDENCE)
    test, levels = result.homogeneity, getattr(result, "levels", ())
    labels = result.sets if isinstance(result, SetSupports) else result.labels
    return {
        "labels": [label if isinstance(label, str) else " × ".join(label) for label in labels],
        "estimates": np.ravel(estimates).tolist(),
        "standard errors": np.ravel(result.standard_error).tolist(),
        "low": np.ravel(ends.low).tolist(),
        "high": np.ravel(ends.high).tolist(),
        "manipulation": float(result.manipulation),
        "test": None if test is None else [test.statistic, test.degrees, test.tests, test.p_value, test.noticed],
        "levels": [level.share for level in levels],
    }


def _row(tallied: Callable[[], Any], estimate: Callable[[Any], Result | SetSupports | None]) -> Numbers:
    made = tallied()
    result = estimate(made)
    if result is None:
        raise AssertionError("no such estimate")
    return {"reports": digest(made), **numbers_of(result)}


DIFFER: Mapping[str, float | None] = {"precision": 0, "size": None}
"""What ways to pool levels say about how much they differ."""


def _of_question(tallied: Tally, pool: str = "precision", **options: Any) -> Result:
    return pldp.estimate(tallied, "x", differ=DIFFER[pool], **options)


Rows = Iterator[tuple[str, Callable[[], Numbers]]]


def _both_pools(name: str, content: str, **options: Any) -> Rows:
    """Yield one question's estimate by precision and by size."""
    for pool in DIFFER:
        yield f"{name}, {pool}", partial(_row, partial(counted, content), partial(_of_question, pool=pool, **options))


# --- shares of one label ---


def _choice(mechanism: str, values: Sequence[str] = LABELS) -> Question:
    fractions = {"fractions": {"v0": "1/2", "v1": "1/2"}} if mechanism in PER_VALUE else {}
    return {"name": "x", "values": list(values), "mechanism": mechanism} | fractions


PER_VALUE = ("iprr", "subset_items", "idue")
MECHANISMS = ("krr", "subset", "iprr", "projective", "pairs", "lh", "subset_items", "sue", "oue", "idue")
KNOWN = {"known": {"strict": 0.5}, "bounded": {"strict": (0.4, 0.6)}}
BOUNDED_THREE = {"strict": (0.2, 0.5), "open": (0.25, 0.4)}


def shares() -> Rows:
    for mechanism, hidden in product(MECHANISMS, (False, True)):
        content = content_of([_choice(mechanism)], hidden=hidden)
        yield from _both_pools(f"{mechanism} {HIDING[hidden]}", content)
    for mechanism, hidden in product(("krr", "subset", "sue"), (False, True)):
        content = content_of([_choice(mechanism, LABELS[:6])], hidden=hidden, levels=THREE)
        yield from _both_pools(f"{mechanism} three levels {HIDING[hidden]}", content)
    for mechanism, hidden in product(("krr", "subset"), (False, True)):
        content = content_of([_choice(mechanism)], hidden=hidden)
        yield from _both_pools(f"{mechanism} respondents {HIDING[hidden]}", content, target="respondents")
    for mechanism, (name, mix) in product(("krr", "subset", "sue"), KNOWN.items()):
        tallied = partial(counted, content_of([_choice(mechanism)], hidden=True))
        yield f"{mechanism} hidden, mix {name}", partial(_row, tallied, partial(_of_question, mix=mix))
    tallied = partial(counted, content_of([_choice("krr", LABELS[:6])], hidden=True, levels=THREE))
    yield "krr three levels hidden, mix bounded", partial(_row, tallied, partial(_of_question, mix=BOUNDED_THREE))
    for mechanism, hidden in product(("krr", "sue", "lh"), (False, True)):
        tallied = partial(counted, content_of([_choice(mechanism)], hidden=hidden))
        yield (
            f"{mechanism} {HIDING[hidden]}, likelihood",
            partial(_row, tallied, partial(_of_question, method="likelihood")),
        )


# --- items and sets of items ---


def _set(name: str = "x", items: Sequence[str] = ITEMS, **keys: Any) -> Question:
    return {"name": name, "kind": "choices", "values": list(items), **keys}


SETS: Mapping[str, dict[str, Any]] = {
    "item_set": {},
    "boxes": {"budget": "set"},
    "privset": {"budget": "set", "at_most": 2},
}
TWO_ITEMS, THREE_ITEMS = (tuple(combinations(ITEMS, size)) for size in (2, 3))


def _supports(tallied: Tally, sets: Sequence[Sequence[str]], pool: Any) -> SetSupports:
    return supports(*baskets_of(tallied, "x"), sets, differ=DIFFER[pool])


def _sets_found(tallied: Tally | Fused, estimate: Callable[[Any], Any]) -> SetSupports | None:
    """Return the sets that a search reports."""
    found = estimate(tallied)
    return None if found is None else found.sets


def sets() -> Rows:
    for (name, keys), hidden in product(SETS.items(), (False, True)):
        content = content_of([_set(**keys)], hidden=hidden)
        yield from _both_pools(f"{name} {HIDING[hidden]}", content, largest=1)
    for words, asked in {"pairs": TWO_ITEMS, "triples": THREE_ITEMS}.items():
        for hidden, pool in ((False, "precision"), (False, "size"), (True, "precision")):
            tallied = partial(counted, content_of([_set()], hidden=hidden))
            estimate = partial(_supports, sets=asked, pool=pool)
            yield f"{words} of items {HIDING[hidden]}, {pool}", partial(_row, tallied, estimate)
    search = {"largest": 3, "min_support": 0.001}
    for hidden in (False, True):
        tallied = partial(counted, content_of([_set()], hidden=hidden))
        for pool in DIFFER:
            found = partial(_sets_found, estimate=partial(_of_question, pool=pool, **search))
            yield f"search of sets {HIDING[hidden]}, {pool}", partial(_row, tallied, found)
    for name, mix in KNOWN.items():
        tallied = partial(counted, content_of([_set()], hidden=True))
        yield f"item_set hidden, mix {name}", partial(_row, tallied, partial(_of_question, mix=mix, largest=1))


# --- means ---


def _number(name: str = "x", buckets: int = 48, **keys: Any) -> Question:
    return {"name": name, "kind": "number", "low": 0, "high": 100, "buckets": buckets, **keys}


def numbers() -> Rows:
    for mechanism, hidden in product(("sw", "pm", "sr"), (False, True)):
        content = content_of([_number(mechanism=mechanism, purpose="mean")], hidden=hidden)
        yield from _both_pools(f"mean {mechanism} {HIDING[hidden]}", content)
    for hidden in (False, True):
        content = content_of([_number(mechanism="sw")], hidden=hidden)
        yield f"number sw {HIDING[hidden]}", partial(_row, partial(counted, content), _of_question)
    for name, mix in KNOWN.items():
        content = content_of([_number(mechanism="pm", purpose="mean")], hidden=True)
        yield f"mean pm hidden, mix {name}", partial(_row, partial(counted, content), partial(_of_question, mix=mix))


# --- tables ---

ASKED: Mapping[str, Question] = {
    "c": {"name": "c", "values": list("abcd")},
    "d": {"name": "d", "values": list("efg"), "mechanism": "sue"},
    "b": _set("b", "pqr"),
    "n": _number("n", 64),
}
TABLES = (("c", "d"), ("c", "b"), ("c", "d", "b"), ("c", "n"))


def _table(tallied: Tally, names: Sequence[str], pool: str = "precision", **options: Any) -> Result:
    verb: Any = pldp.two_way if len(names) == 2 else pldp.three_way
    return verb(tallied, *names, differ=DIFFER[pool], **options)


def tables() -> Rows:
    for names, hidden, pool in product(TABLES, (False, True), ("precision", "size")):
        tallied = partial(counted, content_of([ASKED[name] for name in names], hidden=hidden), names)
        estimate = partial(_table, names=names, pool=pool)
        yield f"table {' × '.join(names)} {HIDING[hidden]}, {pool}", partial(_row, tallied, estimate)
    for names in TABLES:
        tallied = partial(counted, content_of([ASKED[name] for name in names], hidden=True), names)
        estimate = partial(_table, names=names, mix=KNOWN["known"])
        yield f"table {' × '.join(names)} hidden, mix known", partial(_row, tallied, estimate)


# --- several services ---

SERVICES: Mapping[str, Sequence[tuple[str, bool]]] = {
    "none hides": (("krr", False), ("krr", False)),
    "one hides": (("krr", True), ("krr", False)),
    "two hide": (("subset", True), ("subset", True)),
    "three mechanisms": (("krr", False), ("subset", True), ("oue", False)),
}


def fused() -> Rows:
    for name, services in SERVICES.items():
        contents = [content_of([_choice(mechanism, LABELS[:4])], hidden=hidden) for mechanism, hidden in services]
        for pool in ("precision", "size"):
            estimate = partial(estimate_fused, differ=DIFFER[pool], method="unbiased")
            yield f"fused shares, {name}, {pool}", partial(_row, partial(joined, *contents), estimate)
        estimate = partial(estimate_fused, method="likelihood", differ=0)
        yield f"fused shares, {name}, likelihood", partial(_row, partial(joined, *contents), estimate)
    for name, hides in {"none hides": (False, False), "one hides": (True, False), "two hide": (True, True)}.items():
        contents = [content_of([_set(items=ITEMS[:4])], hidden=hidden) for hidden in hides]
        for pool in ("precision", "size"):
            estimate = partial(estimate_fused, differ=DIFFER[pool], largest=2, min_support=0.001)
            yield f"fused items, {name}, {pool}", partial(_row, partial(joined, *contents), estimate)
            found = partial(_sets_found, estimate=estimate)
            yield f"fused sets, {name}, {pool}", partial(_row, partial(joined, *contents), found)
    for pool in ("precision", "size"):
        for name, hides in {"none hides": (False, False), "one hides": (True, False)}.items():
            asked = zip(("sw", "pm"), hides, strict=True)
            contents = [content_of([_number(mechanism=each, purpose="mean")], hidden=hidden) for each, hidden in asked]
            estimate = partial(estimate_fused, differ=DIFFER[pool], method="weights")
            yield f"fused means, {name}, {pool}", partial(_row, partial(joined, *contents), estimate)


ROWS: Mapping[str, Callable[[], Numbers]] = dict(
    row for family in (shares, sets, numbers, tables, fused) for row in family()
)
"""All rows by their names."""
