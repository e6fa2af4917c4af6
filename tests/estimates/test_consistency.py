"""Consistent shares: nearest point, kept heavy values, stated false alarms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from helpers.claims import FALSE_ALARM, runs
from helpers.samples import sample, zipf
from pldp.errors import EstimateError
from pldp.estimates import base_cut, norm_cut, norm_sub

vectors = st.lists(st.floats(-2, 2), min_size=1, max_size=30).map(np.array)


@given(vectors)
def test_norm_sub_is_on_the_simplex_and_keeps_the_order(shares: np.ndarray) -> None:
    found = norm_sub(shares)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert (np.diff(found[np.argsort(shares)]) >= -1e-12).all()


@pytest.mark.parametrize("seed", range(5))
def test_norm_sub_is_the_nearest_point(seed: int) -> None:
    shares = np.random.default_rng(seed).normal(0.1, 0.3, 8)
    nearest = optimize.minimize(
        lambda f: ((f - shares) ** 2).sum(),
        np.full(8, 1 / 8),
        bounds=[(0, 1)] * 8,
        constraints={"type": "eq", "fun": lambda f: f.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert np.allclose(norm_sub(shares), nearest.x, atol=1e-5)


@given(vectors)
def test_norm_cut_keeps_shares_or_cuts_them(shares: np.ndarray) -> None:
    found = norm_cut(shares)
    assert ((found == 0) | (found == np.minimum(shares, 1))).all()
    assert found.sum() <= 1 + 1e-9
    lost, kept = np.minimum(shares[found == 0], 1), found[found > 0]
    assert not lost.max(initial=0) > kept.min(initial=np.inf), "what is kept is the largest"


wild = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12).map(np.array)


@given(wild, st.floats(1e-9, 1e3))
def test_consistent_shares_could_be_true_whatever_was_estimated(shares: np.ndarray, error: float) -> None:
    """A single report of a strict level gives a share such as 1.58, and −.29 for every other value."""
    for found in (norm_sub(shares), norm_cut(shares), base_cut(shares, error)):
        assert found.shape == shares.shape
        assert found.min() >= 0
        assert found.max() <= 1 + 1e-9
    assert norm_sub(shares).sum() == pytest.approx(1, abs=1e-9 * max(1, abs(shares).max()))
    assert norm_cut(shares).sum() <= 1 + 1e-9


@pytest.mark.parametrize("method", ["norm-sub", "norm-cut", "base-cut"])
def test_one_report_gives_shares_that_could_be_true(method: str) -> None:
    (group,) = sample([("krr", "1", 1)], np.full(4, 1 / 4), np.random.default_rng(1))
    assert group.shares().max() > 1.5
    how = {"norm-sub": norm_sub, "norm-cut": norm_cut, "base-cut": lambda shares: base_cut(shares, np.full(4, 0.01))}
    assert 0 <= how[method](group.shares()).min() <= how[method](group.shares()).max() <= 1


def test_base_cut_lets_noise_through_at_the_stated_rate() -> None:
    generator, repeats = np.random.default_rng(1), runs(2000, 20_000)
    wrong = sum(base_cut(generator.normal(0, 0.01, 50), np.full(50, 0.01)).any() for _ in range(repeats))
    assert stats.binom.sf(wrong - 1, repeats, 0.05) > FALSE_ALARM
    assert wrong > 0


def test_heavy_values_survive_where_clipping_ruins_them() -> None:
    """OUE, ε = 1, 1,024 values, 20,000 people: clipping and renormalising turns .180 into less than .04."""
    shares = np.full(1024, 0.82 / 1023)
    shares[0] = 0.18
    (group,) = sample([("oue", "1", 20_000)], shares, np.random.default_rng(1))
    unbiased = group.shares()
    clipped = np.maximum(unbiased, 0) / np.maximum(unbiased, 0).sum()
    assert clipped[0] < 0.04
    assert norm_sub(unbiased)[0] > 0.15
    assert norm_cut(unbiased)[0] == unbiased[0]


@pytest.mark.parametrize("shares", [[], [np.nan], [[0.1]], [np.inf, 0.2]])
def test_what_is_no_vector_of_numbers_is_refused(shares: list) -> None:
    for function in (norm_sub, norm_cut, lambda given: base_cut(given, 0.1)):
        with pytest.raises(EstimateError, match="flat array of finite numbers"):
            function(shares)


def test_zipf_sums_to_one() -> None:
    assert zipf(9).sum() == pytest.approx(1)
