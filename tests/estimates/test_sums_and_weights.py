"""Shares use that they sum to 1, and levels have the weights of least variance: exactly, and in simulation."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import mean_is, rate_is, runs
from helpers.samples import counts_of, label_reports, law, sample, zipf
from helpers.tables import pair_counts
from pldp import Tally
from pldp.estimates import frequencies, two_way
from pldp.estimates.likelihood.solver import label_mixture
from pldp.estimates.linear.pooling import Linear, decode
from pldp.mechanisms import Channel, build, micro_epsilon, names
from pldp.papers.groups import Group, group, pooled_shares, precision_weights, shown
from pldp.survey import loads
from pldp.tallies import OutputCounts

SKEWED = {  # shares, levels
    "1 %, levels 1 and 4": ([0.01, 0.99], ("1", "4")),
    "1 %, levels .5, 1 and 3": ([0.01, 0.99], ("0.5", "1", "3")),
    "5 %, levels 1 and 4": ([0.05, 0.95], ("1", "4")),
    "5 %, levels .5, 1 and 3": ([0.05, 0.95], ("0.5", "1", "3")),
    "8 values": (zipf(8), ("0.5", "1", "2")),
    "16 values": (zipf(16), ("0.5", "1", "2")),
    "128 values": (zipf(128), ("0.5", "1", "2")),
}


def expected(specs: list[tuple[str, str]], shares: np.ndarray, people: float = 1e12) -> list[Group]:
    """Groups of k-RR in which every output comes as often as expected: first-round shares are the truth."""
    channels = [build(name, len(shares), micro_epsilon(epsilon)) for name, epsilon in specs]
    rows = [float(c.other_support) + shares * float(c.truth_support - c.other_support) for c in channels]
    return [group(c, OutputCounts(np.rint(people * row).astype(int))) for c, row in zip(channels, rows, strict=True)]


def pooled(groups: list[Group]) -> Linear:
    return decode(label_reports([each.channel for each in groups], [each.counts for each in groups]).evidence)


def bound(groups: list[Group], shares: np.ndarray) -> float:
    """The summed variance that no unbiased estimate can undercut (Cramér–Rao, along the simplex)."""
    inverse = np.linalg.pinv(label_mixture(shown(groups)).information(shares), hermitian=True)
    return float(np.trace(inverse) - (inverse.sum(axis=1) ** 2).sum() / inverse.sum())


@pytest.mark.parametrize("setting", SKEWED)
def test_weights_lose_less_than_a_hundredth_against_the_likelihood(setting: str) -> None:
    """Exact, k-RR; the twin, weights at equal shares, loses more in every setting, with two values 17–84 %."""
    shares, levels = np.array(SKEWED[setting][0]), SKEWED[setting][1]
    groups = expected([("krr", epsilon) for epsilon in levels], shares)
    least = bound(groups, shares)
    assert pooled(groups).variance().sum() < 1.01 * least
    at_equal = sum(
        w**2 * each.variance(shares).sum() for w, each in zip(precision_weights(groups), groups, strict=True)
    )
    assert at_equal > (1.17 if len(shares) == 2 else 1.0) * least


def drawn(mechanism: str, setting: str, people: int, seed: int, mix: tuple[float, ...] = ()) -> list[Group]:
    """Groups of people who chose their levels at random, equally or by a mix."""
    shares, levels = SKEWED[setting]
    generator = np.random.default_rng(seed)
    sizes = generator.multinomial(people, mix or np.full(len(levels), 1 / len(levels)))
    specs = [(mechanism, epsilon, int(size)) for epsilon, size in zip(levels, sizes, strict=True) if size]
    return sample(specs, np.array(shares), generator)


@pytest.mark.parametrize("mechanism", ["krr", "oue", "lh"])
@pytest.mark.parametrize("setting", ["1 %, levels 1 and 4", "5 %, levels .5, 1 and 3", "8 values"])
def test_errors_are_stated_and_bias_is_not_seen_where_shares_are_skewed(mechanism: str, setting: str) -> None:
    """The twin, where shares are most skewed: errors without the sum, with weights of equal shares, are too large."""
    truth, found, before = np.array(SKEWED[setting][0]), [], []
    for seed in range(runs(100, 2000)):
        groups = drawn(mechanism, setting, 2000, seed)
        decoded = pooled(groups)
        weights = precision_weights(groups)
        old = sum(w**2 * each.variance(decoded.estimates) for w, each in zip(weights, groups, strict=True))
        found.append((decoded.estimates - truth) / np.sqrt(decoded.variance()))
        before.append((decoded.estimates - truth) / np.sqrt(old))
    errors = np.array(found)
    assert mean_is((errors**2).mean(axis=1), 1.0)
    assert all(mean_is(each, 0.0) for each in errors.T)
    assert rate_is(abs(errors[:, 0]) < 1.96, 0.95)
    if setting == "1 %, levels 1 and 4":
        assert not mean_is((np.array(before) ** 2).mean(axis=1), 1.0)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
@pytest.mark.parametrize("people", [3, 40])
def test_few_reports_a_small_level_and_an_empty_value_leave_finite_numbers(mechanism: str, people: int) -> None:
    for seed in range(5):
        groups = drawn(mechanism, "1 %, levels .5, 1 and 3", people, seed, mix=(0.05, 0.05, 0.9))
        decoded = pooled(groups)
        assert decoded.level_weights.sum() == pytest.approx(1)
        assert (decoded.level_weights > 0).all()
        assert decoded.estimates.sum() == pytest.approx(1)
        assert (decoded.variance() > 0).all()


@pytest.mark.parametrize("mechanism", ["krr", "sue", "oue", "lh"])
@pytest.mark.parametrize("differ", [0, None])
def test_a_result_is_the_weighted_mean_of_its_levels(mechanism: str, differ: float | None) -> None:
    """Shares, weights and the people that a forged report counts as agree, and the covariance knows the sum."""
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={a=1,b=3}\n'
        f'questions=[{{name="q",values=["x","y","z"],levels={{a=1,b=3}},mechanism="{mechanism}"}}]'
    )
    shares, generator = np.array([0.7, 0.2, 0.1]), np.random.default_rng(5)
    channels = survey.question("q").channels
    counts = {
        ("q", level): counts_of(channel, generator.multinomial(n, law(channel) @ shares))
        for level, channel, n in zip("ab", channels, (3000, 1000), strict=True)
    }
    found = frequencies(Tally(survey, counts, 4000), "q", differ=differ)
    # What is known of the sum is taken off at the shares of all levels, not at those of each.
    apart = sum(each.weight * each.shares for each in found.groups) - found.shares
    assert (abs(apart) < (1e-9 if mechanism == "krr" else 0.02) * found.standard_error).all()
    assert found.shares.sum() == pytest.approx(1)
    assert abs(found.covariance.sum()) < 1e-5 * np.trace(found.covariance)
    most = max(each.weight * 4000 / each.reports * each.manipulation for each in found.groups)
    assert found.manipulation == pytest.approx(most, rel=0.02)
    assert found.person_weights().people @ found.person_weights().weights == pytest.approx(1)
    twin = [group(channel, counts["q", level]) for level, channel in zip("ab", channels, strict=True)]
    raw = pooled_shares(twin, np.array([each.weight for each in found.groups]))
    assert (abs(raw.sum() - 1) < 1e-9) == (mechanism == "krr")


def test_a_common_value_moves_the_weights_of_a_table() -> None:
    """Exact: pairs of levels have the weights of least variance; those of equal shares have a larger one."""
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={a=1,b=4}\nquestions=['
        + ",".join(f'{{name="{name}",values=["x","y"],mechanism="krr"}}' for name in ("q", "r"))
        + "]"
    )
    channels = survey.question("q").channels
    joint, many = np.array([[0.97, 0.01], [0.01, 0.01]]), 10**9
    pairs, counts, variances = {}, {}, {}
    for level, channel in zip("ab", channels, strict=True):
        both = np.rint(many * law(channel) @ joint @ law(channel).T).astype(int)
        pairs[("q", level), ("r", level)] = pair_counts(int(both.sum()), both.sum(axis=1), both.sum(axis=0), both)
        counts["q", level], counts["r", level] = OutputCounts(both.sum(axis=1)), OutputCounts(both.sum(axis=0))
        variances[level] = pair_variances(channel, joint)
    found = two_way(Tally(survey, counts, 2 * many, pairs=pairs), "q", "r", differ=0)
    weights = (found.people.weights[:, 0] * found.people.people).tolist()
    least = [1 / variances[level].mean() for level in "ab"]
    assert weights == pytest.approx((np.array(least) / sum(least)).tolist(), rel=1e-3)
    equal = np.array([1 / pair_variances(channel, np.full((2, 2), 0.25)).mean() for channel in channels])
    assert weights != pytest.approx((equal / equal.sum()).tolist(), rel=0.02)


def pair_variances(channel: Channel, joint: np.ndarray) -> np.ndarray:
    """Variance of one report's unbiased shares of pairs, by enumeration."""
    inverse = np.linalg.inv(law(channel))
    return inverse**2 @ (law(channel) @ joint @ law(channel).T) @ (inverse**2).T - joint**2
