"""Supports of items and sets from hidden levels: unbiased, errors that allow for the mix, and a test that notices."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import pldp
from helpers.claims import FALSE_ALARM, mean_of_few_is, rate_is, runs
from pldp.estimates import HiddenBaskets, baskets_of, expected_items, itemsets, supports
from pldp.estimates.kinds.item_search import Estimated
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.linear.mix import LevelMix
from pldp.estimates.linear.pooling import Linear
from pldp.mechanisms import Channel, ItemSet, PrivSet, RandomizedResponse, SampledBoxes, hideable_whole_sets
from pldp.mechanisms.arrays import arrays
from pldp.simulate import Population, perturb, simulate_reports
from pldp.tallies import BitCounts

MICRO = 1_000_000
ITEMS = ["a", "b", "c", "d"]
SUPPORTS = np.array([0.5, 0.3, 0.15, 0.05])
MIX = np.array([0.4, 0.6])


def boxes(*budgets: int, count: int = 2) -> tuple[Channel, ...]:
    return next(each for each in SampledBoxes.hideable_whole(4, budgets) if each[0].boxes == count)


CHANNELS: dict[str, tuple[Channel, ...]] = {
    "a budget per box": (ItemSet.of([500_000] * 4), ItemSet.of([2 * MICRO] * 4)),
    "budgets per box": tuple(ItemSet.of([each, each // 2, each, each // 4]) for each in (MICRO, 3 * MICRO)),
    "boxes": boxes(MICRO, 3 * MICRO),
    "PrivSet": (PrivSet.of(4, 500_000, 4, 2), PrivSet.of(4, 2 * MICRO, 4, 2)),
}


def baskets(people: int, generator: np.random.Generator, supports: np.ndarray = SUPPORTS) -> np.ndarray:
    """Sets of people, packed: the second item comes with the first one, others come alone."""
    ticked = generator.random((people, len(supports))) < supports
    ticked[:, 1] = ticked[:, 0] & (generator.random(people) < supports[1] / supports[0])
    return ticked


def reports(
    channels: Sequence[Channel],
    ticked: np.ndarray,
    level: np.ndarray,
    generator: np.random.Generator,
    label: RandomizedResponse | None = None,
) -> HiddenBaskets:
    """Draw what people of these sets and levels report."""
    label = label or RandomizedResponse.of(len(channels), MICRO)
    values = np.packbits(ticked, axis=1, bitorder="little")
    shown = perturb(label, level, generator)
    counts, found = np.bincount(shown, minlength=len(channels)), []
    for own in range(len(channels)):
        parts = [
            arrays(channel).draw_many(values[(shown == own) & (level == place)], generator)
            for place, channel in enumerate(channels)
        ]
        if isinstance(channels[0], SampledBoxes):
            parts = [np.bincount(part, minlength=channels[0].form.count) for part in parts]
            found.append(np.sum(parts, axis=0))
        else:
            found.append(np.concatenate(parts))
    return HiddenBaskets(tuple(channels), LevelMix.of(label, counts.tolist()), tuple(found))


def draw(name: str, people: int, seed: int, label: int = MICRO) -> HiddenBaskets:
    generator = np.random.default_rng([seed, people])
    level = generator.choice(2, people, p=MIX)
    ticked = baskets(people, generator)
    return reports(CHANNELS[name], ticked, level, generator, RandomizedResponse.of(2, label))


def of_items(given: ItemReports) -> Estimated:
    """Return the supports of all items."""
    return given.estimate(*given.singles)


def wanted(name: str) -> list[tuple[str, ...]]:
    largest = min(arrays(each).largest for each in CHANNELS[name])
    return [one for size in range(1, min(largest, 3) + 1) for one in combinations(ITEMS, size)]


def true_support(one: Sequence[str]) -> float:
    places = {ITEMS.index(item) for item in one}
    alone = [SUPPORTS[place] for place in places if not (place == 0 and 1 in places)]
    return float(np.prod(alone))


@cache
def repeated(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors in units of the stated ones, whether 95 % intervals cover, and errors of supports free of assumptions."""
    sets = wanted(name)
    true, scores, free = np.array([true_support(one) for one in sets]), [], []
    for run in range(runs(25, 2000)):
        given = draw(name, 4000, run)
        found = supports(given, ITEMS, sets, differ=0)
        scores.append((found.support - true) / found.standard_error)
        beside = of_items(ItemReports.of(given, 4, None, "population"))
        free.append((beside.support - SUPPORTS) / beside.error)
    return np.array(scores), np.abs(scores) < 1.96, np.array(free)


