"""Leaks that the first audit missed, and more: found at the stated number of people; sound devices are not refuted."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from helpers.claims import runs
from helpers.leaks import (
    COUNTED_ROUNDS,
    JAVASCRIPT_MISSED,
    JAVASCRIPT_OWN,
    MISSED,
    OWN,
    Leak,
    ScriptLeak,
    one_question,
)
from helpers.power import (
    IN_JAVASCRIPT,
    IN_PYTHON,
    PAGE,
    POWER,
    Power,
    Round,
    javascript_powers,
    look_at,
    look_at_script,
    measure,
    python_powers,
    read_rows,
    record,
    tamper,
)
from pldp.auditing import AuditSettings, JavaScript
from pldp.auditing.surveys import audit_survey

IN_SHORT = [
    "200 µs more when the truth is told",
    "parity of the bits of the id",
    "order of JSON keys",
    "a changed answer",
    "state kept in a file",
    "a copy of the state that was put back",
    "a second round that costs nothing",
    "noise that two questions share",
]
"""Played once in the short form: others are dear, or like one of these."""
SCRIPTS_IN_SHORT = ["a report that is sent twice"]


@pytest.mark.parametrize("name", IN_SHORT)
def test_a_leak_is_found(name: str) -> None:
    """Once, at the people per value at which it is found with a power of .95."""
    leak = IN_PYTHON[name]
    (played,) = measure(name, leak, partial(look_at, leak), 1).rounds
    assert played.found, played


@pytest.mark.parametrize(("device", "leaks"), [("Python", IN_PYTHON), ("JavaScript", IN_JAVASCRIPT)])
def test_every_leak_is_found_with_a_power_of_95_percent(
    device: str, leaks: dict[str, Leak | ScriptLeak], request: pytest.FixtureRequest
) -> None:
    """At the stated people per value, by a lower bound of 95 % confidence.

    The long form plays the rounds of all leaks, and writes the page; the short form reads it.
    """
    if runs(0, 1):
        client = request.getfixturevalue("client") if device == "JavaScript" else None
        for power in javascript_powers(client) if client else python_powers():
            print(power.row, f"load {os.getloadavg()[0]:.1f}", flush=True)  # noqa: T201 - pytest -s shows it
    shown = read_rows(device)
    assert {name: (row.people, row.rounds) for name, row in shown.items()} == {
        name: (leak.samples, leak.rounds) for name, leak in leaks.items()
    }
    assert {name: row for name, row in shown.items() if row.least < POWER} == {}


@pytest.mark.parametrize("name", IN_PYTHON if runs(0, 1) else [])
def test_the_same_device_without_the_leak_is_not_refuted(name: str) -> None:
    assert not [words for row in look_at(IN_PYTHON[name], planted=False) for words in row.refutations]


def test_the_nine_that_were_missed_and_twelve_of_our_own_are_planted_in_both_languages() -> None:
    assert len(MISSED) == 9
    assert set(JAVASCRIPT_MISSED) == set(MISSED)
    assert len(OWN) >= 12
    assert len(JAVASCRIPT_OWN) >= 12
    assert set(IN_PYTHON) > set(IN_SHORT)


def test_power_is_counted_or_computed_and_a_leak_that_is_found_by_half_is_not_enough() -> None:
    all_found = Power("", 1, (Round(found=True, margin=None),) * COUNTED_ROUNDS)
    assert all_found.least >= POWER > Power("", 1, all_found.rounds[1:]).counted
    clear = Power("", 1, tuple(Round(found=True, margin=3 + 0.3 * (-1) ** turn) for turn in range(12)))
    vague = Power("", 1, tuple(Round(found=turn % 2 == 0, margin=0.5 * (-1) ** turn) for turn in range(12)))
    assert clear.least >= 0.999
    assert vague.least < 0.5


def test_a_leak_that_is_played_again_takes_the_place_of_its_row(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    name = "order of JSON keys"
    before = {device: read_rows(device, page) for device in ("Python", "JavaScript")}
    record(Power(name, 7, (Round(found=True, margin=1.0), Round(found=False, margin=-1.0)) * 4), "JavaScript", page)
    after = {device: read_rows(device, page) for device in ("Python", "JavaScript")}
    assert after["Python"] == before["Python"]
    assert after["JavaScript"].pop(name)[:3] == (7, 4, 8)
    before["JavaScript"].pop(name)
    assert after["JavaScript"] == before["JavaScript"]


@pytest.mark.parametrize("name", SCRIPTS_IN_SHORT)
def test_a_leak_of_the_javascript_device_is_found(name: str, client: JavaScript, tmp_path: Path) -> None:
    leak = IN_JAVASCRIPT[name]
    (played,) = measure(
        name, leak, partial(look_at_script, leak, tamper(client, tmp_path / "js", leak.old, leak.new)), 1
    ).rounds
    assert played.found, played


def test_the_javascript_device_is_not_refuted(client: JavaScript) -> None:
    """With few people in the short form: all that is looked at is, and nothing is held against it."""
    settings = AuditSettings(javascript=client, only=("q", "one", "javascript"))
    (row,) = audit_survey(one_question(), 4 * runs(100, 2_000), settings, sequences=False)
    assert not row.refutations
    assert row.verdict == "exact"
    assert {bound.family for bound in row.bounds} == {"answer", "id", "parity", "bytes", "time", "together"}
