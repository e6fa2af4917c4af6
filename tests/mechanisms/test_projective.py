"""Blocks of finite geometries: designs by enumeration, exact ε, exact transforms, accuracy beside subset selection."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from helpers.claims import follows, mean_is, runs
from pldp.auditing import read_table, sampler_fault
from pldp.epsilon import exp_micro
from pldp.errors import EpsilonError
from pldp.mechanisms import BlockChannel, HashedPairs, ProjectiveResponse, build, level_leak, read
from pldp.mechanisms.arrays import arrays
from pldp.mechanisms.projective.transform import exact_sums, hyperplane_sums

SMALL = [
    *(
        ProjectiveResponse.of(size, 700_000, order)
        for size, order in ((2, 2), (7, 2), (5, 3), (13, 3), (29, 5), (20, 7))
    ),
    *(ProjectiveResponse.of(size, 900_000, order) for size, order in ((15, 2), (38, 3))),
    *(HashedPairs.of(size, 350_000, order) for size, order in ((2, 5), (5, 5), (24, 5), (13, 7), (26, 5))),
]
"""Lines, planes and spaces, all of their points or some."""


def name_of(channel: BlockChannel) -> str:
    return f"{channel.mechanism} {channel.size} {channel.order}"


small = pytest.mark.parametrize("channel", SMALL, ids=name_of)


def incidence(channel: BlockChannel) -> np.ndarray:
    """1 where a block contains a value, blocks × values."""
    outputs, values = range(channel.design.blocks), range(channel.size)
    return np.array([[channel.supports(output, value) for value in values] for output in outputs], float)


@small
def test_numbers_run_through_the_blocks_that_contain_a_value_and_through_all_others(channel: BlockChannel) -> None:
    blocks, own, _ = channel.design
    for value in range(channel.size):
        inside = [channel.block(value, number, rest=False) for number in range(own)]
        outside = [channel.block(value, number, rest=True) for number in range(blocks - own)]
        assert sorted(inside + outside) == list(range(blocks))
        assert all(channel.supports(block, value) for block in inside)
        assert not any(channel.supports(block, value) for block in outside)
        assert [channel.number_of(block, value) for block in inside + outside] == [*range(own), *range(blocks - own)]


@small
def test_any_two_values_share_the_same_number_of_blocks(channel: BlockChannel) -> None:
    table = incidence(channel)
    shared = table.T @ table
    assert {shared[pair] for pair in combinations(range(channel.size), 2)} == {channel.design.common}
    assert set(np.diag(shared)) == {channel.design.own}


@small
def test_epsilon_counts_that_random_numbers_cannot_be_shared_out_evenly(channel: BlockChannel) -> None:
    """The largest and the smallest probability over all blocks and values are those that ε is computed from."""
    pairs = list(product(range(channel.design.blocks), range(channel.size)))
    chances = {pair: channel.probability(*pair) for pair in pairs}
    for value in range(channel.size):
        assert sum(chances[output, value] for output in channel.outputs()) == 1
        inside = sum(chances[output, value] for output in channel.outputs() if channel.supports(output, value))
        assert inside == channel.truth_support
    assert max(chances.values()) == Fraction(channel.upper, 2**181)
    assert min(chances.values()) == Fraction(channel.lower, 2**181)


@pytest.mark.parametrize("family", [ProjectiveResponse, HashedPairs])
@pytest.mark.parametrize("micro", [1000, 350_000, 4_000_000, 12_000_000])
def test_the_weight_is_the_largest_that_keeps_the_budget(family: type[BlockChannel], micro: int) -> None:
    for size in (2, 9, 1000, 10**6):
        channel = family.of(size, micro)
        beyond = family(size, channel.order, channel.truth_weight + 1)
        kept, broken = (Decimal(each.upper) / Decimal(each.lower) for each in (channel, beyond))
        assert kept <= exp_micro(micro) < broken


@pytest.mark.parametrize(("order", "length"), [(2, 2), (2, 7), (3, 1), (3, 5), (5, 4), (7, 3), (53, 2), (67, 3)])
def test_sums_over_hyperplanes_of_any_counts_are_exact(order: int, length: int) -> None:
    size = (order**length - 1) // (order - 1)
    generator = np.random.default_rng(order)
    counts = generator.integers(0, 1000, size)
    counts[generator.integers(0, size)] = 2**50 + 1
    digits = np.zeros((size, length), np.int64)
    for point in range(size):
        rest, place = point, 0
        while rest:
            rest, digits[point, place] = divmod(rest - 1, order)
            place += 1
        digits[point, place] = 1
    direct = [int(counts[digits[:, ::-1] @ each % order == 0].sum()) for each in digits]
    assert exact_sums(counts, order, length).tolist() == direct


def test_without_splitting_the_counts_a_sum_is_wrong() -> None:
    counts = np.full(10_303, 2**50 + 1)
    assert (np.rint(hyperplane_sums(counts.astype(float), 101, 3)) != exact_sums(counts, 101, 3)).any()
    assert (exact_sums(counts, 101, 3) == 102 * (2**50 + 1)).all()


@small
def test_array_forms_are_the_channel(channel: BlockChannel) -> None:
    form, table, (blocks, own, _) = arrays(channel), incidence(channel), channel.design
    generator = np.random.default_rng(1)
    weights, numbers = generator.random(blocks), generator.random(channel.size)
    shares = numbers / numbers.sum()
    matrix = np.array(form.matrix(), float)
    assert (form.supported(np.arange(blocks)) == table).all()
    assert np.allclose(form.low + form.step * table, blocks * matrix)
    for _ in range(2):  # by a table, and by transforms
        assert np.allclose(form.support_total(weights, None), table.T @ weights)
        assert np.allclose(form.support_sum(numbers, None), table @ numbers)
        form._table = None
    assert np.allclose(form.pair_support(weights, None), table.T @ (weights[:, None] * table))
    above = np.triu_indices(channel.size, 1)
    joint = table.T @ ((matrix @ shares)[:, None] * table)
    assert np.allclose(form.joint_support(shares, np.arange(channel.size))[above], joint[above])
    for value, rest in product((0, channel.size // 2, channel.size - 1), (False, True)):
        among = np.arange(blocks - own if rest else own)
        found = form.blocks(np.full(len(among), value), np.full(len(among), rest), among)
        assert found.tolist() == [channel.block(value, int(number), rest=rest) for number in among]


@pytest.mark.parametrize("channel", [SMALL[3], HashedPairs.of(24, 2_000_000, 5)], ids=name_of)
def test_many_draws_follow_the_channel_and_a_five_percent_weaker_one_does_not(channel: BlockChannel) -> None:
    weaker = channel.of(channel.size, channel.micro_epsilon * 95 // 100, channel.order)
    values, people = np.arange(channel.size), 60_000
    for tested in (channel, weaker):
        form, fits = arrays(tested), []
        generator = np.random.default_rng(1)
        for value in values[:: max(1, channel.size // 3)]:
            drawn = form.draw_many(np.full(people, value), generator)
            inside = int(form.supported(np.arange(channel.design.blocks))[drawn, value].sum())
            counts = np.bincount(drawn, minlength=channel.design.blocks)
            fits.append(follows(counts, [float(channel.probability(y, int(value))) for y in channel.outputs()]))
            fits.append(
                follows(
                    [inside, people - inside], [float(p) for p in (channel.truth_support, 1 - channel.truth_support)]
                )
            )
        assert all(fits) is (tested is channel)


def error_ratios(stated: BlockChannel, drawn: BlockChannel) -> list[float]:
    """Squared errors of all shares over their variances given the values, on average over the values, in many runs."""
    size, people, ratios = stated.size, 40_000, []
    p, q = float(stated.truth_support), float(stated.other_support)
    for seed in range(runs(40, 400)):
        generator = np.random.default_rng(seed)
        values = generator.geometric(0.3, people) % size
        counts = np.bincount(arrays(drawn).draw_many(values, generator), minlength=stated.form.count)
        shares = np.bincount(values, minlength=size) / people
        error = arrays(stated).shares(arrays(stated).support(counts) / people) - shares
        given = (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (people * (p - q) ** 2)
        ratios.append(float((error**2 / given).mean()))
    return ratios


@pytest.mark.parametrize(("family", "micro"), [(ProjectiveResponse, 4_000_000), (HashedPairs, 2_000_000)])
def test_errors_are_the_stated_ones_and_those_of_a_five_percent_weaker_channel_are_not(
    family: type[BlockChannel], micro: int
) -> None:
    stated = family.of(60, micro)
    assert mean_is(error_ratios(stated, stated), 1.0)
    assert not mean_is(error_ratios(stated, family.of(60, micro * 95 // 100, stated.order)), 1.0)


def subset_variance(size: int, epsilon: float) -> float:
    """Variance of a share 1/k by subset selection with the best whole number of values (Ye, Barg)."""
    odds, found = math.exp(epsilon), []
    for subset in {max(1, int(size / (odds + 1)) + more) for more in range(-2, 4)}:
        p = odds * subset / (odds * subset + size - subset)
        q = (p * (subset - 1) + (1 - p) * subset) / (size - 1)
        support = q + (p - q) / size
        found.append(support * (1 - support) / (p - q) ** 2)
    return min(found)


def excess(size: int, micro: int, *mechanisms: str) -> float:
    """Variance of the best of these mechanisms, as built, over that of subset selection."""
    best = min(build(mechanism, size, micro).variance(1 / size) for mechanism in mechanisms)
    return best / subset_variance(size, micro / 1e6)


def test_one_integer_is_nearly_as_accurate_as_subset_selection() -> None:
    """The table in docs/mechanisms.md: within 3 %, but for a few thousand values at a large ε."""
    grid = sorted({*range(250_000, 8_000_001, 250_000), 100_000, 300_000, 350_000, 400_000})
    for size in (5000, 10_000, 30_000, 100_000, 1_000_000):
        found = {micro: excess(size, micro, "projective", "pairs") for micro in grid}
        largest = {5000: 5_750_000, 10_000: 6_250_000, 30_000: 7_500_000}.get(size, 8_000_000)
        assert max(ratio for micro, ratio in found.items() if micro <= largest) <= 1.03
        assert all(ratio > 1.03 for micro, ratio in found.items() if micro > largest)


def test_pairs_fill_the_gaps_between_small_primes() -> None:
    for size, micro in product((5000, 10**6), (350_000, 1_000_000)):
        assert excess(size, micro, "projective") > 1.02
        assert excess(size, micro, "pairs") < 1.005


@pytest.mark.parametrize("channel", [SMALL[3], SMALL[8], SMALL[9], SMALL[10]], ids=name_of)
def test_the_audit_reads_the_integers_by_itself_and_finds_a_wrong_sampler(channel: BlockChannel) -> None:
    table = read_table(channel.mechanism, channel.size, channel.weights())
    assert table.plain() == [(channel.upper, channel.lower, 1)]
    assert sampler_fault(channel.draw, table) is None
    beyond = type(channel)(channel.size, channel.order, channel.truth_weight + 1)
    assert "of 2^53 numbers" in str(sampler_fault(beyond.draw, table))

    def favours_the_first(value: int, random) -> int:
        noise = bytearray(random(23))
        noise[15] &= 0x7F
        return channel.draw(value, lambda _: bytes(noise))

    assert "same number of random numbers" in str(sampler_fault(favours_the_first, table))


def test_weights_that_are_no_geometry_are_refused() -> None:
    half = 2**52
    for order in (0, 1, 4, 2**27 + 29, -3):
        with pytest.raises(EpsilonError, match="order must be a prime from 2 to"):
            ProjectiveResponse(10, order, half)
    with pytest.raises(EpsilonError, match="order must be a prime from 5"):
        HashedPairs(10, 3, half)
    with pytest.raises(EpsilonError, match="more likely"):
        ProjectiveResponse(7, 2, 2**53 * 3 // 7)
    with pytest.raises(EpsilonError, match="below 2.53"):
        ProjectiveResponse(2**54, 2, half + 1)


def test_orders_with_as_many_blocks_do_not_pass_for_one_form() -> None:
    """31 is the number of points of the four-dimensional space over two elements and of the plane over five."""
    one, two = (ProjectiveResponse.of(20, 1_000_000, order) for order in (2, 5))
    assert one.form == two.form
    with pytest.raises(EpsilonError, match="different orders"):
        level_leak([one, two])


@pytest.mark.parametrize("mechanism", ["projective", "pairs"])
@pytest.mark.parametrize("truth", [-1, 0, 1, 2**53, 2**54])
def test_impossible_weights_are_refused_in_one_line(mechanism: str, truth: int) -> None:
    with pytest.raises(EpsilonError, match=r"truth must be below 2\^53"):
        read(mechanism, 10, {**build(mechanism, 10, 1_000_000).weights(), "truth": truth})
