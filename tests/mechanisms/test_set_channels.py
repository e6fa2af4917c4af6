"""One budget for a whole set: ε is that of the enumerated channel, draws follow the weights, `auto` is the best."""

from __future__ import annotations

import math
import os
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from helpers.claims import follows
from helpers.refusals import refused
from pldp.auditing import exact_epsilon, read_table, sampler_fault
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms import (
    ItemSet,
    PrivSet,
    SampledBoxes,
    SetChannel,
    build,
    build_whole_set,
    names,
    planned_share,
    read,
)
from pldp.mechanisms.arrays import arrays
from pldp.mechanisms.boxes.channel import CHOSEN_TABLE, LOSS
from pldp.mechanisms.ranks import places_of_rank, rank_bytes, rank_of, rank_probability
from pldp.mechanisms.response.channel import RandomizedResponse

PROMISED = 1_500_000


def boxes(size: int, count: int, micro: int = PROMISED) -> SampledBoxes:
    return SampledBoxes(size, count, RandomizedResponse.of(1 << count, micro).other_weight, math.comb(size, count))


def rows(size: int, count: int, micro: int = PROMISED) -> SampledBoxes:
    """So many items in a row."""
    return SampledBoxes(size, count, RandomizedResponse.of(1 << count, micro).other_weight, size)


SMALL: list[SetChannel] = [
    *(boxes(size, count) for size in range(3, 7) for count in range(1, min(size, 8 - size) + 1)),
    *(rows(5, count) for count in (2, 3)),
    *(PrivSet.of(size, PROMISED, most, chosen) for size in (3, 4) for most in (1, 2, size) for chosen in (1, 2, size)),
    *(PrivSet.of(size, PROMISED, 2, chosen) for size in (5, 6) for chosen in (1, 3)),
    *(ItemSet.of_whole(size, PROMISED) for size in (3, 4)),
]


def sets_of(channel: SetChannel) -> list[int]:
    return [value for value in range(1 << channel.size) if value.bit_count() <= channel.largest_set]


def enumerated(channel: SetChannel) -> tuple[list[bytes | int], list[list[Fraction]]]:
    """All outputs, and Q(output | set) of every set (columns)."""
    outputs = list(channel.outputs())
    return outputs, [[channel.probability(output, value) for value in sets_of(channel)] for output in outputs]


def enumerated_epsilon(table: list[list[Fraction]]) -> int:
    worst = max(max(row) / min(row) for row in table)
    return int(micro_epsilon_of_ratio(worst.numerator, worst.denominator))


@pytest.mark.parametrize("channel", SMALL, ids=repr)
def test_enumerated_epsilon_between_any_two_sets_is_the_stated_one_and_within_the_promise(channel: SetChannel) -> None:
    _, table = enumerated(channel)
    assert all(sum(column) == 1 for column in zip(*table, strict=True))
    assert enumerated_epsilon(table) == channel.micro_epsilon
    assert PROMISED - 4 <= channel.micro_epsilon <= PROMISED
    # The audit reads the published integers by itself.
    assert exact_epsilon(channel.mechanism, channel.size, channel.weights()) == channel.micro_epsilon


