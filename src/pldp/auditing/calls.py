"""Call a mechanism many times: values in random order, each call timed, and somebody watching that it returns."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pldp.errors import AuditError, PldpError

TIMEOUT: Final = 10.0  # seconds that one call may take
WARM_UP: Final = 20  # calls before the first that counts: what is computed once is not a leak

Clock = Callable[[], int]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Called:
    """Outputs and nanoseconds of all calls, by value, in the order in which they were made."""

    outputs: tuple[tuple[Any, ...], ...]
    times: tuple[tuple[int, ...], ...]

    def observations(self, name: str, *, timed: bool) -> list[dict[str, Any]]:
        """Everything that one can see of each call, one value after the other: what came out, and when."""
        return [
            {name: output, "time": time} if timed else {name: output}
            for outputs, times in zip(self.outputs, self.times, strict=True)
            for output, time in zip(outputs, times, strict=True)
        ]


def call(
    mechanism: Callable[[Any], Any],
    values: Sequence[Any],
    samples: int,
    *,
    timeout: float = TIMEOUT,
    clock: Clock = time.perf_counter_ns,
    progress: Progress | None = None,
) -> Called:
    """Call the mechanism `samples` times with each value, interleaved at random, so that no drift looks like a leak.

    The calls run in a thread of their own. Where one does not return in time, that thread is left behind.

    >>> called = call(lambda value: value + 1, [1, 2], 3)
    >>> called.outputs
    ((2, 2, 2), (3, 3, 3))
    """
    order = [place for place in range(len(values)) for _ in range(samples)]
    random.shuffle(order)
    outputs: list[list[Any]] = [[] for _ in values]
    times: list[list[int]] = [[] for _ in values]
    failed: list[tuple[Exception, int]] = []
    finished = threading.Event()
    done = [0]

    def work() -> None:
        place = 0
        try:
            for place in [*(order[:1] * WARM_UP if samples > WARM_UP else []), *order]:
                start = clock()
                output = mechanism(values[place])
                times[place].append(clock() - start)
                outputs[place].append(output)
                done[0] += 1
        except Exception as error:  # noqa: BLE001 - whatever the mechanism raises is a finding
            failed.append((error, place))
        finally:
            finished.set()

    threading.Thread(target=work, daemon=True, name="audited mechanism").start()
    _watch(finished, done, len(order), timeout, progress)
    for error, place in failed:
        if isinstance(error, PldpError):
            raise error
        raise AuditError(f"the mechanism raised {type(error).__name__} for value number {place}")
    return Called(*(tuple(tuple(each[-samples:]) for each in kept) for kept in (outputs, times)))


def _watch(finished: threading.Event, done: list[int], total: int, timeout: float, progress: Progress | None) -> None:
    """Wait as long as calls come back, and tell how many have."""
    seen, since = 0, time.monotonic()
    while not finished.wait(min(0.2, timeout)):
        if done[0] > seen:
            seen, since = done[0], time.monotonic()
            if progress is not None:
                progress(min(seen, total), total)
        elif time.monotonic() - since > timeout:
            raise AuditError(f"the mechanism did not return within {timeout:g} seconds; {seen:,} calls before did")
