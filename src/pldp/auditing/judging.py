"""What samples of a mechanism or a device say against a claim; a second, larger look where the first one hints."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.auditing.calls import TIMEOUT, Called, Clock, Progress
from pldp.auditing.columns import columns_of
from pldp.auditing.devices import JavaScript, MakeDevice
from pldp.auditing.sampled import FALSE_ALARM, tightest
from pldp.auditing.search import search
from pldp.auditing.times import compare_times
from pldp.device import Device

EVENTS, AGAIN, TIMES, DRAWS = 0.4, 0.4, 0.1, 0.1
"""Shares of a row's error: events, events of the second look, times by themselves, draws that are sent again."""
HINT: Final = 0.003  # how unlikely an event must be, if the promise is kept, for a second look
FOLLOW: Final = 4  # times as many people for the second look

Claims = float | Sequence[Sequence[float]]
"""ε that is claimed between any two answers, or for each two of them."""


@dataclass(frozen=True)
class AuditSettings:
    """What an audit may use and how sure it must be.

    An audit of sound mechanisms refutes any of them with a chance of at most `false_alarm`, however many promises it
    looks at; times may be held against one if it is `timed`, by a `clock` of nanoseconds. One call of a function may
    take `timeout` seconds. `device` makes the device of a new person, `javascript` is the client whose device is
    audited too (`JavaScript.find`); `only` keeps the rows of a question, level and device, as far as they are named;
    `progress` is called with (done, total) people while the audit runs.
    """

    false_alarm: float = FALSE_ALARM
    timed: bool = True
    clock: Clock = time.perf_counter_ns
    timeout: float = TIMEOUT
    device: MakeDevice = Device
    javascript: JavaScript | None = None
    only: tuple[str, ...] = ()
    progress: Progress | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices that are sampled."""
        known = ("python",) if self.javascript is None else ("python", "javascript")
        return tuple(name for name in known if self.only[2:3] in {(), (name,)})

    def wants(self, question: str, level: str) -> bool:
        """Tell whether rows of this question and level are asked for."""
        return all(wanted == own for wanted, own in zip(self.only, (question, level), strict=False))


def to_matrix(claims: Claims, values: int) -> npt.NDArray[np.float64]:
    """Return claims between any two of so many values."""
    return np.broadcast_to(np.asarray(claims, np.float64), (values, values))


class Promise(NamedTuple):
    """ε between any two values; which of them should take the same time, but for what is `allowed` (nanoseconds)."""

    claims: npt.NDArray[np.float64]
    timed: Sequence[int] = ()
    name: str = "sent"
    allowed: float = 0.0


def judge(
    called: Called,
    promise: Promise,
    settings: AuditSettings,
    *,
    error: float,
    more: Callable[[int], Called] | None = None,
) -> dict[str, Any]:
    """Return what the calls say against the promise, as fields of a row.

    Where an event is unlikely enough to be a hint and not enough to refute, `more` is asked for several times as many
    calls: all those before choose the event, and the new ones alone test it, with an error of their own.
    """
    claims, timed, name, allowed = promise
    with_times = settings.timed and len(timed) == len(claims)
    timing = None
    if settings.timed and len(timed) > 1:
        times = [called.times_of(place) for place in timed]
        timing = replace(
            found := compare_times(times, allowed=allowed, error=error * TIMES),
            one=timed[found.one],
            two=timed[found.two],
        )
    bounds = search(columns_of(called.observations(name, timed=with_times)), called.who, claims, error=error * EVENTS)
    if more is not None and not any(bound.refutes for bound in bounds) and min(each.chance for each in bounds) < HINT:
        first = len(called.who)
        called = called + more(FOLLOW)
        again = columns_of(called.observations(name, timed=with_times))
        bounds = search(again, called.who, claims, error=error * AGAIN, learned=first)
    words = [str(bound) for bound in bounds if bound.refutes]
    words += [str(timing)] if timing is not None and timing.refutes else []
    return {
        "sampled": tightest(bounds),
        "bounds": bounds,
        "timing": timing,
        "refutations": tuple(words),
        "people": len(called.who),
        "false_alarm": error,
    }
