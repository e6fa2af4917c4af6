"""Simulated people: their values, the levels they choose, and the reports their devices would send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pldp.errors import SimulationError
from pldp.reports.columns import Forms, batch_rows, schema
from pldp.simulate.item_sets import pack_baskets
from pldp.simulate.numbers import to_buckets
from pldp.simulate.sampling import perturb
from pldp.survey import SCHEMA, Question, Survey

LevelMix = Mapping[str, float] | Mapping[str, Mapping[str, float]] | None
"""Weight of each level; or, per label, such weights (a choice that depends on the value); or equal weights."""


@dataclass(frozen=True, eq=False)
class Population:
    """What is true of some people: per question each one's value and the level chosen, both as places in the survey.

    A value is the index of a label, for `choices` a row of packed bits (bit i for label i), for `number` a bucket.

    >>> from pldp import Survey
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_counts(survey, {"late": {"yes": 30, "no": 70}}, seed=1)
    >>> people.size, people.shares(survey.question("late"))
    (100, array([0.3, 0.7]))
    """

    values: Mapping[str, npt.NDArray[Any]]
    levels: Mapping[str, npt.NDArray[Any]]

    def __post_init__(self) -> None:
        sizes = {len(array) for array in (*self.values.values(), *self.levels.values())}
        if len(sizes) > 1 or self.values.keys() != self.levels.keys():
            raise SimulationError("values and levels must hold the same questions and the same number of people")

    @property
    def size(self) -> int:
        """Number of people."""
        return len(next(iter(self.values.values()))) if self.values else 0

    def shares(self, question: Question) -> npt.NDArray[np.float64]:
        """Return the true shares of a question's values (labels, or buckets of a number) among these people."""
        if question.kind == "choices":
            bits = np.unpackbits(self.values[question.name], axis=1, count=len(question.values), bitorder="little")
            return np.asarray(bits.mean(axis=0))
        counts = np.bincount(self.values[question.name], minlength=question.channels[0].size)
        return np.asarray(counts / max(1, int(counts.sum())))

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
        values = {}
        for name, given in counts.items():
            question = survey.question(name)
            numbers = _counts(question, given)
            values[name] = generator.permutation(np.repeat(_indices(question), numbers))
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
        encoded = {name: _encoded(survey.question(name), given) for name, given in values.items()}
        return cls._choosing(survey, encoded, level_mix, generator)

    @classmethod
    def of_shares(
        cls,
        survey: Survey,
        people: int,
        shares: Mapping[str, Sequence[float]] | None = None,
        *,
        level_mix: LevelMix = None,
        seed: int = 0,
    ) -> Population:
        """Draw people at random from the shares of each question (a falling 1/rank pattern where none are given).

        For `choices` these are the shares of people who have each label, independently; for `number`, of each bucket.
        """
        if people < 0:
            raise SimulationError(f"people must not be negative, not {people}")
        generator = np.random.default_rng([seed, 1])
        values = {}
        for question in survey.questions if shares is None else map(survey.question, shares):
            given = None if shares is None else shares[question.name]
            size = question.channels[0].size
            weights = 1 / np.arange(1, size + 1) if given is None else np.asarray(given, np.float64)
            if question.kind == "choices":
                values[question.name] = _drawn_sets(
                    question, people, weights / 2 if given is None else weights, generator
                )
                continue
            probabilities = _distribution(weights, size, f"shares of {question.name}")
            values[question.name] = generator.choice(_indices(question), people, p=probabilities)
        return cls._choosing(survey, values, level_mix, generator)

    @classmethod
    def _choosing(
        cls,
        survey: Survey,
        values: Mapping[str, npt.NDArray[Any]],
        level_mix: LevelMix,
        generator: np.random.Generator,
    ) -> Population:
        levels = {
            name: _choose_levels(survey.question(name), array, level_mix, generator) for name, array in values.items()
        }
        return cls(values, levels)


