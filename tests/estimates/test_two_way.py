"""Two-way tables: unbiased, with covering intervals, and consistent with their margins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from helpers.claims import FALSE_ALARM, mean_of_few_is, rate_is, runs
from pldp import Survey, Tally, tally
from pldp.errors import EstimateError, TallyError
from pldp.estimates import frequencies, two_way, with_margins
from pldp.mechanisms import Bits, build, names
from pldp.mechanisms.arrays import label_arrays
from pldp.simulate import Population, perturb, simulate_reports
from pldp.survey import survey_from_mapping
from pldp.tallies import TableCounts
from pldp.tallies.kernel import tally_batch

TRUTH = np.array([[0.30, 0.05, 0.05], [0.05, 0.25, 0.30]])
PAIR = ("a", "b")


def form(mechanism: str, **keys: object) -> Survey:
    questions = [
        {"name": "a", "values": ["yes", "no"], "mechanism": mechanism},
        {"name": "b", "values": ["x", "y", "z"], "mechanism": {"strict": mechanism, "open": "krr"}},
    ]
    levels = {"strict": 1, "open": 3}
    return survey_from_mapping({"pldp": 1, "title": "t", "levels": levels, "questions": questions, **keys})


def people(survey: Survey, number: int, seed: int) -> Population:
    """Dependent answers; levels chosen at random."""
    generator = np.random.default_rng(seed)
    cell = generator.choice(TRUTH.size, number, p=TRUTH.ravel())
    values = {"a": cell // 3, "b": cell % 3}
    return Population(values, {name: generator.integers(0, 2, number) for name in values})


def estimates(survey: Survey, number: int, repeats: int, differ: float | None = 0):
    for batch in simulate_reports(survey, people(survey, number * repeats, 1), seed=2, rows=number):
        yield two_way(tally_batch(survey, batch, pairs=[PAIR]), "a", "b", differ=differ)


def all_cover(hits: list[np.ndarray]) -> bool:
    """Tell whether each cell of a table can be covered in 95 % of the runs; cells are not independent."""
    return all(rate_is(cell, 0.95) for cell in np.array(hits).reshape(len(hits), -1).T)


def mean_square_bounds(free: int) -> tuple[float, float]:
    """Between which the mean square of so many independent normal errors lies (false alarm 1e-6)."""
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], free) / free
    return float(low), float(high)


ONE_PER_FORM = ("krr", "oue", "subset", "lh")
"""Of the mechanisms whose errors are sampled, one for each form of output; the long form has them all."""


@pytest.mark.parametrize("mechanism", names("labels", per_value=False) if runs(0, 1) else ONE_PER_FORM)
def test_shares_are_unbiased_and_intervals_cover(mechanism: str) -> None:
    """6 cells: 95 % intervals cover 95 % up to chance, errors have mean 0."""
    found = list(estimates(form(mechanism), 3000, runs(25, 3000)))
    for place in np.ndindex(TRUTH.shape):
        assert mean_of_few_is([table.shares[place] for table in found], TRUTH[place])
    assert all_cover([(low <= TRUTH) & (high >= TRUTH) for low, high in (table.interval() for table in found)])
    ratio = np.mean([(table.shares - TRUTH) ** 2 for table in found], axis=0) / found[0].standard_error ** 2
    low, high = mean_square_bounds(len(found) * (TRUTH.size - 1))
    assert min(low, 0.7) < ratio.mean() < max(high, 1.35)


def test_labels_with_budgets_of_their_own_make_tables() -> None:
    """10 cells, sets of two labels at the strict level: errors have mean 0 and the stated size."""
    values = ["x", "y", "z", "u", "v"]
    questions = [
        {"name": "a", "values": ["yes", "no"]},
        {"name": "b", "values": values, "mechanism": "subset_items", "unprotected": ["v"]},
    ]
    levels = {"strict": "0.5", "open": 3}
    survey = survey_from_mapping({"pldp": 1, "title": "t", "levels": levels, "questions": questions})
    assert [max(channel.chosen) for channel in survey.question("b").channels] == [2, 1]
    truth = np.hstack([TRUTH[:, :2], TRUTH[:, 2:] / 3, TRUTH[:, 2:] / 3, TRUTH[:, 2:] / 3])
    generator, number = np.random.default_rng(1), 2000 * runs(25, 3000)
    cell = generator.choice(truth.size, number, p=truth.ravel())
    chosen = {"a": cell // 5, "b": cell % 5}
    drawn = Population(chosen, {name: generator.integers(0, 2, number) for name in chosen})
    batches = simulate_reports(survey, drawn, seed=2, rows=2000)
    found = [two_way(tally_batch(survey, batch, pairs=[PAIR]), "a", "b") for batch in batches]
    for tables in (found, [table.alike for table in found]):
        for place in np.ndindex(truth.shape):
            assert mean_of_few_is([table.shares[place] for table in tables], truth[place])
        ratio = np.mean([(table.shares - truth) ** 2 / table.standard_error**2 for table in tables], axis=0)
        low, high = mean_square_bounds(len(found) * (truth.size - 1))
        assert min(low, 0.85) < ratio.mean() < max(high, 1.2)


def test_pooled_by_size_covers_too_and_a_shrunk_error_does_not() -> None:
    """In the short form the twin's intervals cover in 38 of 100 runs; 29 of 40 would be needed in every cell."""
    found = list(estimates(form("krr"), 3000, runs(40, 2000), None))
    assert all_cover([(low <= TRUTH) & (high >= TRUTH) for low, high in (table.interval() for table in found)])
    reach = runs(1, 3) / 2
    assert not all_cover([np.abs(table.shares - TRUTH) <= reach * table.standard_error for table in found])