@pytest.mark.parametrize("name", names("sets"))
def test_the_enumeration_sees_a_five_percent_weaker_promise(name: str) -> None:
    weaker = build_whole_set(name, 4, PROMISED * 105 // 100, 2)
    assert enumerated_epsilon(enumerated(weaker)[1]) > PROMISED


@pytest.mark.parametrize("channel", SMALL, ids=repr)
def test_an_item_is_reported_as_often_as_stated_whatever_else_is_in_the_set(channel: SetChannel) -> None:
    outputs, table = enumerated(channel)
    form = arrays(channel)
    ticked = [has_item(channel, output, 0) for output in outputs]
    for place, value in enumerate(sets_of(channel)):
        chance = sum(row[place] for row, has in zip(table, ticked, strict=True) if has)
        # The pick is uniform to within 2^-128.
        assert abs(chance - channel.item_chances(0)[0 if value & 1 else 1]) <= Fraction(1, 2**100)
    assert form.variance(np.full(channel.size, 0.3)) == pytest.approx(channel.item_variance(0.3))
    assert form.forged.max() == pytest.approx(channel.manipulation)


def has_item(channel: SetChannel, output: bytes | int, item: int) -> bool:
    """Whether a report has an item, by the rules of the wire format."""
    if isinstance(output, bytes):
        return bool(int.from_bytes(output, "little") >> item & 1)
    rank, answer = divmod(output, 1 << channel.boxes)
    picks = sorted(map(list, combinations(range(channel.size), channel.boxes)), key=lambda own: own[::-1])
    if channel.picks < len(picks):
        firsts = range(channel.size)
        picks = [sorted((first + step) % channel.size for step in range(channel.boxes)) for first in firsts]
    places = picks[rank]
    return item in places and bool(answer >> places.index(item) & 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda micro: boxes(5, 2, micro),
        lambda micro: rows(5, 3, micro),
        lambda micro: PrivSet.of(5, micro, 2, 2),
        lambda micro: PrivSet.of(4, micro, 4, 3),
        lambda micro: ItemSet.of_whole(5, 5 * micro),
    ],
)
def test_the_law_of_a_device_sees_a_millionth_of_epsilon(make) -> None:
    built, weaker = make(1_000_000), make(1_000_001)
    table = read_table(built.mechanism, built.size, built.weights())
    assert sampler_fault(built.draw, table, sets=True) is None
    assert sampler_fault(weaker.draw, table, sets=True)


SAMPLES = 100_000


@pytest.mark.parametrize("make", [lambda micro: boxes(4, 2, micro), lambda micro: PrivSet.of(4, micro, 2, 2)])
def test_the_sampler_of_many_people_follows_the_channel_and_a_weaker_one_is_noticed(make) -> None:
    channel, weaker = make(2_000_000), make(2_100_000)
    for value in (0b0000, 0b0101):
        rows = np.full((SAMPLES, 1), value, np.uint8)
        outputs = list(channel.outputs())
        expected = [float(channel.probability(output, value)) for output in outputs]
        for drawn_by, right in ((channel, True), (weaker, False)):
            drawn = arrays(drawn_by).draw_many(rows, np.random.default_rng(1))
            found = Counter(drawn.tolist() if drawn.ndim == 1 else map(bytes, drawn))
            assert follows([found[output] for output in outputs], expected) is right


@pytest.mark.parametrize("channel", [boxes(6, 3), PrivSet.of(6, PROMISED, 3), ItemSet.of_whole(6, PROMISED)], ids=repr)
def test_every_set_uses_the_same_random_bytes(channel: SetChannel) -> None:
    def asked(value: int) -> list[int]:
        counts = []

        def random(count: int) -> bytes:
            counts.append(count)
            return os.urandom(count)

        channel.draw(value, random)
        return counts

    assert len({tuple(asked(value)) for value in sets_of(channel) for _ in range(3)}) == 1


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_every_subset_has_one_rank(size: int) -> None:
    for chosen in range(size + 1):
        found = [tuple(places_of_rank(rank, size, chosen)) for rank in range(math.comb(size, chosen))]
        assert sorted(found) == list(combinations(range(size), chosen))


