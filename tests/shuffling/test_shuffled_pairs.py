"""Four values: others are split two by two, and what comes out is held against the truth of small batches."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from helpers.batches import columns, delta_among
from pldp.mechanisms import build
from pldp.shuffling import Group, amplified
from pldp.shuffling.accounting import delta_above
from pldp.shuffling.crowd import Others, crowd_of
from pldp.shuffling.pairs import Case, cover_of

CHANNEL = build("subset", 4, 500_000)
OTHERS, PAIRS = 4, 1
MIXES = [Counter(values) for values in combinations_with_replacement(range(4), OTHERS)]
"""Everything that the others can answer."""


def pairs_in(mix: Counter[int]) -> int:
    """Pairs of people with values 0 and 1, or 2 and 3; the person has 0 or 1."""
    return min(mix[0], mix[1]) + min(mix[2], mix[3])


def truth(mix: Counter[int], epsilon: float) -> float:
    laws = columns([CHANNEL])
    return delta_among([laws[value] for value in mix.elements()], laws[:2], epsilon)


def bound(cases: list[Case], epsilon: float) -> float:
    crowds = [crowd_of(case.people(OTHERS, PAIRS), 1e-12) for case in cases]
    return max(delta_above(epsilon, case.law, crowd) for case, crowd in zip(cases, crowds, strict=True))


def test_two_reports_come_from_the_blanket_as_often_as_is_said_and_not_more_often() -> None:
    """Every pair of outputs, in random order, of two people who hold x and x'."""
    laws = np.array(columns([CHANNEL]))
    (case,) = (each for each in cover_of(CHANNEL).cases if each.paired)
    # The blanket, from the same law of ratios: what is as likely as √(Q(·|v) Q(·|v')) of both pairs.
    blanket = np.minimum(np.sqrt(laws[0] * laws[1]), np.sqrt(laws[2] * laws[3]))
    blanket /= blanket.sum()
    for one, two in ((laws[0], laws[1]), (laws[2], laws[3])):
        ordered = np.outer(one, two)
        ratios = (ordered + ordered.T) / 2 / np.outer(blanket, blanket)
        assert ratios.min() >= case.first * (1 - 1e-12)
        assert ratios.min() < case.first * 1.01
    assert min((law / blanket).min() for law in laws) == pytest.approx(case.rest)
    assert case.first > case.rest**2 * 1.3


@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_each_case_bounds_what_others_can_answer_in_it(epsilon: float) -> None:
    cases = cover_of(CHANNEL).cases
    paired, alike = ([case for case in cases if case.paired is kind] for kind in (True, False))
    assert max(truth(mix, epsilon) for mix in MIXES if pairs_in(mix) >= PAIRS) <= bound(paired, epsilon)
    assert max(truth(mix, epsilon) for mix in MIXES if pairs_in(mix) <= PAIRS) <= bound(alike, epsilon)


def test_pairs_that_are_said_to_hide_more_than_they_do_are_caught() -> None:
    """The twin: pairs that always come from the blanket, and others who always share that of two values."""
    paired, alike = ([case for case in cover_of(CHANNEL).cases if case.paired is kind] for kind in (True, False))
    wrong = [replace(case, first=1.0, rest=1.0) for case in paired]
    assert max(truth(mix, 0.2) for mix in MIXES if pairs_in(mix) >= PAIRS) > bound(wrong, 0.2)
    wrong = [replace(case, first=1.0, rest=1.0) for case in alike]
    assert max(truth(mix, 0.2) for mix in MIXES if pairs_in(mix) <= PAIRS) > bound(wrong, 0.2)


def test_numbers_of_reports_in_pairs_are_even_and_as_likely_as_trials_say() -> None:
    crowd = crowd_of([Others(3, 0.4, 2), Others(1, 0.7)], 1e-12)
    pairs = np.array([0.216, 0, 0.432, 0, 0.288, 0, 0.064])
    expected = np.convolve(pairs, [0.3, 0.7])
    found = np.zeros(expected.size)
    found[crowd.start : crowd.start + crowd.weight.size] = crowd.weight
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_only_channels_that_gain_are_split_in_pairs() -> None:
    for name in ("krr", "oue", "sue", "lh"):
        assert cover_of(build(name, 4, 500_000)) is None
    assert cover_of(build("subset", 5, 500_000)) is None


def test_people_who_may_not_be_asked_hide_less() -> None:
    own, others = Group(0, (CHANNEL,)), [Group(999, (CHANNEL,))]
    every, half = (amplified(own, others, 1e-6, asked=asked).high for asked in (1.0, 0.5))
    assert every < half < amplified(own, [Group(300, (CHANNEL,))], 1e-6).high
