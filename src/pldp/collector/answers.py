"""Estimates as they leave the collector: JSON, CSV and Arrow."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from pldp.tallies import Tally, fused_of

FORMATS: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
"""Ending and content type of each format."""

FEWEST: Final = 5
"""Levels with fewer reports are not told apart from levels with none."""

CONFIDENCE: Final = 0.95
MIN_SUPPORT: Final = 0.1


def estimate(counted: Tally, question: str) -> dict[str, Any]:
    """Return the estimate of a question as plain data, with the survey's hash; small groups do not show their size."""
    # Loaded at the first estimate: it takes longer than all else that a collector needs to start.
    from pldp.estimates import baskets_of, density, frequencies, itemsets, mean  # noqa: PLC0415
    from pldp.estimates.number_mapping import number_mapping  # noqa: PLC0415

    head = {"survey": counted.survey.hash, "name": question}
    kind = counted.survey.question(question).kind
    if kind == "choices":
        return {**head, **itemsets(*baskets_of(counted, question), MIN_SUPPORT).to_mapping()}
    if kind == "number":
        fused = fused_of(counted, question)
        return {**head, **number_mapping(mean(fused), density(fused), CONFIDENCE)}
    content = frequencies(counted, question).to_mapping()
    for group in content["groups"]:
        if group["reports"] < FEWEST:
            group |= {"reports": None, "weight": None}
    return {**head, **content}


def encode(content: Mapping[str, Any], kind: str) -> bytes:
    """Write an estimate in one of the formats; CSV and Arrow have its rows."""
    if kind == "json":
        return json.dumps(plain(content), ensure_ascii=False).encode()
    rows = [_flat(row) for row in content["rows"]] if "rows" in content else _buckets(content["density"])
    if kind == "csv":
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(rows[0] if rows else [])
        writer.writerows([_cell(cell) for cell in row.values()] for row in rows)
        return text.getvalue().encode()
    table = pa.Table.from_pylist(rows).replace_schema_metadata({b"pldp.survey_hash": content["survey"]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def plain(content: Any) -> Any:
    """Return the same without numbers that JSON does not know: they become null."""
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _buckets(found: Mapping[str, Any]) -> list[dict[str, float]]:
    """Return the buckets of a density as rows."""
    columns = (found["edges"], found["edges"][1:], found["shares"], found["low"], found["high"])
    return [dict(zip(("from", "to", "share", "low", "high"), row, strict=True)) for row in zip(*columns, strict=False)]


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Write sets of labels as one text."""
    return {name: ", ".join(cell) if isinstance(cell, list | tuple) else cell for name, cell in row.items()}


def _cell(cell: object) -> object:
    """Keep spreadsheets from running a label as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
