"""A choice of one label: from a tally to shares with errors, and what the question brings to a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, cast

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.kinds.sides import LabelSide, Margin, Side
from pldp.estimates.likelihood.solver import GAP, Fit, FitProgress, fit_labels
from pldp.estimates.linear.homogeneity import check_bound
from pldp.estimates.linear.labels import LabelReports, scaled
from pldp.estimates.linear.mix import LevelMix, check_mix, mix_of, name_levels
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results import notes
from pldp.estimates.results.alike import beside_alike
from pldp.estimates.results.consistency import base_cut, norm_cut, norm_sub
from pldp.estimates.results.facts import GroupReports, Homogeneity, Note, PersonWeights
from pldp.estimates.results.intervals import Interval
from pldp.estimates.results.options import (
    SHARE_METHODS,
    Mix,
    Options,
    ShareMethod,
    Target,
    check_options,
    one_of,
    pooling_words,
)
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray, label_arrays
from pldp.survey import Choice
from pldp.tallies import Tally

METHODS: Final = SHARE_METHODS

LARGEST_COMPARED: Final = 500
"""Most values whose covariance is computed to compare them; the errors of more are added, which is on the safe side."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupShares(GroupReports):
    """What the reports of one level say on their own; `manipulation` is about people of this level."""

    shares: FloatArray
    standard_error: FloatArray
    manipulation: float

    @classmethod
    def alone(cls, group: GroupReports, linear: Linear) -> GroupShares:
        """Take what was decoded from the reports of a group."""
        own = group.level, group.mechanism, group.epsilon, group.reports, group.weight
        return cls(*own, linear.estimates, np.sqrt(linear.variance()), linear.manipulation)


@dataclass(frozen=True)
class FitFacts:
    """Whether a fit converged, how far from its maximum it can be, and its steps."""

    converged: bool
    gap: float
    steps: int

    @classmethod
    def of(cls, fit: Fit) -> FitFacts:
        """Take those of a fit."""
        return cls(fit.converged, fit.gap, fit.steps)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Shares(Result):
    """Shares of one question's values, with everything needed to judge them.

    Attributes
    ----------
    values, shares, standard_error
        Each label, its share and the standard error. Unbiased shares can be negative (see `consistent`). They sum to 1,
        except of bits and hashes where levels are hidden or answers tracked, and where values are very many.
    covariance_matrix
        Covariance of the shares, of up to `LARGEST_COMPARED` values.
    """

    kind: ClassVar[str] = "choice"

    values: tuple[str, ...]
    shares: FloatArray
    groups: tuple[GroupShares, ...] = ()
    fit: FitFacts | None = None
    covariance_matrix: FloatArray | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The values."""
        return self.values

    @property
    def estimates(self) -> FloatArray:
        """The shares."""
        return self.shares

    @property
    def exclusive(self) -> bool:
        """People have one value each."""
        return True

    @property
    def fitted(self) -> bool:
        """Whether the shares come from a fit."""
        return self.fit is not None

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person; a fit has none."""
        return None if self.fitted else super().person_weights()

    @property
    def conservative(self) -> npt.NDArray[np.bool_]:
        """Whether few reports speak for a share, or a fitted one lies beside 0 or 1, which a fit cannot pass."""
        if not self.fitted:
            return super().conservative
        near = 2 * self.standard_error
        return np.asarray(super().conservative | (self.shares < near) | (self.shares > 1 - near))

    @property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the shares; refused where it was not kept."""
        if self.covariance_matrix is None:
            raise EstimateError(
                f"no covariance matrix of these shares was kept: {LARGEST_COMPARED} values at most have one"
            )
        return self.covariance_matrix

    @property
    def compares_exactly(self) -> bool:
        """Whether the covariance of the shares is known."""
        return self.covariance_matrix is not None

    def difference_errors(self, place: int) -> FloatArray:
        """Return the standard errors of the differences between one share and each, from the covariance if it is known.

        Shares of one question are opposed: where one is too large, the others are too small.
        """
        if self.covariance_matrix is None:
            return super().difference_errors(place)
        own = np.diag(self.covariance)
        return np.asarray(np.sqrt(np.maximum(own + own[place] - 2 * self.covariance[place], 0.0)))

    def consistent(self, method: str = "norm-sub") -> FloatArray:
        """Return shares that could be true: `norm-sub`, `norm-cut` or `base-cut`.

        Least squares (`norm-sub`) is a good default; `norm-cut` and `base-cut` leave large shares unbiased.
        """
        one_of("method", method, ("norm-sub", "norm-cut", "base-cut"))
        if method == "base-cut":
            return base_cut(self.shares, self.standard_error)
        return norm_cut(self.shares) if method == "norm-cut" else norm_sub(self.shares)

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows; of a fit, with whether each is conservative."""
        rows = super().records(confidence)
        if not self.fitted:
            return rows
        return [{**row, "conservative": wide} for row, wide in zip(rows, self.conservative.tolist(), strict=True)]

    def _extras(self, confidence: float) -> dict[str, Any]:
        del confidence
        return {} if self.fit is None else {"fit": asdict(self.fit)}


