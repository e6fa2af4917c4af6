"""Reports of one label as evidence, with the test whether people of different levels have the same shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.linear.covariance import Rows, label_covariance, row_covariance, second_mean, second_moments
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import (
    contrasts,
    cumulants_of_counts,
    homogeneity_of_vector,
    level_move,
    null_shares,
    shifts,
    values_to_test,
)
from pldp.estimates.linear.known import GivenMix, Known, SumToOne
from pldp.estimates.linear.mix import MixBounds
from pldp.estimates.linear.patterns import Patterns, as_patterns, label_patterns, label_states, row_patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Homogeneity
from pldp.mechanisms.arrays import FloatArray, LabelArrays
from pldp.records import Record
from pldp.tallies import Counts

CLASSES: Final = (8, 6, 4, 2)
"""Numbers of classes of rows with about as many ones, tried in turn: finer ones say a little more."""

_FORGED: Final = 1.5
"""How much more a forged row may count for than its bits: a row with an impossible number of ones counts for most."""

ENOUGH_SUPPORT: Final = 5
"""Supporting reports that chance alone must give each label for normal approximations to be used."""

_MANY: Final = 1e12
"""Reports at which estimates are what is expected."""

_NONE: Final = 1e-9
"""Variance of a sum, in those of its parts, that is nothing but rounding."""

_SINGULAR: Final = 1e10
"""Condition number from which on a covariance has no inverse."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelReports(Record):
    """The reports of one question: array forms of all levels, and counts by level, or by label where these are hidden.

    `chance` is Λ, shown × levels. Where `summed` is false, as for answers whose noise devices keep, it is not used that
    shares sum to 1: the hash function that a person keeps would make the noise of one round oppose that of another,
    which errors of changes between rounds rule out.
    """

    forms: tuple[LabelArrays, ...]
    counts: tuple[Counts, ...]
    chance: FloatArray
    visible: bool
    bounds: MixBounds
    summed: bool = True

    @property
    def size(self) -> int:
        """Number of labels."""
        return self.forms[0].channel.size

    @cached_property
    def reports(self) -> npt.NDArray[np.float64]:
        """Number of reports that show each level or label."""
        return np.array([float(counts.reports) for counts in self.counts])

    @cached_property
    def supports(self) -> FloatArray:
        """How many reports support each label, shown × labels."""
        return np.array(
            [
                form.support(counts.tallied) if counts.reports else np.zeros(self.size)
                for form, counts in zip(self.forms, self.counts, strict=True)
            ]
        )

    @cached_property
    def classes(self) -> npt.NDArray[np.intp] | None:
        """The class of every number of ones, common to all levels, where whole rows were kept and say more than bits.

        Rows are decoded for labels of equal shares. Where shares are unlike and protection is weak, bits whose sum is
        known say more, above all of rare labels. No forged row may count for much more than its bits.
        """
        laws = [form.ones_law() for form in self.forms]
        known = [law for law in laws if law is not None]
        kept = all(counts.has_cells for counts in self.counts if counts.reports)
        if len(known) < len(laws) or not kept or not self.summed:
            return None
        at_most, by_bit = np.mean(known, axis=0).cumsum(), decode(self._of_bits)
        for count in CLASSES:
            classes = np.unique(np.minimum((at_most * count).astype(np.intp), count - 1), return_inverse=True)[1]
            by_row = decode(self._of_rows(classes))
            if by_row.manipulation <= _FORGED * by_bit.manipulation:
                return classes if by_row.variance().sum() < by_bit.variance().sum() else None
        return None

    @cached_property
    def evidence(self) -> Evidence:
        """Patterns of each label, of whole rows where these say more, with what is known beforehand."""
        return self._of_bits if self.classes is None else self._of_rows(self.classes)

    @cached_property
    def _of_bits(self) -> Evidence:
        sums = SumToOne.of(self.forms) if self.summed else ()
        return self._evidence(self._bit_counts, label_patterns(self.forms), (*sums, *self._mix))

    def _of_rows(self, classes: npt.NDArray[np.intp]) -> Evidence:
        return self._evidence(self._row_counts(classes), row_patterns(self.forms, classes), self._mix)

    @property
    def _mix(self) -> tuple[Known, ...]:
        return () if self.bounds.nothing else (GivenMix(self.bounds, np.eye(len(self.forms))),)

    def _evidence(self, counts: FloatArray, patterns: Patterns, known: tuple[Known, ...]) -> Evidence:
        unlike = patterns.law is not None and patterns.law.shape[2] != patterns.states
        likely = self._likely_states if unlike else None
        return Evidence(counts, patterns, self.chance, self.visible, likely_states=likely, known=known)

    def _likely_states(self, shares: FloatArray) -> FloatArray:
        """Return likely shares of the states that the level with most of them tells apart."""
        reports = float(self.reports.sum())
        return label_states(self.forms, (norm_sub(shares) * reports + 1) / (reports + self.size))

    @property
    def _bit_counts(self) -> FloatArray:
        parts = zip(self.forms, self.supports, self.reports.tolist(), strict=True)
        tables = [form.pattern_counts(support, reports) for form, support, reports in parts]
        return np.stack([as_patterns(table, max(each.shape[-1] for each in tables)) for table in tables])

    def _row_counts(self, classes: npt.NDArray[np.intp]) -> FloatArray:
        """Rows by (class, bit), shown × labels × patterns."""
        count = int(classes.max()) + 1
        table = np.zeros((len(self.counts), self.size, 2, count))
        for shown, (cells, numbers) in enumerate(self.rows):
            if not len(numbers):
                continue
            form = self.forms[shown]
            own = classes[form.support_sum(np.ones(self.size), cells).astype(np.intp)]
            for each in range(count):
                weights = numbers * (own == each)
                table[shown, :, 1, each] = form.support_total(weights, cells)
                table[shown, :, 0, each] = weights.sum() - table[shown, :, 1, each]
        return table.reshape(len(self.counts), self.size, -1)

    @property
    def rows(self) -> list[Rows]:
        """The distinct rows that show each level or label, and how often each came."""
        return [
            (counts.cell_rows, np.asarray(counts.cell_counts, np.float64)) if counts.reports else (None, np.zeros(0))
            for counts in self.counts
        ]

    def covariance(self, fitted: Linear) -> FloatArray:
        """Return the covariance of the shares, for a random sample of people."""
        if self.classes is None:
            return label_covariance(fitted, self.forms)
        return row_covariance(fitted, self.forms[0], self.rows, self.classes)

    def only(self, levels: Sequence[int]) -> LabelReports:
        """Return some levels, where reports show them."""
        forms, counts = tuple(self.forms[level] for level in levels), tuple(self.counts[level] for level in levels)
        return replace(self, forms=forms, counts=counts, chance=np.eye(len(levels)))

    @cached_property
    def enough(self) -> npt.NDArray[np.bool_]:
        """Whether the reports that show each level or label suffice for a normal approximation.

        Chance alone must give every label enough supporting reports; where chance gives none, all of them count.
        """
        chances = np.array([form.chance_support() for form in self.forms])
        if not self.visible:
            chances = np.broadcast_to(chances.min(axis=0), chances.shape)
        by_chance = self.reports[:, None] * chances
        return np.asarray(np.where(by_chance > 0, by_chance, self.supports).min(axis=1) >= ENOUGH_SUPPORT)

    @property
    def enough_or_none(self) -> npt.NDArray[np.bool_]:
        """The same, where no report at all is enough."""
        return np.asarray(self.enough | (self.reports == 0))

    def enough_of(self, reports: float) -> bool:
        """Tell whether so many reports would suffice, whatever they show."""
        chance = np.min([form.chance_support() for form in self.forms], axis=0)
        support = self.supports.sum(axis=0) / max(float(self.reports.sum()), 1.0)
        return bool((reports * np.where(chance > 0, chance, support)).min() >= ENOUGH_SUPPORT)

    def homogeneity(self) -> Homogeneity | None:
        """Test whether people of all levels have the same shares; `None` where too few reports could tell.

        Levels that show and have too few reports are left out.
        """
        if self.visible:
            tested = [level for level in np.flatnonzero(self.enough).tolist() if self.reports[level]]
            return self.only(tested).test() if len(tested) > 1 else None
        return self.test() if self.enough.all() and len(self.forms) > 1 else None

    def test(self) -> Homogeneity | None:
        """Test all levels, whether they have enough reports or not."""
        evidence = self._evidence(self._bit_counts, label_patterns(self.forms), ())
        fitted = decode(replace(evidence, known=SumToOne.of(self.forms) if self.summed else ()))
        errors = np.sqrt(fitted.variance())
        chosen = values_to_test(fitted.estimates, errors)
        assumed = null_shares(fitted.estimates, errors, chosen) if self.visible else norm_sub(fitted.estimates)
        theta, spread = self._differences(evidence, assumed, chosen)
        if not np.isfinite(spread).all() or np.linalg.cond(spread) > _SINGULAR:
            return None
        difference = level_move(evidence, [form.mean_variance for form in self.forms])[:-1]
        possible = evidence.possible(fitted.estimates[:, None])[:, -1]
        moves = np.kron(difference[:, None], shifts(possible, chosen))
        cumulants = self._cumulants(assumed, chosen) if self.visible else None
        return homogeneity_of_vector(theta, spread / evidence.reports, np.asarray(moves, np.float64), cumulants)

    def _differences(
        self, evidence: Evidence, assumed: FloatArray, chosen: npt.NDArray[np.intp]
    ) -> tuple[FloatArray, FloatArray]:
        """Return θ of all levels but the last and of the chosen labels, with the covariance of what a report adds.

        θ of all labels sum to 0: what goes along with their sum is taken off, so that it does not matter which label
        is left out.
        """
        levels, whole = len(self.forms) - 1, self.summed and len(chosen) == self.size - 1
        places = np.arange(self.size) if whole else chosen
        theta, added = contrasts(evidence, slice(0, self.size), assumed)
        table = np.swapaxes(added[places][:, :-1], 0, 1).reshape(levels, len(places), len(self.chance), -1)
        table = np.swapaxes(table, 1, 2)
        chances, same = evidence.chance * evidence.possible_mix, np.tile(assumed, (levels + 1, 1))
        mean = second_mean(table, chances, self.forms, same, places)
        spread = second_moments(table, chances, self.forms, same, places) - np.outer(mean, mean)
        flat = theta[places, :-1].T.ravel()
        if not whole:
            return flat, spread
        kept = (np.arange(levels)[:, None] * self.size + chosen).ravel()
        flat, spread = _without_sums(flat, spread, levels)
        return flat[kept], spread[np.ix_(kept, kept)]

    def _cumulants(self, assumed: FloatArray, chosen: npt.NDArray[np.intp]) -> tuple[float, float]:
        variances = np.array([form.variance(assumed)[chosen] for form in self.forms]) / self.reports[:, None]
        chances = np.array([form.expected_support(assumed)[chosen] for form in self.forms])
        return cumulants_of_counts(variances, self.reports, chances)


