"""ε of every mechanism by enumeration: never above the promise, and hardly below it."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import runs
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms import (
    BlockChannel,
    Channel,
    LinearHashing,
    SubsetSelection,
    UnaryEncoding,
    build,
    epsilon_text,
    micro_epsilon,
    names,
    read,
)

SIZES = range(2, 65) if runs(0, 1) else (2, 3, 4, 5, 8, 9, 10, 16, 17, 33, 64)
EPSILONS = ("0.01", "0.05", "0.1", "0.5", "1", "1.5", "2", "3", "4", "6", "8")[:: runs(2, 1)]


def enumerated_micro_epsilon(tested: Channel) -> int | None:
    """ε by looking at every output and every pair of values; nothing is taken from the channel's own claim.

    A unary output of k bits is enumerated through the pairs of bits in which two values differ: all other bits have the
    same probability under both. (For k ≤ 8 the full 2^k outputs are enumerated in another test.) A block that contains
    a value is like any other that does, but for the rounding of the number that picks it: a few of each kind are taken.
    """
    worst = Fraction(1)
    if isinstance(tested, UnaryEncoding):
        p, q = tested.truth_support, tested.other_support
        for first, second in product((0, 1), repeat=2):
            under_first = (p if first else 1 - p) * (q if second else 1 - q)
            under_second = (q if first else 1 - q) * (p if second else 1 - p)
            worst = max(worst, under_first / under_second)
    elif isinstance(tested, SubsetSelection) and tested.size > 9:
        # A set tells only which values it has: one stands for all.
        column = [tested.probability(tested.form.pack((1 << tested.chosen) - 1), value) for value in range(tested.size)]
        worst = max(column) / min(column)
    elif isinstance(tested, LinearHashing) and tested.size > 9:
        for bucket in range(tested.buckets):
            column = [tested.bucket_channel.probability(bucket, own) for own in range(tested.buckets)]
            worst = max(worst, max(column) / min(column))
    elif isinstance(tested, BlockChannel) and tested.size > 9:
        blocks, own, _ = tested.design
        for number, rest in product(range(12), (False, True)):
            output = tested.block(0, number % (blocks - own if rest else own), rest=rest)
            column = [tested.probability(output, value) for value in (0, tested.size - 1)]
            worst = max(worst, max(column) / min(column))
    else:
        for output in tested.outputs():
            column = [tested.probability(output, value) for value in range(tested.size)]
            worst = max(worst, max(column) / min(column))
    return micro_epsilon_of_ratio(worst.numerator, worst.denominator)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
@pytest.mark.parametrize("size", SIZES)
def test_enumerated_epsilon_is_the_stated_one_and_within_the_promise(mechanism: str, size: int) -> None:
    for epsilon in EPSILONS:
        promised = micro_epsilon(epsilon)
        built = build(mechanism, size, promised)
        exact = enumerated_micro_epsilon(built)
        assert exact == built.micro_epsilon
        assert exact is not None
        # Rounding to integer weights costs at most 4 millionths of ε.
        assert promised - 4 <= exact <= promised


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_full_enumeration_of_small_domains(mechanism: str, size: int) -> None:
    built = build(mechanism, size, micro_epsilon("1.25"))
    outputs = list(built.outputs())
    table = [[built.probability(output, value) for value in range(size)] for output in outputs]
    for value in range(size):
        assert sum(row[value] for row in table) == 1
        supports = [
            sum(row[value] for row, y in zip(table, outputs, strict=True) if built.supports(y, i)) for i in range(size)
        ]
        for i, support in enumerate(supports):
            expected = built.truth_support if i == value else built.other_support
            # The hash index of LH is uniform to within 2^-128 per vector; everything else is exact.
            assert abs(support - expected) <= Fraction(len(outputs), 2**128)
    worst = max(max(row) / min(row) for row in table)
    assert micro_epsilon_of_ratio(worst.numerator, worst.denominator) == built.micro_epsilon


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_the_enumeration_sees_a_five_percent_weaker_promise(mechanism: str) -> None:
    weaker = build(mechanism, 16, micro_epsilon("1.05"))
    assert enumerated_micro_epsilon(weaker) > micro_epsilon("1")


def test_a_channel_one_weight_beyond_its_promise_is_noticed() -> None:
    built = build("krr", 4, 1_000_000)
    beyond = read("krr", 4, {"other": built.weights()["other"] - 2**34})
    assert beyond.micro_epsilon > 1_000_000


@settings(max_examples=runs(50, 100))
@given(st.integers(2, 300), st.integers(100, 20_000_000), st.sampled_from(names("labels", per_value=False)))
def test_no_budget_and_size_gives_more_than_promised(size: int, micro: int, mechanism: str) -> None:
    assert build(mechanism, size, micro).micro_epsilon <= micro


@given(st.integers(1, 10**18), st.integers(1, 10**18))
def test_the_logarithm_is_rounded_up(numerator: int, denominator: int) -> None:
    micro = micro_epsilon_of_ratio(numerator, denominator)
    exact = Context(prec=100)
    ratio = exact.divide(Decimal(numerator), Decimal(denominator))
    assert exact.exp(exact.divide(Decimal(micro), Decimal(10**6))) >= ratio * (1 - Decimal(10) ** -90)
    if micro > 0:
        assert exact.exp(exact.divide(Decimal(micro - 1), Decimal(10**6))) < ratio


@pytest.mark.parametrize(
    "epsilon", [0, -1, "nan", "inf", float("nan"), float("inf"), 1e9, 21, "0.0000001", "1e-99999999", "x", "", True]
)
def test_bad_epsilon_gets_one_clear_line(epsilon: object) -> None:
    with pytest.raises(EpsilonError, match=r"^epsilon must be [^\n]+$"):
        micro_epsilon(epsilon)


def test_the_callers_decimal_context_changes_nothing() -> None:
    """Weights of a true ε of 1.0004 must not pass for 1 because somebody set a low precision."""
    beyond = build("krr", 3, 1_000_400)
    micro_epsilon_of_ratio.cache_clear()
    with localcontext() as context:
        context.prec = 3
        assert beyond.micro_epsilon > 1_000_000
        assert build("krr", 3, 1_000_400).weights() == beyond.weights()
        assert epsilon_text(1_234_567) == "1.234567"
        assert micro_epsilon("1.234567") == 1_234_567
    assert micro_epsilon("0." + "9" * 35) == 999_999


def test_epsilon_text_is_exact() -> None:
    assert [epsilon_text(micro) for micro in (1, 10, 1_500_000, 20_000_000)] == ["0.000001", "0.00001", "1.5", "20"]
    assert epsilon_text(math.inf) == "infinite"


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
@pytest.mark.parametrize("size", [-1, 0, 1])
def test_a_domain_needs_two_values(mechanism: str, size: int) -> None:
    with pytest.raises(EpsilonError, match="at least 2 values|too small|must satisfy"):
        build(mechanism, size, 1_000_000)


def test_an_epsilon_that_weights_cannot_keep_is_refused() -> None:
    # Two values of a million at ε = 1e-6 would need weights finer than 2^-53.
    with pytest.raises(EpsilonError, match="too small"):
        build("krr", 2**51, 1)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_weights_rebuild_the_channel(mechanism: str) -> None:
    built = build(mechanism, 12, 700_000)
    assert read(mechanism, 12, built.weights()) == built


def test_unknown_mechanisms_and_weights_are_refused() -> None:
    with pytest.raises(EpsilonError, match="mechanism must be one of"):
        build("laplce", 4, 1)
    with pytest.raises(EpsilonError, match="did you mean 'laplace'"):
        read("laplce", 4, {})
    with pytest.raises(EpsilonError, match="must be exactly other"):
        read("krr", 4, {})
    with pytest.raises(EpsilonError, match="must be exactly"):
        read("krr", 4, {"other": 2**50, "truth": 3})
