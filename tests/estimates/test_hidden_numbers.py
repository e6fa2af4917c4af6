"""Numbers whose levels are hidden: mean, quantiles and curve with honest errors, and what assumes nothing of levels."""

from __future__ import annotations

import os
import pickle
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pldp
from pldp.errors import EstimateError
from pldp.estimates.kinds.number import HiddenNumberReports
from pldp.estimates.likelihood.profile import Profile
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.mix import MixBounds
from pldp.estimates.linear.numbers import (
    NumberCounts,
    centres,
    compare_levels,
    expected_mean,
)
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results.options import Options
from pldp.mechanisms import hideable
from pldp.mechanisms.arrays import Pieces, label_arrays, piecewise_arrays
from pldp.simulate import Population, simulate_reports
from pldp.tallies import OutputCounts

LONG = bool(os.environ.get("PLDP_LONG"))
SIZE = 48
MECHANISMS = ("sw", "pm", "sr", "hm", "laplace")
Z = 5.0
"""Standard errors that a single estimate may be off: less than 1 in a million."""

PLACES = (np.arange(SIZE) + 0.5) / SIZE
SHAPE = np.exp(-(((PLACES - 0.3) / 0.12) ** 2) / 2) + 0.3 * np.exp(-(((PLACES - 0.75) / 0.1) ** 2) / 2)
SHAPE /= SHAPE.sum()
TRUE_MEAN = float(SHAPE @ centres(SIZE))


@cache
def survey_of(mechanism: str, label: float = 1.0, purpose: str = "distribution", **levels: float) -> pldp.Survey:
    question = {"name": "q", "kind": "number", "low": 0, "high": 1, "unit": "km", "buckets": SIZE}
    return pldp.Survey.read({
        "pldp": 1,
        "title": "t",
        "levels": levels or {"strict": 0.5, "middle": 1, "open": 2},
        "hide_level": {"epsilon": label},
        "questions": [{**question, "mechanism": mechanism, "purpose": purpose}],
    })  # fmt: skip


def chances(survey: pldp.Survey, joint: np.ndarray) -> np.ndarray:
    """Return the chance of every label and output where this is the share of people of every level and bucket."""
    assert survey.level_channel is not None
    channels = survey.questions[0].channels
    outputs = [piecewise(channel).forward(own) for channel, own in zip(channels, joint, strict=True)]
    return np.asarray(label_arrays(survey.level_channel).matrix() @ np.array(outputs))


def piecewise(channel: Any) -> Pieces:
    return piecewise_arrays(channel).pieces()


def hidden_of(survey: pldp.Survey, counts: np.ndarray, known: dict[str, Any] | None = None) -> HiddenNumberReports:
    """Reports with these counts; their misfit is that around the true shape."""
    hidden = HiddenNumberReports(tally_of(survey, counts), survey.questions[0], Options(mix=known))
    hidden.fitted = SimpleNamespace(shares=SHAPE)
    return hidden


def draw(survey: pldp.Survey, people: int, generator: np.random.Generator, joint: np.ndarray | None = None) -> Any:
    """Draw the counts of a collection: only they count, so no person needs to be simulated."""
    levels = len(survey.levels)
    expected = chances(survey, np.outer(np.full(levels, 1 / levels), SHAPE) if joint is None else joint)
    return generator.multinomial(people, expected.ravel() / expected.sum()).reshape(expected.shape)


def dependent(levels: int) -> np.ndarray:
    """People with larger numbers choose more open levels."""
    part = np.linspace(0.2, 0.8, SIZE)
    weights = np.array([(1 - part) ** (levels - 1 - level) * part**level for level in range(levels)])
    return weights / weights.sum(axis=0) * SHAPE


def evidence_of(survey: pldp.Survey, counts: np.ndarray, known: dict[str, Any] | None = None) -> Evidence:
    """What reports say of the mean, if the curve has the true shape."""
    mix = MixBounds.read(known, [level.name for level in survey.levels])
    return counts_of(survey, counts).hidden_mean(SHAPE, mix)


def counts_of(survey: pldp.Survey, counts: np.ndarray) -> NumberCounts:
    return NumberCounts(survey.questions[0].channels, label_arrays(survey.level_channel).matrix(), list(counts))


