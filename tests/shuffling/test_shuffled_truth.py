"""Bounds against the truth: small batches are enumerated, and no bound is on the wrong side of what comes out."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.batches import columns, encloses, true_delta
from pldp.mechanisms import build, build_whole_set
from pldp.shuffling import Group, amplified
from pldp.shuffling.accounting import delta_above
from pldp.shuffling.crowd import Others, crowd_of
from pldp.shuffling.laws import by_epsilon, dominated_law, laws_of, matrix_of

BUDGETS = [600_000, 1_500_000, 900_000, 600_000, 1_500_000]
CHANNELS = {
    "krr 2": build("krr", 2, 1_500_000),
    "krr 3": build("krr", 3, 1_500_000),
    "krr 4": build("krr", 4, 800_000),
    "sue": build("sue", 3, 1_500_000),
    "oue": build("oue", 3, 1_500_000),
    "subset": build("subset", 4, 500_000),
    "lh": build("lh", 3, 1_000_000),
    "iprr 2": build("iprr", 2, BUDGETS[:2]),
    "iprr": build("iprr", 3, BUDGETS[:3]),
    "aprr": build("aprr", 3, BUDGETS[:3]),
    "subset_items": build("subset_items", 4, [600_000] * 3 + [1_500_000]),
    "idue": build("idue", 3, BUDGETS[:3]),
    "item_set": build("item_set", 2, [1_000_000, 500_000], domain="sets"),
    "item_set sides": build("item_set", 2, [(1_000_000, 300_000), (700_000, 700_000)], domain="sets"),
    "boxes": build_whole_set("boxes", 2, 1_200_000),
    "sr": build("sr", 4, 1_200_000, domain="numbers"),
    "sw": build("sw", 4, 1_200_000, domain="numbers"),
    "laplace": build("laplace", 4, 1_200_000, domain="numbers"),
}
PEOPLE = 3


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("delta", [1e-6, 0.02])
def test_both_bounds_enclose_the_truth_of_a_small_batch(name: str, delta: float) -> None:
    channel = CHANNELS[name]
    own = columns([channel])
    found = amplified(Group(0, (channel,)), [Group(PEOPLE, (channel,))], delta)
    assert encloses(own, [(PEOPLE, own)], delta, *found[::-1])
    assert found.low <= found.high <= channel.epsilon


@pytest.mark.parametrize("name", ["krr 3", "subset", "sue", "aprr", "sw"])
@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.9])
def test_delta_is_bounded_from_above_at_every_epsilon(name: str, epsilon: float) -> None:
    channel = CHANNELS[name]
    own = columns([channel])
    truth = true_delta(own, [(PEOPLE, own)], epsilon)
    laws = laws_of(channel)
    matrix = matrix_of(channel)
    more = [dominated_law(matrix, matrix.min(axis=1))] if matrix is not None else []
    for some in (laws, [by_epsilon(channel.epsilon)], more):
        bounds = [delta_above(epsilon, law, crowd_of([Others(PEOPLE, law.blanket)], 1e-12)) for law in some]
        assert not bounds or max(bounds) >= truth - 1e-12


def test_a_blanket_that_is_said_to_be_larger_than_it_is_is_caught() -> None:
    """The twin: with a fifth more of a blanket the bound falls below the truth, and enumeration sees it."""
    channel = CHANNELS["krr 3"]
    own = columns([channel])
    (law,) = laws_of(channel)
    wrong = delta_above(0.4, law, crowd_of([Others(PEOPLE, 1.2 * law.blanket)], 1e-12))
    assert wrong < true_delta(own, [(PEOPLE, own)], 0.4)


@pytest.mark.parametrize(("mechanism", "size"), [("krr", 3), ("krr", 2), ("subset", 3), ("sue", 2)])
@pytest.mark.parametrize("labels", [None, ((0.7, 0.3), (0.3, 0.7))])
def test_levels_that_hide_each_other_are_bounded(mechanism: str, size: int, labels) -> None:
    levels = [build(mechanism, size, micro) for micro in (500_000, 1_500_000)]
    if mechanism == "subset":
        levels = [type(levels[0]).of(size, micro, 2) for micro in (500_000, 1_500_000)]
    shown = labels or ((1.0,), (1.0,))
    groups = [Group(people, (channel,), label) for people, channel, label in zip((2, 1), levels, shown, strict=True)]
    tables = [(group.people, columns(group.channels, group.labels)) for group in groups]
    for place, delta in ((0, 1e-4), (1, 1e-4), (1, 0.02)):
        own = groups[place]
        found = amplified(own, groups, delta)
        assert encloses(columns(own.channels, own.labels), tables, delta, *found[::-1])


@pytest.mark.parametrize("second", ["krr 2", "iprr 2"])
def test_whole_reports_are_bounded_also_where_one_answer_changes_only(second: str) -> None:
    channels = (CHANNELS["krr 3"], CHANNELS[second])
    own = columns(channels)
    for delta in (1e-4, 0.02):
        found = amplified(Group(0, channels), [Group(2, channels)], delta)
        assert encloses(own, [(2, own)], delta, *found[::-1])


@pytest.mark.parametrize("size", [3, 8, 40])
def test_a_law_on_a_grid_gives_the_bound_of_the_exact_one(size: int) -> None:
    """Of k-RR the law above all marginals is the law itself."""
    channel = build("krr", size, 1_000_000)
    (exact,) = laws_of(channel)
    matrix = matrix_of(channel)
    assert matrix is not None
    crowd = crowd_of([Others(999, exact.blanket)], 1e-12)
    deltas = [delta_above(0.03, law, crowd) for law in (exact, dominated_law(matrix, matrix.min(axis=1)))]
    np.testing.assert_allclose(deltas[1], deltas[0], rtol=1e-3)
    assert deltas[1] >= deltas[0] * (1 - 1e-4)


def test_two_outputs_are_exact_over_everything_that_others_answer() -> None:
    channel = build("krr", 2, 2_000_000)
    own = columns([channel])
    for people in (1, 5, 12):
        found = amplified(Group(0, (channel,)), [Group(people, (channel,))], 1e-3)
        assert encloses(own, [(people, own)], 1e-3, *found[::-1])
        assert found.high <= found.low * 1.02
