"""Every result is a Result: one surface, plain data, the same for every kind, mechanism, hidden levels and fits."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from functools import cache
from typing import Any, get_type_hints

import numpy as np
import pytest

from helpers.claims import runs
from pldp import Survey, Tally, estimate, tally
from pldp.errors import EstimateError
from pldp.estimates import (
    Result,
    Results,
    Row,
    Sets,
    baskets_of,
    density,
    frequencies,
    itemsets,
    mean,
    supports,
)
from pldp.estimates.kinds import BY_KIND
from pldp.estimates.likelihood.profile import Profile
from pldp.estimates.results.options import GivenOptions, Options
from pldp.mechanisms import names
from pldp.papers.personal import personal_frequencies
from pldp.simulate import Population, perturb_personal, simulate_reports
from pldp.survey import loads
from pldp.tallies import fused_of

KEYS = {
    "name", "text", "kind", "unit", "reports", "method", "target", "confidence", "rows", "notes", "assumptions",
    "manipulation", "forgery", "homogeneity", "alike", "assumes_about_levels", "differ", "groups", "levels", "live",
    "lead", "conclusions",
}  # fmt: skip
OWN_KEYS = {
    "choice": set(),
    "choices": {"sets", "rules", "min_support", "promise", "largest"},
    "number": {"density", "moves", "bounds"},
    "table": {"questions", "margins", "association"},
}


def counted(document: dict, *, people: int = 4000, **options) -> Tally:
    survey = loads(json.dumps({"pldp": 1, "title": "t", "levels": {"strict": 0.7, "open": 2}, **document}))
    return tally(
        survey, simulate_reports(survey, Population.of_shares(survey, people, seed=1), seed=1), patterns=True, **options
    )


@cache
def choice(mechanism: str = "krr", *, hidden: bool = False) -> Tally:
    question = {"name": "q", "text": "Which?", "values": ["a", "b", "c", "d"], "mechanism": mechanism}
    if mechanism in names("labels", per_value=True):
        question["fractions"] = {"a": "1"}
    return counted({"questions": [question], **({"hide_level": {"epsilon": 1}} if hidden else {})})


@cache
def other_kind(mechanism: str) -> Tally:
    """Reports of a mechanism for sets or for numbers."""
    question = {"name": "q", "text": "Which?", "kind": "number", "low": 0, "high": 10, "buckets": 16}
    if mechanism in names("sets"):
        question = {"name": "q", "text": "Which?", "kind": "choices", "values": ["a", "b", "c"]}
        if mechanism in names("sets", per_value=False):
            question["budget"] = "set"
    return counted({"questions": [{**question, "mechanism": mechanism}]})


@cache
def shopping() -> Tally:
    survey = Survey.load("examples/shopping.toml")
    return tally(survey, simulate_reports(survey, Population.of_shares(survey, 5000, seed=1), seed=1))


@cache
def commute() -> Tally:
    survey = Survey.load("examples/commute.toml")
    people = Population.of_shares(survey, 5000, seed=2)
    return tally(survey, simulate_reports(survey, people, seed=2), pairs=[("late", "mode")])


@cache
def bought() -> Results:
    return estimate(shopping())


def disagreeing(question: dict, low: list, high: list) -> Tally:
    """People of the open level answer otherwise than people of the strict one."""
    document = {"pldp": 1, "title": "t", "levels": {"strict": 2, "open": 4}, "questions": [{"name": "q", **question}]}
    survey = loads(json.dumps(document))
    parts = [
        simulate_reports(survey, Population.of_values(survey, {"q": values}, level_mix={level: 1}, seed=3), seed=3)
        for level, values in (("strict", low), ("open", high))
    ]
    return tally(survey, parts[0]) + tally(survey, parts[1])


def personal() -> Result:
    generator = np.random.default_rng(7)
    values, epsilon = generator.integers(0, 4, 1000), generator.uniform(0.5, 3, 1000)
    return personal_frequencies("krr", perturb_personal("krr", values, 4, epsilon, generator), epsilon, 4)


DISAGREEING = {
    "choice": ({"values": ["a", "b"]}, ["a"] * 2000, ["b"] * 2000),
    "choices": ({"kind": "choices", "values": ["a", "b"]}, [["a"]] * 2000, [["b"]] * 2000),
    "number": ({"kind": "number", "low": 0, "high": 10, "buckets": 16}, [2.0] * 2000, [8.0] * 2000),
}


@cache
def disagreement(kind: str) -> tuple[Tally, Result]:
    reports = disagreeing(*DISAGREEING[kind])
    return reports, estimate(reports, "q")


FITTED = names("labels") if runs(0, 1) else ("krr", "oue", "subset", "lh", "iprr")
"""Mechanisms whose fits are looked at: in the short form one per form of output, and one with a budget per value."""

ASKED = {
    **{f"choice by {name}": lambda name=name: estimate(choice(name), "q") for name in names("labels")},
    **{
        f"fit of {name}": lambda name=name: estimate(choice(name), "q", method="likelihood", differ=0)
        for name in FITTED
    },
    **{f"by {name}": lambda name=name: estimate(other_kind(name), "q") for name in names("sets") + names("numbers")},
    "hidden levels": lambda: estimate(choice(hidden=True), "q"),
    "hidden levels, fit": lambda: estimate(choice(hidden=True), "q", method="likelihood", differ=0),
    "respondents": lambda: estimate(choice(), "q", target="respondents"),
    "choices": lambda: bought()["basket"],
    "number": lambda: bought()["spent"],
    "table": lambda: estimate(commute()).tables[0],
    "an epsilon per person": personal,
    **{f"levels disagree, {kind}": lambda kind=kind: disagreement(kind)[1] for kind in BY_KIND},
}


def through_pickle(found: object) -> Any:
    return pickle.loads(pickle.dumps(found))  # noqa: S301 - only of results made here


@pytest.mark.parametrize("asked", ASKED)
def test_every_result_is_plain_data_with_one_surface(asked: str) -> None:
    found = ASKED[asked]()
    restored, copied = through_pickle(found), copy.deepcopy(found)
    assert restored == found == copied
    assert found != replace(found, method="another")
    assert repr(restored) == repr(found)
    for row in found.rows(0.9):
        assert isinstance(row, Row)
        assert row.low <= row.estimate <= row.high
        assert row.standard_error > 0
    content = found.to_mapping(0.9)
    assert content.keys() - {"fit"} == KEYS | OWN_KEYS[found.kind]
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert [row["estimate"] for row in content["rows"]] == [row.estimate for row in found.rows()]
    assert all({"label", "estimate", "standard_error", "low", "high"} <= row.keys() for row in content["rows"])
    assert len(found.to_frame()) == len(found.rows())
    assert len(repr(found).splitlines()) <= 5
    assert found.question in str(found)
    assert "<table>" in found._repr_html_()
    low, high = found.interval(0.9)
    widest, highest = found.interval(0.9, simultaneous=True)
    normal = np.reshape(found.has_normal_error, low.shape)  # other ends are edges of buckets
    assert ((widest < low) | ~normal & (widest == low)).all()
    assert ((highest > high) | ~normal & (highest == high)).all()


def test_a_copy_answers_what_is_computed_late_as_the_original_does() -> None:
    for asked in ("choice by oue", "fit of oue", "hidden levels", "hidden levels, fit"):
        found = ASKED[asked]()
        restored = through_pickle(found)
        np.testing.assert_array_equal(restored.covariance, found.covariance)
        np.testing.assert_array_equal(restored.consistent(), found.consistent())
    together = {"kind": "choices", "values": ["a", "b"]}, [["a", "b"]] * 2000, [["a"], ["a", "b"]] * 1000
    found = estimate(disagreeing(*together), "q")
    assert through_pickle(found).rules(0) == found.rules(0)
    assert found.rules(0)


def test_results_that_say_different_things_differ() -> None:
    one, other = estimate(choice(), "q"), estimate(choice("oue"), "q")
    assert one != other
    assert one != estimate(choice(), "q", target="respondents")
    assert one != one.to_mapping()


@pytest.mark.parametrize("kind", BY_KIND)
def test_a_result_assumes_nothing_about_levels_and_what_does_stands_beside(kind: str) -> None:
    counted, found = disagreement(kind)
    alike, content = estimate(counted, "q", differ=0), found.to_mapping()
    assert (found.notes[0].code, found.notes[0].severity) == ("levels-disagree", "info")
    assert (alike.notes[0].code, alike.notes[0].severity) == ("levels-disagree", "warning")
    assert content["assumes_about_levels"] == "nothing"
    assert [
        own | {"unseen_bias": row["unseen_bias"]}
        for own, row in zip(alike.to_mapping()["rows"], content["alike"]["rows"], strict=True)
    ] == content["alike"]["rows"]
    assert content["alike"]["rejected"]
    assert not content["alike"]["said"]
    assert content["alike"]["rows"] != content["rows"]
    assert alike.to_mapping()["alike"] is None
    assert alike.to_mapping()["assumes_about_levels"] == "alike"


def test_a_whole_tally_has_every_question_or_the_reason_why_not() -> None:
    results = bought()
    assert isinstance(results, Results)
    assert results["reason"] == estimate(shopping(), "reason")
    assert list(results) == ["basket", "reason", "spent"]
    assert through_pickle(results) == results == copy.deepcopy(results)
    assert [each["kind"] for each in results.to_mapping()["questions"]] == ["choices", "choice", "number"]
    assert len(results.to_frame()) == sum(len(each.rows()) for each in results.values())
    empty = estimate(Tally.empty(shopping().survey))
    assert len(empty) == 0
    assert [each["name"] for each in empty.to_mapping()["missing"]] == ["basket", "reason", "spent"]
    assert all("has no reports" in each["reason"] for each in empty.to_mapping()["missing"])
    with pytest.raises(KeyError, match="'spent' has no reports"):
        empty["spent"]
    assert empty.get("spent") is None
    with pytest.raises(KeyError):
        results["colour"]


def test_tables_of_tallied_pairs_come_with_the_results() -> None:
    (table,) = estimate(commute()).tables
    assert table.question == "late × mode"
    assert table.rows()[1].label == (table.margins[0].values[0], table.margins[1].values[1])
    for library in ("pandas", "polars"):
        assert list(table.to_frame(library=library).columns)[:3] == ["late", "mode", "estimate"]
    (own,) = estimate(commute(), target="respondents", confidence=0.9).tables
    assert own.standard_error.sum() < table.standard_error.sum()
    assert (own.target, own.confidence) == ("respondents", 0.9)


def test_a_table_whose_levels_disagree_has_the_one_beside_that_takes_them_to_be_alike() -> None:
    survey = commute().survey
    parts = [
        tally(
            survey,
            simulate_reports(
                survey,
                Population.of_values(survey, {"late": [late] * 1500, "mode": ["car"] * 1500}, level_mix={level: 1}),
                seed=1,
            ),
            pairs=[("late", "mode")],
        )
        for level, late in (("strict", "yes"), ("open", "no"))
    ]
    (table,) = estimate(parts[0] + parts[1]).tables
    (alike,) = estimate(parts[0] + parts[1], differ=0).tables
    stated = [(row["low"], row["high"]) for row in table.to_mapping()["alike"]["rows"]]
    assert stated == [(row["low"], row["high"]) for row in alike.to_mapping()["rows"]]
    assert table.notes[0].code == "levels-disagree"


@pytest.mark.parametrize(
    ("question", "options", "line"),
    [
        ("spent", {"min_support": 0.2}, "min_support applies to questions of kind choices; question 'spent' is of"),
        ("basket", {"method": "likelihood"}, "method applies to questions of kind choice and number"),
        ("reason", {"colour": "red"}, "colour is not an option of estimate; options are target, differ"),
        ("reason", {"method": "median"}, "method must be one of unbiased, likelihood, not 'median'"),
        ("spent", {"method": "likelihood"}, "method must be one of weights, average, posterior, fitted"),
        ("spent", {"method": "fitted"}, "the mean of a fitted density takes people of all levels to be alike"),
        ("basket", {"pool": "size"}, "pool is no option any more: results assume nothing about levels"),
        ("basket", {"target": "us"}, "target must be one of population, respondents"),
        ("basket", {"confidence": 1}, "confidence must be between 0 and 1"),
    ],
)
def test_an_option_that_does_not_apply_is_refused(question: str, options: dict, line: str) -> None:
    with pytest.raises(EstimateError, match=line):
        estimate(shopping(), question, **options)


def test_an_option_for_no_question_of_the_survey_is_refused() -> None:
    with pytest.raises(EstimateError, match="largest applies to questions of kind choices; this survey has"):
        estimate(commute(), largest=2)
    assert max(map(len, estimate(shopping(), largest=1)["basket"].sets.sets)) == 1


def test_the_verb_gives_the_numbers_of_the_lower_verbs() -> None:
    basket, reason, spent = estimate(shopping(), confidence=0.8).values()
    assert isinstance(basket, Sets)
    groups, items = baskets_of(shopping(), "basket")
    np.testing.assert_array_equal(basket.support, supports(groups, items, [[item] for item in items]).support)
    np.testing.assert_array_equal(basket.sets.support, itemsets(groups, items, 0.1).support)
    np.testing.assert_array_equal(reason.shares, frequencies(shopping(), "reason").shares)
    fused = fused_of(shopping(), "spent")
    # Weights of levels come from the fitted curve in one, from a coarser one in the other.
    assert abs(spent.mean.value - mean(fused).value) < 0.01 * spent.mean.standard_error
    assert spent.alike.quantile(0.5, smooth=True) == density(fused).quantile(0.5, 0.8)
    assert spent.alike.quantile(0.5)[1:] == Profile(fused).quantiles((0.5,), 0.8).quantile(0.5, 0.8)
    assert spent.quantile(0.5)[1:] == Profile(fused, apart=True).quantiles((0.5,), 0.8).quantile(0.5, 0.8)
    assert [each.to_mapping()["confidence"] for each in (basket, reason, spent)] == [0.8] * 3


def test_items_have_rows_however_few_the_reports_are() -> None:
    survey = Survey.load("examples/shopping.toml")
    few = tally(survey, simulate_reports(survey, Population.of_shares(survey, 3, seed=1), seed=1))
    found = estimate(few, "basket")
    assert [row.label for row in found.rows()] == list(survey.question("basket").values)
    assert "few-reports" in [note.code for note in found.notes]


@pytest.mark.parametrize("asked", ["choice by krr", "choices", "number", "table"])
def test_every_kind_of_result_has_a_picture_of_its_own(asked: str) -> None:
    found = ASKED[asked]()
    axes = found.plot(0.9)
    assert found.question in axes.get_title(loc="left")
    assert found.plot(0.9, axes=axes) is axes
    axes.figure.canvas.draw()
    texts = [label.get_text() for label in (*axes.get_yticklabels(), *axes.get_xticklabels())]
    assert asked == "number" or {part for label in found.labels for part in np.atleast_1d(label)} <= set(texts)


def test_a_table_shows_every_share_with_its_reach_and_the_truth() -> None:
    table = ASKED["table"]()
    truth = np.full(table.shares.shape, 1 / table.shares.size)
    texts = [text.get_text() for text in table.plot(truth=truth).texts]
    assert len(texts) == 2 * table.shares.size
    assert texts[0].startswith(f"{table.consistent()[0, 0]:.1%}")
    assert "8.3%" in texts


def test_the_picture_of_a_skewed_number_is_as_high_as_its_curve_needs() -> None:
    """The upper end of the band is ten thousand times as high as the curve and more: grey, and said in the title."""
    document = {
        "name": "q",
        "kind": "number",
        "low": 0,
        "high": 1000,
        "buckets": 256,
        "mechanism": "sw",
        "outside": "clip",
    }
    survey = loads(json.dumps({"pldp": 1, "title": "t", "levels": {"a": 1, "b": 2}, "questions": [document]}))
    generator = np.random.default_rng(1)

    def found(numbers: np.ndarray) -> Result:
        people = Population.of_values(survey, {"q": numbers}, seed=1)
        return estimate(tally(survey, simulate_reports(survey, people, seed=1)), "q")

    skewed = found(generator.lognormal(2.5, 0.5, 20_000).clip(0, 1000))
    highest = skewed.density.density.max()
    assert skewed.density.band().high.max() > 1e4 * highest
    axes = skewed.plot()
    assert highest < axes.get_ylim()[1] <= 2 * highest
    assert "grey: the band reaches above the picture" in axes.get_title(loc="left")
    assert "grey" not in found(generator.uniform(0, 1000, 20_000)).plot().get_title(loc="left")


def test_the_types_of_options_are_those_of_the_options() -> None:
    assert get_type_hints(GivenOptions) == get_type_hints(Options)


def test_a_method_of_one_kind_is_no_reason_to_lose_another_and_is_noted() -> None:
    survey = Survey.load("examples/shopping.toml")
    counted = tally(survey, simulate_reports(survey, Population.of_shares(survey, 3000, seed=1), seed=1))
    results = estimate(counted, method="likelihood", differ=0)
    assert not results.missing
    assert "likelihood" in results["reason"].method
    for name in ("basket", "spent"):
        assert "other-method" in {note.code for note in results[name].notes}
    with pytest.raises(EstimateError, match="method must be one of average, fitted, likelihood"):
        estimate(counted, method="guess")
