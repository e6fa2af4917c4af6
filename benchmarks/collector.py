"""The collector table: uploads over loopback beside a framework with models, and a store of many reports.

Load comes from this process, so both share the machine's cores; the CPU time is that of the server alone.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.measure import ROOT, Clock, Context, Row, memory_text, number_text, serve
from pldp.collector import Packed, Store
from pldp.survey import Survey

TITLE = "Collector: durable uploads over HTTP, and estimates from the store"
MODULE = "benchmarks.collector"
SURVEY = "examples/commute.toml"


# Cases


def store(folder: str, reports: int) -> dict[str, Any]:
    """Fill a store in batches of 1,000, then tally it from nothing and start it anew."""
    survey = Survey.load(SURVEY)
    path = Path(folder) / f"{secrets.token_hex(4)}.db"
    row = b"\x01\x01\x03\x01"
    clock = Clock()
    parts: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = clock.time(work, repeats=1)
        parts[name] = time.perf_counter() - start
        return result

    def fill() -> None:
        for _ in range(reports // 1000):
            ids = secrets.token_bytes(16_000)
            found.add([Packed(ids[place : place + 16], row) for place in range(0, 16_000, 16)], {})

    with closing(Store(survey, path)) as found:
        timed("store", fill)
        timed("first tally", found.tally)
        timed("next tally", found.tally)
    with closing(timed("start", lambda: Store(survey, path))):
        pass
    path.unlink()
    return clock.result(reports, parts=parts)


CASES = (store,)


# Rows


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows of one part after the other."""
    yield [_uploads(context, 1, 256, context.people(20_000), "/one")]
    yield [_uploads(context, 1000, 8, context.people(400), "/many")]
    yield [_store(context, context.people(10_000_000))]


def _uploads(context: Context, size: int, connections: int, requests: int, peer_path: str) -> Row:
    ours = _measure(context, [sys.executable, "-m", "pldp.cli", "serve"], "/v1/reports", size, connections, requests)
    theirs = None
    if context.peers is not None:
        command = [str(context.peers), "benchmarks/peers_collector.py"]
        theirs = _measure(context, command, peer_path, size, connections, max(20, requests // 4))
    single = size == 1
    least, longest = (5_000, 0.15) if single else (60_000, 0.6)
    return Row(
        what=f"{'Single reports' if single else f'Batches of {size:,}'}, {connections} connections, durable",
        ours=_text(ours),
        peer="–" if theirs is None else f"{_text(theirs)} (framework with models)",
        ratio=None if theirs is None else theirs["cpu"] / ours["cpu"],
        target=f"≥ {least:,}/s, p99 ≤ {longest * 1000:g} ms",
        met=ours["rate"] >= least and ours["p99"] <= longest,
        memory=memory_text(ours["peak_bytes"]),
        raw={"ours": ours, "peer": theirs},
    )


def _text(found: dict[str, Any]) -> str:
    p99 = f"p99 {found['p99'] * 1000:.0f} ms"
    return f"{number_text(found['rate']).strip()} reports/s, {p99}, {found['cpu'] * 1e6:.1f} µs CPU each"


def _measure(
    context: Context, command: list[str], path: str, size: int, connections: int, requests: int
) -> dict[str, Any]:
    """Start a server, warm it up, load it."""
    survey = Survey.load(SURVEY)
    context.say(f"  {Path(command[1]).name} {path} size={size} connections={connections}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    database = str(context.folder / f"{secrets.token_hex(4)}.db")
    if path == "/v1/reports":
        command = [*command, SURVEY, "--port", str(port), "--database", database, "--rate-limit", "0"]
    else:
        command = [*command, database, str(port), survey.hash]
    process = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), stdout=subprocess.DEVNULL)
    try:
        _wait(port)
        load.send(port, load.make_requests(path, survey.hash, 20, size), 2)
        made = load.make_requests(path, survey.hash, requests, size)
        before = load.cpu_seconds(process.pid)
        seconds, times = load.send(port, made, connections)
        return {
            "rate": requests * size / seconds,
            "p99": times[int(len(times) * 0.99)],
            "cpu": (load.cpu_seconds(process.pid) - before) / requests / size,
            "peak_bytes": load.peak_bytes(process.pid),
        }
    finally:
        process.terminate()
        process.wait(20)


def _wait(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server does not start")


def _store(context: Context, reports: int) -> Row:
    found = context.ours(MODULE, "store", folder=str(context.folder), reports=reports)
    parts = found["parts"]
    return Row(
        what=f"A store of {reports:,} reports: first estimate, next one, restart",
        ours=", ".join(f"{name} {parts[name]:.2g} s" for name in ("first tally", "next tally", "start"))
        + f"; {number_text(reports / parts['store']).strip()} reports/s stored",
        target="≤ 5 s",
        met=parts["first tally"] <= 5,
        memory=memory_text(found["peak_bytes"]),
        raw=found,
    )


if __name__ == "__main__":
    serve({case.__name__: case for case in CASES})
