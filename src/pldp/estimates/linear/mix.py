"""How many people chose each level, where reports show a perturbed label instead of it.

A person of level τ (one of the mix ρ) shows label s with probability G(s|τ); where reports show the level itself, G is
the identity. With the outputs y of a question a report has the probability Σ_τ ρ_τ G(s|τ) P_τ(y), so that a result from
hidden levels rests on an estimate of ρ, and its error includes that of ρ.

What is known of ρ beforehand (`MixBounds`: exact shares, bounds, or nothing) counts too. Mixes within the bounds are
those between the *corners* of a polytope: ρ = C·σ with the corners as columns of C and σ a distribution over them. A
likelihood over σ is of the same form as one over ρ and never leaves the bounds.

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
from typing import Final, NamedTuple, cast

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
from pldp.tallies import Source, Tally
from pldp.words import unknown

ROUNDING: Final = 1e-6  # how far given shares may sum to something else than 1
MOST_CORNERS: Final = 200  # corners up to which bounds are taken; each is an unknown of the fit
UNSURE: Final = 0.25  # standard error of the share of a level from which on the scale of all estimates is unsure
_LEAN: Final = 0.1  # largest |p − ½| of a pseudo-report: its log-likelihood is then quadratic to within 2 %


LevelName = tuple[str, str, float]
"""Name, mechanism and ε of a level."""


class PseudoReports(NamedTuple):
    """Reports that stand for the bounds: chances of each kind, kinds × corners, and how many there are."""

    chances: FloatArray
    counts: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class MixBounds(Record):
    """The least and the largest share of people that each level can have."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def free(cls, levels: int) -> MixBounds:
        """Return bounds that say nothing."""
        return cls(np.zeros(levels), np.ones(levels))

    @classmethod
    def read(cls, given: Mix | None, levels: Sequence[str]) -> MixBounds:
        """Read shares or pairs of bounds by the names of levels; those without one are free.

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
        low, high = np.array([_pair(given.get(level, (0.0, 1.0)), level) for level in levels]).T
        if low.sum() > 1 + ROUNDING or high.sum() < 1 - ROUNDING:
            wrong = f"at least {low.sum():.6g}" if low.sum() > 1 else f"at most {high.sum():.6g}"
            raise EstimateError(f"mix: shares of all levels must be able to sum to 1; these sum to {wrong}")
        if low.sum() >= 1 - ROUNDING:
            return cls(low / low.sum(), low / low.sum())
        if high.sum() <= 1 + ROUNDING:
            return cls(high / high.sum(), high / high.sum())
        # Every bound says what the others imply.
        return cls(np.maximum(low, 1 - (high.sum() - high)), np.minimum(high, 1 - (low.sum() - low)))

    @property
    def nothing(self) -> bool:
        """Whether nothing is known."""
        return not bool(self.low.any() or (self.high < 1).any())

    @property
    def known(self) -> bool:
        """Whether the mix is known exactly."""
        return bool(self.corners.shape[1] == 1)

    @cached_property
    def corners(self) -> FloatArray:
        """The corners of the mixes within the bounds, levels × corners: all shares but one are at an end of theirs."""
        if self.nothing:
            return np.eye(len(self.low))
        width = self.high - self.low
        found: dict[tuple[float, ...], None] = {}
        for full in _fillings(width, float(1 - self.low.sum())):
            corner = self.low.copy()
            corner[full] = self.high[full]
            rest = float(1 - corner.sum())
            for pivot in np.flatnonzero(rest <= width + ROUNDING).tolist():
                if pivot not in full:
                    moved = corner.copy()
                    moved[pivot] += rest
                    found[tuple(moved.round(12).tolist())] = None
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
        shifts = np.unique(np.concatenate([self.low - mix, self.high - mix]))
        sums = np.clip(mix + shifts[:, None], self.low, self.high).sum(axis=1)  # linear between these shifts
        found = np.clip(mix + np.interp(1.0, sums, shifts), self.low, self.high)
        return np.asarray(found / found.sum())

    @cached_property
    def pseudo_reports(self) -> PseudoReports:
        """Reports of two kinds for each free direction, with the information T⁻¹ about the mix, or none.

        With p = ½ + κ·uᵀ(ρ − m) for a direction u of T and variance t, as many reports of either kind as make 4κ²
        times their number 1/t have their maximum at m. They are linear in the mix, as real reports are.
        """
        variances, directions = np.linalg.eigh(self.spread)
        free = (variances > 1e-12 * variances.max()) & (not self.nothing)
        apart = directions[:, free].T @ (self.corners - self.middle[:, None])
        lean = _LEAN / np.abs(apart).max(axis=1, keepdims=True)
        counts = 1 / (4 * lean[:, 0] ** 2 * variances[free])
        return PseudoReports(np.concatenate([0.5 + lean * apart, 0.5 - lean * apart]), np.tile(counts / 2, 2))


def _pair(given: object, level: str) -> tuple[float, float]:
    """Return the bounds of a level's share."""
    both = given if isinstance(given, tuple | list) else (given, given)
    numbers = [float(each) for each in both if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(both) != 2 or len(numbers) != 2 or not 0 <= numbers[0] <= numbers[1] <= 1:
        raise EstimateError(f"mix: level {level!r} must have a share from 0 to 1, or two of them, the smaller first")
    return numbers[0], numbers[1]


def _fillings(width: FloatArray, left: float, first: int = 0) -> Iterator[list[int]]:
    """Yield the sets of levels that can all have their largest share at once."""
    yield []
    for place in range(first, len(width)):
        if 0 < width[place] <= left + ROUNDING:
            yield from ([place, *others] for others in _fillings(width, left - float(width[place]), place + 1))


def label_matrix(label_channel: CategoricalChannel | None, levels: int) -> FloatArray:
    """Return G, labels × levels; the identity where reports show the level itself."""
    if label_channel is None:
        return np.eye(levels)
    if label_channel.form != Integers(levels):
        raise EstimateError(f"labels must be one of {levels}, as the levels are")
    return label_arrays(label_channel).matrix()


@dataclass(frozen=True, eq=False, repr=False)
class LevelMix(Record):
    """What reports show of levels: G[shown, level], how many reports show each, and what is known of the mix.

    These reports show a label; those of `ShownLevels` the level itself.
    """

    matrix: FloatArray
    counts: IntArray
    bounds: MixBounds
    names: tuple[str, ...] = ()

    visible = False  #: Whether reports show the level itself.
    words = "hidden levels, "  #: What the method of a result says of levels, before how they are pooled.

    @classmethod
    def of(
        cls,
        label_channel: CategoricalChannel | None,
        counts: Sequence[int],
        bounds: MixBounds | None = None,
        names: Sequence[str] = (),
    ) -> LevelMix:
        """Take the channel of the label (`None` where levels show), the reports that show each, and what is known."""
        known = bounds or MixBounds.free(len(counts))
        return cls.given(label_matrix(label_channel, len(counts)), np.asarray(counts, np.int64), known, tuple(names))

    @staticmethod
    def given(matrix: FloatArray, counts: IntArray, bounds: MixBounds, names: tuple[str, ...] = ()) -> LevelMix:
        """Take G itself: levels show where it is the identity."""
        kind = ShownLevels if np.array_equal(matrix, np.eye(len(matrix))) else LevelMix
        return kind(matrix, counts, bounds, names)

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

    def _label_covariance(self, mix: FloatArray) -> FloatArray:
        """Return the covariance of `unbiased` if this is the mix, from the multinomial labels."""
        labels = self.matrix @ mix
        spread = np.diag(labels) - np.outer(labels, labels)
        return np.asarray(self.inverse @ spread @ self.inverse.T / self.reports)

    @cached_property
    def _from_labels(self) -> FloatArray:
        return self._label_covariance(norm_sub(self.unbiased))

    @cached_property
    def _gain(self) -> FloatArray:
        """T(T + S)⁻¹, the part of `unbiased` in `estimate`: all where nothing is known, none where the mix is."""
        if self.bounds.nothing:
            return np.eye(len(self.counts))
        both = self.bounds.spread + self._from_labels
        return np.asarray(self.bounds.spread @ np.linalg.pinv(both, hermitian=True, rcond=1e-12))

    @property
    def report_weights(self) -> FloatArray:
        """What one report counts for each level (row) in `estimate` if it shows a label (column)."""
        return np.asarray(self._gain @ self.inverse)

    @property
    def estimate(self) -> FloatArray:
        """The share of each level from the labels and what is known: it may lie outside 0 to 1."""
        return np.asarray(self.bounds.middle + self._gain @ (self.unbiased - self.bounds.middle))

    @property
    def bias_covariance(self) -> FloatArray:
        """The part of `covariance` that labels have no part in: how far off the middle of the bounds may be."""
        rest = np.eye(len(self.counts)) - self._gain
        return np.asarray(rest @ self.bounds.spread @ rest.T)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of `estimate`; within bounds, the largest mean squares of its errors."""
        return np.asarray(self._gain @ self._from_labels @ self._gain.T + self.bias_covariance)

    @cached_property
    def shares(self) -> FloatArray:
        """The nearest mix that can be true."""
        return self.bounds.nearest(self.estimate)

    def contradicts(self, level: float) -> bool:
        """Tell whether labels contradict what is known, in a test with this false-alarm rate over all levels."""
        if self.bounds.nothing:
            return False
        outside = np.maximum(self.bounds.low - self.unbiased, self.unbiased - self.bounds.high)
        reach = NormalDist().inv_cdf(1 - level / (2 * len(outside)))
        errors = np.sqrt(np.diag(self._label_covariance(self.bounds.nearest(self.unbiased))))
        return bool((outside > reach * errors).any())

    def assumed(self, what: str, *, together: bool) -> tuple[str, ...]:
        """Return what a result assumes about the choice of levels: if `together`, that all have the same of `what`."""
        if together:
            return self._alike(what)
        return (notes.FREE_CHOICE, *(() if self.bounds.nothing else (notes.MIX_NOT_USED,)))

    def _alike(self, what: str) -> tuple[str, ...]:
        """Return what is assumed where people of all levels are taken to have the same of `what`."""
        del what
        return (notes.SAME_CHOICE, *self._given)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of results that rest on this mix: labels contradict it, or barely tell the scale."""
        unsure = np.diag(self.covariance).max() > UNSURE**2
        return (*self.contradicted, *((notes.LABELS_SAY_LITTLE,) if unsure else ()))

    @property
    def contradicted(self) -> tuple[Note, ...]:
        """Say that labels contradict the mix that was given, where they do."""
        return (notes.MIX_CONTRADICTED,) if self.contradicts(TEST_LEVEL) else ()

    def groups_of(
        self, levels: Sequence[LevelName], used: Sequence[int], weights: FloatArray
    ) -> tuple[GroupReports, ...]:
        """Return the reports of the levels that are used, with their weights, where reports show levels."""
        del levels, used, weights
        return ()

    def levels_of(self, levels: Iterable[LevelName], shares: FloatArray | None = None) -> tuple[LevelShare, ...]:
        """Return how many people are estimated to have chosen each level, where levels are hidden."""
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


class ShownLevels(LevelMix):
    """What reports say that show their level: how many people chose each is counted, and nothing is to be estimated."""

    visible = True
    words = ""

    def _alike(self, what: str) -> tuple[str, ...]:
        return (notes.same(what), *((notes.ROUGH_WEIGHTS,) if what == "shares" else ()))

    def groups_of(
        self, levels: Sequence[LevelName], used: Sequence[int], weights: FloatArray
    ) -> tuple[GroupReports, ...]:
        """Return them."""
        parts = zip(used, weights.tolist(), strict=True)
        return tuple(GroupReports(*levels[place], int(self.counts[place]), weight) for place, weight in parts)

    def levels_of(self, levels: Iterable[LevelName], shares: FloatArray | None = None) -> tuple[LevelShare, ...]:
        """Return none."""
        del levels, shares
        return ()


def name_levels(question: Question) -> list[LevelName]:
    """Return every level of a question as results state it."""
    parts = zip(question.levels, question.channels, strict=True)
    return [(level.name, own.mechanism, question.answer_epsilon(level.name)) for level, own in parts]


def check_mix(survey: Survey, mix: Mix | None) -> None:
    """Refuse a known mix of levels where reports show the level."""
    if mix is not None and survey.level_channel is None:
        raise EstimateError("mix applies to hidden levels; reports of this survey show the level, so leave it out")


def mix_of(tally: Tally, question: str, mix: Mix | None = None) -> LevelMix:
    """Return what the reports that answer a question show of levels, and what is known of their shares."""
    check_mix(tally.survey, mix)
    names = [level.name for level in tally.survey.question(question).levels]
    counts = [tally.counts[question, name].reports for name in names]
    return LevelMix.of(tally.survey.level_channel, counts, MixBounds.read(mix, names), names)


def source_mix(source: Source, counts: FloatArray) -> LevelMix:
    """Return what the reports of a source of joined ones show of levels, given how often each of its cells came."""
    shown = np.bincount(source.labels, weights=counts, minlength=len(source.channels))
    return LevelMix.of(cast("CategoricalChannel | None", source.label_channel), np.rint(shown).astype(int).tolist())
