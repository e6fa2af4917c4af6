"""Leaks that the first audit missed, and more: found at the stated number of people; sound devices are not refuted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, runs
from helpers.leaks import JAVASCRIPT, MISSED, OWN, Leak, one_question
from pldp import Device
from pldp.auditing import AuditSettings, JavaScript, Row
from pldp.auditing.surveys import audit_survey

MUST_HAVE_NODE = bool(os.environ.get("CI") or os.environ.get("PLDP_CI"))
ALL = MISSED | OWN
POWER = 0.95
ALIKE = {
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
IN_SHORT = [name for name in ALL if runs(0, 1) or name not in ALIKE]


def look(leak: Leak, *, planted: bool = True) -> list[Row]:
    settings = AuditSettings(device=leak.device if planted else Device, timed=leak.timed, only=leak.only)
    return list(audit_survey(leak.survey, leak.samples, settings, sequences=leak.sequences))


def found(leak: Leak) -> bool:
    """Tell whether what is meant to find the leak does: an event of the samples, or the rule of asking again."""
    rows = look(leak)
    if leak.by_rule:
        return any(row.refuted for row in rows)
    return any(bound.refutes for row in rows for bound in row.bounds)


@pytest.mark.parametrize("name", IN_SHORT)
def test_a_leak_is_found(name: str) -> None:
    """Once in the short form; in the long form often enough to show a power of .95."""
    leak, repeats = ALL[name], runs(1, 30)
    times = sum(found(leak) for _ in range(repeats))
    assert stats.binom.cdf(times, repeats, POWER) > FALSE_ALARM, f"{times} of {repeats}"


@pytest.mark.parametrize("name", ALL if runs(0, 1) else [])
def test_the_same_device_without_the_leak_is_not_refuted(name: str) -> None:
    assert not [words for row in look(ALL[name], planted=False) for words in row.refutations]


def test_there_are_the_nine_that_were_missed_and_twelve_of_our_own() -> None:
    assert len(MISSED) == 9
    assert len(OWN) >= 12
    assert set(ALL) > ALIKE
    assert len(JAVASCRIPT) >= 6


@pytest.fixture
def tampered(tmp_path: Path) -> Callable[[str, str], JavaScript]:
    client = JavaScript.find()
    if client is None:
        pytest.fail("Node is missing") if MUST_HAVE_NODE else pytest.skip("there is no Node here")

    def make(old: str, new: str) -> JavaScript:
        shutil.copytree(client.folder, tmp_path / "js", ignore=shutil.ignore_patterns("test"))
        script = tmp_path / "js" / "vectors" / "audit.js"
        text = script.read_text(encoding="utf-8")
        assert old in text
        script.write_text(text.replace(old, new), encoding="utf-8")
        return JavaScript(client.node, tmp_path / "js")

    return make


@pytest.mark.parametrize("name", list(JAVASCRIPT)[: runs(2, len(JAVASCRIPT))])
def test_a_leak_of_the_javascript_device_is_found(name: str, tampered: Callable[[str, str], JavaScript]) -> None:
    old, new, samples, timed = JAVASCRIPT[name]
    settings = AuditSettings(javascript=tampered(old, new), timed=timed, only=("q", "one", "javascript"))
    (row,) = audit_survey(one_question(), 4 * samples, settings, sequences=False)
    assert any(bound.refutes for bound in row.bounds) or row.refutations, name


def test_the_javascript_device_is_not_refuted(tampered: Callable[[str, str], JavaScript]) -> None:
    settings = AuditSettings(javascript=tampered("observe", "observe"), only=("q", "one", "javascript"))
    (row,) = audit_survey(one_question(), 4 * runs(300, 2_000), settings, sequences=False)
    assert not row.refutations
    assert row.verdict == "not refuted"
    assert {bound.family for bound in row.bounds} == {"answer", "id", "parity", "bytes", "time", "together"}
