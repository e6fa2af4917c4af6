"""Levels as fractions: turn one total ε into an ε for every question and level.

A file may give its levels as fractions of a question's budget instead of ε. The budgets come from `total_epsilon`:
where everybody answers all questions they are the split that makes the summed variances least; where each person is
asked only some (`ask`), every question gets an equal part, because any of them may be the ones asked.

>>> spelled = with_budgets({
...     "levels": {"high": {"fraction": "1/3"}, "low": {"fraction": 1}},
...     "total_epsilon": 3,
...     "questions": [{"name": "a", "values": ["x", "y"]}, {"name": "b", "values": ["x", "y"]}],
... })
>>> spelled["levels"]["high"], spelled["questions"][0]["levels"]
({'epsilon': '1'}, {'high': '0.5', 'low': '1.5'})
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from pldp.budgets import Cost, allocate, fraction_levels, micro_epsilon
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import LARGEST_EPSILON, LARGEST_TOTAL, MICRO, epsilon_text
from pldp.survey.kinds import DEFAULT_KIND, KINDS
from pldp.survey.reading import naming, read_epsilon, read_fraction

_MOST: Final = LARGEST_EPSILON * MICRO  #: The largest part of a question; what is left of a larger total is not spent.


def with_budgets(survey: dict[str, Any]) -> dict[str, Any]:
    """Return the same survey with every fraction replaced by its ε; one without fractions is returned as it is."""
    levels = survey.get("levels")
    if not isinstance(levels, dict) or not any(_is_fraction(entry) for entry in levels.values()):
        return survey
    fractions = {name: _fraction(entry, f"levels.{name}") for name, entry in levels.items()}
    if "total_epsilon" not in survey:
        raise SurveyError("total_epsilon: is missing; levels that are fractions are fractions of it")
    total = read_epsilon(survey["total_epsilon"], "total_epsilon", largest=LARGEST_TOTAL)
    questions = survey.get("questions")
    if not isinstance(questions, list) or not all(isinstance(entry, dict) for entry in questions):
        return survey  # the reader says what is wrong
    with naming("total_epsilon"):
        budgets = _budgets(total, questions, survey.get("ask"))
        in_all = _levels(total, fractions)
        spelled = [
            entry if budget is None else entry | {"levels": _levels(budget, fractions)}
            for entry, budget in zip(questions, budgets, strict=True)
        ]
    named = {
        name: {key: text for key, text in entry.items() if key != "fraction"} | {"epsilon": in_all[name]}
        for name, entry in levels.items()
    }
    return {**survey, "levels": named, "questions": spelled}


def _is_fraction(entry: object) -> bool:
    return isinstance(entry, dict) and "fraction" in entry


def _fraction(entry: Any, key: str) -> Fraction:
    if not _is_fraction(entry) or "epsilon" in entry:
        raise SurveyError(f"{key}: must be a fraction of the question's budget, as other levels are, and nothing else")
    return read_fraction(entry["fraction"], f"{key}.fraction")


def _budgets(total: int, questions: list[dict[str, Any]], ask: object) -> list[int | None]:
    """Return the budget of each question that does not bring levels of its own."""
    costs = [_cost(entry) for entry in questions if "levels" not in entry]
    if type(ask) is int and 0 < ask < len(questions):
        parts = [total // ask] * len(costs)
    else:
        left = total - sum(_fixed(entry) for entry in questions if "levels" in entry)
        if left <= 0:
            others = f"the {len(costs)} questions without levels of their own"
            raise EpsilonError(f"must leave something for {others}, not {epsilon_text(total)}")
        parts = allocate(left, costs) if costs else []
    fresh = iter(parts)
    return [None if "levels" in entry else min(next(fresh), _MOST) for entry in questions]


def _cost(entry: dict[str, Any]) -> Cost:
    """Return the error by ε of a question; refuse one whose kind has none."""
    kind = KINDS.get(str(entry.get("kind")), KINDS[DEFAULT_KIND])
    cost = kind.cost(entry)
    if cost is None:
        raise EpsilonError(
            f"question {str(entry.get('name'))[:64]!r} needs levels of its own: how to share a total with questions of "
            f"kind {kind.kind} is not known yet"
        )
    return cost


def _fixed(entry: dict[str, Any]) -> int:
    """Return the most that a question with levels of its own can cost; the reader reports what is wrong with them."""
    levels = entry["levels"]
    try:
        return max(map(micro_epsilon, levels.values())) if isinstance(levels, dict) and levels else 0
    except (EpsilonError, TypeError):
        return 0


def _levels(budget: int, fractions: Mapping[str, Fraction]) -> dict[str, str]:
    return {level.name: epsilon_text(level.micro_epsilon) for level in fraction_levels(budget, fractions)}
