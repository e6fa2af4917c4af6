"""Simulated reports written by a cluster: each partition is made from its own seed, wherever it is made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from pldp.simulate.partitions import Partitions, Written
from pldp.tallies.cluster import summed


def write_partitions(spark: SparkSession, partitions: Partitions, folder: Path) -> Written:
    """Let the executors write one Parquet file per partition into a folder that all of them see.

    A partition that is made twice, because its executor died, is the same file again.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Written:
        task = TaskContext.get()
        attempt = 0 if task is None else task.taskAttemptId()
        folder.mkdir(parents=True, exist_ok=True)
        places = [place for batch in batches for place in batch.column(0).to_pylist()]
        return Written.merge([partitions.write(folder, place, attempt) for place in places])

    return summed(spark.range(0, partitions.count, 1, partitions.count), write, Written.merge)
