"""Write the tables of results in the pages from the shipped report of the papers: `python docs/make_papers_tables.py`.

A table stands between two comments, `<!-- table NAME: … -->` and `<!-- end -->`; a test compares it with what this file
makes now. The report is docs/research/report.html.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from helpers.shipped import exhibit, judged  # noqa: E402 - it is found where the tests are

_NAMES: Final = ("febsf", "mpldp", "multiservice", "ipldp", "aprr")
_BLOCK: Final = re.compile(r"(<!-- table (\w+): [^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)


def verdicts() -> Iterator[Sequence[str]]:
    """How many claims hold, do not hold and are undecided, by paper."""
    yield "paper", "claims", "hold", "do not hold", "undecided"
    counts = Counter((claim.paper, claim.verdict) for claim in judged().values() if not claim.ours)
    whole = Counter[str]()
    for name in _NAMES:
        own = {verdict: counts[name, verdict] for verdict in ("holds", "fails", "undecided")}
        whole.update(own)
        yield f"`{name}`", str(sum(own.values())), *map(str, own.values())
    yield "all", str(whole.total()), *(str(whole[verdict]) for verdict in ("holds", "fails", "undecided"))


def hiding() -> Iterator[Sequence[str]]:
    """What hiding budgets costs, beside the same likelihood with budgets shown, and methods over RCF."""
    yield "dataset, budgets", "hidden / shown", "joint fit / RCF", "shrunk / RCF", "AUEM / RCF"
    shown = dict(re.findall(r"(\w+[/, ]+(?:power.law|uniform)) ([\d.]+)", judged()["febsf-51"].reason))
    shown = {re.sub(r"\W+|_", " ", name): ratio for name, ratio in shown.items()}
    errors = {
        (row["panel"], row["choice of budgets"], row["method"]): (float(row["value"]), float(row["error"]))
        for row in exhibit("febsf", "figure-7.csv")
    }
    for dataset in ("education", "job", "country"):
        for budgets in ("uniform", "power law"):
            ratios = [
                _ratio(errors[dataset, budgets, method], errors[dataset, budgets, "RCF"])
                for method in ("joint likelihood", "joint, shrunk", "AUEM")
            ]
            yield f"{dataset.capitalize()}, {budgets}", shown[f"{dataset} {budgets}"], *ratios


def distributions() -> Iterator[Sequence[str]]:
    """Divergences of the joined services at ε = 0.3, as printed, smoothed, and by our default."""
    yield "numbers", "default", "as the authors run it (EMS)", "EM as printed (ULE)"
    found = {
        (row["panel"], row["method"]): f"{float(row['value']):.4f} ± {float(row['error']):.4f}"
        for row in exhibit("multiservice", "figure-4e–h.csv")
        if row["ε of each service"] == "0.3" and row["measure"] == "JS divergence"
    }
    for name in ("Beta(2, 5)", "Beta+Sin", "Taxi", "Retirement"):
        smoothed, printed = f"{name}, smoothed", f"{name}, as printed"
        yield name, found[smoothed, "smooth density"], found[smoothed, "ULE"], found[printed, "ULE"]


def _ratio(one: tuple[float, float], other: tuple[float, float]) -> str:
    """The ratio of two means of independent runs, with its standard error."""
    ratio = one[0] / other[0]
    error = ratio * ((one[1] / one[0]) ** 2 + (other[1] / other[0]) ** 2) ** 0.5
    return f"{ratio:.2f} ± {error:.2f}"


TABLES: Final[dict[str, Callable[[], Iterator[Sequence[str]]]]] = {
    "verdicts": verdicts,
    "hiding": hiding,
    "distributions": distributions,
}


def fill(text: str) -> str:
    """Return a page with its tables made anew."""
    return _BLOCK.sub(lambda block: block[1] + _markdown(list(TABLES[block[2]]())) + block[4], text)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


if __name__ == "__main__":
    for page in sorted((ROOT / "docs").glob("**/*.md")):
        text = page.read_text(encoding="utf-8")
        if "<!-- table " in text:
            page.write_text(fill(text), encoding="utf-8")
