"""Unbiased shares of the values from the reports of one source, subset of people by subset, and their noise.

A report of a person with the value x counts for a vector z with the mean e_x, whatever the channel: its *noise* is what
its covariance has beyond that of drawing people, diag f − f fᵀ. Reports of one person through several sources are
independent given x, so only that part is common to them.

Where levels are hidden, a report is a label s and an output y, and

    z(s, y) = Σ_τ (G⁻¹)_τs z_τ(y)

has the mean e_x whatever the mix of levels is and whatever it depends on: G⁻¹ undoes the label, and z_τ the output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.decoder import Decoder
from pldp.estimates.fused.subsets import Subsets
from pldp.estimates.mix import LevelMix
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT
from pldp.mechanisms import Bits, CategoricalChannel
from pldp.mechanisms.arrays import FloatArray, LabelArrays, label_arrays
from pldp.tallies import Fused, HiddenLevels, Source

Chosen = npt.NDArray[np.intp]

_OWN_ERRORS = 100
"""Reports of a subset from which on their own spread is believed."""

_LISTED_AT_ONCE = 1 << 22
"""Entries of a table of supported values that is built at a time."""


def spread(shares: FloatArray, chosen: Chosen | None = None) -> FloatArray:
    """Return the covariance of one person's value: diag f − f fᵀ."""
    some = shares if chosen is None else shares[chosen]
    return np.asarray(np.diag(some) - np.outer(some, some))


class LabelSource(ABC):
    """The reports of one source: what they say of the shares."""

    def __init__(self, fused: Fused, place: int, subsets: Subsets) -> None:
        self.source = fused.sources[place]
        self.reports = int(subsets.people[subsets.given[:, place]].sum())
        self.counts = subsets.counts(fused, place)
        self.people = np.where(subsets.given[:, place], subsets.people, 0)

    @abstractmethod
    def shares(self, first: FloatArray) -> FloatArray:
        """Return the unbiased shares of each subset (rows; those without this source are not numbers)."""

    varies = False
    """Whether reports of people of different subsets may have different errors."""

    @abstractmethod
    def covariance(self, shares: FloatArray, chosen: Chosen | None = None, subset: int | None = None) -> FloatArray:
        """Return the covariance of one report, or of one of a subset of people, if these shares were true."""

    def variance(self, shares: FloatArray, subset: int | None = None) -> FloatArray:
        """Return its diagonal."""
        return np.diag(self.covariance(shares, subset=subset)).copy()

    @property
    @abstractmethod
    def chance_support(self) -> FloatArray:
        """Return how often a report supports each value by chance alone."""

    @property
    @abstractmethod
    def manipulation(self) -> float:
        """People that one forged report can count as."""

    @property
    @abstractmethod
    def equal_noise(self) -> float:
        """The mean variance of one report at equal shares."""

    def enough(self, people: int) -> bool:
        """Tell whether so many reports suffice for a normal approximation."""
        return bool((people * self.chance_support).min() >= ENOUGH_SUPPORT)


class ShownSource(LabelSource):
    """Reports of one known channel."""

    def __init__(self, fused: Fused, place: int, subsets: Subsets) -> None:
        super().__init__(fused, place, subsets)
        self.arrays = label_arrays(self.source.channel)
        self.supports = np.array([self._support(row) for row in self.counts])
        self._decoder: Decoder | None = None

    def _support(self, counts: FloatArray) -> FloatArray:
        listed = self.source.listed
        if listed is None:
            return self.arrays.support(counts)
        return _listed_support(self.arrays, counts, listed.outputs)

    def shares(self, first: FloatArray) -> FloatArray:
        """Decode the supports so that variances are least if these first shares are true."""
        self._decoder = decoder = Decoder.at(self.arrays, first)
        found = np.full(self.supports.shape, np.nan)
        for place in np.flatnonzero(self.people):
            found[place] = decoder.shares(self.supports[place] / self.people[place])
        return found

    @property
    def decoder(self) -> Decoder:
        """How supports were decoded last."""
        if self._decoder is None:
            raise EstimateError("a source must be decoded before its errors are asked for")
        return self._decoder

    def covariance(self, shares: FloatArray, chosen: Chosen | None = None, subset: int | None = None) -> FloatArray:
        """Ask the decoder."""
        del subset
        return self.decoder.covariance(shares, chosen)

    def variance(self, shares: FloatArray, subset: int | None = None) -> FloatArray:
        """Ask the decoder."""
        del subset
        return self.decoder.variance(shares)

    @property
    def chance_support(self) -> FloatArray:
        """Ask the channel; where chance gives none, all reports that support a value count."""
        by_chance = self.arrays.chance_support()
        return np.where(by_chance > 0, by_chance, self.supports.sum(axis=0) / max(self.reports, 1))

    @property
    def manipulation(self) -> float:
        """Ask the decoder."""
        return self.decoder.manipulation

    @property
    def equal_noise(self) -> float:
        """Ask the channel."""
        return self.arrays.mean_variance


