"""Devices as mechanisms to audit: a new person for every report, and everything that leaves them as the output."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pldp.auditing.calls import Called
from pldp.device import Device
from pldp.errors import AuditError
from pldp.survey import Question, Survey

SCRIPT: Final = Path("vectors") / "audit.js"  # runs the device in the folder of the JavaScript client
START_SECONDS: Final = 60.0
SECONDS_PER_REPORT: Final = 0.05
"""Time that the process may take before it is taken for one that never returns."""


def only(survey: Survey, question: Question) -> Survey:
    """Return a survey of this question alone, with the same channels: everybody is asked it, at any price."""
    return replace(survey, questions=(question,), ask=None, total_micro_epsilon=None)


def observe(survey: Survey, person: tuple[dict[str, Any], str]) -> dict[str, Any]:
    """Return everything that leaves a new person's device, given the person's answers and their level."""
    report = Device(survey).answer_all(*person)
    return {"report": report.to_mapping(), "length": len(report.to_json())}


def changes_when_asked_again(survey: Survey, values: dict[str, Any], level: str, rounds: int) -> str | None:
    """Ask one person the same many times; say what is wrong if an answer, its label or its price changes."""
    device = Device(survey)
    first = device.answer_all(values, level).answers
    spent = device.ledger.total
    for again in range(2, rounds + 1):
        if device.answer_all(values, level).answers != first:
            return f"the answer changes when it is asked for again (round {again}): every round costs its own ε"
    if device.ledger.total != spent:
        return f"asking again {rounds - 1} times was charged, but nothing new was sent"
    return None


@dataclass(frozen=True)
class JavaScript:
    """The JavaScript client in its folder (`clients/js` of the project), run by Node as a process of its own."""

    node: str
    folder: Path

    @staticmethod
    def find(folder: str | Path | None = None) -> JavaScript | None:
        """Return the client in this folder, or the one beside the sources; nothing if Node or it is missing."""
        node = shutil.which("node")
        place = Path(__file__).parents[3] / "clients" / "js" if folder is None else Path(folder)
        return JavaScript(node, place) if node is not None and (place / SCRIPT).exists() else None

    def call(self, survey: Survey, people: Sequence[tuple[dict[str, Any], str]], samples: int) -> Called:
        """Let so many new people of each kind answer, in random order; outputs and times as `calls.call` gives them."""
        request = {
            "survey": survey.canonical.decode(),
            "people": [{"values": list(values.items()), "level": level} for values, level in people],
            "samples": samples,
        }
        limit = START_SECONDS + SECONDS_PER_REPORT * samples * len(people)
        try:
            ended = subprocess.run(  # noqa: S603 - the program that the caller named
                [self.node, str(self.folder / SCRIPT)],
                input=json.dumps(request) + "\n",
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise AuditError(f"the JavaScript device did not return within {limit:g} seconds") from None
        try:
            answer = json.loads(ended.stdout)
        except ValueError:
            last = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise AuditError(f"the JavaScript device failed: {last[:200]}") from None
        if "error" in answer:
            raise AuditError(f"the JavaScript device refuses this: {str(answer['error'])[:200]}")
        reports = [[{"report": json.loads(text), "length": len(text)} for text in each] for each in answer["reports"]]
        return Called(tuple(map(tuple, reports)), tuple(tuple(map(int, each)) for each in answer["times"]))
