"""A collector that is told known shares shows what is corrected to them beside what was answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from pldp import Survey, Tally, tally
from pldp import estimate as estimate_result
from pldp.collector import Settings, serve
from pldp.collector.answers import Reading, estimate, overview
from pldp.errors import EstimateError, UsageError
from pldp.simulate import Population, simulate_reports

SURVEY = Survey.load("examples/commute.toml")
KNOWN = {"late": {"yes": 0.2, "no": 0.8}}


def counted(people: int) -> Tally:
    population = Population.of_shares(SURVEY, people, seed=1)
    return tally(SURVEY, simulate_reports(SURVEY, population, seed=1), pairs=[("mode", "late")])


def test_an_overview_and_an_estimate_show_what_is_corrected() -> None:
    own = counted(8000)
    expected = estimate_result(own, "mode", known=KNOWN).to_mapping()["rows"]
    mode, late = overview(own, 1, [], [], 50, reading=Reading(KNOWN))["questions"]
    assert mode["corrected"]["rows"] == expected
    assert mode["rows"] == estimate_result(own, "mode").to_mapping()["rows"]
    assert "corrected" not in late
    assert estimate(own, "mode", 50, Reading(KNOWN))["corrected"]["rows"] == expected
    assert "corrected" not in estimate(own, "late", 50, Reading(KNOWN))
    assert "corrected" not in estimate(own, "mode", 50)


def test_too_few_reports_to_correct_are_said_to_be_so() -> None:
    (mode, _) = overview(counted(60), 1, [], [], 1, reading=Reading(KNOWN))["questions"]
    assert "too few answers from ‘yes’ and ‘no’" in mode["corrected"]["missing"]


def test_settings_name_a_question_of_a_pair_and_all_its_labels(tmp_path: Path) -> None:
    told = Settings(pairs="mode+late", known="late:yes=0.2,no=0.8", database=str(tmp_path / "reports.db"))
    assert told.known_shares() == KNOWN
    assert Settings().known_shares() is None
    with pytest.raises(UsageError, match=r"question 'late' must be in pairs .* as mode\+late"):
        Settings(known="late:yes=0.2,no=0.8").known_shares()
    with pytest.raises(UsageError, match="known must look like late:yes"):
        Settings(pairs="mode+late", known="yes=0.2").known_shares()
    wrong = Settings(pairs="mode+late", known="late:yes=1.0", database=str(tmp_path / "reports.db"))
    with pytest.raises(EstimateError, match="every label needs its known share"):
        serve("examples/commute.toml", wrong, lambda _: None)
    assert not (tmp_path / "reports.db").exists(), "it is refused before anything is stored"
