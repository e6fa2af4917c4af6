"""Group commit: uploads that wait at the same time share one transaction, and so one write to the disk."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from pldp.collector.http import Problem, ProblemError
from pldp.collector.packing import Packed, Upload
from pldp.collector.saved import Counted
from pldp.collector.store import Outcome, Store
from pldp.errors import StoreError, StoreFullError
from pldp.reports import Rejection

MOST_WITHDRAWALS: Final = 64  # that share a transaction; uploads wait no longer than that takes
TIDY_SECONDS: Final = 1.0  # between a withdrawal and the first try to empty the log, and between two tries
TIDY_TRIES: Final = 60  # after which the log says that a reader is in the way

Result = TypeVar("Result")
log = logging.getLogger("pldp.collector")


class _Waiting(NamedTuple):
    reports: Sequence[Packed]
    rejections: Mapping[Rejection, int]
    payer: bytes
    done: asyncio.Future[list[Outcome]]


class Uploads:
    """Takes uploads of many connections to the one thread that writes."""

    def __init__(self, store: Store, *, most_waiting: int) -> None:
        self._store = store
        self._most_waiting = most_waiting
        self._writer = ThreadPoolExecutor(1, "pldp-writer")
        self._waiting: deque[_Waiting] = deque()
        self._withdrawals: list[tuple[str, asyncio.Future[bool | None]]] = []
        self._tidying: asyncio.Task[None] | None = None
        self.waiting = 0
        self._writing: asyncio.Task[None] | None = None

    def check_room(self, count: int) -> None:
        """Refuse so many reports if too many wait already; asked before they are read, it costs little."""
        if self.waiting and self.waiting + count > self._most_waiting:
            raise ProblemError(Problem.OVERLOADED, retry_after=1)

    async def add(
        self, reports: Sequence[Packed], rejections: Mapping[Rejection, int], payer: bytes = b""
    ) -> list[Outcome]:
        """Return the outcome of each report once all of them are durable, charged to `payer` where there is one."""
        self.check_room(len(reports))
        upload = _Waiting(reports, rejections, payer, asyncio.get_running_loop().create_future())
        self._waiting.append(upload)
        self.waiting += len(reports)
        self._start()
        return await upload.done

    def _start(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def withdraw(self, receipt: str) -> bool | None:
        """Return whether a report was found by its receipt and erased, `None` if that is too late.

        Many that wait share one transaction.
        """
        done: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
        self._withdrawals.append((receipt, done))
        self._start()
        return await done

    async def delete_reports(self, counted: Sequence[Counted]) -> None:
        """Delete the single reports of these rounds, and of those begun before, some at a time between uploads."""
        await self.run(partial(self._store.decide_to_delete, counted))
        while await self.run(self._store.delete_some):
            self._start_to_tidy()

    async def run(self, action: Callable[[], Result]) -> Result:
        """Run another action that writes in the same thread."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._writer, action)
        except StoreError as error:
            raise problem_of(error) from error

    async def drain(self) -> None:
        """Wait until all that was taken is stored, then end the thread."""
        if self._writing is not None:
            await self._writing
        if self._tidying is not None:
            self._tidying.cancel()
        self._writer.shutdown()

    async def _write(self) -> None:
        while self._waiting or self._withdrawals:
            if self._waiting:
                await self._write_uploads()
            if self._withdrawals:
                await self._write_withdrawals()
        self._writing = None

    async def _write_withdrawals(self) -> None:
        """Erase some reports; uploads that came meanwhile are next."""
        group, self._withdrawals = self._withdrawals[:MOST_WITHDRAWALS], self._withdrawals[MOST_WITHDRAWALS:]
        try:
            found = await self.run(lambda: self._store.withdraw_all([receipt for receipt, _ in group]))
        except Exception as error:  # noqa: BLE001 - whatever it is, everybody who waits must be told
            for _, done in group:
                _fail(done, error)
            return
        for (_, done), was_found in zip(group, found, strict=True):
            if not done.done():
                done.set_result(was_found)
        self._start_to_tidy()

    def _start_to_tidy(self) -> None:
        if self._tidying is None or self._tidying.done():
            self._tidying = asyncio.create_task(self._tidy())

    async def _tidy(self) -> None:
        """Empty the database's log of what was erased, as soon as nobody reads."""
        tries = 0
        await asyncio.sleep(TIDY_SECONDS)
        while not await self._try_to_tidy():
            tries += 1
            if tries == TIDY_TRIES:
                log.warning("erased reports stay in the log of the database while another program reads it")
            await asyncio.sleep(TIDY_SECONDS)

    async def _try_to_tidy(self) -> bool:
        try:
            return await self.run(self._store.tidy)
        except ProblemError:
            return False

    async def _write_uploads(self) -> None:
        """Store all uploads that wait when the turn of this collector to write has come."""
        group: list[_Waiting] = []
        try:
            outcomes = await self.run(partial(self._store.add_gathered, partial(self._gather, group)))
        except Exception as error:  # noqa: BLE001 - whatever it is, everybody who waits must be told
            if not group:
                self._take(group)
            for upload in group:
                _fail(upload.done, error)
        else:
            start = 0
            for upload in group:
                end = start + len(upload.reports)
                if not upload.done.done():  # the client may have gone; its reports are stored all the same
                    upload.done.set_result(outcomes[start:end])
                start = end
        self.waiting -= sum(len(upload.reports) for upload in group)

    def _take(self, group: list[_Waiting]) -> None:
        """Take those that wait now; another thread may add more meanwhile."""
        group += [self._waiting.popleft() for _ in range(len(self._waiting))]

    def _gather(self, group: list[_Waiting]) -> Upload:
        """Return all uploads that wait as one; the thread that writes asks for it."""
        self._take(group)
        reports = [report for upload in group for report in upload.reports]
        charged = any(upload.payer for upload in group)
        payers = [upload.payer for upload in group for _ in upload.reports] if charged else []
        rejections = Counter[Rejection]()
        for upload in group:
            if upload.rejections:
                rejections.update(upload.rejections)
        return Upload(reports, rejections, payers)


def _fail(done: asyncio.Future[Any], error: Exception) -> None:
    if not done.done():
        done.set_exception(error if isinstance(error, ProblemError) else ProblemError(Problem.INTERNAL))


def problem_of(error: StoreError) -> ProblemError:
    """Return what a client is told when the store fails."""
    if isinstance(error, StoreFullError):
        return ProblemError(Problem.STORE_FULL, retry_after=60)
    return ProblemError(Problem.STORE_UNAVAILABLE, retry_after=5)
