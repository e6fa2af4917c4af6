"""Results are data: small, without reports and solvers inside, and what is shown of them only reads."""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from pldp import Survey, estimate, tally
from pldp.estimates import Results
from pldp.estimates.likelihood import log_density, misfit, solver
from pldp.estimates.linear import pooling
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads

LARGEST = 87_000
"""Bytes of a pickled result of a number: half of what it was when it held the reports."""

SURVEY = """pldp = 1
title = "t"
{hidden}
[levels]
strict = 1
open = 3

[[questions]]
name = "mode"
values = ["car", "bus", "bike"]

[[questions]]
name = "basket"
kind = "choices"
values = ["bread", "milk", "eggs"]

[[questions]]
name = "spent"
kind = "number"
low = 0
high = 300
"""

SOLVERS = {
    solver: ("em", "fit_labels", "fit_tuples", "maximise"),
    pooling: ("decode",),
    log_density.LogDensity: ("climb",),
    misfit.Misfit: ("__init__", "profile", "_minimise"),
}
"""Where every fit begins."""


@cache
def results(hidden: str) -> Results:
    survey = Survey.load("examples/shopping.toml") if hidden == "example" else loads(SURVEY.format(hidden=hidden))
    people = Population.of_shares(survey, 4000, seed=1)
    pair = ("reason", "spent") if hidden == "example" else ("mode", "spent")
    return estimate(tally(survey, simulate_reports(survey, people, seed=1), pairs=[pair]))


CASES = ("example", "", "hide_level = { epsilon = 1 }")


def inside(result: object) -> Iterator[str]:
    """Yield the names of all classes and functions that a pickled result names."""
    texts: list[str] = []
    for code, argument, _ in pickletools.genops(pickle.dumps(result)):
        if code.name in {"SHORT_BINUNICODE", "BINUNICODE"}:
            texts.append(str(argument))
        if code.name == "STACK_GLOBAL":
            yield from (text for text in texts[-40:] if text.startswith("pldp."))


@pytest.mark.parametrize("hidden", CASES)
def test_a_number_is_pickled_in_half_of_what_it_took_with_its_reports(hidden: str) -> None:
    found = results(hidden)["spent"]
    assert len(pickle.dumps(found)) <= LARGEST
    found.to_mapping(0.9)
    str(found)
    assert len(pickle.dumps(found)) <= LARGEST, "what is looked at does not stay"


@pytest.mark.parametrize("hidden", CASES)
def test_results_hold_no_tally_channel_or_solver(hidden: str) -> None:
    every = results(hidden)
    for result in (*every.values(), *every.tables):
        names = set(inside(result))
        assert not [name for name in names if name.startswith(("pldp.tallies", "pldp.mechanisms", "pldp.survey"))]
        assert not [
            name
            for name in names
            if name.split(".")[-1] in {"misfit", "hidden", "tuples", "evidence", "pooling", "groups"}
        ]


def test_the_reports_in_a_pickle_would_be_seen() -> None:
    survey = Survey.load("examples/shopping.toml")
    counted = tally(survey, simulate_reports(survey, Population.of_shares(survey, 100, seed=1), seed=1))
    assert any(name.startswith("pldp.tallies") for name in inside(counted))


@pytest.mark.parametrize("hidden", CASES)
def test_what_is_shown_of_a_result_calls_no_solver(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every = results(hidden)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a solver is called")

    for home, names in SOLVERS.items():
        for name in names:
            monkeypatch.setattr(home, name, refuse)
    for result in (*every.values(), *every.tables):
        for confidence in (None, 0.9, 0.999):
            assert result.to_mapping(confidence)["rows"]
        assert str(result)
        assert result._repr_html_()
        assert not result.to_frame(library="pandas").empty
        assert result.plot() is not None
    spent: Any = every["spent"]
    assert spent.range(10, 90).low <= spent.range(10, 90).high
    assert spent.quantile(0.4)[1] < spent.quantile(0.4)[2]


def test_a_solver_that_is_called_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a solver is called")

    monkeypatch.setattr(misfit.Misfit, "__init__", refuse)
    survey = Survey.load("examples/shopping.toml")
    counted = tally(survey, simulate_reports(survey, Population.of_shares(survey, 500, seed=1), seed=1))
    with pytest.raises(AssertionError, match="a solver is called"):
        estimate(counted, "spent")
