"""What several services collected about the same people: who gave to which, and the reports of each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pldp.estimates.linear.mix import LevelMix
from pldp.estimates.results.facts import GroupReports, LevelShare, Note
from pldp.mechanisms import MICRO, Bits, epsilon_text
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.records import Record
from pldp.tallies import ABSENT, BitCounts, Counts, Fused, OutputCounts, Source

T = TypeVar("T")

Part = tuple[int, int]
"""A part of the reports: the places of a subset of people and of a source."""


@dataclass(frozen=True, eq=False, repr=False)
class Subsets(Record):
    """People by the sources that they gave to: which these are, how many people, and the subset of each tuple."""

    given: npt.NDArray[np.bool_]  #: Subsets × sources.
    people: IntArray
    of_tuple: npt.NDArray[np.intp]

    @classmethod
    def of(cls, fused: Fused) -> Subsets:
        """Group the tuples of a fused tally by the sources that they have a report of."""
        packed = np.packbits(fused.cells != ABSENT, axis=1)
        found, of_tuple = np.unique(packed, axis=0, return_inverse=True)
        of_tuple = of_tuple.ravel()
        given = np.unpackbits(found, axis=1, count=len(fused.sources)).astype(bool)
        people = np.rint(np.bincount(of_tuple, weights=fused.counts, minlength=len(found))).astype(np.int64)
        return cls(given, people, of_tuple)

    @classmethod
    def whole(cls, fused: Fused) -> Subsets:
        """Take all people as one subset, though not all of them gave to every source."""
        given = np.ones((1, len(fused.sources)), np.bool_)
        return cls(given, np.array([fused.people]), np.zeros(len(fused.counts), np.intp))

    def parts(self, fused: Fused, make: Callable[[Source, FloatArray], T]) -> dict[Part, T]:
        """Return what is made of a source and how often each of its cells came, part by part, source by source."""
        counts = [self.counts(fused, place) for place in range(len(fused.sources))]
        places = np.argwhere(self.given.T).tolist()
        return {(subset, place): make(fused.sources[place], counts[place][subset]) for place, subset in places}

    def counts(self, fused: Fused, source: int) -> FloatArray:
        """Return how often each cell of a source came, subset by subset: subsets × cells."""
        cells, count = fused.cells[:, source], fused.sources[source].count
        here = cells != ABSENT
        code = self.of_tuple[here] * count + cells[here]
        found = np.bincount(code, weights=fused.counts[here], minlength=len(self.people) * count)
        return np.asarray(found.reshape(len(self.people), count))


def mixed_services(fused: Fused) -> list[str]:
    """Return the services with reports that may be of several levels, as they do not say of which."""
    return [source.owner for source in fused.sources if len(source.channels) > 1]


def counts_of(source: Source, counts: FloatArray, *, rows: bool) -> tuple[Counts, ...]:
    """Return the reports of a source by what they show of levels, given how often each of its cells came.

    Of bits `rows` are kept, or only how often each was set.
    """
    form, came, found = source.channel.form, np.rint(counts).astype(np.int64), list[Counts]()
    for label in range(len(source.channels)):
        some = (source.labels == label) & (came > 0)
        outputs = source.outputs[some]
        if isinstance(form, Bits):
            found.append(BitCounts.of_rows(outputs, form, patterns=rows, counts=came[some]))
        else:
            found.append(OutputCounts(np.bincount(outputs.astype(np.int64), came[some], form.count).astype(np.int64)))
    return tuple(found)


def level_shares(fused: Fused, mixes: Sequence[LevelMix], shares: Sequence[FloatArray]) -> tuple[LevelShare, ...]:
    """Return these shares of people who chose each level of each source; none of a source whose levels show."""
    found: list[LevelShare] = []
    for source, mix, own in zip(fused.sources, mixes, shares, strict=True):
        levels = zip(source.level_names, source.channels, strict=True)
        named = [(f"{source.name}, {name}", channel.mechanism, channel.epsilon) for name, channel in levels]
        found += mix.levels_of(named, own)
    return tuple(found)


def source_groups(fused: Fused, weights: Iterable[float]) -> tuple[GroupReports, ...]:
    """Return the reports of every source with their weights."""
    return tuple(
        GroupReports(source.name, source.channel.mechanism, source.micro_epsilon / MICRO, source.reports, weight)
        for source, weight in zip(fused.sources, weights, strict=True)
    )


def join_note(fused: Fused) -> Note:
    """Say how many people were joined and what that costs each of them."""
    several = sum(people for services, people in fused.subsets.items() if len(services) > 1)
    text = (
        f"reports of {fused.people:,} people were joined by a key, {several:,} of whom gave to several services: "
        f"together they cost a person up to epsilon {epsilon_text(fused.micro_epsilon)}"
    )
    return Note("joined", text, "info")
