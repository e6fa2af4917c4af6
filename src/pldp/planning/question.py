"""The plan of one question: what to expect of its rows, its levels and thresholds, and how many people it needs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from pldp.errors import PlanError
from pldp.mechanisms.arrays import FloatArray
from pldp.planning.kinds import BY_KIND
from pldp.planning.kinds.kind import SHARE, Expected
from pldp.planning.levels import Levels, Threshold, compare_thresholds
from pldp.planning.worst import Worst, find_worst
from pldp.records import Brief, Record
from pldp.show import Writer, amounts, percents


@dataclass(frozen=True)
class PeopleNeeded:
    """How many people make every interval as narrow as wanted: at the assumed shares, and whatever the shares are.

    The first two hold however levels are chosen, the others if levels are chosen regardless of answers.
    """

    plausible: int
    worst: int
    alike: int
    alike_worst: int


@dataclass(frozen=True, repr=False)
class LevelPlan(Brief):
    """One level of a question, with the standard error to expect from its reports alone.

    That is the error of a share (root mean square over all labels), or of a mean.
    `mechanisms` has it for each mechanism, best first. For shares `auto` is within half a percent of the first;
    for numbers it is the one that shows the distribution best, which may not be the best for the mean.
    """

    level: str
    epsilon: float
    mechanism: str
    reports: float
    standard_error: float
    mechanisms: Mapping[str, float]

    @property
    def best(self) -> str:
        """The most accurate mechanism."""
        return next(iter(self.mechanisms))


@dataclass(frozen=True, eq=False, repr=False)
class QuestionPlan(Record):
    """What to expect of one question: rows (the share of each label, or the mean) with their values and errors.

    Errors hold however people choose levels. `alike` is the same question if they choose them regardless of their
    answers, and `declared` what to expect if levels differ by at most what was declared.
    """

    question: str
    kind: str
    unit: str  # of the rows: `share`, or the unit of a number
    reach: float  # how far apart two values can be
    shares: FloatArray  # those assumed, of labels or buckets
    rows: Mapping[str, float]  # what is estimated, with its value if those shares are true
    reports: float
    standard_error: FloatArray  # of the rows, at those shares
    manipulation: float  # people that one forged report can count as; of a mean, the largest true number, so many times
    levels: tuple[LevelPlan, ...]
    assumed: str  # where those shares come from, in words
    remarks: tuple[str, ...]  # what a reader of the errors should know
    advice: str | None  # what would be better, in words
    differ: float | None  # what was declared
    design: Levels = field(compare=False)  # what errors are computed from; what takes long waits until it is asked for

    @cached_property
    def alike(self) -> "QuestionPlan":
        """The same question if people choose their level regardless of their answer."""
        levels = replace(self.design, differ=0.0)
        error, forged = np.sqrt(levels.variance(self.shares)), levels.manipulation(self.shares)
        return replace(self, standard_error=error, manipulation=forged, design=levels)

    @cached_property
    def declared(self) -> Expected | None:
        """What to expect if people of different levels differ by at most what was declared; `None` if nothing was."""
        return None if self.differ is None else replace(self.design, differ=self.differ).expected(self.shares)

    @cached_property
    def worst(self) -> Worst:
        """The largest standard error of any row, whatever the shares."""
        asked = self.design.question
        return find_worst(
            BY_KIND[asked.kind].families(asked), self.design.widest, float(self.standard_error.max()) ** 2
        )

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """What dropping or capping levels would cost."""
        return compare_thresholds(self.design, self.shares)

    @cached_property
    def hiding_cost(self) -> float:
        """How many times larger errors (root mean square) are than with labels that tell the level."""
        if self.design.label is None:
            return 1.0
        hidden, told = (self.standard_error**2).mean(), self.design.told().variance(self.shares).mean()
        return float(np.sqrt(hidden / told)) if told > 0 else 1.0

    def interval_width(self, confidence: float = 0.95) -> FloatArray:
        """Return the expected width of each interval (both sides together)."""
        return np.asarray(2 * reach_of(confidence) * self.standard_error)

    def half(self, confidence: float = 0.95) -> float:
        """Return half of the widest interval."""
        return float(self.interval_width(confidence).max()) / 2

    @property
    def of_shares(self) -> bool:
        """Whether what is estimated are shares of the people, and not a number in a unit of its own."""
        return self.unit == SHARE

    @property
    def contents(self) -> str:
        """What is estimated, in words."""
        return f"{len(self.rows):,} shares" if self.of_shares else ", ".join(self.rows)

    @property
    def noun(self) -> str:
        """What people choose from, in words."""
        return f"{len(self.rows):,} {BY_KIND[self.kind].options}" if self.of_shares else self.contents

    @property
    def typical_error(self) -> str:
        """The standard error in words: of shares the root mean square, of numbers that of each row."""
        if self.of_shares:
            return self.amount(float(np.sqrt((self.standard_error**2).mean())))
        return ", ".join(self.amount(error) for error in self.standard_error.tolist())

    def half_width(self, confidence: float = 0.95) -> str:
        """Return the widest interval at the assumed shares in words.

        >>> from pldp import Survey, plan
        >>> spent = plan(Survey.load("examples/shopping.toml"), 1000).questions[2]
        >>> spent.half_width(), spent.worst_half_width()
        ('± 30.4 euros', '± 33.5 euros')
        """
        return f"± {self.amount(self.half(confidence))}"

    def worst_half_width(self, confidence: float = 0.95) -> str:
        """Return the widest interval at the worst shares in words."""
        return f"± {self.amount(reach_of(confidence) * self.worst.standard_error)}"

    def if_alike(self, confidence: float = 0.95) -> str:
        """Return what to add to a sentence about the interval; nothing where one level is all there is."""
        several = (self.design.reports > 0).sum() > 1
        return f", {self.alike.half_width(confidence)} if levels are chosen regardless of answers" if several else ""

    def people_for(self, error: float, confidence: float, people: int) -> PeopleNeeded:
        """Return how many people make every interval at most ± error, given the number that the plan is for."""
        plans = (self, self.alike)
        errors = [each for own in plans for each in (float(own.standard_error.max()), own.worst.standard_error)]
        ratios = (reach_of(confidence) * each / error for each in errors)
        return PeopleNeeded(*(max(1, math.ceil(people * ratio**2)) for ratio in ratios))

    def amount(self, number: float) -> str:
        """Write an error for people: of shares in percentage points, of numbers in their unit."""
        return f"{100 * number:.3g} pp" if self.of_shares else f"{number:.3g} {self.unit}".strip()

    def margin(self, number: float) -> str:
        """Write half an interval for people."""
        return f"± {margin_writer(number, self.unit)(number)}"

    def to_mapping(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return plain data: rows and worst shares with nothing assumed, if people are alike, and as declared."""
        names = ("question", "kind", "unit", "assumed", "reports", "hiding_cost", "manipulation", "advice")
        of_level = ("level", "epsilon", "mechanism", "best", "reports", "standard_error", "mechanisms")
        return {
            **{name: getattr(self, name) for name in names},
            "assumes": "nothing",
            **self.margins(confidence),
            "alike": self.alike.margins(confidence),
            "differ": self._declared(confidence),
            "levels": [{name: getattr(level, name) for name in of_level} for level in self.levels],
            "remarks": list(self.remarks),
            "thresholds": [each.to_mapping() for each in self.thresholds],
        }

    def margins(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return the rows and the worst shares as plain data."""
        columns = {"standard_error": self.standard_error, "interval_width": self.interval_width(confidence)}
        return {"rows": self._rows(columns), "worst": self.worst.to_mapping(reach_of(confidence))}

    def _declared(self, confidence: float) -> dict[str, Any] | None:
        if self.declared is None:
            return None
        widths = 2 * self.declared.half_width(reach_of(confidence))
        columns = {"standard_error": np.sqrt(self.declared.variance), "bias": self.declared.bias}
        return {"declared": self.differ, "rows": self._rows({**columns, "interval_width": widths})}

    def _rows(self, columns: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
        every = {"label": [*self.rows], "assumed": [*self.rows.values()]}
        every |= {name: column.tolist() for name, column in columns.items()}
        return [dict(zip(every, row, strict=True)) for row in zip(*every.values(), strict=True)]


def margin_writer(margin: float, unit: str) -> Writer:
    """Return what writes margins for people, with the digits of this one: of shares in points.

    >>> margin_writer(0.0628, SHARE)(0.0628), margin_writer(0.012, SHARE)(0.012), margin_writer(18.3, "euros")(18.3)
    ('6 points', '1.2 points', '18 euros')
    """
    return replace(percents([margin / 2]), unit=" points") if unit == SHARE else amounts(margin, unit, more=1)


def reach_of(confidence: float) -> float:
    """Return how many standard errors an interval reaches to both sides."""
    if not 0 < confidence < 1:
        raise PlanError(f"confidence must be above 0 and below 1, not {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)
