"""Published and frozen figures, the distance of both bounds, simulated batches, and speed."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, runs
from helpers.shuffled_grid import CELLS, DELTA, PAGE, Cell, compute, page_of, read_page
from pldp.mechanisms import build
from pldp.shuffling import Bounds, Group, amplified
from pldp.shuffling.accounting import epsilon_above
from pldp.shuffling.crowd import Others, crowd_of
from pldp.shuffling.laws import laws_of


def among(mechanism: str, size: int, epsilon: float, people: int, delta: float = DELTA) -> Bounds:
    return Cell(mechanism, size, epsilon, people).bounds(delta)


@pytest.mark.parametrize(("people", "figure"), [(10**4, 0.068), (10**5, 0.0195)])
def test_published_figures_of_general_clones(people: int, figure: float) -> None:
    """Su, Cheng, Wang (2025), ε = 2, 16 values, to the digits printed."""
    found = among("krr", 16, 2, people)
    assert found.low <= found.high < figure * 1.003
    assert found.low > figure * 0.99


def test_two_values_are_exact_and_the_blanket_is_not() -> None:
    """The blanket bound of two values at ε = 4 among 10⁵ is .1182; the truth is two sevenths below it."""
    channel = build("krr", 2, 4_000_000)
    (law,) = laws_of(channel)
    blanket = epsilon_above(law, [(1.0, crowd_of([Others(10**5 - 1, law.blanket)], DELTA * 1e-4))], DELTA, 4.0)
    exact = among("krr", 2, 4, 10**5)
    assert round(blanket, 4) == 0.1182
    assert 0.0847 <= exact.low <= exact.high <= 0.0849


@pytest.mark.parametrize(("size", "figure"), [(3, 0.0801), (4, 0.0791), (8, 0.0726), (16, 0.0613)])
def test_a_mix_of_levels_hides_the_most_open_one(size: int, figure: float) -> None:
    """ε from U(.5, 2), 10⁴ people, the person at ε = 2."""
    parts = 20
    levels = 0.5 + 1.5 * (np.arange(parts) + 0.5) / parts
    groups = [
        Group(10_000 // parts - (place == 0), (build("krr", size, round(1e6 * epsilon)),))
        for place, epsilon in enumerate(levels)
    ]
    found = amplified(Group(0, (build("krr", size, 2_000_000),)), groups, DELTA)
    assert abs(found.high - figure) < 2e-4
    assert found.high <= 1.002 * found.low


@pytest.mark.parametrize("cell", CELLS[::37], ids=str)
def test_both_bounds_are_close(cell: Cell) -> None:
    """Some cells in the short form; the page has all of them and is made of the same numbers."""
    found, shipped = cell.bounds(), read_page(PAGE.read_text(encoding="utf-8"))[cell]
    assert found.low <= found.high <= cell.limit * found.low
    assert found == pytest.approx(shipped, rel=1e-5)


def test_both_bounds_are_close_in_every_cell_of_the_page() -> None:
    """The long form computes all of them, and writes the page."""
    if runs(0, 1):
        PAGE.write_text(page_of(compute()), encoding="utf-8")
    shipped = read_page(PAGE.read_text(encoding="utf-8"))
    assert list(shipped) == CELLS
    assert [cell for cell, (high, low) in shipped.items() if not low <= high <= cell.limit * low] == []


def test_cells_that_are_too_far_apart_are_seen() -> None:
    """The twin: one cell of the page is made a seventh larger."""
    shipped = read_page(PAGE.read_text(encoding="utf-8"))
    cell = Cell("subset", 4, 0.5, 1000)
    wider = {**shipped, cell: Bounds(shipped[cell].high * 8 / 7, shipped[cell].low)}
    again = read_page(page_of(wider))
    assert again[cell].high > cell.limit * again[cell].low


def test_bounds_fall_with_people_and_rise_with_epsilon_and_certainty() -> None:
    by_people = [among("subset", 16, 1, people).high for people in (10, 100, 1000, 10_000)]
    by_level = [among("subset", 16, epsilon, 1000).high for epsilon in (0.25, 0.5, 1, 2)]
    by_delta = [among("subset", 16, 1, 1000, delta).high for delta in (1e-2, 1e-4, 1e-6, 1e-10)]
    assert by_people == sorted(by_people, reverse=True)
    assert by_level == sorted(by_level)
    assert by_delta == sorted(by_delta)


def refutes(bound: float, delta: float, *, simulations: int, people: int, size: int, seed: int) -> bool:
    """Tell whether simulated batches refute an ε: the best known distinguisher, with an error rate of 1e-6.

    All others hold a third value. The likelihood ratio depends on how often both values are named; a threshold is
    chosen on one half of the batches, and tested on the other by exact binomial limits of 5e-7 each.
    """
    channel = build("krr", size, 2_000_000)
    p, q = float(channel.truth_support), float(channel.other_support)
    random = np.random.default_rng(seed)
    scores = []
    for own in ([p, q, 1 - p - q], [q, p, 1 - p - q]):
        others = random.multinomial(people - 1, [q, q, 1 - 2 * q], simulations)
        counts = others + random.multinomial(1, own, simulations)
        one, two, rest = (counts / [q, q, 1 - 2 * q]).T
        ratio = (p * one + q * two + (1 - p - q) * rest) / (q * one + p * two + (1 - p - q) * rest)
        scores.append(np.log(ratio))
    half = simulations // 2
    sample = [each[:half] for each in scores]
    tried = np.quantile(np.concatenate(sample), np.linspace(0.5, 0.999, 200))
    gains = [np.mean(sample[0] >= t) - math.exp(bound) * np.mean(sample[1] >= t) for t in tried]
    threshold = tried[int(np.argmax(gains))]
    hits = [int(np.sum(each[half:] >= threshold)) for each in scores]
    low = stats.beta.ppf(FALSE_ALARM / 2, hits[0], half - hits[0] + 1)
    high = stats.beta.ppf(1 - FALSE_ALARM / 2, hits[1] + 1, half - hits[1])
    return bool(low > math.exp(bound) * high + delta)


def test_simulated_batches_do_not_refute_the_bound_and_refute_a_smaller_one() -> None:
    delta, people, size = 1e-2, 60, 4
    bound = among("krr", size, 2, people, delta).high
    simulate = {"simulations": runs(400_000, 4_000_000), "people": people, "size": size}
    for seed in range(runs(1, 10)):
        assert not refutes(bound, delta, seed=seed, **simulate)
        assert refutes(0.8 * bound, delta, seed=seed, **simulate)


@pytest.mark.parametrize(
    ("mechanism", "size", "epsilon"),
    [("krr", 16, 2.0), ("krr", 2, 0.5), ("subset", 16, 2.0), ("sue", 16, 2.0), ("oue", 16, 2.0)][: runs(1, 5)],
)
def test_a_bound_among_a_hundred_million_takes_five_seconds(mechanism: str, size: int, epsilon: float) -> None:
    started = time.process_time()
    found = among(mechanism, size, epsilon, 10**8)
    assert time.process_time() - started <= 5
    assert 0 < found.low <= found.high < 0.001
