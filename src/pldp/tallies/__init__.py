"""Sufficient statistics of reports: counts per question and level, which merge by `+`."""

from pldp.tallies.counts import BitCounts, Counts, OutputCounts
from pldp.tallies.fusion import ABSENT, Asked, Fused, HiddenLevels, Service, Source, fused_of
from pldp.tallies.joining import fuse, require_accepted
from pldp.tallies.kernel import tally
from pldp.tallies.keyed import (
    Keyed,
    Plain,
    join_services,
    keyed_reports,
    read_plain_file,
    read_survey_file,
    service_name,
    survey_of,
)
from pldp.tallies.patterns import LARGEST_SET, Columns, ItemColumns, OutputColumns, columns_of, joint_counts
from pldp.tallies.repeats import Repeats
from pldp.tallies.tally import Tally, unreadable_reports
from pldp.tallies.together import MOST_QUESTIONS, Pair, TableCounts

__all__ = [
    "ABSENT", "LARGEST_SET", "MOST_QUESTIONS", "Asked", "BitCounts", "Columns", "Counts", "Fused", "HiddenLevels",
    "ItemColumns", "Keyed", "OutputColumns", "OutputCounts", "Pair", "Plain", "Repeats", "Service", "Source",
    "TableCounts", "Tally", "columns_of", "fuse", "fused_of", "join_services", "joint_counts", "keyed_reports",
    "read_plain_file", "read_survey_file", "require_accepted", "service_name", "survey_of", "tally",
    "unreadable_reports",
]  # fmt: skip
