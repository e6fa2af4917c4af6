"""What leaves the collector, and how: estimates as JSON, CSV and Arrow, counters as Prometheus reads them."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec
import pyarrow as pa

from pldp.collector.http import Problem, ProblemError, Request, encode_json
from pldp.collector.rounds import Round
from pldp.plain import plain
from pldp.reports import Rejection
from pldp.show import card

FORMATS: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "html": "text/html; charset=utf-8",
}
"""Ending and content type of each format."""

METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"  # content type of the counters
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


class Accepted(msgspec.Struct, tag_field="outcome", tag="accepted", gc=False):
    """A report that is stored."""

    id: str


class Rejected(msgspec.Struct, tag_field="outcome", tag="rejected", gc=False):
    """A report that is not."""

    code: Rejection


class Batch(msgspec.Struct, gc=False):
    """The outcomes of a batch, in its order."""

    accepted: int
    outcomes: list[Accepted | Rejected]


def wanted(request: Request, names: Collection[str], kinds: Collection[str] = tuple(FORMATS)) -> tuple[str, str]:
    """Return the question that a request is about and its format: by the ending, otherwise by the header `Accept`."""
    asked = request.parameter
    if asked in names:
        accepted = request.headers.get(b"accept", b"*/*").decode("latin-1")
        offered = {kind: FORMATS[kind] for kind in kinds}
        for kind, media in offered.items():
            if any(words in accepted for words in (media.partition(";")[0], "*/*")):
                return asked, kind
        raise ProblemError(Problem.NOT_ACCEPTABLE, f"on offer: {', '.join(offered.values())}")
    name, _, ending = asked.rpartition(".")
    if name in names and ending in kinds:
        return name, ending
    raise ProblemError(Problem.NOT_FOUND, "the survey has no such question")


def encode(content: Mapping[str, Any], kind: str) -> bytes:
    """Write an estimate in one of the formats; CSV and Arrow have its rows, HTML is its card."""
    if kind == "json":
        return encode_json(plain(content))
    if kind == "html":
        return card(plain(content)).encode()
    # All rows of a file have the same columns, at every look; intervals show by themselves which ones say nothing.
    rows = [{name: cell for name, cell in row.items() if name != "too_few"} for row in content["rows"]]
    if kind == "csv":
        text = io.StringIO()
        # Text is quoted, so that a spreadsheet with other separators cannot split a label.
        writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(map(_cell, rows[0] if rows else []))
        writer.writerows(map(_cell, row.values()) for row in rows)
        return text.getvalue().encode()
    table = pa.Table.from_pylist(rows).replace_schema_metadata({b"pldp.survey_hash": content["survey"]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def archive(questions: Iterable[Mapping[str, Any]], missing: Mapping[str, str], overview: bytes) -> bytes:
    """Return everything in one ZIP: the overview, every question as JSON, CSV and Arrow, and why others have none."""
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as files:
        files.writestr("overview.json", overview)
        for place, content in enumerate(questions, 1):
            name = re.sub(r"[^\w.-]+", "_", content["name"])
            for ending in ("json", "csv", "arrow"):
                files.writestr(f"{place:02}-{name}.{ending}", encode(content, ending))
        if missing:
            files.writestr("missing.json", encode_json(missing))
    return packed.getvalue()


def _cell(cell: object) -> object:
    """Keep spreadsheets from running a label as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip().startswith(_FORMULA) else cell


def metrics(
    rounds: Sequence[Round], rejections: Mapping[Rejection, int], problems: Mapping[str, int], waiting: int
) -> bytes:
    """Return all counters as text; every reason of a rejection is there, also one that never came.

    >>> metrics([Round(1, True, 20, 3)], {}, {"too_slow": 2}, 0).decode().splitlines()[:2]
    ['# TYPE pldp_reports gauge', 'pldp_reports{round="1"} 20']
    """
    reasons = {f'reason="{reason}"': rejections.get(reason, 0) for reason in Rejection}
    lines = [
        *_samples("pldp_reports", "gauge", {f'round="{each.number}"': each.reports for each in rounds}),
        *_samples("pldp_withdrawn", "gauge", {f'round="{each.number}"': each.withdrawn for each in rounds}),
        *_samples("pldp_rejected_total", "counter", reasons),
        *_samples("pldp_problems_total", "counter", {f'code="{code}"': count for code, count in problems.items()}),
        *_samples("pldp_waiting_reports", "gauge", {"": waiting}),
    ]
    return "\n".join([*lines, ""]).encode()


def _samples(name: str, kind: str, samples: Mapping[str, int]) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"
