"""A choice of one label: from a tally to shares with errors, and what the question brings to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.kinds.item_supports import HOPELESS
from pldp.estimates.kinds.shares import (
    LARGEST_COMPARED,
    FitFacts,
    GroupShares,
    Shares,
    sampling_covariance,
    standard_errors,
)
from pldp.estimates.kinds.sides import LabelSide, Margin, Side, refuse_ranges
from pldp.estimates.likelihood.solver import GAP, FitProgress, fit_labels
from pldp.estimates.linear.covariance import scaled
from pldp.estimates.linear.evidence import label_chances
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.mix import LevelMix, check_mix, mix_of
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results import notes
from pldp.estimates.results.facts import Homogeneity, LevelShare, Note
from pldp.estimates.results.options import SHARE_METHODS, Mix, Options, Pool, ShareMethod, Target, check_pooling, one_of
from pldp.estimates.results.result import Result
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray, label_arrays
from pldp.survey import Choice
from pldp.tallies import Tally

METHODS: Final = SHARE_METHODS


def frequencies(  # noqa: PLR0913 - one per option
    tally: Tally,
    question: str,
    *,
    method: ShareMethod | None = None,
    pool: Pool = "precision",
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
        fits all reports at once (shares are also at least 0; unary reports must be tallied with `patterns`).
    pool, target, mix
        See `Options`. Pooling by precision assumes that the choice of a level does not depend on the value, and the
        result says so first if the levels contradict that.
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
    check_pooling(pool, target)
    one_of("method", method or "unbiased", SHARE_METHODS)
    counted = _Counted.of(tally, question, mix)
    if pool == "size" and mix is not None:
        raise EstimateError(
            "mix applies where levels are pooled by precision; by size nothing is assumed about their mix"
        )
    if method != "likelihood":
        return counted.decoded(pool, target)
    if pool == "size":
        raise EstimateError(
            "pool must be precision for a likelihood: groups of one level cannot be weighted by their size; "
            "assumption_free of the result assumes nothing about the choice of levels"
        )
    return counted.fitted(target, gap, progress)


@dataclass(frozen=True, eq=False)
class _Counted:
    """The reports of one question, and what is known of the mix of levels where these are hidden."""

    question: Choice
    reports: LabelReports
    mix: LevelMix

    @classmethod
    def of(cls, tally: Tally, question: str, mix: Mix | None) -> _Counted:
        asked = cast("Choice", tally.survey.question(question))  # or another kind whose answer is one label
        if asked.domain != "labels":
            raise EstimateError(f"question {question!r} must be a choice of one label to have shares, not {asked.kind}")
        counts = [tally.counts[question, level.name] for level in asked.levels]
        if not any(own.reports for own in counts):
            raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
        known = mix_of(tally, question, mix)
        chances, forms = label_chances(tally.survey, [question]), tuple(map(label_arrays, asked.channels))
        summed = not asked.stages
        reports = LabelReports(forms, tuple(counts), chances.matrix, chances.visible, known.bounds, summed)
        return cls(asked, reports, known)

    def decoded(self, pool: Pool, target: Target) -> Shares:
        """Return unbiased shares."""
        tested = self.reports.homogeneity()
        return self._decoded(pool, target, tested)

    def _decoded(self, pool: Pool, target: Target, tested: Homogeneity | None) -> Shares:
        fitted = decode(self.reports.evidence, pool)
        together = pool == "precision" and len(fitted.evidence.levels) > 1
        free, weak = self._free(target, tested) if together else (None, ())
        return Shares(
            shares=fitted.estimates,
            standard_error=np.sqrt(_possible_variance(fitted, target)),
            rare=SmallCounts.of(fitted, sampled=self._sampled(fitted, target)),
            covariance_matrix=self._covariance(fitted, target),
            manipulation=fitted.manipulation,
            method=f"unbiased, {'' if self.mix.visible else 'hidden levels '}pooled by {pool}",
            assumptions=notes.assume(target, *self._assumed(tested, together=together)),
            notes=(*notes.levels_disagree(tested, pool), *self._rough(together=together), *weak),
            homogeneity=tested,
            assumption_free=free,
            **self._about(fitted, target),
        )

    def _free(self, target: Target, tested: Homogeneity | None) -> tuple[Shares | None, tuple[Note, ...]]:
        """Return shares that assume nothing about levels, where they say anything, and what labels cannot tell."""
        free = self._decoded("size", target, tested)
        if self.mix.visible:
            return free, ()
        worst = float(free.standard_error.max())
        if worst <= HOPELESS:
            return free, notes.weak_test(tested)
        return None, (*notes.weak_test(tested), notes.no_free_shares(worst))

    def fitted(self, target: Target, gap: float, progress: FitProgress | None) -> Shares:
        """Return the shares of greatest likelihood, with the decoded ones that assume nothing beside them."""
        beside = self.decoded("precision", target)
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
            levels=beside.levels if levels is None else self._levels(levels),
        )

    def _about(self, fitted: Linear, target: Target) -> dict[str, Any]:
        """Return what shares say whatever the pooling."""
        return {
            "question": self.question.name,
            "text": self.question.text,
            "values": self.question.values,
            "reports": int(self.reports.reports.sum()),
            "target": target,
            "groups": self._groups(fitted) if self.mix.visible else (),
            "levels": () if self.mix.visible else self._levels(self.mix.shares),
        }

    def _groups(self, fitted: Linear) -> tuple[GroupShares, ...]:
        """Return what the reports of each level say on their own, and the weight of the level."""
        return tuple(
            self._group(level, weight)
            for level, weight in zip(fitted.evidence.levels, fitted.level_weights, strict=True)
        )

    def _group(self, level: int, weight: float) -> GroupShares:
        own = self.reports.only([level])
        alone, name = decode(own.evidence), self.question.levels[level].name
        return GroupShares(
            level=name,
            mechanism=self.question.channels[level].mechanism,
            epsilon=self.question.answer_epsilon(name),
            reports=int(own.reports.sum()),
            weight=float(weight),
            shares=alone.estimates,
            standard_error=np.sqrt(alone.variance()),
            manipulation=alone.manipulation,
        )

    def _levels(self, shares: FloatArray) -> tuple[LevelShare, ...]:
        """Return how many people are estimated to have chosen each hidden level."""
        parts = zip(self.question.levels, self.question.channels, shares.tolist(), strict=True)
        return tuple(
            LevelShare(level.name, channel.mechanism, self.question.answer_epsilon(level.name), share)
            for level, channel, share in parts
        )

    def _assumed(self, tested: Homogeneity | None, *, together: bool) -> tuple[str, ...]:
        """Return what is assumed about the choice of levels, and what was given about their mix."""
        rough = (notes.ROUGH_WEIGHTS,) if together and self.mix.visible else ()
        return (*self.mix.assumed("shares", together=together, tested=tested is not None), *rough)

    def _rough(self, *, together: bool) -> tuple[Note, ...]:
        """Say so where reports are few, or labels barely tell how people chose: shares are unsure then."""
        few = [name for name, enough in zip(self.mix.names, self.reports.enough_or_none, strict=True) if not enough]
        if self.mix.visible:
            return notes.few_reports(few)
        return (*((notes.ROUGH_ERRORS,) if few else ()), *(self.mix.notes if together else ()))

    def _sampled(self, fitted: Linear, target: Target) -> float:
        """Return the part of the variance of drawing people that is left: all for a population.

        Of respondents it is that of who chose which level, which nobody fixed where levels are taken to be alike.
        """
        if target == "population" or not fitted.evidence.visible:
            return 1.0
        if fitted.pool == "size":
            return 0.0
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
    if options.known is not None:
        from pldp.estimates.margins import correct_shares  # noqa: PLC0415 - it needs this package

        if options.mix is not None:
            raise EstimateError("mix and known do not go together: corrected shares assume nothing about the mix")
        return correct_shares(
            tally,
            question.name,
            options.known,
            method=options.method,
            pool=options.pool,
            target=options.target,
        )
    progress = options.progress
    return frequencies(
        tally,
        question.name,
        method=cast("ShareMethod | None", options.method),
        pool=options.pool,
        target=options.target,
        mix=options.mix,
        progress=None if progress is None else lambda steps, _: progress(steps),
    )


def side(tally: Tally, question: Choice, options: Options, edges: Sequence[float] | None) -> Side:
    """Return what the question brings to a table: its labels."""
    refuse_ranges(question.name, question.kind, edges)
    own = frequencies(tally, question.name, pool=options.pool, target=options.target, mix=options.mix)
    # For respondents the test beside is that of their errors; tables by size test with those for the population.
    beside = own.assumption_free if options.target == "population" else None
    forms = [label_arrays(channel) for channel in question.channels]
    return LabelSide(
        margin=_margin(own), beside=None if beside is None else _margin(cast("Shares", beside)), forms=forms
    )


def _margin(own: Shares) -> Margin:
    """Return the shares as the margin of a table."""
    return Margin(
        question=own.question,
        values=own.values,
        shares=own.shares,
        possible=own.consistent(),
        reports=own.reports,
        notes=own.notes,
        homogeneity=own.homogeneity,
    )
