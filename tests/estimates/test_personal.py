"""An ε per person, without levels."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import mean_is, runs
from helpers.samples import PERSONAL, zipf
from pldp.errors import EstimateError
from pldp.estimates import personal_frequencies
from pldp.mechanisms import Bits, build, micro_epsilon
from pldp.mechanisms.arrays import personal_arrays
from pldp.simulate import perturb_personal


def errors(mechanism: str, weaker: float, people: int = 4000) -> list[float]:
    truth, found = zipf(9), []
    for seed in range(runs(150, 2000)):
        generator = np.random.default_rng(seed)
        epsilon = generator.uniform(0.3, 3, people)
        values = generator.choice(9, people, p=truth)
        outputs = perturb_personal(mechanism, values, 9, epsilon * weaker, generator)
        estimate = personal_frequencies(mechanism, outputs, epsilon, 9)
        found.append(np.mean(((estimate.shares - truth) / estimate.standard_error) ** 2))
    return found


@pytest.mark.parametrize("mechanism", PERSONAL)
def test_errors_have_the_stated_size(mechanism: str) -> None:
    assert mean_is(errors(mechanism, 1.0), 1.0)


@pytest.mark.parametrize("mechanism", PERSONAL)
def test_the_test_rejects_a_five_percent_weaker_channel(mechanism: str) -> None:
    assert not mean_is(errors(mechanism, 0.95, people=20_000), 1.0)


@pytest.mark.parametrize("mechanism", PERSONAL)
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2.5", "8"])
def test_weights_are_those_of_the_exact_channels(mechanism: str, epsilon: str) -> None:
    """Floats give the same integer weights, up to one unit where a float's last digit decides the rounding."""
    built = build(mechanism, 12, micro_epsilon(epsilon))
    truth, other = personal_arrays(mechanism, 12).personal_weights(np.array([float(epsilon)]))
    scale = 2.0**32 if isinstance(built.form, Bits) else 2.0**53
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
        ("no fast form", ("lh", one, [1.0], 3)),
    ]
    for words, arguments in cases:
        with pytest.raises(EstimateError, match=words):
            personal_frequencies(*arguments)
