"""Vectorised draws of numbers follow the same weights as a device, and the densities of the papers."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import follows, mean_is
from pldp.errors import SimulationError
from pldp.mechanisms import Grid, WindowChannel, build, names
from pldp.mechanisms.continuous import CONTINUOUS
from pldp.simulate import perturb_continuously, perturb_numbers, to_buckets


@pytest.mark.parametrize("mechanism", names("numbers"))
def test_vectorised_outputs_are_those_of_the_device_for_the_same_random_numbers(mechanism: str) -> None:
    channel = build(mechanism, 50, 1_300_000)
    values = np.random.default_rng(1).integers(0, 50, 500)
    outputs = perturb_numbers(channel, values, np.random.default_rng(2))
    words = np.random.default_rng(2).bit_generator.random_raw(500)
    for value, word, output in zip(values, words, outputs, strict=True):
        assert channel.draw(int(value), lambda _, word=word: (int(word) >> 11 << 3).to_bytes(7, "little")) == output


@pytest.mark.parametrize("mechanism", names("numbers"))
def test_outputs_follow_the_channel(mechanism: str) -> None:
    channel = build(mechanism, 5, 1_000_000)
    counts = np.bincount(
        perturb_numbers(channel, np.full(50_000, 3), np.random.default_rng(4)), minlength=channel.form.count
    )
    chances = [np.array([float(channel.probability(y, value)) for y in channel.outputs()]) for value in (3, 2)]
    common = np.flatnonzero(chances[0] >= 1e-3)  # outputs far beyond the bounds are rare: those of each side together
    group = np.clip(np.arange(len(counts)), common[0], common[-1]) - common[0]
    observed, true, other = (np.bincount(group, weights=each) for each in (counts, *chances))
    assert follows(observed, true)
    assert not follows(observed, other)


@pytest.mark.parametrize("mechanism", CONTINUOUS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_continuous_outputs_have_the_stated_mean_and_variance(mechanism: str, epsilon: float) -> None:
    made = CONTINUOUS[mechanism](epsilon)
    outputs = perturb_continuously(mechanism, epsilon, np.full(100_000, 0.7), np.random.default_rng(5))
    numbers = (outputs - made.mean(0)) / (made.mean(1) - made.mean(0))
    assert mean_is(numbers, 0.7)
    assert mean_is((numbers - 0.7) ** 2, made.variance(0.7))
    assert not mean_is((numbers - 0.7) ** 2, 1.1 * made.variance(0.7))


def test_bad_numbers_are_refused() -> None:
    plain = WindowChannel(2, 1, 2**52 + 1, 2**52 - 1)
    assert perturb_numbers(plain, [0, 1], np.random.default_rng(1)).max() < 2
    channel = build("sw", 4, 1_000_000)
    generator = np.random.default_rng(1)
    with pytest.raises(SimulationError, match="flat array of integers"):
        perturb_numbers(channel, [0.5], generator)
    with pytest.raises(SimulationError, match="indices from 0 to 3"):
        perturb_numbers(channel, [4], generator)
    with pytest.raises(SimulationError, match="2 do not"):
        to_buckets(Grid(0, 1, 4), [0.5, 1.5, float("nan")])
    with pytest.raises(SimulationError, match="mechanism must be one of"):
        perturb_continuously("none", 1.0, [0.0], generator)
    with pytest.raises(SimulationError, match="values must lie in"):
        perturb_continuously("sw", 1.0, [-0.5], generator)
