"""How each kind of question is estimated: the one registry of this stage.

A kind says which patterns its reports show and what its result is; `pldp.estimates.linear` decodes them. Read in order:

- `choice`: one label, the plainest case of the engine; `choices`: the result of a question about several labels.
- `item_sets` turns reports of sets into evidence about many sets at once, `item_search` finds the frequent ones, and
  `item_supports` holds the verbs, their results and the rules.
- `number_result` and `number`: a mean, a curve and its quantiles.
- `sides`: what any question brings to a table; `cells` crosses sides, `table` states the result, and `association` says
  how much two answers have to do with each other.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

from pldp.estimates.kinds import choice, choices, number
from pldp.estimates.kinds.sides import Side
from pldp.estimates.results.options import Options
from pldp.estimates.results.result import Result
from pldp.tallies import Tally


class EstimateKind(Protocol):
    """What the module of a kind offers."""

    @property
    def METHODS(self) -> Collection[str]:  # noqa: N802 - a constant of a module
        """Values of the option `method`; none where there is only one way."""

    def estimate(self, tally: Tally, question: Any, options: Options) -> Result:
        """Return the result of a question of this kind."""

    def side(self, tally: Tally, question: Any, options: Options) -> Side:
        """Return what a question of this kind brings to a table."""


BY_KIND: Final[Mapping[str, EstimateKind]] = {"choice": choice, "choices": choices, "number": number}
"""The module of each kind."""
