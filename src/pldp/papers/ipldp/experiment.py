"""A budget per item: the paper's five experiments on Zipf and on two parts of Kosarak.

Setting of the paper: items sorted by falling counts; the first NR·k are non-sensitive, the others have budgets in four
levels from ε_max (frequent) to ε_min (rare). k-RR and URR keep ε_min. A share SR of the people is drawn; errors are of
the counts of exactly these people, MSE = Σ(f−f̂)²/n and RE = Σ|f−f̂|/f (without items that nobody drawn has).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates import group
from pldp.mechanisms import ItemUnaryEncoding, SupportChannel
from pldp.papers import ipldp
from pldp.papers.datasets import load_counts
from pldp.papers.running import Progress, mean_and_error, track
from pldp.simulate import perturb, perturb_counts
from pldp.tallies import BitCounts, Counts

IntArray = npt.NDArray[np.int64]

ZIPF_PEOPLE: Final = 100_000
ZIPF_ITEMS: Final = 20
PARTS: Final = "two public parts of Kosarak (554,088 of 990,002 people), one item each, top 100 items: 442,901 people"

DATASETS: Final = ("zipf", "kosarak_parts")
LOSS_BUDGETS: Final = ipldp.level_budgets(8, 300_000, 2_000_000, non_sensitive=0.25)
LOSS_SHARES: Final = np.arange(8.0, 0, -1) / 36
"""The items whose losses are held against the formulas."""

ROWS_IN_QUICK_RUNS: Final = 100_000  # a quick run does not fit the likelihood of more unary rows than that
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
    """Return the five experiments; a quick run takes three points of every curve."""
    ratios = (0.2, 0.6, 1.0) if quick else (0.2, 0.4, 0.6, 0.8, 1.0)
    opens = (0.0, 0.4, 0.8) if quick else (0.0, 0.2, 0.4, 0.6, 0.8)
    tenths = (0.1, 0.4, 1.0) if quick else tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
    direct, unary = ("krr", "urr"), ("idue_opt0", "idue_opt1", "idue_opt2")
    low, one, high = 100_000, 1_000_000, 10_000_000
    return (
        Experiment(1, direct, low, one, ratios),
        Experiment(2, direct, one, high, ratios),
        Experiment(3, direct, low, high, ratios),
        Experiment(4, ("urr",), low, high, (1.0,), opens),
        Experiment(5, unary, low, high, tenths, (0.0,)),
    )


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all experiments."""
    runs = 20 if quick else 100
    cells = [
        (each, (each.number, dataset, ratio, open_))
        for each in experiments(quick=quick)
        for dataset in DATASETS
        for ratio in each.sample_ratios
        for open_ in each.open_ratios
    ]
    return {
        "left_out": [f"idue with mle for more than {ROWS_IN_QUICK_RUNS:,} people"] if quick else [],
        "datasets": {"zipf": f"Zipf, α = 2, {ZIPF_ITEMS} items, {ZIPF_PEOPLE:,} people", "kosarak_parts": PARTS},
        "rows": [row for each in track(cells, len(cells), progress) for row in _rows(*each, runs, seed, quick=quick)],
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


def _rows(experiment: Experiment, cell: Cell, runs: int, seed: int, *, quick: bool) -> list[dict[str, Any]]:
    counts = np.array(dataset_counts(cell[1]))
    budgets = ipldp.level_budgets(len(counts), experiment.smallest, experiment.largest, non_sensitive=cell[3])
    channels = ipldp.item_channels(budgets)
    key = (cell[0], cell[1] == "zipf", round(100 * cell[2]), round(100 * cell[3]))  # its methods meet the same people
    rows = []
    for method in ("iprr", *experiment.rivals):
        for estimator in ipldp.ESTIMATORS:
            number = _runs(channels[method], estimator, runs)
            if quick and number < runs and counts.sum() * cell[2] > ROWS_IN_QUICK_RUNS:
                continue
            generators = [np.random.default_rng([seed, *key, place]) for place in range(number)]
            errors = np.array([_errors(channels[method], counts, cell[2], estimator, each) for each in generators])
            row = dict(zip(KEY, (*cell, method, estimator), strict=True)) | mean_and_error("mse", errors[:, 0])
            rows.append({**row, "re": float(errors[:, 1].mean()), "runs": number})
    return rows


def _runs(channel: SupportChannel, estimator: str, runs: int) -> int:
    """A likelihood of unary rows perturbs and reads every person's row: fewer repetitions, fewest with many items."""
    if estimator != "mle" or not isinstance(channel, ItemUnaryEncoding):
        return runs
    return max(3, runs // (3 if channel.size <= ZIPF_ITEMS else 10))


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
    if estimator == "mle" and isinstance(channel, ItemUnaryEncoding):
        rows = perturb(channel, np.repeat(np.arange(len(people)), people), generator)
        return BitCounts.of_rows(rows.astype(np.uint8, copy=False), channel.size, patterns=True)
    return perturb_counts(channel, people, generator)


def _seen_losses(seed: int) -> dict[str, list[float]]:
    """Mean squared and absolute losses of drawn populations, and what (13) and (14) say."""
    people = 20_000
    channel = ipldp.item_channels(LOSS_BUDGETS)["iprr"]
    losses = []
    for place in range(2000):
        generator = np.random.default_rng([seed, 3, place])
        drawn = generator.multinomial(people, LOSS_SHARES)
        wrong = group(channel, perturb_counts(channel, drawn, generator)).shares() - LOSS_SHARES
        losses.append(((wrong**2).sum(), np.abs(wrong).sum()))
    stated = [loss(LOSS_BUDGETS, LOSS_SHARES, people) for loss in (ipldp.l2_loss, ipldp.l1_loss)]
    return {"seen": np.mean(losses, axis=0).tolist(), "stated": stated}
