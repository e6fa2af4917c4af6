"""What the paper on a budget per item claims, the rules that judge it, and its tables and figures."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from operator import itemgetter
from typing import Final

import numpy as np

from pldp.mechanisms import epsilon_text
from pldp.papers import ipldp
from pldp.papers.ipldp.experiment import DATASETS, KEY, LOSS_BUDGETS, LOSS_SHARES, ZIPF_ITEMS, Cell, run
from pldp.papers.paper import ILLUSTRATION, Curves, Exhibit, Paper, Result, Row, Table, Verdicts, listing, span

Numbers = tuple[int, ...]
Who = tuple[str, str]  #: Method and estimator.


class _Table:
    """The rows by what identifies them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {tuple(row[name] for name in KEY): row for row in rows}
        self.cells: list[Cell] = sorted({key[:4] for key in self._rows})

    def ratios(self, numbers: Numbers, over: Who, under: Who, dataset: str = "", metric: str = "mse") -> list[float]:
        """Metric of one over that of another one in every cell of these experiments that has both."""
        pairs = [
            (self._rows.get((*cell, *over)), self._rows.get((*cell, *under)))
            for cell in self.cells
            if cell[0] in numbers and cell[1].startswith(dataset)
        ]
        return [one[metric] / two[metric] for one, two in pairs if one is not None and two is not None]

    def curve(self, number: int, dataset: str, who: Who, metric: str) -> list[float]:
        """Metric along the varied ratio of one experiment."""
        cells = [cell for cell in self.cells if cell[:2] == (number, dataset)]
        return [self._rows[(*cell, *who)][metric] for cell in cells if (*cell, *who) in self._rows]


_NS, _MLE = ipldp.ESTIMATORS
_IDUE: Final = ("idue_opt0", "idue_opt1", "idue_opt2")
_span = partial(span, form=".3g")


def _by_estimator(found: dict[str, list[float]]) -> str:
    return ", ".join(f"{name} {_span(numbers)}" for name, numbers in found.items())


def _against(table: _Table, numbers: Numbers, rival: str, metric: str = "mse") -> dict[str, list[float]]:
    """The rival's metric over IPRR's, by estimator."""
    return {e: table.ratios(numbers, (rival, e), ("iprr", e), metric=metric) for e in ipldp.ESTIMATORS}


def judge(result: Result) -> Verdicts:
    """Judge every claim."""
    table = _Table(result["rows"])
    experiments = _direct_verdicts(table) | _growth_verdicts(table) | _unary_verdicts(table)
    return experiments | _exact_verdicts(result["theorem_3"])


def _direct_verdicts(table: _Table) -> Verdicts:
    """Experiments 1 to 3: k-RR, URR and IPRR, norm-sub and maximum likelihood."""
    krr, urr = _against(table, (1,), "krr"), _against(table, (1,), "urr")
    plain = table.ratios((1, 2, 3), ("krr", _NS), ("krr", _MLE))
    gain = {number: table.ratios((number,), ("iprr", _NS), ("iprr", _MLE)) for number in (1, 2, 3)}
    mixed, high = (table.curve(number, "zipf", ("iprr", _NS), "mse") for number in (3, 1))
    close = [one / two for one, two in zip(mixed, high, strict=True)]
    order = {metric: table.ratios((1, 2, 3), ("krr", _NS), ("urr", _NS), metric=metric) for metric in ("mse", "re")}
    better = {rival: _against(table, (1, 2, 3), rival) for rival in ("krr", "urr")}
    smallest = min(min(found) for by in better.values() for found in by.values())
    return {
        "#1: in the high privacy regime IPRR beats k-RR and URR by about an order of magnitude (here: MSE 5 times)": (
            min(min(found) for by in (krr, urr) for found in by.values()) >= 5,
            f"MSE of k-RR / IPRR: {_by_estimator(krr)}; of URR / IPRR: {_by_estimator(urr)}",
        ),
        "#1 to #3: IPRR has a smaller MSE than k-RR and URR with either estimator": (
            smallest > 1,
            f"k-RR / IPRR: {_by_estimator(better['krr'])}; URR / IPRR: {_by_estimator(better['urr'])}",
        ),
        "URR is better than k-RR on both metrics (norm-sub)": (
            min(min(found) for found in order.values()) > 1,
            f"k-RR / URR: {_by_estimator(order)}",
        ),
        "Norm-sub and maximum likelihood are almost the same for k-RR (within 10 %)": (
            max(abs(ratio - 1) for ratio in plain) < 0.1,
            f"MSE of norm-sub / maximum likelihood: {_span(plain)}",
        ),
        "Maximum likelihood improves IPRR much in the high privacy regime (#1), less in the low one (#2)": (
            min(gain[1]) > 2 and max(gain[2]) < min(gain[1]),
            f"MSE of norm-sub / maximum likelihood: #1 {_span(gain[1])}, #2 {_span(gain[2])}, #3 {_span(gain[3])}",
        ),
        "#3, mixed regimes, is close to #1 for IPRR (here: MSE within a factor of 2)": (
            all(0.5 <= ratio <= 2 for ratio in close),
            f"MSE of #3 / #1 on Zipf: {_span(close)}",
        ),
    }


