"""An ε per person, without levels."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import mean_is, runs
from helpers.samples import PERSONAL, counted, label_reports, zipf
from pldp.errors import EstimateError
from pldp.estimates.linear.pooling import decode
from pldp.mechanisms import build, micro_epsilon
from pldp.mechanisms.arrays import personal_arrays
from pldp.papers.groups import group
from pldp.papers.personal import personal_frequencies
from pldp.simulate import perturb_personal


def errors(mechanism: str, weaker: float, people: int, times: int) -> list[float]:
    truth, found = zipf(9), []
    for seed in range(times):
        generator = np.random.default_rng(seed)
        epsilon = generator.uniform(0.3, 3, people)
        values = generator.choice(9, people, p=truth)
        outputs = perturb_personal(mechanism, values, 9, epsilon * weaker, generator)
        estimate = personal_frequencies(mechanism, outputs, epsilon, 9)
        found.append(np.mean(((estimate.shares - truth) / estimate.standard_error) ** 2))
    return found


@pytest.mark.parametrize("mechanism", PERSONAL)
def test_errors_have_the_stated_size(mechanism: str) -> None:
    assert mean_is(errors(mechanism, 1.0, 4000, runs(80, 2000)), 1.0)


@pytest.mark.parametrize("mechanism", PERSONAL)
def test_the_test_rejects_a_weaker_channel(mechanism: str) -> None:
    """By five percent; in the short form, with fewer people and runs, by a fifth."""
    assert not mean_is(errors(mechanism, runs(16, 19) / 20, runs(10_000, 20_000), runs(40, 2000)), 1.0)


@pytest.mark.parametrize("mechanism", PERSONAL)
def test_shares_sum_to_one_and_one_epsilon_for_all_is_one_level(mechanism: str) -> None:
    """With one ε, shares, errors and manipulation are those of a level; the twin without the sum does not have it."""
    generator, truth = np.random.default_rng(4), np.array([0.9, 0.06, 0.04])
    outputs = perturb_personal(mechanism, generator.choice(3, 5000, p=truth), 3, np.full(5000, 1.5), generator)
    found = personal_frequencies(mechanism, outputs, np.full(5000, 1.5), 3)
    channel = build(mechanism, 3, 1_500_000)
    counts = counted(channel, outputs)
    pooled = decode(label_reports([channel], [counts]).evidence)
    assert found.shares.sum() == pytest.approx(1)
    assert np.allclose(found.shares, pooled.estimates, atol=1e-9)
    # Errors of levels are those at shares with one report more of every value.
    assert np.allclose(found.standard_error, np.sqrt(pooled.variance()), rtol=2e-3)
    assert found.manipulation == pytest.approx(pooled.manipulation)
    assert (abs(group(channel, counts).shares().sum() - 1) < 1e-9) == (mechanism in {"krr", "subset"})


def test_weights_follow_the_shares() -> None:
    """1 % "yes", ε 1 and 4, k-RR: the squared error is half of that of weights at equal shares, as computed."""
    truth, found = np.array([0.01, 0.99]), []
    for seed in range(runs(150, 2000)):
        generator = np.random.default_rng(seed)
        epsilon, values = generator.choice([1.0, 4.0], 2000), generator.choice(2, 2000, p=truth)
        estimate = personal_frequencies("krr", perturb_personal("krr", values, 2, epsilon, generator), epsilon, 2)
        found.append(((estimate.shares - truth) ** 2).sum())
    least, at_equal = 0.1121 / 2000, 1.841 * 0.1121 / 2000
    assert mean_is(found, least)
    assert not mean_is(found, at_equal)


@pytest.mark.parametrize("mechanism", PERSONAL)
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2.5", "8"])
def test_weights_are_those_of_the_exact_channels(mechanism: str, epsilon: str) -> None:
    """Floats give the same integer weights, up to one unit where a float's last digit decides the rounding."""
    built = build(mechanism, 12, micro_epsilon(epsilon))
    people = np.array([float(epsilon)])
    form = personal_arrays(mechanism, 12).fitted_to(people)
    truth, other = form.personal_weights(people)
    scale = float(form.total)
    assert other[0] / scale == pytest.approx(float(built.other_support), rel=4e-15)
    assert truth[0] / scale == pytest.approx(float(built.truth_support), rel=4e-15)


def test_bad_input_gets_one_clear_line() -> None:
    one = np.array([1], np.uint8)
    cases = [
        ("at least one report", ("krr", [], [], 3)),
        ("integers from 0 to 2", ("krr", [5], [1.0], 3)),
        ("integers from 0 to 2", ("krr", [0.5], [1.0], 3)),
        ("one number per person", ("krr", one, [1.0, 2.0], 3)),
        ("above 0 and at most 20", ("krr", one, [0.0], 3)),
        ("above 0 and at most 20", ("krr", one, [np.inf], 3)),
        ("packed rows of 1 bytes", ("oue", one, [1.0], 3)),
        ("packed rows of bytes", ("subset", one, [1.0], 3)),
        ("sets of one size among 3", ("subset", np.array([[1], [3]], np.uint8), [1.0, 1.0], 3)),
        ("no form for an epsilon", ("lh", one, [1.0], 3)),
    ]
    for words, arguments in cases:
        with pytest.raises(EstimateError, match=words):
            personal_frequencies(*arguments)
