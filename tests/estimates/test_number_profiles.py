"""Intervals of quantiles and shares of a number hold whatever its distribution is, also where levels differ.

Reports are drawn from the exact law of their counts. A quantile is covered if its bucket is: the interval holds it if
neither of two true hypotheses about the bucket's edges is rejected, so coverage needs no interval.
"""

from __future__ import annotations

import itertools
import json
import pickle
from functools import cache

import numpy as np
import pytest
from scipy import stats

from helpers.claims import FALSE_ALARM, runs
from pldp import Tally, estimate, tally
from pldp.errors import EstimateError
from pldp.estimates import QUANTILES, NumberResult, density, share_between
from pldp.estimates.likelihood.misfit import Misfit
from pldp.estimates.likelihood.profile import QUANTILE_DEGREES, SHARE_DEGREES, Profile, limit
from pldp.mechanisms import Channel, build
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays
from pldp.simulate import Population, perturb_numbers, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import ABSENT, Fused, Service, Source, fuse, fused_of

SIZE = 256
EDGES = np.linspace(0, 1, SIZE + 1)


def histogram(law: stats.rv_continuous) -> FloatArray:
    """Return the shares of the buckets; who is above the range is in the last one."""
    shares = np.diff(law.cdf(EDGES), append=0)[:-1]
    shares[-1] += law.sf(1)
    return shares / shares.sum()


def at(places: list[int], shares: FloatArray | list[float]) -> FloatArray:
    found = np.zeros(SIZE)
    found[places] = shares
    return found


def heaped(shares: FloatArray, width: int) -> FloatArray:
    """Half the people round down to a multiple."""
    sums = shares.reshape(-1, width).sum(axis=1)
    return (shares + at(list(range(0, SIZE, width)), sums)) / 2


SHAPES = {
    "uniform": np.full(SIZE, 1 / SIZE),
    "bimodal": (histogram(stats.norm(0.3, 0.07)) + histogram(stats.norm(0.7, 0.07))) / 2,
    "log-normal": histogram(stats.lognorm(0.5, scale=0.05)),
    "gamma": histogram(stats.gamma(2, scale=0.1)),
    "exponential": histogram(stats.expon(scale=0.1)),
    "heaped": heaped(histogram(stats.gamma(3, scale=0.12)), 16),
    # Sixteen buckets apart, which is as wide as the window of the square wave at ε = 4: the hardest case known.
    "integers": at(list(range(8, SIZE, 16)), stats.binom(15, 0.3).pmf(np.arange(16))),
    "two spikes": at([64, 179], [0.4, 0.6]),
    "30 % zeros": 0.7 * histogram(stats.gamma(3, scale=0.1)) + at([0], [0.3]),
}
CELLS = list(itertools.product((2_000, 20_000, 100_000), (0.5, 1, 2, 4)))


@cache
def channel(epsilon: float, mechanism: str = "sw") -> tuple[Channel, FloatArray]:
    made = build(mechanism, SIZE, round(1e6 * epsilon))
    return made, piecewise_arrays(made).pieces().table()[:-1]


def draw(shapes: list[FloatArray], people: list[int], epsilons: list[float], generator: np.random.Generator) -> Fused:
    """Return the reports of people of several levels."""
    sources, cells, counts = [], [], []
    for place, (shares, number, epsilon) in enumerate(zip(shapes, people, epsilons, strict=True)):
        made, table = channel(epsilon)
        law = table @ shares
        drawn = generator.multinomial(number, law / law.sum())
        cell = np.full((len(drawn), len(shapes)), ABSENT, np.int32)
        cell[:, place] = np.arange(len(drawn))
        sources.append(Source(f"level {place}", made, number))
        cells.append(cell[drawn > 0])
        counts.append(drawn[drawn > 0])
    return Fused(tuple(sources), (0.0, 1.0), np.concatenate(cells), np.concatenate(counts))


def bucket_of(shares: FloatArray, share: float) -> int:
    """Return the bucket in which the cumulative curve reaches a share."""
    return int(np.searchsorted(np.cumsum(shares), share - 1e-12))