@pytest.mark.parametrize("name", CHANNELS)
def test_supports_have_no_bias_and_errors_of_the_stated_size(name: str) -> None:
    scores, _, free = repeated(name)
    for each in (*scores.T, *free.T):
        assert mean_of_few_is(each, 0) or abs(each.mean()) < 0.25  # a ratio of estimates has a bias of the order of 1/n
        # The variance of runs scores is 1 but for chance; heavy tails of ratios are within the same limits.
        spread = stats.chi2.ppf([FALSE_ALARM, 1 - FALSE_ALARM], len(each) - 1) / (len(each) - 1)
        assert spread[0] < each.var() < 1.3 * spread[1]


@pytest.mark.parametrize("name", CHANNELS)
def test_intervals_cover(name: str) -> None:
    _, covered, free = repeated(name)
    for each in (*covered.T, *(np.abs(free) < 1.96).T):
        assert rate_is(each, 0.95)


def test_errors_that_ignore_the_mix_do_not_cover(monkeypatch) -> None:
    """The twin: with a label of little ε the estimated mix makes most of the error of rare items."""
    sets, true = [["c"], ["d"]], SUPPORTS[2:]
    drawn = [draw("a budget per box", 40_000, run, 200_000) for run in range(50)]

    def covered() -> np.ndarray:
        found = [supports(each, ITEMS, sets, differ=0) for each in drawn]
        return np.array([np.abs(own.support - true) < 1.96 * own.standard_error for own in found])

    right = covered()

    def within_labels(self: ItemReports, linear: Linear, _: np.ndarray) -> np.ndarray:
        """Leave out what labels make of the error: the mean of ψ among the reports of each."""
        shares = linear.evidence.shares
        own = (shares * linear.psi).sum(axis=2, keepdims=True) / shares.sum(axis=2, keepdims=True)
        return (shares * (linear.psi - own) ** 2).sum(axis=(0, 2)) / self.mix.reports

    monkeypatch.setattr(ItemReports, "_variance", within_labels)
    wrong = covered()
    assert rate_is(right, 0.95)
    assert not rate_is(wrong, 0.95)
    assert wrong.mean() < 0.8


def test_errors_for_the_respondents_leave_out_who_is_asked() -> None:
    generator = np.random.default_rng(3)
    ticked = baskets(4000, generator)
    true, scores = ticked.mean(axis=0), []
    for _ in range(runs(25, 1000)):  # everybody chooses a level anew: it does not depend on what they have
        given = reports(CHANNELS["a budget per box"], ticked, generator.choice(2, 4000, p=MIX), generator)
        found = ItemReports.of(given, 4, 0, "respondents")
        scores.append([(each.support - true) / each.error for each in map(of_items, (found, found.within(None)))])
    assert rate_is(np.abs(np.array(scores)) < 1.96, 0.95)


def dependent(seed: int, change: float, people: int = 20_000) -> HiddenBaskets:
    """People who have the first item choose the open level more often."""
    generator = np.random.default_rng([seed, 5])
    ticked = baskets(people, generator)
    level = (generator.random(people) < 0.5 + change * (ticked[:, 0] - 0.5)).astype(int)
    return reports(CHANNELS["a budget per box"], ticked, level, generator)


def test_levels_that_depend_on_an_item_are_noticed_and_supports_hold_without_the_assumption() -> None:
    noticed, free, pooled = [], [], []
    for run in range(runs(25, 400)):
        together = ItemReports.of(dependent(run, 0.5), 4, 0, "population")
        noticed.append(together.homogeneity.rejected)
        for groups, scores in ((together.within(None), free), (together, pooled)):
            found = of_items(groups)
            scores.append(float((found.support[0] - SUPPORTS[0]) / found.error[0]))
    assert np.mean(noticed) > 0.9
    assert rate_is(np.abs(free) < 1.96, 0.95)
    assert not rate_is(np.abs(pooled) < 1.96, 0.95)  # the twin


