"""Sufficient statistics of reports: counts per question and level, which merge by `+`."""

from pldp.tallies.counts import BitCounts, Counts, OutputCounts
from pldp.tallies.fusion import Fused, Service, Source, fused_of
from pldp.tallies.joining import fuse
from pldp.tallies.kernel import tally
from pldp.tallies.pairs import PairCounts
from pldp.tallies.patterns import ItemColumns, PatternCounts
from pldp.tallies.tally import Tally

__all__ = [
    "BitCounts",
    "Counts",
    "Fused",
    "ItemColumns",
    "OutputCounts",
    "PairCounts",
    "PatternCounts",
    "Service",
    "Source",
    "Tally",
    "fuse",
    "fused_of",
    "tally",
]
