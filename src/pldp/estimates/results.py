"""The results of a whole tally."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pldp.estimates.frames import make_frame
from pldp.estimates.result import Result
from pldp.show import results_body, snippet


@dataclass(frozen=True, eq=False, repr=False)
class Results(Mapping[str, Result]):
    """The results of a whole tally, by question in the survey's order.

    `survey` is its hash; `rejections` are counted by reason; `tables` are those of pairs of questions that were tallied
    together, and `missing` says why a question, or a pair of questions, has no result.
    """

    survey: str
    title: str
    reports: int
    rejections: Mapping[str, int]
    results: Mapping[str, Result]
    tables: tuple[Result, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, question: str) -> Result:
        if question in self.missing:
            raise KeyError(self.missing[question])
        return self.results[question]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def rejected(self) -> int:
        """Number of reports that were not counted."""
        return sum(self.rejections.values())

    def to_mapping(self, confidence: float | None = None) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "survey": self.survey,
            "title": self.title,
            "reports": self.reports,
            "rejected": self.rejected,
            "rejections": dict(self.rejections),
            "questions": [result.to_mapping(confidence) for result in self.values()],
            "tables": [table.to_mapping(confidence) for table in self.tables],
            "missing": [{"name": name, "reason": reason} for name, reason in self.missing.items()],
        }

    def to_frame(self, confidence: float | None = None, *, library: str | None = None) -> Any:
        """Return the rows of all questions as one data frame, with the question in the first column."""
        rows = [{"question": name, **row._asdict()} for name, each in self.items() for row in each.rows(confidence)]
        return make_frame(rows, library)

    def __sub__(self, earlier: Results) -> Results:
        """Return what changed since an earlier round, question by question."""
        from pldp.estimates.rounds import change  # noqa: PLC0415 - it makes results itself

        return change(self, earlier) if isinstance(earlier, Results) else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Results are equal if they say the same."""
        return self.to_mapping() == other.to_mapping() if isinstance(other, Results) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # it holds arrays

    def __str__(self) -> str:
        lines = [*map(str, self.values()), *map(str, self.tables)]
        return "\n".join([*lines, *(f"{name}: no result, {reason}" for name, reason in self.missing.items())])

    def __repr__(self) -> str:
        names = ", ".join(self.results)
        return f"Results of {self.title!r}: {names or 'none'} from {self.reports:,} reports"

    def _repr_html_(self) -> str:
        """Show all cards in notebooks."""
        return snippet(results_body(self.to_mapping()))
