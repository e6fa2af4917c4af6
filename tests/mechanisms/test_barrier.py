"""The minimiser in plain Python: where the textbook case ends."""

from __future__ import annotations

import math

import pytest

from pldp.mechanisms.unary.barrier import Goal, Linear, Vector, minimise


def below(point: Vector, bound: float) -> Linear:
    return Linear(bound - point[0], {0: -1.0})


def test_a_goal_that_bends_the_wrong_way_still_goes_downhill() -> None:
    def hill(point: Vector) -> tuple[Goal, list[Linear]]:
        return Goal(-(point[0] ** 2), [-2 * point[0]], [[-2.0]]), [below(point, 2.0), Linear(point[0] + 1, {0: 1.0})]

    assert minimise(hill, [0.5]) == [pytest.approx(2.0, abs=1e-6)]


def test_a_step_out_of_the_domain_is_shortened() -> None:
    def logarithm(point: Vector) -> tuple[Goal, list[Linear]]:
        root = math.sqrt(point[0])  # no such number below 0
        goal = Goal(root + 1 / root, [0.5 / root - 0.5 / root**3], [[-0.25 / root**3 + 0.75 / root**5]])
        return goal, [below(point, 100.0)]

    assert minimise(logarithm, [2.0]) == [pytest.approx(1.0, abs=1e-4)]


def test_a_step_that_never_improves_is_not_taken() -> None:
    def misleading(point: Vector) -> tuple[Goal, list[Linear]]:
        return Goal(point[0], [-1.0], [[1.0]]), [below(point, 100.0)]

    assert minimise(misleading, [3.0]) == [3.0]
