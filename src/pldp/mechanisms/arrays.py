"""Channels over NumPy arrays: draws of many people, supports, likelihoods, variances. Mathematics only, no counts.

The array form of a channel stands in `arrays.py` of its folder and is found by that convention (`arrays`). Three kinds:
`LabelArrays` for labels, `SetArrays` for sets of items, and `NumberArrays` for numbers.

What estimates need of a channel for labels is how an output, or *cell*, c bears on value j: Pr(c) ∝ Σ_j L_cj f_j, where
L_cj takes two values, `low`, and `low + step` where c supports j. The matrix is never built: `forward` multiplies by L
and `backward` by its transpose. Cells are all outputs of a channel with integers, in their order (`cells` is `None`),
or the distinct rows of packed bits that came, one column of bytes per row (`cells` is an array, bytes × rows). Where
budgets differ between values, p, q, low and step are arrays, one number per value (or per cell for IPRR).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.epsilon import LARGEST_EPSILON, MICRO
from pldp.errors import EstimateError, SimulationError
from pldp.lazy import lazy_exports
from pldp.mechanisms.channel import CategoricalChannel, Channel, PureChannel, SupportChannel
from pldp.mechanisms.honest import Coarse, Honest, PairLaw, Range, group_outputs
from pldp.mechanisms.laws import CellLaw, SupportLaw
from pldp.mechanisms.marks import Marked, OutputMarks, SupportMarks, output_groups
from pldp.mechanisms.output import Bits
from pldp.mechanisms.pieces import LARGEST_ENVELOPES, Pieces
from pldp.mechanisms.registry import build, names
from pldp.mechanisms.rows import ByteArray, FloatArray, IntArray, WordArray, rows_of, words_of

if TYPE_CHECKING:
    from pldp.mechanisms.personal import PersonalArrays, personal_arrays
    from pldp.mechanisms.sets.arrays import (
        SetArrays,
        SetPatterns,
        bit_columns,
        independent_patterns,
        joint_of,
        patterns_of,
    )
    from pldp.mechanisms.tracking.stages import Stages

__getattr__ = lazy_exports(
    __name__,
    {
        "pldp.mechanisms.sets.arrays": (
            "SetArrays",
            "SetPatterns",
            "bit_columns",
            "independent_patterns",
            "joint_of",
            "patterns_of",
        ),
        "pldp.mechanisms.personal": ("PersonalArrays", "personal_arrays"),
    },
)[0]

Values = npt.NDArray[Any]
Outputs = npt.NDArray[Any]
"""One per person: integers, or rows of packed bits, people × bytes."""

Cells = ByteArray | None
"""`None` for all outputs of a channel with integers, or the distinct rows of bits that came, bytes × rows."""

Numbers = float | FloatArray
"""One number for all values, or an array with one per value."""

Whole = float | FloatArray
"""What shares are parts of: 1, or a number per column."""

LARGEST_DENSE: Final = 4096
"""Most values for which a k × k covariance is built."""

CHUNK: Final = 1 << 15
"""People drawn at a time: temporaries stay in the processor's cache."""


def arrays(channel: Channel | Stages) -> Any:
    """Return the array form of a channel or of stages, found in `arrays.py` of the folder that its class stands in.

    >>> from pldp.mechanisms import build
    >>> round(arrays(build("krr", 3, 1_000_000)).truth_support, 4)
    0.5761
    """
    module = import_module(f"{type(channel).__module__.rpartition('.')[0]}.arrays")
    forms: Mapping[type, Any] = module.FORMS
    return next(forms[base] for base in type(channel).__mro__ if base in forms)(channel)


def label_arrays(channel: Channel) -> LabelArrays:
    """Return the array form of a channel for labels; refuse others."""
    form = arrays(channel)
    if not isinstance(form, LabelArrays):
        raise EstimateError(f"shares need a choice of one label; {channel.mechanism} is for {channel.domain}")
    return form


def piecewise_arrays(channel: Channel) -> PieceArrays:
    """Return the array form of a channel whose outputs are integers and have pieces; refuse others."""
    form = arrays(channel)
    if not isinstance(form, PieceArrays) or isinstance(channel.form, Bits):
        raise EstimateError(f"outputs of {channel.mechanism} are packed bits; only integers can be fused")
    return form