def _without_sums(theta: FloatArray, spread: FloatArray, levels: int) -> tuple[FloatArray, FloatArray]:
    """Take off θ, and its covariance, what goes along with its sum of each level, whose mean is 0.

    Where reports of few levels have sums that vary, so do the θ of all levels along with them, and in proportion.
    """
    sums = np.kron(np.eye(levels), np.ones(len(theta) // levels))
    along = spread @ sums.T
    known = sums @ along
    varies = np.diag(known) > _NONE * (sums @ np.diag(spread))
    # Sums of levels may vary together: of one level alone with bits, the others take their part of f̂.
    gain = along[:, varies] @ np.linalg.pinv(known[np.ix_(varies, varies)], rcond=_NONE, hermitian=True)
    return theta - gain @ (sums @ theta)[varies], spread - gain @ along[:, varies].T


def expected_reports(
    forms: Sequence[LabelArrays],
    chance: FloatArray,
    mix: FloatArray,
    shares: FloatArray,
    *,
    visible: bool,
    summed: bool,
) -> Linear:
    """Return what would be decoded from very many reports if these mix and shares are true and levels do not matter.

    Its variance times its reports is that of one report.

    >>> from pldp.mechanisms import build
    >>> from pldp.mechanisms.arrays import label_arrays
    >>> form, equal = label_arrays(build("krr", 2, 1_000_000)), np.array([0.5, 0.5])
    >>> decoded = expected_reports([form], np.eye(1), np.ones(1), equal, visible=True, summed=True)
    >>> bool(np.allclose(decoded.variance() * decoded.reports, form.variance(equal)))
    True
    """
    (patterns, sums), states = _patterns_of(tuple(forms)), label_states(forms, shares)
    known = sums if summed else ()
    nothing = np.zeros((len(chance), len(shares), patterns.weights.shape[3]))
    # Counts that say something of every level, to be replaced by those that are expected.
    empty = Evidence(
        nothing + (chance @ mix)[:, None, None], patterns, chance, visible, likely_states=states, known=known
    )
    chances = empty.expected(slice(0, len(shares)), states, mix[empty.levels])
    counts = np.swapaxes(chances.reshape(len(shares), len(chance), -1), 0, 1)
    return decode(replace(empty, counts=_MANY * counts))


@lru_cache(maxsize=64)  # a plan asks for the same few levels at hundreds of shares
def _patterns_of(forms: tuple[LabelArrays, ...]) -> tuple[Patterns, tuple[SumToOne, ...]]:
    return label_patterns(forms), SumToOne.of(forms)
