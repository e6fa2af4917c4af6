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


def factors(name: str, question: str) -> tuple[float, float]:
    """Return how many times as many people it takes if all get the strictest level, or only the most open counts."""
    found = plan(Survey.load(ROOT / "examples" / f"{name}.toml"), PEOPLE)
    (chosen,) = (each for each in found.questions if each.question == question)
    return chosen.thresholds[0].capped, chosen.thresholds[-1].dropped


def run(context: Context) -> Iterator[list[Row]]:
    """Yield one row per example survey."""
    del context
    for name, question in SURVEYS.items():
        capped, dropped = factors(name, question)
        raw = {"capped": capped, "dropped": dropped}
        yield [
            Row(f"{name}, {question}: everybody at the strictest level", f"{capped:.1f} × the people", raw=raw),
            Row(f"{name}, {question}: only the most open level counted", f"{dropped:.1f} × the people", raw=raw),
        ]
