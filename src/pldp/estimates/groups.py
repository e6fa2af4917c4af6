"""The vectorised twin of a channel: the reports of one group of people who used the same channel.

A group knows two things about its reports. *Support*: how many reports count for each value, with mean
n·(q + f·(p−q)); this gives unbiased shares and their covariance. *Likelihood*: its distinct outputs are cells c with
counts N_c, and the probability of a cell is linear in the shares, Pr(c) ∝ Σ_j L_cj f_j, where L_cj takes two values:
`low`, and `low + step` where cell c supports value j. The matrix is never built: `forward` multiplies by L and
`backward` by its transpose, each in time linear in the size of the tally.

Where budgets differ between values, p and q are arrays, one number per value, and so are low and step: of the value for
unary encoding (IDUE) and for responses by source (APRR), of the cell for IPRR.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, singledispatch
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.mechanisms import (
    CategoricalChannel,
    Channel,
    ItemResponse,
    ItemUnaryEncoding,
    LinearHashing,
    PureChannel,
    RandomizedResponse,
    SupportChannel,
    UnaryEncoding,
    ValueResponse,
)
from pldp.mechanisms.response.channel import TOTAL
from pldp.tallies import BitCounts, Counts, OutputCounts
from pldp.tallies.counts import BIT_OF_BYTE

FloatArray = npt.NDArray[np.float64]
Numbers = float | FloatArray
"""One number for all values, or an array with one per value."""

LARGEST_DENSE = 4096
"""Most values for which a k × k covariance is built."""

_ROWS_AT_ONCE = 1 << 14


class Group(ABC):
    """Reports of one channel.

    Attributes
    ----------
    channel
        The channel that made them.
    reports
        Their number.
    cells
        Counts of the distinct outputs, in the order of `forward`'s result.
    """

    channel: CategoricalChannel
    reports: int

    has_likelihood: ClassVar[bool] = True

    separable: ClassVar[bool] = False
    """Whether every cell belongs to one value, so that the likelihood is a sum with one term per value."""

    @abstractmethod
    def support(self) -> FloatArray:
        """Return how many reports support each value."""

    @property
    @abstractmethod
    def cells(self) -> FloatArray:
        """Counts of the distinct outputs."""

    @property
    @abstractmethod
    def low(self) -> Numbers:
        """L_cj where cell c does not support value j."""

    @property
    @abstractmethod
    def step(self) -> Numbers:
        """What L_cj is larger where cell c supports value j."""

    @abstractmethod
    def support_sum(self, numbers: FloatArray) -> FloatArray:
        """Return, for every cell, the sum of the numbers of the values that it supports."""

    @abstractmethod
    def support_total(self, weights: FloatArray) -> FloatArray:
        """Return, for every value, the sum of the weights of the cells that support it."""

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return Σ_j L_cj f_j of every cell (relative likelihood: cells may differ by a constant factor)."""
        return np.asarray(self.low * shares.sum() + self.step * self.support_sum(shares))

    def backward(self, weights: FloatArray) -> FloatArray:
        """Return Σ_c w_c L_cj of every value."""
        return np.asarray(self.low * weights.sum() + self.step * self.support_total(weights))

    def ones(self) -> npt.NDArray[np.intp] | None:
        """Return, for every cell, the number of supported values where the common factor of L depends on it."""
        return None

    def packed_rows(self) -> npt.NDArray[np.uint8]:
        """Return one packed row per report, for channels whose outputs are bits."""
        raise EstimateError(f"outputs of {self.channel.mechanism} are not bits")

    @abstractmethod
    def support_pairs(self, weights: FloatArray) -> FloatArray:
        """Return, for every two values, the sum of the weights of the cells that support both, k × k."""

    def observed_information(self, shares: FloatArray) -> FloatArray:
        """Return the observed information of the shares: Σ_c N_c L_c L_cᵀ / (L_c·f)², k × k."""
        return self._information(self.cells / self.forward(shares) ** 2)

    def information(self, shares: FloatArray) -> FloatArray:
        """Return the information that standard errors rest on: with expected counts n·Pr(c) where cells can be listed.

        Expected counts are never 0, so that an output that never came does not pass for certainty.
        """
        chance = self.forward(shares)
        chance[chance == 0] = 0.5 / self.reports  # an impossible output counts as half a report, not as certainty
        return self._information(self.reports / (chance * chance.sum()))

    def _information(self, weights: FloatArray) -> FloatArray:
        return self.weighted_products(weights * self.low**2, weights * self.low * self.step, weights * self.step**2)

    def weighted_products(self, constant: FloatArray, cross: FloatArray, square: FloatArray) -> FloatArray:
        """Return Σ_c (constant_c 11ᵀ + cross_c (1zᵀ + z1ᵀ) + square_c zzᵀ), z marking the values that c supports."""
        _require_dense(self.channel.size)
        mixed = self.support_total(cross)
        return np.asarray(constant.sum() + mixed[:, None] + mixed[None, :] + self.support_pairs(square))

    @abstractmethod
    def _joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Return Pr(a report supports both i and j) for chosen values i ≠ j; the diagonal is ignored."""

    @cached_property
    def _supports(self) -> tuple[Numbers, Numbers, Numbers]:
        """p, q and p − q."""
        channel = self.channel
        if isinstance(channel, PureChannel):
            p, q = channel.truth_support, channel.other_support
            return float(p), float(q), float(p - q)
        if not isinstance(channel, SupportChannel):
            raise EstimateError(f"supports of {channel.mechanism} depend on the true value")
        pairs = zip(channel.truth_supports, channel.other_supports, strict=True)
        table = np.array([(float(p), float(q), float(p - q)) for p, q in pairs])
        return table[:, 0], table[:, 1], table[:, 2]

    @property
    def truth_support(self) -> Numbers:
        """The channel's p."""
        return self._supports[0]

    @property
    def other_support(self) -> Numbers:
        """The channel's q."""
        return self._supports[1]

    @property
    def contrast(self) -> Numbers:
        """The channel's p − q."""
        return self._supports[2]

    def chance_support(self) -> FloatArray:
        """Return how many reports support each value by chance alone; where chance gives none, how many do at all."""
        by_chance = np.broadcast_to(self.reports * self.other_support, self.channel.size)
        return np.where(by_chance > 0, by_chance, self.support())

    def mean_variance(self) -> float:
        """Return the mean variance of the shares at equal shares 1/k; it does not depend on the reports."""
        size = self.channel.size
        return float(self.variance(np.full(size, 1 / size)).mean())

    def shares(self) -> FloatArray:
        """Return the unbiased shares (support/n − q)/(p − q)."""
        if self.reports == 0:
            raise EstimateError("a group without reports has no shares")
        return np.asarray((self.support() / self.reports - self.other_support) / self.contrast)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the unbiased shares if these were true, for a random sample of people."""
        support = self.other_support + np.clip(shares, 0.0, 1.0) * self.contrast
        return np.asarray(support * (1 - support) / (self.reports * self.contrast**2))

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return the covariance of the unbiased shares if these were true, of all values or of the chosen ones."""
        if chosen is None:
            chosen = np.arange(len(shares))
        _require_dense(len(chosen))
        feasible = np.clip(shares, 0.0, 1.0)
        support = _all(self.other_support + feasible * self.contrast, len(shares))[chosen]
        contrast = _all(self.contrast, len(shares))[chosen]
        covariance = self._joint_support(feasible, chosen) - np.outer(support, support)
        np.fill_diagonal(covariance, support * (1 - support))
        return np.asarray(covariance / (self.reports * np.outer(contrast, contrast)))

    def log_likelihood(self, shares: FloatArray) -> float:
        """Return Σ_c N_c log(L_c·f), up to a constant that does not depend on the shares."""
        seen = self.cells > 0
        return float(self.cells[seen] @ np.log(self.forward(shares)[seen]))


