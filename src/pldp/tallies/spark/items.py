"""Sets of items on Spark: executors turn rows into bit columns and count; a search is a few passes over the reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from pldp.errors import TallyError
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import IntArray, SetArrays, arrays
from pldp.reports.columns import to_batch
from pldp.survey import Survey
from pldp.tallies.kernel import accepted_rows
from pldp.tallies.patterns import ItemColumns, checked_sets, columns_of
from pldp.tallies.spark.cluster import summed
from pldp.tallies.spark.narrow import narrowed, widened

ByLevel = dict[str, IntArray]


def baskets(
    survey: Survey, frame: DataFrame, question: str
) -> tuple[list[tuple[Channel, FrameColumns]], tuple[str, ...]]:
    """Return what `itemsets` and `supports` take for a question of kind `choices`: groups and items.

    Unlike a tally, which keeps every distinct row of such a question, this leaves the rows where they are: each size of
    sets is one pass over the reports, and only counts come back.
    """
    asked: Any = survey.question(question)
    forms = [arrays(channel) for channel in asked.channels]
    if not all(isinstance(form, SetArrays) for form in forms):
        raise TallyError(f"question {question!r} must be of kind choices to have sets of items, not {asked.kind}")
    if not all(isinstance(channel.form, Bits) for channel in asked.channels):
        raise TallyError(f"reports of question {question!r} are integers: count them with tally, then call baskets_of")
    if survey.level_channel is not None:
        raise TallyError(
            f"levels of question {question!r} are hidden: count its reports with tally, then call baskets_of"
        )
    passes = _Passes(survey, narrowed(survey, frame), question, len(asked.values))
    levels = zip(asked.levels, asked.channels, strict=True)
    groups = [(channel, FrameColumns(passes, level.name)) for level, channel in levels]
    return groups, asked.values


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """The reports of one level on Spark: what `pldp.tallies.ItemColumns` is on one machine."""

    passes: _Passes
    level: str

    whole: ClassVar[bool] = True

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.joint_counts(np.zeros((1, 0), np.int64))[0])

    @property
    def size(self) -> int:
        """Number of items."""
        return self.passes.size

    def joint_counts(self, sets: IntArray) -> IntArray:
        """Return how many reports have all items of each set (sets × items)."""
        return self.passes.counts(ItemColumns.joint_counts, sets)[self.level]

    def pattern_counts(self, sets: IntArray) -> IntArray:
        """Return how often the items of each set show each pattern."""
        return self.passes.counts(ItemColumns.pattern_counts, checked_sets(sets, self.size))[self.level]


@dataclass(eq=False)
class _Passes:
    """Counts of all levels, one pass each; what was counted is not counted again."""

    survey: Survey
    frame: DataFrame
    question: str
    size: int
    known: dict[tuple[str, bytes, tuple[int, ...]], ByLevel] = field(default_factory=dict)

    def counts(self, work: Callable[[Any, IntArray], IntArray], sets: IntArray) -> ByLevel:
        key = (work.__name__, sets.tobytes(), sets.shape)
        survey, question = self.survey, self.question
        asked = survey.question(question)
        channels = {level.name: channel for level, channel in zip(asked.levels, asked.channels, strict=True)}

        def count(batches: Iterator[pa.RecordBatch]) -> ByLevel:
            nobody = to_batch(survey, [])
            rows = (accepted_rows(survey, batch, question) for batch in chain([nobody], widened(survey, batches)))
            counted = (
                {level: work(columns_of(channels[level], own), sets) for level, own in each.items()} for each in rows
            )
            return reduce(lambda one, two: _added([one, two]), counted)

        if key not in self.known:
            self.known[key] = summed(self.frame, count, _added)
        return self.known[key]


def _added(parts: Sequence[ByLevel]) -> ByLevel:
    return {level: np.sum([part[level] for part in parts], axis=0, dtype=np.int64) for level in parts[0]}
