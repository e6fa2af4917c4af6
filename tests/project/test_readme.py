"""The README's figures are those of the benchmarks, and the benchmarks' exact ones are those of the code."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "README.md"

pytestmark = pytest.mark.skipif(not RESULTS.is_file(), reason="the benchmarks are not part of a source distribution")


def rows(text: str) -> dict[str, list[str]]:
    """The rows of all tables: first cell → the others."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return {first: others for first, *others in cells}


def figures() -> list[float]:
    """The numbers in bold that begin the README's rows."""
    return [float(number) for number in re.findall(r"^\| \*\*([\d.]+) × ", README, re.MULTILINE)]


def measured(results: dict[str, list[str]]) -> list[float]:
    """The same numbers in the tables of the benchmarks."""
    choice = results["commute, mode: everybody at the strictest level"][0]
    (limit,) = (row for first, row in results.items() if first.startswith("`auto` for labels, built integers"))
    (speed,) = (row for first, row in results.items() if first.startswith("k-RR client, an ε per person"))
    return [float(re.match(r"[\d.]+", text)[0]) for text in (choice, limit[0], speed[2])]


def test_the_three_figures_are_those_of_the_benchmarks() -> None:
    assert len(figures()) == 3
    assert figures() == measured(rows(RESULTS.read_text(encoding="utf-8")))


def test_a_figure_that_drifts_is_noticed() -> None:
    changed = RESULTS.read_text(encoding="utf-8").replace("29.8 ×", "12.1 ×", 1)
    assert figures() != measured(rows(changed))


def test_what_a_choice_of_levels_saves_is_what_the_plan_says_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    table = import_module("benchmarks.choice")
    written = rows(RESULTS.read_text(encoding="utf-8"))
    made = {row.what: row.ours for part in table.run(None) for row in part}
    assert len(made) == 3 * len(table.SURVEYS)
    assert {what: written[what][0] for what in made} == made
