"""Files of reports with a key of the person that the service added: read, numbered and joined question by question.

A file holds the reports of a pldp survey, with one more column for the key, or a plain table of keys and outputs. A
report of pldp itself has no key: to join, ask people for one, or use that of an account.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from pldp.errors import ReportError, SurveyError, TallyError, UnreadableError
from pldp.mechanisms import Channel
from pldp.reports import Rejection, ReportRejected, read_report
from pldp.reports.columns import BATCH_ROWS, parquet_files, read_row_groups, schema, survey_of_parquet, to_batch
from pldp.survey import Question, Survey
from pldp.tallies.coding import Layout, array_of, code_answers, code_service
from pldp.tallies.fusion import Asked, Bounds, CellArray, Fused, Service
from pldp.tallies.joining import Design, Seen, check_services, number_keys, require_one_type
from pldp.tallies.kernel import BatchAnswers, read_answers
from pldp.words import listed, unknown

TEXTS: Final = (".jsonl", ".ndjson", ".json")
TABLES: Final = (".csv", ".tsv")

Progress = Callable[[int], None]

Keys = tuple[pa.RecordBatch, pa.Array, Counter[Rejection]]
"""Some reports, their keys, and how many were rejected before they became a batch."""


class Answers(NamedTuple):
    """The answers of one service to one question, in cells: −1 where a row has none."""

    name: str
    channel: Channel
    bounds: Bounds
    asked: Asked
    codes: CellArray
    layout: Layout


class Keyed(NamedTuple):
    """The reports of one service: the key of every row, and its answers by question."""

    name: str
    keys: pa.Array
    answers: Mapping[str, Answers]
    rejected: Mapping[Rejection, int]

    def __repr__(self) -> str:
        return f"<Keyed {self.name!r}: {len(self.keys):,} rows, {', '.join(self.answers)}>"


def asked_of(question: Question) -> tuple[Asked, Bounds]:
    """Return what a question of a survey asks, and the bounds of its grid."""
    found: Any = question
    values = tuple(getattr(question, "values", ()))
    grid = getattr(question, "grid", None)
    if grid is None:
        return Asked(question.name, question.text, values), (-1.0, 1.0)
    about = Asked(question.name, question.text, (), found.unit, found.limits, found.for_mean)
    return about, (grid.low, grid.high)


def read_survey_file(
    path: str, key: str, survey: Survey, *, questions: Sequence[str] = (), progress: Progress | None = None
) -> Keyed:
    """Read the reports of a survey with a key each; what the survey does not accept is counted, not joined."""
    return _keyed(service_name(path), path, survey, _survey_batches(path, key, survey), questions, progress)


def keyed_reports(
    name: str, survey: Survey, reports: pa.Table | Iterable[pa.RecordBatch], keys: Any, *, questions: Sequence[str] = ()
) -> Keyed:
    """Pair the reports of a survey, as Arrow columns, with the keys that a service has for them, in their order.

    >>> from pldp import Survey
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_shares(survey, 1000, seed=1)
    >>> shop = keyed_reports("shop", survey, simulate_reports(survey, people, seed=1), range(1000))
    >>> bank = keyed_reports("bank", survey, simulate_reports(survey, people, seed=2), range(500, 1500))
    >>> join_services([shop, bank])["mode"].subsets
    {('shop',): 500, ('bank',): 500, ('shop', 'bank'): 500}
    """
    column, start = array_of(keys), 0
    batches = reports.to_batches(max_chunksize=BATCH_ROWS) if isinstance(reports, pa.Table) else list(reports)
    if len(column) != (rows := sum(batch.num_rows for batch in batches)):
        raise TallyError(f"service {name!r}: need one key per report, not {len(column):,} for {rows:,}")
    parts = []
    for batch in batches:
        parts.append((batch, column.slice(start, batch.num_rows), Counter[Rejection]()))
        start += batch.num_rows
    return _keyed(name, f"service {name!r}", survey, parts, questions)


def _keyed(
    name: str,
    where: str,
    survey: Survey,
    batches: Iterable[Keys],
    questions: Sequence[str],
    progress: Progress | None = None,
) -> Keyed:
    wanted = [question for question in survey.questions if not questions or question.name in questions]
    if not wanted:
        known = [question.name for question in survey.questions]
        raise TallyError(f"{where}: {unknown('question', questions[0], known, 'its survey')}")
    keys: list[pa.Array] = []
    parts: dict[str, list[BatchAnswers]] = {question.name: [] for question in wanted}
    rejected: Counter[Rejection] = Counter()
    rows = 0
    for batch, key_column, lost in batches:
        try:
            answers, reasons = read_answers(survey, batch)
        except ReportError as error:
            raise ReportError(f"{where}: {error}") from None
        rejected.update(reasons)
        rejected.update(lost)
        keys.append(key_column)
        for question in wanted:
            parts[question.name].append(_narrow(answers[question.name]))
        rows += batch.num_rows
        if progress is not None:
            progress(rows)
    if rows and rejected[Rejection.WRONG_SURVEY] == rows:
        raise ReportError(f"{where}: none of the {rows:,} reports is of the survey {survey.title!r}")
    return Keyed(
        name,
        _joined_keys(where, keys),
        {question.name: _coded(name, survey, question, parts.pop(question.name)) for question in wanted},
        {reason: count for reason, count in rejected.items() if count},
    )


def _narrow(answers: BatchAnswers) -> BatchAnswers:
    """Keep the integers of a batch in four bytes where they fit."""
    outputs = answers.outputs
    if 0 in outputs and len(outputs[0]) and outputs[0].dtype.itemsize > 4:
        kept = np.where(answers.level >= 0, outputs[0], 0)
        outputs = {**outputs, 0: kept.astype(np.uint32) if int(kept.max()) < 1 << 32 else kept}
    return BatchAnswers(answers.level.astype(np.int8) if answers.level.max(initial=0) < 128 else answers.level, outputs)


def _coded(name: str, survey: Survey, question: Question, parts: list[BatchAnswers]) -> Answers:
    level = np.concatenate([part.level for part in parts]) if parts else np.zeros(0, np.int8)
    forms = parts[0].outputs if parts else {}
    outputs = {width: np.concatenate([part.outputs[width] for part in parts]) for width in forms}
    parts.clear()
    asked, bounds = asked_of(question)
    names = [own.name for own in question.levels]
    codes, layout = code_answers(name, names, question.channels, survey.level_channel, level, outputs)
    return Answers(name, question.channels[0], bounds, asked, codes, layout)


def _survey_batches(path: str, key: str, survey: Survey) -> Iterator[Keys]:
    """Yield batches of reports, their keys, and the reports of JSON lines that were rejected on reading."""
    wanted = schema(survey).names
    if key in wanted:
        raise TallyError(f"--key must name the column that the service added, not {key!r}, which every report has")
    if path.endswith(TEXTS):
        yield from _json_batches(path, key, survey)
        return
    if path.endswith(TABLES):
        texts = [each.name for each in schema(survey) if not pa.types.is_integer(each.type)]
        table = _from_text(path, survey, _read_table(path, texts=texts))
        _require_columns(path, table.column_names, key)
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            yield batch, batch.column(batch.schema.get_field_index(key)), Counter()
        return
    for file in parquet_files(path):
        _require_columns(path, _parquet_names(file), key)
        for batch in read_row_groups(file, [*wanted, key]):
            yield batch, batch.column(batch.schema.get_field_index(key)), Counter()


def _json_batches(path: str, key: str, survey: Survey) -> Iterator[tuple[pa.RecordBatch, pa.Array, Counter[Rejection]]]:
    keys: list[Any] = []
    reports: list[Any] = []
    lost: Counter[Rejection] = Counter()
    for line in _lines(path):
        try:
            entry = json.loads(line)
            person = entry.pop(key, None) if isinstance(entry, dict) else None
            reports.append(read_report(survey, entry))
            keys.append(person)
        except (ValueError, RecursionError) as error:
            lost[error.reason if isinstance(error, ReportRejected) else Rejection.MALFORMED] += 1
        if len(reports) == BATCH_ROWS:
            yield to_batch(survey, reports), _keys_of(path, keys), lost
            keys, reports, lost = [], [], Counter()
    yield to_batch(survey, reports), _keys_of(path, keys), lost


def _keys_of(path: str, keys: list[Any]) -> pa.Array:
    try:
        return pa.array(keys)
    except (pa.ArrowException, TypeError):
        raise TallyError(f"{path}: keys must be all integers or all text; some are of another type") from None


def _lines(path: str) -> Iterator[bytes]:
    try:
        with Path(path).open("rb") as file:
            yield from (line for line in file if line.strip())
    except FileNotFoundError:
        raise ReportError(f"{path}: there is no such file") from None


def _read_table(path: str, columns: Sequence[str] | None = None, texts: Sequence[str] = ()) -> pa.Table:
    """Read a whole table of text, or the columns of a Parquet file that it has."""
    try:
        if path.endswith(TEXTS):
            return pa.json.read_json(path)
        if path.endswith(TABLES):
            options = pa.csv.ParseOptions(delimiter="\t" if path.endswith(".tsv") else ",")
            # Hexadecimal text may look like a number, and a level may be called 1.
            types = pa.csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()), strings_can_be_null=True)
            return pa.csv.read_csv(path, parse_options=options, convert_options=types)
        has = _parquet_names(path)
        return pq.read_table(path, columns=None if columns is None else [name for name in columns if name in has])
    except FileNotFoundError:
        raise ReportError(f"{path}: there is no such file") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: cannot be read as a table ({(str(error).splitlines() or [''])[0][:120]})") from None


def _from_text(path: str, survey: Survey, table: pa.Table) -> pa.Table:
    """Return a table of text with the types that reports have: ids and bits are hexadecimal, levels are text."""
    for each in schema(survey):
        place = table.schema.get_field_index(each.name)
        if place < 0:
            continue
        column = table.column(place)
        if pa.types.is_binary(each.type) or pa.types.is_fixed_size_binary(each.type):
            column = pa.chunked_array([_from_hex(path, each.name, column)])
        elif not pa.types.is_integer(each.type):
            column = column.cast(pa.string())
        elif pa.types.is_null(column.type):
            column = pa.nulls(len(column), each.type)
        table = table.set_column(place, each.name, column)
    return table


def _from_hex(path: str, name: str, column: pa.ChunkedArray) -> pa.Array:
    try:
        found = [None if text is None else bytes.fromhex(text) for text in column.to_pylist()]
    except (TypeError, ValueError):
        raise ReportError(f"{path}: column {name} must hold hexadecimal text") from None
    return pa.array(found, pa.binary())


def _parquet_names(path: str | Path) -> list[str]:
    try:
        return list(pq.read_schema(parquet_files(path)[0]).names)
    except FileNotFoundError:
        raise ReportError(f"{path}: there is no such file") from None
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(str(path), str(error)) from None


def _require_columns(path: str, names: Sequence[str], key: str) -> None:
    if key not in names:
        raise TallyError(f"{path}: there is no column {key!r} for the key of a person; it has: {listed(names)}")


def _joined_keys(path: str, parts: Sequence[pa.Array]) -> pa.Array:
    """Return the keys as one array of integers or text; refuse other types."""
    if not parts:
        return pa.array([], pa.int64())
    kinds = {str(part.type) for part in parts if not pa.types.is_null(part.type)}
    if len(kinds) > 1:
        raise TallyError(f"{path}: keys must be of one type, not {' and '.join(sorted(kinds))}")
    column = pa.chunked_array([part for part in parts if not pa.types.is_null(part.type)] or parts[:1])
    column = array_of(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_integer(kind):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise TallyError(f"{path}: keys must be integers below 2^63, or text") from None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string()) if pa.types.is_large_string(kind) else column
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary(kind) or pa.types.is_null(kind):
        return column
    raise TallyError(f"{path}: keys must be integers or text, not {kind}")


def service_name(path: str) -> str:
    """Return the name of a service: that of its file without ending."""
    return Path(path).name.split(".")[0] or str(path)


def survey_of(path: str) -> Survey | None:
    """Return the survey that a Parquet file carries, if it does."""
    if path.endswith((*TEXTS, *TABLES)):
        return None
    try:
        return survey_of_parquet(path)
    except UnreadableError:
        raise
    except ReportError as error:
        if "there is no" in str(error) or isinstance(error.__cause__, SurveyError):
            raise
        return None


class Plain(NamedTuple):
    """What a plain table of keys and outputs holds: the channels for each mechanism and ε are made by `build`."""

    asked: Asked
    bounds: Bounds
    build: Callable[[str, str], Channel]
    mechanism: str | None = None
    epsilon: str | None = None


def read_plain_file(path: str, key: str, plain: Plain) -> Keyed:
    """Read keys and outputs; mechanism and ε are columns of the file, or the same for all of it."""
    table = _read_table(path, [key, "output", "mechanism", "epsilon"])
    _require_columns(path, table.column_names, key)
    if "output" not in table.column_names:
        raise TallyError(f"{path}: there is no column 'output'; it has: {listed(table.column_names)}")
    name, pairs, place = service_name(path), *_stated(path, table, plain)
    channels = [plain.build(mechanism, epsilon) for mechanism, epsilon in pairs]
    levels = tuple(f"{mechanism} {epsilon}" for mechanism, epsilon in pairs)
    keys = _joined_keys(path, table[key].chunks)
    shared: dict[str, Any] = {"bounds": plain.bounds, "asked": plain.asked}
    if pa.types.is_floating(table["output"].type) and len(channels) == 1:
        numbers = table["output"].to_numpy()
        service = replace(Service.of_numbers(name, channels[0], keys, numbers), **shared)
    elif len(channels) == 1:
        service = Service(name, channels[0], keys, _outputs(table["output"]), **shared)
    else:
        more: dict[str, Any] = {"level": np.array(levels)[place], "levels": levels, "channels": tuple(channels)}
        service = Service(name, channels[0], keys, _outputs(table["output"]), **shared, **more)
    return Keyed(name, keys, {plain.asked.name: _plain_answers(path, service)}, {})


def _outputs(column: pa.ChunkedArray) -> pa.Array:
    """Return outputs as integers or rows; hexadecimal text is rows of bits."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _from_hex("outputs", "output", column)
    return array_of(column)


