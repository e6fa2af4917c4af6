"""A budget per item: the paper's five experiments on Zipf and on two parts of Kosarak.

Setting of the paper: items sorted by falling counts; the first NR·k are non-sensitive, the others have budgets in four
levels from ε_max (frequent) to ε_min (rare). k-RR and URR keep ε_min. A share SR of the people is drawn; errors are of
the counts of exactly these people, MSE = Σ(f−f̂)²/n and RE = Σ|f−f̂|/f (without items that nobody drawn has). The paper
repeats everything 100 times. Counts of reports are drawn from their law (`perturb_counts`), except for the likelihood
of IDUE, which needs every person's row of bits and has fewer repetitions.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms import ItemResponse, ItemUnaryEncoding, SupportChannel
from pldp.mechanisms.arrays import FloatArray
from pldp.papers import ipldp
from pldp.papers.datasets import load_counts
from pldp.papers.groups import group
from pldp.papers.running import Progress, in_parallel, mean_and_error, track
from pldp.simulate import perturb, perturb_counts
from pldp.tallies import BitCounts, Counts

IntArray = npt.NDArray[np.int64]

ZIPF_PEOPLE: Final = 100_000
ZIPF_ITEMS: Final = 20
ZIPF: Final = f"Zipf, α = 2, {ZIPF_ITEMS} items, {ZIPF_PEOPLE:,} people"
PARTS: Final = "two public parts of Kosarak (554,088 of 990,002 people), one item each, top 100 items: 442,901 people"

DATASETS: Final = ("zipf", "kosarak_parts")
LOSS_BUDGETS: Final = ipldp.level_budgets(8, 300_000, 2_000_000, non_sensitive=0.25)
LOSS_SHARES: Final = np.arange(8.0, 0, -1) / 36
"""The items whose losses are held against the formulas."""

Cell = tuple[int, str, float, float]
KEY: Final = ("experiment", "dataset", "sample_ratio", "non_sensitive_ratio", "method", "estimator")
"""What identifies a row; the first four are those of a cell."""


@dataclass(frozen=True)
class Experiment:
    """One row of the paper's Table 2."""

    number: int
    rivals: tuple[str, ...]
    smallest: int
    largest: int
    sample_ratios: tuple[float, ...]
    open_ratios: tuple[float, ...] = (0.5,)


def experiments(*, quick: bool) -> tuple[Experiment, ...]:
    """Return the five experiments; a quick run takes half of the points of IDUE's curves."""
    ratios = (0.2, 0.4, 0.6, 0.8, 1.0)
    opens = tuple(round(0.1 * tenth, 1) for tenth in range(9))
    tenths = (0.1, 0.3, 0.5, 0.7, 1.0) if quick else tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
    direct, unary = ("krr", "urr"), ("idue_opt0", "idue_opt1", "idue_opt2")
    low, one, high = 100_000, 1_000_000, 10_000_000
    return (
        Experiment(1, direct, low, one, ratios),
        Experiment(2, direct, one, high, ratios),
        Experiment(3, direct, low, high, ratios),
        Experiment(4, ("urr",), low, high, (1.0,), opens),
        Experiment(5, unary, low, high, tenths, (0.0,)),
    )


@dataclass(frozen=True)
class Repetitions:
    """How often a setting is repeated: as a rule, and where a likelihood reads every person's row of bits."""

    counted: int
    rows_of_few_items: int
    rows_of_many_items: int

    def of(self, channel: SupportChannel, estimator: str) -> int:
        """Return how often this is repeated."""
        if not _needs_rows(channel, estimator):
            return self.counted
        return self.rows_of_few_items if channel.size <= ZIPF_ITEMS else self.rows_of_many_items


FULL: Final = Repetitions(1000, 50, 50)
QUICK: Final = Repetitions(200, 10, 5)


