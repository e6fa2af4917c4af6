"""Estimates as they leave the collector: JSON, CSV and Arrow."""

import csv
import io
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from pldp.collector.http import encode_json
from pldp.plain import plain

FORMATS: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
"""Ending and content type of each format."""

_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def encode(content: Mapping[str, Any], kind: str) -> bytes:
    """Write an estimate in one of the formats; CSV and Arrow have its rows."""
    if kind == "json":
        return encode_json(plain(content))
    rows = content["rows"]
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


def _cell(cell: object) -> object:
    """Keep spreadsheets from running a label as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip().startswith(_FORMULA) else cell
