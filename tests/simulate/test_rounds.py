"""The same people over rounds: each rule draws as devices would, and permanent outputs stay with a person."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.claims import follows, mean_is, rate_is
from pldp import Survey, tally
from pldp.cli import main
from pldp.errors import SimulationError
from pldp.mechanisms import Stages, build_stages
from pldp.mechanisms.arrays import arrays
from pldp.simulate import Population, perturb, simulate_rounds

PEOPLE = 200_000
CASES = [("krr", 5, "labels"), ("lh", 5, "labels"), ("sr", 8, "numbers"), ("item_set", 3, "sets")]
PANEL = Survey.load("examples/panel.toml")


def stages_of(mechanism: str, size: int, domain: Any, micro: int = 900_000) -> Stages:
    return build_stages(mechanism, size, micro, domain=domain)


def values_of(stages: Stages, value: int, people: int = PEOPLE) -> np.ndarray:
    return np.full((people, 1), value, np.uint8) if stages.channel.domain == "sets" else np.full(people, value)


def counts(stages: Stages, outputs: np.ndarray) -> np.ndarray:
    return np.bincount(outputs.ravel(), minlength=len(list(stages.channel.outputs())))


def report(stages: Stages, value: int, *, seed: int = 1, people: int = PEOPLE) -> np.ndarray:
    form = arrays(stages)
    settled = form.settle(values_of(stages, value, people), seed)
    return perturb([stages], settled, np.random.default_rng([seed, 9]))


@pytest.mark.parametrize("value", [0, 2, 4])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_one_round_follows_the_channel_that_both_stages_make(case: tuple[str, int, str], value: int) -> None:
    """χ² with a false alarm of 10⁻⁶, for the permanent outputs and for the reports."""
    stages = stages_of(*case)
    settled = arrays(stages).settle(values_of(stages, value), value)
    for outputs, channel in ((settled, stages.permanent), (report(stages, value), stages.channel)):
        expected = [float(channel.probability(output, value)) for output in channel.outputs()]
        assert follows(counts(stages, outputs), expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_the_test_rejects_a_five_percent_weaker_channel(case: tuple[str, int, str]) -> None:
    """Of ten times the people, as in the twin for channels."""
    stages, weaker = (stages_of(*case, micro) for micro in (900_000, 855_000))
    expected = [float(stages.channel.probability(output, 0)) for output in stages.channel.outputs()]
    assert not follows(counts(stages, report(weaker, 0, people=10 * PEOPLE)), expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_permanent_output_stays_with_person_and_value(case: tuple[str, int, str]) -> None:
    """It comes back with the value, is that of nobody else, and of another value it is an independent draw."""
    stages = stages_of(*case)
    form, generator = arrays(stages), np.random.default_rng(3)
    one, two = values_of(stages, 1, 1000), values_of(stages, 2, 1000)
    settled = form.settle(one, 7)
    mixed = np.where((generator.random(len(one)) < 0.5).reshape(-1, *[1] * (one.ndim - 1)), one, two)
    same = (mixed == one).reshape(len(one), -1).all(axis=1)
    assert (form.settle(mixed, 7)[same] == settled[same]).all()
    assert (form.settle(one, 7) == settled).all()
    assert not (form.settle(one, 8) == settled).all()


def test_permanent_outputs_of_two_values_and_of_neighbours_are_independent() -> None:
    """χ² of pairs against the product of both channels, false alarm 10⁻⁶."""
    stages = stages_of("krr", 4, "labels")
    form = arrays(stages)
    first, second = (form.settle(values_of(stages, value), 11).astype(int) for value in (1, 2))
    law = np.array([[float(stages.permanent.probability(y, value)) for y in range(4)] for value in (1, 2)])
    assert follows(np.bincount(first * 4 + second, minlength=16), np.outer(law[0], law[1]).ravel())
    pairs = first[0::2] * 4 + first[1::2]
    assert follows(np.bincount(pairs, minlength=16), np.outer(law[0], law[0]).ravel())


def test_reports_of_a_person_agree_as_often_as_both_stages_say() -> None:
    """With one permanent output, two rounds agree more often than independent draws would: exact binomial, 10⁻⁶."""
    survey = Survey.read(one_question("tracked"))
    one, two = outputs(survey, change=0.0)[:2]
    stages = survey.questions[0].stages[0]
    permanent, instant = stages.permanent, stages.instant
    agree = sum(
        float(permanent.probability(b, 0)) * sum(float(instant.probability(y, b)) ** 2 for y in range(4))
        for b in range(4)
    )
    assert rate_is(one == two, agree)
    fresh = outputs(Survey.read(one_question("fresh")), change=0.0)
    assert rate_is(fresh[0] == fresh[1], sum(float(stages.channel.probability(y, 0)) ** 2 for y in range(4)))
    assert not rate_is(fresh[0] == fresh[1], agree)


def one_question(repeat: str, mechanism: str = "krr") -> dict[str, Any]:
    question = {"name": "q", "values": ["a", "b", "c", "d"], "mechanism": mechanism}
    return {"pldp": 1, "title": "t", "repeat": repeat, "levels": {"one": 1}, "questions": [question]}


def outputs(survey: Survey, *, change: float, people: int = PEOPLE, rounds: int = 2, seed: int = 0) -> list[np.ndarray]:
    population = Population.of_counts(survey, {"q": [people, 0, 0, 0]})
    found = simulate_rounds(survey, population, rounds, change=change, shares={"q": [0, 0, 0, 1]}, seed=seed)
    return [np.concatenate([batch["q.output"].to_numpy() for batch in each.batches]) for each in found]


def test_a_hash_function_stays_with_its_person() -> None:
    survey = Survey.read(one_question("tracked", "lh"))
    buckets = survey.questions[0].channels[0].buckets
    rounds = outputs(survey, change=0.5, people=5000, rounds=4)
    assert all((each // buckets == rounds[0] // buckets).all() for each in rounds)
    assert not (rounds[1] == rounds[0]).all()


@pytest.mark.parametrize("repeat", ["once", "fresh", "tracked"])
def test_the_same_seed_gives_the_same_rounds(repeat: str) -> None:
    survey = Survey.read(one_question(repeat))
    one, same, other = (outputs(survey, change=0.3, people=3000, rounds=3, seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert not any((a == b).all() for a, b in zip(one, other, strict=True))


def test_under_once_every_person_reports_in_one_round() -> None:
    survey = Survey.read(one_question("once"))
    population = Population.of_counts(survey, {"q": [4, 3, 2, 1]})
    rounds = list(simulate_rounds(survey, population, 4, change=0.0))
    assert [each.population.size for each in rounds] == [3, 3, 2, 2]
    together = sum(each.population.counts(survey.questions[0]) for each in rounds)
    assert together.tolist() == [4, 3, 2, 1]
    assert [tally(survey, each.batches).reports for each in rounds] == [3, 3, 2, 2]


@pytest.mark.parametrize("repeat", ["fresh", "tracked"])
def test_answers_of_every_kind_change_as_often_as_said(repeat: str) -> None:
    """A new answer may be the old one: of a label with share s, a change shows with probability change·(1 − s)."""
    questions = tuple(replace(question, stages=()) for question in PANEL.questions)
    survey = PANEL if repeat == "tracked" else replace(PANEL, repeat=repeat, questions=questions)
    population = Population.of_shares(survey, 20_000)
    first, second = (each.population for each in simulate_rounds(survey, population, 2, change=0.2))
    for question in survey.questions:
        before, after = first.values[question.name], second.values[question.name]
        shares = first.shares(question)
        same = (shares**2).sum() if before.ndim == 1 else np.prod(shares**2 + (1 - shares) ** 2)
        changed = before != after if before.ndim == 1 else (before != after).any(axis=1)
        assert rate_is(changed, 0.2 * (1 - same))
        assert (first.levels[question.name] == second.levels[question.name]).all()


def test_new_answers_follow_the_shares_that_are_given() -> None:
    survey = Survey.read(one_question("fresh"))
    population = Population.of_counts(survey, {"q": [2000, 0, 0, 0]})
    *_, last = simulate_rounds(survey, population, 3, change=0.5, shares={"q": {"d": 1}})
    assert mean_is(last.population.values["q"] == 3, 0.75)


def test_what_makes_no_sense_is_refused() -> None:
    survey = Survey.read(one_question("fresh"))
    people = Population.of_shares(survey, 10)
    with pytest.raises(SimulationError, match="rounds must be a whole number of at least 1, not 0"):
        next(simulate_rounds(survey, people, 0))
    with pytest.raises(SimulationError, match="change must be a probability between 0 and 1, not 2"):
        next(simulate_rounds(survey, people, 2, change=2))


def test_the_command_writes_a_file_per_round_and_tells_the_truth_of_each(tmp_path: Path, capsys) -> None:
    out = str(tmp_path / "r-{round}.parquet")
    command = ["simulate", "examples/panel.toml", "--people", "500", "--rounds", "3", "--change", "0.5"]
    assert main([*command, "--out", out, "--json", "-"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["reports"] == 1500
    assert [each["round"] for each in content["rounds"]] == [1, 2, 3]
    for each in content["rounds"]:
        assert tally(PANEL, Path(each["file"])).reports == 500
        assert [question["name"] for question in each["questions"]] == ["mode", "owned", "minutes"]
    assert content["rounds"][0]["questions"] != content["rounds"][1]["questions"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rounds", "2", "--out", "r.parquet"], "--out: r.parquet must contain {round}"),
        (["--change", "0.1", "--out", "r.parquet"], "--change is for several rounds"),
        (["--rounds", "2", "--to", "http://localhost:1"], "--rounds writes files on this machine"),
        (["--rounds", "0", "--out", "r-{round}.parquet"], "rounds must be a whole number of at least 1, not 0"),
    ],
)
def test_the_command_refuses_in_one_line(options: list[str], words: str, capsys) -> None:
    assert main(["simulate", "examples/panel.toml", "--people", "5", *options]) != 0
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
