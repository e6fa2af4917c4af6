"""Simulated people: their values, the levels they choose, and the reports their devices would send.

People in partitions: each has a seed of its own, so that any machine can make it and always makes the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pldp.errors import SimulationError
from pldp.mechanisms import TOTAL
from pldp.mechanisms.arrays import ByteArray, FloatArray, IntArray, Values, arrays
from pldp.records import Brief, Record
from pldp.reports.columns import Forms, batch_rows, packed_column, schema, write_parquet
from pldp.simulate.kinds import BY_KIND
from pldp.simulate.kinds.kind import distribution
from pldp.simulate.sampling import perturb, round_positions
from pldp.survey import SCHEMA, TRACKED, Lottery, Question, Survey
from pldp.usage import require

LevelMix = Mapping[str, float] | Mapping[str, Mapping[str, float]] | None
"""Weight of each level; or, per label, such weights (a choice that depends on the value); or equal weights."""

PARTITION_PEOPLE = 1 << 20
"""People of a partition where nobody says how many partitions there are."""

Shares = Mapping[str, Sequence[float] | Mapping[str, float]]
"""Per question the share of each value, in their order or by label."""


@dataclass(frozen=True, eq=False, repr=False)
class Population(Record):
    """What is true of some people: per question each one's value and the level chosen, both as places in the survey.

    A value is the index of a label, for `choices` a row of packed bits (bit i for label i), for `number` a bucket.

    >>> from pldp import Survey
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_counts(survey, {"late": {"yes": 30, "no": 70}}, seed=1)
    >>> people.size, people.shares(survey.question("late"))
    (100, array([0.3, 0.7]))
    """

    values: Mapping[str, Values]
    levels: Mapping[str, Values]

    def __post_init__(self) -> None:
        sizes = {len(array) for array in (*self.values.values(), *self.levels.values())}
        if len(sizes) > 1 or self.values.keys() != self.levels.keys():
            raise SimulationError("values and levels must hold the same questions and the same number of people")

    @property
    def size(self) -> int:
        """Number of people."""
        return len(next(iter(self.values.values()))) if self.values else 0

    def counts(self, question: Question) -> IntArray:
        """Return how many of these people have each of a question's labels or buckets."""
        return BY_KIND[question.kind].count(question, self.values[question.name])

    def shares(self, question: Question) -> FloatArray:
        """Return the true shares of a question's values (labels, or buckets of a number) among these people."""
        return np.asarray(self.counts(question) / max(1, self.size))

    def take(self, chosen: slice) -> Population:
        """Return some of these people."""
        values, levels = ({name: array[chosen] for name, array in each.items()} for each in (self.values, self.levels))
        return Population(values, levels)

    @classmethod
    def of_counts(
        cls,
        survey: Survey,
        counts: Mapping[str, Mapping[str, int] | Sequence[int]],
        *,
        level_mix: LevelMix = None,
        seed: int = 0,
    ) -> Population:
        """Make exactly so many people of each value, in random order; several questions are independent."""
        generator = np.random.default_rng([seed, 1])
        questions = map(survey.question, counts)
        people = {each.name: BY_KIND[each.kind].repeat(each, counts[each.name]) for each in questions}
        values = {name: generator.permutation(array) for name, array in people.items()}
        return cls._choosing(survey, values, level_mix, generator)

    @classmethod
    def of_values(
        cls, survey: Survey, values: Mapping[str, Sequence[Any]], *, level_mix: LevelMix = None, seed: int = 0
    ) -> Population:
        """Take people as they are: per question a label, a list of labels or a number for each of them.

        >>> from pldp import Survey
        >>> survey = Survey.load("examples/commute.toml")
        >>> Population.of_values(survey, {"late": ["yes", "yes", "no"]}).shares(survey.question("late"))
        array([0.66666667, 0.33333333])
        """
        generator = np.random.default_rng([seed, 1])
        questions = map(survey.question, values)
        encoded = {each.name: BY_KIND[each.kind].encode(each, values[each.name]) for each in questions}
        rounded = {
            name: round_positions(each, generator) if each.dtype.kind == "f" else each for name, each in encoded.items()
        }
        return cls._choosing(survey, rounded, level_mix, generator)

    @classmethod
    def of_shares(
        cls, survey: Survey, people: int, shares: Shares | None = None, *, level_mix: LevelMix = None, seed: int = 0
    ) -> Population:
        """Draw people at random from the shares of each question (a falling 1/rank pattern where none are given).

        Shares are in the order of the labels, or by label. For `choices` they are the shares of people who have each
        label, independently; for `number`, of each bucket.
        """
        require(survey, Survey, "pldp.simulate.simulate(survey, people)")
        if not isinstance(people, int | np.integer) or people < 0:
            raise SimulationError(f"people must be a whole number of at least 0, not {people!r:.40}")
        generator = np.random.default_rng([seed, 1])
        values = {}
        for question in survey.questions if shares is None else map(survey.question, shares):
            given = None if shares is None else BY_KIND[question.kind].weights(question, shares[question.name])
            values[question.name] = BY_KIND[question.kind].draw(question, people, given, generator)
        return cls._choosing(survey, values, level_mix, generator)

    @classmethod
    def _choosing(
        cls, survey: Survey, values: Mapping[str, Values], level_mix: LevelMix, generator: np.random.Generator
    ) -> Population:
        questions = map(survey.question, values)
        levels = {each.name: _choose_levels(each, values[each.name], level_mix, generator) for each in questions}
        if (survey.level_channel is not None or survey.lottery is not None) and levels:
            # A report that hides its level, or draws it, has one for all answers: that chosen for the first question.
            levels = dict.fromkeys(levels, next(iter(levels.values())))
        return cls(values, levels)


