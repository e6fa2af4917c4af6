"""Every kind of question is simulated: the same draws for the same seed, and the truth of every kind in the JSON."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from pldp import Survey
from pldp.cli import main
from pldp.errors import SimulationError
from pldp.simulate import Population, simulate_reports
from pldp.simulate.kinds import BY_KIND, choices
from pldp.survey import Number, loads

EXAMPLES = sorted(Path("examples").glob("*.toml"))

FROZEN = {
    "commute": "7cdc738cd8e69f13",
    "health": "1a48c389b5049bec",
    "shopping": "1859dbbc21335570",
}
"""Digests of the reports of 700 people; a change here is a change of the sampler."""


def digest(survey: Survey) -> str:
    found = hashlib.sha256()
    people = Population.of_shares(survey, 700, seed=3)
    for batch in simulate_reports(survey, people, seed=5, rows=300):
        for name in batch.schema.names:
            found.update(repr(batch.column(name).to_pylist()).encode())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("name", FROZEN)
def test_draws_of_one_seed_never_change(name: str) -> None:
    assert digest(Survey.load(f"examples/{name}.toml")) == FROZEN[name]


def test_people_of_sets_are_drawn_in_blocks_of_the_same_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey.read(
        {
            "pldp": 1,
            "title": "Blocks",
            "levels": {"open": 2},
            "questions": [{"name": "boxes", "kind": "choices", "values": [f"box {number}" for number in range(11)]}],
        }
    )
    whole = Population.of_shares(survey, 500, seed=4).values["boxes"]
    monkeypatch.setattr(choices, "_CELLS_AT_ONCE", 64)
    assert np.array_equal(Population.of_shares(survey, 500, seed=4).values["boxes"], whole)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_truth_of_every_question_is_in_the_json(path: Path, capsys, tmp_path: Path) -> None:
    arguments = ["simulate", str(path), "--people", "50", "--out", str(tmp_path / "r.parquet"), "--json", "-"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    survey = Survey.load(path)
    people = Population.of_shares(survey, 50)
    assert [each["name"] for each in found["questions"]] == [each.name for each in survey.questions]
    for question, told in zip(survey.questions, found["questions"], strict=True):
        if isinstance(question, Number) and question.for_mean:
            points = [question.grid.centre(place) for place in range(question.size)]
            assert told["rows"][0]["true"] == pytest.approx(people.shares(question) @ points)
            continue
        shares = told["density"]["shares"] if "density" in told else [row["true"] for row in told["rows"]]
        assert shares == people.shares(question).tolist()


def test_the_truth_of_a_number_is_that_of_its_buckets() -> None:
    question = Survey.load("examples/shopping.toml").question("spent")
    numbers = np.random.default_rng(1).gamma(3, 30, 20_000)
    people = Population.of_values(Survey.load("examples/shopping.toml"), {"spent": numbers})
    told = BY_KIND["number"].truth(question, people.shares(question))
    true = [row["true"] for row in told["rows"]]
    clipped = numbers.clip(0, 300)
    width = 300 / 256
    assert [row["label"] for row in told["rows"]] == ["mean", "5 %", "25 %", "50 %", "75 %", "95 %"]
    assert true == pytest.approx([clipped.mean(), *np.quantile(clipped, [0.05, 0.25, 0.5, 0.75, 0.95])], abs=width)
    assert told["unit"] == "euros"
    assert len(told["density"]["edges"]) == len(told["density"]["shares"]) + 1 == 257


def test_nobody_has_no_mean(capsys, tmp_path: Path) -> None:
    arguments = ["simulate", "examples/shopping.toml", "--people", "0", "--out", str(tmp_path / "r.parquet")]
    assert main([*arguments, "--json", "-"]) == 0
    spent = json.loads(capsys.readouterr().out)["questions"][2]
    assert spent["rows"][0] == {"label": "mean", "true": None}


@pytest.mark.parametrize("name", ["basket", "spent"])
def test_what_only_choices_of_one_label_have_is_refused(name: str) -> None:
    survey = Survey.load("examples/shopping.toml")
    answers = {"basket": [["milk"]], "spent": [5.0]}[name]
    with pytest.raises(SimulationError, match=f"counts are for choices of one label; question '{name}'"):
        Population.of_counts(survey, {name: [1]})
    with pytest.raises(SimulationError, match=f"by value is for choices of one label; question '{name}'"):
        Population.of_values(survey, {name: answers}, level_mix={"milk": {"open": 1}})


def test_every_kind_of_a_survey_is_simulated() -> None:
    assert set(BY_KIND) == {"choice", "choices", "number"}


def test_numbers_outside_are_clipped_or_refused_as_the_question_says() -> None:
    words = (
        'pldp=1\ntitle="t"\nlevels={{a=1}}\nquestions=[{{name="n",kind="number",low=0,high=8,buckets=8,outside="{}"}}]'
    )
    clipping, refusing = (loads(words.format(outside)) for outside in ("clip", "refuse"))
    assert Population.of_values(clipping, {"n": [-5, 3.5, 99]}).values["n"].tolist() == [0, 3, 7]
    with pytest.raises(SimulationError, match="between 0 and 8; 2 do not"):
        Population.of_values(refusing, {"n": [-5, 3.5, 99]})
