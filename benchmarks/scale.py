"""Tallies of Parquet reports by the local kernel and by DuckDB in place: CPU time of all threads, and memory.

The reports are written once and not part of the times. Both sides compare the checksums of all pages; each starts in a
fresh process and counts twice, and the better time is kept. Both tallies must be the same.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.measure import Clock, Context, Row, memory_text, serve
from benchmarks.spark import checksum, memory_of, survey_of, write
from pldp.survey import Survey
from pldp.tallies import Tally, tally

TITLE = "Tallies of Parquet reports by the local kernel and by DuckDB"

MODULE = "benchmarks.scale"


def _measured(count: Callable[[Survey, str], Tally], folder: str, survey: Survey, reports: int) -> dict[str, Any]:
    clock = Clock()
    counted = clock.time(lambda: count(survey, folder), repeats=2)
    assert counted.reports == reports
    return clock.result(reports, resident=memory_of(os.getpid()), sums=checksum(counted))


def local(folder: str, mechanism: str, size: int, reports: int) -> dict[str, Any]:
    """Count them with the local kernel."""
    return _measured(tally, folder, survey_of(mechanism, size), reports)


def duckdb(folder: str, mechanism: str, size: int, reports: int) -> dict[str, Any]:
    """Count them with DuckDB."""
    from pldp.tallies.sql.files import tally_files  # noqa: PLC0415 - only this case needs it

    return _measured(lambda survey, path: tally_files(survey, [path]), folder, survey_of(mechanism, size), reports)


def run(context: Context) -> Iterator[list[Row]]:
    """Yield a row per mechanism."""
    for mechanism, size, reports in (
        ("krr", 128, context.people(100_000_000)),
        ("oue", 1024, context.people(10_000_000)),
    ):
        folder = context.folder / f"{mechanism}{reports}"
        what = {"folder": str(folder), "mechanism": mechanism, "size": size, "reports": reports}
        written = context.ours("benchmarks.spark", "write", **what)
        here, there = (context.ours(MODULE, case, **what) for case in ("local", "duckdb"))
        shutil.rmtree(folder)
        assert here["sums"] == there["sums"]
        yield [_row(what, written, here, there)]


def _row(what: dict[str, Any], written: Any, here: Any, there: Any) -> Row:
    own, other = min(here["seconds"]), min(there["seconds"])
    judged = what["mechanism"] == "krr"
    return Row(
        what=f"{what['reports']:,} reports, {what['mechanism']}, k = {what['size']:,}, {written['bytes'] / 1e9:.2g} GB",
        ours=f"DuckDB {other:.2f} CPU s; local {own:.2f} CPU s",
        ratio=other / own,
        target="DuckDB ≤ local" if judged else "shown",
        met=other <= own if judged else None,
        memory=f"DuckDB {memory_text(there['resident'])}, local {memory_text(here['resident'])}",
        raw={"written": written, "local": here, "duckdb": there},
    )


if __name__ == "__main__":
    serve({"write": write, "local": local, "duckdb": duckdb})
