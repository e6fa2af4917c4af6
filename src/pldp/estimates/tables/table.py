"""The result of two questions together: the share of every pair of values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from pldp.estimates.consistency import with_margins
from pldp.estimates.groups import FloatArray
from pldp.estimates.result import PersonWeights, Result, make_frame
from pldp.estimates.shares.shares import Shares


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Table(Result):
    """Shares of pairs of values.

    Attributes
    ----------
    margins
        The shares of both questions on their own: rows and columns of the table.
    shares, standard_error
        Unbiased share of each pair, values of the first question × values of the second, and its standard error.
    reports
        Number of reports that answer both questions.
    by_size
        The same table pooled by size, present where the levels of a question do not agree.
    people
        How many people of each pair of levels there are, and the weight of one of them.
    """

    kind: ClassVar[str] = "table"

    margins: tuple[Shares, Shares]
    shares: FloatArray
    by_size: Table | None = None
    people: PersonWeights

    @property
    def labels(self) -> list[tuple[str, str]]:
        """The pairs of values, row by row."""
        rows, columns = self.margins
        return [(first, second) for first in rows.values for second in columns.values]

    @property
    def estimates(self) -> FloatArray:
        """The shares."""
        return self.shares

    def person_weights(self) -> PersonWeights:
        """Return the weight of each person."""
        return self.people

    def consistent(self) -> FloatArray:
        """Return the nearest table that could be true: at least 0, with the consistent margins of both questions."""
        return self._consistent.copy()

    @cached_property
    def _consistent(self) -> FloatArray:
        return with_margins(self.shares, *(margin.consistent() for margin in self.margins))

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows with the consistent share beside each."""
        rows, consistent = super().records(confidence), self._consistent.ravel().tolist()
        return [{**row, "consistent": share} for row, share in zip(rows, consistent, strict=True)]

    def to_frame(self, confidence: float | None = None, *, library: str | None = None) -> Any:
        """Return the rows as a data frame, with a column of values for each question."""
        names = [margin.question for margin in self.margins]
        records = self.records(confidence)
        return make_frame([{**dict(zip(names, row.pop("label"), strict=True)), **row} for row in records], library)

    def _extras(self, confidence: float) -> dict[str, Any]:
        extras: dict[str, Any] = {"questions": [margin.question for margin in self.margins]}
        if self.by_size is not None:
            extras["by_size"] = self.by_size.records(confidence)
        return extras

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the consistent shares as shaded cells with the reach of their intervals (needs the extra `plots`)."""
        from pldp.estimates.tables.plot import plot_table  # noqa: PLC0415 - matplotlib is optional

        return plot_table(self, confidence, truth=truth, axes=axes)
