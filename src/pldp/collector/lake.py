"""Export to a data lake: Parquet files that are functions of what is stored, so that any run can be repeated.

A file has the reports of one round whose blocks begin within `PART_REPORTS` consecutive numbers, in the order of their
ids. It is written anew when blocks are added to it and when a report in it is withdrawn. The latest reports, which are
not in blocks yet, follow once they are.
"""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pldp.collector.database import Connection, Database, open_database, stored_survey
from pldp.collector.log_reader import LogReader
from pldp.collector.packing import ID_BYTES, Packing
from pldp.collector.rounds import round_state
from pldp.errors import StoreError
from pldp.files import atomic_write
from pldp.reports.columns import read_parquet, schema, write_parquet
from pldp.survey import loads

PART_REPORTS: Final = 65536
STATE: Final = "_pldp_export.json"  # names that begin like this are no data to programs that read Parquet folders
_PARTS: Final = (
    "SELECT round, first / 65536, max(first + count), max(touched) FROM blocks "
    "GROUP BY round, first / 65536 ORDER BY 1, 2"
)


class Part(NamedTuple):
    """A file of an export: round and place, and what its content depends on."""

    round: int
    place: int
    end: int  # number after its last report
    touched: int  # the latest withdrawal from it

    @property
    def path(self) -> str:
        """Where it lies in the folder; engines read the round from its name."""
        return f"round={self.round}/part-{self.place:06}.parquet"


class Exported(NamedTuple):
    """What one run did: files written, reports in them, and what could not be written, one line each."""

    files: int
    reports: int
    missing: list[str]


class Lake:
    """Exports the store at an address or path to a folder; the store may be in use."""

    def __init__(self, where: str | Path | Database, folder: str | Path) -> None:
        self._database = open_database(where)
        self._folder = Path(folder)
        self._log = LogReader(self._database.translate_errors)

    def export(self) -> Exported:
        """Write the files whose content has changed since the last run."""
        with self._snapshot() as reader:
            survey = stored_survey(reader)
            if survey is None:
                raise StoreError("the store holds no survey yet, so it has no reports")
            parts = [Part(*row) for row in reader.execute(_PARTS).fetchall()]
        packing = Packing(loads(survey.decode()))
        state = self._read_state(packing.survey.hash)
        written, reports, missing = 0, 0, []
        for part in parts:
            path = self._folder / part.path
            if state.get(part.path) == [part.end, part.touched] and path.is_file():
                continue
            part, table = self._read(part, packing)  # noqa: PLW2901 - as it is by now
            if table is None:
                missing.append(f"{part.path}: the single reports of round {part.round} were deleted before the export")
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            missing += [
                f"{part.path}: reports {first:,} to {first + count - 1:,} are damaged and left out"
                for first, count in sorted(self._log.damaged.items())
            ]
            self._log.damaged.clear()
            reports += write_parquet(path, packing.survey, table.to_batches())
            state[part.path] = [part.end, part.touched]
            self._write_state(packing.survey.hash, state)
            written += 1
        return Exported(written, reports, missing)

    def _read(self, part: Part, packing: Packing) -> tuple[Part, pa.Table | None]:
        """Return a part as it is now, with its reports in the order of their ids."""
        start, end = part.place * PART_REPORTS, (part.place + 1) * PART_REPORTS
        where = "FROM blocks WHERE round = ? AND first >= ? AND first < ?"
        with self._snapshot() as reader:
            ((last, touched),) = reader.execute(
                f"SELECT max(first + count), max(touched) {where}", (part.round, start, end)
            ).fetchall()
            deleted = round_state(reader, part.round).deleted
            if deleted:
                found = reader.execute(f"SELECT ids, rows {where}", (part.round, start, end)).fetchall()
                table = self._still_there(part, packing, found)
            else:
                blocks = self._log.blocks(reader, part.round, start, end)
                batches = [packing.batch(block.ids, block.rows) for block in blocks]
                table = pa.Table.from_batches(batches, schema(packing.survey)).sort_by("id")
        return Part(part.round, part.place, last, touched), table

    def _still_there(self, part: Part, packing: Packing, blocks: list[Any]) -> pa.Table | None:
        """Return an earlier export without what was withdrawn before the store deleted the rest; `None`: there is none.

        A block whose rows are being deleted has whole rows; those of withdrawn reports are zeros in either form.
        """
        path = self._folder / part.path
        if not path.is_file():
            return None
        live = []
        for ids, rows in blocks:
            width = len(rows) * ID_BYTES // len(ids)
            live += [
                bytes(ids[place * ID_BYTES : (place + 1) * ID_BYTES])
                for place in range(len(ids) // ID_BYTES)
                if any(rows[place * width : (place + 1) * width])
            ]
        table = _as_written(list(read_parquet(path)), schema(packing.survey))
        wanted = pa.array(live, pa.binary(ID_BYTES))
        return table.filter(pc.is_in(table["id"], value_set=wanted))

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Read one state of the store over a connection of its own."""
        with self._database.translate_errors(), closing(self._database.connect()) as reader:
            reader.execute(self._database.begin_read)
            yield reader

    def _read_state(self, survey: str) -> dict[str, list[int]]:
        path = self._folder / STATE
        if not path.is_file():
            return {}
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            found, parts = kept["survey"], dict(kept["parts"])
        except (ValueError, KeyError, TypeError):
            return {}  # everything is written again
        if found != survey:
            raise StoreError(f"{self._folder}: holds reports of another survey; choose another folder")
        return parts

    def _write_state(self, survey: str, parts: dict[str, list[int]]) -> None:
        with atomic_write(self._folder / STATE) as file:
            file.write(json.dumps({"survey": survey, "parts": parts}, indent=1).encode())


def _as_written(batches: list[pa.RecordBatch], wanted: pa.Schema) -> pa.Table:
    """Return the columns of a file as they were written: some versions of Arrow read wider indices of dictionaries."""
    if not batches:
        return wanted.empty_table()
    table, columns = pa.Table.from_batches(batches).unify_dictionaries(), []
    for field in wanted:
        column = table[field.name]
        if column.type != field.type:
            whole = column.combine_chunks()
            column = pa.DictionaryArray.from_arrays(whole.indices.cast(field.type.index_type), whole.dictionary)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=wanted)
