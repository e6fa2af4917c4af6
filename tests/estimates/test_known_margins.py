"""Who answered: correcting to known shares removes the bias that they explain, with intervals that cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from helpers.claims import mean_is, rate_is, runs
from helpers.tables import pair_counts
from pldp import Survey, Tally, estimate, tally
from pldp.errors import AnswerError, EstimateError
from pldp.estimates import Margin, Shares, correct_shares
from pldp.estimates.kinds.cells import Cells
from pldp.estimates.kinds.sides import LabelSide
from pldp.estimates.linear.evidence import LabelChances
from pldp.estimates.margins import FAR_FROM_ZERO, _decoder, _Table
from pldp.mechanisms import Bits, Channel, build
from pldp.mechanisms.arrays import label_arrays
from pldp.simulate import Population, simulate_reports
from pldp.survey import survey_from_mapping
from pldp.tallies import OutputCounts, TableCounts
from pldp.tallies.kernel import tally_batch

GIVEN = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
"""Shares of the answers (rows) within every group (columns)."""

KNOWN = np.array([0.2, 0.4, 0.4])
READY = np.array([0.45, 0.20, 0.12])
"""How readily people of every group answer."""

TRUTH = GIVEN @ KNOWN


def form(rows: int, columns: int, epsilon: float) -> Survey:
    sizes = {"a": rows, "m": columns}
    questions = [
        {"name": name, "values": [f"{name}{place}" for place in range(size)], "mechanism": "krr"}
        for name, size in sizes.items()
    ]
    return survey_from_mapping({"pldp": 1, "title": "t", "levels": {"one": epsilon}, "questions": questions})


def known(shares: np.ndarray) -> dict[str, dict[str, float]]:
    return {"m": {f"m{place}": float(share) for place, share in enumerate(shares)}}


def answering(given: np.ndarray, shares: np.ndarray, ready: np.ndarray) -> np.ndarray:
    """Return the two-way table of those who answer."""
    return given * (shares * ready) / (shares @ ready)


def tallies(survey: Survey, table: np.ndarray, reports: int, count: int, seed: int = 1) -> Iterator[Tally]:
    """Draw the counts of all pairs of outputs at once, from their exact law."""
    empty = Tally.empty(survey, pairs=[("a", "m")])
    (cell,) = empty.pairs
    one, two = (
        np.array([[float(each.channels[0].probability(y, x)) for x in range(size)] for y in range(size)])
        for each, size in zip(survey.questions, table.shape, strict=True)
    )
    law = (one @ table @ two.T).ravel()
    for drawn in np.random.default_rng(seed).multinomial(reports, law / law.sum(), count):
        both = drawn.reshape(table.shape)
        sums = both.sum(axis=1), both.sum(axis=0)
        counts = {(name, "one"): OutputCounts(own) for name, own in zip("am", sums, strict=True)}
        yield replace(empty, counts=counts, reports=reports, pairs={cell: pair_counts(reports, *sums, both)})


def covers(result, truth: np.ndarray, narrower: float = 1.0) -> np.ndarray:
    reach = narrower * (result.shares - result.interval(0.95).low)
    return (abs(result.shares - truth) <= reach).astype(float)


@cache
def corrected(epsilon: float) -> tuple[list[Tally], list[Shares]]:
    drawn = [*tallies(form(3, 3, epsilon), answering(GIVEN, KNOWN, READY), 20_000, runs(100, 5000))]
    return drawn, [estimate(each, "a", known=known(KNOWN)) for each in drawn]


@pytest.mark.parametrize("epsilon", [1, 2])
def test_a_bias_of_ten_points_is_removed_where_the_margin_explains_it(epsilon: float) -> None:
    """3 × 3 cells, 20,000 people: the share of a0 is 10 points too large among those who answer."""
    table = answering(GIVEN, KNOWN, READY)
    assert table.sum(axis=1)[0] - TRUTH[0] == pytest.approx(0.1, abs=0.001)
    drawn, found = corrected(epsilon)
    off = np.mean([each.shares for each in found], axis=0) - TRUTH
    assert abs(off).max() < 0.01
    hits = np.array([covers(each, TRUTH) for each in found])
    assert all(rate_is(column, 0.95) for column in hits.T), hits.mean(axis=0)
    assert len(hits) < 5000 or 0.93 <= hits.mean() <= 0.97
    uncorrected = np.array([covers(estimate(each, "a"), TRUTH) for each in drawn[: runs(40, 100)]])
    assert uncorrected[:, [0, 2]].mean() < 0.01
    assert not any(note.code == "margin-merged" for each in found for note in each.notes)


@pytest.mark.parametrize("epsilon", [1, 2])
def test_the_test_rejects_intervals_that_are_a_third_narrower(epsilon: float) -> None:
    """In the short form a third as wide: they cover in half of the runs, and 82 of 100 would be needed for each."""
    hits = np.array([covers(each, TRUTH, runs(33, 67) / 100) for each in corrected(epsilon)[1]])
    assert not all(rate_is(column, 0.95) for column in hits.T)


def test_what_the_margin_does_not_explain_stays() -> None:
    """People of one answer are readier than others within every group: the correction is off, and cannot know it."""
    table = GIVEN * KNOWN * np.array([2.0, 1.0, 1.0])[:, None]
    drawn = tallies(form(3, 3, 2), table / table.sum(), 20_000, runs(50, 1000))
    found = [estimate(each, "a", known=known(KNOWN)) for each in drawn]
    assert np.mean([each.shares[0] for each in found]) > TRUTH[0] + 0.1
    assert np.mean([covers(each, TRUTH)[0] for each in found]) < 0.01
    assert all("those who reported are like those who did not" in each.assumptions[0] for each in found)


def outputs(channel: Channel) -> np.ndarray:
    every = [*channel.outputs()]
    return np.array([list(each) for each in every], np.uint8) if isinstance(channel.form, Bits) else np.array(every)


@pytest.mark.parametrize(("first", "second"), [("krr", "krr"), ("oue", "krr"), ("lh", "oue"), ("subset", "sue")])
def test_errors_are_exact_by_enumeration(first: str, second: str) -> None:
    """The covariance of ψ over all pairs of outputs, weighed with their probabilities, for a table and any factors."""
    channels = build(first, 3, 1_000_000), build(second, 4, 1_500_000)
    table = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(3, 4)
    factors, ratios = np.array([2.0, 0.5, 1.0, 0.7]), np.random.default_rng(2).random((3, 4))
    forms, shares = [label_arrays(each) for each in channels], [table.sum(axis=1), table.sum(axis=0)]
    said, chances = [], []
    for channel, arrays, own in zip(channels, forms, shares, strict=True):
        every = outputs(channel)
        marks = np.concatenate([arrays.supported(every), np.ones((len(every), 1))], axis=1)
        said.append(marks @ _decoder(arrays, own, plain=False).T)
        assert np.allclose(said[-1].sum(axis=1), 1)
        drawn = [*channel.outputs()]
        chances.append(np.array([[float(channel.probability(y, x)) for x in range(channel.size)] for y in drawn]))
    law = chances[0] @ table @ chances[1].T
    psi = np.einsum("m,qm,pa->pqa", factors, said[1], said[0]) - np.einsum("m,qm,am->qa", factors, said[1], ratios)
    mean = np.einsum("pq,pqa->a", law, psi)
    exact = np.einsum("pq,pqa,pqb->ab", law, psi, psi) - np.outer(mean, mean)
    one_report = pair_counts(1, np.zeros(3, int), np.zeros(4, int), np.zeros((3, 4), int))
    margins = [Margin(name, ("x",) * len(own), own, own, 1) for name, own in zip("am", shares, strict=True)]
    sides = [LabelSide(margin=each, forms=[form]) for each, form in zip(margins, forms, strict=True)]
    shown = LabelChances(((0, 0),), np.eye(1), visible=True)
    cells = Cells.of(sides, shown, {(0, 0): one_report}, None)
    made = replace(_Table.of(cells, [False, False], "precision"), shares=table)
    found = made.corrected_covariance(factors, ratios)
    assert np.allclose(found, exact, atol=1e-6 * abs(exact).max())


MIXED = {"strict": 1, "open": 3}


def mixed(mechanism: str) -> Survey:
    questions = [
        {"name": "a", "values": ["a0", "a1", "a2"], "mechanism": mechanism},
        {"name": "m", "values": ["m0", "m1", "m2"], "mechanism": {"strict": mechanism, "open": "krr"}},
    ]
    return survey_from_mapping({"pldp": 1, "title": "t", "levels": MIXED, "questions": questions})


@pytest.mark.parametrize(("mechanism", "pool"), [("oue", "precision"), ("subset", "size")])
def test_levels_of_any_mechanism_are_pooled(mechanism: str, pool: str) -> None:
    """Pooled by size, levels may depend on the group: its people choose the open one in another proportion."""
    generator, people, count = np.random.default_rng(3), 2000, runs(40, 600)
    table = answering(GIVEN, KNOWN, READY)
    cell = generator.choice(9, people * count, p=table.ravel())
    choice = generator.random(people * count) < (np.array([0.2, 0.5, 0.8])[cell % 3] if pool == "size" else 0.5)
    population = Population({"a": cell // 3, "m": cell % 3}, {name: choice.astype(int) for name in "am"})
    survey = mixed(mechanism)
    found = [
        correct_shares(tally_batch(survey, batch, pairs=[("m", "a")]), "a", known(KNOWN), pool=pool)
        for batch in simulate_reports(survey, population, seed=4, rows=people)
    ]
    assert len(found) == count
    hits = np.array([covers(each, TRUTH).mean() for each in found])
    assert mean_is(hits, 0.95), hits.mean()
    errors = np.array([each.shares - TRUTH for each in found])
    assert all(mean_is(column, 0.0) for column in errors.T)
    ratio = (errors**2).mean(axis=0) / np.mean([each.standard_error**2 for each in found], axis=0)
    assert 0.6 < ratio.mean() < 1.5
    assert (found[0].assumption_free is not None) is (pool == "precision")


def eight_groups() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    return generator.dirichlet(np.ones(6), 8).T, generator.dirichlet(np.full(8, 4.0)), generator.uniform(0.1, 0.4, 8)


def test_margins_too_noisy_to_divide_by_are_merged_and_it_is_said() -> None:
    """6 × 8 cells at ε = 1: every group divided by on its own breaks down; merged by readiness, intervals cover."""
    given, shares, ready = eight_groups()
    survey, table, truth = form(6, 8, 1), answering(given, shares, ready), given @ shares
    found = [
        estimate(each, "a", known=known(shares)) for each in tallies(survey, table, 20_000, runs(150, 1000), seed=2)
    ]
    for each in found:
        (note,) = [note for note in each.notes if note.code == "margin-merged"]
        assert note.severity == "warning"
        assert "m5" in note.text
    assert max(float(each.standard_error.max()) for each in found) < 0.1
    hits = np.array([covers(each, truth).mean() for each in found])
    assert 0.94 <= hits.mean() <= 0.99


def test_too_few_reports_are_refused_in_one_line() -> None:
    (few,) = tallies(form(3, 3, 1), answering(GIVEN, KNOWN, READY), 60, 1)
    words = rf"60 reports say too little about 'm' to correct by it.*{FAR_FROM_ZERO:g} of them above 0"
    with pytest.raises(EstimateError, match=words):
        estimate(few, "a", known=known(KNOWN))
    (one,) = tallies(form(3, 3, 1), answering(GIVEN, KNOWN, READY), 1, 1)
    with pytest.raises(EstimateError, match="^1 report says too little"):
        estimate(one, "a", known=known(KNOWN))


def some(reports: int = 20_000) -> Tally:
    (found,) = tallies(form(3, 3, 2), answering(GIVEN, KNOWN, READY), reports, 1)
    return found


def test_a_margin_that_is_that_of_those_who_answered_changes_nothing() -> None:
    counted = some()
    plain = estimate(counted, "a")
    same = estimate(counted, "a", known=known(estimate(counted, "m").shares))
    assert np.allclose(plain.shares, same.shares)
    assert same.shares.sum() == pytest.approx(1)
    assert np.allclose(same.covariance.sum(axis=0), 0, atol=1e-12)
    assert np.allclose(np.diag(same.covariance), same.standard_error**2)


def test_percentages_and_rounded_shares_are_scaled_and_it_is_said() -> None:
    counted = some()
    exact = estimate(counted, "a", known=known(KNOWN))
    assert np.allclose(estimate(counted, "a", known=known(100 * KNOWN)).shares, exact.shares)
    rounded = estimate(counted, "a", known=known(KNOWN * 0.995))
    assert np.allclose(rounded.shares, exact.shares)
    assert [note.text for note in rounded.notes if note.code == "known-scaled"] == [
        "the known shares of 'm' sum to 99.50 %: they were scaled to 100 %"
    ]
    assert "known-scaled" not in {note.code for note in exact.notes}


def test_a_result_says_who_answered_and_what_it_assumes() -> None:
    found = estimate(some(), "a", known=known(KNOWN))
    (note,) = [note for note in found.notes if note.code == "who-answered"]
    assert "shares of 'm' are m0 " in note.text
    assert "instead of 20.0 %" in note.text
    assert found.method == "unbiased, pooled by precision, corrected to the known shares of 'm'"
    assert "among people of the same answer to 'm', those who reported are like those who did not" in found.assumptions
    assert found.target == "population"
    with pytest.raises(EstimateError, match="must be one of unbiased"):
        estimate(some(), "a", known=known(KNOWN), method="likelihood")
    assert found.consistent().sum() == pytest.approx(1)


HIDDEN = {"pldp": 1, "title": "t", "levels": {"strict": 1, "open": 3}, "hide_level": {"epsilon": 1},
    "questions": [{"name": name, "values": [f"{name}{place}" for place in range(3)]} for name in "am"]}  # fmt: skip

REFUSED = {
    "no shares": ({}, "known must name one question"),
    "two questions": ({"a": {}, "m": {}}, "known must name one question"),
    "no mapping": ({"m": 3}, "known shares must be given by label"),
    "a label without share": ({"m": {"m0": 0.5, "m1": 0.5}}, "every label needs its known share; 'm2' has none"),
    "a label that is none": (
        {"m": {"m0": 0.5, "m1": 0.2, "m3": 0.3}},
        "question 'm': unknown label; it has: m0, m1, m2",
    ),
    "a share of nothing": ({"m": {"m0": 1, "m1": 0, "m2": 0.3}}, "share of 'm1' must be a number above 0, not 0"),
    "no number": ({"m": {"m0": True, "m1": 0.2, "m2": 0.3}}, "share of 'm0' must be a number above 0, not True"),
    "a sum": ({"m": {"m0": 0.5, "m1": 0.5, "m2": 0.5}}, "must sum to 1, or to 100 as percentages, not to 1.5"),
    "itself": ({"a": {"a0": 0.5, "a1": 0.25, "a2": 0.25}}, "the shares of 'a' are known: name the question"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_known_shares_is_refused_in_one_line(case: str) -> None:
    given, words = REFUSED[case]
    with pytest.raises(EstimateError) as raised:
        estimate(some(), "a", known=given)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_options_that_contradict_a_correction_are_refused() -> None:
    counted = some()
    with pytest.raises(AnswerError, match="unknown question"):
        estimate(counted, "a", known={"x": {}})
    with pytest.raises(EstimateError, match='target must be "population"'):
        estimate(counted, "a", known=known(KNOWN), target="respondents")
    with pytest.raises(EstimateError, match="must be one of unbiased, not 'likelihood'"):
        estimate(counted, "a", known=known(KNOWN), method="likelihood")
    assert estimate(counted, "a", known=known(KNOWN), pool="size").assumption_free is None
    with pytest.raises(EstimateError, match=r"not tallied as a pair; tally the reports with pairs=\[\('a', 'm'\)\]"):
        estimate(replace(counted, pairs={}), "a", known=known(KNOWN))
    apart = replace(Tally.empty(counted.survey, pairs=[("a", "m")]), counts=counted.counts)
    with pytest.raises(EstimateError, match="no report answers both 'a' and 'm'"):
        estimate(apart, "a", known=known(KNOWN))


@cache
def corrected_hidden() -> list[Shares]:
    """Correct hidden levels, which people choose whatever their answers are, one for both questions."""
    survey, table, found = survey_from_mapping(HIDDEN), answering(GIVEN, KNOWN, READY), []
    for seed in range(runs(40, 1000)):
        generator = np.random.default_rng(seed)
        cell, level = generator.choice(9, 10_000, p=table.ravel()), generator.integers(0, 2, 10_000, dtype=np.uint8)
        people = Population({"a": cell // 3, "m": cell % 3}, dict.fromkeys("am", level))
        found.append(estimate(tally(survey, simulate_reports(survey, people, seed=seed), pairs=[("a", "m")]), "a",
                              known=known(KNOWN)))  # fmt: skip
    return found


def test_hidden_levels_are_corrected_too() -> None:
    """Whether or not they are taken to be alike; in the short form the twin's intervals are a third as wide."""
    for found in (corrected_hidden(), [each.assumption_free for each in corrected_hidden()]):
        hits = np.array([covers(each, TRUTH).mean() for each in found])
        assert mean_is(hits, 0.95) or hits.mean() > 0.95, hits.mean()
        assert not mean_is([covers(each, TRUTH, runs(33, 67) / 100).mean() for each in found], 0.95)
        errors = np.array([each.shares - TRUTH for each in found])
        assert abs(errors.mean(axis=0)).max() < 0.03
        ratio = (errors**2).mean() / np.mean([each.standard_error**2 for each in found])
        assert 0.6 < ratio < 1.5
        assert np.allclose([each.shares.sum() for each in found], 1)


