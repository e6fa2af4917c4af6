"""Leaks that the first audit missed, and more: found at the stated number of people; sound devices are not refuted."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from helpers.claims import runs
from helpers.leaks import JAVASCRIPT_MISSED, JAVASCRIPT_OWN, MISSED, OWN, one_question
from helpers.power import (
    IN_JAVASCRIPT,
    IN_PYTHON,
    POWER,
    ROUNDS,
    Power,
    Round,
    look_at,
    look_at_script,
    measure,
    tamper,
)
from pldp.auditing import AuditSettings, JavaScript
from pldp.auditing.surveys import audit_survey

MUST_HAVE_NODE = bool(os.environ.get("CI") or os.environ.get("PLDP_CI"))
ALIKE = {
    "a full leak in 1 % of reports",
    "a changed level",
    "a full leak in 1 %, far from its mark",
    "30 ms more in 5 % of one answer",
    "1 ms more when the truth is told",
    "a number written in another way",
    "a key that comes twice",
    "capital letters",
    "an answer that changes back",
    "another level in one round",
}
"""Dear, or like others: in the long form only."""
IN_SHORT = [name for name in IN_PYTHON if runs(0, 1) or name not in ALIKE]
SCRIPTS_IN_SHORT = ["order of JSON keys", "a report that is sent twice"]


def shows(power: Power) -> bool:
    """Tell whether the rounds show the power; the short form has one, which must find the leak."""
    return power.found == 1 if len(power.rounds) == 1 else power.least >= POWER


@pytest.mark.parametrize("name", IN_SHORT)
def test_a_leak_is_found(name: str) -> None:
    """Once in the short form; in the long form often enough to show a power of .95."""
    leak = IN_PYTHON[name]
    power = measure(name, leak, partial(look_at, leak), runs(1, ROUNDS))
    print(power.row)  # noqa: T201 - the table of the long form: pytest -s shows it
    assert shows(power), power.row


@pytest.mark.parametrize("name", IN_PYTHON if runs(0, 1) else [])
def test_the_same_device_without_the_leak_is_not_refuted(name: str) -> None:
    assert not [words for row in look_at(IN_PYTHON[name], planted=False) for words in row.refutations]


def test_the_nine_that_were_missed_and_twelve_of_our_own_are_planted_in_both_languages() -> None:
    assert len(MISSED) == 9
    assert set(JAVASCRIPT_MISSED) == set(MISSED)
    assert len(OWN) >= 12
    assert len(JAVASCRIPT_OWN) >= 12
    assert set(IN_PYTHON) > ALIKE


def test_power_is_counted_or_computed_and_a_leak_that_is_found_by_half_is_not_enough() -> None:
    all_found = Power("", 1, (Round(found=True, margin=None),) * ROUNDS)
    assert all_found.least >= POWER > Power("", 1, all_found.rounds[1:]).counted
    clear = Power("", 1, tuple(Round(found=True, margin=3 + 0.3 * (-1) ** turn) for turn in range(12)))
    vague = Power("", 1, tuple(Round(found=turn % 2 == 0, margin=0.5 * (-1) ** turn) for turn in range(12)))
    assert clear.least >= 0.999
    assert vague.least < 0.5
    assert not shows(vague)


@pytest.fixture
def client() -> JavaScript:
    found = JavaScript.find()
    if found is None:
        pytest.fail("Node is missing") if MUST_HAVE_NODE else pytest.skip("there is no Node here")
    return found


@pytest.mark.parametrize("name", IN_JAVASCRIPT if runs(0, 1) else SCRIPTS_IN_SHORT)
def test_a_leak_of_the_javascript_device_is_found(name: str, client: JavaScript, tmp_path: Path) -> None:
    leak = IN_JAVASCRIPT[name]
    look = partial(look_at_script, leak, tamper(client, tmp_path / "js", leak))
    power = measure(f"JavaScript: {name}", leak, look, runs(1, ROUNDS))
    print(power.row)  # noqa: T201
    assert shows(power), power.row


def test_the_javascript_device_is_not_refuted(client: JavaScript) -> None:
    settings = AuditSettings(javascript=client, only=("q", "one", "javascript"))
    (row,) = audit_survey(one_question(), 4 * runs(300, 2_000), settings, sequences=False)
    assert not row.refutations
    assert row.verdict == "exact"
    assert {bound.family for bound in row.bounds} == {"answer", "id", "parity", "bytes", "time", "together"}
