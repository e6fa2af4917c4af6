"""A budget per item: the paper's five experiments on Zipf and on two parts of Kosarak, and what becomes of its claims.

Setting of the paper: items sorted by falling counts; the first NR·k are non-sensitive, the others have budgets in four
levels from ε_max (frequent) to ε_min (rare). k-RR and URR keep ε_min. A share SR of the people is drawn; errors are of
the counts of exactly these people, MSE = Σ(f−f̂)²/n and RE = Σ|f−f̂|/f (without items that nobody drawn has).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp import __version__
from pldp.datasets import load_counts
from pldp.epsilon import Micro
from pldp.estimates.groups import FloatArray, group
from pldp.experiments.verdicts import Verdict
from pldp.mechanisms import ItemUnaryEncoding, SupportChannel, epsilon_text
from pldp.papers import ipldp
from pldp.simulate import perturb, perturb_counts
from pldp.tallies import BitCounts, Counts

IntArray = npt.NDArray[np.int64]

ZIPF_PEOPLE: Final = 100_000
ZIPF_ITEMS: Final = 20
PARTS: Final = "two public parts of Kosarak (554,088 of 990,002 people), one item each, top 100 items: 442,901 people"

ROWS_IN_QUICK_RUNS: Final = 100_000
"""A quick run does not fit the likelihood of more unary rows than that."""

Cell = tuple[int, str, float, float]
"""Experiment, dataset, sample ratio, share of non-sensitive items."""


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


def run(*, quick: bool, seed: int, progress: Callable[[int, int], None] | None) -> dict[str, Any]:
    """Run all experiments and judge the claims."""
    runs = 20 if quick else 100
    rows: list[dict[str, Any]] = []
    cells = [
        (each, dataset, ratio, open_)
        for each in experiments(quick=quick)
        for dataset in ("zipf", "kosarak_parts")
        for ratio in each.sample_ratios
        for open_ in each.open_ratios
    ]
    for done, (each, dataset, ratio, open_) in enumerate(cells, start=1):
        rows += _rows(each, (each.number, dataset, ratio, open_), runs, seed, quick=quick)
        if progress is not None:
            progress(done, len(cells))
    return {
        "experiment": "ipldp",
        "version": __version__,
        "seed": seed,
        "quick": quick,
        "left_out": [f"idue with mle for more than {ROWS_IN_QUICK_RUNS:,} people"] if quick else [],
        "datasets": {"zipf": f"Zipf, α = 2, {ZIPF_ITEMS} items, {ZIPF_PEOPLE:,} people", "kosarak_parts": PARTS},
        "rows": rows,
        "verdicts": [verdict.to_mapping() for verdict in (*_verdicts(rows), *_exact_verdicts(seed))],
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
    rows = []
    for method in ("iprr", *experiment.rivals):
        for estimator in ipldp.ESTIMATORS:
            number = _runs(channels[method], estimator, runs)
            if quick and number < runs and counts.sum() * cell[2] > ROWS_IN_QUICK_RUNS:
                continue
            generators = [np.random.default_rng([seed, *_key(cell), place]) for place in range(number)]
            errors = np.array([_errors(channels[method], counts, cell[2], estimator, each) for each in generators])
            rows.append(
                {
                    "experiment": cell[0],
                    "dataset": cell[1],
                    "sample_ratio": cell[2],
                    "non_sensitive_ratio": cell[3],
                    "method": method,
                    "estimator": estimator,
                    "mse": float(errors[:, 0].mean()),
                    "mse_error": float(errors[:, 0].std(ddof=1) / np.sqrt(number)),
                    "re": float(errors[:, 1].mean()),
                    "runs": number,
                }
            )
    return rows


def _key(cell: Cell) -> Iterator[int]:
    """Numbers that seed a cell: methods of one cell meet the same people."""
    yield from (cell[0], cell[1] == "zipf", round(100 * cell[2]), round(100 * cell[3]))


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


class _Table:
    """The rows by what identifies them."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        names = ("experiment", "dataset", "sample_ratio", "non_sensitive_ratio")
        self._rows = {(*(row[name] for name in names), row["method"], row["estimator"]): row for row in rows}
        self.cells: list[Cell] = sorted({key[:4] for key in self._rows})

    def ratios(
        self,
        numbers: tuple[int, ...],
        over: tuple[str, str],
        under: tuple[str, str],
        *,
        dataset: str = "",
        metric: str = "mse",
    ) -> list[float]:
        """Metric of (method, estimator) over that of another one in every cell of these experiments that has both."""
        pairs = [
            (self._rows.get((*cell, *over)), self._rows.get((*cell, *under)))
            for cell in self.cells
            if cell[0] in numbers and cell[1].startswith(dataset)
        ]
        return [one[metric] / two[metric] for one, two in pairs if one is not None and two is not None]

    def curve(self, number: int, dataset: str, who: tuple[str, str], metric: str) -> list[float]:
        """Metric along the varied ratio of one experiment."""
        cells = [cell for cell in self.cells if cell[:2] == (number, dataset)]
        return [self._rows[(*cell, *who)][metric] for cell in cells if (*cell, *who) in self._rows]