def test_a_whole_survey_is_corrected_where_it_can_be_and_the_rest_says_so() -> None:
    survey = Survey.load("tests/structure/everything.toml")
    assert {each.kind for each in survey.questions} > {"choice"}
    margin, other = [each for each in survey.questions if each.domain == "labels"][:2]
    people = Population.of_shares(survey, 20_000, seed=1)
    counted = tally(survey, simulate_reports(survey, people, seed=1), pairs=[(margin.name, other.name)])
    shares = {margin.name: dict.fromkeys(margin.values, 1 / len(margin.values))}
    found = estimate(counted, known=shares)
    for name, result in found.items():
        codes = {note.code for note in result.notes}
        assert ("not-corrected" in codes) is (name != other.name)
        assert ("who-answered" in codes) is (name == other.name)
    assert "not-corrected" in {note.code for note in found.tables[0].notes}
    with pytest.raises(EstimateError, match="no question was tallied as a pair with"):
        estimate(replace(counted, pairs={}), known=shares)


def test_both_orders_of_a_pair_give_the_same() -> None:
    counted = some()
    ((cell, counts),) = counted.pairs.items()
    turned = TableCounts(counts.marked.T)
    other = replace(counted, pairs={(cell[1], cell[0]): turned})
    for pool in ("precision", "size"):
        one, two = (estimate(each, "a", known=known(KNOWN), pool=pool) for each in (counted, other))
        assert np.allclose(one.shares, two.shares)
        assert np.allclose(one.standard_error, two.standard_error)
