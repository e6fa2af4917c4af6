"""The collector table: uploads over loopback beside a framework with models, and a store of many reports.

Load comes from this process, so both share the machine's cores. CPU times of both sides are shown: where others use the
machine too, they say more than rates.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.measure import ROOT, ChildError, Clock, Context, Row, checked_out, memory_text, number_text, serve
from pldp.collector import Packed, Store
from pldp.survey import Survey

TITLE = "Collector: durable uploads over HTTP, and estimates from the store"
MODULE = "benchmarks.collector"
SURVEY = "examples/commute.toml"


# Cases


def store(path: str, reports: int) -> dict[str, Any]:
    """Fill a store in batches of 1,000, then tally it from nothing and start it anew."""
    survey = Survey.load(SURVEY)
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
    return clock.result(reports, parts=parts)


CASES = (store,)


# Rows


SINGLE, BATCH = "Single reports", "Batches of 1,000"


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows of one part after the other."""
    if context.former:
        with checked_out(context, context.former) as former:
            yield [_beside_former(context, what, former) for what in (SINGLE, BATCH)]
    single, batch = _uploads(context, SINGLE), _uploads(context, BATCH)
    yield [single, batch]
    full = context.folder / "full.db"
    reports = context.people(10_000_000)
    yield [_store(context, full, reports)]
    yield [_overload(context, batch)]
    yield [_uploads_to_full(context, row, full, reports) for row in (single, batch)]


def _uploads(context: Context, what: str) -> Row:
    ours = _measure(context, what, context.folder / f"{secrets.token_hex(4)}.db")
    theirs = _measure_peer(context, what)
    least, longest = (5_000, 0.15) if what == SINGLE else (60_000, 0.6)
    return Row(
        what=f"{what}, {ours['connections']} connections, durable",
        ours=_text(ours),
        peer="–" if theirs is None else f"{_text(theirs)} (framework with models)",
        ratio=None if theirs is None else theirs["cpu"] / ours["cpu"],
        target=f"≥ {least:,}/s, p99 ≤ {longest * 1000:g} ms",
        met=ours["rate"] >= least and ours["p99"] <= longest,
        memory=memory_text(ours["peak_bytes"]),
        raw={"what": what, "ours": ours, "peer": theirs},
    )


def _beside_former(context: Context, what: str, former: Path) -> Row:
    """Load both in turns, each in a fresh store; the best run of each side counts: others use the machine too."""
    turns: dict[Path | None, list[dict[str, Any]]] = {None: [], former: []}
    for number in range(4):
        for side in (None, former) if number % 2 else (former, None):
            database = context.folder / f"{secrets.token_hex(4)}.db"
            turns[side].append(_measure(context, what, database, former=side))
    now, then = (max(found, key=lambda each: each["rate"]) for found in turns.values())
    least = 0.85 if what == SINGLE else 0.95
    ratio = now["rate"] / then["rate"]
    return Row(
        what=f"{what}, {now['connections']} connections, durable, beside {context.former}",
        ours=_text(now),
        peer=f"{_text(then)} ({context.former})",
        ratio=ratio,
        target=f"≥ {least} × the former rate",
        met=ratio >= least,
        memory=memory_text(now["peak_bytes"]),
        raw={"what": what, "ours": now, "former": then, "turns": list(turns.values())},
    )


def _measure_peer(context: Context, what: str) -> dict[str, Any] | None:
    """Measure the other collector, if it is installed and starts."""
    if context.peers is None:
        return None
    try:
        return _measure(context, what, context.folder / f"{secrets.token_hex(4)}.db", peer=context.peers)
    except ChildError as error:
        context.say(f"  framework with models failed: {error}")
        return None


def _uploads_to_full(context: Context, empty: Row, database: Path, reports: int) -> Row:
    """Load a store that has many reports, beside the same load to an empty one."""
    before = empty.raw["ours"]
    found = _measure(context, empty.raw["what"], database)
    return Row(
        what=f"{empty.raw['what']} to a store of {reports:,}, beside an empty one",
        ours=_text(found),
        ratio=found["rate"] / before["rate"],
        target="≥ 0.7 × the rate of the empty one",
        met=found["rate"] >= 0.7 * before["rate"],
        memory=memory_text(found["peak_bytes"]),
        raw={"ours": found},
    )


