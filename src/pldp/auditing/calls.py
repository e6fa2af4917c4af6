"""Call a mechanism many times: values drawn at random, each call timed, and a watchdog that it returns."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import AuditError, PldpError

TIMEOUT: Final = 10.0  # seconds that one call may take
WARM_UP: Final = 20  # calls before the first that counts: what is computed once is not a leak
_AROUND: Final = 21  # calls that tell how fast the machine is just now

Clock = Callable[[], int]
Progress = Callable[[int, int], None]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Called:
    """All calls in the order in which they were made: the place of the value, the output, and nanoseconds.

    `work` are the nanoseconds for which the processor worked, where they are known: on a busy machine a process that
    waits for others hides what takes longer in its times, and not there.
    """

    who: tuple[int, ...]
    outputs: tuple[Any, ...]
    times: tuple[int, ...]
    work: tuple[int, ...] = ()

    def __add__(self, later: "Called") -> "Called":
        pairs = ((getattr(self, each.name), getattr(later, each.name)) for each in fields(self))
        return Called(*(first + second for first, second in pairs))

    def of(self, value: int) -> list[Any]:
        """Return the outputs for one of the values."""
        return [output for place, output in zip(self.who, self.outputs, strict=True) if place == value]

    def times_of(self, value: int) -> list[int]:
        """Return the nanoseconds of the calls with one of the values."""
        return [taken for place, taken in zip(self.who, self.times, strict=True) if place == value]

    def observations(self, name: str, *, timed: bool) -> list[dict[str, Any]]:
        """Everything that one can see of each call: what came out, how long it took, also beside the calls before."""
        if not timed:
            return [{name: output} for output in self.outputs]
        clocks = {"time": self.times, **({"time of the processor": self.work} if self.work else {})}
        seen: dict[str, Sequence[Any]] = {name: self.outputs}
        for clock, times in clocks.items():
            seen |= {clock: times, f"{clock} beside the calls before": relative(np.array(times, np.float64))}
        return [dict(zip(seen, row, strict=True)) for row in zip(*seen.values(), strict=True)]


def relative(times: npt.NDArray[np.float64]) -> list[int]:
    """Return each time less the median of the calls before it: what a busy machine does to all of them falls out."""
    padded = np.concatenate([np.repeat(times[:1], _AROUND), times])
    windows = np.lib.stride_tricks.sliding_window_view(padded[:-1], _AROUND)
    return [int(each) for each in times - np.median(windows, axis=1)]


def draw_values(values: int, samples: int) -> list[int]:
    """Draw the value of each call, all equally likely: `samples` calls of each on average.

    That each is drawn by itself is what makes the tests exact: see `pldp.auditing.sampled`.
    """
    generator = random.SystemRandom()
    return [generator.randrange(values) for _ in range(values * samples)]


def call(
    mechanism: Callable[[Any], Any],
    values: Sequence[Any],
    samples: int,
    *,
    timeout: float = TIMEOUT,
    clock: Clock = time.perf_counter_ns,
    progress: Progress | None = None,
) -> Called:
    """Call the mechanism with values drawn at random, `samples` times each on average.

    The calls run in a thread of their own. Where one does not return in time, that thread is left behind.

    >>> called = call(lambda value: value + 1, [1, 2], 3)
    >>> len(called.outputs), {*called.outputs} <= {2, 3}
    (6, True)
    """
    order = draw_values(len(values), samples)
    outputs: list[Any] = []
    times: list[int] = []
    failed: list[tuple[Exception, int]] = []
    finished = threading.Event()

    def work() -> None:
        place = 0
        try:
            for place in [*(order[:WARM_UP] if samples > WARM_UP else []), *order]:
                start = clock()
                output = mechanism(values[place])
                times.append(clock() - start)
                outputs.append(output)
        except Exception as error:  # noqa: BLE001 - whatever the mechanism raises is a finding
            failed.append((error, place))
        finally:
            finished.set()

    threading.Thread(target=work, daemon=True, name="audited mechanism").start()
    _watch(finished, outputs, len(order), timeout, progress)
    for error, place in failed:
        if isinstance(error, PldpError):
            raise error
        raise AuditError(f"the mechanism raised {type(error).__name__} for value number {place}")
    return Called(tuple(order), tuple(outputs[-len(order) :]), tuple(times[-len(order) :]))


def _watch(
    finished: threading.Event, outputs: list[Any], total: int, timeout: float, progress: Progress | None
) -> None:
    """Wait as long as calls come back, and tell how many have."""
    seen, since = 0, time.monotonic()
    while not finished.wait(min(0.2, timeout)):
        if len(outputs) > seen:
            seen, since = len(outputs), time.monotonic()
            if progress is not None:
                progress(min(seen, total), total)
        elif time.monotonic() - since > timeout:
            raise AuditError(f"the mechanism did not return within {timeout:g} seconds; {seen:,} calls before did")
