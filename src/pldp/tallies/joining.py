"""Join the reports of several services by the key of a person, count tuples of outputs, and forget the key.

`Design` holds what is fused, service by service, as numbered cells (`pldp.tallies.coding`). It counts the reports of
some people (`part`), adds up such counts (`merge`) and refuses or returns the sum (`finish`): on one machine all at
once, on a cluster part by part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pldp.errors import TallyError
from pldp.mechanisms import LARGEST_TOTAL, Micro, epsilon_text, micro_epsilon
from pldp.mechanisms.arrays import arrays
from pldp.tallies.coding import Layout, code_service, plain_layout
from pldp.tallies.fusion import ABSENT, Asked, CellArray, Fused, IntArray, Service, Source, distinct, recount
from pldp.usage import require
from pldp.words import listed

OUTSIDE: Final = ("refuse", "skip", "clip")  # what `fuse` may do with outputs that the channel cannot make
_CHANCE: Final = 1e-9
"""Probability with which two honest services are refused at most, for agreeing too often."""
_SOME: Final = 0.1
"""Share of people for whom two services agree, from which on it is asked whether they are copies."""
_MANY: Final = 1 << 22
_PARTS: Final = 16
"""From so many keys on they are numbered in so many parts, one after the other."""
_SPARSE: Final = 4
"""Integer keys whose range is at most so many times the number of reports are numbered without hashing."""


def fuse(services: Sequence[Service], *, outside: str = "refuse", accept_epsilon: float | str | None = None) -> Fused:
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
    accept_epsilon
        What joining may cost a person. A person who gave to several services is protected by the sum of their ε only;
        a larger sum than this is refused. The sum is `epsilon` of the result, whether it is limited here or not.

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
    for service in services:
        require(service, Service, "pldp.fuse([service, …])")
    check_services(services, outside)
    coded = [code_service(service) for service in services]
    design = Design(tuple(layout for _, _, layout in coded), services[0].bounds, outside, services[0].asked)
    design.require_types(*zip(*((keys.type, codes.type) for keys, codes, _ in coded), strict=True))
    for _, _, layout in coded:
        if outside == "clip" and not layout.plain:
            raise TallyError(f"outside must be refuse or skip: outputs of service {layout.name!r} cannot be clipped")
    fused = design.finish(design.part([(keys, codes) for keys, codes, _ in coded]))
    if accept_epsilon is not None:
        require_accepted(fused.micro_epsilon, accept_epsilon, "pass accept_epsilon={}")
    return fused


def require_accepted(price: Micro, accepted: float | str | None, how: str) -> None:
    """Refuse to join what costs a person more than was accepted, saying how to accept it; `inf` accepts everything."""
    limit: Micro | None = None
    if accepted is not None:
        limit = math.inf if str(accepted) == "inf" else micro_epsilon(accepted, largest=LARGEST_TOTAL)
    if limit is None or price > limit:
        known = "" if limit is None else f"; {epsilon_text(limit)} is accepted"
        words = "inf" if math.isinf(price) else epsilon_text(price)
        raise TallyError(
            f"joining these reports costs a person up to epsilon {epsilon_text(price)}, the sum over the services that "
            f"they gave to{known}. If that is what people agreed to, {how.format(words)}"
        )


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

    layouts: tuple[Layout, ...]
    bounds: tuple[float, float]
    outside: str
    asked: Asked = field(default_factory=Asked)

    @classmethod
    def of(cls, services: Sequence[Any], outside: str) -> Design:
        """Take the design of services (`name`, `channel`, `bounds`) of integers; refuse what cannot be fused."""
        check_services(services, outside)
        layouts = tuple(plain_layout(service.name, service.channel) for service in services)
        return cls(layouts, services[0].bounds, outside)

    def require_types(self, keys: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Refuse columns of other types than numbers, and keys of several types."""
        for layout, kind in zip(self.layouts, outputs, strict=True):
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
                raise TallyError(f"service {layout.name!r}: outputs must be integers, not {kind}")
        require_one_type(keys)

    def part(self, columns: Sequence[tuple[pa.Array, pa.Array]]) -> FusedPart:
        """Join and count the reports (keys and outputs per service) of some people, all of them."""
        checked = [self._checked(layout.count, *pair) for layout, pair in zip(self.layouts, columns, strict=True)]
        places, people = number_keys([keys for keys, _, _ in checked])
        return self.join(
            [(place, codes, seen) for (_, codes, seen), place in zip(checked, places, strict=True)], people
        )

    def join(self, columns: Sequence[tuple[npt.NDArray[Any], CellArray, Seen]], people: int) -> FusedPart:
        """Count the tuples of people who are numbered: their numbers, codes and what was seen, service by service."""
        seen, joined = [], []
        for place, codes, found in columns:
            column = np.zeros(people, np.int32)
            column[place] = codes + 1
            seen.append(found._replace(repeated=len(place) - int(np.count_nonzero(column))))
            joined.append(column)
        return FusedPart(tuple(seen), *distinct(joined, [layout.count for layout in self.layouts], None))

    def _checked(self, count: int, keys: pa.Array, outputs: pa.Array) -> tuple[pa.Array, CellArray, Seen]:
        """Return the keys and outputs that count, and what was seen."""
        missing = np.asarray(outputs.is_null(nan_is_null=True))
        numbers = np.asarray(pc.fill_null(outputs, 0)) if len(outputs) > outputs.null_count else np.zeros(len(outputs))
        broken = np.zeros(len(numbers), np.bool_)
        if numbers.dtype.kind == "f":
            numbers = np.where(missing, 0, numbers)
            broken = numbers != np.floor(numbers)
        impossible = ((numbers < 0) | (numbers >= count)) & ~missing
        kept = ~(missing | broken)
        if self.outside == "clip":
            numbers = np.clip(numbers, 0, count - 1)
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
        return FusedPart(seen, *recount(cells, [layout.count for layout in self.layouts], counts))

    def finish(self, part: FusedPart) -> Fused:
        """Return the tally of all people; refuse what any of their reports broke."""
        services = list(zip(self.layouts, part.seen, strict=True))
        skipped = [self._skipped(layout.name, layout.count, seen) for layout, seen in services]
        for layout, seen in services:
            if seen.keyless:
                raise TallyError(f"service {layout.name!r}: every report must have a key; {seen.keyless:,} have none")
        for layout, seen in services:
            if seen.repeated:
                some = f"{seen.repeated:,} of {seen.kept:,} reports"
                raise TallyError(f"service {layout.name!r}: keys must be unique; {some} repeat an earlier key")
        sources, cells = [], []
        for layout, column, omitted in zip(self.layouts, part.cells.T, skipped, strict=True):
            for source, own in layout.split(column):
                reports = int(part.counts[own != ABSENT].sum())
                if reports or layout.plain:
                    sources.append(replace(source, reports=reports, skipped=omitted))
                    cells.append(own)
        fused = Fused(
            tuple(sources), self.bounds, np.stack(cells, axis=1), part.counts, self.asked.mean_only, self.asked
        )
        _refuse_copies(fused)
        return fused

    def _skipped(self, name: str, count: int, seen: Seen) -> dict[str, int]:
        """Return how many reports of a service did not count as they are, and why; refuse what must not happen."""
        if not seen.reports:
            raise TallyError(f"service {name!r}: no reports: need at least one")
        if seen.broken:
            raise TallyError(f"service {name!r}: outputs must be integers; {seen.broken:,} of {seen.reports:,} are not")
        counts = {"missing": seen.missing, "impossible": seen.impossible}
        counted = {reason: count for reason, count in counts.items() if count}
        if counted and self.outside == "refuse":
            some = " and ".join(f"{count:,} {reason}" for reason, count in counted.items())
            most = f"outputs must be below {count}"
            raise TallyError(f"service {name!r}: {most}; {some} of {seen.reports:,}")
        if not seen.kept:
            none = f"none of {seen.reports:,} is"
            raise TallyError(f"service {name!r}: need at least one possible output; {none}")
        if self.outside == "clip":
            return {("clipped" if reason == "impossible" else reason): count for reason, count in counted.items()}
        return counted


