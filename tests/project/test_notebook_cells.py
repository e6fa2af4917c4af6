"""The notebooks run from top to bottom, and the tables that they show are those of today."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent.parent / "docs" / "notebooks").glob("*.ipynb"))


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: list[str], names: dict[str, Any]) -> object:
    """Run a cell without its magic lines and return the value of its last line, if that is an expression."""
    tree = ast.parse("".join(line for line in source if not line.startswith("%")))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own pages
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def first_words(text: str) -> list[list[str]]:
    return [line.split()[:1] for line in text.splitlines()]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_what_is_stored_with_it(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """First words and headings are compared, not digits: those may depend on the version of NumPy."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(notebook.parent)
    names: dict[str, Any] = {}
    for cell in code_cells(notebook):
        shown = run_cell(cell["source"], names)
        printed = "".join(line for output in cell["outputs"] for line in output.get("text", ()))
        assert first_words(capsys.readouterr().out) == first_words(printed)
        stored = [output["data"]["text/plain"][0].split() for output in cell["outputs"] if "data" in output]
        assert stored == ([] if shown is None else [repr(shown).splitlines()[0].split()])
