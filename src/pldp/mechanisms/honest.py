"""What honest reports of a channel cannot have, whatever the population: laws that forged reports may break.

Each law holds for every distribution of the values, so a report that breaks it tells nothing about the values: only
that the channel did not make it. A form that has no such law returns `None`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.rows import ByteArray, FloatArray, IntArray
from pldp.records import Record

COARSE_CELLS: Final = 32
"""Groups of outputs that a histogram is compared in, at most."""


class Range(NamedTuple):
    """The least and the largest probability of each of several events."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class PairLaw(Record):
    """E(b_i b_j) of the bits of honest reports: Σ over reports of b_i b_j − a_j b_i − a_i b_j + c_ij has the mean 0.

    For i ≠ j and every population whose people have one value each. Unary bits are independent given the value, and at
    most one of two bits is the true one: a = q, c = q_i q_j. A set of d among k values that contains the true one with
    any p has a = (d−1)/(k−2) and c = a·d/(k−1).

    `places` are the bits that it is about. Where `ones` is given, the law is about the reports that have ones among
    these places, so many each; otherwise about all reports.
    """

    places: npt.NDArray[np.intp]
    slope: FloatArray
    constant: FloatArray
    ones: int | None = None

    @classmethod
    def of_sets(cls, places: npt.NDArray[np.intp], ones: int) -> PairLaw:
        """Return the law of sets of one size among these places."""
        size = len(places)
        slope = (ones - 1) / (size - 2)
        return cls(places, np.full(size, slope), np.full((size, size), slope * ones / (size - 1)), ones)


class Coarse(NamedTuple):
    """The group of every output, and the probability of each group given each value (groups × values)."""

    group: npt.NDArray[np.intp]
    chances: FloatArray


class Honest:
    """What honest reports of a channel have in common; the array form of a channel says what holds for it."""

    independent_supports: ClassVar[bool] = False
    """Whether supports of values that nobody has are independent, or hinder each other."""

    def support(self, counts: npt.NDArray[Any]) -> FloatArray:
        """Return what `support_range` is about, given the counts of outputs or of bits that are 1."""
        return counts.astype(np.float64)

    def support_range(self) -> Range | None:
        """Return between which probabilities a report supports each value (or has each bit, or is each output)."""
        return None

    def pair_laws(self) -> tuple[PairLaw, ...]:
        """Return what holds for two bits of a report together."""
        return ()

    def ones_law(self) -> FloatArray | None:
        """Return the distribution of the number of ones, where it does not depend on the value."""
        return None

    def log_ceiling(self, cells: ByteArray | None) -> FloatArray | None:
        """Return ln of what no value makes each cell more likely than; cells as in `pldp.mechanisms.arrays`."""
        del cells
        return None

    def log_collision(self) -> float | None:
        """Return ln of what no two values make two equal reports more likely than: the largest Σ_y Q(y|x)²."""
        return None

    def drawn_blindly(self, counts: npt.NDArray[Any]) -> IntArray | None:
        """Return how often each outcome came of what a device draws uniformly, whatever the value."""
        del counts
        return None

    def coarse(self, group: npt.NDArray[np.intp] | None = None) -> Coarse | None:
        """Return groups of outputs, these or its own, whose shares must be a mixture of those that each value makes."""
        del group
        return None


def group_outputs(chances: FloatArray, most: int = COARSE_CELLS) -> npt.NDArray[np.intp]:
    """Return groups of neighbouring outputs that are about equally likely.

    >>> group_outputs(np.full(6, 1 / 6), 3).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    middle = np.cumsum(chances) - chances / 2
    group = np.minimum((middle / chances.sum() * most).astype(np.intp), most - 1)
    return np.asarray(np.unique(group, return_inverse=True)[1], np.intp)
