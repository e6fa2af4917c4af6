"""Reports of several services about the same people, joined by a key that stays here.

Each service asked the same number (or category) through a channel of its own. `fuse` joins their reports by a person
key and counts how often each *tuple of outputs* came, −1 standing for "gave nothing to this service". The key joins and
is dropped: a fused tally holds counts only. Tallies of different people add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pldp.errors import TallyError
from pldp.mechanisms import Channel
from pldp.mechanisms.continuous import CONTINUOUS
from pldp.records import Brief, Record
from pldp.survey import Number
from pldp.tallies.counts import OutputCounts
from pldp.tallies.tally import Tally

IntArray = npt.NDArray[np.int64]
CellArray = npt.NDArray[np.int32]
Bounds = tuple[float, float]

ABSENT: Final = -1  #: In a cell: this service has no report of these people.

_COUNTED: Final = 1 << 26  # possible tuples up to which they are counted in a table
_SORTED: Final = 1 << 62  # … and up to which they are numbered in 64 bits


@dataclass(frozen=True, eq=False, repr=False)
class Service(Record):
    """The reports of one service: a key and an output per person, all of them from one channel."""

    name: str
    channel: Channel
    keys: Any = field(repr=False)  #: One per report, unique within the service: integers or text, NumPy or Arrow.
    outputs: Any = field(repr=False)  #: One integer per report; missing ones are treated like impossible ones.
    bounds: Bounds = (-1.0, 1.0)  #: Where the first and the last bucket end; all services must share them.

    @classmethod
    def of_table(cls, name: str, channel: Channel, table: pa.Table, *, bounds: Bounds = (-1.0, 1.0)) -> Service:
        """Read the columns `key` and `output`; `mechanism` and `epsilon`, where present, must be the channel's."""
        for column in stated_columns(name, "table", table.column_names):
            require_stated(name, channel, column, pc.unique(table[column]).to_pylist())
        return cls(name, channel, table["key"], table["output"], bounds)

    @classmethod
    def of_numbers(
        cls, name: str, channel: Channel, keys: Any, numbers: npt.ArrayLike, *, bounds: Bounds = (-1.0, 1.0)
    ) -> Service:
        """Put the outputs of a continuous mechanism on the grid of its channel; what lies outside becomes impossible.

        Outputs are on the mechanism's own scale (`pldp.mechanisms.continuous`). Laplace noise beyond the bounds is
        cut, which loses nothing.
        """
        array = np.asarray(numbers, np.float64)
        made = CONTINUOUS[channel.mechanism](channel.epsilon) if channel.mechanism in CONTINUOUS else None
        if made is None or made.line is None:
            raise TallyError(f"service {name!r}: {channel.mechanism} has no continuous form on one line")
        low, high = made.line
        count = channel.form.count
        known = np.isfinite(array) & made.possible(array)
        places = np.clip(np.where(known, (array - low) / (high - low) * count, 0), 0, count - 1)
        return cls(name, channel, keys, np.where(known, places.astype(np.int64), ABSENT), bounds)


def stated_columns(name: str, what: str, columns: Sequence[str]) -> set[str]:
    """Refuse a service without keys or outputs; return the columns that must say what its channel does."""
    missing = {"key", "output"} - set(columns)
    if missing:
        raise TallyError(f"service {name!r}: the {what} must have a column {' and '.join(sorted(missing))}")
    return {"mechanism", "epsilon"} & set(columns)


def require_stated(name: str, channel: Channel, column: str, found: Sequence[Any]) -> None:
    """Refuse a service whose column `mechanism` or `epsilon` holds other values than the channel's."""
    if len(found) > 1:
        raise TallyError(f"service {name!r}: {column} must be one per service; {len(found)} came, split it")
    known = getattr(channel, column)
    if found and found[0] != known:
        raise TallyError(f"service {name!r}: {column} must be the channel's, {known}, not {found[0]}")


