"""Parquet files that every executor can open: each reads its shares of them with the local reader and kernel.

Spark only says who counts what. Its own reader would turn columns into rows and rows into columns again, which costs
ten times as much as counting.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, inf
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession

from pldp.errors import ClusterError, ReportError
from pldp.survey import Survey
from pldp.tallies import kernel
from pldp.tallies.counts import BitCounts
from pldp.tallies.pairs import Pair
from pldp.tallies.spark.cluster import sum_tasks
from pldp.tallies.tally import Tally

TASKS_PER_CORE: Final = 4
LEAST_BYTES: Final = 1 << 22
MOST_BYTES: Final = 1 << 27
"""What a task reads: a fair part for each core in a few turns, but no less and no more than this."""


@dataclass(frozen=True)
class Share:
    """The `place`-th of `of` shares of the row groups of a file; its size tells whether executors see the same file."""

    file: str
    size: int
    place: int = 0
    of: int = 1

    def require_seen(self) -> None:
        """Refuse a machine that has no such file, or another one of this name."""
        path = Path(self.file)
        if not path.is_file() or path.stat().st_size != self.size:
            raise ClusterError(
                f"{self.file}: an executor does not see the file that is here; "
                "all machines must share its folder, or it must be at an address such as hdfs://…"
            )


def dealt(files: Mapping[str, int], cores: int) -> list[list[Share]]:
    """Deal files of these sizes out to tasks that read about as many bytes each: large ones are cut, small ones joined.

    >>> [[(share.file, share.place) for share in task] for task in dealt({"a": 1 << 23, "b": 10, "c": 20}, 1)]
    [[('a', 0)], [('a', 1)], [('b', 0), ('c', 0)]]
    """
    limit = min(max(ceil(sum(files.values()) / (TASKS_PER_CORE * cores)), LEAST_BYTES), MOST_BYTES)
    tasks: list[list[Share]] = []
    room = 0.0
    for file, size in files.items():
        of = max(1, ceil(size / limit))
        for place in range(of):
            if not tasks or size / of > room:
                tasks.append([])
                room = limit
            tasks[-1].append(Share(file, size, place, of))
            room -= size / of
    return tasks


def tally_shares(
    survey: Survey, spark: SparkSession, files: Mapping[str, int], *, patterns: bool, pairs: Sequence[Pair]
) -> tuple[Tally, dict[str, ReportError]]:
    """Count the reports of files of these sizes, and return what is wrong with those that are not counted in full."""

    def count(shares: Sequence[Share]) -> tuple[Any, dict[str, ReportError]]:
        wrong: dict[str, ReportError] = {}

        def batches() -> Iterator[pa.RecordBatch]:
            for share in shares:
                share.require_seen()
                try:
                    yield from kernel.read_share(survey, share.file, share.place, share.of)
                except ReportError as error:
                    wrong[share.file] = error

        return kernel.tally(survey, batches(), patterns=patterns, pairs=pairs).bare, wrong

    def merge(parts: Sequence[tuple[Any, dict[str, ReportError]]]) -> tuple[Any, dict[str, ReportError]]:
        counted = Tally.merge([Tally(survey, *bare) for bare, _ in parts])
        return counted.bare, dict(chain.from_iterable(wrong.items() for _, wrong in parts))

    empty = Tally.empty(survey, patterns=patterns, pairs=pairs)
    grows = any(isinstance(counts, BitCounts) and counts.patterns is not None for counts in empty.counts.values())
    tasks = dealt(files, spark.sparkContext.defaultParallelism)
    size = inf if grows else len(pickle.dumps(empty.bare))
    bare, wrong = sum_tasks(spark, tasks, count, merge, part_bytes=size)
    return Tally(survey, *bare), {file: wrong[file] for file in files if file in wrong}