@pytest.mark.parametrize("count", [1, 2, 3, 255, 256, 257, 10**40])
def test_ranks_are_uniform_to_within_a_part_in_two_to_the_128(count: int) -> None:
    length = rank_bytes(count)
    assert rank_of(bytes(length), count) == 0
    assert rank_of(b"\xff" * length, count) == count - 1
    for rank in {0, count // 2, count - 1}:
        assert abs(rank_probability(rank, count) * count - 1) <= Fraction(1, 2**128)


# n·variance of a share of .3: per box at ε/m, random boxes, PrivSet with at most two ticks and the best d.
TABLE = {
    (5, 1): (25, 5.65, 4.6),
    (5, 2): (6.4, 1.55, 1.2),
    (5, 4): (1.7, 0.477, 0.58),
    (20, 1): (400, 22.6, 7.9),
    (20, 2): (100, 6.2, 2.0),
    (20, 4): (25, 1.9, 0.67),
}


@pytest.mark.parametrize(("size", "epsilon"), TABLE)
def test_variances_of_an_items_share_are_those_of_the_theory(size: int, epsilon: int) -> None:
    micro = epsilon * 1_000_000
    subsets = (PrivSet.of(size, micro, 2, chosen) for chosen in range(1, size // 2))
    found = (
        ItemSet.of_whole(size, micro).item_variance(0.3),
        SampledBoxes.of(size, micro).item_variance(0.3),
        min(channel.item_variance(0.3) for channel in subsets),
    )
    assert found == pytest.approx(TABLE[size, epsilon], rel=0.02)


def countable(size: int, count: int) -> bool:
    """Whether a collector counts so many outputs in 32 MB."""
    return math.comb(size, count) << count <= CHOSEN_TABLE


@pytest.mark.parametrize("size", [2, 3, 7, 20, 60])
@pytest.mark.parametrize("at_most", [None, 1, 2])
def test_auto_takes_the_least_variance_of_all_mechanisms_and_sizes(size: int, at_most: int | None) -> None:
    share = planned_share(size, at_most)
    for micro in (100_000, 1_000_000, 3_000_000, 6_000_000):
        chosen = build_whole_set("auto", size, micro, at_most).item_variance(share)
        others: list[SetChannel] = [ItemSet.of_whole(size, micro)]
        others += [boxes(size, count, micro) for count in range(1, min(size, 5) + 1) if countable(size, count)]
        others += [rows(size, count, micro) for count in range(1, min(size, 9))]
        others += [PrivSet.of(size, micro, at_most, count) for count in range(1, min(size, 4) + 1)]
        assert chosen <= min(channel.item_variance(share) for channel in others) / LOSS


def test_long_answers_are_not_chosen() -> None:
    assert build_whole_set("auto", 2000, 1_000_000, 3).mechanism == "privset"
    assert build_whole_set("auto", 2000, 1_000_000, 3, answer_bytes=64).mechanism == "boxes"
    assert build_whole_set("auto", 100_000, 1_000_000, 3).weights()["boxes"] == 1


@pytest.mark.parametrize("name", names("sets"))
def test_weights_rebuild_the_channel(name: str) -> None:
    built = build_whole_set(name, 7, 2_000_000, 3)
    assert read(name, 7, built.weights()) == built
    assert build(name, 7, 2_000_000).size == 7


@pytest.mark.parametrize(
    ("make", "error", "line"),
    [
        (lambda: SampledBoxes(5, 0, 1, 1), EpsilonError, "boxes must be from 1 to 5, not 0"),
        (lambda: SampledBoxes(60, 8, 1, math.comb(60, 8)), EpsilonError, "must leave at most 2^27 outputs"),
        (lambda: SampledBoxes(10**6, 10**5, 1, 1), EpsilonError, "boxes and picks must leave at most 2^27 outputs"),
        (lambda: SampledBoxes(5, 2, 1, 6), EpsilonError, "picks must be 10 or 5, subsets or rows, not 6"),
        (lambda: SampledBoxes(5, 1, 2**52, 5), EpsilonError, "other_weight must leave the truth"),
        (lambda: boxes(5, 1).draw(1 << 5, os.urandom), AnswerError, "value must be a set of 5 items"),
        (lambda: PrivSet(5, 6, 1, 2**52), EpsilonError, "at_most must be from 1 to 5 items, not 6"),
        (lambda: PrivSet(5, 2, 6, 2**52), EpsilonError, "chosen must be from 1 to 5, not 6"),
        (lambda: PrivSet(5, 2, 1, 2**53), EpsilonError, "meets must be below 2^53"),
        (lambda: PrivSet.of(5000, 1_000_000, 2), EpsilonError, "items and at_most together must be at most 4,096"),
        (lambda: PrivSet.of(5, 1_000_000, 2).draw(0b111, os.urandom), AnswerError, "a set of at most 2 of 5 items"),
        (lambda: ItemSet.of_whole(5, 4), EpsilonError, "epsilon 0.000004 is too small for 5 items"),
        (lambda: build_whole_set("krr", 5, 4), EpsilonError, "must be one of item_set, boxes, privset or auto"),
    ],
)
def test_what_is_no_channel_and_no_set_is_refused_in_one_line(make, error: type[Exception], line: str) -> None:
    with refused(error, line):
        make()
