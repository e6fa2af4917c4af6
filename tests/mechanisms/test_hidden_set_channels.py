"""Channels for sets whose level is hidden: exact leaks, one form for all levels, and unbiased weights."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from pldp.auditing import read_table
from pldp.auditing.exact import level_odds
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import EpsilonError, SurveyError
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.patterns import item_patterns
from pldp.mechanisms import (
    ItemSet,
    PrivSet,
    SampledBoxes,
    SetChannel,
    hideable_whole_sets,
    level_leak,
    pair_evidence,
)
from pldp.mechanisms.arrays import arrays, label_arrays
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.survey import Survey

MICRO = 1_000_000
BUDGETS = (500_000, 1_000_000, 3_000_000)


def boxes(count: int, picks: int | None = None) -> list[SetChannel]:
    others = [RandomizedResponse.of(1 << count, micro).other_weight for micro in BUDGETS]
    return [SampledBoxes(4, count, other, picks or math.comb(4, count)) for other in others]


LEVELS: dict[str, list[SetChannel]] = {
    "bits": [ItemSet.of([micro] * 3) for micro in BUDGETS],
    "bits with budgets of their own": [ItemSet.of([micro, micro // 2, micro // 5]) for micro in BUDGETS],
    "bits that favour one answer": [ItemSet.of_pairs([(micro, 2 * micro), (micro, micro)]) for micro in BUDGETS],
    "bits, one without protection": [ItemSet.of([micro, math.inf]) for micro in BUDGETS],
    "one box": boxes(1),
    "two boxes": boxes(2),
    "two boxes in a row": boxes(2, 4),
    "three boxes": boxes(3),
    "PrivSet, one": [PrivSet.of(4, micro, 2, 1) for micro in BUDGETS],
    "PrivSet, two": [PrivSet.of(4, micro, 2, 2) for micro in BUDGETS],
}
WEIGHTS = np.array([0.2, 0.5, 0.3])


def sets_of(channel: SetChannel) -> list[int]:
    return [value for value in range(1 << channel.size) if value.bit_count() <= channel.largest_set]


def enumerated(channels: list[SetChannel]) -> tuple[float, float]:
    """(leak about the level, leak about set and level) by looking at every output, set and level."""
    same, pair = [], []
    for output in channels[0].outputs():
        rows = [[each.probability(output, value) for each in channels] for value in sets_of(channels[0])]
        same += [(max(row), min(row)) for row in rows]
        protected = [
            sum(1 << item for item in range(channels[0].size) if channels[0].promised(item) == math.inf) & value
            for value in sets_of(channels[0])
        ]
        for part in set(protected):
            alike = [row for row, own in zip(rows, protected, strict=True) if own == part]
            pair += [(max(map(max, alike)), min(map(min, alike)))]

    def largest(found: list[tuple[Fraction, Fraction]]) -> float:
        possible = [(more, less) for more, less in found if more]
        if any(not less for _, less in possible):
            return math.inf
        ratio = max(more / less for more, less in possible)
        return micro_epsilon_of_ratio(ratio.numerator, ratio.denominator)

    return largest(same), largest(pair)


@pytest.mark.parametrize("name", LEVELS)
def test_leaks_are_those_of_the_enumeration_and_of_the_audit(name: str) -> None:
    channels = LEVELS[name]
    leak, pair = enumerated(channels)
    assert level_leak(channels) == leak
    # Subsets are drawn by ranks, whose law is uniform to within 2⁻¹²⁸, for which the ε of two sets allows.
    assert 0 <= max(map(max, pair_evidence(channels))) - pair <= 1
    tables = [read_table(each.mechanism, each.size, each.weights()) for each in channels]
    assert level_odds(tables) == leak
    assert level_odds(tables, values=True) == pair


def test_a_leak_over_fewer_items_is_understated() -> None:
    """The twin: what one bit tells is not what the report tells."""
    channels = LEVELS["bits"]
    assert level_leak([ItemSet.of([micro] * 2) for micro in BUDGETS]) < enumerated(channels)[0]


def test_outputs_of_another_form_show_the_level() -> None:
    for pair in (
        (LEVELS["one box"][0], LEVELS["two boxes"][0]),
        (LEVELS["PrivSet, one"][0], LEVELS["PrivSet, two"][1]),
        (LEVELS["bits"][0], LEVELS["PrivSet, two"][1]),
        (LEVELS["two boxes"][0], LEVELS["PrivSet, two"][1]),
    ):
        for channels in (pair, pair[::-1]):
            with pytest.raises(EpsilonError, match="different form show the level"):
                level_leak(channels)


@pytest.mark.parametrize("name", LEVELS)
def test_what_reports_of_hidden_levels_count_is_unbiased_by_enumeration(name: str) -> None:
    """For every level and set that a person can have, over all labels and all outputs: 1 for both, 0 for all others."""
    channels = LEVELS[name]
    for size in range(1, min(*(arrays(channel).largest for channel in channels), 3) + 1):
        sets = np.array(list(combinations(range(channels[0].size), size)))
        evidence = hidden_evidence(channels, sets)
        counted = evidence.weights(slice(0, len(sets)))[0]
        for value, (place, channel) in product(sets_of(channels[0]), enumerate(channels)):
            had = np.array([sum((value >> item & 1) << j for j, item in enumerate(own)) for own in sets])
            shown = patterns_of_outputs(channel, value, sets)
            telling = arrays(channel).telling(size)
            if telling < 1:
                shown = np.concatenate([shown * telling, np.full((len(sets), 1), 1 - telling)], axis=1)
            cells = np.einsum("s,ic->isc", evidence.chance[:, place], shown).reshape(len(sets), -1)
            expected = np.zeros((len(sets), len(channels), 1 << size))
            expected[np.arange(len(sets)), place, had] = 1
            np.testing.assert_allclose(np.einsum("itxc,ic->itx", counted, cells), expected[:, :, 1:], atol=1e-8)


def hidden_evidence(channels: list[SetChannel], sets: np.ndarray) -> Evidence:
    """Evidence of a mix of levels behind labels."""
    forms, chance = [arrays(channel) for channel in channels], label_arrays(RandomizedResponse.of(3, MICRO)).matrix()
    likely = np.full((len(sets), 1 << sets.shape[1]), 0.5 ** sets.shape[1])
    patterns = item_patterns(forms, sets, likely)
    bare = Evidence(np.ones((3, len(sets), patterns.weights.shape[3])), patterns, chance, visible=True)
    shown = bare.expected(slice(0, len(sets)), likely, WEIGHTS).reshape(len(sets), 3, -1)
    counts = 1000 * np.swapaxes(shown, 0, 1)
    return Evidence(counts, patterns, chance, visible=False, exclusive=False, likely_states=likely)


def patterns_of_outputs(channel: SetChannel, value: int, sets: np.ndarray) -> np.ndarray:
    """How often reports of a person that tell about each set show each pattern, from the exact probabilities."""
    found = np.zeros((len(sets), 1 << sets.shape[1]))
    for output in channel.outputs():
        chance = float(channel.probability(output, value))
        for number, own in enumerate(sets.tolist()):
            pattern = pattern_of(channel, output, own)
            if pattern is not None:
                found[number, pattern] += chance
    return found / found.sum(axis=1, keepdims=True)


def pattern_of(channel: SetChannel, output: object, items: list[int]) -> int | None:
    if isinstance(channel, SampledBoxes):
        rank, answer = divmod(int(output), 1 << channel.boxes)
        picked = channel.picked(rank)
        if not set(items) <= set(picked):
            return None
        return sum((answer >> picked.index(item) & 1) << j for j, item in enumerate(items))
    bits = int.from_bytes(output, "little")
    return sum((bits >> item & 1) << j for j, item in enumerate(items))


def test_the_weights_of_another_level_are_wrong() -> None:
    """The twin: what reports count is that of their own level."""
    channels, sets = LEVELS["bits"], np.array([[0, 1]])
    shown = patterns_of_outputs(channels[0], 3, sets)
    own, other = (arrays(channel).pattern_weights(sets, 3) for channel in channels[:2])
    assert (shown * own).sum() == pytest.approx(1, abs=1e-9)
    assert abs((shown * other).sum() - 1) > 0.03


def test_candidates_have_one_form_at_all_levels() -> None:
    found = list(hideable_whole_sets("auto", 8, BUDGETS, 2))
    assert {channels[0].mechanism for channels in found} == {"item_set", "boxes", "privset"}
    for channels in found:
        assert len({channel.form for channel in channels}) == 1
        assert all(channel.micro_epsilon <= micro for channel, micro in zip(channels, BUDGETS, strict=True))
        assert level_leak(channels) < math.inf


def survey(hide: dict[str, object], most: float = 2, size: int = 5, **keys: object) -> Survey:
    question = {"name": "q", "kind": "choices", "values": list("abcdefghijklmnopqrst")[:size], **keys}
    levels = {"strict": 0.5, "open": most}
    return Survey.read({"pldp": 1, "title": "t", "levels": levels, "hide_level": hide, "questions": [question]})


def test_the_cap_is_kept_over_all_questions_and_auto_takes_less_accurate_channels_for_it() -> None:
    free = survey({"epsilon": 1}, most=4, size=20, budget="set").question("q").channels
    capped = survey({"leak_cap": 1.9}, most=4, size=20, budget="set")
    own = capped.question("q").channels
    assert (free[0].mechanism, own[0].mechanism) == ("boxes", "item_set")
    assert level_leak(own) < level_leak(free)
    assert own[1].item_variance(0.5) > free[1].item_variance(0.5)
    assert 1_899_998 <= capped.level_leak() <= 1_900_000
    assert Survey.read(capped.canonical.decode()).hash == capped.hash


def test_what_cannot_be_hidden_says_why() -> None:
    with pytest.raises(SurveyError, match=r'leak_cap: must leave room .*\(item_set 5\.\d+\).*budget = "set"'):
        survey({"leak_cap": 2})
    bound = {"strict": ["0.5"] * 5, "open": ["infinite", *["2"] * 4]}
    with pytest.raises(
        SurveyError, match="would prove the level, whatever hides it; leave the same labels unprotected"
    ):
        survey({"epsilon": 1}, budgets=bound)


def test_the_table_of_the_guide_is_right() -> None:
    table = {
        (5, False, None): (5.76, 0.88),
        (5, True, None): (0.80, 3.84),
        (5, True, 2): (0.87, 3.51),
        (20, False, None): (23.06, 0.88),
        (20, True, None): (0.80, 15.37),
        (20, True, 2): (0.85, 5.82),
    }
    for (size, whole, most), (leak, variance) in table.items():
        keys = {**({"budget": "set"} if whole else {}), **({"at_most": most} if most else {})}
        question = {"name": "q", "kind": "choices", "values": [str(place) for place in range(size)], **keys}
        levels = {"a": 0.5, "b": 1, "c": 2}
        content = {"pldp": 1, "title": "t", "levels": levels, "hide_level": {"epsilon": 1}, "questions": [question]}
        channels = Survey.read(content).question("q").channels
        assert level_leak(channels) / MICRO == pytest.approx(leak, abs=0.006)
        assert 3 / sum(1 / each.item_variance(0.5) for each in channels) == pytest.approx(variance, abs=0.006)
