"""The vectorised sampler follows the same weights as the device; populations are what was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.claims import follows, mean_is
from helpers.refusals import refused
from helpers.samples import PERSONAL
from pldp import Survey, tally
from pldp.errors import AnswerError, EstimateError, SimulationError
from pldp.mechanisms import Channel, as_int, build, hideable, names
from pldp.simulate import Population, perturb, perturb_personal, simulate, simulate_reports

PEOPLE = 200_000


def as_index(tested: Channel, outputs: np.ndarray) -> np.ndarray:
    """Outputs as integers."""
    if outputs.ndim == 1:
        return outputs.astype(np.int64)
    return outputs.astype(np.int64) @ (256 ** np.arange(outputs.shape[1]))


def fits(tested: Channel, outputs: np.ndarray, value: int) -> bool:
    expected = {as_int(y): float(tested.probability(y, value)) for y in tested.outputs()}
    counts = np.bincount(as_index(tested, outputs), minlength=max(expected) + 1)
    return counts.sum() == counts[list(expected)].sum() and follows(counts[list(expected)], list(expected.values()))


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
@pytest.mark.parametrize("value", [0, 3, 6])
def test_outputs_follow_the_channel(mechanism: str, value: int) -> None:
    tested = build(mechanism, 7, 900_000)
    outputs = perturb(tested, np.full(PEOPLE, value), np.random.default_rng(value))
    assert fits(tested, outputs, value)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_the_test_rejects_a_five_percent_weaker_channel(mechanism: str) -> None:
    """With ten times the people, as 5 % of ε = 0.9 moves p by one in a hundred only."""
    outputs = perturb(build(mechanism, 7, 855_000), np.full(10 * PEOPLE, 3), np.random.default_rng(1))
    assert not fits(build(mechanism, 7, 900_000), outputs, 3)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_each_level_uses_its_own_channel(mechanism: str) -> None:
    channels = next(hideable(mechanism, 5, (300_000, 2_000_000)))
    generator = np.random.default_rng(2)
    level = generator.integers(0, 2, PEOPLE)
    outputs = perturb(channels, np.full(PEOPLE, 4), generator, level=level)
    for place, tested in enumerate(channels):
        assert fits(tested, outputs[level == place], 4)


@pytest.mark.parametrize("mechanism", PERSONAL)
def test_each_person_has_an_epsilon_of_their_own(mechanism: str) -> None:
    """Two interleaved budgets must give each half its own channel."""
    epsilon = np.where(np.arange(PEOPLE) % 2, 0.4, 1.7)
    outputs = perturb_personal(mechanism, np.full(PEOPLE, 2), 5, epsilon, np.random.default_rng(3))
    # Where there is a choice, all have the form that is best for both.
    made = (each for each in hideable(mechanism, 5, (400_000, 1_700_000)))
    admits = next(each for each in made if outputs.ndim == 1 or each[0].form.admits(outputs[0].tobytes()))
    for start, tested in zip((1, 0), admits, strict=True):
        assert fits(tested, outputs[start::2], 2)
        assert not fits(tested, outputs[1 - start :: 2], 2)


@pytest.mark.parametrize("size", [2, 8, 9, 63, 64, 65, 130, 1024])
def test_bits_are_right_at_every_place(size: int) -> None:
    """Rates of ones at every bit, the true bit apart, for lengths around the word size."""
    people, value = 20_000, size - 1
    tested = build("oue", size, 1_000_000)
    rows = perturb(tested, np.full(people, value), np.random.default_rng(size))
    assert rows.shape == (people, (size + 7) // 8)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    assert not bits[:, size:].any()
    q = float(tested.other_support)
    rates = bits[:, : size - 1].mean(axis=0)
    assert np.abs(rates - q).max() <= 6 * np.sqrt(q * (1 - q) / people)  # union over at most 1,023 bits: 2e-6
    assert mean_is(bits[:, value], 0.5)


@pytest.mark.parametrize("mechanism", names("labels", per_value=False))
def test_one_seed_gives_one_result(mechanism: str) -> None:
    values = np.arange(1000) % 5
    first, again, other = (perturb(build(mechanism, 5, 10**6), values, np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_population_of_counts_has_exactly_these_people(commute: Survey) -> None:
    counts = {"mode": [10, 20, 30, 40, 50, 50], "late": {"yes": 60, "no": 140}}
    people = Population.of_counts(commute, counts, level_mix={"strict": 1}, seed=3)
    assert people.size == 200
    assert np.bincount(people.values["mode"]).tolist() == counts["mode"]
    assert not people.levels["mode"].any()


def test_level_choice_can_depend_on_the_value(commute: Survey) -> None:
    mix = {"yes": {"strict": 1}, "no": {"open": 1}}
    people = Population.of_counts(commute, {"late": {"yes": 60, "no": 140}}, level_mix=mix, seed=3)
    assert set(zip(people.values["late"].tolist(), people.levels["late"].tolist(), strict=True)) == {(0, 0), (1, 2)}


def test_reports_do_not_depend_on_unanswered_questions(commute: Survey) -> None:
    people = Population.of_counts(commute, {"late": {"yes": 5, "no": 5}}, seed=1)
    counted = tally(commute, simulate_reports(commute, people, seed=1))
    assert counted.reports == 10
    assert sum(counts.reports for (question, _), counts in counted.counts.items() if question == "mode") == 0


def test_nobody_gives_no_reports(commute: Survey) -> None:
    assert list(simulate_reports(commute, Population.of_shares(commute, 0), seed=1)) == []
    assert tally(commute, []).reports == 0


def test_bad_populations_get_one_clear_line(commute: Survey) -> None:
    cases = [
        (SimulationError, "none negative", lambda: Population.of_counts(commute, {"late": {"yes": -1, "no": 2}})),
        (SimulationError, "must be 2 numbers", lambda: Population.of_counts(commute, {"late": [1, 2, 3]})),
        (AnswerError, "labels of question", lambda: Population.of_counts(commute, {"late": {"maybe": 1}})),
        (
            AnswerError,
            "unknown question; this survey has: mode, late",
            lambda: Population.of_counts(commute, {"age": {"1": 1}}),
        ),
        (SimulationError, "not all zero", lambda: Population.of_shares(commute, 5, {"late": [0, 0]})),
        (SimulationError, "finite weights", lambda: Population.of_shares(commute, 5, {"late": [np.nan, 1]})),
        (SimulationError, "at least 0, not -5", lambda: Population.of_shares(commute, -5)),
        (AnswerError, "unknown level", lambda: Population.of_shares(commute, 5, level_mix={"none": 1})),
        (SimulationError, "must name all", lambda: Population.of_shares(commute, 5, level_mix={"yes": {"open": 1}})),
        (
            SimulationError,
            "the same number",
            lambda: Population({"late": np.zeros(2, int)}, {"late": np.zeros(3, int)}),
        ),
        (SimulationError, "from 0 to 4", lambda: perturb(build("krr", 5, 10**6), [7], np.random.default_rng(1))),
        (
            SimulationError,
            "flat array of integers",
            lambda: perturb(build("krr", 5, 10**6), [0.5], np.random.default_rng(1)),
        ),
        (
            SimulationError,
            "one index below 1",
            lambda: perturb(build("krr", 5, 10**6), [1], np.random.default_rng(1), level=[3]),
        ),
        (
            EstimateError,
            "epsilon must be above 0",
            lambda: perturb_personal("krr", [1], 5, [np.nan], np.random.default_rng(1)),
        ),
        (
            EstimateError,
            "one number per person",
            lambda: perturb_personal("krr", [1], 5, [1, 2], np.random.default_rng(1)),
        ),
        (
            EstimateError,
            "'lh' has no form for an epsilon",
            lambda: perturb_personal("lh", [1], 5, [1], np.random.default_rng(1)),
        ),
    ]
    for kind, words, call in cases:
        with refused(kind, words):
            call()


def test_one_call_simulates_shares_by_label_or_in_their_order() -> None:
    survey = Survey.load("examples/commute.toml")
    by_label = simulate(survey, 500, shares={"late": {"no": 3, "yes": 1}}, seed=3)
    assert by_label.equals(simulate(survey, 500, shares={"late": [1, 3]}, seed=3))
    assert not by_label.equals(simulate(survey, 500, shares={"late": [1, 3]}, seed=4))
    assert tally(survey, by_label).answered == {"mode": 0, "late": 500}


def test_a_number_has_no_shares_by_label() -> None:
    survey = Survey.load("examples/shopping.toml")
    with pytest.raises(SimulationError, match="question 'spent' is of kind number and has no labels"):
        simulate(survey, 10, shares={"spent": {"little": 1}})
