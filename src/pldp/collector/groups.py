"""People of different levels beside each other: what each level says of a question, and how two levels differ."""

from typing import Any

from pldp import estimates
from pldp.collector.answers import CONFIDENCE, quick
from pldp.errors import EstimateError
from pldp.estimates import Result
from pldp.tallies import Tally

ONE_LOOK = "intervals by level hold for one look, unlike those of all reports, which hold however often you look"
CHOSEN = "people chose their levels, so a difference can be due to who chose which"


def by_level(counted: Tally, name: str, step: int) -> dict[str, Any]:
    """Return the result of each level, and the difference of every level to the first that has one.

    `counted` holds whole steps of each level. Levels without a result are `missing`, with the reason. A question whose
    reports hide the level, or of which fewer than two levels have a result, has no comparison.
    """
    survey = counted.survey
    question = survey.question(name)
    if survey.level_channel is not None:
        raise EstimateError("reports of this survey hide the level, so people of different levels cannot be compared")
    found: dict[str, Result] = {}
    missing: dict[str, str] = {}
    for level in question.levels:
        part = _only(counted, level.name)
        if not part.counts[name, level.name].reports:
            missing[level.name] = f"fewer than {step:,} reports" if step > 1 else "no reports"
            continue
        try:
            found[level.name] = estimates.estimate(part, name, confidence=CONFIDENCE, **quick(question))
        except EstimateError as error:
            missing[level.name] = str(error)
    if len(found) < 2:
        reasons = "; ".join(f"{level}: {reason}" for level, reason in missing.items())
        raise EstimateError(f"two levels with results are needed for a comparison ({reasons or 'there is one level'})")
    (first, base), *others = found.items()
    differences = [estimates.change(each, base, groups=(level, first)) for level, each in others]
    return {
        "survey": survey.hash,
        "name": name,
        "text": question.text,
        "confidence": CONFIDENCE,
        "levels": {level: each.to_mapping() for level, each in found.items()},
        "differences": [each.to_mapping() for each in differences],
        "missing": missing,
        "remarks": [CHOSEN, ONE_LOOK],
    }


def _only(counted: Tally, level: str) -> Tally:
    """Return the reports of one level."""
    none = Tally.empty(counted.survey).counts
    counts = {cell: own if cell[1] == level else none[cell] for cell, own in counted.counts.items()}
    return Tally(counted.survey, counts, max(own.reports for cell, own in counts.items() if cell[1] == level))
