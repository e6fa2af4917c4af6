"""Forged reports: found where they show, no alarm where reports are honest, and blind where nothing can show.

All reports here are made from channels over arrays; fakes keep to what a careful forger would send: as many ones as
everybody, and noise in every bit that is no target.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM as ONE_IN_A_MILLION
from helpers.claims import runs
from pldp import Survey, estimate, tally
from pldp.estimates import Forgery, forgery_of
from pldp.forgery.crowd import centred, densest, excess
from pldp.forgery.invariants import FALSE_ALARM
from pldp.mechanisms import Bits
from pldp.mechanisms.arrays import LabelArrays, arrays
from pldp.simulate import Population, simulate_reports
from pldp.survey import survey_from_mapping
from pldp.tallies import BitCounts, OutputCounts, Tally

VALUES, PEOPLE, TARGETS = 128, 20_000, 10
UNARY_AND_SUBSET = ("oue", "sue", "subset")


def survey_of(mechanism: str, values: int = VALUES, **more: object) -> Survey:
    question = {"name": "q", "values": [f"v{each}" for each in range(values)], "mechanism": mechanism}
    return survey_from_mapping({"pldp": 1, "title": "t", "levels": {"only": 1}, "questions": [question], **more})


def form_of(survey: Survey, level: int = 0) -> LabelArrays:
    return arrays(survey.questions[0].channels[level])


def tally_of(survey: Survey, outputs: np.ndarray, *, patterns: bool = True) -> Tally:
    channel = survey.questions[0].channels[0]
    if isinstance(channel.form, Bits):
        counts: BitCounts | OutputCounts = BitCounts.of_rows(outputs, channel.form, patterns=patterns)
    else:
        counts = OutputCounts(np.bincount(outputs.astype(np.int64), minlength=channel.form.count))
    level = survey.questions[0].levels[0].name
    empty = Tally.empty(survey)
    return replace(empty, counts={**empty.counts, ("q", level): counts}, reports=len(outputs))


def honest(form: LabelArrays, people: int, generator: np.random.Generator) -> np.ndarray:
    size = form.channel.size
    shares = 1 / np.arange(1, size + 1)
    return form.draw_many(form.checked_values(generator.choice(size, people, p=shares / shares.sum())), generator)


def forge(form: LabelArrays, fakes: int, generator: np.random.Generator, aimed: int, of: int = TARGETS) -> np.ndarray:
    """Set so many of the targets in each fake, drawn anew for each; all other bits are as an honest device draws."""
    channel, targets = form.channel, generator.choice(form.channel.size, of, replace=False)
    score = generator.random((fakes, channel.size))
    chosen = np.argsort(generator.random((fakes, of)), axis=1)[:, :aimed]
    if channel.form.ones is None:
        bits = score < float(channel.other_support)
        bits[:, targets] &= aimed == 1  # who aims at half of the targets leaves the others out
    else:
        np.put_along_axis(score, targets[chosen], -1, axis=1)
        bits = np.zeros(score.shape, bool)
        np.put_along_axis(bits, np.argsort(score, axis=1)[:, : channel.form.ones], values=True, axis=1)
    np.put_along_axis(bits, targets[chosen], values=True, axis=1)
    return np.packbits(bits, axis=1, bitorder="little")


def judge(survey: Survey, outputs: np.ndarray, *, patterns: bool = True) -> Forgery:
    return forgery_of(tally_of(survey, outputs, patterns=patterns), survey.questions[0])


def attacked(mechanism: str, seed: int, aimed: int, share: float = 0.01) -> Forgery:
    survey, generator = survey_of(mechanism), np.random.default_rng(seed)
    form, fakes = form_of(survey), int(share * PEOPLE)
    parts = [honest(form, PEOPLE - fakes, generator), forge(form, fakes, generator, aimed)]
    return judge(survey, np.concatenate(parts))


@pytest.mark.parametrize("mechanism", UNARY_AND_SUBSET)
def test_one_fake_in_a_hundred_with_ten_targets_is_found(mechanism: str) -> None:
    found = [attacked(mechanism, seed, TARGETS) for seed in range(runs(3, 500))]
    assert np.mean([each.alarmed for each in found]) >= 0.99
    assert {each.tests[0].test for each in found if each.alarmed} == {"pairs"}


@pytest.mark.parametrize("mechanism", UNARY_AND_SUBSET)
def test_honest_reports_raise_no_alarm(mechanism: str) -> None:
    survey = survey_of(mechanism)
    alarms = [
        judge(survey, honest(form_of(survey), PEOPLE, np.random.default_rng(seed))).alarmed
        for seed in range(runs(5, 1000))
    ]
    assert stats.binomtest(sum(alarms), len(alarms), FALSE_ALARM, "greater").pvalue >= ONE_IN_A_MILLION


@pytest.mark.parametrize("mechanism", ["oue", "sue", "subset", "krr", "lh", "projective", "pairs"])
@pytest.mark.parametrize("people", [60, 1500])
def test_few_honest_reports_of_few_values_raise_no_alarm(mechanism: str, people: int) -> None:
    survey, alarms = survey_of(mechanism, 6), []
    for seed in range(runs(15, 2000)):
        generator, form = np.random.default_rng(seed), form_of(survey)
        outputs = form.draw_many(form.checked_values(np.zeros(people, np.int64)), generator)  # all have one value
        alarms.append(judge(survey, outputs).alarmed)
    assert stats.binomtest(sum(alarms), len(alarms), FALSE_ALARM, "greater").pvalue >= ONE_IN_A_MILLION


@pytest.mark.parametrize("mechanism", ["oue", "sue"])
def test_the_test_rejects_reports_of_a_five_percent_weaker_channel(mechanism: str) -> None:
    survey, weaker = survey_of(mechanism), survey_of(mechanism, levels={"only": "0.95"})
    assert judge(survey, honest(form_of(weaker), PEOPLE, np.random.default_rng(1))).alarmed


@pytest.mark.parametrize("mechanism", UNARY_AND_SUBSET)
@pytest.mark.parametrize("aimed", [1, TARGETS // 2], ids=["one target each", "a random half of the targets"])
def test_fakes_that_could_be_honest_are_not_seen(mechanism: str, aimed: int) -> None:
    """Named blind spots: nothing in such reports differs from honest ones, so that only the bound is left."""
    found = [attacked(mechanism, seed, aimed).alarmed for seed in range(runs(2, 100))]
    assert np.mean(found) <= 0.05


@pytest.mark.parametrize("functions", [3, 10_000], ids=["few functions", "a uniform function and a chosen bucket"])
def test_hashed_fakes_show_only_where_they_share_few_functions(functions: int) -> None:
    survey, generator = survey_of("lh"), np.random.default_rng(1)
    form = form_of(survey)
    buckets, fakes = form.channel.buckets, 200
    index = generator.choice(generator.integers(0, buckets**form.channel.digits, functions), fakes).astype(np.uint64)
    forged = index * np.uint64(buckets) + form.bucket(index, np.full(fakes, 5))
    found = judge(survey, np.concatenate([honest(form, PEOPLE - fakes, generator), forged]))
    assert found.alarmed is (functions == 3)


def test_fakes_with_nothing_but_their_targets_show_without_rows() -> None:
    survey, generator = survey_of("oue"), np.random.default_rng(1)
    bits = np.zeros((200, VALUES), np.uint8)
    bits[:, :TARGETS] = 1
    rows = [honest(form_of(survey), PEOPLE - 200, generator), np.packbits(bits, axis=1, bitorder="little")]
    found = judge(survey, np.concatenate(rows), patterns=False)
    assert found.alarmed
    assert found.tests[0].test == "ones"
    assert "patterns" in found.unseen[0]


@pytest.mark.parametrize("mechanism", UNARY_AND_SUBSET)
def test_reports_that_are_counted_twice_show(mechanism: str) -> None:
    survey = survey_of(mechanism, 24)
    once = honest(form_of(survey), 5_000, np.random.default_rng(1))
    assert not judge(survey, once).alarmed
    again = judge(survey, np.concatenate([once, once]))
    assert again.alarmed
    assert "counted twice" in again.tests[0].finding
    replayed = judge(survey, np.concatenate([once, np.repeat(once[:1], 100, axis=0)]))
    assert "the same report" in {each.test: each.finding for each in replayed.tests}["repeats"]


def test_of_very_many_reports_a_part_is_looked_at_and_the_result_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    survey, generator = survey_of("oue"), np.random.default_rng(1)
    form = form_of(survey)
    rows = np.concatenate([honest(form, PEOPLE - 800, generator), forge(form, 800, generator, TARGETS)])
    monkeypatch.setattr("pldp.forgery.invariants.MOST_PRODUCTS", PEOPLE * VALUES**2 // 2)
    found = judge(survey, rows)
    assert found.alarmed
    assert "in a part of the reports only" in found.unseen[0]
    monkeypatch.setattr("pldp.forgery.invariants.LARGEST_PAIRS", VALUES - 1)
    unlooked = judge(survey, rows)
    assert "too many values" in unlooked.unseen[0]
    assert "pairs" not in {each.test for each in unlooked.tests}


def test_values_below_what_noise_gives_them_show() -> None:
    survey = survey_of("krr", 8)
    counts = np.random.default_rng(1).multinomial(5_000, [0.65, *[0.05] * 7])  # noise alone gives 0.1 each
    found = judge(survey, np.repeat(np.arange(8), counts))
    assert found.alarmed
    assert found.tests[0].test == "shares"


def test_numbers_that_no_distribution_makes_show() -> None:
    question = {"name": "q", "kind": "number", "low": 0, "high": 1, "mechanism": "sw"}
    survey = survey_of("krr", questions=[question])
    form, generator = form_of(survey), np.random.default_rng(1)
    values = form.checked_values(generator.integers(0, form.channel.size, 5_000))
    true = form.draw_many(values, generator)
    assert not judge(survey, true).alarmed
    piled = np.concatenate([true, np.full(3_000, form.channel.form.count // 2)])
    assert judge(survey, piled).tests[0].test == "image"
    assert judge(survey, piled).alarmed


@pytest.mark.parametrize("mechanism", ["oue", "subset"])
def test_hidden_levels_are_tested_whatever_their_mixture(mechanism: str) -> None:
    survey = survey_of(mechanism, 64, levels={"strict": "0.5", "open": 2}, hide_level={"epsilon": 1})
    generator, forms = np.random.default_rng(1), [form_of(survey, 0), form_of(survey, 1)]
    parts = [honest(form, 10_000, generator) for form in forms]
    assert not hidden(survey, parts).alarmed
    forged = [parts[0], np.concatenate([parts[1], forge(forms[1], 400, generator, TARGETS)])]
    found = hidden(survey, forged)
    assert found.alarmed
    assert (found.tests[0].test, found.tests[0].level) == ("pairs", "")


def hidden(survey: Survey, parts: list[np.ndarray]) -> Forgery:
    """Judge reports whose labels tell nothing about their levels."""
    form, half = survey.questions[0].channels[0].form, len(parts[0]) // 2
    shown = (np.concatenate([part[:half] for part in parts]), np.concatenate([part[half:] for part in parts]))
    cells = [("q", level.name) for level in survey.questions[0].levels]
    counts = {cell: BitCounts.of_rows(rows, form, patterns=True) for cell, rows in zip(cells, shown, strict=True)}
    return forgery_of(replace(Tally.empty(survey), counts=counts, reports=sum(map(len, parts))), survey.questions[0])


def test_a_crowd_is_found_among_all_sets_and_its_p_value_counts_them() -> None:
    """The p-value of any set is that of all sets of its size: noise alone never looks like a crowd."""
    survey, generator = survey_of("oue", 40), np.random.default_rng(3)
    form = form_of(survey)
    rows = honest(form, 4_000, generator)
    law, limits = form.pair_laws()[0], form.support_range()
    both = form.rows.pair_counts(rows, np.ones(len(rows), np.int64))
    found = excess(both, np.diag(both).copy(), len(rows), law, limits)
    assert densest(found)[0] > 0.01
    planted = found.sums.copy()
    planted[np.ix_([3, 7, 20, 31], [3, 7, 20, 31])] += 6 * np.sqrt(found.variances.max())
    np.fill_diagonal(planted, 0)
    p_value, members = densest(found._replace(sums=planted))
    assert members.tolist() == [3, 7, 20, 31]
    assert p_value < 1e-9
    assert np.abs(centred(found.sums).sum(axis=1)).max() < 1e-6


def test_an_alarm_is_a_note_a_sentence_and_plain_data() -> None:
    survey, generator = survey_of("subset", 32), np.random.default_rng(1)
    form = form_of(survey)
    rows = np.concatenate([honest(form, 4_900, generator), forge(form, 300, generator, 5, of=5)])
    result = estimate(tally_of(survey, rows), "q")
    note = result.notes[0]
    assert (note.code, note.severity) == ("forged-reports", "warning")
    assert "come together more often than any honest population allows" in note.text
    mapping = result.to_mapping()
    assert mapping["forgery"]["alarmed"]
    assert json.loads(json.dumps(mapping["forgery"])) == mapping["forgery"]
    assert "Do reports look forged? YES" in result._repr_html_()
    assert copy.deepcopy(result).forgery == result.forgery
    assert any("some are detected" in each for each in result.assumptions)


@pytest.mark.parametrize("example", ["commute", "shopping"])
def test_honest_examples_are_looked_at_and_raise_no_alarm(example: str) -> None:
    survey = Survey.load(f"examples/{example}.toml")
    people = Population.of_shares(survey, 5_000, seed=1)
    for result in estimate(tally(survey, simulate_reports(survey, people, seed=1))).values():
        assert result.forgery is not None
        assert result.forgery.tests
        assert not result.forgery.alarmed
        assert "did not find any" in result._repr_html_()