def distances(misfit: Misfit, shares: FloatArray) -> tuple[list[float], list[float]]:
    """Return T of the true hypotheses about each quantile, and of the true share below each end of its bucket."""
    buckets, truth, fitted = np.arange(SIZE), np.concatenate([[0], np.cumsum(shares)]), misfit.cumulative
    quantiles, cumulative = [], []
    for share in QUANTILES:
        place = bucket_of(shares, share)
        worst = 0.0
        for edge, wrong in ((place, fitted[place] > share), (place + 1, fitted[place + 1] < share)):
            if wrong:
                worst = max(worst, misfit.profile(buckets < edge, share)[0])
            if 1e-4 < truth[edge] < 1 - 1e-4:
                cumulative.append(misfit.profile(buckets < edge, truth[edge])[0])
        quantiles.append(worst)
    return quantiles, cumulative


def covers(found: list[float], degrees: int, confidence: float, comparisons: int) -> bool:
    """Tell whether at least this part of them is below the limit (false alarm 1e-6).

    Numbers of one run hang together: `comparisons` of them count as one. Two points are left for what is asymptotic in
    the limit.
    """
    inside = np.array(found) <= limit(confidence, degrees)
    trials = max(1, len(found) // comparisons)
    return bool(stats.binom.cdf(round(inside.mean() * trials), trials, confidence - 0.02) >= FALSE_ALARM)


@cache
def simulated(shape: str, per_cell: int, seed: int = 1) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    quantiles, cumulative = [], []
    for people, epsilon in CELLS:
        for _ in range(per_cell):
            fused = draw([SHAPES[shape]], [people], [epsilon], generator)
            found = distances(Misfit.of(fused, apart=False), SHAPES[shape])
            quantiles += found[0]
            cumulative += found[1]
    return quantiles, cumulative


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_quantiles_and_shares_hold_for_every_shape(shape: str, confidence: float) -> None:
    quantiles, cumulative = simulated(shape, runs(1, 170))
    assert covers(quantiles, QUANTILE_DEGREES, confidence, len(QUANTILES))
    assert covers(cumulative, SHARE_DEGREES, confidence, 2 * len(QUANTILES))


def test_one_degree_of_freedom_would_not_be_enough_beside_a_spike() -> None:
    """The limit that holds without f ≥ 0 misses true shares far more often than it says."""
    missed = [
        np.mean(np.array(simulated(shape, runs(1, 170))[1]) > limit(0.95, 1)) for shape in ("integers", "two spikes")
    ]
    assert min(missed) > 0.15


def test_the_interval_of_the_smooth_curve_fails_where_a_density_rises_steeply() -> None:
    """At the 5 % quantile of log-normal numbers, where the profile never fails."""
    generator, shares = np.random.default_rng(3), histogram(stats.lognorm(1, scale=0.1))
    truth = np.interp(0.05, [0, *np.cumsum(shares)], EDGES)
    smooth, wide, tried = 0, 0, runs(12, 200)
    for _ in range(tried):
        fused = draw([shares], [20_000], [2], generator)
        _, low, high = density(fused, splines=24).quantile(0.05)
        smooth += low <= truth <= high
        low, high = Profile(fused).quantiles((0.05,)).quantile(0.05)
        wide += low <= truth <= high
    assert stats.binom.cdf(wide, tried, 0.93) >= FALSE_ALARM
    assert stats.binom.cdf(smooth, tried, 0.93) < FALSE_ALARM


@pytest.mark.parametrize(
    ("strict", "open_"), [("30 % zeros", "uniform"), ("two spikes", "two spikes"), ("gamma", "integers")]
)
def test_intervals_hold_where_the_level_depends_on_the_number(strict: str, open_: str) -> None:
    generator, parts = np.random.default_rng(4), [0.6, 0.4]
    shapes = [SHAPES[strict], SHAPES[open_]]
    shares = np.average(shapes, axis=0, weights=parts)
    quantiles, cumulative, pooled = [], [], []
    for _ in range(runs(4, 350)):
        for people in (2_000, 50_000):
            fused = draw(shapes, [round(part * people) for part in parts], [0.5, 2], generator)
            found = distances(Misfit.of(fused, apart=True), shares)
            quantiles += found[0]
            cumulative += found[1]
            pooled += distances(Misfit.of(fused, apart=False), shares)[0]
    assert covers(quantiles, QUANTILE_DEGREES, 0.95, len(QUANTILES))
    assert covers(cumulative, SHARE_DEGREES, 0.95, 2 * len(QUANTILES))
    # One histogram for both levels would not do, unless both levels are alike.
    assert covers(pooled, QUANTILE_DEGREES, 0.95, 1) == (strict == open_)


def asked(numbers: dict[str, np.ndarray], seed: int = 0, **question: object) -> Tally:
    document = {"name": "q", "kind": "number", "low": 0, "high": 10, "buckets": 64, **question}
    survey = loads(json.dumps({"pldp": 1, "title": "t", "levels": {"a": 1, "b": 3}, "questions": [document]}))
    people = {
        level: Population.of_values(survey, {"q": each}, level_mix={level: 1}, seed=1 + seed)
        for level, each in numbers.items()
    }
    parts = [tally(survey, simulate_reports(survey, each, seed=seed)) for each in people.values()]
    return sum(parts[1:], start=parts[0])


@cache
def tallied() -> Tally:
    generator = np.random.default_rng(5)
    return asked({level: 10 * generator.beta(2, 5, 4000) for level in "ab"})


@cache
def example() -> NumberResult:
    return estimate(tallied(), "q")


def test_a_result_shows_conservative_intervals_and_beside_them_those_if_smooth() -> None:
    found = example()
    mapping = found.to_mapping()
    assert [row["conservative"] for row in mapping["rows"]] == found.conservative.tolist() == [False] + [True] * 5
    assert "conservative-intervals" in [note.code for note in found.notes]
    for row, share in zip(mapping["rows"][1:], QUANTILES, strict=True):
        assert (row["estimate"], row["low"], row["high"]) == found.quantile(share)
        assert (row["estimate"], row["smooth_low"], row["smooth_high"]) == found.quantile(share, smooth=True)
        assert row["low"] <= row["estimate"] <= row["high"]
        assert row["high"] - row["low"] > row["smooth_high"] - row["smooth_low"] > 0
    assert "if smooth" in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - made here


def test_quantiles_of_respondents_are_covered_by_the_intervals_for_the_population_and_a_note_says_so() -> None:
    missed, times = 0, runs(4, 200)
    for seed in range(times):
        numbers = {level: 10 * np.random.default_rng([seed, ord(level)]).beta(2, 5, 600) for level in "ab"}
        counted = asked(numbers, seed)
        found = Profile(fused_of(counted, "q"))
        together = np.sort(np.concatenate(list(numbers.values())))
        for share in QUANTILES:
            low, high = found.quantiles((share,)).quantile(share)
            missed += not low <= together[int(np.ceil(share * len(together))) - 1] <= high
    assert stats.binomtest(missed, times * len(QUANTILES), 0.05, "greater").pvalue >= FALSE_ALARM
    codes = [note.code for note in estimate(counted, "q", target="respondents").notes]
    assert "quantiles-of-population" in codes
    assert "quantiles-of-population" not in [note.code for note in example().notes]


def test_shares_of_ranges_agree_with_each_other_and_with_quantiles() -> None:
    found = example()
    for smooth in (False, True):
        below, between, above = (found.range(*ends, smooth=smooth) for ends in ((0, 2.5), (2.5, 5), (5, 10)))
        assert below.estimate + between.estimate + above.estimate == pytest.approx(1)
        assert all(0 <= row.low < row.estimate < row.high <= 1 and row.standard_error > 0 for row in (below, between))
        assert found.below(2.5, smooth=smooth)[1:] == below[1:]
    assert found.range(0, 10).estimate == pytest.approx(1)
    assert found.range(0, 10)[3:] == pytest.approx((1, 1))
    middle, _, highest = found.quantile(0.5)
    assert found.below(middle).estimate == pytest.approx(0.5)
    assert found.cumulative(highest, 0.99).high > 0.5


def test_the_interval_of_a_share_from_the_reports_is_inside_the_one_that_follows_from_quantiles() -> None:
    for ends in ((0, 2.5), (2.5, 5), (5, 10), (1.7, 1.9)):
        for confidence in (0.5, 0.95, 0.99):
            sharp, rough = (
                share_between(tallied(), "q", *ends, confidence=confidence),
                example().range(*ends, confidence),
            )
            assert sharp[:3] == rough[:3]
            assert rough.low <= sharp.low <= sharp.estimate <= sharp.high <= rough.high
    lower, narrow = (share_between(tallied(), "q", 2.5, 5, confidence=each) for each in (0.99, 0.5))
    assert lower.low < narrow.low
    assert narrow.high < lower.high


def test_a_range_that_ends_inside_buckets_reaches_from_the_inner_to_the_outer_edges() -> None:
    width = 10 / 64
    inner, outer, cut, tiny, least = (
        share_between(tallied(), "q", low * width, high * width)
        for low, high in ((17, 30), (16, 31), (16.5, 30.5), (16.1, 16.9), (0, 0.3))
    )
    assert inner.estimate < cut.estimate < outer.estimate
    assert (cut.low, cut.high) == pytest.approx((inner.low, outer.high), abs=1e-3)
    assert tiny.low == least.low == 0


def test_intervals_at_other_confidences_are_looked_up_and_never_narrower_than_those_from_the_reports() -> None:
    profile = Profile(fused_of(tallied(), "q"))
    looked = profile.quantiles(QUANTILES, 0.95)
    for confidence in (0.5, 0.8, 0.95, 0.99, 0.9999):
        for share in (*QUANTILES, 0.4):
            exact = profile.quantiles((share,), confidence)
            (low, high), (least, most) = looked.quantile(share, confidence), exact.quantile(share, confidence)
            assert low <= least <= most <= high
            if confidence == 0.95 and share in QUANTILES:
                assert (low, high) == (least, most)


def test_only_numbers_have_shares_between_two_numbers() -> None:
    with pytest.raises(EstimateError, match="are those of numbers; question 'mode' is of kind choice"):
        share_between(tally(Survey.load("examples/commute.toml"), []), "mode", 0, 1)


@pytest.mark.parametrize("ends", [(-1, 5), (5, 11), (5, 5), (6, 5), (float("nan"), 5)])
def test_a_range_outside_the_bounds_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(EstimateError, match="low and high must be between 0 and 10, low below high"):
        example().range(*ends)


def test_simultaneous_intervals_are_those_of_a_sixth_of_the_error_rate() -> None:
    found = example()
    together, alone = found.interval(0.94, simultaneous=True), found.interval(0.99)
    np.testing.assert_array_equal(together, alone)
    assert (together.low <= found.interval(0.94).low).all()


def test_where_levels_disagree_the_result_without_assumptions_has_quantiles_of_all_people() -> None:
    generator = np.random.default_rng(6)
    numbers = {"a": 10 * generator.beta(2, 8, 6000), "b": 10 * generator.beta(8, 2, 4000)}
    free = estimate(asked(numbers), "q")
    found = estimate(asked(numbers), "q", differ=0)
    assert {"levels-disagree", "curve-pools-levels"} <= {note.code for note in found.notes}
    assert isinstance(free, NumberResult)
    assert "curve-pools-levels" not in [note.code for note in free.notes]
    everybody = np.concatenate([*numbers.values()])
    for share in (0.25, 0.5, 0.75):
        truth = np.quantile(everybody, share)
        middle, low, high = free.quantile(share, 0.99)
        assert low <= truth <= high
        assert abs(middle - truth) < 1
    _, low, high = found.quantile(0.25)
    assert not low <= np.quantile(everybody, 0.25) <= high
    assert found.alike is None
    ends = [
        [(row["low"], row["high"]) for row in rows]
        for rows in (free.to_mapping()["alike"]["rows"], found.to_mapping()["rows"])
    ]
    assert ends[0] == ends[1]
    assert free.to_mapping()["alike"]["rejected"]


def test_a_level_of_few_people_has_the_curve_of_all_and_a_histogram_of_its_own() -> None:
    generator = np.random.default_rng(7)
    found = estimate(asked({"a": 10 * generator.beta(2, 5, 3), "b": 10 * generator.beta(2, 5, 3000)}), "q")
    assert found.alike is not None
    for one, two in zip(found.rows(), found.alike.rows(), strict=True):
        assert two.estimate == pytest.approx(one.estimate, abs=0.5)


def test_the_minimum_is_that_of_a_general_solver() -> None:
    """X² of the histogram that fits best, and with a share fixed, beside non-negative least squares with heavy rows."""
    from scipy.optimize import nnls  # noqa: PLC0415 - only here

    generator, size = np.random.default_rng(8), 32
    made = [build("sw", size, epsilon) for epsilon in (1_000_000, 3_000_000)]
    values = np.minimum(generator.integers(0, size, 3000), generator.integers(0, size, 3000))
    services = [
        Service(
            f"{place}", each, np.arange(1500) + 1500 * place, perturb_numbers(each, values[place::2], generator), (0, 1)
        )
        for place, each in enumerate(made)
    ]
    misfit = Misfit.of(fuse(services), apart=False)
    counted = misfit._parts[0].counted
    rows = np.concatenate([np.sqrt(each.scale)[:, None] * each.rows.pieces[0].table()[:-1] for each in counted])
    right = np.concatenate([np.sqrt(each.scale) * each.shares for each in counted])
    inside = np.arange(size) < 9

    def least(*rules: tuple[FloatArray, float]) -> float:
        heavy = 1e5
        shares, _ = nnls(
            np.vstack([rows, *(heavy * rule[None] for rule, _ in rules)]),
            np.append(right, [heavy * end for _, end in rules]),
        )
        return float(((rows @ shares - right) ** 2).sum())

    everybody = (np.ones(size), 1.0)
    for share in (0.05, 0.2, 0.6, 0.9):
        low, high = misfit.profile(inside, share)
        wanted = least(everybody, (inside.astype(float), share)) - least(everybody)
        assert low - 0.01 <= wanted <= high + 0.01
        assert high - low < 0.01


def test_profiles_need_people_who_gave_to_one_service() -> None:
    generator, keys = np.random.default_rng(9), np.arange(100)
    made = [build(name, 32, 1_000_000) for name in ("sw", "pm")]
    reports = [perturb_numbers(each, np.full(100, 8), generator) for each in made]
    fused = fuse([Service(each.mechanism, each, keys, one) for each, one in zip(made, reports, strict=True)])
    with pytest.raises(EstimateError, match="one service each"):
        Profile(fused).range(0, 1)


def of_atoms(shares: dict[float, float], people: int = 20_000) -> NumberResult:
    """Return the result of a number from 0 to 8 in eight buckets, where so many people have exactly these numbers."""
    question = {"name": "q", "kind": "number", "low": 0, "high": 8, "buckets": 8}
    asked_of = Survey.read({"pldp": 1, "title": "t", "levels": {"open": 4}, "questions": [question]})
    numbers = np.repeat([*shares], np.round(np.array([*shares.values()]) * people).astype(int))
    drawn = Population.of_values(asked_of, {"q": np.random.default_rng(3).permutation(numbers)}, seed=3)
    return estimate(tally(asked_of, simulate_reports(asked_of, drawn, seed=3)), "q")


def test_at_most_a_number_includes_those_who_have_it_and_less_than_it_does_not() -> None:
    everybody_at_3 = of_atoms({3.0: 1.0})
    assert everybody_at_3.cumulative(3).high == pytest.approx(1, abs=1e-6)
    assert everybody_at_3.below(3).high < 0.2
    assert everybody_at_3.cumulative(3).label == "≤ 3"
    assert everybody_at_3.below(3).label == "< 3"
    assert everybody_at_3.range(3, 4).label == "3 to below 4"
    assert everybody_at_3.range(3, 8).label == "3 to 8"
    assert everybody_at_3.cumulative(8)[1:] == pytest.approx((1, 0, 1, 1))
    some = of_atoms({0.0: 0.25, 3.0: 0.5, 7.9: 0.25})
    for number, truth in ((0, 0.25), (2.9, 0.25), (3, 0.75), (7.9, 1.0)):
        found = some.cumulative(number)
        assert found.low <= truth <= found.high
        assert found.low <= found.estimate <= found.high