def simulate_reports(
    survey: Survey, population: Population, *, seed: int = 0, rows: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the reports that these people's devices would send, as Arrow batches of so many rows.

    The same seed gives the same reports. The ids are random too, but seeded: they are for simulation only.
    """
    rows = rows or batch_rows(schema(survey))
    seeds = np.random.SeedSequence([seed, 2]).spawn(-(-population.size // rows))
    for number, child in enumerate(seeds):
        generator = np.random.default_rng(child)
        part = slice(number * rows, min((number + 1) * rows, population.size))
        yield _batch(survey, population, part, generator)


def _batch(survey: Survey, population: Population, part: slice, generator: np.random.Generator) -> pa.RecordBatch:
    rows = part.stop - part.start
    columns: dict[str, pa.Array] = {
        "schema": pa.array(np.full(rows, SCHEMA, np.uint8)),
        "survey": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), [survey.hash]),
        "id": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), rows, [None, pa.py_buffer(generator.bytes(16 * rows))]
        ),
    }
    fields = schema(survey)
    asked = _asked(survey, rows, generator)
    for place, question in enumerate(survey.questions):
        if question.name in population.values:
            values, level = population.values[question.name][part], population.levels[question.name][part]
            if asked is None:
                columns |= _question_columns(survey, question, values, level, generator)
                continue
            own = asked[:, place]
            some = _question_columns(survey, question, values[own], level[own], generator)
            columns |= {name: _spread(array, own) for name, array in some.items()}
    arrays = [columns.get(field.name, None) for field in fields]
    filled = [
        pa.nulls(rows, field.type) if array is None else array.cast(field.type)
        for field, array in zip(fields, arrays, strict=True)
    ]
    return pa.RecordBatch.from_arrays(filled, schema=fields)


def _asked(survey: Survey, rows: int, generator: np.random.Generator) -> npt.NDArray[np.bool_] | None:
    """Pick the questions of each person at random, people × questions; `None` where all are asked."""
    if survey.ask is None:
        return None
    order = generator.random((rows, len(survey.questions)), np.float32)
    asked = np.zeros(order.shape, bool)
    picked = np.argpartition(order, survey.ask - 1, axis=1)[:, : survey.ask]
    np.put_along_axis(asked, picked, values=True, axis=1)
    return asked


def _spread(array: pa.Array, rows: npt.NDArray[np.bool_]) -> pa.Array:
    """Put the entries of some rows in their places, nulls elsewhere."""
    return array.take(pa.array(np.cumsum(rows) - 1, mask=~rows))


def _question_columns(
    survey: Survey,
    question: Question,
    values: npt.NDArray[Any],
    level: npt.NDArray[Any],
    generator: np.random.Generator,
) -> dict[str, pa.Array]:
    shown = level if survey.level_channel is None else perturb(survey.level_channel, level, generator)
    names = [each.name for each in question.levels]
    columns = {f"{question.name}.level": pa.DictionaryArray.from_arrays(shown.astype(np.int8), names)}
    forms = Forms(question)
    bits = forms.bits
    if bits is None:
        outputs = perturb(question.channels, values, generator, level=level)
        return {**columns, f"{question.name}.output": pa.array(outputs)}
    is_bits = (np.array(forms.limits) == 0)[level]
    rows = np.zeros((len(values), bits.bytes), np.uint8)
    outputs = np.zeros(len(values), np.uint64)
    for place, channel in enumerate(question.channels):
        chosen = level == place
        target = outputs if forms.limits[place] else rows
        target[chosen] = perturb(channel, values[chosen], generator)
    packed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(bits.bytes), len(rows), [_validity(is_bits), pa.py_buffer(rows)]
    )
    columns[f"{question.name}.bits"] = packed
    if forms.integers:
        columns[f"{question.name}.output"] = pa.array(outputs, mask=is_bits)
    return columns


def _validity(valid: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _encoded(question: Question, given: Sequence[Any]) -> npt.NDArray[Any]:
    if question.kind == "choices":
        return pack_baskets(given, question.values)
    if question.kind == "number":
        numbers = np.asarray(given, np.float64)
        if question.outside == "clip":
            numbers = numbers.clip(question.grid.low, question.grid.high)
        return to_buckets(question.grid, numbers)
    return np.array([question.value_index(label) for label in given], _indices(question).dtype)


def _drawn_sets(
    question: Question, people: int, chances: npt.NDArray[np.float64], generator: np.random.Generator
) -> npt.NDArray[np.uint8]:
    if chances.shape != (len(question.values),) or not ((chances >= 0) & (chances <= 1)).all():
        raise SimulationError(f"shares of {question.name} must be {len(question.values)} numbers from 0 to 1")
    return np.packbits(generator.random((people, len(chances))) < chances, axis=1, bitorder="little")


def _indices(question: Question) -> npt.NDArray[Any]:
    size = question.channels[0].size
    return np.arange(size, dtype=np.min_scalar_type(size - 1))


def _counts(question: Question, given: Mapping[str, int] | Sequence[int]) -> npt.NDArray[np.int64]:
    if question.kind != "choice":
        raise SimulationError(f"counts are for choices of one label; question {question.name!r} is another kind")
    if isinstance(given, Mapping):
        numbers = np.zeros(len(question.values), np.int64)
        for label, count in given.items():
            numbers[question.value_index(label)] = count
    else:
        numbers = np.asarray(given, np.int64)
    if numbers.shape != (len(question.values),) or (numbers < 0).any():
        raise SimulationError(
            f"counts of {question.name} must be {len(question.values)} numbers of people, none negative"
        )
    return numbers


def _distribution(weights: npt.ArrayLike, size: int, name: str) -> npt.NDArray[np.float64]:
    numbers = np.asarray(weights, np.float64)
    if numbers.shape != (size,) or not np.isfinite(numbers).all() or (numbers < 0).any() or numbers.sum() <= 0:
        raise SimulationError(f"{name} must be {size} finite weights, none negative, not all zero")
    return np.asarray(numbers / numbers.sum())


def _choose_levels(
    question: Question, values: npt.NDArray[Any], mix: LevelMix, generator: np.random.Generator
) -> npt.NDArray[np.uint8]:
    size = len(question.levels)
    if mix is None:
        return generator.integers(0, size, len(values), dtype=np.uint8)
    if not any(isinstance(weight, Mapping) for weight in mix.values()):
        return generator.choice(np.arange(size, dtype=np.uint8), len(values), p=_level_weights(question, mix))
    levels = np.empty(len(values), np.uint8)
    missing = set(question.values) - set(mix)
    if missing:
        raise SimulationError(f"level_mix must name all {len(question.values)} labels of {question.name}")
    for label, weights in mix.items():
        chosen = values == question.value_index(label)
        probabilities = _level_weights(question, weights if isinstance(weights, Mapping) else {})
        levels[chosen] = generator.choice(np.arange(size, dtype=np.uint8), int(chosen.sum()), p=probabilities)
    return levels


def _level_weights(question: Question, mix: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    weights = np.zeros(len(question.levels))
    for name, weight in mix.items():
        weights[question.find_level(name)] = weight
    return _distribution(weights, len(weights), "level_mix")
