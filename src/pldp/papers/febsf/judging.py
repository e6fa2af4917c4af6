"""What the rules of this paper's claims have in common: cells of a run, and ratios of errors between them."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, Final

from pldp.papers.claim import Finding, Result, all_of, at_least, at_most, ratio
from pldp.papers.febsf.experiment import KEY
from pldp.papers.febsf.setting import DATASETS, SIZES, Setting
from pldp.papers.paper import span

MEASURES: Final = ("mse", "mae")
TEN: Final = ("uniform", "power_law")
TWO: Final = ("uniform_two", "power_law_two")
ALL: Final = {dataset: len(Setting(dataset, "uniform", ()).counts) for dataset in DATASETS}
"""Number of values of each dataset."""

EMOA: Final = {"EMOA as printed": "emoa", "EMOA as the authors' code computes it": "emoa_of_code"}
"""The two readings of EMOA."""

Cell = tuple[str, int, str, float]
Key = tuple[str, int, str, float, str]
Pair = tuple[Key, Key]
Rows = dict[Key, dict[str, Any]]
Side = Callable[[float, float, float], Finding]


def index(result: Result) -> Rows:
    """Return the rows of a run by what identifies them."""
    return {tuple(row[name] for name in KEY): row for row in result["rows"]}


def cells(levels: Sequence[str], datasets: Iterable[str] = DATASETS) -> list[Cell]:
    """Return the cells with all values of a dataset, at the ε_p where the paper compares methods."""
    return [(dataset, ALL[dataset], each, main(each)) for dataset, each in product(datasets, levels)]


def sizes(datasets: Iterable[str] = DATASETS) -> list[Cell]:
    """Return the cells of Figures 3 and 4 in the authors' code."""
    return [(dataset, size, "uniform", main("uniform")) for dataset, size in product(datasets, SIZES)]


def main(levels: str) -> float:
    """Return ε_p of the paper's comparisons."""
    return Setting("job", levels, ()).main / 1e6


def methods_at(where: Iterable[Cell], methods: Iterable[str], others: Iterable[str]) -> list[Pair]:
    """Pair every method with every other one in each cell."""
    return [((*cell, one), (*cell, two)) for cell, one, two in product(where, methods, others)]


def ratios(rows: Rows, pairs: Iterable[Pair], measure: str) -> list[tuple[float, float]]:
    """Return the ratio of the mean errors of every pair, with its standard error."""
    numbers = [(rows[one], rows[two]) for one, two in pairs]
    name = f"{measure}_error"
    return [ratio(one[measure], one[name], two[measure], two[name]) for one, two in numbers]


def compare(
    result: Result,
    pairs: Sequence[Pair],
    side: Side = at_most,
    limit: float = 1.0,
    *,
    words: str,
    measures: Sequence[str] = MEASURES,
    decide: Callable[[Sequence[Finding], str], Finding] = all_of,
) -> Finding:
    """Judge whether the ratio of errors of these pairs is on one side of a limit, in both measures."""
    rows = index(result)
    found = {measure: ratios(rows, pairs, measure) for measure in measures}
    findings = [side(*each, limit) for each in (each for measured in found.values() for each in measured)]
    said = [f"{name.upper()} {_span(measured)}" for name, measured in found.items()]
    methods = list(dict.fromkeys(one[-1] for one, _ in pairs))
    if len(methods) > 1:
        by_method = {
            name: [each for each, (one, _) in zip(found["mse"], pairs, strict=True) if one[-1] == name]
            for name in methods
        }
        said[0] = "MSE " + ", ".join(f"{_label(name)} {_span(measured)}" for name, measured in by_method.items())
    return decide(findings, f"{words}: {'; '.join(said)}")


def better(
    result: Result, where: Sequence[Cell], methods: Sequence[str], others: Sequence[str], **more: Any
) -> Finding:
    """Judge whether methods have smaller errors than others in these cells."""
    return compare(result, methods_at(where, methods, others), at_most, **more)


def worse(result: Result, where: Sequence[Cell], methods: Sequence[str], others: Sequence[str], **more: Any) -> Finding:
    """Judge whether methods have larger errors than others in these cells."""
    return compare(result, methods_at(where, methods, others), at_least, **more)


def under_power_law(where: Sequence[str], methods: Iterable[str]) -> list[Pair]:
    """Pair a method under a power law with the same one under uniform budgets."""
    uniform, power_law = where
    return [
        (
            (dataset, ALL[dataset], power_law, main(power_law), method),
            (dataset, ALL[dataset], uniform, main(uniform), method),
        )
        for dataset, method in product(DATASETS, methods)
    ]


def _label(method: str) -> str:
    return method.split("_", maxsplit=1)[0].upper()


def _span(measured: Sequence[tuple[float, float]]) -> str:
    return span([value for value, _ in measured], ".3g")
