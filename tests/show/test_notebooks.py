"""What notebooks show: everything that a person may evaluate in a cell, in one style."""

from __future__ import annotations

from typing import Any

import pytest

from pldp import Survey, audit, estimate, plan, tally
from pldp.simulate import Population, simulate_reports

SHOWN = {
    "tally": ("20 reports counted, 0 rejected.", "standard"),
    "results": ("20 reports counted, 0 rejected.", "How do you usually get to work?"),
    "result": ("How do you usually get to work?", "on foot", 'class="dots"'),
    "table": ("late and mode together",),
    "survey": ("How people get to work", "mode"),
    "plan": ("mode", "20"),
    "audit": ("promises refuted", "krr"),
}


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    survey = Survey.load("examples/commute.toml")
    people = Population.of_shares(survey, 20, seed=1)
    counted = tally(survey, simulate_reports(survey, people, seed=1), pairs=[("late", "mode")])
    results = estimate(counted)
    return {
        "tally": counted,
        "results": results,
        "result": results["mode"],
        "table": results.tables[0],
        "survey": survey,
        "plan": plan(survey, 20),
        "audit": audit(survey, samples=0),
    }


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_show_it_in_the_common_style(shown: dict[str, Any], name: str) -> None:
    markup = shown[name]._repr_html_()
    assert markup.startswith('<div class="pldp"><style>')
    assert all(words in markup for words in SHOWN[name])
    assert "<script" not in markup


def test_a_result_in_words_is_a_sentence(shown: dict[str, Any]) -> None:
    assert str(shown["result"]).startswith("mode: ")
    assert "; 95 % intervals, from 20 reports. " in str(shown["result"])
