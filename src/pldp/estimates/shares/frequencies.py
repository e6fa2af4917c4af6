"""From a tally to shares with errors: the verb that analysts use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.assumptions import BY_SIZE, HONEST_DEVICES, INTERIOR, SAME_SHARES, about_people
from pldp.estimates.groups import LARGEST_DENSE, FloatArray, Group, group
from pldp.estimates.shares.estimate import Estimate, GroupShares, Homogeneity, standard_errors
from pldp.estimates.shares.hidden_frequencies import hidden_frequencies
from pldp.estimates.shares.pooling import (
    TEST_LEVEL,
    has_enough_support,
    homogeneity_test,
    pooled_shares,
    precision_weights,
    sampling_covariance,
    sampling_variance,
    size_weights,
)
from pldp.estimates.shares.shrinkage import shrink_fit
from pldp.estimates.solver.likelihood import GAP, Fit, FitProgress, maximum_likelihood
from pldp.survey import Question
from pldp.tallies import Tally

Pool = Literal["precision", "size"]
Target = Literal["population", "respondents"]
Method = Literal["unbiased", "likelihood"]
Named = Sequence[tuple[str, Group]]


def frequencies(
    tally: Tally,
    question: str,
    *,
    method: Method | None = None,
    pool: Pool = "precision",
    target: Target = "population",
    gap: float = GAP,
    progress: FitProgress | None = None,
) -> Estimate:
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
    asked = tally.survey.question(question)
    if asked.kind != "choice":
        raise EstimateError(f"question {question!r} must be a choice of one label to have shares, not {asked.kind}")
    if pool == "size" and (method == "likelihood" or (method is None and tally.survey.level_channel is not None)):
        raise EstimateError("pool must be precision for a likelihood, which cannot pool by size")
    _one_of("method", method or "unbiased", ("unbiased", "likelihood"))
    _one_of("pool", pool, ("precision", "size"))
    _one_of("target", target, ("population", "respondents"))
    if tally.survey.level_channel is not None:
        return hidden_frequencies(tally, asked, method or "likelihood", target, gap=gap, progress=progress)
    named = _named_groups(tally, asked)
    groups = [each for _, each in named]
    if not groups:
        raise EstimateError(f"question {question!r} has no reports, so there is nothing to estimate")
    likelihood = _likelihood(groups, gap, progress)
    if method != "likelihood":
        return _unbiased(asked, named, pool, target, likelihood)
    return _fitted(asked, named, likelihood, target)


def _one_of(argument: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise EstimateError(f"{argument} must be one of {', '.join(known)}, not {given!r}")


def _named_groups(tally: Tally, question: Question) -> list[tuple[str, Group]]:
    """Pair each level's channel with its counts, without levels that nobody chose."""
    pairs = zip(question.levels, question.channels, strict=True)
    groups = [(level.name, group(channel, tally.counts[question.name, level.name])) for level, channel in pairs]
    return [(name, each) for name, each in groups if each.reports]


def _likelihood(groups: Sequence[Group], gap: float, progress: FitProgress | None) -> Callable[[], Fit]:
    return lambda: maximum_likelihood(groups, gap=gap, progress=progress)


def _unbiased(
    question: Question,
    named: Named,
    pool: Pool,
    target: Target,
    likelihood: Callable[[], Fit],
) -> Estimate:
    groups = [each for _, each in named]
    reports = sum(each.reports for each in groups)
    by_size = size_weights(groups)
    weights = precision_weights(groups) if pool == "precision" else by_size
    test = homogeneity_test(groups)
    shares = pooled_shares(groups, weights)
    variance, covariance = _errors(groups, weights, shares, pool, target)
    beside = None
    if test is not None and test.rejected and pool == "precision":
        beside = _unbiased(question, named, "size", target, likelihood)
    return Estimate(
        question=question.name,
        values=question.values,
        shares=shares,
        standard_error=np.sqrt(variance),
        reports=reports,
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
        warnings=_warnings(named, test, pool),
        by_size=beside,
        _covariance=covariance,
        _likelihood=likelihood,
    )