DATASETS: Final = ("zipf", "kosarak_parts")
_NS, _MLE = ipldp.ESTIMATORS
_IDUE: Final = ("idue_opt0", "idue_opt1", "idue_opt2")


def _span(numbers: list[float]) -> str:
    return f"{min(numbers):.3g} to {max(numbers):.3g}"


def _by_estimator(found: dict[str, list[float]]) -> str:
    return ", ".join(f"{name} {_span(numbers)}" for name, numbers in found.items())


def _against(table: _Table, numbers: tuple[int, ...], rival: str, metric: str = "mse") -> dict[str, list[float]]:
    """The rival's metric over IPRR's, by estimator."""
    return {e: table.ratios(numbers, (rival, e), ("iprr", e), metric=metric) for e in ipldp.ESTIMATORS}


def _verdicts(rows: list[dict[str, Any]]) -> list[Verdict]:
    table = _Table(rows)
    return [*_direct_verdicts(table), *_growth_verdicts(table), *_unary_verdicts(table)]


def _direct_verdicts(table: _Table) -> list[Verdict]:
    """Experiments 1 to 3: k-RR, URR and IPRR, norm-sub and maximum likelihood."""
    krr, urr = _against(table, (1,), "krr"), _against(table, (1,), "urr")
    plain = table.ratios((1, 2, 3), ("krr", _NS), ("krr", _MLE))
    gain = {number: table.ratios((number,), ("iprr", _NS), ("iprr", _MLE)) for number in (1, 2, 3)}
    mixed, high = (table.curve(number, "zipf", ("iprr", _NS), "mse") for number in (3, 1))
    close = [one / two for one, two in zip(mixed, high, strict=True)]
    order = {metric: table.ratios((1, 2, 3), ("krr", _NS), ("urr", _NS), metric=metric) for metric in ("mse", "re")}
    better = {rival: _against(table, (1, 2, 3), rival) for rival in ("krr", "urr")}
    smallest = min(min(found) for by in better.values() for found in by.values())
    return [
        Verdict(
            "#1: in the high privacy regime IPRR beats k-RR and URR by about an order of magnitude (here: MSE 5 times)",
            min(min(found) for by in (krr, urr) for found in by.values()) >= 5,
            f"MSE of k-RR / IPRR: {_by_estimator(krr)}; of URR / IPRR: {_by_estimator(urr)}",
        ),
        Verdict(
            "#1 to #3: IPRR has a smaller MSE than k-RR and URR with either estimator",
            smallest > 1,
            f"k-RR / IPRR: {_by_estimator(better['krr'])}; URR / IPRR: {_by_estimator(better['urr'])}",
        ),
        Verdict(
            "URR is better than k-RR on both metrics (norm-sub)",
            min(min(found) for found in order.values()) > 1,
            f"k-RR / URR: {_by_estimator(order)}",
        ),
        Verdict(
            "Norm-sub and maximum likelihood are almost the same for k-RR (within 10 %)",
            max(abs(ratio - 1) for ratio in plain) < 0.1,
            f"MSE of norm-sub / maximum likelihood: {_span(plain)}",
        ),
        Verdict(
            "Maximum likelihood improves IPRR much in the high privacy regime (#1), less in the low one (#2)",
            min(gain[1]) > 2 and max(gain[2]) < min(gain[1]),
            f"MSE of norm-sub / maximum likelihood: #1 {_span(gain[1])}, #2 {_span(gain[2])}, #3 {_span(gain[3])}",
        ),
        Verdict(
            "#3, mixed regimes, is close to #1 for IPRR (here: MSE within a factor of 2)",
            all(0.5 <= ratio <= 2 for ratio in close),
            f"MSE of #3 / #1 on Zipf: {_span(close)}",
        ),
    ]


