"""Scores become levels and budgets as published; the published channel breaks its promises, the safe one keeps them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers.refusals import refused
from pldp.budgets import (
    level_budget,
    level_weight,
    safe_channel,
    scores_by_value,
    sensitivity_levels,
    split_budget,
    true_epsilons,
    without_outliers,
)
from pldp.errors import EpsilonError
from pldp.mechanisms import BIT_TOTAL as TOTAL
from pldp.mechanisms import ItemSet, ValueResponse

TABLE_2 = {1: (0.92, 0.77), 2: (0.86, 0.71), 3: (0.77, 0.65), 4: (0.65, 0.57)}
BUDGETS = st.lists(st.one_of(st.just(math.inf), st.integers(1000, 6_000_000)), min_size=2, max_size=6).filter(
    lambda budgets: min(budgets) < math.inf
)


def test_scores_become_levels_without_outliers() -> None:
    scores = scores_by_value(["flu", "HIV"], [[1, 9], [2, 10], [1, 9], [2, 10], [10, 0]])
    assert without_outliers(scores["HIV"]) == [9, 10, 9, 10]
    assert sensitivity_levels(scores, levels=5) == {"flu": 0, "HIV": 4}
    assert sensitivity_levels({"top": [10, 10]}, levels=5) == {"top": 4}


def test_weights_and_budgets_of_levels_sum_to_the_whole() -> None:
    assert sum(level_weight(level, 7) for level in range(7)) == 1
    budgets = [level_budget(9_000_000, level, 5) for level in range(1, 5)]
    assert sum(budgets) == 9_000_000
    assert split_budget(6_000_000, 3) == (3_000_000, 2_000_000, 1_000_000)
    assert split_budget(math.inf, 3) == (math.inf,) * 3


@pytest.mark.parametrize("level", TABLE_2)
def test_table_2_is_a_total_of_nine_split_two_to_one(level: int) -> None:
    channel = ValueResponse.of(split_budget(level_budget(9_000_000, level, 5)))
    kept = [float(channel.probability(value, value)) for value in range(2)]
    assert kept == pytest.approx(TABLE_2[level], abs=0.005)


def test_the_published_channel_does_not_satisfy_its_epsilon() -> None:
    """Level 1 promises 2.4 to "0" and 1.2 to "1"; a "1" costs 2.224, and anything once a value is open."""
    zero, one = true_epsilons(ValueResponse.of([2_400_000, 1_200_000]))
    assert (zero, one) == (1_376_447, 2_223_554)
    assert one > 1_200_000
    assert true_epsilons(ValueResponse.of([math.inf, 1_200_000]))[1] == math.inf


@given(st.integers(100_000, 4_000_000), st.integers(100_000, 4_000_000))
def test_the_published_channel_breaks_the_smaller_of_two_budgets(one: int, other: int) -> None:
    small, large = sorted((one, other))
    true = true_epsilons(ValueResponse.of([small, large]))
    assert true[0] > small or large - small <= 3
    assert true[0] <= large


@given(BUDGETS)
def test_the_safe_channel_keeps_every_promise_exactly(budgets: list[float]) -> None:
    for limit, true in zip(budgets, true_epsilons(safe_channel(budgets)), strict=True):
        assert true <= limit


@pytest.mark.parametrize(
    "budgets", [(2_400_000, 1_200_000), (300_000, 600_000, 2_000_000), (1_000_000, 500_000, 3_000_000, 900_000)]
)
def test_no_channel_within_the_budgets_has_a_larger_smallest_contrast(budgets: tuple[int, ...]) -> None:
    """The best channel by linear programming over all channels: variables are the matrix and the smallest contrast."""
    size = len(budgets)

    def place(value: int, output: int) -> int:
        return value * size + output

    below, equal = [], []
    for i in range(size):
        row = np.zeros(size * size + 1)
        row[i * size : (i + 1) * size] = 1
        equal.append(row)
        for j in set(range(size)) - {i}:
            for y in range(size):
                promise = np.zeros(size * size + 1)
                promise[place(i, y)], promise[place(j, y)] = 1, -np.exp(budgets[i] / 1e6)
                below.append(promise)
            contrast = np.zeros(size * size + 1)
            contrast[[place(i, i), place(j, i), -1]] = -1, 1, 1
            below.append(contrast)
    goal = np.r_[np.zeros(size * size), -1]
    best = linprog(goal, A_ub=below, b_ub=np.zeros(len(below)), A_eq=equal, b_eq=np.ones(size))
    channel = safe_channel(budgets)
    matrix = np.array([[float(channel.probability(y, value)) for y in range(size)] for value in range(size)])
    contrasts = [matrix[y, y] - matrix[j, y] for y in range(size) for j in range(size) if j != y]
    assert min(contrasts) == pytest.approx(-best.fun, abs=1e-7)
    assert max(contrasts) == pytest.approx(min(contrasts), abs=1e-7)


def test_the_safe_channel_of_two_values_is_the_item_channel() -> None:
    channel, items = safe_channel([2_400_000, 1_200_000]), ItemSet.of_pairs([(1_200_000, 2_400_000)])
    assert items.kept[0] / TOTAL == pytest.approx(float(channel.probability(1, 1)), abs=1e-9)
    assert items.raised[0] / TOTAL == pytest.approx(float(channel.probability(1, 0)), abs=1e-9)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: sensitivity_levels({"a": [1, 11]}), "scores of 'a' must be from 0 to 10; some are not"),
        (lambda: sensitivity_levels({"a": [1, float("nan")]}), "must be from 0 to 10"),
        (lambda: sensitivity_levels({"a": [1]}), "'a' must be scored by at least 2 people, not 1"),
        (lambda: sensitivity_levels({}), "give scores for at least one value"),
        (lambda: sensitivity_levels({"a": [1, 2]}, levels=1), "levels must be at least 2, not 1"),
        (lambda: sensitivity_levels({"a": [1, 2]}, scale=(5, 5)), "scale must be two rising numbers, not 5, 5"),
        (lambda: scores_by_value(["a", "a"], [[1, 2]]), "named once each; some are there twice"),
        (lambda: scores_by_value(["a", "b"], [[1]]), "score all 2 values"),
        (lambda: level_weight(5, 5), "from 0 to 4 of at least 2 levels, not 5"),
        (lambda: level_budget(3, 4, 5), "epsilon 0.000003 is too small to split"),
        (lambda: split_budget(1_000_000, 1), "at least 2 values, not 1"),
        (lambda: safe_channel([0, 1_000_000]), "budgets must be whole micro-ε"),
    ],
)
def test_bad_input_gives_one_clear_line(call, line: str) -> None:
    with refused(EpsilonError, line):
        call()
