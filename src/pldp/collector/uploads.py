"""Group commit: uploads that wait at the same time share one transaction, and so one write to the disk."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from pldp.collector.http import Problem, ProblemError
from pldp.collector.packing import Packed
from pldp.collector.store import Outcome, Store
from pldp.errors import StoreError, StoreFullError
from pldp.reports import Rejection

Result = TypeVar("Result")


class _Upload(NamedTuple):
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
        self._waiting: list[_Upload] = []
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
        upload = _Upload(reports, rejections, payer, asyncio.get_running_loop().create_future())
        self._waiting.append(upload)
        self.waiting += len(reports)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await upload.done

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
        self._writer.shutdown()

    async def _write(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            reports = [report for upload in group for report in upload.reports]
            charged = any(upload.payer for upload in group)
            payers = [upload.payer for upload in group for _ in upload.reports] if charged else []
            rejections = Counter[Rejection]()
            for upload in group:
                if upload.rejections:
                    rejections.update(upload.rejections)
            try:
                outcomes = await self.run(partial(self._store.add, reports, rejections, payers))
            except Exception as error:  # noqa: BLE001 - whatever it is, everybody who waits must be told
                problem = error if isinstance(error, ProblemError) else ProblemError(Problem.INTERNAL)
                for upload in group:
                    if not upload.done.done():
                        upload.done.set_exception(problem)
            else:
                start = 0
                for upload in group:
                    end = start + len(upload.reports)
                    if not upload.done.done():  # the client may have gone; its reports are stored all the same
                        upload.done.set_result(outcomes[start:end])
                    start = end
            self.waiting -= len(reports)
        self._writing = None


def problem_of(error: StoreError) -> ProblemError:
    """Return what a client is told when the store fails."""
    if isinstance(error, StoreFullError):
        return ProblemError(Problem.STORE_FULL, retry_after=60)
    return ProblemError(Problem.STORE_UNAVAILABLE, retry_after=5)
