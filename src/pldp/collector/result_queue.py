"""Results are computed in one thread: each once for all readers who wait for it, and only while one does."""

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from pldp.collector.http import Problem, ProblemError, Request

MOST_WAITING: Final = 256
"""Computations that wait for the one that runs; one whose clients have all gone takes a place until that shows."""

RETRY_SECONDS: Final = 2  # until a reader who finds all these places taken may ask again

Result = TypeVar("Result")


class _Computation:
    def __init__(self, action: Callable[[], Any]) -> None:
        self.action = action
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.has_begun = False
        self.readers = 0


class ResultQueue:
    """Runs computations one after the other, away from the thread that stores reports."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "pldp-reader")
        self._queue: dict[Hashable, _Computation] = {}
        self._working: asyncio.Task[None] | None = None

    def __contains__(self, key: Hashable) -> bool:
        """Tell whether something is being computed, or waits for its turn."""
        return key in self._queue

    async def share(
        self,
        key: Hashable,
        action: Callable[[], Result],
        request: Request | None = None,
        patience: float | None = None,
    ) -> Result | None:
        """Return what `action` returns, which runs once for all who ask under this key until it is done.

        `None` means that it took longer than `patience`; it is computed all the same. A request whose client has gone
        leaves the queue, and so does the computation if no other reader waits for it.
        """
        computation = self._queue.get(key) or self._enter(key, action)
        computation.readers += 1
        leaving = asyncio.ensure_future(asyncio.Event().wait() if request is None else request.disconnect())
        try:
            waits_for: set[asyncio.Future[Any]] = {computation.done, leaving}
            await asyncio.wait(waits_for, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if computation.done.done():
                result: Result = computation.done.result()
                return result
            if leaving.done():
                raise ProblemError(Problem.BAD_REQUEST, "the client has closed the connection")
            computation.readers += 1  # until it is done, as nobody counts down
            return None
        finally:
            leaving.cancel()
            computation.readers -= 1
            if not (computation.readers or computation.has_begun):
                self._queue.pop(key, None)

    def _enter(self, key: Hashable, action: Callable[[], object]) -> _Computation:
        if len(self._queue) > MOST_WAITING:
            raise ProblemError(Problem.OVERLOADED, "too many results are being computed", retry_after=RETRY_SECONDS)
        self._queue[key] = _Computation(action)
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return self._queue[key]

    async def _work(self) -> None:
        try:
            while self._queue:
                key, computation = next(iter(self._queue.items()))
                computation.has_begun = True
                try:
                    computation.done.set_result(await self.run(computation.action))
                except Exception as error:  # noqa: BLE001 - whatever it is, everybody who waits must be told
                    computation.done.set_exception(error)
                    computation.done.exception()  # all of them may have gone
                finally:
                    self._queue.pop(key)
        finally:
            self._queue.clear()  # not empty if the server ends
            self._working = None

    async def run(self, action: Callable[[], Result]) -> Result:
        """Run something of the collector's own in the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)

    def prepare(self, *actions: Callable[[], object]) -> None:
        """Run what will be needed soon, and wait for none of it."""
        for action in actions:
            self._thread.submit(action)

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
