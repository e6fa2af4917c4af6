"""Likelihoods of fused tallies equal the dense ones; densities and means keep what they claim."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from helpers.claims import Z, mean_is, mean_is_at_most, mean_of_few_is, rate_is, runs
from pldp.errors import EstimateError
from pldp.estimates import density, em, fused_likelihood, mean
from pldp.estimates.likelihood import log_density
from pldp.estimates.likelihood.log_density import (
    LogDensity,
    _Quadratic,
    log_share_information,
    pivoted_root,
    spline_basis,
)
from pldp.estimates.linear.numbers import centres, spread
from pldp.mechanisms import Channel, Grid, build, names
from pldp.mechanisms.arrays import piecewise_arrays
from pldp.papers.datasets import load_counts
from pldp.papers.multiservice import SharesAlone, ems, js, likelihood_fit, ule
from pldp.simulate import perturb, perturb_numbers, to_buckets
from pldp.tallies import Fused, Service, Source, fuse

SIZE = 64


def collected(
    values: np.ndarray, channels: list[Channel], seed: int, *, give: np.ndarray | None = None, size: int = SIZE
) -> Fused:
    generator = np.random.default_rng([seed, 7])  # another stream than that of the values
    keys = np.arange(len(values))
    services = []
    for place, each in enumerate(channels):
        here = np.ones(len(values), bool) if give is None else give[:, place]
        outputs = perturb(each, values[here], generator)
        services.append(Service(f"{each.mechanism}{place}", each, keys[here], outputs, (0, 1)))
    return fuse(services)


def beta(people: int, seed: int, size: int = SIZE) -> np.ndarray:
    return to_buckets(Grid(0, 1, size), np.random.default_rng(seed).beta(2, 5, people))


def three(size: int = SIZE, micro: int = 1_000_000) -> list[Channel]:
    return [build(name, size, micro) for name in ("sr", "pm", "sw")]


@pytest.mark.parametrize("name", [*names("numbers"), "krr", "lh"])
def test_rows_are_the_channel_and_expectations_its_sums(name: str) -> None:
    made = build(name, 9, 1_200_000)
    rows = piecewise_arrays(made).pieces()
    exact = np.array([[float(made.probability(y, t)) for t in range(9)] for y in made.outputs()])
    assert np.abs(rows.table()[:-1] - exact).max() < 1e-12
    assert (rows.table()[-1] == 1).all()
    numbers = np.random.default_rng(1).random(len(exact))
    assert np.allclose(rows.expectation(numbers), numbers @ exact)
    if name != "lh":
        assert np.allclose(piecewise_arrays(made).unbiased() @ exact, centres(9), atol=1e-9)


@pytest.mark.parametrize("names", [("sr", "pm", "sw"), ("hm", "laplace", "krr"), ("laplace", "laplace", "sw"), ("sr",)])
def test_likelihood_equals_the_dense_one_with_any_subset_of_services(names: tuple[str, ...]) -> None:
    generator = np.random.default_rng(3)
    channels = [build(n, 16, 900_000) for n in names]
    give = generator.random((300, len(names))) < 0.7
    give[:, 0] = True
    fused = collected(beta(300, 1, 16), channels, 2, give=give, size=16)
    dense = np.prod(
        [piecewise_arrays(each).pieces().table()[fused.cells[:, place]] for place, each in enumerate(channels)], axis=0
    )
    model, shares = fused_likelihood(fused), generator.dirichlet(np.ones(16))
    dense = dense[model.rows.order]
    cells = dense @ shares
    weights = fused.counts[model.rows.order] / fused.people
    assert np.allclose(model.scores(shares), dense.T @ (weights / cells))
    hessian = dense.T @ np.diag(weights / cells**2) @ dense
    vector = generator.normal(size=16)
    assert np.allclose(SharesAlone(model).curvature(shares)(vector), hessian @ vector)
    columns = generator.normal(size=(16, 3))
    assert np.allclose(model.information(shares, columns), columns.T @ hessian @ columns)
    wide = generator.normal(size=(16, 40))
    assert np.allclose(model.information(shares, wide), wide.T @ hessian @ wide)


def test_fit_is_certified_and_plain_em_climbs_towards_it() -> None:
    fused = collected(beta(3000, 1), three(), 2)
    told: list[int] = []
    fit = likelihood_fit(fused, progress=lambda steps, gap: told.append(steps))
    plain = ule(fused, most_steps=200)
    smooth = ems(fused)
    assert fit.converged
    assert fit.gap <= 1e-8
    assert told
    assert smooth.converged
    assert plain.log_likelihood <= fit.log_likelihood + 1e-6
    assert fit.log_likelihood - plain.log_likelihood <= plain.gap * fused.people
    assert smooth.log_likelihood < fit.log_likelihood


@pytest.mark.parametrize("smoothing", [False, True])
def test_em_stops_at_the_first_step_that_moves_the_log_likelihood_too_little(smoothing: bool) -> None:
    model = fused_likelihood(collected(beta(400, 1, 16), three(16), 2, size=16))
    found = em(model, smoothing=smoothing)
    values = [
        em(model, smoothing=smoothing, most_steps=steps).log_likelihood
        for steps in (found.steps - 2, found.steps - 1, found.steps)
    ]
    assert abs(values[1] - values[0]) >= 1e-3 > abs(values[2] - values[1])
    assert values[2] == found.log_likelihood


def test_too_many_combinations_are_refused() -> None:
    laplace = build("laplace", 1024, 3_000_000)
    fused = collected(beta(60_000, 1, 1024), [laplace, laplace], 1, size=1024)
    with pytest.raises(EstimateError, match="too many"):
        fused_likelihood(fused)
    with pytest.raises(EstimateError, match="too large to fuse"):
        piecewise_arrays(build("lh", 60_000, 1_000_000)).pieces()


def test_density_is_smooth_where_the_likelihood_overfits_and_its_bands_hold_the_truth() -> None:
    size, shares = SIZE, np.diff(_beta_cdf(np.linspace(0, 1, SIZE + 1)))
    inside, whole, quantiles, cumulative, errors, wrong = [], [], [], [], [], []
    for seed in range(runs(20, 300)):
        fused = collected(beta(4000, seed), three(size, 1_500_000), seed)
        fitted = density(fused)
        assert fitted.converged
        # Not at the ends: where a density falls to 0 its logarithm is no smooth curve, and the page says so.
        low, high = fitted.band()
        inside.append(((low <= shares * size) & (shares * size <= high))[4:50].mean())
        low, high = fitted.band(simultaneous=True)
        whole.append(((low <= shares * size) & (shares * size <= high))[4:50].all())
        _, below, above = fitted.quantile(0.5)
        quantiles.append(below <= 0.26444998 <= above)
        error = fitted.cumulative - np.concatenate([[0], np.cumsum(shares)])
        cumulative.append(np.abs(error[20]) <= 1.96 * fitted.cumulative_standard_error[20])
        reach = np.hypot(fitted.mean_standard_error, 0.1597 / np.sqrt(4000))
        errors.append((fitted.mean - 2 / 7) / reach)
        wrong.append((fitted.mean - 1 / 3) / reach)
    # A 95 % band, interval or error over so many runs; Z·√(0.05·0.95/runs) is what chance allows.
    slack = Z * np.sqrt(0.05 * 0.95 / len(inside))
    for found in (inside, whole, quantiles, cumulative):
        assert np.mean(found) >= 0.95 - slack
    assert np.mean(inside) < 1
    assert mean_of_few_is(errors, 0.0)
    assert not mean_of_few_is(wrong, 0.0)


def _beta_cdf(x: np.ndarray) -> np.ndarray:
    return 1 - (1 - x) ** 6 - 6 * x * (1 - x) ** 5


def test_detail_is_chosen_from_the_data() -> None:
    generator = np.random.default_rng(1)
    waves = 1 + 0.8 * np.sin(20 * np.pi * (np.arange(128) + 0.5) / 128)
    channels = [build(name, 128, 4_000_000) for name in ("pm", "sw")]
    told: list[int] = []
    values = generator.choice(128, 20_000, p=waves / waves.sum())
    spiky = density(collected(values, channels, 2), progress=lambda splines, steps: told.append(splines))
    smooth = density(collected(beta(20_000, 3, 128), channels, 4))
    assert (spiky.splines, smooth.splines) == (48, 24)
    assert spiky.roughness == smooth.roughness == 0  # a wave is no heap
    assert set(spiky.evidence) == set(told) == {24, 48}
    assert spiky.shares.sum() == pytest.approx(1)
    wide = density(collected(beta(2000, 3, 400), [build("sw", 400, 10**6)], 4))
    assert set(wide.evidence) == {24, 48, 96}
    assert density(collected(beta(500, 1, 6), [build("sw", 6, 10**6)], 1, size=6)).splines == 4


def test_a_rough_fit_is_the_one_of_dense_matrices() -> None:
    """λ, v, β and r of the quadratic model, computed without eigenvectors and elimination."""
    model = fused_likelihood(collected(masses(5, 4000, 1), three(SIZE, 2_000_000), 2))
    fit = LogDensity(model, 12, 2, model.uniform, None)
    fit.bucket_information = model.sampled.information_matrix(fit.shares)
    for variance in (4.0, 0.25):
        fit.variance = variance
        fit.rough = np.random.default_rng(3).normal(0, 0.3, SIZE)
        fit.shares, fit.value = fit._evaluate(fit.curve, fit.rough)
        fit.bucket_information = model.sampled.information_matrix(fit.shares)
        local = _Quadratic(fit)
        columns = np.hstack([fit.basis, np.eye(SIZE)])
        slopes = fit.shares[:, None] * (columns - fit.shares @ columns)
        information = model.people * model.sampled.information(fit.shares, slopes)
        floor = np.zeros((12 + SIZE, 12 + SIZE))
        floor[:12, :12] = local._floor
        aim = information @ np.concatenate([fit.curve, fit.rough]) - columns.T @ local.downhill
        found = []
        for smoothness, own in ((2.0, variance), (0.5, variance * 1.5)):
            penalty = np.zeros_like(floor)
            penalty[:12, :12] = smoothness * fit.penalty
            penalty[12:, 12:] = np.eye(SIZE) / own
            precision = information + floor + penalty
            target = np.linalg.solve(precision, aim)
            curve, rough = local.aim(smoothness, own)
            np.testing.assert_allclose(np.concatenate([curve, rough]), target, atol=2e-3 * np.abs(target).max())
            spread = fit.rank * np.log(smoothness) - SIZE * np.log(own) - np.linalg.slogdet(precision)[1]
            dense = 0.5 * (aim @ target + spread) - fit.doubt(smoothness, own)
            found.append((local.evidence(smoothness, own), dense))
        (first, dense), (second, other) = found
        assert first - second == pytest.approx(dense - other, abs=0.02)
        assert first == pytest.approx(dense, abs=0.05)


ROUGH = {
    "spikes": np.bincount([30, 77, 130, 131, 200], minlength=256) + 0.01,
    "zeros": np.exp(-np.arange(256) / 40) + 60 * (np.arange(256) == 0),
}


@pytest.mark.parametrize("shape", ROUGH)
def test_few_pivots_reach_the_evidence_of_all_eigenvectors(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To .5: a climb ends where the parabola promises a hundredth, so that rounding alone moves its end by as much."""
    fused = square_wave(ROUGH[shape] / ROUGH[shape].sum(), 1_000_000, 2.0, 1)
    quick = density(fused)
    monkeypatch.setattr(log_density, "pivoted_root", eigenvector_root)
    exact = density(fused)
    assert quick.rough_evidence is not None
    assert exact.rough_evidence is not None
    assert quick.rough_evidence >= exact.rough_evidence - 0.5
    assert quick.evidence == exact.evidence  # smooth curves do not use it
    monkeypatch.setattr(log_density, "pivoted_root", lambda matrix, left: pivoted_root(matrix, 1000 * left))
    coarse = density(fused)
    assert coarse.rough_evidence is None or coarse.rough_evidence < exact.rough_evidence - 0.5


