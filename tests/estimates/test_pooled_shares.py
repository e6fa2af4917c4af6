"""Errors are what the theory says, for every mechanism, group mix, pooling and target; a weaker channel is noticed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, Z, mean_is, runs
from helpers.samples import counts_of, label_reports, law, sample, zipf
from pldp import Survey, tally
from pldp.errors import AnswerError, EstimateError
from pldp.estimates import Shares, frequencies
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.patterns import label_patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.mechanisms import names
from pldp.mechanisms.arrays import label_arrays
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads
from pldp.tallies import Tally

SHARES = (0.4, 0.25, 0.15, 0.1, 0.06, 0.04)
LABELS = ("a", "b", "c", "d", "e", "f")
PEOPLE = 3000
MIXES = {
    "one level": {"low": 1.0},
    "equal": {"low": 1.0, "mid": 1.0, "high": 1.0},
    "mostly strict": {"low": 0.7, "mid": 0.2, "high": 0.1},
}


def survey_of(mechanism: str, weaker: float = 1.0) -> Survey:
    levels = {"low": 0.6, "mid": 1.2, "high": 2.6}
    table = ",".join(f"{name}={epsilon * weaker:.6f}" for name, epsilon in levels.items())
    return loads(
        f'pldp=1\ntitle="t"\nlevels={{{table}}}\nquestions=[{{name="q",values={list(LABELS)},mechanism="{mechanism}"}}]'
    )


def drawn(
    survey: Survey, mix: dict, seed: int, *, stated: Survey | None = None, fixed: bool = False, people: int = PEOPLE
) -> Tally:
    """Draw people (or take exactly the shares) and count their reports; the collector may believe another survey."""
    generator = np.random.default_rng(seed)
    values = np.round(np.array(SHARES) * people).astype(int) if fixed else generator.multinomial(people, SHARES)
    weights = np.array([mix.get(level.name, 0.0) for level in survey.levels])
    chosen = generator.multinomial(values, weights / weights.sum()).T
    counts = {}
    for level, channel, own in zip(survey.levels, survey.question("q").channels, chosen, strict=True):
        outputs = generator.multinomial(own, law(channel).T).sum(axis=0)
        counts["q", level.name] = counts_of(channel, outputs)
    return Tally(stated or survey, counts, people)


def one_run(survey: Survey, mix: dict, seed: int) -> Shares:
    return frequencies(drawn(survey, mix, seed), "q")


def reports(counted: Tally) -> LabelReports:
    counts = [counted.counts["q", level.name] for level in counted.survey.levels]
    return label_reports(counted.survey.question("q").channels, counts)


def pooled(counted: Tally, differ: float | None = 0) -> Linear:
    """The numbers of `frequencies` and nothing beside them, in a quarter of the time; a test says so."""
    return decode(reports(counted).evidence, differ)


def from_devices(survey: Survey, mix: dict, seed: int, *, fixed: bool) -> Tally:
    """The same with every report made and counted."""
    if fixed:
        counts = np.round(np.array(SHARES) * PEOPLE).astype(int)
        asked = Population.of_counts(survey, {"q": counts}, level_mix=mix, seed=seed)
    else:
        asked = Population.of_shares(survey, PEOPLE, {"q": SHARES}, level_mix=mix, seed=seed)
    return tally(survey, simulate_reports(survey, asked, seed=seed))


def squared_errors_over_variance(
    repeats: int | None = None, draw=drawn, *, differ: float | None = 0, target: str = "population", **options
) -> list[float]:
    """Per run, the mean over values of (error / standard error)²; its mean is 1 if the theory is right."""
    found = []
    for seed in range(repeats or runs(80, 2000)):
        estimate = pooled(draw(seed=seed, **options), differ)
        found.append(float(np.mean((estimate.estimates - SHARES) ** 2 / estimate.variance(target))))
    return found


def survey_levels(counted: Tally) -> list[str]:
    """The levels that people chose."""
    return [level for (_, level), counts in counted.counts.items() if counts.reports]


@pytest.mark.parametrize("mechanism", [*names("labels", per_value=False), "auto"])
@pytest.mark.parametrize("mix", MIXES)
def test_frequencies_are_the_decoded_reports(mechanism: str, mix: str) -> None:
    counted = drawn(survey_of(mechanism), MIXES[mix], 1)
    for differ, target in product((0, None), ("population", "respondents")):
        bound = differ if len(survey_levels(counted)) > 1 else 0
        estimate, expected = frequencies(counted, "q", differ=differ, target=target), pooled(counted, bound)
        np.testing.assert_array_equal(estimate.shares, expected.estimates)
        np.testing.assert_array_equal(estimate.standard_error, np.sqrt(expected.variance(target)))


def covering(mechanisms: Sequence[str]) -> list[tuple[str, str]]:
    """Every mechanism with every mix; in the short form every mechanism with one of them, in turn."""
    mixes = list(MIXES)
    turns = [(name, mixes[place % len(mixes)]) for place, name in enumerate(mechanisms)]
    return list(product(mechanisms, mixes)) if runs(0, 1) else turns


@pytest.mark.parametrize(("mechanism", "mix"), covering([*names("labels", per_value=False), "auto"]))
def test_errors_have_the_stated_size(mechanism: str, mix: str) -> None:
    assert mean_is(squared_errors_over_variance(survey=survey_of(mechanism), mix=MIXES[mix]), 1.0)


@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize("differ", [0, None])
def test_errors_have_the_stated_size_for_every_pooling_and_target(target: str, differ: float | None) -> None:
    """High ε, so that drawing people matters; respondents are always the same people."""
    options = {"survey": survey_of("krr"), "mix": {"high": 1.0, "mid": 0.3}, "differ": differ, "target": target}
    fixed = target == "respondents"
    assert mean_is(squared_errors_over_variance(fixed=fixed, **options), 1.0)
    assert mean_is(squared_errors_over_variance(runs(30, 600), from_devices, fixed=fixed, **options), 1.0)


def errors_follow_the_covariance(repeats: int, **options) -> bool:
    """Sum errorᵀ covariance⁻¹ error over runs: exactly χ² where reports are so many (two-sided, false alarm 1e-6)."""
    total = 0.0
    for seed in range(repeats):
        asked = reports(drawn(seed=seed, **options))
        estimate = decode(asked.evidence)
        free = (estimate.estimates - SHARES)[:-1]  # shares sum to 1
        total += free @ np.linalg.solve(asked.covariance(estimate)[:-1, :-1], free)
    law_of_total = stats.chi2(repeats * (len(SHARES) - 1))
    return bool(2 * min(law_of_total.cdf(total), law_of_total.sf(total)) >= FALSE_ALARM)


@pytest.mark.parametrize(("mechanism", "mix"), covering(names("labels", per_value=False)))
def test_the_test_rejects_a_five_percent_weaker_channel(mechanism: str, mix: str) -> None:
    """Devices protect 5 % better than the collector believes: shares shrink, more than a million people can hide."""
    weaker, stated = survey_of(mechanism, 0.95), survey_of(mechanism)
    assert [c.mechanism for c in weaker.question("q").channels] == [c.mechanism for c in stated.question("q").channels]
    options = {"mix": MIXES[mix], "people": 1_000_000, "repeats": runs(20, 100)}
    assert not errors_follow_the_covariance(survey=weaker, stated=stated, **options)
    assert errors_follow_the_covariance(survey=stated, **options)


def test_the_covariance_matrix_has_the_standard_errors_on_its_diagonal(every_form: Survey) -> None:
    people = Population.of_shares(every_form, 4000, seed=1)
    counted = tally(every_form, simulate_reports(every_form, people, seed=1))
    for question in every_form.questions:
        for options in ({}, {"differ": None}, {"target": "respondents"}, {"differ": None, "target": "respondents"}):
            estimate = frequencies(counted, question.name, **options)
            assert np.allclose(np.sqrt(np.diag(estimate.covariance)), estimate.standard_error, rtol=1e-6)
            spread = np.linalg.eigvalsh(estimate.covariance)
            assert spread.min() > -1e-6 * spread.max()  # of shares that sum to 1 the least is 0


def test_the_homogeneity_test_keeps_its_false_alarm_rate() -> None:
    """P-values are uniform where levels are chosen at random: mean, and rate below 1 %."""
    survey = survey_of("auto")
    counted = (drawn(survey, MIXES["equal"], seed) for seed in range(runs(200, 4000)))
    found = [reports(each).homogeneity().p_value for each in counted]
    assert found[0] == one_run(survey, MIXES["equal"], 0).homogeneity.p_value
    assert mean_is(found, 0.5)
    alarms = sum(p_value < 0.01 for p_value in found)
    assert stats.binom.sf(alarms - 1, len(found), 0.01) > FALSE_ALARM


@pytest.mark.parametrize(("mechanism", "size"), [("krr", 1000), ("lh", runs(400, 1000)), ("oue", 400)])
def test_the_homogeneity_test_keeps_its_rate_where_only_some_values_are_tested(mechanism: str, size: int) -> None:
    """What chooses the tested values must not depend on the differences that are tested."""
    specs = [(mechanism, epsilon, runs(8_000, 20_000)) for epsilon in ("0.8", "2.5")]
    found = []
    for seed in range(runs(15, 600)):
        groups = sample(specs, zipf(size), np.random.default_rng(seed))
        asked = label_reports([each.channel for each in groups], [each.counts for each in groups])
        found.append(asked.homogeneity().p_value)
    alarms = sum(p_value < 0.01 for p_value in found)
    assert stats.binom.sf(alarms - 1, len(found), 0.01) > FALSE_ALARM
    assert abs(np.mean(found) - 0.5) <= Z / np.sqrt(12 * len(found))  # uniform numbers have the variance 1/12


def test_levels_chosen_by_value_are_noticed_and_what_is_shown_is_right() -> None:
    """Truth .50; taking levels to be alike is far off, and the result says so; it is right itself."""
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={strict=0.5,open=2}\nquestions=[{name="q",values=["yes","no"],mechanism="krr"}]'
    )
    mix = {"yes": {"strict": 0.9, "open": 0.1}, "no": {"strict": 0.1, "open": 0.9}}
    people = Population.of_counts(survey, {"q": [50_000, 50_000]}, level_mix=mix, seed=1)
    estimate = frequencies(tally(survey, simulate_reports(survey, people, seed=1)), "q")
    assert estimate.homogeneity.rejected
    assert estimate.notes[0].code == "levels-disagree"
    assert abs(estimate.alike.shares[0] - 0.5) > 0.2
    assert abs(estimate.shares[0] - 0.5) < 4.9 * estimate.standard_error[0]
    assert estimate.alike.alike is None


def test_precision_beats_size_where_levels_are_chosen_at_random() -> None:
    survey = survey_of("auto")
    by_precision, by_size = (pooled(drawn(survey, MIXES["equal"], 1), differ) for differ in (0, None))
    assert (by_precision.variance() < by_size.variance()).all()


def counted(survey: Survey, counts: list[int], mix: dict) -> Tally:
    return tally(
        survey, simulate_reports(survey, Population.of_counts(survey, {"q": counts}, level_mix=mix, seed=1), seed=1)
    )


def test_a_group_with_one_report_keeps_an_honest_error() -> None:
    survey = survey_of("krr")
    few = counted(survey, [1, 0, 0, 0, 0, 0], {"low": 1}) + counted(survey, [500] * 6, {"high": 1})
    estimate = frequencies(few, "q")
    assert [group.reports for group in estimate.groups] == [1, 3000]
    assert (estimate.groups[0].standard_error > 0.5).all()
    assert estimate.homogeneity is None
    assert estimate.notes[0].code == "few-reports"


def test_no_report_gets_one_clear_line() -> None:
    with pytest.raises(EstimateError, match=r"^question 'q' has no reports, so there is nothing to estimate$"):
        frequencies(Tally.empty(survey_of("krr")), "q")


def test_all_reports_in_one_group_need_no_test() -> None:
    estimate = frequencies(counted(survey_of("oue"), [500] * 6, {"mid": 1}), "q")
    assert estimate.homogeneity is None
    assert estimate.groups[0].weight == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "magic"}, "method must be one of unbiased, likelihood"),
        ({"differ": 5}, "differ must be a share from 0 to below 1, such as 0.05, not 5"),
        ({"target": "magic"}, "target must be one of population, respondents"),
    ],
)
def test_unknown_options_list_the_known_ones(options: dict, words: str) -> None:
    with pytest.raises(EstimateError, match=words):
        frequencies(Tally.empty(survey_of("krr")), "q", **options)


def test_an_unknown_question_lists_the_known_ones() -> None:
    with pytest.raises(AnswerError, match="unknown question; this survey has: q"):
        frequencies(Tally.empty(survey_of("krr")), "age")


def test_simultaneous_intervals_cover_all_values_at_once() -> None:
    survey, missed, truth = survey_of("auto"), 0, np.array(SHARES)
    repeats = runs(100, 2000)
    for seed in range(repeats):
        low, high = one_run(survey, MIXES["equal"], seed).interval(0.9, simultaneous=True)
        missed += bool(((truth < low) | (high < truth)).any())
    # Bonferroni promises at most 10 % misses.
    assert stats.binom.sf(missed - 1, repeats, 0.1) > FALSE_ALARM
    assert missed > 0


def test_confidence_must_be_a_probability() -> None:
    estimate: Shares = frequencies(counted(survey_of("krr"), [50] * 6, {"mid": 1}), "q")
    for confidence in (0, 1, 95, float("nan")):
        with pytest.raises(EstimateError, match="confidence must be between 0 and 1"):
            estimate.interval(confidence)


def test_a_label_without_protection_that_nobody_reported_still_has_an_error() -> None:
    question = {"name": "q", "values": ["a", "b", "c"], "unprotected": ["c"]}
    survey = Survey.read({"pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 2}, "questions": [question]})
    people = Population.of_counts(survey, {"q": [30, 30, 0]}, seed=1)
    counted = tally(survey, simulate_reports(survey, people, seed=1))
    for differ in (0, None):
        found = frequencies(counted, "q", differ=differ)
        assert found.shares[2] == pytest.approx(0, abs=1e-12)
        assert 0.001 < found.standard_error[2] < 0.1
        # Nor do they know it of respondents: at the strict level people with the label report another 3 of 4 times.
        respondents = frequencies(counted, "q", differ=differ, target="respondents")
        assert 0.001 < respondents.standard_error[2] < found.standard_error[2]


def scores_by_size(count: int, *, between: bool) -> np.ndarray:
    """Squared errors of shares pooled by size, in variances, summed over so many surveys, for each label.

    People with the first label choose the open level in nine of ten cases, others in one of ten. Without `between`, the
    error is as it was stated once: without the spread between the groups of people who chose each level.
    """
    survey = loads(
        f'pldp=1\ntitle="t"\nlevels={{low=2,high=4}}\nquestions=[{{name="q",values={list(LABELS[:3])},mechanism="krr"}}]'
    )
    shares, opened = np.array([0.4, 0.35, 0.25]), np.array([0.9, 0.1, 0.1])
    total = np.zeros(3)
    for seed in range(count):
        generator = np.random.default_rng([seed, 7])
        values = generator.multinomial(2000, shares)
        high = generator.binomial(values, opened)
        counts = {}
        for level, channel, own in zip(
            survey.levels, survey.question("q").channels, (values - high, high), strict=True
        ):
            counts["q", level.name] = counts_of(channel, generator.multinomial(own, law(channel).T).sum(axis=0))
        asked = reports(Tally(survey, counts, 2000))
        found = decode(asked.evidence, None)
        alone = [decode(asked.only([level]).evidence).estimates for level in range(2)]
        parts = zip(found.level_weights, alone, strict=True)
        spread = sum(weight * (own - found.estimates) ** 2 for weight, own in parts) / 2000
        total += (found.estimates - shares) ** 2 / (found.variance() - (0 if between else spread))
    return total


def test_shares_pooled_by_size_have_the_stated_error_where_levels_depend_on_the_value() -> None:
    """Two-sided, for every label: a sum of squared normal errors is outside with a chance of 1e-6 for all three."""
    count = runs(400, 4000)
    low, high = stats.chi2.ppf([FALSE_ALARM / 6, 1 - FALSE_ALARM / 6], count)
    scores = scores_by_size(count, between=True)
    assert ((low < scores) & (scores < high)).all(), scores / count
    assert (scores_by_size(count, between=False) > high).any()


def test_levels_with_different_tiers_are_pooled_without_bias() -> None:
    """Counts are those expected of ever so many people: what is left is bias. At ε = 3 two budgets have tiers apart."""
    fractions = {"v0": "1/2", "v1": "1/2", "v2": "3/5", "v3": "3/5", "v4": "3/5"}
    asked = {"name": "q", "values": [f"v{place}" for place in range(12)], "mechanism": "subset_items"}
    levels = {"strict": 0.3, "open": 3}
    survey = Survey.read({"pldp": 1, "title": "t", "levels": levels, "questions": [{**asked, "fractions": fractions}]})
    forms = [label_arrays(channel) for channel in survey.question("q").channels]
    shares = np.array([0.3, 0.02, 0.05, 0.25, 0.02, 0.2, 0.02, 0.02, 0.02, 0.03, 0.04, 0.03])
    assert not np.array_equal(forms[0].pattern_states(shares), forms[1].pattern_states(shares))
    people = (9e5, 1e5)
    counts = [form.pattern_counts(form.expected_support(shares) * n, n) for form, n in zip(forms, people, strict=True)]
    states = forms[0].pattern_states(shares)
    found = decode(Evidence(np.stack(counts), label_patterns(forms), np.eye(2), visible=True, likely_states=states))
    assert found.estimates == pytest.approx(shares, abs=1e-9)
