"""Intervals of shares that few reports speak for, where normal intervals are wrong.

In group g a report supports a value with the chance c_g(f) = absent_g + f·(present_g − absent_g), f the share of people
who have it. The share is estimated from T = Σ_g v_g·(supporting reports). Where few reports support a value, T is as
skewed as a small Poisson number: none may have come by chance, and then its variance seems to be that of certainty.
For every hypothetical f, though, the law of T is known, and by Chernoff's bound

    −log Pr(T at least as far from its mean) ≥ Λ(f) = max_s { s·T − Σ_g n_g·log(1 − c_g + c_g·e^{s·v_g}) }.

All f with Λ(f) at most −log of the tail that is allowed form the interval. It holds for any number of groups and
reports, and more often than stated.

About the respondents themselves only the noise is random: f·log(1 − p + p·e^{s·v}) + (1 − f)·log(1 − q + q·e^{s·v})
takes the place of the logarithm above. `sampled` is the part of the variance of drawing people that is left: 1 for a
population, 0 for respondents.

Reference: Chernoff, "A Measure of Asymptotic Efficiency for Tests of a Hypothesis Based on the Sum of Observations"
(1952).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

ENOUGH: Final = 20.0
"""Expected supporting reports (those of a Poisson number of the same skewness) from which intervals are normal."""

_BEHIND: Final = 2.0
"""Standard errors beyond the estimate at which they are counted: a share may be larger than it seems."""

_STEEPEST: Final = 60.0  # largest |s·v|: e^60 people are more than there are
_ROUNDS: Final = 60
_EXACT: Final = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Rare(Record):
    """Reports that support the numbers at `places` of a result; everything else is groups × places.

    Examples
    --------
    Nobody of 1,000 people ticked a box that is ticked falsely with 0.0003: nearly 4 may have wanted to.

    >>> found = Rare.find(np.array([[0.0]]), np.array([[1000.0]]), np.array([[0.0003]]), np.array([[1.0]]),
    ...     weights=np.array([[1.0]]), sampled=1.0)
    >>> [round(1000 * float(end[0]), 1) for end in found.ends(1.96)]
    [-0.3, 3.4]
    """

    places: npt.NDArray[np.intp]
    supports: FloatArray
    reports: FloatArray
    absent: FloatArray
    present: FloatArray
    values: FloatArray  # v: what one supporting report counts
    sampled: FloatArray  # per place

    @classmethod
    def find(
        cls,
        supports: FloatArray,
        reports: FloatArray,
        absent: FloatArray,
        present: FloatArray,
        *,
        weights: FloatArray,
        sampled: float | FloatArray,
    ) -> Rare | None:
        """Return those of all numbers that too few reports speak for; `None` if there is none.

        All are groups × numbers; `weights` are those of the groups in each number, which sum to 1.
        """
        contrast = present - absent
        known = (weights > 0) & (reports > 0) & (contrast > 0)
        values = np.where(known, weights / np.where(known, reports * contrast, 1.0), 0.0)
        part = np.broadcast_to(np.asarray(sampled, float), supports.shape[1:])
        every = cls(np.arange(supports.shape[1]), supports, reports, absent, present, values, part)
        few = every._few()
        return every.only(few) if few.any() else None

    def only(self, chosen: npt.NDArray[np.bool_]) -> Rare:
        """Return some of the places."""
        return Rare(*(getattr(self, each.name)[..., chosen] for each in fields(self)))

    @classmethod
    def joined(cls, parts: list[tuple[npt.NDArray[np.intp], Rare | None]]) -> Rare | None:
        """Put together what was found among the numbers at these places of a whole."""
        found = [(places, each) for places, each in parts if each is not None]
        if not found:
            return None
        moved = [cls(places[each.places], *_columns(each)) for places, each in found]
        names = [each.name for each in fields(cls)]
        return cls(*(np.concatenate([getattr(each, name) for each in moved], axis=-1) for name in names))

    def marks(self, size: int) -> npt.NDArray[np.bool_]:
        """Return which of so many numbers these are."""
        found = np.zeros(size, bool)
        found[self.places] = True
        return found

    def widen(self, estimates: FloatArray, low: FloatArray, high: FloatArray, reach: float) -> None:
        """Put the ends of these numbers in the place of normal ones; the estimate is never outside."""
        if reach not in self._known_ends:
            self._known_ends[reach] = self.ends(reach)
        ends, own = self._known_ends[reach], np.ravel(estimates)[self.places]
        low.flat[self.places] = np.minimum(ends[0], own)
        high.flat[self.places] = np.maximum(ends[1], own)

    @cached_property
    def _known_ends(self) -> dict[float, tuple[FloatArray, FloatArray]]:
        """Ends by reach: notes, rows and pages of one result all ask for the same ones."""
        return {}

    def ends(self, reach: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals whose tails are those of a normal one that reaches so many standard errors."""
        most = -float(log_ndtr(-reach))
        told = self.values > 0
        contrast = np.where(told, self.present - self.absent, 1.0)
        least = np.where(told, -self.absent / contrast, -np.inf).max(axis=0)
        largest = np.where(told, (1 - self.absent) / contrast, np.inf).min(axis=0)
        middle = np.clip(self._centre(), least, largest)

        def excess(share: FloatArray) -> tuple[FloatArray, FloatArray]:
            rate, slope = self._rate(share)
            root = np.sqrt(np.maximum(rate, 1e-300))  # nearly linear in the share
            return root - np.sqrt(most), slope / (2 * root)

        # Guess both ends from Poisson numbers in the unit of the skewness: x + L ± √(2xL + L²) is nearly right.
        second, third = self._cumulants(np.clip(middle, 0, 1))
        unit = np.where(second > 0, np.abs(third) / np.where(second > 0, second, 1.0), self.values.max(axis=0))
        wide = np.sqrt(2 * most * second + (most * unit) ** 2)
        return (
            _solve(excess, middle, least, middle - wide, below=True),
            _solve(excess, middle, largest, middle + wide + most * unit / 2, below=True),
        )

    def _centre(self) -> FloatArray:
        """The share at which the supports that came are expected."""
        shift = (self.values * (self.supports - self.reports * self.absent)).sum(axis=0)
        scale = (self.values * self.reports * (self.present - self.absent)).sum(axis=0)
        return np.asarray(shift / np.where(scale > 0, scale, 1.0))

    def _few(self) -> npt.NDArray[np.bool_]:
        """Tell where the number is too skewed: κ₂³/κ₃², which is λ for a Poisson number of mean λ, is not enough."""
        # What one person of all is: a sample shows no impossibility. No report may tell about an item.
        least = self.sampled / np.maximum(self.reports.sum(axis=0), 2.0)
        near, found = np.clip(self._centre(), least, 1 - least), np.zeros(self.supports.shape[1], bool)
        reach = _BEHIND * np.sqrt(self._cumulants(near)[0])
        for sign in (1, -1):  # long tails to the right are a danger above the estimate, those to the left below it
            second, third = self._cumulants(np.clip(near + sign * reach, 0, 1))
            found |= (sign * third > 0) & (second > 0) & (second**3 < ENOUGH * third**2)
        return found

    def _cumulants(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return variance and third central moment of T."""

        def moments(chance: FloatArray) -> FloatArray:
            return np.stack([chance * (1 - chance), chance * (1 - chance) * (1 - 2 * chance)])

        second, third = drawn = moments(self.absent + share * (self.present - self.absent))
        if (self.sampled < 1).any():
            fixed = share * moments(self.present) + (1 - share) * moments(self.absent)
            second, third = self.sampled * drawn + (1 - self.sampled) * fixed
        scaled = self.reports * self.values**2
        return (scaled * second).sum(axis=0), (scaled * self.values * third).sum(axis=0)

    def _rate(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Λ of these shares and its slope."""
        total, largest, law = (self.values * self.supports).sum(axis=0), self.values.max(axis=0), _Law(self, share)
        steepest, least_total = _STEEPEST / np.where(largest > 0, largest, 1.0), np.maximum(total, 1e-300)

        def slope(s: FloatArray) -> tuple[FloatArray, FloatArray]:
            first, second = law.derivatives(s)
            first = np.maximum(first, 1e-300)
            return np.log(first / least_total), second / first  # nearly linear for rare supports

        expected = law.derivatives(np.zeros_like(total))[0]
        ratio = (total + largest / 8) / (expected + largest / 8)
        below = total > expected
        guess = np.log(np.maximum(ratio, 1e-300)) / np.maximum(largest, 1e-300)
        s = _solve(slope, np.zeros_like(total), np.where(below, steepest, -steepest), guess, below=below)
        logarithm, by_share = law.logarithm(s)
        return s * total - logarithm, -by_share


class _Law:
    """The law of T at given shares: its cumulant generating function by s, a sum over chances of a supporting report.

    Every chance has a weight: that of a person who is drawn, and beside it those of respondents who have the value and
    who have not, where part of them is given. What does not depend on s is computed once: it is asked for at many s.
    """

    def __init__(self, rare: Rare, share: FloatArray) -> None:
        p, q, sampled = rare.present, rare.absent, rare.sampled
        self.values, self.squares, self.contrast = rare.values, rare.values**2, p - q
        self.parts = [(np.minimum(np.maximum(q + share * (p - q), 0.0), 1.0), sampled * rare.reports)]
        self.given = None
        if (sampled < 1).any():
            inside, given = np.clip(share, 0.0, 1.0), (1 - sampled) * rare.reports
            self.parts += [(p, inside * given), (q, (1 - inside) * given)]
            self.given = given

    def derivatives(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first and the second derivative by s."""
        grown, first, second = np.expm1(s * self.values), 0.0, 0.0
        for chance, weight in self.parts:
            tilted = chance * (1 + grown) / _at_least_tiny(1 + chance * grown)
            first = first + weight * (self.values * tilted)
            second = second + weight * (self.squares * tilted * (1 - tilted))
        return np.asarray(first).sum(axis=0), np.asarray(second).sum(axis=0)

    def logarithm(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the function itself, and its derivative by the share."""
        grown = np.expm1(s * self.values)
        below = [_at_least_tiny(1 + chance * grown) for chance, _ in self.parts]
        total = sum(weight * np.log(each) for each, (_, weight) in zip(below, self.parts, strict=True))
        by_share = self.parts[0][1] * (self.contrast * grown / below[0])
        if self.given is not None:
            by_share = by_share + self.given * np.log(below[1] / below[2])
        return np.asarray(total).sum(axis=0), by_share.sum(axis=0)


def _at_least_tiny(numbers: FloatArray) -> FloatArray:
    return np.maximum(numbers, 1e-300)


def _columns(rare: Rare) -> list[FloatArray]:
    return [getattr(rare, each.name) for each in fields(rare)][1:]


def _solve(
    function: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    start: FloatArray,
    end: FloatArray,
    guess: FloatArray,
    *,
    below: bool | npt.NDArray[np.bool_],
) -> FloatArray:
    """Return where a function is 0 between a start and an end on whichever side, or the end where it is nowhere.

    Newton's method, halving where that would leave what is left of the way. The function returns its derivative too;
    `below` says whether it is below 0 at the start.
    """
    inner, outer = start.astype(float), end.astype(float)
    crosses = (function(outer)[0] < 0) != below
    place = np.where(_between(inner, guess, outer), guess, (inner + outer) / 2)
    for _ in range(_ROUNDS):
        value, slope = function(place)
        inside = (value < 0) == below
        inner, outer = np.where(inside, place, inner), np.where(inside, outer, place)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = place - value / slope
        following = np.where(_between(inner, newton, outer), newton, (inner + outer) / 2)
        if (~crosses | (np.abs(following - place) <= _EXACT * np.abs(following - start))).all():
            break
        place = following
    return np.where(crosses, following, end)


def _between(one: FloatArray, middle: FloatArray, two: FloatArray) -> npt.NDArray[np.bool_]:
    return np.asarray((np.minimum(one, two) < middle) & (middle < np.maximum(one, two)))
