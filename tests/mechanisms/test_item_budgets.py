"""A budget per value: every stated ε is that of the enumerated channel, and every promise is kept by the integers."""

from __future__ import annotations

import math
import os
from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from helpers.claims import follows, runs
from helpers.draws import seeded_bytes
from helpers.item_channels import CHANNELS, MIXED
from helpers.refusals import refused
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms import (
    IDUE_MODELS,
    CategoricalChannel,
    ItemResponse,
    ItemUnaryEncoding,
    RandomizedResponse,
    SupportChannel,
    ValueResponse,
    WeightedResponse,
    build,
    idue_error,
    idue_optimum,
    names,
    read,
    report_promise,
    value_promise,
)
from pldp.mechanisms.unary.optimum import MOST_LEVELS

PURE = {f"{name} (pure)": build(name, 4, 900_000) for name in names("labels", per_value=False)}
BUDGET = st.integers(1000, 20_000_000)


def some_finite(budgets: list[float]) -> bool:
    return min(budgets) < math.inf


def table(tested: CategoricalChannel) -> list[list[Fraction]]:
    return [[tested.probability(output, value) for value in range(tested.size)] for output in tested.outputs()]


def enumerated(pairs) -> float:
    """The largest ln(one/two) of pairs of probabilities; nothing is taken from the channel's own claim."""
    found = [micro_epsilon_of_ratio((one / two).numerator, (one / two).denominator) for one, two in pairs if two]
    return math.inf if any(one and not two for one, two in pairs) else max(found, default=0)


@pytest.mark.parametrize("tested", [*CHANNELS.values(), *PURE.values()], ids=[*CHANNELS, *PURE])
def test_every_stated_epsilon_is_that_of_the_enumerated_channel(tested: CategoricalChannel) -> None:
    rows = table(tested)
    values = range(tested.size)
    assert all(sum(row[value] for row in rows) == 1 for value in values)
    for output, row in zip(tested.outputs(), rows, strict=True):
        expected = enumerated(list(product(row, repeat=2)))
        assert tested.output_micro_epsilon(output) == expected
        assert CategoricalChannel.output_micro_epsilon(tested, output) == expected
    for one, two in product(values, repeat=2):
        pairs = [pair for row in rows for pair in ((row[one], row[two]), (row[two], row[one]))]
        assert tested.pair_micro_epsilon(one, two) == enumerated(pairs)
        found = (CategoricalChannel._evidence(tested, one, two), CategoricalChannel._evidence(tested, two, one))
        assert max(found) == enumerated(pairs)
    everything = [pair for row in rows for pair in product(row, repeat=2)]
    assert tested.micro_epsilon == enumerated(everything)
    assert tested.epsilon == (float("inf") if tested.micro_epsilon == math.inf else tested.micro_epsilon / 1e6)
    for value in values:
        pairs = [pair for row in rows for y in row for pair in ((row[value], y), (y, row[value]))]
        assert tested.value_micro_epsilon(value) == enumerated(pairs)
        favour = [(row[value], y) for row in rows for other, y in enumerate(row) if other != value]
        assert tested.evidence_micro_epsilon(value) == enumerated(favour)


@pytest.mark.parametrize("tested", CHANNELS.values(), ids=CHANNELS)
def test_supports_and_manipulation_are_those_of_the_enumerated_channel(tested: CategoricalChannel) -> None:
    rows, outputs, values = table(tested), list(tested.outputs()), range(tested.size)
    support = np.array([[float(tested.supports(y, value)) for value in values] for y in outputs])
    mean = support.T @ np.array([[float(cell) for cell in row] for row in rows])  # supported value × true value
    if isinstance(tested, SupportChannel):
        expected = np.tile([float(q) for q in tested.other_supports], (tested.size, 1)).T
        np.fill_diagonal(expected, [float(p) for p in tested.truth_supports])
        assert np.allclose(mean, expected, atol=1e-15)
        others = expected.min(axis=1)
        counted_as = (support - others) / (np.diag(expected) - others)
    else:
        counted_as = np.linalg.inv(mean) @ support.T
    assert tested.manipulation == pytest.approx(counted_as.max())


