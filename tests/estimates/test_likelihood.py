"""Maximum likelihood: certified, never worse than least squares, and as good as any unbiased estimate can be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from helpers.claims import mean_is, mean_is_at_most, runs
from helpers.samples import sample, zipf
from pldp import tally
from pldp.errors import EstimateError
from pldp.estimates import Fit, frequencies, norm_sub
from pldp.estimates.likelihood.mixture import minus_log
from pldp.estimates.likelihood.solver import label_mixture, maximise
from pldp.mechanisms import build, micro_epsilon, names
from pldp.papers.groups import Group, group, maximum_likelihood, pooled_shares, precision_weights, shown
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads
from pldp.tallies import OutputCounts, Tally

MIXES = {
    **{name: [(name, "0.5", 3000), (name, "1", 3000), (name, "2", 3000)] for name in names("labels", per_value=False)},
    "mixed": [("sue", "0.5", 3000), ("lh", "1", 3000), ("krr", "2", 3000)],
}

SAMPLED = MIXES if runs(0, 1) else ("krr", "oue", "subset", "lh", "mixed")
"""Whose errors are sampled: one for each form of output, and a mix of them; the long form has them all."""


@pytest.mark.parametrize("mix", MIXES)
def test_the_fit_is_the_maximum(mix: str) -> None:
    """A general-purpose optimiser started from the fit and from elsewhere finds nothing better than the gap allows."""
    groups = sample(MIXES[mix], zipf(7, 2), np.random.default_rng(1), patterns=True)
    fit = maximum_likelihood(groups)
    assert fit.converged
    assert fit.gap <= 1e-8
    assert fit.shares.min() >= 0
    assert fit.shares.sum() == pytest.approx(1)
    reports = sum(each.reports for each in groups)

    def loss(shares: np.ndarray) -> float:
        return sum(minus_log(each.cells, each.forward(shares)) for each in groups) / reports

    assert fit.log_likelihood / reports == pytest.approx(-loss(fit.shares))
    for start in (fit.shares, np.full(7, 1 / 7)):
        other = optimize.minimize(
            loss, start, bounds=[(0, 1)] * 7, constraints={"type": "eq", "fun": lambda f: f.sum() - 1}, method="SLSQP"
        )
        feasible = norm_sub(other.x)
        assert loss(feasible) >= loss(fit.shares) - fit.gap - 1e-12


def stopped(groups: list[Group], steps: int) -> Fit:
    return maximise(label_mixture(shown(groups)), np.full(20, 1 / 20), most_steps=steps)


def test_the_gap_bounds_what_is_left_to_gain() -> None:
    groups = sample(MIXES["lh"], zipf(20), np.random.default_rng(1))
    best = maximum_likelihood(groups, gap=1e-13)
    reports = sum(each.reports for each in groups)
    for steps in range(4):
        early = stopped(groups, steps)
        left = (best.log_likelihood - early.log_likelihood) / reports
        assert -1e-12 <= left <= early.gap
    assert not stopped(groups, 0).converged


@pytest.mark.parametrize("size", [1024])
@pytest.mark.parametrize("mechanism", ["krr", "lh"])
def test_ten_groups_of_a_thousand_values_converge_in_few_steps(mechanism: str, size: int) -> None:
    specs = [(mechanism, f"{epsilon:.2f}", 10_000) for epsilon in np.linspace(0.2, 2, 10)]
    fit = maximum_likelihood(sample(specs, zipf(size), np.random.default_rng(1)), gap=1e-8)
    assert fit.converged
    assert fit.steps <= 20


@pytest.mark.parametrize("mix", SAMPLED)
def test_likelihood_is_never_worse_than_least_squares(mix: str) -> None:
    """Paired over runs, on falling shares with many near 0, where the difference matters most."""
    truth, differences = zipf(24, 1.5), []
    for seed in range(runs(30, 600)):
        groups = sample(MIXES[mix], truth, np.random.default_rng(seed), patterns=True)
        fitted = maximum_likelihood(groups).shares
        projected = norm_sub(pooled_shares(groups, precision_weights(groups)))
        differences.append(((fitted - truth) ** 2).sum() - ((projected - truth) ** 2).sum())
    assert mean_is_at_most(differences, 0.0)


def expected_information(mechanism: str, epsilon: str, people: int, shares: np.ndarray) -> np.ndarray:
    tested = build(mechanism, len(shares), micro_epsilon(epsilon))
    table = np.array([[float(tested.probability(y, x)) for x in range(len(shares))] for y in tested.outputs()])
    return people * (table / (table @ shares)[:, None]).T @ table


@pytest.mark.parametrize("mix", SAMPLED)
def test_likelihood_reaches_the_cramer_rao_bound_inside_the_simplex(mix: str) -> None:
    truth = np.array([0.26, 0.22, 0.2, 0.17, 0.15])
    specs = [(mechanism, epsilon, 10_000) for mechanism, epsilon, _ in MIXES[mix]]
    information = sum(expected_information(*spec, truth) for spec in specs)
    inverse = np.linalg.inv(information)
    along = inverse.sum(axis=1)
    bound = np.trace(inverse - np.outer(along, along) / along.sum())
    found = []
    for seed in range(runs(120, 4000)):
        groups = sample(specs, truth, np.random.default_rng(seed), patterns=True)
        found.append(((maximum_likelihood(groups).shares - truth) ** 2).sum() / bound)
    assert mean_is_at_most(found, 1.05)
    assert mean_is(found, 1.0)


def test_the_bound_is_not_reached_with_a_five_percent_weaker_channel() -> None:
    truth = np.array([0.7, 0.12, 0.08, 0.06, 0.04])
    specs = [("krr", "1", 100_000)]
    information = expected_information(*specs[0], truth)
    inverse = np.linalg.inv(information)
    along = inverse.sum(axis=1)
    bound = np.trace(inverse - np.outer(along, along) / along.sum())
    found = []
    for seed in range(60):
        groups = sample(specs, truth, np.random.default_rng(seed), really=[("krr", "0.95", 100_000)])
        found.append(((maximum_likelihood(groups).shares - truth) ** 2).sum() / bound)
    assert not mean_is_at_most(found, 1.05)


SURVEY = loads(
    'pldp=1\ntitle="t"\nlevels={a=0.7,b=1.5}\n'
    'questions=[{name="q",values=["1","2","3","4","5"],mechanism={a="oue",b="krr"}}]'
)


def test_standard_errors_of_the_fit_have_the_stated_size() -> None:
    truth, found = np.array([0.3, 0.25, 0.2, 0.15, 0.1]), []
    for seed in range(runs(60, 2000)):
        people = Population.of_shares(SURVEY, 8000, {"q": truth}, seed=seed)
        counted = tally(SURVEY, simulate_reports(SURVEY, people, seed=seed), patterns=True)
        estimate = frequencies(counted, "q", method="likelihood", differ=0)
        found.append(np.mean(((estimate.shares - truth) / estimate.standard_error) ** 2))
    assert mean_is(found, 1.0)


def test_a_fit_that_was_stopped_says_so_first() -> None:
    people = Population.of_shares(SURVEY, 500, seed=1)
    counted = tally(SURVEY, simulate_reports(SURVEY, people, seed=1), patterns=True)
    estimate = frequencies(counted, "q", method="likelihood", differ=0, gap=-1.0)  # no gap is negative
    assert not estimate.fit.converged
    assert estimate.notes[0].code == "no-convergence"
    assert np.allclose(estimate.consistent(), estimate.shares)


def test_rows_that_were_not_kept_are_asked_for() -> None:
    people = Population.of_shares(SURVEY, 500, seed=1)
    counted = tally(SURVEY, simulate_reports(SURVEY, people, seed=1))
    with pytest.raises(EstimateError, match="tally them with patterns"):
        frequencies(counted, "q", method="likelihood", differ=0)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([600, 300, 0], "5"), ([60, 30, 0, 0], "2"), ([1, 0, 0], "1"), ([5000, 0, 0, 0, 0, 1], "10")],
)
def test_outputs_that_never_came_are_neither_stalled_on_nor_taken_for_certain(counts: list, epsilon: str) -> None:
    labels = [str(number) for number in range(len(counts))]
    survey = loads(
        f'pldp=1\ntitle="t"\nlevels={{a={epsilon}}}\nquestions=[{{name="q",values={labels},mechanism="krr"}}]'
    )
    counted = Tally(survey, {("q", "a"): OutputCounts(np.array(counts))}, sum(counts))
    estimate = frequencies(counted, "q", method="likelihood", differ=0)
    assert estimate.fit.converged
    assert (estimate.standard_error > 0).all()


def test_a_likelihood_is_refused_where_levels_may_differ() -> None:
    people = Population.of_shares(SURVEY, 500, seed=1)
    counted = tally(SURVEY, simulate_reports(SURVEY, people, seed=1), patterns=True)
    for differ in (None, 0.05):
        with pytest.raises(EstimateError, match="takes people of all levels to be alike"):
            frequencies(counted, "q", method="likelihood", differ=differ)


def test_no_reports_have_no_likelihood() -> None:
    nobody = group(build("krr", 3, 10**6), OutputCounts(np.zeros(3, np.int64)))
    with pytest.raises(EstimateError, match="at least one report"):
        maximum_likelihood([nobody])
    with pytest.raises(EstimateError, match="without reports"):
        nobody.shares()
