"""Every kind of question is planned: errors are those of simulation and of the estimates; what cannot be is said."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from helpers.claims import runs
from pldp import Plan, Survey, estimate, plan, tally
from pldp.cli import main
from pldp.errors import PlanError
from pldp.estimates import expected_reports, frequencies
from pldp.mechanisms.arrays import LabelArrays, arrays, label_arrays, piecewise_arrays
from pldp.planning.kinds import BY_KIND
from pldp.planning.levels import level_weights
from pldp.simulate import Population, perturb, simulate_reports
from pldp.simulate.kinds import BY_KIND as SIMULATED
from pldp.survey import Question, loads

EXAMPLES = sorted(Path("examples").glob("*.toml"))
PEOPLE = 400
"""Of each level in each run."""

QUESTIONS = {
    "several labels": 'kind = "choices"\nvalues = ["a", "b", "c"]',
    "several labels with budgets": (
        'kind = "choices"\nvalues = ["a", "b", "c"]\nfractions = { a = "1/2" }\nunprotected = ["c"]'
    ),
    "number": 'kind = "number"\nlow = 10\nhigh = 50\nbuckets = 24',
    "number, stochastic rounding": 'kind = "number"\nlow = 10\nhigh = 50\nbuckets = 24\nmechanism = "sr"',
    "number, Laplace": 'kind = "number"\nlow = 10\nhigh = 50\nbuckets = 24\nmechanism = "laplace"',
    "budgets": 'values = ["a", "b", "c", "d"]\nfractions = { a = "1/2" }',
    "budgets, one unprotected": 'values = ["a", "b", "c", "d"]\nfractions = { a = "1/2" }\nunprotected = ["d"]',
    "budgets in bits": 'values = ["a", "b", "c", "d"]\nfractions = { a = "1/2" }\nmechanism = "idue"',
}
SHARES = {"choices": [0.1, 0.4, 0.7], "number": np.arange(1, 25), "choice": [0.1, 0.2, 0.3, 0.4]}


def survey_of(words: str, factor: float = 1) -> Survey:
    levels = f"levels = {{ strict = {0.5 * factor:g}, open = {1.5 * factor:g} }}"
    return loads(f'pldp = 1\ntitle = "t"\n{levels}\n[[questions]]\nname = "q"\n{words}\n')


def unbiased(question: Question, channel: object, outputs: np.ndarray) -> np.ndarray:
    """What every report counts for each row: reports × rows."""
    if question.kind == "choices":
        bits = np.unpackbits(outputs, axis=1, count=channel.size, bitorder="little")
        return np.where(bits, *(arrays(channel).bit_weights[:, place] for place in (1, 0)))
    if question.kind == "number":
        scale = (question.grid.high - question.grid.low) / 2
        return (question.grid.low + (piecewise_arrays(channel).unbiased()[outputs.astype(int)] + 1) * scale)[:, None]
    return label_arrays(channel).supported(outputs)


def decoded(form: LabelArrays, assumed: np.ndarray, supports: np.ndarray) -> np.ndarray:
    """The shares that weights and gains for the assumed ones make of the supports of every run: runs × labels."""
    fitted = expected_reports([form], np.eye(1), np.ones(1), assumed, visible=True, summed=True)
    patterns = np.array([form.pattern_counts(support, 1.0) for support in supports])
    shares = np.einsum("ric,ic->ri", patterns, fitted.counted[0])
    off = shares.sum(axis=1, keepdims=True) - 1
    return shares - sum(off * gain.T for _, gain, _ in fitted.gains)


@cache
def simulated_errors(name: str) -> np.ndarray:
    """Errors of the pooled rows in each run, runs × rows, in units of the predicted standard errors."""
    survey = survey_of(QUESTIONS[name])
    (question,) = survey.questions
    repeats = runs(1600 if question.kind == "number" else 400, 4000)  # a number has one row
    planned = plan(survey, 2 * PEOPLE, shares={"q": SHARES[question.kind]}).questions[0]
    kind, generator = BY_KIND[question.kind], np.random.default_rng(1)
    reports = [kind.one_report(question, channel, planned.shares) for channel in question.channels]
    weights = level_weights([(report, float(PEOPLE)) for report in reports])
    pooled = 0
    for weight, channel in zip(weights, question.channels, strict=True):
        values = SIMULATED[question.kind].draw(question, PEOPLE * repeats, planned.shares, generator)
        counted = unbiased(question, channel, perturb(channel, values, generator))
        means = counted.reshape(repeats, PEOPLE, -1).mean(axis=1)
        if question.kind == "choice":
            means = decoded(label_arrays(channel), planned.shares, means)
        pooled = pooled + weight * means
    return (pooled - np.array(list(planned.rows.values()))) / planned.standard_error


@pytest.mark.parametrize("name", QUESTIONS)
def test_predicted_errors_are_those_of_simulation(name: str) -> None:
    errors = simulated_errors(name)
    found = math.sqrt((errors**2).mean())
    assert abs(found - 1) < 0.05
    assert abs(errors.mean()) < 0.2  # and the rows are what is estimated, without bias


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_comparison_rejects_a_channel_that_is_a_fifth_off(name: str) -> None:
    errors = simulated_errors(name)
    shares = {"q": SHARES[survey_of(QUESTIONS[name]).questions[0].kind]}
    own, other = (
        plan(survey_of(QUESTIONS[name], factor), 2 * PEOPLE, shares=shares).questions[0].standard_error
        for factor in (1, 1.2)
    )
    assert abs(math.sqrt((errors**2).mean() * (own**2).mean() / (other**2).mean()) - 1) > 0.05


def test_the_plan_says_what_the_estimates_will_say() -> None:
    survey = Survey.load("examples/shopping.toml")
    people = Population.of_shares(survey, 40_000, seed=2)
    counted = tally(survey, simulate_reports(survey, people, seed=2))
    shares = {question.name: people.shares(question).tolist() for question in survey.questions}
    _, reason, spent = plan(survey, 40_000, shares=shares).questions
    for differ, planned in ((None, spent), (0, spent.alike)):
        (found, *_) = estimate(counted, "spent", differ=differ).rows()
        assert planned.standard_error == pytest.approx(found.standard_error, rel=0.03)
        assert planned.rows["mean"] == pytest.approx(found.estimate, abs=5 * found.standard_error)
    for differ, planned in ((None, reason), (0, reason.alike)):
        shares_of_reason = frequencies(counted, "reason", differ=differ)
        assert planned.standard_error == pytest.approx(shares_of_reason.standard_error, rel=0.05)


def test_the_plan_says_what_the_estimates_of_sets_will_say() -> None:
    survey = Survey.load("examples/shopping.toml")
    people = Population.of_shares(survey, 40_000, seed=2)
    counted = tally(survey, simulate_reports(survey, people, seed=2))
    basket, *_ = plan(survey, 40_000, shares={"basket": people.shares(survey.question("basket")).tolist()}).questions
    for differ, planned in ((None, basket), (0, basket.alike)):
        rows = estimate(counted, "basket", differ=differ, largest=1, min_support=0.2).rows()
        assert len(rows) > 1
        for row in rows:
            error = planned.standard_error[list(basket.rows).index("".join(row.label))]
            assert error == pytest.approx(row.standard_error, rel=0.05)


@cache
def planned_example(path: Path) -> Plan:
    return plan(Survey.load(path), 1000)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_question_is_in_every_form_of_the_plan(path: Path, capsys, tmp_path: Path) -> None:
    """The short form draws two of them; `tests/structure/test_matrix.py` draws one of every kind."""
    picture, written = tmp_path / "plan.svg", tmp_path / "plan.json"
    drawn = ["--plot", str(picture)] if runs(0, 1) or path.stem in {"shopping", "panel"} else []
    assert main(["plan", str(path), "--people", "1000", *drawn, "--json", str(written)]) == 0
    shown, found = capsys.readouterr().out, json.loads(written.read_text())
    names = [question.name for question in Survey.load(path).questions]
    assert [each["question"] for each in found["questions"]] == names
    assert all(name in shown for name in names)
    assert all(row["standard_error"] > 0 for each in found["questions"] for row in each["rows"])
    assert bool(found["designs"]) == (found["no_designs"] is None)
    assert not drawn or "<svg" in picture.read_text()
    html = planned_example(path)._repr_html_()
    assert all(f">{name}<" in html for name in names)


def test_a_picture_has_a_line_for_every_question_against_people_and_epsilon() -> None:
    figure = planned_example(Path("examples/shopping.toml")).plot()
    for axes in figure.axes:
        lines = [line for line in axes.lines if len(line.get_xdata()) > 2]
        assert len(lines) == 3
        for line in lines:
            assert np.isfinite(line.get_ydata()).all()
            assert (np.diff(line.get_ydata()) < 0).all()


def test_designs_of_every_kind_are_compared(capsys) -> None:
    assert main(["plan", "examples/shopping.toml", "--people", "1000", "--details"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "best first" in out
    assert "nan" not in out
    assert "typical error: root mean square of the standard errors of all shares and means" in out


def test_the_errors_of_designs_are_in_percentage_points_as_all_others(capsys) -> None:
    planned = plan(Survey.load("examples/commute.toml"), 10_000)
    estimates = sum(len(each.rows) for each in planned.questions)
    assert main(["plan", "examples/commute.toml", "--people", "10000", "--details"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for design in planned.designs:
        assert f"{100 * (design.squared_error / estimates) ** 0.5:.3g} pp │" in out
    assert "of the standard errors of all shares, if all answers are equally common" in out


@pytest.mark.parametrize("kind", ["several labels", "number", "budgets"])
def test_every_kind_has_designs_and_can_be_planned_with_hidden_levels(kind: str) -> None:
    planned = plan(survey_of(QUESTIONS[kind]), 1000)
    errors = [design.squared_error for design in planned.designs]
    assert errors
    assert all(0 < error < np.inf for error in errors)
    assert planned.best_survey().questions[0].kind == planned.survey.questions[0].kind
    assert plan(survey_of(QUESTIONS[kind]), 1000, hide_level=1).questions[0].hiding_cost > 1


def test_people_for_an_error_are_those_of_shares() -> None:
    sets = survey_of(QUESTIONS["several labels"])
    needed = plan(sets, 1000).people_for(0.01)["q"].plausible
    assert plan(sets, needed).questions[0].interval_width().max() / 2 == pytest.approx(0.01, rel=1e-3)
    number = plan(survey_of(QUESTIONS["number"]), 1000)
    with pytest.raises(PlanError, match="question 'q' is a number: give its error by name"):
        number.people_for(0.01)
    needed = number.people_for({"q": 0.5})["q"]
    wide = plan(survey_of(QUESTIONS["number"]), needed.plausible).questions[0]
    assert wide.interval_width().max() / 2 == pytest.approx(0.5, rel=1e-3)
    assert needed.worst > needed.plausible


WRONG = {
    "shares of q must be 3 numbers from 0 to 1": ("several labels", [0.1, 2, 0.3]),
    "shares of q must name its labels only: a, b, c": ("several labels", {"z": 0.5}),
    "shares of q must be 24 finite numbers": ("number", [1, 2]),
    "shares of q must be a list with one weight per bucket": ("number", {"10": 5}),
    "shares of q must be 4 finite numbers": ("budgets", {"a": -1}),
}


@pytest.mark.parametrize("words", WRONG)
def test_shares_that_make_no_sense_get_one_line(words: str) -> None:
    name, shares = WRONG[words]
    with pytest.raises(PlanError) as error:
        plan(survey_of(QUESTIONS[name]), 1000, shares={"q": shares})
    assert str(error.value).startswith(words)
    assert "\n" not in str(error.value)


def test_a_label_without_protection_that_everybody_has_has_no_error() -> None:
    planned = plan(survey_of(QUESTIONS["several labels with budgets"]), 1000, shares={"q": [0.5, 0.5, 1]}).questions[0]
    assert planned.standard_error[2] == 0
    assert (planned.standard_error[:2] > 0).all()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_plan_shows_itself_in_five_lines(path: Path) -> None:
    lines = repr(planned_example(path)).splitlines()
    assert len(lines) <= 5
    assert all(len(line) < 120 for line in lines)
    assert "±" in lines[1]


def test_nothing_is_printed_where_a_picture_cannot_be_written(capsys, tmp_path: Path) -> None:
    code = main(["plan", "examples/commute.toml", "--people", "100", "--plot", str(tmp_path / "no" / "p.png")])
    assert (code, capsys.readouterr().out) == (2, "")
