"""Sets of items over arrays: packed rows of bits, one column of words per item where that is faster."""

from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import TallyError
from pldp.mechanisms.arrays import ByteArray, ChannelArrays, FloatArray, Outputs, WordArray
from pldp.mechanisms.output import BIT_TOTAL
from pldp.mechanisms.sets.channel import ItemSet
from pldp.mechanisms.unary.arrays import DigitMask, bernoulli_words, word_weights

_BLOCK: Final = 1 << 15
"""Words drawn at a time: temporaries stay in the processor's cache."""

_SWAPS: Final = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))


def transpose_bits(rows: ByteArray) -> ByteArray:
    """Return the bits of a matrix of packed bytes with rows and columns exchanged (both padded to whole bytes).

    Blocks of 8 × 8 bits are 64-bit words; each is transposed by three exchanges of its quarters (Warren, "Hacker's
    Delight", 2002).

    >>> transpose_bits(np.array([[0b01], [0b11]], np.uint8))[:2].tolist()
    [[3], [2]]
    """
    length = -(-len(rows) // 8)
    padded = np.zeros((length * 8, rows.shape[1]), np.uint8)
    padded[: len(rows)] = rows
    words = np.ascontiguousarray(padded.reshape(length, 8, rows.shape[1]).transpose(2, 0, 1)).view("<u8")[:, :, 0]
    for shift, mask in _SWAPS:
        moved = (words ^ words >> np.uint64(shift)) & np.uint64(mask)
        words ^= moved ^ moved << np.uint64(shift)
    blocks = words[:, :, None].view(np.uint8)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(rows.shape[1] * 8, length)


def bit_columns(rows: ByteArray, size: int) -> WordArray:
    """Turn packed rows (reports × bytes) of so many items into one vector of 64-bit words per item.

    >>> bit_columns(np.array([[0b101], [0b100]], np.uint8), 3).tolist()
    [[1], [0], [3]]
    """
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != -(-size // 8):
        needed = f"rows must be bytes, reports × {-(-size // 8)} for {size} items"
        raise TallyError(f"{needed}, not {rows.dtype} of shape {rows.shape}")
    if size % 8 and len(rows) and int(rows[:, -1].max()) >> size % 8:
        raise TallyError(f"rows must hold {size} bits each; bits beyond that must be 0")
    columns = transpose_bits(rows)[:size]
    padded = np.zeros((size, -(-columns.shape[1] // 8) * 8), np.uint8)
    padded[:, : columns.shape[1]] = columns
    return padded.view("<u8")


class SetArrays(ChannelArrays):
    """One bit per item, each with its own p and q."""

    channel: ItemSet

    @cached_property
    def truth_support(self) -> FloatArray:
        """p of each item: how often a present one is reported."""
        return np.array(self.channel.kept) / BIT_TOTAL

    @cached_property
    def other_support(self) -> FloatArray:
        """q of each item: how often an absent one is reported."""
        return np.array(self.channel.raised) / BIT_TOTAL

    @cached_property
    def bit_weights(self) -> FloatArray:
        """What a 0 and a 1 (columns) of each item (rows) count: their mean is 1 for a present item, 0 for an absent."""
        p, q = self.truth_support, self.other_support
        return np.stack([-q / (p - q), (1 - q) / (p - q)], axis=1)

    def second_moment(self, shares: FloatArray) -> FloatArray:
        """Return the mean of the squared weight of each item's bit if the items have these shares."""
        p, q = self.truth_support, self.other_support
        present, absent = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
        return np.asarray(shares * (1 + present) + (1 - shares) * absent)

    def checked_values(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Values are rows of packed bits."""
        return np.asarray(values)

    def draw_many(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
        """Draw one report per set: every bit with the weights that devices use."""
        channel = self.channel
        columns = bit_columns(values, channel.size)
        kept, raised = np.array(channel.kept, np.uint64), np.array(channel.raised, np.uint64)
        words = columns.shape[1]
        step = max(1, _BLOCK // max(1, words))
        for start in range(0, channel.size, step):
            part = slice(start, start + step)
            own, low = columns[part], word_weights(np.repeat(raised[part], words))
            differ = word_weights(np.repeat(raised[part] ^ kept[part], words))
            drawn = bernoulli_words(_thresholds(own.ravel(), low, differ), own.size, generator).reshape(own.shape)
            always = kept[part] == BIT_TOTAL  # 2³² itself has no digit among the 32
            drawn[always] |= own[always]
            own[:] = drawn
        return np.ascontiguousarray(transpose_bits(columns.view(np.uint8))[: len(values)])


def _thresholds(true: WordArray, low: DigitMask, differ: DigitMask) -> DigitMask:
    """Bits have the kept weight of their item where the truth is 1, the raised one where it is 0."""
    return lambda digit, place: low(digit, place) ^ (differ(digit, place) & true[place])


FORMS: Final = {ItemSet: SetArrays}