class ResponseGroup(Group):
    """k-RR: cell y has L_yj = q, plus p − q where j = y."""

    separable = True

    def __init__(self, channel: RandomizedResponse | ItemResponse | ValueResponse, counts: OutputCounts) -> None:
        self.channel = channel
        self.reports = counts.reports
        self._counts = counts.counts.astype(np.float64)

    def support(self) -> FloatArray:
        """A report supports the value it names."""
        return self._counts

    @property
    def cells(self) -> FloatArray:
        """Counts of the named values."""
        return self._counts

    @property
    def low(self) -> Numbers:
        """q."""
        return self.other_support

    @property
    def step(self) -> Numbers:
        """p − q."""
        return self.contrast

    def support_sum(self, numbers: FloatArray) -> FloatArray:
        """A cell supports one value."""
        return numbers

    def support_total(self, weights: FloatArray) -> FloatArray:
        """A value is supported by one cell."""
        return weights

    def support_pairs(self, weights: FloatArray) -> FloatArray:
        """No cell supports two values."""
        return np.diag(weights)

    def _joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:  # noqa: ARG002
        return np.zeros((len(chosen), len(chosen)))


class ItemResponseGroup(ResponseGroup):
    """IPRR: cell y has L_yj = q_y, plus S where j = y."""

    def backward(self, weights: FloatArray) -> FloatArray:
        """Here low belongs to the cell, not to the value."""
        return np.asarray(self.low @ weights + self.step * weights)


