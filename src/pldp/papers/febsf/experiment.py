"""Hidden budgets: every method on Education, Job and Country.

Setting of the paper: budgets .1, .2, …, 1.0 chosen uniformly or by a power law, symmetric unary encoding for the data,
k-RR with ε_p for the budget; for the comparison with PBP, budgets .1 and .2 and ε_p = .1. What needs only counts runs
many times (`counts`), what needs every report runs less often (here).
"""

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from pldp.mechanisms import MICRO, PureChannel, RandomizedResponse
from pldp.mechanisms.arrays import FloatArray
from pldp.papers import febsf
from pldp.papers.febsf import theory
from pldp.papers.febsf.counts import Counted, hidden_methods, shown_methods
from pldp.papers.febsf.setting import BUDGETS, DATASETS, SIZES, Setting
from pldp.papers.groups import HiddenReports, group, information_given_levels, joint_likelihood, maximum_likelihood
from pldp.papers.running import Progress, in_parallel, mean_and_error, track
from pldp.papers.shrinkage import shrink_fit
from pldp.simulate import perturb
from pldp.tallies import BitCounts, Counts, OutputCounts

RUNS: Final = 100  # as many as in the authors' code
QUICK_RUNS: Final = 10
COUNTED_RUNS: Final = 10_000
OBJECTIVE_RUNS: Final = 5
QUICK_COUNTED_RUNS: Final = 4000
KEY: Final = ("dataset", "values", "levels", "epsilon_p", "method")  # what identifies a row
IMPROVEMENT: Final = 0.865
"""What can be rounded to the 87 % by which the paper says that EMOA improves on PBP."""
PAIRS: Final = (("joint", "exact_likelihood"), ("auem_projected", "rcf_projected"))
"""Methods with the same constraints, with budgets hidden and shown."""

Key = tuple[str, int, str, float, str]
Errors = Mapping[tuple[float, str], FloatArray]
"""Shares minus truth, runs × values, by (ε_p, method)."""


@dataclass(frozen=True)
class Task:
    """Some runs of a setting: with every report, or with counts only."""

    setting: Setting
    runs: int
    seed: Sequence[int]
    counted: bool


