"""Tokens of people who read, administer or upload: 256 random bits, kept as a hash, two live ones while rotating."""

import re
import secrets
import weakref
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final

from pldp.collector.database import Connection, Database, open_database
from pldp.collector.ledger import Account
from pldp.errors import UsageError

SCOPES: Final = ("read", "admin", "upload")
"""`read`: estimates and metrics. `upload`: reports, where these need a token. `admin`: rounds, and all the others."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CREATE: Final = "INSERT INTO tokens (name, scope, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"


class Tokens:
    """The tokens in a store (an SQLite file or a PostgreSQL address). They work at once, also while it is served.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> tokens = Tokens(pathlib.Path(folder.name) / "reports.db")
    >>> first = tokens.create("ana", "read")
    >>> second = tokens.rotate("ana")
    >>> tokens.scope(first), tokens.scope(second), tokens.scope("guess")
    ('read', 'read', None)
    >>> third = tokens.rotate("ana")
    >>> tokens.scope(first) is None
    True
    >>> folder.cleanup()
    """

    def __init__(self, where: str | Path | Database) -> None:
        self._database = open_database(where)
        self._reading = Lock()
        self._reader: Connection | None = None

    def create(self, name: str, scope: str) -> str:
        """Make a token; it is shown this once."""
        _check_name(name)
        if scope not in SCOPES:
            raise UsageError(f"scope must be one of {', '.join(SCOPES)}, not {scope[:40]!r}")
        token = secrets.token_urlsafe(32)
        if not self._write(_CREATE, (name, scope, token_hash(token))):
            raise UsageError(f"a token named {name!r} exists; rotate or revoke it")
        return token

    def enrol(self, names: Sequence[str], budget: int) -> list[str]:
        """Make a token of the scope `upload` for each person, all or none, with a budget in micro-ε for all reports.

        A person who was enrolled before and whose token was ended goes on with the old budget and what is spent of it.
        """
        for name in names:
            _check_name(name)
        if budget < 1:
            raise UsageError(f"budget must be above 0 micro-epsilon, not {budget}")
        made = [secrets.token_urlsafe(32) for _ in names]
        with self._database.translate_errors(), closing(self._database.connect()) as connection:
            connection.execute(self._database.begin_write)
            for name, token in zip(names, made, strict=True):
                if not connection.execute(_CREATE, (name, "upload", token_hash(token))).rowcount:
                    raise UsageError(f"a token named {name!r} exists, so nobody was enrolled; rotate or revoke it")
                enter = "INSERT INTO ledger (name, budget) VALUES (?, ?) ON CONFLICT DO NOTHING"
                connection.execute(enter, (name, budget))
            connection.execute("COMMIT")
        return made

    def rotate(self, name: str) -> str:
        """Make a new token of this name; the one before works until the next rotation."""
        token = secrets.token_urlsafe(32)
        if not self._write("UPDATE tokens SET previous = hash, hash = ? WHERE name = ?", (token_hash(token), name)):
            raise UsageError(f"there is no token named {name[:64]!r}")
        return token

    def revoke(self, name: str) -> None:
        """End a token and the one before."""
        if not self._write("DELETE FROM tokens WHERE name = ?", (name,)):
            raise UsageError(f"there is no token named {name[:64]!r}")

    def names(self) -> dict[str, str]:
        """Return the scope of each name."""
        with self._database.translate_errors(), closing(self._database.connect()) as connection:
            return dict(connection.execute("SELECT name, scope FROM tokens ORDER BY name"))

    def scope(self, token: str) -> str | None:
        """Return what a token allows, `None` if it is none. It is found by its hash, so time tells nothing about it."""
        found = self._find("SELECT scope FROM tokens WHERE hash = ? OR previous = ?", token)
        return None if found is None else str(found[0])

    def account(self, token: str) -> Account | None:
        """Return budget and spends of the person who holds a token, `None` if nobody is enrolled with it."""
        found = self._find(
            "SELECT budget, spent FROM ledger WHERE name = (SELECT name FROM tokens WHERE hash = ? OR previous = ?)",
            token,
        )
        return None if found is None else Account(*found)

    def _find(self, statement: str, token: str) -> Any:
        """Read one row with a connection that is kept, as this happens for every upload that needs a token."""
        with self._reading, self._database.translate_errors():
            if self._reader is None or self._reader.broken:
                self._reader = self._database.connect()
                weakref.finalize(self, self._reader.close)
            return self._reader.execute(statement, (token_hash(token),) * 2).fetchone()

    def _write(self, statement: str, values: tuple[object, ...]) -> int:
        with self._database.translate_errors(), closing(self._database.connect()) as connection:
            return int(connection.execute(statement, values).rowcount)


def token_hash(token: str) -> bytes:
    """Return what is kept of a token."""
    return sha256(token.encode(errors="replace")).digest()


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError("name must be 1 to 64 letters, digits, dots, dashes or underscores")
