"""The same tallies on Spark: the local kernel runs where the reports lie, and only counts travel.

Each function takes Spark DataFrames in the place of Arrow data and returns what its local twin returns, bit for bit.
Needs the extra `spark`. In words: "From laptop to cluster" in the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pldp.errors import PldpError, UnreadableError
from pldp.survey import Survey
from pldp.tallies import kernel
from pldp.tallies.cluster import connect, data_files, one_line, summed
from pldp.tallies.narrow import narrowed, widened
from pldp.tallies.pairs import Pair
from pldp.tallies.spark_fusion import FrameService, fuse
from pldp.tallies.spark_items import baskets
from pldp.tallies.tally import Tally, unreadable_reports

__all__ = ["FrameService", "baskets", "connect", "fuse", "tally", "tally_files"]


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
        return _bare(kernel.tally(survey, reports, patterns=patterns, pairs=pairs))

    def merge(parts: Sequence[Any]) -> Any:
        return _bare(Tally.merge([Tally(survey, *part) for part in parts]))

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

    Nothing is dropped in silence: a truncated or corrupt file is an error, one of no length too, which Spark itself
    would pass over. With `unreadable`, that is called with the error, and all reports of the file are rejected instead
    (as many as its footer says; one where that is lost too).
    """
    with one_line():
        files = data_files(spark, paths)
    rejected = 0
    while True:
        try:
            counted = _tally_readable(survey, spark, files, patterns=patterns, pairs=pairs)
        except UnreadableError as error:
            if unreadable is None or error.path not in files:
                raise
            unreadable(error)
            rejected += _rows(spark, error.path)
            del files[error.path]
        else:
            return counted + unreadable_reports(survey, rejected)


def _tally_readable(
    survey: Survey, spark: SparkSession, files: Mapping[str, int], *, patterns: bool, pairs: Sequence[Pair]
) -> Tally:
    for file, size in files.items():
        if not size:
            raise UnreadableError(file, "it is empty")
    if not files:
        return Tally.empty(survey, patterns=patterns, pairs=pairs)
    with one_line():
        frame = spark.read.parquet(*files)
    return tally(survey, frame, patterns=patterns, pairs=pairs)


def _rows(spark: SparkSession, file: str) -> int:
    """Return how many reports a file says that it has; 1 where it does not."""
    try:
        with one_line():
            return spark.read.parquet(file).count()
    except PldpError:
        return 1


def _texts(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Yield the lines that are not empty."""
    for batch in batches:
        yield from (text for text in batch.column(0).to_pylist() if text and text.strip())


def _bare(counted: Tally) -> tuple[Any, ...]:
    """Return what travels of a tally: all but the survey, which every machine has."""
    return counted.counts, counted.reports, counted.rejections, counted.pairs