@pytest.mark.parametrize("differ", [0, None])
def test_errors_for_the_respondents_are_those_of_the_noise_alone(differ: float | None) -> None:
    """The same people report again and again: z has the variance 1, and the errors for the population are too large."""
    survey, narrow, wide = form("krr", levels={"strict": 3, "open": 5}), [], []
    asked = people(survey, 2000, 4)
    truth = np.bincount(asked.values["a"] * 3 + asked.values["b"], minlength=6).reshape(2, 3) / 2000
    for seed in range(runs(50, 2000)):
        generator = np.random.default_rng(seed)
        again = Population(asked.values, {name: generator.integers(0, 2, 2000) for name in asked.values})
        counted = tally(survey, simulate_reports(survey, again, seed=seed), pairs=[PAIR])
        own = two_way(counted, "a", "b", differ=differ, target="respondents")
        narrow.append(float((((own.shares - truth) / own.standard_error) ** 2).mean()))
        if seed < 20:  # enough for the twin
            all_of_them = two_way(counted, "a", "b", differ=differ, target="population")
            wide.append(float((((own.shares - truth) / all_of_them.standard_error) ** 2).mean()))
    assert mean_of_few_is(narrow, 1)
    assert not mean_of_few_is(wide, 1)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_the_consistent_table_has_the_margins_of_the_questions(mechanism: str) -> None:
    survey = form(mechanism)
    counted = tally(survey, simulate_reports(survey, people(survey, 2000, 3), seed=3), pairs=[PAIR])
    for differ in (0, None):
        found = two_way(counted, "a", "b", differ=differ).consistent()
        assert found.min() >= 0
        for axis, name in ((1, "a"), (0, "b")):
            alone = frequencies(counted, name, differ=differ).consistent()
            np.testing.assert_allclose(found.sum(axis=axis), alone, atol=1e-9)


def test_turned_around_it_is_the_same_table() -> None:
    survey = form("oue")
    counted = tally(survey, simulate_reports(survey, people(survey, 2000, 3), seed=3), pairs=[PAIR])
    for differ in (0, None):
        one, other = (two_way(counted, *names, differ=differ) for names in (PAIR, PAIR[::-1]))
        np.testing.assert_allclose(one.shares, other.shares.T)
        np.testing.assert_allclose(one.standard_error, other.standard_error.T)
        np.testing.assert_allclose(one.consistent(), other.consistent().T, atol=1e-9)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_supports_are_those_of_the_channel(mechanism: str) -> None:
    tested = build(mechanism, 7, 1_500_000)
    outputs = perturb(tested, np.arange(7).repeat(20), np.random.default_rng(1))
    plain = [row.tobytes() if isinstance(tested.form, Bits) else int(row) for row in outputs]
    expected = [[tested.supports(output, value) for value in range(7)] for output in plain]
    np.testing.assert_array_equal(label_arrays(tested).supported(outputs), expected)


def test_tallies_of_pairs_add_up_and_survive_a_file(tmp_path) -> None:
    survey = form("sue")
    batches = list(simulate_reports(survey, people(survey, 900, 5), seed=5, rows=300))
    parts = [tally(survey, batch, pairs=[PAIR]) for batch in batches]
    whole = tally(survey, batches, pairs=[PAIR])
    assert sum(parts[1:], parts[0]) == whole
    assert whole + Tally.empty(survey) == whole
    assert (whole + tally(survey, batches)).pairs == {}
    whole.save(tmp_path / "t.tally")
    again = Tally.load(tmp_path / "t.tally")
    assert again == whole
    assert again.paired == (PAIR,)
    assert tally(survey, batches) != whole


def test_stored_counts_that_contradict_each_other_are_refused() -> None:
    one, two = build("krr", 2, 10**6), build("krr", 3, 10**6)
    good = TableCounts.of_outputs([one, two], [np.array([0, 1, 1]), np.array([2, 2, 0])])
    found = TableCounts.from_arrays([one, two], good.arrays()).marked
    assert found.tolist() == [[0, 0, 1, 1], [1, 0, 1, 2], [1, 0, 2, 3]]
    too_many = np.where(np.indices(found.shape).sum(axis=0) == 0, 5, found)
    for broken in (found[:2], too_many, -found):
        with pytest.raises(TallyError, match="stored counts of several questions"):
            TableCounts.from_arrays([one, two], {"marked": broken})