class HiddenSource(LabelSource):
    """Reports that show a label instead of the level."""

    varies = True

    def __init__(self, fused: Fused, place: int, subsets: Subsets) -> None:
        super().__init__(fused, place, subsets)
        self.hidden, self.labels, self.outputs = hidden_cells(self.source)
        self.forms = [label_arrays(channel) for channel in self.hidden.channels]
        self.mix = level_mix_of(self.hidden, self.labels, self.counts.sum(axis=0))
        self.undo = self.mix.inverse
        self.supports = np.array(
            [
                [_listed_support(self.forms[0], row * (self.labels == s), self.outputs) for s in self._every]
                for row in self.counts
            ]
        )

    @property
    def _every(self) -> range:
        return range(len(self.forms))

    @cached_property
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        """A_s (labels × values × values) and b_s (labels × values) of z(s, y) = A_s·t(y) − b_s.

        t is the statistic of an output that is the same for every level, and J_τ(t − c_τ) the unbiased z_τ of a level
        (`SupportLaw`): A_s = Σ_τ (G⁻¹)_τs J_τ and b_s = Σ_τ (G⁻¹)_τs J_τ c_τ.
        """
        laws = [form.support_law() for form in self.forms]
        solved = np.array([law.solve(np.eye(self.forms[0].channel.size)) for law in laws])
        offsets = np.array([matrix @ law.constant for matrix, law in zip(solved, laws, strict=True)])
        return np.tensordot(self.undo.T, solved, 1), self.undo.T @ offsets

    def numbers(self, label: int, supported: FloatArray) -> FloatArray:
        """Return z of a report that shows this label and supports these values."""
        slopes, offsets = self._scales
        return np.asarray(slopes[label] @ self.forms[0].statistic(supported) - offsets[label])

    def shares(self, first: FloatArray) -> FloatArray:
        """Undo labels and outputs; the shares need not sum to 1."""
        del first
        found = np.full((len(self.counts), self.forms[0].channel.size), np.nan)
        for place in np.flatnonzero(self.people):
            found[place] = self._total(self.supports[place], self.counts[place]) / self.people[place]
        return found

    def _total(self, supports: FloatArray, counts: FloatArray) -> FloatArray:
        """Return the sum of z over reports, given the supports of each label and how often each cell came."""
        slopes, offsets = self._scales
        shown = np.bincount(self.labels, weights=counts, minlength=len(self.forms))
        moved = (slopes[s] @ self.forms[0].statistic(supports[s]) for s in self._every)
        return np.asarray(sum(moved) - shown @ offsets)

    def _moment(self, counts: FloatArray, supports: FloatArray) -> FloatArray:
        """Return the covariance of z over reports, given how often each cell came and the supports of each label."""
        slopes, offsets = self._scales
        form, reports = self.forms[0], max(counts.sum(), 1)
        total = np.zeros((form.channel.size, form.channel.size))
        for s in self._every:
            weights = counts * (self.labels == s)
            pairs = form.statistic(form.statistic(_pair_support(form, weights, self.outputs)).T)
            mixed = np.outer(slopes[s] @ form.statistic(supports[s]), offsets[s])
            total += slopes[s] @ pairs @ slopes[s].T - mixed - mixed.T
            total += weights.sum() * np.outer(offsets[s], offsets[s])
        mean = self._total(supports, counts) / reports
        return np.asarray(total / reports - np.outer(mean, mean))

    @cached_property
    def _of_all(self) -> FloatArray:
        return self._moment(self.counts.sum(axis=0), self.supports.sum(axis=0))

    def covariance(self, shares: FloatArray, chosen: Chosen | None = None, subset: int | None = None) -> FloatArray:
        """Return the covariance over the reports; of a subset, over its own if they are enough.

        People of a subset may have other levels than all: who shows a strict level at one service hides one at another.
        """
        del shares
        found = self._of_all
        if subset is not None and self.people[subset] >= _OWN_ERRORS:
            found = self._moment(self.counts[subset], self.supports[subset])
        return found if chosen is None else found[np.ix_(chosen, chosen)]

    @property
    def chance_support(self) -> FloatArray:
        """The least of all levels."""
        return np.asarray(np.min([form.chance_support() for form in self.forms], axis=0))

    @property
    def manipulation(self) -> float:
        """The largest number of a report that supports one value alone."""
        alone = np.eye(self.forms[0].channel.size)
        return float(max(np.abs(self.numbers(s, one)).max() for s in self._every for one in alone))

    @property
    def equal_noise(self) -> float:
        """The mean variance of its reports."""
        return float(self.variance(np.zeros(0)).mean())


