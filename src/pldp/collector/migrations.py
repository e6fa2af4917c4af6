"""The tables of a store, as the steps that make them. A step is never changed once it was released."""

from collections.abc import Callable
from typing import Final

from pldp.collector.database import Connection
from pldp.errors import StoreError

FIRST: Final = 6  # version that the first step makes; versions before it were made by previews of this program
MIGRATIONS: Final = (
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
    CREATE TABLE rounds (
        number INTEGER PRIMARY KEY,
        received INTEGER NOT NULL DEFAULT 0,
        withdrawn INTEGER NOT NULL DEFAULT 0,
        closed INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE blocks ( -- reports number first, first + 1, and so on in the order of their ids, one after the other
        first INTEGER PRIMARY KEY,
        round INTEGER NOT NULL,
        count INTEGER NOT NULL,
        touched INTEGER NOT NULL, -- withdrawals from all rounds when one of these reports was withdrawn, otherwise 0
        digest BLOB NOT NULL,
        ids BLOB NOT NULL,
        rows BLOB NOT NULL
    );
    CREATE INDEX touched_blocks ON blocks (touched) WHERE touched > 0;
    CREATE TABLE tail ( -- the latest reports in groups as they came, until they are enough for blocks
        place INTEGER PRIMARY KEY, round INTEGER NOT NULL, digest BLOB NOT NULL, ids BLOB NOT NULL, rows BLOB NOT NULL
    );
    CREATE TABLE seen ( -- where to find the ids of reports number first, first + 1, and so on: a block of the index
        first INTEGER PRIMARY KEY, digest BLOB NOT NULL, keys BLOB NOT NULL
    );
    CREATE TABLE rejections (
        round INTEGER NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (round, reason)
    );
    CREATE TABLE tokens (
        name TEXT PRIMARY KEY, scope TEXT NOT NULL, hash BLOB NOT NULL, previous BLOB -- SHA-256, never the token
    );
    CREATE INDEX tokens_by_hash ON tokens (hash);
    CREATE INDEX tokens_by_previous ON tokens (previous);
    CREATE TABLE ledger ( -- micro-epsilon of enrolled people, who stay when their tokens end: nobody starts afresh
        name TEXT PRIMARY KEY, budget INTEGER NOT NULL, spent INTEGER NOT NULL DEFAULT 0
    )
    """,
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
    newest = FIRST + len(MIGRATIONS) - 1
    if version > newest:
        raise StoreError(f"the store has version {version}, newer than this program's {newest}")
    if 0 < version < FIRST:
        raise StoreError(f"the store has version {version}, of a preview of pldp; tally it with the pldp that made it")
    done = max(0, version - FIRST + 1)
    for number, step in enumerate(MIGRATIONS[done:], start=FIRST + done):
        connection.execute("BEGIN")
        for statement in step.split(";"):
            connection.execute(spell(statement))
        connection.execute("INSERT INTO version VALUES (?)", (number,))
        connection.execute("COMMIT")