def simulate(
    survey: Survey, people: int, *, shares: Shares | None = None, level_mix: LevelMix = None, seed: int = 0
) -> pa.Table:
    """Return the reports that so many simulated people would send, as an Arrow table that `pldp.tally` takes.

    Parameters
    ----------
    survey
        What they are asked.
    people
        How many of them.
    shares
        Shares of the values of each question, by label or in their order; of a number, of each bucket. A question that
        is not named is not answered. Without shares all are answered, with shares that fall like 1/rank.
    level_mix
        Weight of each level, or per label such weights, where the choice of a level depends on the answer.
    seed
        The same seed gives the same reports.

    For populations larger than memory, or to keep the truth, see `Population` and `simulate_reports`.

    Examples
    --------
    >>> import pldp
    >>> survey = pldp.Survey.load("examples/commute.toml")
    >>> reports = pldp.simulate.simulate(survey, 10_000, shares={"late": {"yes": 0.3, "no": 0.7}}, seed=1)
    >>> low, high = pldp.estimate(pldp.tally(survey, reports), "late").interval()
    >>> bool(low[0] < 0.3 < high[0])
    True
    """
    population = Population.of_shares(survey, people, shares, level_mix=level_mix, seed=seed)
    return pa.Table.from_batches(simulate_reports(survey, population, seed=seed), schema(survey))


