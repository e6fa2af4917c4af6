"""Changes and trends are results like any other, of every kind; what cannot be compared is refused in one line."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from pldp import Change, Result, Results, Survey, Tally, Trend, change, combine, estimate, tally, trend, two_way
from pldp.errors import CallError, EstimateError
from pldp.estimates import Note, frequencies
from pldp.estimates.kinds import BY_KIND
from pldp.papers.personal import personal_frequencies
from pldp.simulate import Population, perturb_personal, simulate, simulate_reports

EVERYTHING = {
    "pldp": 1,
    "title": "Everything",
    "levels": {"strict": 1, "open": 3},
    "questions": [
        {"name": "choice", "text": "Which?", "values": ["a", "b", "c"]},
        {"name": "other", "values": ["yes", "no"]},
        {"name": "choices", "kind": "choices", "values": ["a", "b", "c"]},
        {"name": "number", "kind": "number", "low": 0, "high": 10, "buckets": 16, "unit": "km"},
    ],
}
HALVES = {"a": 0.5, "b": 0.5}
HIDING = {**EVERYTHING, "hide_level": {"epsilon": 1}, "questions": EVERYTHING["questions"][:1]}


@cache
def counted(seed: int, *, hiding: bool = False) -> Tally:
    survey = Survey.read(HIDING if hiding else EVERYTHING)
    pairs = [] if hiding else [("choice", "other")]
    return tally(survey, simulate(survey, 3000, seed=seed), patterns=True, pairs=pairs)


@cache
def results(seed: int) -> Results:
    return estimate(counted(seed))


def personal(seed: int) -> Result:
    generator = np.random.default_rng(seed)
    values, epsilon = generator.integers(0, 4, 1000), generator.uniform(0.5, 3, 1000)
    return personal_frequencies("krr", perturb_personal("krr", values, 4, epsilon, generator), epsilon, 4)


ASKED: dict[str, Callable[[int], Result]] = {
    **{kind: lambda seed, kind=kind: results(seed)[kind] for kind in BY_KIND},
    "table": lambda seed: results(seed).tables[0],
    "pooled by size": lambda seed: estimate(counted(seed), "choice"),
    "respondents": lambda seed: estimate(counted(seed), "choices", target="respondents"),
    "mean of respondents": lambda seed: estimate(counted(seed), "number", target="respondents"),
    "table of respondents": lambda seed: two_way(counted(seed), "choice", "other", target="respondents"),
    "fit": lambda seed: estimate(counted(seed), "choice", method="likelihood", differ=0),
    "fitted mean": lambda seed: estimate(counted(seed), "number", method="fitted", differ=0),
    "hidden levels": lambda seed: estimate(counted(seed, hiding=True), "choice"),
    "an epsilon per person": personal,
}


@cache
def result(asked: str, seed: int) -> Result:
    return ASKED[asked](seed)


@cache
def compared(asked: str) -> tuple[Change, Trend]:
    rounds = [result(asked, seed) for seed in (1, 2, 3)]
    return rounds[1] - rounds[0], trend(rounds)


@pytest.mark.parametrize("asked", ASKED)
def test_every_kind_can_be_subtracted_and_has_the_surface_of_a_result(asked: str) -> None:
    for found in compared(asked):
        assert isinstance(found, Result)
        assert pickle.loads(pickle.dumps(found)) == found == copy.deepcopy(found)  # noqa: S301 - made here
        assert found != replace(found, method="another")
        content = found.to_mapping(0.9)
        assert json.loads(json.dumps(content, allow_nan=False)) == content
        assert {"name", "kind", "unit", "reports", "rows", "notes", "assumptions", "test", "of"} <= content.keys()
        assert all(row["low"] <= row["estimate"] <= row["high"] for row in content["rows"])
        assert all(row.standard_error > 0 for row in found.rows())
        assert len(found.to_frame()) == len(found.rows())
        assert len(found.to_frame(library="polars")) == len(found.rows())
        assert len(repr(found).splitlines()) <= 5
        assert found.question in str(found)
        assert "<table>" in found._repr_html_()
        assert "<svg" in found._repr_html_()
        assert "Did anything change?" in found._repr_html_()
        assert found.plot(0.9).get_title(loc="left").startswith(found.question)
        narrow, wide = (found.interval(0.9, simultaneous=how) for how in (False, True))
        normal = np.resize(result(asked, 1).has_normal_error, len(found.rows()))  # other ends are edges of buckets
        assert ((wide.low < narrow.low) | (~normal & (wide.low == narrow.low))).all()
        assert ((wide.high > narrow.high) | (~normal & (wide.high == narrow.high))).all()


@pytest.mark.parametrize("asked", ASKED)
def test_a_change_is_the_difference_and_its_error_is_at_least_that_of_independent_rounds(asked: str) -> None:
    earlier, later = (result(asked, seed) for seed in (1, 2))
    apart, together = (change(later, earlier, overlap=people) for people in (0, 10**9))
    assert apart.estimates == pytest.approx(np.ravel(later.estimates) - np.ravel(earlier.estimates))
    independent = np.ravel(later.standard_error) ** 2 + np.ravel(earlier.standard_error) ** 2
    assert apart.standard_error**2 == pytest.approx(independent)
    reach = np.ravel(later.standard_error) + np.ravel(earlier.standard_error)
    assert (together.standard_error >= apart.standard_error).all()
    assert (together.standard_error <= reach * (1 + 1e-9)).all()
    half = change(later, earlier, overlap=500)
    assert (half.standard_error <= together.standard_error * (1 + 1e-12)).all()


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_the_test_rejects_exactly_if_a_simultaneous_interval_leaves_out_0(asked: str, confidence: float) -> None:
    for found in compared(asked):
        changes = [found] if isinstance(found, Change) else found.changes
        own = 1 - (1 - confidence) / len(changes)
        ends = [each.interval(own, simultaneous=True) for each in changes]
        assert found.test(confidence).rejected == any(((low > 0) | (high < 0)).any() for low, high in ends)
        assert found.test(confidence).comparisons == sum(each.estimates.size for each in changes)


def test_the_statistic_of_a_quantile_is_where_its_interval_ends_at_0() -> None:
    """People move towards the middle: the mean stays and quantiles change."""
    survey = Survey.read({**EVERYTHING, "questions": EVERYTHING["questions"][3:]})
    rounds = [Population.of_values(survey, {"number": ends * 200}, seed=1) for ends in ([1.0, 9.0], [3.0, 7.0])]
    earlier, later = (estimate(tally(survey, simulate_reports(survey, each, seed=1)), "number") for each in rounds)
    found = change(later, earlier)
    quantiles = ~found.later.has_normal_error
    assert 0.5 < found.statistic < 7
    for factor, excluded in ((0.999, True), (1.001, False)):
        low, high = found.interval(1 - 2 * NormalDist().cdf(-factor * found.statistic))
        assert bool((((low > 0) | (high < 0)) & quantiles).any()) == excluded


def test_a_mean_that_moved_very_far_needs_no_quantile() -> None:
    earlier, later = (result("number", seed) for seed in (1, 2))
    far = replace(later, mean=replace(later.mean, value=later.mean.value + 100))
    found = change(far, earlier)
    assert found.statistic == abs(found.estimates[0]) / found.standard_error[0] > 20
    assert found.test().p_value < 1e-15


def test_all_results_are_subtracted_question_by_question() -> None:
    found = results(2) - results(1)
    assert isinstance(found, Results)
    assert list(found) == ["choice", "other", "choices", "number"]
    assert {type(each) for each in (*found.values(), *found.tables)} == {Change}
    assert found["choice"] == results(2)["choice"] - results(1)["choice"]
    assert found.reports == 6000
    assert "Which?" in found._repr_html_()
    whole = trend([results(seed) for seed in (1, 2, 3)])
    assert whole["number"] == trend([results(seed)["number"] for seed in (1, 2, 3)])
    assert list(whole.to_frame()["question"].unique()) == ["choice", "other", "choices", "number"]


def test_what_a_round_lacks_is_named_with_the_reason() -> None:
    survey = counted(1).survey
    people = Population.of_counts(survey, {"choice": [500, 300, 200]}, seed=1)
    partial = estimate(tally(survey, simulate_reports(survey, people, seed=1)))
    found = results(2) - partial
    assert list(found) == ["choice"]
    assert found.missing["number"] == "question 'number' has no reports, so there is nothing to estimate"
    assert found.missing["choice × other"] == "one of the rounds has no 'choice × other'"
    with pytest.raises(EstimateError, match="question 'choice' has no reports"):
        estimate(Tally.empty(survey)) - results(1)


def test_a_trend_has_every_round_and_both_kinds_of_changes() -> None:
    found = compared("choice")[1]
    content = found.to_mapping()
    assert [row["round"] for row in content["rows"]] == [f"round {n}" for n in (1, 2, 3) for _ in range(3)]
    pairs = {(row["since"], row["round"]) for row in content["changes"]}
    assert pairs == {("round 1", "round 2"), ("round 2", "round 3")}
    assert {row["since"] for row in content["since_first"]} == {"round 1"}
    assert content["rounds"] == [{"name": f"round {n}", "reports": 3000} for n in (1, 2, 3)]
    assert trend(found.rounds, names=["May", "June", "July"]).to_mapping()["rows"][0]["round"] == "May"


def test_intervals_of_a_trend_are_wider_the_more_rounds_they_hold_for() -> None:
    rounds = [results(seed)["choice"] for seed in (1, 2, 3)]
    two, three = trend(rounds[:2]), trend(rounds)
    assert (three.interval().low[:6] < two.interval().low).all()
    alone = rounds[0].interval(1 - 0.05 / 9)
    assert three.interval(0.95).low[:3] == pytest.approx(alone.low)


def test_rounds_hold_different_people_only_where_the_survey_says_so() -> None:
    """The rule is the survey's; other surveys, and results without one, may have the same people."""
    earlier, later = results(1)["choice"], results(2)["choice"]
    apart = later - earlier
    assert [note.code for note in apart.notes] == ["different-people"]
    assert "rounds hold different people" in apart.assumptions
    for other in (replace(earlier, distinct=""), replace(earlier, distinct="another survey")):
        found = later - other
        assert [note.code for note in found.notes] == ["people-overlap"]
        assert "up to 3,000 people" in found.notes[0].text
        assert (found.standard_error > apart.standard_error).all()
        assert not any("different people" in text for text in found.assumptions)
    assert frequencies(counted(1), "choice").distinct == ""


