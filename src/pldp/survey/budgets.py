"""Levels as fractions: turn one total ε into an ε for every question and level.

A file may give its levels as fractions of a question's budget instead of ε. The budgets come from `total_epsilon`: they
are the split that makes the weighted sum of all variances least, if every level is chosen as often. Variances are those
of shares, of how many people have each label of a set, and of the mean of a number whose bounds are 0 and 1. Where each
person is asked only some questions (`ask`), any so many of them cost the total at most.

>>> spelled, remarks = with_budgets({
...     "levels": {"high": {"fraction": "1/3"}, "low": {"fraction": 1}},
...     "total_epsilon": 3,
...     "questions": [{"name": "a", "values": ["x", "y"]}, {"name": "b", "values": ["x", "y"]}],
... })
>>> spelled["levels"]["high"], spelled["questions"][0]["levels"]
({'epsilon': '1'}, {'high': '0.5', 'low': '1.5'})
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from pldp.budgets import Cost, Level, allocate, exchange, fraction_levels
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import ANSWER_BYTES, LARGEST_EPSILON, LARGEST_TOTAL, MICRO, epsilon_text
from pldp.survey.entries import open_entry, read_weight
from pldp.survey.lottery import is_lottery
from pldp.survey.question import Entry, Question
from pldp.survey.reading import naming, read_epsilon, read_fraction
from pldp.survey.repeat import TRACKED
from pldp.survey.sharing import Form, Levels, least_cost

HOPELESS: Final = 50_000
"""Micro-ε of a label below which its share cannot be estimated: 10⁵ reports know it to ± 0.12."""


@dataclass(frozen=True)
class Share:
    """A question that shares the total: the ways to build it, and how much its errors count."""

    name: str
    forms: tuple[Form, ...]
    weight: float
    levels: Levels

    @property
    def largest(self) -> int:
        """The most micro-ε that an answer can cost."""
        return int(LARGEST_EPSILON * MICRO * max(form.price for form in self.forms))

    def cost(self) -> Cost:
        """Return the weighted variance by ε, with the channels as they are built."""
        return least_cost([form.cost(self.levels, self.weight) for form in self.forms])

    def smooth_cost(self, *, alike: bool = True) -> Cost:
        """Return a smooth curve near it; the variance is that of people who are alike, or of any."""
        return least_cost([form.smooth_cost(self.levels, self.weight, alike=alike) for form in self.forms])

    def choose(self, part: int) -> tuple[Form, str | None]:
        """Return the best form for a part of the total, and why it was chosen where the file leaves the choice."""
        if not any(self._fits(form, part) for form in self.forms):
            raise EpsilonError(self._hopeless(part))
        if len(self.forms) == 1:
            return self.forms[0], None
        costs = [form.cost(self.levels, 1.0)(part / MICRO) for form in self.forms]
        best = min(range(len(costs)), key=costs.__getitem__)
        rivals = [
            f"{form.words} would have {cost / costs[best]:.3g} times the variance"
            for form, cost in zip(self.forms, costs, strict=True)
            if form is not self.forms[best]
        ]
        form, why = self.forms[best], ", and ".join(rivals)
        return form, f"question {self.name!r}: {form.words}, as the file leaves the choice: for the same price {why}"

    def _fits(self, form: Form, part: int) -> bool:
        """Tell whether a form leaves every label an ε with which its share can be estimated."""
        return form.price == 1 or form.levels(part, self.levels.fractions)[-1].micro_epsilon >= HOPELESS

    def _hopeless(self, part: int) -> str:
        label = self.forms[0].levels(part, self.levels.fractions)[-1].micro_epsilon
        return (
            f"gives question {self.name!r} {epsilon_text(part)}, and each of its labels at most {epsilon_text(label)}: "
            f"too little to estimate any share (at least {epsilon_text(HOPELESS)}); let one ε protect the whole set "
            '(budget = "set"), raise the total or the weight of the question, or ask each person fewer questions (ask)'
        )


def with_budgets(survey: dict[str, Any], share: int | None = None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the same survey with every fraction replaced by its ε, and remarks on what was chosen.

    The questions share this much in micro-ε, or `total_epsilon`. A survey without fractions is returned as it is.
    """
    levels = survey.get("levels")
    if not isinstance(levels, dict) or not any(_is_fraction(entry) for entry in levels.values()):
        return survey, ()
    fractions = {name: _fraction(entry, f"levels.{name}") for name, entry in levels.items()}
    if "total_epsilon" not in survey:
        raise SurveyError("total_epsilon: is missing; levels that are fractions are fractions of it")
    total = share or read_epsilon(survey["total_epsilon"], "total_epsilon", largest=LARGEST_TOTAL)
    questions = survey.get("questions")
    if not isinstance(questions, list) or not all(isinstance(entry, dict) for entry in questions):
        return survey, ()  # the reader says what is wrong
    with naming("total_epsilon"):
        spelled, remarks = _spell(survey, questions, total, fractions)
        in_all = {level.name: epsilon_text(level.micro_epsilon) for level in fraction_levels(total, fractions)}
    named = {
        name: {key: text for key, text in entry.items() if key != "fraction"} | {"epsilon": in_all[name]}
        for name, entry in levels.items()
    }
    return {**survey, "levels": named, "questions": spelled}, tuple(remarks)


