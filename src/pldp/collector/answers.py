"""What readers get: results as plain data, and the overview of a round. Small groups do not show their size."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from pldp import estimates
from pldp.collector.store import Hour, Round
from pldp.estimates.kinds import BY_KIND
from pldp.reports import Rejection
from pldp.survey import Question
from pldp.tallies import Tally

CONFIDENCE: Final = 0.95

MOST_ROWS: Final = 50
"""Values of a question that an overview shows, those with the largest shares; an estimate has all of them."""

MOST_CELLS: Final = 1000  # cells of a two-way table that an overview shows
QUICK: Final = {"largest": 1}
"""Options of an overview, where they apply: frequent sets are searched for when somebody asks for an estimate."""


def estimate(counted: Tally, question: str, fewest: int) -> dict[str, Any]:
    """Return the result of a question with the survey's hash; groups of fewer people do not show how many."""
    content = estimates.estimate(counted, question, confidence=CONFIDENCE).to_mapping()
    return {"survey": counted.survey.hash, **_with_groups(counted, content, fewest)}


def _with_groups(counted: Tally, content: Mapping[str, Any], fewest: int) -> dict[str, Any]:
    """Return every level with its reports where they may be shown, and with its weight where all of them are.

    Hidden levels have none, as a label does not tell the level.
    """
    if counted.survey.level_channel is not None:
        return {**content, "groups": []}
    question = counted.survey.question(content["name"])
    shown = hide_small(
        {each.name: counted.counts[question.name, each.name].reports for each in question.levels}, fewest
    )
    groups: list[dict[str, Any]] = [
        {"level": level.name, "mechanism": channel.mechanism, "epsilon": level.epsilon, "reports": shown[level.name]}
        for level, channel in zip(question.levels, question.channels, strict=True)
    ]
    if all(number is not None for number in shown.values()):
        weights = {group["level"]: group["weight"] for group in content["groups"]}
        groups = [{**group, "weight": weights.get(group["level"], 0.0)} for group in groups]
    return {**content, "groups": groups}


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
    """Return all that a dashboard shows of a round: every result, and what has none, with counts and rejections."""
    survey = counted.survey
    quick = {name: value for question in survey.questions for name, value in _quick(question).items()}
    content = estimates.estimate(counted, confidence=CONFIDENCE, **quick).to_mapping()
    views = [_largest(_with_groups(counted, _agreed(counted, each), fewest)) for each in content["questions"]]
    large = [each for each in content["tables"] if len(each["rows"]) > MOST_CELLS]
    texts, too_large = {each.name: each.text for each in survey.questions}, "the table has {:,} cells, too many to show"
    return {
        **content,
        "collector": survey.collector,
        "round": number,
        "rounds": [asdict(each) for each in rounds],
        "rejections": {reason.value: counted.rejections.get(reason, 0) for reason in Rejection},
        "hours": [each._asdict() for each in hours],
        "fewest": fewest,
        "confidence": CONFIDENCE,
        "questions": views,
        "tables": [each for each in content["tables"] if each not in large],
        "missing": [
            *({**each, "text": texts.get(each["name"], "")} for each in content["missing"]),
            *({"name": each["name"], "reason": too_large.format(len(each["rows"])), "text": ""} for each in large),
        ],
    }


def _quick(question: Question) -> dict[str, Any]:
    return {name: value for name, value in QUICK.items() if name in BY_KIND[question.kind].OPTIONS}


def _agreed(counted: Tally, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is shown: where levels disagree it is pooled by size, which needs no agreement."""
    if all(note["code"] != "levels-disagree" for note in content["notes"]):
        return content
    question = counted.survey.question(content["name"])
    pooled = estimates.estimate(counted, question.name, confidence=CONFIDENCE, pool="size", **_quick(question))
    return pooled.to_mapping()


def _largest(content: dict[str, Any]) -> dict[str, Any]:
    """Keep the rows with the largest estimates, in their order."""
    rows = content["rows"]
    kept = sorted(range(len(rows)), key=lambda place: -rows[place]["estimate"])[:MOST_ROWS]
    return {**content, "rows": [rows[place] for place in sorted(kept)], "left_out": len(rows) - len(kept)}