@settings(max_examples=runs(40, 100))
@given(st.lists(st.one_of(st.just(math.inf), BUDGET), min_size=2, max_size=30).filter(some_finite))
def test_no_report_of_iprr_costs_more_than_its_budget(budgets: list[float]) -> None:
    built = ItemResponse.of(budgets)
    for output, budget in enumerate(budgets):
        found = built.output_micro_epsilon(output)
        assert (found == math.inf) == (budget == math.inf)
        if found < math.inf:
            assert found <= budget


@settings(max_examples=runs(25, 100))
@given(st.lists(st.integers(100_000, 8_000_000), min_size=2, max_size=30))
def test_rounding_costs_iprr_at_most_four_millionths(budgets: list[int]) -> None:
    built = ItemResponse.of(budgets)
    assert all(budget - 4 <= built.output_micro_epsilon(output) for output, budget in enumerate(budgets))


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(20_000, 8_000_000), min_size=2, max_size=4), st.sampled_from(IDUE_MODELS))
def test_no_pair_of_idue_costs_more_than_the_smaller_budget(budgets: list[int], model: str) -> None:
    built = ItemUnaryEncoding.of(budgets, model)
    for one, two in product(range(len(budgets)), repeat=2):
        assert built.pair_micro_epsilon(one, two) <= min(budgets[one], budgets[two])
    assert built.micro_epsilon <= min(max(budgets), 2 * min(budgets))


@settings(max_examples=runs(25, 100))
@given(st.lists(BUDGET, min_size=2, max_size=10))
def test_budgets_of_aprr_are_not_what_reports_cost(budgets: list[int]) -> None:
    """The claim of its paper, ε-LDP with the budget of each value, fails as soon as two budgets differ."""
    built = ValueResponse.of(budgets)
    most = max(built.output_micro_epsilon(y) - budget for y, budget in enumerate(budgets))
    assert most > 0 or max(budgets) - min(budgets) <= 10
    assert built.micro_epsilon <= max(budgets)


def test_figure_1_of_the_paper_to_four_digits() -> None:
    built = CHANNELS["iprr with open values"]
    assert [round(float(p), 4) for p in built.truth_supports] == [0.8319, 0.2012, 0.1252, 0.0792, 0.0792]
    assert [round(float(q), 4) for q in built.other_supports] == [0.7527, 0.1220, 0.0461, 0, 0]


@pytest.mark.parametrize("size", [2, 5, 100])
def test_equal_budgets_give_k_rr(size: int) -> None:
    built, plain = ItemResponse.of([1_300_000] * size), RandomizedResponse.of(size, 1_300_000)
    assert set(built.other_weights) == {plain.other_weight}
    assert built.truth_supports == plain.truth_supports
    assert built.manipulation == pytest.approx(plain.manipulation)
    assert set(ValueResponse.of([1_300_000] * size).other_weights) == {plain.other_weight}


def test_one_budget_and_open_values_give_urr() -> None:
    """c1, c2, c3 of Murakami and Kawamoto; with one sensitive value, Mangat's response: it is always said."""
    odds, sensitive = exp(0.7), 2
    built = CHANNELS["urr"]
    expected = np.array([odds, 1, odds - 1]) / (sensitive + odds - 1)
    found = [built.truth_supports[1], built.other_supports[1], built.truth_supports[0]]
    assert np.allclose([float(number) for number in found], expected, rtol=1e-12)
    assert CHANNELS["mangat"].truth_supports[0] == 1
    assert float(CHANNELS["mangat"].other_supports[0]) == pytest.approx(exp(-0.5))


