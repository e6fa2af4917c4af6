"""How often a guess is right, against enumeration of all outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pldp import Survey
from pldp.mechanisms import REGISTRY, build, build_whole_set, names
from pldp.shuffling import guess, guesses

RANDOM = np.random.default_rng(3)


def enumerate_guess(channel, shares: dict[int, float]) -> float:
    return sum(
        max(float(channel.probability(output, value)) * share for value, share in shares.items())
        for output in channel.outputs()
    )


@pytest.mark.parametrize("mechanism", names("labels"))
@pytest.mark.parametrize("size", [2, 5, 9])
def test_a_label_is_guessed_as_often_as_enumeration_says(mechanism: str, size: int) -> None:
    budgets = [600_000 + 300_000 * (value % 3) for value in range(size)]
    channel = build(mechanism, size, budgets if REGISTRY[mechanism].per_value else 1_000_000)
    for prior in (None, RANDOM.dirichlet(np.ones(size)).tolist()):
        found = guess(channel, prior)
        shares = dict(enumerate(prior or [1 / size] * size))
        assert found.exact
        assert found.blind == pytest.approx(max(shares.values()))
        assert found.chance == pytest.approx(enumerate_guess(channel, shares), abs=1e-12)


@pytest.mark.parametrize("mechanism", names("sets"))
def test_a_set_is_guessed_as_often_as_enumeration_says(mechanism: str) -> None:
    channel = build_whole_set(mechanism, 5, 1_500_000, 2)
    sets = [value for value in range(1 << 5) if value.bit_count() <= channel.largest_set]
    found = guess(channel)
    assert found.exact
    assert found.chance == pytest.approx(enumerate_guess(channel, dict.fromkeys(sets, 1 / len(sets))), abs=1e-12)
    rates = [0.1, 0.2, 0.5, 0.7, 0.3]
    shares = {
        value: math.prod(rate if value >> item & 1 else 1 - rate for item, rate in enumerate(rates)) for value in sets
    }
    given, truth = guess(channel, rates), enumerate_guess(channel, shares)
    assert given.chance == pytest.approx(truth, abs=1e-12) if given.exact else given.chance >= truth


@pytest.mark.parametrize("mechanism", names("numbers"))
def test_a_number_is_guessed_as_often_as_enumeration_says(mechanism: str) -> None:
    channel = build(mechanism, 17, 1_000_000, domain="numbers")
    for prior in (None, RANDOM.dirichlet(np.ones(17)).tolist()):
        shares = dict(enumerate(prior or [1 / 17] * 17))
        assert guess(channel, prior).chance == pytest.approx(enumerate_guess(channel, shares), abs=1e-12)


def test_no_guess_is_worth_more_than_epsilon_allows() -> None:
    """Σ_y max_x Q(y|x)/k is at most e^ε/k, also where it is bounded only."""
    for mechanism in names("labels", per_value=False):
        for size in (2, 40, 3000):
            found = guess(build(mechanism, size, 1_000_000))
            assert 1 / size <= found.chance <= math.e / size + 1e-9


def test_two_equally_likely_answers_are_guessed_with_the_odds_of_epsilon() -> None:
    assert guess(build("krr", 2, 1_000_000)).chance == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-6)


def test_a_guess_cannot_be_worse_than_without_a_report() -> None:
    found = guess(build("krr", 3, 100_000), [0.98, 0.01, 0.01])
    assert found.chance == found.blind == 0.98


def test_a_whole_report_is_guessed_as_often_as_all_its_answers() -> None:
    survey = Survey.load("examples/commute.toml")
    rows = {(row.question, row.level): row for row in guesses(survey, {"mode": [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]})}
    both = rows["mode", "open"].equal.chance * rows["late", "open"].equal.chance
    assert rows["", "open"].equal.chance == pytest.approx(both)
    assert rows["mode", "open"].given.chance > rows["mode", "open"].equal.chance
    assert rows["late", "open"].given is None
    assert rows["", "open"].given is None