@pytest.mark.parametrize("rule", ["fresh", "tracked"])
def test_rounds_of_a_survey_that_asks_again_may_hold_the_same_people(rule: str) -> None:
    survey = Survey.read({**EVERYTHING, "repeat": rule})
    rounds = [
        estimate(tally(survey, simulate(survey, people, seed=people), pairs=[("choice", "other")]))
        for people in (3000, 400, 2000)
    ]
    later, earlier = rounds[1], rounds[0]
    assert later["choice"] - earlier["choice"] == (later - earlier)["choice"]
    over_all = trend(rounds)
    assert list(over_all) == ["choice", "other", "choices", "number"]
    for found in (*over_all.values(), *over_all.tables):
        assert [note.text for note in found.notes if note.code == "people-overlap"] == [
            "up to 2,000 people may be in two of these rounds: errors allow for answers that change the most"
        ]
        apart = trend(found.rounds, overlap=0)
        assert (found.changes[0].standard_error > apart.changes[0].standard_error).all()
        assert found.estimates == pytest.approx(apart.estimates)
    assert "up to 400 people" in (later - earlier).tables[0].notes[-1].text


def test_results_beside_that_are_pooled_by_size_follow_the_rule_too() -> None:
    for rule, known in (("once", True), ("fresh", False)):
        survey = Survey.read({**EVERYTHING, "repeat": rule, "questions": EVERYTHING["questions"][:2]})
        mixed = [
            Population.of_shares(survey, 3000, {"choice": shares, "other": [1, 1]}, level_mix={level: 1}, seed=1)
            for level, shares in (("strict", [1, 0, 0]), ("open", [0, 0, 1]))
        ]
        batches = [batch for people in mixed for batch in simulate_reports(survey, people, seed=2)]
        found = estimate(tally(survey, batches, pairs=[("choice", "other")]))
        for each in (found["choice"], found.tables[0]):
            assert each.alike is not None
            assert (each.alike.distinct, each.distinct) == ((survey.hash,) * 2 if known else ("", ""))