def test_iprr_gives_a_pair_of_values_the_larger_budget_and_idue_the_smaller() -> None:
    item, unary = CHANNELS["iprr"], CHANNELS["idue opt0"]
    for one, two in product(range(len(MIXED)), repeat=2):
        if one != two:
            assert item.pair_micro_epsilon(one, two) == max(MIXED[one], MIXED[two])
            assert unary.pair_micro_epsilon(one, two) <= min(MIXED[one], MIXED[two])


def test_ten_thousand_budgets_are_kept() -> None:
    built = ItemResponse.of([100_000 + 97 * item for item in range(9000)] + [math.inf] * 1000)
    assert built.draw(9999, os.urandom) in range(10_000)
    assert all(built.output_micro_epsilon(y) <= 100_000 + 97 * y for y in range(0, 9000, 91))


CHECKED = {"opt0": 243.146, "opt1": 250.668, "opt2": 304.085}


@pytest.mark.parametrize("model", IDUE_MODELS)
def test_idue_optima_are_the_known_ones_to_four_digits(model: str) -> None:
    keep, raised = idue_optimum([1, 1.2, 2], [5, 5, 90], model)
    assert idue_error(keep, raised, [5, 5, 90]) == pytest.approx(CHECKED[model], abs=1e-3)
    expected = {
        "opt0": ([0.5, 0.578876, 0.639314], [0.355328, 0.336811, 0.303242]),
        "opt1": ([0.571733, 0.619854, 0.670638], [0.428267, 0.380146, 0.329362]),
        "opt2": ([0.5, 0.5, 0.5], [0.361369, 0.234939, 0.234939]),
    }[model]
    assert np.allclose((keep, raised), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("epsilons", "values"), [([0.1, 0.4, 0.7, 1.0], [25] * 4), ([0.01, 0.1], [3, 30]), ([0.5, 3, 6], [10, 1, 10])]
)
def test_no_start_of_a_general_optimiser_finds_a_better_opt0(epsilons: list[float], values: list[int]) -> None:
    """SLSQP on the logarithm of the published problem in (a, b), from many starts."""
    size = len(epsilons)
    keep, raised = idue_optimum(epsilons, values, "opt0")
    best = np.log(idue_error(keep, raised, values))
    odds = np.exp(np.minimum.outer(epsilons, epsilons))

    def room(point: np.ndarray) -> np.ndarray:
        a, b = point[:size], point[size:]
        return (odds * np.outer(b, 1 - a) - np.outer(a, 1 - b)).ravel()

    assert room(np.array([*keep, *raised])).min() >= -1e-12

    def error(point: np.ndarray) -> float:
        keep, raised = point[:size], np.minimum(point[size:], point[:size] - 1e-9)
        return float(np.log(max(idue_error(keep, raised, values), 1e-9)))

    generator, reached = np.random.default_rng(1), 0
    for _ in range(10):
        half = np.tanh(min(epsilons) / 4) / 2 * generator.uniform(0.2, 0.9, (2, size))
        found = optimize.minimize(
            error,
            np.concatenate([0.5 + half[0], 0.5 - half[1]]),
            bounds=[(0.5, 1)] * size + [(1e-6, 0.5)] * size,
            constraints={"type": "ineq", "fun": room},
            method="SLSQP",
        )
        if found.success and room(found.x).min() >= -1e-9 and (found.x[:size] - found.x[size:]).min() > 1e-9:
            assert found.fun >= best - 1e-6
            reached += found.fun <= best + 1e-4
    assert reached  # the comparison means something: some start ends where we do


def test_an_optimum_that_integers_cannot_keep_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is found is kept, so the keeper is replaced and not what it asks.
    monkeypatch.setattr("pldp.mechanisms.unary.items._optimum", lambda *_: [(0.6, 0.4), (0.7, 0.3)])
    with pytest.raises(EpsilonError, match="epsilon 0.5 is too small for 32-bit weights"):
        ItemUnaryEncoding.of([500_000, 1_000_000])