def choice_test(survey: pldp.Survey, counts: np.ndarray) -> Any:
    return compare_levels(counts_of(survey, counts).moments(SHAPE), survey.questions[0].channels, 0.5)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_a_report_counts_for_is_unbiased_whatever_levels_depend_on(mechanism: str) -> None:
    survey = survey_of(mechanism)
    fitted = decode(evidence_of(survey, draw(survey, 10_000, np.random.default_rng(1))), None)
    chance = label_arrays(survey.level_channel).matrix()
    for level, channel in enumerate(survey.questions[0].channels):
        pieces = piecewise(channel)
        rows = zip(chance[:, level], fitted.counted[:, 0], strict=True)
        expected = sum(share * pieces.expectation(own) for share, own in rows)
        assert np.abs(expected - centres(SIZE)).max() < 1e-6, level


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_means_from_hidden_levels_cover_and_their_errors_are_those_of_the_plan(mechanism: str) -> None:
    """Collections of counts: exact binomial at 1e-6, and a χ² of the squared errors at 1e-6."""
    survey, generator, people = survey_of(mechanism, 0.5), np.random.default_rng(2), 5_000
    runs = 2000 if LONG else 200
    covered, free, squares = 0, 0, 0.0
    planned = one_report(expected_mean(survey.questions[0].channels, survey.level_channel, np.full(3, 1 / 3), SHAPE))
    for _ in range(runs):
        evidence = evidence_of(survey, draw(survey, people, generator))
        one, other = decode(evidence), decode(evidence, None)
        covered += covers(one)
        free += covers(other)
        squares += (one.estimates[0] - TRUE_MEAN) ** 2 / (planned / people)
    for count in (covered, free):
        assert stats.binom.cdf(count, runs, 0.94) > 1e-6
        assert stats.binom.sf(count - 1, runs, 0.965) > 1e-6
    assert 1e-6 < stats.chi2.sf(squares, runs) < 1 - 1e-6


@pytest.mark.parametrize(("mechanism", "least"), [("hm", 1.2), ("laplace", 1.15), ("pm", 1.0)])
def test_what_outputs_say_about_hidden_levels_sharpens_the_mean(mechanism: str, least: float) -> None:
    """Variances of infinitely many reports, against those of the unbiased numbers alone."""
    survey = survey_of(mechanism, 0.3, strict=1.0, open=3.0)
    counts = 1e9 * chances(survey, np.outer([0.5, 0.5], SHAPE))
    alone = decode(counts_of(survey, counts).numbers()).variance()[0] * 1e9
    planned = expected_mean(survey.questions[0].channels, survey.level_channel, np.array([0.5, 0.5]), SHAPE)
    assert one_report(planned) * least < alone


def one_report(found: Linear) -> float:
    """The variance of a mean from one report."""
    return float(found.variance()[0]) * found.reports


def covers(found: Linear) -> bool:
    return bool(abs(found.estimates[0] - TRUE_MEAN) < 1.96 * found.variance()[0] ** 0.5)


def test_errors_that_take_the_estimated_mix_for_the_true_one_do_not_cover() -> None:
    """The twin of the test before, with a label that says little about the level."""
    survey, generator, runs = survey_of("sw", 0.2, strict=0.5, open=3.0), np.random.default_rng(3), 300
    hits = np.zeros(2, int)
    for _ in range(runs):
        counts = draw(survey, 20_000, generator)
        honest = decode(evidence_of(survey, counts))
        strict = float(np.clip(honest.evidence.mix[0], 0, 1))
        known = decode(evidence_of(survey, counts, {"strict": strict}))
        hits += [covers(honest), covers(known)]
    assert stats.binom.cdf(hits[0], runs, 0.94) > 1e-6
    assert stats.binom.cdf(hits[1], runs, 0.94) < 1e-6


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_slopes_of_the_likelihood_are_those_of_the_objective(mechanism: str) -> None:
    survey, generator = survey_of(mechanism), np.random.default_rng(4)
    hidden = hidden_of(survey, draw(survey, 20_000, generator))
    for model, levels in ((hidden.likelihood, 1), (hidden.free_likelihood, 3)):
        shares = np.tile(0.8 * SHAPE + 0.2 / SIZE, levels) / levels
        move = generator.normal(size=len(shares)) * shares
        move -= move.sum() / len(shares)
        step = 1e-5
        slope = (model.objective(shares + step * move) - model.objective(shares - step * move)) / (2 * step)
        assert slope == pytest.approx(-float(model.scores(shares) @ move), rel=1e-3, abs=1e-6)
        assert model.scores(shares) @ shares == pytest.approx(1)


