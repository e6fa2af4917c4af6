"""Overviews that many people look at: each is made by one thread, at most once a second, and shared by all."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from importlib import import_module
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from pldp.collector.http import Problem, ProblemError, encode_json
from pldp.collector.store import Store
from pldp.plain import plain
from pldp.show import board, public_page

if TYPE_CHECKING:
    from pldp.collector.answers import ClosedRounds

EVERY: Final = 1.0  # seconds between two overviews of a round, at least
SHARE: Final = 0.1
"""Part of one processor's time that estimates take, at most: those that take long are made less often."""

PATIENCE: Final = 2.0
"""Seconds that a request waits for a new overview before it gets the one before, or how far counting is."""

MOST_ROUNDS: Final = 16  # rounds whose overviews are kept
READERS: Final = ("read", "admin")  # scopes of those who look; an overview names that of its reader
PUBLIC: Final = "public"  # in their place, those who have no token
HEAD: Final = '<link rel="icon" href="pages/icon.svg"><link rel="stylesheet" href="pages/show.css">'
_LATEST: Final = 0  # the latest round, whichever that is
_DIGITS: Final = 6

Clock = Callable[[], float]
Result = TypeVar("Result")


class Shown(NamedTuple):
    """An overview as JSON or as markup, and its ETag; an empty one while reports are being counted."""

    body: bytes
    tag: str = ""


class _Kept:
    """The overview of one round, and what it was made from."""

    def __init__(self) -> None:
        self.making: asyncio.Future[None] | None = None
        self.state: Any = None
        self.shown: dict[tuple[str, str], Shown] = {}
        self.until = 0.0
        self.counted = (0, 0)


class Live:
    """Makes what readers look at, one thing after the other, away from the thread that stores reports."""

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
        self._thread = ThreadPoolExecutor(1, "pldp-reader")
        self._rounds: OrderedDict[int, _Kept] = OrderedDict()  # the one looked at last behind
        self._prepared = False
        self._closed: ClosedRounds | None = None

    async def run(self, action: Callable[[], Result]) -> Result:
        """Run another action that reads in the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)

    def prepare(self) -> None:
        """Load and count, once, what the first overview will need: a reader is about to look."""
        if not self._prepared:
            self._prepared = True
            self._thread.submit(import_module, "pldp.collector.answers")
            self._thread.submit(self._store.shown)

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def overview(self, number: int | None, scope: str, form: str = "json") -> Shown:
        """Return the overview of a round, of the latest by default, for who has a token of this scope.

        As `html` it is markup that shows the same, of chosen questions for the public.
        """
        key = number or _LATEST
        kept = self._rounds.setdefault(key, _Kept())
        self._rounds.move_to_end(key)
        if len(self._rounds) > MOST_ROUNDS:
            self._rounds.popitem(last=False)
        making = kept.making
        if (making is None or making.done()) and self._clock() >= kept.until:
            making = kept.making = asyncio.ensure_future(self.run(lambda: self._make(kept, number)))
        if making is not None and not making.done():
            await asyncio.wait([making], timeout=PATIENCE)
        if making is not None and making.done() and not making.cancelled():
            try:
                making.result()
            except ProblemError:
                self._rounds.pop(key, None)
                raise
        if kept.shown:
            return kept.shown[scope, form]
        done, every = kept.counted
        return self._forms({"scope": scope, "counted": done, "reports": every})[form]._replace(tag="")

    def _forms(self, content: Mapping[str, Any]) -> dict[str, Shown]:
        """Return an overview in all its forms. Markup is made from what JSON has, so that it cannot show more."""
        if content["scope"] == PUBLIC:
            return {"html": _shown(public_page(content, self._public, HEAD).encode())}
        return {"json": _shown(encode_json(content)), "html": _shown(board(content).encode())}

    def _make(self, kept: _Kept, number: int | None) -> None:
        """Make an overview anew if anything has changed."""
        rounds = self._store.shown_rounds()
        chosen = next((each for each in rounds[::-1] if number in {None, each.number}), None)
        if chosen is None:
            raise ProblemError(Problem.NOT_FOUND, "there is no such round")
        hours = self._store.hours()
        withdrawn = {each.number: each.withdrawn for each in self._store.rounds()}
        step, rejections = self._store.step, self._store.rejections(chosen.number)
        counts = {reason: count // step for reason, count in rejections.items()}
        state = (rounds, withdrawn, hours, counts, self._store.damaged)
        took = 0.0
        if state != kept.state:
            kept.counted = (0, chosen.reports)

            def progress(done: int) -> None:
                kept.counted = (done // step * step, chosen.reports)

            begun = self._work()
            counted = self._store.shown(chosen.number, progress)
            from pldp.collector import answers  # noqa: PLC0415 - loading it takes longer than all else at the start

            self._closed = self._closed or answers.ClosedRounds(self._store.shown, self._planned)
            self._closed.forget(withdrawn)
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
        kept.until = self._clock() + max(EVERY, took / SHARE)


def _shown(body: bytes) -> Shown:
    return Shown(body, blake2b(body, digest_size=16).hexdigest())
