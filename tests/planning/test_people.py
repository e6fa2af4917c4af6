"""How many people are needed: at plausible shares, wherever they come from, and at the worst; what thresholds cost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.claims import runs
from pldp import Survey, estimate, plan, tally
from pldp.cli import main
from pldp.errors import PlanError
from pldp.mechanisms.arrays import piecewise_arrays
from pldp.planning import PeopleNeeded
from pldp.planning.levels import Levels
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads, survey_from_mapping
from pldp.tallies import OutputCounts, Tally

SHOPPING = Survey.load("examples/shopping.toml")


def survey_of(words: str, levels: str = "{ strict = 0.5, open = 3 }", more: str = "") -> Survey:
    return loads(f'pldp = 1\ntitle = "t"\nlevels = {levels}\n{more}\n[[questions]]\nname = "q"\n{words}\n')


def large(mechanism: str) -> Survey:
    question = {"name": "q", "values": [f"v{place}" for place in range(128)], "mechanism": mechanism}
    return survey_from_mapping({"pldp": 1, "title": "t", "levels": {"only": 4}, "questions": [question]})


def test_equal_shares_said_855_people_where_18425_are_needed() -> None:
    survey, common = large("krr"), [0.7, *[0.3 / 127] * 127]
    assert plan(survey, 1000, shares="equal").people_for(0.02)["q"].plausible == 855
    found = plan(survey, 1000, shares={"q": common}).people_for(0.02)["q"]
    assert found == PeopleNeeded(18_425, 23_181, alike=18_425, alike_worst=23_181)  # of one level
    assert plan(survey, 1000).people_for(0.02)["q"] == PeopleNeeded(14_293, 23_181, 14_293, 23_181)
    assert plan(large("auto"), 1000).people_for(0.02)["q"] == PeopleNeeded(8_523, 11_683, 8_523, 11_683)


WORDS = {
    "krr": 'values = ["a", "b", "c", "d", "e"]\nmechanism = "krr"',
    "bits": 'values = ["a", "b", "c", "d", "e"]\nmechanism = "oue"',
    "hashed": 'values = ["a", "b", "c", "d", "e"]\nmechanism = "lh"',
    "subset": 'values = ["a", "b", "c", "d", "e", "f", "g", "h"]\nmechanism = "subset"',
    "budgets": 'values = ["a", "b", "c", "d"]\nfractions = { a = "1/8", b = "1/2" }',
    "one unprotected": 'values = ["a", "b", "c", "d"]\nfractions = { a = "1/2" }\nunprotected = ["d"]',
    "budgets, bits": 'values = ["a", "b", "c", "d"]\nfractions = { a = "1/2" }\nmechanism = "idue"',
    "set": 'kind = "choices"\nvalues = ["a", "b", "c"]\nfractions = { a = "1/2" }',
    "whole set": 'kind = "choices"\nbudget = "set"\nat_most = 2\nvalues = ["a", "b", "c", "d"]',
    "number": 'kind = "number"\nlow = 10\nhigh = 50\nbuckets = 32',
    "number, piecewise": 'kind = "number"\nlow = 10\nhigh = 50\nbuckets = 32\nmechanism = "pm"',
    "number for its mean": 'kind = "number"\nlow = 10\nhigh = 50\nbuckets = 17\npurpose = "mean"',
}
HIDDEN = "hide_level = { epsilon = 1 }"
MANY = {name: survey_of(words) for name, words in WORDS.items()} | {
    "hidden": survey_of(WORDS["krr"], "{ strict = 0.5, open = 2 }", HIDDEN)
}


def random_shares(survey: Survey, generator: np.random.Generator) -> np.ndarray:
    """Shares of every sort: even, of a few values, of two."""
    (question,) = survey.questions
    size = question.size
    if question.domain == "sets":
        return generator.beta(0.5, 0.5, size)
    some = generator.choice(size, min(size, generator.choice([2, 3, size])), replace=False)
    shares = np.zeros(size)
    shares[some] = generator.dirichlet(np.full(len(some), generator.choice([0.2, 1, 5])))
    return shares


@pytest.mark.parametrize("name", MANY)
def test_no_shares_need_more_people_than_the_worst(name: str) -> None:
    """Up to one percent of a standard error: labels of hashed reports are not all alike, and one of them is tried."""
    survey, generator = MANY[name], np.random.default_rng(1)
    (question,), people = survey.questions, np.array([700.0, 300.0])
    planned = plan(survey, 1000, level_mix={"strict": 7, "open": 3}).questions[0]
    for own in (planned, planned.alike):
        levels = Levels(question, question.channels, people, survey.level_channel, own.design.differ)
        found = [levels.widest(random_shares(survey, generator)) for _ in range(runs(60, 3000))]
        assert max(found) ** 0.5 <= 1.01 * own.worst.standard_error
        assert own.standard_error.max() <= own.worst.standard_error
        assert max(found) ** 0.5 > 0.8 * own.worst.standard_error  # a worst case a fifth smaller would be exceeded


def earlier_results(people: int = 20_000) -> tuple[Population, object]:
    population = Population.of_shares(SHOPPING, people, seed=2)
    return population, estimate(tally(SHOPPING, simulate_reports(SHOPPING, population, seed=2)))


def test_shares_of_an_earlier_survey_are_taken_from_its_results_and_from_their_json(tmp_path: Path, capsys) -> None:
    population, results = earlier_results()
    truth = {question.name: population.shares(question).tolist() for question in SHOPPING.questions}
    known, planned = plan(SHOPPING, 5000, shares=truth), plan(SHOPPING, 5000, shares=results)
    for own, true in zip(planned.questions, known.questions, strict=True):
        assert own.assumed == "shares of an earlier estimate"
        assert own.standard_error.max() == pytest.approx(true.standard_error.max(), rel=0.05)
        assert 0 <= own.shares.min() <= own.shares.max() <= 1
    single = plan(SHOPPING, 5000, shares={"spent": results["spent"]})
    assert single.questions[2] == planned.questions[2]
    assert single.questions[0].assumed.endswith("(a guess)")
    path = tmp_path / "earlier.json"
    path.write_text(json.dumps(results.to_mapping()))
    assert main(["plan", "examples/shopping.toml", "--people", "5000", "--shares", str(path), "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)["questions"]
    for entry, own in zip(printed, planned.questions, strict=True):
        assert [row["standard_error"] for row in entry["rows"]] == pytest.approx(own.standard_error.tolist())


def test_the_density_of_an_earlier_survey_may_have_other_buckets() -> None:
    entry = {"kind": "number", "rows": [{"label": "mean", "estimate": 20}]}
    coarse = entry | {"density": {"edges": [10, 20, 30, 50], "shares": [0.5, 0.25, 0.25]}}
    planned = plan(MANY["number"], 100, shares={"q": coarse}).questions[0]
    assert planned.shares[:8] == pytest.approx(0.5 / 8)
    assert planned.shares[16:] == pytest.approx(0.25 / 16)
    only_mean = plan(MANY["number"], 100, shares={"q": entry}).questions[0]
    assert only_mean.rows["mean"] == pytest.approx(20)
    assert (np.diff(only_mean.shares) < 0).all()  # as even as a mean below the middle allows


def test_a_rough_guess_of_a_number_is_its_mean() -> None:
    for mean in (10, 10.5, 30, 49.9, 50):
        planned = plan(MANY["number"], 100, shares={"q": {"mean": mean}}).questions[0]
        assert planned.rows["mean"] == pytest.approx(mean, abs=40 / 32 / 2 + 1e-9)
    assert plan(MANY["number"], 100, shares={"q": {"mean": 30}}).questions[0].shares == pytest.approx(1 / 32)


WRONG = {
    "shares must be 'equal', earlier results, or shares by question, not 'even'": ("krr", "even"),
    "shares must be earlier results, or shares by question, not list": ("krr", [0.5, 0.5]),
    "shares must name questions of the survey; 'r' is none": ("krr", {"r": [1]}),
    "shares of q must be numbers, or 'equal'": ("krr", {"q": "even"}),
    "shares of q must be 5 finite numbers": ("krr", {"q": [1, 2]}),
    "shares of q must name its labels only: a, b, c, d, e": ("krr", {"q": {"rows": 1}}),
    "shares of q: the earlier result is of kind number, and the question is choice": (
        "krr",
        {"questions": [{"name": "q", "kind": "number", "rows": []}]},
    ),
    "shares of q: the earlier result must have rows, each with a label": (
        "krr",
        {"q": {"kind": "choice", "rows": [1]}},
    ),
    "shares of q: the earlier result must have finite estimates": ("krr", {"q": {"kind": "choice", "rows": []}}),
    "shares of q: the earlier density must go from 10 to 50": (
        "number",
        {
            "q": {
                "kind": "number",
                "rows": [{"label": "mean", "estimate": 1}],
                "density": {"edges": [0, 1], "shares": [1]},
            }
        },
    ),
    "shares of q: the mean must be from 10 to 50": ("number", {"q": {"mean": 5}}),
}


@pytest.mark.parametrize("words", WRONG)
def test_shares_that_make_no_sense_get_one_line(words: str) -> None:
    name, shares = WRONG[words]
    with pytest.raises(PlanError) as error:
        plan(MANY[name], 100, shares=shares)
    assert str(error.value).startswith(words)
    assert "\n" not in str(error.value)


FILES = {
    "{": "line 1: not valid JSON",
    "[1]": "must be what pldp estimate --json writes, or an object of shares by question",
    '{"mode": {"plane": 1}}': "shares of mode must name its labels only",
    '{"mode": ["a", "b"]}': "shares of mode must be numbers, or 'equal'",
}


@pytest.mark.parametrize("content", FILES)
def test_files_of_shares_that_make_no_sense_get_one_line(content: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "shares.json"
    path.write_text(content)
    assert main(["plan", "examples/commute.toml", "--people", "10", "--shares", str(path)]) == 2
    found = capsys.readouterr()
    assert (found.out, found.err.count("\n")) == ("", 1)
    assert FILES[content] in found.err


def test_the_command_tells_people_at_both_shares_and_takes_an_error_per_question(capsys) -> None:
    command = ["plan", "examples/shopping.toml", "--people", "1000"]
    assert main([*command, "--error", "spent=5", "--error", "0.02", "--json", "-"]) == 0
    needed = json.loads(capsys.readouterr().out)["people_needed"]
    planned = plan(SHOPPING, 1000).people_for({"basket": 0.02, "reason": 0.02, "spent": 5})
    assert {name: (each["plausible"], each["worst"]) for name, each in needed.items()} == {
        name: (each.plausible, each.worst) for name, each in planned.items()
    }
    assert main([*command, "--error", "spent=5", "--details"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "38,000: ± 5 euros" in shown
    assert f"± 5 euros │ {planned['spent'].plausible:,} │ {planned['spent'].worst:,}" in shown
    assert "(a guess). Worst: half of the people at each bound." in shown
    assert "'I did not go' is not protected: its error comes from who is asked" in shown
    assert "nan" not in shown
    for wrong, words in {
        "0.02": "question 'spent' is a number: add --error spent=E, its error in euros",
        "x": "--error must look like 0.02 or spent=5, not 'x'",
        "x=1": "error must name questions of the survey; 'x' is none",
        "basket=2": "error must be a share above 0 and below 1, not 2",
    }.items():
        assert main([*command, "--error", wrong]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", MANY)
def test_a_threshold_costs_the_people_that_its_own_plan_asks_for(name: str) -> None:
    survey, mix = MANY[name], {"strict": 3, "open": 2}
    planned = plan(survey, 1000, level_mix=mix)
    for own in (planned.questions[0], planned.questions[0].alike):
        strict, open_ = own.thresholds
        costs = (strict.capped, open_.capped)
        assert strict.dropped == 1
        assert open_.dropped == open_.capped
        if own.design.differ is None:
            assert open_.capped < 1 < strict.capped or name == "hidden"  # strict levels are what costs people
        else:
            assert min(costs) > (0.7 if name == "hidden" else 1)
        if survey.level_channel is not None:
            continue
        levels = {"strict": 0.5, "open": 3}
        for level, part, capped in (("strict", 1.0, strict.capped), ("open", 0.4, open_.capped)):
            alone = survey_of(WORDS[name], f"{{ {level} = {levels[level]} }}")
            found = plan(alone, 1000, shares={"q": plan(survey, 1000).questions[0].shares.tolist()}).questions[0]
            ratio = found.standard_error.max() ** 2 / part / own.standard_error.max() ** 2
            assert capped == pytest.approx(ratio, rel=1e-6)


def test_expected_quantile_intervals_are_those_of_simulation() -> None:
    """On average over runs within a quarter; single collections differ by more."""
    survey = survey_of('kind = "number"\nlow = 0\nhigh = 100\nbuckets = 80', "{ only = 2 }")
    (question,), people = survey.questions, 5000
    shares = np.exp(-np.arange(80) / 25)
    shares /= shares.sum()
    rows = plan(survey, people, shares={"q": shares.tolist()}).quantiles("q")
    assert [row.label for row in rows] == ["5 %", "25 %", "50 %", "75 %", "95 %"]
    chances = piecewise_arrays(question.channels[0]).pieces().table()[:-1] @ shares
    generator, widths = np.random.default_rng(5), []
    for _ in range(runs(6, 200)):
        counts = OutputCounts(generator.multinomial(people, chances / chances.sum()))
        found = estimate(Tally(survey, {("q", "only"): counts}, people), "q")
        widths.append([row.high - row.low for row in found.rows()[1:]])
    expected = np.array([row.high - row.low for row in rows])
    assert expected == pytest.approx(np.mean(widths, axis=0), rel=0.25)
    wider = plan(survey, people // 4, shares={"q": shares.tolist()}).quantiles("q")
    assert all(fewer.high - fewer.low > row.high - row.low for fewer, row in zip(wider, rows, strict=True))


def test_too_few_people_for_a_distribution_are_said_so(capsys) -> None:
    assert main(["plan", "examples/shopping.toml", "--people", "6", "--details"]) == 0
    assert "quantiles of spent: a density needs at least 10 people" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(PlanError, match="at least 10 people"):
        plan(SHOPPING, 6).quantiles("spent")
    assert plan(SHOPPING, 6).quantiles("basket") == ()
    assert plan(MANY["number for its mean"], 600).quantiles("q") == ()


def test_a_picture_of_every_kind_goes_through_the_plan_as_it_is() -> None:
    """Whole sets of at most two labels were drawn as if there were no limit, 1.7 times too high."""
    for name in ("budgets", "whole set", "number for its mean", "hidden"):
        figure = plan(MANY[name], 1000).plot()
        left, right = ([line for line in axes.lines if len(line.get_xdata()) > 2] for axes in figure.axes)
        planned = left[0].get_ydata()[10]
        assert right[0].get_ydata()[4] == pytest.approx(planned, rel=1e-6), name
        assert len(figure.axes[0].collections) == 1  # up to the worst shares


def test_where_nothing_can_be_wrong_no_error_is_planned() -> None:
    survey = survey_of('kind = "choices"\nvalues = ["a", "b"]\nunprotected = ["a", "b"]')
    planned = plan(survey, 1000, shares={"q": [0, 1]})
    assert planned.people_for(0.02)["q"] == PeopleNeeded(1, 2401, 1, 2401)
    assert planned.questions[0].thresholds == ()
    assert "NaN" not in json.dumps(planned.to_mapping())
    planned.plot()
