"""Read the result of a query into a tally; whole outputs become counts of bits here.

Rows may come in any order and in parts: equal ones are added. The rows that every result has (see
`pldp.tallies.sql.query`) say how many reports there must be, so that a result that was cut off, as the web pages of
some engines do after a number of rows, is refused and not counted.
"""

from __future__ import annotations

import json
from binascii import unhexlify
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from pldp.errors import TallyError
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import rows_of
from pldp.reports import Rejection
from pldp.survey import Survey
from pldp.tallies.counts import BitCounts, Counts, OutputCounts
from pldp.tallies.sql.query import REASONS, pair_name
from pldp.tallies.tally import Cell, Tally
from pldp.tallies.together import Pair, TableCounts

COLUMNS: Final = ("question", "level", "output", "count")
_LARGEST: Final = 1 << 53
_ROWS_AT_ONCE: Final = 1 << 20


def read_counts(survey: Survey, path: str | Path, *, patterns: bool = False) -> Tally:
    """Read the result of `query`, saved as CSV (with a header), JSON lines or Parquet, into a tally.

    `patterns` keeps whole rows of packed outputs, as in `pldp.tally`; pairs are those that the query counted.
    """
    try:
        return count_batches(survey, _batches(Path(path)), patterns=patterns)
    except FileNotFoundError:
        raise TallyError(f"{path}: there is no such file") from None
    except TallyError as error:
        raise TallyError(f"{path}: {error}") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        words = (str(error).splitlines() or ["it does not say why"])[0][:120]
        raise TallyError(f"{path}: is not the result of a query as CSV, JSON lines or Parquet ({words})") from None


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Read a file by the end of its name; all columns that hold text are text."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        with pa.parquet.ParquetFile(path) as file:
            yield from file.iter_batches(_ROWS_AT_ONCE)
    elif ending in {".jsonl", ".ndjson", ".json"}:
        yield from pa.json.read_json(path).to_batches(_ROWS_AT_ONCE)
    elif ending == ".csv":
        names = [name.lower() for name in pa.csv.open_csv(path).schema.names]
        if sorted(set(names) & set(COLUMNS)) != sorted(COLUMNS):
            raise TallyError(_wrong_columns(names))
        read = pa.csv.ReadOptions(column_names=names, skip_rows=1)
        convert = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        parse = pa.csv.ParseOptions(newlines_in_values=True)
        yield from pa.csv.open_csv(path, read, parse, convert)
    else:
        raise TallyError(f"the name must end in .csv, .jsonl or .parquet, not {ending!r}")


def _wrong_columns(names: Iterable[str]) -> str:
    missing = [name for name in COLUMNS if name not in names]
    return f"column {missing[0]} is missing; the result of `pldp sql` has the columns {', '.join(COLUMNS)}"


def count_batches(survey: Survey, batches: Iterable[pa.RecordBatch], *, patterns: bool = False) -> Tally:
    """Add up the rows of a result."""
    found = _Found(survey, patterns=patterns or survey.level_channel is not None)
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
            found.add(batch.slice(start, _ROWS_AT_ONCE))
    return found.tally()


