"""Draw many outputs at once from the same integer weights that devices use, with a seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.estimates.shares.personal import checked_epsilons, personal_support
from pldp.mechanisms import (
    Channel,
    ItemResponse,
    ItemSet,
    ItemUnaryEncoding,
    LinearHashing,
    NumberChannel,
    RandomizedResponse,
    UnaryEncoding,
    ValueResponse,
)
from pldp.mechanisms.unary.channel import BITS
from pldp.simulate.bits import bernoulli_words, one_weight, word_weights
from pldp.simulate.item_sets import perturb_item_sets
from pldp.simulate.numbers import perturb_numbers

Outputs = npt.NDArray[np.unsignedinteger[Any]]

CHUNK = 1 << 15
"""People drawn at a time: temporaries stay in the processor's cache."""


def perturb(
    channel: Channel | Sequence[Channel],
    values: npt.ArrayLike,
    generator: np.random.Generator,
    *,
    level: npt.ArrayLike | None = None,
) -> Outputs:
    """Draw one output per person.

    Parameters
    ----------
    channel
        One channel for everybody, or one per level (all with outputs of one form).
    values
        Index of each person's value, 0 … size−1; for sets of items, rows of packed bits.
    generator
        A seeded NumPy generator.
    level
        Index of each person's channel, where there are several.

    Returns
    -------
    Integers (k-RR, LH, IPRR, APRR, numbers), or packed bits, people × bytes (unary encoding, IDUE, sets of items).

    Examples
    --------
    >>> from pldp.mechanisms import channel
    >>> outputs = perturb(channel("oue", 16, 1_000_000), [3, 3, 5], np.random.default_rng(1))
    >>> outputs.shape, outputs.dtype
    ((3, 2), dtype('uint8'))
    """
    channels = [channel] if isinstance(channel, Channel) else list(channel)
    indices = np.asarray(values) if isinstance(channels[0], ItemSet) else _checked_values(values, channels[0].size)
    which = np.zeros(len(indices), np.uint8) if level is None else np.asarray(level)
    if which.shape != indices.shape[:1] or (
        len(which) and not 0 <= int(which.min()) <= int(which.max()) < len(channels)
    ):
        raise SimulationError(f"level must hold one index below {len(channels)} per value")
    responses = [each for each in channels if isinstance(each, RandomizedResponse)]
    if len(responses) == len(channels):
        weights = np.array([each.truth_weight for each in responses], np.uint64)
        return _respond(indices, weights if len(weights) == 1 else weights[which], channels[0].size, generator)
    if len(channels) == 1:
        return _perturb_one(channels[0], indices, generator)
    drawn = [_perturb_one(each, indices[which == place], generator) for place, each in enumerate(channels)]
    if len({part.shape[1:] for part in drawn}) > 1:
        raise SimulationError("channels must have outputs of one form; perturb them one by one")
    outputs = np.empty((len(indices), *drawn[0].shape[1:]), np.result_type(*drawn))
    for place, part in enumerate(drawn):
        outputs[which == place] = part
    return outputs


def perturb_personal(
    mechanism: str, values: npt.ArrayLike, size: int, epsilon: npt.ArrayLike, generator: np.random.Generator
) -> Outputs:
    """Draw one output per person, each with an ε of their own (`"krr"`, `"sue"` or `"oue"`).

    >>> generator = np.random.default_rng(1)
    >>> perturb_personal("krr", [0, 1, 2], 3, [0.5, 1.0, 7.5], generator).dtype
    dtype('uint8')
    """
    indices = _checked_values(values, size)
    budgets = checked_epsilons(epsilon, len(indices))
    if mechanism == "krr":
        return _respond(indices, None, size, generator, epsilon=budgets)
    truth, other = personal_support(mechanism, size, budgets)
    return _unary(indices, size, truth.astype(np.uint64), other.astype(np.uint64), generator)


def _checked_values(values: npt.ArrayLike, size: int) -> npt.NDArray[Any]:
    indices = np.asarray(values)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise SimulationError(f"values must be a flat array of integers, not {indices.dtype} of shape {indices.shape}")
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        raise SimulationError(f"values must be indices from 0 to {size - 1}; some are not")
    return indices.astype(np.min_scalar_type(size - 1), copy=False)


