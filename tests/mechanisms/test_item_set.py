"""Sets of items: ε is that of the enumerated channel, budgets are kept and used up, draws follow the weights."""

from __future__ import annotations

import math
import os
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers.claims import follows, runs
from helpers.draws import seeded_bytes
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms import BIT_TOTAL as TOTAL
from pldp.mechanisms import ItemSet, set_of
from pldp.mechanisms.sets.channel import pair_weights

BUDGET = st.one_of(st.just(math.inf), st.integers(100, 8_000_000))
UNEVEN = ItemSet.of_probabilities([0.77, 0.9, 0.6], [0.92, 0.55, 0.9])
SAMPLES = 20_000


def enumerated_epsilon(channel: ItemSet) -> float:
    """ln max Q(y|x)/Q(y|x') over all outputs and pairs of sets."""
    most = 0
    for output in channel.outputs():
        row = [channel.probability(output, value) for value in range(1 << channel.size)]
        ratio = max(row) / min(row) if min(row) else None
        if ratio is None:
            return math.inf
        most = max(most, micro_epsilon_of_ratio(ratio.numerator, ratio.denominator) or 0)
    return most


@pytest.mark.parametrize("channel", [UNEVEN, ItemSet.of([500_000, 2_000_000]), ItemSet.of([500_000, math.inf])])
def test_epsilon_of_a_set_is_that_of_the_enumerated_channel(channel: ItemSet) -> None:
    assert channel.micro_epsilon == enumerated_epsilon(channel)


@pytest.mark.parametrize(("one", "two"), [(0, 0), (0b001, 0b011), (0b101, 0b010)])
def test_epsilon_between_two_sets_is_that_of_the_enumerated_channel(one: int, two: int) -> None:
    pairs = [(UNEVEN.probability(output, one), UNEVEN.probability(output, two)) for output in UNEVEN.outputs()]
    ratio = max(max(a / b, b / a) for a, b in pairs)
    assert UNEVEN.pair_micro_epsilon(one, two) == micro_epsilon_of_ratio(ratio.numerator, ratio.denominator)


@pytest.mark.parametrize("output", range(8))
def test_epsilon_of_a_report_is_that_of_the_enumerated_channel(output: int) -> None:
    row = [UNEVEN.probability(output, value) for value in range(8)]
    ratio = max(row) / min(row)
    packed = bytes([output])
    assert UNEVEN.output_micro_epsilon(packed) == micro_epsilon_of_ratio(ratio.numerator, ratio.denominator)
    assert UNEVEN.value_micro_epsilon(output) == UNEVEN.micro_epsilon
    assert ItemSet.of([math.inf, 500_000, 500_000]).output_micro_epsilon(output) == math.inf


def test_epsilon_of_a_set_is_rounded_once() -> None:
    channel, one = ItemSet.of([1_000_003] * 1000), ItemSet.of([1_000_003])
    assert one.micro_epsilon == 1_000_003
    assert 1_000_002_000 < channel.micro_epsilon < 1_000_003_000


@given(st.lists(st.tuples(BUDGET, BUDGET), min_size=1, max_size=4))
def test_budgets_for_present_and_absent_are_kept(budgets: list[tuple[float, float]]) -> None:
    channel = ItemSet.of_pairs(budgets)
    for item, pair in enumerate(budgets):
        for limit, true in zip(pair, channel.item_micro_epsilon(item), strict=True):
            assert true <= limit


@settings(max_examples=runs(25, 100))
@given(st.integers(200_000, 4_000_000), st.integers(200_000, 4_000_000))
def test_no_bit_within_the_budgets_has_smaller_errors(present: int, absent: int) -> None:
    """Both promises as half-planes: no point has a smaller weighted sum of the two errors for weights around equal."""
    kept, raised = pair_weights(present, absent)
    a, b = np.exp(present / 1e6), np.exp(absent / 1e6)
    best = linprog([1, 1], A_ub=[[-a, -1], [-1, -b]], b_ub=[-1, -1], bounds=[(0, 1)] * 2)
    assert raised / TOTAL + 1 - kept / TOTAL == pytest.approx(best.fun, abs=1e-8)


def test_an_item_without_a_budget_is_never_perturbed_and_its_epsilon_is_infinite() -> None:
    channel = ItemSet.of([math.inf, 1_000_000])
    assert all(channel.draw(value, os.urandom)[0] & 1 == value & 1 for value in range(4) for _ in range(50))
    assert channel.item_micro_epsilon(0) == (math.inf, math.inf)
    assert channel.item_micro_epsilon(0).micro_epsilon == math.inf
    assert channel.item_micro_epsilon(1).micro_epsilon == 1_000_000
    assert channel.epsilon == float("inf")