def _stated(path: str, table: pa.Table, plain: Plain) -> tuple[list[tuple[str, str]], npt.NDArray[np.intp]]:
    """Return the distinct pairs of mechanism and ε, and which of them each row has."""
    codes, known = [], []
    for column, given in (("mechanism", plain.mechanism), ("epsilon", plain.epsilon)):
        if column in table.column_names:
            if given is not None:
                raise TallyError(f"{path}: has a column {column}, so --{column} must not be given")
            encoded = array_of(table[column].dictionary_encode())
            if encoded.null_count or encoded.dictionary.null_count:
                raise TallyError(f"{path}: {encoded.null_count:,} of {len(encoded):,} rows have no {column}")
            codes.append(np.asarray(encoded.indices, np.int64))
            known.append([str(each) for each in encoded.dictionary.to_pylist()])
        elif given is None:
            raise TallyError(f"{path}: is a plain table without a column {column}: give --{column}, or --survey")
        else:
            codes.append(np.zeros(table.num_rows, np.int64))
            known.append([given])
    found, place = np.unique(codes[0] * len(known[1]) + codes[1], return_inverse=True)
    pairs = [(known[0][code // len(known[1])], known[1][code % len(known[1])]) for code in found.tolist()]
    return pairs or [(known[0][0], known[1][0])], place


def _plain_answers(path: str, service: Service) -> Answers:
    """Number the outputs of a plain table; refuse those that are missing or that no channel makes."""
    _, codes, layout = code_service(service)
    if not (pa.types.is_integer(codes.type) or pa.types.is_null(codes.type)):
        raise TallyError(f"{path}: outputs must be integers, or rows of bits as bytes or hexadecimal, not {codes.type}")
    numbers = np.asarray(pc.fill_null(codes.cast(pa.int64()), -1))
    impossible = int(((numbers < 0) | (numbers >= layout.count)).sum()) - codes.null_count
    if codes.null_count or impossible:
        some = f"{codes.null_count:,} are missing and {impossible:,} impossible of {len(numbers):,}"
        raise TallyError(f"{path}: every output must be one that {service.channel.mechanism} makes; {some}")
    return Answers(service.name, service.channel, service.bounds, service.asked, numbers.astype(np.int32), layout)


def join_services(services: Sequence[Keyed]) -> dict[str, Fused]:
    """Join services by their keys, question by question; each question by those that ask it."""
    if len({service.name for service in services}) < len(services):
        twice = [name for name, count in Counter(service.name for service in services).items() if count > 1]
        raise TallyError(f"services must have different names, which are those of their files; {twice[0]!r} came twice")
    questions = list(dict.fromkeys(name for service in services for name in service.answers))
    for name in questions:
        check_services([service.answers[name] for service in services if name in service.answers])
    require_one_type([service.keys.type for service in services])
    for service in services:
        if service.keys.null_count:
            some = f"{service.keys.null_count:,} of {len(service.keys):,} have none"
            raise TallyError(f"service {service.name!r}: every report must have a key; {some}")
    places, people = number_keys([service.keys for service in services])
    fused = {}
    for name in questions:
        columns, answers = [], []
        for service, place in zip(services, places, strict=True):
            if name in service.answers:
                answers.append(service.answers[name])
                columns.append(_column(place, answers[-1].codes))
        design = Design(tuple(each.layout for each in answers), answers[0].bounds, "refuse", answers[0].asked)
        fused[name] = design.finish(design.join(columns, people))
    return fused


def _column(place: npt.NDArray[Any], codes: CellArray) -> tuple[npt.NDArray[Any], CellArray, Seen]:
    here = codes >= 0
    if not here.all():
        place, codes = place[here], codes[here]
    return place, codes, Seen(reports=len(codes), kept=len(codes))
