"""What simulated people of each kind of question have: values as arrays, drawn, counted, and the truth about them."""

from collections.abc import Mapping
from typing import Any, Final

from pldp.simulate.kinds.choice import SimulatedChoice
from pldp.simulate.kinds.choices import SimulatedChoices
from pldp.simulate.kinds.kind import SimulatedKind
from pldp.simulate.kinds.number import SimulatedNumber

BY_KIND: Final[Mapping[str, SimulatedKind[Any]]] = {
    "choice": SimulatedChoice(),
    "choices": SimulatedChoices(),
    "number": SimulatedNumber(),
}
"""The only list of kinds in this stage."""
