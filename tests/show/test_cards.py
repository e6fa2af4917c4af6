"""Pages and cards: every kind is shown, every text is escaped, and nothing comes from elsewhere."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from typing import Any

import pytest

from helpers import mappings
from pldp import show


class Reader(HTMLParser):
    """Collects tags, and fails on a page whose elements are not closed in order."""

    EMPTY = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.labels: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.labels += [value for name, value in attrs if name == "aria-label"]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    assert not reader.open
    return reader


def test_a_page_shows_every_question_every_table_and_what_is_missing() -> None:
    results = mappings.results()
    page = show.results_page(results)
    assert read(page).tags.count("section") == 5
    for words in (
        "How do you get to work?",
        "basket",
        "spent",
        "late and mode together",
        "<h2>late</h2><p>No reports answer it.</p>",
    ):
        assert words in page
    assert "How people get to work &amp; shop" in page
    assert "1,000 reports counted, 3 rejected." in page


def test_a_page_needs_nothing_but_itself() -> None:
    page = show.results_page(mappings.results())
    assert not {"script", "link", "img", "iframe"} & set(read(page).tags)
    assert not re.search(r"(src|href)=|url\(|@import", page)
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "prefers-color-scheme:dark" in page


@pytest.mark.parametrize("kind", mappings.EVERY_KIND)
def test_a_card_says_notes_before_numbers_and_what_stands_behind_them(kind: str) -> None:
    card = show.card(mappings.EVERY_KIND[kind](notes=[mappings.WARNING]))
    read(card)
    order = [
        card.index(words) for words in ('class="warning"', "<figure>", "Do people of different levels", "Assumptions")
    ]
    assert order == sorted(order)
    assert "Devices are honest." in card
    assert "One forged report can" in card


@pytest.mark.parametrize("kind", sorted(set(mappings.EVERY_KIND) - {"table"}))
def test_a_picture_has_a_description_for_people_who_cannot_see_it(kind: str) -> None:
    picture = show.BY_KIND[kind].picture(mappings.EVERY_KIND[kind]())
    assert re.search(r'<svg role="img" aria-label="[^"]{20,}"|<table class="dots" role="table"><caption', picture)
    hidden = re.findall(r'<svg(?: class="axis")? aria-hidden="true"', picture)
    assert len(hidden) + picture.count('<svg role="img"') + picture.count("<svg width=") == picture.count("<svg")
    read(picture)


HOSTILE = '<img src=x onerror="1">&'


@pytest.mark.parametrize("kind", mappings.EVERY_KIND)
def test_labels_notes_and_titles_are_text(kind: str) -> None:
    result = mappings.EVERY_KIND[kind](
        name=HOSTILE, text=HOSTILE, notes=[{**mappings.WARNING, "text": HOSTILE}], assumptions=[HOSTILE], method=HOSTILE
    )
    for row in result["rows"]:
        row["label"] = [row["label"][0], HOSTILE + row["label"][1]] if kind == "table" else HOSTILE + row["label"]
    if kind == "table":
        result["questions"] = [HOSTILE, HOSTILE]
    for each in result.get("rounds", ()):
        each["name"] += HOSTILE
    assert "img" not in read(show.card(result)).tags


def test_captions_names_and_notes_of_tables_are_text() -> None:
    markup = show.panel(HOSTILE, HOSTILE, show.Table(HOSTILE, (HOSTILE,) * 2, [(HOSTILE,) * 2], note=HOSTILE))
    reader = read(markup)
    assert "img" not in reader.tags
    assert reader.labels == [HOSTILE]
    assert f"<caption>{escape(HOSTILE)}</caption>" in markup


def test_captions_of_pictures_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(show.BY_KIND["choice"]), "legend_of", lambda *_: HOSTILE)
    card = show.card(mappings.choice())
    assert "img" not in read(card).tags
    assert f"<figcaption>{escape(HOSTILE)}</figcaption>" in card


@pytest.mark.parametrize("kind", mappings.EVERY_KIND)
def test_results_without_standard_errors_are_shown_without_intervals(kind: str) -> None:
    result = mappings.EVERY_KIND[kind]()
    for row in result["rows"]:
        row |= {"standard_error": None, "low": None, "high": None}
    if "density" in result:
        result["density"] |= {"low": [None] * 64, "high": [None] * 64}
    card = show.card(result)
    read(card)
    assert "nan" not in card.lower()
    assert "interval" not in show.sentence(result)


def test_a_card_names_its_question_and_says_its_text() -> None:
    card = show.card(mappings.choice())
    assert "<h2>How do you get to work?</h2>" in card
    assert "<code>mode</code>" in card
    assert "<h2>basket</h2>" in show.card(mappings.choices())


def test_numbers_that_a_collector_hides_say_so() -> None:
    groups = [{"level": "open", "mechanism": "krr", "epsilon": 1.0, "reports": None}]
    assert '<td class="number">fewer than a step</td>' in show.card(mappings.choice(groups=groups))


def test_the_truth_is_a_column_and_a_mark_where_it_is_known() -> None:
    result = mappings.choice()
    assert "truth" not in show.card(result)
    for row in result["rows"]:
        row["true"] = 0.25
    card = show.card(result)
    assert card.count('class="truth"') == len(mappings.MODES)
    assert "25.0 %" in card


def test_what_holds_if_levels_are_alike_is_said_second_and_drawn_inside() -> None:
    result = mappings.results()["questions"][0]
    first, second = show.conclusions({**result, "lead": {"label": "car", "tied": 0, "of": 6, "ties": []}})
    assert first.startswith('Between 28 % and 34 % answer "car"')
    assert second == (
        "If people chose their level regardless of their answer: between 32 % and 35 %; the reports could not show a "
        "dependence that shifts this by 4 points."
    )
    card = show.card(result)
    assert card.count('class="alike"') == len(result["rows"])
    assert "if people chose their level regardless of their answer" in card
    assert 'class="alike"' not in show.card(mappings.choice())


def test_what_the_reports_contradict_or_what_is_hardly_sharper_is_not_said() -> None:
    result = mappings.results()["questions"][0]
    unsaid = {**result, "alike": {**result["alike"], "said": False}}
    assert not any("regardless" in text for text in show.conclusions(unsaid))
    assert 'class="alike"' not in show.card(unsaid)


def test_only_the_largest_of_many_values_are_shown_and_that_is_said() -> None:
    result = mappings.result(
        "q", "choice", [mappings.row(f"value {number}", number / 1e5, 0.001) for number in range(300)]
    )
    card = show.card(result)
    assert "The 100 largest of 300." in card
    assert "The 60 largest of 300." in card
    assert "value 299" in card
    assert "value 5<" not in card


def test_the_page_for_everybody_looks_again_by_itself_while_reports_are_counted() -> None:
    counting = show.public_page({"counted": 3, "reports": 10}, (), "")
    assert '<meta http-equiv="refresh" content="5">' in counting
    assert "Counting: 3 of 10 reports" in counting
