"""The same tallies on Spark: the local kernel runs where the reports lie, and only counts travel.

Each function takes Spark DataFrames in the place of Arrow data and returns what its local twin returns, bit for bit.
Needs the extra `spark`. In words: "From laptop to cluster" in the documentation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pldp.errors import PldpError, ReportError, UnreadableError
from pldp.reports.columns import rows_of_parquet
from pldp.survey import Survey
from pldp.tallies import kernel
from pldp.tallies.pairs import Pair
from pldp.tallies.spark.cluster import data_files, one_line, summed
from pldp.tallies.spark.files import tally_shares
from pldp.tallies.spark.narrow import narrowed, widened
from pldp.tallies.tally import Tally, unreadable_reports


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
        return kernel.tally(survey, reports, patterns=patterns, pairs=pairs).bare

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
