"""Several services: mean and distribution from their joined reports, in the paper's settings.

Means are computed, not sampled: `means` sums over all reports that four services can get, so that the mean squared
error of any number of people is exact; only for more than four services people are drawn. Laplace noise is unbounded.
Distributions (`shapes`) are sampled: 50 runs of the paper's number of people, single services and all together
estimated by EM as printed and, as the authors run it, with smoothing.

Datasets, as shares of numbers on [0, 1]: Beta(2, 5); Beta+Sin, of which the paper gives no formula: here the density of
Beta(2, 5) times 1 + ½ sin(20πx); Taxi, a 1-in-1000 sample of pick-up times 2015-2019, not January 2018; Retirement, San
Francisco totals 2011-2014 within 10,000 … 60,000. Each counts as many people as in the paper.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from scipy.special import betainc

from pldp.estimates import density
from pldp.mechanisms import build, micro_epsilon
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.datasets import load_counts
from pldp.papers.multiservice import GROUPS, ems, js, kl, means, shapes, uwa
from pldp.papers.running import Progress, in_parallel, track
from pldp.simulate import perturb_numbers
from pldp.tallies import Fused, Service, Source, fuse

REAL: Final = {"taxi": "taxi_pickups", "retirement": "sf_pay"}  # numbers of real people, by name of their counts
PEOPLE: Final = {"beta": 1_000_000, "beta_sin": 1_000_000, "taxi": 1_048_575, "retirement": 606_507}
"""Datasets with their people in the paper."""

ABSENT_DATA: Final = "taobao (clicks of Figures 6c and 6d)"
TAOBAO_PEOPLE: Final = 1_172_556
FOUR: Final = ("sr", "laplace", "pm", "sw")
THREE: Final = ("sr", "pm", "sw")
EPSILONS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
UNEQUAL_FOUR: Final = {
    "A1": (0.1, 0.2, 0.3, 0.4),
    "A2": (0.2, 0.4, 0.1, 0.3),
    "A3": (0.3, 0.1, 0.4, 0.2),
    "A4": (0.4, 0.3, 0.2, 0.1),
}
UNEQUAL_THREE: Final = {"C1": (0.1, 0.2, 0.3), "C2": (0.2, 0.3, 0.1), "C3": (0.3, 0.1, 0.2), "C4": (0.2, 0.1, 0.3)}
DIMENSIONS: Final = (10, 20, 30, 40, 50, 60)
CROWDS: Final = (500_000, 1_000_000, 5_000_000, 10_000_000)
GROUP_PEOPLE: Final = 9_000  # the paper: less than 10,000
GROUP_EPSILON: Final = 0.3  # not printed
FEW_PEOPLE: Final = 10_000  # where tuples are too many to be counted
RUNS: Final = 50
QUICK_RUNS: Final = 10
SMOOTH_EPSILON: Final = 0.3


@dataclass(frozen=True)
class Setting:
    """One cell of a figure; `place` says where it stands in it."""

    figure: str
    place: float | str
    dataset: str
    people: int
    services: tuple[str, ...]
    epsilons: tuple[float, ...]

    @property
    def pairs(self) -> list[tuple[str, float]]:
        """Mechanism and ε of each service."""
        return list(zip(self.services, self.epsilons, strict=True))

    def row(self, method: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of the result."""
        return {
            "figure": self.figure,
            "place": self.place,
            "dataset": self.dataset,
            "n": self.people,
            "services": ",".join(self.services),
            "epsilons": list(self.epsilons),
            "method": method,
            **numbers,
        }


