"""Subsets with a budget per value: the law of the sets that devices draw, the sizes of sets, and what `auto` takes."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import follows, runs
from helpers.draws import check_form
from helpers.item_channels import CHANNELS, MIXED, OPEN
from helpers.refusals import refused
from pldp import Device
from pldp.auditing.exact import audit_channel
from pldp.auditing.law import sampler_fault
from pldp.auditing.published import read_table
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import EpsilonError, SurveyError
from pldp.estimates import estimate
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.known import SumToOne
from pldp.estimates.linear.patterns import label_patterns
from pldp.estimates.linear.pooling import decode
from pldp.mechanisms import TOTAL, ItemResponse, ItemSubset, SubsetSelection, build, read, value_promise
from pldp.mechanisms.arrays import arrays, label_arrays
from pldp.mechanisms.output import TieredBits
from pldp.mechanisms.subset.sizes import Design, best_designs, summed_variance
from pldp.simulate import Population, simulate_reports
from pldp.survey import survey_from_mapping
from pldp.tallies import tally

Set = frozenset[int]
TESTED = {name: channel for name, channel in CHANNELS.items() if isinstance(channel, ItemSubset)}
ALL = pytest.mark.parametrize("channel", TESTED.values(), ids=TESTED)
HALF_AND_ONE = [500_000] * 8 + [1_000_000] * 8


def law_of_floyd(others: list[int], steps: int) -> dict[Set, Fraction]:
    """Probability of every set of so many of the other values, number by number."""
    law = {frozenset[int](): Fraction(1)}
    for count in range(len(others) - steps + 1, len(others) + 1):
        after: Counter[Set] = Counter()
        ends = [-(-drawn * TOTAL // count) for drawn in range(count + 1)]  # numbers u with ⌊u·count/2⁵³⌋ = drawn
        for taken, chance in law.items():
            for drawn in range(count):
                picked = others[count - 1] if others[drawn] in taken else others[drawn]
                after[taken | {picked}] += chance * Fraction(ends[drawn + 1] - ends[drawn], TOTAL)
        law = dict(after)
    return law


def law_of_device(channel: ItemSubset, value: int) -> dict[Set, Fraction]:
    """Q(set | value) of the sets that a device draws, exactly."""
    law: Counter[Set] = Counter()
    pairs = list(zip(channel.chosen, channel.other_weights, strict=True))
    kept = TOTAL - sum(channel.other_weights)
    for named, pair in enumerate(pairs):
        weight = Fraction(pair[1] + kept * (named == value), TOTAL)
        others = [place for place, other in enumerate(pairs) if other == pair and place != named]
        for some, chance in law_of_floyd(others, pair[0] - 1).items():
            law[some | {named}] += weight * chance
    return law


@ALL
def test_epsilon_of_the_sets_that_devices_draw_is_the_stated_one(channel: ItemSubset) -> None:
    laws = [law_of_device(channel, value) for value in range(channel.size)]
    assert all(sum(law.values()) == 1 for law in laws)
    for y in laws[0]:
        output = channel.form.pack(sum(1 << place for place in y))
        least, most = min(law[y] for law in laws), max(law[y] for law in laws)
        exact = micro_epsilon_of_ratio(most.numerator * least.denominator, most.denominator * least.numerator)
        assert exact == channel.output_micro_epsilon(output)
        for value in range(channel.size):
            assert abs(laws[value][y] - channel.probability(output, value)) <= Fraction(laws[value][y], 10**14)


@ALL
def test_the_form_admits_exactly_the_outputs(channel: ItemSubset) -> None:
    assert isinstance(channel.form, TieredBits)
    check_form(channel.form)


@settings(max_examples=runs(40, 100))
@given(st.lists(st.one_of(st.just(math.inf), st.sampled_from((300_000, 330_000, 10**6)), st.integers(1000, 2 * 10**7))))
def test_no_report_costs_more_than_the_budget_of_any_value_in_it(drawn: list[float]) -> None:
    budgets = [500_000, *drawn, 700_000]
    built = ItemSubset.of(budgets)
    for value, budget in enumerate(budgets):
        assert built.promised(value) <= budget
    assert audit_channel("subset_items", len(budgets), built.weights(), 2 * 10**7, budgets).broken == ()
    assert read("subset_items", len(budgets), built.weights()) == built


def test_a_little_less_noise_breaks_the_promise_and_the_audit_says_so() -> None:
    built = ItemSubset.of(HALF_AND_ONE)
    weaker = ItemSubset(16, built.chosen, tuple(weight - 2**33 for weight in built.other_weights))
    assert weaker.promised(0) > 500_000
    assert len(audit_channel("subset_items", 16, weaker.weights(), 1_000_000, HALF_AND_ONE).broken) == 16


def test_single_values_are_iprr_and_one_budget_is_subset_selection() -> None:
    for budgets in (MIXED, OPEN):
        assert (
            ItemSubset.of_tiers([(micro, 1) for micro in budgets]).other_weights
            == ItemResponse.of(budgets).other_weights
        )
    one, sets = ItemSubset.of([1_000_000] * 16), SubsetSelection.of(16, 1_000_000)
    assert set(one.chosen) == {sets.chosen}
    for output in list(one.outputs())[:5]:
        assert abs(one.probability(output, 3) / sets.probability(output, 3) - 1) < Fraction(1, 10**12)
    assert one.equal_variance == pytest.approx(sets.equal_variance, rel=1e-9)


@ALL
def test_stated_variance_is_that_of_the_arrays(channel: ItemSubset) -> None:
    assert channel.equal_variance == pytest.approx(arrays(channel).mean_variance, rel=1e-12)


def test_stated_variance_of_iprr_is_that_of_the_arrays() -> None:
    for budgets in (MIXED, OPEN):
        channel = ItemResponse.of(budgets)
        assert channel.equal_variance == pytest.approx(arrays(channel).mean_variance, rel=1e-12)


def test_sizes_are_the_best_of_all_or_nearly() -> None:
    """All sizes of random tiers: 2 % is lost at most, and nothing in nineteen of twenty cases."""
    generator = np.random.default_rng(1)
    lost = []
    for _ in range(60):
        budgets = generator.choice([0.1, 0.5, 1.5, 4.0], generator.integers(1, 4), replace=False)
        tiers = [Design((float(epsilon),), int(generator.integers(1, 8))) for epsilon in sorted(budgets)]
        tiers += [Design((math.inf,), 3)] * int(generator.integers(0, 2))
        sizes = product(*(range(1, tier.most + 1) for tier in tiers))
        least = min(
            summed_variance([replace(tier, chosen=size) for tier, size in zip(tiers, some, strict=True)])
            for some in sizes
        )
        found = best_designs([(tier.budgets[0], tier.count) for tier in tiers])
        lost.append(summed_variance(found) / least - 1)
    assert max(lost) < 0.02
    assert np.mean(np.array(lost) < 1e-8) > 0.95


def test_close_budgets_share_sets_and_the_smallest_one_is_kept() -> None:
    budgets = [500_000 + 10_000 * place for place in range(8)]
    built = ItemSubset.of(budgets)
    assert {*built.chosen} == {3}
    assert {built.promised(value) for value in range(8)} == {500_000}
    assert built.equal_variance < 0.8 * ItemResponse.of(budgets).equal_variance


@ALL
def test_every_value_uses_the_same_random_bytes(channel: ItemSubset) -> None:
    asked = []
    for turn in range(40):

        def random(count: int, turn: int = turn) -> bytes:
            asked.append(count)
            return hashlib.shake_256(bytes([turn])).digest(count)

        assert channel.form.admits(channel.draw(turn % channel.size, random))
    assert set(asked) == {7 * max(channel.chosen)}


@ALL
def test_the_audit_confirms_the_sampler_and_notices_another(channel: ItemSubset) -> None:
    table = read_table("subset_items", channel.size, channel.weights())
    assert sampler_fault(channel.draw, table) is None
    other = ItemSubset(channel.size, channel.chosen, tuple(max(0, weight - 1) for weight in channel.other_weights))
    assert sampler_fault(other.draw, table) is not None


@pytest.mark.parametrize("value", [0, 7])
def test_many_sets_follow_the_law_and_not_a_weaker_one(value: int) -> None:
    """χ² over all sets, at a false-alarm rate of one in a million; 5 % less ε is seen."""
    tiers = [(500_000, 2)] * 5 + [(1_000_000, 3)] * 5 + [(1_000_000, 1)] * 2
    channel = ItemSubset.of_tiers(tiers)
    weaker = ItemSubset.of_tiers([(int(0.95 * micro), chosen) for micro, chosen in tiers])
    rows = arrays(channel).draw_many(np.full(200_000, value, np.uint8), np.random.default_rng(value))
    counts = Counter(row.tobytes() for row in rows)
    for tested, fits in ((channel, True), (weaker, False)):
        expected = {y: float(tested.probability(y, value)) for y in tested.outputs()}
        assert follows([counts[y] for y in expected], list(expected.values())) is fits


def test_auto_takes_sets_where_they_are_more_accurate_and_short_enough() -> None:
    assert build("auto", 16, HALF_AND_ONE).mechanism == "subset_items"
    assert build("auto", 5, OPEN).mechanism == "iprr"
    assert build("auto", 16, HALF_AND_ONE, answer_bytes=1).mechanism == "iprr"
    for budgets in (HALF_AND_ONE, OPEN, MIXED, [500_000] * 3 + [math.inf] * 13):
        chosen = build("auto", len(budgets), budgets)
        both = [build(name, len(budgets), budgets).equal_variance for name in ("iprr", "subset_items")]
        assert both[1] <= both[0] * (1 + 1e-9)
        assert chosen.equal_variance <= 1.005 * min(both)


def survey(**keys: object):
    values = [f"v{place}" for place in range(12)]
    question = {
        "name": "q",
        "values": values,
        "fractions": dict.fromkeys(values[:5], "1/2"),
        "unprotected": values[11:],
    }
    levels = {"strict": 1, "open": 2}
    return survey_from_mapping({"pldp": 1, "title": "t", "levels": levels, "questions": [question], **keys})


def test_a_survey_goes_from_answers_to_shares() -> None:
    """Errors of 12 shares from 200,000 people stay below five standard errors."""
    made = survey()
    assert {channel.mechanism for channel in made.question("q").channels} == {"subset_items"}
    assert 'speaks for "v0" against another value' in Device(made).explain("strict")
    people = Population.of_shares(made, 200_000, seed=1)
    counted = tally(made, simulate_reports(made, people, seed=1))
    found = estimate(counted, "q")
    truth = np.bincount(people.values["q"], minlength=12) / 200_000
    assert (abs(found.shares - truth) < 5 * found.standard_error).all()
    assert found.shares.sum() == pytest.approx(1)


def test_tracking_stays_refused() -> None:
    with pytest.raises(SurveyError, match="budgets of their own"):
        survey(repeat="tracked")


def test_hidden_levels_go_from_answers_to_shares() -> None:
    """Errors of 12 shares and of the mix from 100,000 people stay below five standard errors."""
    made = survey(hide_level={"epsilon": 2})
    people = Population.of_shares(made, 100_000, seed=1)
    found = estimate(tally(made, simulate_reports(made, people, seed=1)), "q")
    truth = np.bincount(people.values["q"], minlength=12) / 100_000
    assert (abs(found.shares - truth) < 5 * found.standard_error).all()
    assert not found.homogeneity.rejected
    assert (abs(found.shares - truth) < 5 * found.standard_error).all()


def test_levels_with_other_tiers_are_pooled_without_bias() -> None:
    """Expected counts give the shares back, and those of people who are not alike do not."""
    shares = np.array([0.3, 0.1, 0.2, 0.05, 0.25, 0.1])
    budgets = [(500_000,) * few + (2_000_000,) * (6 - few) for few in (2, 3)]
    forms = [label_arrays(build("subset_items", 6, own)) for own in budgets]

    def pooled(*of_levels: np.ndarray) -> np.ndarray:
        parts = zip(forms, of_levels, strict=True)
        counts = [form.pattern_counts(1e6 * form.expected_support(own), 1e6) for form, own in parts]
        likely, known = forms[0].pattern_states(shares), SumToOne.of(forms)
        evidence = Evidence(np.array(counts), label_patterns(forms), np.eye(2), True, likely_states=likely, known=known)
        return decode(evidence).estimates

    assert np.allclose(pooled(shares, shares), shares, rtol=0, atol=1e-12)
    assert abs(pooled(shares, shares[::-1]) - shares).max() > 0.01


BAD = {
    "chosen must be 3 integers": lambda: ItemSubset(3, (1, 1), (5, 5, 5)),
    "of at least 1": lambda: ItemSubset(3, (0, 1, 1), (5, 5, 5)),
    "must leave out a value": lambda: ItemSubset(3, (3, 3, 3), (5, 5, 5)),
    "be 1 for values without": lambda: ItemSubset(4, (2, 2, 2, 1), (0, 0, 0, 5)),
    "at most 1,048,576 values": lambda: ItemSubset(2**20 + 1, (1,) * (2**20 + 1), (1,) * (2**20 + 1)),
    "protect at least one value": lambda: ItemSubset.of([math.inf] * 3),
    "must leave the truth something": lambda: ItemSubset(2, (1, 1), (2**52, 2**52)),
    "too small for sets of 400000 among 1000000 values": lambda: ItemSubset.of_tiers([(1, 400_000)] * 10**6),
    "must be exactly chosen, other": lambda: read("subset_items", 2, {"other": [1, 2]}),
}


@pytest.mark.parametrize("words", BAD)
def test_impossible_sets_get_one_clear_line(words: str) -> None:
    with refused(EpsilonError, words):
        BAD[words]()


def test_sentences_say_what_can_be_concluded() -> None:
    labels = "abcdefg"
    built = TESTED["subsets, single values and open ones"]
    assert value_promise(built, 1, labels) == (
        'No report speaks for "b" against another value by more than 1.35 times (ε = 0.3); '
        'against "b", one can rule it out (ε infinite): "a", "g".'
    )
    assert value_promise(built, 0, labels).startswith('A report can prove "a" against another value (ε infinite): "b"')
