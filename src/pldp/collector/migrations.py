"""The tables of a store, as the steps that make them. A step is never changed once it was released."""

from collections.abc import Callable
from typing import Final

from pldp.collector.database import Connection
from pldp.errors import StoreError

MIGRATIONS: Final = (
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
    CREATE TABLE rounds (
        number INTEGER PRIMARY KEY,
        received INTEGER NOT NULL DEFAULT 0,
        withdrawn INTEGER NOT NULL DEFAULT 0,
        tally BLOB -- set when the round is closed
    );
    CREATE TABLE chunks ( -- reports number first, first + 1, and so on: ids and rows one after the other
        first INTEGER PRIMARY KEY, round INTEGER NOT NULL, count INTEGER NOT NULL, ids BLOB NOT NULL, rows BLOB NOT NULL
    );
    CREATE TABLE rejections (
        round INTEGER NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (round, reason)
    )
    """,
    """
    CREATE TABLE tokens (
        name TEXT PRIMARY KEY, scope TEXT NOT NULL, hash BLOB NOT NULL, previous BLOB -- SHA-256, never the token
    )
    """,
    """
    CREATE INDEX tokens_by_hash ON tokens (hash);
    CREATE INDEX tokens_by_previous ON tokens (previous);
    CREATE TABLE ledger ( -- micro-epsilon of enrolled people, who stay when their tokens end: nobody starts afresh
        name TEXT PRIMARY KEY, budget INTEGER NOT NULL, spent INTEGER NOT NULL DEFAULT 0
    )
    """,
    """
    CREATE TABLE seen ( -- where to find the ids of reports number first, first + 1, and so on: a block of the index
        first INTEGER PRIMARY KEY, keys BLOB NOT NULL
    )
    """,
    "UPDATE meta SET name = 'index_key' WHERE name = 'receipt_key'",
    """
    ALTER TABLE tokens ADD COLUMN made TEXT; -- days in UTC: 2026-11-16
    ALTER TABLE tokens ADD COLUMN expires TEXT; -- the last day on which it works
    ALTER TABLE tokens ADD COLUMN previous_expires TEXT;
    ALTER TABLE tokens ADD COLUMN used TEXT; -- never kept of tokens that upload
    CREATE TABLE acts (number INTEGER NOT NULL, hour TEXT NOT NULL, act TEXT NOT NULL, who TEXT NOT NULL)
    """,
)


def migrate(connection: Connection, spell: Callable[[str], str] = str) -> None:
    """Bring the tables to the newest form, each step whole or not at all; `spell` writes it in the database's words."""
    connection.execute(spell("CREATE TABLE IF NOT EXISTS version (number INTEGER NOT NULL)"))
    ((version,),) = connection.execute("SELECT coalesce(max(number), 0) FROM version")
    if version > len(MIGRATIONS):
        raise StoreError(f"the store has version {version}, newer than this program's {len(MIGRATIONS)}")
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.execute("BEGIN")
        for statement in step.split(";"):
            connection.execute(spell(statement))
        connection.execute("INSERT INTO version VALUES (?)", (number,))
        connection.execute("COMMIT")
