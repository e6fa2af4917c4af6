"""Whether the level depends on the number: the test of the whole distribution keeps its rate and predicts its power."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, Z, runs
from pldp import Survey, Tally, estimate
from pldp.estimates import density, mean
from pldp.estimates.fused.numbers import distribution_test
from pldp.estimates.linear.numbers import ENOUGH, MOMENTS, centres, moment_weights
from pldp.estimates.results.notes import CURVE_ASSUMES, LEVELS_DISAGREE, SAME_DISTRIBUTION, of_one_survey
from pldp.mechanisms import Channel, build
from pldp.mechanisms.arrays import piecewise_arrays
from pldp.papers.multiservice import ems
from pldp.simulate import perturb
from pldp.tallies import ABSENT, Fused, OutputCounts, Service, Source, fuse

SIZE = 64
SHARES = np.diff(stats.beta(2, 5).cdf(np.linspace(0, 1, SIZE + 1)))


def power(noncentrality: float, degrees: int) -> float:
    """The probability that a χ² test of the false-alarm rate .01 rejects."""
    return float(stats.ncx2.sf(stats.chi2.isf(0.01, degrees), degrees, noncentrality))


def levels(
    shares: Sequence[np.ndarray],
    channels: Sequence[Channel],
    people: Sequence[int],
    generator: np.random.Generator | None,
) -> Fused:
    """Reports of levels whose people have these shares: drawn, or as many as are expected."""
    cells, counts = [], []
    for place, (own, channel, number) in enumerate(zip(shares, channels, people, strict=True)):
        chance = piecewise_arrays(channel).pieces().table()[:-1] @ own
        cells.append(np.full((len(chance), len(channels)), ABSENT, np.int32))
        cells[-1][:, place] = np.arange(len(chance))
        counts.append(number * chance if generator is None else generator.multinomial(number, chance / chance.sum()))
    sources = [Source(f"level {place}", *each) for place, each in enumerate(zip(channels, people, strict=True))]
    came = np.concatenate(counts) != 0
    return Fused(tuple(sources), (0.0, 1.0), np.concatenate(cells)[came], np.concatenate(counts)[came])


def by_value(shares: np.ndarray, slope: float, people: int) -> tuple[list[np.ndarray], list[int]]:
    """Shares and numbers of people of a strict and an open level: the chance of strict rises with the number."""
    strict = shares * (0.5 + slope * (2 * np.cumsum(shares) - 1))
    sizes = [round(people * strict.sum()), people - round(people * strict.sum())]
    return [strict / strict.sum(), (shares - strict) / (shares - strict).sum()], sizes


def pair(first: float = 0.5, second: float = 2.0, mechanism: str = "sw") -> list[Channel]:
    return [build(mechanism, SIZE, round(epsilon * 1e6)) for epsilon in (first, second)]


@pytest.mark.parametrize("name", ["sr", "pm", "sw", "hm", "laplace", "krr"])
def test_weights_are_unbiased_for_the_moments_that_a_channel_knows(name: str) -> None:
    channel = build(name, SIZE, 1_200_000)
    table, known = moment_weights(channel)
    values = np.polynomial.legendre.legvander(centres(SIZE), MOMENTS)[:, 1:]
    assert known.tolist() == [True] + [name != "sr"] * (MOMENTS - 1)
    found = piecewise_arrays(channel).pieces().table()[:-1].T @ table.T
    assert np.abs(found - values * known).max() < 1e-3


def test_few_values_have_few_moments() -> None:
    assert moment_weights(build("sw", 3, 10**6))[1].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("mechanism", "epsilons", "people"),
    [("sw", (0.5, 2), (200, 2000)), ("pm", (1, 4), (500, 500)), ("laplace", (0.5, 2), (2000, 300))],
)
def test_levels_that_agree_are_rejected_one_time_in_a_hundred(
    mechanism: str, epsilons: tuple[float, float], people: tuple[int, int]
) -> None:
    channels, repeats = pair(*epsilons, mechanism), runs(80, 10_000)
    rejected = 0
    for seed in range(repeats):
        fused = levels([SHARES, SHARES], channels, people, np.random.default_rng([seed, 1]))
        population = ems(fused, most_steps=10).shares  # errors need no better one
        rejected += distribution_test(fused, population).rejected
    assert stats.binomtest(rejected, repeats, 0.01, alternative="greater").pvalue >= FALSE_ALARM
    # The twin: that often would a test at 12 % reject.
    assert stats.binomtest(round(0.12 * repeats), repeats, 0.01, alternative="greater").pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    ("slope", "epsilons", "people"), [(0.2, (0.5, 2), 20_000), (0.3, (1, 4), 2000), (0.2, (1, 1), 4000)]
)
def test_power_is_that_of_the_noncentral_law(slope: float, epsilons: tuple[float, float], people: int) -> None:
    channels = pair(*epsilons)
    shares, sizes = by_value(SHARES, slope, people)
    pooled = np.average(shares, axis=0, weights=sizes)
    exact = distribution_test(levels(shares, channels, sizes, None), pooled)
    assert exact is not None
    expected, repeats = power(exact.statistic, exact.degrees), runs(80, 4000)
    rejected = sum(
        distribution_test(levels(shares, channels, sizes, np.random.default_rng([seed, 2])), pooled).rejected
        for seed in range(repeats)
    )
    slack = 0.05 + Z * np.sqrt(expected * (1 - expected) / repeats)
    assert abs(rejected / repeats - expected) <= slack
    # The twin: half as many people would notice too little.
    halved = power(exact.statistic / 2, exact.degrees)
    assert abs(halved - expected) > 0.05


def test_the_difference_noticed_is_noticed_with_eighty_percent_or_more_whatever_else_differs() -> None:
    channels, people = pair(), [4000, 6000]
    values = centres(SIZE)
    base = distribution_test(levels([SHARES, SHARES], channels, people, None), SHARES)
    assert base is not None
    assert base.noticed is not None
    assert base.statistic == pytest.approx(0, abs=1e-6)
    generator = np.random.default_rng(1)
    for _ in range(20):
        # A tilt of any shape up to degree four, scaled until the means differ by `noticed` of the range of 1.
        bent = np.polynomial.legendre.legvander(values, 4) @ generator.normal(size=5)
        tilt = SHARES * (bent - SHARES @ bent)
        tilt *= 2 * base.noticed / (tilt @ values)
        found = distribution_test(levels([SHARES, SHARES + tilt], channels, people, None), SHARES)
        assert found is not None
        assert power(found.statistic, found.degrees) >= 0.8 - 1e-6
        weaker = distribution_test(levels([SHARES, SHARES + 0.5 * tilt], channels, people, None), SHARES)
        assert weaker is not None
        assert weaker.statistic == pytest.approx(found.statistic / 4, rel=1e-3)


def test_a_level_of_rounding_is_compared_by_its_mean_alone() -> None:
    channels = [build("sr", SIZE, 2_000_000), build("sw", SIZE, 2_000_000)]
    found = distribution_test(levels([SHARES, SHARES], channels, [4000, 4000], None), SHARES)
    assert found is not None
    assert found.degrees == 1
    assert distribution_test(levels([SHARES, SHARES[::-1]], channels, [4000, 4000], None), SHARES).rejected


def test_groups_with_too_few_people_are_not_tested() -> None:
    shares, channels = [SHARES, SHARES[::-1]], pair()
    assert distribution_test(levels(shares, channels, [ENOUGH - 1, 9000], None), SHARES) is None
    assert distribution_test(levels(shares, channels, [5 * ENOUGH, 9000], None), SHARES).rejected


def survey_tally(slope: float, people: int, seed: int) -> tuple[Tally, np.ndarray]:
    """Reports about a number whose mean alone, or all of which, decides the level; and the people's shares."""
    survey = Survey.read(f"""
pldp = 1
title = "Hours"
levels = {{ strict = 0.5, open = 2 }}
questions = [{{ name = "hours", kind = "number", low = 0, high = 10, unit = "hours", buckets = {SIZE} }}]
""")
    question = survey.question("hours")
    shares, sizes = by_value(SHARES, slope, people)
    fused = levels(shares, question.channels, sizes, np.random.default_rng(seed))
    counts = {}
    for place, level in enumerate(question.levels):
        here = fused.cells[:, place] != ABSENT
        total = np.bincount(fused.cells[here, place], fused.counts[here], question.channels[place].form.count)
        counts["hours", level.name] = OutputCounts(total.astype(np.int64))
    return Tally(survey, counts, people), np.average(shares, axis=0, weights=sizes)


