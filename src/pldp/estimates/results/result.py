"""What every estimate is: rows with errors, notes, assumptions. Plain data, whatever the kind of the question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from pldp.estimates.linear.small_counts import SmallCounts, interval_around
from pldp.estimates.results import notes
from pldp.estimates.results.alike import describe_alike
from pldp.estimates.results.consistency import points_within
from pldp.estimates.results.facts import Facts, GroupReports, Note, PersonWeights, unseen_shift
from pldp.estimates.results.intervals import (
    Interval,
    Label,
    Row,
    bias_of_difference,
    check_confidence,
    find_lead,
    fit_confidence,
    fit_reach,
    linear_reach,
    make_rows,
    mark_too_few,
    normal_reach,
    reports_for,
)
from pldp.estimates.results.options import Options, assumed_about_levels
from pldp.forgery import Forgery
from pldp.mechanisms.arrays import FloatArray
from pldp.plain import plain
from pldp.show import card, conclusions, in_full, make_frame, plot, results_body, snippet

if TYPE_CHECKING:
    from pldp.estimates.rounds import Change

SHOWN_ROWS: Final = 3  # of a result, by `repr`


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Facts, ABC):
    """Numbers of one question with everything needed to judge them; it can be pickled, copied and compared.

    Attributes
    ----------
    question, text, reports
        Name of the question, what people read, and the number of reports behind the numbers.
    method, target
        How they were made; and whether they are those of the respondents or of the population they were drawn from.
    groups, homogeneity
        What each level contributes, and a test whether they agree, where at least two have enough reports.
    differ
        At most how much people of different levels differ, as it was declared: 0 if they are alike, `None` if nothing
        is assumed about who chose which level.
    alike
        The same if people of all levels are alike (`differ` = 0), where that is another result.
    assumptions, notes
        What the errors assume; what a reader must know first.
    manipulation
        People that one forged report can count as, at the level where it does most harm; NaN where it is not known.
    forgery
        Whether reports look forged: tests for what honest reports cannot have; `None` where none was made.
    levels
        Where levels are hidden, how many people are estimated to have chosen each.
    confidence, unit
        Confidence of the intervals where a method is not given another, and what the numbers are measured in.
    rare
        The numbers that too few reports speak for to have normal intervals; theirs are conservative.
    bias
        The least and the most that the truth may be above what each number is on average, where reports cannot tell;
        intervals hold for all that is between. Standard errors do not contain it. `None` where there is none.
    distinct
        Hash of the survey if each person answers it in one round only; empty where people may be in several.
    live
        The planned number of reports, if intervals hold however often you look while reports come; `None` if they are
        for one look, at a number of reports that does not depend on what they say.
    """

    kind: ClassVar[str]
    compares: ClassVar[bool] = False  # whether it is made of rounds, and has none to subtract

    differ: float | None = None
    alike: Result | None = None
    forgery: Forgery | None = None
    distinct: str = ""
    live: int | None = None
    rare: SmallCounts | None = None
    bias: Interval | None = None
    standard_error: FloatArray

    @property
    @abstractmethod
    def labels(self) -> Sequence[Label]:
        """What the numbers stand for, one label per row."""

    @property
    @abstractmethod
    def estimates(self) -> FloatArray:
        """The numbers, as many as labels."""

    @property
    def scale(self) -> tuple[Any, ...]:
        """What was asked: results of other scales cannot be subtracted."""
        return tuple(self.labels)

    @property
    def has_normal_error(self) -> npt.NDArray[np.bool_]:
        """Whether errors of each number add up as those of sums do; its interval is that many wide unless `rare`."""
        return np.ones(self.estimates.size, bool)

    @property
    def assumes_smoothness(self) -> bool:
        """Whether standard errors hold only if the distribution of a number is smooth; its own intervals do anyway."""
        return False

    @property
    def conservative(self) -> npt.NDArray[np.bool_]:
        """Whether the interval of each number holds more often than it says, on purpose."""
        return np.zeros(self.estimates.size, bool) if self.rare is None else self.rare.marks(self.estimates.size)

    @property
    def exclusive(self) -> bool:
        """Whether the numbers are shares of people who have exactly one of the labels each."""
        return False

    @property
    def fitted(self) -> bool:
        """Whether the numbers come from a fit; otherwise they are sums over reports."""
        return False

    @property
    def possible(self) -> tuple[float, float]:
        """The least and the largest number that could be true."""
        return 0.0, 1.0

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person, where the numbers are weighted means over people."""
        people = np.array([group.reports for group in self.groups])
        weights = np.array([[group.weight / group.reports] for group in self.groups])
        return PersonWeights(people, weights) if self.groups else None

    def covariance_of_values(self, other: Result) -> Interval:
        """Return the least and the largest covariance of what one person is in two rounds (Fréchet's bounds)."""
        one, two = (np.clip(each.estimates, 0, 1) for each in (self, other))
        return Interval(np.maximum(0, one + two - 1) - one * two, np.minimum(one, two) - one * two)

    def __sub__(self, earlier: Result) -> Change:
        """Return what changed since an earlier round."""
        from pldp.estimates.rounds import change  # noqa: PLC0415 - it makes results itself

        return change(self, earlier) if isinstance(earlier, Result) else NotImplemented

    def interval(self, confidence: float | None = None, *, simultaneous: bool = False) -> Interval:
        """Return normal intervals for each number; with `simultaneous`, for all of them at once (Bonferroni).

        The ends are not cut at 0 and 1: an interval that reaches below 0 says that 0 is possible. Numbers that few
        reports speak for have conservative intervals instead (`pldp.estimates.linear.small_counts`).
        """
        reach, live = self.reach(confidence, self.estimates.size if simultaneous else 1), self.live is not None
        return interval_around(self.estimates, self.standard_error, reach, rare=self.rare, bias=self.bias, live=live)

    def reach(self, confidence: float | None = None, comparisons: int = 1, *, reports: float | None = None) -> float:
        """Return how many standard errors intervals reach, each of them one of so many that hold together.

        Those of a `live` result hold at every look, and depend on the number of reports (see `intervals`).
        """
        wanted = self._confidence(confidence)
        if self.live is None:
            return normal_reach(wanted, comparisons)
        check_confidence(wanted)
        own, part = 1 - (1 - wanted) / comparisons, (reports or self.reports) / self.live
        return fit_reach(own, part) if self.fitted else float(linear_reach(own, part))

    def fit_confidence(self, confidence: float) -> float:
        """Return the confidence at which a fit must be asked for an interval, so that it holds at every look."""
        return confidence if self.live is None else fit_confidence(confidence, self.reports / self.live)

    def _confidence(self, confidence: float | None) -> float:
        return self.confidence if confidence is None else confidence

    def rows(self, confidence: float | None = None) -> list[Row]:
        """Return one row per label: estimate, standard error and interval."""
        return make_rows(self.labels, self.estimates, self.standard_error, self.interval(confidence))

    def points(self, confidence: float | None = None) -> FloatArray:
        """Return the numbers as they are shown: within their intervals, as far as these are possible."""
        least, most = self.possible
        low, high = (np.clip(np.ravel(end), least, most) for end in self.interval(confidence))
        if self.exclusive:
            return points_within(np.ravel(self.estimates), low, high)
        return np.clip(np.ravel(self.estimates), low, high)

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows as plain records, with the point to show and what this kind of result adds to them."""
        points = self.points(confidence).tolist()
        rows = [{**row._asdict(), "point": point} for row, point in zip(self.rows(confidence), points, strict=True)]
        if self.rare is None:
            return rows
        return [{**row, "conservative": wide} for row, wide in zip(rows, self.conservative.tolist(), strict=True)]

    def marked(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the records, those that say nothing marked."""
        return mark_too_few(self.records(confidence), self.possible, lambda times: self.reports_for(times, confidence))

    def stated_with(self, options: Options, **circumstances: Any) -> Self:
        """Return this result, and the one beside it, for these circumstances, with notes about its intervals."""
        circumstances |= {"confidence": options.confidence, "live": options.live}
        beside = None if self.alike is None else replace(self.alike, **circumstances)
        made = replace(self, **circumstances, alike=beside)
        return replace(made, notes=made.noted())

    def noted(self) -> tuple[Note, ...]:
        """Return the notes with those about intervals: first which numbers say nothing, last which are wide and why."""
        first, last, rows = list[Note](), list[Note](), self.marked()
        few = [row for row in rows if "too_few" in row]
        if few:
            labels = [_written(row["label"]) for row in few] if len(few) < len(rows) else []
            if self.unit != "share":
                labels = [f"the {label}{' quantile' if label.endswith('%') else ''}" for label in labels]
            first.append(notes.too_few_to_say(labels, max(row["too_few"] for row in few), self.unit))
        if self.live is not None:
            last.append(notes.live_intervals(self.reach() / normal_reach(self.confidence)))
        if self.rare is not None and self.rare.marks(self.estimates.size).any():
            marks = zip(self.labels, self.rare.marks(self.estimates.size), strict=True)
            last.append(notes.rare_labels([_written(label) for label, is_rare in marks if is_rare]))
        return (*first, *self.notes, *last)

    def reports_for(self, times: float, confidence: float | None = None) -> float:
        """Return how many reports would make the intervals so many times narrower."""
        return reports_for(times, self.reports, lambda reports: self.reach(confidence, reports=reports))

    def to_mapping(self, confidence: float | None = None) -> dict[str, Any]:
        """Return everything as plain data for JSON; a number that is not known is `None`."""
        content = {
            "name": self.question,
            "text": self.text,
            "kind": self.kind,
            "unit": self.unit,
            "reports": self.reports,
            "method": self.method,
            "target": self.target,
            "confidence": self._confidence(confidence),
            "live": self.live,
            "rows": self.marked(confidence),
            "notes": [asdict(note) for note in self.notes],
            "assumptions": list(self.assumptions),
            "manipulation": self.manipulation,
            "forgery": None if self.forgery is None else asdict(self.forgery),
            "assumes_about_levels": assumed_about_levels(self.differ),
            "differ": self.differ,
            "homogeneity": None if self.homogeneity is None else asdict(self.homogeneity),
            "alike": None if self.alike is None else describe_alike(self, self.alike, confidence),
            "groups": [{part.name: getattr(each, part.name) for part in fields(GroupReports)} for each in self.groups],
            "levels": [asdict(level) for level in self.levels],
            "lead": self.lead(confidence),
            **self._extras(self._confidence(confidence)),
        }
        mapped = dict(plain(content))
        return {**mapped, "conclusions": conclusions(mapped)}

    @property
    def unseen_bias(self) -> FloatArray:
        """How far `alike` can be off in each number although its test notices nothing; of quantiles nobody knows.

        Nor is it known beside a declared bound: it is what differs from the result that assumes nothing.
        """
        found = np.full(self.estimates.size, np.nan)
        if self.alike is None or self.differ is not None:
            return found
        errors = (np.ravel(each.standard_error)[self.has_normal_error] for each in (self, self.alike))
        found[self.has_normal_error] = unseen_shift(*errors)
        return found

    def lead(self, confidence: float | None = None) -> Mapping[str, Any] | None:
        """Return the label with the largest number and what cannot be told apart from it; `None` where none compare.

        The differences hold for all other labels together (Bonferroni). Unless a kind knows better, errors of two
        numbers are added as if they were opposed: the interval is then on the safe side. Where that alone keeps two
        with disjoint intervals from being told apart, nothing is said of them: they are `unclear`.
        """
        if not self.estimates.size > 1:
            return None
        reach = self.reach(confidence, self.estimates.size - 1)
        top = int(np.argmax(self.estimates))
        numbers, errors, bias, ends = np.ravel(self.estimates), self.difference_errors(top), None, None
        if self.bias is not None:
            bias = bias_of_difference(Interval(*(np.ravel(end)[top] for end in self.bias)), self.bias)
            ends = interval_around(numbers[top] - numbers, errors, reach, bias=bias, live=self.live is not None)
        found = find_lead(self.labels, numbers, errors, reach, self.reports, ends=ends, bias=bias)
        if found is None or self.compares_exactly:
            return found
        low, high = (np.ravel(end) for end in self.interval(confidence))
        apart = {label for label, own in zip(self.labels, high < low[top], strict=True) if own}
        unclear = sum(tie["label"] in apart for tie in found["ties"])
        ties = [tie for tie in found["ties"] if tie["label"] not in apart]
        return {**found, "ties": ties, "tied": found["tied"] - unclear, "unclear": unclear}

    @property
    def compares_exactly(self) -> bool:
        """Whether `difference_errors` are the errors of differences; otherwise they are larger, on the safe side."""
        return False

    def difference_errors(self, place: int) -> FloatArray:
        """Return at most the standard errors of the differences between one number and each."""
        errors = np.ravel(self.standard_error)
        return np.asarray(errors[place] + errors)

    def _extras(self, confidence: float) -> dict[str, Any]:
        """Return what only this kind of result has."""
        del confidence
        return {}

    def to_frame(self, confidence: float | None = None, *, library: str | None = None) -> Any:
        """Return the rows as a pandas or Polars data frame, whichever is asked for or installed."""
        return make_frame(self.framed(confidence), library)

    def framed(self, confidence: float | None) -> list[dict[str, Any]]:
        """Return the records with the ends of the intervals if people of all levels are alike."""
        rows = self.records(confidence)
        if self.alike is None:
            return rows
        ends = np.transpose([np.ravel(end) for end in self.alike.interval(confidence)]).tolist()
        return [
            {**row, "low_if_alike": low, "high_if_alike": high} for row, (low, high) in zip(rows, ends, strict=True)
        ]

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the result with its errors (needs the extra `plots`); `truth` adds what is true, where it is known.

        A table is drawn as shaded cells, rounds as a line per label; their `truth` has rounds × labels.
        """
        return plot(self.to_mapping(confidence), truth=truth, axes=axes)

    def __eq__(self, other: object) -> bool:
        """Results are equal if they say the same."""
        return self.to_mapping() == other.to_mapping() if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # it holds arrays

    def __str__(self) -> str:
        return in_full(self.to_mapping())

    def __repr__(self) -> str:
        pairs = zip(self.labels, self.rows(), strict=True)
        shown = [f"  {_written(label)}: {row.estimate:.4g} ± {row.standard_error:.2g}" for label, row in pairs]
        if len(shown) > SHOWN_ROWS:
            shown[SHOWN_ROWS:] = [f"  and {len(shown) - SHOWN_ROWS:,} more"]
        head = f"{type(self).__name__} {self.question}: {self.reports:,} reports, {self.method}"
        return "\n".join([head, *shown])

    def _repr_html_(self) -> str:
        """Show the card of the result in notebooks."""
        return snippet(card(self.to_mapping()))


def _written(label: Label) -> str:
    return label if isinstance(label, str) else " × ".join(label)


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
        names = ("label", "estimate", "standard_error", "low", "high", "point", "low_if_alike", "high_if_alike")
        framed = ((question, row) for question, each in self.items() for row in each.framed(confidence))
        rows = [{"question": question, **{name: row.get(name) for name in names}} for question, row in framed]
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
