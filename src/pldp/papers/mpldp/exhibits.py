"""Tables and figures of the paper on many attributes, made again."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

from pldp.papers.claim import Result
from pldp.papers.mpldp.published import TABLE_3
from pldp.papers.paper import ILLUSTRATION, NOTATION, Curves, Exhibit, Row, Table

_OC: Final = {"brr_sum": "BRR (levels added)", "oc": "OC"}
_OP: Final = {**_OC, "op_truth": "OP with the truth", "least_squares": "least squares with the truth"}
_OURS: Final = {"op_reference": "OP with an earlier estimate"}
_SHOWN: Final = 10  # iterations in Table 3
_DIFFERS: Final = (
    "means of many runs with their errors, where the paper seems to have one run; levels with probability 1/3 each, as "
    "it does not print their shares; its own curves are not printed as numbers"
)


def _panel(row: Row) -> str:
    spent = "half of ε, as in Table 2" if row["budgets"] == "printed" else "all of ε"
    return f"n = {row['n']:,}, {spent}"


def _allocation(result: Result) -> Table:
    heads = ("n", "ε", "printed", "their sum", "k^⅓ shares of ε/2", "optimum of ε", "cost above the least, %")
    names = ("n", "epsilon", "printed", "sum_of_printed", "cube_root_of_half", "optimum")
    rows = [[*(_decimals(row[name]) for name in names), f"{100 * row['excess']:.3f}"] for row in result["table_2"]]
    return Table(heads, rows)


def _decimals(numbers: float | Sequence[float]) -> Any:
    return " ".join(f"{number:.4f}" for number in numbers) if isinstance(numbers, Sequence) else numbers


def _largest_errors(result: Result) -> Table:
    found = {(row["n"], row["epsilon"]): row for row in result["table_3"] if row["budgets"] == "printed"}
    kinds = {
        "here": "mended_absolute",
        "here, squared": "mended_squared",
        "here, OP as printed": "algorithm_absolute",
    }
    rows = []
    for (people, total), printed in TABLE_3.items():
        rows.append([people, total, "printed", *(f"{number:.4f}" for number in printed)])
        for name, form in kinds.items():
            numbers = found[people, total][form][:_SHOWN]
            rows.append([people, total, name, *(f"{number:.3f}" for number in numbers)])
    return Table(("n", "ε", "log10 of the maximum error", *map(str, range(1, _SHOWN + 1))), rows)


def _curves(methods: dict[str, str], ours: dict[str, str]) -> Curves:
    y = {"log10_nse": "log10 NSE"}
    return Curves(itemgetter("epsilon"), "total ε", y, methods, ours, panel=_panel, log=False)


EXHIBITS: Final = (
    Exhibit("Table 1", "notation", reason=NOTATION),
    Exhibit("Figure 1", "the framework", reason=ILLUSTRATION),
    Exhibit("Figure 2", "how one set of answers is published", reason=ILLUSTRATION),
    Exhibit(
        "Table 2",
        "Budgets of attributes with 5, 10, 15, 20 and 25 values. The printed ones spend half of the total; the paper "
        "prints the headings of k and ε swapped.",
        _allocation,
    ),
    Exhibit(
        "Figure 3",
        "Squared error of all counts per person (NSE): adding the levels up, and OC.",
        _curves(_OC, {}),
        differs=_DIFFERS,
    ),
    Exhibit(
        "Figure 4",
        "NSE of OP after 20 iterations beside BRR and OC. OP's weights are fitted to the true histogram, as in "
        "Algorithm 3; OP as Algorithm 3 is printed is beyond all scales (10^20) and not drawn.",
        _curves(_OP, _OURS),
        differs=_DIFFERS,
    ),
    Exhibit(
        "Table 3",
        "The mean of the five attributes' maximum errors (log10) along OP's iterations with the true histogram; the "
        "first one is the least squares fit. Absolute errors, (25), and squared ones; neither has the size of the "
        "printed numbers, whose unit the paper does not say.",
        _largest_errors,
        differs="means of many runs, where the paper seems to have one run; levels with probability 1/3 each; budgets "
        "of Table 2",
    ),
)
