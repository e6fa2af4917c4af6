"""Reports of one label as evidence, covariances across labels, and the test whether levels have the same shares.

What a report that shows s adds to label i is α_si + β_si·t_i, t being the statistic that reports have in common at all
levels, and Cov_u(t) is known of every level u. So for two such functionals a and b, with p_su = Λ(s|u)ρ_u,

    E a_i b_j = Σ_su p_su [ (α + β E_u t)_i (α′ + β′ E_u t)_j + β_i β′_j Cov_u(t_i, t_j) ].

Rows of bits are decoded by class, which no statistic knows; there the rows that came are summed instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

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
from pldp.estimates.linear.known import Known, SumToOne, given_mix
from pldp.estimates.linear.mix import LevelMix, MixBounds
from pldp.estimates.linear.patterns import Patterns, as_patterns, label_patterns, label_states, row_patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results.consistency import add_reports, norm_sub
from pldp.estimates.results.facts import Homogeneity
from pldp.mechanisms.arrays import ByteArray, FloatArray, LabelArrays
from pldp.records import Record
from pldp.tallies import Counts

CLASSES: Final = (8, 6, 4, 2)
"""Numbers of classes of rows with about as many ones, tried in turn: finer ones say a little more."""

_FORGED: Final = 1.5
"""How much more a forged row may count for than its bits: a row with an impossible number of ones counts for most."""

ENOUGH_SUPPORT: Final = 5
"""Supporting reports that chance alone must give each label for normal approximations to be used."""

_MANY: Final = 1e12  # reports at which estimates are what is expected
_NONE: Final = 1e-9
"""Variance of a sum, in those of its parts, that is nothing but rounding; so is such a distance of a sum from 1."""

_SINGULAR: Final = 1e10  # condition number from which on a covariance has no inverse

Places = npt.NDArray[np.intp]


class Rows(NamedTuple):
    """The distinct rows of bits of the reports that show one level or label: their class, and how often each came."""

    shown: int
    form: LabelArrays
    cells: ByteArray | None
    counts: FloatArray
    classes: Places


@dataclass(frozen=True, eq=False, repr=False)
class LabelReports(Record):
    """The reports of one question: array forms of all levels, and counts by what reports show of levels.

    Where `summed` is false, as for answers whose noise devices keep, it is not used that shares sum to 1: the hash
    function that a person keeps would make the noise of one round oppose that of another, which errors of changes
    between rounds rule out.
    """

    forms: tuple[LabelArrays, ...]
    counts: tuple[Counts, ...]
    mix: LevelMix
    summed: bool = True

    @property
    def size(self) -> int:
        """Number of labels."""
        return self.forms[0].channel.size

    @cached_property
    def reports(self) -> FloatArray:
        """Number of reports that show each level or label."""
        return self.mix.counts.astype(np.float64)

    @cached_property
    def supports(self) -> FloatArray:
        """How many reports support each label, shown × labels."""
        found = np.zeros((len(self.counts), self.size))
        for shown, (form, counts) in enumerate(zip(self.forms, self.counts, strict=True)):
            if counts.reports:
                found[shown] = form.support(counts.tallied)
        return found

    @cached_property
    def classes(self) -> Places | None:
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
        parts = zip(self.forms, self.supports, self.reports.tolist(), strict=True)
        tables = [form.pattern_counts(support, reports) for form, support, reports in parts]
        most = max(each.shape[-1] for each in tables)
        counts = np.stack([as_patterns(table, most) for table in tables])
        return self._evidence(counts, label_patterns(self.forms), self._sums)

    @cached_property
    def _sums(self) -> tuple[SumToOne, ...]:
        return SumToOne.of(self.forms) if self.summed else ()

    def _of_rows(self, classes: Places) -> Evidence:
        """Count rows by (class, bit) of each label."""
        table = np.zeros((len(self.counts), self.size, 2, int(classes.max()) + 1))
        for rows in self._rows(classes):
            for each in range(table.shape[3]):
                weights = rows.counts * (rows.classes == each)
                table[rows.shown, :, 1, each] = rows.form.support_total(weights, rows.cells)
                table[rows.shown, :, 0, each] = weights.sum() - table[rows.shown, :, 1, each]
        counts = table.reshape(len(self.counts), self.size, -1)
        return self._evidence(counts, row_patterns(self.forms, classes), ())

    def _rows(self, classes: Places) -> Iterator[Rows]:
        for shown, (form, counts) in enumerate(zip(self.forms, self.counts, strict=True)):
            if counts.reports:
                cells = counts.cell_rows
                ones = form.support_sum(np.ones(self.size), cells).astype(np.intp)
                yield Rows(shown, form, cells, np.asarray(counts.cell_counts, np.float64), classes[ones])

    def _evidence(self, counts: FloatArray, patterns: Patterns, known: tuple[Known, ...]) -> Evidence:
        unlike = patterns.law is not None and patterns.law.shape[2] != patterns.states
        if not self.mix.bounds.nothing:
            known = (*known, given_mix(self.mix.bounds, np.eye(len(self.forms))))
        likely = self._likely_states if unlike else None
        return Evidence(counts, patterns, self.mix.matrix, self.mix.visible, likely_states=likely, known=known)

    def _likely_states(self, shares: FloatArray) -> FloatArray:
        """Return likely shares of the states that the level with most of them tells apart."""
        return label_states(self.forms, add_reports(shares, float(self.reports.sum())))

    def covariance(self, fitted: Linear) -> FloatArray:
        """Return the covariance of the shares, for a random sample of people."""
        if self.classes is None:
            return label_covariance(fitted, self.forms)
        return row_covariance(fitted, self._rows(self.classes))

    def only(self, shown: Sequence[int]) -> LabelReports:
        """Return the reports that show some levels, or labels that only people of these levels show."""
        forms, counts = tuple(self.forms[place] for place in shown), tuple(self.counts[place] for place in shown)
        mix = LevelMix.given(self.mix.matrix[np.ix_(shown, shown)], self.mix.counts[shown], MixBounds.free(len(forms)))
        return replace(self, forms=forms, counts=counts, mix=mix)

    @cached_property
    def enough(self) -> npt.NDArray[np.bool_]:
        """Whether the reports that show each level or label suffice for a normal approximation.

        Chance alone must give every label enough supporting reports, whichever level made them; where chance gives
        none, all of them count.
        """
        chances = np.array([form.chance_support() for form in self.forms])
        least = np.where(self.mix.matrix[:, :, None] > 0, chances, np.inf).min(axis=1)
        by_chance = self.reports[:, None] * least
        return np.asarray(np.where(by_chance > 0, by_chance, self.supports).min(axis=1) >= ENOUGH_SUPPORT)

    def enough_of(self, reports: float) -> bool:
        """Tell whether so many reports would suffice, whatever they show."""
        chance = np.min([form.chance_support() for form in self.forms], axis=0)
        support = self.supports.sum(axis=0) / max(float(self.reports.sum()), 1.0)
        return bool((reports * np.where(chance > 0, chance, support)).min() >= ENOUGH_SUPPORT)

    def homogeneity(self) -> Homogeneity | None:
        """Test whether people of all levels have the same shares; `None` where too few reports could tell.

        What has too few reports is left out, if only people of other levels show what is left.
        """
        if self.enough.all():
            return self.test() if len(self.forms) > 1 else None
        kept, few = np.flatnonzero(self.enough), np.flatnonzero(~self.enough)
        if len(kept) < 2 or self.mix.matrix[np.ix_(kept, few)].any():
            return None
        return self.only(kept.tolist()).test()

    def test(self) -> Homogeneity | None:
        """Test all levels, whether they have enough reports or not."""
        evidence = replace(self._of_bits, known=())
        fitted = decode(replace(evidence, known=self._sums))
        errors = np.sqrt(fitted.variance())
        chosen = values_to_test(fitted.estimates, errors)
        assumed, cumulants = norm_sub(fitted.estimates), None
        if self.mix.visible:
            assumed = null_shares(fitted.estimates, errors, chosen)
            variances = np.array([form.variance(assumed)[chosen] for form in self.forms]) / self.reports[:, None]
            chances = np.array([form.expected_support(assumed)[chosen] for form in self.forms])
            cumulants = cumulants_of_counts(variances, self.reports, chances)
        theta, spread = self._differences(evidence, assumed, chosen)
        if not np.isfinite(spread).all() or np.linalg.cond(spread) > _SINGULAR:
            return None
        difference = level_move(evidence, [form.mean_variance for form in self.forms])[:-1]
        possible = evidence.possible(fitted.estimates[:, None])[:, -1]
        moves = np.kron(difference[:, None], shifts(possible, chosen))
        return homogeneity_of_vector(theta, spread / evidence.reports, np.asarray(moves, np.float64), cumulants)

    def _differences(self, evidence: Evidence, assumed: FloatArray, chosen: Places) -> tuple[FloatArray, FloatArray]:
        """Return θ of all levels but the last and of the chosen labels, with the covariance of what a report adds.

        θ of all labels sum to 0: what goes along with their sum is taken off, so that it does not matter which label
        is left out.
        """
        levels, whole = len(self.forms) - 1, self.summed and len(chosen) == self.size - 1
        places = np.arange(self.size) if whole else chosen
        theta, added = contrasts(evidence, slice(0, self.size), assumed)
        table = np.swapaxes(added[places][:, :-1], 0, 1).reshape(levels, len(places), len(self.counts), -1)
        chances, same = self.mix.matrix * evidence.possible_mix, np.tile(assumed, (levels + 1, 1))
        spread = report_covariance(np.swapaxes(table, 1, 2), chances, self.forms, same, places)
        flat = theta[places, :-1].T.ravel()
        if not whole:
            return flat, spread
        kept = (np.arange(levels)[:, None] * self.size + chosen).ravel()
        flat, spread = _without_sums(flat, spread, levels)
        return flat[kept], spread[np.ix_(kept, kept)]


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


def report_covariance(
    table: FloatArray, chances: FloatArray, forms: Sequence[LabelArrays], shares: FloatArray, chosen: Places
) -> FloatArray:
    """Return the covariance of functionals of one report, for all chosen labels: (functional, label) squared.

    `table` are functionals × shown × chosen labels × patterns; `chances` are those of (shown, level); `shares` of all
    labels are those of people of each level (levels × labels), whose `forms` make the reports.
    """
    functionals, _, labels, _ = table.shape
    places = forms[0].output_patterns()
    if places is not None:
        added = table[:, :, np.arange(labels)[:, None], places[chosen]]
        named = chances @ np.array([form.forward(own, None) for form, own in zip(forms, shares, strict=True)])
        flat = np.moveaxis(added, 1, 2).reshape(functionals * labels, -1)
        mean = flat @ named.ravel()
        return np.asarray((flat * named.ravel()) @ flat.T - np.outer(mean, mean))
    # A report of a tier adds to all labels of other tiers, which no single label knows: its statistic does.
    alpha, beta = table[..., 0], table[..., -1] - table[..., 0]
    mean, square = np.zeros(functionals * labels), np.zeros((functionals * labels, functionals * labels))
    for level, (form, own) in enumerate(zip(forms, shares, strict=True)):
        law = form.support_law()
        slope = law.slope[chosen]
        spread = form.covariance(own, chosen) * np.outer(slope, slope)
        for shown in np.flatnonzero(chances[:, level]):
            first = (alpha[:, shown] + beta[:, shown] * law.mean(own)[chosen]).ravel()
            noise = np.einsum("ai,bj,ij->aibj", beta[:, shown], beta[:, shown], spread)
            mean += chances[shown, level] * first
            square += chances[shown, level] * (np.outer(first, first) + noise.reshape(square.shape))
    return np.asarray(square - np.outer(mean, mean))


def label_covariance(fitted: Linear, forms: Sequence[LabelArrays]) -> FloatArray:
    """Return the covariance of the estimates of labels for a random sample of people.

    By precision people of all levels have the estimated shares; by size those of each level are its own. It is scaled
    to the stated variances, which know more of the reports that came.
    """
    evidence, pooled = fitted.evidence, fitted.states[:, -1]
    shares = np.tile(pooled, (len(evidence.levels), 1))
    if fitted.differ != 0:
        for level, (share, joint) in enumerate(zip(evidence.mix, evidence.joint[:, :, -1].T, strict=True)):
            own = joint / share if share > 0 else pooled
            shares[level] = evidence.possible(own[:, None])[:, -1]
    chances = evidence.level_chances
    used = [forms[level] for level in evidence.levels]
    found = report_covariance(fitted.psi[None], chances, used, shares, np.arange(evidence.targets))
    for _, gain, along in fitted.gains:
        found -= gain @ along.T
    found = (found + found.T) / 2 / fitted.reports
    if abs(fitted.estimates.sum() - 1) < _NONE:  # along the simplex: as if all levels were alike
        found = found - found.mean(axis=0)
        found = found - found.mean(axis=1, keepdims=True)
    return scaled(found, fitted.variance())


def row_covariance(fitted: Linear, every: Iterator[Rows]) -> FloatArray:
    """Return the covariance of labels that are decoded by classes of rows, from the rows that came.

    ψ is A_c + B_c b_i − f_i V_c for a row of class c, so that Σ ψ_i ψ_j over rows is made of weighted products of bits.
    """
    shares, half = fitted.estimates, fitted.psi.shape[2] // 2
    total = np.zeros((len(shares), len(shares)))
    top = int(np.argmax(shares))
    for shown, form, cells, counts, classes in every:
        # All labels are decoded alike: A, B and V are read off any of them, best the largest.
        whole = (fitted.counted - fitted.psi)[shown, top] / shares[top]
        low, high = fitted.counted[shown, top].reshape(2, half)
        constant, gained, taken = low[classes], (high - low)[classes], whole[:half][classes]
        total += form.weighted_products(counts * constant**2, counts * constant * gained, counts * gained**2, cells)
        mixed = np.outer((counts * taken) @ constant + form.support_total(counts * taken * gained, cells), shares)
        total += np.outer(shares, shares) * (counts @ taken**2) - mixed - mixed.T
    return scaled(total / fitted.reports**2, fitted.variance())


def scaled(covariance: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the covariance with these variances and the same correlations."""
    scale = np.sqrt(variances / np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    return np.asarray(covariance * np.outer(scale, scale))


def expected_reports(  # noqa: PLR0913
    forms: Sequence[LabelArrays],
    chance: FloatArray,
    mix: FloatArray,
    shares: FloatArray,
    *,
    visible: bool,
    summed: bool,
    differ: float | None = 0.0,
    reports: float | None = None,
) -> Linear:
    """Return what would be decoded from reports, very many by default, if these mix and shares are true at all levels.

    Its variance times its reports is that of one report. A bound on how levels `differ` needs the number of reports.

    >>> from pldp.mechanisms import build
    >>> from pldp.mechanisms.arrays import label_arrays
    >>> form, equal = label_arrays(build("krr", 2, 1_000_000)), np.array([0.5, 0.5])
    >>> decoded = expected_reports([form], np.eye(1), np.ones(1), equal, visible=True, summed=True)
    >>> bool(np.allclose(decoded.variance() * decoded.reports, form.variance(equal)))
    True
    """
    (patterns, sums), states = _patterns_of(tuple(forms)), label_states(forms, shares)
    known = sums if summed else ()
    # Counts that say something of every level, to be replaced by those that are expected.
    alike = np.tile((chance @ mix)[:, None, None], (1, len(shares), patterns.weights.shape[3]))
    empty = Evidence(alike, patterns, chance, visible, likely_states=states, known=known)
    chances = empty.expected(slice(0, len(shares)), states, mix[empty.levels])
    counts = np.swapaxes(chances.reshape(len(shares), len(chance), -1), 0, 1)
    return decode(replace(empty, counts=(reports or _MANY) * counts), differ)


@lru_cache(maxsize=64)  # a plan asks for the same few levels at hundreds of shares
def _patterns_of(forms: tuple[LabelArrays, ...]) -> tuple[Patterns, tuple[SumToOne, ...]]:
    return label_patterns(forms), SumToOne.of(forms)
