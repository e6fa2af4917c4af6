"""The shares that a plan assumes: given, those of an earlier estimate, or a guess."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pldp.errors import PlanError
from pldp.estimates import Result, Results
from pldp.mechanisms.arrays import FloatArray
from pldp.planning.kinds import BY_KIND
from pldp.planning.kinds.kind import EQUAL, Given
from pldp.survey import Question, Survey

AssumedShares = Results | Mapping[str, Any] | str | None
"""Earlier results, also as the plain data of their `to_mapping`; or by question what is known; or `"equal"`."""


class Assumed(NamedTuple):
    """Shares, and where they come from in words."""

    shares: FloatArray
    words: str


def assume_shares(survey: Survey, shares: AssumedShares) -> dict[str, Assumed]:
    """Return the assumed shares of every question; refuse those of others."""
    given = _by_question(survey, shares)
    names = [question.name for question in survey.questions]
    other = next((str(name) for name in given if name not in names), None)
    if other is not None:
        raise PlanError(f"shares must name questions of the survey; {other[:40]!r} is none")
    return {question.name: _assume(question, given.get(question.name)) for question in survey.questions}


def _by_question(survey: Survey, shares: AssumedShares) -> Mapping[str, Any]:
    if shares is None or isinstance(shares, Results):
        return shares or {}
    if isinstance(shares, str):
        if shares != EQUAL:
            raise PlanError(f"shares must be {EQUAL!r}, earlier results, or shares by question, not {shares[:40]!r}")
        return {question.name: EQUAL for question in survey.questions}
    if not isinstance(shares, Mapping):
        raise PlanError(f"shares must be earlier results, or shares by question, not {type(shares).__name__}")
    listed = shares.get("questions")
    if isinstance(listed, list) and listed and all(isinstance(entry, Mapping) and "rows" in entry for entry in listed):
        return {str(entry.get("name")): entry for entry in listed}
    return shares


def _assume(question: Question, given: Given | Result) -> Assumed:
    kind = BY_KIND[question.kind]
    if isinstance(given, Result):
        given = given.to_mapping()
    if given is None:
        return Assumed(kind.shares(question, None), f"{kind.guess(question)} (a guess)")
    if isinstance(given, Mapping) and isinstance(given.get("rows"), list):
        return Assumed(kind.shares(question, kind.earlier(question, given)), "shares of an earlier estimate")
    if isinstance(given, str) and given != EQUAL:
        raise PlanError(f"shares of {question.name} must be numbers, or {EQUAL!r}")
    return Assumed(kind.shares(question, given), "equal shares" if isinstance(given, str) else "shares as given")
