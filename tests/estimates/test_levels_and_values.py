"""Levels that depend on the value: false alarms as rare as stated, power as predicted, and shares that hold anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, Z, mean_is, runs
from helpers.samples import counts_of, label_reports, law, sample, zipf
from pldp import estimate, tally
from pldp.collector.answers import ClosedRounds, overview
from pldp.errors import EstimateError
from pldp.estimates import Homogeneity, Table, two_way
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.linear import homogeneity as tests
from pldp.estimates.linear import labels
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.pooling import Linear, decode
from pldp.mechanisms import Channel, ItemSet, RandomizedResponse, family, hideable, micro_epsilon, names
from pldp.papers.groups import Group, HiddenReports, joint_likelihood
from pldp.simulate import Population, perturb_item_sets, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import Tally

LABELS = names("labels")
SAMPLED = LABELS if runs(0, 1) else ("krr", "oue", "subset", "lh", "iprr")
"""Of the mechanisms whose errors are sampled, one for each form of output and one with a budget per value."""
PARTS = (0.75, 1, 1, 1)  #: of the level's ε, where a mechanism takes a budget per value
SHARES = np.array([0.4, 0.25, 0.2, 0.15])
LEVELS = np.array([0.55, 0.45])


def is_rare(alarms: Iterable[bool]) -> bool:
    """Tell whether a test can have a false-alarm rate of 1 % or less (exact binomial test, false alarm 1e-6)."""
    found = np.array(list(alarms))
    return bool(stats.binom.sf(found.sum() - 1, len(found), 0.01) > FALSE_ALARM)


def is_about(hits: Iterable[bool], rate: float) -> bool:
    """Tell whether a rate is within .05 of the predicted one and sampling error."""
    found = np.array(list(hits))
    return bool(abs(found.mean() - rate) <= 0.05 + Z * np.sqrt(rate * (1 - rate) / len(found)))


def moved(shares: np.ndarray, value: int, by: float) -> np.ndarray:
    """Let one value gain and the others lose in proportion."""
    change = -shares / (1 - shares[value])
    change[value] = 1
    return shares + by * change


def dependent(value: int, by: float) -> np.ndarray:
    """π of two levels whose shares of one value differ by so much, and whose marginal stays that of `SHARES`."""
    return np.array(
        [LEVELS[0] * moved(SHARES, value, LEVELS[1] * by), LEVELS[1] * moved(SHARES, value, -LEVELS[0] * by)]
    )


@cache
def channels_of(mechanism: str, size: int) -> list[Channel]:
    budgets, own = [micro_epsilon(each) for each in ("0.5", "2")], family(mechanism).per_value
    each = [tuple(int(micro * part) for part in PARTS) for micro in budgets] if own else budgets
    return list(next(hideable(mechanism, size, each, per_value=own)))


def hidden_sample(mechanism: str, joint: np.ndarray, people: int, seed: int, label: str = "1") -> HiddenReports:
    channels = channels_of(mechanism, joint.shape[1])
    label_channel = RandomizedResponse.of(2, micro_epsilon(label))
    together = law(label_channel) @ np.array([law(each) @ own for each, own in zip(channels, joint, strict=True)])
    drawn = np.random.default_rng(seed).multinomial(people, together.ravel() / together.sum()).reshape(together.shape)
    counts = [counts_of(each, own, patterns=True) for each, own in zip(channels, drawn, strict=True)]
    return HiddenReports.of(channels, label_channel, counts)


def reports_of(hidden: HiddenReports) -> LabelReports:
    return label_reports(hidden.channels, [each.counts for each in hidden.groups], hidden.mix.matrix)


def free_shares(hidden: HiddenReports) -> Linear:
    """The shares that assume nothing about the choice of levels."""
    return decode(reports_of(hidden).evidence, None)


def homogeneity(hidden: HiddenReports) -> Homogeneity:
    found = reports_of(hidden).homogeneity()
    assert found is not None
    return found


def homogeneity_of_groups(groups: list[Group]) -> Homogeneity:
    found = label_reports([each.channel for each in groups], [each.counts for each in groups]).homogeneity()
    assert found is not None
    return found


def test_power_is_that_of_noncentral_chi_square() -> None:
    for degrees in (1, 7, 100, 2000):
        needed = tests.noncentrality(degrees)
        assert stats.ncx2.sf(stats.chi2.isf(0.01, degrees), degrees, needed) == pytest.approx(0.8, abs=1e-5)
    assert tests.noncentrality(1, 0.01 / 20) > tests.noncentrality(1)


@pytest.mark.parametrize("mechanism", LABELS)
def test_free_shares_of_levels_and_values_are_unbiased(mechanism: str) -> None:
    """A billion reports of a dependent population give back its π."""
    joint = dependent(1, 0.4)
    hidden = hidden_sample(mechanism, joint, 10**9, 1)
    reports, found = reports_of(hidden), free_shares(hidden)
    assert np.abs(found.evidence.joint[:, :, -1].T - joint).max() < 5e-3
    assert np.abs(found.estimates - SHARES).max() < 6 * np.sqrt(found.variance()).max()
    assert np.allclose(np.diag(reports.covariance(found)), found.variance())
    assert found.manipulation > 1


@pytest.mark.parametrize("mechanism", SAMPLED)
def test_hidden_levels_that_do_not_depend_on_values_are_rarely_accused(mechanism: str) -> None:
    found = [
        homogeneity(hidden_sample(mechanism, np.outer(LEVELS, SHARES), 6000, seed)) for seed in range(runs(50, 10_000))
    ]
    assert is_rare(each.rejected for each in found)
    assert mean_is([each.p_value for each in found], 0.5)
    assert {each.degrees for each in found} == {3}


def test_the_claim_notices_a_test_of_three_times_the_rate() -> None:
    found = np.random.default_rng(1).random(10_000) < 0.03
    assert not is_rare(found)


@pytest.mark.parametrize(
    ("mechanism", "label"), [("krr", "1"), ("oue", "0.3"), ("iprr", "1"), ("sue", "0.3"), ("lh", "1")][: runs(3, 5)]
)
def test_the_test_of_hidden_levels_has_the_power_that_it_states(mechanism: str, label: str) -> None:
    """At the difference that it states for the value where that is hardest to notice, it rejects 4 times in 5."""
    people = 40_000 if label == "1" else 60_000
    stated = homogeneity(hidden_sample(mechanism, np.outer(LEVELS, SHARES), people, 1, label)).noticed
    assert 0.1 < stated < 0.6
    rates = []
    for value in range(len(SHARES)):
        samples = (dependent(value, min(stated, 0.6)) for _ in range(runs(40, 1000)))
        rates.append([homogeneity(hidden_sample(mechanism, each, people, 100 + seed, label)).rejected
                      for seed, each in enumerate(samples)])  # fmt: skip
    assert is_about(min(rates, key=np.mean), 0.8)


def test_krr_behind_a_weak_label_needs_hundreds_of_thousands_of_people_and_says_so() -> None:
    """P(open | value) rises from .2 to .8 over eight values; label ε .3: predicted power .9 at about 430,000 people."""
    chosen = np.linspace(0.2, 0.8, 8)
    joint = np.array([1 - chosen, chosen]) / 8
    people = 400_000
    channels = list(next(hideable("krr", 8, [micro_epsilon(each) for each in ("0.5", "2")])))
    label = RandomizedResponse.of(2, micro_epsilon("0.3"))
    expected = law(label) @ np.array([law(each) @ own for each, own in zip(channels, joint, strict=True)]) * people
    counts = [counts_of(each, own) for each, own in zip(channels, np.rint(expected).astype(np.int64), strict=True)]
    found = homogeneity(HiddenReports.of(channels, label, counts))
    assert 300_000 < people * tests.noncentrality(7, wanted=0.9) / found.statistic < 500_000
    few = homogeneity(hidden_sample("krr", np.outer(LEVELS, SHARES), 2000, 1, "0.3"))
    assert few.noticed > 1


@pytest.mark.parametrize("mechanism", SAMPLED)
def test_assumption_free_shares_cover_where_the_joint_fit_does_not(mechanism: str) -> None:
    free, fitted, joint = [], [], dependent(0, 0.5)
    for seed in range(runs(40, 1000)):
        hidden = hidden_sample(mechanism, joint, 20_000, seed)
        found = free_shares(hidden)
        free.append((found.estimates - SHARES) / np.sqrt(found.variance()))
        if seed < 10:
            fit = joint_likelihood(hidden, starts=1)
            fitted.append((fit.shares - SHARES) / np.sqrt(np.diag(fit.covariance)))
    covered = (np.abs(free) < stats.norm.ppf(0.975)).mean(axis=1)
    assert mean_is(covered, 0.95)
    assert mean_is((np.array(free) ** 2).mean(axis=1), 1.0)
    assert (np.abs(fitted)[:, 0] > stats.norm.ppf(0.975)).all()


def test_the_claim_of_coverage_rejects_intervals_that_are_too_narrow() -> None:
    free = []
    for seed in range(150):
        found = free_shares(hidden_sample("krr", dependent(0, 0.5), 20_000, seed))
        free.append((found.estimates - SHARES) / (0.7 * np.sqrt(found.variance())))
    assert not mean_is((np.abs(free) < stats.norm.ppf(0.975)).mean(axis=1), 0.95)


HIDING = """
pldp = 1
title = "t"
hide_level = { epsilon = %s }
levels = { strict = 0.5, open = 2 }
questions = [{ name = "q", values = ["yes", "no", "maybe"] }]
"""
APART = {
    "yes": {"strict": 0.9, "open": 0.1}, "no": {"strict": 0.1, "open": 0.9}, "maybe": {"strict": 0.5, "open": 0.5},
}  # fmt: skip


def hidden_tally(mix: dict, people: int = 30_000, label: str = "1") -> tuple[Survey, Tally]:
    survey = loads(HIDING % label)
    answers = Population.of_counts(
        survey, {"q": [people * 5 // 12, people * 5 // 12, people // 6]}, level_mix=mix, seed=2
    )
    return survey, tally(survey, simulate_reports(survey, answers, seed=2))


@pytest.mark.parametrize("method", ["likelihood", "unbiased"])
def test_a_result_with_hidden_levels_says_that_they_depend_on_answers(method: str) -> None:
    _, counted = hidden_tally(APART)
    found = estimate(counted, "q", method=method, differ=0)
    assert found.homogeneity.rejected
    assert found.notes[0].code == "levels-disagree"
    assert found.assumptions[1] == "the choice of a level does not depend on the value"
    free = estimate(counted, "q")
    truth = np.array([5, 5, 2]) / 12
    assert (np.abs(free.shares - truth) < 4.9 * free.standard_error).all()
    assert np.abs(found.shares - truth).max() > 10 * found.standard_error.max()
    assert np.allclose(np.sqrt(np.diag(free.covariance)), free.standard_error)
    assert found.alike is None
    assert free.homogeneity == found.homogeneity
    assert free.to_mapping()["alike"]["rejected"]
    inner = estimate(counted, "q", target="respondents")
    assert (inner.standard_error < free.standard_error).all()


def test_a_result_with_hidden_levels_that_agree_says_what_would_have_been_noticed() -> None:
    _, counted = hidden_tally({"strict": 0.5, "open": 0.5})
    found = estimate(counted, "q")
    assert not found.homogeneity.rejected
    assert not found.notes
    assert 0.05 < found.homogeneity.noticed < 0.4
    assert (found.alike.standard_error < found.standard_error).all()


def test_what_reports_cannot_say_without_an_assumption_is_not_said() -> None:
    _, counted = hidden_tally({"strict": 0.5, "open": 0.5}, 1200, "0.3")
    assert estimate(counted, "q").unseen_bias.max() > 0.5
    _, counted = hidden_tally({"strict": 0.5, "open": 0.5}, 240, "0.01")
    found = estimate(counted, "q")
    assert found.standard_error.max() > 1
    assert found.to_mapping()["conclusions"][0].startswith("Too few answers to say anything without an assumption")


def test_a_likelihood_says_that_it_takes_levels_to_be_alike() -> None:
    _, counted = hidden_tally({"strict": 0.5, "open": 0.5}, 2400)
    found, alike = estimate(counted, "q"), estimate(counted, "q", differ=0)
    np.testing.assert_array_equal(found.alike.estimates, alike.estimates)
    np.testing.assert_array_equal(found.alike.standard_error, alike.standard_error)
    with pytest.raises(EstimateError, match="takes people of all levels to be alike: add differ=0"):
        estimate(counted, "q", method="likelihood")


def test_the_overview_shows_what_assumes_nothing_where_hidden_levels_disagree() -> None:
    _, counted = hidden_tally(APART)
    shown = overview(counted, 2, [], [], 1, ClosedRounds(lambda _: counted))
    assert shown["questions"][0]["rows"][0]["estimate"] == pytest.approx(estimate(counted, "q").shares[0])
    assert shown["questions"][0]["notes"][0]["code"] == "levels-disagree"
    trend = [row["estimate"] for row in shown["trends"][0]["rows"] if row["label"] == "yes"]
    assert trend == pytest.approx([estimate(counted, "q").shares[0]] * 2)


SHOWN = [
    [("krr", "0.5", 8000), ("krr", "2", 4000)],
    [("krr", "0.5", 8000), ("krr", "1", 6000), ("krr", "2", 4000)],
    [("oue", "0.5", 8000), ("oue", "2", 6000)],
]


@pytest.mark.parametrize("specs", SHOWN)
def test_the_test_of_shown_levels_has_the_power_that_it_states(specs: list) -> None:
    shares = zipf(5)
    groups = sample(specs, shares, np.random.default_rng(1))
    stated = homogeneity_of_groups(groups).noticed
    people = np.array([each.reports for each in groups])
    stricter = tests.stricter_half([each.arrays.mean_variance for each in groups], people)
    part = people[stricter].sum() / people.sum()

    def rejected(value: int, seed: int) -> bool:
        generator = np.random.default_rng(seed)
        each = zip(specs, stricter, strict=True)
        by = [(spec, stated * (1 - part) if side else -stated * part) for spec, side in each]
        drawn = [sample([spec], moved(shares, value, size), generator)[0] for spec, size in by]
        return homogeneity_of_groups(drawn).rejected

    hardest = [[rejected(value, seed) for seed in range(runs(40, 1000))] for value in (0, 1)]
    assert is_about(min(hardest, key=np.mean), 0.8)


def many_values(seed: int) -> Homogeneity:
    specs = [("krr", "1", 11_000), ("krr", "2", 16_000)]
    return homogeneity_of_groups(sample(specs, zipf(2000), np.random.default_rng(seed)))


def test_the_test_keeps_its_rate_with_thousands_of_values_and_few_reports() -> None:
    assert is_rare(many_values(seed).rejected for seed in range(runs(15, 10_000)))


def test_the_rate_is_not_kept_if_the_largest_values_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    largest: Callable = lambda shares, errors: np.argsort(-shares)[: tests.TESTED_VALUES]  # noqa: E731 - the twin
    monkeypatch.setattr(labels, "values_to_test", largest)
    assert not is_rare(many_values(seed).rejected for seed in range(40))


def few_counts() -> tuple[np.ndarray, tuple[float, float]]:
    """Statistics of 256 values in 12,000 pairs of groups whose counts are about 2 and 3, and their cumulants."""
    reports, chances = np.array([11_000.0, 16_000.0]), np.full((2, 256), 2e-4)
    variances = np.array([4e-2, 3e-3])[:, None] * np.ones(256)
    generator, total = np.random.default_rng(1), np.zeros((12_000, 256))
    for sign, count, chance, variance in zip((1, -1), reports, chances, variances, strict=True):
        found = generator.binomial(int(count), chance[0], total.shape)
        total += sign * (found - count * chance[0]) / np.sqrt(count * chance[0]) * np.sqrt(variance)
    statistics = (total**2 / variances.sum(axis=0)).sum(axis=1)
    return statistics, tests.cumulants_of_counts(variances, reports, chances)


def test_counts_of_few_reports_keep_the_rate_with_their_own_cumulants_and_not_with_those_of_chi_square() -> None:
    statistics, cumulants = few_counts()
    assert is_rare(Homogeneity.of(each, 256, cumulants=cumulants).rejected for each in statistics)
    assert not is_rare(Homogeneity.of(each, 256).rejected for each in statistics)
    spread = np.sqrt(2 / len(statistics)) * 1.1 * cumulants[0]  # a kurtosis of .1 beyond the normal one
    assert abs(statistics.var() - cumulants[0]) < Z * spread
    assert Homogeneity.of(300.0, 256, cumulants=(512.0, 2048.0)) == Homogeneity.of(300.0, 256)


def test_shares_too_small_to_see_have_their_mean_in_the_test() -> None:
    shares, errors = np.array([0.6, 0.5, -0.02, -0.08]), np.full(4, 0.1)
    assert tests.null_shares(shares, errors, np.array([0, 1, 2])) == pytest.approx([0.55, 0.45, 0, 0])
    shares = np.array([0.7, 0.16, 0.08, 0.06])
    assert tests.null_shares(shares, errors, np.array([0, 1, 2])) == pytest.approx([0.7, 0.1, 0.1, 0.1])
    assert tests.null_shares(shares, errors, np.array([0, 1])) == pytest.approx([0.7, 0.16, 0.07, 0.07])


def item_groups(supports: tuple[np.ndarray, np.ndarray], seed: int) -> ItemReports:
    generator, groups = np.random.default_rng(seed), []
    for people, epsilon, own in zip((3000, 300), (5, 8), supports, strict=True):
        channel = ItemSet.of([epsilon * 1_000_000] * len(own))
        truth = np.packbits(generator.random((people, len(own))) < own, axis=1, bitorder="little")
        groups.append((channel, perturb_item_sets(channel, truth, generator)))
    return ItemReports.of(groups, len(supports[0]), 0, "population")


def test_the_test_of_items_keeps_its_rate_where_supports_are_tiny() -> None:
    """Variances at supports pooled by size, without the longer tail, rejected more than every second time here."""
    rare = np.full(200, 0.002)
    assert is_rare(item_groups((rare, rare), seed).homogeneity.rejected for seed in range(runs(25, 10_000)))


def test_the_test_of_items_has_the_power_that_it_states() -> None:
    shares = np.full(20, 0.3)
    stated = item_groups((shares, shares), 1).homogeneity.noticed
    assert 0.05 < stated < 0.3
    other = shares.copy()
    other[3] += stated
    assert is_about([item_groups((shares, other), seed).homogeneity.rejected for seed in range(runs(50, 1000))], 0.8)


PAIRED = """
pldp = 1
title = "t"
levels = { strict = 1, open = 2 }
[[questions]]
name = "a"
values = ["x", "y"]
mechanism = "%s"
[[questions]]
name = "b"
values = ["u", "v"]
mechanism = "krr"
"""


def paired(mechanism: str, tables: dict[str, list[int]], seed: int) -> Table:
    survey, parts = loads(PAIRED % mechanism), []
    for level, cells in tables.items():
        drawn = np.random.default_rng(seed).multinomial(4000, np.array(cells) / sum(cells))
        answers = {"a": np.repeat(["x", "x", "y", "y"], drawn), "b": np.repeat(["u", "v", "u", "v"], drawn)}
        people = Population.of_values(survey, {name: each.tolist() for name, each in answers.items()},
                                      level_mix={level: 1}, seed=seed)  # fmt: skip
        parts.append(tally(survey, simulate_reports(survey, people, seed=seed), pairs=[("a", "b")]))
    return two_way(sum(parts[1:], parts[0]), "a", "b")


@pytest.mark.parametrize("mechanism", ["krr", "oue"])
def test_a_table_notices_levels_that_differ_in_what_two_answers_have_to_do_with_each_other(mechanism: str) -> None:
    """Both margins are .5 at both levels, so that their tests cannot see it."""
    found = paired(mechanism, {"strict": [4, 1, 1, 4], "open": [1, 4, 4, 1]}, 1)
    assert found.homogeneity.rejected
    assert found.notes[0].code == "levels-disagree"
    assert not any(margin.homogeneity.rejected for margin in found.margins)
    assert (np.abs(found.shares - 0.25) < 4.9 * found.standard_error).all()


def test_tables_of_levels_that_agree_are_rarely_accused() -> None:
    same = {"strict": [4, 1, 2, 3], "open": [4, 1, 2, 3]}
    found = [paired("krr", same, seed).homogeneity for seed in range(runs(15, 10_000))]
    assert is_rare(each.rejected for each in found)
    assert all((each.degrees, each.tests) == (1, 4) and 0 < each.noticed < 0.5 for each in found)


def test_levels_of_several_mechanisms_are_tested() -> None:
    """Only one of them has shares that need not sum to 1; the sums of all three vary with it."""
    specs = [("oue", "0.5", 4000), ("krr", "1", 4000), ("krr", "2", 4000)]
    drawn = (sample(specs, SHARES, np.random.default_rng(seed)) for seed in range(runs(40, 4000)))
    found = [homogeneity_of_groups(groups) for groups in drawn]
    assert {each.degrees for each in found} == {6}
    assert mean_is([each.p_value for each in found], 0.5)
    assert is_rare(each.rejected for each in found)
