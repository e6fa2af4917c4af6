"""Reports of several services about the same people, joined by a key that stays here.

Each service asked the same thing (a label, a set of items or a number) through channels of its own. `fuse` joins their
reports by a person key and counts how often each *tuple of outputs* came, −1 standing for "gave nothing there". A
*source* is a service, or one level of a service whose reports show the level. The key joins and is dropped: a fused
tally holds counts only. Tallies of different people add up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pldp.errors import TallyError
from pldp.mechanisms import MICRO, Channel, Micro
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


@dataclass(frozen=True, repr=False)
class Asked(Brief):
    """What all services asked: name and text of the question, the labels or items, or the unit and limits of a number.

    `limits` are the bounds of a number as they are published; the grid of one that is asked for its mean reaches beyond
    them.
    """

    name: str = "value"
    text: str = ""
    values: tuple[str, ...] = ()
    unit: str = ""
    limits: Bounds | None = None
    mean_only: bool = False


@dataclass(frozen=True, repr=False)
class HiddenLevels(Brief):
    """The channel of every level that people may have chosen, and that of the label which reports show instead."""

    names: tuple[str, ...]
    channels: tuple[Channel, ...]
    label: Channel

    @property
    def micro_epsilon(self) -> Micro:
        """ε of an answer at the level where it is largest: nobody sees which one a person chose."""
        return max(channel.micro_epsilon for channel in self.channels)


@dataclass(frozen=True, eq=False, repr=False)
class Listed(Record):
    """The distinct outputs that came, for channels whose outputs are too many to number: integers, or packed rows.

    `labels` are what hidden levels show beside each.
    """

    outputs: npt.NDArray[Any]
    labels: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Service(Record):
    """The reports of one service: a key and an output per person, from one channel or from one per level.

    Outputs are integers, or rows of packed bits (bytes, or an array reports × bytes), as the channel makes them.
    Missing ones are treated like impossible ones. `level` names the level of each report, or shows its label where
    `label_channel` hides the level; `channels` then has the channel of each of the `levels`.
    """

    name: str
    channel: Channel
    keys: Any = field(repr=False)  #: One per report, unique within the service: integers or text, NumPy or Arrow.
    outputs: Any = field(repr=False)
    bounds: Bounds = (-1.0, 1.0)  #: Where the first and the last bucket end; all services must share them.
    asked: Asked = Asked()
    level: Any = field(default=None, repr=False)
    levels: tuple[str, ...] = ()
    channels: tuple[Channel, ...] = ()
    label_channel: Channel | None = None

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


@dataclass(frozen=True, eq=False, repr=False)
class Source(Record):
    """What is known of a service, or of one of its levels, after fusion: how many reports counted and how many did not.

    Where outputs are `listed`, a cell is the place of an output in that list, otherwise the output itself. `service` is
    the name of the service where this is one of its levels; `hidden` are the levels that its reports do not show.
    """

    name: str
    channel: Channel
    reports: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    service: str = ""
    listed: Listed | None = None
    hidden: HiddenLevels | None = None

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels of these channels, in their order."""
        return (self.name,) if self.hidden is None else self.hidden.names

    @property
    def owner(self) -> str:
        """Name of the service."""
        return self.service or self.name

    @property
    def count(self) -> int:
        """Number of possible cells."""
        return self.channel.form.count if self.listed is None else len(self.listed.outputs)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels that a report may be of: one, or those of all levels that are hidden."""
        return (self.channel,) if self.hidden is None else self.hidden.channels

    @property
    def label_channel(self) -> Channel | None:
        """The channel of the label that reports show instead of their level, where they do."""
        return None if self.hidden is None else self.hidden.label

    @property
    def outputs(self) -> npt.NDArray[Any]:
        """The output of every cell."""
        return np.arange(self.count) if self.listed is None else self.listed.outputs

    @property
    def labels(self) -> IntArray:
        """The label of every cell; where levels show there is only one."""
        listed = None if self.listed is None else self.listed.labels
        return np.zeros(self.count, np.int64) if listed is None else listed

    @property
    def micro_epsilon(self) -> Micro:
        """What one of its reports costs a person."""
        return self.channel.micro_epsilon if self.hidden is None else self.hidden.micro_epsilon


@dataclass(frozen=True, eq=False, repr=False)
class Fused(Record):
    """Counts of tuples of outputs."""

    sources: tuple[Source, ...]
    bounds: Bounds  #: The numbers that the grid's ends stand for.
    cells: CellArray  #: Distinct tuples, tuples × sources; `ABSENT` where people gave nothing to a source.
    counts: IntArray  #: Number of people of each tuple.
    mean_only: bool = False  #: Whether the numbers were asked for their mean only.
    asked: Asked = Asked()

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
        owners = list(dict.fromkeys(source.owner for source in self.sources))
        place = np.array([owners.index(source.owner) for source in self.sources])
        flags = (self.cells != ABSENT) @ (1 << place)
        found, subset = np.unique(flags, return_inverse=True)
        people = np.bincount(subset, weights=self.counts)
        return {
            tuple(owner for place, owner in enumerate(owners) if flag >> place & 1): int(number)
            for flag, number in zip(found.tolist(), people, strict=True)
        }

    @property
    def micro_epsilon(self) -> Micro:
        """What the joined reports of one person cost at most: the sum of ε over the services that they gave to."""
        prices = [source.micro_epsilon for source in self.sources]
        given, finite = (
            self.cells != ABSENT,
            np.array([0 if math.isinf(price) else price for price in prices], np.int64),
        )
        if any(math.isinf(price) and column.any() for price, column in zip(prices, given.T, strict=True)):
            return math.inf
        return int((given @ finite).max(initial=0))

    @property
    def epsilon(self) -> float:
        """The same as a float, for display."""
        return self.micro_epsilon / MICRO

    def only(self, *names: str) -> Fused:
        """Return the tally of these services alone, without the people who gave to none of them."""
        places = [place for place, source in enumerate(self.sources) if source.name in names]
        if len(places) != len(names):
            raise TallyError(f"services must be some of {', '.join(source.name for source in self.sources)}")
        sources = tuple(self.sources[place] for place in places)
        cells, counts = recount(self.cells[:, places], [source.count for source in sources], self.counts)
        return replace(self, sources=sources, cells=cells, counts=counts)

    def thin(self, most: int) -> Fused:
        """Return every so-many-th tuple, at most so many: as tuples are sorted, a stratified sample of people."""
        step = -(-len(self.counts) // most)
        return self if step <= 1 else replace(self, cells=self.cells[::step], counts=self.counts[::step])

    def __add__(self, other: object) -> Fused:
        if not isinstance(other, Fused):
            return NotImplemented
        names, others = ([(each.name, each.channel) for each in fused.sources] for fused in (self, other))
        if self.bounds != other.bounds or names != others or self.asked != other.asked:
            raise TallyError("fused tallies to add must have the same services, channels and bounds, in one order")
        sources, columns = [], []
        pairs = zip(self.sources, other.sources, self.cells.T, other.cells.T, strict=True)
        for ours, theirs, own, added in pairs:
            skipped = sorted((Counter(ours.skipped) + Counter(theirs.skipped)).items())
            listed, moved = merge_listed(ours.listed, theirs.listed)
            reports = ours.reports + theirs.reports
            sources.append(replace(ours, reports=reports, skipped=dict(skipped), listed=listed))
            columns.append(np.concatenate([own, added if moved is None else np.append(moved, ABSENT)[added]]))
        cells, counts = np.stack(columns, axis=1), np.concatenate([self.counts, other.counts])
        cells, counts = recount(cells, [source.count for source in sources], counts)
        return replace(self, sources=tuple(sources), cells=cells, counts=counts)


def merge_listed(ours: Listed | None, theirs: Listed | None) -> tuple[Listed | None, IntArray | None]:
    """Return one list of outputs for two, and the place in it of each output of the second."""
    if ours is None or theirs is None:
        return ours, None
    both = [np.concatenate([one, two]) for one, two in zip(_columns(ours), _columns(theirs), strict=True)]
    merged, places = list_outputs(*both)
    return merged, places[len(ours.outputs) :]


def _columns(listed: Listed) -> list[npt.NDArray[Any]]:
    return [listed.outputs] if listed.labels is None else [listed.outputs, listed.labels]


def list_outputs(outputs: npt.NDArray[Any], labels: npt.NDArray[np.int64] | None = None) -> tuple[Listed, IntArray]:
    """Return the distinct outputs (with their labels) in the order in which they came first, and the place of each."""
    if outputs.ndim == 1:
        words = [outputs.astype(np.int64)]
    else:
        width = -(-outputs.shape[1] // 8) * 8
        padded = np.zeros((len(outputs), width), np.uint8)
        padded[:, : outputs.shape[1]] = outputs
        words = list(padded.view(np.int64).T)
    places = np.zeros(len(outputs), np.int64)
    first = np.zeros(min(1, len(outputs)), np.int64)
    for word in [*words, *([] if labels is None else [labels])]:
        number = _numbers(word)
        places = number if not places.any() else _numbers(places * (int(number.max()) + 1) + number)
    if len(places):
        first = np.full(int(places.max()) + 1, len(places), np.int64)
        first[places[::-1]] = np.arange(len(places))[::-1]
    return Listed(outputs[first], None if labels is None else labels[first]), places


def _numbers(words: npt.NDArray[np.int64]) -> IntArray:
    """Number distinct words in the order in which they came first, by hashing."""
    return np.asarray(pa.array(words).dictionary_encode().indices, np.int64)


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


def recount(cells: CellArray, sizes: Sequence[int], counts: IntArray) -> tuple[CellArray, IntArray]:
    """Count equal tuples together, in one fixed order, and leave out the people who gave nothing."""
    return distinct(list(cells.T.astype(np.int64) + 1), sizes, counts)


def distinct(
    columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int], counts: IntArray | None
) -> tuple[CellArray, IntArray]:
    """Return the distinct tuples in one fixed order, and how many people have each.

    Columns hold a cell + 1, or 0; `sizes` are the numbers of possible cells.
    """
    here = columns[0] > 0
    for column in columns[1:]:
        here |= column > 0
    if not len(here):
        return np.zeros((0, len(sizes)), np.int32), np.zeros(0, np.int64)
    if not here.all():
        columns, counts = [column[here] for column in columns], counts if counts is None else counts[here]
    radices = [size + 1 for size in sizes]
    code, reach = np.zeros(len(columns[0]), np.int64), 1
    for column, radix in zip(columns, radices, strict=True):
        if reach * radix > _SORTED:
            code = np.unique(code, return_inverse=True)[1]
            reach = int(code.max()) + 1
        code *= radix
        code += column
        reach *= radix
    if reach == np.prod(radices, dtype=np.float64) and reach <= _COUNTED:
        totals = np.bincount(code, weights=counts, minlength=reach)
        found = np.flatnonzero(totals)
        digits = np.unravel_index(found, radices)
        return np.stack(digits, axis=1).astype(np.int32) - 1, totals[found].astype(np.int64)
    if counts is None and reach == np.prod(radices, dtype=np.float64):
        code.sort()  # a code tells its whole tuple, so nothing else needs to be kept in order
        found = np.flatnonzero(np.diff(code, prepend=-1))
        digits = np.unravel_index(code[found], radices)
        return np.stack(digits, axis=1).astype(np.int32) - 1, np.diff(found, append=len(code))
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    totals = np.bincount(inverse, weights=counts)
    return np.stack([column[first] for column in columns], axis=1).astype(np.int32) - 1, totals.astype(np.int64)
