"""The words of the survey page: one catalogue per language, all with the same keys, and no words beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pldp.collector.notices import NOTICES

PAGES = Path("src/pldp/collector/pages")
WORDS = "".join(Path(f"clients/js/src/{name}.js").read_text(encoding="utf-8") for name in ("words", "hidden_words"))
FOLDER = PAGES / "languages"
CATALOGUES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
DEVICE = dict(re.findall(r'^\t"([^"]+)": ["\'](.+)["\'],$', WORDS, re.MULTILINE))
ENGLISH = {**CATALOGUES["en"], **{f"device.{key}": text for key, text in DEVICE.items()}}
NAMES = {"muted small", "code receipt", "pldp receipts", "pldp queue", "pldp invitation"}
"""Texts of several words that nobody reads: classes and names of stores."""

NAMED = re.compile(r"(?<![\w.])t\(\"([^\"]+)\"|data-(?:text|label)=\"([^\"]+)\"")
FAMILIES = re.compile(r"(?<![\w.])t\(`([a-z]+)\.\$\{")


def modules() -> Iterator[tuple[str, str]]:
    """The modules of the survey page without their comments, and its markup."""
    waiting, found = ["survey.js"], set()
    while waiting:
        name = waiting.pop()
        if name in found or name.startswith("device/"):
            continue
        found.add(name)
        text = (PAGES / name).read_text(encoding="utf-8")
        text = re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", "", text, flags=re.DOTALL)
        yield name, text
        folder = Path(name).parent
        waiting += [(folder / path).as_posix() for path in re.findall(r'(?:from |import\()"\./([^"]+)"', text)]
        waiting += [(folder.parent / path).as_posix() for path in re.findall(r'from "\.\./([^"]+)"', text)]
    for page in ("survey.html", "notice.html"):
        yield page, (PAGES / page).read_text(encoding="utf-8")


def test_the_device_has_its_words_in_its_tables() -> None:
    assert len(DEVICE) > 40
    assert len(re.findall(r'^\t"', WORDS, re.MULTILINE)) == len(DEVICE)


@pytest.mark.parametrize("language", sorted(CATALOGUES))
def test_every_catalogue_has_every_key_with_the_same_values(language: str) -> None:
    """English has the words of the device beside the device."""
    texts = ENGLISH if language == "en" else CATALOGUES[language]
    assert texts.keys() == ENGLISH.keys()
    for key, text in texts.items():
        assert text.strip(), key
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", ENGLISH[key])), key


def test_the_page_knows_its_catalogues() -> None:
    (named,) = re.findall(r"const CATALOGUES = (\[.+\]);", (PAGES / "words.js").read_text(encoding="utf-8"))
    assert set(json.loads(named)) == CATALOGUES.keys()


def test_german_is_no_copy() -> None:
    same = {key for key, text in CATALOGUES["de"].items() if text == ENGLISH[key]}
    values_only = {key for key in same if not re.search(r"[^\W\d_]{3,}", re.sub(r"\{\w+\}", "", ENGLISH[key]))}
    assert same == values_only


def test_every_key_that_the_page_names_is_in_the_catalogue_and_no_other_is() -> None:
    whole = "".join(text for _, text in modules())
    named = {key for found in NAMED.findall(whole) for key in found if key}
    families = {*FAMILIES.findall(whole), *NOTICES.values()}  # a notice has the same parts in every family
    known = {re.sub(r"\.(one|other)$", "", key) for key in CATALOGUES["en"]}
    assert len(named) > 100
    assert not named - known
    assert families <= {key.split(".")[0] for key in known}
    assert not {key for key in known if f'"{key}"' not in whole and key.split(".")[0] not in families}


def english_in(text: str) -> set[str]:
    """Texts of several words among the strings of a module, apart from keys."""
    literals = re.findall(r'"([^"\n]*)"|`([^`]*)`', text)
    found = {re.sub(r"\$\{[^}]*\}", "", one or two) for one, two in literals}
    known = {*CATALOGUES["en"], *(re.sub(r"\.(one|other)$", "", key) for key in CATALOGUES["en"])}
    several = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,}")
    return {each for each in found if several.search(each) and each not in known | NAMES}


def test_no_words_are_left_in_the_modules_of_the_page() -> None:
    found = {name: english_in(text) for name, text in modules() if name.endswith(".js")}
    assert len(found) > 15
    assert not {name: texts for name, texts in found.items() if texts}


def test_no_words_are_left_in_the_markup_but_those_without_scripts() -> None:
    for page, left in (("survey.html", {"…", "ε"}), ("notice.html", set())):
        body = re.sub(r"<noscript>.*?</noscript>|<!--.*?-->", "", dict(modules())[page], flags=re.DOTALL)
        assert {text.strip() for text in re.findall(r">([^<>]+)<", body)} - {""} == left


def test_the_search_finds_english() -> None:
    assert english_in('say("The report is lost", "report.cost", "muted small")') == {"The report is lost"}
    assert english_in("say(`It costs ${price} now and then`)") == {"It costs  now and then"}