def test_notes_of_the_rounds_are_told_by_round_and_quantiles_say_that_they_are_wide() -> None:
    warned = replace(results(1)["choice"], notes=(*results(1)["choice"].notes, Note("few-reports", "too few")))
    found = results(2)["choice"] - warned
    assert [note.text for note in found.notes if note.code == "few-reports"] == ["in the earlier round: too few"]
    assert trend([warned, results(2)["choice"]]).notes[0].text == "in round 1: too few"
    assert "wide-quantiles" in [note.code for note in (results(2)["number"] - results(1)["number"]).notes]
    reworded = replace(results(1)["choice"], text="What?")
    assert "reworded" in [note.code for note in (results(2)["choice"] - reworded).notes]


def test_changes_and_combinations_of_tables_with_a_number_say_that_their_errors_assume_smoothness() -> None:
    survey, pairs = Survey.read(EVERYTHING), [("choice", "other"), ("other", "number")]
    one, two = (estimate(tally(survey, simulate(survey, 2000, seed=seed), pairs=pairs)) for seed in (1, 2))
    for plain, smooth in ((two - one).tables, trend([one, two]).tables, combine({"a": one, "b": two}, HALVES).tables):
        assert "smooth-errors" not in {note.code for note in plain.notes}
        assert "smooth-errors" in {note.code for note in smooth.notes}
    table, difference = two.tables[1], two.tables[1] - one.tables[1]
    assert table.assumes_smoothness
    widths = (np.ravel(ends.high - ends.low) for ends in (difference.interval(), table.interval()))
    assert np.less(*widths).any()  # intervals for any distribution would be wider than those of one round


