"""The bit probabilities of IDUE with the least worst-case error: three small optimisation problems, in plain Python.

Level i has budget W_i and α_i values; the bit of such a value is kept with a_i and raised with b_i. Between values of
levels i and j the smaller budget r_ij = min(W_i, W_j) holds if a_i(1−b_j) ≤ e^{r_ij} b_i(1−a_j) for all i and j. In the
coordinates u = ln(a/b), v = ln((1−b)/(1−a)) this is *linear*, u_i + v_j ≤ r_ij. With U = 1/(e^u−1), V = 1/(e^v−1) the
error to minimise (n times the expected squared error of all shares of the people who report, who all sit in the worst
level) is

    Σ_i α_i b_i(1−b_i)/(a_i−b_i)² + max_i (1−a_i−b_i)/(a_i−b_i)  =  Σ_i α_i U_i(1+V_i) + max_i (V_i − U_i).

Every term of it is log-convex once the maximum is moved into the sum (α_i ≥ 1), so the logarithm of the error is convex
in (u, v), and a barrier method with Newton steps finds the least one to any precision at any scale of the budgets:

- `opt0`: a and b are free, but a ≥ 1/2 ≥ b as published (a ≥ 1/2 can bind, and is not convex in u and v);
- `opt1`: b = 1−a, i.e. u = v;
- `opt2`: a = 1/2; in s = 1/2 − b the bounds are linear again, e^r s_i + s_j ≤ (e^r − 1)/2.

A general-purpose optimiser would do, but channels are built where surveys are written, without NumPy or SciPy, and such
optimisers fail on the raw problem at small budgets. The tests compare with SciPy from many starts.

Reference: Gu, Li, Xiong, Cao, "Providing Input-Discriminative Protection for Local Differential Privacy" (2020).
"""

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Final, Literal

from pldp.errors import EpsilonError
from pldp.mechanisms.unary.barrier import Goal, Lazy, Linear, Matrix, Positive, Problem, Vector, minimise, zeros

Model = Literal["opt0", "opt1", "opt2"]
"""The three problems by their published names."""

IDUE_MODELS: Final[tuple[Model, ...]] = ("opt0", "opt1", "opt2")

MOST_LEVELS: Final = 8
"""Different budgets for which the problem is solved: bounds grow with their square."""


def idue_error(keep: Sequence[float], raised: Sequence[float], values: Sequence[int]) -> float:
    """Return the error that the models minimise, of probabilities a, b and numbers of values per level.

    >>> round(idue_error([0.5, 0.5], [0.25, 0.25], [3, 3]), 6)
    19.0
    """
    levels = list(zip(keep, raised, values, strict=True))
    spread = sum(count * b * (1 - b) / (a - b) ** 2 for a, b, count in levels)
    return spread + max((1 - a - b) / (a - b) for a, b, _ in levels)


def idue_optimum(epsilons: Sequence[float], values: Sequence[int], model: Model) -> tuple[Vector, Vector]:
    """Return a and b of each level, strictly within the bounds.

    >>> a, b = idue_optimum([1, 1.2, 2], [5, 5, 90], "opt0")
    >>> [round(number, 4) for number in (*a, *b, idue_error(a, b, [5, 5, 90]))]
    [0.5, 0.5789, 0.6393, 0.3553, 0.3368, 0.3032, 243.146]
    """
    if model not in IDUE_MODELS:
        raise EpsilonError(f"model must be one of {', '.join(IDUE_MODELS)}, not {model!r}")
    if len(epsilons) > MOST_LEVELS:
        raise EpsilonError(f"budgets must have at most {MOST_LEVELS} different values for idue, not {len(epsilons)}")
    bounds = [[min(one, two) for two in epsilons] for one in epsilons]
    least = min(epsilons)
    size = len(epsilons)
    if model == "opt2":
        slack = 0.45 * (math.exp(least) - 1) / (math.exp(least) + 1)
        depths = minimise(_one_half(bounds, values), [slack] * size)
        return [0.5] * size, [0.5 - depth for depth in depths]
    if model == "opt1":
        logarithms = minimise(_symmetric(bounds, values), [0.45 * least] * size) * 2
    else:
        start = [0.45 * least] * (2 * size)
        first = _free(bounds, values)([*start, 0.0])[1][:size]
        logarithms = minimise(_free(bounds, values), [*start, 1.0 - min(part.value for part in first)])
    pairs = list(zip(logarithms[:size], logarithms[size : 2 * size], strict=True))
    raised = [math.expm1(v) / math.expm1(u + v) for u, v in pairs]
    return [math.exp(u) * b for (u, _), b in zip(pairs, raised, strict=True)], raised


