"""A system that the paper has not: all categorical columns of Adult under one total, a level per column."""

from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pldp.budgets import LEVEL_FRACTIONS
from pldp.estimates import frequencies
from pldp.papers.datasets import ADULT_COLUMNS, ADULT_NUMBERS, data_file
from pldp.simulate import Population, simulate_reports
from pldp.survey import survey_from_mapping
from pldp.tallies import tally

ADULT: Final = tuple(name for name in ADULT_COLUMNS if name not in ADULT_NUMBERS)  # the categorical columns
ADULT_EPSILON: Final = 9


def adult_coverage(runs: int, seed: int) -> list[dict[str, Any]] | str:
    """Collect all categorical columns of Adult from its 48,842 people, a level per column; how often intervals cover.

    Returns a row per column, or the reason why there is none. Values of a run are not independent; `error` is that of
    the mean over runs.
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
    covered: dict[str, list[float]] = {name: [] for name in ADULT}
    for number in range(runs):
        generator = np.random.default_rng([seed, number])
        chosen = {name: generator.integers(0, len(levels), len(indices)) for name, indices in values.items()}
        people = Population(values, chosen)
        counted = tally(survey, simulate_reports(survey, people, seed=int(generator.integers(2**62))))
        for question in survey.questions:
            truth = people.shares(question)
            low, high = frequencies(counted, question.name, target="respondents", differ=0).interval(0.95)
            covered[question.name].append(float(((low <= truth) & (truth <= high)).mean()))
    return [
        {
            "attribute": question.name,
            "values": question.size,
            "epsilon": question.levels[-1].epsilon,
            "coverage": float(np.mean(covered[question.name])),
            "error": float(np.std(covered[question.name]) / np.sqrt(runs)),
            "runs": runs,
        }
        for question in survey.questions
    ]