def _is_fraction(entry: object) -> bool:
    return isinstance(entry, dict) and "fraction" in entry


def _fraction(entry: Any, key: str) -> Fraction:
    if not _is_fraction(entry) or "epsilon" in entry:
        raise SurveyError(f"{key}: must be a fraction of the question's budget, as other levels are, and nothing else")
    return read_fraction(entry["fraction"], f"{key}.fraction")


def _spell(
    survey: Mapping[str, Any], questions: Sequence[dict[str, Any]], total: int, fractions: Mapping[str, Fraction]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the questions with the ε of their levels, and remarks."""
    ask = survey.get("ask")
    asked = ask if type(ask) is int and 0 < ask < len(questions) else None
    hidden = "hide_level" in survey and not is_lottery(survey["hide_level"])
    tracked = survey.get("repeat") == TRACKED
    answer_bytes = survey.get("answer_bytes")
    names = tuple(Level(name, 1) for name in fractions)
    fixed, shares = 0, {}
    for place, table in enumerate(questions):
        made, entry = open_entry(
            table,
            f"questions[{place}]",
            names,
            tracked=tracked,
            answer_bytes=answer_bytes if type(answer_bytes) is int else ANSWER_BYTES,
        )
        weight = read_weight(entry)
        if "levels" in table:
            fixed += made.dearest(entry)
        else:
            shares[place] = Share(
                entry.name, made.forms(_checked(entry), free=not hidden), weight, Levels.of(fractions)
            )
    parts = dict(zip(shares, split_total(total, list(shares.values()), asked, fixed), strict=True))
    spelled, remarks = [], []
    for place, table in enumerate(questions):
        if place not in parts:
            spelled.append(table)
            continue
        form, words = shares[place].choose(parts[place])
        own = {level.name: epsilon_text(level.micro_epsilon) for level in form.levels(parts[place], fractions)}
        spelled.append({**table, **form.keys, "levels": own})
        remarks += [] if words is None else [words]
    return spelled, remarks


def _checked(entry: Entry) -> Entry:
    """Refuse what names ε that a fraction cannot be turned into."""
    for key in ("budgets", "sides", "weights"):
        if key in entry.table:
            raise SurveyError(
                f"{entry.key}.{key}: are spelled out in ε, and so must the levels be; give the question levels of its "
                "own, or leave this out (fractions and unprotected say how values differ)"
            )
    return entry


def share_of(question: Question, mix: Mapping[str, float] | None = None) -> Share:
    """Return a question of a survey as one that shares a total: its levels are fractions of its dearest one.

    The mechanisms are those that `auto` takes; what a budget protects stays as it is.
    """
    most = question.levels[-1].micro_epsilon
    fractions = {level.name: Fraction(level.micro_epsilon, most) for level in question.levels}
    made, entry = open_entry(question.source(), "question", question.levels)
    return Share(question.name, made.forms(entry, free=False), question.weight, Levels.of(fractions, mix))


def split_total(total: int, shares: Sequence[Share], ask: int | None = None, fixed: int = 0) -> list[int]:
    """Return the part of each question: the least weighted sum of variances, as no transfer of 0.05 lowers it.

    Questions with levels of their own cost `fixed` together; where only some questions are asked they take nothing.
    """
    if not shares:
        return []
    left = total if ask is not None else total - fixed
    if left <= 0:
        others = f"the {len(shares)} questions without levels of their own"
        raise EpsilonError(f"must leave something for {others}, not {epsilon_text(total)}")
    largest = [share.largest for share in shares]
    parts = allocate(left, [share.smooth_cost() for share in shares], largest=largest, ask=ask)
    parts = [min(part, most) for part, most in zip(parts, largest, strict=True)]
    return exchange(parts, [share.cost() for share in shares], largest=largest, ask=ask)
