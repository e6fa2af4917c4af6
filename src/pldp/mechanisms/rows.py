"""Rows of packed outputs over arrays: one bit per value, or the places of the ones.

`rows` are reports × bytes, as they come; `cells` are the distinct rows, bytes × rows, so that each pass reads memory in
order.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.output import Bits, Places, TieredBits

FloatArray = npt.NDArray[np.float64]
ByteArray = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

BIT_OF_BYTE: Final[FloatArray] = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.float64)
"""Row b: the eight bits of byte b, lowest first."""

_ROWS_AT_ONCE: Final = 1 << 14
_FEW_ROWS: Final = 64  # no more are counted bit by bit: an addition takes some microseconds however short arrays are
_BLOCK_BYTES: Final = 1 << 20  # of rows that are added at a time: they stay in the processor's cache


def _ones_by_table(words: npt.NDArray[Any]) -> ByteArray:
    return np.asarray(_ONES_OF_BYTE[words[..., None].view(np.uint8)].sum(axis=-1, dtype=np.uint8))


def _ones_by_processor(words: npt.NDArray[Any]) -> ByteArray:
    return np.asarray(np.bitwise_count(words), np.uint8)


_ONES_OF_BYTE: Final = BIT_OF_BYTE.sum(axis=1).astype(np.uint8)

popcount: Final[Callable[[npt.NDArray[Any]], ByteArray]] = (
    _ones_by_processor if hasattr(np, "bitwise_count") else _ones_by_table
)
"""How many bits of each word are 1."""


def words_of(rows: ByteArray) -> npt.NDArray[Any]:
    """Return rows as little-endian words, the widest of 1, 2, 4 or 8 bytes that they can be cut into."""
    return np.ascontiguousarray(rows).view(f"<u{min(8, rows.shape[1] & -rows.shape[1])}")


def ones_of(rows: ByteArray) -> IntArray:
    """Return how many bits of each row are 1."""
    total = np.zeros(len(rows), np.int64)
    for column in popcount(words_of(rows)).T:  # few long columns: a sum along short rows takes ten times as long
        total += column
    return total


def _count_bits(rows: ByteArray) -> IntArray:
    """Return how often each bit is 1: sums count once, carries twice, their carries four times.

    Klarqvist, Muła, Lemire, "Efficient Computation of Positional Population Counts Using SIMD Instructions".
    """
    ones, weight = np.zeros(8 * rows.shape[1], np.int64), 1
    while len(rows):
        sums, rows = _add_rows(rows)
        ones += weight * np.unpackbits(sums, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        weight *= 2
    return ones


def _add_rows(rows: ByteArray) -> tuple[ByteArray, ByteArray]:
    """Return few rows of sums, and all carries: bits a, b, c give the sum a ⊕ b ⊕ c and the carry ab ∨ (a ⊕ b)c."""
    carries = [rows[:0]]
    while len(rows) > _FEW_ROWS:
        third = len(rows) // 3
        first, second, last = rows[: 3 * third].reshape(3, third, -1)
        odd = first ^ second
        carries.append(first & second | odd & last)
        rows = np.concatenate([odd ^ last, rows[3 * third :]])
    return rows, np.concatenate(carries)


class BitRows:
    """Rows with one bit per value."""

    def __init__(self, form: Bits) -> None:
        self.form = form

    def admitted(self, rows: ByteArray) -> npt.NDArray[np.bool_]:
        """Tell which rows are outputs: `Bits.admits` for many."""
        spare = -self.form.length % 8
        fine = rows[:, -1] < 1 << (8 - spare) if spare else np.ones(len(rows), bool)
        if self.form.ones is not None:
            fine = fine & (ones_of(rows) == self.form.ones)
        return np.asarray(fine)

    def count(self, rows: ByteArray) -> IntArray:
        """Return how often each value's bit is 1."""
        step = max(_FEW_ROWS, _BLOCK_BYTES // rows.shape[1])
        blocks = (rows[start : start + step] for start in range(0, len(rows), step))
        return sum(map(_count_bits, blocks), np.zeros(8 * rows.shape[1], np.int64))[: self.form.length]

    def expanded(self, rows: ByteArray) -> npt.NDArray[np.float32]:
        """Return one number per bit, rows × values."""
        return np.unpackbits(rows, axis=1, count=self.form.length, bitorder="little").astype(np.float32)

    def sums(self, numbers: FloatArray, cells: ByteArray) -> FloatArray:
        """Add up the numbers whose bit is 1, for every cell: eight bits per table look-up."""
        padded = np.zeros(8 * len(cells))
        padded[: len(numbers)] = numbers
        tables = padded.reshape(-1, 8) @ BIT_OF_BYTE.T
        total = np.zeros(cells.shape[1])
        for table, column in zip(tables, cells, strict=True):
            total += table[column]
        return total

    def totals(self, weights: FloatArray, cells: ByteArray) -> FloatArray:
        """Add up the weights of the cells whose bit is 1, for every value: eight bits per bin count."""
        sums = [np.bincount(column, weights=weights, minlength=256) @ BIT_OF_BYTE for column in cells]
        return np.concatenate(sums)[: self.form.length]

    def pairs(self, weights: FloatArray, cells: ByteArray) -> FloatArray:
        """Add up the weights of the cells in which both bits are 1, for every two values."""
        scale = np.sqrt(weights)
        matrix = np.zeros((self.form.length, self.form.length))
        for start in range(0, cells.shape[1], _ROWS_AT_ONCE):
            rows = np.ascontiguousarray(cells[:, start : start + _ROWS_AT_ONCE].T)
            bits = self.expanded(rows) * scale[start : start + len(rows), None]
            matrix += bits.T @ bits
        return matrix

    def pair_counts(self, rows: ByteArray, counts: IntArray) -> FloatArray:
        """Return in how many reports both bits are 1, for every two values, exactly: `rows` came `counts` times each.

        Sums of a block stay below 2²⁴, where single precision is exact, or are made in double precision.
        """
        matrix = np.zeros((self.form.length, self.form.length))
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            bits, own = self.expanded(rows[start : start + _ROWS_AT_ONCE]), counts[start : start + _ROWS_AT_ONCE]
            if int(own.sum()) >= 1 << 24:
                bits = bits.astype(np.float64)
            weighed = bits if own.max() == 1 else bits * own[:, None].astype(bits.dtype)
            matrix += bits.T @ weighed
        return matrix


class TieredRows(BitRows):
    """Rows whose ones stand in one tier of places."""

    form: TieredBits

    def admitted(self, rows: ByteArray) -> npt.NDArray[np.bool_]:
        """Tell where a tier has all the ones, and as many as it must."""
        found = ones_of(rows)
        fine = np.zeros(len(rows), bool)
        for mask, ones in self.form.tiers:
            beyond = ~np.frombuffer(self.form.pack(mask), np.uint8)
            fine |= (found == ones) & ~(rows & beyond).any(axis=1)
        return fine


class PlaceRows(BitRows):
    """Rows with the places of the ones."""

    form: Places

    def places(self, rows: ByteArray) -> IntArray:
        """Return the places, rows × ones."""
        parts = rows.reshape(len(rows), self.form.ones or 0, self.form.width).astype(np.int64)
        return np.asarray(parts @ (256 ** np.arange(self.form.width)))

    def admitted(self, rows: ByteArray) -> npt.NDArray[np.bool_]:
        """Tell where places rise and stay below the length."""
        places = self.places(rows)
        return np.asarray((places[:, -1] < self.form.length) & (np.diff(places, axis=1) > 0).all(axis=1))

    def count(self, rows: ByteArray) -> IntArray:
        """Return how often each place came."""
        return np.bincount(self.places(rows).ravel(), minlength=self.form.length)

    def expanded(self, rows: ByteArray) -> npt.NDArray[np.float32]:
        """Return one number per value."""
        bits = np.zeros((len(rows), self.form.length), np.float32)
        np.put_along_axis(bits, self.places(rows), 1, axis=1)
        return bits

    def sums(self, numbers: FloatArray, cells: ByteArray) -> FloatArray:
        """Add up the numbers at the places, for every cell."""
        return np.asarray(numbers[self.places(cells.T)].sum(axis=1))

    def totals(self, weights: FloatArray, cells: ByteArray) -> FloatArray:
        """Add up the weights of the cells with a place, for every value."""
        places = self.places(cells.T)
        counted = np.bincount(places.ravel(), np.repeat(weights, places.shape[1]), minlength=self.form.length)
        return np.asarray(counted, np.float64)


def rows_of(form: Bits) -> BitRows:
    """Return what reads rows of a form."""
    if isinstance(form, Places):
        return PlaceRows(form)
    return TieredRows(form) if isinstance(form, TieredBits) else BitRows(form)