def test_the_information_of_a_curve_lacks_what_the_mix_is_unsure_of() -> None:
    """It is that of the reports if the mix is known, and the less the less labels say."""
    generator, columns = np.random.default_rng(5), SHAPE[:, None] * (PLACES - SHAPE @ PLACES)[:, None]
    found = []
    for label in (0.05, 1.0, 8.0):
        survey = survey_of("sw", label, strict=0.5, open=3.0)
        counts = 1e6 * chances(survey, np.outer([0.5, 0.5], SHAPE))
        model = hidden_of(survey, counts).likelihood
        known = hidden_of(survey, counts, {"strict": 0.5}).likelihood
        found.append(float(model.information(SHAPE, columns)[0, 0] / known.information(SHAPE, columns)[0, 0]))
    assert found[0] < found[1] < found[2] <= 1 + 1e-9
    assert found[0] < 0.9
    assert found[2] > 0.99
    del generator


def test_the_fitted_mix_is_the_most_likely_one_and_stays_within_what_is_known() -> None:
    survey = survey_of("sw")
    hidden = hidden_of(survey, draw(survey, 20_000, np.random.default_rng(6)))
    model = hidden.likelihood
    fitted, best = model.levels(SHAPE), model.objective(SHAPE)
    for mix in np.random.default_rng(7).dirichlet([20, 20, 20], 50):
        cells = mix @ model.rows.forward(SHAPE)
        assert best <= -float((model.weights * np.log(cells)).sum()) - 0.5 / 20_000 * np.log(mix).sum() + 1e-12
    assert np.abs(fitted - hidden.mix.shares).max() < 0.05
    bounded = hidden_of(survey, hidden.cells, {"strict": (0.4, 0.5)}).likelihood.levels(SHAPE)
    assert 0.4 <= bounded[0] <= 0.5
    assert bounded.sum() == pytest.approx(1)
    assert hidden_of(survey, hidden.cells, {"strict": 0.4, "open": 0.2}).possible_mixes.directions.shape == (3, 0)


def test_the_misfit_of_hidden_levels_is_the_least_over_all_mixes() -> None:
    """The linear problem in δ is solved by hand for one histogram, and compared with what the active set has."""
    survey = survey_of("sw")
    hidden = hidden_of(survey, draw(survey, 20_000, np.random.default_rng(8)))
    levels = hidden.likelihood.levels(SHAPE)
    known = hidden_of(survey, hidden.cells, dict(zip(("strict", "middle", "open"), levels, strict=True)))
    half = PLACES < 0.5
    free, fixed = (each.misfit(apart=False) for each in (hidden, known))
    for share in (0.6, 0.9):
        assert free.profile(half, share)[0] <= fixed.profile(half, share)[1] + 1e-3
    assert free.profile(half, 0.9)[1] < fixed.profile(half, 0.9)[0]
    apart = hidden.misfit(apart=True)
    assert apart.profile(half, 0.9)[1] < free.profile(half, 0.9)[0]
    assert apart.cumulative[-1] == pytest.approx(1)


def test_intervals_without_smoothness_hold_the_truth_and_need_the_free_mix() -> None:
    """Collections with a weak label: the intervals of "at most 0.5", and those that take the mix to be known."""
    survey, generator, runs = survey_of("sw", 0.1, strict=0.5, open=4.0), np.random.default_rng(9), 30 if LONG else 10
    truth, hits, narrow = float(SHAPE[PLACES < 0.5].sum()), 0, 0
    for _ in range(runs):
        hidden = hidden_of(survey, draw(survey, 20_000, generator))
        low, high = Profile(hidden).range(0, 0.5)
        given = dict(zip(("strict", "open"), hidden.label_mix, strict=True))
        one, other = Profile(hidden_of(survey, hidden.cells, given)).range(0, 0.5)
        hits += low <= truth <= high
        narrow += other - one < 0.7 * (high - low)
    assert stats.binom.cdf(hits, runs, 0.95) > 1e-6
    assert narrow > runs / 2


