"""Structure is a claim: whoever adds a kind of result is told where it must be shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pldp import show
from pldp.estimates.kinds import BY_KIND

SOURCE = Path(show.__file__).parents[1]
KINDS = {*BY_KIND, "table"}


def test_pages_and_terminals_show_every_kind_of_result() -> None:
    assert set(show.BY_KIND) == {*KINDS, "change", "trend"}


def test_the_dashboard_draws_nothing_by_itself() -> None:
    """Cards have one renderer: the dashboard's scripts know neither results nor pictures."""
    scripts = [SOURCE / "collector/pages" / name for name in ("dashboard.js", "api.js")]
    assert not [path.name for path in scripts if re.search(r"estimate\b|svg|createElement\(\"t", path.read_text())]


@pytest.mark.parametrize("path", ["cli/estimate.py", "cli/output.py", "collector/answers.py", "show/page.py"])
def test_who_shows_results_knows_no_kinds(path: str) -> None:
    text = (SOURCE / path).read_text()
    assert not re.findall(rf"kind (?:==|!=|in)|\"(?:{'|'.join(KINDS)})\"", text)


def test_notes_are_known_by_their_code_and_not_by_their_words() -> None:
    pages = SOURCE / "collector/pages"
    scripts = [pages / "dashboard.js", *(SOURCE / "show").rglob("*.py")]
    words = r"text\"?\]?\.(includes|match|search|startsWith|startswith|find)"
    assert not [path.name for path in scripts if re.search(words, path.read_text())]


def test_showing_needs_the_standard_library_only() -> None:
    names = "numpy", "scipy", "pyarrow", "rich", "matplotlib"
    code = f"import sys, pldp.show; sys.exit(any(name in sys.modules for name in {names}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
