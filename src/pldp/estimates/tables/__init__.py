"""Tables of two or three questions: axes, pooling over levels, association, and the result."""

from pldp.estimates.tables.association import LARGEST, Association, Spread
from pldp.estimates.tables.axes import Axis, CellAxis, ItemAxis, LabelAxis
from pldp.estimates.tables.bends import bend_test
from pldp.estimates.tables.groups import PairGroup, TableGroup, augment, inner, pair_groups, precision_weights
from pldp.estimates.tables.hidden import HiddenTable
from pldp.estimates.tables.pooled import PooledTable, ShownTable
from pldp.estimates.tables.ranges import Ranges
from pldp.estimates.tables.sides import Margin, NumberSide, PlainSide, Side, possible_shares, refuse_ranges
from pldp.estimates.tables.table import Table

__all__ = [
    "LARGEST", "Association", "Axis", "CellAxis", "HiddenTable", "ItemAxis", "LabelAxis", "Margin", "NumberSide",
    "PairGroup", "PlainSide", "PooledTable", "Ranges", "ShownTable", "Side", "Spread", "Table", "TableGroup", "augment",
    "bend_test", "inner", "pair_groups", "possible_shares", "precision_weights", "refuse_ranges",
]  # fmt: skip