@pytest.mark.parametrize("name", CHANNELS)
def test_levels_that_depend_on_nothing_are_not_noticed(name: str) -> None:
    found = [ItemReports.of(draw(name, 4000, run), 4, 0, "population").homogeneity for run in range(runs(40, 10_000))]
    rejected = sum(each.rejected for each in found if each is not None)
    assert stats.binom.sf(rejected - 1, len(found), 0.01) > FALSE_ALARM


def test_the_difference_that_would_have_been_noticed_is_noticed_with_eighty_percent() -> None:
    told = ItemReports.of(dependent(0, 0.0), 4, 0, "population").homogeneity
    # A part c of the first item's people more at the open level: shares differ by c·f(1 − f)/(ρ(1 − ρ)) = c.
    found = [
        ItemReports.of(dependent(run, told.noticed), 4, 0, "population").homogeneity.rejected
        for run in range(runs(40, 600))
    ]
    assert stats.binom.cdf(sum(found), len(found), 0.8) > FALSE_ALARM


def test_any_false_set_is_reported_with_five_percent_at_most() -> None:
    """Supports stand just below what is asked for; all sets of up to three items."""
    false = []
    for run in range(runs(25, 1000)):
        generator = np.random.default_rng([run, 9])
        ticked = generator.random((5000, 4)) < np.array([0.35, 0.35, 0.35, 0.35])
        ticked[:, 1:] |= ticked[:, :1]  # whoever has the first has all
        ticked[:, 1:] &= ticked[:, :1]
        given = reports(CHANNELS["a budget per box"], ticked, generator.choice(2, 5000, p=MIX), generator)
        false.append([len(itemsets(given, ITEMS, 0.35, differ=differ).sets) > 0 for differ in (0, None)])
    for own in zip(*false, strict=True):
        assert stats.binom.sf(sum(own) - 1, len(own), 0.05) > FALSE_ALARM
    found = itemsets(given, ITEMS, 0.25, differ=0)
    assert {len(one) for one in found.sets} == {1, 2, 3}
    assert found.promise.endswith("at most 0.05")
    assert {rule.antecedent for rule in found.rules(0.9)} > {("a",), ("b", "c")}


def survey(hide: float = 1.0, **keys: object) -> pldp.Survey:
    question = {"name": "q", "kind": "choices", "values": ITEMS, **keys}
    levels = {"strict": 0.5, "middle": 1, "open": 2}
    content = {"pldp": 1, "title": "t", "levels": levels, "hide_level": {"epsilon": hide}, "questions": [question]}
    return pldp.Survey.read(content)


@cache
def counted(people: int = 20_000, **keys: object) -> pldp.Tally:
    asked = survey(**keys)
    population = Population.of_shares(asked, people, {"q": SUPPORTS}, seed=4)
    return pldp.tally(asked, simulate_reports(asked, population, seed=4))


@pytest.mark.parametrize("keys", [{}, {"budget": "set"}], ids=str)
def test_a_result_from_hidden_levels_is_like_any_other(keys: dict[str, str]) -> None:
    tally = counted(**keys)
    result = pldp.estimate(tally, "q", min_support=0.05)
    low, high = result.interval(1 - FALSE_ALARM)
    assert ((low < SUPPORTS) & (high > SUPPORTS)).all()
    low, high = result.alike.interval(1 - FALSE_ALARM)
    assert ((low < SUPPORTS) & (high > SUPPORTS)).all()
    assert [level.level for level in result.levels] == ["strict", "middle", "open"]
    assert sum(level.share for level in result.levels) == pytest.approx(1)
    assert result.method == "unbiased, hidden levels, all people count alike"
    assert result.alike.method == "unbiased, hidden levels, levels weighted by precision"
    assert result.standard_error.min() > result.alike.standard_error.max()
    assert any("does not depend on the value" in each for each in result.alike.assumptions)
    assert any("may depend on the value in any way" in each for each in result.assumptions)
    assert result.homogeneity.noticed > 0
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301
    assert json.loads(json.dumps(result.to_mapping()))["levels"][0]["level"] == "strict"
    assert len(result.to_frame(library="pandas")) == 4
    live = pldp.estimate(tally, "q", live=20_000)
    assert (live.interval().high - live.interval().low > result.interval().high - result.interval().low).all()
    change = result - result
    assert change.estimates == pytest.approx(0)
    groups, items = baskets_of(tally, "q")
    assert supports(groups, items, [["a"]]).support[0] == pytest.approx(result.support[0])
    alike = pldp.estimate(tally, "q", differ=0)
    assert alike.support == pytest.approx(result.alike.support)
    assert alike.standard_error == pytest.approx(result.alike.standard_error)
    assert alike.alike is None


