"""Both draws of a tracked answer over arrays: a permanent one that stays with a person, and a fresh one over it.

Nothing is stored between rounds. The permanent draw is a function of a seed, the person's place and the value: a number
of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014), or for sets two draws of a
seeded generator.
"""

from abc import abstractmethod
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from pldp.mechanisms.arrays import CHUNK, ChannelArrays, IntArray, Outputs, Values, WordArray, arrays
from pldp.mechanisms.tracking.stages import HashingStages, ResponseStages, RoundingStages, SetStages, Stages

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def _mix(words: WordArray) -> WordArray:
    """Finish splitmix64, in place."""
    for shift, factor in _MIX:
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words


def kept_words(seed: int, start: int, names: Values) -> WordArray:
    """Return 64 random bits of each person and name; people are numbered from `start`, and the bits never change."""
    people = np.arange(start, start + len(names), dtype=np.uint64)
    return _mix(_mix(people * _GOLDEN + np.uint64(seed)) + names.astype(np.uint64) * _GOLDEN)


class StageArrays(ChannelArrays):
    """The stages of many people: `settle` gives permanent outputs, and `draw_many` perturbs those anew."""

    def __init__(self, stages: Stages) -> None:
        super().__init__(stages.channel)
        self.stages = stages

    @abstractmethod
    def settle(self, values: Values, seed: int) -> Outputs:
        """Return the permanent output of everybody's value: the same whenever a person has that value again."""

    def checked_values(self, values: Any) -> Values:
        """Values are outputs of the permanent stage."""
        return np.asarray(values)

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Draw one report per permanent output."""
        return np.asarray(arrays(self.stages.instant).draw_many(values, generator))


class _IntegerStages(StageArrays):
    """Outputs made of one 53-bit number per person and value."""

    def settle(self, values: Values, seed: int) -> Outputs:
        outputs = np.empty(len(values), np.min_scalar_type(self.stages.permanent.form.count - 1))
        for start in range(0, len(values), CHUNK):
            outputs[start : start + CHUNK] = self._settle(values[start : start + CHUNK].astype(np.int64), seed, start)
        return outputs

    def _settle(self, values: IntArray, seed: int, start: int) -> Values:
        return _settle_numbers(self.stages, values, seed, start)


def _settle_numbers(stages: Stages, values: IntArray, seed: int, start: int) -> Values:
    drawn = (kept_words(seed, start, values + 1) >> np.uint64(11)).astype(np.int64)  # name 0 is the hash function
    return np.asarray(arrays(stages.permanent).outputs_of(values, drawn))


class _HashingStages(_IntegerStages):
    """A hash function and a bucket in one integer; only the bucket is perturbed anew."""

    stages: HashingStages

    def _settle(self, values: IntArray, seed: int, start: int) -> Values:
        channel = self.stages.permanent
        # The remainder is uniform to within vectors/2⁶⁴.
        index = kept_words(seed, start, np.zeros_like(values)) % np.uint64(channel.buckets**channel.digits)
        bucket = arrays(channel).bucket(index, values).astype(np.int64)
        return index * np.uint64(channel.buckets) + _settle_numbers(self.stages.buckets, bucket, seed, start)

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Draw the bucket anew, the hash function stays."""
        outputs = np.empty_like(values)
        for start in range(0, len(values), CHUNK):
            own = values[start : start + CHUNK]
            bucket = own % self.stages.permanent.buckets
            outputs[start : start + CHUNK] = own - bucket + super().draw_many(bucket, generator)
        return outputs


class _SetStages(StageArrays):
    """A permanent output for the 1 and one for the 0 of every item."""

    def settle(self, values: Values, seed: int) -> Outputs:
        """Draw for sets that have every item and for sets that have none; take of each what the answers say."""
        draw, generator = arrays(self.stages.permanent).draw_many, np.random.default_rng(seed)
        everything = np.packbits(np.ones(self.channel.size, bool), bitorder="little")
        ones = draw(np.broadcast_to(everything, values.shape), generator)
        return np.asarray(ones & values | draw(np.zeros_like(values), generator) & ~values)


FORMS: Final[dict[type[Stages], type[StageArrays]]] = {
    ResponseStages: _IntegerStages,
    HashingStages: _HashingStages,
    SetStages: _SetStages,
    RoundingStages: _IntegerStages,
}
