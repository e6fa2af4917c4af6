"""Measure work in a fresh process: CPU time and peak memory. Standard library only: the peers' Python runs it too."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

PEERS = ("multi-freq-ldpy", "pure-ldp")

LONGEST_CHILD = 600
"""Seconds after which a child process is given up."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

Case = Callable[..., dict[str, Any]]


class ChildError(Exception):
    """A child process failed; the text is the last line that it wrote."""


# Inside a child process


class Clock:
    """CPU time and peak memory of this process, counted from where the clock is made: after imports and a warm-up.

    The peak is the kernel's high-water mark of this program alone (VmHWM). `ru_maxrss` would do, but it starts from the
    memory of the parent that launched the child; it is used only where there is no /proc. Where Linux allows it, the
    mark is first set back to the present, so that what came before, such as drawing the data, does not count.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._before = _memory("VmRSS")
        self.seconds: list[float] = []

    def time(self, work: Callable[[], Any], *, repeats: int) -> Any:
        """Run the work so many times, keep all CPU times, return the last result (one result in memory at a time)."""
        result = None
        for _ in range(repeats):
            del result
            start = time.process_time()
            result = work()
            self.seconds.append(time.process_time() - start)
        return result

    def result(self, count: int, **more: Any) -> dict[str, Any]:
        """Return what is sent to the parent: how many units each run did, all times, peak memory."""
        peak = max(0, _memory("VmHWM") - self._before)
        return {"count": count, "seconds": self.seconds, "peak_bytes": peak, **more}


def _memory(field_name: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field_name))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(cases: Mapping[str, Case]) -> None:
    """Run the case named on the command line with its JSON arguments and print its result as the last line."""
    name, arguments = sys.argv[1:3]
    print(json.dumps(cases[name](**json.loads(arguments))))


# In the parent


@dataclass(frozen=True)
class Row:
    """One line of a table: texts to read, and all raw numbers behind them."""

    what: str
    ours: str
    peer: str = "–"
    ratio: float | None = None
    target: str = "–"
    met: bool | None = None
    memory: str = "–"
    raw: Mapping[str, Any] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Context:
    """How to measure: which Python runs the peers (`None`: nobody), quick or full, where temporary data may lie.

    `former` is a revision of this repository to measure beside the present one, where a table does that; empty: none.
    """

    peers: Path | None
    quick: bool
    folder: Path
    former: str = ""

    def people(self, number: int) -> int:
        """Return the number of people to use: a tenth of it in a quick run."""
        return number // 10 if self.quick else number

    def say(self, text: str) -> None:
        """Write one line of progress."""
        print(text, file=sys.stderr, flush=True)

    def ours(self, module: str, case: str, *, source: Path | None = None, **arguments: Any) -> dict[str, Any]:
        """Run one of our cases in a fresh process, with the `pldp` of another folder if one is named."""
        self.say(f"  pldp {_work_text(case, arguments)}{'' if source is None else ' (former)'}")
        environment = dict(os.environ) if source is None else {**os.environ, "PYTHONPATH": str(source / "src")}
        return run_child([sys.executable, "-m", module, case, json.dumps(arguments)], environment)

    def peer(self, module: str, case: str, peer: str, **arguments: Any) -> dict[str, Any] | None:
        """Run a peer's case in a fresh process; a peer that is missing or fails gives `None` and one line."""
        if self.peers is None:
            return None
        self.say(f"  {peer} {_work_text(case, arguments)}")
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        command = [str(self.peers), "-m", module, case, json.dumps({"peer": peer, **arguments})]
        try:
            return run_child(command, environment)
        except ChildError as error:
            self.say(f"  {peer} failed: {error}")
            return None

    def rounds(
        self, module: str, case: str, variants: Sequence[Mapping[str, Any]], *, rounds: int = 3
    ) -> list[dict[str, Any]]:
        """Run variants of one of our cases in turns and join the rounds: a busy moment seldom lasts through all."""
        found = [[self.ours(module, case, **arguments) for arguments in variants] for _ in range(rounds)]
        return [join(list(parts)) for parts in zip(*found, strict=True)]

    def contest(
        self,
        modules: tuple[str, str],
        case: str,
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
        *,
        rounds: int = 2,
    ) -> dict[str, dict[str, Any]]:
        """Let us and all peers take turns, so that a busy moment of the machine meets everybody; join the rounds."""
        found: dict[str, list[dict[str, Any]]] = {"pldp": [], **{peer: [] for peer in PEERS}}
        for _ in range(rounds):
            found["pldp"].append(self.ours(modules[0], case, **ours))
            for peer in PEERS:
                measured = self.peer(modules[1], case, peer, **theirs)
                if measured is not None:
                    found[peer].append(measured)
        return {side: join(parts) for side, parts in found.items() if parts}


@contextmanager
def checked_out(context: Context, revision: str) -> Iterator[Path]:
    """Yield a folder with another revision of this repository."""
    folder = context.folder / "former"
    git = ["git", "-C", str(ROOT), "worktree"]
    add = [*git, "add", "--detach", str(folder), revision]
    done = subprocess.run(add, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ChildError(f"{revision}: {(done.stderr.splitlines() or ['git failed'])[-1]}")
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=False, capture_output=True)


def _work_text(case: str, arguments: Mapping[str, Any]) -> str:
    shown = {name: given for name, given in arguments.items() if name not in {"values", "sizes", "repeats"}}
    return " ".join([case, *(f"{name}={given}" for name, given in shown.items())])


def run_child(command: list[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Run a command from the repository's root on one thread and return the JSON of its last line."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**environment, **_ONE_THREAD},
            capture_output=True,
            text=True,
            timeout=LONGEST_CHILD,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ChildError(f"took more than {LONGEST_CHILD} seconds") from None
    if done.returncode != 0:
        raise ChildError((done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def join(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Join measurements of the same work: all times, the largest peak, everything else from the first."""
    times = [second for part in parts for second in part["seconds"]]
    return {**parts[0], "seconds": times, "peak_bytes": max(part["peak_bytes"] for part in parts)}


def rate(measured: Mapping[str, Any]) -> float:
    """Units per CPU second in the best run."""
    return measured["count"] / min(measured["seconds"])


def fastest_peer(sides: Mapping[str, dict[str, Any]]) -> str | None:
    """Return the peer with the highest rate, if any ran."""
    return max((side for side in sides if side != "pldp"), key=lambda side: rate(sides[side]), default=None)


def number_text(number: float) -> str:
    """Write a number with three digits and the prefix of a unit.

    >>> number_text(1234567), number_text(0.00005), number_text(12)
    ('1.23 M', '50 µ', '12 ')
    """
    for scale, prefix in ((1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")):
        if abs(number) >= scale:
            return f"{number / scale:.3g} {prefix}"
    return f"{number:.3g} "


def rate_text(measured: Mapping[str, Any], unit: str) -> str:
    """Write how many units came per CPU second, such as `39.2 M people/s`."""
    return f"{number_text(rate(measured)).strip()} {unit}/s"


def cost_text(measured: Mapping[str, Any], unit: str) -> str:
    """Write how much CPU time one unit took, such as `18.1 ns/report`."""
    return f"{number_text(1 / rate(measured))}s/{unit}"


def memory_text(size: int) -> str:
    """Write a number of bytes in MB or GB (decimal)."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
