"""Values whose bits come together too often: the set of values that honest reports explain least."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.special import gammaln

from pldp.mechanisms.arrays import FloatArray, PairLaw, Range

LONGEST: Final = 256  # values of a set that is looked at, at most
STARTS: Final = 8  # pairs of values that sets are grown from
ROUNDS: Final = 4  # times that a set is improved

Places = npt.NDArray[np.intp]


class Excess(NamedTuple):
    """How often bits i and j came together beyond what is expected of honest reports, with what it varies by."""

    sums: FloatArray
    variances: FloatArray
    most: float  # that one report adds for two bits


def excess(both: FloatArray, support: FloatArray, reports: float, law: PairLaw, limits: Range) -> Excess:
    """Compare counts of two bits together with a law of honest reports.

    T = b_i b_j − a_j b_i − a_i b_j + c_ij has the mean 0. Its variance is taken from the supports alone: by the law,
    they say how often honest bits come together, and what fakes add to that does not hide them.
    """
    slope, constant = law.slope, law.constant
    sums = both - slope * support[:, None] - slope[:, None] * support + constant * reports
    chance = np.clip(support / max(reports, 1), limits.low, limits.high)
    together = np.maximum(slope * chance[:, None] + slope[:, None] * chance - constant, 0)
    one, two = np.maximum(chance[:, None] - together, 0), np.maximum(chance - together, 0)
    neither = np.maximum(1 - together - one - two, 0)
    squares = together * (1 - slope - slope[:, None] + constant) ** 2 + neither * constant**2
    squares += one * (constant - slope) ** 2 + two * (constant - slope[:, None]) ** 2
    np.fill_diagonal(sums, 0)
    np.fill_diagonal(squares, 0)
    most = float(max((1 - slope - slope[:, None] + constant).max(), constant.max()))
    return Excess(sums, reports * squares, most)


def centred(sums: FloatArray) -> FloatArray:
    """Take off the best u_i + u_j: what levels that nobody knows add to bits that come together.

    Honest bits of level l have E b_i b_j = q_l² + q_l(p_l − q_l)(f_i + f_j), so any mixture of levels adds up so.
    """
    size = len(sums)
    mean = sums.sum() / (size * (size - 1))
    rows = (sums.sum(axis=1) - (size - 1) * mean) / (size - 2)
    rest = sums - mean - rows - rows[:, None]
    np.fill_diagonal(rest, 0)
    return np.asarray(rest)


def densest(found: Excess) -> tuple[float, Places]:
    """Return the set of values whose bits come together most, and how likely honest reports make any such set.

    The p-value counts every set of values, whether it was looked at or not: a set of m among k has m(m−1)·C(k, m)
    times the bound of Bennett, "Probability Inequalities for the Sum of Independent Random Variables" (1962), on the
    sum S of all its pairs, exp(−v/b²·((1+u)·ln(1+u) − u)), u = bS/v, with v its variance and b the most that one report
    adds. So it holds whatever the search does; the search only has to find what there is.
    """
    scale = np.sqrt(found.variances)
    scores = np.divide(found.sums, scale, out=np.zeros_like(scale), where=scale > 0)
    best, members = 0.0, np.zeros(0, np.intp)
    for start in _starts(scores):
        order = start
        for _ in range(ROUNDS):
            logarithms = _prefixes(found, order)
            length = int(logarithms.argmin()) + 2
            if logarithms[length - 2] >= best:
                break
            best, members = float(logarithms[length - 2]), np.sort(order[:length])
            order = np.argsort(-scores[:, order[:length]].sum(axis=1), kind="stable")[:LONGEST]
    return float(np.exp(best)), members


def _starts(scores: FloatArray) -> Iterator[Places]:
    """Yield orders of values to begin with: by the main directions of the scores, and around their largest entries."""
    size = len(scores)
    _, vectors = eigh(scores, subset_by_index=[max(0, size - 2), size - 1])
    for vector in vectors.T:
        for sign in (1, -1):
            yield np.argsort(sign * vector, kind="stable")[:LONGEST]
    above = np.triu(scores, 1)
    for place in np.argsort(-above, axis=None, kind="stable")[:STARTS]:
        one, two = divmod(int(place), size)
        near = scores[one] + scores[two]
        near[[one, two]] = np.inf
        yield np.argsort(-near, kind="stable")[:LONGEST]


def _prefixes(found: Excess, order: Places) -> FloatArray:
    """Return the logarithm of the p-value of the first 2, 3, … values of an order."""
    size, count = len(found.sums), np.arange(2, len(order) + 1)
    chosen = np.ix_(order, order)
    total, variance = (np.tril(each[chosen], -1).sum(axis=1).cumsum()[1:] for each in (found.sums, found.variances))
    sets = gammaln(size + 1) - gammaln(count + 1) - gammaln(size - count + 1) + np.log(count * (count - 1))
    return np.asarray(sets + log_bennett(total, variance, found.most * count * (count - 1) / 2))


def log_bennett(total: FloatArray, variance: FloatArray, most: FloatArray) -> FloatArray:
    """Return ln of Bennett's bound on the probability that a sum with the mean 0 is this large; 0 where it is not.

    >>> log_bennett(np.array([300.0]), np.array([10_000.0]), np.array([1.0])).round(2).tolist()
    [-4.46]
    """
    total, variance = np.maximum(total, 0), np.maximum(variance, 1e-12)
    ratio = most * total / variance
    return np.asarray(-variance / most**2 * ((1 + ratio) * np.log1p(ratio) - ratio))
