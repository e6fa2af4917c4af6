"""How many people chose each level, where reports show a perturbed label instead of it.

A person of level τ (one of the mix ρ) shows label s with probability G(s|τ). With the outputs of a question, whatever
its kind, a report (s, y) has the probability Σ_τ ρ_τ G(s|τ) P_τ(y), P_τ being what level τ makes of the population. A
result from hidden levels therefore rests on an estimate of ρ, and its error includes that of ρ.

What is known of ρ beforehand (`MixBounds`) counts too. `estimate` weighs it with the labels, `report_weights` is what
one report then counts for each level, and `covariance` the error that is left: none where ρ is known.

**What is known beforehand** about how many people chose each level is exact shares, bounds, or nothing.

Mixes within the bounds are those between the *corners* of a polytope: ρ = C·σ with the corners as columns of C and σ a
distribution over them. A likelihood over σ is of the same form as one over ρ and never leaves the bounds.

Bounds count as one more observation of the mix, of their middle m with a covariance T whose ellipsoid
(ρ−m)ᵀT⁻¹(ρ−m) ≤ 1 has all corners in it. Weighed with the labels by its precision, it gives the linear estimate whose
largest mean squared error over that ellipsoid is least, and this error is the combined variance; so intervals from it
hold wherever in the bounds the truth is. For one free share T is the square of half the width, and nothing is lost.

Reference: Donoho, "Statistical Estimation and Optimal Recovery" (1994), for affine estimates over convex sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import TEST_LEVEL, GroupReports, LevelShare, Note
from pldp.estimates.results.options import Mix
from pldp.mechanisms import CategoricalChannel, Integers
from pldp.mechanisms.arrays import FloatArray, IntArray, label_arrays
from pldp.records import Record
from pldp.survey import Question, Survey
from pldp.tallies import Tally
from pldp.words import unknown

"""The known share of some levels, or two bounds of it."""

ROUNDING: Final = 1e-6
"""How far given shares may sum to something else than 1."""

MOST_CORNERS: Final = 200
"""Corners up to which bounds are taken; each is an unknown of the fit."""

UNSURE: Final = 0.25
"""Standard error of the share of a level from which on the scale of all estimates is unsure."""

_LEAN: Final = 0.1
"""Largest |p − ½| of a pseudo-report: its log-likelihood is then quadratic to within 2 %."""


LevelName = tuple[str, str, float]
"""Name, mechanism and ε of a level."""


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


@dataclass(frozen=True, eq=False, repr=False)
class LevelMix(Record):
    """What reports show of levels: G[shown, level], how many reports show each, and what is known of the mix.

    Where reports show the level itself, G is the identity and everything below holds with it.
    """

    matrix: FloatArray
    counts: IntArray
    bounds: MixBounds
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        label_channel: CategoricalChannel | None,
        counts: Sequence[int],
        bounds: MixBounds | None = None,
        names: Sequence[str] = (),
    ) -> LevelMix:
        """Take the channel of the label (`None` where levels show), the reports that show each, and what is known."""
        if label_channel is not None and label_channel.form != Integers(len(counts)):
            raise EstimateError(f"labels must be one of {len(counts)}, as the levels are")
        matrix = np.eye(len(counts)) if label_channel is None else label_arrays(label_channel).matrix()
        return cls(matrix, np.asarray(counts, np.int64), bounds or MixBounds.free(len(counts)), tuple(names))

    @cached_property
    def visible(self) -> bool:
        """Whether reports show the level itself."""
        return bool(np.array_equal(self.matrix, np.eye(len(self.matrix))))

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    @cached_property
    def inverse(self) -> FloatArray:
        """G⁻¹: what one report counts for each level (row) if it shows a label (column)."""
        return np.asarray(np.linalg.inv(self.matrix))

    @cached_property
    def unbiased(self) -> FloatArray:
        """The unbiased share of each level from the labels alone: it may lie outside 0 to 1."""
        return np.asarray(self.inverse @ (self.counts / self.reports))

    @cached_property
    def label_covariance(self) -> FloatArray:
        """Covariance of `unbiased`, from the multinomial labels."""
        labels = self.matrix @ norm_sub(self.unbiased)
        spread = np.diag(labels) - np.outer(labels, labels)
        return np.asarray(self.inverse @ spread @ self.inverse.T / self.reports)

    @cached_property
    def _gain(self) -> FloatArray:
        """The part of `unbiased` in `estimate`: all of it where nothing is known, none of it where the mix is."""
        if self.bounds.nothing:
            return np.eye(len(self.counts))
        both = self.bounds.spread + self.label_covariance
        return np.asarray(self.bounds.spread @ np.linalg.pinv(both, hermitian=True, rcond=1e-12))

    @property
    def report_weights(self) -> FloatArray:
        """What one report counts for each level (row) in `estimate` if it shows a label (column)."""
        return np.asarray(self._gain @ self.inverse)

    @property
    def estimate(self) -> FloatArray:
        """The share of each level from the labels and what is known: it may lie outside 0 to 1."""
        return np.asarray(self.bounds.middle + self._gain @ (self.unbiased - self.bounds.middle))

    @cached_property
    def bias_covariance(self) -> FloatArray:
        """The part of `covariance` that labels have no part in: how far off the middle of the bounds may be."""
        if self.bounds.nothing:
            return np.zeros_like(self.matrix)
        rest = np.eye(len(self.counts)) - self._gain
        return np.asarray(rest @ self.bounds.spread @ rest.T)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of `estimate`; within bounds, the largest mean squares of its errors."""
        return np.asarray(self._gain @ self.label_covariance @ self._gain.T + self.bias_covariance)

    @cached_property
    def shares(self) -> FloatArray:
        """The nearest mix that can be true."""
        return norm_sub(self.unbiased) if self.bounds.nothing else self.bounds.nearest(self.estimate)

    def contradicts(self, level: float) -> bool:
        """Tell whether labels contradict what is known, in a test with this false-alarm rate over all levels."""
        outside = np.maximum(self.bounds.low - self.unbiased, self.unbiased - self.bounds.high)
        reach = NormalDist().inv_cdf(1 - level / (2 * len(outside)))
        within = self.matrix @ self.bounds.nearest(self.unbiased)
        spread = self.inverse @ (np.diag(within) - np.outer(within, within)) @ self.inverse.T / self.reports
        return not self.bounds.nothing and bool((outside > reach * np.sqrt(np.diag(spread))).any())

    @property
    def unsure(self) -> bool:
        """Whether labels barely tell how many people chose each level, so that the scale of all estimates is unsure."""
        return bool(np.diag(self.covariance).max() > UNSURE**2)

    @property
    def words(self) -> str:
        """What the method of a result says of levels, before how they are pooled."""
        return "" if self.visible else "hidden levels "

    def assumed(self, what: str, *, together: bool, tested: bool) -> tuple[str, ...]:
        """Return what a result assumes about the choice of levels, if people of all levels are taken `together`.

        `what` is that of which people of all levels then have the same.
        """
        if not together:
            return (notes.FREE_CHOICE, *(() if self.bounds.nothing else (notes.MIX_NOT_USED,)))
        if self.visible:
            return (notes.same(what), *((notes.ROUGH_WEIGHTS,) if what == "shares" else ()))
        return (notes.TESTED_CHOICE if tested else notes.UNTESTED_CHOICE, *self._given)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of results that rest on this mix: labels contradict it, or say too little."""
        return (*self.contradicted, *((notes.LABELS_SAY_LITTLE,) if self.unsure else ()))

    @property
    def contradicted(self) -> tuple[Note, ...]:
        """Say that labels contradict the mix that was given, where they do."""
        return (notes.MIX_CONTRADICTED,) if self.contradicts(TEST_LEVEL) else ()

    def groups_of(
        self, levels: Sequence[LevelName], used: Sequence[int], weights: FloatArray
    ) -> tuple[GroupReports, ...]:
        """Return the reports of the levels that are used, with their weights, where reports show levels."""
        if not self.visible:
            return ()
        parts = zip(used, weights.tolist(), strict=True)
        return tuple(GroupReports(*levels[place], int(self.counts[place]), weight) for place, weight in parts)

    def levels_of(self, levels: Iterable[LevelName], shares: FloatArray | None = None) -> tuple[LevelShare, ...]:
        """Return how many people are estimated to have chosen each level, where levels are hidden."""
        if self.visible:
            return ()
        chosen = (self.shares if shares is None else shares).tolist()
        return tuple(LevelShare(*own, share) for own, share in zip(levels, chosen, strict=True))

    @property
    def _given(self) -> tuple[str, ...]:
        """What is assumed about the mix, where something about it was given."""
        if self.bounds.nothing:
            return ()
        parts = [
            f"{level} {low:.6g}" if high - low < 1e-9 else f"{level} {low:.6g} to {high:.6g}"
            for level, low, high in zip(self.names, self.bounds.low, self.bounds.high, strict=True)
        ]
        what = "are the given ones" if self.bounds.known else "lie within the given bounds"
        return (f"the shares of the levels {what}: {', '.join(parts)}",)

    @cached_property
    def posterior(self) -> FloatArray:
        """Pr(level | label), label × level, at the nearest mix that can be true."""
        both = self.matrix * self.shares
        return np.asarray(both / both.sum(axis=1, keepdims=True))


def name_levels(question: Question) -> list[LevelName]:
    """Return every level of a question as results state it."""
    parts = zip(question.levels, question.channels, strict=True)
    return [(level.name, own.mechanism, question.answer_epsilon(level.name)) for level, own in parts]


def check_mix(survey: Survey, mix: Mix | None) -> None:
    """Refuse a known mix of levels where reports show the level."""
    if mix is not None and survey.level_channel is None:
        raise EstimateError("mix applies to hidden levels; reports of this survey show the level, so leave it out")


def mix_of(tally: Tally, question: str, mix: Mix | None = None) -> LevelMix:
    """Return what the reports that answer a question show of levels, and what is known of these.

    `mix` has what is known of the shares of the levels: of some a share, or two bounds of it.

    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.read({
    ...     "pldp": 1, "title": "Work", "levels": {"strict": 0.5, "open": 2}, "hide_level": {"epsilon": 1},
    ...     "questions": [{"name": "late", "values": ["yes", "no"]}],
    ... })
    >>> people = Population.of_shares(survey, 20_000, seed=1)
    >>> mix = mix_of(tally(survey, simulate_reports(survey, people, seed=1)), "late")
    >>> mix.visible, mix.reports, bool(abs(mix.shares - 0.5).max() < 4 * mix.covariance[0, 0] ** 0.5)
    (False, 20000, True)
    """
    check_mix(tally.survey, mix)
    names = [level.name for level in tally.survey.question(question).levels]
    counts = [tally.counts[question, name].reports for name in names]
    return LevelMix.of(tally.survey.level_channel, counts, MixBounds.read(mix, names), names)


def level_mix(tally: Tally, question: str, mix: Mix | None = None) -> LevelMix | None:
    """Return `mix_of` where levels are hidden, else `None`."""
    known = mix_of(tally, question, mix)
    return None if known.visible else known
