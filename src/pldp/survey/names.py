"""Names of levels that promise what their ε does not: people choose by the name, reports keep to ε."""

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pldp.mechanisms import MICRO, epsilon_text
from pldp.survey.lookalikes import unclear_texts

if TYPE_CHECKING:
    from pldp.budgets import Level
    from pldp.survey.model import Survey

MOST_PROTECTED: Final = 4_000_000
"""The most micro-ε of a level whose name promises protection: a report changes odds at most about 55 to 1."""

_ANONYMOUS: Final = "anonym"
_MORE: Final = (
    "strict", "strong", "privat", "privac", "high", "safe", "secur", "max", _ANONYMOUS, "hidden", "protect", "secret",
    "careful", "cautious", "confidential", "discreet", "guarded", "best",
)  # fmt: skip
_LESS: Final = (
    "open", "low", "relax", "public", "basic", "none", "standard", "normal", "weak", "loose", "less", "least", "min",
    "accura", "precis", "detail",
)  # fmt: skip
_NOT: Final = {"no", "not"}


def name_warnings(survey: "Survey") -> list[str]:
    """Return one line for each level whose name promises more than its ε keeps, and for names that are not clear.

    >>> from pldp.survey import Survey
    >>> question = {"name": "late", "values": ["yes", "no"]}
    >>> survey = Survey.read({"pldp": 1, "title": "t", "levels": {"low": 1, "high": 2}, "questions": [question]})
    >>> [line[:75] for line in name_warnings(survey)]
    ["level 'high' (ε = 2) of question 'late' protects less than level 'low' (ε ="]
    """
    return [*_anonymous(survey), *_unprotected(survey), *_reversed(survey), *unclear_texts(survey)]


def _words(level: "Level") -> list[str]:
    return re.findall(r"[^\W\d_]+", level.name.casefold())


def _promises_less(level: "Level") -> bool:
    return any(word.startswith(_LESS) or word in _NOT for word in _words(level))


def _promises_more(level: "Level") -> bool:
    """Say whether a name promises protection; "low protection" and "high accuracy" do not."""
    return any(word.startswith(_MORE) for word in _words(level)) and not _promises_less(level)


def _anonymous(survey: "Survey") -> Iterator[str]:
    for level in survey.levels:
        if any(word.startswith(_ANONYMOUS) for word in _words(level)):
            yield (
                f"level {level.name!r} speaks of anonymity, which no level gives: the collector sees where a report "
                "comes from; choose a name that tells how strongly answers are changed"
            )


def _unprotected(survey: "Survey") -> Iterator[str]:
    """Compare each level with the most that its name allows, at the question where it protects least."""
    for name in (level.name for level in survey.levels if _promises_more(level)):
        offering = [question for question in survey.questions if name in question.level_index]
        epsilons = {question.name: question.levels[question.level_index[name]].micro_epsilon for question in offering}
        question, micro = max(epsilons.items(), key=lambda item: item[1], default=("", 0))
        if micro > MOST_PROTECTED:
            yield (
                f"level {name!r} of question {question!r} promises protection, but with ε = {epsilon_text(micro)} a "
                f"report can change odds {math.exp(micro / MICRO):,.0f} to 1: choose an ε of at most "
                f"{MOST_PROTECTED // MICRO}, or another name"
            )


def _reversed(survey: "Survey") -> Iterator[str]:
    """Compare the levels of each question: one that promises more must not protect less."""
    seen = set()
    for question in survey.questions:
        for level in filter(_promises_more, question.levels):
            weaker = [each for each in question.levels if _promises_less(each)]
            other = min(weaker, key=lambda each: each.micro_epsilon, default=level)
            if other.micro_epsilon < level.micro_epsilon and (level.name, other.name) not in seen:
                seen.add((level.name, other.name))
                yield (
                    f"level {level.name!r} (ε = {epsilon_text(level.micro_epsilon)}) of question {question.name!r} "
                    f"protects less than level {other.name!r} (ε = {epsilon_text(other.micro_epsilon)}), though its "
                    "name promises more: a smaller ε protects more; change the names or the ε"
                )