def test_people_who_answer_one_question_only_do_not_count() -> None:
    questions = [{"name": name, "values": ["x", "y"]} for name in "abc"]
    survey = survey_from_mapping({"pldp": 1, "title": "t", "levels": {"l": 4}, "questions": questions, "ask": 2})
    population = Population.of_shares(survey, 3000, seed=1)
    counted = tally(survey, simulate_reports(survey, population, seed=1), pairs=[PAIR])
    table = two_way(counted, "a", "b")
    assert 900 < table.reports < 1100
    assert table.margins[0].reports > 1900


WRONG = {
    "pairs must name different questions, not 'a' twice": lambda: tally(form("krr"), [], pairs=[("a", "a")]),
    "pairs need people who answer a, b; this survey asks each person 1 of": lambda: tally(
        form("krr", ask=1), [], pairs=[PAIR]
    ),
    "pairs must name two or three questions each, .* not 4 names": lambda: tally(
        form("krr"), [], pairs=[("a", "b", "a", "b")]
    ),
    "pairs must name two or three questions each, .* not 'ab'": lambda: tally(form("krr"), [], pairs=["ab"]),
}


@pytest.mark.parametrize("words", WRONG)
def test_pairs_that_cannot_be_counted_get_one_clear_line(words: str) -> None:
    with pytest.raises(TallyError, match=words):
        WRONG[words]()


def test_tables_that_cannot_be_made_get_one_clear_line() -> None:
    survey = form("krr")
    with pytest.raises(EstimateError, match="were not tallied as a pair"):
        two_way(tally(survey, []), "a", "b")
    with pytest.raises(EstimateError, match="no reports, so there is nothing to estimate"):
        two_way(tally(survey, [], pairs=[PAIR]), "a", "b")
    with pytest.raises(EstimateError, match="differ must be a share from 0 to below 1, such as 0.05, not 'both'"):
        two_way(tally(survey, []), "a", "b", differ="both")
    with pytest.raises(EstimateError, match="tables of several questions take no bound on differences of levels but 0"):
        two_way(tally(survey, []), "a", "b", differ=0.05)
    large = [{"name": name, "values": [str(v) for v in range(3000)]} for name in "ab"]
    huge = survey_from_mapping({"pldp": 1, "title": "t", "levels": {"l": 1}, "questions": large})
    with pytest.raises(TallyError, match="pairs must have at most 4,194,304 cells, not 3,000 × 3,000"):
        tally(huge, [], pairs=[PAIR])
    counted = tally(survey, simulate_reports(survey, people(survey, 100, 1)), pairs=[PAIR])
    with pytest.raises(EstimateError, match="confidence"):
        two_way(counted, "a", "b").interval(1)
    questions = [{"name": name, "values": ["x", "y"]} for name in "ab"]
    separate = survey_from_mapping({"pldp": 1, "title": "t", "levels": {"l": 4}, "questions": questions})
    apart = [Population({name: np.array([0, 1])}, {name: np.array([0, 0])}) for name in "ab"]
    reports = [batch for one in apart for batch in simulate_reports(separate, one)]
    with pytest.raises(EstimateError, match="no report answers both"):
        two_way(tally(separate, reports, pairs=[PAIR]), "a", "b")


@settings(deadline=None, max_examples=60)
@given(
    arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(2, 7)), elements=st.floats(-0.5, 1)),
    st.integers(0, 2**32 - 1),
)
def test_the_nearest_table_with_these_margins(table: np.ndarray, seed: int) -> None:
    """Feasible, and no feasible neighbour is nearer (moving ±δ around any rectangle of cells)."""
    generator = np.random.default_rng(seed)
    rows, columns = (generator.dirichlet(np.full(size, 0.5)) for size in table.shape)
    found = with_margins(table, rows, columns)
    np.testing.assert_allclose(found.sum(axis=1), rows, atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=0), columns, atol=1e-8)
    assert found.min() >= 0
    distance = ((found - table) ** 2).sum()
    for _ in range(30):
        i, j = generator.choice(table.shape[0], 2, replace=False)
        k, m = generator.choice(table.shape[1], 2, replace=False)
        step = 0.5 * min(found[i, m], found[j, k])
        moved = found.copy()
        moved[i, k] += step
        moved[j, m] += step
        moved[i, m] -= step
        moved[j, k] -= step
        assert ((moved - table) ** 2).sum() >= distance - 1e-7


def test_margins_that_no_table_has_are_refused() -> None:
    with pytest.raises(EstimateError, match="margins must be sums"):
        with_margins(np.zeros((2, 2)), [0.5, 0.5], [0.5, 0.6])
