"""People in partitions: each has a seed of its own, so that any machine can make it and always makes the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pldp.errors import SimulationError
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.records import Brief
from pldp.reports.columns import write_parquet
from pldp.simulate.population import LevelMix, Population, simulate_reports
from pldp.survey import Survey

PARTITION_PEOPLE = 1 << 20
"""People of a partition where nobody says how many partitions there are."""


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
            raise SimulationError(f"there must be at least one partition, not {self.count}")
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
            size = _every(0, self.people, place, self.count)
            return Population.of_shares(self.survey, size, level_mix=self.level_mix, seed=seed)
        counts = {name: self._counts(given, place) for name, given in self.people.items()}
        return Population.of_counts(self.survey, counts, level_mix=self.level_mix, seed=seed)

    def _counts(self, given: Mapping[str, int], place: int) -> dict[str, int]:
        """Return how many people of each value are in one partition: of people in a row, every so-many-th."""
        ends = [0, *accumulate(given.values())]
        return {value: _every(*part, place, self.count) for value, part in zip(given, pairwise(ends), strict=True)}

    def seed_of(self, place: int) -> int:
        """Return the seed of one partition."""
        return int(np.random.SeedSequence([self.seed, 3, place]).generate_state(1, np.uint64)[0])

    def write(self, folder: Path, place: int) -> Written:
        """Write the reports of one partition to its own file in the folder, whole or not at all."""
        people = self.population(place)
        batches = simulate_reports(self.survey, people, seed=self.seed_of(place))
        reports = write_parquet(folder / f"part-{place:05}.parquet", self.survey, batches)
        return Written(reports, {name: people.counts(self.survey.question(name)) for name in people.values})


def _every(start: int, end: int, place: int, number: int) -> int:
    """Return how many of the numbers start … end−1 are this place and whole multiples of `number`."""
    return -(-(end - place) // number) - -(-(start - place) // number)
