"""What readers get: results as plain data, and the overview of a round, made from whole steps of reports."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from pldp import estimates
from pldp.collector.arrivals import Hour
from pldp.collector.published import Version
from pldp.collector.rounds import Round
from pldp.errors import EstimateError
from pldp.estimates import Results
from pldp.reports import Rejection
from pldp.show import verdict
from pldp.survey import Question, Survey
from pldp.tallies import Tally

CONFIDENCE: Final = 0.95

Known = Mapping[str, Mapping[str, float]] | None
"""A question and the known share of each of its labels, or none."""

MOST_ROWS: Final = 50
"""Values of a question that an overview shows, those with the largest shares; an estimate has all of them."""

MOST_CELLS: Final = 1000  # cells of a two-way table that an overview shows
MOST_ROUNDS: Final = 12  # rounds that a trend shows, the last ones
MOST_LABELS: Final = 12  # labels that a trend shows, those with the largest numbers in the last round
QUICK: Final = {"largest": 1}
"""Options of an overview, where they apply: frequent sets are searched for only when an estimate is asked for."""


class Reading(NamedTuple):
    """How results are read: with known shares of a question, and of rounds with a planned number of reports.

    Shares corrected to the `known` ones stand beside those of the respondents. With a plan, intervals hold however
    often you look. Those of a closed round do, too: it may have been closed because of what was seen before.
    """

    known: Known = None
    planned: int | None = None


ONE_LOOK: Final = Reading()


def estimate(counted: Tally, question: str, step: int, reading: Reading = ONE_LOOK) -> dict[str, Any]:
    """Return the result of a question with the survey's hash; `counted` holds whole steps of each level."""
    if step > 1 and not _answers(counted, question):
        raise EstimateError(_too_few(counted.survey, step))
    content = estimates.estimate(counted, question, confidence=CONFIDENCE, live=reading.planned).to_mapping()
    return {
        "survey": counted.survey.hash,
        **_with_groups(counted, content, step),
        **_corrected(counted, question, *reading),
    }


