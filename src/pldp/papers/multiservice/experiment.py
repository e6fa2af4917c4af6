"""Several services: mean and distribution from their joined reports.

Settings of the paper (Figures 4 to 8, Table 1): services with SR, Laplace, PM and SW for means, with SR, PM and SW for
distributions; equal and unequal ε; one mechanism for all; many services; many dimensions; eleven groups of users who
give to different services. Single services estimate means from their unbiased numbers and distributions by EMS, as
there. Numbers are rounded to 256 buckets for means and to 1,024 for distributions (quick: 64 and 256).

Datasets: Beta(2, 5); Beta+Sin, the density of Beta(2, 5) times 1 + ½ sin(20πx) (the paper gives no formula); Taxi, a
1-in-1000 sample of pick-up times 2015-2019, not January 2018; Retirement, San Francisco totals 2011-2014 within
10,000 … 60,000, both in 1,024 parts. Laplace noise is cut at the bounds, which the paper does not do and which lowers
its variance. The paper's Taobao clicks are not at hand: many dimensions use Beta numbers with a mean of their own.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates import FusedLikelihood, density, mean
from pldp.mechanisms import Grid, build, micro_epsilon
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.datasets import load_counts
from pldp.papers.multiservice import ems, give_to_groups, js, split_dimensions, ua, ule, uwa
from pldp.papers.running import Progress, in_parallel, mean_and_error, track
from pldp.simulate import perturb_numbers, to_buckets
from pldp.tallies import Fused, Service, fuse

REAL: Final = {"taxi": "taxi_pickups", "retirement": "sf_pay"}  # numbers of real people, by name of their counts
SYNTHETIC: Final = ("beta", "beta_sin")
ABSENT_DATA: Final = "taobao (clicks of Figures 6c and 6d)"
FOUR: Final = ("sr", "laplace", "pm", "sw")
THREE: Final = ("sr", "pm", "sw")
UNEQUAL_FOUR: Final = ((0.1, 0.2, 0.3, 0.4), (0.2, 0.4, 0.1, 0.3), (0.3, 0.1, 0.4, 0.2), (0.4, 0.3, 0.2, 0.1))
UNEQUAL_THREE: Final = ((0.1, 0.2, 0.3), (0.2, 0.3, 0.1), (0.3, 0.1, 0.2), (0.2, 0.1, 0.3))
MEAN_BUCKETS: Final = 256
BUCKETS: Final = 1024


@dataclass(frozen=True)
class Setting:
    """One cell of a figure."""

    figure: str
    dataset: str
    people: int
    services: tuple[str, ...]
    epsilons: tuple[float, ...]
    buckets: int
    dimensions: int = 1
    groups: bool = False

    @property
    def measure(self) -> str:
        """What is measured: the mean squared error of a mean, or the divergence of a distribution."""
        return "mse" if self.figure.endswith("mean") else "js"


Found = dict[str, tuple[float, float]]  #: Error and CPU seconds of each method.


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all settings in parallel processes."""
    settings = list(_quick() if quick else _full())
    tasks = [(setting, seed * 1000 + n) for setting in settings for n in range(_repeats(setting, quick=quick))]
    found: dict[Setting, list[Found]] = defaultdict(list)
    for task, result in track(zip(tasks, in_parallel(_one_run, tasks), strict=True), len(tasks), progress):
        found[task[0]].append(result)
    rows = [_row(setting, method, runs) for setting, runs in found.items() for method in runs[0]]
    return {"missing": [ABSENT_DATA], "rows": rows}


def _repeats(setting: Setting, *, quick: bool) -> int:
    """How often a setting is run; most often where the default density is held against ULE and EMS."""
    if setting.measure == "mse":
        return 4 if quick else 10
    return 8 if not quick and setting.figure == "4 distribution" and setting.epsilons[0] == 0.3 else 2


