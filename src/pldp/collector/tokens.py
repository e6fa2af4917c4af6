"""Tokens of people who read estimates or run rounds: 256 random bits, kept as a hash, two live ones while rotating."""

from __future__ import annotations

import re
import secrets
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final

from pldp.collector.database import open_database
from pldp.errors import UsageError

SCOPES: Final = ("read", "admin")
"""`read`: estimates and metrics. `admin`: rounds, and all that `read` may."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


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

    def __init__(self, where: str | Path) -> None:
        self._database = open_database(where)

    def create(self, name: str, scope: str) -> str:
        """Make a token; it is shown this once."""
        if not _NAME.fullmatch(name):
            raise UsageError("name must be 1 to 64 letters, digits, dots, dashes or underscores")
        if scope not in SCOPES:
            raise UsageError(f"scope must be one of {', '.join(SCOPES)}, not {scope[:40]!r}")
        token = secrets.token_urlsafe(32)
        insert = "INSERT INTO tokens (name, scope, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        if not self._write(insert, (name, scope, _hash(token))):
            raise UsageError(f"a token named {name!r} exists; rotate or revoke it")
        return token

    def rotate(self, name: str) -> str:
        """Make a new token of this name; the one before works until the next rotation."""
        token = secrets.token_urlsafe(32)
        if not self._write("UPDATE tokens SET previous = hash, hash = ? WHERE name = ?", (_hash(token), name)):
            raise UsageError(f"there is no token named {name[:64]!r}")
        return token

    def revoke(self, name: str) -> None:
        """End a token and the one before."""
        if not self._write("DELETE FROM tokens WHERE name = ?", (name,)):
            raise UsageError(f"there is no token named {name[:64]!r}")

    def names(self) -> dict[str, str]:
        """Return the scope of each name."""
        with self._database.typed(), closing(self._database.connect()) as connection:
            return dict(connection.execute("SELECT name, scope FROM tokens ORDER BY name"))

    def scope(self, token: str) -> str | None:
        """Return what a token allows, `None` if it is none. It is found by its hash, so time tells nothing about it."""
        with self._database.typed(), closing(self._database.connect()) as connection:
            found = connection.execute(
                "SELECT scope FROM tokens WHERE ? IN (hash, previous)", (_hash(token),)
            ).fetchone()
        return None if found is None else str(found[0])

    def _write(self, statement: str, values: tuple[object, ...]) -> int:
        with self._database.typed(), closing(self._database.connect()) as connection:
            return int(connection.execute(statement, values).rowcount)


def _hash(token: str) -> bytes:
    return sha256(token.encode(errors="replace")).digest()