class ChannelArrays(Honest, Marked, ABC):
    """A channel over arrays."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    @abstractmethod
    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Draw one output per person from the same integer weights that devices use."""

    def agreement(self) -> float:
        """Return at most how often two independent outputs for one value are the same, whichever value it is.

        Outputs that are the same support the same values, and a value that is supported with probability s agrees in
        two outputs with probability s² + (1 − s)².
        """
        ends = self.support_range()
        if ends is None:
            return 1.0
        return float(np.max([np.square(end) + np.square(1 - end) for end in (ends.low, ends.high)], axis=0).min())

    def draw_levels(
        self, others: list[ChannelArrays], values: Values, level: Values, generator: Generator
    ) -> Outputs | None:
        """Draw for people who chose among this channel and others of its form; `None` where there is no faster way."""
        return None

    def checked_values(self, values: npt.ArrayLike) -> Values:
        """Return values as an array of the smallest type; refuse what is not the index of a value."""
        size, indices = self.channel.size, np.asarray(values)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            found = f"{indices.dtype} of shape {indices.shape}"
            raise SimulationError(f"values must be a flat array of integers, not {found}")
        if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < size:
            raise SimulationError(f"values must be indices from 0 to {size - 1}; some are not")
        return indices.astype(np.min_scalar_type(size - 1), copy=False)


class PieceArrays(ChannelArrays):
    """Array forms whose outputs are integers: what fusing several services needs."""

    def pieces(self) -> Pieces:
        """Describe Q(y|·) of every output; unless a form knows better, every row of Q is an envelope of its own."""
        count, size = self.channel.form.count, self.channel.size
        if (count + 1) * size > LARGEST_ENVELOPES:
            raise EstimateError(f"a channel of {count:,} outputs and {size:,} values is too large to fuse")
        found = Pieces.none(size, count)
        found.envelope[:-1] = np.arange(1, count + 1)
        return replace(found, envelopes=np.concatenate([found.envelopes, self.matrix()]))

    def agreement(self) -> float:
        """Return Σ_y Q(y|t)² at the value where it is largest, where outputs can be listed."""
        count = self.channel.form.count
        if isinstance(self.channel.form, Bits) or (count + 1) * self.channel.size > LARGEST_ENVELOPES:
            return super().agreement()
        found = self.pieces()
        squares = replace(found, base=found.base**2, envelopes=found.envelopes**2, lift=found.lift * (2 + found.lift))
        return float(squares.expectation(np.ones(count)).max())

    def matrix(self) -> FloatArray:
        """Q as a matrix, outputs × values."""
        rows = [[self.channel.probability(y, t) for t in range(self.channel.size)] for y in self.channel.outputs()]
        return np.array(rows, np.float64)

    def unbiased(self) -> FloatArray:
        """Return the unbiased number on [−1, 1] of every output."""
        raise EstimateError(f"a mean needs numbers; outputs of {self.channel.mechanism} have no unbiased number")


