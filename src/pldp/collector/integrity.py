"""Whether a store is what was written to it: what is damaged is named, and nothing is changed."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pldp.collector.database import Connection, Database, stored_survey
from pldp.collector.log_reader import digest
from pldp.collector.packing import ID_BYTES, Packing
from pldp.collector.report_log import is_deleted
from pldp.errors import PldpError, StoreError
from pldp.survey import Survey, loads


def find_damage(database: Database, reader: Connection) -> list[str]:
    """Return what is damaged in a store, one line each; none if it is whole."""
    reader.execute(database.begin_read)
    try:
        packing = Packing(_survey(reader))
    except (PldpError, UnicodeDecodeError) as error:
        return [f"the survey cannot be read ({error})"]
    return [*_reports(database, reader, packing), *_index(database, reader)]


def _survey(reader: Connection) -> Survey:
    found = stored_survey(reader)
    if found is None:
        raise StoreError("there is none")
    return loads(found.decode())


def _reports(database: Database, reader: Connection, packing: Packing) -> Iterator[str]:
    """Check every block and group of the tail, and that they hold the reports that their rounds received."""
    found, lost = Counter[int](), set[int]()
    for first, of_round, count in reader.execute("SELECT first, round, count FROM blocks ORDER BY first").fetchall():
        found[of_round] += count
        row = _read(database, reader, "SELECT digest, ids, rows FROM blocks WHERE first = ?", first)
        if row is None or not _is_whole(packing, count, row[0], digest(first, of_round, *row[1:]), *row[1:]):
            lost.add(of_round)
            yield f"round {of_round}: reports {first:,} to {first + count - 1:,} are damaged and count no more"
    for place, of_round in reader.execute("SELECT place, round FROM tail ORDER BY place").fetchall():
        row = _read(database, reader, "SELECT digest, ids, rows FROM tail WHERE place = ?", place)
        count = len(row[1]) // ID_BYTES if row else 0
        found[of_round] += count
        if row is None or not _is_whole(packing, count, row[0], digest(of_round, *row[1:]), *row[1:]):
            lost.add(of_round)
            yield f"round {of_round}: some of the latest reports are damaged and count no more"
    for number, received in reader.execute("SELECT number, received FROM rounds ORDER BY number").fetchall():
        if found[number] != received and number not in lost:
            yield f"round {number}: {found[number]:,} reports are there, {received:,} were received"


def _index(database: Database, reader: Connection) -> Iterator[str]:
    for (first,) in reader.execute("SELECT first FROM seen ORDER BY first").fetchall():
        row = _read(database, reader, "SELECT digest, keys FROM seen WHERE first = ?", first)
        if row is None or digest(first, row[1]) != row[0]:
            yield f"the index from report {first:,} on is damaged; the next start makes it again"


def _is_whole(packing: Packing, count: int, checksum: bytes, expected: bytes, ids: bytes, rows: bytes) -> bool:
    if checksum != expected or len(ids) != count * ID_BYTES:
        return False
    return len(rows) == count * packing.width or is_deleted(ids, rows)


def _read(database: Database, reader: Connection, statement: str, key: int) -> Any:
    try:
        with database.translate_errors():
            found = reader.execute(statement, (key,)).fetchone()
    except StoreError:
        return None
    return found if all(isinstance(each, bytes | memoryview) for each in found) else None
