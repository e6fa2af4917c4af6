"""The result of a choice of several labels: the share of people who have each item, and the frequent sets."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from pldp.estimates.groups import FloatArray
from pldp.estimates.result import PersonWeights, Result
from pldp.estimates.sets.itemsets import Itemsets
from pldp.estimates.sets.rules import Rule
from pldp.estimates.sets.supports import SetSupports


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sets(Result):
    """Supports of every single item, and the frequent sets with their errors.

    Attributes
    ----------
    values
        The items.
    support, standard_error
        Share of people who have each item, unbiased, and its standard error.
    sets
        The frequent sets, with supports, errors and which error is controlled.
    by_size
        Supports of the items pooled by size, present where the levels do not agree.
    weights
        Weight of each level in the support of every item (levels × items).
    """

    kind: ClassVar[str] = "choices"

    values: tuple[str, ...]
    support: FloatArray
    sets: Itemsets
    by_size: SetSupports | None = None
    weights: FloatArray

    @property
    def labels(self) -> tuple[str, ...]:
        """The items."""
        return self.values

    @property
    def estimates(self) -> FloatArray:
        """The supports of the items."""
        return self.support

    def person_weights(self) -> PersonWeights:
        """Return the weight of each person in the support of every item."""
        people = np.array([group.reports for group in self.groups])
        return PersonWeights(people, self.weights / people[:, None])

    def rules(self, min_confidence: float = 0.5) -> list[Rule]:
        """Return association rules within the frequent sets whose estimated confidence is at least this, best first."""
        return self.sets.rules(min_confidence)

    def _extras(self, confidence: float) -> dict[str, Any]:
        extras: dict[str, Any] = {
            "sets": [
                {"items": row.label, **{name: value for name, value in row._asdict().items() if name != "label"}}
                for row in self.sets.rows(confidence)
            ],
            "rules": [asdict(rule) for rule in self.rules()],
            "min_support": self.sets.min_support,
            "promise": self.sets.promise,
        }
        if self.by_size is not None:
            rows = self.by_size.rows(confidence)
            extras["by_size"] = [
                row._replace(label=item)._asdict() for item, row in zip(self.values, rows, strict=True)
            ]
        return extras

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the support of every item with error bars (needs the extra `plots`); `truth` adds a mark per item."""
        from pldp.estimates.shares.plot import plot_shares  # noqa: PLC0415 - matplotlib is optional

        return plot_shares(self, confidence, truth=truth, axes=axes)
