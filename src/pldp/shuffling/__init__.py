"""What a report is worth once it is one of many in random order."""

from pldp.shuffling.amplified import Bounds, Group, amplified
from pldp.shuffling.survey import DELTA, STEP, Shuffled, ShuffledRow, shuffle

__all__ = ["DELTA", "STEP", "Bounds", "Group", "Shuffled", "ShuffledRow", "amplified", "shuffle"]
