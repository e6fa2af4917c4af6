"""Tables and figures of the paper on a budget per item, made again."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from operator import itemgetter
from typing import Final

from pldp.mechanisms import ItemResponse, epsilon_text
from pldp.papers import ipldp
from pldp.papers.claim import Result
from pldp.papers.ipldp.experiment import DATASETS, experiments
from pldp.papers.ipldp.rules import IDUE, NAMES
from pldp.papers.paper import Curves, Drawn, Exhibit, Panel, Table

_DIRECT: Final = ("krr", "urr", "iprr")
_UNARY: Final = (*IDUE, "iprr")
_ITEMS: Final = ("HIV", "Cancer", "Hepatitis", "Flu", "None")
_PRINTED: Final = {"zipf": "100,000 people, 20 items", "kosarak_parts": "Kosarak: 646,510 people, 100 items"}
_DIFFERS: Final = (
    "two public parts of Kosarak, 442,901 people, for its 646,510; the paper's curves are not printed as numbers"
)


def _items(methods: Sequence[str], numbers: Sequence[int], x: str, x_label: str) -> Callable[[Result], Drawn]:
    """Panels by metric, dataset and experiment, lines by method and estimator."""
    both = product(ipldp.ESTIMATORS, methods)
    labels = {f"{method} {estimator}": f"{NAMES[method]} ({NAMES[estimator]})" for estimator, method in both}

    def draw(result: Result) -> Sequence[Panel]:
        rows = sorted(result["rows"], key=lambda row: DATASETS.index(row["dataset"]))
        panels: list[Panel] = []
        for metric in ("mse", "re"):
            curves = Curves(
                itemgetter(x),
                x_label,
                {metric: metric.upper()},
                labels,
                panel=lambda row: f"#{row['experiment']}, {row['dataset']}",
                where=lambda row: row["experiment"] in numbers,
                method=lambda row: f"{row['method']} {row['estimator']}",
            )
            panels += curves({"rows": rows})
        return panels

    return draw


def _example(_: Result) -> Table:
    channel = ItemResponse.of(ipldp.FIGURE_1)
    rows = []
    for place, (name, micro) in enumerate(zip(_ITEMS, ipldp.FIGURE_1, strict=True)):
        honest, false = channel.truth_supports[place], channel.other_supports[place]
        budget = "none" if micro == math.inf else epsilon_text(micro)
        rows.append((f"x{place + 1} = {name}", budget, f"{float(honest):.4f}", f"{float(false):.4f}"))
    return Table(("item", "ε", "said by those who have it", "said by each of the others"), rows)


def _datasets(result: Result) -> Table:
    rows = [(name, _PRINTED[name], text) for name, text in result["datasets"].items()]
    return Table(("dataset", "printed", "here"), rows)


def _settings(result: Result) -> Table:
    runs = {(row["experiment"], row["runs"]) for row in result["rows"]}
    rows = []
    for each in experiments(quick=bool(result.get("quick"))):
        names = ", ".join(NAMES[rival] for rival in each.rivals)
        budgets = (epsilon_text(each.smallest), epsilon_text(each.largest))
        ratios = (" ".join(f"{ratio:g}" for ratio in points) for points in (each.open_ratios, each.sample_ratios))
        here = " or ".join(str(number) for which, number in sorted(runs) if which == each.number)
        rows.append((each.number, names, *budgets, 4, *ratios, here))
    return Table(("#", "compared with IPRR", "ε min", "ε max", "LC", "NR", "SR", "runs here"), rows)


EXHIBITS: Final = (
    Exhibit("Figure 1", "The example of IPRR's probabilities. The paper draws them in a picture.", _example),
    Exhibit("Table 1", "The datasets.", _datasets, differs="two public parts of Kosarak, 442,901 people, for 646,510"),
    Exhibit(
        "Table 2",
        "Settings of the experiments: budgets, levels (LC), shares of open items (NR) and of people (SR).",
        _settings,
        differs="NR of Kosarak in #4 is not legible; here as for Zipf",
    ),
    Exhibit(
        "Figure 2",
        "Error by the share of people drawn: high (#1), low (#2) and mixed (#3) privacy.",
        _items(_DIRECT, (1, 2, 3), "sample_ratio", "share of people"),
        differs=_DIFFERS,
    ),
    Exhibit(
        "Figure 3",
        "Error by the share of non-sensitive items (#4).",
        _items(("urr", "iprr"), (4,), "non_sensitive_ratio", "share of open items"),
        differs=f"{_DIFFERS}; NR of Kosarak is not legible",
    ),
    Exhibit(
        "Figure 4",
        "IPRR and IDUE (#5), whose promises differ. Maximum likelihood reads all bits of IDUE's reports.",
        _items(_UNARY, (5,), "sample_ratio", "share of people"),
        differs=f"{_DIFFERS}; fewer runs where IDUE's likelihood needs all rows (the file below has the errors)",
    ),
)
