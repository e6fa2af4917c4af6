"""Results that many people look at: each is computed once, an overview at most once a second, and shared by all."""

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from hashlib import blake2b
from importlib import import_module
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pldp.collector.http import Problem, ProblemError, Request, encode_json
from pldp.collector.result_queue import ResultQueue
from pldp.collector.store import Store
from pldp.plain import plain
from pldp.show import board, public_page

if TYPE_CHECKING:
    from pldp.collector.answers import ClosedRounds

EVERY: Final = 1.0  # seconds between two overviews of a round, at least
SHARE: Final = 0.1
"""Part of one processor's time that an overview takes, at most: one that takes long is made less often.

So much is also the part that all older rounds together take which are made for readers without a token.
"""

PATIENCE: Final = 2.0
"""Seconds that a request waits for a new overview before it gets the one before, or how far counting is."""

MOST_ROUNDS: Final = 16  # rounds whose overviews are kept
RESULT_BYTES: Final = 8 << 20  # bytes of other results that are kept
READERS: Final = ("read", "admin")  # scopes of those who look; an overview names that of its reader
PUBLIC: Final = "public"  # in their place, those who have no token
HEAD: Final = '<link rel="icon" href="pages/icon.svg"><link rel="stylesheet" href="pages/show.css">'
_LATEST: Final = 0  # the latest round, whichever that is
_DIGITS: Final = 6

Clock = Callable[[], float]


class Shown(NamedTuple):
    """An overview as JSON or as markup, and its ETag; an empty one while reports are being counted."""

    body: bytes
    tag: str = ""


class _Kept:
    """The overview of one round, and what it was made from."""

    def __init__(self) -> None:
        self.state: Any = None
        self.shown: dict[tuple[str, str], Shown] = {}
        self.until = 0.0
        self.counted = (0, 0)


class Live:
    """Makes what readers look at, and keeps it for the next ones."""

    def __init__(
        self,
        store: Store,
        *,
        preview: bool = False,
        known: Mapping[str, Mapping[str, float]] | None = None,
        planned: int = 0,
        public: Collection[str] = (),
        clock: Clock = monotonic,
        work: Clock = thread_time,
    ) -> None:
        self._store = store
        self._known = known
        self._preview = preview
        self._planned = planned or None
        self._public = public
        self._clock = clock
        self._work = work
        self._rounds: OrderedDict[int, _Kept] = OrderedDict()  # the one looked at last behind
        self._results: dict[Hashable, bytes] = {}  # the oldest first
        self._public_making: Hashable = None  # the last older round that was made for the public
        self._public_until = 0.0
        self._prepared = False
        self._closed: ClosedRounds | None = None
        self.queue = ResultQueue()

    def prepare(self) -> None:
        """Load and count, once, what the first overview will need: a reader is about to look."""
        if not self._prepared:
            self._prepared = True
            self.queue.prepare(partial(import_module, "pldp.collector.answers"), self._store.shown)

    async def result(self, key: Hashable, make: Callable[[], bytes], request: Request) -> bytes:
        """Return what `make` makes, once for all who ask for it; `key` says all that it depends on."""
        kept = self._results.get(key)
        return kept or await self.queue.share(key, lambda: self._make_result(key, make), request) or b""

    def _make_result(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        self._results[key] = body = make()
        while sum(map(len, self._results.values())) > RESULT_BYTES:
            del self._results[next(iter(self._results))]
        return body

    async def overview(
        self, number: int | None, scope: str, form: str = "json", request: Request | None = None
    ) -> Shown:
        """Return the overview of a round, of the latest by default, for who has a token of this scope.

        As `html` it is markup that shows the same, of chosen questions for the public.
        """
        key, public = number or _LATEST, scope == PUBLIC and number is not None
        making = ("overview", key)
        kept = self._rounds.get(key, _Kept())
        if making in self.queue or (self._clock() >= kept.until and (not public or self._may_make(kept))):
            if public and making not in self.queue:
                self._public_making = making
            self._rounds[key] = kept
            try:
                await self.queue.share(making, lambda: self._make(kept, number, public=public), request, PATIENCE)
            except ProblemError:
                if making not in self.queue and not kept.shown:
                    self._rounds.pop(key, None)
                if not kept.shown:
                    raise
        if key in self._rounds:
            self._rounds.move_to_end(key)
            if len(self._rounds) > MOST_ROUNDS:
                self._rounds.popitem(last=False)
        if kept.shown:
            return kept.shown[scope, form]
        done, every = kept.counted
        return self._forms({"scope": scope, "counted": done, "reports": every})[form]._replace(tag="")

    def _may_make(self, kept: _Kept) -> bool:
        """Tell whether an older round may be made for the public now; `ProblemError` if there is nothing to show."""
        wait = 1.0 if self._public_making in self.queue else self._public_until - self._clock()
        if wait > 0 and not kept.shown:
            detail = "another round is being computed for readers without a token"
            raise ProblemError(Problem.OVERLOADED, detail, retry_after=math.ceil(wait))
        return wait <= 0

    def _forms(self, content: Mapping[str, Any]) -> dict[str, Shown]:
        """Return an overview in all its forms. Markup is made from what JSON has, so that it cannot show more."""
        if content["scope"] == PUBLIC:
            return {"html": _shown(public_page(content, self._public, HEAD).encode())}
        return {"json": _shown(encode_json(content)), "html": _shown(board(content).encode())}

    def _make(self, kept: _Kept, number: int | None, *, public: bool) -> None:
        """Make an overview anew if anything has changed."""
        rounds = self._store.shown_rounds()
        chosen = next((each for each in rounds[::-1] if number in {None, each.number}), None)
        if chosen is None:
            raise ProblemError(Problem.NOT_FOUND, "there is no such round")
        hours = self._store.hours()
        versions = self._store.versions()
        step, rejections = self._store.step, self._store.rejections(chosen.number)
        counts = {reason: count // step for reason, count in rejections.items()}
        state = (rounds, versions, hours, counts, self._store.damaged)
        took = 0.0
        if state != kept.state:
            kept.counted = (0, chosen.reports)

            def progress(done: int) -> None:
                kept.counted = (done // step * step, chosen.reports)

            begun = self._work()
            counted = self._store.shown(chosen.number, progress)
            from pldp.collector import answers  # noqa: PLC0415 - loading it takes longer than all else at the start

            self._closed = self._closed or answers.ClosedRounds(self._store.shown, self._planned)
            self._closed.forget(versions)
            reading = answers.Reading(self._known, self._planned)
            content = answers.overview(counted, chosen.number, rounds, hours, step, self._closed, reading)
            content["few"] = [reason.value for reason, steps in counts.items() if not steps]
            content["damaged"] = sum(count for _, count in self._store.damaged)
            content["preview"] = self._preview
            content = plain(content, _DIGITS)
            kept.shown = {
                (scope, form): shown
                for scope in (*READERS, *([PUBLIC] if self._public else []))
                for form, shown in self._forms({"scope": scope, **content}).items()
            }
            kept.state = state
            took = self._work() - begun
        rested = self._clock() + took / SHARE
        kept.until = max(rested, self._clock() + EVERY)
        if public:
            self._public_until = rested


def _shown(body: bytes) -> Shown:
    return Shown(body, blake2b(body, digest_size=16).hexdigest())
