"""Several services on Spark: Spark brings a person's reports together, executors count tuples and drop the key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from pldp.mechanisms import Channel
from pldp.tallies.fusion import Fused, require_stated, stated_columns
from pldp.tallies.joining import Design, FusedPart
from pldp.tallies.spark.cluster import one_line, summed
from pldp.tallies.spark.narrow import arrow_type


@dataclass(frozen=True, eq=False)
class FrameService:
    """The reports of one service on Spark: what `pldp.tallies.Service` is on one machine.

    `frame` has one row per report: a `key`, unique within the service, and an `output`; `mechanism` and `epsilon`,
    where present, must be the channel's.
    """

    name: str
    channel: Channel
    frame: DataFrame
    bounds: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        stated_columns(self.name, "frame", self.frame.columns)


def fuse(services: Sequence[FrameService], *, outside: str = "refuse") -> Fused:
    """Join the reports of several services by their keys and count tuples: `pldp.tallies.fuse` on a cluster.

    Spark brings the reports of a person together by the key. The executor that gets them counts their tuples and drops
    the key; no key comes to this machine.
    """
    design = Design.of(services, outside)
    types = ([arrow_type(name, each.frame.schema[name].dataType) for name in ("key", "output")] for each in services)
    design.require_types(*zip(*types, strict=True))
    for each in services:
        for column in stated_columns(each.name, "frame", each.frame.columns):
            with one_line():
                found = [row[0] for row in each.frame.select(column).distinct().collect()]
            require_stated(each.name, each.channel, column, found)
    rows = [
        service.frame.select(sql.lit(place).alias("service"), "key", sql.col("output").cast("double"))
        for place, service in enumerate(services)
    ]
    numbers = range(len(services))

    def count(batches: Iterator[pa.RecordBatch]) -> FusedPart:
        found = list(batches)
        nobody = (pa.array([], pa.int64()), pa.array([], pa.float64()))
        table = pa.Table.from_batches(found) if found else None
        return design.part([nobody if table is None else _of_service(table, number) for number in numbers])

    return design.finish(summed(reduce(DataFrame.union, rows).repartition("key"), count, design.merge))


def _of_service(table: pa.Table, number: int) -> tuple[pa.Array, pa.Array]:
    _, *own = table.filter(pc.equal(table.column(0), number)).columns
    keys, outputs = (pa.concat_arrays(column.chunks) if len(column) else pa.array([], column.type) for column in own)
    return keys, outputs