def eigenvector_root(matrix: np.ndarray, left: float) -> np.ndarray:
    """The root that `pivoted_root` stands for, by all eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    seen = values > 1e-14 * values[-1]
    return np.asarray((vectors[:, seen] * np.sqrt(values[seen])).T)


@pytest.mark.parametrize("left", [1e-12, 0.1, 3.0])
def test_a_pivoted_root_leaves_no_more_than_asked(left: float) -> None:
    generator = np.random.default_rng(1)
    half = generator.normal(size=(12, 40)) * 0.5 ** np.arange(12)[:, None]
    matrix = half.T @ half
    root = pivoted_root(matrix, left)
    rest = matrix - root.T @ root
    assert np.linalg.eigvalsh(rest)[0] > -1e-9
    assert rest.diagonal().max() <= left + 1e-9
    assert len(root) <= 12
    assert left < 3 or len(root) < 12


def test_information_about_log_shares_is_that_of_their_derivatives() -> None:
    generator = np.random.default_rng(1)
    half, shares = generator.normal(size=(9, 6)), generator.dirichlet(np.ones(6))
    slopes = np.diag(shares) - np.outer(shares, shares)
    np.testing.assert_allclose(
        log_share_information(half.T @ half, shares, 50), 50 * slopes @ half.T @ half @ slopes, atol=1e-12
    )


def masses(count: int, people: int, seed: int, size: int = SIZE) -> np.ndarray:
    """Numbers that take a few exact values."""
    generator = np.random.default_rng(seed)
    return generator.choice(generator.choice(size, count, replace=False), people)


@pytest.mark.parametrize(
    ("made", "repeats", "against_smooth", "against_printed"),
    [
        (lambda seed: masses(3, 20_000, seed, 128), runs(1, 3), 0.8, 0.95),
        (
            lambda seed: np.where(np.random.default_rng(seed).random(20_000) < 0.3, 0, beta(20_000, seed, 128)),
            runs(2, 3),
            1.0,
            0.6,
        ),
    ],
    ids=["three values", "30 % at 0"],
)
def test_spikes_are_found_where_the_reports_show_them(
    made: Callable[[int], np.ndarray], repeats: int, against_smooth: float, against_printed: float
) -> None:
    channels = [build(name, 128, 2_000_000) for name in ("sr", "pm", "sw")]
    covered, distances = [], []
    for seed in range(repeats):
        values = made(seed)
        fused = collected(values, channels, seed, size=128)
        truth = np.bincount(values, minlength=128) / len(values)
        rough, smooth, printed = density(fused), density(fused, splines=24), ule(fused)
        distances.append([js(each.shares, truth) for each in (rough, smooth, printed)])
        assert rough.roughness > 1
        assert rough.smooth is not None
        assert rough.rough_evidence is not None
        assert rough.rough_evidence > max(rough.evidence.values())
        assert rough.smooth.roughness == smooth.roughness == 0
        assert rough.mean_standard_error == rough.smooth.mean_standard_error
        assert rough.cumulative_standard_error is rough.smooth.cumulative_standard_error
        middle, low, high = rough.quantile(0.5)
        covered.append(low <= (np.sort(values)[10_000] + 0.5) / 128 <= high)
        assert low <= middle <= high
        band = rough.band()
        assert (band.low <= np.minimum(rough.density, rough.smooth.density)).all()
        assert (rough.density <= band.high).all()
    assert np.mean(covered) >= (0.6 if runs(0, 1) else 0.5)
    of_rough, of_smooth, of_printed = np.mean(distances, axis=0)
    assert of_rough < against_smooth * of_smooth
    assert of_rough < against_printed * of_printed


def test_smooth_numbers_stay_smooth() -> None:
    for seed in range(runs(3, 6)):
        fitted = density(collected(beta(10_000, seed, 128), three(128, 1_500_000), seed, size=128))
        assert (fitted.roughness, fitted.smooth) == (0, None)


EDGES = np.linspace(0, 1, 257)
SHAPES = {
    "taxi": np.reshape([*load_counts("taxi_pickups").values()], (256, -1)).sum(axis=1),
    "beta": np.diff(stats.beta(2, 5).cdf(EDGES)),
    "log-normal": np.diff(stats.lognorm(0.8, scale=0.12).cdf(EDGES)),
    "two peaks": np.diff(0.6 * stats.norm(0.3, 0.06).cdf(EDGES) + 0.4 * stats.norm(0.7, 0.1).cdf(EDGES)),
    "uniform": np.ones(256),
    "steps": np.diff(0.7 * np.clip((EDGES - 0.2) / 0.3, 0, 1) + 0.3 * np.clip((EDGES - 0.7) / 0.1, 0, 1)),
}


def distances(shape: str, people: int, epsilon: float, seed: int, *fits: Callable[[Fused], Any]) -> list[float]:
    """Distance to the truth of each fit, from the same reports of one square wave."""
    truth = SHAPES[shape] / SHAPES[shape].sum()
    fused = square_wave(truth, people, epsilon, seed)
    return [js(fit(fused).shares, truth) for fit in fits]


def square_wave(truth: np.ndarray, people: int, epsilon: float, seed: int) -> Fused:
    """Reports of people with these shares of 256 buckets."""
    channel = build("sw", 256, round(epsilon * 1e6))
    chance = piecewise_arrays(channel).pieces().table()[:-1] @ truth
    counts = np.random.default_rng([seed, people]).multinomial(people, chance / chance.sum())
    cells = np.flatnonzero(counts)[:, None].astype(np.int32)
    return Fused((Source("sw", channel, people),), (0.0, 1.0), cells, counts[counts > 0])


def smoothed(fused: Fused) -> Any:
    return ems(fused)


@pytest.mark.parametrize(
    ("shapes", "people", "epsilon", "repeats"),
    [(["taxi"], 100_000, 2.0, runs(5, 60)), ([*SHAPES], 2000, 0.5, runs(2, 30))],
    ids=["taxi times", "few people"],
)
def test_the_default_does_not_lose_against_smoothed_em(
    shapes: list[str], people: int, epsilon: float, repeats: int
) -> None:
    """Mean of the logarithms of the ratios over the shapes, run by run; plain EM must lose."""
    fits = (smoothed, density, likelihood_fit)
    table = [[distances(shape, people, epsilon, seed, *fits) for shape in shapes] for seed in range(repeats)]
    found = np.log(table).mean(axis=1)
    assert mean_is_at_most(found[:, 1] - found[:, 0], 0.0)
    assert not mean_is_at_most(found[:, 2] - found[:, 0], 0.0)


def test_steps_have_no_floor() -> None:
    few, many = (
        np.mean([distances("steps", people, 2.0, seed, smoothed, density) for seed in range(runs(2, 20))], axis=0)
        for people in (100_000, 1_000_000)
    )
    assert few[1] < 0.85 * few[0]
    assert many[1] < 0.65 * many[0]
    assert many[1] < 0.8 * few[1]
    assert many[0] > 0.9 * few[0]  # the twin: smoothed EM stays where it is


@pytest.mark.skipif(not runs(0, 1), reason="takes 4 s: make test-long")
def test_a_wave_is_not_taken_for_heaps() -> None:
    """Laplace's evidence alone preferred a rough density here, four times as far from the truth."""
    generator = np.random.default_rng([0, 5])
    drawn = generator.beta(2, 5, 300_000)
    kept = drawn[generator.random(len(drawn)) * 1.5 < 1 + 0.5 * np.sin(20 * np.pi * drawn)]
    values, keys = to_buckets(Grid(0, 1, 1024), kept[:100_000]), np.arange(100_000)
    fused = fuse(
        [
            Service(each.mechanism, each, keys, perturb_numbers(each, values, generator), (0, 1))
            for each in three(1024, 2_000_000)
        ]
    )
    truth = np.bincount(values, minlength=1024) / len(values)
    assert js(density(fused).shares, truth) < 1.1 * js(density(fused, splines=48).shares, truth)


