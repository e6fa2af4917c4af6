"""Shares use that they sum to 1, and levels have the weights of least variance: exactly, and in simulation."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import mean_is, rate_is, runs
from helpers.item_channels import CHANNELS
from helpers.samples import counts_of, law, sample, zipf
from helpers.tables import pair_counts
from pldp import Tally
from pldp.estimates import Decoder, Group, frequencies, group, pooled_shares, precision_weights, two_way
from pldp.estimates.shares.pooling import Pooled
from pldp.mechanisms import Channel, build, micro_epsilon, names
from pldp.mechanisms.arrays import label_arrays
from pldp.survey import loads
from pldp.tallies import OutputCounts

BUILT = {
    f"{name} {size} {epsilon}": build(name, size, micro_epsilon(epsilon))
    for name in names("labels", per_value=False)
    for size, epsilon in ((2, "2"), (5, "1"), (9, "1.6"))
}
EVERY = {**BUILT, **CHANNELS}
SUMMED = {name: each for name, each in EVERY.items() if label_arrays(each).sum_covariance(zipf(each.size)) is not None}
"""Channels whose shares do not sum to 1 by themselves."""

SKEWED = {  # shares, levels
    "1 %, levels 1 and 4": ([0.01, 0.99], ("1", "4")),
    "1 %, levels .5, 1 and 3": ([0.01, 0.99], ("0.5", "1", "3")),
    "5 %, levels 1 and 4": ([0.05, 0.95], ("1", "4")),
    "5 %, levels .5, 1 and 3": ([0.05, 0.95], ("0.5", "1", "3")),
    "8 values": (zipf(8), ("0.5", "1", "2")),
    "16 values": (zipf(16), ("0.5", "1", "2")),
    "128 values": (zipf(128), ("0.5", "1", "2")),
}


def enumerated(decoder: Decoder) -> tuple[np.ndarray, np.ndarray]:
    """Q of all outputs, and the shares that one report of each output gives: outputs × values."""
    channel = decoder.arrays.channel
    outputs = list(channel.outputs())
    rows = np.array(outputs) if isinstance(outputs[0], int) else np.array([list(y) for y in outputs], np.uint8)
    return law(channel), np.array([decoder.shares(row) for row in decoder.arrays.supported(rows).astype(float)])


@pytest.mark.parametrize("name", EVERY)
def test_decoded_shares_are_unbiased_sum_to_one_and_have_the_stated_covariance(name: str) -> None:
    """Exact, whatever shares the decoder was made for; the twin, parts that do not sum to 1, is biased."""
    generator = np.random.default_rng(3)
    size = EVERY[name].size
    made_for, shares = generator.dirichlet(np.ones(size)), generator.dirichlet(np.ones(size))
    decoder = Decoder.at(label_arrays(EVERY[name]), made_for)
    chances, decoded = enumerated(decoder)
    assert np.allclose(decoded.sum(axis=1), 1)
    assert np.allclose(chances.T @ decoded, np.eye(size), atol=1e-9)
    exact = (decoded.T * (chances @ shares)) @ decoded - np.outer(shares, shares)
    assert np.allclose(decoder.covariance(shares), exact, atol=1e-9 * np.abs(exact).max())
    assert np.allclose(decoder.variance(shares), np.diag(exact), atol=1e-9 * np.abs(exact).max())
    chosen = np.array([size - 1, 0])
    assert np.allclose(decoder.covariance(shares, chosen), exact[np.ix_(chosen, chosen)], atol=1e-9 * exact.max())
    if decoder.parts is not None:
        _, biased = enumerated(Decoder(decoder.arrays, 1.05 * decoder.parts, decoder.least_variance))
        assert not np.allclose(biased.sum(axis=1), 1)


@pytest.mark.parametrize("name", EVERY)
def test_no_other_parts_have_a_smaller_variance(name: str) -> None:
    """The twin: without the sum, or 5 % of it given to another value, the summed variance is larger."""
    form, shares = label_arrays(EVERY[name]), zipf(EVERY[name].size)
    best, plain = Decoder.at(form, shares), Decoder.plain(form, shares)
    assert best.least_variance == pytest.approx(best.variance(shares).mean())
    if name not in SUMMED or best.parts is None:  # or hashed where every output supports as many values
        assert best.parts is None
        assert (best.shares(np.full(len(shares), 0.3)) == form.shares(np.full(len(shares), 0.3))).all()
        return
    assert best.least_variance < plain.least_variance == pytest.approx(form.variance(shares).mean())
    moved = Decoder(form, best.parts + 0.05 * (np.eye(len(shares))[0] - np.eye(len(shares))[1]), 0.0)
    assert moved.variance(shares).mean() > best.least_variance


@pytest.mark.parametrize("name", SUMMED)
def test_manipulation_is_the_most_that_an_output_counts(name: str) -> None:
    """Exact for bits; a hashed report supports few other values, but not always those that are few for its value."""
    decoder = Decoder.at(label_arrays(SUMMED[name]), zipf(SUMMED[name].size))
    most = enumerated(decoder)[1].max()
    assert most <= decoder.manipulation * (1 + 1e-9)
    assert most > (0.999 if decoder.arrays.support_sizes is None else 0.75) * decoder.manipulation


@pytest.mark.parametrize(("mechanism", "size"), [("oue", 1_000_000), ("lh", 5000)])
def test_very_many_values_sum_to_one(mechanism: str, size: int) -> None:
    form = label_arrays(build(mechanism, size, 1_000_000))
    support = form.other_support + np.random.default_rng(1).normal(0, 1e-3, size)
    decoder = Decoder.at(form, zipf(size))
    assert decoder.shares(support).sum() == pytest.approx(1)
    assert abs(form.shares(support).sum() - 1) > 0.1
    assert np.allclose(decoder.variance(zipf(size)), form.variance(zipf(size)), rtol=0.01)


def expected(specs: list[tuple[str, str]], shares: np.ndarray, people: float = 1e12) -> list[Group]:
    """Groups of k-RR in which every output comes as often as expected: first-round shares are the truth."""
    channels = [build(name, len(shares), micro_epsilon(epsilon)) for name, epsilon in specs]
    rows = [float(c.other_support) + shares * float(c.truth_support - c.other_support) for c in channels]
    return [group(c, OutputCounts(np.rint(people * row).astype(int))) for c, row in zip(channels, rows, strict=True)]


def bound(groups: list[Group], shares: np.ndarray) -> float:
    """The summed variance that no unbiased estimate can undercut (Cramér–Rao, along the simplex)."""
    inverse = np.linalg.pinv(np.sum([each.information(shares) for each in groups], axis=0), hermitian=True)
    return float(np.trace(inverse) - (inverse.sum(axis=1) ** 2).sum() / inverse.sum())


@pytest.mark.parametrize("setting", SKEWED)
def test_weights_lose_less_than_a_hundredth_against_the_likelihood(setting: str) -> None:
    """Exact, k-RR; the twin, weights at equal shares, loses more in every setting, with two values 17–84 %."""
    shares, levels = np.array(SKEWED[setting][0]), SKEWED[setting][1]
    groups = expected([("krr", epsilon) for epsilon in levels], shares)
    least = bound(groups, shares)
    assert Pooled.of(groups, "precision").variance().sum() < 1.01 * least
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
        pooled = Pooled.of(groups, "precision")
        weights = precision_weights(groups)
        old = sum(w**2 * each.variance(pooled.shares) for w, each in zip(weights, groups, strict=True))
        found.append((pooled.shares - truth) / np.sqrt(pooled.variance()))
        before.append((pooled.shares - truth) / np.sqrt(old))
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
        pooled = Pooled.of(groups, "precision")
        assert pooled.weights.sum() == pytest.approx(1)
        assert (pooled.weights > 0).all()
        assert pooled.shares.sum() == pytest.approx(1)
        assert (pooled.variance() > 0).all()


@pytest.mark.parametrize("mechanism", ["krr", "sue", "oue", "lh"])
@pytest.mark.parametrize("pool", ["precision", "size"])
def test_a_result_is_the_weighted_mean_of_its_levels(mechanism: str, pool: str) -> None:
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
    found = frequencies(Tally(survey, counts, 4000), "q", pool=pool)
    assert np.allclose(sum(each.weight * each.shares for each in found.groups), found.shares)
    assert found.shares.sum() == pytest.approx(1)
    assert np.allclose(found.covariance.sum(axis=1), 0, atol=1e-12)
    assert found.manipulation == max(each.weight * 4000 / each.reports * each.manipulation for each in found.groups)
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
    found = two_way(Tally(survey, counts, 2 * many, pairs=pairs), "q", "r")
    weights = (found.people.weights[:, 0] * found.people.people).tolist()
    least = [1 / variances[level].mean() for level in "ab"]
    assert weights == pytest.approx((np.array(least) / sum(least)).tolist(), rel=1e-3)
    equal = np.array([1 / pair_variances(channel, np.full((2, 2), 0.25)).mean() for channel in channels])
    assert weights != pytest.approx((equal / equal.sum()).tolist(), rel=0.02)


def pair_variances(channel: Channel, joint: np.ndarray) -> np.ndarray:
    """Variance of one report's unbiased shares of pairs, by enumeration."""
    inverse = np.linalg.inv(law(channel))
    return inverse**2 @ (law(channel) @ joint @ law(channel).T) @ (inverse**2).T - joint**2