def everything(counted: Tally, step: int, reading: Reading = ONE_LOOK) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the results of all questions, each as `estimate` gives it, and why others have none."""
    found, missing = [], {}
    for question in counted.survey.questions:
        try:
            found.append(estimate(counted, question.name, step, reading))
        except EstimateError as error:
            missing[question.name] = str(error)
    return found, missing


def _corrected(counted: Tally, question: str, known: Known, planned: int | None) -> dict[str, Any]:
    """Return the shares of a question corrected to known ones, or why there are none, where both are a pair."""
    if known is None or not any({question, *known} == {*pair} for pair in counted.paired):
        return {}
    try:
        found = estimates.estimate(counted, question, confidence=CONFIDENCE, known=known, live=planned)
    except EstimateError as error:
        return {"corrected": {"missing": str(error)}}
    return {"corrected": _largest(found.to_mapping())}


def _answers(counted: Tally, name: str) -> int:
    """Return how many answers a question has in a tally."""
    return sum(counts.reports for (question, _), counts in counted.counts.items() if question == name)


def _too_few(survey: Survey, step: int) -> str:
    per_level = " per level" if survey.level_channel is None else ""
    return f"too few reports so far: results count whole steps of {step:,} reports{per_level}"


def _with_groups(counted: Tally, content: Mapping[str, Any], step: int) -> dict[str, Any]:
    """Return every level with its reports and its weight; a level with less than a step has no number.

    Hidden levels have none, as a label does not tell the level.
    """
    if counted.survey.level_channel is not None:
        return {**content, "groups": []}
    question = counted.survey.question(content["name"])
    weights = {group["level"]: group["weight"] for group in content["groups"]}
    groups = []
    for level, channel in zip(question.levels, question.channels, strict=True):
        reports = counted.counts[question.name, level.name].reports
        groups.append(
            {
                "level": level.name,
                "mechanism": channel.mechanism,
                "epsilon": question.answer_epsilon(level.name),
                "reports": reports if reports or step == 1 else None,
                "weight": weights.get(level.name, 0.0),
            }
        )
    return {**content, "groups": groups}


class ClosedRounds:
    """Results of closed rounds, each made once until what readers may see of it changes."""

    def __init__(self, tally: Callable[[int], Tally], planned: int | None = None) -> None:
        self._tally = tally
        self._planned = planned
        self._versions: Mapping[int, Version] = {}
        self._made: dict[int, Results] = {}

    def forget(self, versions: Mapping[int, Version]) -> None:
        """Forget the rounds that have another version than before."""
        same = {number for number, version in versions.items() if self._versions.get(number) == version}
        self._made = {number: made for number, made in self._made.items() if number in same}
        self._versions = dict(versions)

    def before(self, number: int) -> dict[int, Results]:
        """Return the results of the last few rounds before this one."""
        rounds = range(max(1, number - MOST_ROUNDS + 1), number)
        for each in rounds:
            if each not in self._made:
                self._made[each] = _estimate(self._tally(each), self._planned)
        return {each: self._made[each] for each in rounds}


def overview(
    counted: Tally,
    number: int,
    rounds: Sequence[Round],
    hours: Sequence[Hour],
    step: int,
    closed: ClosedRounds | None = None,
    reading: Reading = ONE_LOOK,
) -> dict[str, Any]:
    """Return all that a dashboard shows of a round: every result, and what has none, with counts and rejections.

    With the closed rounds before it, trends are shown, too.
    """
    survey = counted.survey
    results = _estimate(counted, reading.planned)
    content = results.to_mapping()
    views = [
        {**_largest(_with_groups(counted, each, step)), **_corrected(counted, each["name"], *reading)}
        for each in content["questions"]
    ]
    large = [each for each in content["tables"] if len(each["rows"]) > MOST_CELLS]
    missing = content["missing"]
    texts, too_large = {each.name: each.text for each in survey.questions}, "the table has {:,} cells, too many to show"
    return {
        **content,
        "collector": survey.collector,
        "round": number,
        "rounds": [asdict(each) for each in rounds],
        "rejections": {reason.value: counted.rejections.get(reason, 0) for reason in Rejection},
        "hours": [each._asdict() for each in hours],
        "step": step,
        "confidence": CONFIDENCE,
        "questions": views,
        "trends": [] if closed is None else _trends(results, number, closed),
        "tables": [each for each in content["tables"] if each not in large],
        "missing": [
            *({**each, **_why(counted, each["name"], step), "text": texts.get(each["name"], "")} for each in missing),
            *({"name": each["name"], "reason": too_large.format(len(each["rows"])), "text": ""} for each in large),
        ],
    }


def _why(counted: Tally, name: str, step: int) -> dict[str, str]:
    """Say why something has no result where it is not there in steps; otherwise the estimate has said it."""
    pairs = {" × ".join(names): names for names in counted.paired}
    if name in pairs:
        cells = counted.pairs.items()
        few = not any(counts.reports for cell, counts in cells if tuple(each for each, _ in cell) == pairs[name])
    else:
        few = not _answers(counted, name)
    return {"reason": _too_few(counted.survey, step)} if few and step > 1 else {}


def quick(question: Question) -> dict[str, Any]:
    """Return the options of an overview that apply to a question."""
    return {name: value for name, value in QUICK.items() if estimates.applies(question, name, value)}


def _estimate(counted: Tally, planned: int | None) -> Results:
    options = {name: value for question in counted.survey.questions for name, value in quick(question).items()}
    results: Results = estimates.estimate(counted, confidence=CONFIDENCE, live=planned, **options)
    return results


def _trends(results: Results, number: int, closed: ClosedRounds) -> list[dict[str, Any]]:
    """Return every question over the rounds that have it."""
    found, earlier = [], closed.before(number)
    for name, latest in results.items():
        rounds = {each: before[name] for each, before in earlier.items() if name in before} | {number: latest}
        if len(rounds) > 1:
            names = [f"round {each}" for each in rounds]
            found.append(_few_labels(estimates.trend([*rounds.values()], names=names).to_mapping()))
    return found


def _few_labels(trend: dict[str, Any]) -> dict[str, Any]:
    """Keep what a dashboard draws: the labels with the largest numbers in the last round, and the test in words."""
    last = [row for row in trend["rows"] if row["round"] == trend["rounds"][-1]["name"]]
    kept = [row["label"] for row in sorted(last, key=lambda row: -row["estimate"])[:MOST_LABELS]]
    shown = {name: trend[name] for name in ("name", "kind", "of", "unit", "confidence", "rounds", "test", "notes")}
    few = {name: [row for row in trend[name] if row["label"] in kept] for name in ("rows", "changes", "since_first")}
    says = " ".join(filter(None, (verdict(trend["test"]), *trend["conclusions"])))
    return {**shown, **few, "left_out": len(last) - len(kept), "says": says}


def _largest(content: dict[str, Any]) -> dict[str, Any]:
    """Keep the rows with the largest estimates, in their order."""
    rows, alike = content["rows"], content["alike"]
    kept = sorted(sorted(range(len(rows)), key=lambda place: -rows[place]["estimate"])[:MOST_ROWS])
    beside = alike and {**alike, "rows": [alike["rows"][place] for place in kept]}
    return {**content, "rows": [rows[place] for place in kept], "alike": beside, "left_out": len(rows) - len(kept)}
