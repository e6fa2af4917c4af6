"""What outputs and labels tell about the level: exact, by enumeration of outputs, values and levels."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf

import pytest

from pldp import Device
from pldp.epsilon import micro_epsilon_of_ratio
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import (
    Channel,
    LinearHashing,
    RandomizedResponse,
    build,
    hideable,
    level_leak,
    names,
    pair_evidence,
)
from pldp.mechanisms.window.channel import SquareWave, window_weights
from pldp.survey import loads

EPSILONS = (100_000, 500_000, 1_000_000)
NUMBERS = ("sw", "pm", "sr", "hm", "laplace", "laplace_wide")


def channels_of(mechanism: str, size: int) -> list[Channel]:
    domain = "numbers" if mechanism in NUMBERS else "labels"
    return list(next(hideable(mechanism, size, EPSILONS, domain=domain)))


def most_told(channels: list[Channel]) -> int:
    """What an output tells between any two pairs of protected value and level."""
    return max(map(max, pair_evidence(channels)))


def enumerated(channels: list[Channel], label: Channel | None = None) -> tuple[int, int]:
    """(leak about the level, leak about value and level) by looking at every output (and label)."""
    labels = [None] if label is None else list(label.outputs())
    same, pair = Fraction(1), Fraction(1)
    for output, shown in product(channels[0].outputs(), labels):
        chance = {
            (value, place): one.probability(output, value) * (1 if label is None else label.probability(shown, place))
            for value in range(channels[0].size)
            for place, one in enumerate(channels)
        }
        pair = max(pair, max(chance.values()) / min(chance.values()))
        for value in range(channels[0].size):
            row = [chance[value, place] for place in range(len(channels))]
            same = max(same, max(row) / min(row))
    return tuple(micro_epsilon_of_ratio(ratio.numerator, ratio.denominator) for ratio in (same, pair))


@pytest.mark.parametrize("mechanism", ["krr", "sue", "oue", "lh", *NUMBERS])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_leaks_are_those_of_the_enumeration(mechanism: str, size: int) -> None:
    channels = channels_of(mechanism, size)
    assert (level_leak(channels), most_told(channels)) == enumerated(channels)


def item_channels(mechanism: str, fractions: tuple[float, ...]) -> list[tuple[Channel, ...]]:
    """All candidates for these parts of ε, or values without a budget."""
    budgets = [tuple(each if each == inf else int(micro * each) for each in fractions) for micro in EPSILONS]
    return list(hideable(mechanism, len(fractions), budgets, per_value=True))


@pytest.mark.parametrize("mechanism", names("labels", per_value=True))
@pytest.mark.parametrize("fractions", [(0.5, 1), (0.25, 0.5, 1, 1), (0.5, 0.5, 0.5, 1, 1, 1), (0.5, 1, inf, inf)])
def test_leaks_of_budgets_per_value_are_those_of_the_enumeration(mechanism: str, fractions: tuple[float, ...]) -> None:
    """Also where plain ε is infinite: what a report tells about the level of a known value stays finite."""
    if mechanism == "idue" and inf in fractions:
        pytest.skip("idue takes a budget for every value")
    for channels in item_channels(mechanism, fractions):
        leak, pair = level_leak(channels), most_told(channels)
        held = range(len(fractions))
        protected = [value for value in held if fractions[value] < inf]
        if mechanism in {"aprr", "prr"} and inf in fractions:
            assert leak < inf  # there a report can rule out what has no budget
            continue
        ratios = [
            one.probability(output, value) / two.probability(output, other)
            for output in channels[0].outputs()
            for one, two in product(channels, repeat=2)
            for value, other in product(held, repeat=2)
            if (value in protected or value == other) and one.probability(output, value)
        ]
        enumeration = max(ratios)
        assert 0 <= pair - micro_epsilon_of_ratio(enumeration.numerator, enumeration.denominator) <= 1
        rows = [
            [one.probability(output, value) for one in channels] for output in channels[0].outputs() for value in held
        ]
        most = max(max(row) / min(row) for row in rows if any(row))
        assert 0 <= leak - micro_epsilon_of_ratio(most.numerator, most.denominator) <= 1  # sets: and the slack


def test_a_value_that_is_open_at_one_level_only_proves_the_level() -> None:
    for mechanism in ("iprr", "aprr"):
        channels = [build(mechanism, 3, [500_000, 500_000, last]) for last in (500_000, inf)]
        assert level_leak(channels) == inf
        assert level_leak([channels[0]] * 2) == 0


def test_sets_of_items_are_tried_in_sizes_that_suit_each_level() -> None:
    chosen = {channels[0].chosen for channels in item_channels("subset_items", (1,) * 24)}
    assert len(chosen) > 1
    for channels in item_channels("subset_items", (0.5,) * 12 + (1,) * 12):
        assert len({each.form for each in channels}) == 1


@pytest.mark.parametrize("mechanism", ["krr", "sue", "oue", "lh", *NUMBERS])
def test_a_label_adds_its_own_epsilon(mechanism: str) -> None:
    channels, label = channels_of(mechanism, 4), RandomizedResponse.of(3, 300_000)
    leak, pair = enumerated(channels, label)
    # Each part is rounded up by less than a millionth.
    assert 0 <= label.micro_epsilon + level_leak(channels) - leak <= 1
    tables = pair_evidence(channels)
    told = max(
        micro + label.micro_epsilon * (one != two) for one, row in enumerate(tables) for two, micro in enumerate(row)
    )
    assert 0 <= told - pair <= 1


def test_unary_reports_leak_through_their_number_of_ones_and_krr_far_less() -> None:
    leaks = {name: level_leak(channels_of(name, 16)) for name in ("krr", "sue", "oue")}
    assert leaks["krr"] == 804_544
    assert leaks["sue"] > 4 * leaks["krr"]
    assert leaks["oue"] > 4 * leaks["krr"]
    # Every further value is a further bit that tells; for k-RR the leak stays below the difference of the budgets.
    assert level_leak(channels_of("sue", 32)) > 1.8 * leaks["sue"]
    assert level_leak(channels_of("krr", 10_000)) <= 900_000


def test_only_one_channel_for_all_levels_leaks_nothing() -> None:
    same = build("krr", 5, 700_000)
    assert level_leak([same, same]) == 0
    assert level_leak([same]) == 0
    for mechanism in names("labels", per_value=False):
        assert level_leak(channels_of(mechanism, 5)) > 0


def test_outputs_of_different_form_show_the_level() -> None:
    with pytest.raises(EpsilonError, match="different form"):
        level_leak([build("krr", 5, 10**6), build("oue", 5, 10**6)])
    with pytest.raises(EpsilonError, match="different form"):
        level_leak([LinearHashing.of(5, 10**6, 2), LinearHashing.of(5, 10**6, 3)])


def survey(hide_level: str, mechanism: str = "auto", values: int = 8) -> str:
    labels = [str(number) for number in range(values)]
    return (
        f'pldp=1\ntitle="t"\nhide_level={{{hide_level}}}\nlevels={{a=0.5,b=1,c=2}}\n'
        f'questions=[{{name="q",values={labels},mechanism="{mechanism}"}}]'
    )


@pytest.mark.parametrize("values", [4, 8, 40, 1500])
def test_auto_gives_all_levels_one_form(values: int) -> None:
    built = loads(survey("epsilon=0.5", values=values))
    assert built.level_leak("q") == 500_000 + level_leak(built.question("q").channels)
    assert loads(built.canonical.decode()).hash == built.hash


def test_a_cap_on_the_leak_is_kept_and_used_up() -> None:
    for cap in ("1.2", "3", "6"):
        built = loads(survey(f"leak_cap={cap}"))
        leak = built.level_leak("q")
        assert float(cap) * 10**6 - 2 <= leak <= float(cap) * 10**6
        assert loads(built.canonical.decode()).hash == built.hash
    both = loads(survey("leak_cap=6, epsilon=0.7"))
    assert both.level_channel.micro_epsilon == 700_000


def test_a_cap_that_nothing_can_keep_is_refused_with_the_reason() -> None:
    for hide_level, mechanism in (("leak_cap=0.5", "auto"), ("leak_cap=1.2,epsilon=0.5", "krr"), ("leak_cap=3", "oue")):
        with pytest.raises(SurveyError, match=r"hide_level\.leak_cap: must leave room[^\n]*$"):
            loads(survey(hide_level, mechanism))
    with pytest.raises(SurveyError, match="different epsilon"):
        loads(survey("epsilon=1").replace("b=1", "b=0.5"))
    with pytest.raises(SurveyError, match="epsilon must be a number above 0"):
        loads(survey("epsilon=0"))


def test_the_person_is_told_what_shows_of_the_level() -> None:
    words = Device(loads(survey("epsilon=0.5"))).explain("b")
    assert "Your level is hidden" in words
    assert "pairs of answer and level" in words


@pytest.mark.parametrize("mechanism", NUMBERS[:-1])
def test_the_error_that_auto_goes_by_is_the_worst_variance(mechanism: str) -> None:
    for channels in hideable(mechanism, 12, EPSILONS, domain="numbers"):
        for channel in channels:
            for value in range(12):
                moments = sum(channel.probability(y, value) * channel.unbiased(y) ** 2 for y in channel.outputs())
                assert channel.variance(value) == pytest.approx(float(moments - channel.centre(value) ** 2))
            if mechanism != "sw":  # which goes by information
                assert channel.equal_variance == pytest.approx(max(map(channel.variance, range(12))), rel=0.01)


def test_channels_for_numbers_of_different_families_or_widths_are_refused() -> None:
    narrow, wide = (SquareWave(9, width, *window_weights(9, width, 10**6, 2**53)) for width in (1, 3))
    for pair in ((narrow, wide), (narrow, build("laplace", 9, 10**6)), (build("sr", 9, 10**6), wide)):
        with pytest.raises(EpsilonError):
            level_leak(pair)


def test_auto_takes_the_window_that_tells_least_at_about_the_least_error() -> None:
    budgets = (500_000, 2_000_000)
    tried = list(hideable("pm", 256, budgets, domain="numbers"))
    errors = [1 / sum(1 / channel.equal_variance for channel in channels) for channels in tried]
    near = [channels for channels, error in zip(tried, errors, strict=True) if error <= 1.05 * min(errors)]
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={a=0.5,b=2}\nhide_level={epsilon=1}\n'
        'questions=[{name="q",kind="number",low=0,high=1,mechanism="pm"}]'
    )
    assert level_leak(survey.question("q").channels) == min(map(level_leak, near))
