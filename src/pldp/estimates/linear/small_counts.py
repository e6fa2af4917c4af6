"""Intervals of targets that few reports support, where normal intervals are wrong.

Where few reports support a target, an estimate is as skewed as a small Poisson number: none may have come by chance,
and then its variance seems to be that of certainty. But for every hypothetical share f the law of one report is known:
it shows (s, c) with the probability (1 − f)·A_sc + f·B_sc, and counts ψ = w_sc − f·v_sc, of mean 0 under f. With T the
mean of ψ over n reports, Chernoff's bound says

    −log Pr(T at least as far from 0) ≥ n·Λ(f),   Λ(f) = max_λ { λT − log E_f e^{λψ} },

and all f with n·Λ(f) at most −log of the tail that is allowed form the interval. It holds for any number of levels,
labels and reports, and more often than stated. Where levels show, numbers of reports are given, and the logarithm is a
sum over levels.

About the respondents themselves only the noise is random: f·log E_B + (1 − f)·log E_A takes the place of the logarithm.
`sampled` is the part of the variance of drawing people that is left: 1 for a population, 0 for respondents.

Reference: Chernoff, "A Measure of Asymptotic Efficiency for Tests of a Hypothesis Based on the Sum of Observations"
(1952).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from pldp.estimates.linear.pooling import Linear
from pldp.estimates.results.intervals import Interval
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

ENOUGH: Final = 20.0
"""Expected supporting reports (those of a Poisson number of the same skewness) from which intervals are normal."""

_BEHIND: Final = 2.0
"""Standard errors beyond the estimate at which they are counted: a share may be larger than it seems."""

_STEEPEST: Final = 60.0  # largest |λψ|: e^60 people are more than there are
_DOUBLINGS: Final = 30
_SECANTS: Final = 30
_NEWTON: Final = 60
_EXACT: Final = 1e-7
_TINY: Final = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class SmallCounts(Record):
    """The law of one report about the targets at `places` of a result, targets × shown × patterns each.

    `weights` and `whole` are w and v, `absent` and `present` A and B given what is shown if `given` (else jointly with
    it), `counted` and `taken` the means of w and v over the reports, and `shown` the share of the reports that show s.
    """

    places: npt.NDArray[np.intp]
    weights: FloatArray
    whole: FloatArray
    absent: FloatArray
    present: FloatArray
    counted: FloatArray
    taken: FloatArray
    shown: FloatArray  # targets × shown; all 1 (one column) where it is random
    reports: FloatArray
    sampled: FloatArray

    @classmethod
    def of(cls, fitted: Linear, *, sampled: float = 1.0) -> SmallCounts | None:
        """Return those of all targets that too few reports support; `None` if there is none."""
        evidence = fitted.evidence
        law = evidence.patterns.law
        if law is None:
            return None
        found = []
        for block in evidence.blocks():
            every = cls._of_block(fitted, block, sampled)
            few = every.few()
            if few.any():
                found.append(every.only(few))
        return cls.joined([(np.arange(evidence.targets), each) for each in found])

    @classmethod
    def _of_block(cls, fitted: Linear, block: slice, sampled: float) -> SmallCounts:
        evidence = fitted.evidence
        size, shown = block.stop - block.start, len(evidence.chance)
        absent, present = (
            evidence.expected(block, states, evidence.possible_mix).reshape(size, shown, -1)
            for states in _without_and_with(fitted.states)
        )
        shares = evidence.flat_shares(block).reshape(size, shown, -1)
        given = np.ones((size, 1))
        if evidence.visible:
            given = shares.sum(axis=2)
            absent, present = (own / np.maximum(own.sum(axis=2, keepdims=True), _TINY) for own in (absent, present))
        weights, whole = (np.swapaxes(each[:, block], 0, 1) for each in (fitted.base, fitted.slope))
        counted, taken = ((shares * own).sum(axis=(1, 2)) for own in (weights, whole))
        places = np.arange(block.start, block.stop)
        return cls(
            places, weights, whole, absent, present, counted, taken, given, np.full(size, evidence.reports),
            np.full(size, sampled),
        )  # fmt: skip

    def only(self, chosen: npt.NDArray[np.bool_]) -> SmallCounts:
        """Return some of the places."""
        return SmallCounts(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[tuple[npt.NDArray[np.intp], SmallCounts | None]]) -> SmallCounts | None:
        """Put together what was found among the numbers at these places of a whole."""
        found = [(places, each) for places, each in parts if each is not None]
        if not found:
            return None
        names = [each.name for each in fields(cls)][1:]
        columns = (np.concatenate(_padded([getattr(each, name) for _, each in found])) for name in names)
        return cls(np.concatenate([places[each.places] for places, each in found]), *columns)

    def marks(self, size: int) -> npt.NDArray[np.bool_]:
        """Return which of so many numbers these are."""
        marked = np.zeros(size, bool)
        marked[self.places] = True
        return marked

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

    def few(self) -> npt.NDArray[np.bool_]:
        """Tell where the number is too skewed: κ₂³/κ₃², which is λ for a Poisson number of mean λ, is not enough."""
        least = self.sampled / np.maximum(self.reports, 2.0)  # a sample shows no impossibility
        near = np.clip(self._centre, least, 1 - least)
        reach = _BEHIND * np.sqrt(self._cumulants(near)[0])
        skewed = np.zeros(len(near), bool)
        for sign in (1, -1):  # long tails to the right are a danger above the estimate, those to the left below it
            second, third = self._cumulants(np.clip(near + sign * reach, 0, 1))
            skewed |= (sign * third > 0) & (second > 0) & (second**3 < ENOUGH * third**2)
        return skewed

    def ends(self, reach: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals whose tails are those of a normal one that reaches so many standard errors.

        Λ grows from the estimate to both sides, beyond 0 and 1 as well as far as no chance of a pattern is below 0.
        """
        most = -float(log_ndtr(-reach)) / self.reports
        least, largest = self._possible_shares()
        middle = np.clip(self._centre, least, largest)
        wide = np.sqrt(2 * most * self.reports * self._cumulants(np.clip(middle, 0, 1))[0]) + 1 / self.reports
        low, high = (self._cross(middle, end, step, most) for end, step in ((least, -wide), (largest, wide)))
        return low, high

    def _cross(self, middle: FloatArray, end: FloatArray, step: FloatArray, most: FloatArray) -> FloatArray:
        """Return where Λ passes the most that is allowed between a share and an end, or the end where it does nowhere.

        √Λ is nearly linear: secants between a share inside and one outside, halving where those move one end only.
        """

        def beyond(share: FloatArray) -> FloatArray:
            return np.asarray(np.sqrt(np.maximum(self._rate(share), 0.0)) - np.sqrt(most))

        crosses = beyond(end) > 0
        inner, outer = middle.copy(), np.where(np.abs(step) < np.abs(end - middle), middle + step, end)
        for _ in range(_DOUBLINGS):
            inside = beyond(outer) <= 0
            if not (inside & (outer != end)).any():
                break
            further = middle + 2 * (outer - middle)
            bounded = np.where(np.abs(further - middle) < np.abs(end - middle), further, end)
            inner, outer = np.where(inside, outer, inner), np.where(inside, bounded, outer)
        low, high = beyond(inner), beyond(outer)
        for _ in range(_SECANTS):
            tried = outer - high * (outer - inner) / np.where(high > low, high - low, 1.0)
            value = beyond(tried)
            above = value > 0
            # Illinois: the end that stays counts half, so that both move.
            low, high = np.where(above, low / 2, value), np.where(above, value, high / 2)
            inner, outer = np.where(above, inner, tried), np.where(above, tried, outer)
            if (np.abs(value[crosses]) <= _EXACT).all():
                break
        return np.where(crosses, outer, end)

    @property
    def _centre(self) -> FloatArray:
        """The share that the reports say."""
        return np.asarray(self.counted / np.where(self.taken > 0, self.taken, 1.0))

    def _possible_shares(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest share at which no pattern has a negative chance."""
        slope = self.present - self.absent
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = -self.absent / slope
        least = np.where(slope > 0, bound, -np.inf).max(axis=(1, 2))
        largest = np.where(slope < 0, bound, np.inf).min(axis=(1, 2))
        return np.maximum(least, -1.0), np.minimum(largest, 2.0)

    def _laws(self, share: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return the chances whose logarithms are added up, each with its weight."""
        mixed = np.maximum(self.absent + share[:, None, None] * (self.present - self.absent), 0.0)
        laws = [(mixed, self.sampled)]
        if (self.sampled < 1).any():
            inside, left = np.clip(share, 0.0, 1.0), 1 - self.sampled
            laws += [(self.present, inside * left), (self.absent, (1 - inside) * left)]
        return laws

    def _psi(self, share: FloatArray) -> FloatArray:
        return np.asarray(self.weights - share[:, None, None] * self.whole)

    @property
    def _axes(self) -> tuple[int, ...]:
        """What chances are summed over: patterns alone where what is shown is given."""
        return (2,) if self.shown.shape[1] == self.weights.shape[1] else (1, 2)

    def _over_patterns(self, table: FloatArray) -> FloatArray:
        """Return sums over patterns, targets × shown (or 1 where that is random)."""
        return np.asarray(table.sum(axis=self._axes).reshape(self.shown.shape))

    def _tilted(self, law: FloatArray, grown: FloatArray, psi: FloatArray) -> FloatArray:
        """Return log E e^{λψ}, its slope and its curvature by λ, summed over what is shown: 3 × targets."""
        weighed = law * grown
        total = np.maximum(self._over_patterns(weighed), _TINY)
        first = self._over_patterns(weighed * psi) / total
        second = self._over_patterns(weighed * psi**2) / total - first**2
        return np.array([(self.shown * table).sum(axis=1) for table in (np.log(total), first, second)])

    def _cumulants(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return variance and third central moment of T."""
        psi = self._psi(share)
        second, third = np.zeros((2, len(share)))
        for law, weight in self._laws(share):
            around = psi - (law * psi).sum(axis=self._axes, keepdims=True)
            second += weight * (self.shown * self._over_patterns(law * around**2)).sum(axis=1)
            third += weight * (self.shown * self._over_patterns(law * around**3)).sum(axis=1)
        return second / self.reports, third / self.reports**2

    def _rate(self, share: FloatArray) -> FloatArray:
        """Return Λ: Newton's method on the concave λT − log E e^{λψ}."""
        psi, laws = self._psi(share), self._laws(share)
        mean = self.counted - share * self.taken
        largest = np.maximum(np.abs(psi).max(axis=(1, 2)), _TINY)
        place, steepest = np.zeros(len(share)), _STEEPEST / largest
        for _ in range(_NEWTON):
            _, first, second = self._sums(laws, place, psi)
            step = np.clip((mean - first) / np.maximum(second, 1e-12 * largest**2), -2 / largest, 2 / largest)
            moved = np.clip(place + step, -steepest, steepest)
            if (np.abs(moved - place) * largest <= _EXACT).all():
                break
            place = moved
        return np.asarray(place * mean - self._sums(laws, place, psi)[0])

    def _sums(self, laws: Sequence[tuple[FloatArray, FloatArray]], place: FloatArray, psi: FloatArray) -> FloatArray:
        grown = np.exp(place[:, None, None] * psi)
        return np.asarray(np.sum([weight * self._tilted(law, grown, psi) for law, weight in laws], axis=0))


def interval_around(estimates: FloatArray, error: FloatArray, reach: float, *, rare: SmallCounts | None) -> Interval:
    """Return estimates ± so many errors, except where few reports speak for a number."""
    found = Interval(estimates - reach * error, estimates + reach * error)
    if rare is not None:
        rare.widen(estimates, *found, reach)
    return found


def _without_and_with(states: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shares of states of people who lack each target, in proportion, and of those of whom it is true."""
    others = states[:, :-1] / np.maximum(states[:, :-1].sum(axis=1, keepdims=True), _TINY)
    nobody = np.concatenate([others, np.zeros((len(others), 1))], axis=1)
    everybody = np.zeros_like(states)
    everybody[:, -1] = 1.0
    return nobody, everybody


def _padded(columns: list[FloatArray]) -> list[FloatArray]:
    """Fill the tables of sets of several sizes up with patterns that no report shows."""
    most = [max(sizes) for sizes in zip(*(each.shape for each in columns), strict=True)]
    return [
        np.pad(each, [(0, 0), *((0, size - own) for size, own in zip(most[1:], each.shape[1:], strict=True))])
        for each in columns
    ]