def standard_errors(covariance: FloatArray) -> FloatArray:
    """Return the square roots of the diagonal of a covariance matrix."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def spread(shares: FloatArray) -> FloatArray:
    """Return the covariance of one person's value: diag f − f fᵀ."""
    return np.asarray(np.diag(shares) - np.outer(shares, shares))


def sampling_covariance(shares: FloatArray, reports: int) -> FloatArray:
    """Return what drawing the people at random adds to the covariance of shares."""
    return spread(norm_sub(shares)) / reports


def frequencies(  # noqa: PLR0913 - one per option
    tally: Tally,
    question: str,
    *,
    method: ShareMethod | None = None,
    differ: float | None = None,
    target: Target = "population",
    mix: Mix | None = None,
    gap: float = GAP,
    progress: FitProgress | None = None,
) -> Shares:
    """Return the share of each value of a question with standard errors, intervals and assumptions.

    Parameters
    ----------
    tally
        The counted reports.
    question
        Name of the question.
    method
        `unbiased`, the default, decodes every report, uses that shares sum to 1, and pools the levels; `likelihood`
        fits all reports at once (shares are also at least 0; unary reports must be tallied with `patterns`), which
        assumes that people of all levels are alike.
    differ, target, mix
        See `Options`.
    gap, progress
        Tolerance of a likelihood fit (`pldp.estimates.likelihood.solver`), and what is called with its steps and gap.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_counts(survey, {"late": {"yes": 3000, "no": 7000}}, seed=5)
    >>> reports = tally(survey, simulate_reports(survey, people, seed=5))
    >>> estimate = frequencies(reports, "late")
    >>> low, high = estimate.interval(0.95)
    >>> bool(low[0] < 0.3 < high[0])
    True
    """
    check_mix(tally.survey, mix)
    check_options(differ, target)
    one_of("method", method or "unbiased", SHARE_METHODS)
    counted = _Counted.of(tally, question, mix)
    if method == "likelihood":
        refuse_likelihood(differ, several=counted.several)
        found = counted.fitted(target, gap, progress)
        return replace(found, differ=0) if counted.several else found
    return beside_alike(lambda bound: counted.decoded(bound, target), differ, several=counted.several)


def refuse_likelihood(differ: float | None, *, several: bool) -> None:
    """Refuse a likelihood, which has one set of shares for all levels, where people of levels may differ."""
    if several and differ != 0:
        raise EstimateError("a likelihood takes people of all levels to be alike: add differ=0 (--differ 0) to say so")


