"""kill −9 under load: nothing acknowledged is lost, nothing is counted twice, and the next start is quick."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import AbstractContextManager
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from helpers.collector.places import crash, empty_schema, frozen
from helpers.collector.servers import Server, report_line, running, stored_ids
from helpers.collector.workers import working
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
KILLS, CONNECTIONS = (200, 16) if LONG else (3, 6)
ONE = {"content-type": "application/json"}
MANY = {"content-type": "application/x-ndjson"}


class Senders:
    """Connections that send fresh reports over and over, the same ones again until they are acknowledged."""

    def __init__(self, survey: Survey, server: Server) -> None:
        self.server = server
        self.acknowledged: set[str] = set()
        self._survey = survey

    def sending(self, connections: int) -> AbstractContextManager[None]:
        sizes = [40 if number % 4 == 3 else 1 for number in range(connections)]
        return working(*(partial(self._send, size=size) for size in sizes))

    def wait_for(self, more: int) -> None:
        enough, deadline = len(self.acknowledged) + more, time.monotonic() + 120  # it hangs
        while len(self.acknowledged) < enough and time.monotonic() < deadline:
            time.sleep(0.005)

    def _send(self, stop: threading.Event, size: int) -> None:
        connection: HTTPConnection | None = None
        made: list[tuple[str, bytes]] = []
        while not stop.is_set():
            made = made or [report_line(self._survey) for _ in range(size)]
            try:
                connection = connection or self.server.connect()
                body = b"\n".join(line for _, line in made)
                connection.request("POST", "/v1/reports", body, MANY if size > 1 else ONE)
                response = connection.getresponse()
                if response.status == 200 and response.read():
                    self.acknowledged.update(identity for identity, _ in made)
                    made = []
            except (OSError, HTTPException):
                if connection is not None:
                    connection.close()
                connection = None
                time.sleep(0.01)
        if connection is not None:
            connection.close()


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path, commute: Survey) -> None:
    senders = Senders(commute, Server(tmp_path))
    starts: list[tuple[float, float]] = []
    try:
        with senders.sending(CONNECTIONS):
            for _ in range(KILLS):
                senders.wait_for(150)
                senders.server.kill()
                begin = time.monotonic()
                senders.server = Server(tmp_path)
                starts.append((time.monotonic() - begin, senders.server.cpu_seconds()))
            senders.wait_for(1)
    finally:
        senders.server.kill()
    found = stored_ids(senders.server.database, commute)
    walls, works = zip(*starts, strict=True)
    sys.stdout.write(  # shown by `make test-faults`
        f"{KILLS} kills, {CONNECTIONS} connections: {len(senders.acknowledged)} acknowledged, {len(found)} stored, "
        f"{len(senders.acknowledged - found.keys())} lost, {sum(found.values()) - len(found)} double; "
        f"restart {sorted(walls)[KILLS // 2]:.2f} s (longest {max(walls):.2f}), {max(works):.2f} s of CPU at most\n"
    )
    assert len(senders.acknowledged) >= 100 * KILLS
    assert not senders.acknowledged - found.keys()
    assert max(found.values()) == 1
    assert sorted(works)[KILLS // 2] <= 1.5, "a start takes too long"


def test_nothing_acknowledged_is_lost_when_postgresql_crashes_or_freezes(
    postgres: str, tmp_path: Path, commute: Survey
) -> None:
    """The collector is never restarted: it goes on by itself."""
    address = empty_schema(postgres)
    crashes, freezes = (50, 20) if LONG else (2, 0)
    with running(tmp_path, "--database", address) as server:
        senders = Senders(commute, server)
        with senders.sending(CONNECTIONS):
            for turn in range(crashes + freezes):
                senders.wait_for(60)
                if turn < crashes:
                    crash(postgres)
                else:
                    with frozen(postgres):
                        time.sleep(14)  # longer than the collector's patience
            senders.wait_for(60)
    found = stored_ids(address, commute)
    sys.stdout.write(
        f"{crashes} crashes and {freezes} freezes of PostgreSQL: {len(senders.acknowledged)} acknowledged, "
        f"{len(found)} stored, {len(senders.acknowledged - found.keys())} lost, "
        f"{sum(found.values()) - len(found)} double\n"
    )
    assert len(senders.acknowledged) >= 50 * (crashes + freezes)
    assert not senders.acknowledged - found.keys()
    assert max(found.values()) == 1


def test_a_store_that_acknowledges_too_early_is_found(tmp_path: Path, commute: Survey) -> None:
    senders = Senders(commute, Server(tmp_path, fault="hasty"))
    try:
        with senders.sending(2):
            senders.wait_for(100)
            senders.server.kill()
    finally:
        senders.server.kill()
    assert senders.acknowledged - stored_ids(senders.server.database, commute).keys()


def test_a_collector_told_to_end_stores_what_it_took(tmp_path: Path, commute: Survey) -> None:
    with running(tmp_path) as server:
        senders = Senders(commute, server)
        with senders.sending(4):
            senders.wait_for(100)
            assert server.stop() == 0
    assert senders.acknowledged
    assert not Path(f"{server.database}-wal").exists()  # the store was closed, so all is in its file
    assert not senders.acknowledged - stored_ids(server.database, commute).keys()