def _growth_verdicts(table: _Table) -> Verdicts:
    """What more people (#1) and more non-sensitive items (#4) change."""
    growing: Verdicts = {}
    for metric, name in (("mse", "MSE as defined"), ("re", "RE")):
        curves = {dataset: table.curve(1, dataset, ("iprr", _MLE), metric) for dataset in DATASETS}
        growing[f"#1: the loss ({name}) decreases as the number of people increases"] = (
            all(curve[-1] < curve[0] for curve in curves.values()),
            "IPRR, maximum likelihood, smallest and largest sample: "
            + ", ".join(f"{dataset} {curve[0]:.3g} and {curve[-1]:.3g}" for dataset, curve in curves.items()),
        )
    falling = {
        f"{method} {metric} {dataset}": table.curve(4, dataset, (method, _NS), metric)
        for method, metric, dataset in product(("iprr", "urr"), ("mse", "re"), DATASETS)
    }
    rising = [name for name, curve in falling.items() if any(np.diff(curve) > 0)]
    ahead = _against(table, (4,), "urr")
    return growing | {
        "#4: with more non-sensitive items all metrics decrease, and IPRR stays ahead of URR (norm-sub)": (
            not rising and min(ahead[_NS]) > 1,
            f"MSE of URR / IPRR: {_by_estimator(ahead)}; not falling: {', '.join(rising) or 'none'}",
        ),
    }


def _unary_verdicts(table: _Table) -> Verdicts:
    def over_iprr(dataset: str, estimator: str, metric: str = "mse") -> list[float]:
        pairs = [((model, estimator), ("iprr", estimator)) for model in _IDUE]
        return [r for over, under in pairs for r in table.ratios((5,), over, under, dataset=dataset, metric=metric)]

    zipf = {f"{e} {metric}": over_iprr("zipf", e, metric) for e in ipldp.ESTIMATORS for metric in ("mse", "re")}
    # An IPRR that keeps IDUE's promise is k-RR at the smallest budget, which URR without open items is, too.
    same_promise = {
        dataset: table.curve(4, dataset, ("urr", _NS), "mse")[0]
        / min(table.curve(5, dataset, (model, _NS), "mse")[-1] for model in _IDUE)
        for dataset in DATASETS
    }
    channels = ipldp.item_channels(ipldp.level_budgets(ZIPF_ITEMS, 100_000, 10_000_000))
    true = {name: channels[name].micro_epsilon for name in ("iprr", "idue_opt0")}
    return {
        "#5: on Zipf IPRR beats IDUE with both estimators (MSE)": (
            min(min(numbers) for name, numbers in zipf.items() if name.endswith("mse")) > 1,
            f"IDUE / IPRR: {_by_estimator(zipf)}",
        ),
        "#5: on Kosarak IDUE beats IPRR with norm-sub": (
            max(over_iprr("kosarak_parts", _NS)) < 1,
            f"MSE of IDUE / IPRR: {_span(over_iprr('kosarak_parts', _NS))}",
        ),
        "#5: on Kosarak IPRR beats IDUE with maximum likelihood": (
            min(over_iprr("kosarak_parts", _MLE)) > 1,
            f"MSE of IDUE / IPRR: {_span(over_iprr('kosarak_parts', _MLE))}",
        ),
        "#5 compares IPRR and IDUE in the same privacy setting": (
            true["iprr"] == true["idue_opt0"],
            "Largest true ε between two values: "
            + ", ".join(f"{name} {epsilon_text(micro)}" for name, micro in true.items())
            + ". An IPRR that keeps IDUE's promise is k-RR at the smallest budget; norm-sub, MSE of that / best IDUE: "
            + listing(same_promise, ".2g"),
        ),
    }


