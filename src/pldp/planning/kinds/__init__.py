"""What each kind of question is planned by: what its result will hold, and what one report says about that."""

from collections.abc import Mapping
from typing import Any, Final

from pldp.planning.kinds.choice import PlannedChoice
from pldp.planning.kinds.choices import PlannedChoices
from pldp.planning.kinds.kind import PlannedKind
from pldp.planning.kinds.number import PlannedNumber

BY_KIND: Final[Mapping[str, PlannedKind[Any]]] = {
    "choice": PlannedChoice(),
    "choices": PlannedChoices(),
    "number": PlannedNumber(),
}
"""The only list of kinds in this stage."""
