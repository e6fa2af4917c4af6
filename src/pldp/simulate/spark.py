"""Simulated reports written by a cluster: each partition is made from its own seed, wherever it is made."""

from pathlib import Path

from pyspark.sql import SparkSession

from pldp.simulate.population import Partitions, Written
from pldp.tallies.spark import sum_tasks


def write_partitions(spark: SparkSession, partitions: Partitions, folder: Path) -> Written:
    """Let the executors write one Parquet file per partition into a folder that all of them see.

    A partition that is made twice, because its executor died, is the same file again.
    """

    def write(place: int) -> Written:
        folder.mkdir(parents=True, exist_ok=True)
        return partitions.write(folder, place)

    return sum_tasks(spark, range(partitions.count), write, Written.merge)
