"""Number the answers of a service: from (level, output) of each report to one cell, and from cells back to sources.

A plain service has one channel with not too many integers: the cell is the output. Otherwise the cells of its levels
stand one after the other. Outputs that are rows of bits, or integers of a large range, are listed: only those that came
have a number. A service that hides levels is one source, whose cells are pairs of label and output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pldp.errors import TallyError
from pldp.mechanisms import Bits, Channel, Form
from pldp.mechanisms.arrays import rows_of
from pldp.tallies.fusion import ABSENT, CellArray, HiddenLevels, IntArray, Listed, Service, Source, list_outputs
from pldp.words import unknown

LARGEST_COUNT: Final = 1 << 22
"""Most integers that are numbered as they are; of more, those that came are listed."""

NOT_ANSWERED: Final = -1
IMPOSSIBLE: Final = -2


@dataclass(frozen=True, eq=False)
class Layout:
    """The sources of one service, each with the first of its cells; `plain` where the cell is the output itself."""

    name: str
    sources: tuple[Source, ...]
    starts: tuple[int, ...]
    count: int
    plain: bool = False

    def split(self, codes: CellArray) -> Iterator[tuple[Source, CellArray]]:
        """Yield each source with the cells of its own, `ABSENT` elsewhere."""
        for source, start in zip(self.sources, self.starts, strict=True):
            here = (codes >= start) & (codes < start + source.count)
            yield source, np.where(here, codes - start, ABSENT).astype(np.int32)


def plain_layout(name: str, channel: Channel) -> Layout:
    """Return the layout of a service with one channel whose outputs are integers."""
    if isinstance(channel.form, Bits):
        raise TallyError(
            f"service {name!r}: outputs must be integers; those of {channel.mechanism} are rows of bits, which are "
            "fused on one machine only"
        )
    return Layout(name, (Source(name, channel, 0),), (0,), channel.form.count, plain=True)


def code_service(service: Service) -> tuple[pa.Array, pa.Array, Layout]:
    """Return the keys, one cell per report (null where there is none, or beyond the last), and the layout."""
    keys, outputs = array_of(service.keys), service.outputs
    rows = outputs if isinstance(outputs, np.ndarray) and outputs.ndim == 2 else array_of(outputs)
    if len(keys) != len(rows):
        numbers = f"{len(keys):,} for {len(rows):,}"
        raise TallyError(f"service {service.name!r}: need one key per output, not {numbers}")
    form = service.channel.form
    simple = service.level is None and not isinstance(form, Bits)
    if simple and form.count <= LARGEST_COUNT and not _is_rows(rows):
        return keys, rows, plain_layout(service.name, service.channel)
    level = np.zeros(len(keys), np.int64) if service.level is None else _level_places(service)
    channels = service.channels or (service.channel,)
    outside, by_form = _read_outputs(service.name, channels, level, rows)
    names = service.levels or (service.name,)
    codes, layout = code_answers(service.name, names, channels, service.label_channel, level, by_form)
    impossible = outside == IMPOSSIBLE
    found = np.where(impossible, layout.count, codes)
    return keys, pa.array(found, mask=(outside == NOT_ANSWERED) | ((codes < 0) & ~impossible)), layout


def code_answers(
    name: str,
    names: Sequence[str],
    channels: Sequence[Channel],
    label_channel: Channel | None,
    level: npt.NDArray[Any],
    outputs: npt.NDArray[Any] | dict[int, npt.NDArray[Any]],
) -> tuple[CellArray, Layout]:
    """Return the cell of every report, −1 where it has none, and the layout.

    `level` is the place of each report's level (of its label, where levels are hidden), negative where there is none;
    `outputs` are integers, or by the number of their bytes the packed rows.
    """
    codes = np.full(len(level), NOT_ANSWERED, np.int32)
    if label_channel is not None:
        if len({channel.form for channel in channels}) > 1:
            raise TallyError(f"service {name!r}: levels are not hidden, as the form of an output shows its level")
        hidden = HiddenLevels(tuple(names), tuple(channels), label_channel)
        rows = np.flatnonzero(level >= 0)
        own = _of_form(channels[0].form, outputs)[rows]
        seen, places = list_outputs(own, level[rows].astype(np.int64))
        codes[rows] = places
        source = Source(name, channels[0], 0, listed=seen, hidden=hidden)
        return codes, Layout(name, (source,), (0,), source.count)
    sources: list[Source] = []
    starts, start = [], 0
    several = len(channels) > 1
    for place, (own_name, channel) in enumerate(zip(names, channels, strict=True)):
        rows = np.flatnonzero(level == place) if several else np.flatnonzero(level >= 0)
        own = _of_form(channel.form, outputs)[rows]
        listed: Listed | None = None
        if isinstance(channel.form, Bits) or channel.form.count > LARGEST_COUNT:
            listed, own = list_outputs(own)
        codes[rows] = own + start
        title, service = (f"{name}, {own_name}", name) if several else (name, "")
        sources.append(Source(title, channel, 0, service=service, listed=listed))
        starts.append(start)
        start += sources[-1].count
    return codes, Layout(name, tuple(sources), tuple(starts), start)


def _of_form(form: Form, outputs: npt.NDArray[Any] | dict[int, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    if not isinstance(outputs, dict):
        return outputs
    return outputs[form.bytes if isinstance(form, Bits) else 0]


def array_of(column: Any) -> pa.Array:
    """Return a column as one Arrow array."""
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column if isinstance(column, pa.Array) else pa.array(column)


def _is_rows(outputs: Any) -> bool:
    if isinstance(outputs, np.ndarray):
        return outputs.ndim == 2
    kind = outputs.type
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _level_places(service: Service) -> IntArray:
    """Return the place of each report's level; refuse names that are none."""
    if len(service.levels) != len(service.channels) or not service.levels:
        raise TallyError(f"service {service.name!r}: levels and channels must be as many, one channel per level")
    named = array_of(service.level).to_numpy(zero_copy_only=False)
    if len(named) != len(array_of(service.keys)):
        raise TallyError(f"service {service.name!r}: need one level per key")
    places = {name: place for place, name in enumerate(service.levels)}
    found = np.array([places.get(name, IMPOSSIBLE) for name in named], np.int64)
    if (found == IMPOSSIBLE).any():
        wrong = int((found == IMPOSSIBLE).sum())
        first = named[int(np.argmax(found == IMPOSSIBLE))]
        words = unknown("level", first, service.levels, "it")
        raise TallyError(f"service {service.name!r}: {wrong:,} of {len(found):,} reports have another level: {words}")
    return found


