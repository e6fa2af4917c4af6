"""Several collectors behind the nginx of the guide, killed one after the other with their keeper and their database."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from random import Random

import psycopg
import pytest
from test_nginx import certificate, guide, nginx

from helpers.collector.places import connect_patiently, crash, empty_schema, kill_and_restart, query
from helpers.collector.servers import Server, report_line
from helpers.collector.workers import working
from pldp.collector import Store, Tokens
from pldp.collector.saved import read_saved
from pldp.reports import report_id
from pldp.reports.columns import from_batch
from pldp.survey import Survey
from pldp.tallies import tally

LONG = bool(os.environ.get("PLDP_LONG"))
COLLECTORS, KILLS, SENDERS = (4, 100, 12) if LONG else (3, 4, 5)
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx on this machine")


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


class Collectors:
    """Collectors on fixed ports over one database; each names itself to the database."""

    def __init__(self, folder: Path, address: str, count: int) -> None:
        self.folder, self.address = folder, address
        self.ports = free_ports(count)
        self.servers = [self._start(place) for place in range(count)]

    def _start(self, place: int) -> Server:
        folder = self.folder / str(place)
        folder.mkdir(exist_ok=True)
        options = ("--port", str(self.ports[place]), "--uploads", "ledger", "--hosts", "survey.example.org")
        database = f"{self.address}&application_name=collector{place}"
        return Server(folder, "--database", database, "--trusted-proxy", "127.0.0.1", *options)

    def restart(self, place: int) -> None:
        self.servers[place].kill()
        self.servers[place] = self._start(place)

    def keeper(self) -> int | None:
        """Return which of them keeps the tallies."""
        asked = (
            "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) "
            "WHERE locktype = 'advisory' AND classid = 1886151681 AND granted"
        )
        with suppress(psycopg.Error), psycopg.connect(self.address) as reader:
            found = [name for (name,) in reader.execute(asked).fetchall() if name.startswith("collector")]
            return int(found[0].removeprefix("collector")) if found else None
        return None

    def stop(self) -> None:
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()


@contextmanager
def behind_nginx(folder: Path, ports: list[int]) -> Iterator[int]:
    """Run the nginx of the guide with the guide's several collectors; yield its port."""
    (port,) = free_ports(1)
    certificate(folder)
    page = Path("docs/production.md").read_text(encoding="utf-8")
    _, several = re.findall(r"^```nginx\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    line = re.findall(r"^    server 127.*\n", several, re.MULTILINE)[0]
    several = re.sub(
        r"(^    server 127.*\n)+",
        "".join(re.sub(r":\d+", f":{each}", line) for each in ports),
        several,
        flags=re.MULTILINE,
    )
    text = re.sub(r"upstream pldp \{.*?\n\}\n", lambda _: several, guide(folder, port, "one"), flags=re.DOTALL)
    with nginx(folder, text, port):
        yield port


class Person:
    """Sends reports, each again until it is acknowledged, and withdraws some of them in the same way."""

    def __init__(self, survey: Survey, port: int, place: int, token: str) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # a certificate of our own
        self._connection = HTTPSConnection(
            "127.0.0.1", port, timeout=20, context=context, source_address=(f"127.0.1.{place + 1}", 0)
        )
        self._survey, self._token, self._chance = survey, token, Random(place)  # noqa: S311
        self.accepted: set[str] = set()
        self.refused = 0
        self.withdrawn: set[str] = set()
        self.tries = 0

    def ask(self, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        """Send until there is an answer that a repetition would not change."""
        headers = {"host": "survey.example.org", "content-type": kind, "authorization": f"Bearer {self._token}"}
        while True:
            self.tries += 1
            try:
                self._connection.request("POST", path, body, headers)
                answer = self._connection.getresponse()
                content = answer.read()
                if answer.status not in {429, 500, 502, 503, 504}:
                    return answer.status, content
            except (OSError, HTTPException):
                self._connection.close()
            time.sleep(0.05)

    def send(self, size: int) -> None:
        receipts = [secrets.token_hex(32) for _ in range(size)]
        ids = [report_id(self._survey.hash, receipt) for receipt in receipts]
        lines = b"\n".join(report_line(self._survey, identity)[1] for identity in ids)
        kind = "application/x-ndjson" if size > 1 else "application/json"
        status, content = self.ask("/v1/reports", lines, kind)
        if size == 1 and status == 422 and json.loads(content)["code"] == "over_budget":
            self.refused += 1
            return
        assert status == 200, (status, content)
        assert size == 1 or json.loads(content)["accepted"] == size
        self.accepted.update(ids)
        if self._chance.random() < 0.3:
            status, content = self.ask(
                "/v1/withdraw", json.dumps({"receipt": receipts[0]}).encode(), "application/json"
            )
            assert status == 200, (status, content)
            self.withdrawn.add(ids[0])

    def keep_sending(self, stop: threading.Event, size: int) -> None:
        while not stop.is_set():
            self.send(size)

    def close(self) -> None:
        self._connection.close()


def wait_for(people: list[Person], more: int) -> None:
    enough, deadline = sum(len(each.accepted) for each in people) + more, time.monotonic() + 180
    while sum(len(each.accepted) for each in people) < enough and time.monotonic() < deadline:
        time.sleep(0.02)
    assert time.monotonic() < deadline, "nothing is stored any more"


def kill_one(collectors: Collectors, postgres: str, turn: int) -> str:
    """Kill a collector, the one that keeps the tallies, a process of the database, or its first one, so all of it."""
    if turn % 10 == 9 or (turn == 3 and not LONG):
        kill_and_restart(postgres)
        return "whole database"
    if turn % 5 == 4 or (turn == 2 and not LONG):
        crash(postgres)
        connect_patiently(postgres).close()
        return "database"
    keeper = collectors.keeper() if turn % 5 in {1, 3} else None
    if keeper is not None:
        collectors.restart(keeper)
        return "keeper"
    collectors.restart(turn % COLLECTORS)
    return "collector"


def test_every_acknowledged_report_is_stored_once_whatever_is_killed(
    postgres: str, tmp_path: Path, commute: Survey
) -> None:
    address = empty_schema(postgres)
    Store(commute, address).close()  # so that the price of a report is known
    tokens = Tokens(address)
    price = tokens.price() or 0
    names = [f"p{number}" for number in range(SENDERS)]
    given = dict(zip(names, tokens.enrol(names, 1_000_000 * price), strict=True))
    (racer,) = tokens.enrol(["racer"], 10 * price)
    collectors = Collectors(tmp_path, address, COLLECTORS)
    killed = Counter[str]()
    try:
        with behind_nginx(tmp_path, collectors.ports) as port:
            people = [Person(commute, port, place, given[name]) for place, name in enumerate(names)]
            sizes = [30 if not place % 4 else 1 for place in range(len(people))]
            with working(*(partial(each.keep_sending, size=size) for each, size in zip(people, sizes, strict=True))):
                for turn in range(KILLS):
                    wait_for(people, 60)
                    killed[kill_one(collectors, postgres, turn)] += 1
                wait_for(people, 60)
            racing = [Person(commute, port, 20 + place, racer) for place in range(16)]
            threads = [threading.Thread(target=lambda each=each: [each.send(1) for _ in range(4)]) for each in racing]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for person in (*people, *racing):
                person.close()
        wait_until_counted(address)
    finally:
        collectors.stop()
    check_counts(commute, address, [*people, *racing])
    accounts = {name: tokens.account(token) for name, token in given.items()}
    for name, person in zip(names, people, strict=True):
        account = accounts[name]
        assert account is not None
        assert account.spent == price * len(person.accepted)
    assert (sum(len(each.accepted) for each in racing), sum(each.refused for each in racing)) == (10, 54)
    every = [*people, *racing]
    sys.stdout.write(  # shown by `make test-faults`
        f"{COLLECTORS} collectors, {KILLS} kills ({dict(killed)}): {sum(len(each.accepted) for each in every)} reports "
        f"acknowledged and stored once, {sum(len(each.withdrawn) for each in every)} withdrawn, "
        f"{sum(each.tries for each in every)} requests; race of 64 for 10 reports: 10 granted\n"
    )


def wait_until_counted(address: str) -> None:
    """Wait until the keeper has counted everything."""
    counted = "SELECT (SELECT max(changes) FROM tallies) = (SELECT changes FROM head)"
    deadline = time.monotonic() + 60
    while query(address, counted) != [(True,)] and time.monotonic() < deadline:
        time.sleep(0.2)


def check_counts(survey: Survey, address: str, people: list[Person]) -> None:
    """Compare what is stored, and what the last keeper saved, with what people know."""
    accepted = set[str]().union(*(each.accepted for each in people))
    withdrawn = set[str]().union(*(each.withdrawn for each in people))
    with closing(Store(survey, address)) as store:
        stored = [report for batch in store.batches() for report in from_batch(survey, batch)]
        assert Counter(report.id for report in stored) == Counter(accepted - withdrawn)
        (found,) = store.rounds()
        assert (found.reports, found.withdrawn) == (len(accepted - withdrawn), len(withdrawn))
        exact = store.tally()
        assert exact.counts == tally(survey, stored).counts
        with store._connections.snapshot() as reader:
            saved = read_saved(reader, 1)
        assert saved is not None
        recount = store._counting.shown(1)
        assert saved.changes == recount.changes
        assert saved.tally == recount.tally
