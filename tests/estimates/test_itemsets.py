"""Supports are unbiased with errors that hold; searches keep their stated error rates, and are exact without noise."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache, reduce
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from efficient_apriori import apriori
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers.claims import FALSE_ALARM, Z, mean_is, rate_is_at_most, runs
from helpers.refusals import refused
from pldp.errors import AnswerError, EstimateError
from pldp.estimates import PLAIN_RATES, Rates, Rule, itemsets, supports
from pldp.estimates.kinds.item_search import Search, SetPart
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.linear.patterns import item_patterns
from pldp.mechanisms import ItemSet
from pldp.mechanisms.arrays import independent_patterns
from pldp.simulate import pack_baskets, perturb_item_sets

ITEMS = ["a", "b", "c", "d"]
SETS = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")]
UNEVEN = ItemSet.of_probabilities([0.85, 0.9, 0.8, 0.95], [0.9, 0.8, 0.85, 0.9])
EVEN = ItemSet.of([1_500_000] * 4)
OPEN = ItemSet.of([math.inf] * 4)


def people(count: int, generator: np.random.Generator) -> np.ndarray:
    """Baskets of four items that come together."""
    kind = generator.random((count, 1)) < 0.4
    return np.packbits(generator.random((count, 4)) < np.where(kind, 0.8, 0.2), axis=1, bitorder="little")


def true_supports(rows: np.ndarray) -> np.ndarray:
    return np.array([((rows[:, 0] & (1 << size) - 1) == (1 << size) - 1).mean() for size in range(1, 5)])


POPULATION = np.array([0.4 * 0.8**size + 0.6 * 0.2**size for size in range(1, 5)])


def test_estimates_are_unbiased_by_enumeration_and_noise_is_no_less_than_promised() -> None:
    """All outputs of three items with their exact probabilities: mean and variance of what they count."""
    channel = ItemSet.of_probabilities([0.8, 0.7, 0.9], [0.6, 0.9, 0.75])
    outputs = np.frombuffer(b"".join(channel.outputs()), np.uint8)[:, None]
    reports = ItemReports.of([(channel, outputs)], 3, 0, "respondents")
    for size in (1, 2, 3):
        sets = np.array(list(combinations(range(3), size)))
        counted = item_patterns(reports.forms, sets, independent_patterns(sets, reports.item_supports)).weights[0, -1]
        for value, (number, own) in product(range(8), enumerate(sets)):
            chances = np.array([float(channel.probability(int(output), value)) for output in outputs[:, 0]])
            shown = np.sum([(outputs[:, 0] >> item & 1) << j for j, item in enumerate(own)], axis=0)
            has_all = all(value >> item & 1 for item in own)
            mean = chances @ counted[number, shown]
            assert mean == pytest.approx(float(has_all), abs=1e-12)
            noise = chances @ counted[number, shown] ** 2 - mean**2
            assert noise >= reports.least_error(size) ** 2 * reports.mix.reports * (1 - 1e-9)


def test_factors_invert_the_kronecker_product() -> None:
    generator = np.random.default_rng(1)
    rows = people(500, generator)
    patterns = ItemReports.of([(UNEVEN, rows)], 4, None, "population").columns[0].pattern_counts([range(4)])
    p, q = (np.array(weights) / 2**32 for weights in (UNEVEN.kept, UNEVEN.raised))
    # Item 0 is the lowest bit of a pattern's number, so it is the last factor.
    whole = reduce(np.kron, [np.array([[1 - q[i], 1 - p[i]], [q[i], p[i]]]) for i in reversed(range(4))])
    found = supports([(UNEVEN, rows)], ITEMS, [ITEMS], target="respondents")
    assert found.support[0] == pytest.approx(np.linalg.solve(whole, patterns[0] / 500)[-1])


def covered(
    target: str, differ: float | None, channels: list[ItemSet], seed: int, *, narrower: float = 1.0
) -> np.ndarray:
    """Runs × sizes: whether the 95 % interval contains the truth.

    All runs are collected at once, each with four items of its own; the respondents stand in another order in each run,
    so that other people are in each group.
    """
    generator, count = np.random.default_rng(seed), runs(1000, 8000)
    fixed = people(3000, generator)
    nibbles = [
        generator.permutation(fixed) if target == "respondents" else people(len(fixed), generator) for _ in range(count)
    ]
    pairs = np.concatenate(nibbles, axis=1)
    rows = pairs[:, ::2] | pairs[:, 1::2] << 4
    groups = []
    for channel, part in zip(channels, np.array_split(rows, len(channels)), strict=True):
        wide = ItemSet(4 * count, channel.kept * count, channel.raised * count)
        groups.append((wide, perturb_item_sets(wide, part, generator)))
    names = [f"{name}{run}" for run in range(count) for name in ITEMS]
    sets = [[f"{name}{run}" for name in own] for run in range(count) for own in SETS]
    found = supports(groups, names, sets, target=target, differ=differ)
    truth = np.tile(true_supports(fixed) if target == "respondents" else POPULATION, count)
    reach = narrower * (found.support - found.interval(0.95).low)
    return (np.abs(found.support - truth) <= reach).reshape(count, 4).astype(float)


@pytest.mark.parametrize(
    ("target", "differ", "channels"),
    [
        ("respondents", 0, [UNEVEN]),
        ("population", 0, [UNEVEN]),
        ("respondents", 0, [UNEVEN, EVEN]),
        ("population", None, [UNEVEN, EVEN]),
    ],
)
def test_intervals_cover_at_the_stated_level_for_one_to_four_items(
    target: str, differ: float | None, channels: list
) -> None:
    hits = covered(target, differ, channels, seed=len(channels))
    for size in range(4):
        assert mean_is(hits[:, size], 0.95), (size + 1, hits[:, size].mean())
        assert 0.93 <= hits[:, size].mean() <= 0.97


def test_the_test_rejects_intervals_that_are_a_fifth_narrower() -> None:
    hits = covered("respondents", 0, [UNEVEN], seed=1, narrower=0.8)
    assert not any(mean_is(hits[:, size], 0.95) for size in range(4))


@cache
def borderline(seed: int) -> np.ndarray:
    """2,000 baskets of ten items, every item in exactly 399 of them: just too few for a support of a fifth."""
    generator = np.random.default_rng(seed)
    bits = np.zeros((2000, 10), bool)
    for item in range(10):
        bits[generator.choice(2000, 399, replace=False), item] = True
    return np.packbits(bits, axis=1, bitorder="little")


def false_reports(control: str, seed: int) -> np.ndarray:
    """Runs × items: which of the infrequent items were reported as frequent."""
    generator, names = np.random.default_rng(seed), [str(item) for item in range(10)]
    channel = ItemSet.of([1_500_000] * 10)
    seen = []
    for _ in range(runs(100, 6000)):
        reports = perturb_item_sets(channel, borderline(seed), generator)
        found = itemsets([(channel, reports)], names, 0.2, largest=2, rates=Rates(0.05, control), target="respondents")
        seen.append([(name,) in found.sets for name in names])
    return np.array(seen, float)


def test_any_false_report_is_as_rare_as_stated() -> None:
    assert rate_is_at_most(false_reports("any", 1).max(axis=1), 0.05)


def test_each_false_report_is_as_rare_as_stated_but_all_together_are_not() -> None:
    seen = false_reports("each", 2)
    assert all(rate_is_at_most(column, 0.05) for column in seen.T)
    assert not rate_is_at_most(seen.max(axis=1), 0.05)


POPULATION_CASES = {"a fifth": (10, 2000, 0.2, 3.0), "nine tenths": (30, 500, 0.9, math.inf)}
"""Items that come independently, people, the support of every item, ε: all sets have just less than is asked for."""


def false_in_population(case: str, target: str) -> np.ndarray:
    """Whether a search for more than the support of every item in the population reports anything, run by run."""
    items, people_count, support, epsilon = POPULATION_CASES[case]
    generator, names = np.random.default_rng(7), [str(item) for item in range(items)]
    channel = ItemSet.of([math.inf if math.isinf(epsilon) else int(1_000_000 * epsilon)] * items)
    seen = []
    for _ in range(runs(60, 2000)):
        rows = np.packbits(generator.random((people_count, items)) < support, axis=1, bitorder="little")
        reports = rows if math.isinf(epsilon) else perturb_item_sets(channel, rows, generator)
        found = itemsets([(channel, reports)], names, support + 1e-9, largest=2, target=target)
        assert found.promise.count("in the population" if target == "population" else "who reported") == 1
        seen.append(len(found) > 0)
    return np.array(seen, float)


@pytest.mark.parametrize("case", POPULATION_CASES)
def test_any_false_report_about_the_population_is_as_rare_as_stated(case: str) -> None:
    assert rate_is_at_most(false_in_population(case, "population"), 0.05)


@pytest.mark.parametrize("case", POPULATION_CASES)
def test_a_promise_about_the_respondents_says_nothing_about_the_population(case: str) -> None:
    assert not rate_is_at_most(false_in_population(case, "respondents"), 0.05)


def test_that_everybody_has_an_item_is_not_concluded_from_a_sample() -> None:
    rows = np.full((500, 1), 1, np.uint8)
    channel = ItemSet.of([math.inf])
    assert itemsets([(channel, rows)], ["a"], 1.0, target="respondents").sets == (("a",),)
    assert itemsets([(channel, rows)], ["a"], 1.0).sets == ()
    assert itemsets([(channel, rows)], ["a"], 0.95).sets == (("a",),)


def followed(miss: float, seed: int) -> np.ndarray:
    """Whether two items with exactly the support that is asked for are followed to their pair."""
    bits = np.zeros((2000, 2), bool)
    bits[:400] = True
    rows = np.packbits(bits, axis=1, bitorder="little")
    channel, generator = ItemSet.of([1_500_000] * 2), np.random.default_rng(seed)
    found = (
        itemsets(
            [(channel, perturb_item_sets(channel, rows, generator))],
            ["a", "b"],
            0.2,
            largest=2,
            rates=Rates(0.5, "each", miss),
            target="respondents",
        )
        for _ in range(runs(100, 5000))
    )
    return np.array([each.examined[2] for each in found], float)


def test_frequent_sets_are_lost_as_rarely_as_stated() -> None:
    assert rate_is_at_most(1 - followed(0.02, 1), 2 * 0.02)
    assert not rate_is_at_most(1 - followed(0.2, 1), 2 * 0.02)


def plain(rows: np.ndarray, items: list[str], min_support: float, largest: int = 3):
    return itemsets(
        [(ItemSet.of([math.inf] * len(items)), rows)], items, min_support, largest=largest, target="respondents"
    )


def compare(baskets: list[tuple[str, ...]], items: list[str], min_support: float, largest: int) -> None:
    found = plain(pack_baskets(baskets, items), items, min_support, largest)
    theirs, rules = apriori(baskets, min_support=min_support, min_confidence=0.4, max_length=largest)
    expected = {frozenset(names): count for level in theirs.values() for names, count in level.items()}
    ours = {
        frozenset(names): round(support * len(baskets))
        for names, support in zip(found.sets, found.support, strict=True)
    }
    assert ours == expected
    assert not found.standard_error.any()
    named = {(frozenset(rule.lhs), frozenset(rule.rhs)): (rule.confidence, rule.lift) for rule in rules}
    mined = {(frozenset(r.antecedent), frozenset(r.consequent)): (r.confidence, r.lift) for r in found.rules(0.4)}
    assert mined.keys() == named.keys()
    assert all(mined[key] == pytest.approx(named[key]) for key in named)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 0.25]), st.integers(1, 5))
def test_unperturbed_baskets_are_mined_exactly_as_by_a_library(seed: int, min_support: float, largest: int) -> None:
    generator = np.random.default_rng(seed)
    items = [f"i{place}" for place in range(12)]
    liked = generator.dirichlet(np.ones(12))
    chosen = [generator.choice(12, generator.integers(1, 6), replace=False, p=liked) for _ in range(60)]
    compare([tuple(items[place] for place in own) for own in chosen], items, min_support, largest)


def test_basket_is_mined_exactly_as_by_a_library() -> None:
    path = Path(os.environ.get("PLDP_DATA", ""), "basket.parquet")
    if not path.is_file():
        pytest.skip("basket.parquet is not in the folder that PLDP_DATA names")
    baskets = [tuple(own) for own in pq.read_table(path)["items"].to_pylist()]
    compare(baskets, sorted({name for own in baskets for name in own}), 0.03, 4)


def test_several_unperturbed_groups_are_mined_like_one() -> None:
    rows = people(1000, np.random.default_rng(3))
    whole = plain(rows, ITEMS, 0.1)
    groups = [(OPEN, rows[:300]), (OPEN, rows[300:]), (OPEN, rows[:0])]
    for differ in (0, None):
        parts = itemsets(groups, ITEMS, 0.1, target="respondents", differ=differ)
        assert parts.sets == whole.sets
        assert parts.support == pytest.approx(whole.support)
        assert parts.standard_error == pytest.approx(0, abs=1e-8)


def test_a_search_finds_what_is_clearly_frequent_and_nothing_else() -> None:
    generator = np.random.default_rng(4)
    items = [str(place) for place in range(300)]
    bits = generator.random((20_000, 300)) < 0.02
    bits[:6000, :3] = True
    rows = np.packbits(bits, axis=1, bitorder="little")
    channel = ItemSet.of([2_000_000] * 300)
    found = itemsets([(channel, perturb_item_sets(channel, rows, generator))], items, 0.1, target="respondents")
    expected = {own for size in (1, 2, 3) for own in combinations(("0", "1", "2"), size)}
    assert set(found.sets) == expected
    assert len(found) == 7
    assert found.rows()[0].label == found.sets[0]
    assert found.examined[1] == 300
    assert "any reported set has less support among the people who reported" in found.promise
    assert "each on its own" in Rates(control="each").promise("population")


def test_a_search_stops_where_no_larger_set_could_be_reported() -> None:
    generator = np.random.default_rng(5)
    items = [str(place) for place in range(30)]
    rows = np.packbits(generator.random((2000, 30)) < 0.3, axis=1, bitorder="little")
    channel = ItemSet.of([500_000] * 30)
    found = itemsets(
        [(channel, perturb_item_sets(channel, rows, generator))], items, 0.05, largest=4, target="respondents"
    )
    assert found.notes[-1].code == "search-ended-early"
    assert "none was counted, as their supports would have standard errors of" in found.notes[-1].text
    assert 0 in found.examined.values()


def uneven_groups(differ: float | None, target: str, count: int = 3000) -> ItemReports:
    """Two groups of people with budgets per item, one of which tells more about them than the other."""
    generator = np.random.default_rng(8)
    bits = np.repeat(generator.random((count, 4)) < 0.45, 3, axis=1) & (generator.random((count, 12)) < 0.9)
    rows = np.packbits(bits, axis=1, bitorder="little")
    channels = [ItemSet.of([low * (8 + place % 3) for place in range(12)]) for low in (100_000, 150_000)]
    halves = zip(channels, np.array_split(rows, 2), strict=True)
    groups = [(channel, perturb_item_sets(channel, own, generator)) for channel, own in halves]
    return ItemReports.of(groups, 12, differ, target)


@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize("differ", [0, None])
def test_no_set_has_a_smaller_expected_error_than_the_least_of_its_size(differ: float | None, target: str) -> None:
    groups = uneven_groups(differ, target)
    for size in (1, 2, 3, 4):
        expected = groups.expected_error(np.array(list(combinations(range(12), size))))
        assert 0 < groups.least_error(size) <= expected.min() * (1 + 1e-12)


def test_a_search_that_leaves_out_hopeless_sets_finds_the_same_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(factor: float) -> tuple[list[list[list[int]]], dict[int, int], int]:
        made: list[int] = []
        candidates = Search._candidates

        def counted(search: Search, kept: SetPart) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for sets, parents in candidates(search, kept):
                made.append(len(sets))
                yield sets, parents

        with monkeypatch.context() as patch:
            bound = ItemReports.least_error
            patch.setattr(ItemReports, "least_error", lambda groups, items: factor * bound(groups, items))
            patch.setattr(Search, "_candidates", counted)
            search = Search(uneven_groups(0, "respondents", 1000), 0.1, [3.0, 3.0, 3.0], 0.0)
            parts, examined, _ = search.run()
        return [part.sets.tolist() for part in parts], examined, sum(made)

    without, with_bound, too_high = found(0.0), found(1.0), found(20.0)
    assert with_bound[:2] == without[:2]
    assert len(without[0][2]) > 0
    assert with_bound[2] < without[2]
    assert too_high[0] != without[0]


def test_too_many_candidates_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pldp.estimates.kinds.item_search.MOST_CANDIDATES", 3)
    with pytest.raises(EstimateError, match="leaves more than 3 sets of 2 items"):
        plain(people(100, np.random.default_rng(1)), ITEMS, 0.01)


def test_the_correction_for_all_sets_grows_slowly() -> None:
    assert Rates().thresholds(1000, 3) == pytest.approx([4.1, 5.4, 6.4], abs=0.06)
    assert Rates(control="each").thresholds(1000, 2) == pytest.approx([1.645, 1.645], abs=1e-3)


def test_small_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(6)
    rows = np.packbits(generator.random((400, 12)) < 0.5, axis=1, bitorder="little")
    items = [str(place) for place in range(12)]
    whole = plain(rows, items, 0.1, 4)
    monkeypatch.setattr("pldp.estimates.kinds.item_search._CHUNK", 7)
    again = plain(rows, items, 0.1, 4)
    assert again.sets == whole.sets
    assert again.examined == whole.examined


def test_a_superset_with_a_smaller_error_keeps_its_subsets_in_the_search() -> None:
    """Little noise: one more item lowers the least standard error, so the reach is that of the larger set."""
    rows = np.zeros((100, 1), np.uint8)
    reports = ItemReports.of([(ItemSet.of([3_000_000] * 4), rows)], 4, 0, "respondents")
    least = [reports.least_error(size) for size in (2, 3)]
    assert 0 < least[1] < least[0]
    search, error = Search(reports, 0.1, [3.0, 4.0, 4.0], 1.0), np.array([least[0]])
    assert search._reach(2, error) == pytest.approx(3 * least[1])
    assert search._reach(3, error) == pytest.approx(3 * least[0])
    strict = ItemReports.of([(ItemSet.of([300_000] * 4), rows)], 4, 0, "respondents")
    assert strict.least_error(3) > strict.least_error(2)


def rules_of(seed: int, differ: float | None) -> Rule:
    generator = np.random.default_rng(seed)
    rows = people(4000, generator)
    level = generator.integers(0, 2, len(rows))
    groups = [(c, perturb_item_sets(c, rows[level == place], generator)) for place, c in enumerate((UNEVEN, EVEN))]
    found = itemsets(groups, ITEMS, 0.1, largest=2, target="population", differ=differ)
    chosen = {(rule.antecedent, rule.consequent): rule for rule in found.rules(0)}
    return chosen[("a",), ("b",)]


def have_no_bias(errors: np.ndarray) -> bool:
    """Tell whether standardised errors can have the mean 0 (normal test, false alarm 1e-6)."""
    return bool(abs(errors.mean()) <= Z / np.sqrt(len(errors)))


def have_the_stated_size(errors: np.ndarray) -> bool:
    """Tell whether standardised errors can have the variance 1 (χ² of their squares, false alarm 1e-6)."""
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(errors))
    return bool(low <= np.square(errors).sum() <= high)


@pytest.mark.parametrize("differ", [0, None])
def test_confidence_and_lift_have_the_errors_that_they_state(differ: float | None) -> None:
    found = [rules_of(seed, differ) for seed in range(runs(60, 1500))]
    confidence, lift = POPULATION[1] / POPULATION[0], POPULATION[1] / POPULATION[0] ** 2
    for name, truth, independent in (("confidence", confidence, POPULATION[0]), ("lift", lift, 1.0)):
        errors = np.array([getattr(rule, f"{name}_error") for rule in found])
        z, wrong = (
            np.array([getattr(rule, name) - value for rule in found]) / errors for value in (truth, independent)
        )
        assert have_no_bias(z)
        assert have_the_stated_size(z)
        assert not have_no_bias(wrong)
        assert not have_the_stated_size(wrong)


def test_groups_that_differ_are_named_and_pooling_by_size_is_right() -> None:
    generator = np.random.default_rng(8)
    few = np.packbits(generator.random((4000, 4)) < 0.2, axis=1, bitorder="little")
    many = np.packbits(generator.random((4000, 4)) < 0.6, axis=1, bitorder="little")
    strict = ItemSet.of([700_000] * 4)
    groups = [(EVEN, perturb_item_sets(EVEN, few, generator)), (strict, perturb_item_sets(strict, many, generator))]
    pooled = supports(groups, ITEMS, SETS[:1], target="respondents", differ=0)
    assert pooled.homogeneity is not None
    assert pooled.homogeneity.rejected
    assert (pooled.notes[0].code, pooled.notes[0].severity) == ("levels-disagree", "warning")
    assert "takes them to be alike" in pooled.notes[0].text
    by_size = supports(groups, ITEMS, SETS[:1], target="respondents")
    truth = true_supports(np.concatenate([few, many]))[0]
    assert abs(by_size.support[0] - truth) < 4 * by_size.standard_error[0]
    assert abs(pooled.support[0] - truth) > 4 * pooled.standard_error[0]
    assert (by_size.notes[0].code, by_size.notes[0].severity) == ("levels-disagree", "info")
    assert "alike" not in by_size.notes[0].text


def test_the_homogeneity_test_rejects_equal_groups_as_rarely_as_stated() -> None:
    generator = np.random.default_rng(9)
    rejected = []
    for _ in range(runs(100, 4000)):
        groups = [(c, perturb_item_sets(c, people(800, generator), generator)) for c in (UNEVEN, EVEN)]
        rejected.append(supports(groups, ITEMS, SETS[:1]).homogeneity.rejected)
    assert rate_is_at_most(rejected, 0.01)


def test_sets_that_are_too_large_are_refused_with_their_standard_error() -> None:
    items = [str(place) for place in range(12)]
    channel = ItemSet.of([500_000] * 12)
    rows = np.packbits(np.random.default_rng(1).random((500, 12)) < 0.5, axis=1, bitorder="little")
    with pytest.raises(EstimateError, match=r"set of 12 items is too large.*500 reports.*standard error of \d"):
        supports([(channel, rows)], items, [items])


ROWS = people(50, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (lambda: supports([(EVEN, ROWS)], ITEMS, []), EstimateError, "nothing to count: sets must name at least one"),
        (lambda: supports([(EVEN, ROWS)], ITEMS, [["x"]]), EstimateError, "'x' is not among the 4"),
        (lambda: supports([(EVEN, ROWS)], ITEMS, [["a", "a"]]), EstimateError, "each item once, not a, a"),
        (lambda: supports([(EVEN, ROWS)], ITEMS, [[]]), EstimateError, "at least one item"),
        (lambda: supports([(EVEN, ROWS)], ITEMS, ["a"]), EstimateError, "as a list of names"),
        (lambda: supports([(EVEN, ROWS)], ITEMS[:3], [["a"]]), EstimateError, "as many as the channel has"),
        (lambda: supports([(EVEN, ROWS)], ["a", "a", "b", "c"], [["a"]]), AnswerError, "'a' is there twice"),
        (lambda: supports([], ITEMS, [["a"]]), EstimateError, "nothing to estimate: groups need at least one report"),
        (lambda: supports([(EVEN, ROWS)], ITEMS, [["a"]], differ=-0.1), EstimateError, "differ must be a share"),
        (lambda: supports([(EVEN, ROWS)], ITEMS, [["a"]], target="us"), EstimateError, "target must be one of"),
        (lambda: supports([(EVEN, ROWS)], ITEMS, [["a"]]).interval(1), EstimateError, "confidence must be between"),
        (lambda: itemsets([(EVEN, ROWS)], ITEMS, 0), EstimateError, "min_support must be above 0"),
        (lambda: itemsets([(EVEN, ROWS)], ITEMS, 0.1, largest=17), EstimateError, "largest must be from 1 to 16"),
        (lambda: Rates(0.6), EstimateError, "false_positive must be above 0 and at most 0.5, not 0.6"),
        (lambda: Rates(miss=0), EstimateError, "miss must be above 0"),
        (lambda: Rates(control="all"), EstimateError, "control must be any or each, not 'all'"),
        (lambda: itemsets([(EVEN, ROWS)], ITEMS, 0.1).rules(2), EstimateError, "min_confidence must be between"),
    ],
)
def test_bad_input_gives_one_clear_line(call, error: type[Exception], line: str) -> None:
    with refused(error, line):
        call()


def test_a_set_of_more_items_than_can_be_counted_is_refused() -> None:
    items = [str(place) for place in range(20)]
    rows = np.zeros((10, 3), np.uint8)
    with pytest.raises(EstimateError, match="at most 16 items, not 20"):
        supports([(ItemSet.of([math.inf] * 20), rows)], items, [items])


def test_plain_rates_compare_estimates_with_the_support_asked_for() -> None:
    generator = np.random.default_rng(10)
    rows = perturb_item_sets(EVEN, people(2000, generator), generator)
    found = itemsets([(EVEN, rows)], ITEMS, 0.2, rates=PLAIN_RATES)
    assert found.support.min() >= 0.2
    singles = supports([(EVEN, rows)], ITEMS, [[name] for name in ITEMS])
    assert [own for own in found.sets if len(own) == 1] == [
        own for own, support in zip(singles.sets, singles.support, strict=True) if support >= 0.2
    ]