def _read_outputs(
    name: str, channels: Sequence[Channel], level: IntArray, outputs: Any
) -> tuple[IntArray, dict[int, npt.NDArray[Any]]]:
    """Return what is wrong with each report, 0 where nothing is, and the outputs: integers under 0, rows by bytes."""
    wrong = np.zeros(len(level), np.int64)
    found: dict[int, npt.NDArray[Any]] = {}
    for place, channel in enumerate(channels):
        mine, form = level == place if len(channels) > 1 else np.ones(len(level), bool), channel.form
        if isinstance(form, Bits):
            rows, here = _rows(name, channel, outputs)
            found[form.bytes] = rows
            wrong[mine & ~here] = NOT_ANSWERED
            wrong[mine & here & ~rows_of(form).admitted(rows)] = IMPOSSIBLE
            continue
        if _is_rows(outputs):
            raise TallyError(f"service {name!r}: outputs of {channel.mechanism} must be integers, not rows of bits")
        if not (pa.types.is_integer(outputs.type) or pa.types.is_null(outputs.type)):
            raise TallyError(f"service {name!r}: outputs must be integers, not {outputs.type}")
        missing = np.asarray(outputs.is_null())
        numbers = np.asarray(outputs.fill_null(0) if outputs.null_count else outputs).astype(np.int64)
        found[0] = numbers
        wrong[mine & missing] = NOT_ANSWERED
        wrong[mine & ~missing & ((numbers < 0) | (numbers >= form.count))] = IMPOSSIBLE
    if 0 in found:  # cells need some output; those of reports that do not count are not looked at
        found[0] = np.where(wrong == 0, found[0], 0)
    return wrong, found


def _rows(name: str, channel: Channel, outputs: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """Return packed rows as a matrix, and which reports have one of the right length."""
    length = channel.form.bytes
    if isinstance(outputs, np.ndarray) and outputs.ndim == 2:
        if outputs.shape[1] != length or outputs.dtype != np.uint8:
            raise TallyError(
                f"service {name!r}: rows of {channel.mechanism} must be {length} bytes (uint8), not "
                f"{outputs.shape[1]} of {outputs.dtype}"
            )
        return outputs, np.ones(len(outputs), bool)
    if not _is_rows(outputs):
        raise TallyError(
            f"service {name!r}: outputs of {channel.mechanism} are rows of bits and must be bytes, {length} of them, "
            f"not {outputs.type if isinstance(outputs, pa.Array) else 'integers'}"
        )
    whole = [each if each is not None and len(each) == length else None for each in outputs.to_pylist()]
    here = np.array([each is not None for each in whole], bool)
    joined = b"".join(each if each is not None else bytes(length) for each in whole)
    return np.frombuffer(joined, np.uint8).reshape(-1, length), here
