"""The only list of kinds of questions."""

from collections.abc import Mapping
from typing import Final

from pldp.survey.kinds.choice import Choice
from pldp.survey.kinds.choices import Choices
from pldp.survey.kinds.number import Number
from pldp.survey.question import Question

KINDS: Final[Mapping[str, type[Question]]] = {kind.kind: kind for kind in (Choice, Choices, Number)}
"""The class of each kind by its name in survey files."""

DEFAULT_KIND: Final = Choice.kind  #: The kind of a question whose table names none.

__all__ = ["DEFAULT_KIND", "KINDS", "Choice", "Choices", "Number"]