def test_density_is_closer_to_the_truth_than_the_likelihood_alone() -> None:
    truth = np.diff(_beta_cdf(np.linspace(0, 1, SIZE + 1)))
    for seed in range(runs(5, 10)):
        fused = collected(beta(3000, seed), three(SIZE, 600_000), seed)
        smooth, rough = (float(np.abs(fit(fused).shares - truth).sum()) for fit in (density, likelihood_fit))
        assert smooth < 0.6 * rough


@cache
def small_collection(seed: int) -> tuple[np.ndarray, Fused]:
    """Numbers of 1,500 people and their reports to three services, the same for every method."""
    budgets = (("sr", 10**6), ("pm", 2 * 10**6), ("sw", 10**6))
    values = beta(1500, seed, 32)
    return values, collected(values, [build(name, 32, micro) for name, micro in budgets], seed, size=32)


@pytest.mark.parametrize("method", ["weights", "average", "posterior", "fitted"])
def test_intervals_of_means_cover_and_a_wrong_truth_is_seen(method: str) -> None:
    errors, wrong = [], []
    for seed in range(runs(25, 600)):
        values, fused = small_collection(seed)
        found = mean(fused, method=method, target="respondents")
        truth = (values.mean() + 0.5) / 32
        errors.append((found.value - truth) / found.standard_error)
        wrong.append((found.value - 1 / 3) / found.standard_error)
        low, high = found.interval()
        assert low < found.value < high
    assert rate_is(np.abs(errors) <= 1.96, 0.95)
    assert not rate_is(np.abs(errors) <= 0.5, 0.95)
    assert abs(np.mean(np.square(errors)) - 1) <= Z * np.sqrt(2 / len(errors))
    assert mean_is(errors, 0.0)
    assert not mean_is(wrong, 0.0)


