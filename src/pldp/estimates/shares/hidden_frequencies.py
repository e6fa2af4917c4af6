"""From reports whose levels are hidden to an estimate: what `frequencies` does where the survey sets `hide_level`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pldp.estimates import notes
from pldp.estimates.result import LevelShare, Note
from pldp.estimates.shares.hidden import HiddenReports, Moments, moments
from pldp.estimates.shares.joint import HiddenFit, joint_likelihood
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT, sampling_covariance
from pldp.estimates.shares.shares import Evidence, Shares, standard_errors
from pldp.estimates.solver.likelihood import FitProgress
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.survey import Choice


def hidden_frequencies(
    hidden: HiddenReports, question: Choice, method: str, target: str, *, gap: float, progress: FitProgress | None
) -> Shares:
    """Estimate the shares by moments (`unbiased`) or joint likelihood of shares and levels (`likelihood`)."""
    by_moments = moments(hidden)
    if method == "unbiased":
        first = (notes.IMPOSSIBLE_MIX,) if by_moments.projected_levels else ()
        return _shares(
            _Hidden(hidden, by_moments, target),
            question,
            method="approximately unbiased, hidden levels",
            assumptions=notes.assume(target, notes.UNTESTED_CHOICE),
            notes=(*first, *_level_notes(hidden, by_moments.levels)),
            manipulation=by_moments.manipulation,
        )
    found = joint_likelihood(hidden, gap=gap, progress=progress)
    unfinished = () if found.fit.converged else (notes.no_convergence(found.fit.gap, found.fit.steps),)
    several = () if found.starts_agree else (notes.SEVERAL_MAXIMA,)
    return _shares(
        _Hidden(hidden, found, target),
        question,
        method="joint maximum likelihood of shares and hidden levels",
        assumptions=notes.assume(target, notes.UNTESTED_CHOICE, notes.INTERIOR),
        notes=(*unfinished, *several, *_level_notes(hidden, found.levels)),
        manipulation=by_moments.manipulation,
        fit=found.fit,
    )


@dataclass(frozen=True, eq=False)
class _Hidden(Evidence):
    """Reports with hidden levels: shares with their covariance, and the joint fit if there is one already."""

    hidden: HiddenReports
    found: Moments | HiddenFit
    target: str

    def covariance(self) -> FloatArray:
        if self.target == "population":
            return self.found.covariance
        return self.found.covariance - sampling_covariance(self.found.shares, self.hidden.reports)

    def likely_shares(self) -> FloatArray:
        return self._joint.shares

    def shrunk_shares(self, shares: FloatArray, covariance: FloatArray) -> FloatArray:
        del shares, covariance
        return self._joint.shrunk

    @property
    def _joint(self) -> HiddenFit:
        return self.found if isinstance(self.found, HiddenFit) else joint_likelihood(self.hidden)


def _shares(evidence: _Hidden, question: Choice, **circumstances: Any) -> Shares:
    size, found = evidence.hidden.size, evidence.found
    levels = zip(question.levels, question.channels, found.levels.tolist(), strict=True)
    return Shares(
        question=question.name,
        text=question.text,
        values=question.values,
        shares=found.shares,
        standard_error=np.full(size, np.nan) if size > LARGEST_DENSE else standard_errors(evidence.covariance()),
        reports=evidence.hidden.reports,
        target=evidence.target,
        levels=tuple(LevelShare(level.name, own.mechanism, own.epsilon, share) for level, own, share in levels),
        evidence=evidence,
        **circumstances,
    )


def _level_notes(hidden: HiddenReports, levels: FloatArray) -> tuple[Note, ...]:
    """Say so where reports are few, or labels barely tell how people chose: then the scale of all shares is unsure."""
    if hidden.size > LARGEST_DENSE:
        return (notes.NO_ERRORS,)
    if hidden.reports * float(hidden.other_supports.min()) < ENOUGH_SUPPORT:
        return (notes.ROUGH_ERRORS,)
    spread = float(np.std(hidden.contrasts)) / (hidden.label_supports[1] * np.sqrt(hidden.reports))
    if spread > 0.5 * float(np.clip(levels, 0, 1) @ hidden.contrasts):
        return (notes.LABELS_SAY_LITTLE,)
    return ()