def test_levels_that_depend_on_the_number_are_noticed_and_others_are_not() -> None:
    """False alarms: not significantly above 1 % (exact binomial at 1e-6); a clear dependence: at least 20 of 40."""
    survey, generator = survey_of("sw", 2.0, strict=1.0, open=2.0), np.random.default_rng(10)
    times = 10_000 if LONG else 100
    alarms = sum(choice_test(survey, draw(survey, 20_000, generator)).rejected for _ in range(times))
    assert stats.binom.sf(alarms - 1, times, 0.01) > 1e-6
    joint = dependent(2)
    found = [choice_test(survey, draw(survey, 40_000, generator, joint)) for _ in range(40)]
    assert sum(each.rejected for each in found) >= 20
    assert choice_test(survey, draw(survey, 150, generator)) is None


@pytest.mark.skipif(not LONG, reason="many collections")
def test_a_difference_that_is_noticed_with_80_percent_is() -> None:
    """Means that differ by the stated amount, nothing else: the test rejects at least 76 % of 1,000 collections."""
    survey, generator = survey_of("sw", 2.0, strict=1.0, open=2.0), np.random.default_rng(11)
    least = choice_test(survey, draw(survey, 40_000, generator)).noticed
    tilt = (PLACES - SHAPE @ PLACES) / float(SHAPE @ (PLACES - SHAPE @ PLACES) ** 2)
    joint = np.array([0.5 * SHAPE * (1 + least / 2 * tilt), 0.5 * SHAPE * (1 - least / 2 * tilt)])
    assert (joint > 0).all()
    rejected = sum(choice_test(survey, draw(survey, 40_000, generator, joint)).rejected for _ in range(1000))
    assert stats.binom.cdf(rejected, 1000, 0.8) > 1e-6


def counted(survey: pldp.Survey, people: int, joint: np.ndarray, seed: int) -> pldp.Tally:
    return tally_of(survey, draw(survey, people, np.random.default_rng(seed), joint))


def tally_of(survey: pldp.Survey, counts: np.ndarray) -> pldp.Tally:
    whole = np.rint(counts).astype(np.int64)
    named = {("q", level.name): OutputCounts(own) for level, own in zip(survey.levels, whole, strict=True)}
    return pldp.Tally(survey, named, int(whole.sum()))


def test_a_result_from_the_survey_file_to_the_rows() -> None:
    survey = survey_of("auto")
    people = Population.of_shares(survey, 20_000, {"q": SHAPE}, seed=1)
    tally = pldp.tally(survey, simulate_reports(survey, people, seed=1))
    result = pldp.estimate(tally, "q")
    truth = [SHAPE @ PLACES, *(PLACES[np.searchsorted(np.cumsum(SHAPE), share)] for share in pldp.estimates.QUANTILES)]
    for found in (result, result.alike):
        assert found is not None
        low, high = found.interval(1 - 1e-6)
        assert (low - 0.5 / SIZE <= truth).all()
        assert (truth <= high + 0.5 / SIZE).all()
    assert [level.level for level in result.levels] == ["strict", "middle", "open"]
    assert sum(level.share for level in result.levels) == pytest.approx(1)
    assert result.alike.standard_error[0] < result.standard_error[0]
    assert result.homogeneity is not None
    assert result.homogeneity.noticed > 0
    assert result.forgery is not None
    assert not result.forgery.alarmed
    assert result.fitted
    assert result.conservative.tolist() == [False, *[True] * 5]
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301
    assert "hidden" in str(result.to_mapping()["method"])
    range_ = result.range(0.2, 0.4)
    assert range_.low <= SHAPE[(PLACES > 0.2) & (PLACES < 0.4)].sum() <= range_.high
    exact = pldp.estimate(tally, "q", target="respondents")
    assert exact.standard_error[0] < result.standard_error[0]


def test_where_levels_depend_on_the_number_only_the_result_that_assumes_nothing_holds() -> None:
    survey, joint = survey_of("sw", 2.0, strict=1.0, open=3.0), dependent(2)
    free = pldp.estimate(counted(survey, 200_000, joint, 1), "q")
    assert "levels-disagree" in [note.code for note in free.notes]
    result, true = free.alike, float(SHAPE @ PLACES)
    assert {"levels-disagree", "curve-pools-levels"} <= {note.code for note in result.notes}
    assert abs(result.mean.value - true) > Z * result.mean.standard_error
    assert abs(free.mean.value - true) < Z * free.mean.standard_error
    middle = PLACES[np.searchsorted(np.cumsum(SHAPE), 0.5)]
    assert free.quantile(0.5)[1] <= middle + 0.5 / SIZE
    assert free.quantile(0.5)[2] >= middle - 0.5 / SIZE
    assert free.density.mean == pytest.approx(true, abs=Z * free.density.mean_standard_error + 0.01)


