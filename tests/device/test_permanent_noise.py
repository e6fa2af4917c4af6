"""Permanent noise of sets of more than eight items: no two of the 32 digits that an item is drawn by are the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import sqrt

from helpers.claims import Z
from pldp import Survey
from pldp.device.state import DeviceState

ITEMS = 256  # one digit of all of them takes a block of 32 bytes
DEVICES = 40

Kept = Callable[[str, int], bytes]


def kept_by(state: DeviceState) -> Kept:
    return lambda name, count: state.kept_bytes(count, "permanent", name)


def repeated_by(state: DeviceState) -> Kept:
    """What a device would keep that forgot to number the blocks."""
    return lambda name, count: (state.key("permanent", name) * count)[:count]


def new_state() -> DeviceState:
    return DeviceState(None, cap=None, level_cap=None, random=os.urandom)


def test_no_block_of_what_is_kept_comes_twice() -> None:
    state = new_state()
    kept = {name: state.kept_bytes(32 * 32, name) for name in "10"}
    blocks = [own[place : place + 32] for own in kept.values() for place in range(0, len(own), 32)]
    assert len(set(blocks)) == 64
    assert kept["1"].startswith(state.kept_bytes(100, "1"))  # and it is kept


def test_permanent_noise_comes_as_often_as_it_should() -> None:
    question = {"name": "q", "kind": "choices", "values": [f"item {place}" for place in range(ITEMS)], "budget": "item"}
    survey = Survey.read({"pldp": 1, "title": "t", "repeat": "tracked", "levels": {"a": 1}, "questions": [question]})
    stages = survey.questions[0].stages[0]
    chance = float(stages.permanent.item_chances(0)[1])  # an item that the set lacks is reported

    def deviation(derive: Callable[[DeviceState], Kept]) -> float:
        drawn = (stages.settle(0, derive(new_state())) for _ in range(DEVICES))
        raised = sum(int.from_bytes(bits, "little").bit_count() for bits in drawn)
        people = ITEMS * DEVICES
        return abs(raised - people * chance) / sqrt(people * chance * (1 - chance))

    assert deviation(kept_by) < Z
    assert deviation(repeated_by) > Z  # all digits of an item are the same: half of them are raised