def truth_mapping(survey: Survey, shares: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
    """Return what the collector does not see, as plain data: the truth behind the shares of each question.

    >>> from pldp import Survey
    >>> truth_mapping(Survey.load("examples/commute.toml"), {"late": np.array([0.25, 0.75])})[0]["rows"][0]
    {'label': 'yes', 'true': 0.25}
    """
    questions = map(survey.question, shares)
    found = ((each, BY_KIND[each.kind].truth(each, shares[each.name])) for each in questions)
    return [{"name": each.name, "kind": each.kind, **truth} for each, truth in found]


def simulate_reports(
    survey: Survey,
    population: Population,
    *,
    seed: int = 0,
    rows: int | None = None,
    round: int = 1,  # noqa: A002 - the word that everybody uses
) -> Iterator[pa.RecordBatch]:
    """Yield the reports that these people's devices would send in a round, as Arrow batches of so many rows.

    The same seed gives the same reports, and in every round the same permanent outputs where answers are tracked. The
    ids are random too, but seeded: they are for simulation only.
    """
    rows = rows or batch_rows(schema(survey))
    if survey.lottery is not None:
        population = _draw_levels(survey.lottery, survey, population, seed)
    seeds = np.random.SeedSequence([seed, 2] if round == 1 else [seed, 2, round]).spawn(-(-population.size // rows))
    if survey.repeat == TRACKED:
        population = _settle(survey, population, seed)
    for start, child in zip(range(0, population.size, rows), seeds, strict=True):
        part = slice(start, min(start + rows, population.size))
        # Devices repeat the label of a hidden level: the same people draw the same ones in every round.
        labels = _Labels(survey, part.stop - part.start, np.random.default_rng([seed, 6, start]))
        yield _batch(survey, population, part, labels, np.random.default_rng(child))


def _draw_levels(lottery: Lottery, survey: Survey, population: Population, seed: int) -> Population:
    """Return the same people with the levels that their devices use instead of the chosen ones, in every round."""
    generator = np.random.default_rng([seed, 7])
    drawn, goes_on = np.zeros(population.size, np.uint8), np.ones(population.size, bool)
    for _ in survey.levels[1:]:
        goes_on &= generator.integers(0, TOTAL, population.size) >= lottery.stop
        drawn += goes_on
    levels = {name: np.minimum(chosen, drawn) for name, chosen in population.levels.items()}
    return Population(population.values, levels)


def _settle(survey: Survey, population: Population, seed: int) -> Population:
    """Return the same people with the permanent outputs of their values instead of these."""
    settled = {}
    for name, values in population.values.items():
        question = survey.question(name)
        place, outputs = survey.questions.index(question), {}
        for level, stages in enumerate(question.stages):
            chosen = population.levels[name] == level
            own = int(np.random.SeedSequence([seed, 4, place, level]).generate_state(1, np.uint64)[0])
            outputs[level] = chosen, arrays(stages).settle(values[chosen], own)
        settled[name] = np.empty(values.shape, np.result_type(*(each for _, each in outputs.values())))
        for chosen, each in outputs.values():
            settled[name][chosen] = each
    return Population(settled, population.levels)


def _batch(
    survey: Survey, population: Population, part: slice, labels: _Labels, generator: np.random.Generator
) -> pa.RecordBatch:
    rows = part.stop - part.start
    ids = generator.bytes(16 * rows)
    columns: dict[str, pa.Array] = {
        "schema": pa.array(np.full(rows, SCHEMA, np.uint8)),
        "survey": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), [survey.hash]),
        "id": pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), rows, [None, pa.py_buffer(ids)]),
    }
    asked = _asked(survey, rows, generator)
    for place, question in enumerate(survey.questions):
        if question.name in population.values:
            values, level = population.values[question.name][part], population.levels[question.name][part]
            if asked is None:
                columns |= _question_columns(question, values, level, labels.draw(level), generator)
                continue
            own = asked[:, place]
            shown = labels.draw(level[own], np.flatnonzero(own))
            some = _question_columns(question, values[own], level[own], shown, generator)
            spread = pa.array(np.cumsum(own) - 1, mask=~own)  # their places, and nulls elsewhere
            columns |= {name: array.take(spread) for name, array in some.items()}
    fields = schema(survey)
    filled = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in fields
    ]
    return pa.RecordBatch.from_arrays(filled, schema=fields)


def _asked(survey: Survey, rows: int, generator: np.random.Generator) -> npt.NDArray[np.bool_] | None:
    """Pick the questions of each person at random, people × questions; `None` where all are asked."""
    if survey.ask is None:
        return None
    order = generator.random((rows, len(survey.questions)), np.float32)
    asked = np.zeros(order.shape, bool)
    np.put_along_axis(asked, np.argpartition(order, survey.ask - 1, axis=1)[:, : survey.ask], values=True, axis=1)
    return asked


class _Labels:
    """The labels that people show: of every level that they use one, for all questions, as devices do."""

    def __init__(self, survey: Survey, people: int, generator: np.random.Generator) -> None:
        self.channel = survey.level_channel
        self.generator = generator
        levels = max(len(question.levels) for question in survey.questions)
        self.drawn = np.full((levels if self.channel else 0, people), -1, np.int8)

    def draw(self, level: Values, people: Values | None = None) -> Values:
        """Return the level itself, or the label that these people show for it: the one they drew before, if any."""
        if self.channel is None:
            return level
        places = np.arange(len(level)) if people is None else people
        kept, new = self.drawn[level, places], perturb(self.channel, level, self.generator)
        self.drawn[level, places] = shown = np.where(kept < 0, new, kept)
        return shown


