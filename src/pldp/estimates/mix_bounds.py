"""What is known beforehand about how many people chose each level: exact shares, bounds, or nothing.

Mixes within the bounds are those between the *corners* of a polytope: ρ = C·σ with the corners as columns of C and σ a
distribution over them. A likelihood over σ is of the same form as one over ρ and never leaves the bounds.

Bounds count as one more observation of the mix, of their middle m with a covariance T whose ellipsoid
(ρ−m)ᵀT⁻¹(ρ−m) ≤ 1 has all corners in it. Weighed with the labels by its precision, it gives the linear estimate whose
largest mean squared error over that ellipsoid is least, and this error is the combined variance; so intervals from it
hold wherever in the bounds the truth is. For one free share T is the square of half the width, and nothing is lost.

Reference: Donoho, "Statistical Estimation and Optimal Recovery" (1994), for affine estimates over convex sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record
from pldp.words import unknown

Mix = Mapping[str, float | tuple[float, float]]
"""The known share of some levels, or two bounds of it."""

ROUNDING: Final = 1e-6
"""How far given shares may sum to something else than 1."""

MOST_CORNERS: Final = 200
"""Corners up to which bounds are taken; each is an unknown of the fit."""

_LEAN: Final = 0.1
"""Largest |p − ½| of a pseudo-report: its log-likelihood is then quadratic to within 2 %."""


class PseudoReports(NamedTuple):
    """Reports that stand for the bounds: chances of each kind by corner (kinds × corners), and how many there are."""

    chances: FloatArray
    counts: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class MixBounds(Record):
    """The least and the largest share of people that each level can have."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def free(cls, levels: int) -> MixBounds:
        """Return the bounds that say nothing."""
        return cls(np.zeros(levels), np.ones(levels))

    @classmethod
    def read(cls, given: Mix | None, levels: Sequence[str]) -> MixBounds:
        """Read shares or pairs of bounds by the names of levels; those without one are free.

        >>> MixBounds.read({"strict": 0.4}, ["strict", "open"]).high
        array([0.4, 0.6])
        >>> MixBounds.read({"strict": (0.3, 0.5)}, ["strict", "open"]).low
        array([0.3, 0.5])
        """
        if given is None:
            return cls.free(len(levels))
        if not isinstance(given, Mapping) or not given:
            raise EstimateError('mix must give the share of some levels, such as {"strict": 0.4}, or two bounds of it')
        for name in given:
            if name not in levels:
                raise EstimateError(f"mix: {unknown('level', name, levels, 'this question')}")
        pairs = np.array([_pair(given.get(level, (0.0, 1.0)), level) for level in levels])
        return cls._tight(pairs[:, 0], pairs[:, 1])

    @classmethod
    def _tight(cls, low: FloatArray, high: FloatArray) -> MixBounds:
        """Let every bound say what the others imply; refuse those that no shares with the sum 1 can keep."""
        if low.sum() > 1 + ROUNDING or high.sum() < 1 - ROUNDING:
            wrong = f"at least {low.sum():.6g}" if low.sum() > 1 else f"at most {high.sum():.6g}"
            raise EstimateError(f"mix: shares of all levels must be able to sum to 1; these sum to {wrong}")
        if low.sum() >= 1 - ROUNDING:
            return cls(low / low.sum(), low / low.sum())
        if high.sum() <= 1 + ROUNDING:
            return cls(high / high.sum(), high / high.sum())
        return cls(np.maximum(low, 1 - (high.sum() - high)), np.minimum(high, 1 - (low.sum() - low)))

    @property
    def known(self) -> bool:
        """Whether the mix is known exactly."""
        return bool(self.corners.shape[1] == 1)

    @property
    def nothing(self) -> bool:
        """Whether nothing is known."""
        return not bool(self.low.any() or (self.high < 1).any())

    @cached_property
    def corners(self) -> FloatArray:
        """The corners of the mixes within the bounds, levels × corners."""
        if self.nothing:
            return np.eye(len(self.low))
        left, width = float(1 - self.low.sum()), self.high - self.low
        found: dict[tuple[float, ...], None] = {}
        for places in _fillings(width, left):
            corner = self.low.copy()
            corner[list(places)] = self.high[list(places)]
            rest = float(1 - corner.sum())
            for pivot in range(len(width)):
                if pivot not in places and rest <= width[pivot] + ROUNDING:
                    own = corner.copy()
                    own[pivot] += rest
                    found[tuple(own.round(12).tolist())] = None
            if len(found) > MOST_CORNERS:
                raise EstimateError("mix: bounds of so many levels at once cannot be used; give bounds of fewer levels")
        return np.array(list(found)).T

    @cached_property
    def middle(self) -> FloatArray:
        """The mean of the corners."""
        return np.asarray(self.corners.mean(axis=1))

    @cached_property
    def spread(self) -> FloatArray:
        """T: the covariance whose ellipsoid has all corners in it."""
        apart = self.corners - self.middle[:, None]
        shape = apart @ apart.T / apart.shape[1]
        inverse = np.linalg.pinv(shape, hermitian=True, rcond=1e-9)
        return np.asarray(shape * float(np.einsum("ic,ij,jc->c", apart, inverse, apart).max()))

    def nearest(self, mix: FloatArray) -> FloatArray:
        """Return the nearest mix within the bounds: all shares shifted by one amount, and cut at their bounds."""
        least, most = float((self.low - mix).min()), float((self.high - mix).max())
        for _ in range(200):
            shift = (least + most) / 2
            below = float(np.clip(mix + shift, self.low, self.high).sum()) < 1
            least, most = (shift, most) if below else (least, shift)
        found = np.clip(mix + most, self.low, self.high)
        return np.asarray(found / found.sum())

    @cached_property
    def pseudo_reports(self) -> PseudoReports:
        """Reports of two kinds for each free direction, with the information T⁻¹ about the mix, and none if it is free.

        With p = ½ + κ·uᵀ(ρ − m) for a direction u of T and variance t, as many reports of either kind as make 4κ²
        times their number 1/t have their maximum at m. They are linear in the mix, as real reports are.
        """
        values, vectors = np.linalg.eigh(self.spread)
        moves = vectors[:, values > 1e-12 * max(float(values.max()), 1e-300)]
        if self.nothing or self.known:
            return PseudoReports(np.zeros((0, self.corners.shape[1])), np.zeros(0))
        apart = moves.T @ (self.corners - self.middle[:, None])
        lean = _LEAN / np.abs(apart).max(axis=1, keepdims=True)
        counts = 1 / (4 * lean[:, 0] ** 2 * np.einsum("ik,ij,jk->k", moves, self.spread, moves))
        chances = np.concatenate([0.5 + lean * apart, 0.5 - lean * apart])
        return PseudoReports(chances, np.tile(counts / 2, 2))


def _pair(given: object, level: str) -> tuple[float, float]:
    """Return the bounds of a level's share."""
    both = given if isinstance(given, tuple | list) else (given, given)
    numbers = [float(each) for each in both if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(both) != 2 or len(numbers) != 2 or not 0 <= numbers[0] <= numbers[1] <= 1:
        raise EstimateError(f"mix: level {level!r} must have a share from 0 to 1, or two of them, the smaller first")
    return numbers[0], numbers[1]


def _fillings(width: FloatArray, left: float, first: int = 0) -> Iterator[tuple[int, ...]]:
    """Yield the sets of levels that can all have their largest share at once."""
    yield ()
    for place in range(first, len(width)):
        if 0 < width[place] <= left + ROUNDING:
            yield from ((place, *others) for others in _fillings(width, left - float(width[place]), place + 1))
