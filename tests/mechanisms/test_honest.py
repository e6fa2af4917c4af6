"""What honest reports cannot have: every law holds for every value, by enumeration of small channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pldp.mechanisms import REGISTRY, Channel, build, names
from pldp.mechanisms.arrays import arrays

EACH = (300_000, 500_000, 800_000, 1_000_000, 1_000_000, 1_000_000)
LABELS = [build(name, 6, EACH if REGISTRY[name].per_value else 1_000_000) for name in names("labels")]
LABELS += [build("subset", 6, 200_000), build("subset_items", 7, (300_000,) * 4 + (1_000_000,) * 3)]
SETS = [build("item_set", 4, (500_000,) * 4), build("boxes", 4, 2_000_000), build("privset", 5, 1_000_000)]
NUMBERS = [build(name, 16, 1_000_000) for name in names("numbers")]


def enumerated(channel: Channel) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, list[Any]]:
    """Return Q (outputs × values), supports (outputs × places), cells, and the outputs themselves."""
    outputs, form = list(channel.outputs()), arrays(channel)
    values = range(channel.size) if channel.domain == "labels" else range(1 << channel.size)
    if channel.domain == "sets" and hasattr(channel, "at_most"):
        values = [each for each in values if each.bit_count() <= channel.at_most]
    table = np.array([[float(channel.probability(output, value)) for value in values] for output in outputs])
    if not isinstance(outputs[0], bytes):
        labels = channel.domain == "labels"
        return table, form.supported(np.array(outputs)) if labels else np.eye(len(outputs)), None, outputs
    rows = np.array([list(output) for output in outputs], np.uint8)
    bits = form.supported(rows) if channel.domain == "labels" else np.unpackbits(rows, axis=1, bitorder="little")
    return table, bits[:, : channel.form.length].astype(float), np.ascontiguousarray(rows.T), outputs


@pytest.mark.parametrize("channel", LABELS + SETS, ids=lambda each: each.mechanism)
def test_no_value_leaves_the_range_of_supports(channel: Channel) -> None:
    table, supports, _, _ = enumerated(channel)
    chance, limits = supports.T.astype(float) @ table, arrays(channel).support_range()
    assert np.allclose(limits.low, chance.min(axis=1))
    assert np.allclose(limits.high, chance.max(axis=1))


@pytest.mark.parametrize("channel", LABELS, ids=lambda each: each.mechanism)
def test_pairs_of_bits_have_their_law_for_every_value(channel: Channel) -> None:
    table, supports, _, _ = enumerated(channel)
    for law in arrays(channel).pair_laws():
        bits = supports[:, law.places].astype(float)
        among = np.ones(len(bits)) if law.ones is None else bits.any(axis=1)
        products = bits[:, :, None] * bits[:, None] - law.slope * bits[:, :, None] - law.slope[:, None] * bits[:, None]
        mean = np.einsum("yij,yx->ijx", products + law.constant * among[:, None, None], table)
        mean[np.arange(len(bits[0])), np.arange(len(bits[0]))] = 0
        assert np.abs(mean).max() < 1e-12


def test_a_law_with_another_slope_does_not_hold() -> None:
    table, supports, _, _ = enumerated(build("subset", 6, 200_000))
    law = arrays(build("subset", 6, 200_000)).pair_laws()[0]
    one, two, slope = supports[:, 0].astype(float), supports[:, 1].astype(float), 1.1 * law.slope[0]
    assert np.abs((one * two - slope * (one + two) + law.constant[0, 1]) @ table).max() > 1e-3


@pytest.mark.parametrize("mechanism", ["sue", "oue"])
def test_the_number_of_ones_does_not_depend_on_the_value(mechanism: str) -> None:
    channel = build(mechanism, 6, 1_000_000)
    table, supports, _, _ = enumerated(channel)
    ones = np.array([np.bincount(supports.sum(axis=1).astype(int), own, minlength=7) for own in table.T])
    assert np.allclose(ones, arrays(channel).ones_law(), atol=1e-12)


@pytest.mark.parametrize("channel", LABELS + SETS, ids=lambda each: each.mechanism)
def test_no_value_makes_an_output_likelier_than_its_ceiling(channel: Channel) -> None:
    table, _, cells, _ = enumerated(channel)
    ceiling, collision = arrays(channel).log_ceiling(cells), arrays(channel).log_collision()
    if ceiling is not None:
        assert (np.exp(ceiling) >= table.max(axis=1) - 1e-12).all()
    if collision is not None:
        assert math.isclose(math.exp(collision), (table.T @ table).max(), rel_tol=1e-9)


@pytest.mark.parametrize("channel", LABELS + SETS, ids=lambda each: each.mechanism)
def test_what_devices_draw_blindly_is_uniform_for_every_value(channel: Channel) -> None:
    table, _, cells, outputs = enumerated(channel)
    if cells is None and arrays(channel).drawn_blindly(np.eye(len(outputs))[0]) is not None:
        drawn = np.array([arrays(channel).drawn_blindly(each) for each in np.eye(len(outputs))])
        assert np.allclose(drawn.T @ table, 1 / drawn.shape[1])


@pytest.mark.parametrize("channel", NUMBERS, ids=lambda each: each.mechanism)
def test_groups_of_outputs_have_the_probabilities_of_their_outputs(channel: Channel) -> None:
    found = arrays(channel).coarse()
    table = np.array([[float(channel.probability(y, x)) for x in range(channel.size)] for y in channel.outputs()])
    sums = np.zeros(found.chances.shape)
    np.add.at(sums, found.group, table)
    assert np.allclose(sums, found.chances)
