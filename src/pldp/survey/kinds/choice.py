"""A choice of one label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from pldp.budgets import variance_cost
from pldp.errors import SurveyError
from pldp.mechanisms import AUTO, Channel, Domain, Micro, PureChannel, hideable, names, pure
from pldp.survey.labels import BUDGET_KEYS, LabelQuestion, read_labels
from pldp.survey.question import Budgets, Entry
from pldp.survey.sharing import Form

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
    def forms(cls, entry: Entry, *, free: bool = True) -> tuple[Form, ...]:
        """Return one form, with a formula for its error where there is one."""
        (form,) = super().forms(entry, free=free)
        mechanisms = set(entry.mechanisms().values())
        alike = not BUDGET_KEYS & entry.table.keys() and not entry.tracked and len(mechanisms) == 1
        if not alike or "values" not in entry.table or not mechanisms <= {AUTO, *names(cls.domain, per_value=False)}:
            return (form,)
        return (replace(form, ideal=variance_cost(mechanisms.pop(), len(read_labels(entry)))),)

    @cached_property
    def pure_channels(self) -> tuple[PureChannel, ...]:
        """The channels, where all values have the same protection."""
        return pure(self.channels)

    def hideable(self) -> str | None:
        """Shares are estimated from hidden levels whatever protects the labels."""
        return None
