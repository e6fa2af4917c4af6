"""What the pages say about the papers is what the shipped report of the full run says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.modules import load_script
from helpers.shipped import judged
from pldp.papers import PAPERS, load_paper

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("**/*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])
TABLES = ROOT / "docs/make_papers_tables.py"
VERDICTS = {"holds": "holds", "fails": "does not hold", "undecided": "undecided"}

_TO_REPORT = re.compile(r'\[([^\]]+)\]\([^)\s]*report\.html#([\w-]+)(?: "([^"]*)")?\)')
_TO_TEST = re.compile(r'\[[^\]]+\]\(([^)\s]+/tests/[^)\s]+) "([^"]*)"\)')
_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+|·10[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
# What names a place of a paper or a setting, and is no result.
_NOT_A_RESULT = re.compile(
    r"(?:Theorem|Lemma|Tables?|Figures?|Equation|equation|Section)s? [\d.]+(?: and \d+)?|\(\d+\)|ε(?:_p)? = [\d.]+"
    r"|\"[^\"]+\"|\d+ iterations|\d+ runs|1 − p|1/n|below 0\.4|87 % better"
)


def numbers(text: str) -> Iterator[tuple[float, float]]:
    """Yield every number of a text with half a unit of its last digit."""
    for found in _NUMBER.findall(text):
        mantissa, _, power = found.replace("−", "-").replace(",", "").replace("·10", "e").partition("e")
        scale = 10.0 ** int(power.translate(_SUPERSCRIPTS) or 0)
        yield float(mantissa) * scale, 0.5 * scale / 10 ** len(mantissa.partition(".")[2])


def misquoted(text: str) -> list[str]:
    """Return the links to claims of the report whose numbers, verdict or target are not those of the report."""
    wrong = []
    for words, anchor, title in _TO_REPORT.findall(text):
        claim = judged().get(anchor)
        if claim is None or title != VERDICTS[claim.verdict]:
            wrong.append(f"{words} ({anchor}): {title}")
            continue
        told = [abs(number) for number, _ in numbers(claim.reason)]
        if "%" in words:
            told += [100 * number for number in told]  # shares of one in the report
        for number, half in numbers(_NOT_A_RESULT.sub("", words)):
            if not any(abs(abs(number) - each) <= half * (1 + 1e-9) for each in told):
                wrong.append(f"{words} ({anchor}): {number:g} is not in {claim.reason!r}")
    return wrong


def test_the_shipped_report_judges_the_claims_of_this_code() -> None:
    """The same places and readings in the same order, so that an anchor means the same claim here and there."""
    for name in PAPERS:
        own = load_paper(name).claims
        shipped = {each.anchor: each for each in judged().values() if each.paper == name}
        assert len(shipped) == len(own)
        for number, claim in enumerate(own, start=1):
            found = shipped[f"{name}-{number}"]
            assert (found.where, found.reading, found.ours) == (claim.where, claim.reading, claim.ours)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_that_a_page_quotes_are_those_of_the_shipped_report(page: Path) -> None:
    assert misquoted(page.read_text(encoding="utf-8")) == []


def test_the_check_finds_a_changed_number_a_changed_verdict_and_a_lost_claim() -> None:
    right = '[94 to 505](research/report.html#febsf-6 "does not hold")'
    assert right in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert misquoted(right) == []
    for old, new in (("94", "95"), ("505", "515"), ("does not hold", "holds"), ("febsf-6", "febsf-600")):
        assert misquoted(right.replace(old, new)), new
    percent = '[65 to 68 %](report.html#multiservice-9 "holds")'
    assert misquoted(percent) == []
    assert misquoted(percent.replace("68", "66"))


def test_no_result_in_the_list_of_findings_is_without_its_claim_or_test() -> None:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    findings = text.partition("\n## What holds")[2].partition("\n## ")[0]
    assert len(_TO_REPORT.findall(findings)) > 40
    bare = _TO_TEST.sub("", _TO_REPORT.sub("", findings))
    left = [line for line in bare.splitlines() if list(numbers(_NOT_A_RESULT.sub("", line)))]
    assert left == []
    for path, function in _TO_TEST.findall(findings):
        assert f"\ndef {function}(" in (ROOT / "docs" / path).resolve().read_text(encoding="utf-8"), function


def test_built_pages_link_to_the_place_in_the_report() -> None:
    source = ['See [94 to 505](research/report.html#febsf-6 "does not hold") and [all](papers.md).']
    load_script(ROOT / "docs/conf.py")._link_to_report(None, "docs/papers", source)
    assert source == [
        'See <a href="research/report.html#febsf-6" title="does not hold">94 to 505</a> and [all](papers.md).'
    ]


@pytest.mark.parametrize("page", ["papers.md", "hidden-levels.md", "numbers.md"])
def test_tables_of_results_are_made_from_the_shipped_report(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert "<!-- table " in text
    assert load_script(TABLES).fill(text) == text, "run: .venv/bin/python docs/make_papers_tables.py"
    row = re.search(r"<!-- table .*?^(\| [^|]+ \| [^-|]*\d)", text, re.MULTILINE | re.DOTALL)
    assert row is not None
    changed = text[: row.end() - 1] + str((int(text[row.end() - 1]) + 1) % 10) + text[row.end() :]
    assert load_script(TABLES).fill(changed) == text
