"""Groups of different people: combined by their known shares, and compared by name, for every kind of question."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

import pldp
from helpers.claims import mean_of_few_is, rate_is, runs
from pldp import Survey, estimate, show, tally
from pldp.errors import CallError, EstimateError
from pldp.simulate import Population, simulate_reports, simulate_rounds
from pldp.tallies.kernel import tally_batch

SHOPPING = Survey.load("examples/shopping.toml")
COMMUTE = Survey.load("examples/commute.toml")
KNOWN = {"town": 0.3, "country": 0.7}


def ask(people: int, seed: int) -> pldp.Results:
    population = Population.of_shares(SHOPPING, people, seed=seed)
    return estimate(tally(SHOPPING, simulate_reports(SHOPPING, population, seed=seed)))


@cache
def _groups() -> dict[str, pldp.Results]:
    return {"town": ask(3000, 1), "country": ask(4000, 2)}


def groups() -> dict[str, pldp.Results]:
    return dict(_groups())


def test_every_kind_is_a_weighted_sum_with_independent_errors() -> None:
    parts = groups()
    found = pldp.combine(parts, KNOWN)
    assert {result.kind for result in found.values()} == {"choice", "choices", "number"}
    assert found.reports == 7000
    for name, result in found.items():
        one, two = (each[name] for each in parts.values())
        kept = one.has_normal_error
        assert np.allclose(result.estimates, (0.3 * one.estimates + 0.7 * two.estimates)[kept])
        expected = np.hypot(0.3 * one.standard_error, 0.7 * two.standard_error)[kept]
        assert np.allclose(result.standard_error, expected)
        assert len(result.labels) == kept.sum()
        assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - made here
        assert "groups hold different people" in result.assumptions
        assert result.target == "population"
        content = result.to_mapping()
        assert [each["name"] for each in content["combined"]] == ["town", "country"]
        assert show.card(content)
        assert (result.alike is not None) is (one.alike is not None)
    assert [note.code for note in found["spent"].notes][-1] == "quantiles-left-out"
    assert found["spent"].labels == ["mean"]
    assert np.allclose(pldp.combine(parts, {"town": 30, "country": 70})["spent"].estimates, found["spent"].estimates)


def test_a_combined_number_says_something_where_its_groups_do() -> None:
    """What a number can be is what it can be in a group, and no share."""
    parts, found = groups(), pldp.combine(groups(), KNOWN)["spent"]
    assert found.possible == parts["town"]["spent"].possible == (0, 300)
    assert "too_few" not in found.to_mapping()["rows"][0]
    assert "too few" not in str(found)


def test_tables_of_groups_are_combined() -> None:
    counted = []
    for seed in (1, 2):
        people = Population.of_shares(COMMUTE, 4000, seed=seed)
        counted.append(tally(COMMUTE, simulate_reports(COMMUTE, people, seed=seed), pairs=[("late", "mode")]))
    one, two = map(estimate, counted)
    found = pldp.combine({"town": one, "country": two}, KNOWN).tables[0]
    expected = 0.3 * one.tables[0].shares + 0.7 * two.tables[0].shares
    assert np.allclose(found.estimates, expected.ravel())
    assert show.card(found.to_mapping())


def late(generator: np.random.Generator, shares: dict[str, float], sizes: dict[str, int]) -> dict[str, pldp.Result]:
    found = {}
    for name, people in sizes.items():
        values = {"late": (generator.random(people) >= shares[name]).astype(int), "mode": np.zeros(people, int)}
        levels = {each.name: generator.integers(0, len(each.levels), people) for each in COMMUTE.questions}
        batches = simulate_reports(COMMUTE, Population(values, levels), seed=int(generator.integers(2**32)))
        (batch,) = batches
        found[name] = estimate(tally_batch(COMMUTE, batch), "late")
    return found


def test_combined_groups_cover_the_population_where_all_reports_together_do_not() -> None:
    """Town has 30 % of the people and 75 % of the reports; half of it is late, and a fifth of the country."""
    generator = np.random.default_rng(1)
    truth = 0.3 * 0.5 + 0.7 * 0.2
    hits, pooled = [], []
    for _ in range(runs(50, 1000)):
        found = late(generator, {"town": 0.5, "country": 0.2}, {"town": 3000, "country": 1000})
        low, high = pldp.combine(found, KNOWN).interval()
        hits.append(float(low[0] <= truth <= high[0]))
        pooled.append(0.75 * found["town"].shares[0] + 0.25 * found["country"].shares[0])
    assert rate_is(hits, 0.95)
    assert not mean_of_few_is(pooled, truth)


def test_groups_are_compared_by_name() -> None:
    parts = groups()
    found = pldp.change(parts["town"], parts["country"], groups=("town", "country"))
    for name, result in found.items():
        one, two = (each[name] for each in parts.values())
        kept = one.has_normal_error
        assert result.names == ("town", "country")
        assert np.allclose(result.estimates, np.ravel(one.estimates - two.estimates))
        assert np.allclose(result.standard_error[kept], np.hypot(one.standard_error, two.standard_error)[kept])
        assert "groups hold different people" in result.assumptions
        assert "rounds" not in " ".join(note.text for note in result.notes if note.code != "wide-quantiles")
        words = str(result)
        assert "town minus country" in words
        assert "change" not in words
        card = show.card(result.to_mapping())
        assert "Do town and country differ?" in card
        assert "Did anything change?" not in card
    known = pldp.change(parts["town"]["reason"], parts["country"]["reason"], groups=("a", "b"), overlap=10)
    assert "people-overlap" in {note.code for note in known.notes}


def test_rounds_without_names_are_rounds() -> None:
    one, two = groups().values()
    result = two["reason"] - one["reason"]
    assert result.names == ()
    assert str(result).startswith("reason: changes of ")
    assert "Did anything change?" in show.card(result.to_mapping())


def test_warnings_of_groups_are_named() -> None:
    parts = groups()
    disagree = pldp.estimates.Note("levels-disagree", "levels disagree", "warning")
    parts["town"] = replace(parts["town"]["reason"], notes=(disagree,))
    parts["country"] = parts["country"]["reason"]
    texts = [note.text for note in pldp.combine(parts, KNOWN).notes]
    assert texts == ["in town: levels disagree"]
    compared = pldp.change(parts["town"], parts["country"], groups=("town", "country"))
    assert "in town: levels disagree" in {note.text for note in compared.notes}


REFUSED = {
    "one group": (lambda parts: pldp.combine({"town": parts["town"]}, {"town": 1.0}), "two or more groups by name"),
    "a list": (lambda parts: pldp.combine([*parts.values()], KNOWN), "two or more groups by name"),
    "no share": (lambda parts: pldp.combine(parts, {"town": 1.0}), "every group needs its known share; 'country' has"),
    "another group": (lambda parts: pldp.combine(parts, {**KNOWN, "sea": 0.1}), "unknown group; it has: town, country"),
    "a sum": (lambda parts: pldp.combine(parts, {"town": 0.3, "country": 0.3}), "must sum to 1"),
    "a number": (lambda parts: pldp.combine(parts, {"town": math.nan, "country": 1}), "must be a number above 0"),
    "tallies": (lambda _: pldp.combine({"town": 1, "country": 2}, KNOWN), "needs a Result, or Results"),
    "questions": (
        lambda parts: pldp.combine({"town": parts["town"]["spent"], "country": parts["country"]["reason"]}, KNOWN),
        "groups of 'spent' must have the same question",
    ),
    "one name": (lambda parts: pldp.change(*parts.values(), groups=("a", "a")), "groups must be two different names"),
    "a word": (lambda parts: pldp.change(*parts.values(), groups="ab"), "groups must be two different names"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_combined_is_refused_in_one_line(case: str) -> None:
    call, words = REFUSED[case]
    with pytest.raises((EstimateError, CallError)) as raised:
        call(groups())
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_groups_about_the_respondents_are_not_combined() -> None:
    people = Population.of_shares(SHOPPING, 500, seed=1)
    counted = tally(SHOPPING, simulate_reports(SHOPPING, people, seed=1))
    own = estimate(counted, "reason", target="respondents")
    with pytest.raises(EstimateError, match="combined groups are about the population"):
        pldp.combine({"town": own, "country": own}, KNOWN)


def means_of_rounds(seed: int) -> tuple[bool, bool]:
    """Whether intervals of a mean over 25 rounds cover the truth, as if their errors were common, and independent.

    The same people answer, and the label of their hidden level is the same in every round.
    """
    document = {
        "pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 2}, "hide_level": {"epsilon": 0.5},
        "repeat": "fresh", "questions": [{"name": "late", "values": ["yes", "no"]}],
    }  # fmt: skip
    survey = Survey.read(document)
    people = Population.of_shares(survey, 1000, {"late": [0.3, 0.7]}, seed=seed)
    results = {
        str(each.number): estimate(tally(survey, each.batches), "late")
        for each in simulate_rounds(survey, people, 25, change=0.0, seed=seed)
    }
    known = dict.fromkeys(results, 0.04)
    rows = (pldp.combine(results, known, same_people=same).rows()[0] for same in (True, False))
    common, independent = (row.low < 0.3 < row.high for row in rows)
    return common, independent


def test_a_mean_over_rounds_of_the_same_people_covers_and_independent_rounds_do_not() -> None:
    """A nominal interval covers fewer than `least` of so many times with a chance of 1e-6; the twin does."""
    count = runs(24, 200)
    common, independent = map(sum, zip(*map(means_of_rounds, range(count)), strict=True))
    least = stats.binom.ppf(1e-6, count, 0.95)
    assert common >= least > independent
