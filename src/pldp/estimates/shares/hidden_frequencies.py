"""From a tally whose levels are hidden to an estimate: what `frequencies` does where the survey sets `hide_level`."""

from __future__ import annotations

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.assumptions import HONEST_DEVICES, INTERIOR, UNTESTED_CHOICE, about_people
from pldp.estimates.groups import LARGEST_DENSE, FloatArray
from pldp.estimates.shares.estimate import Estimate, LevelShare, standard_errors
from pldp.estimates.shares.hidden import (
    HiddenFit,
    HiddenReports,
    Moments,
    joint_likelihood,
    moments,
    moments_manipulation,
)
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT, sampling_covariance
from pldp.estimates.solver.likelihood import FitProgress
from pldp.survey import Question
from pldp.tallies import Tally


def hidden_frequencies(
    tally: Tally, question: Question, method: str, target: str, *, gap: float, progress: FitProgress | None
) -> Estimate:
    """Estimate the shares by moments (`unbiased`) or joint likelihood of shares and levels (`likelihood`)."""
    counts = [tally.counts[question.name, level.name] for level in question.levels]
    if not sum(count.reports for count in counts):
        raise EstimateError(f"question {question.name!r} has no reports, so there is nothing to estimate")
    if tally.survey.level_channel is None:
        raise EstimateError(f"question {question.name!r} does not hide levels")
    hidden = HiddenReports.of(question.pure_channels, tally.survey.level_channel, counts)
    if method == "unbiased":
        return _by_moments(hidden, question, target)
    return _by_likelihood(hidden, question, target, joint_likelihood(hidden, gap=gap, progress=progress))


def _by_moments(hidden: HiddenReports, question: Question, target: str) -> Estimate:
    found = moments(hidden)
    warnings = list(_level_warnings(hidden, found.levels))
    if found.projected_levels:
        warnings.insert(
            0, "the estimated mix of levels is impossible; its nearest possible mix was used, errors are rough"
        )
    return Estimate(
        question=question.name,
        values=question.values,
        shares=found.shares,
        standard_error=_standard_error(found, found.shares, hidden, target),
        reports=hidden.reports,
        method="approximately unbiased, hidden levels",
        target=target,
        groups=(),
        homogeneity=None,
        assumptions=(about_people(target), UNTESTED_CHOICE, HONEST_DEVICES),
        warnings=tuple(warnings),
        manipulation=moments_manipulation(hidden, found),
        levels=_levels(question, found.levels),
        _covariance=lambda: _for_target(found.covariance, found.shares, hidden, target),
        _likelihood=lambda: joint_likelihood(hidden).fit,
        _shrunk=lambda: joint_likelihood(hidden).shrunk,
    )


def _by_likelihood(hidden: HiddenReports, question: Question, target: str, found: HiddenFit) -> Estimate:
    warnings = list(_level_warnings(hidden, found.levels))
    if not found.starts_agree:
        warnings.insert(0, "the likelihood has more than one maximum; the best one found is shown")
    if not found.fit.converged:
        warnings.insert(0, f"the fit did not converge: gap {found.fit.gap:.1e} after {found.fit.steps} steps")
    return Estimate(
        question=question.name,
        values=question.values,
        shares=found.fit.shares,
        standard_error=_standard_error(found, found.fit.shares, hidden, target),
        reports=hidden.reports,
        method="joint maximum likelihood of shares and hidden levels",
        target=target,
        groups=(),
        homogeneity=None,
        assumptions=(about_people(target), UNTESTED_CHOICE, HONEST_DEVICES, INTERIOR),
        warnings=tuple(warnings),
        manipulation=moments_manipulation(hidden, moments(hidden)),
        levels=_levels(question, found.levels),
        fit=found.fit,
        _covariance=lambda: _for_target(found.covariance, found.fit.shares, hidden, target),
        _shrunk=lambda: found.shrunk,
    )


def _standard_error(found: Moments | HiddenFit, shares: FloatArray, hidden: HiddenReports, target: str) -> FloatArray:
    if hidden.size > LARGEST_DENSE:
        return np.full(hidden.size, np.nan)
    return standard_errors(_for_target(found.covariance, shares, hidden, target))


def _for_target(covariance: FloatArray, shares: FloatArray, hidden: HiddenReports, target: str) -> FloatArray:
    return covariance if target == "population" else covariance - sampling_covariance(shares, hidden.reports)


def _levels(question: Question, shares: FloatArray) -> tuple[LevelShare, ...]:
    named = zip(question.levels, question.channels, shares, strict=True)
    return tuple(
        LevelShare(level.name, channel.mechanism, channel.epsilon, float(share)) for level, channel, share in named
    )


def _level_warnings(hidden: HiddenReports, levels: FloatArray) -> tuple[str, ...]:
    """Say so where reports are few, or labels barely tell how people chose: then the scale of all shares is unsure."""
    if hidden.size > LARGEST_DENSE:
        return (f"no standard errors: more than {LARGEST_DENSE:,} values",)
    if hidden.reports * float(hidden.other_supports.min()) < ENOUGH_SUPPORT:
        return ("too few reports for a normal approximation: errors are rough",)
    contrasts = hidden.truth_supports - hidden.other_supports
    label_contrast = float(hidden.label_channel.truth_support - hidden.label_channel.other_support)
    spread = float(np.std(contrasts)) / (label_contrast * np.sqrt(hidden.reports))
    if spread > 0.5 * float(np.clip(levels, 0, 1) @ contrasts):
        return ("labels say too little about the mix of levels for so few reports: errors are rough",)
    return ()
