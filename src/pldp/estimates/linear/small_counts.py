"""Intervals of targets that few reports support, where normal intervals are wrong.

Where few reports support a target, an estimate is as skewed as a small Poisson number: none may have come by chance,
and then its variance seems to be that of certainty. But for every hypothetical share f the law of one report is known:
it shows (s, c) with the probability (1 − f)·A_sc + f·B_sc, and counts ψ = w_sc − f·v_sc, of mean 0 under f. With T the
mean of ψ over n reports, Chernoff's bound says

    −log Pr(T at least as far from 0) ≥ n·Λ(f),   Λ(f) = max_λ { λT − log E_f e^{λψ} },

and all f with n·Λ(f) at most −log of the tail that is allowed form the interval. It holds for any number of levels,
labels and reports, and more often than stated. Where levels show, numbers of reports are given, and the logarithm is a
sum over levels; where labels do, they are part of what is random.

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

from pldp.estimates.linear.evidence import by_target, proportions
from pldp.estimates.linear.pooling import Linear, biased_reach
from pldp.estimates.results.intervals import Interval
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

ENOUGH: Final = 20.0
"""Expected supporting reports (those of a Poisson number of the same skewness) from which intervals are normal."""

_BEHIND: Final = (
    2.0  # standard errors beyond the estimate at which they are counted: a share may be larger than it seems
)
_STEEPEST: Final = 60.0  # largest |λψ|: e^60 people are more than there are
_DOUBLINGS: Final = 30
_SECANTS: Final = 30
_NEWTON: Final = 60
_EXACT: Final = 1e-7
_TINY: Final = 1e-300
_NO_ERROR: Final = 1e-12  # standard errors below this are none


@dataclass(frozen=True, eq=False, repr=False)
class SmallCounts(Record):
    """The law of one report about the targets at `places` of a result; tables are targets × groups × cells.

    Groups of reports are those of a level if levels show, else all. `weights` and `whole` are w and v, `absent` and
    `present` A and B within a group, and `shown` the share of the reports in it. `counted` and `taken` are the means of
    w and v over the reports.
    """

    places: npt.NDArray[np.intp]
    weights: FloatArray
    whole: FloatArray
    absent: FloatArray
    present: FloatArray
    counted: FloatArray
    taken: FloatArray
    shown: FloatArray
    reports: FloatArray
    sampled: FloatArray

    @classmethod
    def of(cls, fitted: Linear, *, sampled: float = 1.0) -> SmallCounts | None:
        """Return those of all targets that too few reports support; `None` if there is none."""
        evidence, found = fitted.evidence, []
        if evidence.patterns.law is None:
            return None
        for block in evidence.blocks():
            every = cls._of_block(fitted, block, sampled)
            found.append((np.arange(evidence.targets), every.only(every.few())))
        return cls.joined(found)

    @classmethod
    def _of_block(cls, fitted: Linear, block: slice, sampled: float) -> SmallCounts:
        evidence, size = fitted.evidence, block.stop - block.start
        groups = len(evidence.chance) if evidence.visible else 1
        without = np.pad(proportions(fitted.states), ((0, 0), (0, 1)))
        true = np.broadcast_to(np.eye(without.shape[1])[-1], without.shape)
        laws = [evidence.expected(block, states, evidence.possible_mix) for states in (without, true)]
        added = (by_target(each[:, block]) for each in (fitted.base, fitted.slope))
        tables = (*added, *laws, evidence.flat_shares(block))
        weights, whole, absent, present, shares = (each.reshape(size, groups, -1) for each in tables)
        absent, present = (law / np.maximum(law.sum(axis=2, keepdims=True), _TINY) for law in (absent, present))
        counted, taken = ((shares * own).sum(axis=(1, 2)) for own in (weights, whole))
        places, shown = np.arange(block.start, block.stop), shares.sum(axis=2)
        reports, left = np.full(size, evidence.reports), np.full(size, sampled)
        return cls(places, weights, whole, absent, present, counted, taken, shown, reports, left)

    def only(self, chosen: npt.NDArray[np.bool_]) -> SmallCounts:
        """Return some of the places."""
        return SmallCounts(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[tuple[npt.NDArray[np.intp], SmallCounts | None]]) -> SmallCounts | None:
        """Put together what was found among the numbers at these places of a whole."""
        found = [(places, each) for places, each in parts if each is not None and len(each.places)]
        if not found:
            return None
        names = [each.name for each in fields(cls)][1:]
        columns = (np.concatenate(_padded([getattr(each, name) for _, each in found])) for name in names)
        return cls(np.concatenate([places[each.places] for places, each in found]), *columns)

    def marks(self, size: int) -> npt.NDArray[np.bool_]:
        """Return which of so many numbers these are."""
        return np.isin(np.arange(size), self.places)

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

    @cached_property
    def _known_ends(self) -> dict[float, tuple[FloatArray, FloatArray]]:
        """Ends by reach: notes, rows and pages of one result all ask for the same ones."""
        return {}

    def ends(self, reach: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals whose tails are those of a normal one that reaches so many standard errors.

        Λ grows from the estimate to both sides, beyond 0 and 1 as well as far as no chance of a pattern is below 0.
        """
        if reach not in self._known_ends:
            most = -float(log_ndtr(-reach)) / self.reports
            least, largest = self._possible_shares()
            middle = np.clip(self._centre, least, largest)
            wide = np.sqrt(2 * most * self.reports * self._cumulants(np.clip(middle, 0, 1))[0]) + 1 / self.reports
            low, high = (self._cross(middle, end, step, most) for end, step in ((least, -wide), (largest, wide)))
            self._known_ends[reach] = low, high
        return self._known_ends[reach]

    def _cross(self, middle: FloatArray, end: FloatArray, step: FloatArray, most: FloatArray) -> FloatArray:
        """Return where Λ passes the most that is allowed between a share and an end, or the end where it does nowhere.

        √Λ is nearly linear: secants between a share inside and one outside, halving where those move one end only.
        """

        def beyond(share: FloatArray) -> FloatArray:
            return np.asarray(np.sqrt(np.maximum(self._rate(share), 0.0)) - np.sqrt(most))

        def within(share: FloatArray) -> FloatArray:
            return np.clip(share, np.minimum(middle, end), np.maximum(middle, end))

        crosses = beyond(end) > 0
        inner, outer = middle, within(middle + step)
        for _ in range(_DOUBLINGS):
            inside = beyond(outer) <= 0
            if not (inside & (outer != end)).any():
                break
            inner, outer = np.where(inside, outer, inner), np.where(inside, within(2 * outer - middle), outer)
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

    def _generating(self, share: FloatArray, place: FloatArray) -> FloatArray:
        """Return log E e^{λψ} at λ = `place` and its three derivatives there, 4 × targets.

        Of people who are drawn it is that of the mixed law; of those who are not, the mean over those laws.
        """
        mixed = np.maximum(self.absent + share[:, None, None] * (self.present - self.absent), 0.0)
        laws = [(mixed, self.sampled)]
        if (self.sampled < 1).any():
            inside, left = np.clip(share, 0.0, 1.0), 1 - self.sampled
            laws += [(self.present, inside * left), (self.absent, (1 - inside) * left)]
        psi = self.weights - share[:, None, None] * self.whole
        grown, total = np.exp(place[:, None, None] * psi), np.zeros((4, len(share)))
        for law, weight in laws:
            weighed = law * grown
            chance = np.maximum(weighed.sum(axis=2), _TINY)
            mean = (weighed * psi).sum(axis=2) / chance
            around = psi - mean[:, :, None]
            square = weighed * around**2
            central = [each.sum(axis=2) / chance for each in (square, square * around)]
            total += weight * (self.shown * np.array([np.log(chance), mean, *central])).sum(axis=2)
        return total

    def _cumulants(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return variance and third central moment of T."""
        _, _, second, third = self._generating(share, np.zeros(len(share)))
        return second / self.reports, third / self.reports**2

    def _rate(self, share: FloatArray) -> FloatArray:
        """Return Λ: Newton's method on the concave λT − log E e^{λψ}."""
        mean = self.counted - share * self.taken
        largest = np.maximum(np.abs(self.weights - share[:, None, None] * self.whole).max(axis=(1, 2)), _TINY)
        place, steepest = np.zeros(len(share)), _STEEPEST / largest
        for _ in range(_NEWTON):
            _, first, second, _ = self._generating(share, place)
            step = np.clip((mean - first) / np.maximum(second, 1e-12 * largest**2), -2 / largest, 2 / largest)
            moved = np.clip(place + step, -steepest, steepest)
            if (np.abs(moved - place) * largest <= _EXACT).all():
                break
            place = moved
        return np.asarray(place * mean - self._generating(share, place)[0])


def interval_around(
    estimates: FloatArray,
    error: FloatArray,
    reach: float | FloatArray,
    *,
    rare: SmallCounts | None = None,
    bias: Interval | None = None,
    live: bool = False,
) -> Interval:
    """Return estimates ± so many errors, except where few reports speak for a number; none is outside its interval.

    The truth may be anything from `bias.low` to `bias.high` more than what an estimate is on average: the interval is
    longer by as much as holds for each of these, and rare numbers have both intervals. Those that are `live` reach so
    far that they hold at every look, on both sides; nothing is saved there by a bias that only one side can miss.
    """
    around = estimates
    if bias is None:
        half = reach * error
    else:
        around, most = estimates + (bias.low + bias.high) / 2, (bias.high - bias.low) / 2
        errors = np.maximum(error, _NO_ERROR)
        half = reach * error + most if live else errors * biased_reach(float(np.max(reach)), most / errors)
    found = Interval(around - half, around + half)
    if bias is not None:
        found = Interval(np.minimum(found.low, estimates), np.maximum(found.high, estimates))
    if rare is not None:
        own = np.ravel(estimates)[rare.places]
        ends = zip(rare.ends(float(np.max(reach))), found, (np.minimum, np.maximum), strict=True)
        for few, normal, farther in ends:
            normal.flat[rare.places] = farther(few, own if bias is None else normal.flat[rare.places])
    return found


def _padded(columns: list[FloatArray]) -> list[FloatArray]:
    """Fill the tables of sets of several sizes up with patterns that no report shows."""
    most = [max(sizes) for sizes in zip(*(each.shape for each in columns), strict=True)]
    return [
        np.pad(each, [(0, 0), *((0, size - own) for size, own in zip(most[1:], each.shape[1:], strict=True))])
        for each in columns
    ]
