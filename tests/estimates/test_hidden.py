"""Hidden levels: the right likelihood, errors of the stated size, and no fit that only pretends to have converged."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from helpers.claims import mean_is, runs
from helpers.samples import hidden_counts, label_reports
from pldp import tally
from pldp.errors import EstimateError
from pldp.estimates import frequencies, norm_sub
from pldp.estimates.likelihood.solver import label_mixture
from pldp.estimates.linear.pooling import decode
from pldp.mechanisms import Bits, Channel, RandomizedResponse, family, hideable, micro_epsilon, names
from pldp.papers.groups import HiddenReports, joint_likelihood, moments
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads
from pldp.tallies import OutputCounts, Tally

LABELS = names("labels")
FRACTIONS = (0.5, 0.5, 0.75, 1, 1)  #: of the level's ε, where a mechanism takes a budget per value
SHARES = np.array([0.45, 0.2, 0.15, 0.12, 0.08])
LEVELS = np.array([0.4, 0.35, 0.25])
EPSILONS = ("0.5", "1", "2")


@cache
def channels_of(mechanism: str, size: int = 5, epsilons: tuple[str, ...] = EPSILONS) -> list[Channel]:
    own = family(mechanism).per_value
    budgets = [micro_epsilon(epsilon) for epsilon in epsilons]
    each = [tuple(int(micro * part) for part in FRACTIONS[:size]) for micro in budgets] if own else budgets
    return list(next(hideable(mechanism, size, each, per_value=own)))


def sample(
    mechanism: str, people: int, seed: int, *, label: str = "1", really: tuple[str, ...] = EPSILONS
) -> HiddenReports:
    used, label_channel = channels_of(mechanism, epsilons=really), RandomizedResponse.of(3, micro_epsilon(label))
    counts = hidden_counts(used, label_channel, SHARES, LEVELS, people, np.random.default_rng(seed))
    return HiddenReports.of(channels_of(mechanism), label_channel, counts)


@pytest.mark.parametrize("mechanism", LABELS)
def test_the_likelihood_is_that_of_label_and_output(mechanism: str) -> None:
    """It differs between points as Σ log Σ_i ρ_i G(s|i) Σ_j f_j Q_i(z|j) does, enumerated."""
    hidden = sample(mechanism, 60, 1)
    model = label_mixture(hidden.label_reports)
    generator = np.random.default_rng(2)

    def plain(shares: np.ndarray, levels: np.ndarray) -> float:
        total = 0.0
        for shown, group in enumerate(hidden.groups):
            if isinstance(group.channel.form, Bits):
                outputs = [bytes(row) for row in group.packed_rows()]
            else:
                outputs = np.repeat(np.arange(len(group.cells)), group.cells.astype(int)).tolist()
            for output in outputs:
                total += np.log(
                    sum(
                        levels[i]
                        * hidden.mix.matrix[shown, i]
                        * sum(shares[j] * float(each.probability(output, j)) for j in range(5))
                        for i, each in enumerate(hidden.channels)
                    )
                )
        return total

    points = [(generator.dirichlet(np.ones(5)), generator.dirichlet(np.ones(3))) for _ in range(3)]
    found = [-model.objective(np.concatenate(point)) * model.reports for point in points]
    right = [plain(*point) for point in points]
    assert np.allclose(np.diff(found), np.diff(right), rtol=1e-9)


@pytest.mark.parametrize("mechanism", LABELS)
def test_scores_and_hessian_are_the_derivatives(mechanism: str) -> None:
    model = label_mixture(sample(mechanism, 500, 1).label_reports)
    point = np.concatenate([SHARES, LEVELS])
    steps = np.eye(len(point)) * 1e-6
    slope = [(model.objective(point + step) - model.objective(point - step)) / 2e-6 for step in steps]
    assert np.allclose(model.scores(point), -np.array(slope), atol=1e-6)
    bend = [-(model.scores(point + step) - model.scores(point - step)) / 2e-6 for step in steps]
    assert np.allclose(model.hessian(point), bend, atol=1e-5)
    gauss_newton = model.outer(point, model.weights, model.cells(point))
    vector = np.random.default_rng(3).normal(size=len(point))
    assert np.allclose(model.curvature(point)(vector), gauss_newton @ vector)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # older SciPy says so of its own steps
@pytest.mark.parametrize("mechanism", LABELS)
def test_the_joint_fit_is_a_maximum(mechanism: str) -> None:
    hidden = sample(mechanism, 3000, 4)
    found = joint_likelihood(hidden)
    assert found.fit.converged
    assert found.fit.gap <= 1e-8
    assert found.starts_agree
    model = label_mixture(hidden.label_reports)
    best = -found.fit.log_likelihood / model.reports
    for seed in range(3):
        generator = np.random.default_rng(seed)
        start = np.concatenate([generator.dirichlet(np.ones(5)), generator.dirichlet(np.ones(3))])
        constraints = [{"type": "eq", "fun": lambda x, b=block: x[b].sum() - 1} for block in model.blocks]
        other = optimize.minimize(
            lambda x: model.objective(np.array(x)), start, bounds=[(1e-12, 1)] * 8, constraints=constraints
        )
        feasible = np.concatenate([norm_sub(other.x[block]) for block in model.blocks])
        assert model.objective(feasible) >= best - 1e-8


def test_the_number_of_people_drops_out_for_krr() -> None:
    """Ten times the same counts is the same fit, with standard errors smaller by √10."""
    hidden = sample("krr", 4000, 5)
    counts = [OutputCounts(10 * group.cells.astype(np.int64)) for group in hidden.groups]
    tenfold = HiddenReports.of(hidden.channels, RandomizedResponse.of(3, 10**6), counts)
    one, ten = joint_likelihood(hidden), joint_likelihood(tenfold)
    assert np.allclose(one.fit.shares, ten.fit.shares, atol=1e-6)
    assert np.allclose(one.covariance, 10 * ten.covariance, rtol=1e-3)


def errors(mechanism: str, repeats: int, people: int = 12_000, **options) -> dict[Any, np.ndarray]:
    """Standardised errors of all estimators, runs × values."""
    found: dict[Any, list] = {"moments": [], "joint": [], 0: [], None: []}
    for seed in range(repeats):
        hidden = sample(mechanism, people, seed, **options)
        by_moments, joint = moments(hidden), joint_likelihood(hidden, starts=1)
        reports = label_reports(hidden.channels, [each.counts for each in hidden.groups], hidden.mix.matrix)
        for differ in (0, None):
            decoded = decode(reports.evidence, differ)
            found[differ].append((decoded.estimates - SHARES) / np.sqrt(decoded.variance()))
        found["moments"].append((by_moments.shares - SHARES) / np.sqrt(np.diag(by_moments.covariance)))
        found["joint"].append((joint.fit.shares - SHARES) / np.sqrt(np.diag(joint.covariance)))
    return {name: np.array(each) for name, each in found.items()}


SAMPLED = LABELS if runs(0, 1) else ("krr", "oue", "subset", "lh", "iprr")
"""Of the mechanisms whose errors are sampled, one for each form of output and one with a budget per value."""


@pytest.mark.parametrize("mechanism", SAMPLED)
def test_standard_errors_have_the_stated_size_and_cover(mechanism: str) -> None:
    for standardised in errors(mechanism, runs(40, 2000)).values():
        assert mean_is((standardised**2).mean(axis=1), 1.0)
        assert mean_is((np.abs(standardised) < stats.norm.ppf(0.975)).mean(axis=1), 0.95)


@pytest.mark.parametrize("mechanism", [name for name in SAMPLED if not family(name).per_value])
def test_the_test_rejects_a_five_percent_weaker_channel(mechanism: str) -> None:
    weaker = ("0.475", "0.95", "1.9")
    for standardised in errors(mechanism, 25, people=1_500_000, really=weaker).values():
        assert not mean_is((standardised**2).mean(axis=1), 1.0)


HIDING = """
pldp = 1
title = "t"
hide_level = { epsilon = 0.8 }
[levels]
a = 0.5
b = 1
c = 2
[[questions]]
name = "q"
values = ["1", "2", "3", "4", "5"]
mechanism = "%s"
"""


def collect(mechanism: str, people: int, *, label: str = "0.8", **options) -> Tally:
    survey = loads(HIDING.replace("0.8", label) % mechanism)
    asked = Population.of_shares(survey, people, {"q": SHARES}, seed=3, **options)
    return tally(survey, simulate_reports(survey, asked, seed=3))


@pytest.mark.parametrize("mechanism", ["auto", *names("labels", per_value=False)])
def test_frequencies_needs_no_paper_names(mechanism: str) -> None:
    result = collect(mechanism, 60_000)
    joint, decoded = (frequencies(result, "q", method=method, differ=0) for method in ("likelihood", None))
    for estimate in (joint, decoded):
        assert (np.abs(estimate.shares - SHARES) <= 5.1 * estimate.standard_error).all()
        assert sum(level.share for level in estimate.levels) == pytest.approx(1)
        assert "does not depend on the value" in " ".join(estimate.assumptions)
        assert estimate.notes == ()
        assert estimate.manipulation > 1
        assert estimate.to_mapping()["levels"][0]["level"] == "a"
        low, high = frequencies(result, "q", method=None, target="respondents").interval()
        assert (low < high).all()
    assert joint.fit.converged
    assert joint.shares.sum() == pytest.approx(1)
    assert decoded.fit is None
    assert np.abs(decoded.consistent() - joint.shares).max() < 1.5 * joint.standard_error.max()
    for estimate in (joint, decoded):
        assert np.allclose(np.sqrt(np.diag(estimate.covariance)), estimate.standard_error)
    free = frequencies(result, "q")
    np.testing.assert_array_equal(free.alike.shares, decoded.shares)
    np.testing.assert_array_equal(free.alike.standard_error, decoded.standard_error)


def test_an_unconverged_fit_says_so_first() -> None:
    estimate = frequencies(collect("krr", 2000), "q", method="likelihood", differ=0, gap=-1.0)
    assert not estimate.fit.converged
    assert estimate.notes[0].code == "no-convergence"


def test_all_people_of_one_level_are_handled() -> None:
    estimate = frequencies(collect("krr", 60_000, level_mix={"c": 1}), "q")
    assert estimate.levels[2].share > 0.8
    assert (np.abs(estimate.shares - SHARES) <= 5.1 * estimate.standard_error).all()


def test_few_reports_are_estimated_with_a_warning() -> None:
    estimate = frequencies(collect("krr", 12), "q")
    assert estimate.notes[0].code == "few-reports"
    estimate = frequencies(collect("krr", 400, label="0.02"), "q", differ=0)
    assert estimate.notes[0].code == "labels-say-little"
    assert np.isfinite(estimate.standard_error).all()


def test_an_impossible_mix_of_levels_is_projected_and_said() -> None:
    """All labels of the strictest level: ρ̂ leaves the simplex so far that the unbiased scale is not positive."""
    channels = channels_of("krr", epsilons=("0.1", "1", "4"))
    label_channel = RandomizedResponse.of(3, 300_000)
    counts = [OutputCounts(np.array([5, 4, 3, 2, 1])), *(OutputCounts(np.zeros(5, np.int64)),) * 2]
    found = moments(HiddenReports.of(channels, label_channel, counts))
    assert found.projected_levels
    assert np.isfinite(found.shares).all()


@pytest.mark.parametrize("mechanism", ["iprr", "subset_items"])
def test_an_open_value_that_nobody_reports_ends_the_fit_at_once_and_has_an_error(mechanism: str) -> None:
    """Noise never names it, so that its share has no curvature: it must not push a level out of the mix."""
    budgets = [(micro // 2, micro, micro, inf) for micro in (10**6, 2 * 10**6)]
    channels = list(next(hideable(mechanism, 4, budgets, per_value=True)))
    label, shares = RandomizedResponse.of(2, 10**6), np.array([0.5, 0.3, 0.2, 0.0])
    hidden = HiddenReports.of(
        channels, label, hidden_counts(channels, label, shares, [0.5, 0.5], 20_000, np.random.default_rng(1))
    )
    fit, by_moments = joint_likelihood(hidden), moments(hidden)
    assert fit.fit.converged
    assert fit.fit.steps < 30
    assert fit.shares[3] < 1e-6
    evidence = label_reports(channels, [each.counts for each in hidden.groups], hidden.mix.matrix).evidence
    pairs = [(each.shares, np.diag(each.covariance)) for each in (fit, by_moments)]
    pairs += [(each.estimates, each.variance()) for each in (decode(evidence), decode(evidence, None))]
    for found, variance in pairs:
        assert (variance > 0).all()
        assert (np.abs(found - shares) < 5.1 * np.sqrt(variance)).all()


def test_no_reports_get_one_clear_line() -> None:
    with pytest.raises(EstimateError, match="has no reports"):
        frequencies(Tally.empty(loads(HIDING % "krr"), patterns=True), "q")
    with pytest.raises(EstimateError, match="as the levels are"):
        HiddenReports.of(channels_of("krr"), RandomizedResponse.of(2, 10**6), [])
