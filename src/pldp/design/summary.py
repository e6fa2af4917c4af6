"""What a survey will reveal, cost and be worth, as plain data for a page, a terminal and scripts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pldp.auditing import audit
from pldp.epsilon import MICRO
from pldp.errors import PldpError
from pldp.mechanisms import Micro, epsilon_text
from pldp.planning import Design, Plan, plan
from pldp.survey import (
    LEVEL_CAP,
    Survey,
    affordable_reports,
    dead_ends,
    dearest_report,
    language_warnings,
    leak_warnings,
    name_warnings,
    repeat_mapping,
    report_epsilon,
    share_of,
)
from pldp.words import of_hundred

TARGET: Final = 0.02
"""Half-width of an interval for which the people needed are named."""

SHOWN_DESIGNS: Final = 3


def summarise(survey: Survey, people: int) -> dict[str, Any]:
    """Return all of it: what reports reveal and cost, warnings, errors to expect and better designs.

    >>> from pldp.survey import load
    >>> found = summarise(load("examples/commute.toml"), 5000)
    >>> [(level["level"], level["epsilon"], level["sure"]) for level in found["reveals"]]
    [('strict', '1', '73 %'), ('standard', '2', '88 %'), ('open', '4', '98 %')]
    """
    return {**look(survey), **expect(survey, people)}


def look(survey: Survey) -> dict[str, Any]:
    """Return what reports reveal by the exact audit, what they cost, and what would mislead people; takes no people."""
    found = audit(survey, samples=0)
    leak = survey.level_leak()
    return {
        "title": survey.title,
        "hash": survey.hash,
        "reveals": [_reveals(survey, level.name, level.text) for level in survey.levels],
        "promises": [
            {"question": row.question, "level": row.level, "exact": row.exact, "verdict": row.verdict}
            for row in found.rows
            if row.rounds == 1 and row.exact is not None
        ],
        "cost": {
            "dearest_report": epsilon_text(dearest_report(survey)),
            "total": None if survey.total_micro_epsilon is None else epsilon_text(survey.total_micro_epsilon),
            "asked": survey.ask or len(survey.questions),
            "questions": len(survey.questions),
            "repeat": repeat_mapping(survey)["words"],
        },
        "level": None if leak is None else _about_level(survey, leak),
        "warnings": [*name_warnings(survey), *dead_ends(survey), *leak_warnings(survey), *language_warnings(survey)],
        "lottery": None if survey.lottery is None else epsilon_text(survey.lottery.true_micro_epsilon),
        "remarks": list(survey.remarks),
    }


def _about_level(survey: Survey, leak: Micro) -> dict[str, Any]:
    """Say what a report tells about a hidden level, and how many reports a device sends before it stops."""
    reports, signed = affordable_reports(survey), bool(survey.signer)
    return {"epsilon": epsilon_text(leak), "cap": epsilon_text(LEVEL_CAP), "reports": reports, "signed": signed}


def _reveals(survey: Survey, level: str, text: str) -> dict[str, Any]:
    """Say what a whole report tells about a person who chooses one level and answers all that they can."""
    places = [(question, survey.level_for(question, level)) for question in survey.questions]
    answers = [(question, place) for question, place in places if place is not None]
    micro = report_epsilon(survey, level)
    return {
        "level": level,
        "text": text,
        "answers": min(len(answers), survey.ask or len(answers)),
        "epsilon": epsilon_text(micro),
        "sure": percent(1 / (1 + math.exp(-micro / MICRO))),
        "proved": [
            {"question": question.name, "label": label, "of_hundred": of_hundred(chance)}
            for question, place in answers
            for label, chance in question.provable(place)
        ],
    }


def proofs(reveals: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return question and label of each answer that a report can prove, and of 100 reports how many do, by level."""
    chances: dict[tuple[str, str], list[str]] = {}
    for level in reveals:
        for each in level["proved"]:
            chances.setdefault((each["question"], each["label"]), []).append(f"{each['of_hundred']} ({level['level']})")
    return [(*key, ", ".join(known)) for key, known in chances.items()]


def percent(share: float) -> str:
    """Write a share as the survey page does: with decimals where a whole number would say all, none or no difference.

    >>> percent(0.9), percent(0.9975), percent(0.5025)
    ('90 %', '99.75 %', '50.25 %')
    """
    number = 100 * share
    if 1 <= number <= 99 and abs(number - 50) >= 1:
        return f"{number:.0f} %"
    return f"{float(f'{number:.4g}'):g} %"


def expect(survey: Survey, people: int) -> dict[str, Any]:
    """Return the errors to expect of so many people, and what would be better; a reason where there is no plan."""
    try:
        planned = plan(survey, people)
        errors = [_errors(planned, place) for place in range(len(planned.questions))]
        better = _better(planned)
    except PldpError as error:
        return {"people": people, "errors": [], "better": None, "no_plan": str(error)}
    return {"people": people, "errors": errors, "better": better, "no_plan": None}


def _errors(planned: Plan, place: int) -> dict[str, Any]:
    own = planned.questions[place]
    needed = planned.people_for({own.question: TARGET})[own.question] if own.of_shares else None
    text = planned.survey.questions[place].text
    return {
        "question": own.question,
        "text": text,
        "estimates": own.contents,
        "answers": round(own.reports),
        "interval": own.half_width(),
        "worst": own.worst_half_width(),
        "people_needed": None if needed is None else {"error": TARGET, **vars(needed)},
        "assumed": own.assumed,
        "advice": [*own.remarks, *([own.advice] if own.advice else [])],
    }


def _better(planned: Plan) -> dict[str, Any]:
    """Return designs that spend the same total ε, and how to get the best one."""
    if planned.no_designs is not None:
        return {"words": planned.advice, "designs": [], "change": None}
    given = next(design for design in planned.designs if design.split == "given")
    compared = [design for design in planned.designs if design.fits]
    designs = [_design(planned, design, given) for design in compared[:SHOWN_DESIGNS]]
    change = None if compared[0] is given else _change(planned, compared[0])
    return {"words": planned.advice, "designs": designs, "change": change}


def _design(planned: Plan, design: Design, given: Design) -> dict[str, Any]:
    return {
        "asked": planned.asked(design),
        "split": design.split,
        "error_ratio": round(_ratio(design, given), 3),
        "epsilons": {
            question.name: epsilon_text(budget)
            for question, budget in zip(planned.survey.questions, design.budgets, strict=True)
        },
    }


def _ratio(design: Design, given: Design) -> float:
    return float((design.squared_error / given.squared_error) ** 0.5)


def _change(planned: Plan, best: Design) -> dict[str, Any]:
    """Return the keys that turn the survey into a design: questions to ask, and ε of every question and level."""
    levels = []
    for question, budget in zip(planned.survey.questions, best.budgets, strict=True):
        share = share_of(question)
        own = share.forms[0].levels(budget, share.levels.fractions)
        levels.append({level.name: epsilon_text(level.micro_epsilon) for level in own})
    return {"ask": best.ask if best.ask < len(levels) else None, "levels": levels}


def change_design(document: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a survey file's content in a better design; mechanisms are those that `auto` takes."""
    dropped = {"mechanism", "weights"}
    questions = [
        {**{key: entry for key, entry in question.items() if key not in dropped}, "levels": dict(levels)}
        for question, levels in zip(document["questions"], change["levels"], strict=True)
    ]
    rest = {key: entry for key, entry in document.items() if key != "ask"}
    return {**rest, "questions": questions} | ({} if change["ask"] is None else {"ask": change["ask"]})