def _exact_verdicts(theorem_3: Mapping[str, Sequence[float]]) -> Verdicts:
    """Claims that formulas decide, beside what simulation sees."""
    budgets = LOSS_BUDGETS
    losses = [ipldp.l2_loss([times * micro for micro in budgets], LOSS_SHARES, 1000) for times in (1, 2)]
    squared, absolute = (seen / stated for seen, stated in zip(theorem_3["seen"], theorem_3["stated"], strict=True))
    uneven = (100_000, 10_000_000, 10_000_000)
    tight = ipldp.l2_bound(uneven, 1) / ipldp.low_privacy_l2(uneven, 1)
    channel = ipldp.item_channels(budgets)["iprr"]
    pair = channel.pair_micro_epsilon(2, 7)
    return {
        "Lemma 1: smaller budgets give the smaller loss": (
            losses[0] <= losses[1],
            f"expected squared loss with budgets {losses[0]:.3g}, with all of them doubled {losses[1]:.3g}",
        ),
        "Theorem 3 gives the expected losses": (
            max(abs(squared - 1), abs(absolute - 1)) < 0.03,
            f"seen / stated: l2 {squared:.3f}, l1 {absolute:.3f}",
        ),
        "Theorem 6 holds where the smallest budget is above ln(|D_N| + 1)": (
            bool(tight > 0.999),
            f"budgets .1, 10, 10, none open (smallest {epsilon_text(min(uneven))} > ln 1): "
            f"largest loss / (23) with its missing 1/n = {tight:.3f}",
        ),
        "An item with budget ε_x gets ε_x-LDP, as an input and as an output": (
            pair == min(budgets[2], budgets[7]),
            f"items with budgets {epsilon_text(budgets[2])} and {epsilon_text(budgets[7])}: true ε between them "
            f"{epsilon_text(pair)}; between either and a non-sensitive item "
            f"{epsilon_text(channel.pair_micro_epsilon(0, 7))}. One side holds: no report speaks for the latter by "
            f"more than {epsilon_text(channel.evidence_micro_epsilon(7))}",
        ),
    }


_DIRECT: Final = {"krr": "k-RR", "urr": "URR", "iprr": "IPRR"}
_UNARY: Final = {"idue_opt0": "IDUE opt0", "idue_opt1": "IDUE opt1", "idue_opt2": "IDUE opt2", "iprr": "IPRR"}
_ESTIMATORS: Final = {"norm_sub": "NS", "mle": "MLE"}


def _items(names: dict[str, str], numbers: Sequence[int], x: str, x_label: str) -> Curves:
    """Panels by experiment and dataset, lines by method and estimator."""
    both = product(_ESTIMATORS.items(), names.items())
    return Curves(
        itemgetter(x),
        x_label,
        {"mse": "MSE", "re": "RE"},
        {f"{method} {estimator}": f"{label} ({short})" for (estimator, short), (method, label) in both},
        panel=lambda row: f"#{row['experiment']}, {row['dataset']}",
        where=lambda row: row["experiment"] in numbers,
        method=lambda row: f"{row['method']} {row['estimator']}",
    )


def _item_datasets(result: Result) -> Table:
    printed = {"zipf": "100,000 people, 20 items", "kosarak_parts": "990,002 people, top 100 items"}
    rows = [(name, printed[name], text) for name, text in result["datasets"].items()]
    return Table(("dataset", "printed", "here"), rows)


PAPER: Final = Paper(
    name="ipldp",
    citation="Li, Zhu, Zhang, Xie. Item-Oriented Personalized Local Differential Privacy for Discrete Distribution "
    "Estimation",
    datasets=("kosarak_items",),
    run=run,
    judge=judge,
    notes=lambda result: [f"Left out: {text}" for text in result["left_out"]],
    exhibits=(
        Exhibit("Figure 1", "an example of IPRR's probabilities", reason=ILLUSTRATION),
        Exhibit("Table 1", "The datasets.", _item_datasets),
        Exhibit(
            "Table 2", "settings of the experiments", reason="our settings are these; each row below names its own"
        ),
        Exhibit(
            "Figure 2",
            "Error by the share of people drawn: high (#1), low (#2) and mixed (#3) privacy.",
            _items(_DIRECT, (1, 2, 3), "sample_ratio", "share of people"),
        ),
        Exhibit(
            "Figure 3",
            "Error by the share of non-sensitive items (#4).",
            _items({"urr": "URR", "iprr": "IPRR"}, (4,), "non_sensitive_ratio", "share of open items"),
        ),
        Exhibit(
            "Figure 4",
            "IPRR and IDUE (#5), whose promises differ.",
            _items(_UNARY, (5,), "sample_ratio", "share of people"),
        ),
    ),
)
