"""The core table: clients, tally, maximum likelihood, one device, large domains, and cost per person as n grows.

The upper half runs in fresh child processes (`python -m benchmarks.core CASE ARGUMENTS`), the lower half starts them
and makes rows of what they return.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import (
    Clock,
    Context,
    Row,
    cost_text,
    fastest_peer,
    memory_text,
    rate,
    rate_text,
    run_child,
    serve,
)
from pldp import Device, Survey, tally
from pldp.estimates import Shares, frequencies
from pldp.mechanisms import build
from pldp.papers.groups import Group, group, maximum_likelihood
from pldp.simulate import Population, perturb, perturb_personal, simulate_reports
from pldp.survey import survey_from_mapping

TITLE = "Core: mechanisms, tallies, estimates, device"

MODULES = ("benchmarks.core", "benchmarks.peers_core")
SEED = 20
MILLION = 1_000_000
"""Also ε = 1 in millionths."""

FOUR_LEVELS = {"strict": "0.5", "standard": "1", "open": "2", "very open": "4"}
GAP = 1e-8
REPEATS = 3
"""Runs in each process, the same for every side; the best one counts."""


# Cases: each runs in a process of its own


def krr(values: str, size: int, repeats: int) -> dict[str, Any]:
    """k-RR with a different ε for every person."""
    generator = np.random.default_rng(SEED)
    perturb_personal("krr", np.arange(size), size, np.ones(size), generator)
    clock = Clock()
    own = np.load(values)
    epsilon = np.random.default_rng(SEED).uniform(0.5, 2.0, len(own))
    clock.time(lambda: perturb_personal("krr", own, size, epsilon, generator), repeats=repeats)
    return clock.result(len(own))


def oue(values: str, size: int, repeats: int) -> dict[str, Any]:
    """OUE with one ε; the reports are packed bits, kept in memory."""
    encoding, generator = build("oue", size, MILLION), np.random.default_rng(SEED)
    perturb(encoding, np.arange(size), generator)
    clock = Clock()
    own = np.load(values)
    clock.time(lambda: perturb(encoding, own, generator), repeats=repeats)
    return clock.result(len(own))


def krr_server(people: int, size: int, repeats: int) -> dict[str, Any]:
    """Check and count k-RR reports of four levels; the batches are made before the clock runs."""
    survey = _survey("krr", size, FOUR_LEVELS)
    tally(survey, iter(_batches(survey, 1000)))
    clock = Clock()
    batches = _batches(survey, people)
    counted = clock.time(lambda: tally(survey, iter(batches)), repeats=repeats)
    return clock.result(people, accepted=counted.reports)


def fit(mechanism: str, people: int, size: int, repeats: int) -> dict[str, Any]:
    """Maximum likelihood over ten groups with ε from 0.2 to 2; the reports are counted before the clock runs."""
    survey = _survey(mechanism, size, {f"level {tenths}": f"{tenths / 10}" for tenths in range(2, 21, 2)})
    maximum_likelihood(_groups(survey, 1000), gap=1.0)
    clock = Clock()
    groups = _groups(survey, people)
    found = clock.time(lambda: maximum_likelihood(groups, gap=GAP), repeats=repeats)
    return clock.result(people, steps=found.steps, gap=found.gap, converged=found.converged)


def device(mechanism: str, size: int, people: int, repeats: int) -> dict[str, Any]:
    """One answer each of many new devices; making the devices is not timed."""
    survey = _survey(mechanism, size, {"standard": "1"})
    labels = survey.questions[0].values
    _answer_all([(Device(survey), labels[0])])
    clock = Clock()
    for _ in range(repeats):
        asked = [(Device(survey), labels[number % size]) for number in range(people)]
        clock.time(lambda: _answer_all(asked), repeats=1)  # noqa: B023 - runs at once
    return clock.result(people)


def hash_server(people: int, size: int, repeats: int) -> dict[str, Any]:
    """Check and count LH reports and find the support of all values."""
    survey = _survey("lh", size, {"standard": "1"})
    _support(survey, _batches(survey, 1000))
    clock = Clock()
    batches = _batches(survey, people, uniform=True)
    clock.time(lambda: _support(survey, batches), repeats=repeats)
    return clock.result(people)


def hash_accuracy(people: int, size: int, repeats: int) -> dict[str, Any]:
    """Return the mean squared error of LH shares over all values in each of several repeats."""
    survey = _survey("lh", size, {"standard": "1"})
    clock, errors = Clock(), []
    for seed in range(repeats):
        population = Population.of_shares(survey, people, {"value": [1.0] * size}, seed=seed)
        shares = _estimate(survey, population, seed).shares
        errors.append(float(np.mean((shares - population.shares(survey.questions[0])) ** 2)))
    return clock.result(people, squared_errors=errors)


def whole(people: int, size: int, repeats: int) -> dict[str, Any]:
    """From people to shares: perturb, tally batch by batch, estimate. Drawing the people themselves is not timed."""
    survey = _survey("krr", size, FOUR_LEVELS)
    _estimate(survey, Population.of_shares(survey, 1000, seed=SEED), SEED)
    clock = Clock()
    population = Population.of_shares(survey, people, seed=SEED)
    drawn = clock.result(people)["peak_bytes"]
    estimate = clock.time(lambda: _estimate(survey, population, SEED), repeats=repeats)
    return clock.result(people, accepted=estimate.reports, peak_bytes_of_drawing_people=drawn)


def _survey(mechanism: str, size: int, levels: Mapping[str, str]) -> Survey:
    question = {"name": "value", "values": [f"value {number}" for number in range(size)], "mechanism": mechanism}
    document = {"pldp": 1, "title": "Benchmark", "levels": dict(levels), "questions": [question]}
    return survey_from_mapping(document)


def _batches(survey: Survey, people: int, *, uniform: bool = False) -> list[pa.RecordBatch]:
    shares = {"value": [1.0] * len(survey.questions[0].values)} if uniform else None
    population = Population.of_shares(survey, people, shares, seed=SEED)
    return list(simulate_reports(survey, population, seed=SEED))


def _groups(survey: Survey, people: int) -> list[Group]:
    counted = tally(survey, iter(_batches(survey, people)), patterns=True)
    question = survey.questions[0]
    pairs = zip(question.levels, question.channels, strict=True)
    return [group(used, counted.counts[question.name, level.name]) for level, used in pairs]


def _estimate(survey: Survey, population: Population, seed: int) -> Shares:
    return frequencies(tally(survey, simulate_reports(survey, population, seed=seed)), "value")


def _answer_all(asked: list[tuple[Device, str]]) -> None:
    for one, label in asked:
        one.answer("value", label)


def _support(survey: Survey, batches: list[pa.RecordBatch]) -> Any:
    counted = tally(survey, iter(batches))
    return group(survey.questions[0].channels[0], counted.counts["value", "standard"]).support


CASES = (krr, oue, krr_server, fit, device, hash_server, hash_accuracy, whole)


# Rows


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows of one section after the other."""
    yield _client_rows(context)
    yield _tally_rows(context)
    yield _fit_rows(context)
    yield _device_rows(context)
    yield _large_domain_rows(context)
    yield _linearity_rows(context)


