"""What a choice of levels saves: people that a survey with one level for everybody would need instead.

Exact, from the plan: nothing is simulated and nothing is timed. Each level is chosen by as many people, and the result
is as precise as its widest interval.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import ROOT, Context, Row
from pldp import Survey
from pldp.planning import plan

TITLE = "Choice of levels: people that one level for everybody would need"

SURVEYS = {"commute": "mode", "health": "smoker", "shopping": "reason"}
"""Example surveys and the question that is compared."""

PEOPLE = 10_000


ALIKE = "if levels are chosen regardless of answers"


def factors(name: str, question: str) -> dict[str, float]:
    """Return how many times as many people it takes if all get the strictest level, or only the most open counts.

    What people of the most open level answer says nothing about the others, unless levels are chosen regardless of
    answers.
    """
    found = plan(Survey.load(ROOT / "examples" / f"{name}.toml"), PEOPLE)
    (chosen,) = (each for each in found.questions if each.question == question)
    alike = chosen.alike.thresholds
    return {
        "everybody at the strictest level": chosen.thresholds[0].capped,
        f"everybody at the strictest level, {ALIKE}": alike[0].capped,
        f"only the most open level counted, {ALIKE}": alike[-1].dropped,
    }


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows of each example survey."""
    del context
    for name, question in SURVEYS.items():
        found = factors(name, question)
        yield [
            Row(f"{name}, {question}: {what}", f"{factor:.1f} × the people", raw={"factor": factor})
            for what, factor in found.items()
        ]
