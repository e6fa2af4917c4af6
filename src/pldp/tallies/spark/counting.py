"""Count the reports of Spark DataFrames, and of Parquet files; each function returns what its local twin returns.

Of files that every executor can open, each executor reads its shares with the local reader and kernel. Spark only says
who counts what: its own reader would turn columns into rows and rows into columns again, which costs ten times as much
as counting.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import ceil, inf
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pldp.errors import ClusterError, PldpError, ReportError, UnreadableError
from pldp.reports.columns import rows_of_parquet
from pldp.survey import Survey
from pldp.tallies import kernel
from pldp.tallies.counts import BitCounts
from pldp.tallies.spark.cluster import data_files, one_line, sum_tasks, summed
from pldp.tallies.spark.narrow import narrowed, widened
from pldp.tallies.tally import Tally, unreadable_reports
from pldp.tallies.together import Pair

TASKS_PER_CORE: Final = 4
LEAST_BYTES: Final = 1 << 22
MOST_BYTES: Final = 1 << 27
"""What a task reads: a fair part for each core in a few turns, but no less and no more than this."""


def tally(survey: Survey, frame: DataFrame, *, patterns: bool = False, pairs: Sequence[Pair] = ()) -> Tally:
    """Count the reports of a Spark DataFrame: `pldp.tallies.tally` on a cluster.

    Parameters
    ----------
    survey
        The survey; reports of another one are rejected and counted as such.
    frame
        Reports in the columnar form (`spark.read.parquet`, `spark.table`, …); or texts in one column `value`, a report
        in JSON each (`spark.read.text`).
    patterns, pairs
        As for the local tally.
    """
    Tally.empty(survey, patterns=patterns, pairs=pairs)  # refuses what cannot be counted before the cluster works
    texts = [(field.name, field.dataType.typeName()) for field in frame.schema.fields] == [("value", "string")]

    def count(batches: Iterator[pa.RecordBatch]) -> Any:
        reports = _texts(batches) if texts else widened(survey, batches)
        return kernel.tally(survey, reports, patterns=patterns, pairs=pairs, repeats=False).bare

    def merge(parts: Sequence[Any]) -> Any:
        return Tally.merge([Tally(survey, *part) for part in parts]).bare

    return Tally(survey, *summed(frame if texts else narrowed(survey, frame), count, merge))


def tally_files(
    survey: Survey,
    spark: SparkSession,
    paths: Sequence[str],
    *,
    unreadable: Callable[[UnreadableError], None] | None = None,
    patterns: bool = False,
    pairs: Sequence[Pair] = (),
) -> Tally:
    """Count the reports of Parquet files, or of folders of them, at any address that Spark reads.

    Files of a folder that all machines share are read by the executors' own Python, like on one machine; all others by
    Spark. Nothing is dropped in silence: a truncated or corrupt file is an error, one of no length too. With
    `unreadable`, that is called with the error, and all reports of the file are rejected instead (as many as its footer
    says; one where that is lost too).
    """
    how: dict[str, Any] = {"patterns": patterns, "pairs": pairs}
    counted = Tally.empty(survey, **how)
    with one_line():
        files = data_files(spark, paths)
    shared = {file: size for file, size in files.items() if Path(file).is_absolute()}
    for left, count, rows in (
        (shared, tally_shares, rows_of_parquet),
        ({file: size for file, size in files.items() if file not in shared}, _tally_read, partial(_rows, spark)),
    ):
        while left:
            part, wrong = count(survey, spark, left, **how)
            if not wrong:
                counted += part
                break
            for file, error in wrong.items():
                if unreadable is None or not isinstance(error, UnreadableError):
                    raise error
                unreadable(error)
                counted += unreadable_reports(survey, rows(file) or 1)
                del left[file]
    return counted


def _tally_read(
    survey: Survey, spark: SparkSession, files: Mapping[str, int], *, patterns: bool, pairs: Sequence[Pair]
) -> tuple[Tally, dict[str, ReportError]]:
    """Let Spark read the files; it stops at the first that is broken, and would pass over empty ones."""
    nothing = Tally.empty(survey)
    empty: dict[str, ReportError] = {
        file: UnreadableError(file, "it is empty") for file, size in files.items() if not size
    }
    if empty:
        return nothing, empty
    try:
        with one_line():
            frame = spark.read.parquet(*files)
        return tally(survey, frame, patterns=patterns, pairs=pairs), {}
    except UnreadableError as error:
        if error.path not in files:
            raise
        return nothing, {error.path: error}


def _rows(spark: SparkSession, file: str) -> int | None:
    """Return how many reports a file says that it has; none where that is lost."""
    try:
        with one_line():
            return spark.read.parquet(file).count()
    except PldpError:
        return None


def _texts(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        yield from (text for text in batch.column(0).to_pylist() if text and text.strip())


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

        return kernel.tally(survey, batches(), patterns=patterns, pairs=pairs, repeats=False).bare, wrong

    def merge(parts: Sequence[tuple[Any, dict[str, ReportError]]]) -> tuple[Any, dict[str, ReportError]]:
        counted = Tally.merge([Tally(survey, *bare) for bare, _ in parts])
        return counted.bare, dict(chain.from_iterable(wrong.items() for _, wrong in parts))

    empty = Tally.empty(survey, patterns=patterns, pairs=pairs)
    grows = any(isinstance(counts, BitCounts) and counts.patterns is not None for counts in empty.counts.values())
    tasks = dealt(files, spark.sparkContext.defaultParallelism)
    size = inf if grows else len(pickle.dumps(empty.bare))
    bare, wrong = sum_tasks(spark, tasks, count, merge, part_bytes=size)
    return Tally(survey, *bare), {file: wrong[file] for file in files if file in wrong}
