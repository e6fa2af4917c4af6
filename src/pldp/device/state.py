"""What a device remembers: a secret, the reports and labels that it has sent, the ledger; in memory or in one file.

Of an answer it keeps what the report says and nothing else. The permanent outputs of tracked answers are derived from
the secret and stored nowhere. Of a hidden level it keeps the label as it was sent, or the level that a lottery drew:
anything derived from the chosen level, such as a keyed hash that would show a change, would give it to a thief of the
state who tries each one.

Every answer holds a lock (between threads, and between processes through the file), reads the file again, and writes
it before anything leaves, so that two programs of one person cannot spend the same budget twice.
"""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pldp.device.ledger import Ledger, Spend
from pldp.errors import DeviceStateError
from pldp.files import OWNER_ONLY, atomic_write
from pldp.mechanisms import LevelPairs, Output, RandomBytes
from pldp.survey import LEVEL_CAP, LIFETIME_CAP

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: threads are kept apart, processes are not
    fcntl = None  # type: ignore[assignment]

STATE_SCHEMA: Final = 3
SECRET_BYTES: Final = 32


class SentAnswer(NamedTuple):
    """One answer as it was sent: `identity` and `scale` are hashes of the question and of its labels.

    The output of an answer that was withdrawn is forgotten.
    """

    question: str
    identity: str
    scale: str
    level: str
    output: Output | None


class Sent(NamedTuple):
    """One report: for which survey and author, under which rule, in which round; whether it was withdrawn."""

    survey: str
    author: str
    repeat: str
    round: int
    answers: tuple[SentAnswer, ...]
    withdrawn: bool = False

    def find(self, identity: str) -> SentAnswer | None:
        """Return the answer to a question."""
        return next((answer for answer in self.answers if answer.identity == identity), None)


class SentLabel(NamedTuple):
    """The label of a hidden level, as it was sent to one author, for one set of levels (a hash).

    `told` is what label and outputs have told for each level (row) against each other one (column), in micro-ε. It
    follows from which questions were answered, at whatever level. A lottery's level is kept in the same way and tells
    nothing more with further answers: there `told` is empty.
    """

    author: str
    levels: str
    label: str
    told: LevelPairs


class DeviceState:
    """Secret, sent reports, labels and ledger of one person, in memory only where no path is given.

    Caps (in micro-ε) that are given can tighten those that are kept. `random` makes the secret of a new one.
    """

    def __init__(self, path: str | Path | None, *, cap: int | None, level_cap: int | None, random: RandomBytes) -> None:
        self.path = None if path is None else _plain_path(path)
        self._secret = random(SECRET_BYTES)
        self.sent: tuple[Sent, ...] = ()
        self.labels: tuple[SentLabel, ...] = ()
        self.ledger = Ledger(cap=min(LIFETIME_CAP if cap is None else cap, LIFETIME_CAP))
        self.level_cap = min(LEVEL_CAP if level_cap is None else level_cap, LEVEL_CAP)
        self._lock = threading.RLock()
        with self.locked():
            caps = (self.ledger.cap, self.level_cap)
            tightest = tuple(
                own if most is None else min(own, most) for own, most in zip(caps, (cap, level_cap), strict=True)
            )
            if self.path is not None and (not self.path.exists() or tightest != caps):
                self.keep(ledger=Ledger(self.ledger.spends, cap=tightest[0]), level_cap=tightest[1])

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
            if self.sent:
                raise DeviceStateError(f"{path}: is gone; a new state would forget what was sent and spent")
            return
        try:
            self._from_mapping(json.loads(path.read_text(encoding="utf-8")), path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeviceStateError(f"{path}: is not a readable device state ({type(error).__name__})") from None

    def _from_mapping(self, content: dict[str, Any], path: Path) -> None:
        if content["pldp_device"] not in {1, 2, STATE_SCHEMA}:
            raise DeviceStateError(f"{path}: pldp_device must be {STATE_SCHEMA}")
        # What version 1 had spent is kept; its memo gave values away and is not. Version 2 kept no labels.
        sent = tuple(_read_sent(entry) for entry in content.get("sent", ()))
        cap = content["cap"]
        ledger = Ledger((Spend(**entry) for entry in content["ledger"]), cap=LIFETIME_CAP if cap is None else cap)
        if len(sent) < len(self.sent):
            raise DeviceStateError(f"{path}: is older than what this program has sent; put the newer state back")
        self._secret, self.sent, self.ledger = bytes.fromhex(content["secret"]), sent, ledger
        self.labels = tuple(map(_read_label, content.get("labels", ())))
        self.level_cap = content.get("level_cap", LEVEL_CAP)

    def key(self, *parts: str) -> bytes:
        """Return an HMAC of texts that only this device can make.

        Parts are joined by a zero character, which no text of a survey can contain.
        """
        return hmac.digest(self._secret, "\x00".join(parts).encode(), "sha256")

    def kept_bytes(self, count: int, *parts: str) -> bytes:
        """Return so many bytes that are always the same for these texts, and known to nobody else."""
        return b"".join(self.key(*parts, str(block)) for block in range(-(-count // 32)))[:count]

    def receipt(self, number: int) -> str:
        """Return the secret of the so-many-th report: what withdraws it."""
        sent = self.sent[number]
        return self.key("receipt", sent.survey, str(sent.round), str(number)).hex()

    def label(self, author: str, levels: str) -> SentLabel | None:
        """Return the label that was sent to an author for a set of levels."""
        return next((each for each in self.labels if (each.author, each.levels) == (author, levels)), None)

    def keep(
        self,
        *,
        sent: tuple[Sent, ...] | None = None,
        ledger: Ledger | None = None,
        labels: tuple[SentLabel, ...] | None = None,
        level_cap: int | None = None,
    ) -> None:
        """Keep what has changed, and write the file; all or nothing, before anything is handed out."""
        path = self.path
        sent = self.sent if sent is None else sent
        ledger = self.ledger if ledger is None else ledger
        labels = self.labels if labels is None else labels
        level_cap = self.level_cap if level_cap is None else level_cap
        if path is not None:
            content = {
                "pldp_device": STATE_SCHEMA,
                "secret": self._secret.hex(),
                "cap": ledger.cap,
                "level_cap": level_cap,
                "ledger": [spend._asdict() for spend in ledger.spends],
                "sent": [{**each._asdict(), "answers": [answer._asdict() for answer in each.answers]} for each in sent],
                "labels": [label._asdict() for label in labels],
            }
            with atomic_write(path, name=f"{path.name}.new", permissions=OWNER_ONLY, sync=True) as file:
                file.write(json.dumps(content, default=bytes.hex).encode())
        self.sent, self.ledger, self.labels, self.level_cap = sent, ledger, labels, level_cap


def _plain_path(path: str | Path) -> Path:
    """Refuse a symbolic link: writing replaces it, and its target would keep what was spent before."""
    from pathlib import Path  # noqa: PLC0415 - a device without a file needs none

    plain = Path(path)
    if plain.is_symlink():
        raise DeviceStateError(f"{plain}: the state must be a file, not a symbolic link to one")
    return plain


def _read_sent(entry: dict[str, Any]) -> Sent:
    return Sent(**{**entry, "answers": tuple(map(_read_answer, entry["answers"]))})


def _read_label(entry: dict[str, Any]) -> SentLabel:
    return SentLabel(**{**entry, "told": tuple(map(tuple, entry["told"]))})


def _read_answer(entry: dict[str, Any]) -> SentAnswer:
    output = entry["output"]
    return SentAnswer(**{**entry, "output": bytes.fromhex(output) if isinstance(output, str) else output})
