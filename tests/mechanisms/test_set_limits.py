"""The sets that gain most within limits are those of a brute-force search, in Python and in JavaScript."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from helpers.claims import runs
from pldp.auditing.exact import level_odds, read_table
from pldp.mechanisms import ItemSet, SetLimits, level_leak, pair_evidence
from pldp.mechanisms.set_limits import Places

CLIENT = Path(__file__).parent.parent.parent / "clients" / "js" / "src" / "limits.js"

Case = tuple[list[int], list[int], SetLimits]


def random_cases() -> list[Case]:
    """Few different gains, so that many are alike; some gain nothing or less."""
    rng = random.Random("limits")  # noqa: S311 - the same cases every time
    cases = []
    for _ in range(runs(300, 3000)):
        size, most = rng.randint(1, 6), rng.choice([2, 9, 10**30])
        gains, losses = ([rng.randint(-most // 4, most) for _ in range(size)] for _ in range(2))
        at_most = rng.choice([None, rng.randint(1, size)])
        exclusive = frozenset(rng.sample(range(size), rng.choice([0, 0, 1, min(2, size)])))
        cases.append((gains, losses if rng.random() < 0.7 else gains, SetLimits(at_most, exclusive)))
    return cases


def allowed(size: int, limits: SetLimits) -> list[tuple[int, ...]]:
    """Every set within limits, as a bit for each item."""
    return [
        bits
        for bits in product((0, 1), repeat=size)
        if sum(bits) <= (size if limits.at_most is None else limits.at_most)
        and (sum(bits) < 2 or not any(bits[place] for place in limits.exclusive))
    ]


def enumerated(gains: list[int], losses: list[int], limits: SetLimits) -> tuple[int, int]:
    """The most that a set gains, and the most over two sets; an item that both have changes nothing."""
    sets = allowed(len(gains), limits)
    one = max(sum(gain for gain, bit in zip(gains, bits, strict=True) if bit) for bits in sets)
    two = max(
        sum(
            gain * (mine > theirs) + loss * (theirs > mine)
            for gain, loss, mine, theirs in zip(gains, losses, *pair, strict=True)
        )
        for pair in product(sets, repeat=2)
    )
    return one, two


def worth(case: Case, chosen: Places, pair: tuple[Places, Places]) -> tuple[int, int]:
    """What sets gain; refuse those that may not be answered."""
    gains, losses, limits = case
    for places in (chosen, *pair):
        assert tuple(int(place in places) for place in range(len(gains))) in allowed(len(gains), limits)
    assert not set(pair[0]) & set(pair[1])
    return sum(gains[place] for place in chosen), sum(gains[place] for place in pair[0]) + sum(
        losses[place] for place in pair[1]
    )


def test_python_finds_what_enumeration_finds() -> None:
    for case in random_cases():
        gains, losses, limits = case
        found = worth(case, limits.best_set(gains), limits.best_pair(gains, losses))
        assert found == enumerated(*case)
        assert limits.largest_difference(gains, losses) == found[1]


def test_the_larger_side_of_the_largest_items_is_not_enough() -> None:
    """The twin: 2m items are chosen by their larger side, and each takes it whether or not its set has room."""
    wrong = 0
    for gains, losses, limits in random_cases():
        larger = sorted((max(0, *sides) for sides in zip(gains, losses, strict=True)), reverse=True)
        most = None if limits.at_most is None else 2 * limits.at_most
        wrong += sum(larger[:most]) != enumerated(gains, losses, limits)[1]
    assert wrong > 10


RUN = """
import { readFileSync } from "node:fs";
import { bestPair, bestSet } from "LIMITS";

const found = JSON.parse(readFileSync("cases.json", "utf8")).map(([gains, losses, atMost, exclusive]) => {
	const [one, two] = [gains, losses].map((numbers) => numbers.map(BigInt));
	const limits = { atMost: atMost ?? Infinity, alone: new Set(exclusive) };
	return [bestSet(one, limits), bestPair(one, two, limits)];
});
console.log(JSON.stringify(found));
"""


def test_javascript_finds_what_enumeration_finds(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node is not None
    cases = random_cases()
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "run.js").write_text(RUN.replace("LIMITS", CLIENT.as_uri()))
    (tmp_path / "cases.json").write_text(
        json.dumps([
            [list(map(str, gains)), list(map(str, losses)), limits.at_most, sorted(limits.exclusive)]
            for gains, losses, limits in cases
        ])
    )  # fmt: skip
    done = subprocess.run([node, "run.js"], cwd=tmp_path, check=True, capture_output=True, text=True)
    for case, (chosen, pair) in zip(cases, json.loads(done.stdout), strict=True):
        assert worth(case, chosen, pair) == enumerated(*case)


LEVELS = {
    "alike": [ItemSet.of([micro] * 4) for micro in (500_000, 1_500_000, 3_000_000)],
    "budgets of their own": [ItemSet.of([micro, micro // 2, micro // 5, micro]) for micro in (500_000, 3_000_000)],
    "sides": [
        ItemSet.of_pairs([(micro, micro // 4), (micro // 3, micro), (micro // 4, micro), (micro, micro)])
        for micro in (500_000, 3_000_000)
    ],
    "one item much noisier": [ItemSet(3, (3 << 30, 1 << 30, 2 << 30), (1 << 30, 1 << 28, 1 << 30)),
                              ItemSet(3, (7 << 29, 7 << 29, 3 << 30), (1 << 29, 1 << 31, 1 << 29))],
}  # fmt: skip


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize(
    "limits", [SetLimits(1), SetLimits(2), SetLimits(2, frozenset({0})), SetLimits(None, frozenset({1, 2}))]
)
def test_leaks_within_limits_are_those_of_the_enumeration_and_of_the_audit(name: str, limits: SetLimits) -> None:
    channels = LEVELS[name]
    sets = [sum(bit << place for place, bit in enumerate(bits)) for bits in allowed(channels[0].size, limits)]

    def most(pairs: list[tuple[int, int]]) -> float:
        return max(
            math.log(one.probability(output, mine) / two.probability(output, theirs))
            for output in channels[0].outputs()
            for one, two in product(channels, repeat=2)
            for mine, theirs in pairs
        )

    same, pair = most([(value, value) for value in sets]), most(list(product(sets, repeat=2)))
    assert level_leak(channels, limits) == math.ceil(same * 1e6)
    assert max(map(max, pair_evidence(channels, limits))) == math.ceil(pair * 1e6)
    tables = [read_table(each.mechanism, each.size, each.weights()).limited(limits) for each in channels]
    assert level_odds(tables) == math.ceil(same * 1e6)
    assert level_odds(tables, values=True) == math.ceil(pair * 1e6)
