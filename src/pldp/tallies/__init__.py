"""Sufficient statistics of reports: counts per question and level, which merge by `+`."""

from pldp.tallies.counts import BitCounts, Counts, OutputCounts
from pldp.tallies.fusion import ABSENT, Fused, Service, Source, fused_of
from pldp.tallies.joining import fuse
from pldp.tallies.kernel import tally
from pldp.tallies.patterns import LARGEST_SET, Columns, ItemColumns, OutputColumns, columns_of, joint_counts
from pldp.tallies.tally import Tally, unreadable_reports
from pldp.tallies.together import MOST_QUESTIONS, Pair, TableCounts

__all__ = [
    "ABSENT", "LARGEST_SET", "MOST_QUESTIONS", "BitCounts", "Columns", "Counts", "Fused", "ItemColumns",
    "OutputColumns", "OutputCounts", "Pair", "Service", "Source", "TableCounts", "Tally", "columns_of", "fuse",
    "fused_of", "joint_counts", "tally", "unreadable_reports",
]  # fmt: skip
