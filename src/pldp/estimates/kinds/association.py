"""How much two answers have to do with each other: Cramér's V, with the noise taken out, and an interval.

With δ_ij = f_ij − r_i c_j, r and c being the margins, V² = Σ δ_ij²/(r_i c_j) / (min(rows, columns) − 1): 0 if both
answers are independent, 1 if one says what the other is. Squares of noisy δ are too large by their variance:

    V̂² = (Σ δ̂_ij²/(r_i c_j) − tr Σ) / (min(rows, columns) − 1)

with Σ the covariance of the δ̂_ij/√(r_i c_j), which follows from that of the table by the delta method. For the interval
|δ̂|² is a sum of squares of normal numbers around a point whose distance from 0 is sought: those distances are kept at
which neither so large nor so small a sum is unlikely. Its distribution is that of four moments (Liu, Tang, Zhang, "A
New Chi-Square Approximation to the Distribution of Non-Negative Definite Quadratic Forms in Non-Central Normal
Variables", 2009). The lower end is 0 where the answers may be independent.

The covariance Σ of exclusive cells follows from what one report adds to them, ψ_ij(s, c, d) for patterns c and d of the
values i and j. Given the true values x and y, and levels, answers are independent, so

    E ψ_ij ψ_kl = Σ_s Σ_τ Λ(s|τ)ρ_τ Σ_xy f_xy Σ_cdc'd' ψ_ij(s, c, d) ψ_kl(s, c', d') G_x(ic, kc') H_y(jd, ld'),

G and H being how often a report shows two patterns, of two values, given the true one (`Side.given`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chndtr  # scipy.stats has the same, and takes half a second to load

from pldp.estimates.kinds.cells import Cells
from pldp.estimates.linear.labels import scaled
from pldp.estimates.linear.pooling import Linear
from pldp.estimates.results.consistency import add_reports
from pldp.mechanisms.arrays import FloatArray

LARGEST: Final = 400
"""Cells of a table up to which its covariance is built."""


def cell_covariance(cells: Cells, linear: Linear) -> FloatArray:
    """Return the covariance of the shares of exclusive cells of two questions, scaled to their stated variances."""
    evidence, (rows, columns) = linear.evidence, cells.shape
    first, second = (side.functionals for side in cells.sides)
    psi = linear.psi.reshape(-1, rows, columns, first.shape[2], second.shape[2])
    tables = np.einsum("sijcd,icf,jdg->sijfg", psi, *map(np.linalg.pinv, (first, second)), optimize=True)
    shares = add_reports(linear.estimates, linear.reports).reshape(rows, columns)
    one, two = (
        np.array([side.given(level) for level in sorted(set(cells.levels(axis)))])
        for axis, side in enumerate(cells.sides)
    )
    chances = np.zeros_like(evidence.chance)
    chances[:, evidence.levels] = evidence.chance[:, evidence.levels] * evidence.possible_mix
    total = np.zeros((shares.size, shares.size))
    for table, own in zip(tables, chances.reshape(-1, len(one), len(two)), strict=True):
        if own.any():
            beside = np.einsum("st,xy,tycd->sxcd", own, shares, two, optimize=True)
            moments = np.tensordot(one, beside, axes=([0, 1], [0, 1]))
            moments = moments.reshape(2 * (rows, first.shape[1]) + 2 * (columns, second.shape[1]))
            half = np.einsum("ijfg,ifkmjgln->ijklmn", table, moments)
            total += np.einsum("ijklmn,klmn->ijkl", half, table).reshape(total.shape)
    everything = evidence.expected(slice(0, evidence.targets), linear.states, evidence.possible_mix)
    mean = (everything * np.swapaxes(linear.psi, 0, 1).reshape(shares.size, -1)).sum(axis=1)
    total -= np.outer(mean, mean) + sum((gain @ along.T for _, gain, along in linear.gains), np.zeros(1))
    return scaled((total + total.T) / 2, linear.variance())


class Association(NamedTuple):
    """Cramér's V of two questions, or of two items of sets (`label`), with its interval."""

    label: tuple[str, ...]
    estimate: float
    low: float
    high: float


