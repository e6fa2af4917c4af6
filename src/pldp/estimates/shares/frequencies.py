"""From a tally to shares with errors: the verb that analysts use."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates import notes
from pldp.estimates.groups import Group, group
from pldp.estimates.mix import check_mix
from pldp.estimates.mix_bounds import Mix, MixBounds
from pldp.estimates.options import SHARE_METHODS, Pool, ShareMethod, Target, check_pooling, one_of
from pldp.estimates.result import Homogeneity, LevelShare, Note
from pldp.estimates.shares import pooling
from pldp.estimates.shares.dependence import LARGEST_ERROR, Dependence, Free
from pldp.estimates.shares.hidden import HiddenReports, Moments, moments
from pldp.estimates.shares.item_dependence import ItemDependence
from pldp.estimates.shares.joint import HiddenFit, joint_likelihood
from pldp.estimates.shares.shares import Evidence, GroupShares, Shares, standard_errors
from pldp.estimates.solver.likelihood import GAP, FitProgress, maximum_likelihood
from pldp.mechanisms import categorical
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.survey import Choice
from pldp.tallies import Tally

Named = Sequence[tuple[str, Group]]


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
        `unbiased` inverts each level's channel, uses that shares sum to 1, and pools the levels; `likelihood` fits all
        reports at once (shares are also at least 0; unary reports must be tallied with `patterns`). Default:
        `unbiased`, but `likelihood` where the survey hides levels, as inverting labels costs much accuracy.
    pool, target, mix
        See `Options`. Pooling by precision assumes that the choice of a level does not depend on the value, and the
        result says so first if the levels contradict that.
    gap, progress
        Tolerance of a likelihood fit (`pldp.estimates.solver.likelihood`), and what is called with its steps and gap.

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
    asked = cast("Choice", tally.survey.question(question))  # or another kind whose answer is one label
    if asked.domain != "labels":
        raise EstimateError(f"question {question!r} must be a choice of one label to have shares, not {asked.kind}")
    labels = tally.survey.level_channel
    check_mix(tally.survey, mix)
    bounds = MixBounds.read(mix, [level.name for level in asked.levels])
    if pool == "size" and (method == "likelihood" or labels is not None):
        reason = "for a likelihood" if labels is None else "where levels are hidden, as reports do not show them"
        beside = "assumption_free of the result assumes nothing about the choice of levels"
        raise EstimateError(
            f"pool must be precision {reason}: groups of one level cannot be weighted by their size; {beside}"
        )
    one_of("method", method or "unbiased", SHARE_METHODS)
    check_pooling(pool, target)
    counts = [tally.counts[question, level.name] for level in asked.levels]
    if not any(own.reports for own in counts):
        raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
    if labels is not None:
        hidden = HiddenReports.of(categorical(asked.channels), labels, counts, bounds)
        return _hidden(hidden, asked, method or "likelihood", target, gap=gap, progress=progress)
    parts = zip(asked.levels, asked.channels, counts, strict=True)
    tracked = bool(asked.stages)
    named = [(level.name, group(channel, own, tracked)) for level, channel, own in parts if own.reports]
    if method == "likelihood":
        return _fitted(asked, named, target, gap, progress)
    return _unbiased(asked, named, pool, target, gap)


def _unbiased(
    question: Choice, named: Named, pool: Pool, target: Target, gap: float, *tested: Homogeneity | None
) -> Shares:
    groups = [each for _, each in named]
    pooled = pooling.Pooled.of(groups, pool, target, gap)
    together = pool == "precision" and len(groups) > 1
    levels = (notes.SAME_SHARES, notes.ROUGH_WEIGHTS) if together else (notes.BY_SIZE,)
    return Shares(
        shares=pooled.shares,
        standard_error=np.sqrt(pooled.variance()),
        rare=pooled.rare(),
        method=f"unbiased, pooled by {pool}",
        assumptions=notes.assume(target, *levels),
        evidence=pooled,
        **_circumstances(question, named, pooled, *tested),
    )


def _fitted(question: Choice, named: Named, target: Target, gap: float, progress: FitProgress | None) -> Shares:
    groups = [each for _, each in named]
    fit = maximum_likelihood(groups, gap=gap, progress=progress)
    pooled = pooling.Pooled.of(groups, "precision", target, gap)
    about = _circumstances(question, named, pooled)
    if not fit.converged:
        about["notes"] = (notes.no_convergence(fit.gap, fit.steps), *about["notes"])
    dense = len(fit.shares) <= LARGEST_DENSE
    information = np.sum([each.information(fit.shares) for each in groups], axis=0) if dense else None
    evidence = pooling.Fitted(fit, about["reports"], target, information)
    about["notes"] += () if dense else (notes.NO_ERRORS,)
    return Shares(
        shares=fit.shares,
        standard_error=standard_errors(evidence.covariance()) if dense else np.full(len(fit.shares), np.nan),
        method="maximum likelihood",
        rare=pooled.rare(),
        assumptions=notes.assume(target, notes.SAME_SHARES, notes.INTERIOR),
        fit=fit,
        evidence=evidence,
        **about,
    )


def _circumstances(
    question: Choice, named: Named, pooled: pooling.Pooled, *tested: Homogeneity | None
) -> dict[str, Any]:
    """Return what shares say whatever the method: each level on its own, whether they agree and, if not, by size.

    Whether they agree can be said before: what stands beside a result has the same groups.
    """
    groups = _group_shares(question, [name for name, _ in named], pooled)
    reports = sum(each.reports for each in groups)
    test = tested[0] if tested else pooling.homogeneity_test(pooled)
    together = pooled.pool == "precision" and len(groups) > 1
    few = [name for name, each in named if not pooling.has_enough_support(each)]
    return {
        "question": question.name,
        "text": question.text,
        "values": question.values,
        "reports": reports,
        "target": pooled.target,
        "groups": groups,
        "manipulation": max(each.weight * reports / each.reports * each.manipulation for each in groups),
        "homogeneity": test,
        "notes": (*notes.levels_disagree(test, pooled.pool), *notes.few_reports(few)),
        "assumption_free": _unbiased(question, named, "size", pooled.target, pooled.gap, test) if together else None,
    }


def _group_shares(question: Choice, names: Sequence[str], pooled: pooling.Pooled) -> tuple[GroupShares, ...]:
    parts = zip(names, pooled.groups, pooled.decoders, pooled.weights.tolist(), pooled.own_shares, strict=True)
    return tuple(
        GroupShares(
            level=name,
            mechanism=each.channel.mechanism,
            epsilon=question.answer_epsilon(name),
            reports=each.reports,
            weight=weight,
            shares=shares,
            standard_error=np.sqrt(decoder.variance(shares) / each.reports),
            manipulation=decoder.manipulation,
        )
        for name, each, decoder, weight, shares in parts
    )


def _hidden(
    hidden: HiddenReports, question: Choice, method: str, target: str, *, gap: float, progress: FitProgress | None
) -> Shares:
    """Estimate the shares by moments (`unbiased`) or joint likelihood of shares and levels (`likelihood`)."""
    by_moments = moments(hidden)
    joint = None if method == "unbiased" else joint_likelihood(hidden, gap=gap, progress=progress)
    if joint is None:
        words, further = "approximately unbiased, hidden levels", list[str]()
        first = [notes.IMPOSSIBLE_MIX] if by_moments.projected_levels else []
    else:
        words, further = "joint maximum likelihood of shares and hidden levels", [notes.INTERIOR]
        first = [] if joint.fit.converged else [notes.no_convergence(joint.fit.gap, joint.fit.steps)]
        first += [] if joint.starts_agree else [notes.SEVERAL_MAXIMA]
    found = joint or by_moments
    evidence = _Hidden(hidden, found, target)
    dense = hidden.size <= LARGEST_DENSE
    names = [level.name for level in question.levels]
    test, free, further_notes = _free(hidden, question, found, target)
    tested = notes.UNTESTED_CHOICE if test is None else notes.TESTED_CHOICE
    return Shares(
        shares=found.shares,
        standard_error=standard_errors(evidence.covariance()) if dense else np.full(hidden.size, np.nan),
        rare=hidden.rare(found.shares, found.levels),
        method=words,
        assumptions=notes.assume(target, tested, *notes.given_mix(names, hidden.mix), *further),
        notes=(
            *notes.levels_disagree(test, "precision"),
            *notes.mix_contradicted(hidden.mix),
            *first,
            *_level_notes(hidden, found.levels),
            *further_notes,
        ),
        manipulation=by_moments.manipulation,
        homogeneity=test,
        assumption_free=free,
        fit=None if joint is None else joint.fit,
        evidence=evidence,
        **_about(hidden, question, found.levels, target),
    )


def _about(hidden: HiddenReports, question: Choice, shares: FloatArray, target: str) -> dict[str, Any]:
    """Return what shares with hidden levels say whatever the method."""
    levels = zip(question.levels, question.channels, shares.tolist(), strict=True)
    return {
        "question": question.name,
        "text": question.text,
        "values": question.values,
        "reports": hidden.reports,
        "target": target,
        "levels": tuple(
            LevelShare(level.name, own.mechanism, question.answer_epsilon(level.name), share)
            for level, own, share in levels
        ),
    }


def _free(
    hidden: HiddenReports, question: Choice, found: Moments | HiddenFit, target: str
) -> tuple[Homogeneity | None, Shares | None, tuple[Note, ...]]:
    """Test whether hidden levels depend on values, and return shares that hold even if they do, where there are any."""
    if hidden.size > LARGEST_DENSE or not all(each.counts.has_cells for each in hidden.groups):
        return None, None, ()
    # A mix that was given may be wrong; the test must not blame that on levels that depend on values.
    levels = found.levels if hidden.mix.bounds.nothing else hidden.mix.unbiased
    kind = ItemDependence if hidden.channels[0].per_value else Dependence
    free = kind.of(hidden, found.shares, levels)
    if free is None:
        return None, None, (notes.no_free_shares(np.inf),)
    test, evidence = free.test(), Free(free, target)
    worst = float(free.standard_error.max())
    if not worst <= LARGEST_ERROR:
        return test, None, (*notes.weak_test(test), notes.no_free_shares(worst))
    shares = Shares(
        shares=free.shares,
        standard_error=evidence.standard_error(),
        method="least squares, hidden levels and values free to depend on each other",
        assumptions=notes.assume(
            target, notes.FREE_CHOICE, *(() if hidden.mix.bounds.nothing else (notes.MIX_NOT_USED,))
        ),
        notes=notes.levels_disagree(test, "free"),
        manipulation=free.manipulation,
        homogeneity=test,
        evidence=evidence,
        **_about(hidden, question, free.levels, target),
    )
    return test, shares, notes.weak_test(test)


@dataclass(frozen=True, eq=False)
class _Hidden(Evidence):
    """Reports with hidden levels: shares with their covariance, and the joint fit if there is one already."""

    hidden: HiddenReports
    found: Moments | HiddenFit
    target: str

    def covariance(self) -> FloatArray:
        if self.target == "population":
            return self.found.covariance
        return self.found.covariance - pooling.sampling_covariance(self.found.shares, self.hidden.reports)

    def likely_shares(self) -> FloatArray:
        return self._joint.shares

    def shrunk_shares(self, shares: FloatArray, covariance: FloatArray) -> FloatArray:
        del shares, covariance
        return self._joint.shrunk

    @property
    def _joint(self) -> HiddenFit:
        return self.found if isinstance(self.found, HiddenFit) else joint_likelihood(self.hidden)


def _level_notes(hidden: HiddenReports, levels: FloatArray) -> tuple[Note, ...]:
    """Say so where reports are few, or labels barely tell how people chose: then the scale of all shares is unsure."""
    if hidden.size > LARGEST_DENSE:
        return (notes.NO_ERRORS,)
    by_chance = hidden.reports * np.min([form.chance_support() for form in hidden.arrays], axis=0)
    if np.where(by_chance > 0, by_chance, hidden.support()).min() < pooling.ENOUGH_SUPPORT:
        return (notes.ROUGH_ERRORS,)
    slopes = hidden.law.slope  # the scale of each share is their mean over the levels
    spread = np.sqrt(np.einsum("ix,ij,jx->x", slopes, hidden.mix.covariance, slopes))
    if bool((spread > 0.5 * np.clip(levels, 0, 1) @ slopes).any()):
        return (notes.LABELS_SAY_LITTLE,)
    return ()