def _question_columns(
    question: Question, values: Values, level: Values, shown: Values, generator: np.random.Generator
) -> dict[str, pa.Array]:
    names = [each.name for each in question.levels]
    columns = {f"{question.name}.level": pa.DictionaryArray.from_arrays(shown.astype(np.int8), names)}
    forms, channels = Forms(question), question.stages or question.channels
    if not forms.bits:
        outputs = perturb(channels, values, generator, level=level)
        return {**columns, f"{question.name}.output": pa.array(outputs)}
    rows = np.zeros((len(values), forms.lengths[-1]), np.uint8)
    outputs = np.zeros(len(values), np.uint64)
    for place in range(len(channels)):
        chosen = level == place
        target = outputs if forms.limits[place] else rows[:, : forms.bits[place].bytes]
        target[chosen] = perturb(channels[place : place + 1], values[chosen], generator)
    columns[f"{question.name}.bits"] = packed_column(forms, rows, level)
    if forms.integers:
        columns[f"{question.name}.output"] = pa.array(outputs, mask=(np.array(forms.limits) == 0)[level])
    return columns


def _choose_levels(question: Question, values: Values, mix: LevelMix, generator: np.random.Generator) -> ByteArray:
    offered = np.arange(len(question.levels), dtype=np.uint8)
    if mix is None:
        return generator.integers(0, len(offered), len(values), dtype=np.uint8)
    if not any(isinstance(weight, Mapping) for weight in mix.values()):
        return generator.choice(offered, len(values), p=_level_weights(question, mix))
    levels = np.empty(len(values), np.uint8)
    for chosen, weights in BY_KIND[question.kind].split(question, values, mix):
        levels[chosen] = generator.choice(offered, int(chosen.sum()), p=_level_weights(question, weights))
    return levels


def _level_weights(question: Question, mix: Mapping[str, Any]) -> FloatArray:
    weights = np.zeros(len(question.levels))
    for name, weight in mix.items():
        weights[question.find_level(name)] = weight
    return distribution(weights, len(weights), "level_mix")


class Written(NamedTuple):
    """What was written: how many reports, and of how many people each value is true. Parts add up."""

    reports: int
    people: Mapping[str, IntArray]

    @property
    def shares(self) -> dict[str, FloatArray]:
        """True shares of each question's values."""
        return {name: people / max(1, self.reports) for name, people in self.people.items()}

    @staticmethod
    def merge(parts: Sequence[Written]) -> Written:
        """Add up what was written in several places."""
        sums = {name: np.sum([part.people[name] for part in parts], axis=0) for name in parts[0].people}
        return Written(sum(part.reports for part in parts), sums)


@dataclass(frozen=True, repr=False)
class Partitions(Brief):
    """Simulated people, some at a time: each of `number` partitions draws from a seed of its own.

    `people` says how many they are, with shares that fall like 1/rank, or how many have each value, by question.

    >>> from pldp import Survey
    >>> survey = Survey.load("examples/commute.toml")
    >>> parts = Partitions(survey, 1000, number=3)
    >>> [parts.population(place).size for place in range(3)]
    [334, 333, 333]
    """

    survey: Survey
    people: int | Mapping[str, Mapping[str, int]]
    number: int | None = None
    level_mix: LevelMix = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SimulationError(f"need at least one partition, not {self.count}")
        self.population(self.count - 1)  # refuses what makes no sense where the user is, on a small part

    @property
    def count(self) -> int:
        """Number of partitions."""
        if self.number is not None:
            return self.number
        counts = [{"": self.people}] if isinstance(self.people, int) else self.people.values()
        return max(1, -(-sum(sum(each.values()) for each in counts) // PARTITION_PEOPLE))

    def population(self, place: int) -> Population:
        """Return the people of one partition."""
        seed = self.seed_of(place)
        if isinstance(self.people, int):
            size = len(range(place, self.people, self.count))
            return Population.of_shares(self.survey, size, level_mix=self.level_mix, seed=seed)
        counts = {}
        for name, given in self.people.items():  # people stand in a row, and every so-many-th is in this partition
            before = [len(range(place, end, self.count)) for end in (0, *accumulate(given.values()))]
            counts[name] = {value: end - start for value, (start, end) in zip(given, pairwise(before), strict=True)}
        return Population.of_counts(self.survey, counts, level_mix=self.level_mix, seed=seed)

    def seed_of(self, place: int) -> int:
        """Return the seed of one partition."""
        return int(np.random.SeedSequence([self.seed, 3, place]).generate_state(1, np.uint64)[0])

    def write(self, folder: Path, place: int) -> Written:
        """Write the reports of one partition to its own file in the folder, whole or not at all."""
        people = self.population(place)
        batches = simulate_reports(self.survey, people, seed=self.seed_of(place))
        reports = write_parquet(folder / f"part-{place:05}.parquet", self.survey, batches)
        return Written(reports, {name: people.counts(self.survey.question(name)) for name in people.values})
