"""Channels for numbers: ε by enumeration, unbiased numbers, the cost of the grid, and printed constants that fail."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from helpers.claims import follows, runs
from helpers.draws import Counting, seeded_bytes
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms import (
    DiscreteLaplace,
    Grid,
    HybridMechanism,
    NumberChannel,
    SquareWave,
    StochasticRounding,
    WindowChannel,
    build,
    family,
    micro_epsilon,
    names,
    noise_at,
    noise_variances,
    read,
)
from pldp.mechanisms.arrays import piecewise_arrays
from pldp.mechanisms.continuous import CONTINUOUS, Continuous
from pldp.mechanisms.response.channel import TOTAL

SIZES = (2, 3, 4, 5, 9, 16, 31) if runs(0, 1) else (2, 3, 5, 16)
EPSILONS = ("0.01", "0.1", "0.3", "1", "2.5", "6", "12")[:: runs(2, 1)]
DRAWS = runs(6_000, 20_000)
ROUNDED = {"laplace": "1e-9", "laplace_wide": "1e-9", "minimax": "1e-12"}
"""How far the mean of unbiased numbers may be off where they are rounded; elsewhere it is exact."""


SLOW = {"minimax", "laplace_wide"}
"""Those that take time to build for many values."""


def printed_square_wave(epsilon: float) -> tuple[float, float, float]:
    """b, p and q of the square wave as Du, Fu, Ye, Hu (2025) print them; their mass 2bp + q is not 1."""
    odds, half = math.exp(epsilon), math.exp(epsilon / 2)
    b = (odds - half + 1) / (2 * odds * (half - 1))
    q = 1 / (2 * b * half + 1)
    return b, odds * q, q


def matrix(channel: NumberChannel) -> list[list[Fraction]]:
    return [[channel.probability(y, t) for t in range(channel.size)] for y in channel.outputs()]


def worst_variance(channel: NumberChannel) -> float:
    """The largest variance of the unbiased number over all values."""
    numbers = np.array([float(channel.unbiased(y)) for y in channel.outputs()])
    chances = np.array(matrix(channel), float)
    return float((numbers**2 @ chances - (numbers @ chances) ** 2).max())


@pytest.mark.parametrize("mechanism", names("numbers"))
@pytest.mark.parametrize("size", SIZES)
def test_enumerated_epsilon_is_the_stated_one_and_keeps_the_promise(mechanism: str, size: int) -> None:
    many = mechanism == "laplace_wide" and size > 4  # outputs
    for epsilon in EPSILONS[runs(1, 2) :] if many else EPSILONS:
        promised = micro_epsilon(epsilon)
        built = build(mechanism, size, promised)
        rows = matrix(built)
        assert all(sum(column) == 1 for column in zip(*rows, strict=True))
        worst = max(max(row) / min(row) for row in rows)
        assert micro_epsilon_of_ratio(worst.numerator, worst.denominator) == built.micro_epsilon
        assert promised - 1 <= (built.micro_epsilon or 0) <= promised


@settings(max_examples=runs(25, 60), deadline=None)
@given(st.sampled_from(names("numbers")), st.integers(2, 400), st.integers(1_000, 12_000_000))
def test_any_channel_keeps_its_promise_and_returns_from_its_weights(mechanism: str, size: int, micro: int) -> None:
    size = 2 + size % 16 if mechanism in SLOW else size
    built = build(mechanism, size, micro)
    assert built.micro_epsilon is not None
    assert built.micro_epsilon <= micro
    assert read(built.mechanism, size, built.weights()) == built


@pytest.mark.parametrize("mechanism", names("numbers"))
def test_unbiased_numbers_have_the_centre_as_mean(mechanism: str) -> None:
    for size in (2, 7, runs(24, 64)):
        built = build(mechanism, size, 1_500_000)
        numbers = [built.unbiased(y) for y in built.outputs()]
        for value, column in enumerate(zip(*matrix(built), strict=True)):
            mean = sum(q * z for q, z in zip(column, numbers, strict=True))
            assert abs(mean - built.centre(value)) <= Fraction(ROUNDED.get(mechanism, 0))


def test_square_wave_is_biased_at_its_own_place_and_the_others_are_not() -> None:
    biased = {name: build(name, 64, 1_000_000).biased for name in names("numbers")}
    assert biased == {
        "laplace": False,
        "laplace_wide": False,
        "sr": False,
        "pm": False,
        "hm": False,
        "sw": True,
        "minimax": False,
    }


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 3.0])
def test_the_printed_constants_of_the_square_wave_are_no_channel(epsilon: float) -> None:
    b, p, q = printed_square_wave(epsilon)
    assert 2 * b * p + q > 1.04
    width = max(1, round(2 * b * 1023))
    with pytest.raises(EpsilonError, match="sum to 2\\^53"):
        SquareWave(1024, width, int(p / 1023 * TOTAL), int(q / 1023 * TOTAL))
    right = CONTINUOUS["sw"](epsilon)
    assert sum(quad(right.density, *part, (0.3,))[0] for part in pieces(right, 0.3)) == pytest.approx(1, abs=1e-9)


def pieces(made: Continuous, value: float) -> list[tuple[float, float]]:
    start, width = made.start(value), made.width  # type: ignore[attr-defined]
    low, top = made.reach
    return [(low, start), (start, start + width), (start + width, top)]


@pytest.mark.parametrize("name", ["pm", "sw"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_densities_have_mass_one_and_the_stated_mean_and_variance(name: str, epsilon: float) -> None:
    made = CONTINUOUS[name](epsilon)
    for value in np.linspace(*made.domain, 5):
        moments = [
            sum(quad(lambda y, k=k: y**k * made.density(y, value), *part)[0] for part in pieces(made, value))  # noqa: B023
            for k in range(3)
        ]
        slope = (made.mean(1.0) - made.mean(0.0)) / 1.0
        assert moments[0] == pytest.approx(1)
        assert moments[1] == pytest.approx(made.mean(value))
        assert (moments[2] - moments[1] ** 2) / slope**2 == pytest.approx(made.variance(value))
        assert made.unbiased(moments[1]) == pytest.approx(value)
        assert made.density(made.reach[1] + 1, value) == 0


def test_variances_are_those_of_the_papers() -> None:
    for epsilon in (0.3, 1.0, 2.0):
        half, odds = math.exp(epsilon / 2), math.exp(epsilon)
        assert CONTINUOUS["pm"](epsilon).variance(0.4) == pytest.approx(
            0.16 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        )
        assert CONTINUOUS["sr"](epsilon).variance(0.4) == pytest.approx(((odds + 1) / (odds - 1)) ** 2 - 0.16)
        assert CONTINUOUS["laplace"](epsilon).variance(0.4) == pytest.approx(8 / epsilon**2)
        assert CONTINUOUS["hm"](epsilon).variance(0.4) <= CONTINUOUS["sr"](epsilon).variance(0.4) + 1e-9
        for name in ("laplace", "sr", "pm", "hm"):
            assert CONTINUOUS[name](epsilon).mean(0.4) == pytest.approx(0.4)
    laplace = CONTINUOUS["laplace"](1.0)
    assert quad(laplace.density, *laplace.reach, (0.3,))[0] == pytest.approx(1)
    rounding = CONTINUOUS["sr"](1.0)
    assert sum(rounding.density(end, 0.3) for end in rounding.reach) == pytest.approx(1)
    assert rounding.density(0.0, 0.3) == 0
    hybrid = CONTINUOUS["hm"](2.0)
    low, top = hybrid.reach
    assert hybrid.density((low + top) / 2, 0.0) > 0


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("mechanism", ["sr", "pm", "sw"])
def test_the_grid_costs_less_than_two_percent_of_variance(mechanism: str, epsilon: float) -> None:
    built = build(mechanism, 128, micro_epsilon(epsilon))
    made = CONTINUOUS[mechanism](epsilon)
    scale = (2 / (made.domain[1] - made.domain[0])) ** 2
    continuous = max(scale * made.variance(v) for v in np.linspace(*made.domain, 101))
    assert 0.96 < worst_variance(built) / continuous < 1.02


def test_large_epsilons_on_fine_grids_leave_laplace_a_weight_for_the_far_tail() -> None:
    built = DiscreteLaplace.of(4096, 20_000_000)
    assert 19_900_000 < (built.micro_epsilon or 0) <= 20_000_000


def test_cutting_laplace_noise_at_the_bounds_lowers_its_variance() -> None:
    for epsilon in (0.3, 1.0, 3.0):
        assert worst_variance(DiscreteLaplace.of(64, micro_epsilon(epsilon))) < 8 / epsilon**2


@pytest.mark.parametrize("mechanism", names("numbers"))
def test_draws_follow_the_channel_with_seven_bytes_and_a_weaker_channel_is_told_apart(mechanism: str) -> None:
    tested, weaker = (build(mechanism, 9, micro) for micro in (2_000_000, 3_000_000))
    random = seeded_bytes(3)
    for value in (0, 4, 8):
        counts = Counter(tested.draw(value, random) for _ in range(DRAWS))
        seen = np.array([counts[y] for y in tested.outputs()])
        exact = np.array([float(tested.probability(y, value)) for y in tested.outputs()])
        often = exact * DRAWS >= 5  # a linear program may leave outputs that hardly come
        assert seen[~often].sum() <= 20 + 3 * DRAWS * exact[~often].sum()
        assert follows(seen[often], exact[often] / exact[often].sum())
        if value != 4 and weaker.form.count == tested.form.count and often.all():
            assert not follows(seen, [float(weaker.probability(y, value)) for y in weaker.outputs()])
    source = Counting()
    for value in range(9):
        tested.draw(value, source)
    assert source.asked == [7] * 9


@pytest.mark.parametrize("number", [0, 1, TOTAL // 3, TOTAL - 1])
@pytest.mark.parametrize("mechanism", names("numbers"))
def test_extreme_random_numbers_give_outputs(mechanism: str, number: int) -> None:
    built = build(mechanism, 6, 1_000_000)
    for value in range(6):
        assert 0 <= built.draw(value, lambda _: (number << 3).to_bytes(7, "little")) < built.form.count


def test_bad_channels_and_numbers_are_refused() -> None:
    with pytest.raises(EpsilonError, match="mechanism must be one of krr"):
        build("duchi", 4, 1_000_000)
    with pytest.raises(EpsilonError, match="mechanism must be one of krr"):
        read("duchi", 4, {})
    with pytest.raises(EpsilonError, match="weights of sr must be exactly first, step"):
        read("sr", 4, {"first": 1})
    with pytest.raises(EpsilonError, match=r"above 0\.61"):
        HybridMechanism.of(4, 500_000)
    for mechanism in ("sr", "pm", "sw"):
        with pytest.raises(EpsilonError, match="too small for"):
            build(mechanism, 2**40, 1)
    for broken in (
        lambda: StochasticRounding(1, 1, 1),
        lambda: StochasticRounding(4, 1, 1),
        lambda: WindowChannel(4, 0, 2, 1),
        lambda: DiscreteLaplace(4, TOTAL, 2),
        lambda: HybridMechanism(4, 1, 1, 2, 1, 1),
        lambda: HybridMechanism(4, 1, 3, 2, 1, 1),
        lambda: CONTINUOUS["pm"](0),
        lambda: Grid(1, 1, 4),
        lambda: Grid(0, float("nan"), 4),
        lambda: Grid(0, 1, 1),
    ):
        with pytest.raises(EpsilonError):
            broken()
    for number in (-1, 2, float("nan")):
        with pytest.raises(AnswerError, match="between 0 and 1$"):
            Grid(0, 1, 4).index(number)
    assert [Grid(0, 1, 4).index(number) for number in (0, 0.25, 1)] == [0, 1, 3]
    with pytest.raises(NotImplementedError):
        WindowChannel.of(4, 1)


@pytest.mark.parametrize("mechanism", names("numbers"))
@pytest.mark.parametrize(("size", "micro"), [(17, 300_000), (16, 1_100_000), (33, 2_900_000)])
def test_noise_by_formula_is_that_of_the_arrays(mechanism: str, size: int, micro: int) -> None:
    """The split of a total rests on it, and needs the standard library only."""
    channel = family(mechanism).build(size, micro)
    form = piecewise_arrays(channel)
    numbers = form.unbiased()
    squares, means = (form.pieces().expectation(each) for each in (numbers**2, numbers))
    exact = float((squares - means**2).mean())
    assert noise_variances([channel]) == [pytest.approx(exact, rel=1e-9)]
    assert noise_at(mechanism, size, micro) == pytest.approx(exact, rel=0.01)  # minimax knows it without being built
    assert noise_at(mechanism, size, micro // 2) > 1.5 * exact  # the twin: half of the ε is no such number