def _quick() -> Iterator[Setting]:
    for name in (*SYNTHETIC, *REAL):
        yield Setting("4 mean", name, 10_000, FOUR, (0.3,) * 4, 64)
        yield Setting("4 distribution", name, 4_000, THREE, (0.3,) * 3, 256)
    yield Setting("5 mean", "beta", 10_000, FOUR, UNEQUAL_FOUR[-1], 64)
    yield Setting("5 distribution", "beta", 4_000, THREE, UNEQUAL_THREE[0], 256)
    yield Setting("6 mean", "beta", 10_000, ("pm",) * 4, (0.1, 0.2, 0.3, 0.4), 64)
    yield Setting("7 mean", "beta_sin", 10_000, THREE * 2, (0.1,) * 6, 64)
    yield Setting("8 mean", "beta", 11_000, FOUR, (0.3,) * 4, 64, groups=True)


def _full() -> Iterator[Setting]:
    people = 100_000
    for name in (*SYNTHETIC, *REAL):
        for epsilon in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
            yield Setting("4 mean", name, people, FOUR, (epsilon,) * 4, MEAN_BUCKETS)
            yield Setting("4 distribution", name, people, THREE, (epsilon,) * 3, BUCKETS)
        for epsilons in UNEQUAL_FOUR:
            yield Setting("5 mean", name, people, FOUR, epsilons, MEAN_BUCKETS)
        for each in UNEQUAL_THREE:
            yield Setting("5 distribution", name, people, THREE, each, BUCKETS)
    for mechanism in FOUR:
        yield Setting("6 mean", "beta", people, (mechanism,) * 4, (0.1, 0.2, 0.3, 0.4), MEAN_BUCKETS)
    for mechanism in THREE:
        yield Setting("6 distribution", "beta", people, (mechanism,) * 3, (0.1, 0.2, 0.3), BUCKETS)
    for dimensions in (10, 60):
        yield Setting("6 mean", "beta", people, FOUR, (0.3,) * 4, MEAN_BUCKETS, dimensions=dimensions)
    for count in (4, 8, 12, 16):
        yield Setting("7 mean", "beta_sin", people, FOUR * (count // 4), (0.1,) * count, MEAN_BUCKETS)
    for count in (3, 6, 9, 12, 15):
        yield Setting("7 distribution", "beta_sin", people, THREE * (count // 3), (0.1,) * count, BUCKETS)
    for number in (500_000, 1_000_000):
        yield Setting("7 mean", "beta_sin", number, FOUR, (0.1,) * 4, MEAN_BUCKETS)
    yield Setting("8 mean", "beta", 110_000, FOUR, (0.3,) * 4, MEAN_BUCKETS, groups=True)
    yield Setting("8 distribution", "beta", 110_000, FOUR, (0.3,) * 4, BUCKETS, groups=True)


@lru_cache(maxsize=2)
def _real(name: str) -> FloatArray:
    """The numbers of a real dataset, scaled to [0, 1]: the middles of their parts."""
    counts = list(load_counts(REAL[name]).values())
    return np.asarray(np.repeat((np.arange(len(counts)) + 0.5) / len(counts), counts))


def numbers(dataset: str, people: int, generator: np.random.Generator) -> FloatArray:
    """Return so many numbers on [0, 1] of a dataset; of a real one at most as many as it has."""
    if dataset in REAL:
        real = _real(dataset)
        return real if people >= len(real) else generator.choice(real, people, replace=False)
    drawn = generator.beta(2, 5, people if dataset == "beta" else 3 * people)
    if dataset == "beta":
        return drawn
    kept = drawn[generator.random(len(drawn)) * 1.5 < 1 + 0.5 * np.sin(20 * np.pi * drawn)]
    return np.asarray(kept[:people])


def _one_run(task: tuple[Setting, int]) -> Found:
    """Let every service collect once and estimate with every method; return error and CPU time of each."""
    setting, seed = task
    generator = np.random.default_rng([seed, setting.people, setting.dimensions, len(setting.services)])
    if setting.dimensions > 1:
        return _many_dimensions(setting, generator)
    size = setting.buckets
    values = to_buckets(Grid(0, 1, size), numbers(setting.dataset, setting.people, generator))
    fused = collect(setting, values, generator)
    truth = np.bincount(values, minlength=size) / len(values)
    if setting.measure == "js":
        return {method: (js(truth, shares), seconds) for method, shares, seconds in _distributions(fused)}
    exact = float(truth @ (np.arange(size) + 0.5) / size)
    return {method: ((value - exact) ** 2, seconds) for method, value, seconds in _means(fused)}


def collect(setting: Setting, values: npt.NDArray[Any], generator: np.random.Generator) -> Fused:
    """Let the services collect and join what they have."""
    keys = np.arange(len(values))
    gave = give_to_groups(len(values), generator) if setting.groups else np.ones((len(values), 1), np.bool_)
    services = []
    for place, (mechanism, epsilon) in enumerate(zip(setting.services, setting.epsilons, strict=True)):
        here = gave[:, place % gave.shape[1]]
        channel = build(mechanism, setting.buckets, micro_epsilon(epsilon))
        outputs = perturb_numbers(channel, values[here], generator)
        services.append(Service(f"{mechanism}{place}", channel, keys[here], outputs, (0, 1)))
    return fuse(services)


def _time(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _means(fused: Fused) -> Iterator[tuple[str, float, float]]:
    best, seconds = _time(lambda: mean(fused, target="respondents"))
    for source in fused.sources:
        yield f"{source.name} (ε {source.channel.epsilon:g})", best.services[source.name][0], 0.0
    yield "weights", best.value, seconds
    yield "ua", *_time(lambda: ua(fused))
    yield "uwa", *_time(lambda: uwa(fused))
    fitted, seconds = _time(lambda: mean(fused, method="fitted", target="respondents"))
    yield "fitted_mean", fitted.value, seconds


def _distributions(fused: Fused) -> Iterator[tuple[str, FloatArray, float]]:
    windows = [source for source in fused.sources if source.channel.mechanism != "laplace"]
    for source in windows[:4]:
        single, seconds = _time(partial(ems, fused.only(source.name)))
        yield f"{source.name} (ε {source.channel.epsilon:g})", single.shares, seconds
    joined = fused.only(*(source.name for source in windows))
    model, building = _time(partial(FusedLikelihood, joined))
    for method, work in (("ule", ule), ("ems", ems), ("default", density)):
        fitted, seconds = _time(partial(work, model))
        yield method, fitted.shares, seconds + building


def _many_dimensions(setting: Setting, generator: np.random.Generator) -> Found:
    """Each user reports one dimension; the error is the average over the dimensions."""
    own = split_dimensions(setting.people, setting.dimensions, generator)
    total: Found = {}
    for dimension, count in enumerate(np.bincount(own, minlength=setting.dimensions)):
        drawn = generator.beta(2 + dimension % 5, 5, count)
        values = to_buckets(Grid(0, 1, setting.buckets), drawn)
        exact = float((values.mean() + 0.5) / setting.buckets)
        for method, value, seconds in _means(collect(setting, values, generator)):
            before = total.get(method, (0.0, 0.0))
            total[method] = before[0] + (value - exact) ** 2 / setting.dimensions, before[1] + seconds
    return total


def _row(setting: Setting, method: str, runs: list[Found]) -> dict[str, Any]:
    return {
        "figure": setting.figure,
        "dataset": setting.dataset,
        "n": setting.people,
        "services": ",".join(setting.services) + (" by groups G1-G11" if setting.groups else ""),
        "epsilons": list(setting.epsilons),
        "buckets": setting.buckets,
        "dimensions": setting.dimensions,
        "method": method,
        **mean_and_error(setting.measure, np.array([found[method][0] for found in runs])),
        "runs": len(runs),
        "cpu_seconds": float(np.mean([found[method][1] for found in runs])),
    }
