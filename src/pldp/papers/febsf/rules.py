"""The rules that judge the claims of the paper on hidden budgets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Final

from scipy import stats

from pldp.mechanisms import MICRO, PureChannel, RandomizedResponse, SymmetricUnaryEncoding, level_leak
from pldp.papers.claim import SURE, Finding, Result, all_of, at_least, at_most, between, ratio, some_of
from pldp.papers.febsf import theory
from pldp.papers.febsf.counts import EXTRA_BITS
from pldp.papers.febsf.exhibits import PRINTED_SIZES, found_sizes
from pldp.papers.febsf.experiment import IMPROVEMENT
from pldp.papers.febsf.judging import ALL, MEASURES, TEN, Pair, cells, compare, index, ratios, worse
from pldp.papers.febsf.setting import BUDGETS, DATASETS, SIZES
from pldp.papers.paper import listing, span

STEPS: Final = tuple(micro / MICRO for micro in BUDGETS)


# Section 5: theorems


def table_1(_: Result) -> Finding:
    """Judge the printed numbers of values and people."""
    wrong = {name: found_sizes()[name] for name, printed in PRINTED_SIZES.items() if found_sizes()[name] != printed}
    said = "; ".join(f"{name} has {values} values of {people:,} people" for name, (values, people) in wrong.items())
    return at_most(len(wrong), 0.0, 0.0, said or "all three as printed")


def theorem_5_1(result: Result) -> Finding:
    """Judge the bias of equation (3) with the true distribution of budgets."""
    largest = max(each["bias"] for each in result["theory"])
    return at_most(largest, 0.0, 1e-12, f"largest |E(p̂) − p| computed from the channels: {largest:.0e}")


def theorem_5_2(result: Result, epsilon_p: float) -> Finding:
    """Judge the bias of AUEM beside its spread."""
    rows = [row for row in result["auem"] if row["epsilon_p"] == epsilon_p and row["levels"] == "uniform"]
    words = f"bias in standard deviations: {listing({row['dataset']: row['bias'] for row in rows}, '.3f')}"
    limit = math.sqrt(0.05 / 0.95)
    return all_of([at_most(abs(row["bias"]), row["bias_error"], limit) for row in rows], words)


def theorem_5_3(result: Result, formula: str, judge: Callable[[float, float], Finding]) -> Finding:
    """Judge a formula for the variance of AUEM by the variance over many runs."""
    rows = [row for row in result["auem"] if row["epsilon_p"] in {0.3, 1.0} and row["levels"] == "uniform"]
    found = [ratio(row[formula], 0.0, row["variance"], row["variance_error"]) for row in rows]
    words = f"formula / variance seen, ε_p .3 and 1.0: {span([value for value, _ in found], '.3g')}"
    return all_of([judge(*each) for each in found], words)


def equation_5(_: Result, mechanism: Callable[[int, int], PureChannel]) -> Finding:
    """Judge whether equation (5) sums to 1 over all outputs."""
    found = {name: theory.total_probability(mechanism(size, MICRO)) for name, size in ALL.items()}
    words = f"sum over all outputs at ε = 1: {listing(found, '.6g')}"
    return all_of([between(each, 0.0, 1 - 1e-6, 1 + 1e-6) for each in found.values()], words)


def v1(result: Result) -> Finding:
    """Judge whether V1 changes with ε_p."""
    spread = max(max(v[0] for v in each["parts"]) / min(v[0] for v in each["parts"]) for each in result["theory"])
    return at_most(spread, 0.0, 1 + 1e-12, f"largest / smallest V1 over ε_p: {spread:g}")


def others_grow(result: Result) -> Finding:
    """Judge how V2, V3 and V4 grow as ε_p falls."""
    grown = [each["parts"][0][part] / each["parts"][1][part] for each in result["theory"] for part in (1, 2, 3)]
    words = f"V2, V3 and V4 at ε_p = .001 over those at .1: {span(grown, ',.0f')} times, as 1/(p−q)²"
    return all_of([at_least(each, 0.0, 1000.0) for each in grown], words)


def label_epsilon(_: Result) -> Finding:
    """Judge the exact ε of a perturbed budget."""
    excess = max(RandomizedResponse.of(len(BUDGETS), micro).epsilon - micro / MICRO for micro in BUDGETS)
    return at_most(excess, 0.0, 0.0, f"exact ε of the label minus ε_p, at most {max(excess, 0.0):g}")


def pair_epsilon(result: Result) -> Finding:
    """Judge the exact ε, about the budget, of everything that is sent."""
    found = {each["dataset"]: each["leak"] + 1.0 for each in result["theory"] if each["levels"] == "uniform"}
    words = f"exact ε of data and label about the budget at ε_p = 1.0: {listing(found, '.2f')}"
    return all_of([at_most(each, 0.0, 1.0) for each in found.values()], words)


def ppda_leak(_: Result) -> Finding:
    """Judge the exact ε, about the budget, of a report of PPDA."""
    bits = {name: size + EXTRA_BITS["ppda"] for name, size in ALL.items()}
    found = {
        name: level_leak([SymmetricUnaryEncoding.of(size, micro) for micro in BUDGETS]) / MICRO
        for name, size in bits.items()
    }
    words = f"exact ε about the budget: {listing(found, '.2f')}; without the extra bits it is less, but not 0"
    return all_of([at_least(each, 0.0, 1e-6) for each in found.values()], words)


# Section 7.3.1: ε_p


def _label_part(result: Result, steps: Sequence[float], measure: str) -> dict[str, list[tuple[float, float]]]:
    """Return which part of AUEM's error is due to labels, by dataset: 1 − (error with known ρ) / error."""
    rows = index(result)
    found = {}
    for dataset, size in ALL.items():
        pairs = [((dataset, size, "uniform", e, "known_mix"), (dataset, size, "uniform", e, "auem")) for e in steps]
        found[dataset] = [(1 - value, error) for value, error in ratios(rows, pairs, measure)]
    return found


