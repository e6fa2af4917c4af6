"""What can and cannot be concluded, in plain sentences, for every kind of result."""

from __future__ import annotations

from html import escape
from typing import Any

import pytest

from helpers import mappings
from pldp import show


def tie(label: Any, more: int | None = 3000) -> dict[str, Any]:
    return {"label": label, "difference": 0.01, "low": -0.02, "high": 0.04, "more": more}


def lead(label: Any, *ties: dict[str, Any], of: int = 6) -> dict[str, Any]:
    return {"lead": {"label": label, "tied": len(ties), "of": of, "ties": list(ties)}}


SAID = {
    "choice": (
        mappings.choice(**lead("car")),
        ['Between 28 % and 34 % answer "car", more than any other answer.'],
    ),
    "a tie": (
        mappings.choice(**lead("car", tie("bike"))),
        [
            'Between 28 % and 34 % answer "car"; "car" and "bike" cannot be told apart; '
            "about 3,000 more answers would tell."
        ],
    ),
    "one answer": (mappings.choice(**lead("car", tie("bike", 1))), ["about 1 more answer would tell"]),
    "several ties": (
        mappings.choice(**lead("car", tie("bike"), tie("walk"))),
        [
            'answer "car"; it cannot be told apart from "bike" and "walk"; '
            'about 3,000 more answers would tell it from "bike".'
        ],
    ),
    "no largest": (
        mappings.choice(**lead("car", *map(tie, ("a", "b", "c", "d", "e")))),
        ['answer "car", but no answer is surely the largest; about 3,000 more answers would tell it from "a".'],
    ),
    "hopeless": (
        mappings.choice(**lead("car", tie("bike", None))),
        ['"car" and "bike" cannot be told apart, not even with a hundred times as many answers.'],
    ),
    "choices": (mappings.choices(**lead("bread")), ['Between 57 % and 65 % tick "bread", more than any other box.']),
    "number": (
        mappings.number(bounds=[0, 200]),
        ["The mean is between 64.4 and 67.6 euros; the median is between 61 and 67 euros."],
    ),
    "at a bound": (
        mappings.number(bounds=[65, 200]),
        ["The mean is at most 67.6 euros; the median is at most"],
    ),
    "table": (
        mappings.two_way(**lead(["no", "car"])),
        ['Between 18 % and 25 % answer "no + car", more than any other pair.'],
    ),
    "change": (mappings.change(unnoticed=0.03), ["No change is sure: changes of up to 3.0 pp may go unnoticed."]),
    "a sure change": (
        mappings.change(sure=[mappings.row("car", 0.03, 0.01)]),
        ["Taking all", "together, car rose by between 1.0 and 5.0 pp."],
    ),
    "trend": (mappings.trend(), ["from round"]),
}


@pytest.mark.parametrize("case", SAID)
def test_every_kind_says_what_can_be_concluded(case: str) -> None:
    result, wanted = SAID[case]
    said = show.conclusions(result)
    assert all(text[0].isupper() and text.endswith(".") for text in said)
    assert all(words in " ".join(said) for words in wanted), said


@pytest.mark.parametrize("case", ["choice", "a tie", "number", "change"])
def test_card_and_string_show_them(case: str) -> None:
    result, _ = SAID[case]
    for text in show.conclusions(result):
        assert text in show.in_full(result)
        assert f'<p class="says">{escape(text)}</p>' in show.card(result)


def test_one_report_is_not_several() -> None:
    assert show.sentence(mappings.choice(reports=1)).endswith("from 1 report")
    assert show.heading(mappings.choice(reports=1)).startswith("mode: 1 report,")
    assert "1 report answers both; 95 % intervals" in show.card(mappings.two_way(reports=1))
    assert "1,000 reports answer both; 95 % intervals" in show.card(mappings.two_way())


def few(result: dict[str, Any], *places: int) -> dict[str, Any]:
    rows = [{**row, "too_few": 800} if place in places else row for place, row in enumerate(result["rows"])]
    return {**result, "rows": rows}


def test_rows_that_say_nothing_have_no_number_in_tables_and_pictures() -> None:
    result = few(mappings.choice(**lead("car")), 0, 1)
    kind = show.BY_KIND["choice"]
    (table,) = kind.tables(kind.shown(result))
    assert table.rows[0] == ("walk", "too few to say", "about 800 are needed", "–", "–")
    assert table.rows[2][1] == "31.3 %"
    assert show.card(result).count("too few to say") == 4  # in the picture and in the table
    assert "too few to say about bike and walk, about 800 are needed" in show.sentence(result)
    assert show.conclusions(few(result, *range(6))) == ["Too few answers to say anything; about 800 are needed."]
    assert show.conclusions(few(result, 2)) == [
        "Too few answers to say which answer is the largest; about 800 are needed."
    ]


@pytest.mark.parametrize("kind", show.BY_KIND)
def test_every_kind_can_be_too_few_as_a_whole(kind: str) -> None:
    result = few(mappings.EVERY_KIND[kind](), *range(1000))
    assert "too few to say" in show.card(result)
    assert show.tables(result)