def _errors(
    groups: Sequence[Group], weights: FloatArray, shares: FloatArray, pool: Pool, target: Target
) -> tuple[FloatArray, Callable[[], FloatArray]]:
    """Return the variance of the pooled shares and a function for their covariance.

    For a random sample of people the variance is Σ w_g² V_g. For the respondents themselves the part that comes from
    drawing people goes away: f(1−f)/n in all if levels are chosen independently of the value (pool by precision), and
    w_g² f_g(1−f_g)/n_g of each group otherwise.
    """
    reports = sum(each.reports for each in groups)
    at = [shares if pool == "precision" else each.shares() for each in groups]
    parts = list(zip(groups, weights, at, strict=True))
    variance = np.sum([weight**2 * each.variance(own) for each, weight, own in parts], axis=0)
    if target == "respondents" and pool == "precision":
        variance = variance - sampling_variance(shares, reports)
    elif target == "respondents":
        variance = variance - np.sum(
            [weight**2 * sampling_variance(own, each.reports) for each, weight, own in parts], axis=0
        )

    def covariance() -> FloatArray:
        total = np.sum([weight**2 * each.covariance(own) for each, weight, own in parts], axis=0)
        if target == "respondents" and pool == "precision":
            return np.asarray(total - sampling_covariance(shares, reports))
        if target == "respondents":
            sampled = [weight**2 * sampling_covariance(own, each.reports) for each, weight, own in parts]
            return np.asarray(total - np.sum(sampled, axis=0))
        return np.asarray(total)

    return np.maximum(variance, 0.0), covariance


def _fitted(question: Question, named: Named, likelihood: Callable[[], Fit], target: Target) -> Estimate:
    fit = likelihood()
    groups = [each for _, each in named]
    reports = sum(each.reports for each in groups)
    test = homogeneity_test(groups)
    warnings = _warnings(named, test, "precision")
    if not fit.converged:
        warnings = (f"the fit did not converge: gap {fit.gap:.1e} after {fit.steps} steps", *warnings)
    known = _information(groups, fit.shares)
    covariance = None if known is None else _along_the_simplex(known)
    if covariance is not None and target == "respondents":
        covariance = covariance - sampling_covariance(fit.shares, reports)
    if covariance is None:
        warnings = (*warnings, f"no standard errors: more than {LARGEST_DENSE:,} values")
    return Estimate(
        question=question.name,
        values=question.values,
        shares=fit.shares,
        standard_error=np.full(len(question.values), np.nan) if covariance is None else standard_errors(covariance),
        reports=reports,
        method="maximum likelihood",
        target=target,
        groups=_group_shares(named, precision_weights(groups)),
        manipulation=_manipulation(named, precision_weights(groups)),
        homogeneity=test,
        assumptions=(about_people(target), SAME_SHARES, HONEST_DEVICES, INTERIOR),
        warnings=warnings,
        by_size=_unbiased(question, named, "size", target, likelihood) if test is not None and test.rejected else None,
        fit=fit,
        _covariance=None if covariance is None else lambda: covariance,
        _shrunk=None if known is None else lambda: shrink_fit(fit, known),
    )


def _information(groups: Sequence[Group], shares: FloatArray) -> FloatArray | None:
    """Return the observed information, or `None` where it would be too large."""
    if len(shares) > LARGEST_DENSE:
        return None
    return np.asarray(np.sum([each.information(shares) for each in groups], axis=0))


def _along_the_simplex(information: FloatArray) -> FloatArray:
    """Return the inverse of the information along the simplex."""
    inverse = np.linalg.pinv(information, hermitian=True)
    along = inverse.sum(axis=1)
    return np.asarray(inverse - np.outer(along, along) / along.sum())


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


def _warnings(named: Named, test: Homogeneity | None, pool: str) -> tuple[str, ...]:
    warnings = []
    if test is not None and test.rejected:
        advice = "use the shares pooled by size" if pool == "precision" else "the shares are pooled by size"
        warnings.append(
            f"people of different levels answer differently (p = {test.p_value:.2g} < {TEST_LEVEL}): {advice}"
        )
    few = [name for name, each in named if not has_enough_support(each)]
    if few:
        warnings.append(f"too few reports for a normal approximation at level {', '.join(few)}: its errors are rough")
    return tuple(warnings)