def mean_bound(fused: Fused, shares: np.ndarray, *, target: str = "population") -> float:
    """The Cramér–Rao bound: the least standard error of an unbiased mean, along 16 smooth directions."""
    model = fused_likelihood(fused)
    basis = spline_basis(model.size, 16)
    directions = shares[:, None] * (basis - shares @ basis)
    information = model.people * model.sampled.information(shares, directions) + 1.0
    slope = centres(model.size) @ directions
    drawn = spread(shares) / model.people if target == "respondents" else 0.0
    variance = float(slope @ np.linalg.solve(information, slope)) - drawn
    return float(np.sqrt(variance)) * (fused.bounds[1] - fused.bounds[0]) / 2


def test_weights_follow_precision_and_reach_the_bound_within_a_fifth() -> None:
    values = beta(20_000, 1, 32)
    channels = [build("sr", 32, 500_000), build("pm", 32, 3_000_000)]
    fused = collected(values, channels, 2, size=32)
    found = mean(fused, target="respondents")
    assert found.weights["pm1"] > 0.9
    assert mean(fused, method="average").weights["pm1"] == 0.5
    assert found.standard_error < min(error for _, error in found.services.values())
    bound = mean_bound(fused, density(fused).shares, target="respondents")
    assert bound < found.standard_error < 1.2 * bound
    population = mean(fused)
    assert population.standard_error > found.standard_error
    assert mean_bound(fused, density(fused).shares) > bound


