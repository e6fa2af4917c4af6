"""The same simulated people, asked round after round: their answers change, and devices follow the survey's rule."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from pldp.errors import SimulationError
from pldp.mechanisms.arrays import FloatArray, Values
from pldp.simulate.kinds import BY_KIND
from pldp.simulate.population import Population, Shares, simulate_reports
from pldp.survey import ONCE, Survey

CHANGE: Final = 0.05
"""Probability that an answer changes from one round to the next, unless said otherwise."""


class Round(NamedTuple):
    """One round: its number, the people who report in it with what is true of them then, and their reports."""

    number: int
    population: Population
    batches: Iterator[pa.RecordBatch]


def simulate_rounds(
    survey: Survey,
    population: Population,
    rounds: int,
    *,
    change: float = CHANGE,
    shares: Shares | None = None,
    seed: int = 0,
) -> Iterator[Round]:
    """Yield the reports of the same people in every round.

    Between two rounds everybody's answer to each question changes with probability `change`; levels stay. Under
    `repeat = "once"` a person reports only once: the people are dealt out evenly, and every round has others. Under
    "fresh" everybody reports in every round, drawn anew. Under "tracked" permanent draws stay with the person, and each
    report is a fresh draw over them. No cap stops anybody.

    Parameters
    ----------
    survey, population
        What is asked, and the people with their answers of the first round.
    rounds
        How many rounds.
    change
        Probability that a person has a new answer to a question, which may be the old one.
    shares
        What new answers are drawn from, as in `simulate`; by default the shares of the first round, so that only
        persons change. Give others to simulate a trend.
    seed
        The same seed gives the same changes and reports.

    Examples
    --------
    >>> import pldp
    >>> from pldp.simulate import Population
    >>> survey = pldp.Survey.load("examples/commute.toml")
    >>> people = Population.of_shares(survey, 3000)
    >>> [pldp.tally(survey, each.batches).reports for each in simulate_rounds(survey, people, 3)]
    [1000, 1000, 1000]
    """
    if type(rounds) is not int or rounds < 1:
        raise SimulationError(f"rounds must be a whole number of at least 1, not {rounds!r:.40}")
    if not 0 <= change <= 1:
        raise SimulationError(f"change must be a probability between 0 and 1, not {change!r:.40}")
    questions = {name: survey.question(name) for name in population.values}
    targets = {name: population.shares(question) for name, question in questions.items()}
    for name, given in (shares or {}).items():
        targets[name] = BY_KIND[survey.question(name).kind].weights(survey.question(name), given)
    generator = np.random.default_rng([seed, 5])
    for number in range(1, rounds + 1):
        if number > 1:
            population = _change(survey, population, change, targets, generator)
        people = population.take(slice(number - 1, None, rounds)) if survey.repeat == ONCE else population
        yield Round(number, people, simulate_reports(survey, people, seed=seed, round=number))


def _change(
    survey: Survey,
    population: Population,
    change: float,
    targets: Mapping[str, FloatArray],
    generator: np.random.Generator,
) -> Population:
    changed: dict[str, Values] = {}
    for name, values in population.values.items():
        question = survey.question(name)
        chosen = np.flatnonzero(generator.random(len(values)) < change)
        changed[name] = values.copy()
        changed[name][chosen] = BY_KIND[question.kind].draw(question, len(chosen), targets[name], generator)
    return Population(changed, population.levels)