def check_services(services: Sequence[Any], outside: str = "refuse") -> None:
    """Refuse services that cannot be fused, whatever their reports are."""
    if outside not in OUTSIDE:
        raise TallyError(f"outside must be one of {', '.join(OUTSIDE)}, not {outside!r}")
    if not services:
        raise TallyError("nothing to fuse: need at least one service")
    if len({service.name for service in services}) < len(services):
        raise TallyError("services must have different names")
    asked = [getattr(service, "asked", Asked()) for service in services]
    for service, about in zip(services, asked, strict=True):
        _require_same(service, services[0], about, asked[0])


def _require_same(service: Any, first: Any, about: Asked, other: Asked) -> None:
    """Refuse a service that asks something else than the first: other labels, other bounds, another kind."""
    # A number may also be asked as one of its buckets, by a channel for labels.
    if (service.channel.domain == "sets") != (first.channel.domain == "sets"):
        raise TallyError(
            f"service {service.name!r}: it must ask for {first.channel.domain} like {first.name!r}, not for "
            f"{service.channel.domain}"
        )
    if about.values != other.values:
        raise TallyError(f"service {service.name!r}: {_other_labels(about.values, other.values, first.name)}")
    if (service.channel.size, service.bounds) != (first.channel.size, first.bounds):
        raise TallyError(
            f"service {service.name!r}: its scale must be that of {first.name!r}, {first.channel.size} buckets "
            f"from {first.bounds[0]:g} to {first.bounds[1]:g}, not {service.channel.size} "
            f"from {service.bounds[0]:g} to {service.bounds[1]:g}"
        )


def _other_labels(own: Sequence[str], wanted: Sequence[str], first: str) -> str:
    """Name the labels that one of two services has and the other lacks."""
    lacks, more = [label for label in wanted if label not in own], [label for label in own if label not in wanted]
    if not lacks and not more:
        return f"its labels must be in the order of {first!r}: {listed(wanted)}"
    words = [f"it lacks {listed(map(repr, lacks))}"] if lacks else []
    words += [f"it has {listed(map(repr, more))} beyond them"] if more else []
    return f"its labels must be those of {first!r}; {' and '.join(words)}"


