"""Allocation of a total over questions: optimal, exact in millionths, and refused where it cannot work."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import runs
from pldp.budgets import (
    LEVEL_FRACTIONS,
    allocate,
    cube_root_rule,
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
