"""The channel for means at the limit: as good as the linear program over all channels, exact, unbiased, small."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.claims import runs
from helpers.means import OPTIMUM, worst_with_rounding
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms import TOTAL, Minimax, build, enough_points, position, read, round_at_random

CHECKED = list(OPTIMUM)[: runs(6, 8)]


@pytest.mark.parametrize("epsilon", CHECKED)
def test_the_worst_variance_with_rounding_is_within_two_per_cent_of_the_least_possible(epsilon: float) -> None:
    micro = round(epsilon * 1e6)
    channel = Minimax.of(enough_points(micro), micro)
    assert worst_with_rounding(channel) <= 1.02 * OPTIMUM[epsilon]
    # Of that, at most one per cent comes from rounding.
    assert worst_with_rounding(channel) <= 1.01 * channel.worst_variance
    assert len(json.dumps(channel.weights(), separators=(",", ":"))) <= 6000
    worst = max(
        Fraction(max(column), min(column))
        for column in (
            [channel.probability(output, value) for value in range(channel.size)] for output in channel.outputs()
        )
    )
    assert micro_epsilon_of_ratio(worst.numerator, worst.denominator) == channel.micro_epsilon == micro


@pytest.mark.parametrize(("name", "epsilon"), [("hm", 0.5), ("hm", 2.0), ("minimax", 1.9)])
def test_the_comparison_sees_a_channel_that_is_not_the_best(name: str, epsilon: float) -> None:
    """The hybrid mechanism, and the best channel for an ε that is five per cent smaller."""
    optimum = OPTIMUM[round(epsilon / 0.95, 1) if name == "minimax" else epsilon]
    assert worst_with_rounding(build(name, 17 if name == "minimax" else 257, round(epsilon * 1e6))) > 1.02 * optimum


@pytest.fixture(scope="module")
def channel() -> Minimax:
    return Minimax.of(9, 1_000_000)


def test_weights_are_mirrored_and_sum_to_one(channel: Minimax) -> None:
    count = channel.form.count // 2
    for value in range(channel.size):
        row = [channel.probability(output, value) for output in channel.outputs()]
        mirrored = [channel.probability(output, channel.size - 1 - value) for output in channel.outputs()]
        assert sum(row) == 1
        assert row[:count] == mirrored[count:-1]
        assert row[-1] == mirrored[-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": lambda own: [*own["value"][:-1], own["value"][-1] + 2**10]}, "these numbers are biased"),
        ({"value": lambda own: [round(number / 1.05) for number in own["value"]]}, "these numbers are biased"),
        ({"value": lambda own: [-number for number in own["value"]]}, "at least 0"),
        ({"inside": lambda own: [2 * weight for weight in own["inside"]]}, "leave something of"),
        ({"inside": lambda own: own["inside"][:-1]}, "of one length"),
        ({"inside": lambda own: own["inside"][0]}, "lists of integers"),
        ({"stop": lambda own: own["start"]}, "intervals of the 9 points"),
        ({"odds": lambda own: own["odds"][::-1]}, "the first of the odds the larger"),
        ({"odds": lambda own: [*own["odds"], 1]}, "odds two numbers"),
    ],
)
def test_published_numbers_that_are_no_fair_channel_are_refused(channel: Minimax, change, words: str) -> None:
    weights = channel.weights()
    broken = weights | {name: make(weights) for name, make in change.items()}
    assert read("minimax", 9, weights) == channel
    with pytest.raises(EpsilonError, match=words):
        read("minimax", 9, broken)


def test_larger_odds_show_in_the_stated_epsilon(channel: Minimax) -> None:
    weaker = Minimax.of(9, 1_050_000)
    assert channel.micro_epsilon == 1_000_000 < weaker.micro_epsilon == 1_050_000
    with pytest.raises(EpsilonError, match="biased"):  # and numbers of one do not fit the other
        replace(channel, odds=weaker.odds)


@pytest.mark.parametrize("size", [1, 66, 4096])
def test_what_is_too_large_to_solve_is_refused_with_a_way_out(size: int) -> None:
    with pytest.raises(EpsilonError, match="2 to 65 points, not .*; name hm|at least 2"):
        build("minimax", size, 1_000_000)


SCRIPT = """
import sys
sys.modules["numpy"] = sys.modules["scipy"] = None
from pldp.survey import loads
from pldp import Device
print(Device(loads(sys.stdin.readline())).answer("age", 41.5).answers[0].output)
question = {"name": "age", "kind": "number", "low": 18, "high": 90, "purpose": "mean"}
try:
    loads(repr({"pldp": 1, "title": "t", "levels": {"only": 1}, "questions": [question]}).replace("'", '"'))
except Exception as error:
    print(error)
"""


def test_a_built_survey_needs_neither_numpy_nor_scipy_and_building_says_so() -> None:
    from pldp import Survey  # noqa: PLC0415 - only here

    question = {"name": "age", "kind": "number", "low": 18, "high": 90, "purpose": "mean", "buckets": 9}
    survey = Survey.read({"pldp": 1, "title": "t", "levels": {"only": 1}, "questions": [question]})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=survey.canonical.decode(), capture_output=True, text=True, check=True
    )
    output, error = done.stdout.splitlines()
    assert 0 <= int(output) < survey.question("age").channels[0].form.count
    assert error.endswith(
        "minimax needs NumPy and SciPy where it is built: run `pldp survey compile` once where they are installed and "
        "use the file that it writes, or name hm"
    )


def byte_source(number: int):
    return lambda count: (number << 3).to_bytes(count, "little")


@given(st.floats(-1e15, 1e15), st.floats(1e-3, 1e15), st.floats(0, 1), st.integers(2, 4096))
def test_rounding_keeps_the_mean_of_every_number_exactly(low: float, reach: float, part: float, size: int) -> None:
    """The number of random numbers that round up is the fraction of 2⁵³, rounded up, and nothing is beyond it."""
    high = low + reach
    number = min(max(low + part * reach, low), high)
    if high > low:
        place = position(number, low, high, size)
        assert 0 <= place <= size - 1
        below, fraction = place // 1, place % 1
        upper = -(-fraction.numerator * TOTAL // fraction.denominator)
        for drawn in {0, max(upper - 1, 0), min(upper, TOTAL - 1), TOTAL - 1}:
            assert round_at_random(place, byte_source(drawn)) == below + (drawn < upper)


def test_whole_years_stay_what_they_are() -> None:
    for age in range(18, 91):
        place = position(age, 18, 90, 73)
        assert {round_at_random(place, byte_source(drawn)) for drawn in (0, TOTAL // 2, TOTAL - 1)} == {age - 18}


@pytest.mark.parametrize("number", [17.999, 90.001, float("nan"), float("inf")])
def test_a_number_outside_is_refused_and_not_repeated(number: float) -> None:
    with pytest.raises(AnswerError, match="^a number must lie between 18 and 90$"):
        position(number, 18, 90, 73)