@dataclass(frozen=True)
class Task:
    """One point of all curves of an experiment on a dataset, which a process of its own can do."""

    experiment: Experiment
    cell: Cell
    repetitions: Repetitions
    seed: int


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all experiments."""
    repetitions = QUICK if quick else FULL
    tasks = [
        Task(each, (each.number, dataset, ratio, open_), repetitions, seed)
        for each in experiments(quick=quick)
        for dataset in DATASETS
        for ratio in each.sample_ratios
        for open_ in each.open_ratios
    ]
    tasks.sort(key=lambda task: -task.cell[0] - task.cell[2] * (task.cell[1] != "zipf"))  # the longest ones first
    rows = [row for part in track(in_parallel(run_task, tasks), len(tasks), progress) for row in part]
    return {
        "datasets": {"zipf": ZIPF, "kosarak_parts": PARTS},
        "rows": sorted(rows, key=lambda row: tuple(row[name] for name in KEY[:4])),
        "theorem_3": _seen_losses(seed),
    }


@cache
def dataset_counts(name: str) -> tuple[int, ...]:
    """Return how many people have each item, most frequent first."""
    if name == "kosarak_parts":
        return tuple(load_counts("kosarak_items").values())
    weights = 1 / np.arange(1.0, ZIPF_ITEMS + 1) ** 2
    drawn = np.random.default_rng(2).multinomial(ZIPF_PEOPLE, weights / weights.sum())
    return tuple(int(count) for count in np.sort(drawn)[::-1])


def run_task(task: Task) -> list[dict[str, Any]]:
    """Return a row per method and estimator."""
    cell, experiment = task.cell, task.experiment
    counts = np.array(dataset_counts(cell[1]))
    budgets = ipldp.level_budgets(len(counts), experiment.smallest, experiment.largest, non_sensitive=cell[3])
    channels = ipldp.item_channels(budgets)
    key = (cell[0], cell[1] == "zipf", round(100 * cell[2]), round(100 * cell[3]))  # its methods meet the same people
    rows = []
    for method in ("iprr", *experiment.rivals):
        found = {}
        for estimator in ipldp.ESTIMATORS:
            number = task.repetitions.of(channels[method], estimator)
            generators = [np.random.default_rng([task.seed, *key, place]) for place in range(number)]
            errors = np.array([_errors(channels[method], counts, cell[2], estimator, each) for each in generators])
            row = dict(zip(KEY, (*cell, method, estimator), strict=True)) | {"people": round(cell[2] * counts.sum())}
            row |= mean_and_error("mse", errors[:, 0]) | mean_and_error("re", errors[:, 1])
            rows.append(row | {"runs": number})
            found[estimator] = errors[:, 0]
        plain, likely = found.values()
        if len(plain) == len(likely):  # the same reports
            rows[-2] |= _paired("mse_over_mle", plain, likely)
    return rows


def _paired(name: str, one: FloatArray, two: FloatArray) -> dict[str, float]:
    """Return the ratio of two means over the same runs, with its error (delta method)."""
    ratio = one.mean() / two.mean()
    error = (one - ratio * two).std(ddof=1) / (two.mean() * np.sqrt(len(one)))
    return {name: float(ratio), f"{name}_error": float(error)}


def _needs_rows(channel: SupportChannel, estimator: str) -> bool:
    return estimator == "mle" and isinstance(channel, ItemUnaryEncoding)


def _errors(
    channel: SupportChannel, counts: IntArray, ratio: float, estimator: str, generator: np.random.Generator
) -> tuple[float, float]:
    """Draw people, let them report, estimate; return MSE and RE as the paper defines them."""
    people = generator.multivariate_hypergeometric(counts, round(ratio * counts.sum()), method="marginals")
    found = ipldp.ESTIMATORS[estimator](group(channel, _collect(channel, people, estimator, generator)))
    total = people.sum()
    wrong = people - total * found
    held = people > 0
    return float((wrong**2).sum() / total), float((np.abs(wrong[held]) / people[held]).sum())


def _collect(channel: SupportChannel, people: IntArray, estimator: str, generator: np.random.Generator) -> Counts:
    if _needs_rows(channel, estimator):
        rows = perturb(channel, np.repeat(np.arange(len(people)), people), generator)
        return BitCounts.of_rows(rows.astype(np.uint8, copy=False), channel.size, patterns=True)
    return perturb_counts(channel, people, generator)


def _seen_losses(seed: int) -> dict[str, list[float]]:
    """Mean squared and absolute losses of drawn populations, and what (13) and (14) say.

    People who are drawn at random give reports that are: their counts are multinomial.
    """
    people, runs = 20_000, 100_000
    channel = ItemResponse.of(LOSS_BUDGETS)
    honest, false = (np.array([float(p) for p in each]) for each in (channel.truth_supports, channel.other_supports))
    reported = LOSS_SHARES * honest + (1 - LOSS_SHARES) * false
    counts = np.random.default_rng([seed, 3]).multinomial(people, reported / reported.sum(), size=runs)
    wrong = (counts / people - false) / (honest - false) - LOSS_SHARES
    found = [mean_and_error("loss", each) for each in ((wrong**2).sum(1), np.abs(wrong).sum(1))]
    stated = [loss(LOSS_BUDGETS, LOSS_SHARES, people) for loss in (ipldp.l2_loss, ipldp.l1_loss)]
    return {
        "seen": [each["loss"] for each in found],
        "error": [each["loss_error"] for each in found],
        "stated": stated,
    }