def _client_rows(context: Context) -> list[Row]:
    """Clients of k-RR and OUE, beside both peers."""
    people = context.people(MILLION)
    few = people // 10
    name = f"k-RR client, an ε per person (peers: one ε), k=128, {_size(people)} people"
    rows = [_contest_row(name, _client_contest(context, "krr", 128, people, rounds=3), unit="people", target=20)]
    sides = _client_contest(context, "oue", 128, few)
    rows.append(_contest_row(f"OUE client, k=128, {_size(people)} people", sides, unit="people", target=10))
    sides = _client_contest(context, "oue", 1024, few, rounds=1)
    rows.append(_contest_row(f"OUE client, k=1024, {_size(people)} people", sides, unit="people"))
    return [*rows, _memory_row(sides, people, 1024)]


def _client_contest(context: Context, case: str, size: int, peer_people: int, *, rounds: int = 2) -> dict[str, Any]:
    """Let all sides perturb the same people, peers only the first ones where they would take too long."""
    values = _save_values(context, context.people(MILLION), size)
    ours = {"values": values, "size": size, "repeats": REPEATS}
    return context.contest(MODULES, case, ours, {**ours, "people": peer_people}, rounds=rounds)


def _save_values(context: Context, people: int, size: int) -> str:
    """Write everybody's values to a file, so that all sides perturb the same."""
    path = context.folder / f"values-{size}-{people}.npy"
    np.save(path, np.random.default_rng(SEED).integers(0, size, people))
    return str(path)


def _contest_row(what: str, sides: Mapping[str, Any], *, unit: str, target: float = 0) -> Row:
    """Make a row of rates: units per CPU second, ours over the fastest peer's."""
    best = fastest_peer(sides)
    ratio = None if best is None else rate(sides["pldp"]) / rate(sides[best])
    return Row(
        what=what,
        ours=rate_text(sides["pldp"], unit),
        peer=_peer_text(sides, best, unit),
        ratio=ratio,
        target=f"≥ {target:g} ×" if target else "–",
        met=ratio >= target if target and ratio is not None else None,
        memory=_memory_of(sides, best),
        raw=sides,
    )


def _peer_text(sides: Mapping[str, Any], best: str | None, unit: str) -> str:
    if best is None:
        return "–"
    measured = sides[best]
    smaller = f", n={_size(measured['count'])}" if measured["count"] != sides["pldp"]["count"] else ""
    return f"{rate_text(measured, unit)} ({best}{smaller})"


