"""The same tallies on Spark: the local kernel runs where the reports lie; only counts travel. Needs `pldp[spark]`."""

from pldp.tallies.spark.cluster import connect, sum_tasks
from pldp.tallies.spark.counting import tally, tally_files
from pldp.tallies.spark.fusion import FrameService, fuse
from pldp.tallies.spark.items import baskets

__all__ = ["FrameService", "baskets", "connect", "fuse", "sum_tasks", "tally", "tally_files"]
