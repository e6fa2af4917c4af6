"""Supports from reports with one budget for a whole set: unbiased, with exact variances and intervals that cover."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from helpers.claims import rate_is, runs
from pldp import estimate, tally
from pldp.errors import EstimateError
from pldp.estimates import itemsets, supports
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.linear.mix import LevelMix
from pldp.estimates.linear.patterns import item_patterns
from pldp.mechanisms import ItemSet, PrivSet, SampledBoxes, SetChannel
from pldp.mechanisms.arrays import arrays
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.simulate import Population, perturb, simulate_reports
from pldp.survey import loads
from pldp.tallies import Columns, columns_of

ITEMS = ["a", "b", "c", "d", "e"]
MICRO = 1_000_000


def boxes(size: int, count: int, micro: int = 2 * MICRO, picks: int | None = None) -> SampledBoxes:
    weight = RandomizedResponse.of(1 << count, micro).other_weight
    return SampledBoxes(size, count, weight, math.comb(size, count) if picks is None else picks)


CHANNELS: list[SetChannel] = [
    boxes(5, 1),
    boxes(5, 2),
    boxes(5, 3),
    boxes(4, 4),
    boxes(5, 3, picks=5),
    PrivSet.of(5, 2 * MICRO, 2, 1),
    PrivSet.of(5, 2 * MICRO, 2, 2),
    PrivSet.of(5, 2 * MICRO, 3, 4),
    ItemSet.of_whole(4, 2 * MICRO),
]


def exact_columns(channel: SetChannel, value: int) -> Columns:
    """So many reports of each output as its probability says, of 10¹⁵; of rows of bits, as weights beside them."""
    outputs = list(channel.outputs())
    chances = [float(channel.probability(output, value)) for output in outputs]
    if not isinstance(outputs[0], bytes):
        return columns_of(channel, np.rint(np.array(chances) * 1e15).astype(np.int64))
    return Weighted(channel, np.array([int.from_bytes(output, "little") for output in outputs]), np.array(chances))


class Weighted:
    """Patterns of rows of bits, each with its probability."""

    def __init__(self, channel: SetChannel, rows: np.ndarray, chances: np.ndarray) -> None:
        self.rows, self.chances, self.size = rows, chances, channel.size

    def pattern_counts(self, sets: np.ndarray) -> np.ndarray:
        found = np.zeros((len(sets), 1 << sets.shape[1]))
        for number, own in enumerate(sets):
            patterns = np.sum([(self.rows >> item & 1) << j for j, item in enumerate(own)], axis=0)
            np.add.at(found[number], patterns, self.chances * 1e15)
        return found


def told_sets(channel: SetChannel) -> Iterator[np.ndarray]:
    for size in range(1, min(arrays(channel).largest, 3) + 1):
        yield np.array(list(combinations(range(channel.size), size)))


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_supports_are_unbiased_and_the_law_of_patterns_is_exact_by_enumeration(channel: SetChannel) -> None:
    """For every set that a person can have, over all outputs with their exact probabilities."""
    form = arrays(channel)
    reports = ItemReports((form,), (), LevelMix.of(None, [10**15]), 0, "population")
    for value in range(1 << channel.size):
        if value.bit_count() > channel.largest_set:
            continue
        columns = exact_columns(channel, value)
        truth = np.array([value >> item & 1 for item in range(channel.size)], float)
        for sets in told_sets(channel):
            counts, items = columns.pattern_counts(sets) / 1e15, sets.shape[1]
            likely = np.full((len(sets), 1 << items), 0.5**items)
            patterns, has = item_patterns([form], sets, likely), (truth[sets] @ (1 << np.arange(items))).astype(int)
            assert counts.sum(axis=1) == pytest.approx(form.telling(items))
            law = np.broadcast_to(patterns.law[0], (len(sets), *patterns.law.shape[2:]))[np.arange(len(sets)), has]
            assert counts == pytest.approx(law[:, : counts.shape[1]], abs=1e-9)
            counted = patterns.weights[0, -1]
            support = (law * counted).sum(axis=1)
            assert support == pytest.approx(truth[sets].prod(axis=1), abs=1e-9)
            noise = (law * counted**2).sum(axis=1) - support**2
            assert (noise >= reports.least_error(items) ** 2 * 1e15 - 1e-8).all()


def test_patterns_of_sampled_boxes_are_those_counted_one_by_one() -> None:
    channel, generator = boxes(6, 3), np.random.default_rng(1)
    outputs = generator.integers(0, channel.form.count, 5000)
    columns = columns_of(channel, np.bincount(outputs, minlength=channel.form.count))
    sets = np.array([[0, 3], [4, 5], [1, 2], [0, 3]])
    expected = np.zeros((4, 4), np.int64)
    for output in outputs.tolist():
        places = channel.picked(output >> 3)
        for number, (one, two) in enumerate(sets.tolist()):
            if {one, two} <= set(places):
                pattern = (output >> places.index(one) & 1) + 2 * (output >> places.index(two) & 1)
                expected[number, pattern] += 1
    assert (columns.pattern_counts(sets) == expected).all()
    assert (columns.joint_counts(sets) == expected[:, 3]).all()
    assert columns.reports == 5000


def people(count: int, generator: np.random.Generator, at_most: int = 2) -> np.ndarray:
    """Sets of at most so many of five items; the first two often come together."""
    kind = generator.random((count, 1)) < 0.5
    ticked = generator.random((count, 5)) < np.where(kind, [0.9, 0.8, 0.1, 0.1, 0.0], [0.1, 0.1, 0.3, 0.3, 0.2])
    order = np.argsort(generator.random((count, 5)) + ~ticked, axis=1)
    ticked[np.arange(count)[:, None], order[:, at_most:]] = False
    return np.packbits(ticked, axis=1, bitorder="little")


SETS = [["a"], ["c"], ["e"], ["a", "b"]]
MASKS = np.array([0b00001, 0b00100, 0b10000, 0b00011])


@cache
def population() -> np.ndarray:
    """Shares of the sets among very many people."""
    return shares_of(people(400_000, np.random.default_rng(99)))


def shares_of(rows: np.ndarray) -> np.ndarray:
    return ((rows[:, :1] & MASKS) == MASKS).mean(axis=0)


def covered(target: str, differ: float | None, channels: list[SetChannel], *, narrower: float = 1.0) -> np.ndarray:
    """Whether the 95 % interval contains the truth, runs × sets."""
    generator, found = np.random.default_rng(5), []
    fixed = people(1800, generator)
    of_fixed = shares_of(fixed)
    for _ in range(runs(40, 4000)):
        rows = generator.permutation(fixed) if target == "respondents" else people(len(fixed), generator)
        groups = []
        for channel, part in zip(channels, np.array_split(rows, len(channels)), strict=True):
            outputs = perturb(channel, part, generator)
            counted = np.bincount(outputs, minlength=channel.form.count) if outputs.ndim == 1 else outputs
            groups.append((channel, counted))
        result = supports(groups, ITEMS, SETS, target=target, differ=differ)
        truth = of_fixed if target == "respondents" else population()
        found.append(np.abs(result.support - truth) <= narrower * (result.support - result.interval(0.95).low))
    return np.array(found, float)


CASES = [
    ("population", 0, [boxes(5, 2)]),
    ("respondents", 0, [boxes(5, 2), boxes(5, 3, 3 * MICRO)]),
    ("respondents", None, [boxes(5, 2, 3 * MICRO), PrivSet.of(5, 2 * MICRO, 2, 2)]),
    ("population", 0, [PrivSet.of(5, 2 * MICRO, 2, 2), PrivSet.of(5, 3 * MICRO, 2, 2)]),
]


@pytest.mark.parametrize(("target", "differ", "channels"), CASES)
def test_intervals_of_items_and_pairs_cover_at_the_stated_level(
    target: str, differ: float | None, channels: list
) -> None:
    hits = covered(target, differ, channels)
    assert all(rate_is(own, 0.95) for own in hits.T)
    if len(hits) >= 4000:
        assert ((hits.mean(axis=0) >= 0.935) & (hits.mean(axis=0) <= 0.965)).all()


def test_the_test_rejects_intervals_that_are_a_fifth_narrower() -> None:
    """In the short form a fifth as wide: they cover in 30 of 100 runs, and 29 of 40 would be needed for every set."""
    target, differ, channels = CASES[0]
    hits = covered(target, differ, channels, narrower=runs(2, 8) / 10)
    assert not all(rate_is(own, 0.95) for own in hits.T)


def survey_of(**question: object) -> str:
    asked = {"name": "q", "text": "Which?", "kind": "choices", "values": ITEMS, "budget": "set", **question}
    return json.dumps({"pldp": 1, "title": "t", "levels": {"strict": 1, "open": 4}, "questions": [asked]})


def collected(people_count: int = 20_000, **question: object):
    survey = loads(survey_of(**question))
    more = survey.questions[0].size - 5
    crowd = Population.of_shares(survey, people_count, {"q": [0.6, 0.5, 0.2, 0.1, 0.1, *[0.1] * more]}, seed=1)
    return crowd, tally(survey, simulate_reports(survey, crowd, seed=2))


def test_pairs_come_from_the_levels_whose_reports_tell_about_them() -> None:
    crowd, counted = collected()
    assert [channel.boxes for channel in counted.survey.questions[0].channels] == [1, 4]
    found = estimate(counted, "q", min_support=0.2, differ=0)
    assert ("a", "b") in found.sets.sets
    row = next(row for row in found.sets.rows() if row.label == ("a", "b"))
    truth = ((crowd.values["q"][:, 0] & 3) == 3).mean()
    assert abs(row.estimate - truth) <= 5 * row.standard_error
    rule = next(rule for rule in found.rules() if rule.antecedent == ("a",))
    assert abs(rule.confidence - truth / 0.6) <= 5 * rule.confidence_error
    # Where nothing is assumed, people of the strict level would have to be heard as well.
    by_size = estimate(counted, "q", min_support=0.2)
    assert {len(own) for own in by_size.sets.sets} == {1}
    assert "tell nothing about so many items together" in " ".join(note.text for note in by_size.notes)


def test_what_reports_cannot_tell_is_said() -> None:
    _, counted = collected(at_most=2, mechanism="privset")
    found = estimate(counted, "q", min_support=0.2)
    (note,) = (note for note in found.notes if note.code == "sets-not-told")
    assert "at most 1 item together" in note.text
    assert found.sets.largest == 1
    groups = [(boxes(5, 1), np.ones(10, np.int64))]
    with pytest.raises(EstimateError, match="reports of some level tell about at most 1 items together"):
        supports(groups, ITEMS, [["a", "b"]])
    assert itemsets(groups, ITEMS, 0.1).largest == 1


@pytest.mark.parametrize("people_count", [1, 40, 3][: runs(2, 3)])
def test_few_reports_are_never_certain(people_count: int) -> None:
    """An item that no report tells about has no estimate; one report about it does not make it sure."""
    _, counted = collected(people_count, values=[f"item {place}" for place in range(30)])
    for differ in (0, None):
        for target in ("population", "respondents"):
            found = estimate(counted, "q", differ=differ, target=target)
            assert "few-reports" in {note.code for note in found.notes}
            assert (found.standard_error > 0.1).all()
            assert json.dumps(found.to_mapping(), allow_nan=False)


def test_levels_that_answer_differently_are_noticed_and_pooled_by_size() -> None:
    survey = loads(survey_of(levels={"strict": 3, "open": 4}))
    rows = np.packbits(np.arange(4000)[:, None] % np.array([2, 3, 4, 5, 6]) == 0, axis=1, bitorder="little")
    other = rows ^ np.uint8(0b00100)
    generator, (one, two) = np.random.default_rng(1), survey.questions[0].channels
    groups = [
        (channel, np.bincount(perturb(channel, part, generator), minlength=channel.form.count))
        for channel, part in ((one, rows), (two, other))
    ]
    found = supports(groups, ITEMS, [["c"]], target="respondents")
    assert found.homogeneity is not None
    assert found.homogeneity.rejected
    assert abs(found.support[0] - 0.5) <= 5 * found.standard_error[0]