def _listed_support(arrays: LabelArrays, weights: FloatArray, outputs: npt.NDArray[np.generic]) -> FloatArray:
    """Return, for every value, the sum of the weights of the listed outputs that support it."""
    if isinstance(arrays.channel.form, Bits):
        return arrays.support_total(weights, np.ascontiguousarray(outputs.T))
    total = np.zeros(arrays.channel.size)
    step = max(1, _LISTED_AT_ONCE // arrays.channel.size)
    for start in range(0, len(outputs), step):
        total += weights[start : start + step] @ arrays.supported(outputs[start : start + step])
    return total


def _pair_support(arrays: LabelArrays, weights: FloatArray, outputs: npt.NDArray[np.generic]) -> FloatArray:
    """Return, for every two values, the sum of the weights of the listed outputs that support both."""
    if isinstance(arrays.channel.form, Bits):
        return arrays.pair_support(weights, np.ascontiguousarray(outputs.T))
    size = arrays.channel.size
    total, step = np.zeros((size, size)), max(1, _LISTED_AT_ONCE // size)
    for start in range(0, len(outputs), step):
        rows = arrays.supported(outputs[start : start + step]).astype(np.float64)
        total += rows.T @ (rows * weights[start : start + step, None])
    return total


def label_source(fused: Fused, place: int, subsets: Subsets) -> LabelSource:
    """Return a source of a choice of one label."""
    return (ShownSource if fused.sources[place].hidden is None else HiddenSource)(fused, place, subsets)


class HiddenCells(NamedTuple):
    """The levels that a source hides, and the label and output of each of its cells."""

    levels: HiddenLevels
    labels: npt.NDArray[np.int64]
    outputs: npt.NDArray[Any]


def hidden_cells(source: Source) -> HiddenCells:
    """Return what the cells of a source that hides levels show."""
    if source.hidden is None or source.listed is None or source.listed.labels is None:
        raise EstimateError(f"source {source.name!r} does not hide its levels")
    return HiddenCells(source.hidden, source.listed.labels, source.listed.outputs)


def level_mix_of(hidden: HiddenLevels, labels: npt.NDArray[np.int64], counts: FloatArray) -> LevelMix:
    """Return the labels of a source, given the label of each listed cell and how often it came."""
    shown = np.bincount(labels, weights=counts, minlength=len(hidden.channels))
    return LevelMix.of(cast("CategoricalChannel", hidden.label), np.rint(shown).astype(int).tolist())
