"""Plain English: phrases that read like a translation occur in nothing that users or contributors read."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PHRASES = {
    # what to avoid → what to write
    r"\bwhoever\b": "anyone who, people who, an observer",
    r"\bsomebody\b": "someone, a person, another process",
    r", not none\b": "nothing to …: need at least one …",
    r"\bwhat came is\b": "name what is wrong and what is allowed",
    r"must be the number of one": "there is no round 3",
    r"\bmay all that\b": "includes every other",
    r"\bbetween them spaces\b": "separated by spaces",
    r"\bwith commas between\b": "separated by commas",
    r"\bby custom\b": "usually, preferably",
    r"\boften one looks\b": "often you look",
    r"\band so many days more\b": "for N days",
    r"\bthe way of the data\b": "how it works",
    r"\bpeople, not dozens\b": "needs thousands of people",
    r"\bas it is is\b": "your current …",
    r"\bcan be trusted to tell the truth\b": "no single report reveals what its sender really answered",
    r"\bmust say beforehand\b": "needs to predict",
    r"\bhow many people one (forged|fake) report can count as\b": "how far one fake report can shift the result",
    r"\bwhat must hold\b": "assumptions",
    r"\bit counts also if\b": "this still counts if",
    r"\botherwise one could\b": "otherwise anyone could",
    r"\bthere must be at least one\b": "need at least one",
    r"\bdoes not lie there\b": "is not there",
    r"\btells nothing of\b": "says nothing about",
}
"""Each was found in this project; the list grows with what readers stumble over."""

TEXTS = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("docs/**/*.ipynb"),
    *ROOT.glob("benchmarks/*.md"),
    *ROOT.glob("clients/js/README.md"),
    *ROOT.glob("examples/**/*.toml"),
    *ROOT.glob("src/pldp/**/*.html"),
    *ROOT.glob("src/pldp/**/en.json"),
    *ROOT.glob("src/pldp/**/*.schema.json"),
    *ROOT.glob("src/pldp/collector/pages/**/*.js"),
    *ROOT.glob("clients/js/src/**/*.js"),
    *ROOT.glob("clients/js/src/**/*.ts"),
]
"""Files whose every word is read: pages, notebooks, catalogues, and the JavaScript that readers can open."""

SOURCES = [*ROOT.glob("src/pldp/**/*.py"), *ROOT.glob("benchmarks/*.py"), *ROOT.glob("docs/**/*.py")]


STARTS = [phrase.replace(r"\b", "").partition("(")[0] for phrase in PHRASES]
"""The phrases as plain text, as far as they are that: quickly looked for."""


def found(text: str) -> Iterator[str]:
    """Yield the phrases of a text, with what stands around them; line breaks count as spaces."""
    flat = " ".join(text.split())
    if not any(start in flat.lower() for start in STARTS):
        return
    for phrase, better in PHRASES.items():
        for place in re.finditer(phrase, flat, re.IGNORECASE):
            yield f"…{flat[max(place.start() - 40, 0) : place.end() + 30]}… (write: {better})"


def words_of(source: str) -> str:
    """Docstrings, messages and help texts of a module, and its comments; nothing where no phrase can be."""
    joined = re.sub(r"""["']\n\s*[fr]?["']""", "", source)  # a text may go on in the next line
    if not list(found(joined)):
        return ""
    strings = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    comments = re.findall(r"#[: ].*", source)
    return " ¶ ".join([*(text for text in strings if isinstance(text, str)), *comments])


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("folder", ["pages", "sources"])
def test_no_phrase_of_the_list_is_left(folder: str) -> None:
    files = TEXTS if folder == "pages" else SOURCES
    assert len(files) > 60
    wrong = [
        f"{name_of(path)}: {phrase}"
        for path in files
        for text in [path.read_text(encoding="utf-8")]
        for phrase in found(text if folder == "pages" else words_of(text))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_lint_sees_every_phrase_also_over_a_line_break() -> None:
    samples = [
        "Whoever has the link",
        "when somebody\nwithdraws",
        "there must be at least one tally to merge, not\n  none",
        "question must be one of a, b; what came is not",
        "round must be the number of one, not 3",
        "`admin` may all that others may",
        "origins, between them spaces",
        "names with commas between them",
        "a file, by custom a signed one",
        "however often one looks",
        "it works today and so many days more",
        "The way of the data",
        "People, not dozens.",
        "The survey as it is is the best",
        "so that no report can be trusted to tell the truth",
        "who must say beforehand what the result will be worth",
        "how many people one forged report can count as",
        "What must hold",
        "It counts also if you do not send it",
        "otherwise one could draw again",
        "the file does not lie there",
        "it tells nothing of them",
    ]
    flat = re.sub(r"\s+", " ", " ¶ ".join(samples))
    unseen = [phrase for phrase in PHRASES if not re.search(phrase, flat, re.IGNORECASE)]
    assert not unseen
    assert all(list(found(sample)) for sample in samples)
    assert not list(found("Someone withdraws; anyone who has the link can; need at least one report."))


def test_messages_of_the_command_line_and_of_docstrings_are_searched() -> None:
    source = '"""Whoever reads."""\nraise UsageError(f"{name}: there must be at least one, not none")  # somebody\n'
    assert len(list(found(words_of(source)))) == 4
    assert list(found(words_of('fail("There must be at "\n    f"least one {name}")\n')))


def test_catalogues_are_searched_as_text() -> None:
    catalogues = [path for path in TEXTS if path.name == "en.json"]
    assert len(catalogues) > 1
    assert all(json.loads(path.read_text(encoding="utf-8")) for path in catalogues)
