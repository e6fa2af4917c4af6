"""Every way to ask × every verb: what works, and why the rest does not.

A *way* is a kind of question with what a survey file can say about it, levels that show or are hidden, and where its ε
comes from. Each verb is tried on a survey with that question and a choice beside it. What is refused must say why.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import pldp
from helpers.claims import runs
from pldp.errors import PldpError
from pldp.estimates import estimate_fused
from pldp.simulate import Population, simulate_reports, truth_mapping
from pldp.tallies import join_services, keyed_reports

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "clients" / "js" / "vectors" / "answers.js"

PEOPLE = runs(5_000, 20_000)
SURE = 1 - 1e-7
"""Confidence of the intervals that must hold the truth: a false alarm in all of them together in 1 of 30,000 tries."""

FRUIT = ["apple", "pear", "plum", "fig"]

QUESTIONS: Mapping[str, tuple[Mapping[str, Any], Any]] = {
    "choice": ({"values": FRUIT}, "pear"),
    "choice, budgets per value": ({"values": FRUIT, "fractions": {"fig": "1/2"}}, "pear"),
    "choice, some values unprotected": ({"values": FRUIT, "unprotected": ["apple"]}, "pear"),
    "set": ({"kind": "choices", "values": FRUIT}, ["pear", "fig"]),
    "set, budgets per item": ({"kind": "choices", "values": FRUIT, "fractions": {"fig": "1/2"}}, ["pear", "fig"]),
    "set, ticked and not ticked apart": (
        {"kind": "choices", "values": FRUIT, "ticked": {"fig": "1/2"}, "unticked": {"pear": "1/2"}},
        ["pear", "fig"],
    ),
    "set, one budget": ({"kind": "choices", "values": FRUIT, "budget": "set"}, ["pear", "fig"]),
    "set of at most two": ({"kind": "choices", "values": FRUIT, "budget": "set", "at_most": 2}, ["pear", "fig"]),
    "number": ({"kind": "number", "low": 0, "high": 10, "buckets": 40}, 4.5),
    "mean of a number": ({"kind": "number", "low": 0, "high": 10, "purpose": "mean"}, 4.5),
}
"""What is asked, with an answer to it."""

BUDGETS = ("own ε", "fraction of a total", "ask")
"""Where the ε of a question comes from."""

_BESIDE = {"name": "beside", "text": "Beside", "values": ["yes", "no"]}


@dataclass(frozen=True)
class Way:
    """A way to ask."""

    question: str
    hidden: bool
    budget: str

    def __str__(self) -> str:
        return f"{self.question}, {'hidden' if self.hidden else 'shown'} levels, {self.budget}"

    @property
    def document(self) -> dict[str, Any]:
        """The survey file."""
        shared = self.budget != "own ε"
        # Where levels are hidden they are closer: devices stop before reports tell too much about them.
        part, most = ("4/5", 1.25) if self.hidden else ("1/2", 2)
        levels = {"strict": {"fraction": part}, "open": {"fraction": 1}} if shared else {"strict": 1, "open": most}
        third = {**_BESIDE, "name": "third", "text": "Third"}
        questions = [{"name": "asked", "text": "Asked", **QUESTIONS[self.question][0]}, _BESIDE, third]
        return {
            "pldp": 1,
            "title": str(self),
            "levels": levels,
            **({"total_epsilon": 8} if shared else {}),
            **({"ask": 2} if self.budget == "ask" else {}),
            **({"hide_level": {"epsilon": 1}} if self.hidden else {}),
            "questions": questions,
        }

    @property
    def survey(self) -> pldp.Survey:
        """The survey, read once."""
        return _read_once(self)

    @property
    def answers(self) -> dict[str, Any]:
        """An answer to every question."""
        return {"asked": QUESTIONS[self.question][1], "beside": "yes", "third": "no"}


@cache
def _read_once(way: Way) -> pldp.Survey:
    return pldp.Survey.read(way.document)


def ways() -> Iterator[Way]:
    """Yield every way to ask."""
    yield from (Way(*parts) for parts in product(QUESTIONS, (False, True), BUDGETS))


@cache
def _counted(way: Way) -> tuple[pldp.Tally, dict[str, dict[str, float]]]:
    """Return simulated reports, counted, and the truth about each question by label."""
    survey = way.survey
    people = Population.of_shares(survey, PEOPLE, seed=11)
    tally = pldp.tally(survey, simulate_reports(survey, people, seed=11), patterns=way.hidden)
    shares = {question.name: people.shares(question) for question in survey.questions}
    rows = {each["name"]: each["rows"] for each in truth_mapping(survey, shares)}
    return tally, {name: {row["label"]: row["true"] for row in own} for name, own in rows.items()}


def estimate(way: Way) -> None:
    """From the survey file over simulated reports to intervals that hold the truth."""
    tally, truth = _counted(way)
    result = pldp.estimate(tally, "asked")
    rows = result.rows(SURE)
    assert {row.label for row in rows} == set(truth["asked"])
    for row in rows:
        assert 0 < row.standard_error < np.inf, row
        assert row.low <= truth["asked"][row.label] <= row.high, (row, truth["asked"][row.label])


def plan(way: Way) -> None:
    """Errors to expect, and the people that a stated error takes."""
    planned = pldp.plan(way.survey, 1000)
    asked = planned.questions[0]
    assert np.isfinite(asked.standard_error).all()
    assert (asked.standard_error > 0).all()
    needed = planned.people_for({"asked": 3 * float(asked.standard_error.max())})["asked"]
    assert 0 < needed.plausible <= needed.worst < np.inf


def audit(way: Way) -> None:
    """The exact audit finds every promise kept."""
    found = pldp.audit(way.survey, samples=0)
    assert not found.refuted
    assert {"asked", "beside"} <= {row.question for row in found.rows}


def two_way(way: Way) -> None:
    """A table with another question that has nothing to do with it: intervals that hold the products of shares."""
    survey = way.survey
    people = Population.of_shares(survey, PEOPLE, seed=12)
    tally = pldp.tally(survey, simulate_reports(survey, people, seed=12), pairs=[("asked", "beside")])
    table = pldp.two_way(tally, "asked", "beside")
    assert np.isfinite(table.standard_error).all()
    assert np.isfinite(table.consistent()).all()
    shares = {question.name: people.shares(question) for question in survey.questions}
    rows = {each["name"]: each["rows"] for each in truth_mapping(survey, shares)}
    truth = {name: {row["label"]: row["true"] for row in own} for name, own in rows.items()}
    for row in table.rows(SURE):
        first, second = row.label
        if first in truth["asked"]:  # ranges of numbers have labels of their own
            assert row.low <= truth["asked"][first] * truth["beside"][second] <= row.high, row


def fuse(way: Way) -> None:
    """The reports of two services about the same people, joined: intervals that hold the truth."""
    survey = way.survey
    people = Population.of_shares(survey, PEOPLE, seed=13)
    services = [
        keyed_reports(
            f"service {seed}", survey, simulate_reports(survey, people, seed=seed), range(PEOPLE), questions=["asked"]
        )
        for seed in (13, 14)
    ]
    result = estimate_fused(join_services(services)["asked"])
    shares = {question.name: people.shares(question) for question in survey.questions}
    truth = {row["label"]: row["true"] for row in truth_mapping(survey, shares)[0]["rows"]}
    for row in result.rows(SURE):
        assert 0 < row.standard_error < np.inf, row
        assert row.low <= truth[row.label] <= row.high, (row, truth[row.label])


def node() -> str | None:
    """Return the path of Node, if there is one."""
    return shutil.which("node")


_ANSWERED: dict[Way, list[dict[str, Any]]] = {}


def answer_in_javascript(asked: Iterable[Way]) -> None:
    """Let one process of Node answer surveys in all these ways, ten people at each level."""
    lines: list[tuple[Way, str]] = []
    for way in asked:
        told = {"survey": way.survey.canonical.decode(), "answers": list(way.answers.items()), "people": 10}
        lines += [(way, json.dumps({**told, "level": level.name})) for level in way.survey.levels]
        _ANSWERED[way] = []
    command, given = [str(node()), str(ANSWERS)], "\n".join(line for _, line in lines)
    printed = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    for (way, _), line in zip(lines, printed.splitlines(), strict=True):
        _ANSWERED[way].append(json.loads(line))


def javascript(way: Way) -> None:
    """The device in JavaScript answers, and its reports are counted."""
    survey = way.survey
    if way not in _ANSWERED:
        answer_in_javascript([way])
    found = _ANSWERED[way]
    for each in found:
        if "error" in each:
            raise PldpError(each["error"])
    counted = pldp.tally(survey, [report for each in found for report in each["reports"]])
    assert (counted.reports, counted.rejected) == (20, 0)


VERBS: Mapping[str, Callable[[Way], None]] = {
    "estimate": estimate,
    "plan": plan,
    "audit": audit,
    "two-way": two_way,
    "fuse": fuse,
    "JavaScript": javascript,
}
"""What is done with a survey."""

COLUMNS = (*VERBS, "survey page")
"""Columns of the table; the survey page needs a browser, so it is tried in `tests/structure/test_combinations.py`."""


def _read(way: Way) -> None:
    """Read the survey file: whatever can be read, the survey page can ask."""
    assert way.survey.questions


def outcome(way: Way, verb: str) -> str:
    """Try a verb; return nothing if it works, and the reason if it is refused."""
    try:
        VERBS.get(verb, _read)(way)
    except PldpError as error:
        return str(error)
    return ""


def page() -> str:
    """Return the tables of all ways and verbs, and the reasons of what is refused, as Markdown."""
    reasons: list[str] = []
    lines: list[str] = []
    for budget in BUDGETS:
        lines += ["", f"## {budget[0].upper()}{budget[1:]}", "", f"| question | levels | {' | '.join(COLUMNS)} |"]
        lines += [f"| --- | --- |{' --- |' * len(COLUMNS)}"]
        for way in ways():
            if way.budget == budget:
                found = [outcome(way, verb) for verb in COLUMNS]
                reasons += [reason for reason in dict.fromkeys(found) if reason and reason not in reasons]
                cells = [f"[{reasons.index(reason) + 1}]" if reason else "yes" for reason in found]
                lines.append(f"| {way.question} | {'hidden' if way.hidden else 'shown'} | {' | '.join(cells)} |")
    if reasons:
        lines += ["", "## Reasons", "", *(f"{place}. {reason}" for place, reason in enumerate(reasons, 1))]
    return "\n".join(lines) + "\n"


def told(text: str) -> dict[Way, dict[str, str]]:
    """Return what a page says of every way and verb: nothing if it works, else the reason."""
    reasons = {f"[{number}]": reason for number, reason in re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)}
    found: dict[Way, dict[str, str]] = {}
    for budget in BUDGETS:
        section = text.partition(f"## {budget[0].upper()}{budget[1:]}\n")[2].partition("\n## ")[0]
        for line in section.splitlines()[3:]:
            question, levels, *cells = line.strip("| ").split(" | ")
            said = ("" if cell == "yes" else reasons[cell] for cell in cells)
            found[Way(question, levels == "hidden", budget)] = dict(zip(COLUMNS, said, strict=True))
    return found
