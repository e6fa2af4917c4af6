"""Hidden budgets: every method on Education, Job and Country.

Setting of the paper: budgets .1, .2, …, 1.0 chosen uniformly or by a power law, symmetric unary encoding for the data,
k-RR with ε_p for the budget; for the comparison with PBP, budgets .1 and .2 and ε_p = .1.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from pldp.estimates import HiddenReports, group, joint_likelihood, maximum_likelihood, moments, norm_sub
from pldp.mechanisms import MICRO, PureChannel, RandomizedResponse, SymmetricUnaryEncoding
from pldp.mechanisms.arrays import FloatArray
from pldp.papers import febsf
from pldp.papers.datasets import load_counts
from pldp.papers.running import Progress, in_parallel, mean_and_error, track
from pldp.simulate import perturb
from pldp.tallies import BitCounts, Counts, OutputCounts

DATASETS: Final = {"education": "adult_education", "job": "bank_job", "country": "adult_country"}
BUDGETS: Final = tuple(range(100_000, 1_100_000, 100_000))
TWO_BUDGETS: Final = (100_000, 200_000)
RUNS: Final = 50
QUICK_RUNS: Final = 10
KEY: Final = ("dataset", "levels", "epsilon_p", "method")  # what identifies a row
EXTRA_BITS: Final = 16  # always-zero bits that PPDA appends; the paper gives no number


@dataclass(frozen=True)
class Setting:
    """One cell of the tables: dataset, how budgets are chosen, which labels are tried."""

    dataset: str
    levels: str
    label_budgets: tuple[int, ...]

    @property
    def budgets(self) -> tuple[int, ...]:
        """Micro-ε of each level."""
        return TWO_BUDGETS if self.levels.endswith("_two") else BUDGETS

    @property
    def mix(self) -> FloatArray:
        """The distribution of levels: uniform, or falling like 1/rank (people prefer small budgets)."""
        ranks = np.arange(1.0, len(self.budgets) + 1)
        weights = 1 / ranks if self.levels.startswith("power_law") else np.ones_like(ranks)
        return np.asarray(weights / weights.sum())


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all settings in parallel processes."""
    runs = QUICK_RUNS if quick else RUNS
    labels = (300_000, 400_000, 1_000_000) if quick else BUDGETS
    settings = [Setting(*cell, labels) for cell in product(DATASETS, ("uniform", "power_law"))]
    settings += [Setting(*cell, (100_000,)) for cell in product(DATASETS, ("uniform_two", "power_law_two"))]
    tasks = [(setting, seed * 1000 + number) for setting in settings for number in range(runs)]
    errors: dict[tuple[str, str, float, str], list[FloatArray]] = defaultdict(list)
    for task, found in track(zip(tasks, in_parallel(_one_run, tasks), strict=True), len(tasks), progress):
        for (label, method), error in found.items():
            errors[task[0].dataset, task[0].levels, label, method].append(error)
    return {
        "rows": [_row(key, np.array(found)) for key, found in sorted(errors.items())],
        "theorem_5_3": _theorem_5_3(seed, 200 if quick else 1000),
    }


def _row(key: tuple[str, str, float, str], errors: FloatArray) -> dict[str, Any]:
    return {
        **dict(zip(KEY, key, strict=True)),
        **mean_and_error("mse", (errors**2).mean(axis=1)),
        **mean_and_error("mae", np.abs(errors).mean(axis=1)),
        "runs": len(errors),
    }


def _one_run(task: tuple[Setting, int]) -> dict[tuple[float, str], FloatArray]:
    """Let everybody report once and estimate with every method; return the errors by (ε_p, method)."""
    setting, seed = task
    counts = np.array(list(load_counts(DATASETS[setting.dataset]).values()))
    generator = np.random.default_rng([seed, len(counts), len(setting.levels)])
    values = np.repeat(np.arange(len(counts)), counts)
    truth = counts / counts.sum()
    level = generator.choice(len(setting.budgets), len(values), p=setting.mix)
    channels = [SymmetricUnaryEncoding.of(len(counts), micro) for micro in setting.budgets]
    outputs = perturb(channels, values, generator, level=level)
    exposed = _exposed_methods(setting, channels, values, level, outputs, generator)
    found: dict[tuple[float, str], FloatArray] = {}
    for micro in setting.label_budgets:
        hidden = hide(channels, outputs, level, micro, generator)
        for method, shares in (*exposed.items(), *_hidden_methods(hidden, generator)):
            found[micro / MICRO, method] = shares - truth
    return found


