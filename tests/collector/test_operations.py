"""For whoever runs it: durations that date nobody, a port of their own, health, logs as JSON, secrets from files."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from helpers.collector.client import JSON, LINES, call, lines
from helpers.collector.faults import FaultyDatabase
from helpers.collector.forks import Forked
from helpers.collector.senders import make_reports, packed
from helpers.collector.servers import local, report_line
from pldp.collector import Collector, Settings, Store, Tokens, open_database
from pldp.collector.health import check
from pldp.collector.operations import BOUNDS, Durations
from pldp.errors import StoreError, StoreFullError, UsageError
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
STEP = 10


@pytest.fixture
def app(tmp_path: Path, commute: Survey) -> Iterator[Collector]:
    store = Store(commute, tmp_path / "reports.db", step=STEP)
    yield Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=0))
    store.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def histogram(app: Collector) -> list[str]:
    shown = call(app.operations, "GET", "/metrics").body.decode().splitlines()
    return [line for line in shown if line.startswith("pldp_request_seconds")]


def count(app: Collector, route: str = "POST /v1/reports") -> int:
    return int(value(app, "count", route))


def value(app: Collector, part: str, route: str = "POST /v1/reports") -> float:
    start = f'pldp_request_seconds_{part}{{route="{route}"'
    found = [line.rpartition(" ")[2] for line in histogram(app) if line.startswith(start)]
    return float(found[0]) if found else 0


def test_durations_change_by_whole_steps_only(app: Collector, commute: Survey) -> None:
    """Between two steps the port gives the same bytes, whoever uploads: decision 18."""
    seen = []
    for _ in range(2 * STEP + 3):
        assert call(app, "POST", "/v1/reports", report_line(commute)[1], JSON).status == 200
        seen.append((count(app), tuple(histogram(app))))
    assert [each for each, _ in seen] == [0] * (STEP - 1) + [STEP] * STEP + [2 * STEP] * 4
    assert len({lines for _, lines in seen}) == 3


def test_a_histogram_that_counts_at_once_would_be_noticed(commute: Survey) -> None:
    durations = Durations(step=1)
    before = list(durations.lines())
    durations.add("POST /v1/reports", 0.001)
    assert list(durations.lines()) != before


def test_accepted_and_rejected_uploads_are_one_histogram(app: Collector, commute: Survey) -> None:
    for number in range(STEP):
        body = report_line(commute)[1] if number % 2 else b"{}"
        call(app, "POST", "/v1/reports", body, JSON)
    assert count(app) == STEP
    assert not [line for line in histogram(app) if "status" in line or "code" in line]


@pytest.mark.parametrize(("slow", "expected"), [("client", 0), ("store", 7 * STEP)])
def test_the_time_that_a_body_takes_to_arrive_is_not_in_its_duration(
    slow: str, expected: int, app: Collector, commute: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a slow connection could be told from the others. The twin, a slow store, is in it."""
    now = [0.0]
    for module in ("app", "http"):
        monkeypatch.setattr(f"pldp.collector.{module}.perf_counter", lambda: now[0])
    add = app._uploads.add

    async def receive() -> Any:
        now[0] += 7 * (slow == "client")
        return {"type": "http.request", "body": report_line(commute)[1], "more_body": False}

    async def store(*given: Any) -> Any:
        now[0] += 7 * (slow == "store")
        return await add(*given)

    async def ignore(_: Any) -> None:
        pass

    monkeypatch.setattr(app._uploads, "add", store)
    headers = [(b"content-type", JSON.encode()), (b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/v1/reports", "headers": headers, "client": ("127.0.0.1", 1)}
    for _ in range(STEP):
        asyncio.run(app(scope, receive, ignore))
    assert count(app) == STEP
    assert value(app, "sum") == expected


def test_addresses_that_do_not_exist_make_no_new_series(app: Collector) -> None:
    for number in range(3 * STEP):
        call(app, "GET", f"/nothing/{number}")
    assert {route for line in histogram(app) for route in re.findall('route="([^"]+)"', line)} == {"other"}


def test_buckets_are_cumulative_and_end_with_all(app: Collector) -> None:
    durations = Durations(step=3)
    for seconds in (0.0005, 0.3, 60.0):
        durations.add("pages", seconds)
    lines = [line for line in durations.lines() if "_bucket" in line]
    counts = [int(line.split()[1]) for line in lines]
    assert len(counts) == len(BOUNDS) + 1
    assert counts == sorted(counts)
    assert (counts[0], counts[-2], counts[-1]) == (1, 2, 3)
    assert 'le="+Inf"' in lines[-1]


def test_the_port_has_what_the_token_opens_and_the_build(app: Collector, tmp_path: Path) -> None:
    token = Tokens(tmp_path / "reports.db").create("ana", "read")
    counters = call(app, "GET", "/metrics", token=token).body
    shown = call(app.operations, "GET", "/metrics")
    assert shown.body.startswith(counters)
    assert re.search(rb'^pldp_build_info\{version="[^"]+",python="3\.\d+\.\d+"\} 1$', shown.body, re.MULTILINE)
    assert [call(app.operations, "GET", path).status for path in ("/healthz", "/readyz", "/v1/survey")] == [
        200,
        200,
        404,
    ]
    assert call(app.operations, "POST", "/metrics").code == "method_not_allowed"


def test_a_store_that_does_not_answer_is_not_ready(app: Collector, tmp_path: Path, monkeypatch: Any) -> None:
    def fail() -> None:
        raise StoreError("gone")

    monkeypatch.setattr(app._store, "check_ready", fail)
    for door in (app, app.operations):
        assert call(door, "GET", "/readyz").code == "store_unavailable"


def test_a_server_with_two_ports_keeps_them_apart_and_health_asks_the_second(tmp_path: Path, commute: Survey) -> None:
    port = free_port()
    environment = {"PLDP_METRICS_PORT": str(port)}
    with local(tmp_path, commute, metrics_port=port) as server:
        for where, path, status in ((port, "/metrics", 200), (port, "/v1/survey", 404), (0, "/metrics", 401)):
            connection = HTTPConnection("127.0.0.1", where, timeout=60) if where else server.connect()
            connection.request("GET", path)
            assert connection.getresponse().status == status, path
            connection.close()
        assert check(environment) == ""
    assert "does not answer" in check(environment)
    assert "PLDP_METRICS_PORT" in check({})


def ready(app: Collector) -> list[tuple[int, str]]:
    """Return status and reason on both ports."""
    answers = [call(door, "GET", "/readyz") for door in (app, app.operations)]
    return [(answer.status, answer.json.get("detail", "")) for answer in answers]


def test_a_collector_whose_disk_is_full_is_not_ready_until_it_can_write_again(
    tmp_path: Path, commute: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says why, and finds out by itself that there is room: nobody sends reports to one that is not ready."""
    monkeypatch.setattr("pldp.collector.app.UPKEEP_SECONDS", 0.001)
    database, told = FaultyDatabase(tmp_path / "reports.db"), [(503, "the store has no room for more")] * 2
    with closing(Store(commute, database)) as store:
        app = Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=0))
        tries: list[bool] = []
        recover = store.recover
        monkeypatch.setattr(store, "recover", lambda: tries.append(True) or recover())

        async def keep_up(tries_enough: int, *, full: bool) -> None:
            upkeep = asyncio.create_task(app.upkeep())
            tries.clear()
            while len(tries) < tries_enough or (store._connections.failure and not full):
                await asyncio.sleep(0.001)
            upkeep.cancel()
            with suppress(asyncio.CancelledError):
                await upkeep

        assert ready(app) == [(200, "")] * 2
        with database.full():
            body = lines(make_reports(commute, 400))
            assert call(app, "POST", "/v1/reports", body, LINES).code == "store_full"
            assert ready(app) == told
            asyncio.run(asyncio.wait_for(keep_up(3, full=True), 60))
            assert ready(app) == told
        asyncio.run(asyncio.wait_for(keep_up(1, full=False), 60))
        assert ready(app) == [(200, "")] * 2
        assert call(app, "POST", "/v1/reports", body, LINES).json["accepted"] == 400
        assert store.tally().reports == 400
    assert open_database(tmp_path / "reports.db").check() == []


def test_a_collector_that_looks_at_reading_only_would_be_noticed(tmp_path: Path, commute: Survey) -> None:
    """The store of one that cannot write answers all the same."""
    database = FaultyDatabase(tmp_path / "reports.db")
    with closing(Store(commute, database)) as store, database.full():
        with pytest.raises(StoreFullError):
            store.add(packed(commute, make_reports(commute, 400)), {})
        assert store.rounds()[0].reports == 0
        with pytest.raises(StoreFullError):
            store.check_ready()


def test_idle_connections_do_not_silence_the_port_for_operations(tmp_path: Path, commute: Survey) -> None:
    """Not more of them than anybody needs, for as long as they last; then they are closed."""
    idle, port = (200 if LONG else 40), free_port()
    with local(tmp_path, commute, metrics_port=port), ExitStack() as opened:
        silent = [opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(idle)]
        times = []
        for path in ("/healthz", "/readyz", "/metrics") * (100 if LONG else 1):
            start = time.perf_counter()
            with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
                connection.request("GET", path)
                assert connection.getresponse().status == 200
            times.append(time.perf_counter() - start)
            time.sleep(0.05 * LONG)
        assert [connection.recv(1) for connection in silent] == [b""] * idle  # closed by the collector
    sys.stdout.write(f"{idle} idle connections: probes answered in {max(times) * 1000:.0f} ms at most\n")


def written(log: Path) -> list[str]:
    """Return the whole lines of a log, as far as it is there."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return text.rpartition("\n")[0].splitlines()


def test_a_log_of_json_has_every_line_as_json_also_the_last_one(tmp_path: Path) -> None:
    command, log = ["serve", "examples/commute.toml", "--port", "0", "--log", "json"], tmp_path / "log.txt"
    process = Forked([*command, "--database", str(tmp_path / "other.db")], log)
    while process.poll() is None and len(written(log)) < 2:  # a warning comes after the address
        time.sleep(0.01)
    process.terminate()
    assert (process.wait(60), process.stdout.read()) == (0, b"")
    lines = [*map(json.loads, written(log))]
    first = lines[0]
    assert (first["message"], first["level"]) == ("listening", "info")
    assert first["address"].startswith("http://127.0.0.1:")
    assert lines[-1]["message"] == "ended"
    assert {"warning"} < {line["level"] for line in lines}
    assert all(set(line) >= {"time", "level", "logger", "message"} for line in lines)
    process.stdout.close()
    refused = Forked([*command, "--database", str(tmp_path)], tmp_path / "refused.txt")
    assert refused.wait(60) == 2
    refused.stdout.close()
    assert [json.loads(line)["level"] for line in written(tmp_path / "refused.txt")] == ["critical"]


def test_a_setting_can_be_read_from_a_file_that_the_environment_names(tmp_path: Path) -> None:
    secret = tmp_path / "address"
    secret.write_text("postgresql://pldp:secret@database/pldp\n")
    assert Settings.read({}, {"PLDP_DATABASE_FILE": str(secret)}).database == "postgresql://pldp:secret@database/pldp"
    with pytest.raises(UsageError, match="PLDP_DATABASE and PLDP_DATABASE_FILE are both set"):
        Settings.read({}, {"PLDP_DATABASE_FILE": str(secret), "PLDP_DATABASE": "a.db"})
    with pytest.raises(UsageError, match="log must be text or json"):
        Settings.read({"log": "xml"}, {})
