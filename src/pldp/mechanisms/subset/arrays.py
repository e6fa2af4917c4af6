"""Subset selection over arrays: sets drawn as whole words of bits, sorted by their number of ones."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.epsilon import MICRO
from pldp.errors import EstimateError
from pldp.mechanisms.arrays import (
    ByteArray,
    Cells,
    ChannelArrays,
    FloatArray,
    LabelArrays,
    Outputs,
    PersonalArrays,
    Values,
    Whole,
    arrays,
    columns,
    require_dense,
)
from pldp.mechanisms.honest import PairLaw, Range
from pldp.mechanisms.laws import CellLaw, SupportLaw
from pldp.mechanisms.output import TOTAL, Bits, Places
from pldp.mechanisms.row_arrays import RowArrays
from pldp.mechanisms.rows import popcount
from pldp.mechanisms.subset.channel import SubsetSelection, best_chosen, slack
from pldp.mechanisms.subset.items import ItemSubset
from pldp.mechanisms.subset.words import draw_places, draw_words

Threshold = Callable[[slice], Any]
"""From some people to the weight of having their true value in the set."""


class _SubsetArrays(RowArrays, PersonalArrays):
    """SS: set y has L_yj = 1 − p, and p(k−d)/d where it contains j, times what all values share: 1/C(k−1, d)."""

    channel: SubsetSelection

    independent_supports = True

    @cached_property
    def low(self) -> float:
        return float(1 - self.channel.truth_support)

    @cached_property
    def step(self) -> float:
        channel = self.channel
        return float(channel.truth_support * (channel.size - channel.chosen) / channel.chosen) - self.low

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Two values are in the set with p(d−1)/(k−1) if one is the true one, else with the chance of two others."""
        size, d, p = self.channel.size, self.channel.chosen, float(self.channel.truth_support)
        with_truth = p * (d - 1) / (size - 1)
        others = (p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)) / ((size - 1) * max(1, size - 2))
        some = shares[chosen]
        return np.asarray(others * shares.sum() + (with_truth - others) * (some[:, None] + some[None, :]))

    def pair_laws(self) -> tuple[PairLaw, ...]:
        """Sets of one size, whatever p."""
        size = self.channel.size
        return (PairLaw.of_sets(np.arange(size), self.channel.chosen),) if size > 2 else ()

    def log_ceiling(self, cells: Cells) -> FloatArray:
        """All sets that contain a value are equally likely."""
        size, chosen = self.channel.size, self.channel.chosen
        most = math.log(self.channel.truth_support) - math.log(math.comb(size - 1, chosen - 1))
        return np.full(np.asarray(cells).shape[1], most)

    def log_collision(self) -> float:
        """Both sets have the value, or neither has."""
        size, chosen, p = self.channel.size, self.channel.chosen, float(self.channel.truth_support)
        within, without = math.log(math.comb(size - 1, chosen - 1)), math.log(math.comb(size - 1, chosen))
        return float(np.logaddexp(2 * math.log(p) - within, 2 * math.log1p(-p) - without))

    def sum_covariance(self, shares: FloatArray) -> FloatArray | None:
        """Every set has as many values, so the shares always sum to 1."""
        return None

    def _draw(self, values: Values, truth: Threshold, generator: Generator) -> ByteArray:
        form, size, chosen = self.channel.form, self.channel.size, self.channel.chosen
        if isinstance(form, Places):
            return draw_places(values, size, chosen, truth, generator, form.width)
        return draw_words(values, size, chosen, truth, generator)

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        weight = np.array([self.channel.truth_weight], np.uint64)
        return self._draw(values, lambda _: weight, generator)

    def draw_levels(
        self, others: list[ChannelArrays], values: Values, level: Values, generator: Generator
    ) -> Outputs | None:
        """Draw for all levels at once where all sets have one size: only the truth's weight differs."""
        alike = [each for each in (self, *others) if isinstance(each, _SubsetArrays)]
        if len(alike) <= len(others) or len({each.channel.chosen for each in alike}) > 1:
            return None
        weights = np.array([each.channel.truth_weight for each in alike], np.uint64)
        return self._draw(values, lambda part: weights[level[part]], generator)

    def fitted_to(self, epsilon: FloatArray) -> PersonalArrays:
        """Return the form whose sets have the size of least variance for these people together."""
        size, some = self.channel.size, epsilon[:: 1 + len(epsilon) // PEOPLE_ASKED]
        if not len(some):
            return self
        tried = np.arange(best_chosen(size, float(some.max())), best_chosen(size, float(some.min())) + 1)[:, None]
        p = 1 / (1 + (size - tried) / tried * np.exp(-some))
        precision = ((p * size - tried) ** 2 / (tried * (size - tried))).sum(axis=1)
        return _SubsetArrays(SubsetSelection.of(size, MICRO, int(tried[precision.argmax(), 0])))

    def fitted_to_outputs(self, outputs: Outputs) -> PersonalArrays:
        """Return the form whose sets have the size of the first one; all others must have it, too."""
        if outputs.ndim != 2 or outputs.dtype != np.uint8:
            raise EstimateError(f"outputs must be packed rows of bytes, not {outputs.dtype} of shape {outputs.shape}")
        size, bits = self.channel.size, Bits(self.channel.size)
        packed = outputs.shape[1] == bits.bytes
        chosen = int(popcount(outputs[0]).sum()) if packed else outputs.shape[1] // Places(size).width
        fitted = _SubsetArrays(SubsetSelection.of(size, MICRO, min(max(1, chosen), size - 1)))
        if outputs.shape[1] != fitted.channel.form.bytes or not fitted.rows.admitted(outputs).all():
            raise EstimateError(f"outputs must be sets of one size among {size:,} values; some are not")
        return fitted

    def personal_weights(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each person's p and q as weights of 2⁵³; p in whole ones, rounded towards more noise."""
        truth = self._personal_truth(epsilon)
        return truth, (self.channel.chosen * TOTAL - truth) / (self.channel.size - 1)

    def _personal_truth(self, epsilon: FloatArray) -> FloatArray:
        size, chosen = self.channel.size, self.channel.chosen
        rest = (size - chosen) * float(slack(size, chosen))
        outside = np.exp(epsilon)
        outside *= chosen
        outside += rest
        np.divide(TOTAL * rest, outside, out=outside)
        np.ceil(outside, out=outside)
        truth = np.subtract(TOTAL - 1, outside, out=outside)
        if len(truth) and size * float(truth.min()) <= chosen * TOTAL:
            raise EstimateError(f"epsilon is too small for {size:,} values: integer weights cannot tell them apart")
        return truth

    def draw_personal(self, values: Values, epsilon: FloatArray, generator: Generator) -> Outputs:
        return self._draw(values, lambda part: self._personal_truth(epsilon[part]), generator)

    def weighted_support(self, outputs: Outputs, weights: FloatArray) -> FloatArray:
        return self.support_total(weights, np.ascontiguousarray(outputs.T))


class _ItemSubsetArrays(RowArrays):
    """IPRR whose named value is hidden in a set of its tier: set y has L_yj = Σ_{x in y} o_x, plus S where it has j.

    With a the overlap of sets, a set has the named value and each other one of its tier with a. So with b_x = 1 where
    the set has x and B = 1 where it is of the tier of x, g_x = (b_x − a·B)/(1−a) is in the mean 1 for the named value
    and 0 for others: its mean is the chance π_x = S·f_x + o_x of being named, and (g_x − o_x)/S has the mean f_x. Then

        E g_x² = ((1−2a)·π_x + a·Π)/(1−a),        E g_x g_z = −a·(Π − π_x − π_z)/((1−a)(s−2)),

    Π being the sum of π over the tier of s values; g_x g_z = 0 where x and z are of different tiers.
    """

    channel: ItemSubset

    @cached_property
    def low(self) -> FloatArray:
        """That of the sets which have each value: it belongs to the set."""
        return np.asarray(self._other * np.array(self.channel.chosen))

    @cached_property
    def step(self) -> float:
        return self.channel.named.kept_weight / TOTAL

    @cached_property
    def _other(self) -> FloatArray:
        return np.array(self.channel.other_weights) / TOTAL

    @cached_property
    def _tier(self) -> npt.NDArray[np.intp]:
        """Which tier each value is of."""
        tier = np.empty(self.channel.size, np.intp)
        for number, own in enumerate(self.channel.tiers):
            tier[list(own.places)] = number
        return tier

    @cached_property
    def _rank(self) -> npt.NDArray[np.intp]:
        """The place of each value in its tier."""
        rank = np.empty(self.channel.size, np.intp)
        for own in self.channel.tiers:
            rank[list(own.places)] = np.arange(len(own.places))
        return rank

    @cached_property
    def _overlap(self) -> FloatArray:
        return np.array([float(own.overlap) for own in self.channel.tiers])[self._tier]

    def _of_tier(self, numbers: FloatArray) -> FloatArray:
        """Return for each value the sum of the numbers of its tier, column by column."""
        sums = np.zeros((len(self.channel.tiers), *numbers.shape[1:]))
        np.add.at(sums, self._tier, numbers)
        return np.asarray(sums[self._tier])

    def cell_law(self, cells: Cells) -> CellLaw:
        """A class is the first value of a set: all values of a set are of one tier."""
        rows = np.asarray(cells)
        first = np.argmax(rows != 0, axis=0)
        byte = rows[first, np.arange(rows.shape[1])].astype(np.int64)
        bit = np.log2(byte & -byte).astype(np.intp)
        return CellLaw.of(8 * first + bit, self.channel.size, low=self.low, step=self.step)

    def statistic(self, support: FloatArray) -> FloatArray:
        """Return g, the reports that name each value: supports less what sets of the tier add by chance."""
        overlap, chosen = columns(support, self._overlap, np.array(self.channel.chosen))
        return np.asarray((support - overlap * self._of_tier(support / chosen)) / (1 - overlap))

    def support_law(self) -> SupportLaw:
        """The mean of g."""
        law = SupportLaw.of(self.channel.size, constant=self._other, slope=self.step)
        return law._replace(least=-self._overlap / (1 - self._overlap))

    def statistic_covariance(self, shares: FloatArray) -> FloatArray:
        """That of g."""
        return self.covariance(shares) * self.step**2

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Two values are in the set with a if one is named, else with a·(d−2)/(s−2), in one tier only."""
        named, tier, overlap = self._named(shares), self._tier[chosen], self._overlap[chosen]
        again = np.array([(own.chosen - 2) / max(1, len(own.places) - 2) for own in self.channel.tiers])[tier]
        some, both = named[chosen][:, None] + named[chosen], self._of_tier(named)[chosen]
        return np.asarray((tier[:, None] == tier) * overlap * (some + again * (both - some)))

    def support_range(self) -> Range:
        """The least where another tier's value is true, if there is one; the largest where the value itself is."""
        named, overlap = self._other, self._overlap
        least = (1 - overlap) * named + overlap * self._of_tier(named)
        alone = len(self.channel.tiers) == 1
        return Range(least + self.step * overlap * alone, least + self.step)

    def pair_laws(self) -> tuple[PairLaw, ...]:
        """In each tier, sets of one size."""
        tiers = self.channel.tiers
        return tuple(PairLaw.of_sets(np.array(own.places), own.chosen) for own in tiers if len(own.places) > 2)

    def log_ceiling(self, cells: Cells) -> FloatArray:
        """Pr(any value in the set is named), over the number of sets that hide it."""
        tiers = self.channel.tiers
        spread = np.array([math.log(math.comb(len(own.places) - 1, own.chosen - 1)) / own.chosen for own in tiers])
        named = np.log(self.support_sum(self._other, cells) + self.step)
        return np.asarray(named - self.support_sum(spread[self._tier], cells))

    def forward(self, shares: FloatArray, cells: Cells) -> FloatArray:
        return self.support_sum(self._other * shares.sum() + self.step * shares, cells)

    def backward(self, weights: FloatArray, cells: Cells) -> FloatArray:
        return np.asarray(
            weights @ self.support_sum(self._other, cells) + self.step * self.support_total(weights, cells)
        )

    def information(self, weights: FloatArray, cells: Cells) -> FloatArray:
        low = self.support_sum(self._other, cells)
        return self.weighted_products(weights * low**2, weights * low * self.step, weights * self.step**2, cells)

    def pattern_law(self) -> FloatArray:
        """States are a value of another tier, another one of its tier, and the value itself.

        Patterns are a set of another tier, one of its tier without it, and one with it.
        """
        law = []
        for own, mate in ((0, 0), (0, 1), (1, 0)):
            named = self._other + self.step * own
            tier = self._of_tier(self._other) + self.step * (own + mate)
            has = named + self._overlap * (tier - named)
            law.append(np.stack([1 - tier, tier - has, has], axis=-1))
        return np.stack(law, axis=1)

    def pattern_states(self, shares: FloatArray, whole: Whole = 1.0) -> FloatArray:
        """Shares of values of other tiers, of others of its tier, and of the value itself."""
        of_tier = self._of_tier(shares)
        return np.stack([whole - of_tier, of_tier - shares, shares], axis=1)

    def pattern_counts(self, support: FloatArray, reports: Whole) -> FloatArray:
        """Every set of a tier supports as many values."""
        (chosen,) = columns(support, np.array(self.channel.chosen))
        sets = self._of_tier(support / chosen)
        return np.stack([reports - sets, sets - support, support], axis=-1)

    def chance_support(self) -> FloatArray:
        """Those sets that are made from noise, or from another value of the tier if all are as frequent."""
        others = self._of_tier(np.ones(self.channel.size)) - 1
        return np.asarray(self.low + self.step * self._overlap * others / self.channel.size)

    def shares(self, support: FloatArray, whole: Whole = 1.0) -> FloatArray:
        (other,) = columns(support, self._other)
        return np.asarray((self.statistic(support) - other * whole) / self.step)

    def squares(self, support: FloatArray, whole: Whole = 1.0) -> FloatArray:
        other, overlap, chosen = columns(support, self._other, self._overlap, np.array(self.channel.chosen))
        of_tier = self._of_tier(support / chosen)
        square = ((1 - 2 * overlap) * support + overlap**2 * of_tier) / (1 - overlap) ** 2
        named = (support - overlap * of_tier) / (1 - overlap)
        return np.asarray((square - 2 * other * named + other**2 * whole) / self.step**2)

    def expected_support(self, shares: FloatArray, whole: Whole = 1.0) -> FloatArray:
        other, overlap = columns(shares, self._other, self._overlap)
        named = self.step * shares + other * whole
        return np.asarray((1 - overlap) * named + overlap * self._of_tier(named))

    def sum_covariance(self, shares: FloatArray) -> FloatArray | None:
        """Shares always sum to 1."""
        return None

    def _named(self, shares: FloatArray) -> FloatArray:
        return np.asarray(self.step * np.clip(shares, 0.0, 1.0) + self._other)

    def variance(self, shares: FloatArray) -> FloatArray:
        named, overlap = self._named(shares), self._overlap
        square = ((1 - 2 * overlap) * named + overlap * self._of_tier(named)) / (1 - overlap)
        return np.asarray((square - named**2) / self.step**2)

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        chosen = np.arange(len(shares)) if chosen is None else chosen
        require_dense(len(chosen))
        named, tier, overlap = self._named(shares), self._tier[chosen], self._overlap[chosen]
        others = np.maximum(self._of_tier(np.ones(len(shares)))[chosen] - 2, 1)
        some, both = named[chosen], self._of_tier(named)[chosen]
        products = (tier[:, None] == tier) * overlap / ((1 - overlap) * others) * (some[:, None] + some - both)
        covariance = (products - np.outer(some, some)) / self.step**2
        np.fill_diagonal(covariance, self.variance(shares)[chosen])
        return np.asarray(covariance)

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        named = arrays(self.channel.named).draw_many(values, generator)
        rows = np.empty((len(values), self.channel.form.bytes), np.uint8)
        step = max(1, _BITS_AT_ONCE // self.channel.size)
        for start in range(0, len(values), step):
            rows[start : start + step] = self._hidden(named[start : start + step], generator)
        return rows

    def _hidden(self, named: Values, generator: Generator) -> ByteArray:
        """Put every named value into a random set of its tier."""
        bits = np.zeros((len(named), self.channel.size), np.uint8)
        bits[np.arange(len(named)), named] = 1
        always = np.array([TOTAL], np.uint64)
        for number, own in enumerate(self.channel.tiers):
            people = np.flatnonzero(self._tier[named] == number) if own.chosen > 1 else ()
            if len(people):
                size = len(own.places)
                words = draw_words(self._rank[named[people]], size, own.chosen, lambda _: always, generator)
                bits[np.ix_(people, np.array(own.places))] = np.unpackbits(words, axis=1, count=size, bitorder="little")
        return np.packbits(bits, axis=1, bitorder="little")


_BITS_AT_ONCE: Final = 1 << 22

PEOPLE_ASKED: Final = 1024
"""People at most whose ε decides about the size of the sets."""

FORMS: Final[dict[type, type[LabelArrays]]] = {SubsetSelection: _SubsetArrays, ItemSubset: _ItemSubsetArrays}