def _growth_verdicts(table: _Table) -> list[Verdict]:
    """What more people (#1) and more non-sensitive items (#4) change."""
    verdicts = []
    for metric, name in (("mse", "MSE as defined"), ("re", "RE")):
        curves = {dataset: table.curve(1, dataset, ("iprr", _MLE), metric) for dataset in DATASETS}
        verdicts.append(
            Verdict(
                f"#1: the loss ({name}) decreases as the number of people increases",
                all(curve[-1] < curve[0] for curve in curves.values()),
                "IPRR, maximum likelihood, smallest and largest sample: "
                + ", ".join(f"{dataset} {curve[0]:.3g} and {curve[-1]:.3g}" for dataset, curve in curves.items()),
            )
        )
    falling = {
        f"{method} {metric} {dataset}": table.curve(4, dataset, (method, _NS), metric)
        for method in ("iprr", "urr")
        for metric in ("mse", "re")
        for dataset in DATASETS
    }
    rising = [name for name, curve in falling.items() if any(np.diff(curve) > 0)]
    ahead = _against(table, (4,), "urr")
    verdicts.append(
        Verdict(
            "#4: with more non-sensitive items all metrics decrease, and IPRR stays ahead of URR (norm-sub)",
            not rising and min(ahead[_NS]) > 1,
            f"MSE of URR / IPRR: {_by_estimator(ahead)}; not falling: {', '.join(rising) or 'none'}",
        )
    )
    return verdicts


def _unary_verdicts(table: _Table) -> list[Verdict]:
    """Experiment 5: IDUE."""

    def over_iprr(dataset: str, estimator: str, metric: str = "mse") -> list[float]:
        pairs = [((model, estimator), ("iprr", estimator)) for model in _IDUE]
        return [r for over, under in pairs for r in table.ratios((5,), over, under, dataset=dataset, metric=metric)]

    zipf = {f"{e} {metric}": over_iprr("zipf", e, metric) for e in ipldp.ESTIMATORS for metric in ("mse", "re")}
    krr = {dataset: table.curve(4, dataset, ("urr", _NS), "mse")[0] for dataset in DATASETS}
    idue = {dataset: min(table.curve(5, dataset, (model, _NS), "mse")[-1] for model in _IDUE) for dataset in DATASETS}
    return [
        Verdict(
            "#5: on Zipf IPRR beats IDUE with both estimators (MSE)",
            min(min(numbers) for name, numbers in zipf.items() if name.endswith("mse")) > 1,
            f"IDUE / IPRR: {_by_estimator(zipf)}",
        ),
        Verdict(
            "#5: on Kosarak IDUE beats IPRR with norm-sub",
            max(over_iprr("kosarak_parts", _NS)) < 1,
            f"MSE of IDUE / IPRR: {_span(over_iprr('kosarak_parts', _NS))}",
        ),
        Verdict(
            "#5: on Kosarak IPRR beats IDUE with maximum likelihood",
            min(over_iprr("kosarak_parts", _MLE)) > 1,
            f"MSE of IDUE / IPRR: {_span(over_iprr('kosarak_parts', _MLE))}",
        ),
        Verdict(
            "#5 compares IPRR and IDUE in the same privacy setting",
            _same_promise(),
            f"{_promises()}. An IPRR that keeps IDUE's promise is k-RR at the smallest budget; norm-sub, MSE of that / "
            "best IDUE: " + ", ".join(f"{name} {krr[name] / idue[name]:.2g}" for name in DATASETS),
        ),
    ]


