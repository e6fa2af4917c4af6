"""What looks different by kind of result: one module each, and the only list of them."""

from collections.abc import Mapping
from typing import Final

from pldp.show.kinds.choice import Choice
from pldp.show.kinds.choices import Choices
from pldp.show.kinds.kind import Kind
from pldp.show.kinds.number import Number
from pldp.show.kinds.rounds import Change, Trend
from pldp.show.kinds.two_way import TwoWay

ONE_ROUND: Final[Mapping[str, Kind]] = {
    "choice": Choice(),
    "choices": Choices(),
    "number": Number(),
    "table": TwoWay(),
}

BY_KIND: Final[Mapping[str, Kind]] = {**ONE_ROUND, "change": Change(ONE_ROUND), "trend": Trend(ONE_ROUND)}

__all__ = ["BY_KIND", "Kind"]