class _ByValue(Group):
    """Groups whose low and step belong to the value: L_cj = low_j + step_j where cell c supports j."""

    def forward(self, shares: FloatArray) -> FloatArray:
        return np.asarray(self.low @ shares + self.support_sum(self.step * shares))

    def _information(self, weights: FloatArray) -> FloatArray:
        _require_dense(self.channel.size)
        low, step = np.asarray(self.low), np.asarray(self.step)
        mixed = np.outer(low, step * self.support_total(weights))
        square = np.outer(low, low) * weights.sum() + np.outer(step, step) * self.support_pairs(weights)
        return np.asarray(square + mixed + mixed.T)


class ValueResponseGroup(_ByValue, ResponseGroup):
    """APRR: cell y has L_yj = q_j, plus p_j − q_j where j = y; what all values add to every cell is s = Σ q_j f_j.

    So f_y = (m_y − s)/(p_y − q_y) of the outputs' shares m, and Σ q_y f_y = s gives s = v·m with
    v = q/(p−q) / (1 + Σ q/(p−q)).
    """

    separable = False

    def __init__(self, channel: ValueResponse, counts: OutputCounts) -> None:
        super().__init__(channel, counts)
        self._replaced = np.array(channel.other_weights) / TOTAL
        self._gain = np.array(channel.truth_weights) / TOTAL - self._replaced
        parts = self._replaced / self._gain
        self._parts = parts / (1 + parts.sum())

    @property
    def low(self) -> FloatArray:
        """q of each value as a source."""
        return self._replaced

    @property
    def step(self) -> FloatArray:
        """p − q of each value as a source."""
        return self._gain

    def chance_support(self) -> FloatArray:
        """All values get as many replacements of others, their own part left out."""
        replaced = self.reports * (self._replaced @ np.full(len(self._replaced), 1 / len(self._replaced)))
        return np.where(replaced > 0, replaced, self.support())

    def shares(self) -> FloatArray:
        """Return the unbiased shares (m − s)/(p − q)."""
        if self.reports == 0:
            raise EstimateError("a group without reports has no shares")
        named = self._counts / self.reports
        return np.asarray((named - self._parts @ named) / self._gain)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the diagonal of the covariance without the rest of it."""
        named = self.forward(np.clip(shares, 0.0, 1.0))
        spread = named * (1 - 2 * self._parts) + named @ self._parts**2
        return np.asarray((spread - (named - self._parts @ named) ** 2) / (self.reports * self._gain**2))

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return A(diag m − mmᵀ)Aᵀ/n of the inverse channel A = diag(1/(p−q))(I − 1vᵀ)."""
        if chosen is None:
            chosen = np.arange(len(shares))
        _require_dense(len(chosen))
        named = self.forward(np.clip(shares, 0.0, 1.0))
        mean = (named - self._parts @ named)[chosen]
        shared = (named * self._parts)[chosen]
        products = np.diag(named[chosen]) - shared[:, None] - shared[None, :] + named @ self._parts**2
        gain = self._gain[chosen]
        return np.asarray((products - np.outer(mean, mean)) / (self.reports * np.outer(gain, gain)))