@dataclass(frozen=True, eq=False)
class _Counted:
    """The reports of one question."""

    question: Choice
    reports: LabelReports

    @classmethod
    def of(cls, tally: Tally, question: str, mix: Mix | None) -> _Counted:
        asked = cast("Choice", tally.survey.question(question))  # or another kind whose answer is one label
        if asked.domain != "labels":
            raise EstimateError(f"question {question!r} must be a choice of one label to have shares, not {asked.kind}")
        counts = tuple(tally.counts[question, level.name] for level in asked.levels)
        if not any(own.reports for own in counts):
            raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
        forms, known = tuple(map(label_arrays, asked.channels)), mix_of(tally, question, mix)
        return cls(asked, LabelReports(forms, counts, known, summed=not asked.stages))

    @property
    def mix(self) -> LevelMix:
        """What is known of levels."""
        return self.reports.mix

    @property
    def several(self) -> bool:
        """Whether reports of more than one level came."""
        return len(self.reports.evidence.levels) > 1

    @cached_property
    def tested(self) -> Homogeneity | None:
        """The test whether people of all levels are alike."""
        return self.reports.homogeneity()

    def decoded(self, differ: float | None, target: Target) -> Shares:
        """Return unbiased shares if people of different levels differ by at most so much."""
        if differ:
            check_bound(self.reports.evidence, differ)
        fitted = decode(self.reports.evidence, differ)
        together = differ == 0 and self.several
        assumed = self.mix.assumed("shares", together=together)
        named, levels = name_levels(self.question), fitted.evidence.levels
        shown = self.mix.groups_of(named, levels, fitted.level_weights)
        alone = (decode(self.reports.only([level]).evidence) for level in levels[: len(shown)])
        return Shares(
            question=self.question.name,
            text=self.question.text,
            values=self.question.values,
            shares=fitted.estimates,
            standard_error=np.sqrt(_possible_variance(fitted, target)),
            bias=Interval(-fitted.bias, fitted.bias) if differ else None,
            rare=SmallCounts.of(fitted, sampled=self._sampled(fitted, target)),
            covariance_matrix=self._covariance(fitted, target),
            reports=self.mix.reports,
            manipulation=fitted.manipulation,
            method=f"unbiased, {self.mix.words}{pooling_words(differ if self.several else None)}",
            target=target,
            groups=tuple(map(GroupShares.alone, shown, alone)),
            levels=self.mix.levels_of(named),
            homogeneity=self.tested,
            assumptions=notes.assume(target, *assumed),
            notes=(*notes.levels_disagree(self.tested, differ), *self._unsure(together=together)),
        )

    def _unsure(self, *, together: bool) -> tuple[Note, ...]:
        """Return what is unsure of the shares: too few reports, or labels that say little."""
        parts = zip(self.mix.names, self.reports.enough, self.reports.reports, strict=True)
        few = [name for name, enough, reports in parts if reports and not enough]
        if self.mix.visible:
            return notes.few_reports(few)
        told = self.mix.notes if together else ()
        return ((notes.ROUGH_ERRORS,) if few else ()) + told

    def fitted(self, target: Target, gap: float, progress: FitProgress | None) -> Shares:
        """Return the shares of greatest likelihood."""
        beside = self.decoded(0, target)
        fit = fit_labels(self.reports, beside.shares, gap=gap, progress=progress)
        levels, dense = fit.levels, self.reports.size <= LARGEST_DENSE
        covariance = fit.covariance if dense else None
        if covariance is not None and target == "respondents":
            covariance = covariance - sampling_covariance(fit.shares, beside.reports)
        errors = np.full(self.reports.size, np.nan) if covariance is None else standard_errors(covariance)
        far = () if fit.fit.converged else (notes.no_convergence(fit.fit.gap, fit.fit.steps),)
        several = () if fit.starts_agree else (notes.SEVERAL_MAXIMA,)
        return replace(
            beside,
            shares=fit.shares,
            standard_error=errors,
            covariance_matrix=covariance if self.reports.size <= LARGEST_COMPARED else None,
            method="maximum likelihood" if levels is None else "joint maximum likelihood of shares and hidden levels",
            fit=FitFacts.of(fit.fit),
            assumptions=(*beside.assumptions, notes.INTERIOR),
            notes=(*far, *several, *beside.notes, *(() if dense else (notes.NO_ERRORS,))),
            levels=self.mix.levels_of(name_levels(self.question), levels),
        )

    def _sampled(self, fitted: Linear, target: Target) -> float:
        """Return the part of the variance of drawing people that is left: all for a population.

        Of respondents it is that of who chose which level, which nobody fixed where levels are taken to be alike.
        """
        if target == "population" or not fitted.evidence.visible:
            return 1.0
        reports = self.reports.reports[fitted.evidence.levels]
        return max(0.0, round(1 - 1 / (fitted.reports * float((fitted.level_weights**2 / reports).sum())), 9))

    def _covariance(self, fitted: Linear, target: Target) -> FloatArray | None:
        if self.reports.size > LARGEST_COMPARED:
            return None
        covariance = self.reports.covariance(fitted)
        if target == "respondents":
            noise = covariance - sampling_covariance(fitted.estimates, int(fitted.reports))
            return scaled(noise, fitted.variance(target))
        return covariance


def _possible_variance(fitted: Linear, target: Target) -> FloatArray:
    """Return the variance of each share.

    A label without protection that nobody reported would have none. It gets that of shares with one more report of
    every value: what never came is no certainty about a population.
    """
    variance = fitted.variance(target)
    if target == "respondents":
        return variance
    shares = fitted.states[:, -1]
    return np.where(variance > 0, variance, shares * (1 - shares) / fitted.reports)


def estimate(tally: Tally, question: Choice, options: Options) -> Result:
    """Return the shares of the values, corrected to a known margin if there is one."""
    name, differ, target = question.name, options.differ, options.target
    if options.known is not None:
        from pldp.estimates.margins import correct_shares  # noqa: PLC0415 - it needs this package

        if not mix_of(tally, name, options.mix).bounds.nothing:
            raise EstimateError("mix and known do not go together: corrected shares assume nothing about the mix")
        return correct_shares(tally, name, options.known, method=options.method, differ=differ, target=target)
    progress = options.progress
    return frequencies(
        tally,
        name,
        method=cast("ShareMethod | None", options.method),
        differ=differ,
        target=target,
        mix=options.mix,
        progress=None if progress is None else lambda steps, _: progress(steps),
    )


def side(tally: Tally, question: Choice, options: Options) -> Side:
    """Return what the question brings to a table: its labels."""
    counted = _Counted.of(tally, question.name, options.mix)
    own = counted.decoded(options.differ if counted.several else None, options.target)
    forms = [label_arrays(channel) for channel in question.channels]
    return LabelSide(margin=Margin.of(own, own.values, own.shares, own.consistent()), forms=forms)