@dataclass(frozen=True, repr=False)
class Source(Brief):
    """What is known of a service after fusion: its name, its channel, how many reports counted and how many did not."""

    name: str
    channel: Channel
    reports: int
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Fused(Record):
    """Counts of tuples of outputs."""

    sources: tuple[Source, ...]
    bounds: Bounds  #: The numbers that the grid's ends stand for.
    cells: CellArray  #: Distinct tuples, tuples × sources; `ABSENT` where people gave nothing to a service.
    counts: IntArray  #: Number of people of each tuple.
    mean_only: bool = False  #: Whether the numbers were asked for their mean only.

    @property
    def people(self) -> int:
        """Number of people with at least one report."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of values that the channels share."""
        return self.sources[0].channel.size

    @property
    def subsets(self) -> dict[tuple[str, ...], int]:
        """Number of people by the services that they gave to."""
        flags = (self.cells != ABSENT) @ (1 << np.arange(len(self.sources)))
        people = np.bincount(flags, weights=self.counts, minlength=1 << len(self.sources))
        return {
            tuple(source.name for place, source in enumerate(self.sources) if subset >> place & 1): int(people[subset])
            for subset in np.flatnonzero(people)
        }

    def only(self, *names: str) -> Fused:
        """Return the tally of these services alone, without the people who gave to none of them."""
        places = [place for place, source in enumerate(self.sources) if source.name in names]
        if len(places) != len(names):
            raise TallyError(f"services must be some of {', '.join(source.name for source in self.sources)}")
        sources = tuple(self.sources[place] for place in places)
        channels = [source.channel for source in sources]
        cells, counts = recount(self.cells[:, places], channels, self.counts)
        return replace(self, sources=sources, cells=cells, counts=counts)

    def thin(self, most: int) -> Fused:
        """Return every so-many-th tuple, at most so many: as tuples are sorted, a stratified sample of people."""
        step = -(-len(self.counts) // most)
        return self if step <= 1 else replace(self, cells=self.cells[::step], counts=self.counts[::step])

    def __add__(self, other: object) -> Fused:
        if not isinstance(other, Fused):
            return NotImplemented
        names, others = ([(each.name, each.channel) for each in fused.sources] for fused in (self, other))
        if self.bounds != other.bounds or names != others:
            raise TallyError("fused tallies to add must have the same services, channels and bounds, in one order")
        sources = []
        for ours, theirs in zip(self.sources, other.sources, strict=True):
            skipped = sorted((Counter(ours.skipped) + Counter(theirs.skipped)).items())
            sources.append(replace(ours, reports=ours.reports + theirs.reports, skipped=dict(skipped)))
        cells, counts = np.concatenate([self.cells, other.cells]), np.concatenate([self.counts, other.counts])
        cells, counts = recount(cells, [source.channel for source in sources], counts)
        return replace(self, sources=tuple(sources), cells=cells, counts=counts)


def fused_of(tally: Tally, question: str) -> Fused:
    """Return the tally of a question of kind `number` in the form that means and densities take.

    Each level is a source of its own, with the people who chose it.

    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/shopping.toml")
    >>> people = Population.of_values(survey, {"spent": [20.0, 55.5, 300.0]}, seed=1)
    >>> fused_of(tally(survey, simulate_reports(survey, people)), "spent").people
    3
    """
    asked = cast("Number", tally.survey.question(question))  # or another kind whose answer is a number
    if asked.domain != "numbers":
        raise TallyError(f"question {question!r} must be a number to have a mean, not of kind {asked.kind}")
    if tally.survey.level_channel is not None:
        raise TallyError(f"question {question!r}: a number needs levels that are shown; this survey hides them")
    sources, cells, counts = [], [], []
    for level, channel in zip(asked.levels, asked.channels, strict=True):
        found = tally.counts[question, level.name]
        if isinstance(found, OutputCounts) and found.reports:
            outputs = np.flatnonzero(found.counts)
            sources.append(Source(level.name, channel, found.reports))
            cells.append(outputs)
            counts.append(found.counts[outputs])
    if not sources:
        raise TallyError(f"question {question!r} has no reports, so there is nothing to estimate")
    table = np.full((sum(map(len, cells)), len(sources)), ABSENT, np.int32)
    table[np.arange(len(table)), np.repeat(np.arange(len(cells)), [*map(len, cells)])] = np.concatenate(cells)
    bounds = asked.grid.low, asked.grid.high
    return Fused(tuple(sources), bounds, table, np.concatenate(counts), mean_only=asked.for_mean)


def recount(cells: CellArray, channels: Sequence[Channel], counts: IntArray) -> tuple[CellArray, IntArray]:
    """Count equal tuples together, in one fixed order, and leave out the people who gave nothing."""
    return distinct(list(cells.T.astype(np.int64) + 1), channels, counts)


def distinct(
    columns: Sequence[npt.NDArray[Any]], channels: Sequence[Channel], counts: IntArray | None
) -> tuple[CellArray, IntArray]:
    """Return the distinct tuples in one fixed order, and how many people have each; columns hold output+1, or 0."""
    here = np.any([column > 0 for column in columns], axis=0)
    if not len(here):
        return np.zeros((0, len(channels)), np.int32), np.zeros(0, np.int64)
    if not here.all():
        columns, counts = [column[here] for column in columns], counts if counts is None else counts[here]
    radices = [channel.form.count + 1 for channel in channels]
    code, reach = np.zeros(len(columns[0]), np.int64), 1
    for column, radix in zip(columns, radices, strict=True):
        if reach * radix > _SORTED:
            code = np.unique(code, return_inverse=True)[1]
            reach = int(code.max()) + 1
        code, reach = code * radix + column, reach * radix
    if reach == np.prod(radices, dtype=np.float64) and reach <= _COUNTED:
        totals = np.bincount(code, weights=counts, minlength=reach)
        found = np.flatnonzero(totals)
        digits = np.unravel_index(found, radices)
        return np.stack(digits, axis=1).astype(np.int32) - 1, totals[found].astype(np.int64)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    totals = np.bincount(inverse, weights=counts)
    return np.stack([column[first] for column in columns], axis=1).astype(np.int32) - 1, totals.astype(np.int64)
