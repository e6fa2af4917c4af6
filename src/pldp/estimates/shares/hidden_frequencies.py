"""From a tally whose levels are hidden to an estimate: what `frequencies` does where the survey sets `hide_level`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.assumptions import HONEST_DEVICES, INTERIOR, UNTESTED_CHOICE, about_people
from pldp.estimates.groups import LARGEST_DENSE, FloatArray
from pldp.estimates.notes import (
    IMPOSSIBLE_MIX,
    LABELS_SAY_LITTLE,
    ROUGH_ERRORS,
    SEVERAL_MAXIMA,
    no_convergence,
    no_standard_errors,
)
from pldp.estimates.result import LevelShare, Note
from pldp.estimates.shares.hidden import HiddenReports, Moments, moments, moments_manipulation
from pldp.estimates.shares.joint import HiddenFit, joint_likelihood
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT, sampling_covariance
from pldp.estimates.shares.shares import Evidence, Shares, standard_errors
from pldp.estimates.solver.likelihood import FitProgress
from pldp.survey import Choice
from pldp.tallies import Tally


def hidden_frequencies(
    tally: Tally, question: Choice, method: str, target: str, *, gap: float, progress: FitProgress | None
) -> Shares:
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


@dataclass(frozen=True, eq=False)
class _Hidden(Evidence):
    """Reports with hidden levels: shares with their covariance, and the joint fit if there is one already."""

    hidden: HiddenReports
    found: Moments | HiddenFit
    target: str

    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the shares."""
        if self.target == "population":
            return self.found.covariance
        return self.found.covariance - sampling_covariance(self.found.shares, self.hidden.reports)

    def likely_shares(self) -> FloatArray:
        """Return the shares of the joint fit."""
        return self._joint.shares

    def shrunk_shares(self, shares: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the posterior mean given the fitted levels."""
        del shares, covariance
        return self._joint.shrunk

    @property
    def _joint(self) -> HiddenFit:
        return self.found if isinstance(self.found, HiddenFit) else joint_likelihood(self.hidden)


def _by_moments(hidden: HiddenReports, question: Choice, target: str) -> Shares:
    found = moments(hidden)
    return _shares(
        _Hidden(hidden, found, target),
        question,
        method="approximately unbiased, hidden levels",
        assumptions=(about_people(target), UNTESTED_CHOICE, HONEST_DEVICES),
        notes=(*((IMPOSSIBLE_MIX,) if found.projected_levels else ()), *_level_notes(hidden, found.levels)),
        manipulation=moments_manipulation(hidden, found),
    )


def _by_likelihood(hidden: HiddenReports, question: Choice, target: str, found: HiddenFit) -> Shares:
    notes = _level_notes(hidden, found.levels)
    if not found.starts_agree:
        notes = (SEVERAL_MAXIMA, *notes)
    if not found.fit.converged:
        notes = (no_convergence(found.fit.gap, found.fit.steps), *notes)
    return _shares(
        _Hidden(hidden, found, target),
        question,
        method="joint maximum likelihood of shares and hidden levels",
        assumptions=(about_people(target), UNTESTED_CHOICE, HONEST_DEVICES, INTERIOR),
        notes=notes,
        manipulation=moments_manipulation(hidden, moments(hidden)),
        fit=found.fit,
    )


def _shares(evidence: _Hidden, question: Choice, **circumstances: Any) -> Shares:
    size = evidence.hidden.size
    return Shares(
        question=question.name,
        text=question.text,
        values=question.values,
        shares=evidence.found.shares,
        standard_error=np.full(size, np.nan) if size > LARGEST_DENSE else standard_errors(evidence.covariance()),
        reports=evidence.hidden.reports,
        target=evidence.target,
        levels=_levels(question, evidence.found.levels),
        evidence=evidence,
        **circumstances,
    )


def _levels(question: Choice, shares: FloatArray) -> tuple[LevelShare, ...]:
    named = zip(question.levels, question.channels, shares, strict=True)
    return tuple(
        LevelShare(level.name, channel.mechanism, channel.epsilon, float(share)) for level, channel, share in named
    )


def _level_notes(hidden: HiddenReports, levels: FloatArray) -> tuple[Note, ...]:
    """Say so where reports are few, or labels barely tell how people chose: then the scale of all shares is unsure."""
    if hidden.size > LARGEST_DENSE:
        return (no_standard_errors(LARGEST_DENSE),)
    if hidden.reports * float(hidden.other_supports.min()) < ENOUGH_SUPPORT:
        return (ROUGH_ERRORS,)
    contrasts = hidden.truth_supports - hidden.other_supports
    label_contrast = float(hidden.label_channel.truth_support - hidden.label_channel.other_support)
    spread = float(np.std(contrasts)) / (label_contrast * np.sqrt(hidden.reports))
    if spread > 0.5 * float(np.clip(levels, 0, 1) @ contrasts):
        return (LABELS_SAY_LITTLE,)
    return ()
