"""The items table: a budget per value (IPRR, IDUE), and frequent sets of items.

The upper half runs in fresh child processes (`python -m benchmarks.items CASE ARGUMENTS`), the lower half starts them
and makes rows of what they return. No peer package has a budget per value; clients stand beside the peers' k-RR and OUE
with one budget for everybody.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks import itemsets
from benchmarks.core import MILLION, REPEATS, SEED, _contest_row, _save_values
from benchmarks.measure import Clock, Context, Row, memory_text, serve
from pldp.mechanisms import ItemResponse, ItemUnaryEncoding
from pldp.papers.groups import group, maximum_likelihood
from pldp.papers.ipldp import level_budgets
from pldp.simulate import perturb
from pldp.tallies import OutputCounts

TITLE = "Items: a budget per value, and frequent sets"
MODULE = "benchmarks.items"
LOW, HIGH = 100_000, 1_000_000


# Cases


def krr(values: str, size: int, repeats: int) -> dict[str, Any]:
    """One report per person by IPRR with four levels of budgets; named as the peers' case beside it."""
    return _client(ItemResponse.of(level_budgets(size, LOW, HIGH)), values, repeats)


def oue(values: str, size: int, repeats: int) -> dict[str, Any]:
    """One report per person by IDUE with four levels of budgets; named as the peers' case beside it."""
    return _client(ItemUnaryEncoding.of(level_budgets(size, LOW, HIGH)), values, repeats)


def _client(built: ItemResponse | ItemUnaryEncoding, values: str, repeats: int) -> dict[str, Any]:
    perturb(built, np.arange(100), np.random.default_rng(SEED))
    clock = Clock()
    people = np.load(values)
    clock.time(lambda: perturb(built, people, np.random.default_rng(SEED)), repeats=repeats)
    return clock.result(len(people))


def whole(size: int, people: int, repeats: int) -> dict[str, Any]:
    """Build an IPRR channel with a budget of its own for nine in ten items, perturb everybody, estimate and fit."""
    budgets = [math.inf if item % 10 == 0 else LOW + item * (HIGH - LOW) // size for item in range(size)]
    weights = 1 / np.arange(1.0, size + 1)
    values = np.random.default_rng(SEED).choice(size, people, p=weights / weights.sum())
    parts: dict[str, list[float]] = {}

    def timed(name: str, start: float) -> float:
        now = time.process_time()
        parts.setdefault(name, []).append(now - start)
        return now

    def work() -> Any:
        at = time.process_time()
        built = ItemResponse.of(budgets)
        at = timed("build", at)
        outputs = perturb(built, values, np.random.default_rng(SEED))
        at = timed("perturb", at)
        counted = group(built, OutputCounts(np.bincount(outputs, minlength=size)))
        shares = counted.shares()
        counted.variance(shares)
        at = timed("estimate", at)
        fit = maximum_likelihood([counted])
        timed("fit", at)
        return fit

    clock = Clock()
    fit = clock.time(work, repeats=repeats)
    best = {name: min(seconds) for name, seconds in parts.items()}
    return clock.result(people, parts=best, gap=fit.gap, converged=fit.converged)


def draw(mechanism: str, size: int, repeats: int) -> dict[str, Any]:
    """One report at a time with the operating system's randomness, as a device does."""
    budgets = level_budgets(size, LOW, HIGH)
    built = ItemResponse.of(budgets) if mechanism == "iprr" else ItemUnaryEncoding.of(budgets)
    built.draw(0, os.urandom)
    clock = Clock()
    count = 10_000
    clock.time(lambda: [built.draw(item % size, os.urandom) for item in range(count)], repeats=repeats)
    return clock.result(count)


def optimum(model: str, size: int, repeats: int) -> dict[str, Any]:
    """Find the bit probabilities of IDUE and prove the rounded ones."""
    clock, lows = Clock(), itertools.count(LOW)  # other budgets each time: what was found for some is kept
    clock.time(lambda: ItemUnaryEncoding.of(level_budgets(size, next(lows), HIGH), model), repeats=repeats)
    return clock.result(1)


CASES = (krr, oue, whole, draw, optimum)


# Rows


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows of one part after the other."""
    yield budget_rows(context)
    yield list(itemsets.rows(context))


def budget_rows(context: Context) -> list[Row]:
    """IPRR and IDUE: clients beside the peers' plain ones, a large domain end to end, one report, the optima."""
    rows = []
    people = context.people(MILLION)
    modules = (MODULE, "benchmarks.peers_core")
    for case, name, few in (
        ("krr", "IPRR client, four levels (peers: k-RR)", people),
        ("oue", "IDUE client, four levels (peers: OUE)", people // 10),
    ):
        shared = {"values": _save_values(context, people, 128), "size": 128, "repeats": REPEATS}
        sides = context.contest(modules, case, shared, {**shared, "people": few})
        rows.append(_contest_row(f"{name}, k=128, {people:,} people", sides, unit="people"))
    rows.append(_whole_row(context.ours(MODULE, "whole", size=10_000, people=people, repeats=REPEATS), people))
    for mechanism, size in (("iprr", 16), ("iprr", 10_000), ("idue", 100)):
        found = context.ours(MODULE, "draw", mechanism=mechanism, size=size, repeats=REPEATS)
        seconds = min(found["seconds"]) / found["count"]
        rows.append(Row(what=f"One draw, {mechanism}, k={size:,}", ours=f"{seconds * 1e6:.1f} µs", raw=found))
    for model in ("opt0", "opt1", "opt2"):
        found = context.ours(MODULE, "optimum", model=model, size=100, repeats=REPEATS)
        rows.append(_limit_row(f"IDUE {model}, 100 items in four levels, solved and proven", found, 1.0))
    return rows


def _whole_row(found: Mapping[str, Any], people: int) -> Row:
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in found["parts"].items())
    row = _limit_row(f"IPRR, 10,000 items, 9,000 budgets, {people:,} people, to a certified fit", found, 5.0)
    return Row(**{**row.to_mapping(), "ours": f"{row.ours} ({parts}; gap {found['gap']:.0e})"})


def _limit_row(what: str, found: Mapping[str, Any], limit: float) -> Row:
    seconds = min(found["seconds"])
    return Row(
        what=what,
        ours=f"{seconds:.2f} s",
        target=f"≤ {limit:g} s",
        met=seconds <= limit,
        memory=memory_text(found["peak_bytes"]),
        raw=found,
    )


if __name__ == "__main__":
    serve({case.__name__: case for case in CASES})