@pytest.mark.parametrize("model", IDUE_MODELS)
def test_a_hundred_items_have_the_weights_of_their_four_levels(model: str) -> None:
    levels = [100_000, 400_000, 700_000, 1_000_000]
    built = ItemUnaryEncoding.of(levels * 25, model)
    pairs = list(zip(built.truth_weights, built.other_weights, strict=True))
    assert pairs == pairs[:4] * 25
    assert all(built.value_micro_epsilon(place) <= level for place, level in enumerate(levels))


@pytest.mark.parametrize("tested", CHANNELS.values(), ids=CHANNELS)
def test_draws_follow_the_channel_and_a_wrong_channel_is_noticed(tested: CategoricalChannel) -> None:
    random = seeded_bytes(7)
    value = 1
    outputs = [y for y in tested.outputs() if tested.probability(y, value)]
    found = Counter(tested.draw(value, random) for _ in range(runs(8_000, 20_000)))
    assert found.keys() <= set(outputs)
    counts = [found[y] for y in outputs]
    assert follows(counts, [float(tested.probability(y, value)) for y in outputs])
    if len(outputs) > 1:
        wrong = np.array([float(tested.probability(y, value)) for y in outputs]) + 0.1 * np.eye(len(outputs))[-1]
        assert not follows(counts, wrong / wrong.sum())


@pytest.mark.parametrize("tested", CHANNELS.values(), ids=CHANNELS)
def test_every_value_uses_the_same_random_bytes(tested: CategoricalChannel) -> None:
    asked: set[int] = set()

    def source(length: int) -> bytes:
        asked.add(length)
        return os.urandom(length)

    for value in [*range(tested.size)] * 10:
        tested.draw(value, source)
    assert len(asked) == 1


def test_thresholds_of_iprr_are_exact_at_their_edges() -> None:
    tested = ItemResponse.of([math.inf, 500_000, math.inf, 1_000_000, math.inf])
    kept, first = tested.kept_weight, tested.other_weights[1]

    def at(number: int) -> int:
        return tested.draw(2, lambda length: (number << 3).to_bytes(length, "little"))

    assert at(0) == at(kept - 1) == 2
    assert at(kept) == at(kept + first - 1) == 1
    assert at(kept + first) == at(2**53 - 1) == 3


def test_every_number_of_a_response_by_value_is_used() -> None:
    tested = CHANNELS["aprr with one open value"]

    def at(value: int, number: int) -> int:
        return tested.draw(value, lambda length: (number << 3).to_bytes(length, "little"))

    assert at(2, 0) == at(2, 2**53 - 1) == 2
    truth = tested.truth_weights[1]
    assert (at(1, truth - 1), at(1, truth), at(1, 2**53 - 1)) == (1, 0, 2)


@pytest.mark.parametrize("name", names("labels", per_value=True))
def test_weights_rebuild_the_channel(name: str) -> None:
    built = build(name, len(MIXED), MIXED)
    assert built.mechanism == name
    assert read(name, len(MIXED), built.weights()) == built