def test_a_mean_only_question_has_its_mean() -> None:
    survey = survey_of("auto", 1.0, "mean")
    numbers = np.random.default_rng(1).choice(PLACES, 20_000, p=SHAPE)
    people = Population.of_values(survey, {"q": numbers}, seed=1)
    result = pldp.estimate(pldp.tally(survey, simulate_reports(survey, people, seed=1)), "q")
    for found in (result, result.alike):
        assert found.labels == ("mean",)
        assert abs(found.mean.value - numbers.mean()) < Z * found.mean.standard_error
    assert "mean-only" in [note.code for note in result.notes]


def test_a_known_mix_makes_errors_smaller_and_a_wrong_one_is_contradicted() -> None:
    survey = survey_of("sw", 0.3, strict=0.5, open=3.0)
    tally = counted(survey, 20_000, np.outer([0.5, 0.5], SHAPE), 2)
    plain, known, bounded = (
        pldp.estimate(tally, "q", differ=0, mix=mix) for mix in (None, {"open": 0.5}, {"open": (0.4, 0.6)})
    )
    assert known.standard_error[0] < 0.9 * plain.standard_error[0]
    assert known.standard_error[0] <= bounded.standard_error[0] <= plain.standard_error[0] + 1e-9
    assert known.density.mean_standard_error < plain.density.mean_standard_error
    assert "mix-contradicted" not in [note.code for note in known.notes]
    assert any("the shares of the levels are the given ones" in each for each in known.assumptions)
    wrong = pldp.estimate(tally, "q", mix={"open": 0.99})
    assert "mix-contradicted" in [note.code for note in wrong.alike.notes]
    assert wrong.mean.value == pldp.estimate(tally, "q").mean.value


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"method": "fitted"}, "takes people of all levels to be alike"),
        ({"method": "average"}, "method must be weights or fitted where levels are hidden"),
        ({"method": "posterior"}, "method must be weights or fitted where levels are hidden"),
    ],
)
def test_options_that_do_not_apply_are_refused(options: dict[str, Any], reason: str) -> None:
    tally = counted(survey_of("sw"), 1000, np.outer(np.full(3, 1 / 3), SHAPE), 3)
    with pytest.raises(EstimateError, match=reason):
        pldp.estimate(tally, "q", **options)


def test_the_mean_of_the_fitted_curve_is_a_method_too() -> None:
    tally = counted(survey_of("sw"), 50_000, np.outer(np.full(3, 1 / 3), SHAPE), 3)
    result = pldp.estimate(tally, "q", method="fitted", differ=0)
    assert result.mean.value == pytest.approx(result.density.mean)
    assert abs(result.mean.value - SHAPE @ PLACES) < Z * result.mean.standard_error


def test_no_reports_and_few_reports_are_said() -> None:
    survey = survey_of("sw")
    with pytest.raises(EstimateError, match="has no reports"):
        pldp.estimate(pldp.Tally.empty(survey), "q")
    with pytest.raises(EstimateError, match="needs at least 10 people"):
        pldp.estimate(counted(survey, 5, np.outer(np.full(3, 1 / 3), SHAPE), 1), "q")
    result = pldp.estimate(counted(survey, 30, np.outer(np.full(3, 1 / 3), SHAPE), 1), "q", differ=0)
    assert np.isfinite(result.standard_error).all()
    assert "labels-say-little" in [note.code for note in result.notes]


def test_forged_numbers_show_where_levels_are_hidden() -> None:
    survey = survey_of("sw", 1.0, strict=0.5, open=2.0)
    honest = counted(survey, 20_000, np.outer([0.5, 0.5], SHAPE), 4)
    assert not pldp.estimate(honest, "q").forgery.alarmed
    forged = {
        key: type(own)(own.counts + 2_000 * (np.arange(len(own.counts)) == 30)) for key, own in honest.counts.items()
    }
    found = pldp.estimate(pldp.Tally(survey, forged, 24_000), "q").forgery
    assert found.alarmed
    assert found.tests[0].test == "image"


def test_candidates_of_windows_have_one_width() -> None:
    for channels in hideable("sw", 256, (500_000, 1_000_000, 2_000_000), domain="numbers"):
        assert len({channel.width for channel in channels}) == 1
