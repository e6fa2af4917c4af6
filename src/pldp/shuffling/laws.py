"""What one report tells in a crowd, as a law: how likely each ratio Q(y|x) : Q(y|x') : blanket is.

Everybody else's report is, with probability γ, drawn from the blanket ω(y) = min_v Q(y|v)/γ whatever the answer is.
Among the reports from the blanket one person's report shows by R = Q(y|x)/ω(y) and R' = Q(y|x')/ω(y) only. What a law
is used for is the mean of convex functions of R − e^ε R', so a law may be replaced by one that is larger in convex
order, and the bound stays one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pldp.errors import ShuffleError
from pldp.mechanisms import Channel, Contrast

FloatArray = npt.NDArray[np.float64]

MOST_ATOMS = 100_000
"""Atoms of a law of several parts at most; beyond, the bound that knows ε only serves."""

MOST_PRODUCTS = 16 * MOST_ATOMS
"""Atoms before those that are alike are added up."""

MOST_CELLS = {"numbers": 1 << 24, "labels": 1 << 17}
"""Cells of a matrix at most; numbers have fast ones."""

GRID = 400
"""Ratios at which laws of many values are compared."""

APART = 1e-6
"""Relative distance of two ratios of the grid."""

ROUNDING = 1e-12
"""Covers what floating-point numbers make of exact probabilities, as a factor 1 ± of each."""

GRID_ROUNDING = 1e-8
"""The same for laws that are taken on a grid."""


@dataclass(frozen=True, eq=False)
class Law:
    """Atoms of (R, R') under the blanket, the blanket's share of every report, and what the blanket never says."""

    mass: FloatArray
    one: FloatArray
    two: FloatArray
    blanket: float  #: γ
    shown_one: FloatArray  #: Probabilities of outputs that the blanket does not have: nothing hides these.
    shown_two: FloatArray
    slack: float
    common: bool

    def times(self, other: Law) -> Law:
        """Join two independent parts of a report."""
        mass, one, two = (np.outer(a, b).ravel() for a, b in zip(self.atoms, other.atoms, strict=True))
        if self.shown_one.any() or other.shown_one.any():
            raise ValueError("parts that nothing hides cannot be joined")
        found = _merge(mass, one, two)
        slack = (1 + self.slack) * (1 + other.slack) - 1
        empty = np.zeros(0)
        return Law(*found, self.blanket * other.blanket, empty, empty, slack, self.common and other.common)

    @property
    def atoms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Masses and both ratios."""
        return self.mass, self.one, self.two


def _merge(mass: FloatArray, one: FloatArray, two: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up atoms that differ by rounding only."""
    keys = np.round(np.log(np.stack([one, two])), 9)
    _, first, place = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return np.bincount(place.ravel(), mass).astype(np.float64), one[first], two[first]


def law_of(contrast: Contrast) -> Law:
    """Return the law of one contrast."""
    one, two, blanket = (
        np.array([float(each) for each in row]) for row in (contrast.one, contrast.two, contrast.blanket)
    )
    return law_under(one, two, blanket, float(contrast.slack) + ROUNDING, common=contrast.common, loose=contrast.loose)


def law_under(
    one: FloatArray, two: FloatArray, blanket: FloatArray, slack: float, *, common: bool, loose: bool = False
) -> Law:
    """Return the law of two values under a blanket, whose sum is its share of every report."""
    hidden = blanket > 0
    shown = ~hidden & (one + two > 0)
    share = float(blanket.sum())
    mass = blanket[hidden] / share
    ratios = one[hidden] / mass, two[hidden] / mass
    if loose:
        slack += GRID_ROUNDING
        mass, *ratios = dominating([(each, mass) for each in ratios])  # type: ignore[assignment]
    return Law(mass, *ratios, share, one[shown], two[shown], slack, common)


def joined(parts: Sequence[Contrast]) -> Law | None:
    """Return the law of independent parts together; nothing where it has too many atoms."""
    counted: dict[Contrast, int] = {}
    for part in parts:
        key = part._replace(third=())
        counted[key] = counted.get(key, 0) + 1
    return product([law for part, count in counted.items() for law in [law_of(part)] * count])


def product(laws: Sequence[Law]) -> Law | None:
    """Join laws, smallest first; nothing where there are too many atoms."""
    found, *rest = sorted(laws, key=lambda law: law.mass.size)
    for law in rest:
        if found.mass.size * law.mass.size > MOST_PRODUCTS:
            return None
        found = found.times(law)
        if found.mass.size > MOST_ATOMS:
            return None
    return found


Marginal = tuple[FloatArray, FloatArray]
"""Ratios R under the blanket, and their masses."""


def dominating(marginals: Sequence[Marginal]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return one law of (R, R') that is at least as spread as that of any two values with these marginals.

    Let π(t) be the largest E(R_x − t)₊ of a value x, taken on a grid and joined by straight lines: it is that of a law
    above all R_x in convex order. Of all ways in which R and R' can go together, R large where R' is small is the
    largest in convex order for R − e^ε R'.
    """
    grid = _grid(np.concatenate([values for values, _ in marginals]))
    stop_loss = np.zeros(grid.size)
    for values, mass in marginals:
        order = np.argsort(values)
        value, weight = values[order], mass[order]
        above = np.concatenate([np.cumsum((value * weight)[::-1])[::-1], [0.0]])
        number = np.concatenate([np.cumsum(weight[::-1])[::-1], [0.0]])
        place = np.searchsorted(value, grid, side="right")
        np.maximum(stop_loss, above[place] - grid * number[place], out=stop_loss)
    slopes = np.diff(stop_loss, append=stop_loss[-1]) / np.diff(grid, append=grid[-1] + 1.0)
    weights = np.diff(slopes, prepend=-1.0)
    kept = weights > 0
    values, weights = grid[kept], weights[kept]
    if abs(weights.sum() - 1) + abs(weights @ values - 1) > GRID_ROUNDING:
        raise ShuffleError("numbers are too coarse for a bound: the law of ratios has lost its mean")
    return _opposed(values, weights / weights.sum())


def _grid(ratios: FloatArray) -> FloatArray:
    """Ratios from the smallest to the largest, well apart: all, or as many as serve."""
    least, most = float(ratios.min()), float(ratios.max())
    if most <= least * (1 + APART):
        return np.array([least, least * (1 + 2 * APART)])
    found = np.unique(ratios)
    if found.size > GRID:
        spaced = np.geomspace(least, most, GRID)
        found = np.unique(np.concatenate([np.quantile(found, np.linspace(0, 1, GRID)), spaced]))
    inner = found[np.diff(np.log(found), prepend=-math.inf) > APART]
    inner = inner[(inner > least * (1 + APART)) & (inner < most * (1 - APART))]
    return np.concatenate([[least], inner, [most]])


def _opposed(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Pair the largest of one law with the smallest of the same law."""
    up, down = np.cumsum(weights), np.cumsum(weights[::-1])
    edges = np.unique(np.concatenate([[0.0], up, down]))
    mass = np.diff(edges)
    middle = (edges[1:] + edges[:-1]) / 2
    last = values.size - 1
    one = values[np.minimum(np.searchsorted(up, middle), last)]
    two = values[::-1][np.minimum(np.searchsorted(down, middle), last)]
    kept = mass > 1e-18
    return mass[kept] / mass[kept].sum(), one[kept], two[kept]


def by_epsilon(epsilon: float) -> Law:
    """Return the law that holds for every channel of this ε, by its number alone.

    Q(y|v) ≥ e^{−ε}·(Q(y|x) + Q(y|x'))/2 whatever v is, and under this blanket R + R' = 2 with R/R' within e^{±ε}: the
    two extremes with equal mass are largest in convex order.
    """
    most = 2 / (1 + math.exp(-epsilon))
    ratios = np.array([most, 2 - most])
    empty = np.zeros(0)
    return Law(
        np.array([0.5, 0.5]), ratios, ratios[::-1].copy(), math.exp(-epsilon), empty, empty, ROUNDING, common=False
    )


def dominated_law(matrix: FloatArray, blanket: FloatArray) -> Law:
    """Return the same with a given blanket; outputs that it does not have are shown by the largest probabilities."""
    hidden = blanket > 0
    share = float(blanket.sum())
    mass = blanket[hidden] / share
    shown = matrix[~hidden].max(axis=1, initial=0.0)
    atoms = dominating([(column, mass) for column in (matrix[hidden] / mass[:, None]).T])
    return Law(*atoms, share, shown, np.zeros_like(shown), GRID_ROUNDING, common=False)


@lru_cache(8)
def matrix_of(channel: Channel) -> FloatArray | None:
    """Return Q as a matrix, outputs × values, where it is small enough."""
    from pldp.mechanisms.arrays import piecewise_arrays  # noqa: PLC0415 - what is known by its contrasts needs none

    most = MOST_CELLS.get(channel.domain, 0)
    if channel.in_bits or channel.form.count * channel.size > most:
        return None
    return np.asarray(piecewise_arrays(channel).pieces().table()[:-1], dtype=np.float64)


@lru_cache(64)
def laws_of(channel: Channel) -> tuple[Law, ...]:
    """Return laws, one of which is at least as telling as any two values of a channel: the largest bound counts."""
    contrasts = channel.contrasts()
    found = [law for parts in contrasts if (law := joined(parts)) is not None]
    if found and len(found) == len(contrasts):
        return tuple(found)
    matrix = matrix_of(channel)
    return (by_epsilon(channel.epsilon) if matrix is None else dominated_law(matrix, matrix.min(axis=1)),)


def law_in_report(channel: Channel) -> Law:
    """Return a law for a part of a report whose other parts may be what two answers differ in.

    Two values that are one and the same here must be bounded too. Those of a law whose values are alike are; where
    values differ, the law above all their marginals serves.
    """
    first, *more = laws_of(channel)
    if not more:
        return first
    marginals = [(ratios, law.mass) for law in (first, *more) for ratios in (law.one, law.two)]
    blanket, slack = min(law.blanket for law in (first, *more)), max(law.slack for law in (first, *more))
    return Law(*dominating(marginals), blanket, first.shown_one, first.shown_two, slack + GRID_ROUNDING, common=False)
