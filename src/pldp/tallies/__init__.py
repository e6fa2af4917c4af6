"""Sufficient statistics of reports: counts per question and level, which merge by `+`."""

from pldp.tallies.counts import BitCounts, Counts, OutputCounts, Pair, PairCounts
from pldp.tallies.fusion import ABSENT, Fused, Service, Source, fused_of
from pldp.tallies.joining import fuse
from pldp.tallies.kernel import tally
from pldp.tallies.patterns import LARGEST_SET, Columns, ItemColumns, patterns_of
from pldp.tallies.tally import Tally, unreadable_reports

__all__ = [
    "ABSENT", "LARGEST_SET", "BitCounts", "Columns", "Counts", "Fused", "ItemColumns", "OutputCounts", "Pair",
    "PairCounts", "Service", "Source", "Tally", "fuse", "fused_of", "patterns_of", "tally", "unreadable_reports",
]  # fmt: skip