def labels_matter(result: Result, steps: Sequence[float], measure: str, judge: Callable[..., Finding]) -> Finding:
    """Judge which part of AUEM's error is due to labels, at these ε_p."""
    found = _label_part(result, steps, measure)
    said = "; ".join(f"{name} {', '.join(f'{value:.0%}' for value, _ in each)}" for name, each in found.items())
    words = f"part of AUEM's {measure.upper()} that is due to labels, ε_p {', '.join(f'{e:g}' for e in steps)}: {said}"
    return all_of([judge(*each, 0.5) for measured in found.values() for each in measured], words)


def falls(result: Result) -> Finding:
    """Judge whether the error of AUEM falls at each step of ε_p."""
    pairs = [
        ((dataset, size, "uniform", high, "auem"), (dataset, size, "uniform", low, "auem"))
        for dataset, size in ALL.items()
        for low, high in pairwise(STEPS)
    ]
    return compare(result, pairs, words="error of AUEM over that at the step of ε_p before")


def flattens(result: Result) -> Finding:
    """Judge the slope of AUEM's error beyond .4 by that before."""
    rows = index(result)
    found: dict[str, list[tuple[float, float]]] = {}
    for measure, (dataset, size) in product(MEASURES, ALL.items()):
        at = {e: rows[dataset, size, "uniform", e, "auem"] for e in (0.1, 0.4, 1.0)}
        value, error = ({e: row[name] for e, row in at.items()} for name in (measure, f"{measure}_error"))
        steep = (value[0.1] - value[0.4]) / 0.3, math.hypot(error[0.1], error[0.4]) / 0.3
        flat = (value[0.4] - value[1.0]) / 0.6, math.hypot(error[0.4], error[1.0]) / 0.6
        found.setdefault(measure, []).append(ratio(*flat, *steep))
    said = "; ".join(f"{name.upper()} {span([value for value, _ in each], '.3f')}" for name, each in found.items())
    words = f"mean slope from .4 to 1.0 over that from .1 to .4: {said}"
    return all_of([at_most(*each, 0.5) for measured in found.values() for each in measured], words)


# Section 7.3.2: the domain

SCHEMES: Final = ("auem", "emoa", "rcf", "ppda", "apldp")
OF_CODE: Final = tuple(f"{name}_of_code" for name in SCHEMES)


def by_size(methods: Sequence[str]) -> list[Pair]:
    """Pair a method with nine values with the same one with two, in each dataset."""
    first, last = SIZES[0], SIZES[-1]
    return [
        ((dataset, last, "uniform", 0.3, method), (dataset, first, "uniform", 0.3, method))
        for dataset, method in product(DATASETS, methods)
    ]


def by_dataset(methods: Sequence[str]) -> list[Pair]:
    """Pair a method on a dataset with the same one on the dataset with the next fewer values."""
    ordered = sorted(ALL, key=lambda dataset: ALL[dataset])
    return [
        ((high, ALL[high], "uniform", 0.3, method), (low, ALL[low], "uniform", 0.3, method))
        for (low, high), method in product(pairwise(ordered), methods)
    ]


# Section 7.3.3: the distribution of budgets


