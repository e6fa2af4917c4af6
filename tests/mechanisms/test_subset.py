"""Subset selection: the law of the sets that devices draw, their two forms, and the drawing of many."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from helpers.claims import follows, runs
from helpers.draws import check_form
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms import TOTAL, Bits, Places, SubsetSelection
from pldp.mechanisms.arrays import arrays
from pldp.mechanisms.subset.channel import best_chosen, spread

Set = frozenset[int]


def law_of_floyd(others: int, steps: int) -> dict[Set, Fraction]:
    """Probability of every set of so many of the other values, number by number."""
    law = {frozenset[int](): Fraction(1)}
    for count in range(others - steps + 1, others + 1):
        after: Counter[Set] = Counter()
        ends = [-(-drawn * TOTAL // count) for drawn in range(count + 1)]  # numbers u with ⌊u·count/2⁵³⌋ = drawn
        for taken, chance in law.items():
            for drawn in range(count):
                picked = count - 1 if drawn in taken else drawn
                after[taken | {picked}] += chance * Fraction(ends[drawn + 1] - ends[drawn], TOTAL)
        law = dict(after)
    return law


def law_of_device(channel: SubsetSelection, value: int) -> dict[Set, Fraction]:
    """Q(set | value) of the sets that a device draws, exactly."""
    size, chosen = channel.size, channel.chosen
    law: Counter[Set] = Counter()
    for steps, weight, own in ((chosen - 1, channel.truth_weight, [value]), (chosen, TOTAL - channel.truth_weight, [])):
        for others, chance in law_of_floyd(size - 1, steps).items():
            moved = {other + (other >= value) for other in others}
            law[frozenset([*moved, *own])] += chance * Fraction(weight, TOTAL)
    return law


@pytest.mark.parametrize(("size", "chosen"), [(2, 1), (4, 1), (5, 2), (6, 3), (7, 2), (7, 4)])
def test_epsilon_of_the_sets_that_devices_draw_is_the_stated_one(size: int, chosen: int) -> None:
    channel = SubsetSelection.of(size, 700_000, chosen)
    laws = [law_of_device(channel, value) for value in range(size)]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
    assert len(laws[0]) == math.comb(size, chosen)
    assert micro_epsilon_of_ratio(worst.numerator, worst.denominator) == channel.micro_epsilon == 700_000
    for y, exact in laws[0].items():
        stated = channel.probability(channel.form.pack(sum(1 << place for place in y)), 0)
        assert abs(exact / stated - 1) < Fraction(1, 10**14)


def test_a_set_that_has_the_truth_a_little_more_often_breaks_the_promise() -> None:
    channel = SubsetSelection.of(6, 700_000, 3)
    assert SubsetSelection(6, 3, channel.truth_weight + 2**33).micro_epsilon > 700_000


def test_the_size_of_sets_has_the_least_variance_of_all() -> None:
    for size in (2, 3, 5, 10, 16, 33, 100, 256):
        for epsilon in (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0):
            least = min(spread(size, chosen, epsilon) for chosen in range(1, size))
            assert spread(size, best_chosen(size, epsilon), epsilon) <= least * (1 + 1e-12)


def test_bits_and_places_admit_exactly_their_outputs() -> None:
    for form in (Bits(6), Bits(6, 2), Places(6, 2)):
        check_form(form)
        assert all(form.pack(form.unpack(each)) == each for each in form.outputs())


def test_long_answers_with_few_values_are_lists_of_places() -> None:
    assert SubsetSelection.of(128, 5_000_000).form == Bits(128, 1)
    assert SubsetSelection.of(1024, 1_000_000).form == Bits(1024, 275)
    listed = SubsetSelection.of(5000, 6_000_000).form
    assert (listed, listed.bytes) == (Places(5000, 12), 24)


@pytest.mark.parametrize(("size", "chosen", "weight"), [(6, 7, 2**52), (6, 2, 2**53), (6, 3, 2**52), (2**21, 1, 2**52)])
def test_impossible_sets_are_refused(size: int, chosen: int, weight: int) -> None:
    with pytest.raises(EpsilonError, match="must be"):
        SubsetSelection(size, chosen, weight)


def test_many_sets_follow_the_law_and_not_a_weaker_one() -> None:
    """χ² over all C(6, 2) sets of one value, at a false-alarm rate of one in a million; 5 % less ε is seen."""
    channel, weaker = SubsetSelection.of(6, 1_000_000, 2), SubsetSelection.of(6, 950_000, 2)
    rows = arrays(channel).draw_many(np.full(200_000, 4, np.uint8), np.random.default_rng(1))
    counts = Counter(row.tobytes() for row in rows)
    for tested, fits in ((channel, True), (weaker, False)):
        expected = {y: float(tested.probability(y, 4)) for y in tested.outputs()}
        assert follows([counts[y] for y in expected], list(expected.values())) is fits


@pytest.mark.parametrize("size", [20, 64, 66, 140, 700])
def test_long_sets_have_uniform_pairs_of_values(size: int) -> None:
    """How often two neighbours, over all words and pieces of words, come together: normal to six standard errors."""
    channel = SubsetSelection.of(size, 1_000_000)
    form = arrays(channel)
    values = np.full(runs(20_000, 60_000), size // 2, np.uint16)
    rows = form.draw_many(values, np.random.default_rng(size))
    assert form.rows.admitted(rows).all()
    bits = form.rows.expanded(rows)
    shares = np.zeros(size)
    shares[size // 2] = 1
    chosen = np.arange(size)
    expected = form.joint_support(shares, chosen)[chosen[:-1], chosen[1:]]
    together = (bits[:, 1:] * bits[:, :-1]).mean(axis=0)
    assert (abs(together - expected) < 6 * np.sqrt(expected / len(rows))).all()
    support = np.where(chosen == size // 2, float(channel.truth_support), float(channel.other_support))
    assert (abs(bits.mean(axis=0) - support) < 6 * np.sqrt(support / len(rows))).all()


def test_listed_sets_are_drawn_like_those_of_bits() -> None:
    channel = SubsetSelection.of(600, 6_000_000, 3)
    assert isinstance(channel.form, Places)
    form = arrays(channel)
    rows = form.draw_many(np.full(200_000, 7, np.uint16), np.random.default_rng(1))
    assert form.rows.admitted(rows).all()
    counts = form.rows.count(rows)
    assert abs(counts[7] / len(rows) - float(channel.truth_support)) < 6 * np.sqrt(0.25 / len(rows))
    others = np.delete(counts, 7)
    assert follows(others.tolist(), [1 / 599] * 599)
