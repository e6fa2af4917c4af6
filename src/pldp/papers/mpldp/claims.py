"""What the paper on many attributes claims, the rules that judge it, and its tables and figures."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from pldp.papers.mpldp.experiment import run
from pldp.papers.paper import ILLUSTRATION, NOTATION, Curves, Exhibit, Paper, Result, Table, Verdicts, span


def judge(result: Result) -> Verdicts:
    """Judge every claim."""
    found = {(row["n"], row["epsilon"], row["method"]): row for row in result["rows"]}
    cells = sorted({(people, total) for people, total, _ in found})

    def ratios(method: str, other: str, name: str) -> list[float]:
        return [10 ** (found[*cell, method][name] - found[*cell, other][name]) for cell in cells]

    combined = ratios("oc", "brr_sum", "log10_nse")
    with_truth = ratios("op_truth", "oc", "log10_max_error")
    with_earlier = ratios("op_reference", "oc", "log10_max_error")
    misfits = [f"ε = {row['epsilon']:g}, n = {row['n']:,}" for row in result["table_2"] if not row["fits_half"]]
    return {
        "OC lowers the squared error by about 60 % against adding the levels up": (
            bool(0.3 <= np.mean(combined) <= 0.5),
            f"OC / sum over all n and ε: {span(combined)}, mean {np.mean(combined):.2f}",
        ),
        "OP lowers the maximum error, the true histogram being at hand": (
            max(with_truth) < 1,
            f"largest squared error of OP with the truth / OC: {span(with_truth)}",
        ),
        "OP lowers the maximum error for a collector, who has an earlier histogram only": (
            max(with_earlier) < 1,
            f"largest squared error of OP with an earlier estimate / OC: {span(with_earlier)}",
        ),
        "Table 2 is the optimal allocation of ε": (
            not misfits,
            "printed rows are the k^(1/3) shares of ε/2, half of the total stays unspent; "
            f"fits nothing: {'; '.join(misfits)}",
        ),
    }


_OC: Final = {"brr_sum": "BRR (levels added)", "oc": "OC"}
_OP: Final = {**_OC, "op_truth": "OP with the truth", "op_reference": "OP with an earlier estimate"}
_NSE: Final = {"log10_nse": "log10 NSE"}
_TABLE_3: Final = {
    (10_000, 1.0): (4.6184, 4.5430),
    (10_000, 3.0): (4.7216, 4.6086),
    (10_000, 6.0): (4.4780, 4.3916),
    (1_000, 1.0): (3.0127, 2.8388),
    (1_000, 3.0): (2.9887, 2.7940),
    (1_000, 6.0): (2.9765, 2.6739),
}
"""First and tenth iteration of the paper's Table 3 (log10 of the largest squared error)."""


def _allocation(result: Result) -> Table:
    heads = ("n", "ε", "printed", "their sum", "k^⅓ shares of ε/2", "optimum")
    names = ("n", "epsilon", "printed", "sum_of_printed", "cube_root_of_half", "optimum")
    return Table(heads, [[_decimals(row[name]) for name in names] for row in result["table_2"]])


def _decimals(numbers: float | Sequence[float]) -> Any:
    return " ".join(f"{number:.4f}" for number in numbers) if isinstance(numbers, Sequence) else numbers


def _largest_errors(result: Result) -> Table:
    found = {(row["n"], row["epsilon"], row["method"]): row["log10_max_error"] for row in result["rows"]}
    heads = ("n", "ε", "printed, iteration 1", "printed, iteration 10", *_OP.values())
    rows = [
        (*cell, *printed, *(f"{found[*cell, method]:.3f}" for method in _OP))
        for cell, printed in _TABLE_3.items()
        if (*cell, "oc") in found
    ]
    return Table(heads, rows)


PAPER: Final = Paper(
    name="mpldp",
    citation="Feng, Zhang. MPLDP: Multi-Level Personalized Local Differential Privacy Method",
    datasets=("adult",),
    run=run,
    judge=judge,
    notes=lambda result: [f"Adult: {result['adult']}"] if isinstance(result["adult"], str) else [],
    exhibits=(
        Exhibit("Table 1", "notation", reason=NOTATION),
        Exhibit("Figure 1", "the framework", reason=ILLUSTRATION),
        Exhibit("Figure 2", "how one set of answers is published", reason=ILLUSTRATION),
        Exhibit(
            "Table 2",
            "Budgets of attributes with 5, 10, 15, 20 and 25 values. The printed ones spend half of the total.",
            _allocation,
        ),
        *(
            Exhibit(
                label,
                "Squared error of all counts per person.",
                Curves(
                    itemgetter("epsilon"), "total ε", _NSE, methods, panel=lambda row: f"n = {row['n']:,}", log=False
                ),
            )
            for label, methods in (("Figure 3", _OC), ("Figure 4", _OP))
        ),
        Exhibit(
            "Table 3",
            "Largest squared error of a count (log10), mean of all runs. The paper has one run, and a reference that "
            "it does not name; its iterations are of OP with the true histogram.",
            _largest_errors,
        ),
    ),
)