def _memory_of(sides: Mapping[str, Any], best: str | None) -> str:
    own = memory_text(sides["pldp"]["peak_bytes"])
    if best is None:
        return own
    measured = sides[best]
    smaller = f" at n={_size(measured['count'])}" if measured["count"] != sides["pldp"]["count"] else ""
    return f"{own} (peer {memory_text(measured['peak_bytes'])}{smaller})"


def _memory_row(sides: Mapping[str, Any], people: int, size: int) -> Row:
    """Peak memory of holding all OUE reports; the peers' is scaled up to the same number of people."""
    limit = 200 * people
    own = sides["pldp"]["peak_bytes"]
    peers = {side: part for side, part in sides.items() if side != "pldp"}
    scaled = {peer: round(part["peak_bytes"] / part["count"] * people) for peer, part in peers.items()}
    best = min(scaled, key=scaled.__getitem__, default=None)
    beside = "–" if best is None else f"{memory_text(scaled[best])} ({best}, n={_size(peers[best]['count'])} scaled)"
    return Row(
        what=f"OUE reports in memory, k={size}, {_size(people)} people",
        ours=memory_text(own),
        peer=beside,
        ratio=None if best is None else scaled[best] / own,
        target=f"≤ {memory_text(limit)}",
        met=own <= limit,
        memory=memory_text(own),
        raw={"pldp": own, "peers_scaled": scaled},
    )


