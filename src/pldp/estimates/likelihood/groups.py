"""The reports of one group of people who used the same channel: its array form, and the counts of its outputs."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.mechanisms import CategoricalChannel, Channel
from pldp.mechanisms.arrays import ByteArray, FloatArray, LabelArrays, label_arrays
from pldp.tallies import Counts


class Group:
    """Reports of one channel: its array form, their counts, and whether devices keep a part of the noise for ever."""

    def __init__(self, arrays: LabelArrays, counts: Counts, *, tracked: bool = False) -> None:
        self.arrays = arrays
        self.counts = counts
        self.reports = counts.reports
        self.tracked = tracked

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy channel and counts; what was computed from them is computed again where it is needed."""
        return group, (self.channel, self.counts, self.tracked)

    def __repr__(self) -> str:
        return f"<Group of {self.reports:,} reports: {self.channel!r}>"

    @property
    def channel(self) -> CategoricalChannel:
        """The channel that made them."""
        return self.arrays.channel

    @cached_property
    def outputs(self) -> ByteArray | None:
        """The distinct rows of bits, byte by byte, so that each pass reads memory in order; `None` for integers."""
        self._require_cells()
        return self.counts.cell_rows

    @cached_property
    def cells(self) -> FloatArray:
        """Counts of the distinct outputs, in the order of `forward`'s result."""
        self._require_cells()
        return self.counts.cell_counts.astype(np.float64)

    def _require_cells(self) -> None:
        if not self.counts.has_cells:
            raise EstimateError("the likelihood of unary reports needs whole rows: tally them with patterns")

    @cached_property
    def support(self) -> FloatArray:
        """How many reports support each value."""
        return self.arrays.support(self.counts.tallied)

    def support_sum(self, numbers: FloatArray) -> FloatArray:
        """Return, for every cell, the sum of the numbers of the values that it supports."""
        return self.arrays.support_sum(numbers, self.outputs)

    def support_total(self, weights: FloatArray) -> FloatArray:
        """Return, for every value, the sum of the weights of the cells that support it."""
        return self.arrays.support_total(weights, self.outputs)

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return Σ_j L_cj f_j of every cell (relative likelihood: cells may differ by a constant factor)."""
        return self.arrays.forward(shares, self.outputs)

    def backward(self, weights: FloatArray) -> FloatArray:
        """Return Σ_c w_c L_cj of every value."""
        return self.arrays.backward(weights, self.outputs)

    def packed_rows(self) -> ByteArray:
        """Return one packed row per report, for channels whose outputs are bits: each as often as it came."""
        if self.outputs is None:
            raise EstimateError(f"outputs of {self.channel.mechanism} are not bits")
        return np.repeat(self.outputs.T, self.cells.astype(np.int64), axis=0)

    def observed_information(self, shares: FloatArray) -> FloatArray:
        """Return the observed information of the shares: Σ_c N_c L_c L_cᵀ / (L_c·f)², k × k."""
        return self.arrays.information(self.cells / self.forward(shares) ** 2, self.outputs)

    def information(self, shares: FloatArray) -> FloatArray:
        """Return the information that standard errors rest on: with expected counts n·Pr(c) where cells can be listed.

        Expected counts are never 0, so that an output that never came does not pass for certainty. Rows of bits cannot
        be listed, so the observed information has to do; two bits of every kind are seen soon.
        """
        if self.outputs is not None:
            return self.observed_information(shares)
        chance = self.forward(shares)
        chance[chance == 0] = 0.5 / self.reports  # an impossible output counts as half a report, not as certainty
        return self.arrays.information(self.reports / (chance * chance.sum()), None)

    def mean_variance(self) -> float:
        """Return the mean variance of the shares at equal shares 1/k; it depends on the number of reports only."""
        return self.arrays.mean_variance / self.reports

    def shares(self) -> FloatArray:
        """Return the unbiased shares, without that they sum to 1."""
        if self.reports == 0:
            raise EstimateError("a group without reports has no shares")
        return self.arrays.shares(self.support / self.reports)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the unbiased shares if these were true, for a random sample of people."""
        return np.asarray(self.arrays.variance(shares) / self.reports)

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return the covariance of the unbiased shares if these were true, of all values or of the chosen ones."""
        return np.asarray(self.arrays.covariance(shares, chosen) / self.reports)


def group(channel: Channel, counts: Counts, tracked: bool = False) -> Group:  # noqa: FBT001, FBT002 - it is pickled
    """Pair a channel with the counts of its outputs."""
    if not counts.fits(channel.form):
        raise EstimateError(f"counts of {type(counts).__name__} do not fit the outputs of {channel.mechanism}")
    return Group(label_arrays(channel), counts, tracked=tracked)


def precision_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ 1/variance at equal shares 1/k. They do not depend on the reports, so pooling adds no bias."""
    return _inverse([group.mean_variance() for group in groups])


def size_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ number of reports: unbiased even where the choice of a level depends on the value."""
    sizes = np.array([float(group.reports) for group in groups])
    return np.asarray(sizes / sizes.sum())


def _inverse(variances: Sequence[float]) -> FloatArray:
    precision = 1 / np.array(variances)
    return np.asarray(precision / precision.sum())


def pooled_shares(groups: Sequence[Group], weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the groups' unbiased shares, which need not sum to 1."""
    return np.asarray(weights @ np.array([group.shares() for group in groups]))
