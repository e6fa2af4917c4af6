"""Join the reports of several services by the key of a person, count tuples of outputs, and forget the key.

`Design` holds what is known before any report comes. It counts the reports of some people (`part`), adds up such counts
(`merge`) and refuses or returns the sum (`finish`): on one machine all at once, on a cluster part by part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pldp.errors import TallyError
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import piecewise_arrays
from pldp.tallies.fusion import ABSENT, CellArray, Fused, IntArray, Service, Source, distinct, recount
from pldp.usage import require

OUTSIDE: Final = ("refuse", "skip", "clip")  # what `fuse` may do with outputs that the channel cannot make
_CHANCE: Final = 1e-9
"""Probability with which two honest services are refused at most, for agreeing too often."""
_SOME: Final = 0.1
"""Share of people for whom two services agree, from which on it is asked whether they are copies."""
_SPARSE: Final = 4
"""Integer keys whose range is at most so many times the number of reports are numbered without hashing."""


def fuse(services: Sequence[Service], *, outside: str = "refuse") -> Fused:
    """Join the reports of several services by their keys and count tuples of outputs.

    Two services with one channel whose outputs agree for more people than chance allows are refused: they hold the same
    reports, and counting the same noise twice would make errors too small.

    Parameters
    ----------
    services
        One or more services; each person may have given to any of them.
    outside
        What to do with outputs that are missing or that the channel cannot make: `"refuse"` them with an error,
        `"skip"` and count them, or `"clip"` them to the nearest output (missing ones are skipped).

    Examples
    --------
    >>> from pldp.mechanisms import build
    >>> rounding = build("sr", 4, 1_000_000)
    >>> fused = fuse([Service("a", rounding, [1, 2, 3], [0, 1, 1]), Service("b", rounding, [3, 1], [1, 0])])
    >>> fused.people, fused.subsets
    (3, {('a',): 1, ('a', 'b'): 2})
    >>> fused.cells.tolist(), fused.counts.tolist()
    ([[0, 0], [1, -1], [1, 1]], [1, 1, 1])
    """
    columns = []
    for service in services:
        require(service, Service, "pldp.fuse([service, …])")
        keys, outputs = _array(service.keys), _array(service.outputs)
        if len(keys) != len(outputs):
            numbers = f"{len(keys):,} for {len(outputs):,}"
            raise TallyError(f"service {service.name!r}: there must be one key per output, not {numbers}")
        columns.append((keys, outputs))
    design = Design.of(services, outside)
    design.require_types(*zip(*((keys.type, outputs.type) for keys, outputs in columns), strict=True))
    return design.finish(design.part(columns))


class Seen(NamedTuple):
    """What came from one service: numbers of reports, which add up over parts."""

    reports: int = 0
    missing: int = 0
    impossible: int = 0
    broken: int = 0
    kept: int = 0
    keyless: int = 0
    repeated: int = 0


class FusedPart(NamedTuple):
    """The reports of some people: counts of tuples, and what was seen. Parts of different people add up."""

    seen: tuple[Seen, ...]
    cells: CellArray
    counts: IntArray


@dataclass(frozen=True)
class Design:
    """What is fused, without the reports: the work on them, whichever machine does it."""

    names: tuple[str, ...]
    channels: tuple[Channel, ...]
    bounds: tuple[float, float]
    outside: str

    @classmethod
    def of(cls, services: Sequence[Any], outside: str) -> Design:
        """Take the design of services (`name`, `channel`, `bounds`); refuse what cannot be fused."""
        if outside not in OUTSIDE:
            raise TallyError(f"outside must be one of {', '.join(OUTSIDE)}, not {outside!r}")
        if not services:
            raise TallyError("there must be at least one service to fuse, not none")
        if len({service.name for service in services}) < len(services):
            raise TallyError("services must have different names")
        first = services[0]
        for service in services:
            if (service.channel.size, service.bounds) != (first.channel.size, first.bounds):
                raise TallyError(
                    f"service {service.name!r}: its scale must be that of {first.name!r}, {first.channel.size} buckets "
                    f"from {first.bounds[0]:g} to {first.bounds[1]:g}, not {service.channel.size} "
                    f"from {service.bounds[0]:g} to {service.bounds[1]:g}"
                )
            if isinstance(service.channel.form, Bits):
                those = f"those of {service.channel.mechanism} are rows of bits"
                raise TallyError(f"service {service.name!r}: outputs must be integers; {those}")
        names, channels = zip(*((service.name, service.channel) for service in services), strict=True)
        return cls(names, channels, first.bounds, outside)

    def require_types(self, keys: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Refuse columns of other types than numbers, and keys of several types."""
        for name, kind in zip(self.names, outputs, strict=True):
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
                raise TallyError(f"service {name!r}: outputs must be integers, not {kind}")
        types = {str(kind) for kind in keys if not pa.types.is_null(kind)}
        if len(types) > 1:
            raise TallyError(f"keys of all services must be of one type, not {' and '.join(sorted(types))}")

    def part(self, columns: Sequence[tuple[pa.Array, pa.Array]]) -> FusedPart:
        """Join and count the reports (keys and outputs per service) of some people, all of them."""
        checked = [self._checked(channel, *pair) for channel, pair in zip(self.channels, columns, strict=True)]
        places, people = _numbered([keys for keys, _, _ in checked])
        seen, joined = [], []
        for (_, outputs, found), place in zip(checked, places, strict=True):
            column = np.zeros(people, np.int32)
            column[place] = outputs + 1
            seen.append(found._replace(repeated=len(place) - int(np.count_nonzero(column))))
            joined.append(column)
        return FusedPart(tuple(seen), *distinct(joined, self.channels, None))

    def _checked(self, channel: Channel, keys: pa.Array, outputs: pa.Array) -> tuple[pa.Array, CellArray, Seen]:
        """Return the keys and outputs that count, and what was seen."""
        missing = np.asarray(outputs.is_null(nan_is_null=True))
        numbers = np.asarray(pc.fill_null(outputs, 0)) if len(outputs) > outputs.null_count else np.zeros(len(outputs))
        broken = np.zeros(len(numbers), np.bool_)
        if numbers.dtype.kind == "f":
            numbers = np.where(missing, 0, numbers)
            broken = numbers != np.floor(numbers)
        impossible = ((numbers < 0) | (numbers >= channel.form.count)) & ~missing
        kept = ~(missing | broken)
        if self.outside == "clip":
            numbers = np.clip(numbers, 0, channel.form.count - 1)
        else:
            kept &= ~impossible
        keyed = kept & np.asarray(keys.is_valid())
        if not keyed.all():
            keys, numbers = keys.filter(pa.array(keyed)), numbers[keyed]
        counted = (int(each.sum()) for each in (missing, impossible, broken, kept, kept & ~keyed))
        return keys, numbers.astype(np.int32, copy=False), Seen(len(kept), *counted)

    def merge(self, parts: Sequence[FusedPart]) -> FusedPart:
        """Add up parts of different people."""
        services = zip(*(part.seen for part in parts), strict=True)
        seen = tuple(Seen(*map(sum, zip(*each, strict=True))) for each in services)
        cells, counts = (np.concatenate([part[place] for part in parts]) for place in (1, 2))
        return FusedPart(seen, *recount(cells, self.channels, counts))

    def finish(self, part: FusedPart) -> Fused:
        """Return the tally of all people; refuse what any of their reports broke."""
        services = list(zip(self.names, self.channels, part.seen, strict=True))
        sources = tuple(Source(*each[:2], each[2].kept, self._skipped(*each)) for each in services)
        for name, _, seen in services:
            if seen.keyless:
                raise TallyError(f"service {name!r}: every report must have a key; {seen.keyless:,} have none")
        for name, _, seen in services:
            if seen.repeated:
                some = f"{seen.repeated:,} of {seen.kept:,} reports"
                raise TallyError(f"service {name!r}: keys must be unique; {some} repeat an earlier key")
        self._refuse_copies(part)
        return Fused(sources, self.bounds, part.cells, part.counts)

    def _refuse_copies(self, part: FusedPart) -> None:
        """Refuse two services with the same noise: they agree more often than independent draws ever do.

        Whatever people's values are, m people who gave to both agree in e = a·m outputs or more with a probability of
        at most exp(−m·KL(a ‖ c)), c being the agreement of the channel at the value where it is largest (Chernoff).
        """
        for one, two in combinations(range(len(self.names)), 2):
            both = (part.cells[:, one] != ABSENT) & (part.cells[:, two] != ABSENT)
            people = int(part.counts[both].sum())
            equal = int(part.counts[both & (part.cells[:, one] == part.cells[:, two])].sum())
            # Few copies do little harm, and c takes time for channels with many outputs, which agree rarely by chance.
            if self.channels[one] != self.channels[two] or equal < _SOME * people or not equal:
                continue
            agreement = channel_agreement(self.channels[one])
            if people * _divergence(equal / people, agreement) > -math.log(_CHANCE):
                raise TallyError(
                    f"services {self.names[one]!r} and {self.names[two]!r} have the same output for {equal:,} of "
                    f"{people:,} people, more than chance allows (at most {100 * agreement:.0f} %): they hold the same "
                    "reports, not independent ones; fuse one of them"
                )

    def _skipped(self, name: str, channel: Channel, seen: Seen) -> dict[str, int]:
        """Return how many reports of a service did not count as they are, and why; refuse what must not happen."""
        if not seen.reports:
            raise TallyError(f"service {name!r}: there must be at least one report, not none")
        if seen.broken:
            raise TallyError(f"service {name!r}: outputs must be integers; {seen.broken:,} of {seen.reports:,} are not")
        counts = {"missing": seen.missing, "impossible": seen.impossible}
        counted = {reason: count for reason, count in counts.items() if count}
        if counted and self.outside == "refuse":
            some = " and ".join(f"{count:,} {reason}" for reason, count in counted.items())
            most = f"outputs must be below {channel.form.count}"
            raise TallyError(f"service {name!r}: {most}; {some} of {seen.reports:,}")
        if not seen.kept:
            none = f"none of {seen.reports:,} is"
            raise TallyError(f"service {name!r}: there must be at least one possible output; {none}")
        if self.outside == "clip":
            return {("clipped" if reason == "impossible" else reason): count for reason, count in counted.items()}
        return counted


