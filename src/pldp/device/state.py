"""What a device remembers: its secret, the memo of earlier answers and the ledger; in memory or in one file.

The memo maps HMAC(secret, survey, question, level, value) to the output drawn the first time. Whoever reads the file
without the secret learns no value from the keys; the secret is in the same file, so the file stays on the device.
"""

from __future__ import annotations

import hmac
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pldp.device.ledger import Ledger, Spend
from pldp.errors import DeviceStateError
from pldp.mechanisms import Output, RandomBytes

STATE_SCHEMA: Final = 1
SECRET_BYTES: Final = 32


class DeviceState:
    """Secret, memo and ledger of one person."""

    def __init__(self, secret: bytes, memo: dict[str, Output], ledger: Ledger, path: Path | None) -> None:
        self._secret = secret
        self._memo = memo
        self.ledger = ledger
        self.path = path

    @classmethod
    def open(cls, path: str | Path | None, *, cap: int | None, random: RandomBytes) -> DeviceState:
        """Load the state from a file, or start a new one; without a path it lives in memory only."""
        path = None if path is None else Path(path)
        if path is None or not path.exists():
            return cls(random(SECRET_BYTES), {}, Ledger(cap=cap), path)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls._from_mapping(content, path, cap)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeviceStateError(f"{path}: is not a readable device state ({type(error).__name__})") from None

    @classmethod
    def _from_mapping(cls, content: dict[str, Any], path: Path, cap: int | None) -> DeviceState:
        if content["pldp_device"] != STATE_SCHEMA:
            raise DeviceStateError(f"{path}: pldp_device must be {STATE_SCHEMA}")
        memo = {key: bytes.fromhex(out) if isinstance(out, str) else int(out) for key, out in content["memo"].items()}
        stored = content["cap"]
        caps = [limit for limit in (stored, cap) if limit is not None]
        ledger = Ledger((Spend(**entry) for entry in content["ledger"]), cap=min(caps, default=None))
        return cls(bytes.fromhex(content["secret"]), memo, ledger, path)

    def key(self, *parts: str) -> str:
        """Return the memo's key of survey, question, level and value: an HMAC that only this device can make."""
        return hmac.digest(self._secret, "\x00".join(parts).encode(), "sha256").hex()

    def recall(self, key: str) -> Output | None:
        """Return the output drawn earlier under this key, if there is one."""
        return self._memo.get(key)

    def remember(self, drawn: dict[str, Output], spends: list[Spend], *, survey_cap: int | None) -> None:
        """Charge the ledger, store the memo and write the file; all or nothing, before any report is handed out."""
        before = self.ledger.spends
        try:
            self.ledger.spend(*spends, survey_cap=survey_cap)
            self._memo.update(drawn)
            if self.path is not None:
                self._write(self.path)
        except BaseException:
            self.ledger = Ledger(before, cap=self.ledger.cap)
            for key in drawn:
                self._memo.pop(key, None)
            raise

    def _write(self, path: Path) -> None:
        content = {
            "pldp_device": STATE_SCHEMA,
            "secret": self._secret.hex(),
            "cap": self.ledger.cap,
            "ledger": [asdict(spend) for spend in self.ledger.spends],
            "memo": {key: out.hex() if isinstance(out, bytes) else out for key, out in self._memo.items()},
        }
        # A new file in the same folder, synced and then renamed: a crash leaves the old state or the new one.
        fresh = path.with_name(path.name + ".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
