"""What readers get: estimates as plain data, and the overview of a round. Small groups do not show their size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from pldp.collector.arrivals import Hour
from pldp.collector.store import Round
from pldp.errors import EstimateError, TallyError
from pldp.estimates import Homogeneity, baskets_of, density, frequencies, itemsets, mean, supports, two_way
from pldp.estimates.numbers.density import HEAPED
from pldp.estimates.numbers.number_mapping import number_mapping
from pldp.estimates.shares.pooling import TEST_LEVEL
from pldp.mechanisms.arrays import piecewise_arrays
from pldp.reports import Rejection
from pldp.survey import Question
from pldp.tallies import Fused, Tally, fused_of

CONFIDENCE: Final = 0.95
MIN_SUPPORT: Final = 0.1

MOST_ROWS: Final = 50
"""Values of a question that an overview shows, those with the largest shares; an estimate has all of them."""

MOST_CELLS: Final = 1000
"""Cells of a two-way table that an overview shows."""


def estimate(counted: Tally, question: str, fewest: int) -> dict[str, Any]:
    """Return the estimate of a question with the survey's hash; groups of fewer people do not show how many."""
    head = {"survey": counted.survey.hash, "name": question}
    asked = counted.survey.question(question)
    groups = _groups(counted, asked, fewest)
    if asked.kind == "choices":
        found = itemsets(*baskets_of(counted, question), MIN_SUPPORT).to_mapping(CONFIDENCE)
        return {**head, **found, "groups": groups}
    if asked.kind == "number":
        fused = fused_of(counted, question)
        return {**head, **number_mapping(mean(fused), density(fused), CONFIDENCE), "groups": groups}
    content = frequencies(counted, question).to_mapping(CONFIDENCE)
    if all(group["reports"] is not None for group in groups):
        weights = {group["level"]: group["weight"] for group in content["groups"]}
        groups = [{**group, "weight": weights.get(group["level"], 0.0)} for group in groups]
    return {**head, **content, "groups": groups}


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
    views = {"choice": _choice, "choices": _choices, "number": _number}
    head = {"name": question.name, "text": question.text, "kind": question.kind}
    try:
        found = views[question.kind](counted, question)
    except (EstimateError, TallyError) as error:
        return {**head, "missing": str(error)}
    return {**head, **found, "groups": _groups(counted, question, fewest)}


def _choice(counted: Tally, question: Question) -> dict[str, Any]:
    found = frequencies(counted, question.name)
    shown = found.by_size or found
    return {
        "reports": found.reports,
        "method": shown.method,
        "target": shown.target,
        "manipulation": shown.manipulation,
        "levels": [vars(level) for level in found.levels],
        "warnings": [*_differ(found.homogeneity), *found.warnings[found.by_size is not None :]],
        "assumptions": shown.assumptions,
        **_largest(shown.rows(CONFIDENCE)),
    }


def _choices(counted: Tally, question: Question) -> dict[str, Any]:
    baskets, items = baskets_of(counted, question.name)
    found = supports(baskets, items, [[item] for item in items])
    if found.homogeneity is not None and found.homogeneity.rejected:
        found = supports(baskets, items, [[item] for item in items], pool="size")
    rows = [
        {
            "value": item,
            "estimate": row.pop("support"),
            **{name: row[name] for name in ("standard_error", "low", "high")},
        }
        for item, row in zip(items, found.rows(CONFIDENCE), strict=True)
    ]
    return {
        "reports": found.reports,
        "method": f"unbiased, pooled by {found.pool}",
        "target": found.target,
        "manipulation": found.manipulation,
        "warnings": _differ(found.homogeneity),
        "assumptions": found.assumptions,
        **_largest(rows),
    }


def _number(counted: Tally, question: Question) -> dict[str, Any]:
    fused = fused_of(counted, question.name)
    found = mean(fused)
    differ = found.homogeneity is not None and found.homogeneity.rejected
    shown = mean(fused, pooling="size") if differ else found
    content = number_mapping(shown, density(fused), CONFIDENCE)
    fitted = content["density"]
    warnings = _differ(found.homogeneity)
    if differ:
        warnings.append("the curve still takes all levels to be alike")
    if fitted["roughness"]:
        warnings.append(HEAPED)
    if not fitted["converged"]:
        warnings.append("the fit of the curve did not converge")
    return {
        "unit": question.unit,
        "reports": found.people,
        "method": f"unbiased, pooled by {'size' if differ else 'precision'}",
        "target": shown.target,
        "moves": _forged(fused, by_size=differ),
        "warnings": warnings,
        "assumptions": shown.assumptions,
        "mean": {name: content["mean"][name] for name in ("value", "standard_error", "low", "high")},
        "quantiles": content["quantiles"],
        "density": {name: fitted[name] for name in ("edges", "shares", "low", "high")},
    }


def _differ(test: Homogeneity | None) -> list[str]:
    """Say that the levels disagree, where they do."""
    if test is None or not test.rejected:
        return []
    return [
        f"People of different levels answer differently (p = {test.p_value:.2g} < {TEST_LEVEL}). "
        "What is shown is pooled by size, which takes nothing for granted about who chose which level"
    ]


def _forged(fused: Fused, *, by_size: bool) -> float:
    """Return how far one forged report moves the mean of a number at most, in its unit.

    A report of level g counts for w_g/n_g times its unbiased number; w_g is n_g/n, or proportional to the level's
    precision.
    """
    reports = np.array([source.reports for source in fused.sources])
    errors = np.array([error for _, error in mean(fused, target="population").services.values()])
    weights = reports / reports.sum() if by_size else errors**-2 / (errors**-2).sum()
    reach = np.array([np.ptp(piecewise_arrays(source.channel).unbiased()) for source in fused.sources])
    return float((weights / reports * reach).max()) * (fused.bounds[1] - fused.bounds[0]) / 2


def _largest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep the rows with the largest shares, in their order."""
    kept = sorted(range(len(rows)), key=lambda place: -rows[place]["estimate"])[:MOST_ROWS]
    return {"rows": [rows[place] for place in sorted(kept)], "left_out": len(rows) - len(kept)}


def _table(counted: Tally, first: str, second: str) -> dict[str, Any]:
    """Return the two-way table of two questions that were counted together."""
    try:
        found = two_way(counted, first, second)
    except EstimateError as error:
        return {"questions": [first, second], "missing": str(error)}
    if found.shares.size > MOST_CELLS:
        return {"questions": [first, second], "missing": f"the table has {found.shares.size:,} cells, too many to show"}
    content = found.to_mapping(CONFIDENCE)
    rows = [
        {"first": row[first], "second": row[second], **{name: row[name] for name in ("estimate", "low", "high")}}
        for row in content["rows"]
    ]
    return {**{name: content[name] for name in ("questions", "reports", "warnings")}, "rows": rows}