def _tally_rows(context: Context) -> list[Row]:
    """Counting k-RR reports from Arrow batches in memory."""
    people, size = context.people(10 * MILLION), 128
    ours = {"people": people, "size": size, "repeats": REPEATS}
    sides = context.contest(MODULES, "krr_server", ours, {**ours, "people": people // 10})
    best, seconds, limit = fastest_peer(sides), min(sides["pldp"]["seconds"]), people / (10 * MILLION)
    return [
        Row(
            what=f"Tally of {_size(people)} k-RR reports, k={size}, four levels, every report checked",
            ours=f"{seconds:.2f} s",
            peer=_peer_text(sides, best, "reports").replace(" (", " unchecked ("),
            ratio=None if best is None else rate(sides["pldp"]) / rate(sides[best]),
            target=f"≤ {limit:g} s",
            met=seconds <= limit,
            memory=f"{memory_text(sides['pldp']['peak_bytes'])}, reports included",
            raw=sides,
        )
    ]


def _fit_rows(context: Context) -> list[Row]:
    """Maximum likelihood to a certified gap."""
    people, size, rows = context.people(100_000), 1024, []
    limits = {"krr": 2, "lh": 2, "oue": None}
    shared = {"people": people, "size": size, "repeats": REPEATS}
    found = context.rounds(MODULES[0], "fit", [{"mechanism": name, **shared} for name in limits], rounds=2)
    for (mechanism, limit), measured in zip(limits.items(), found, strict=True):
        seconds = min(measured["seconds"])
        rows.append(
            Row(
                what=f"Maximum likelihood, {mechanism}, k={size}, ten groups ε 0.2 … 2, {_size(people)} reports",
                ours=f"{seconds:.2f} s ({measured['steps']} steps, gap {measured['gap']:.0e})",
                target="–" if limit is None else f"≤ {limit} s, gap ≤ {GAP:.0e}",
                met=None if limit is None else seconds <= limit and measured["converged"],
                memory=memory_text(measured["peak_bytes"]),
                raw=measured,
            )
        )
    return rows


def _device_rows(context: Context) -> list[Row]:
    """One report on a device, and what it takes to start."""
    rows = []
    shared = {"people": context.people(10_000), "repeats": REPEATS}
    variants = [{"mechanism": name, "size": size, **shared} for name, size in (("krr", 16), ("oue", 128), ("lh", 1024))]
    for variant, measured in zip(variants, context.rounds(MODULES[0], "device", variants), strict=True):
        seconds = 1 / rate(measured)
        rows.append(
            Row(
                what=f"One report of a new device, {variant['mechanism']}, k={variant['size']}",
                ours=f"{seconds * 1e6:.1f} µs",
                target="≤ 40 µs",
                met=seconds <= 40e-6,
                raw=measured,
            )
        )
    return [*rows, _import_row(context)]


def _import_row(context: Context) -> Row:
    """CPU time of `import pldp.device` in a fresh process, median of seven, with all that it imports."""
    context.say("  pldp import pldp.device")
    code = (
        "import time; start = time.process_time(); import pldp.device; seconds = time.process_time() - start;"
        "import json, sys; print(json.dumps({'seconds': seconds, 'numpy': 'numpy' in sys.modules}))"
    )
    runs = [run_child([sys.executable, "-c", code], dict(os.environ)) for _ in range(7)]
    seconds, with_numpy = statistics.median(each["seconds"] for each in runs), any(each["numpy"] for each in runs)
    return Row(
        what="import pldp.device, median of 7",
        ours=f"{seconds:.3f} s, {'with' if with_numpy else 'without'} NumPy",
        target="≤ 0.1 s, no NumPy",
        met=seconds <= 0.1 and not with_numpy,
        raw={"runs": runs},
    )


def _large_domain_rows(context: Context) -> list[Row]:
    """Server cost per report and accuracy of local hashing for 1,024 values at ε = 1."""
    size, few, some, many = 1024, 1000, context.people(100_000), context.people(MILLION)
    arguments = {"size": size, "repeats": REPEATS}
    sides = context.contest(MODULES, "hash_server", {**arguments, "people": few}, {**arguments, "people": few})
    variants = [{**arguments, "people": people} for people in (some, many)]
    at_some, at_many = context.rounds(MODULES[0], "hash_server", variants, rounds=2)
    response = context.peer(MODULES[1], "hadamard", "pure-ldp", **{**arguments, "people": some, "repeats": 4})
    name = f"LH server, support of all k={size} values"
    rows = [
        _cost_row(f"{name}, beside OLH, all with n={_size(few)}", sides),
        _cost_row(f"{name}, n={_size(many)} (OLH's cost per report does not fall with n)", {**sides, "pldp": at_many}),
    ]
    if response is not None:
        beside = {"pldp": at_some, "pure-ldp Hadamard response": response}
        rows.append(_cost_row(f"{name}, beside Hadamard response, all with n={_size(some)}", beside))
    return [*rows, _accuracy_row(context, size, sides, response)]


def _cost_row(what: str, sides: Mapping[str, Any]) -> Row:
    """Make a row of CPU time per report."""
    best = fastest_peer(sides)
    cost = {side: cost_text(measured, "report") for side, measured in sides.items()}
    return Row(
        what=what,
        ours=cost["pldp"],
        peer="–" if best is None else f"{cost[best]} ({best}, n={_size(sides[best]['count'])})",
        ratio=None if best is None else rate(sides["pldp"]) / rate(sides[best]),
        memory=_memory_of(sides, best),
        raw=sides,
    )


def _accuracy_row(context: Context, size: int, sides: Mapping[str, Any], response: dict[str, Any] | None) -> Row:
    """Mean squared error times n over the theoretical n·variance of OLH, with its sampling error."""
    people = context.people(100_000)
    measured = context.ours(MODULES[0], "hash_accuracy", people=people, size=size, repeats=100)
    own = _relative_error(measured["squared_errors"], people)
    peers = []
    for name, part in (("Hadamard response", response), ("OLH", sides.get("pure-ldp"))):
        if part is not None:
            told, spread = _relative_error(part["squared_errors"], part["count"])
            peers.append(f"{name} {told:.2f} ± {spread:.2f} at n={_size(part['count'])}")
    return Row(
        what=f"LH squared error over OLH's variance in theory, k={size}, ε=1, n={_size(people)}",
        ours=f"{own[0]:.3f} ± {own[1]:.3f}",
        peer=f"pure-ldp: {'; '.join(peers)}" if peers else "–",
        raw={"pldp": measured, "relative": own, "hadamard": response},
    )


def _relative_error(squared_errors: list[float], people: int) -> tuple[float, float]:
    """Return the mean of error/variance over the repeats, and the standard error of that mean."""
    variance = 4 * math.e / ((math.e - 1) ** 2 * people)
    relative = [error / variance for error in squared_errors]
    return statistics.fmean(relative), statistics.stdev(relative) / math.sqrt(len(relative))


def _linearity_rows(context: Context) -> list[Row]:
    """The whole way from people to shares for growing n."""
    rows = []
    numbers = map(context.people, (100_000, MILLION, 10 * MILLION))
    variants = [{"people": people, "size": 128, "repeats": REPEATS} for people in numbers]
    for measured in context.rounds(MODULES[0], "whole", variants, rounds=2):
        people, seconds = measured["count"], min(measured["seconds"])
        rows.append(
            Row(
                what=f"Perturb, tally, estimate: k-RR, k=128, four levels, n={_size(people)}",
                ours=f"{seconds:.3f} s ({seconds / people * MILLION:.3f} s per million)",
                memory=memory_text(measured["peak_bytes"]),
                raw=measured,
            )
        )
    return rows


def _size(number: int) -> str:
    """Write a round number as a power of ten where it is one."""
    power = round(math.log10(number)) if number > 0 else 0
    return f"10^{power}" if power >= 4 and number == 10**power else f"{number:,}"


if __name__ == "__main__":
    serve({case.__name__: case for case in CASES})
