"""Many attributes: the allocation of Table 2, the errors of Figures 3 and 4, the maximum errors of Table 3.

Setting of the paper: five attributes with 5, 10, 15, 20 and 25 equally frequent values, 1,000 and 10,000 people, total
ε from 1 to 6, everybody picks high, mid or low for each attribute (ε/3, ε/2, ε of the attribute's budget).
"""

from collections import defaultdict
from itertools import product
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pldp.budgets import LEVEL_FRACTIONS, allocate, cube_root_rule, fraction_levels, unary_cost
from pldp.estimates import Group, frequencies, group
from pldp.mechanisms import MICRO, SymmetricUnaryEncoding
from pldp.mechanisms.arrays import FloatArray
from pldp.papers import mpldp
from pldp.papers.datasets import ADULT_COLUMNS, ADULT_NUMBERS, data_file
from pldp.papers.running import Progress, track
from pldp.simulate import Population, perturb, simulate_reports
from pldp.survey import survey_from_mapping
from pldp.tallies import BitCounts, tally

ADULT: Final = tuple(name for name in ADULT_COLUMNS if name not in ADULT_NUMBERS)  # the categorical columns
ADULT_EPSILON: Final = 9
SIZES: Final = (5, 10, 15, 20, 25)
COSTS: Final = [unary_cost(size) for size in SIZES]
PEOPLE: Final = (1_000, 10_000)
TABLE_2: Final = {
    (10_000, 1.0): (0.0847, 0.1067, 0.1221, 0.1344, 0.1448),
    (10_000, 2.0): (0.1434, 0.1807, 0.2068, 0.2276, 0.2452),
    (10_000, 4.0): (0.2859, 0.3602, 0.4123, 0.4538, 0.4889),
    (10_000, 6.0): (0.4286, 0.5400, 0.6181, 0.6803, 0.7327),
    (1_000, 1.0): (0.0723, 0.0911, 0.1043, 0.1148, 0.1236),
    (1_000, 6.0): (0.4287, 0.5401, 0.6182, 0.6804, 0.7328),
}
"""Rows of the paper's Table 2 (which prints the headings of k and ε swapped)."""

RUNS: Final = 1000
QUICK_RUNS: Final = 100
ADULT_RUNS: Final = 200
QUICK_ADULT_RUNS: Final = 10


def run(*, quick: bool, seed: int, progress: Progress | None) -> dict[str, Any]:
    """Run all settings."""
    totals = (1.0, 3.0, 6.0) if quick else tuple(np.arange(1.0, 6.5, 0.5))
    runs, adult_runs = (QUICK_RUNS, QUICK_ADULT_RUNS) if quick else (RUNS, ADULT_RUNS)
    settings = list(product(PEOPLE, totals))
    return {
        "rows": [row for n, total in track(settings, len(settings), progress) for row in _rows(n, total, runs, seed)],
        "table_2": allocations(),
        "adult": adult_coverage(adult_runs, seed),
    }


def adult_coverage(runs: int, seed: int) -> list[dict[str, Any]] | str:
    """Collect all categorical columns of Adult from its 48,842 people, a level per column; how often intervals cover.

    Returns a row per column, or the reason why there is none.
    """
    path = data_file("adult.parquet")
    if path is None:
        return "not run: adult.parquet is not in the folder that PLDP_DATA names"
    columns = {
        name: pc.dictionary_encode(column).combine_chunks()
        for name, column in zip(ADULT, pq.read_table(path, columns=list(ADULT)).columns, strict=True)
    }
    levels = {name: {"fraction": str(fraction)} for name, fraction in LEVEL_FRACTIONS.items()}
    questions = [{"name": name, "values": column.dictionary.to_pylist()} for name, column in columns.items()]
    survey = survey_from_mapping(
        {"pldp": 1, "title": "Adult", "levels": levels, "total_epsilon": ADULT_EPSILON, "questions": questions}
    )
    values = {name: np.asarray(column.indices) for name, column in columns.items()}
    covered = dict.fromkeys(ADULT, 0)
    for number in range(runs):
        generator = np.random.default_rng([seed, number])
        chosen = {name: generator.integers(0, len(levels), len(indices)) for name, indices in values.items()}
        people = Population(values, chosen)
        counted = tally(survey, simulate_reports(survey, people, seed=int(generator.integers(2**62))))
        for question in survey.questions:
            truth = people.shares(question)
            low, high = frequencies(counted, question.name, target="respondents").interval(0.95)
            covered[question.name] += int(((low <= truth) & (truth <= high)).sum())
    return [
        {
            "attribute": question.name,
            "values": question.size,
            "epsilon": question.levels[-1].epsilon,
            "coverage": covered[question.name] / (runs * question.size),
            "runs": runs,
        }
        for question in survey.questions
    ]


def _rows(people: int, total: float, runs: int, seed: int) -> list[dict[str, Any]]:
    """Mean over runs of the squared error per person and of the largest squared error of a count, per method."""
    budgets = allocate(round(total * MICRO), COSTS)
    squared, largest = defaultdict(list), defaultdict(list)
    for number in range(runs):
        generator = np.random.default_rng([seed, people, round(10 * total), number])
        parts = [_errors(people, *each, generator) for each in zip(SIZES, budgets, strict=True)]
        for method in parts[0]:
            together = (people * np.concatenate([part[method] for part in parts])) ** 2
            squared[method].append(together.sum() / people)
            largest[method].append(together.max())
    return [
        {
            "n": people,
            "epsilon": total,
            "method": method,
            "log10_nse": float(np.log10(np.mean(squared[method]))),
            "log10_max_error": float(np.log10(np.mean(largest[method]))),
            "runs": runs,
        }
        for method in squared
    ]


def _errors(people: int, size: int, budget: int, generator: np.random.Generator) -> dict[str, FloatArray]:
    """Let people answer one attribute; estimate with every method. The reference is an earlier collection's OC."""
    truth = np.bincount(np.arange(people) * size // people, minlength=size) / people
    groups = _collect(people, size, budget, generator)
    earlier = mpldp.oc(_collect(people, size, budget, generator))
    return {
        "brr_sum": mpldp.brr_sum(groups) - truth,
        "oc": mpldp.oc(groups) - truth,
        "op_truth": mpldp.op(groups, truth) - truth,
        "op_reference": mpldp.op(groups, earlier) - truth,
    }


def _collect(people: int, size: int, budget: int, generator: np.random.Generator) -> list[Group]:
    values = np.arange(people) * size // people
    level = generator.integers(0, len(LEVEL_FRACTIONS), people)
    channels = [SymmetricUnaryEncoding.of(size, each.micro_epsilon) for each in fraction_levels(budget)]
    outputs = perturb(channels, values, generator, level=level)
    return [
        group(channel, BitCounts.of_rows(outputs[level == place], size, patterns=False))
        for place, channel in enumerate(channels)
    ]


def allocations() -> list[dict[str, Any]]:
    """The printed budgets beside the k^(1/3) shares of half the total and the exact optimum of the whole total."""
    rows = []
    for (people, total), printed in TABLE_2.items():
        half = [micro / MICRO for micro in cube_root_rule(round(total * MICRO / 2), SIZES)]
        optimum = [micro / MICRO for micro in allocate(round(total * MICRO), COSTS)]
        row = {"n": people, "epsilon": total, "printed": list(printed), "sum_of_printed": round(sum(printed), 4)}
        fits = {"cube_root_of_half": half, "fits_half": bool(np.allclose(printed, half, rtol=0.015))}
        rows.append({**row, **fits, "optimum": optimum})
    return rows