@singledispatch
def _perturb_one(channel: Channel, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:  # noqa: ARG001
    raise SimulationError(f"there is no vectorised sampler for {channel.mechanism}")


@_perturb_one.register
def _(channel: RandomizedResponse, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
    return _respond(values, np.array([channel.truth_weight], np.uint64), channel.size, generator)


@_perturb_one.register
def _(channel: UnaryEncoding, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
    return _unary(values, channel.size, channel.truth_weight, channel.other_weight, generator)


@_perturb_one.register
def _(channel: ValueResponse, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
    return _respond(values, np.array(channel.truth_weights, np.uint64)[values], channel.size, generator)


@_perturb_one.register
def _(channel: NumberChannel, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
    return perturb_numbers(channel, values, generator).astype(np.min_scalar_type(channel.output_count - 1))


def _respond(
    values: npt.NDArray[Any],
    truth: npt.NDArray[np.uint64] | None,
    size: int,
    generator: np.random.Generator,
    *,
    epsilon: npt.NDArray[np.float64] | None = None,
) -> Outputs:
    """k-RR: keep the value if a 53-bit number is below the truth weight, else take another value uniformly."""
    outputs = np.empty(len(values), np.min_scalar_type(size - 1))
    draws = np.promote_types(outputs.dtype, np.uint16)  # NumPy draws bounded bytes three times slower
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        own = values[part]
        if epsilon is not None:
            threshold = personal_support("krr", size, epsilon[part])[0].astype(np.uint64)
        elif truth is not None:
            threshold = truth if len(truth) == 1 else truth[part]
        keep = (generator.bit_generator.random_raw(len(own)) >> np.uint64(11)) < threshold
        other = generator.integers(0, size - 1, len(own), dtype=draws).astype(outputs.dtype, copy=False)
        other += other >= own
        np.copyto(other, own, where=keep)
        outputs[part] = other
    return outputs


@_perturb_one.register
def _respond_by_item(channel: ItemResponse, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
    """IPRR: keep the value if a 53-bit number is below the common weight, else look up whose weight it falls into."""
    outputs = np.empty(len(values), np.min_scalar_type(channel.size - 1))
    ends = np.cumsum(np.array([channel.kept_weight, *channel.other_weights], np.uint64))[1:]
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        numbers = generator.bit_generator.random_raw(len(values[part])) >> np.uint64(11)
        drawn = numbers >= np.uint64(channel.kept_weight)
        outputs[part] = values[part]
        outputs[part][drawn] = np.searchsorted(ends, numbers[drawn], side="right")
    return outputs


@_perturb_one.register
def _hash(channel: LinearHashing, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
    """LH: a random vector, the value's bucket under it, and k-RR on the bucket."""
    base = channel.buckets
    index = generator.integers(0, base**channel.digits, len(values), dtype=np.uint64)
    bucket = np.zeros(len(values), np.uint64)
    vector, digits = index.copy(), values.astype(np.uint64)
    for _ in range(channel.digits):
        bucket += (vector % base) * (digits % base)
        vector //= base
        digits //= base
    reported = _perturb_one(channel.bucket_channel, (bucket % base).astype(np.uint8), generator)
    outputs = index * np.uint64(base) + reported
    return outputs.astype(np.min_scalar_type(channel.output_count - 1), copy=False)


def _unary(
    values: npt.NDArray[Any],
    size: int,
    truth: int | npt.NDArray[np.uint64],
    other: int | npt.NDArray[np.uint64],
    generator: np.random.Generator,
) -> npt.NDArray[np.uint8]:
    """Unary encoding: packed rows of noise bits, then each row's true bit drawn again with its own weight."""
    length = (size + 7) // 8
    rows = np.empty((len(values), length), np.uint8)
    step = max(1, CHUNK * 8 // length)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        own = values[part]
        if isinstance(other, int):
            noise = bernoulli_words(one_weight(other), -(-len(own) * length // 8), generator)
            rows[part] = noise.view(np.uint8)[: len(own) * length].reshape(-1, length)
        else:
            words = -(-length // 8)
            noise = bernoulli_words(word_weights(np.repeat(other[part], words)), len(own) * words, generator)
            rows[part] = noise.view(np.uint8).reshape(-1, words * 8)[:, :length]
        weight = np.uint64(truth) if isinstance(truth, int) else truth[part]
        _set_true_bits(rows[part], own, (generator.bit_generator.random_raw(len(own)) >> np.uint64(32)) < weight)
    if size % 8:
        rows[:, -1] &= (1 << size % 8) - 1
    return rows


@_perturb_one.register
def _unary_by_item(
    channel: ItemUnaryEncoding, values: npt.NDArray[Any], generator: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """IDUE: rows of noise bits with a weight per bit, then each row's true bit drawn again with its own weight."""
    words = -(-channel.output_bytes // 8)
    weights = np.zeros(64 * words, np.uint32)
    weights[: channel.size] = channel.other_weights
    digits = np.array([np.packbits(weights >> digit & 1, bitorder="little").view(np.uint64) for digit in range(BITS)])
    truth = np.array(channel.truth_weights, np.uint64)
    rows = np.empty((len(values), channel.output_bytes), np.uint8)
    step = max(1, CHUNK // words)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        own = values[part]
        # Word w of every row has the same 64 weights.
        noise = bernoulli_words(lambda digit, place: digits[digit][place % words], len(own) * words, generator)
        rows[part] = noise.view(np.uint8).reshape(-1, words * 8)[:, : channel.output_bytes]
        ones = (generator.bit_generator.random_raw(len(own)) >> np.uint64(32)) < truth[own]
        _set_true_bits(rows[part], own, ones)
    return rows


def _set_true_bits(rows: npt.NDArray[np.uint8], values: npt.NDArray[Any], ones: npt.NDArray[np.bool_]) -> None:
    place = (np.arange(len(rows)), values >> 3)
    mask = np.left_shift(np.uint8(1), (values & 7).astype(np.uint8))
    rows[place] = (rows[place] & ~mask) | (mask * ones)


_perturb_one.register(ItemSet, perturb_item_sets)