class UnaryGroup(Group):
    """Unary encoding: row z has L_zj = p/q where bit j is 1, else (1−p)/(1−q), times what all values share."""

    def __init__(self, channel: UnaryEncoding | ItemUnaryEncoding, counts: BitCounts) -> None:
        self.channel = channel
        self.reports = counts.reports
        self._ones = counts.ones.astype(np.float64)
        self._row_counts = counts.pattern_counts
        self.has_likelihood = counts.patterns is not None  # type: ignore[misc] # known only from the counts
        # Byte by byte, so that each pass reads memory in order.
        self._bytes = None if counts.patterns is None else np.ascontiguousarray(counts.patterns.T)

    def support(self) -> FloatArray:
        """A report supports the values whose bit is 1."""
        return self._ones

    @property
    def _rows(self) -> npt.NDArray[np.uint8]:
        if self._bytes is None:
            raise EstimateError("the likelihood of unary reports needs whole rows: tally them with patterns")
        return self._bytes

    @property
    def cells(self) -> FloatArray:
        """Counts of the distinct rows."""
        if self._row_counts is None:
            raise EstimateError("the likelihood of unary reports needs whole rows: tally them with patterns")
        return self._row_counts.astype(np.float64)

    @property
    def low(self) -> Numbers:
        """(1−p)/(1−q)."""
        return (1 - self.truth_support) / (1 - self.other_support)

    @property
    def step(self) -> Numbers:
        """p/q − (1−p)/(1−q)."""
        return self.truth_support / self.other_support - self.low

    def support_sum(self, numbers: FloatArray) -> FloatArray:
        """Add up the numbers whose bit is 1, eight bits per table look-up."""
        padded = np.zeros(8 * len(self._rows))
        padded[: len(numbers)] = numbers
        tables = padded.reshape(-1, 8) @ BIT_OF_BYTE.T
        total = np.zeros(self._rows.shape[1])
        for table, column in zip(tables, self._rows, strict=True):
            total += table[column]
        return total

    def support_total(self, weights: FloatArray) -> FloatArray:
        """Add up the rows whose bit is 1, eight bits per bin count."""
        sums = [np.bincount(column, weights=weights, minlength=256) @ BIT_OF_BYTE for column in self._rows]
        return np.concatenate(sums)[: self.channel.size]

    def ones(self) -> npt.NDArray[np.intp]:
        """Count the ones of every row: q^ones (1−q)^(k−ones) is common to all values, but not to all levels."""
        counts = BIT_OF_BYTE.sum(axis=1).astype(np.intp)
        total = np.zeros(self._rows.shape[1], np.intp)
        for column in self._rows:
            total += counts[column]
        return total

    def information(self, shares: FloatArray) -> FloatArray:
        """Rows cannot be listed, so the observed information has to do; two bits of every kind are seen soon."""
        return self.observed_information(shares)

    def packed_rows(self) -> npt.NDArray[np.uint8]:
        """Repeat each distinct row as often as it came."""
        return np.repeat(self._rows.T, self.cells.astype(np.int64), axis=0)

    def support_pairs(self, weights: FloatArray) -> FloatArray:
        """Unpack some rows at a time and multiply."""
        size = self.channel.size
        scale = np.sqrt(weights)
        matrix = np.zeros((size, size))
        for start in range(0, self._rows.shape[1], _ROWS_AT_ONCE):
            rows = np.ascontiguousarray(self._rows[:, start : start + _ROWS_AT_ONCE].T)
            bits = np.unpackbits(rows, axis=1, count=size, bitorder="little") * scale[start : start + len(rows), None]
            matrix += bits.T @ bits
        return matrix

    def _joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        gained = shares * self.contrast
        support = (self.other_support + gained)[chosen]
        # Given the value the bits are independent: E z_i z_j = π_i π_j − f_i f_j (p_i−q_i)(p_j−q_j).
        return np.asarray(np.outer(support, support) - np.outer(gained[chosen], gained[chosen]))


class ItemUnaryGroup(_ByValue, UnaryGroup):
    """IDUE: row z has L_zj = a_j/b_j where bit j is 1, else (1−a_j)/(1−b_j), times what all values share."""

    @cached_property
    def low(self) -> FloatArray:
        """(1−a)/(1−b)."""
        return np.asarray(super().low)

    @cached_property
    def step(self) -> FloatArray:
        """a/b − (1−a)/(1−b)."""
        return np.asarray(super().step)


