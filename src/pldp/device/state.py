"""What a device remembers: its secret, the memo of earlier answers and the ledger; in memory or in one file.

The memo maps HMAC(secret, what was asked, value) to the output drawn the first time. Whoever reads the file without the
secret learns no value from the keys; the secret is in the same file, so the file stays on the device.

Every answer holds a lock (between threads, and between processes through the file), reads the file again, and writes
it before anything leaves, so that two programs of one person cannot spend the same budget twice.
"""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pldp.device.ledger import Ledger, Spend
from pldp.errors import DeviceStateError
from pldp.files import OWNER_ONLY, atomic_write
from pldp.mechanisms import Output, RandomBytes

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: threads are kept apart, processes are not
    fcntl = None  # type: ignore[assignment]

STATE_SCHEMA: Final = 1
SECRET_BYTES: Final = 32


def _make_path(path: str | Path) -> Path:
    from pathlib import Path  # noqa: PLC0415 - a device without a file needs none

    return Path(path)


class DeviceState:
    """Secret, memo and ledger of one person, in memory only where no path is given.

    Of lifetime caps (in micro-ε) the tightest one ever given is kept. `random` makes the secret of a new state.
    """

    def __init__(self, path: str | Path | None, *, cap: int | None, random: RandomBytes) -> None:
        self.path = None if path is None else _make_path(path)
        self._secret = random(SECRET_BYTES)
        self._memo: dict[str, Output] = {}
        self.ledger = Ledger(cap=cap)
        self._lock = threading.RLock()
        with self.locked():
            tightest = min((limit for limit in (self.ledger.cap, cap) if limit is not None), default=None)
            if self.path is not None and (not self.path.exists() or tightest != self.ledger.cap):
                self.ledger.cap = tightest
                self._write(self.path)

    def locked(self) -> AbstractContextManager[Any]:
        """Keep others out, and see what they wrote before."""
        return self._lock if self.path is None else self._locked_file(self.path)

    @contextmanager
    def _locked_file(self, path: Path) -> Iterator[None]:
        with self._lock:
            try:
                guard = path.with_name(path.name + ".lock").open("a")
            except OSError as error:
                raise DeviceStateError(f"{path}: the state cannot be kept there ({error.strerror})") from None
            with guard:
                if fcntl is not None:
                    fcntl.flock(guard, fcntl.LOCK_EX)
                self._read(path)
                yield

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        try:
            self._from_mapping(json.loads(path.read_text(encoding="utf-8")), path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeviceStateError(f"{path}: is not a readable device state ({type(error).__name__})") from None

    def _from_mapping(self, content: dict[str, Any], path: Path) -> None:
        if content["pldp_device"] != STATE_SCHEMA:
            raise DeviceStateError(f"{path}: pldp_device must be {STATE_SCHEMA}")
        memo = {key: bytes.fromhex(out) if isinstance(out, str) else int(out) for key, out in content["memo"].items()}
        ledger = Ledger((Spend(**entry) for entry in content["ledger"]), cap=content["cap"])
        self._secret, self._memo, self.ledger = bytes.fromhex(content["secret"]), memo, ledger

    def key(self, *parts: str) -> str:
        """Return the memo's key of what was asked and answered: an HMAC that only this device can make.

        Parts are joined by a zero character, which no text of a survey can contain.
        """
        return hmac.digest(self._secret, "\x00".join(parts).encode(), "sha256").hex()

    def recall(self, key: str) -> Output | None:
        """Return the output drawn earlier under this key, if there is one."""
        return self._memo.get(key)

    def remember(self, drawn: dict[str, Output], spends: list[Spend], *, survey_cap: int | None) -> None:
        """Charge the ledger, store the memo and write the file; all or nothing, before any report is handed out."""
        self.ledger.spend(*spends, survey_cap=survey_cap)
        self._memo.update(drawn)
        if self.path is None:
            return
        try:
            self._write(self.path)
        except BaseException:
            self.ledger.take_back(len(spends))
            for key in drawn:
                del self._memo[key]
            raise

    def _write(self, path: Path) -> None:
        content = {
            "pldp_device": STATE_SCHEMA,
            "secret": self._secret.hex(),
            "cap": self.ledger.cap,
            "ledger": [asdict(spend) for spend in self.ledger.spends],
            "memo": {key: out.hex() if isinstance(out, bytes) else out for key, out in self._memo.items()},
        }
        with atomic_write(path, name=f"{path.name}.new", permissions=OWNER_ONLY, sync=True) as file:
            file.write(json.dumps(content).encode())