def _overload(context: Context, normal: Row) -> Row:
    """Offer three times what the server can take: the rest is told to come again, and what is taken hardly falls."""
    capacity = normal.raw["ours"]["rate"]
    options = ["--waiting-reports", "8000"]
    found = _measure(context, BATCH, context.folder / "over.db", options=options, connections=64, rate=3 * capacity)
    return Row(
        what=f"{BATCH}, three times as many as it can take ({number_text(3 * capacity).strip()} offered)",
        ours=f"{_text(found)}; {found['refused']:.0%} told to come again later",
        ratio=found["rate"] / capacity,
        target="≥ 0.8 × the rate without overload",
        met=found["rate"] >= 0.8 * capacity and found["refused"] > 0,
        memory=memory_text(found["peak_bytes"]),
        raw={"ours": found},
    )


def _text(found: dict[str, Any]) -> str:
    p99 = f"p99 {found['p99'] * 1000:.0f} ms"
    rate = f"{number_text(found['rate']).strip()} reports/s"
    return f"{rate}, {p99}, {found['cpu'] * 1e6:.1f} µs CPU each (and {found['load_cpu'] * 1e6:.1f} of the load)"


def _measure(
    context: Context,
    what: str,
    database: Path,
    *,
    peer: Path | None = None,
    former: Path | None = None,
    options: Sequence[str] = (),
    connections: int = 0,
    rate: float = 0,
) -> dict[str, Any]:
    """Start a server, warm it up, load it three times; the fastest counts: others use the machine too."""
    size, usual, requests = (1, 256, 20_000) if what == SINGLE else (1000, 8, 400)
    connections = connections or usual
    requests = context.people(requests) // (1 if peer is None else 4)
    path = "/v1/reports" if peer is None else "/one" if what == SINGLE else "/many"
    survey = Survey.load(SURVEY)
    context.say(f"  {path} size={size} connections={connections} requests={requests}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    python = str(context.peers or sys.executable) if former else sys.executable
    environment = {**os.environ, "PYTHONPATH": str(former / "src")} if former else dict(os.environ)
    if peer is None:
        given = [SURVEY, "--port", str(port), "--database", str(database), "--rate-limit", "0", *options]
        command = [python, "-m", "pldp", "serve", *given]
    else:
        command = [str(peer), "benchmarks/peers_collector.py", str(database), str(port), survey.hash]
    process = subprocess.Popen(command, cwd=former or ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        load.wait_for(process, port)
        load.send(port, load.make_requests(path, survey.hash, 20, size), 2)
        found = []
        for _ in range(3):
            made = load.make_requests(path, survey.hash, requests, size)
            before = load.cpu_seconds(process.pid)
            sent = load.send(port, made, connections, every=size / rate if rate else 0)
            reports = (requests - sent.refused) * size
            found.append(
                {
                    "rate": reports / sent.seconds,
                    "p99": sent.times[int(len(sent.times) * 0.99)],
                    "cpu": (load.cpu_seconds(process.pid) - before) / reports,
                    "load_cpu": sent.own_cpu / reports,
                    "refused": sent.refused / requests,
                }
            )
        best = max(found, key=lambda each: each["rate"])
        return {**best, "connections": connections, "peak_bytes": load.peak_bytes(process.pid), "all": found}
    finally:
        process.terminate()
        process.wait(20)


def _store(context: Context, path: Path, reports: int) -> Row:
    found = context.ours(MODULE, "store", path=str(path), reports=reports)
    parts = found["parts"]
    return Row(
        what=f"A store of {reports:,} reports: first estimate, next one, restart",
        ours=", ".join(f"{name} {parts[name]:.2g} s" for name in ("first tally", "next tally", "start"))
        + f"; {number_text(reports / parts['store']).strip()} reports/s stored",
        target="estimate ≤ 5 s, restart ≤ 1 s",
        met=parts["first tally"] <= 5 and parts["start"] <= 1,
        memory=memory_text(found["peak_bytes"]),
        raw=found,
    )


if __name__ == "__main__":
    serve({case.__name__: case for case in CASES})
