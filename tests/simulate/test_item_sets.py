"""Perturbing many sets at once follows the same weights as a device."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import follows
from pldp.errors import AnswerError
from pldp.mechanisms import ItemSet, set_of
from pldp.simulate import pack_baskets, perturb_item_sets

CHANNEL = ItemSet.of_probabilities([0.77, 0.9, 1.0], [0.92, 0.55, 0.8])


def counts(channel: ItemSet, value: int, people: int = 30_000) -> np.ndarray:
    rows = np.full((people, 1), value, np.uint8)
    return np.bincount(perturb_item_sets(channel, rows, np.random.default_rng(value))[:, 0], minlength=8)


def expected(value: int) -> np.ndarray:
    return np.array([float(CHANNEL.probability(output, value)) for output in CHANNEL.outputs()])


@pytest.mark.parametrize("value", [0b000, 0b011, 0b101, 0b111])
def test_many_draws_follow_the_channel(value: int) -> None:
    possible = expected(value) > 0
    seen = counts(CHANNEL, value)
    assert not seen[~possible].any()
    assert follows(seen[possible], expected(value)[possible])


def test_the_test_rejects_a_channel_that_is_off() -> None:
    other = ItemSet.of_probabilities([0.77, 0.87, 1.0], [0.92, 0.55, 0.8])
    possible = expected(7) > 0
    assert not follows(counts(other, 7)[possible], expected(7)[possible])


def test_packed_baskets_are_the_sets_of_a_device() -> None:
    items = [f"item {place}" for place in range(20)]
    generator = np.random.default_rng(1)
    baskets = [generator.choice(items, generator.integers(0, 9), replace=False).tolist() for _ in range(50)]
    rows = pack_baskets(baskets, items)
    assert [int.from_bytes(row.tobytes(), "little") for row in rows] == [set_of(basket, items) for basket in baskets]
    assert pack_baskets([], items).shape == (0, 3)
    with pytest.raises(AnswerError, match="known items only"):
        pack_baskets([["item 3"], ["else"]], items)