def test_curve_and_quantiles_carry_the_test_the_assumption_and_the_warning() -> None:
    tally, _ = survey_tally(0.4, 20_000, 1)
    free = estimate(tally, "hours")
    found = free.alike
    assert found is not None
    assert found.homogeneity is not None
    assert found.homogeneity.degrees == MOMENTS
    assert found.homogeneity.rejected
    assert {"levels-disagree", "curve-pools-levels"} <= {note.code for note in found.notes}
    assert of_one_survey([CURVE_ASSUMES])[0] in found.assumptions
    assert found.density.homogeneity == found.homogeneity
    assert {note.code: note.severity for note in free.notes}[LEVELS_DISAGREE] == "info"
    assert "curve-pools-levels" not in {note.code for note in free.notes}
    calm = estimate(survey_tally(0, 20_000, 2)[0], "hours", differ=0)
    assert calm.homogeneity is not None
    assert not calm.homogeneity.rejected
    assert calm.homogeneity.noticed is not None
    assert 0 < calm.homogeneity.noticed < 10
    assert not {"levels-disagree", "curve-pools-levels"} & {note.code for note in calm.notes}


def test_a_level_that_is_too_small_to_test_is_named() -> None:
    tally, _ = survey_tally(0, 4000, 3)
    strict = tally.counts["hours", "strict"]
    few = OutputCounts(np.minimum(strict.counts, np.arange(len(strict.counts)) < ENOUGH // 2))
    found = estimate(Tally(tally.survey, {**tally.counts, ("hours", "strict"): few}, 2000), "hours")
    assert found.homogeneity is None
    assert [note.text for note in found.notes if note.code == "level-untested"] == [
        "too few reports to test whether people of level strict answer like the others"
    ]


def test_values_missing_not_at_random_are_noticed_by_the_fitted_mean_and_the_density() -> None:
    generator = np.random.default_rng(4)
    values = generator.choice(SIZE, 20_000, p=SHARES)
    channels = [build("pm", SIZE, 1_000_000), build("sw", SIZE, 1_000_000)]
    keys, place = np.arange(len(values)), values / SIZE
    for depends in (True, False):
        # Everybody gives to the first service; who gives to the second as well depends on the number, or does not.
        chance = np.abs(2 * place - 0.5) if depends else np.full(len(values), 0.5)
        give = [np.ones(len(values), bool), generator.random(len(values)) < chance]
        services = [
            Service(channel.mechanism, channel, keys[here], perturb(channel, values[here], generator), (0, 1))
            for channel, here in zip(channels, give, strict=True)
        ]
        fused = fuse(services)
        found, fitted = mean(fused, method="fitted", differ=0), density(fused)
        for each in (found, fitted):
            assert each.homogeneity is not None
            assert each.homogeneity.rejected == depends
        assert SAME_DISTRIBUTION in found.assumptions
        free = mean(fused)
        assert abs(free.value - (values.mean() + 0.5) / SIZE) <= Z * free.standard_error


def test_the_test_of_means_says_what_it_notices() -> None:
    fused = levels([SHARES, SHARES], pair(), [4000, 4000], np.random.default_rng(5))
    found = mean(fused)
    assert found.homogeneity is not None
    worst = np.hypot(*(error for _, error in found.services.values()))
    assert found.homogeneity.noticed == pytest.approx(3.418 * worst, rel=1e-3)