def channel_agreement(channel: Channel) -> float:
    """Return how often two independent outputs for one value are the same, at the value where they are most often.

    >>> from pldp.mechanisms import build
    >>> round(channel_agreement(build("krr", 2, 1_000_000)), 4)  # .7311² + .2689²
    0.6068
    """
    found = piecewise_arrays(channel).pieces()
    squares = replace(found, base=found.base**2, patterns=found.patterns**2, lift=found.lift * (2 + found.lift))
    return float(squares.expectation(np.ones(channel.form.count)).max())


def _divergence(found: float, chance: float) -> float:
    """Return KL(found ‖ chance) of two coins where more was found than by chance; 0 where it was not."""
    if found <= chance or chance >= 1:
        return 0.0
    rest = (1 - found) * math.log((1 - found) / (1 - chance)) if found < 1 else 0.0
    return found * math.log(found / chance) + rest


def _array(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column if isinstance(column, pa.Array) else pa.array(column)


def _numbered(keys: Sequence[pa.Array]) -> tuple[list[npt.NDArray[Any]], int]:
    """Number the keys of all services alike: as they are where they are nearly consecutive, else by hashing."""
    kind = next((array.type for array in keys if len(array)), None)
    if kind is None:
        return [np.zeros(0, np.intp) for _ in keys], 0
    keys = [array if len(array) else pa.array([], kind) for array in keys]
    if pa.types.is_integer(kind):
        numbers = [np.asarray(array) for array in keys]
        filled = [each for each in numbers if len(each)]
        low, high = min(int(each.min()) for each in filled), max(int(each.max()) for each in filled)
        if high - low < _SPARSE * max(map(len, numbers)):
            return [each - low for each in numbers], high - low + 1
    encoded = pa.chunked_array(keys).dictionary_encode()
    return [np.asarray(chunk.indices) for chunk in encoded.chunks], len(encoded.chunk(0).dictionary)