BAD = {
    "at least one value: otherwise": lambda: ItemResponse.of([math.inf, math.inf]),
    "must protect at least one value": lambda: ValueResponse.of([math.inf, math.inf]),
    "at least 2 values, not 1": lambda: ItemResponse.of([1_000_000]),
    "size must be at least 2 values, not 1": lambda: ItemResponse(1, (5,)),
    "size must be at least 2": lambda: ValueResponse(1, (5,)),
    "must be at least 2 values": lambda: ItemUnaryEncoding(1, (5,), (4,)),
    "whole micro-ε from 1 to 20000000, or math.inf; number 1 is not": lambda: ItemResponse.of([1_000_000, 0]),
    "number 0 is not": lambda: ItemUnaryEncoding.of([0.5, 1]),
    "number 2 is not": lambda: ValueResponse.of([1, 1, 20_000_001]),
    "budgets are too small for 200000": lambda: ItemResponse.of([1] * 200_000),
    "budgets are too small for 1000000": lambda: ValueResponse.of([1] * 1_000_000),
    "every value for idue": lambda: ItemUnaryEncoding.of([1_000_000, math.inf]),
    f"at most {MOST_LEVELS} different values": lambda: ItemUnaryEncoding.of(range(100_000, 100_020)),
    "model must be one of opt0, opt1, opt2": lambda: ItemUnaryEncoding.of(MIXED, "opt3"),
    "must leave the truth something": lambda: ItemResponse(2, (2**52, 2**52)),
    "must be 2 integers, none negative": lambda: ItemResponse(2, (-1, 5)),
    "must be 3 integers, none negative": lambda: ValueResponse(3, (1, 5)),
    "truth the most likely output": lambda: ValueResponse(2, (2**52, 5)),
    "0 < other < truth": lambda: ItemUnaryEncoding(2, (2**31, 2**31), (2**31, 5)),
    "weights must be 2 integers each": lambda: ItemUnaryEncoding(2, (2**31,), (5, 5)),
    "indices from 0 to 2": lambda: ItemResponse.utility_optimised(3, {3}, 1_000_000),
    "sensitivities must be finite": lambda: WeightedResponse.of_sensitivities(1_000_000, [1, 0]),
    "labels must be 5 different texts, not 4 of 5": lambda: report_promise(CHANNELS["iprr"], 0, "aabcd"),
    "labels must be 5 different texts, not 2 of 2": lambda: value_promise(CHANNELS["iprr"], 0, "ab"),
    "krr takes one finite budget": lambda: build("krr", len(MIXED), MIXED),
    "iprr must be exactly other": lambda: read("iprr", 2, {}),
    "must be lists of 2 integers": lambda: read("iprr", 2, {"other": [1.5, 2]}),
    "must be lists of 3 integers": lambda: read("iprr", 3, {"other": [1, 2]}),
    "iprr must be lists of 2 integers": lambda: read("iprr", 2, {"other": 5}),
    "must be exactly other": lambda: read("iprr", 2, {"other": [1, 2], "truth": [1, 2]}),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_gets_one_clear_line(words: str) -> None:
    with refused(EpsilonError, words):
        BAD[words]()


def test_sentences_say_what_can_be_concluded() -> None:
    labels = ["HIV", "cancer", "hepatitis", "flu", "none"]
    built = CHANNELS["iprr with open values"]
    assert report_promise(built, 3, labels) == 'A report "flu" proves the value "flu" (ε infinite).'
    assert "at most 1.65 times (ε = 0.5)" in report_promise(built, 1, labels)
    assert value_promise(built, 1, labels) == (
        'No report speaks for "cancer" against another value by more than 1.65 times (ε = 0.5); '
        'against "cancer", one can rule it out (ε infinite): "flu", "none".'
    )
    assert value_promise(built, 3, labels).startswith(
        'A report can prove "flu" against another value (ε infinite): "HIV"'
    )
    assert "one can speak up to 20.1 times (ε = 3)" in value_promise(CHANNELS["iprr"], 0, labels)
    promise = value_promise(CHANNELS["idue opt1"], 0, labels)
    assert promise == 'No report changes the odds between "HIV" and another value by more than 1.11 times (ε = 0.1).'
    partly = CHANNELS["aprr with one open value"]
    assert report_promise(partly, 0, "abc") == 'A report "a" rules out "c" (ε infinite).'
    bits = build("oue", 3, 1_000_000)
    assert report_promise(bits, b"\x03", "abc").startswith('A report for "a", "b" changes the odds')
    assert report_promise(bits, b"\x03", "abc").endswith('"a", "b" gain on all others.')
    assert report_promise(bits, b"\x00", "abc") == "A report for nothing says nothing about the value (ε = 0)."
    many = ItemResponse.of([1_000_000, *[math.inf] * 8])
    assert value_promise(many, 0, "abcdefghi").endswith('(ε infinite): "b", "c", "d", "e" and 4 others.')
