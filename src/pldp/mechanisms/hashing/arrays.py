"""Linear hashing over arrays: one fast transform finds the support of all values."""

from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.mechanisms.arrays import Cells, FloatArray, IntArray, LabelArrays, Outputs, Values, WordArray
from pldp.mechanisms.hashing.channel import LinearHashing
from pldp.mechanisms.response.arrays import ResponseArrays

_ROWS_AT_ONCE: Final = 1 << 14


class _HashArrays(LabelArrays):
    """LH: cell (a, b) has L_cj = wrong-bucket probability, plus the difference where ⟨a, j⟩ = b."""

    channel: LinearHashing

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Draw a random vector, the value's bucket under it, and k-RR on the bucket."""
        channel = self.channel
        index = generator.integers(0, channel.buckets**channel.digits, len(values), dtype=np.uint64)
        bucket = self.bucket(index, values).astype(np.uint8)
        reported = ResponseArrays(channel.bucket_channel).draw_many(bucket, generator)
        outputs = index * np.uint64(channel.buckets) + reported
        return outputs.astype(np.min_scalar_type(channel.form.count - 1), copy=False)

    def bucket(self, index: WordArray, values: Values) -> WordArray:
        """Return ⟨a, x⟩ mod g of each person's vector and value."""
        base = self.channel.buckets
        total = np.zeros(len(values), np.uint64)
        vector, digits = index.copy(), values.astype(np.uint64)
        for _ in range(self.channel.digits):
            total += (vector % base) * (digits % base)
            vector //= base
            digits //= base
        return total % np.uint64(base)

    def drawn_blindly(self, counts: npt.NDArray[Any]) -> IntArray:
        """Count the vectors: each is as likely as any other."""
        return np.asarray(counts.reshape(-1, self.channel.buckets).sum(axis=1))

    def log_ceiling(self, cells: Cells) -> FloatArray:
        """A given vector with the value's own bucket."""
        count = self.channel.form.count
        return np.broadcast_to(np.log((self.low + self.step) * self.channel.buckets / count), count)

    @cached_property
    def low(self) -> float:
        return float(self.channel.bucket_channel.other_support)

    @cached_property
    def step(self) -> float:
        return float(self.channel.bucket_channel.truth_support) - self.low

    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        vector, bucket = np.divmod(outputs.astype(np.int64), self.channel.buckets)
        return np.asarray(self.buckets_of(vector) == bucket[:, None], np.float32)

    def support(self, counts: npt.NDArray[Any]) -> FloatArray:
        return np.asarray(np.rint(self.support_total(counts.astype(np.float64), None)))

    def _transform(self, table: FloatArray, sign: int) -> FloatArray:
        """Replace vector digits by value digits (sign +1) or back (−1), one digit at a time.

        After digit i: out[…, x_i, …, s] = Σ_{a_i} in[…, a_i, …, s ± a_i x_i mod g]. Cost t·g·(number of outputs).
        """
        base = self.channel.buckets
        digit = np.arange(base)
        shape = (base,) * (self.channel.digits + 1)
        table = table.reshape(shape)
        for axis in range(self.channel.digits):
            moved = np.moveaxis(table, axis, -2)
            result = np.zeros_like(moved, order="C")
            for a in range(base):
                result += moved[..., a, :][..., (digit[None, :] + sign * a * digit[:, None]) % base]
            table = np.moveaxis(result, -2, axis)
        return np.ascontiguousarray(table).reshape(-1)

    def support_total(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Σ_a weights[a, ⟨a, x⟩] of every value x, by one transform."""
        return self._transform(weights, 1).reshape(-1, self.channel.buckets)[: self.channel.size, 0].copy()

    def support_sum(self, numbers: FloatArray, cells: Cells) -> FloatArray:
        """Σ_{x: ⟨a, x⟩ = b} numbers_x of every output (a, b), by one transform."""
        table = np.zeros((self.channel.form.count // self.channel.buckets, self.channel.buckets))
        table[: len(numbers), 0] = numbers
        return self._transform(table, -1)

    def buckets_of(self, vectors: IntArray) -> IntArray:
        """Return ⟨a, x⟩ of these vectors and all values, vectors × values."""
        base = self.channel.buckets
        values = np.arange(self.channel.size)
        total = np.zeros((len(vectors), len(values)), np.int64)
        for place in range(self.channel.digits):
            total += (vectors // base**place % base)[:, None] * (values // base**place % base)[None, :]
        return np.asarray(total % base)

    def pair_support(self, weights: FloatArray, cells: Cells) -> FloatArray:
        size, base = self.channel.size, self.channel.buckets
        scale = np.sqrt(weights).reshape(-1, base)
        matrix = np.zeros((size, size))
        step = max(1, _ROWS_AT_ONCE // base)
        for start in range(0, len(scale), step):
            buckets = self.buckets_of(np.arange(start, min(start + step, len(scale))))
            for bucket in range(base):
                supported = (buckets == bucket) * scale[start : start + step, bucket, None]
                matrix += supported.T @ supported
        return matrix

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Any two values share the bucket once in g, and so do three, unless they lie on one line over the field.

        With v the true value: Pr(i, j | v) = 1/g² if i−v and j−v are independent; p/g if j−v is a multiple of i−v;
        p/g also if v is one of the two.
        """
        base = self.channel.buckets
        generic = 1 / base**2
        gain = float(self.channel.truth_support) / base - generic
        some = shares[chosen]
        padded = np.zeros(base**self.channel.digits)
        padded[: len(shares)] = shares
        joint = np.full((len(some), len(some)), generic)
        joint += gain * (some[:, None] + some[None, :])
        for factor in range(2, base):
            # v = i + c(j − i) for c = 2 … g−1 runs through the other points of the line through i and j.
            point = np.zeros(joint.shape, np.int64)
            for power in base ** np.arange(self.channel.digits):
                digit = chosen // power % base
                point += ((digit[:, None] + factor * (digit[None, :] - digit[:, None])) % base) * power
            joint += gain * padded[point]
        return joint


FORMS: Final = {LinearHashing: _HashArrays}
