"""Minimise a smooth function under smooth bounds, in plain Python: a barrier method for a few dozen numbers.

The point follows the minimum of strength·goal − Σ ln(positive parts) while the strength grows; each minimum is found by
damped Newton steps. For a convex problem with m bounds the goal is then within m/strength of its least value.

Reference: Boyd, Vandenberghe, "Convex Optimization" (2004), chapter 11.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

TOLERANCE: Final = 1e-10
"""How far above its least value the goal may stay."""

_FASTER: Final = 12.0
_MOST_STEPS: Final = 200

Vector = list[float]
Matrix = list[Vector]


class Goal(NamedTuple):
    """What is minimised, at a point: its value, gradient and, unless it is linear, its matrix of second derivatives."""

    value: float
    gradient: Vector
    hessian: Matrix | None = None


class Linear(NamedTuple):
    """A linear function at a point: its value, and the slopes that are not 0 by their places."""

    value: float
    slopes: dict[int, float]

    def add_barrier(self, gradient: Vector, hessian: Matrix) -> None:
        """Add the derivatives of −ln(function): most functions depend on two numbers."""
        square = self.value**2
        for i, one in self.slopes.items():
            gradient[i] -= one / self.value
            row = hessian[i]
            for j, two in self.slopes.items():
                row[j] += one * two / square


class Lazy:
    """A function whose derivatives are computed when they are asked for: most trial points need the value only.

    `derive` gives first and second derivatives at the places named, or at all.
    """

    def __init__(
        self, value: float, derive: Callable[[], tuple[Vector, Matrix]], places: Sequence[int] | None = None
    ) -> None:
        self.value, self._derive, self._places = value, derive, places

    def add_barrier(self, gradient: Vector, hessian: Matrix) -> None:
        """Add the derivatives of −ln(function)."""
        slopes, bends = self._derive()
        places = self._places or range(len(slopes))
        value, square = self.value, self.value**2
        for i, one, bent in zip(places, slopes, bends, strict=True):
            gradient[i] -= one / value
            row = hessian[i]
            for j, two, bend in zip(places, slopes, bent, strict=True):
                row[j] = row[j] + one * two / square - bend / value


Positive = Linear | Lazy

Parts = tuple[Goal, Sequence[Positive]]

Problem = Callable[[Vector], Parts]
"""At a point: what to minimise, and what must stay positive."""


def zeros(size: int) -> Matrix:
    """Return a square matrix of zeros."""
    return [[0.0] * size for _ in range(size)]


def minimise(problem: Problem, point: Vector) -> Vector:
    """Return the minimum, starting from a point where all parts that must stay positive are.

    >>> square = lambda x: (Goal((x[0] - 3) ** 2, [2 * (x[0] - 3)], [[2.0]]), [Linear(1 - x[0], {0: -1.0})])
    >>> round(minimise(square, [0.0])[0], 6)                    # the least (x−3)² with x ≤ 1
    1.0
    """
    here = problem(point)
    count, strength = len(here[1]), 1.0
    while True:
        for _ in range(_MOST_STEPS):
            point, here, decrement = _newton_step(problem, point, here, strength)
            if decrement < 1e-8:
                break
        if count / strength < TOLERANCE:
            return point
        strength *= _FASTER


def _newton_step(problem: Problem, point: Vector, here: Parts, strength: float) -> tuple[Vector, Parts, float]:
    """Take one damped Newton step on the barrier function from a point with its parts to another.

    Return also half of the decrease it predicts.
    """
    goal, positive = here
    size = len(point)
    gradient = [strength * slope for slope in goal.gradient]
    hessian = [[strength * bend for bend in row] for row in goal.hessian] if goal.hessian else zeros(size)
    for part in positive:
        part.add_barrier(gradient, hessian)
    downhill, ridge = [-slope for slope in gradient], 0.0
    while (step := _cholesky_solve(hessian, downhill, ridge)) is None:  # add to the diagonal until it is positive
        ridge = max(10 * ridge, 1e-12)
    decrement = -sum(slope * change for slope, change in zip(gradient, step, strict=True)) / 2
    value = _barrier(goal, positive, strength)
    length = 1.0
    while length > 1e-12:
        trial = [x + length * change for x, change in zip(point, step, strict=True)]
        there = _parts_at(problem, trial)
        if there is not None and _barrier(*there, strength) <= value - 1e-4 * length * decrement:
            return trial, there, decrement
        length /= 2
    return point, here, 0.0


def _barrier(goal: Goal, positive: Sequence[Positive], strength: float) -> float:
    if any(not part.value > 0 for part in positive):
        return math.inf
    return strength * goal.value - sum(math.log(part.value) for part in positive)


def _parts_at(problem: Problem, point: Vector) -> Parts | None:
    try:
        return problem(point)
    except (ValueError, ZeroDivisionError, OverflowError):  # outside the domain of a logarithm or an exponential
        return None


def _cholesky_solve(matrix: Matrix, right: Vector, ridge: float) -> Vector | None:
    """Solve by Cholesky with a share of the diagonal added to it; `None` if that is not positive."""
    size = len(right)
    lower = zeros(size)
    forward: Vector = []
    for i in range(size):
        for j in range(i):
            inner = sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = (matrix[i][j] - inner) / lower[j][j]
        pivot = matrix[i][i] + ridge * abs(matrix[i][i]) - sum(cell * cell for cell in lower[i][:i])
        if not pivot > 1e-14 * abs(matrix[i][i]):
            return None
        lower[i][i] = math.sqrt(pivot)
        forward.append((right[i] - sum(lower[i][k] * forward[k] for k in range(i))) / lower[i][i])
    solution = [0.0] * size
    for i in reversed(range(size)):
        known = sum(lower[k][i] * solution[k] for k in range(i + 1, size))
        solution[i] = (forward[i] - known) / lower[i][i]
    return solution
