"""Exact ε from published integers is what the channels state, for every kind, and sees what is wrong."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import runs
from pldp.auditing import audit, audit_channel, exact_epsilon, level_odds, read_table, sampler_fault
from pldp.auditing.tables import FEW
from pldp.errors import AuditError
from pldp.mechanisms import (
    REGISTRY,
    Channel,
    ItemSet,
    build,
    hideable,
    level_leak,
    names,
    pair_evidence,
)
from pldp.survey import Survey, loads

MICRO = st.integers(50_000, 5_000_000)


def table(built: Channel):
    return read_table(built.mechanism, built.size, built.weights())


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(names("labels", per_value=False)), st.sampled_from([2, 3, 7, FEW, FEW + 1, 1000]), MICRO)
def test_one_budget_for_all_values(mechanism: str, size: int, micro: int) -> None:
    built = build(mechanism, size, micro)
    assert exact_epsilon(mechanism, size, built.weights()) == built.micro_epsilon


@settings(max_examples=runs(10, 20), deadline=None)
@given(st.sampled_from(names("numbers")), st.sampled_from([2, 3, 9, FEW, FEW + 1, 256]), MICRO)
def test_numbers(mechanism: str, size: int, micro: int) -> None:
    built = build(mechanism, min(size, REGISTRY[mechanism].most // 3), micro)  # few points: it takes time to build
    found = audit_channel(built.mechanism, built.size, built.weights(), micro)
    assert (found.plain, found.broken) == (built.micro_epsilon, ())


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["iprr", "idue", "aprr", "prr"]),
    st.lists(st.sampled_from([300_000, 700_000, 1_500_000]), min_size=2, max_size=70),
)
def test_a_budget_per_value(mechanism: str, budgets: list[int]) -> None:
    built = build(mechanism, len(budgets), budgets)
    found = audit_channel(mechanism, len(budgets), built.weights(), max(budgets), budgets)
    assert found.plain == built.micro_epsilon
    assert found.by_value == tuple(built.promised(value) for value in range(min(32, len(budgets))))
    assert bool(found.broken) == any(built.promised(value) > own for value, own in enumerate(budgets))


def test_values_without_a_budget_are_infinite_and_hold() -> None:
    found = audit_channel(
        "iprr",
        3,
        build("iprr", len([500_000, 900_000, math.inf]), [500_000, 900_000, math.inf]).weights(),
        900_000,
        [500_000, 900_000, math.inf],
    )
    assert (found.plain, found.found, found.broken) == (math.inf, 900_000, ())
    assert found.by_output == (500_000, 900_000, math.inf)
    assert found.by_pair == ((0, 900_000, math.inf), (900_000, 0, math.inf), (math.inf, math.inf, 0))


def test_the_published_budgets_of_aprr_are_not_kept() -> None:
    budgets = [2_400_000, 1_200_000]
    found = audit_channel("aprr", 2, build("aprr", len(budgets), budgets).weights(), 2_400_000, budgets)
    assert found.broken == ("a report tells 2.223554 about value number 1, above the claimed 1.2",)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(MICRO, MICRO), min_size=1, max_size=20))
def test_sets_of_items(pairs: list[tuple[int, int]]) -> None:
    built = ItemSet.of_pairs(pairs)
    budgets = [max(pair) for pair in pairs]
    found = audit_channel("item_set", len(pairs), built.weights(), max(budgets), budgets)
    assert (found.plain, found.broken) == (built.micro_epsilon, ())
    assert list(found.by_value) == [built.item_micro_epsilon(item).micro_epsilon for item in range(len(pairs))]


def test_a_set_that_tells_more_than_its_items_promise_is_seen() -> None:
    built = ItemSet.of([1_000_000, 1_000_000])
    found = audit_channel("item_set", 2, built.weights(), 900_000)
    assert len(found.broken) == 3


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_what_tells_the_level_is_what_the_channels_state(mechanism: str) -> None:
    channels = next(hideable(mechanism, 16, (200_000, 900_000)))
    label = build("krr", 2, 300_000)
    tables = [table(built) for built in channels]
    assert level_odds(tables) == level_leak(channels)
    assert level_odds(tables, table(label)) == level_leak(channels) + 300_000
    pairs = enumerate(pair_evidence(channels))
    stated = max(micro + 300_000 * (one != two) for one, row in pairs for two, micro in enumerate(row))
    assert level_odds(tables, table(label), values=True) == stated


@pytest.mark.parametrize(
    ("mechanism", "weights"),
    [
        ("pm", {"width": 3, "inside": 10, "outside": 2}),
        ("iprr", {"other": [2**52, 2**53, 0]}),
        ("aprr", {"other": [2**52, -1, 0]}),
        ("laplace", {"decay": 2**54, "peak": 2**50}),
    ],
)
def test_weights_that_are_no_probabilities_are_seen(mechanism: str, weights: dict) -> None:
    assert audit_channel(mechanism, 3, weights, 1_000_000).broken


def test_large_tables_are_checked_too() -> None:
    others = [2**43] * 99 + [-5]
    assert "do not sum" in audit_channel("aprr", 100, {"other": others}, 1_000_000).broken[0]


def test_unreadable_weights_get_one_clear_line() -> None:
    with pytest.raises(AuditError, match=r"^mechanism must be one of krr, [^\n]+$"):
        exact_epsilon("nonsense", 3, {})
    with pytest.raises(AuditError, match=r"^weights of krr cannot be read \(KeyError\)$"):
        exact_epsilon("krr", 3, {})


def many(count: int) -> Survey:
    kinds = (
        'values = ["a", "b", "c", "d", "e", "f"]\n',
        'values = ["' + '", "'.join(map(str, range(40))) + '"]\nmechanism = "oue"\n',
        'kind = "number"\nlow = 0\nhigh = 100\n',
        'kind = "choices"\nvalues = ["a", "b", "c", "d"]\n',
        'values = ["a", "b", "c", "d"]\nfractions = { a = "1/2" }\n',
    )
    head = 'pldp = 1\ntitle = "many"\n[levels]\nstrict = 0.5\nmid = 1\nopen = 2\n'
    return loads(head + "".join(f'[[questions]]\nname = "q{place}"\n{kinds[place % 5]}' for place in range(count)))


def test_every_question_and_level_of_a_long_survey_uses_up_its_epsilon() -> None:
    survey = many(runs(25, 100))
    found = audit(survey, samples=0)
    assert not found.refuted
    assert len(found.rows) == 2 * 3 * len(survey.questions)  # one report, and a sequence
    assert all(row.claimed - 1e-5 <= row.exact <= row.claimed for row in found.rows)


def bad_draw(change):
    built = build("krr", 4, 1_000_000)
    return sampler_fault(change(built), table(built))


def test_the_law_of_a_sampler_sees_single_numbers() -> None:
    assert bad_draw(lambda built: built.draw) is None
    assert "weight" in bad_draw(lambda built: lambda value, random: built.draw(value, random) ^ 1)
    assert "none of the 4" in bad_draw(lambda built: lambda value, random: built.draw(value, random) + 4)
    assert "random bytes" in bad_draw(lambda built: lambda value, random: built.draw(value, lambda _: random(8)))


@pytest.mark.parametrize(
    ("built", "weaker"),
    [
        *((build(name, 9, 1_000_000), build(name, 9, 1_000_001)) for name in names("labels", per_value=False)),
        (build("idue", 2, [500_000, 800_000]), build("idue", 2, [500_000, 400_000])),
        (ItemSet.of([500_000, 800_000, math.inf]), ItemSet.of([500_000, 800_001, math.inf])),
    ],
    ids=lambda built: built.mechanism,
)
def test_the_law_of_a_sampler_sees_a_millionth_of_epsilon(built: Channel, weaker: Channel) -> None:
    sets = isinstance(built, ItemSet)
    assert sampler_fault(built.draw, table(built), sets=sets) is None
    assert sampler_fault(weaker.draw, table(built), sets=sets)


def test_a_sampler_that_asks_for_other_bytes_is_seen() -> None:
    built = build("oue", 9, 1_000_000)
    assert "random bytes" in sampler_fault(lambda value, random: built.draw(value, lambda _: random(1)), table(built))


@pytest.mark.parametrize("open_values", [0, 1, 2])
@pytest.mark.parametrize("size", [3, 4, 5, 16])
def test_a_truth_that_comes_in_two_runs_of_numbers_is_no_fault(size: int, open_values: int) -> None:
    """IPRR names the truth on purpose and as noise; a millionth of ε more is still seen."""
    built = build("iprr", size + open_values, [1_000_000] * size + [math.inf] * open_values)
    table = read_table("iprr", built.size, built.weights())
    assert sampler_fault(built.draw, table) is None
    weaker = build("iprr", built.size, [1_000_001] * size + [math.inf] * open_values)
    assert sampler_fault(weaker.draw, table) is not None