def improvement(result: Result, method: str) -> Finding:
    """Judge by how much EMOA is better than PBP."""
    rows = index(result)
    pairs = [((*cell, method), (*cell, "pbp")) for cell in cells(("uniform_two",))]
    found = dict(zip(DATASETS, ratios(rows, pairs, "mse"), strict=True))
    words = f"smaller MSE than PBP: {listing({name: 1 - value for name, (value, _) in found.items()}, '.1%')}"
    return some_of([at_least(1 - value, error, IMPROVEMENT) for value, error in found.values()], words)


def assigned_once(result: Result, method: str) -> Finding:
    """Judge by which part of all distributions that PBP may assume gives the improvement."""
    rows = [row for row in result["pbp"] if row["method"] == method and row["levels"] == "uniform_two"]
    shares = {row["dataset"]: row["share"] for row in rows}
    words = f"of all distributions that PBP may assume, these parts give 87 % or more: {listing(shares, '.0%')}"
    largest = max(shares.values())
    if largest in {0.0, 1.0}:
        return at_least(largest, 0.0, 0.5, words)
    return Finding("undecided", f"{words}; which one was assigned is not known", largest)


def never_better(result: Result, method: str) -> Finding:
    """Judge AUEM against RCF and APLDP, which sum to anything too, and EMOA's shares against projected RCF."""
    where = cells(TEN)
    free = worse(result, where, ["auem"], ["rcf", "apldp"], words="AUEM / RCF and APLDP")
    bound = worse(result, where, [method], ["rcf_projected"], words="EMOA / projected RCF")
    return all_of([free, bound], f"{free.reason}; {bound.reason}")


def equally_bound(result: Result, method: str) -> Finding:
    """Judge methods of the same constraints on the same reports: all cells together, and none against it."""
    rows = [row for row in result["pairs"] if row["method"] == method and (row["values"], row["levels"]) in _ALL_TEN]
    rows = [row for row in rows if row["epsilon_p"] == 0.3]
    wider = widen(min(each["runs"] for each in result["rows"] if each["method"] == method))
    findings = []
    for measure in MEASURES:
        name = f"{measure}_ratio"
        errors = [row[f"{name}_error"] * wider for row in rows]
        overall = math.exp(sum(math.log(row[name]) for row in rows) / len(rows))
        relative = math.hypot(*(error / row[name] for row, error in zip(rows, errors, strict=True))) / len(rows)
        findings.append(at_least(overall, overall * relative, 1.0))
        each = [at_least(row[name], error, 1.0) for row, error in zip(rows, errors, strict=True)]
        findings += [found for found in each if found.verdict == "fails"]
    said = listing({f"{row['dataset']} {row['levels'].replace('_', ' ')}": row["mse_ratio"] for row in rows}, ".2f")
    return all_of(findings, f"MSE hidden / shown: {said}; all together {findings[0].measured:.2f}")


def widen(runs: int) -> float:
    """Return by how much a standard error from so few runs is widened: Student's t at the certainty that decides.

    >>> round(widen(10), 2), round(widen(100), 2), round(widen(10_000), 2)
    (1.75, 1.04, 1.0)
    """
    return float(stats.t.isf(stats.norm.sf(SURE), runs - 1) / SURE)


_ALL_TEN: Final = {(size, levels) for size, levels in product(ALL.values(), TEN)}


def country(result: Result) -> Finding:
    """Judge the errors on Country by those on the other datasets."""
    pairs = [
        (("country", ALL["country"], levels, 0.3, method), (other, ALL[other], levels, 0.3, method))
        for levels, other, method in product(TEN, ("education", "job"), SCHEMES)
    ]
    rows = index(result)
    said = []
    for method in SCHEMES:
        own = [value for value, _ in ratios(rows, [each for each in pairs if each[0][-1] == method], "mse")]
        said.append(f"{method.upper()} {span(own)}")
    found = compare(result, pairs, words="")
    return all_of([found], f"MSE on Country over that on Education and Job: {', '.join(said)}")


def objective(result: Result) -> Finding:
    """Judge whether EMOA increases its objective."""
    found = result["objective"]
    said = listing({each["dataset"]: each["gain"] for each in found}, ".1e")
    return all_of([at_least(each["gain"], each["gain_error"], 0.0) for each in found], f"change per report: {said}")


def delta_method(result: Result) -> Finding:
    """Judge our variance of AUEM by the variance over many runs."""
    judge = partial(between, low=0.95, high=1.05)
    rows = [row for row in result["auem"] if row["epsilon_p"] == 1.0]
    found = [ratio(row["delta_method"], 0.0, row["variance"], row["variance_error"]) for row in rows]
    words = f"delta method / variance seen, ε_p = 1.0: {span([value for value, _ in found], '.3f')}"
    return all_of([judge(*each) for each in found], words)