def _largest_pairs() -> dict[str, Micro]:
    channels = ipldp.item_channels(ipldp.level_budgets(ZIPF_ITEMS, 100_000, 10_000_000))
    return {name: channels[name].micro_epsilon for name in ("iprr", "idue_opt0")}


def _same_promise() -> bool:
    found = _largest_pairs()
    return found["iprr"] == found["idue_opt0"]


def _promises() -> str:
    texts = [f"{name} {epsilon_text(micro)}" for name, micro in _largest_pairs().items()]
    return f"Largest true ε between two values: {', '.join(texts)}"


def _exact_verdicts(seed: int) -> list[Verdict]:
    """Claims that formulas decide, beside what simulation sees."""
    budgets = ipldp.level_budgets(8, 300_000, 2_000_000, non_sensitive=0.25)
    larger = tuple(2 * micro for micro in budgets)
    shares = np.arange(8.0, 0, -1) / 36
    losses = [ipldp.l2_loss(each, shares, 1000) for each in (budgets, larger)]
    seen, stated = _seen_losses(budgets, shares, seed)
    uneven = (100_000, 10_000_000, 10_000_000)
    smallest = min(uneven)
    tight = ipldp.l2_bound(uneven, 1) / ipldp.low_privacy_l2(uneven, 1)
    channel = ipldp.item_channels(budgets)["iprr"]
    pair = channel.pair_micro_epsilon(2, 7)
    return [
        Verdict(
            "Lemma 1: smaller budgets give the smaller loss",
            losses[0] <= losses[1],
            f"expected squared loss with budgets {losses[0]:.3g}, with all of them doubled {losses[1]:.3g}",
        ),
        Verdict(
            "Theorem 3 gives the expected losses",
            bool(np.all(np.abs(seen.mean(axis=0) / stated - 1) < 0.03)),
            f"seen / stated: l2 {seen[:, 0].mean() / stated[0]:.3f}, l1 {seen[:, 1].mean() / stated[1]:.3f}",
        ),
        Verdict(
            "Theorem 6 holds where the smallest budget is above ln(|D_N| + 1)",
            bool(tight > 0.999),
            f"budgets .1, 10, 10, none open (smallest {epsilon_text(smallest)} > ln 1): "
            f"largest loss / (23) with its missing 1/n = {tight:.3f}",
        ),
        Verdict(
            "An item with budget ε_x gets ε_x-LDP, as an input and as an output",
            pair == min(budgets[2], budgets[7]),
            f"items with budgets {epsilon_text(budgets[2])} and {epsilon_text(budgets[7])}: true ε between them "
            f"{epsilon_text(pair)}; between either and a non-sensitive item "
            f"{epsilon_text(channel.pair_micro_epsilon(0, 7))}. One side holds: no report speaks for the latter by "
            f"more than {epsilon_text(channel.evidence_micro_epsilon(7))}",
        ),
    ]


def _seen_losses(budgets: ipldp.Budgets, shares: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Squared and absolute losses of drawn populations, and what (13) and (14) say."""
    people = 20_000
    channel = ipldp.item_channels(budgets)["iprr"]
    losses = []
    for place in range(2000):
        generator = np.random.default_rng([seed, 3, place])
        drawn = generator.multinomial(people, shares)
        wrong = ipldp.empirical(group(channel, perturb_counts(channel, drawn, generator))) - shares
        losses.append(((wrong**2).sum(), np.abs(wrong).sum()))
    stated = np.array([ipldp.l2_loss(budgets, shares, people), ipldp.l1_loss(budgets, shares, people)])
    return np.array(losses), stated
