"""The tables of the SQLite store, as the steps that make them. A step is never changed once it was released."""

from __future__ import annotations

import sqlite3
from typing import Final

from pldp.errors import StoreError

MIGRATIONS: Final = (
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE rounds (
        number INTEGER PRIMARY KEY,
        received INTEGER NOT NULL DEFAULT 0,
        withdrawn INTEGER NOT NULL DEFAULT 0,
        tally BLOB -- set when the round is closed
    );
    CREATE TABLE chunks ( -- reports number first, first + 1, ...; ids and rows one after the other
        first INTEGER PRIMARY KEY, round INTEGER NOT NULL, count INTEGER NOT NULL, ids BLOB NOT NULL, rows BLOB NOT NULL
    );
    CREATE TABLE rejections (
        round INTEGER NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (round, reason)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE tokens (
        name TEXT PRIMARY KEY, scope TEXT NOT NULL, hash BLOB NOT NULL, previous BLOB -- SHA-256, never the token
    ) WITHOUT ROWID;
    """,
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables to the newest form, each step whole or not at all."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise StoreError(f"the store has version {version}, newer than this program's {len(MIGRATIONS)}")
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {number}; COMMIT;")
