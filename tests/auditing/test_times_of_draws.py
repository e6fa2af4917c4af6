"""Draws take the same time whatever is drawn, but for what the interpreter's integers add: a stated bound.

Times are compared by ranks, in random order, so that a busy machine does not matter; the error is 1e-6 per comparison.
"""

from __future__ import annotations

import os
import random
import time

import pytest

from helpers.claims import FALSE_ALARM, runs
from pldp.auditing.times import DRAW, compare_times
from pldp.mechanisms import Channel, build

DRAWS = runs(6_000, 200_000)


def times_of(channel: Channel, slower: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    """Return the nanoseconds of draws that have the value and that do not, and of the first value and the last one.

    `slower` is for how many nanoseconds a draw that has the value goes on.
    """
    by_outcome: list[list[int]] = [[], []]
    by_value: list[list[int]] = [[], []]
    lengths: list[int] = []
    channel.draw(0, lambda count: (lengths.append(count), os.urandom(count))[1])
    clock = time.perf_counter_ns
    for _ in range(DRAWS):
        own = random.randrange(2)  # noqa: S311 - the order of the calls, not any protection
        value, noise = (0, channel.size - 1)[own], os.urandom(sum(lengths))
        start = clock()
        output = channel.draw(value, lambda _: noise)  # noqa: B023 - it is called here only
        taken = clock() - start
        told = channel.supports(output, value)
        by_outcome[not told].append(taken + slower * told)
        by_value[own].append(taken)
    return by_outcome, by_value


@pytest.mark.parametrize(("mechanism", "size"), [("krr", 4), ("subset", 16), ("oue", 16), ("sue", 16)])
def test_a_draw_takes_the_same_time_but_for_the_stated_bound(mechanism: str, size: int) -> None:
    for times in times_of(build(mechanism, size, 1_000_000)):
        assert not compare_times(times, allowed=DRAW, error=FALSE_ALARM).refutes


def test_a_draw_that_takes_longer_than_the_bound_is_seen() -> None:
    by_outcome, _ = times_of(build("krr", 4, 1_000_000), slower=5 * DRAW)
    assert compare_times(by_outcome, allowed=DRAW, error=FALSE_ALARM).refutes