def test_people_who_differ_by_service_are_detected_and_the_mean_holds() -> None:
    generator = np.random.default_rng(5)
    give = np.ones((20_000, 2), bool)
    give[:10_000, 1] = False
    channels = [build("pm", 32, 2_000_000)] * 2
    values = generator.integers(0, 32, 20_000)
    same = mean(collected(values, channels, 6, give=give, size=32))
    assert same.homogeneity is not None
    assert not same.homogeneity.rejected
    values[10_000:] = np.minimum(values[10_000:] + 8, 31)
    other = mean(collected(values, channels, 6, give=give, size=32), target="respondents")
    assert other.homogeneity is not None
    assert other.homogeneity.rejected
    truth = (values.mean() + 0.5) / 32
    assert abs(other.value - truth) <= Z * other.standard_error
    alike = mean(collected(values, channels, 6, give=give, size=32), target="respondents", differ=0)
    assert abs(alike.value - truth) > Z * alike.standard_error


def test_bad_questions_are_refused() -> None:
    fused = collected(beta(100, 1, 16), three(16), 1, size=16)
    for arguments, message in (
        ({"method": "median"}, "method must be one of weights"),
        ({"target": "all"}, "target must be one of"),
        ({"differ": 0.05}, "joined services take no bound on differences of levels but 0"),
    ):
        with pytest.raises(EstimateError, match=message):
            mean(fused, **arguments)
    found, fitted = mean(fused), density(fused)
    for call in (lambda: found.interval(1), lambda: fitted.band(0), lambda: fitted.quantile(2)):
        with pytest.raises(EstimateError):
            call()
    with pytest.raises(EstimateError, match="at least 4"):
        density(fused, splines=3)
    with pytest.raises(EstimateError, match="at least 10 people"):
        density(collected(beta(5, 1, 16), three(16), 1, size=16))
    hashed = collected(beta(100, 1, 16), [build("lh", 16, 1_000_000)], 1, size=16)
    with pytest.raises(EstimateError, match="lh have no unbiased number"):
        mean(hashed)


def test_density_is_drawn_with_both_bands() -> None:
    pytest.importorskip("matplotlib")
    fitted = density(collected(beta(500, 1, 16), three(16), 1, size=16))
    axes = fitted.plot(truth=np.full(16, 1 / 16))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "truth",
        "95%, whole curve",
        "95%, each number",
        "density",
    ]
    assert fitted.plot(axes=axes) is axes
