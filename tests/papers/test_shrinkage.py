"""Shrunk shares: the posterior mean, closer to the truth than the fit, no harm where errors point along the shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import mean_is_at_most, runs
from helpers.samples import hidden_counts
from pldp.errors import EstimateError
from pldp.estimates import norm_sub
from pldp.estimates.likelihood.solver import LabelFit, label_mixture
from pldp.mechanisms import RandomizedResponse, build
from pldp.papers import shrinkage
from pldp.papers.groups import (
    HiddenReports,
    group,
    information_given_levels,
    joint_likelihood,
    maximum_likelihood,
    shown,
)
from pldp.papers.shrinkage import shrink, shrink_fit
from pldp.tallies import OutputCounts

ZIPF = 1 / np.arange(1, 41)
ZIPF /= ZIPF.sum()
LEVELS = np.array([0.4, 0.35, 0.25])


def fitted(size: int, people: int, label: int, seed: int, shares: np.ndarray) -> LabelFit:
    """A joint fit of k-RR reports at hidden levels 0.5, 1, 2."""
    channels = [build("krr", size, micro) for micro in (500_000, 1_000_000, 2_000_000)]
    label_channel = RandomizedResponse.of(3, label)
    counts = hidden_counts(channels, label_channel, shares, LEVELS, people, np.random.default_rng(seed))
    return joint_likelihood(HiddenReports.of(channels, label_channel, counts), starts=1)


def squared_error(shares: np.ndarray, truth: np.ndarray) -> float:
    return float(((shares - truth) ** 2).mean())


@pytest.mark.parametrize("shares", [(0.6, 0.3, 0.15, -0.05), (0.95, 0.02, 0.02, 0.01), (0.3, 0.25, 0.25, 0.2)])
def test_it_is_the_posterior_mean(shares: tuple[float, ...]) -> None:
    """By brute force: draws from each Dirichlet prior, weighted by the normal likelihood and the density of α."""
    deviation, generator = 0.1, np.random.default_rng(1)
    covariance = deviation**2 * (np.eye(4) + 0.3)
    precision = np.linalg.inv(covariance)
    total, mass = np.zeros(4), 0.0
    for concentration in 2.0 ** np.arange(8) / 4:
        drawn = generator.dirichlet(np.full(4, concentration), 100_000)
        off = drawn - shares
        likelihood = np.exp(-np.einsum("ij,jk,ik->i", off, precision, off) / 2)
        weight = concentration / (1 + concentration) ** 2
        total += weight * (likelihood @ drawn)
        mass += weight * likelihood.sum()
    found = shrink(shares, covariance)
    assert np.abs(found - total / mass).max() < 0.05 * deviation
    assert np.abs(norm_sub(shares) - total / mass).max() > 0.1 * deviation


def test_without_noise_shares_stay_and_noise_alone_gives_equal_shares() -> None:
    shares = np.array([0.7, 0.2, 0.1, 0.0])
    assert np.allclose(shrink(shares, np.zeros((4, 4))), shares, atol=1e-6)
    assert np.allclose(shrink(shares, 1e-10 * np.eye(4)), shares, atol=1e-4)
    assert np.allclose(shrink(shares, 1e4 * np.eye(4)), 0.25, atol=1e-3)


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.floats(-0.5, 1.5), min_size=2, max_size=8),
    st.floats(1e-6, 100),
    st.randoms(use_true_random=False),
)
def test_they_are_shares_and_do_not_depend_on_the_order(shares: list[float], deviation: float, random) -> None:
    covariance = deviation**2 * np.diag(np.linspace(1, 2, len(shares)))
    found = shrink(shares, covariance)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    order = list(range(len(shares)))
    random.shuffle(order)
    assert np.allclose(shrink(np.array(shares)[order], covariance[np.ix_(order, order)]), found[order], atol=1e-6)


def test_they_are_closer_to_the_truth_than_the_fit() -> None:
    """Twelve equal shares from 5,000 people at levels 0.5, 1, 2: less than half of the squared error of the fit."""
    truth = np.full(12, 1 / 12)
    fits = [fitted(12, 5000, 1_000_000, seed, truth) for seed in range(runs(25, 400))]
    shrunk = np.array([squared_error(shrink_fit(fit.fit, information_given_levels(fit)), truth) for fit in fits])
    plain = np.array([squared_error(fit.fit.shares, truth) for fit in fits])
    assert mean_is_at_most(shrunk - 0.5 * plain, 0.0)
    assert not mean_is_at_most(plain - 2 * shrunk, 0.0)


def test_errors_along_the_shares_do_no_harm() -> None:
    """Weak labels leave the scale of all shares unsure; with that in the covariance, shrinking would do much harm."""
    fits = [fitted(40, 30_000, 100_000, seed, ZIPF) for seed in range(runs(12, 120))]
    plain = np.array([squared_error(fit.fit.shares, ZIPF) for fit in fits])
    shrunk = np.array([squared_error(shrink_fit(fit.fit, information_given_levels(fit)), ZIPF) for fit in fits])
    harmed = np.array([squared_error(shrink(fit.fit.shares, fit.covariance), ZIPF) for fit in fits])
    assert mean_is_at_most(shrunk - 1.1 * plain, 0.0)
    assert not mean_is_at_most(harmed - 1.1 * plain, 0.0)


def test_a_fit_says_how_much_a_share_wants_to_be_negative() -> None:
    reports = group(build("krr", 3, 1_000_000), OutputCounts(np.array([600, 300, 100])))
    fit = maximum_likelihood([reports])
    assert fit.shares[2] == 0
    assert fit.slope[2] < -1
    assert np.allclose(fit.slope[:2], 0, atol=1e-3)
    information = label_mixture(shown([reports])).information(fit.shares)
    inside = shrink_fit(fit, information)
    assert 0 < inside[2] < shrink(fit.shares, np.linalg.inv(information))[2]


def test_bad_input_gets_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for shares, covariance in (([1.0], np.eye(1)), ([0.5, 0.5], np.eye(3)), ([0.5, np.nan], np.eye(2))):
        with pytest.raises(EstimateError, match="finite, of at least two values and of matching shapes"):
            shrink(shares, covariance)
    monkeypatch.setattr(shrinkage, "MOST_SWEEPS", 1)
    with pytest.raises(EstimateError, match="did not converge"):
        shrink([0.9, 0.2, -0.1], 0.01 * np.eye(3))