class NumberArrays(OutputMarks, PieceArrays):
    """Channels for numbers: an output is made from one 53-bit number per person."""

    @abstractmethod
    def outputs_of(self, values: IntArray, drawn: IntArray) -> Values:
        """Return what a device makes of the 53-bit numbers, for many people."""

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Draw one output per person."""
        outputs = np.empty(len(values), np.min_scalar_type(self.channel.form.count - 1))
        for start in range(0, len(values), CHUNK):
            own = values[start : start + CHUNK].astype(np.int64)
            drawn = (generator.bit_generator.random_raw(len(own)) >> np.uint64(11)).astype(np.int64)
            outputs[start : start + CHUNK] = self.outputs_of(own, drawn)
        return outputs

    def coarse(self, group: npt.NDArray[np.intp] | None = None) -> Coarse | None:
        """Group neighbouring outputs; `None` where there are too many to list."""
        if (self.channel.form.count + 1) * self.channel.size > LARGEST_ENVELOPES:
            return None
        chances = self.pieces().table()[:-1]
        if group is None:
            group = group_outputs(chances.mean(axis=1))
        return Coarse(group, np.add.reduceat(chances, np.flatnonzero(np.diff(group, prepend=-1))))

    def unbiased(self) -> FloatArray:
        """Return the unbiased number on [−1, 1] of every output."""
        channel: Any = self.channel
        return np.array([float(channel.unbiased(output)) for output in channel.outputs()])


class LabelArrays(SupportMarks, PieceArrays):
    """Channels for one of several labels."""

    channel: CategoricalChannel

    separable: ClassVar[bool] = False
    """Whether every cell belongs to one value, so that the likelihood is a sum with one term per value."""

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

    @property
    @abstractmethod
    def low(self) -> Numbers:
        """L_cj where cell c does not support value j."""

    @property
    @abstractmethod
    def step(self) -> Numbers:
        """What L_cj is larger where cell c supports value j."""

    @abstractmethod
    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        """Return 1 where an output supports a value, outputs × values."""

    def support(self, counts: npt.NDArray[Any]) -> FloatArray:
        """Return how many reports support each value, given the counts of outputs or of bits that are 1."""
        return counts.astype(np.float64)

    def support_range(self) -> Range:
        """A value that nobody has is supported with q, one that everybody has with p."""
        size = self.channel.size
        return Range(*(np.broadcast_to(each, size) for each in (self.other_support, self.truth_support)))

    @abstractmethod
    def support_sum(self, numbers: FloatArray, cells: Cells) -> FloatArray:
        """Return, for every cell, the sum of the numbers of the values that it supports."""

    @abstractmethod
    def support_total(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Return, for every value, the sum of the weights of the cells that support it."""

    @abstractmethod
    def pair_support(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Return, for every two values, the sum of the weights of the cells that support both, k × k."""

    @abstractmethod
    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Return Pr(a report supports both i and j) for chosen values i ≠ j; the diagonal is ignored."""

    def draw_counts(self, people: IntArray, generator: Generator) -> IntArray:
        """Draw how often each output comes (or each bit is 1) from so many people per value, all at once."""
        raise SimulationError(f"there is no sampler of counts for {self.channel.mechanism}")

    def cell_law(self, cells: Cells) -> CellLaw:
        """Return how likely every cell is, comparable between levels: here all cells are of one class."""
        count = self.channel.form.count if cells is None else cells.shape[1]
        return CellLaw.of(np.zeros(count, np.intp), 1, low=self.low, step=self.step)

    def value_weights(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the weights of values in low and step of `cell_law`, where they are not 1."""
        return None

    def statistic(self, support: FloatArray) -> FloatArray:
        """Return what makes shares, in the same way at every level, of the reports that support each value."""
        return support

    def support_law(self) -> SupportLaw:
        """Return the mean of the statistic."""
        return SupportLaw.of(self.channel.size, constant=self.other_support, slope=self.contrast)

    def statistic_covariance(self, shares: FloatArray) -> FloatArray:
        """Return the covariance of the statistic of one report if these shares were true."""
        contrast = np.broadcast_to(np.asarray(self.contrast), len(shares))
        return np.asarray(self.covariance(shares) * np.outer(contrast, contrast))

    def forward(self, shares: FloatArray, cells: Cells) -> FloatArray:
        """Return Σ_j L_cj f_j of every cell (relative likelihood: cells may differ by a constant factor)."""
        return np.asarray(self.low * shares.sum() + self.step * self.support_sum(shares, cells))

    def backward(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Return Σ_c w_c L_cj of every value."""
        return np.asarray(self.low * weights.sum() + self.step * self.support_total(weights, cells))

    def information(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Return Σ_c w_c L_c L_cᵀ, k × k."""
        products = (weights * self.low**2, weights * self.low * self.step, weights * self.step**2)
        return self.weighted_products(*products, cells)

    def weighted_products(
        self, constant: FloatArray, cross: FloatArray, square: FloatArray, cells: Cells
    ) -> FloatArray:
        """Return Σ_c (constant_c 11ᵀ + cross_c (1zᵀ + z1ᵀ) + square_c zzᵀ), z marking the values that c supports."""
        require_dense(self.channel.size)
        mixed = self.support_total(cross, cells)
        return np.asarray(constant.sum() + mixed[:, None] + mixed[None, :] + self.pair_support(square, cells))

    def chance_support(self) -> FloatArray:
        """Return the probability that a report supports each value by chance alone."""
        return np.broadcast_to(np.asarray(self.other_support), self.channel.size)

    def pattern_law(self) -> FloatArray:
        """Return how often people of another label, and of this one, do not support it, and do: labels × 2 × 2."""
        supported = np.stack(np.broadcast_arrays(*np.atleast_1d(self.other_support, self.truth_support)), axis=-1)
        return np.stack([1 - supported, supported], axis=-1)

    def pattern_states(self, shares: FloatArray, whole: Whole = 1.0) -> FloatArray:
        """Return the shares of people in each state of every label (labels × states), of whom there are so many."""
        return np.stack([whole - shares, shares], axis=1)

    def output_patterns(self) -> npt.NDArray[np.intp] | None:
        """Return the pattern of each label that each output shows, labels × outputs, where a bit does not tell it."""
        return None

    def row_law(self, classes: npt.NDArray[np.intp]) -> FloatArray:
        """Return how often rows of each class (of every number of ones) have a bit: see `estimates.linear.patterns`."""
        raise EstimateError(f"reports of {self.channel.mechanism} are no rows whose ones could be counted")

    def pattern_counts(self, support: FloatArray, reports: Whole) -> FloatArray:
        """Return how many reports show each pattern of every label, labels × patterns."""
        return np.stack([reports - support, support], axis=-1)

    def shares(self, support: FloatArray, whole: Whole = 1.0) -> FloatArray:
        """Return the unbiased shares (support − q)/(p − q), given the share of reports that support each value.

        For tables there are several columns, each with the share of reports that counts as the `whole` of it.
        """
        q, contrast = columns(support, self.other_support, self.contrast)
        return np.asarray((support - q * whole) / contrast)

    def squares(self, support: FloatArray, whole: Whole = 1.0) -> FloatArray:
        """Return the mean squares of the unbiased shares of single reports: ((1 − 2q)·support + q²)/(p − q)²."""
        q, contrast = columns(support, self.other_support, self.contrast)
        return np.asarray(((1 - 2 * q) * support + q * q * whole) / contrast**2)

    def expected_support(self, shares: FloatArray, whole: Whole = 1.0) -> FloatArray:
        """Return the share of reports that support each value if these shares are true: q + (p − q)·share."""
        q, contrast = columns(shares, self.other_support, self.contrast)
        return np.asarray(q * whole + contrast * shares)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the unbiased shares of one report if these shares were true."""
        support = self.other_support + np.clip(shares, 0.0, 1.0) * self.contrast
        return np.asarray(support * (1 - support) / self.contrast**2)

    @cached_property
    def mean_variance(self) -> float:
        """The mean variance of the shares of one report at equal shares 1/k."""
        size = self.channel.size
        return float(self.variance(np.full(size, 1 / size)).mean())

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return the covariance of the unbiased shares of one report, of all values or of the chosen ones."""
        chosen = np.arange(len(shares)) if chosen is None else chosen
        require_dense(len(chosen))
        feasible = np.clip(shares, 0.0, 1.0)
        support = np.broadcast_to(self.other_support + feasible * self.contrast, len(shares))[chosen]
        contrast = np.broadcast_to(np.asarray(self.contrast), len(shares))[chosen]
        covariance = self.joint_support(feasible, chosen) - np.outer(support, support)
        np.fill_diagonal(covariance, support * (1 - support))
        return np.asarray(covariance / np.outer(contrast, contrast))

    @cached_property
    def support_sizes(self) -> FloatArray | None:
        """How many values each output supports; `None` where outputs are too many to list."""
        size = self.channel.size
        listed = size <= LARGEST_DENSE and not isinstance(self.channel.form, Bits)
        return self.support_sum(np.ones(size), None) if listed else None

    def sum_covariance(self, shares: FloatArray) -> FloatArray | None:
        """Return the covariance of each unbiased share of one report with their sum; `None` where that is always 1.

        Beyond `LARGEST_DENSE` values it counts as 0: of a share's variance it would explain about one part in k.
        """
        sizes, size = self.support_sizes, self.channel.size
        if sizes is None:
            return self.covariance(shares).sum(axis=1) if size <= LARGEST_DENSE else np.zeros(size)
        chance = self.forward(shares, None)
        chance /= chance.sum()
        alone = (self.other_support + shares * self.contrast) * (chance @ sizes)
        return np.asarray((self.support_total(chance * sizes, None) - alone) / self.contrast**2)


class ByValue(LabelArrays):
    """Array forms whose low and step belong to the value: L_cj = low_j + step_j where cell c supports j."""

    def value_weights(self) -> tuple[FloatArray, FloatArray] | None:
        """Return low and step."""
        return np.asarray(self.low), np.asarray(self.step)

    def forward(self, shares: FloatArray, cells: Cells) -> FloatArray:
        """Return Σ_j L_cj f_j of every cell."""
        return np.asarray(self.low @ shares + self.support_sum(self.step * shares, cells))

    def information(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Return Σ_c w_c L_c L_cᵀ, k × k."""
        require_dense(self.channel.size)
        low, step = np.asarray(self.low), np.asarray(self.step)
        mixed = np.outer(low, step * self.support_total(weights, cells))
        square = np.outer(low, low) * weights.sum() + np.outer(step, step) * self.pair_support(weights, cells)
        return np.asarray(square + mixed + mixed.T)


def columns(like: FloatArray, *numbers: Numbers) -> tuple[Numbers, ...]:
    """Return numbers per value in the shape that multiplies an array of values, or one of values × columns."""
    return numbers if like.ndim == 1 else tuple(np.reshape(each, (-1, 1)) for each in numbers)


def require_dense(size: int) -> None:
    """Refuse matrices that are too large to build."""
    if size > LARGEST_DENSE:
        raise EstimateError(f"a {size:,} × {size:,} covariance is too large to build ({LARGEST_DENSE:,} at most)")
