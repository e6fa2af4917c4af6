"""The device's sampler follows its weights: by counting thresholds exactly, and by sampling with a twin that fails."""

from __future__ import annotations

from collections import Counter
from itertools import count

import numpy as np
import pytest

from helpers.claims import follows, runs
from helpers.draws import Counting, seeded_bytes
from pldp.errors import EpsilonError
from pldp.mechanisms import Channel, RandomizedResponse, UnaryEncoding, build, names

SAMPLES = runs(5_000, 20_000)


def drawn(tested: Channel, value: int, seed: int) -> Counter:
    random = seeded_bytes(seed)
    return Counter(tested.draw(value, random) for _ in range(SAMPLES))


def fits(tested: Channel, sampled: Channel, value: int, seed: int) -> bool:
    counts = drawn(sampled, value, seed)
    outputs = list(tested.outputs())
    return follows([counts[output] for output in outputs], [float(tested.probability(y, value)) for y in outputs])


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
@pytest.mark.parametrize("value", [0, 2, 4])
def test_draws_follow_the_channel(mechanism: str, value: int) -> None:
    tested = build(mechanism, 5, 1_000_000)
    assert fits(tested, tested, value, seed=value)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_the_test_rejects_a_wrong_channel(mechanism: str) -> None:
    tested = build(mechanism, 5, 1_000_000)
    assert not fits(tested, build(mechanism, 5, 1_400_000), 2, seed=1)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_every_value_and_outcome_uses_the_same_random_bytes(mechanism: str) -> None:
    tested = build(mechanism, 20, 1_000_000)
    asked = set()
    for value, _ in zip([0, 7, 19] * 20, count(), strict=False):
        source = Counting()
        tested.draw(value, source)
        asked.add(tuple(source.asked))
    assert len(asked) == 1


def test_response_thresholds_are_exact_at_their_edges() -> None:
    tested = RandomizedResponse.of(4, 1_000_000)

    def at(number: int) -> int:
        return tested.draw(1, lambda length: (number << 3).to_bytes(length, "little"))

    assert at(0) == at(tested.truth_weight - 1) == 1
    assert at(tested.truth_weight) == at(tested.truth_weight + tested.other_weight - 1) == 0
    assert at(tested.truth_weight + tested.other_weight) == 2
    assert at(2**53 - 1) == 3


@pytest.mark.parametrize("size", [2, 7, 8, 9, 64, 65, 200])
def test_unary_bits_compare_32_bit_numbers_with_the_weights(size: int) -> None:
    """Bit i must be 1 exactly if the number spelled by its random digits (0 and 1 exchanged) is below the weight."""
    tested = build("oue", size, 1_300_000)
    assert isinstance(tested, UnaryEncoding)
    noise = np.random.default_rng(size).bytes(32 * tested.form.bytes + 4)
    bits = int.from_bytes(tested.draw(1, lambda length: noise[:length]), "little")
    for place in range(size):
        number = 0
        for digit in range(32):
            byte = noise[digit * tested.form.bytes + place // 8]
            number |= (1 - (byte >> place % 8 & 1)) << digit
        if place == 1:
            assert bits >> place & 1 == (int.from_bytes(noise[-4:], "little") < tested.truth_weight)
        else:
            assert bits >> place & 1 == (number < tested.other_weight)
    assert bits < 2**size


def test_auto_takes_the_least_variance() -> None:
    for size in (2, 5, 10, 50, 200):
        for micro in (100_000, 1_000_000, 3_000_000):
            chosen = build("auto", size, micro)
            others = [build(name, size, micro) for name in ("krr", "oue", "subset")]
            assert chosen.variance(1 / size) <= 1.005 * min(other.variance(1 / size) for other in others)
    assert build("auto", 3, 1_000_000).mechanism == "krr"
    assert build("auto", 10, 1_000_000).mechanism == "subset"


def test_auto_keeps_to_the_limit_on_the_length_of_an_answer() -> None:
    for size in (100, 1000, 4096, 20_000):
        for limit in (8, 64, 512):
            for micro in (100_000, 1_000_000, 6_000_000):
                assert build("auto", size, micro, answer_bytes=limit).form.bytes <= limit
    with pytest.raises(EpsilonError, match="none takes only 0"):
        build("auto", 100, 1_000_000, answer_bytes=0)


def test_manipulation_is_what_a_forged_report_adds() -> None:
    assert build("krr", 100, 1_000_000).manipulation == pytest.approx(58.6, abs=0.05)
    assert build("oue", 100, 1_000_000).manipulation == pytest.approx(3.16, abs=0.01)
