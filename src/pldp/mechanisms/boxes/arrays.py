"""Sampled boxes over arrays: who was asked about what, and the patterns of a few items among those who were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.arrays import FloatArray, IntArray, Outputs, arrays
from pldp.mechanisms.boxes.channel import SampledBoxes
from pldp.mechanisms.honest import Range
from pldp.mechanisms.sets.arrays import SetArrays


class BoxArrays(SetArrays):
    """Reports about some items each; k of them together show a pattern after 2^k-ary randomized response."""

    channel: SampledBoxes

    def support_range(self) -> Range:
        """Of an output: its items are picked, and everybody's answer is this one, or another."""
        answer, picks = self.channel.answer_channel, self.channel.picks
        ends = (answer.other_support, answer.truth_support)
        return Range(*(np.broadcast_to(float(each) / picks, self.channel.form.count) for each in ends))

    def drawn_blindly(self, counts: npt.NDArray[Any]) -> IntArray:
        """Count the picks: each is as likely as any other."""
        return np.asarray(counts.reshape(self.channel.picks, -1).sum(axis=1))

    @property
    def largest(self) -> int:
        """As many items as are picked, if any of them can be picked together."""
        return self.channel.boxes if self.channel.all_subsets else 1

    def telling(self, items: int) -> float:
        """Return the share of picks that have all of so many given items."""
        channel = self.channel
        return math.comb(channel.boxes, items) / math.comb(channel.size, items)

    @cached_property
    def picks(self) -> npt.NDArray[np.intp]:
        """The picked items, rising, of every rank."""
        return self._places(np.arange(self.channel.picks))

    @cached_property
    def _binomials(self) -> list[IntArray]:
        """C(place, j) of every place, for j = 1 … s."""
        size, boxes = self.channel.size, self.channel.boxes
        return [np.array([math.comb(place, j) for place in range(size)]) for j in range(1, boxes + 1)]

    def _places(self, ranks: IntArray) -> npt.NDArray[np.intp]:
        if not self.channel.all_subsets:
            return np.sort((ranks[:, None] + np.arange(self.channel.boxes)) % self.channel.size, axis=1)
        return self._subsets(ranks)

    def _subsets(self, ranks: IntArray) -> npt.NDArray[np.intp]:
        """Return the picked items of ranks: the largest place whose binomial is not above what is left, and so on."""
        left, places = ranks.copy(), np.empty((len(ranks), self.channel.boxes), np.intp)
        for number in reversed(range(self.channel.boxes)):
            place = np.searchsorted(self._binomials[number], left, side="right") - 1
            left -= self._binomials[number][place]
            places[:, number] = place
        return places

    def _ranks(self, sets: IntArray) -> IntArray:
        """Return the rank of each set among those of its size."""
        return np.asarray(sum(self._binomials[number][column] for number, column in enumerate(sets.T)))

    def draw_many(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
        """Draw one report per set (packed bits): a pick, and the answer with the weights that devices use."""
        ranks = generator.integers(0, self.channel.picks, len(values))
        places = self._places(ranks)
        ticked = values[np.arange(len(values))[:, None], places >> 3] >> (places & 7) & 1
        answers = (ticked.astype(np.int64) << np.arange(self.channel.boxes)).sum(axis=1)
        form = arrays(self.channel.answer_channel)
        drawn = form.draw_many(form.checked_values(answers), generator).astype(np.int64)
        outputs = (ranks << self.channel.boxes) + drawn
        return np.asarray(outputs.astype(np.min_scalar_type(self.channel.form.count - 1)))

    @property
    def mark_count(self) -> int:
        """Items shown, and items told of."""
        return 2 * self.channel.size

    def marked(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        """Mark the picked items, and among them those that the answer has."""
        drawn, boxes, size = outputs.astype(np.int64), self.channel.boxes, self.channel.size
        places, marks = self._places(drawn >> boxes), np.zeros((len(drawn), 2 * size), np.float32)
        np.put_along_axis(marks, places, (drawn[:, None] >> np.arange(boxes) & 1).astype(np.float32), axis=1)
        np.put_along_axis(marks, places + size, np.float32(1), axis=1)
        return marks

    def pattern_counts(self, counts: IntArray, sets: IntArray) -> IntArray:
        """Add up, over all picks that have the items of a set, the answers that show each pattern of them."""
        boxes, items = self.channel.boxes, sets.shape[1]
        found = np.zeros((len(sets), 1 << items), np.int64)
        if items > boxes or not len(sets):
            return found
        wanted, back = np.unique(self._ranks(sets), return_inverse=True)
        sums = np.zeros((len(wanted), 1 << items), np.int64)
        for chosen in combinations(range(boxes), items):
            ranks = self._ranks(self.picks[:, chosen])
            place = np.minimum(np.searchsorted(wanted, ranks), len(wanted) - 1)
            asked = np.flatnonzero(wanted[place] == ranks)
            shown = self._shown(counts, chosen)[asked]
            for pattern in range(1 << items):  # sums of counts below 2⁵³ are exact
                own = np.bincount(place[asked], shown[:, pattern], minlength=len(wanted))
                sums[:, pattern] += own.astype(np.int64)
        found[:] = sums[back]
        return found

    def _shown(self, counts: IntArray, chosen: Sequence[int]) -> IntArray:
        """Return how often each pick shows each pattern of some of its boxes."""
        boxes = self.channel.boxes
        table = counts.reshape(self.channel.picks, *(2,) * boxes)  # the highest bit is the first axis
        others = tuple(boxes - box for box in range(boxes) if box not in chosen)
        return np.asarray(table.sum(axis=others).reshape(len(table), 1 << len(chosen)))

    @cached_property
    def _answer(self) -> tuple[float, float]:
        """p − q and q of an answer."""
        answer = self.channel.answer_channel
        return float(answer.truth_support - answer.other_support), float(answer.other_support)

    def _noise(self, items: int) -> float:
        """Return how often any one pattern of so many items comes from a person who has another one."""
        return float(self._answer[1] * 2 ** (self.channel.boxes - items))

    def pattern_weights(self, sets: IntArray, part: int) -> FloatArray:
        """([all items of the part] − q·2^{s−j})/(p − q) for a part of j items."""
        patterns = np.arange(1 << sets.shape[1])
        all_there = (patterns & part) == part
        return np.asarray((all_there - self._noise(part.bit_count())) / self._answer[0])[None, :]

    def shown(self, sets: IntArray, table: FloatArray) -> FloatArray:
        """The true pattern with p − q, and any one with q·2^{s−k}."""
        return np.asarray(self._answer[0] * table + self._noise(sets.shape[1]))


FORMS: Final = {SampledBoxes: BoxArrays}