def settings() -> Iterator[Setting]:
    """Yield the cells of all figures."""
    for dataset in DATASETS:
        yield Setting(dataset, "uniform", BUDGETS)  # Figures 2, 3, 4, 7 and 8
        yield Setting(dataset, "power_law", (300_000,))
        for values in SIZES:  # Figures 3 and 4
            yield Setting(dataset, "uniform", (300_000,), values)
        for levels in ("uniform_two", "power_law_two"):  # Figures 5 and 6
            yield Setting(dataset, levels, (100_000,))


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all settings in parallel processes."""
    runs, counted = (QUICK_RUNS, QUICK_COUNTED_RUNS) if quick else (RUNS, COUNTED_RUNS)
    parts, per_task = (1, runs) if quick else (10, runs // 10)
    tasks = [Task(setting, counted, (seed, 0, place), counted=True) for place, setting in enumerate(settings())]
    tasks += [
        Task(setting, per_task, (seed, 1 + part, place), counted=False)
        for place, setting in enumerate(settings())
        for part in range(parts)
    ]
    errors: dict[Key, list[FloatArray]] = defaultdict(list)
    for task, found in track(zip(tasks, in_parallel(one_task, tasks), strict=True), len(tasks), progress):
        for (label, method), error in found.items():
            errors[task.setting.dataset, error.shape[1], task.setting.levels, label, method].append(error)
    order = list(DATASETS)
    keys = sorted(errors, key=lambda key: (order.index(key[0]), *key[1:]))
    whole = {key: np.concatenate(errors[key]) for key in keys}
    return {
        "rows": [_row(key, error) for key, error in whole.items()],
        "pairs": list(_pairs(whole)),
        "auem": list(_auem(whole)),
        "pbp": list(_assignments(whole)),
        "objective": [_objective(dataset, seed) for dataset in DATASETS],
        "theory": _theory(),
    }


def one_task(task: Task) -> Errors:
    """Let everybody report, in every run, and estimate with every method."""
    generator = np.random.default_rng(list(task.seed))
    truth = task.setting.truth
    if not task.counted:
        found = [_one_run(task.setting, generator) for _ in range(task.runs)]
        return {key: np.array([each[key] for each in found]) - truth for key in found[0]}
    counted = Counted.draw(task.setting, task.runs, generator)
    shown = dict(shown_methods(counted, generator))
    return {
        (micro / MICRO, method): shares - truth
        for micro in task.setting.label_budgets
        for method, shares in (*shown.items(), *hidden_methods(counted, micro, generator))
    }


def _one_run(setting: Setting, generator: np.random.Generator) -> dict[tuple[float, str], FloatArray]:
    """Let everybody report once; return the shares by the methods that need whole reports."""
    channels, level, outputs = _report(setting, generator)
    groups = [group(channel, count_outputs(channel, outputs[level == place])) for place, channel in enumerate(channels)]
    exposed = {"exact_likelihood": maximum_likelihood(groups).shares}
    if not setting.values:
        exposed["rcf_recycled"] = febsf.rcf(groups, recycle=generator)
    found: dict[tuple[float, str], FloatArray] = {}
    for micro in setting.label_budgets:
        hidden = hide(channels, outputs, level, micro, generator)
        for method, shares in (*exposed.items(), *_hidden_methods(hidden, everything=micro == setting.main)):
            found[micro / MICRO, method] = shares
    return found


def _report(setting: Setting, generator: np.random.Generator) -> tuple[list[Any], Any, Any]:
    """Let everybody choose a level and report; return the channels, the levels and the outputs."""
    values = np.repeat(np.arange(len(setting.counts)), setting.counts)
    level = generator.choice(len(setting.budgets), len(values), p=setting.mix)
    channels = list(setting.channels)
    return channels, level, perturb(channels, values, generator, level=level)


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


def _hidden_methods(hidden: HiddenReports, *, everything: bool) -> Iterator[tuple[str, FloatArray]]:
    fitted = joint_likelihood(hidden, starts=1)
    yield "joint", fitted.fit.shares
    if not everything:
        return
    yield "joint_shrunk", shrink_fit(fitted.fit, information_given_levels(fitted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the warning is for users; here its result is the point
        yield "emoa", febsf.emoa(hidden)


_MEASURES: Final[Mapping[str, Callable[[FloatArray], FloatArray]]] = {
    "mse": lambda errors: np.asarray((errors**2).mean(axis=1)),
    "mae": lambda errors: np.asarray(np.abs(errors).mean(axis=1)),
}


def _row(key: Key, errors: FloatArray) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(KEY, key, strict=True))
    for name, measure in _MEASURES.items():
        row |= mean_and_error(name, measure(errors))
    return row | {"runs": len(errors)}


def _pairs(errors: Mapping[Key, FloatArray]) -> Iterator[dict[str, Any]]:
    """Compare methods on the same reports: the ratio of their mean errors, by the delta method with the covariance."""
    for (*cell, method), found in errors.items():
        for hidden, shown in PAIRS:
            if method == hidden:
                row: dict[str, Any] = dict(zip(KEY, (*cell, hidden), strict=True)) | {"other": shown}
                for name, measure in _MEASURES.items():
                    one, two = measure(found), measure(errors[*cell, shown])  # type: ignore[index]
                    ratio = float(one.mean() / two.mean())
                    spread = float((one - ratio * two).std(ddof=1) / (two.mean() * np.sqrt(len(one))))
                    row |= {f"{name}_ratio": ratio, f"{name}_ratio_error": spread}
                yield row


def _assignments(errors: Mapping[Key, FloatArray]) -> Iterator[dict[str, Any]]:
    """Say for which part of all distributions that PBP may assume EMOA is better by 87 % or more."""
    first = (np.arange(10_000) + 0.5) / 10_000
    for (dataset, values, levels, epsilon_p, method), found in errors.items():
        if method in {"emoa", "emoa_of_code"} and levels.endswith("_two"):
            pbp = theory.pbp_mse(Setting(dataset, levels, ()), np.column_stack([first, 1 - first]))
            row = dict(zip(KEY, (dataset, values, levels, epsilon_p, method), strict=True))
            yield row | {"share": float((1 - (found**2).mean() / pbp >= IMPROVEMENT).mean())}


def _objective(dataset: str, seed: int) -> dict[str, Any]:
    """Say by how much EMOA as printed changes the objective that it is to increase, per report."""
    setting = Setting(dataset, "uniform", ())
    gains = []
    for number in range(OBJECTIVE_RUNS):
        generator = np.random.default_rng([seed, 20, number])
        channels, level, outputs = _report(setting, generator)
        objective = [value for _, value in febsf.emoa_steps(hide(channels, outputs, level, setting.main, generator))]
        gains.append(objective[-1] - objective[0])
    return {"dataset": dataset} | mean_and_error("gain", np.array(gains))


def _auem(errors: Mapping[Key, FloatArray]) -> Iterator[dict[str, Any]]:
    """Say how AUEM varies: its variance beside the formulas, and the bias of its sum in standard deviations."""
    for (dataset, values, levels, epsilon_p, method), found in errors.items():
        setting = Setting(dataset, levels, ())
        if method != "auem" or values != len(setting.counts):
            continue
        seen, total = found.var(axis=0, ddof=1).mean(), found.sum(axis=1)
        micro = round(epsilon_p * MICRO)
        bias = float(total.mean() / total.std(ddof=1))
        yield {
            **dict(zip(KEY, (dataset, values, levels, epsilon_p, method), strict=True)),
            "variance": float(seen),
            # All values share the error of the labels: as if there were one value.
            "variance_error": float(seen * _relative_error(found)),
            "printed": float(theory.variance_parts(setting, micro).sum(axis=0).mean()),
            "restored": float(theory.variance_parts(setting, micro, restored=True).sum(axis=0).mean()),
            "delta_method": float(theory.variance(setting, micro).mean()),
            "bias": bias,
            "bias_error": float(np.sqrt((1 + bias**2 / 2) / len(total))),
        }


def _relative_error(errors: FloatArray) -> float:
    """Return the relative standard error of the mean variance over values."""
    squares = ((errors - errors.mean(axis=0)) ** 2).mean(axis=1)
    return float(squares.std(ddof=1) / (squares.mean() * np.sqrt(len(squares))))


def _theory() -> list[dict[str, Any]]:
    """Compute what needs no run: the parts of Theorem 5.3 by ε_p, the bias of Theorem 5.1, what reports tell."""
    found = []
    for dataset, levels in product(DATASETS, ("uniform", "power_law")):
        setting = Setting(dataset, levels, BUDGETS)
        parts = {
            micro / MICRO: theory.variance_parts(setting, micro).mean(axis=1).tolist() for micro in (1_000, *BUDGETS)
        }
        found.append(
            {"dataset": dataset, "levels": levels, "parts": list(parts.values()), "epsilon_p": list(parts)}
            | {"bias": theory.bias_of_theorem_5_1(setting), "leak": theory.report_leak(setting)}
        )
    return found
