"""Turn unbiased shares into shares that could be true: at least 0 and, where stated, summing to 1.

Reference: Wang, Lopuhaä-Zwakenberg, Li, Škorić, Li, "Locally Differentially Private Frequency Estimation with
Consistency" (2020).
"""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import FloatArray

MARGIN_ERROR = 1e-12
"""Error of a row or column sum at which `with_margins` stops."""

MARGIN_STEPS = 1000
POINT_STEPS = 60  # halvings: beyond them a shift does not change in double precision
RIDGE = 1e-6


def norm_sub(shares: npt.ArrayLike) -> FloatArray:
    """Shift all shares by one amount and cut at 0 so that they sum to 1: the nearest point of the simplex.

    >>> norm_sub([0.7, 0.5, -0.1])
    array([0.6, 0.4, 0. ])
    """
    given = _checked(shares)
    return np.asarray(np.maximum(given + _row_shifts(given[None], np.ones(1)), 0.0))


def add_reports(shares: npt.ArrayLike, reports: float) -> FloatArray:
    """Return the nearest shares that could be true, with one more report of every value: none is impossible."""
    possible = norm_sub(shares)
    return np.asarray((possible * reports + 1) / (reports + len(possible)))


def points_within(shares: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return shares to show: each in its interval, all shifted by one amount so that they sum to 1.

    Where no amount does, as the ends alone are too small or too large together, they are as near to it as they can be.

    >>> points_within(np.array([0.7, 0.4, -0.1]), np.array([0.6, 0.3, 0.0]), np.array([0.8, 0.5, 0.1]))
    array([0.65, 0.35, 0.  ])
    """
    least, most = float((low - shares).min()), float((high - shares).max())
    for _ in range(POINT_STEPS):
        middle = (least + most) / 2
        if np.clip(shares + middle, low, high).sum() > 1:
            most = middle
        else:
            least = middle
    return np.clip(shares + (least + most) / 2, low, high)


def norm_cut(shares: npt.ArrayLike) -> FloatArray:
    """Set negative shares to 0 and then the smallest ones, until the sum is at most 1. Large shares stay unbiased.

    A share above 1, which few reports can give, is cut to 1. The sum is below 1 where the next share would pass it, and
    0 where no share is positive.

    >>> norm_cut([0.7, 0.25, 0.2, -0.1])
    array([0.7 , 0.25, 0.  , 0.  ])
    >>> norm_cut([1.58, -0.29, -0.29])
    array([1., 0., 0.])
    """
    given = np.clip(_checked(shares), 0.0, 1.0)
    order = np.argsort(-given, kind="stable")
    keep = int(np.searchsorted(np.cumsum(given[order]), 1 + 1e-12, side="right"))
    result = np.zeros_like(given)
    result[order[:keep]] = given[order[:keep]]
    return result


def base_cut(shares: npt.ArrayLike, standard_error: npt.ArrayLike, *, alpha: float = 0.05) -> FloatArray:
    """Keep the shares that noise alone would not reach, and set the others to 0; the sum is not forced.

    With probability 1−α (Bonferroni over the values) no value of share 0 survives. A share above 1, which few reports
    can give, is cut to 1.

    >>> base_cut([0.5, 0.01, 0.2], [0.01, 0.01, 0.01])
    array([0.5, 0. , 0.2])
    """
    given = _checked(shares)
    if not np.isfinite(standard_error).all():
        raise EstimateError("base-cut needs a finite standard error of every share")
    threshold = NormalDist().inv_cdf(1 - alpha / len(given)) * np.asarray(standard_error, np.float64)
    return np.where(given > threshold, np.minimum(given, 1.0), 0.0)


def with_margins(table: npt.ArrayLike, rows: npt.ArrayLike, columns: npt.ArrayLike) -> FloatArray:
    """Return the nearest table (least squares) that is at least 0 and has these row and column sums.

    >>> with_margins([[0.5, -0.1], [0.2, 0.3]], [0.5, 0.5], [0.6, 0.4])
    array([[0.475, 0.025],
           [0.125, 0.375]])
    """
    nearest = nearest_tables(np.asarray(table)[None], [np.asarray(rows)[None], np.asarray(columns)[None]])
    return np.asarray(nearest[0])


def nearest_tables(tables: npt.ArrayLike, margins: Sequence[npt.ArrayLike]) -> FloatArray:
    """Return, for each of several tables of any number of axes, the nearest one that is at least 0 and has these sums.

    `tables` has a table in every place of its first axis, and `margins` the sums along each further axis. The nearest
    one is max(0, table + u_i + v_j + …). The multipliers maximise a concave dual: those of one axis after the other are
    set right, which always climbs, and Newton steps between make it fast.

    >>> halves = np.full((1, 2), 0.5)
    >>> nearest_tables(np.array([[[[0.6, -0.1], [0.1, 0.1]], [[0.1, 0.1], [0.1, 0.1]]]]), [halves] * 3).round(3)[0, 0]
    array([[0.375, 0.   ],
           [0.   , 0.125]])
    """
    given = np.asarray(tables, np.float64)
    wanted = [np.asarray(own, np.float64) for own in margins]
    shapes = [(len(given), size) for size in given.shape[1:]]
    if [own.shape for own in wanted] != shapes or any((own < 0).any() for own in wanted):
        raise EstimateError("margins must be sums along each axis of every table, none negative")
    if any(np.abs(own.sum(axis=1) - wanted[0].sum(axis=1)).max(initial=0) > 1e-9 for own in wanted):
        raise EstimateError("margins must be sums of one table: their totals differ")
    points = [np.zeros_like(own) for own in wanted]
    for _ in range(MARGIN_STEPS):
        for axis, own in enumerate(wanted):
            rows = np.moveaxis(_shifted(given, points), axis + 1, 1).reshape(own.size, -1)
            points[axis] += _row_shifts(rows, own.ravel()).reshape(own.shape)
        shifted = _shifted(given, points)
        missing = [own - _sums(np.maximum(shifted, 0), axis) for axis, own in enumerate(wanted)]
        if max(float(np.abs(own).max(initial=0)) for own in missing) < MARGIN_ERROR:
            break
        points = _climb(given, wanted, points, _newton_steps((shifted > 0).astype(np.float64), missing))
    return np.maximum(_shifted(given, points), 0)


def _shifted(given: FloatArray, points: Sequence[FloatArray]) -> FloatArray:
    for axis, own in enumerate(points):
        given = given + own.reshape(len(own), *(-1 if each == axis else 1 for each in range(len(points))))
    return given


def _sums(tables: FloatArray, *axes: int) -> FloatArray:
    """Return the sums of every table along some of its axes, in their order."""
    kept = [axis + 1 for axis in axes]
    sums = tables.sum(axis=tuple(axis for axis in range(1, tables.ndim) if axis not in kept))
    return np.asarray(sums if kept == sorted(kept) else sums.swapaxes(1, 2))


def _climb(
    given: FloatArray, wanted: list[FloatArray], points: list[FloatArray], steps: list[FloatArray]
) -> list[FloatArray]:
    """Take a step for each table, as long as its dual grows.

    Where few cells are positive the dual is flat for a while: the step may be far too long.
    """
    here, left = _dual(given, wanted, points), np.ones(len(given), bool)
    best = points
    for size in 0.25 ** np.arange(20):
        tried = [own + size * step for own, step in zip(points, steps, strict=True)]
        better = left & (_dual(given, wanted, tried) > here)
        best = [np.where(better[:, None], new, old) for new, old in zip(tried, best, strict=True)]
        left &= ~better
        if not left.any():
            break
    return best


def _dual(given: FloatArray, wanted: list[FloatArray], points: list[FloatArray]) -> FloatArray:
    linear = sum((own * point).sum(axis=1) for own, point in zip(wanted, points, strict=True))
    return np.asarray(linear - 0.5 * (np.maximum(_shifted(given, points), 0) ** 2).reshape(len(given), -1).sum(axis=1))


def _newton_steps(active: FloatArray, missing: list[FloatArray]) -> list[FloatArray]:
    """Solve [[R, A], [Aᵀ, C]]·step = missing, R and C being the diagonals of the sums of A's rows and columns.

    The longest axis is eliminated, so that a long table costs no more than its short sides.
    """
    sizes = active.shape[1:]
    longest = int(np.argmax(sizes))
    others = [axis for axis in range(len(sizes)) if axis != longest]
    diagonal = _sums(active, longest) + RIDGE
    aside = np.concatenate([_sums(active, longest, axis) for axis in others], axis=2)
    scaled = aside / diagonal[:, :, None]
    system = np.concatenate([np.concatenate([_block(active, one, two) for two in others], 2) for one in others], 1)
    wanted = np.concatenate([missing[axis] for axis in others], axis=1)
    wanted -= np.einsum("bij,bi->bj", scaled, missing[longest])
    short = np.linalg.solve(system - aside.transpose(0, 2, 1) @ scaled, wanted[:, :, None])[:, :, 0]
    steps = np.split(short, np.cumsum([sizes[axis] for axis in others])[:-1], axis=1)
    steps.insert(longest, (missing[longest] - np.einsum("bij,bj->bi", aside, short)) / diagonal)
    return steps


def _block(active: FloatArray, one: int, two: int) -> FloatArray:
    if one != two:
        return _sums(active, one, two)
    return np.asarray(np.einsum("bi,ij->bij", _sums(active, one) + RIDGE, np.eye(active.shape[one + 1])))


def _row_shifts(table: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the shift of each row after which its positive part has this sum."""
    falling = -np.sort(-table, axis=1)
    excess = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, table.shape[1] + 1)
    kept = np.maximum((falling > excess).sum(axis=1) - 1, 0)
    return np.asarray(-excess[np.arange(len(table)), kept])


def _checked(shares: npt.ArrayLike) -> FloatArray:
    given = np.asarray(shares, np.float64)
    if given.ndim != 1 or not len(given) or not np.isfinite(given).all():
        raise EstimateError("shares must be a flat array of finite numbers, not empty")
    return given