def test_without_standard_errors_there_is_no_test() -> None:
    unknown = replace(results(1)["choice"], standard_error=np.full(3, np.nan))
    found = results(2)["choice"] - unknown
    assert np.isnan(found.test().p_value)
    assert not found.test().rejected
    assert found.to_mapping()["test"]["p_value"] is None
    assert "Did anything change" not in found._repr_html_()


CHOICE = {"name": "choice", "values": ["a", "b", "c"]}


def reworded(**question: Any) -> Result:
    asked = {name: value for name, value in {**CHOICE, **question}.items() if value is not None}
    survey = Survey.read({**EVERYTHING, "questions": [asked]})
    return estimate(tally(survey, simulate(survey, 500, seed=1)), survey.questions[0].name)


NUMBER = {"kind": "number", "buckets": 16, "unit": "km"}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "question": (
        lambda: results(1)["choice"] - results(1)["other"],
        "rounds of 'other' must have the same question, not 'other' and 'choice'",
    ),
    "labels": (
        lambda: results(1)["choice"] - reworded(values=["a", "b", "d"]),
        "rounds of 'choice' must have the same labels or bounds, not ('a', 'b', 'd') and ('a', 'b', 'c')",
    ),
    "kind": (
        lambda: results(1)["choice"] - reworded(kind="choices"),
        "rounds of 'choice' must have the same kind, not 'choices' and 'choice'",
    ),
    "bounds": (
        lambda: reworded(low=0, high=10, values=None, **NUMBER) - reworded(low=0, high=20, values=None, **NUMBER),
        "must have the same labels or bounds, not (0.0, 20.0, 'km') and (0.0, 10.0, 'km')",
    ),
    "target": (
        lambda: results(1)["choice"] - estimate(counted(2), "choice", target="respondents"),
        "must have the same target, not 'respondents' and 'population'",
    ),
    "method": (
        lambda: results(1)["choice"] - estimate(counted(2), "choice", differ=0),
        "must have the same method, not 'unbiased, levels weighted by precision' and 'unbiased, all people",
    ),
    "confidence": (
        lambda: results(1)["choice"] - estimate(counted(2), "choice", confidence=0.9),
        "must have the same confidence, not 0.9 and 0.95",
    ),
    "change of changes": (
        lambda: (results(2)["choice"] - results(1)["choice"]) - results(1)["choice"],
        "a change has no rounds to subtract: subtract results that pldp.estimate made",
    ),
    "overlap": (
        lambda: change(results(2), results(1), overlap=-1),
        "overlap must be a number of people, at least 0, not -1",
    ),
    "share as overlap": (lambda: change(results(2)["choice"], results(1)["choice"], overlap=0.5), "not 0.5"),
    "one round": (lambda: trend([results(1)]), "a trend needs at least two rounds, not 1"),
    "names": (
        lambda: trend([results(1), results(2)], names=["a", "a"]),
        "names must be 2 different ones, one per round",
    ),
    "another question in a trend": (
        lambda: trend([results(1)["choice"], results(2)["choice"], results(3)["other"]]),
        "rounds of 'choice' must have the same question",
    ),
    "a tally": (lambda: trend([counted(1), counted(2)]), "pldp.trend(rounds) needs a list of Result, or of Results"),
    "mixed": (lambda: change(results(1), results(1)["choice"]), "pldp.change(later, earlier) needs two Result, or two"),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_what_cannot_be_compared_is_refused_in_one_line(refused: str) -> None:
    call, words = REFUSED[refused]
    with pytest.raises((EstimateError, CallError)) as raised:
        call()
    assert words in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_only_results_are_subtracted() -> None:
    for one in (results(1), results(1)["choice"]):
        with pytest.raises(TypeError):
            one - 1