class Spread(NamedTuple):
    """δ̂/√(r c) in the directions of its covariance: its parts there, and the variances."""

    parts: FloatArray
    variances: FloatArray
    scale: float

    @classmethod
    def of(cls, shares: FloatArray, covariance: FloatArray, reports: int) -> Spread:
        """Take a table of exclusive cells and the covariance of its shares."""
        rows, columns = shares.sum(axis=1), shares.sum(axis=0)
        root = 1 / np.sqrt(np.outer(add_reports(rows, reports), add_reports(columns, reports)))
        height, width = shares.shape
        # dδ_ij = df_ij − c_j Σ_j df_ij − r_i Σ_i df_ij
        change = np.eye(shares.size)
        change -= np.kron(np.eye(height), np.outer(columns, np.ones(width)))
        change -= np.kron(np.outer(rows, np.ones(height)), np.eye(width))
        change *= root.reshape(-1, 1)
        values, vectors = np.linalg.eigh(change @ covariance @ change.T)
        away = ((shares - np.outer(rows, columns)) * root).ravel() @ vectors
        known = values > 1e-12 * values[-1]
        return cls(away[known], values[known], float(min(height, width) - 1))

    @property
    def estimate(self) -> float:
        """V̂."""
        unbiased = float((self.parts**2).sum() - self.variances.sum())
        return math.sqrt(min(max(unbiased, 0.0) / self.scale, 1.0))

    def below(self, squared: float, distance: float) -> float:
        """Return how likely a sum of squares is at most this if the point is so far away, where it seems to be."""
        towards = self.parts / math.sqrt(float((self.parts**2).sum()))
        centres = (distance * towards) ** 2 / self.variances
        first, second, third, fourth = (float((self.variances**k * (1 + k * centres)).sum()) for k in (1, 2, 3, 4))
        skew, tail = third / second**1.5, fourth / second**2
        if skew**2 > tail:
            root = 1 / (skew - math.sqrt(skew**2 - tail))
            away = skew * root**3 - root**2
            degrees = root**2 - 2 * away
        else:
            away, degrees = 0.0, 1 / skew**2
            root = math.sqrt(degrees)
        place = (squared - first) / math.sqrt(second) * root + degrees + away
        if place <= 0:
            return 0.0
        return float(chndtr(place, degrees, away) if away > 0 else chdtr(degrees, place))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the ends of V's interval."""
        squared, doubt = float((self.parts**2).sum()), (1 - confidence) / 2
        most = math.sqrt(self.scale)

        def end(found: float, chance: float) -> float:
            """Return the distance at which a sum of at most this is that likely; the likelihood falls with it."""
            if self.below(found, 0.0) <= chance:
                return 0.0
            if self.below(found, most) >= chance:
                return most
            return float(brentq(lambda distance: self.below(found, distance) - chance, 0.0, most, xtol=1e-7))

        # A sum smaller than noise alone makes says no more than one of its usual size.
        usual = max(squared, float(self.variances.sum()))
        return end(squared, 1 - doubt) / most, end(usual, doubt) / most


def spreads_of(cells: Cells, differ: float | None) -> dict[tuple[str, ...], Spread]:
    """Return what the association of two questions needs, or of every item of a set with the other question."""
    if len(cells.sides) != 2:
        return {}
    found = {}
    for chosen in product(*(side.items() for side in cells.sides)):
        own = replace(cells, sides=tuple(side for _, side in chosen))
        if math.prod(own.shape) > LARGEST:
            return {}
        linear, _ = own.decode(differ)
        shares = linear.estimates.reshape(own.shape)
        label = tuple(name for names, _ in chosen for name in names)
        found[label] = Spread.of(shares, cell_covariance(own, linear), int(linear.reports))
    return found