def drawn(channel: ItemSet, value: int) -> list[int]:
    random = seeded_bytes(value)
    counts = Counter(channel.draw(value, random) for _ in range(SAMPLES))
    return [counts[output] for output in channel.outputs()]


@pytest.mark.parametrize("value", [0b000, 0b101, 0b111])
def test_draws_follow_the_channel(value: int) -> None:
    expected = [float(UNEVEN.probability(output, value)) for output in UNEVEN.outputs()]
    assert sum(expected) == pytest.approx(1)
    assert follows(drawn(UNEVEN, value), expected)


def test_the_test_rejects_a_channel_that_is_five_percent_off() -> None:
    other = ItemSet.of_probabilities([0.77, 0.855, 0.6], [0.92, 0.55, 0.9])
    assert not follows(drawn(other, 7), [float(UNEVEN.probability(output, 7)) for output in UNEVEN.outputs()])


@pytest.mark.parametrize("size", [1, 7, 8, 9, 65, 200])
def test_every_bit_compares_a_32_bit_number_with_its_own_threshold(size: int) -> None:
    generator = np.random.default_rng(size)
    channel = ItemSet.of_pairs([(int(a), int(b)) for a, b in generator.integers(100_000, 3_000_000, (size, 2))])
    value = int.from_bytes(generator.bytes(32), "little") % (1 << size)
    noise = generator.bytes(32 * channel.form.bytes)
    bits = int.from_bytes(channel.draw(value, lambda length: noise[:length]), "little")
    for item in range(size):
        digits = [noise[digit * channel.form.bytes + item // 8] >> item % 8 & 1 for digit in range(32)]
        number = sum((1 - one) << digit for digit, one in enumerate(digits))
        threshold = (channel.kept if value >> item & 1 else channel.raised)[item]
        assert bits >> item & 1 == (number < threshold)
    assert bits < 1 << size


def test_every_set_uses_the_same_random_bytes() -> None:
    asked = []

    def source(length: int) -> bytes:
        asked.append(length)
        return os.urandom(length)

    channel = ItemSet.of([1_000_000] * 20)
    for value in (0, 1, 2**20 - 1):
        channel.draw(value, source)
    assert asked == [96, 96, 96]


def test_weights_rebuild_the_channel() -> None:
    assert ItemSet(3, *(tuple(part) for part in UNEVEN.weights().values())) == UNEVEN
    assert UNEVEN.form.count == len(list(UNEVEN.outputs())) == 8


def test_probabilities_multiply_over_items() -> None:
    q = [Fraction(raised, TOTAL) for raised in UNEVEN.raised]
    for bits in product((0, 1), repeat=3):
        output = sum(bit << item for item, bit in enumerate(bits))
        expected = np.prod([float(one if bit else 1 - one) for bit, one in zip(bits, q, strict=True)])
        assert float(UNEVEN.probability(output, 0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: ItemSet(0, (), ()), "size must be at least 1 item, not 0"),
        (lambda: ItemSet(2, (9, 9), (1,)), "kept and raised must hold 2 weights, not 2, 1"),
        (lambda: ItemSet(2, (9, 5), (1, 5)), "item 1: a present item must be reported more often.*not 5, 5"),
        (lambda: ItemSet.of_probabilities([0.5], [0.5]), "item 0: a present item must be reported more often"),
        (lambda: ItemSet.of_probabilities([0.5], []), "one probability per item, not 1 and 0"),
        (lambda: ItemSet.of_probabilities([1.5], [0.5]), "between 0 and 1"),
        (lambda: ItemSet.of([0]), "budgets must be whole micro-ε"),
        (lambda: ItemSet.of_pairs([(math.inf, 0)]), "budgets must be whole micro-ε"),
    ],
)
def test_what_is_no_channel_is_refused_in_one_line(make, line: str) -> None:
    with pytest.raises(EpsilonError, match=line) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_budgets_below_the_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pldp.mechanisms.sets.channel.BIT_TOTAL", 1000)
    with pytest.raises(EpsilonError, match="too small"):
        pair_weights(1, 1)


def test_baskets_become_sets_and_bad_ones_are_refused_without_repeating_them() -> None:
    items = ["beer", "bread", "milk"]
    assert set_of([], items) == 0
    for basket, line in (
        (["milk", "secret"], "known items only; some of its 2 are not among 3"),
        (["milk", "milk"], "name each item once; some of its 2 are there twice"),
        ("milk", "several item names, not one text"),
    ):
        with pytest.raises(AnswerError, match=line) as caught:
            set_of(basket, items)
        assert "secret" not in str(caught.value)
    with pytest.raises(AnswerError, match="'milk' is there twice"):
        set_of([], ["milk", "milk"])
    with pytest.raises(AnswerError, match="at least one item"):
        set_of([], [])
    with pytest.raises(AnswerError, match="an integer below 2\\^3"):
        UNEVEN.draw(8, os.urandom)
