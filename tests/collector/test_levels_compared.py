"""Levels compared: every kind of question, in whole steps, and only where reports show the level."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.collector.client import call
from pldp import change, estimate, tally
from pldp.collector import Collector, Settings, Store, Tokens
from pldp.collector.answers import overview, quick
from pldp.collector.groups import by_level
from pldp.errors import EstimateError
from pldp.plain import plain
from pldp.reports.columns import from_batch
from pldp.show import board, by_level_part
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import Tally

KINDS = """
pldp = 1
title = "Gardens"
levels = { shy = 0.7, frank = 3, open = 4 }
{more}
questions = [
    { name = "plant", text = "What grows?", values = ["<oak>", "fern", "moss"] },
    { name = "tools", kind = "choices", values = ["rake", "saw", "hose"] },
    { name = "hours", kind = "number", low = 0, high = 40, unit = "hours"{buckets} },
]
"""
KINDS = KINDS.replace("{buckets}", "" if os.environ.get("PLDP_LONG") else ", buckets = 16")
GARDENS = loads(KINDS.replace("{more}", ""))
NAMES = [question.name for question in GARDENS.questions]


def reports_of(survey: Survey, people: int, mix: Any, seed: int = 1) -> list[Any]:
    crowd = Population.of_shares(survey, people, level_mix=mix, seed=seed)
    return [each for batch in simulate_reports(survey, crowd, seed=seed) for each in from_batch(survey, batch)]


@pytest.fixture(scope="module")
def reports() -> list[Any]:
    return reports_of(GARDENS, 400, {"shy": 1, "frank": 1, "open": 0})


@pytest.fixture(scope="module")
def counted(reports: list[Any]) -> Tally:
    return tally(GARDENS, reports)


@pytest.mark.parametrize("name", NAMES)
def test_a_difference_of_levels_is_that_of_their_own_reports(counted: Tally, reports: list[Any], name: str) -> None:
    found = by_level(counted, name, 1)
    assert list(found["levels"]) == ["shy", "frank"]
    assert found["missing"] == {"open": "no reports"}
    options = quick(GARDENS.question(name))
    parts = [
        tally(
            GARDENS, [each for each in reports if (name, level) in {(own.question, own.level) for own in each.answers}]
        )
        for level in ("frank", "shy")
    ]
    own = [estimate(part, name, confidence=0.95, **options) for part in parts]
    (difference,) = found["differences"]
    assert plain(difference) == plain(change(*own, groups=("frank", "shy")).to_mapping())


@pytest.mark.parametrize("name", NAMES)
def test_the_part_of_a_card_says_it_in_words_and_escapes_labels(counted: Tally, name: str) -> None:
    markup = by_level_part(plain(by_level(counted, name, 1)))
    assert markup.startswith('<div class="groups">')
    assert "<h3>frank minus shy</h3>" in markup
    assert "Do frank and shy differ?" in markup
    assert "People chose their levels, so a difference can be due to who chose which." in markup
    assert "open: no reports." in markup
    assert "<oak>" not in markup


def test_hidden_levels_and_single_levels_are_refused_with_the_reason(counted: Tally) -> None:
    hidden = loads(KINDS.replace("{more}", "hide_level = { epsilon = 2 }"))
    with pytest.raises(EstimateError, match="hide the level, so people of different levels cannot be compared"):
        by_level(Tally.empty(hidden), "plant", 1)
    alone = tally(GARDENS, reports_of(GARDENS, 60, {"shy": 1, "frank": 0, "open": 0}))
    with pytest.raises(EstimateError, match=r"two levels with results are needed.*frank: no reports; open: no reports"):
        by_level(alone, "plant", 1)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[tuple[Collector, Store, str]]:
    store = Store(GARDENS, tmp_path / "reports.db", step=50)
    tokens = Tokens(tmp_path / "reports.db")
    yield Collector(GARDENS, store, tokens, Settings(rate_limit=0)), store, tokens.create("reader", "read")
    store.close()


def test_readers_get_levels_in_whole_steps_and_the_dashboard_offers_them(app: tuple[Collector, Store, str]) -> None:
    collector, store, token = app

    def add(seed: int, people: int, **mix: float) -> None:
        made = reports_of(GARDENS, people, {"shy": 0, "frank": 0, "open": 0, **mix}, seed)
        store.add([store.packing.pack(report) for report in made], {})

    add(1, 60, shy=1)
    early = call(collector, "GET", "/v1/groups/plant", token=token)
    assert (early.status, early.code) == (409, "no_estimate")
    assert "fewer than 50 reports" in early.json["detail"]
    add(2, 60, frank=1)
    first = call(collector, "GET", "/v1/groups/plant.json", token=token)
    assert list(first.json["levels"]) == ["shy", "frank"]
    assert [first.json["levels"][level]["reports"] for level in ("shy", "frank")] == [50, 50]
    add(3, 30, frank=1)  # no whole step
    assert call(collector, "GET", "/v1/groups/plant.json", token=token).body == first.body
    shown = call(collector, "GET", "/v1/groups/plant.html?round=1", token=token)
    assert "<h3>frank minus shy</h3>" in shown.body.decode()
    assert call(collector, "GET", "/v1/groups/plant.csv", token=token).code == "not_found"
    assert call(collector, "GET", "/v1/groups/plant").code == "bad_token"
    facts = {"scope": "read", "preview": False, "damaged": 0, "few": []}
    content = plain(overview(store.shown(None), 1, store.shown_rounds(), (), 50))
    assert 'data-more="groups/plant.html?round=1"' in board({**content, **facts})
