"""The tables of a store, as the steps that make them. A step is never changed once it was released.

Several collectors may use one store while they are updated one after the other. A step therefore says which is the
oldest program that can still work with the tables it leaves: one that adds what older programs need not know leaves
them running.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from pldp.collector.database import Connection
from pldp.errors import StoreError

FIRST: Final = 6  # version that the first step makes; versions before it were made by previews of this program
_SAYS_OLDEST: Final = 8  # the first version whose table of versions names the oldest program


class Migration(NamedTuple):
    """Statements, and the version of the oldest program that can work with what they leave."""

    statements: str
    oldest: int


_MADE: Final = (
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
    """
    ALTER TABLE version ADD COLUMN oldest INTEGER NOT NULL DEFAULT 0; -- version of the oldest program that can go on
    ALTER TABLE rounds ADD COLUMN closed_day TEXT; -- in UTC: 2026-11-16
    UPDATE rounds SET closed_day = CAST(CURRENT_DATE AS TEXT) WHERE closed = 1;
    ALTER TABLE rounds ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0; -- 1: by decision, 2: no row is left
    CREATE TABLE head ( -- one row, written by several collectors in turn: what they count together
        changes INTEGER NOT NULL, -- transactions that changed the log, rounds or rejections
        erased INTEGER NOT NULL, -- changes of blocks that were there before
        charged INTEGER NOT NULL -- charges that were tried since the ledger was mixed
    );
    INSERT INTO head VALUES (0, 0, 0);
    CREATE TABLE tallies ( -- what readers may see of rounds, as one of several collectors or retention saved it
        round INTEGER PRIMARY KEY,
        changes INTEGER NOT NULL, -- of the head, when it was counted
        facts TEXT NOT NULL, -- JSON: the number of reports, and damaged blocks that were left out
        digest BLOB NOT NULL,
        content BLOB NOT NULL
    )
    """,
    """
    -- seconds since 1970 at the first look that found the reports of a round due to be deleted
    ALTER TABLE rounds ADD COLUMN due_since INTEGER
    """,
)
MIGRATIONS: Final = tuple(Migration(statements, oldest) for statements, oldest in zip(_MADE, (6, 7, 8, 8), strict=True))


def migrate(connection: Connection, exists: str, spell: Callable[[str], str] = str, begin: str = "BEGIN") -> None:
    """Bring the tables to the newest form, each step whole or not at all.

    `exists` counts the tables of versions, `begin` opens a transaction that no other program's migration shares, and
    `spell` writes a statement in the database's words.
    """
    while (number := _next_step(connection, exists)) is not None:
        connection.execute(begin)
        if _next_step(connection, exists) == number:  # otherwise another program was faster
            if number == FIRST:
                connection.execute(spell("CREATE TABLE IF NOT EXISTS version (number INTEGER NOT NULL)"))
            step = MIGRATIONS[number - FIRST]
            for statement in step.statements.split(";"):
                connection.execute(spell(statement))
            if number < _SAYS_OLDEST:
                connection.execute("INSERT INTO version (number) VALUES (?)", (number,))
            else:
                connection.execute("INSERT INTO version (number, oldest) VALUES (?, ?)", (number, step.oldest))
        connection.execute("COMMIT")


def newest() -> int:
    """Return the version that this program makes."""
    return FIRST + len(MIGRATIONS) - 1


def _next_step(connection: Connection, exists: str) -> int | None:
    """Return the version that has to be made next, if any; refuse tables that this program cannot work with."""
    ((found,),) = connection.execute(exists)
    if not found:
        return FIRST
    ((version,),) = connection.execute("SELECT coalesce(max(number), 0) FROM version")
    if version > newest():
        ((oldest,),) = connection.execute("SELECT max(oldest) FROM version")
        if oldest > newest():
            raise StoreError(f"the store has version {version}, newer than this program's {newest()}; update it")
    if 0 < version < FIRST:
        raise StoreError(f"the store has version {version}, of a preview of pldp; tally it with the pldp that made it")
    return max(FIRST, version + 1) if version < newest() else None