class _Found:
    """What the rows so far say."""

    def __init__(self, survey: Survey, *, patterns: bool) -> None:
        self.survey, self.patterns = survey, patterns
        self.summary: Counter[tuple[str, str, str]] = Counter()
        self.cells: dict[Cell, list[Counts]] = {}
        self.tables: dict[tuple[tuple[str, str], ...], list[TableCounts]] = {}
        self.questions = {question.name: question for question in survey.questions}

    def add(self, batch: pa.RecordBatch) -> None:
        question, level, output, counts = _columns(batch)
        names, levels = question.dictionary_encode(), level.dictionary_encode()
        width = len(levels.dictionary)
        codes = np.asarray(names.indices).astype(np.int64) * width + np.asarray(levels.indices)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(codes)], strict=True):
            places, code = order[start:end], int(codes[order[start]])
            whole = len(places) == len(codes)
            own, numbers = (output, counts) if whole else (output.take(pa.array(places)), counts[places])
            self._add_cell(
                names.dictionary[code // width].as_py(), levels.dictionary[code % width].as_py(), own, numbers
            )

    def _add_cell(self, name: str, level: str, texts: pa.Array, counts: npt.NDArray[np.int64]) -> None:
        if name == "" or level == "":
            for text, number in zip(texts.to_pylist(), counts.tolist(), strict=True):
                if (name, level) == ("", "survey") and text != self.survey.hash:
                    raise TallyError(f"was counted for another survey than {self.survey.title!r}: their hashes differ")
                self.summary[name, level, text] += number
        elif name in self.questions:
            self._add_outputs((name, level), texts, counts)
        else:
            self._add_table(name, level, texts, counts)

    def _channel(self, name: str, level: str) -> Channel:
        question = self.questions[name]
        if level not in question.level_index:
            raise TallyError(f"question {name!r} offers no level {level[:60]!r}; is this the result of another survey?")
        return question.channels[question.level_index[level]]

    def _add_outputs(self, cell: Cell, texts: pa.Array, counts: npt.NDArray[np.int64]) -> None:
        channel = self._channel(*cell)
        outputs = _outputs(channel, texts, cell)
        form = channel.form
        if isinstance(form, Bits):
            made: Counts = BitCounts.of_rows(outputs, form, patterns=self.patterns or channel.keeps_rows, counts=counts)
        else:
            sums = np.bincount(outputs, counts, minlength=form.count)
            made = OutputCounts(sums.astype(np.int64))
        kept = self.cells.setdefault(cell, [])
        kept.append(made)
        if len(kept) > 1 and isinstance(made, OutputCounts):
            self.cells[cell] = [OutputCounts.merge([each for each in kept if isinstance(each, OutputCounts)])]

    def _add_table(self, name: str, level: str, texts: pa.Array, counts: npt.NDArray[np.int64]) -> None:
        names, levels = _names(name), _names(level)
        if names is None or levels is None or len(names) != len(levels) or set(names) - set(self.questions):
            raise TallyError(f"the survey has no question {name[:60]!r}; is this the result of another survey?")
        cell = tuple(zip(names, levels, strict=True))
        channels = [self._channel(*side) for side in cell]
        parts = pc.split_pattern(texts, ",")
        if not pc.all(pc.equal(pc.list_value_length(parts), len(cell))).as_py():
            raise TallyError(f"questions {', '.join(names)}: some outputs are not those of {len(cell)} questions")
        flat = parts.flatten()
        outputs = []
        for place, (channel, side) in enumerate(zip(channels, cell, strict=True)):
            own = flat.take(pa.array(np.arange(place, len(flat), len(cell))))
            outputs.append(_outputs(channel, own, side))
        self.tables.setdefault(cell, []).append(TableCounts.of_outputs(channels, outputs, counts))
        if len(self.tables[cell]) > 1:
            self.tables[cell] = [TableCounts.merge(self.tables[cell])]

    def tally(self) -> Tally:
        accepted, rejections = self._reports()
        pairs = self._pairs()
        empty = Tally.empty(self.survey, patterns=self.patterns, pairs=pairs)
        counts = {cell: _sum([zero, *self.cells.get(cell, [])]) for cell, zero in empty.counts.items()}
        tables = {cell: _sum([zero, *self.tables.get(cell, [])]) for cell, zero in empty.pairs.items()}
        made = Tally(self.survey, counts, accepted, rejections, tables)
        for name, answers in made.answered.items():
            self._compare(name, f"question {name!r}", answers)
        for pair in pairs:
            answers = sum(own.reports for cell, own in tables.items() if tuple(name for name, _ in cell) == pair)
            self._compare(pair_name(pair), f"questions {', '.join(pair)}", answers)
        made.check_numbers()
        return made

    def _compare(self, name: str, words: str, found: int) -> None:
        expected = self.summary[name, "", ""]
        if found != expected:
            raise TallyError(
                f"is incomplete: {words} has {expected:,} answers, but the outputs that are listed are {found:,}; "
                "save all rows of the result"
            )

    def _reports(self) -> tuple[int, dict[Rejection, int]]:
        """Return how many reports are accepted, and how many are rejected for what; refuse a result that lacks it."""
        expected = {("", "survey", self.survey.hash), ("", "accepted", "")}
        expected |= {("", "rejected", reason.value) for reason in REASONS}
        expected |= {(question, "", "") for question in self.questions}
        missing = sorted(" ".join(filter(None, row)) for row in expected - self.summary.keys())
        if missing:
            raise TallyError(f"is incomplete: the row of {missing[0]!r} is missing; save all rows of the result")
        strange = [row for row in self.summary if row not in expected and _names(row[0]) is None]
        if strange:
            raise TallyError(f"has a row that no query of `pldp sql` makes: {' '.join(strange[0])[:80]!r}")
        total, accepted = self.summary["", "survey", self.survey.hash], self.summary["", "accepted", ""]
        rejections = {reason: self.summary["", "rejected", reason.value] for reason in REASONS}
        rejected = sum(rejections.values())
        if accepted + rejected != total:
            words = f"of {total:,} reports {accepted:,} are accepted and {rejected:,} rejected"
            raise TallyError(f"contradicts itself: {words}")
        return accepted, {reason: number for reason, number in rejections.items() if number}

    def _pairs(self) -> list[Pair]:
        """Return the pairs that were counted."""
        pairs = [_names(name) for name, level, output in self.summary if name and name not in self.questions]
        found = [pair for pair in pairs if pair is not None]
        for cell in self.tables:
            if tuple(name for name, _ in cell) not in found:
                raise TallyError("is incomplete: the row of a pair is missing; save all rows of the result")
        return found


def _sum(parts: Sequence[Any]) -> Any:
    return type(parts[0]).merge(parts)


def _names(text: str) -> Pair | None:
    """Read what `pair_name` wrote; nothing where it is something else."""
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(names, list) and len(names) > 1 and all(isinstance(name, str) for name in names)
    return tuple(names) if fits else None


def _columns(batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array, pa.Array, npt.NDArray[np.int64]]:
    """Return the three texts and the count of every row; engines write names and types in several ways."""
    named = {name.lower(): place for place, name in enumerate(batch.schema.names)}
    if not set(COLUMNS) <= named.keys():
        raise TallyError(_wrong_columns(named))
    texts = [batch.column(named[name]).cast(pa.string()).fill_null("") for name in COLUMNS]
    count = texts.pop()
    right = pc.match_substring_regex(count, "^[0-9]{1,16}$")
    if not pc.all(right, min_count=0).as_py():
        wrong = count.filter(pc.invert(right))[0].as_py()
        raise TallyError(f"column count must hold whole numbers that are not negative, not {wrong[:40]!r}")
    numbers = np.asarray(count.cast(pa.int64()))
    if len(numbers) and int(numbers.max()) > _LARGEST:
        raise TallyError(f"column count must hold numbers up to {_LARGEST:,}")
    return *texts, numbers


def _outputs(channel: Channel, texts: pa.Array, cell: Cell) -> npt.NDArray[Any]:
    """Read outputs: integers, or rows of bytes; refuse those that the channel cannot make."""
    form = channel.form
    where = f"question {cell[0]!r}, level {cell[1]!r}"
    if isinstance(form, Bits):
        rows = _packed_rows(texts, form.bytes)
        if rows is None:
            raise TallyError(f"{where}: an output must be x and {2 * form.bytes} hexadecimal digits; some are not")
        if not rows_of(form).admitted(rows).all():
            raise TallyError(f"{where}: some outputs are none that the channel can make")
        return rows
    right = pc.match_substring_regex(texts, "^(0|[1-9][0-9]{0,17})$")
    if not pc.all(right, min_count=0).as_py():
        wrong = texts.filter(pc.invert(right))[0].as_py()
        raise TallyError(f"{where}: an output must be an integer, not {wrong[:40]!r}")
    numbers = np.asarray(texts.cast(pa.int64()))
    if len(numbers) and int(numbers.max()) >= form.count:
        raise TallyError(f"{where}: an output must be below {form.count:,}, not {int(numbers.max()):,}")
    return numbers


def _packed_rows(texts: pa.Array, byte_count: int) -> npt.NDArray[np.uint8] | None:
    """Return the bytes of texts such as x0f, a row each; nothing where some are something else."""
    length = 1 + 2 * byte_count
    if not pc.all(pc.equal(pc.binary_length(texts), length), min_count=0).as_py():
        return None
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :]
    letters = np.frombuffer(texts.buffers()[2], np.uint8)[int(offsets[0]) :][: length * len(texts)].reshape(-1, length)
    if (letters[:, 0] != ord("x")).any():
        return None
    try:
        return np.frombuffer(unhexlify(letters[:, 1:].tobytes()), np.uint8).reshape(-1, byte_count)
    except ValueError:
        return None
