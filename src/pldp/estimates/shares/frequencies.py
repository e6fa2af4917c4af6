"""From a tally to shares with errors: the verb that analysts use."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.assumptions import BY_SIZE, HONEST_DEVICES, INTERIOR, SAME_SHARES, about_people
from pldp.estimates.groups import LARGEST_DENSE, FloatArray, Group, group
from pldp.estimates.notes import few_reports, levels_disagree, no_convergence, no_standard_errors
from pldp.estimates.options import POOLS, SHARE_METHODS, TARGETS, Pool, ShareMethod, Target, one_of
from pldp.estimates.result import Homogeneity, Note
from pldp.estimates.shares.hidden_frequencies import hidden_frequencies
from pldp.estimates.shares.pooled import Fitted, Pooled
from pldp.estimates.shares.pooling import has_enough_support, homogeneity_test, precision_weights, size_weights
from pldp.estimates.shares.shares import GroupShares, Shares, standard_errors
from pldp.estimates.solver.likelihood import GAP, FitProgress, maximum_likelihood
from pldp.survey import Choice
from pldp.tallies import Tally

Named = Sequence[tuple[str, Group]]


def frequencies(
    tally: Tally,
    question: str,
    *,
    method: ShareMethod | None = None,
    pool: Pool = "precision",
    target: Target = "population",
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
        `unbiased` inverts each level's channel and pools the levels; `likelihood` fits all reports at once (shares at
        least 0 that sum to 1; unary reports must be tallied with `patterns`). Default: `unbiased`, but `likelihood`
        where the survey hides levels, as inverting labels costs much accuracy.
    pool
        `precision` weights levels by inverse variance; it assumes that the choice of a level does not depend on the
        value, and the result says so first if the levels contradict that. `size` weights by the number of reports and
        needs no such assumption.
    target
        `population`: errors include that the respondents are a random sample. `respondents`: shares of exactly the
        people who reported.
    gap
        Tolerance of the likelihood fit, see `pldp.estimates.solver.likelihood`.
    progress
        Called with steps and gap of a likelihood fit.

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
    hidden = tally.survey.level_channel is not None
    if pool == "size" and (method == "likelihood" or hidden):
        reason = "where levels are hidden, as reports do not show them" if hidden else "for a likelihood"
        raise EstimateError(f"pool must be precision {reason}: groups of one level cannot be weighted by their size")
    one_of("method", method or "unbiased", SHARE_METHODS)
    one_of("pool", pool, POOLS)
    one_of("target", target, TARGETS)
    if hidden:
        return hidden_frequencies(tally, asked, method or "likelihood", target, gap=gap, progress=progress)
    named = _named_groups(tally, asked)
    if not named:
        raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
    if method == "likelihood":
        return _fitted(asked, named, target, gap, progress)
    return _unbiased(asked, named, pool, target, gap)


def _named_groups(tally: Tally, question: Choice) -> list[tuple[str, Group]]:
    """Pair each level's channel with its counts, without levels that nobody chose."""
    pairs = zip(question.levels, question.channels, strict=True)
    groups = [(level.name, group(channel, tally.counts[question.name, level.name])) for level, channel in pairs]
    return [(name, each) for name, each in groups if each.reports]


def _unbiased(question: Choice, named: Named, pool: Pool, target: Target, gap: float) -> Shares:
    groups = tuple(each for _, each in named)
    weights = precision_weights(groups) if pool == "precision" else size_weights(groups)
    test = homogeneity_test(groups)
    pooled = Pooled(groups, weights, pool, target, gap)
    beside = None
    if test is not None and test.rejected and pool == "precision":
        beside = _unbiased(question, named, "size", target, gap)
    return Shares(
        question=question.name,
        text=question.text,
        values=question.values,
        shares=pooled.shares,
        standard_error=np.sqrt(pooled.variance()),
        reports=pooled.reports,
        method=f"unbiased, pooled by {pool}",
        target=target,
        groups=_group_shares(named, weights),
        manipulation=_manipulation(named, weights),
        homogeneity=test,
        assumptions=(
            about_people(target),
            SAME_SHARES if pool == "precision" and len(groups) > 1 else BY_SIZE,
            HONEST_DEVICES,
        ),
        notes=_notes(named, test, pool),
        by_size=beside,
        evidence=pooled,
    )


def _fitted(question: Choice, named: Named, target: Target, gap: float, progress: FitProgress | None) -> Shares:
    groups = [each for _, each in named]
    fit = maximum_likelihood(groups, gap=gap, progress=progress)
    reports = sum(each.reports for each in groups)
    weights = precision_weights(groups)
    test = homogeneity_test(groups)
    notes = _notes(named, test, "precision")
    if not fit.converged:
        notes = (no_convergence(fit.gap, fit.steps), *notes)
    evidence = Fitted(fit, reports, target, _information(groups, fit.shares))
    if evidence.information is None:
        error = np.full(len(question.values), np.nan)
        notes = (*notes, no_standard_errors(LARGEST_DENSE))
    else:
        error = standard_errors(evidence.covariance())
    return Shares(
        question=question.name,
        text=question.text,
        values=question.values,
        shares=fit.shares,
        standard_error=error,
        reports=reports,
        method="maximum likelihood",
        target=target,
        groups=_group_shares(named, weights),
        manipulation=_manipulation(named, weights),
        homogeneity=test,
        assumptions=(about_people(target), SAME_SHARES, HONEST_DEVICES, INTERIOR),
        notes=notes,
        by_size=_unbiased(question, named, "size", target, gap) if test is not None and test.rejected else None,
        fit=fit,
        evidence=evidence,
    )


def _information(groups: Sequence[Group], shares: FloatArray) -> FloatArray | None:
    """Return the information of the shares, or `None` where it would be too large."""
    if len(shares) > LARGEST_DENSE:
        return None
    return np.asarray(np.sum([each.information(shares) for each in groups], axis=0))


def _group_shares(named: Named, weights: FloatArray) -> tuple[GroupShares, ...]:
    return tuple(
        GroupShares(
            level=name,
            mechanism=each.channel.mechanism,
            epsilon=each.channel.epsilon,
            reports=each.reports,
            weight=float(weight),
            shares=each.shares(),
            standard_error=np.sqrt(each.variance(each.shares())),
            manipulation=each.channel.manipulation,
        )
        for (name, each), weight in zip(named, weights, strict=True)
    )


def _manipulation(named: Named, weights: FloatArray) -> float:
    """People that one forged report counts as, at the level where it does most harm."""
    reports = sum(each.reports for _, each in named)
    pairs = zip(named, weights, strict=True)
    return max(float(weight) * reports / each.reports * each.channel.manipulation for (_, each), weight in pairs)


def _notes(named: Named, test: Homogeneity | None, pool: str) -> tuple[Note, ...]:
    few = [name for name, each in named if not has_enough_support(each)]
    return (*levels_disagree(test, pool), *few_reports(few))
