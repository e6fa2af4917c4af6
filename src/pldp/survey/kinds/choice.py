"""A choice of one label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pldp.budgets import Cost, variance_cost
from pldp.errors import SurveyError
from pldp.mechanisms import AUTO, Channel, Domain, Micro, PureChannel, hideable, names, pure
from pldp.survey.labels import LabelQuestion
from pldp.survey.question import Budgets, Entry

if TYPE_CHECKING:
    from pldp.mechanisms import Stages


@dataclass(frozen=True, repr=False)
class Choice(LabelQuestion):
    """A question that is answered with one label; a budget protects the label."""

    kind: ClassVar[str] = "choice"
    domain: ClassVar[Domain] = "labels"

    @classmethod
    def hidden_candidates(
        cls,
        entry: Entry,  # noqa: ARG003 - others depend on it
        mechanism: str,
        size: int,
        budgets: Sequence[Micro | Budgets],
    ) -> Iterator[tuple[Channel, ...]] | None:
        """Labels have many channels of one form, whether they are protected alike or have budgets of their own."""
        return hideable(
            mechanism, size, budgets, domain=cls.domain, per_value=any(isinstance(each, tuple) for each in budgets)
        )

    @classmethod
    def read_stages(cls, entry: Entry, size: int, budgets: Sequence[Micro | Budgets] = ()) -> tuple[Stages, ...]:
        """Labels that are tracked are protected alike."""
        if entry.tracked and budgets:
            raise SurveyError(
                f"{entry.key}: labels with budgets of their own cannot be tracked; protect all labels alike, or ask "
                'with repeat = "fresh"'
            )
        return super().read_stages(entry, size, budgets)

    @classmethod
    def cost(cls, table: Mapping[str, Any]) -> Cost:
        """Return the summed variance of all shares, at equal shares."""
        named, values = table.get("mechanism"), table.get("values")
        known = isinstance(named, str) and named in names(cls.domain, per_value=False)
        return variance_cost(str(named) if known else AUTO, max(2, len(values)) if isinstance(values, list) else 2)

    @cached_property
    def pure_channels(self) -> tuple[PureChannel, ...]:
        """The channels, where all values have the same protection."""
        return pure(self.channels)

    def hideable(self) -> str | None:
        """Shares are estimated from hidden levels whatever protects the labels."""
        return None