def _free(bounds: Matrix, values: Sequence[int]) -> Problem:
    """opt0: minimise w with w ≥ ln F_i, F_i = V_i − U_i + Σ_j α_j U_j(1+V_j); the point is (u, v, w)."""
    size = len(values)
    length = 2 * size + 1

    def problem(point: Vector) -> tuple[Goal, list[Positive]]:
        inverse = [_inverse(point[i]) for i in range(2 * size)]
        total = 0.0
        for i, count in enumerate(values):
            total += count * inverse[i][0] * (1 + inverse[size + i][0])

        @cache
        def shared() -> tuple[Vector, Matrix]:
            slope, bend = [0.0] * length, zeros(length)
            for i, count in enumerate(values):
                (u0, u1, u2), (v0, v1, v2) = inverse[i], inverse[size + i]
                slope[i], slope[size + i] = count * u1 * (1 + v0), count * u0 * v1
                bend[i][i], bend[size + i][size + i] = count * u2 * (1 + v0), count * u0 * v2
                bend[i][size + i] = bend[size + i][i] = count * u1 * v1
            return slope, bend

        def derive(i: int, error: float) -> tuple[Vector, Matrix]:
            (_, u1, u2), (_, v1, v2) = inverse[i], inverse[size + i]
            gradient, hessian = list(shared()[0]), [list(row) for row in shared()[1]]
            gradient[i] -= u1
            gradient[size + i] += v1
            hessian[i][i] -= u2
            hessian[size + i][size + i] += v2
            above = [-each / error for each in gradient]
            above[-1] = 1.0
            square = error**2
            curved = [
                [one * two / square - bent / error for two, bent in zip(gradient, row, strict=True)]
                for one, row in zip(gradient, hessian, strict=True)
            ]
            return above, curved

        errors = [total + inverse[size + i][0] - inverse[i][0] for i in range(size)]
        positive: list[Positive] = [
            Lazy(point[-1] - math.log(error), partial(derive, i, error)) for i, error in enumerate(errors)
        ]
        for i in range(size):
            positive += [_half(point, i, size + i), _half(point, size + i, i)]
            for j in range(size):
                positive.append(_below(point, bounds[i][j], {i: 1.0, size + j: 1.0}))
        goal = [0.0] * length
        goal[-1] = 1.0
        return Goal(point[-1], goal), positive

    return problem


def _half(point: Vector, minus: int, plus: int) -> Lazy:
    """e^{x_plus} + e^{−x_minus} − 2: positive if a > 1/2 (of u, v) or b < 1/2 (of v, u)."""

    def derive() -> tuple[Vector, Matrix]:
        high, low = math.exp(point[plus]), math.exp(-point[minus])
        return [high, -low], [[high, 0.0], [0.0, low]]

    return Lazy(math.expm1(point[plus]) + math.expm1(-point[minus]), derive, (plus, minus))


def _symmetric(bounds: Matrix, values: Sequence[int]) -> Problem:
    """opt1: minimise ln Σ α U(1+U) with τ_i + τ_j ≤ r_ij; the point is τ."""

    def problem(point: Vector) -> tuple[Goal, list[Positive]]:
        terms = []
        for count, x in zip(values, point, strict=True):
            u0, u1, u2 = _inverse(x)
            terms.append((count * u0 * (1 + u0), count * u1 * (1 + 2 * u0), count * (u2 * (1 + 2 * u0) + 2 * u1 * u1)))
        pairs = [(i, j) for i in range(len(point)) for j in range(i + 1)]
        sums = [_below(point, bounds[i][j], {i: 2.0} if i == j else {i: 1.0, j: 1.0}) for i, j in pairs]
        return _logarithm_of_sum(terms), [*sums, *_above_zero(point)]

    return problem


def _one_half(bounds: Matrix, values: Sequence[int]) -> Problem:
    """opt2: minimise ln Σ α/s² with e^r s_i + s_j ≤ (e^r − 1)/2; the point is s."""

    def problem(point: Vector) -> tuple[Goal, list[Positive]]:
        terms = [(n / s**2, -2 * n / s**3, 6 * n / s**4) for n, s in zip(values, point, strict=True)]
        sums = []
        for i, row in enumerate(bounds):
            for j, bound in enumerate(row):
                odds = math.exp(bound)
                weights = {i: odds + 1} if i == j else {i: odds, j: 1.0}
                sums.append(_below(point, math.expm1(bound) / 2, weights))
        return _logarithm_of_sum(terms), [*sums, *_above_zero(point)]

    return problem


def _inverse(x: float) -> tuple[float, float, float]:
    """1/(e^x − 1) with its first two derivatives."""
    value = 1 / math.expm1(x)
    first = -value * (1 + value)
    return value, first, -first * (1 + 2 * value)


def _logarithm_of_sum(terms: Sequence[tuple[float, float, float]]) -> Goal:
    """ln Σ_i h_i(x_i) from value, slope and bend of every h_i."""
    total = sum(term[0] for term in terms)
    slopes = [term[1] / total for term in terms]
    hessian = [[-one * two for two in slopes] for one in slopes]
    for i, term in enumerate(terms):
        hessian[i][i] += term[2] / total
    return Goal(math.log(total), slopes, hessian)


def _below(point: Vector, bound: float, weights: dict[int, float]) -> Linear:
    """bound − Σ weight·x."""
    sum_of_weighted = sum(weight * point[place] for place, weight in weights.items())
    return Linear(bound - sum_of_weighted, {place: -weight for place, weight in weights.items()})


def _above_zero(point: Vector) -> list[Linear]:
    return [_below(point, 0.0, {place: -1.0}) for place in range(len(point))]
