"""What every estimate is: rows with errors, notes, assumptions. Plain data, whatever the kind of the question."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from pldp.errors import EstimateError
from pldp.estimates.frames import make_frame
from pldp.estimates.live import check_plan, fit_confidence, fit_reach, linear_reach
from pldp.estimates.picture import plot_shares
from pldp.estimates.rare import Rare
from pldp.estimates.telling import find_lead, mark_too_few, reports_for
from pldp.mechanisms.arrays import FloatArray
from pldp.plain import plain
from pldp.records import Record
from pldp.show import card, conclusions, in_full, snippet

if TYPE_CHECKING:
    from pldp.estimates.forgery import Forgery
    from pldp.estimates.rounds import Change

CONFIDENCE = 0.95
"""Confidence of intervals where nobody asks for another."""

TEST_LEVEL = 0.01
"""False-alarm rate of the tests of homogeneity."""

SHOWN_ROWS = 3
"""Rows that `repr` shows."""

Label = str | tuple[str, ...]


class Row(NamedTuple):
    """One number of a result, with its error and interval."""

    label: Label
    estimate: float
    standard_error: float
    low: float
    high: float


class Interval(NamedTuple):
    """Lower and upper ends, one per number."""

    low: FloatArray
    high: FloatArray


class PersonWeights(NamedTuple):
    """Number of people of each group, and the weight of one of them in every number (groups × numbers)."""

    people: FloatArray
    weights: FloatArray


@dataclass(frozen=True)
class Note:
    """What a reader must know: a code that stays the same, and a sentence."""

    code: str
    text: str
    severity: Literal["info", "warning"] = "warning"


@dataclass(frozen=True)
class Homogeneity:
    """A χ² test of "the level does not depend on the answer", which pooling by precision assumes.

    `rejected` at `TEST_LEVEL`. `noticed` is the difference between levels, in the unit of the result, that the test
    notices with a probability of 80 %: a test that does not reject says nothing about smaller ones. Of shares it is the
    difference in the share of one value, the one where it is hardest to notice, between people of the stricter and of
    the more open levels (`pldp.estimates.agreement`). It is `None` where it is not known. `statistic` is the worst of
    so many `tests`, and `p_value` accounts for all of them.
    """

    statistic: float
    degrees: int
    p_value: float
    rejected: bool
    noticed: float | None = None
    tests: int = 1

    @classmethod
    def of(
        cls,
        statistic: float,
        degrees: int,
        tests: int = 1,
        noticed: float | None = None,
        cumulants: tuple[float, float] | None = None,
    ) -> Homogeneity:
        """Refer a statistic, the worst of so many tests (Bonferroni), to χ².

        `cumulants` are its second and third ones where they are not those of χ², 2·degrees and 8·degrees, as with
        counts of few reports. It is then referred to the χ² that has them after it is moved and scaled (Pearson's
        third type); its mean stays the degrees.
        """
        second, third = cumulants or (2.0 * degrees, 8.0 * degrees)
        matched = 8 * second**3 / third**2
        p_value = min(
            1.0, float(chdtrc(matched, matched + (statistic - degrees) * math.sqrt(2 * matched / second))) * tests
        )
        return cls(statistic, degrees, p_value, p_value < TEST_LEVEL, noticed, tests)


@dataclass(frozen=True, eq=False, repr=False)
class GroupReports(Record):
    """The reports of one level, the true ε of its channel, and its weight in the result; the weights sum to 1."""

    level: str
    mechanism: str
    epsilon: float
    reports: int
    weight: float


@dataclass(frozen=True)
class LevelShare:
    """A hidden level: its mechanism and ε, and the estimated share of people who chose it."""

    level: str
    mechanism: str
    epsilon: float
    share: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(ABC):
    """Numbers of one question with everything needed to judge them; it can be pickled, copied and compared.

    Attributes
    ----------
    question, text, reports
        Name of the question, what people read, and the number of reports behind the numbers.
    method, target
        How they were made; and whether they are those of the respondents or of the population they were drawn from.
    groups, homogeneity
        What each level contributes, and a test whether they agree, where at least two have enough reports.
    assumption_free
        The same, whatever the choice of a level depends on; present wherever this result assumes something about it.
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
    distinct
        Hash of the survey if each person answers it in one round only; empty where people may be in several.
    live
        The planned number of reports, if intervals hold however often you look while reports come; `None` if they are
        for one look, at a number of reports that does not depend on what they say.
    """

    kind: ClassVar[str]

    question: str
    text: str = ""
    reports: int
    method: str
    target: str
    groups: tuple[GroupReports, ...] = ()
    homogeneity: Homogeneity | None = None
    assumption_free: Result | None = None
    assumptions: tuple[str, ...]
    notes: tuple[Note, ...]
    manipulation: float = math.nan
    forgery: Forgery | None = None
    levels: tuple[LevelShare, ...] = ()
    confidence: float = CONFIDENCE
    unit: str = "share"
    distinct: str = ""
    live: int | None = None
    rare: Rare | None = None
    standard_error: FloatArray

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_plan(self.live)

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
        return self.rare_rows()

    def rare_rows(self) -> npt.NDArray[np.bool_]:
        """Return which numbers too few reports speak for."""
        return np.zeros(self.estimates.size, bool) if self.rare is None else self.rare.marks(self.estimates.size)

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
        reports speak for have conservative intervals instead (`pldp.estimates.rare`).
        """
        comparisons = self.estimates.size if simultaneous else 1
        return interval_around(self.estimates, self.standard_error, self.reach(confidence, comparisons), rare=self.rare)

    def reach(self, confidence: float | None = None, comparisons: int = 1, *, reports: float | None = None) -> float:
        """Return how many standard errors intervals reach, each of them one of so many that hold together.

        Those of a `live` result hold at every look, and depend on the number of reports; see `pldp.estimates.live`.
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

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows as plain records, with what this kind of result adds to them."""
        rows = [row._asdict() for row in self.rows(confidence)]
        if self.rare is None:
            return rows
        return [{**row, "conservative": wide} for row, wide in zip(rows, self.conservative.tolist(), strict=True)]

    def marked(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the records, those that say nothing marked."""
        return mark_too_few(self.records(confidence), self.possible, lambda times: self.reports_for(times, confidence))

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
            "homogeneity": None if self.homogeneity is None else asdict(self.homogeneity),
            "assumption_free": None if self.assumption_free is None else _beside(self.assumption_free, confidence),
            "groups": [{part.name: getattr(each, part.name) for part in fields(GroupReports)} for each in self.groups],
            "levels": [asdict(level) for level in self.levels],
            "lead": self.lead(confidence),
            **self._extras(self._confidence(confidence)),
        }
        mapped = dict(plain(content))
        return {**mapped, "conclusions": conclusions(mapped)}

    def lead(self, confidence: float | None = None) -> Mapping[str, Any] | None:
        """Return the label with the largest number and what cannot be told apart from it; `None` where none compare.

        The differences hold for all other labels together (Bonferroni). Unless a kind knows better, errors of two
        numbers are added as if they were opposed: the interval is then on the safe side.
        """
        if not self.estimates.size > 1:
            return None
        reach = self.reach(confidence, self.estimates.size - 1)
        top = int(np.argmax(self.estimates))
        return find_lead(self.labels, np.ravel(self.estimates), self.difference_errors(top), reach, self.reports)

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
        return make_frame(self.records(confidence), library)

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the result with its errors (needs the extra `plots`); `truth` adds what is true, where it is known."""
        return plot_shares(self, confidence, truth=truth, axes=axes)

    def __eq__(self, other: object) -> bool:
        """Results are equal if they say the same."""
        return self.to_mapping() == other.to_mapping() if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # it holds arrays

    def __str__(self) -> str:
        return in_full(self.to_mapping())

    def __repr__(self) -> str:
        labels = [label if isinstance(label, str) else " × ".join(label) for label in self.labels]
        pairs = zip(labels, self.rows(), strict=True)
        shown = [f"  {label}: {row.estimate:.4g} ± {row.standard_error:.2g}" for label, row in pairs]
        if len(shown) > SHOWN_ROWS:
            shown[SHOWN_ROWS:] = [f"  and {len(shown) - SHOWN_ROWS:,} more"]
        head = f"{type(self).__name__} {self.question}: {self.reports:,} reports, {self.method}"
        return "\n".join([head, *shown])

    def _repr_html_(self) -> str:
        """Show the card of the result in notebooks."""
        return snippet(card(self.to_mapping()))


def _beside(result: Result, confidence: float | None) -> dict[str, Any]:
    """Return what another result shows of one that stands beside it."""
    return {"method": result.method, "assumptions": list(result.assumptions), "rows": result.marked(confidence)}


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is none."""
    if not 0 < confidence < 1:
        raise EstimateError(f"confidence must be between 0 and 1, not {confidence}")


def normal_reach(confidence: float, comparisons: int = 1) -> float:
    """Return how many standard errors a normal interval reaches, for one of so many intervals that hold together.

    >>> round(normal_reach(0.95), 2), round(normal_reach(0.95, 10), 2)
    (1.96, 2.81)
    """
    check_confidence(confidence)
    return NormalDist().inv_cdf(1 - (1 - confidence) / 2 / comparisons)


def interval_around(estimates: FloatArray, error: FloatArray, reach: float, *, rare: Rare | None) -> Interval:
    """Return estimates ± so many errors, except where few reports speak for a number."""
    found = Interval(estimates - reach * error, estimates + reach * error)
    if rare is not None:
        rare.widen(estimates, *found, reach)
    return found


def make_rows(labels: Sequence[Label], estimates: FloatArray, error: FloatArray, interval: Interval) -> list[Row]:
    """Return one row per label."""
    columns = (np.ravel(numbers).tolist() for numbers in (estimates, error, *interval))
    return [Row(label, *numbers) for label, *numbers in zip(labels, *columns, strict=True)]
