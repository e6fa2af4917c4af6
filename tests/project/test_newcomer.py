"""A newcomer's test: every job is found from the README in at most two clicks, with something to copy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
JOBS = {
    # the job → page, heading, what is copied there
    "how many people do I need": ("docs/how-to/sample-size.md", "Sample size: how many people do I need?", "pldp plan"),
    "write a survey": ("docs/tutorial.md", "2. Write the survey", "pldp new"),
    "choose ε": ("docs/choose-levels.md", "What an ε means for the result", "pldp plan"),
    "ask for a number": ("docs/how-to/number-question.md", "Ask a number question", 'kind = "number"'),
    "let people tick several answers": ("docs/how-to/several-answers.md", "Let people tick several answers", "choices"),
    "ask many questions": ("docs/how-to/many-questions.md", "Ask many questions within one total", "total_epsilon"),
    "protect one answer more": (
        "docs/how-to/protect-some-answers.md",
        "Protect some answers more than others",
        "fractions",
    ),
    "hide the level": ("docs/how-to/hide-level.md", "Hide which level people chose", "hide_level"),
    "ask in German too": ("docs/how-to/translate.md", "Offer the survey in several languages", "[languages.de]"),
    "run behind nginx": ("docs/how-to/nginx.md", "Run behind nginx", "deploy/nginx.conf"),
    "run in containers": ("docs/containers.md", "Run it in containers", "docker compose"),
    "let only invited people answer": (
        "docs/how-to/invite-people.md",
        "Let only invited people answer",
        "pldp store enrol",
    ),
    "put it into my own app": ("docs/tutorial-app.md", "3. Write the page", "openDevice"),
    "withdraw a report": ("docs/how-to/withdraw.md", "Withdraw a report", "/v1/withdraw"),
    "back up the reports": ("docs/how-to/back-up.md", "Back up and restore the reports", "pldp store backup"),
    "compare two rounds": ("docs/how-to/compare-rounds.md", "Compare two rounds", "pldp estimate --rounds"),
    "mean of a number by group": ("docs/how-to/mean-by-group.md", "Mean of a number by group", "--groups"),
    "cross-tabulate": ("docs/how-to/cross-tabulate.md", "Cross-tabulate two questions", "--pair"),
    "correct for who answered": ("docs/how-to/correct-who-answered.md", "Correct for who answered", "--known"),
    "results in Excel or R": ("docs/how-to/export-results.md", "Results in Excel, pandas, Polars or R", "to_frame"),
    "publish the results": ("docs/how-to/publish-results.md", "Publish the results", "--html"),
    "prove the ε to my lawyer": ("docs/how-to/prove-epsilon.md", "Prove the ε to a lawyer", "pldp audit"),
    "count reports in my warehouse": ("docs/sql.md", "Count reports with SQL", "pldp sql"),
    "come from another library": ("docs/migrate.md", "Coming from multi-freq-ldpy or pure-ldp", ">>> "),
}
CLICKS = 2


def links(page: Path) -> set[Path]:
    """Pages that a page links to, outside its blocks of code."""
    text = re.sub(r"^```.+?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", text)
    return {(page.parent / target).resolve() for target in targets if not re.match(r"[a-z]+:", target)}


def reached(start: Path, clicks: int) -> dict[Path, int]:
    """Pages that can be reached, with the number of clicks that it takes."""
    found = {start.resolve(): 0}
    for click in range(1, clicks + 1):
        for page in [page for page in found if page.suffix == ".md"]:
            for target in links(page):
                found.setdefault(target, click)
    return found


def section(page: Path, heading: str) -> str:
    """What stands below a heading, up to the next of its rank or above."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert found, f"{page.name} has no heading {heading!r}"
    below = text[found.end() :]
    code = re.compile(r"^```.+?^```$", re.MULTILINE | re.DOTALL)
    masked = code.sub(lambda block: re.sub(r"[^\n]", "x", block[0]), below)  # comments in code begin with # as well
    end = re.search(rf"^#{{1,{len(found[1])}}} ", masked, re.MULTILINE)
    return below[: end.start()] if end else below


@pytest.mark.parametrize("job", JOBS)
def test_a_job_is_found_in_two_clicks_and_has_something_to_copy(job: str) -> None:
    name, heading, copied = JOBS[job]
    page = ROOT / name
    assert reached(README, CLICKS).get(page.resolve(), CLICKS + 1) <= CLICKS
    blocks = re.findall(r"^ *```.+?^ *```$", section(page, heading), re.MULTILINE | re.DOTALL)
    assert any(copied in block for block in blocks), f"{name}: nothing to copy with {copied!r}"


def test_there_are_twenty_jobs() -> None:
    assert len(JOBS) >= 20


def test_a_page_that_nothing_links_to_is_not_found(tmp_path: Path) -> None:
    for name, text in {"a": "[b](b.md)", "b": "[c](c.md#x)", "c": "[d](d.md)", "d": "end"}.items():
        (tmp_path / f"{name}.md").write_text(text)
    found = reached(tmp_path / "a.md", CLICKS)
    assert {path.stem: clicks for path, clicks in found.items()} == {"a": 0, "b": 1, "c": 2}


def test_every_guide_is_on_the_list_of_guides() -> None:
    listed = links(ROOT / "docs" / "how-to.md")
    assert {path.resolve() for path in (ROOT / "docs" / "how-to").iterdir()} <= listed
