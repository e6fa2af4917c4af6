"""Fused tallies: the same counts as a plain dictionary, parts add up, and bad input per service is one clear line."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import Z
from pldp.errors import TallyError
from pldp.estimates import mean
from pldp.mechanisms import build
from pldp.mechanisms.arrays import arrays
from pldp.simulate import perturb_continuously, perturb_numbers
from pldp.survey import loads
from pldp.tallies import Fused, OutputCounts, Service, Tally, fuse, fused_of, joining
from pldp.tallies.fusion import ABSENT
from pldp.tallies.joining import number_keys

ROUNDING = build("sr", 8, 1_000_000)
WAVE = build("sw", 8, 500_000)
RESPONSE = build("krr", 8, 1_000_000)


def as_counter(fused: Fused) -> Counter:
    return Counter({tuple(map(int, cell)): int(n) for cell, n in zip(fused.cells, fused.counts, strict=True)})


def by_dictionary(services: list[Service]) -> Counter:
    people: dict = defaultdict(lambda: [ABSENT] * len(services))
    for place, service in enumerate(services):
        for key, output in zip(service.keys, service.outputs, strict=True):
            people[key][place] = output
    return Counter(tuple(cell) for cell in people.values())


reports = st.dictionaries(st.integers(0, 40), st.integers(0, 1), min_size=1)


@settings(max_examples=60, deadline=None)
@given(reports, reports, reports, st.sampled_from([int, str, lambda key: key * 10**12]))
def test_counts_are_those_of_a_dictionary_for_any_keys(one, two, three, key) -> None:
    channels = (ROUNDING, WAVE, RESPONSE)
    services = [
        Service(str(place), each, [key(k) for k in given], list(given.values()))
        for place, (each, given) in enumerate(zip(channels, (one, two, three), strict=True))
    ]
    fused = fuse(services)
    assert as_counter(fused) == by_dictionary(services)
    assert fused.people == len({*one, *two, *three})
    assert sum(fused.subsets.values()) == fused.people


def test_many_services_are_counted_beyond_64_bits() -> None:
    generator = np.random.default_rng(1)
    wide = [build("pm", 1024, 300_000 + place) for place in range(12)]
    columns = generator.integers(0, 3, (12, 200))
    services = [
        Service(str(place), wide[place], list(range(200)), column.tolist()) for place, column in enumerate(columns)
    ]
    assert as_counter(fuse(services)) == by_dictionary(services)


def test_parts_add_up_to_the_whole_and_services_can_be_taken_out() -> None:
    generator = np.random.default_rng(2)
    keys, outputs = np.arange(100), generator.integers(0, 2, (2, 100))
    part = [
        fuse([Service(name, ROUNDING, keys[half], outputs[place][half]) for place, name in enumerate("ab")])
        for half in (slice(0, 30), slice(30, 100))
    ]
    whole = fuse([Service(name, ROUNDING, keys, outputs[place]) for place, name in enumerate("ab")])
    assert as_counter(part[0] + part[1]) == as_counter(whole)
    assert [source.reports for source in (part[0] + part[1]).sources] == [100, 100]
    assert as_counter(whole.only("b")) == Counter((int(output),) for output in outputs[1])
    assert whole.thin(2).people < 100
    assert whole.thin(10) is whole
    with pytest.raises(TallyError, match="some of a, b"):
        whole.only("c")
    with pytest.raises(TallyError, match="same services"):
        whole + whole.only("b")
    with pytest.raises(TypeError):
        whole + 1  # type: ignore[operator]


def test_the_key_does_not_leave() -> None:
    fused = fuse([Service("a", ROUNDING, ["alice", "bob"], [0, 1])])
    assert "alice" not in repr(fused) + repr(Service("a", ROUNDING, ["alice"], [0]))
    assert {name for name in vars(fused) if "key" in name} == set()


@pytest.mark.parametrize("outside", ["skip", "clip"])
def test_missing_and_impossible_outputs_are_counted(outside: str) -> None:
    services = [
        Service("a", ROUNDING, [1, 2, 3, 4], [0, 7, None, 1]),
        Service("b", ROUNDING, [1, 5], [1.0, float("nan")]),
    ]
    fused = fuse(services, outside=outside)
    named = {source.name: (source.reports, dict(source.skipped)) for source in fused.sources}
    assert named["b"] == (1, {"missing": 1})
    assert named["a"] == (
        (2, {"missing": 1, "impossible": 1}) if outside == "skip" else (3, {"missing": 1, "clipped": 1})
    )
    assert (1, -1) in as_counter(fused)
    assert (fused + fused).sources[1].skipped == {"missing": 2}


def bad(**changes) -> list[Service]:
    good = Service("b", ROUNDING, [1, 2], [0, 1])
    return [Service("a", ROUNDING, [1, 2], [0, 1]), replace(good, **changes)]


@pytest.mark.parametrize(
    ("services", "message"),
    [
        (bad(keys=[1, 1]), r"service 'b': keys must be unique; 1 of 2 reports repeat an earlier key"),
        (bad(keys=[], outputs=[]), "service 'b': no reports: need at least one"),
        (bad(keys=[1]), "service 'b': need one key per output, not 1 for 2"),
        (bad(keys=["x", "y"]), "keys of all services must be of one type, not int64 and string"),
        (bad(keys=[1, None]), "service 'b': every report must have a key; 1 have none"),
        (bad(outputs=[0, 2]), "service 'b': outputs must be below 2; 1 impossible of 2"),
        (bad(outputs=[None, 2]), "1 missing and 1 impossible of 2"),
        (bad(outputs=[0.5, 1]), "service 'b': outputs must be integers; 1 of 2 are not"),
        (bad(outputs=["0", "1"]), "service 'b': outputs must be integers, not string"),
        (bad(channel=build("sr", 4, 1_000_000)), "service 'b': its scale must be that of 'a', 8 buckets"),
        (bad(bounds=(0, 1)), "from -1 to 1, not 8 from 0 to 1"),
        (bad(channel=build("oue", 8, 1_000_000)), "outputs of oue are rows of bits and must be bytes, 1 of them"),
        (bad(channel=build("item_set", 8, [1_000_000] * 8)), "it must ask for numbers like 'a', not for sets"),
        (bad(name="a"), "different names"),
        ([], "at least one service"),
    ],
)
def test_bad_input_is_one_clear_line(services: list[Service], message: str) -> None:
    with pytest.raises(TallyError, match=message) as error:
        fuse(services)
    assert "\n" not in str(error.value)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(TallyError, match="outside must be one of"):
        fuse(bad(), outside="ignore")
    with pytest.raises(TallyError, match="at least one possible output; none of 2 is"):
        fuse(bad(outputs=[5, 6]), outside="skip")


def test_tables_are_read_and_mixed_services_refused() -> None:
    table = pa.table({"key": [1, 2], "output": [0, 1], "epsilon": [1.0, 1.0], "mechanism": ["sr", "sr"]})
    assert fuse([Service.of_table("a", ROUNDING, table)]).people == 2
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert fuse([Service.of_table("a", ROUNDING, parts)]).people == 2
    for column, value, message in (
        ("epsilon", [1.0, 2.0], "service 'a': epsilon must be one per service; 2 came, split it"),
        ("mechanism", ["sr", "pm"], "mechanism must be one per service; 2 came"),
        ("epsilon", [2.0, 2.0], "epsilon must be the channel's, 1.0, not 2.0"),
    ):
        broken = table.drop_columns(column).append_column(column, pa.array(value))
        with pytest.raises(TallyError, match=message):
            Service.of_table("a", ROUNDING, broken)
    with pytest.raises(TallyError, match="must have a column output"):
        Service.of_table("a", ROUNDING, table.drop_columns("output"))


@pytest.mark.parametrize("mechanism", ["sr", "pm", "sw", "laplace"])
def test_continuous_outputs_are_put_on_the_grid(mechanism: str) -> None:
    made = build(mechanism, 64, 1_000_000)
    numbers = perturb_continuously(mechanism, 1.0, np.full(1000, 0.4), np.random.default_rng(1))
    fused = fuse([Service.of_numbers("a", made, np.arange(1000), numbers)])
    assert fused.people == 1000
    spoilt = np.concatenate([numbers[:-2], [np.nan, np.inf]])
    skipped = fuse([Service.of_numbers("a", made, np.arange(1000), spoilt)], outside="skip")
    assert skipped.sources[0].skipped == {"impossible": 2}


def test_a_number_between_the_two_outputs_of_rounding_is_impossible() -> None:
    made = build("sr", 64, 1_000_000)
    possible = perturb_continuously("sr", 1.0, np.array([0.4]), np.random.default_rng(1))[0]
    assert fuse([Service.of_numbers("a", made, [1, 2], [possible, 0.1])], outside="skip").people == 1


SURVEY = """
pldp = 1
title = "numbers"
[levels]
strict = 0.5
open = 2
[[questions]]
name = "hours"
kind = "number"
low = 0
high = 24
buckets = 48
[[questions]]
name = "mode"
values = ["bike", "car"]
"""


def test_levels_of_a_number_question_are_services_that_share_nobody() -> None:
    survey = loads(SURVEY)
    generator = np.random.default_rng(1)
    hours = survey.question("hours")
    values = generator.binomial(47, 0.3, 4000)
    counts = dict(Tally.empty(survey).counts)
    for level, made in zip(hours.levels, hours.channels, strict=True):
        drawn = perturb_numbers(made, values[: 2000 if level.name == "open" else 4000], generator)
        counts["hours", level.name] = OutputCounts(np.bincount(drawn, minlength=made.form.count))
    fused = fused_of(Tally(survey, counts, 6000), "hours")
    assert fused.subsets == {("strict",): 4000, ("open",): 2000}
    assert fused.bounds == (0, 24)
    found = mean(fused, target="respondents")
    assert abs(found.value - (values.mean() + 0.5) / 2) <= Z * found.standard_error + 0.1
    with pytest.raises(TallyError, match="must be a number"):
        fused_of(Tally.empty(survey), "mode")


def test_numbers_of_hidden_levels_are_refused() -> None:
    hours = loads(SURVEY)
    hidden = replace(Tally.empty(hours), survey=replace(hours, level_channel=build("krr", 2, 1_000_000)))
    with pytest.raises(TallyError, match="this survey hides them"):
        fused_of(hidden, "hours")


def test_other_continuous_forms_are_refused() -> None:
    with pytest.raises(TallyError, match="krr has no continuous form"):
        Service.of_numbers("a", RESPONSE, [1], [0.5])


def services_of(name: str, micro: int, people: int, copied: float) -> list[Service]:
    """Two services with one channel; this share of the people has the noise of the first in the second, too."""
    generator, channel = np.random.default_rng(5), build(name, 8, micro)
    values, keys = np.full(people, 7, np.uint8), np.arange(people)  # at a bound, outputs agree most often
    one, two = (arrays(channel).draw_many(values, generator).astype(np.int64) for _ in range(2))
    return [Service("a", channel, keys, one), Service("b", channel, keys, np.where(keys < copied * people, one, two))]


@pytest.mark.parametrize("mechanism", ["krr", "sr", "sw", "pm", "laplace"])
def test_a_service_that_is_fused_twice_is_refused(mechanism: str) -> None:
    """The same noise counted as independent would make errors too small by a factor of 1.4."""
    words = "'a' and 'b' have the same output for 1,000 of 1,000 people"
    with pytest.raises(TallyError, match=f"{words}.*fuse one of them"):
        fuse(services_of(mechanism, 1_000_000, 1000, copied=1))
    with pytest.raises(TallyError, match="they hold the same reports"):
        fuse(services_of(mechanism, 1_000_000, 4000, copied=0.5))


@pytest.mark.parametrize("mechanism", ["krr", "sr", "sw", "pm", "laplace"])
@pytest.mark.parametrize("micro", [500_000, 3_000_000])
def test_two_honest_services_with_one_channel_are_fused(mechanism: str, micro: int) -> None:
    assert fuse(services_of(mechanism, micro, 20_000, copied=0)).people == 20_000


def test_services_without_noise_may_say_the_same() -> None:
    channel = build("krr", 8, 40_000_000)
    keys = np.arange(1000)
    assert fuse([Service(name, channel, keys, keys % 8) for name in "ab"]).people == 1000


@pytest.mark.parametrize("mechanism", ["krr", "sr", "sw", "pm", "laplace", "hm"])
def test_the_agreement_of_a_channel_is_that_of_its_table(mechanism: str) -> None:
    channel = build(mechanism, 6, 1_300_000)
    chances = [[float(channel.probability(y, t)) for y in channel.outputs()] for t in range(6)]
    assert arrays(channel).agreement() == pytest.approx(max(sum(q * q for q in row) for row in chances))


@pytest.mark.parametrize("kind", ["integers", "text", "bytes", "odd text"])
def test_many_keys_are_numbered_in_parts_as_they_are_at_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    numbers = generator.integers(-(2**62), 2**62, 500)
    made = {
        "integers": pa.array(numbers),
        "text": pa.array([f"{number:x}" for number in numbers]),
        "bytes": pa.array([int(number + 2**62).to_bytes(9, "big") for number in numbers], pa.binary(9)),
        "odd text": pa.array(["", "a", "ab", "ü", *("x" * place for place in range(2, 400))]),
    }[kind]
    columns = [made.take(pa.array(generator.permutation(len(made))[:300])) for _ in range(3)]
    columns[1] = columns[1].slice(7)  # a part of a longer array
    at_once, people = number_keys(columns)
    monkeypatch.setattr(joining, "_MANY", 1)
    in_parts, same = number_keys(columns)
    assert same == people == len({key for column in columns for key in column.to_pylist()})
    pairs = {
        (int(a), int(b)) for one, two in zip(at_once, in_parts, strict=True) for a, b in zip(one, two, strict=True)
    }
    assert len(pairs) == people