class HashGroup(Group):
    """LH: cell (a, b) has L_cj = wrong-bucket probability, plus the difference where ⟨a, j⟩ = b."""

    def __init__(self, channel: LinearHashing, counts: OutputCounts) -> None:
        self.channel = channel
        self.reports = counts.reports
        self._counts = counts.counts.astype(np.float64)
        self._hashing = channel

    def support(self) -> FloatArray:
        """A report supports all values of its bucket; one transform finds all counts."""
        return self._support

    @cached_property
    def _support(self) -> FloatArray:
        return np.rint(self.support_total(self._counts))

    @property
    def cells(self) -> FloatArray:
        """Counts of (vector, bucket)."""
        return self._counts

    def _transform(self, table: FloatArray, sign: int) -> FloatArray:
        """Replace vector digits by value digits (sign +1) or back (−1), one digit at a time.

        After digit i: out[…, x_i, …, s] = Σ_{a_i} in[…, a_i, …, s ± a_i x_i mod g]. Cost t·g·(number of outputs).
        """
        base = self._hashing.buckets
        digit = np.arange(base)
        shape = (base,) * (self._hashing.digits + 1)
        table = table.reshape(shape)
        for axis in range(self._hashing.digits):
            moved = np.moveaxis(table, axis, -2)
            result = np.zeros_like(moved, order="C")
            for a in range(base):
                result += moved[..., a, :][..., (digit[None, :] + sign * a * digit[:, None]) % base]
            table = np.moveaxis(result, -2, axis)
        return np.ascontiguousarray(table).reshape(-1)

    def support_total(self, weights: FloatArray) -> FloatArray:
        """Σ_a weights[a, ⟨a, x⟩] of every value x, by one transform."""
        return self._transform(weights, 1).reshape(-1, self._hashing.buckets)[: self.channel.size, 0].copy()

    def support_sum(self, numbers: FloatArray) -> FloatArray:
        """Σ_{x: ⟨a, x⟩ = b} numbers_x of every output (a, b), by one transform."""
        table = np.zeros((self._hashing.output_count // self._hashing.buckets, self._hashing.buckets))
        table[: len(numbers), 0] = numbers
        return self._transform(table, -1)

    @property
    def low(self) -> float:
        """Probability of a given wrong bucket."""
        return float(self._hashing.bucket_channel.other_support)

    @property
    def step(self) -> float:
        """How much likelier the right bucket is."""
        return float(self._hashing.bucket_channel.truth_support) - self.low

    def buckets_of(self, vectors: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return ⟨a, x⟩ of these vectors and all values, vectors × values."""
        base = self._hashing.buckets
        values = np.arange(self.channel.size)
        total = np.zeros((len(vectors), len(values)), np.int64)
        for place in range(self._hashing.digits):
            total += (vectors // base**place % base)[:, None] * (values // base**place % base)[None, :]
        return np.asarray(total % base)

    def support_pairs(self, weights: FloatArray) -> FloatArray:
        """Hash all values with some vectors at a time and multiply."""
        size, base = self.channel.size, self._hashing.buckets
        scale = np.sqrt(weights).reshape(-1, base)
        matrix = np.zeros((size, size))
        step = max(1, _ROWS_AT_ONCE // base)
        for start in range(0, len(scale), step):
            buckets = self.buckets_of(np.arange(start, min(start + step, len(scale))))
            for bucket in range(base):
                supported = (buckets == bucket) * scale[start : start + step, bucket, None]
                matrix += supported.T @ supported
        return matrix

    def _joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Any two values share the bucket once in g, and so do three, unless they lie on one line over the field.

        With v the true value: Pr(i, j | v) = 1/g² if i−v and j−v are independent; p/g if j−v is a multiple of i−v;
        p/g also if v is one of the two.
        """
        base = self._hashing.buckets
        own = float(self._hashing.truth_support) / base
        generic = 1 / base**2
        some = shares[chosen]
        joint = np.full((len(some), len(some)), generic)
        joint += (own - generic) * (some[:, None] + some[None, :])
        for factor in range(2, base):
            # v = i + c(j − i) for c = 2 … g−1 runs through the other points of the line through i and j.
            joint += (own - generic) * self._share_on_line(shares, chosen, factor)
        return joint

    def _share_on_line(self, shares: FloatArray, chosen: npt.NDArray[np.intp], factor: int) -> FloatArray:
        base = self._hashing.buckets
        point = np.zeros((len(chosen), len(chosen)), np.int64)
        for place in range(self._hashing.digits):
            digit = chosen // base**place % base
            point += ((digit[:, None] + factor * (digit[None, :] - digit[:, None])) % base) * base**place
        padded = np.zeros(base**self._hashing.digits)
        padded[: len(shares)] = shares
        return np.asarray(padded[point])


@singledispatch
def group(channel: Channel, counts: Counts) -> Group:
    """Pair a channel with the counts of its outputs."""
    raise EstimateError(f"there is no estimator for {channel.mechanism} with {type(counts).__name__}")


@group.register
def _(channel: RandomizedResponse, counts: OutputCounts) -> Group:
    return ResponseGroup(channel, counts)


@group.register
def _(channel: UnaryEncoding, counts: BitCounts) -> Group:
    return UnaryGroup(channel, counts)


@group.register
def _(channel: LinearHashing, counts: OutputCounts) -> Group:
    return HashGroup(channel, counts)


@group.register
def _(channel: ItemResponse, counts: OutputCounts) -> Group:
    return ItemResponseGroup(channel, counts)


@group.register
def _(channel: ValueResponse, counts: OutputCounts) -> Group:
    return ValueResponseGroup(channel, counts)


@group.register
def _(channel: ItemUnaryEncoding, counts: BitCounts) -> Group:
    return ItemUnaryGroup(channel, counts)


def _all(numbers: Numbers, size: int) -> FloatArray:
    """Return one number per value."""
    return np.broadcast_to(np.asarray(numbers), (size,))


def _require_dense(size: int) -> None:
    if size > LARGEST_DENSE:
        raise EstimateError(
            f"a {size:,} × {size:,} covariance is too large to build ({LARGEST_DENSE:,} values at most)"
        )