def test_a_known_mix_makes_errors_smaller_and_a_wrong_one_is_noticed() -> None:
    tally, third = counted(hide=0.2), 1 / 3
    plain = pldp.estimate(tally, "q", largest=1)
    given = pldp.estimate(tally, "q", largest=1, mix={"strict": third, "middle": third, "open": third})
    bounded = pldp.estimate(tally, "q", largest=1, mix={"strict": (0.25, 0.4), "open": (0.25, 0.4)}, differ=0)
    known = given.alike
    assert known.standard_error[3] < bounded.standard_error[3] < plain.alike.standard_error[3]
    low, high = known.interval(1 - FALSE_ALARM)
    assert ((low < SUPPORTS) & (high > SUPPORTS)).all()
    assert any("the shares of the levels are the given ones" in each for each in known.assumptions)
    assert any("is not used here" in each for each in given.assumptions)
    assert given.support == pytest.approx(plain.support)
    wrong = pldp.estimate(counted(), "q", largest=1, mix={"strict": 0.9}, differ=0)
    assert "mix-contradicted" in {note.code for note in wrong.notes}


def test_supports_that_assume_nothing_are_marked_where_they_say_nothing() -> None:
    result = pldp.estimate(counted(people=300, hide=0.1), "q")
    assert all(row["too_few"] > 300 for row in result.marked())
    assert "too-few-to-say" in {note.code for note in result.notes}
    assert not any("too_few" in row for row in result.alike.marked())
    assert "labels-say-little" in {note.code for note in result.alike.notes}


def test_a_plan_says_the_errors_that_an_estimate_has() -> None:
    for keys in ({}, {"budget": "set"}, {"budget": "set", "at_most": 4}):
        asked = survey(**keys)
        planned = pldp.plan(asked, 20_000, shares={"q": SUPPORTS.tolist()}).questions[0]
        found = pldp.estimate(counted(**keys), "q", largest=1)
        assert found.standard_error == pytest.approx(planned.standard_error, rel=0.06)
        assert planned.hiding_cost > 1


def one_report(found: Linear) -> np.ndarray:
    """The variance of each support from one report."""
    return found.variance() * found.reports


def test_a_label_that_tells_the_level_costs_nothing() -> None:
    channels = next(hideable_whole_sets("boxes", 6, (MICRO, 2 * MICRO)))
    clear = one_report(expected_items(channels, RandomizedResponse.of(2, 20 * MICRO), MIX, np.full(6, 0.2)))
    alone = [arrays(channel).variance(np.full(6, 0.2)) for channel in channels]
    assert clear == pytest.approx(1 / (MIX[0] / alone[0] + MIX[1] / alone[1]), rel=1e-6)
    free = expected_items(channels, RandomizedResponse.of(2, 20 * MICRO), MIX, np.full(6, 0.2), None)
    assert one_report(free) == pytest.approx(MIX[0] * alone[0] + MIX[1] * alone[1], rel=1e-6)
    dark = one_report(expected_items(channels, RandomizedResponse.of(2, MICRO // 10), MIX, np.full(6, 0.2)))
    assert (dark > 1.5 * clear).all()


def test_forged_reports_are_seen_though_levels_are_hidden() -> None:
    honest = counted()
    assert not pldp.estimate(honest, "q", largest=1).forgery.alarmed
    cell = ("q", "open")
    empty = BitCounts.of_rows(np.zeros((60_000, 1), np.uint8), 4, patterns=True)  # nobody's noise is so small
    counts = {**honest.counts, cell: BitCounts.merge([honest.counts[cell], empty])}
    forged = replace(honest, counts=counts, reports=honest.reports + empty.reports)
    assert pldp.estimate(forged, "q", largest=1).notes[0].code == "forged-reports"