def hide(channels: list[Any], outputs: Any, level: Any, micro: int, generator: np.random.Generator) -> HiddenReports:
    """Replace everybody's level by a label perturbed with k-RR."""
    label_channel = RandomizedResponse.of(len(channels), micro)
    label = perturb(label_channel, level, generator)
    counts = [count_outputs(channel, outputs[label == place]) for place, channel in enumerate(channels)]
    return HiddenReports.of(channels, label_channel, counts)


def count_outputs(channel: PureChannel, outputs: Any) -> Counts:
    """Count the outputs of one channel, keeping whole rows of bits."""
    if outputs.ndim == 2:
        return BitCounts.of_rows(outputs, channel.size, patterns=True)
    return OutputCounts(np.bincount(outputs, minlength=channel.form.count))


def _hidden_methods(hidden: HiddenReports, generator: np.random.Generator) -> Iterator[tuple[str, FloatArray]]:
    yield "auem", febsf.auem(hidden)
    yield "auem_projected", norm_sub(febsf.auem(hidden))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the warning is for users; here its result is the point
        yield "emoa", febsf.emoa(hidden)
    fitted = joint_likelihood(hidden, starts=1)
    yield "joint", fitted.fit.shares
    yield "joint_shrunk", fitted.shrunk
    yield "pbp", febsf.pbp(hidden, generator.dirichlet(np.ones(len(hidden.channels))))


def _exposed_methods(
    setting: Setting, channels: list[Any], values: Any, level: Any, outputs: Any, generator: np.random.Generator
) -> Mapping[str, FloatArray]:
    """Methods that know every level (or, for PPDA, need none), on the same reports where they can use them."""
    size = channels[0].size
    groups = [group(channel, count_outputs(channel, outputs[level == place])) for place, channel in enumerate(channels)]
    adaptive = list(groups)
    for place, micro in enumerate(setting.budgets):
        chosen = febsf.apldp_channel(size, micro)
        if not isinstance(chosen, SymmetricUnaryEncoding):
            adaptive[place] = group(chosen, count_outputs(chosen, perturb(chosen, values[level == place], generator)))
    longer = [SymmetricUnaryEncoding.of(size + EXTRA_BITS, micro) for micro in setting.budgets]
    extended = BitCounts.of_rows(perturb(longer, values, generator, level=level), size + EXTRA_BITS, patterns=False)
    combined = febsf.rcf(groups)
    return {
        "rcf": combined,
        "rcf_projected": norm_sub(combined),
        "rcf_recycled": febsf.rcf(groups, recycle=generator),
        "apldp": febsf.rcf(adaptive),
        "ppda": febsf.ppda(extended.ones, extended.reports, size),
        "exact_likelihood": maximum_likelihood(groups).shares,
    }


def _theorem_5_3(seed: int, runs: int) -> dict[str, float]:
    """Mean variance of AUEM (Education): seen over many runs, as printed, and by the delta method with labels."""
    counts = np.array(list(load_counts("adult_education").values()))
    truth = counts / counts.sum()
    generator = np.random.default_rng([seed, 53])
    budgets, mix, people = (500_000, 1_000_000, 2_000_000), np.array([0.4, 0.3, 0.3]), 10_000
    channels = [RandomizedResponse.of(len(counts), micro) for micro in budgets]
    found, stated = [], []
    for _ in range(runs):
        values = generator.choice(len(counts), people, p=truth)
        level = generator.choice(3, people, p=mix)
        hidden = hide(channels, perturb(channels, values, generator, level=level), level, MICRO, generator)
        fitted = moments(hidden)
        found.append(fitted.shares)
        stated.append(np.diag(fitted.covariance))
    return {
        "seen": float(np.var(found, axis=0, ddof=1).mean()),
        "printed": float(printed_variance(hidden, truth, mix).mean()),
        "delta_method": float(np.mean(stated)),
        "relative_error": float(np.sqrt(2 / (runs * len(counts)))),
    }


def printed_variance(hidden: HiddenReports, shares: FloatArray, levels: FloatArray) -> FloatArray:
    """V1 + V2 + V3 + V4 of Theorem 5.3, letter by letter (A, B, N as in the paper)."""
    (q, d), n = febsf.supports_of(hidden), hidden.reports
    a = (1 - shares) * (levels @ q) + shares * (levels @ (q + d))
    label_q = float(hidden.label_matrix[0, 1])
    label_d = float(hidden.label_matrix[0, 0]) - label_q
    rate = label_q + levels * label_d
    b = n * rate * (1 - rate) / (n**2 * label_d**2)
    contrast = float(levels @ d)
    v1 = n * a * (1 - a) / contrast**2
    v2 = (n * a) ** 2 * float(b @ d**2) / contrast**4
    v3 = float(b @ q**2) / contrast**2
    v4 = (levels @ q) ** 2 * float(b @ d**2) / contrast**4
    return np.asarray(v1 + v2 + v3 + v4)