def require_one_type(keys: Sequence[Any]) -> None:
    """Refuse keys that cannot be compared: integers in one service, text in another."""
    types = {str(kind) for kind in keys if not pa.types.is_null(kind)}
    if len(types) > 1:
        raise TallyError(f"keys of all services must be of one type, not {' and '.join(sorted(types))}")


def _refuse_copies(fused: Fused) -> None:
    """Refuse two services with the same noise: they agree more often than independent draws ever do.

    Whatever people's values are, m people who gave to both agree in e = a·m outputs or more with a probability of at
    most exp(−m·KL(a ‖ c)), c being the agreement of the channel at the value where it is largest (Chernoff).
    """
    for one, two in combinations(range(len(fused.sources)), 2):
        first, second = fused.sources[one], fused.sources[two]
        if first.channel != second.channel or first.owner == second.owner:
            continue
        both = (fused.cells[:, one] != ABSENT) & (fused.cells[:, two] != ABSENT)
        people = int(fused.counts[both].sum())
        outputs = [_outputs(fused.sources[place], fused.cells[both, place]) for place in (one, two)]
        same = outputs[0] == outputs[1]
        equal = int(fused.counts[both][same if same.ndim == 1 else same.all(axis=1)].sum())
        # Few copies do little harm, and c takes time for channels with many outputs, which agree rarely by chance.
        if equal < _SOME * people or not equal:
            continue
        # Of two levels that a person may have chosen, the one that agrees more with itself is an upper bound (Cauchy).
        levels = [each.channels if each is not None else (first.channel,) for each in (first.hidden, second.hidden)]
        by_chance = max(float(arrays(channel).agreement()) for own in levels for channel in own)
        if people * _divergence(equal / people, by_chance) > -math.log(_CHANCE):
            raise TallyError(
                f"services {first.name!r} and {second.name!r} have the same output for {equal:,} of "
                f"{people:,} people, more than chance allows (at most {100 * by_chance:.0f} %): they hold the same "
                "reports, not independent ones; fuse one of them"
            )


def _outputs(source: Source, cells: CellArray) -> npt.NDArray[Any]:
    """Return the outputs that cells stand for."""
    return cells if source.listed is None else np.asarray(source.listed.outputs[cells])


def _divergence(found: float, chance: float) -> float:
    """Return KL(found ‖ chance) of two coins where more was found than by chance; 0 where it was not."""
    if found <= chance or chance >= 1:
        return 0.0
    rest = (1 - found) * math.log((1 - found) / (1 - chance)) if found < 1 else 0.0
    return found * math.log(found / chance) + rest


def number_keys(keys: Sequence[pa.Array]) -> tuple[list[npt.NDArray[Any]], int]:
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
    if sum(map(len, keys)) < _MANY:
        encoded = pa.chunked_array(keys).dictionary_encode()
        return [np.asarray(chunk.indices) for chunk in encoded.chunks], len(encoded.chunk(0).dictionary)
    return _numbered_in_parts(keys)


def _numbered_in_parts(keys: Sequence[pa.Array]) -> tuple[list[npt.NDArray[Any]], int]:
    """Number the keys part by part, so that the table of those that were seen stays small."""
    groups = [_part_of(array) for array in keys]
    places, people = [np.empty(len(array), np.int32) for array in keys], 0
    for part in range(_PARTS):
        chosen = [np.flatnonzero(group == part) for group in groups]
        if not any(map(len, chosen)):
            continue
        own = [array.take(pa.array(rows)) for array, rows in zip(keys, chosen, strict=True)]
        encoded = pa.concat_arrays(own).dictionary_encode()
        numbers = np.split(np.asarray(encoded.indices) + people, np.cumsum([len(rows) for rows in chosen])[:-1])
        for place, rows, number in zip(places, chosen, numbers, strict=True):
            place[rows] = number
        people += len(encoded.dictionary)
    return list(places), people


def _part_of(keys: pa.Array) -> npt.NDArray[np.uint8]:
    """Return a part for every key, the same for equal keys: of integers by a product, of text by its last letters."""
    if pa.types.is_integer(keys.type):
        mixed = np.asarray(keys).astype(np.int64, copy=False).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return (mixed >> np.uint64(64 - _PARTS.bit_length() + 1)).astype(np.uint8)
    if not (pa.types.is_string(keys.type) or pa.types.is_binary(keys.type)):
        return np.zeros(len(keys), np.uint8)
    _, offsets, letters = keys.buffers()
    ends = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    found = np.zeros(len(keys), np.uint8)
    text = np.frombuffer(letters, np.uint8) if letters is not None else np.zeros(0, np.uint8)
    for back in (1, 2):
        long_enough = np.diff(ends) >= back
        found[long_enough] = 7 * found[long_enough] + text[ends[1:][long_enough] - back]
    return found % np.uint8(_PARTS)
