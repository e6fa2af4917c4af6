"""Allocation of a total over questions: optimal, exact in millionths, and refused where it cannot work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import runs
from pldp.budgets import (
    LEVEL_FRACTIONS,
    STEP,
    Cost,
    allocate,
    cube_root_rule,
    exchange,
    fraction_levels,
    unary_cost,
    variance_cost,
)
from pldp.errors import EpsilonError
from pldp.mechanisms import build

SIZES = (5, 10, 15, 20, 25)


@pytest.mark.parametrize("total", [0.2, 1, 6, 12])
def test_moving_a_little_budget_never_helps(total: float) -> None:
    costs = [unary_cost(size) for size in SIZES]
    parts = np.array(allocate(round(total * 1e6), costs)) / 1e6
    best = sum(cost(part) for cost, part in zip(costs, parts, strict=True))
    for giver in range(5):
        for taker in range(5):
            moved = parts.copy()
            moved[giver] -= 0.01 * total
            moved[taker] += 0.01 * total
            assert sum(cost(part) for cost, part in zip(costs, moved, strict=True)) >= best


@settings(deadline=None, max_examples=runs(10, 100))
@given(
    st.lists(st.integers(2, 3000), min_size=1, max_size=runs(6, 12)),
    st.integers(1000, 20_000_000),
    st.sampled_from(["krr", "sue", "oue", "lh", "auto"]),
)
def test_parts_are_whole_and_sum_to_the_total(sizes: list[int], total: int, mechanism: str) -> None:
    parts = allocate(total, [variance_cost(mechanism, size) for size in sizes])
    assert sum(parts) == total
    assert min(parts) >= 1


def test_the_cube_root_rule_is_the_limit_for_small_epsilon() -> None:
    for total, tolerance in ((100_000, 1e-3), (12_000_000, 5e-3)):
        exact = allocate(total, [unary_cost(size) for size in SIZES])
        assert np.allclose(exact, cube_root_rule(total, SIZES), rtol=tolerance)
    # The exact optimum differs from the rule in the third digit at ε = 12.
    assert not np.allclose(exact, cube_root_rule(12_000_000, SIZES), rtol=5e-4)


@pytest.mark.parametrize("mechanism", ["krr", "sue", "oue", "lh"])
@pytest.mark.parametrize("size", [2, 9, 100])
def test_costs_are_the_summed_variances_of_the_channels(mechanism: str, size: int) -> None:
    for micro in (300_000, 2_000_000):
        exact = size * build(mechanism, size, micro).variance(1 / size)
        assert variance_cost(mechanism, size)(micro / 1e6) == pytest.approx(exact, rel=1e-5)


def test_auto_costs_no_more_than_any_mechanism() -> None:
    for size in (3, 40, 2000):
        auto = variance_cost("auto", size)(1.0)
        assert auto <= min(variance_cost(name, size)(1.0) for name in ("krr", "lh" if size >= 1000 else "oue"))


def sum_at(costs: list[Cost], parts: Sequence[float]) -> float:
    return sum(cost(part / 1e6) for cost, part in zip(costs, parts, strict=True))


@pytest.mark.parametrize(("sizes", "ask"), [((2, 5, 20), 2), ((3, 4, 5, 900), 2), ((8, 8, 8, 64, 64), 3)])
def test_no_split_is_better_whose_parts_fit_whoever_is_asked_what(sizes: tuple[int, ...], ask: int) -> None:
    costs = [variance_cost("auto", size) for size in sizes]
    parts = np.array(allocate(3_000_000, costs, ask=ask))
    assert 3_000_000 - 2 <= np.sort(parts)[-ask:].sum() <= 3_000_000
    best = sum_at(costs, parts)
    generator = np.random.default_rng(1)
    for _ in range(300):
        other = parts * generator.uniform(0.8, 1.25, len(sizes))
        other *= 3_000_000 / np.sort(other)[-ask:].sum()
        assert sum_at(costs, other) >= best * (1 - 1e-9)
    # The twin: equal parts fit as well, and are worse where questions differ.
    assert sum_at(costs, [3_000_000 / ask] * len(sizes)) > best * 1.001


def test_costs_that_are_not_convex_are_split_as_well_as_by_trying_everything() -> None:
    def stairs(epsilon: float) -> float:
        """The lesser of two mechanisms: one is better up to ε = 1.5 and flat, the other falls steeply after it."""
        return min(1 / epsilon, 40 * math.exp(-2 * epsilon))

    costs = [stairs, unary_cost(3), lambda epsilon: min(3 / epsilon**2, 9 * math.exp(-epsilon))]
    for total in (1_000_000, 2_500_000, 4_000_000, 8_000_000):
        grid = np.arange(1, 200) * (total // 200)
        table = [np.array([cost(part / 1e6) for part in grid]) for cost in costs]
        least = min(
            table[0][one] + table[1][two] + table[2][197 - one - two] for one in range(197) for two in range(197 - one)
        )
        assert sum_at(costs, allocate(total, costs)) <= least * 1.001


def test_costs_are_exchanged_until_no_transfer_helps() -> None:
    exact = [lambda epsilon: round(40 / epsilon**2) + 40 / epsilon**2, unary_cost(8), unary_cost(30)]
    parts = exchange(allocate(4_000_000, [unary_cost(20), *exact[1:]]), exact)
    assert sum(parts) == 4_000_000
    for giver in range(3):
        for taker in range(3):
            moved = list(parts)
            moved[giver] -= STEP
            moved[taker] += STEP
            assert sum_at(exact, moved) >= sum_at(exact, parts) * (1 - 1e-12)


def test_levels_are_fractions_rounded_down() -> None:
    assert [level.micro_epsilon for level in fraction_levels(1_000_000)] == [333_333, 500_000, 1_000_000]
    assert set(LEVEL_FRACTIONS) == {"high", "mid", "low"}
    with pytest.raises(EpsilonError, match="must be a fraction"):
        fraction_levels(1_000_000, {"all": Fraction(3, 2)})
    with pytest.raises(EpsilonError, match="leaves a millionth"):
        fraction_levels(1)


def test_what_cannot_be_split_is_refused() -> None:
    with pytest.raises(EpsilonError, match="at least one question"):
        allocate(1_000_000, [])
    with pytest.raises(EpsilonError, match="too small to split over 3"):
        allocate(2, [unary_cost(4)] * 3)
    with pytest.raises(EpsilonError, match="mechanism must be one of"):
        variance_cost("magic", 4)(1.0)


def test_unary_cost_is_obrrs_objective() -> None:
    root = math.exp(0.35)
    assert unary_cost(7)(0.7) == pytest.approx(7 * root / (root - 1) ** 2)