Task = tuple[str, Setting, int, int]  # what is measured, where, how many runs, and the seed
Rows = list[dict[str, Any]]


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all settings in parallel processes."""
    tasks: list[Task] = [(kind, each, _runs(each, quick=quick), seed) for kind, each in settings(quick=quick)]
    rows = [row for part in track(in_parallel(_one, tasks), len(tasks), progress) for row in part]
    return {"missing": [ABSENT_DATA], "rows": rows, "checks": checks()}


def _runs(setting: Setting, *, quick: bool) -> int:
    """How often a setting is run; in a quick run people who are drawn one by one are drawn less often."""
    drawn = len(setting.services) > shapes.COUNTED
    return RUNS if not quick else QUICK_RUNS // 2 if drawn else QUICK_RUNS


def settings(*, quick: bool) -> Iterator[tuple[str, Setting]]:
    """Yield every cell of every figure, the longest first, with what is measured there."""
    for count in (15, 12, 9, 6, 3):
        yield "shapes", _equal("7b", count, "beta_sin", FEW_PEOPLE, THREE * (count // 3), 0.1)
    for place, subset in enumerate(GROUPS, 1):
        chosen = tuple((*THREE, "sw")[service] for service in subset)
        yield "shapes", _equal("8d", f"G{place}", "beta", GROUP_PEOPLE, chosen, GROUP_EPSILON)
    for dataset, people in PEOPLE.items():
        for epsilon in EPSILONS:
            yield "shapes", _equal("4e–h", epsilon, dataset, people, THREE, epsilon)
        for name, epsilons in UNEQUAL_THREE.items():
            yield "shapes", Setting("5e–h", name, dataset, people, THREE, epsilons)
        yield "smooth", _equal("ours", SMOOTH_EPSILON, dataset, people, THREE, SMOOTH_EPSILON)
    for mechanism in THREE:
        yield "shapes", Setting("6b", mechanism, "beta", PEOPLE["beta"], (mechanism,) * 3, (0.1, 0.2, 0.3))
    for dimensions in DIMENSIONS:
        yield "shapes", _equal("6d", dimensions, "beta", TAOBAO_PEOPLE // dimensions, THREE, 0.3)
    for people in CROWDS:
        yield "shapes", _equal("7d", people, "beta_sin", people, THREE, 0.1)
    for count in (4, 8, 12, 16):
        yield "times", _equal("Table 1", count, "beta_sin", 20_000 if quick else 1_000_000, FOUR * (count // 4), 0.1)
    for people in (50_000,) if quick else (500_000, 1_000_000):
        yield "times", _equal("Table 1", 3, "beta_sin", people, THREE, 0.1)
    yield from (("means", setting) for setting in _means())


def _means() -> Iterator[Setting]:
    for dataset, people in PEOPLE.items():
        for epsilon in EPSILONS:
            yield _equal("4a–d", epsilon, dataset, people, FOUR, epsilon)
        for name, epsilons in UNEQUAL_FOUR.items():
            yield Setting("5a–d", name, dataset, people, FOUR, epsilons)
    for mechanism in FOUR:
        yield Setting("6a", mechanism, "beta", PEOPLE["beta"], (mechanism,) * 4, (0.1, 0.2, 0.3, 0.4))
    for dimensions in DIMENSIONS:
        yield _equal("6c", dimensions, "beta", TAOBAO_PEOPLE // dimensions, FOUR, 0.3)
    for count in (4, 8, 12, 16):
        yield _equal("7a", count, "beta_sin", PEOPLE["beta_sin"], FOUR * (count // 4), 0.1)
    for people in CROWDS:
        yield _equal("7c", people, "beta_sin", people, FOUR, 0.1)
    for place, subset in enumerate(GROUPS, 1):
        chosen = tuple(FOUR[service] for service in subset)
        yield _equal("8c", f"G{place}", "beta", GROUP_PEOPLE, chosen, GROUP_EPSILON)


def _equal(
    figure: str, place: float | str, dataset: str, people: int, services: tuple[str, ...], epsilon: float
) -> Setting:
    return Setting(figure, place, dataset, people, services, (epsilon,) * len(services))


@lru_cache(maxsize=16)
def shares_of(dataset: str, size: int) -> FloatArray:
    """Return the shares of the buckets of a dataset."""
    if dataset in REAL:
        counts = np.array(list(load_counts(REAL[dataset]).values()), np.float64)
        return np.asarray(counts.reshape(size, -1).sum(axis=1) / counts.sum())
    fine = np.linspace(0, 1, 64 * size + 1)
    found = np.diff(betainc(2, 5, fine))
    if dataset == "beta_sin":
        found *= 1 + 0.5 * np.sin(20 * np.pi * (fine[1:] + fine[:-1]) / 2)
    return np.asarray(found.reshape(size, -1).sum(axis=1) / found.sum())


def _one(task: Task) -> Rows:
    kind, setting, runs, seed = task
    measures: dict[str, Callable[[Setting, int, int], Rows]]
    measures = {"means": mean_rows, "shapes": shape_rows, "smooth": _smooth_rows, "times": _time_rows}
    return measures[kind](setting, runs, seed)


def mean_rows(setting: Setting, runs: int, seed: int) -> Rows:
    """Return the mean squared error of every method: exact, but for UWA with more than four services."""
    shares, people, pairs = shares_of(setting.dataset, means.SIZE), setting.people, setting.pairs
    found: dict[str, Any] = {
        "ua": means.average(pairs),
        "weights": means.constant_weights(pairs, shares),
    }
    rows = [
        setting.row(mechanism, {"epsilon": epsilon} | _exact(means.average([(mechanism, epsilon)]), shares, people))
        for mechanism, epsilon in dict.fromkeys(pairs)
    ]
    if len(pairs) <= means.MOST:
        found |= {"uwa": means.posterior_weights(pairs), "uwa_printed": means.posterior_weights(pairs, printed=True)}
    else:
        mse, error = means.sampled(pairs, shares, people, runs, [seed, len(pairs)])
        rows.append(setting.row("uwa", {"mse": mse, "mse_error": error, "runs": runs}))
    best = min(row["mse"] for row in rows if row["method"] in setting.services)
    rows += [setting.row(method, _exact(personal, shares, people)) for method, personal in found.items()]
    return [row | {"over_best": row["mse"] / best} for row in rows]


def _exact(personal: means.Personal, shares: FloatArray, people: int) -> dict[str, float]:
    error = personal.error(shares, people)
    return {"mse": error, "mse_error": 0.0, "bias_in_errors": float(shares @ personal.bias) / error**0.5}


def shape_rows(setting: Setting, runs: int, seed: int) -> Rows:
    """Return the divergence of every method, by both estimators; of single services also that of ULE over theirs."""
    shares = shares_of(setting.dataset, shapes.SIZE)
    generator = np.random.default_rng([seed, *map(ord, f"{setting.figure}{setting.place}{setting.dataset}")])
    rows = []
    for estimator, found in shapes.estimate(setting.pairs, shares, setting.people, runs, generator).items():
        distances = {name: np.array([js(shares, each) for each in fitted]) for name, fitted in found.items()}
        for name, fitted in found.items():
            place, _, method = name.rpartition(" ")
            numbers = {"estimator": estimator, **_mean("js", distances[name])}
            numbers |= _mean("kl", np.array([kl(shares, each) for each in fitted]))
            if place:
                numbers |= {"epsilon": setting.epsilons[int(place)], **_ratio(distances["ule"], distances[name])}
            rows.append(setting.row(method, numbers | {"runs": runs}))
    return rows


def _mean(name: str, samples: FloatArray) -> dict[str, float]:
    return {name: float(samples.mean()), f"{name}_error": _error(samples)}


def _error(samples: FloatArray) -> float:
    return float(samples.std(ddof=1) / np.sqrt(len(samples)))


def _ratio(one: FloatArray, other: FloatArray) -> dict[str, float]:
    """Return the mean of one over that of the other; the same reports made both, so that their errors go together."""
    ratio = float(one.mean() / other.mean())
    return {"ule_ratio": ratio, "ule_ratio_error": _error((one - ratio * other) / other.mean())}


def _smooth_rows(setting: Setting, runs: int, seed: int) -> Rows:
    """Return the divergence of our density, from counts of the tuples that the channels have."""
    shares = shares_of(setting.dataset, shapes.SIZE)
    channels = [build(mechanism, shapes.SIZE, micro_epsilon(epsilon)) for mechanism, epsilon in setting.pairs]
    tables = [shapes.likelihood(channel) for channel in channels]
    generator = np.random.default_rng([seed, *map(ord, setting.dataset)])
    _, counts = shapes.all_tuples(tables, shares, setting.people, runs, generator)
    cells = np.indices([len(table) for table in tables]).reshape(len(tables), -1).T.astype(np.int32)
    distances = []
    for own in counts.T.astype(np.int64):
        seen = own > 0
        sources = tuple(
            Source(f"{place} {channel.mechanism}", channel, setting.people) for place, channel in enumerate(channels)
        )
        fitted = density(Fused(sources, (0.0, 1.0), cells[seen], own[seen]))
        distances.append(js(shares, fitted.shares))
    return [setting.row("default", _mean("js", np.array(distances)) | {"runs": runs})]


def _time_rows(setting: Setting, runs: int, seed: int) -> Rows:  # noqa: ARG001 - one run tells the time
    """Let everybody report once, and measure how long the estimate takes from the joined reports on."""
    mean_only = len(setting.services) != len(THREE)
    size = means.SIZE if mean_only else 256
    generator = np.random.default_rng([seed, setting.people, len(setting.services)])
    values = generator.choice(size, setting.people, p=shares_of(setting.dataset, size))
    keys = np.arange(setting.people)
    services = []
    for place, (mechanism, epsilon) in enumerate(setting.pairs):
        channel = build(means.UNBOUNDED.get(mechanism, mechanism), size, micro_epsilon(epsilon))
        services.append(Service(f"{place}", channel, keys, perturb_numbers(channel, values, generator), (0, 1)))
    fused = fuse(services)
    start = time.process_time()
    if mean_only:
        uwa(fused)
    else:
        ems(fused)
    return [setting.row("uwa" if mean_only else "ule", {"cpu_seconds": time.process_time() - start, "runs": 1})]


def checks() -> dict[str, Any]:
    """Return what follows from formulas alone: the printed square wave, budgets, and errors for any data."""
    return {
        "square_wave_mass": {f"{epsilon:g}": printed_wave_mass(epsilon) for epsilon in EPSILONS},
        "micro_epsilon": [build(name, means.SIZE, micro_epsilon(0.1)).micro_epsilon for name in FOUR],
        "any_data": {
            f"{dimensions}": worst_for_any_data(TAOBAO_PEOPLE // dimensions, 0.3) for dimensions in DIMENSIONS
        },
    }


def printed_wave_mass(epsilon: float) -> float:
    """Return the total mass of the square wave's printed density, which has e^{ε/2} where the published one has e^ε.

    >>> round(printed_wave_mass(0.6), 2)
    1.26
    """
    odds, root = np.exp(epsilon), np.exp(epsilon / 2)
    reach = (odds - root + 1) / (2 * odds * (root - 1))
    return float((2 * reach * odds + 1) / (2 * reach * root + 1))


def worst_for_any_data(people: int, epsilon: float) -> dict[str, float]:
    """Return bounds of the error of UA and UWA over that of each single service, whatever numbers people have.

    Errors are means over people, up to the bias, which is at most the largest of any value.
    """
    pairs = [(mechanism, epsilon) for mechanism in FOUR]
    single = np.array([means.average([pair]).variance for pair in pairs]) / people
    weighted = means.posterior_weights(pairs, printed=True)
    ua = means.average(pairs).variance / people
    own = weighted.variance / people + np.abs(weighted.bias).max() ** 2
    return {"ua": float((ua / single).max()), "uwa_printed": float((own / single).max())}
