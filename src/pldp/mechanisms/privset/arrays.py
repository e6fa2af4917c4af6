"""PrivSet over arrays: subsets of items and dummies as rows of bits."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import SimulationError
from pldp.mechanisms.arrays import CHUNK, ByteArray, FloatArray, IntArray, Outputs
from pldp.mechanisms.honest import Range
from pldp.mechanisms.output import TOTAL
from pldp.mechanisms.privset.channel import PrivSet
from pldp.mechanisms.sets.arrays import SetArrays, pattern_bits, patterns_of


class PrivSetArrays(SetArrays):
    """A subset holds given items with A_k where a set has one of these k or more, and with B_k where it has none.

    So the share of people who have at least one of them is (held − B_k)/(A_k − B_k), and that of people who have all
    follows by inclusion and exclusion: W = Σ_C (−1)^{|C|+1} ([all of C] − B_|C|)/(A_|C| − B_|C|) over the parts C of
    the items, which depends on how many of them are there.
    """

    channel: PrivSet

    def support_range(self) -> Range:
        """Of every place, dummies among them: B_1 and A_1."""
        most, least = map(float, self.channel.held(1))
        return Range(np.full(self.channel.places, least), np.full(self.channel.places, most))

    def log_ceiling(self, cells: ByteArray | None) -> FloatArray:
        """Subsets that meet a set are equally likely, and so are all others."""
        sizes, meets = self.channel.classes, self.channel.meets_weight
        weights = (TOTAL - meets, meets)
        most = max(math.log(weight / TOTAL) - math.log(size) for weight, size in zip(weights, sizes, strict=True))
        return np.full(np.asarray(cells).shape[1], most)

    @property
    def largest(self) -> int:
        """As many items as a subset has, of which a set can have all."""
        return min(self.channel.chosen, self.channel.at_most)

    def draw_many(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
        """Draw one subset per set (packed bits): its class with the weight that devices use, then uniformly."""
        rows = [self._draw(values[start : start + CHUNK], generator) for start in range(0, len(values), CHUNK)]
        return np.concatenate([np.zeros((0, self.channel.form.bytes), np.uint8), *rows])

    def _draw(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
        channel, people = self.channel, len(values)
        members = np.zeros((people, channel.places), bool)
        members[:, : channel.size] = np.unpackbits(values, axis=1, count=channel.size, bitorder="little")
        missing = channel.at_most - members.sum(axis=1)
        if people and missing.min() < 0:
            raise SimulationError(f"sets must have at most {channel.at_most} items; some have more")
        members[:, channel.size :] = np.arange(channel.at_most) < missing[:, None]
        drawn = generator.bit_generator.random_raw(people) >> np.uint64(11)
        both = np.searchsorted(self._overlaps, generator.random(people), side="right") + 1
        both[drawn >= channel.meets_weight] = 0
        # Members come first, in random order, then all others: so many of each are taken from the front.
        order = np.argsort(generator.random(members.shape) + ~members, axis=1)
        place = np.arange(channel.places)
        taken = np.where(
            place < channel.at_most, place < both[:, None], place - channel.at_most < (channel.chosen - both)[:, None]
        )
        subsets = np.zeros(members.shape, bool)
        np.put_along_axis(subsets, order, taken, axis=1)
        return np.packbits(subsets, axis=1, bitorder="little")

    @cached_property
    def _overlaps(self) -> FloatArray:
        """Probability that a subset that meets a set has at most 1, 2, … common members with it, but the last."""
        channel, (_, meeting) = self.channel, self.channel.classes
        counts = [
            math.comb(channel.at_most, both) * math.comb(channel.size, channel.chosen - both)
            for both in range(1, min(channel.at_most, channel.chosen) + 1)
        ]
        return np.cumsum([count / meeting for count in counts])[:-1]

    @cached_property
    def _held(self) -> FloatArray:
        """A_k and B_k of k = 0 … largest items (rows)."""
        return np.array([tuple(map(float, self.channel.held(count))) for count in range(self.largest + 1)])

    def _coefficients(self, items: int) -> FloatArray:
        """(−1)^{j+1}/(A_j − B_j) of parts of j items, 0 for none."""
        both, none = self._held[1 : items + 1].T
        return np.array([0.0, *(-((-1.0) ** np.arange(1, items + 1)) / (both - none))])

    def pattern_weights(self, sets: IntArray, part: int) -> FloatArray:
        """Sum over the parts whose items are all there, and take off what comes by chance."""
        items = part.bit_count()
        coefficients = self._coefficients(items)
        chance = sum(math.comb(items, j) * coefficients[j] * self._held[j, 1] for j in range(1, items + 1))
        by_count = [sum(math.comb(there, j) * coefficients[j] for j in range(there + 1)) for there in range(items + 1)]
        there = [(pattern & part).bit_count() for pattern in range(1 << sets.shape[1])]
        return np.asarray(np.array(by_count)[there] - chance)[None, :]

    def shown(self, sets: IntArray, table: FloatArray) -> FloatArray:
        """By inclusion and exclusion from how often a subset holds all items of each part, and people none of them."""
        bits = pattern_bits(sets.shape[1])
        none = table @ ~(bits.astype(int) @ bits.T.astype(int)).astype(bool)
        held, apart = self._held[bits.sum(axis=1)].T
        return np.asarray(patterns_of(held + (apart - held) * none))


FORMS: Final = {PrivSet: PrivSetArrays}
