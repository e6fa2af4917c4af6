"""Call a mechanism many times: values in random order, each call timed, and somebody watching that it returns.

Does the time of an answer tell the value? Welch's t between two values compares the calls.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import AuditError, PldpError

TIMEOUT: Final = 10.0  # seconds that one call may take
WARM_UP: Final = 20  # calls before the first that counts: what is computed once is not a leak
THRESHOLD: Final = 4.5  # abs(t) above which times differ: a chance of 7 in a million for one comparison
_CROPS: Final = (1.0, 0.9, 0.5)
"""Shares of the fastest calls that are compared: interruptions by other programs hide small differences."""

Clock = Callable[[], int]
Progress = Callable[[int, int], None]
Floats = npt.NDArray[np.float64]


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


@dataclass(frozen=True)
class Timing:
    """The largest abs(t) over pairs of values, the difference there, and the smallest one that would show."""

    statistic: float
    one: int
    two: int
    difference: float
    detectable: float
    threshold: float

    @property
    def refutes(self) -> bool:
        """Whether the time depends on the value."""
        return abs(self.statistic) > self.threshold

    def __str__(self) -> str:
        return (
            f"calls take {abs(self.difference):,.0f} ns {'longer' if self.difference > 0 else 'less'} for value number "
            f"{self.one} than for number {self.two} (t = {self.statistic:.1f})"
        )


def compare_times(times: Sequence[Sequence[int]]) -> Timing:
    """Return the largest Welch statistic between two values; the threshold grows with the number of comparisons.

    Reference: Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?" (2017).

    >>> compare_times([[100, 110, 105, 95] * 50, [100, 105, 110, 95] * 50]).refutes
    False
    >>> compare_times([[100, 110, 105, 95] * 50, [130, 135, 140, 125] * 50]).refutes
    True
    """
    arrays = [np.asarray(each, float) for each in times]
    pairs = combinations(range(len(times)), 2)
    found = [(one, two, *_welch(arrays[one], arrays[two], crop)) for one, two in pairs for crop in _CROPS]
    # Bonferroni: for tails like exp(−t²/2), t² grows by 2·ln of the number of comparisons.
    threshold = math.sqrt(THRESHOLD**2 + 2 * math.log(len(found)))
    one, two, statistic, difference, error = max(found, key=lambda each: abs(each[2]))
    return Timing(statistic, one, two, difference, (threshold + 1.3) * error, threshold)


def _welch(first: Floats, second: Floats, crop: float) -> tuple[float, float, float]:
    """Return t, the difference of means, and its standard error."""
    limit = np.quantile(np.concatenate([first, second]), crop)
    a, b = first[first <= limit], second[second <= limit]
    if min(len(a), len(b)) < 2:  # all fast calls are of one value
        a, b = first, second
    error = math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    difference = float(a.mean() - b.mean())
    if error == 0:
        return (math.inf if difference else 0.0), difference, 0.0
    return difference / error, difference, error
