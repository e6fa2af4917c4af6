"""What readers get: estimates as plain data, and the overview of a round. Small groups do not show their size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from pldp import estimates as results
from pldp.collector.arrivals import Hour
from pldp.collector.store import Round
from pldp.errors import EstimateError, TallyError
from pldp.estimates.kinds import BY_KIND
from pldp.reports import Rejection
from pldp.survey import Question
from pldp.tallies import Tally

CONFIDENCE: Final = 0.95

MOST_ROWS: Final = 50
"""Values of a question that an overview shows, those with the largest shares; an estimate has all of them."""

MOST_CELLS: Final = 1000
"""Cells of a two-way table that an overview shows."""


def estimate(counted: Tally, question: str, fewest: int) -> dict[str, Any]:
    """Return the estimate of a question with the survey's hash; groups of fewer people do not show how many."""
    found = results.estimate(counted, question).to_mapping(CONFIDENCE)
    groups = _groups(counted, counted.survey.question(question), fewest)
    if all(group["reports"] is not None for group in groups):
        weights = {group["level"]: group["weight"] for group in found["groups"]}
        groups = [{**group, "weight": weights.get(group["level"], 0.0)} for group in groups]
    return {"survey": counted.survey.hash, **found, "groups": groups}


def _groups(counted: Tally, question: Question, fewest: int) -> list[dict[str, Any]]:
    """Return every level with its reports; hidden levels have none, as a label does not tell the level."""
    if counted.survey.level_channel is not None:
        return []
    shown = hide_small(
        {each.name: counted.counts[question.name, each.name].reports for each in question.levels}, fewest
    )
    return [
        {"level": level.name, "mechanism": channel.mechanism, "epsilon": level.epsilon, "reports": shown[level.name]}
        for level, channel in zip(question.levels, question.channels, strict=True)
    ]


def hide_small(reports: Mapping[str, int], fewest: int) -> dict[str, int | None]:
    """Hide numbers below `fewest`, and the next ones where the sum of all would give them away.

    >>> hide_small({"strict": 600, "standard": 300, "open": 3}, 50)
    {'strict': 600, 'standard': None, 'open': None}
    """
    rising = sorted(reports, key=lambda name: reports[name])
    small = sum(number < fewest for number in reports.values())
    while 0 < small < len(rising) and (small == 1 or sum(reports[name] for name in rising[:small]) < fewest):
        small += 1
    hidden = rising[:small]
    return {name: None if name in hidden else number for name, number in reports.items()}


def overview(
    counted: Tally, number: int, rounds: Sequence[Round], hours: Sequence[Hour], fewest: int
) -> dict[str, Any]:
    """Return all that a dashboard shows of a round: counts, rejections, and every question with its estimate."""
    survey = counted.survey
    return {
        "survey": survey.hash,
        "title": survey.title,
        "collector": survey.collector,
        "round": number,
        "rounds": [asdict(each) for each in rounds],
        "reports": counted.reports,
        "rejections": {reason.value: counted.rejections.get(reason, 0) for reason in Rejection},
        "hours": [each._asdict() for each in hours],
        "fewest": fewest,
        "confidence": CONFIDENCE,
        "questions": [_view(counted, question, fewest) for question in survey.questions],
        "two_way": [_table(counted, *pair) for pair in counted.paired],
    }


def _view(counted: Tally, question: Question, fewest: int) -> dict[str, Any]:
    """Return one question; where its levels disagree, what is shown is pooled by size, which needs no agreement."""
    # Frequent sets are searched for when somebody asks for them.
    options = {"largest": 1} if "largest" in BY_KIND[question.kind].OPTIONS else {}
    try:
        found = results.estimate(counted, question.name, **options)
        if found.homogeneity is not None and found.homogeneity.rejected:
            found = results.estimate(counted, question.name, pool="size", **options)
    except (EstimateError, TallyError) as error:
        return {"name": question.name, "text": question.text, "kind": question.kind, "missing": str(error)}
    content = found.to_mapping(CONFIDENCE)
    content |= {"groups": _groups(counted, question, fewest), **_largest(content["rows"])}
    return {name: value for name, value in content.items() if name not in {"sets", "rules", "homogeneity"}}


def _largest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep the rows with the largest shares, in their order."""
    kept = sorted(range(len(rows)), key=lambda place: -rows[place]["estimate"])[:MOST_ROWS]
    return {"rows": [rows[place] for place in sorted(kept)], "left_out": len(rows) - len(kept)}


def _table(counted: Tally, first: str, second: str) -> dict[str, Any]:
    """Return the two-way table of two questions that were counted together."""
    try:
        found = results.two_way(counted, first, second)
    except EstimateError as error:
        return {"questions": [first, second], "missing": str(error)}
    if found.shares.size > MOST_CELLS:
        return {"questions": [first, second], "missing": f"the table has {found.shares.size:,} cells, too many to show"}
    return found.to_mapping(CONFIDENCE)
