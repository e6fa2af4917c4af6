"""Tokens of people who read, administer or upload: 256 random bits, kept as a hash, two live ones while rotating."""

import re
import secrets
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread
from time import time
from typing import Any, Final, NamedTuple

from pldp.budgets import epsilon_text
from pldp.collector.acts import record
from pldp.collector.database import Connection, Database, open_database, stored_survey
from pldp.collector.ledger import Account
from pldp.errors import StoreError, UsageError
from pldp.survey import dearest_report, loads

SCOPES: Final = ("read", "admin", "upload")
"""`read`: estimates and metrics. `upload`: reports, where these need a token. `admin`: rounds, and all the others."""

USE_THREAD: Final = "pldp-token-use"  #: Name of the threads that write down when a token was used.
MOST_DAYS: Final = 36_500
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CREATE: Final = "INSERT INTO tokens (name, scope, hash, made, expires) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


class Token(NamedTuple):
    """What is kept of a token beside its hash; days (UTC) are written like 2026-11-16."""

    name: str
    scope: str
    made: str | None  #: `None`: by a version that did not write it down.
    expires: str | None  #: The last day on which it works; `None`: it works until it is revoked.
    used: str | None  #: The last day on which it was used; never kept of tokens that upload.


class Caller(NamedTuple):
    """Who shows a token."""

    name: str
    scope: str
    expired: bool


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

    def __init__(self, where: str | Path | Database, *, clock: Callable[[], float] = time) -> None:
        self._database = open_database(where)
        self._clock = clock
        self._reading = Lock()
        self._reader: Connection | None = None
        self._noted: dict[str, str] = {}  # name → day of the last use that was written, or tried to be

    def create(self, name: str, scope: str, days: int | None = None) -> str:
        """Make a token that is valid for `days` after today, or until it is revoked; it is shown this once."""
        _check_name(name)
        if scope not in SCOPES:
            raise UsageError(f"scope must be one of {', '.join(SCOPES)}, not {scope[:40]!r}")
        token = secrets.token_urlsafe(32)
        with self._transaction() as writer:
            if not writer.execute(_CREATE, (name, scope, token_hash(token), *self._days(days))).rowcount:
                raise UsageError(f"a token named {name!r} exists; rotate or revoke it")
            self._record(writer, name, scope, "made")
        return token

    def enrol(self, names: Sequence[str], budget: int, days: int | None = None) -> list[str]:
        """Make a token of the scope `upload` for each person, all or none, with a budget in micro-ε for all reports.

        A person who was enrolled before and whose token was ended goes on with the old budget and what is spent of it.
        """
        for name in names:
            _check_name(name)
        price = self.price() or 1
        if budget < price:
            least, given = epsilon_text(price), epsilon_text(max(budget, 0))
            raise UsageError(f"budget must allow one report, which costs up to epsilon = {least}, not {given}")
        made = [secrets.token_urlsafe(32) for _ in names]
        with self._transaction() as writer:
            for name, token in zip(names, made, strict=True):
                if not writer.execute(_CREATE, (name, "upload", token_hash(token), *self._days(days))).rowcount:
                    raise UsageError(f"a token named {name!r} exists, so nobody was enrolled; rotate or revoke it")
                enter = "INSERT INTO ledger (name, budget) VALUES (?, ?) ON CONFLICT DO NOTHING"
                writer.execute(enter, (name, budget))
            record(writer, f"people enrolled: {len(names)}", clock=self._clock)
        return made

    def price(self) -> int | None:
        """Return in micro-ε what the ledger charges for a report; `None` until the store has a survey."""
        with self._database.translate_errors(), closing(self._database.connect()) as reader:
            survey = stored_survey(reader)
        return None if survey is None else dearest_report(loads(survey.decode()))

    def rotate(self, name: str, days: int | None = None) -> str:
        """Make a new token of this name; the one before works until the next rotation, or until it expires.

        The new one works for so many days, or for as long as the one before did when it was made.
        """
        token = secrets.token_urlsafe(32)
        with self._transaction() as writer:
            found = writer.execute("SELECT scope, made, expires FROM tokens WHERE name = ?", (name,)).fetchone()
            if found is None:
                raise UsageError(f"there is no token named {name[:64]!r}")
            scope, made, expires = found
            if days is None and made and expires:
                days = (date.fromisoformat(expires) - date.fromisoformat(made)).days
            writer.execute(
                "UPDATE tokens SET previous = hash, previous_expires = expires, hash = ?, made = ?, expires = ? "
                "WHERE name = ?",
                (token_hash(token), *self._days(days), name),
            )
            self._record(writer, name, scope, "rotated")
        return token

    def revoke(self, name: str) -> None:
        """End a token and the one before."""
        with self._transaction() as writer:
            found = writer.execute("SELECT scope FROM tokens WHERE name = ?", (name,)).fetchone()
            if found is None:
                raise UsageError(f"there is no token named {name[:64]!r}")
            writer.execute("DELETE FROM tokens WHERE name = ?", (name,))
            self._record(writer, name, found[0], "revoked")

    def all(self) -> list[Token]:
        """Return all tokens in the order of their names."""
        with self._database.translate_errors(), closing(self._database.connect()) as reader:
            found = reader.execute("SELECT name, scope, made, expires, used FROM tokens ORDER BY name")
            return [Token(*row) for row in found]

    def has_expired(self, last_day: str | None) -> bool:
        """Tell whether the last day of a token is over."""
        return last_day is not None and last_day < self._today().isoformat()

    def find(self, token: str) -> Caller | None:
        """Return who shows a token, `None` if it is none. It is found by its hash, so time tells nothing about it."""
        found = self._find(
            "SELECT name, scope, CASE WHEN hash = ? THEN expires ELSE previous_expires END, used FROM tokens "
            "WHERE hash = ? OR previous = ?",
            (token_hash(token),) * 3,
        )
        if found is None:
            return None
        name, scope, expires, used = found
        caller = Caller(name, scope, self.has_expired(expires))
        if not caller.expired and scope != "upload":
            self._note_use(name, used)
        return caller

    def scope(self, token: str) -> str | None:
        """Return what a token allows, `None` if it is none or has expired."""
        caller = self.find(token)
        return None if caller is None or caller.expired else caller.scope

    def account(self, token: str) -> Account | None:
        """Return budget and spends of the person who holds a token, `None` if nobody is enrolled with it."""
        found = self._find(
            "SELECT budget, spent FROM ledger WHERE name = (SELECT name FROM tokens WHERE hash = ? OR previous = ?)",
            (token_hash(token),) * 2,
        )
        return None if found is None else Account(*found)

    def _note_use(self, name: str, used: str | None) -> None:
        """Write down the day of a use, once a day and beside the request, which does not wait for it."""
        today = self._today().isoformat()
        if max(used or "", self._noted.get(name, "")) < today:
            self._noted[name] = today
            Thread(target=self._write_use, args=(name, today), name=USE_THREAD, daemon=True).start()

    def _write_use(self, name: str, today: str) -> None:
        with suppress(StoreError), self._transaction() as writer:  # where it cannot be written now, it is not
            writer.execute("UPDATE tokens SET used = ? WHERE name = ?", (today, name))

    def _today(self) -> date:
        return datetime.fromtimestamp(self._clock(), UTC).date()

    def _days(self, days: int | None) -> tuple[str, str | None]:
        """Return today and the last day of a token that is made now."""
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise UsageError(f"days must be a whole number from 1 to {MOST_DAYS:,}, not {days}")
        today = self._today()
        return today.isoformat(), None if days is None else (today + timedelta(days)).isoformat()

    def _record(self, writer: Connection, name: str, scope: str, what: str) -> None:
        whose = "upload token" if scope == "upload" else f"token {name} ({scope})"
        record(writer, f"{whose} {what}", clock=self._clock)

    def _find(self, statement: str, values: tuple[bytes, ...]) -> Any:
        """Read one row with a connection that is kept, as this happens for every upload that needs a token."""
        with self._reading, self._database.translate_errors():
            if self._reader is None or self._reader.broken:
                self._reader = self._database.connect()
                weakref.finalize(self, self._reader.close)
            return self._reader.execute(statement, values).fetchone()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Write all or nothing; closing the connection undoes what was not committed."""
        with self._database.translate_errors(), closing(self._database.connect()) as writer:
            writer.execute(self._database.begin_write)
            yield writer
            writer.execute("COMMIT")


def token_hash(token: str) -> bytes:
    """Return what is kept of a token."""
    return sha256(token.encode(errors="replace")).digest()


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError("name must be 1 to 64 letters, digits, dots, dashes or underscores")
