"""Many readers, readers who have gone, readers without a token: what they can cost, and what the next one waits for."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from helpers.collector.client import Answer, call, send
from helpers.collector.senders import make_reports, packed
from helpers.collector.servers import local
from pldp.collector import Collector, Settings, Store, Tokens, live, result_queue
from pldp.reports.columns import from_batch
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
ROUNDS = 25
FORMATS = ("json", "csv", "arrow", "html")


@pytest.fixture
def store(tmp_path: Path, commute: Survey) -> Iterator[Store]:
    """Many rounds, so that there is much to ask for."""
    with closing(Store(commute, tmp_path / "reports.db", step=5)) as opened:
        opened.add(packed(commute, make_reports(commute, 60)), {})
        for _ in range(ROUNDS - 1):
            opened.close_round()
            opened.open_round()
        yield opened


@pytest.fixture
def app(tmp_path: Path, commute: Survey, store: Store) -> Collector:
    return Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=0))


@pytest.fixture
def reader(tmp_path: Path, store: Store) -> str:
    return Tokens(tmp_path / "reports.db").create("reader", "read")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Question, format and round of each estimate that is computed."""
    from pldp.collector import app as module  # noqa: PLC0415 - what is patched

    asked: list[tuple[Any, ...]] = []
    encoded = module.encoded

    def note(store: Store, settings: Settings, *what: Any) -> bytes:
        asked.append(what)
        return encoded(store, settings, *what)

    monkeypatch.setattr(module, "encoded", note)
    return asked


class Held:
    """Holds the thread that computes, until it is let go."""

    def __init__(self, app: Collector) -> None:
        self._app = app
        self._go = threading.Event()

    async def __aenter__(self) -> None:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hold() -> None:
            loop.call_soon_threadsafe(begun.set)
            self._go.wait(60)

        self._task = asyncio.create_task(self._app._live.queue.share("held", hold))
        await begun.wait()

    async def __aexit__(self, *_: object) -> None:
        self._go.set()
        await self._task


def everything_there_is() -> Iterator[str]:
    for number, kind, question in itertools.product(range(1, ROUNDS + 1), FORMATS, ("mode", "late")):
        yield f"/v1/estimates/{question}.{kind}?round={number}"


def asks(app: Collector, token: str, path: str, leave: asyncio.Event | None = None) -> asyncio.Task[Answer]:
    return asyncio.create_task(send(app, "GET", path, headers={"authorization": f"Bearer {token}"}, leave=leave))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def waiting(app: Collector) -> int:
    return len(app._live.queue._queue)


def test_readers_of_the_same_result_share_one_computation(
    app: Collector, store: Store, commute: Survey, reader: str, computed: list[Any]
) -> None:
    """At once and later, until the tally changes; another format is another result."""
    path = "/v1/estimates/mode.csv?round=1"

    async def together() -> list[Answer]:
        return await asyncio.gather(*(asks(app, reader, path) for _ in range(20)))

    bodies = {answer.body for answer in asyncio.run(together())}
    assert bodies == {call(app, "GET", path, token=reader).body}
    assert computed == [("mode", "csv", 1)]
    assert call(app, "GET", "/v1/estimates/mode.json?round=1", token=reader).body not in bodies
    assert computed == [("mode", "csv", 1), ("mode", "json", 1)]
    assert call(app, "GET", "/v1/estimates/late.json", token=reader).code == "no_estimate"
    store.add(packed(commute, make_reports(commute, 60)), {})
    assert call(app, "GET", "/v1/estimates/late.json", token=reader).status == 200
    assert computed[2:] == [("late", "json", ROUNDS)] * 2


def test_results_that_are_kept_have_few_bytes_together(
    app: Collector, reader: str, computed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest goes first."""
    one, two = "/v1/estimates/mode.json?round=1", "/v1/estimates/late.json?round=1"
    monkeypatch.setattr(live, "RESULT_BYTES", len(call(app, "GET", one, token=reader).body))
    for path in (one, two, one):
        assert call(app, "GET", path, token=reader).status == 200
    assert [question for question, *_ in computed] == ["mode", "late", "mode"]
    assert sum(map(len, app._live._results.values())) <= live.RESULT_BYTES


async def abandon(app: Collector, reader: str, asked: int) -> Answer:
    """Ask for that many different results while another is computed, leave, and let the next reader ask."""
    async with Held(app):
        for path in itertools.islice(everything_there_is(), 1, asked + 1):
            leave = asyncio.Event()
            request = asks(app, reader, path, leave)
            await until(lambda: waiting(app) > 1)
            leave.set()
            await request
        following = asks(app, reader, "/v1/estimates/mode.json?round=1")
        await until(lambda: waiting(app) > 1)
    return await following


def test_requests_whose_clients_have_gone_cost_nothing(app: Collector, reader: str, computed: list[Any]) -> None:
    answer = asyncio.run(asyncio.wait_for(abandon(app, reader, 200), 60))
    assert answer.status == 200
    assert computed == [("mode", "json", 1)]


def test_a_queue_that_serves_those_who_have_gone_would_be_noticed(
    app: Collector, reader: str, computed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:

    class Stubborn(result_queue._Computation):
        has_begun = property(lambda _: True, lambda *_: None)

    monkeypatch.setattr(result_queue, "_Computation", Stubborn)
    asyncio.run(asyncio.wait_for(abandon(app, reader, 8), 60))
    assert len(computed) > 2


def test_what_others_wait_for_is_computed_although_one_has_gone(
    app: Collector, reader: str, computed: list[Any]
) -> None:
    async def two() -> Answer:
        leave, path = asyncio.Event(), "/v1/estimates/mode.json?round=1"
        async with Held(app):
            gone, stays = asks(app, reader, path, leave), asks(app, reader, path)
            await until(lambda: any(each.readers == 2 for each in app._live.queue._queue.values()))
            leave.set()
            assert (await gone).code == "bad_request"
        return await stays

    assert asyncio.run(asyncio.wait_for(two(), 60)).status == 200
    assert len(computed) == 1


def test_beyond_the_queue_readers_are_told_when_to_ask_again(
    app: Collector, reader: str, computed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who found a place, and those who ask for the same, get their results."""
    monkeypatch.setattr(result_queue, "MOST_WAITING", 16)
    paths = [*itertools.islice((path for path in everything_there_is() if path.endswith("=1")), 8)]
    paths += [f"/v1/groups/{name}.{kind}?round=1" for name in ("mode", "late") for kind in ("json", "html")]
    paths += [f"/v1/overview?round={number}" for number in range(1, 5)]
    assert len(paths) == result_queue.MOST_WAITING

    async def flood() -> tuple[list[Answer], Answer]:
        async with Held(app):
            served = [asks(app, reader, path) for path in (*paths, paths[0])]
            await until(lambda: waiting(app) == 1 + len(paths))
            refused = await asks(app, reader, "/v1/estimates/mode.json?round=2")
        return await asyncio.gather(*served), refused

    served, refused = asyncio.run(asyncio.wait_for(flood(), 60))
    assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "overloaded", "2")
    assert {answer.status for answer in served} == {200}
    assert len(computed) == 8
    assert call(app, "GET", "/v1/estimates/mode.json?round=2", token=reader).code == "no_estimate"


def test_a_result_that_fails_is_told_to_all_who_wait_and_tried_again(
    app: Collector, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def three() -> list[Answer]:
        return await asyncio.gather(*(asks(app, reader, "/v1/estimates/mode.json?round=1") for _ in range(3)))

    with monkeypatch.context() as patched:
        patched.setattr("pldp.collector.app.encoded", lambda *_: 1 / 0)
        assert [answer.code for answer in asyncio.run(three())] == ["internal"] * 3
    assert [answer.status for answer in asyncio.run(three())] == [200] * 3


class Ticks:
    """Seconds that a test lets pass, and processor time: each computation takes `cost` seconds."""

    def __init__(self, cost: float) -> None:
        self.now = 0.0
        self._cost = cost
        self._spent = 0.0

    def clock(self) -> float:
        return self.now

    def work(self) -> float:
        self._spent += self._cost
        return self._spent


def visit(app: Collector, ticks: Ticks, seconds: int, public_from: int = 2) -> list[Answer]:
    """Look at one older round after the other without a token, each second at another one."""
    answers = []
    for second in range(seconds):
        ticks.now += 1
        number = public_from + second % (ROUNDS - public_from)
        answers.append(call(app, "GET", f"/results?round={number}"))
    return answers


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rounds whose overviews were computed."""
    from pldp.collector import answers  # noqa: PLC0415 - what is patched

    numbers: list[int] = []
    overview = answers.overview
    monkeypatch.setattr(answers, "overview", lambda *what: numbers.append(what[1]) or overview(*what))
    return numbers


def public(commute: Survey, store: Store, path: Path, ticks: Ticks) -> Collector:
    settings = Settings(rate_limit=0, result_step=5, public="mode")
    app = Collector(commute, store, Tokens(path), settings, clock=ticks.clock)
    app._live._work = ticks.work
    return app


def test_older_rounds_take_a_tenth_of_the_time_from_readers_without_a_token(
    tmp_path: Path, commute: Survey, store: Store, made: list[int]
) -> None:
    """Also beyond those that are kept; others are told when to ask again, and the latest round is always there."""
    ticks, seconds = Ticks(cost=0.5), 100
    app = public(commute, store, tmp_path / "reports.db", ticks)
    assert call(app, "GET", "/results").status == 200
    made.clear()
    answers = visit(app, ticks, seconds)
    assert len(made) * 0.5 <= seconds * live.SHARE
    assert {answer.status for answer in answers} == {200, 503}
    refused = [answer for answer in answers if answer.status == 503]
    assert {answer.code for answer in refused} == {"overloaded"}
    assert {int(answer.headers["retry-after"]) for answer in refused} <= set(range(1, 6))
    assert call(app, "GET", "/results").status == 200


def test_rounds_that_are_computed_for_everybody_who_asks_would_be_noticed(
    tmp_path: Path, commute: Survey, store: Store, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.Live, "_may_make", lambda *_: True)
    ticks, seconds = Ticks(cost=0.5), 30
    visit(public(commute, store, tmp_path / "reports.db", ticks), ticks, seconds)
    assert len(made) * 0.5 > seconds * live.SHARE


def test_a_reader_with_a_token_is_not_held_up_by_those_without(
    tmp_path: Path, commute: Survey, store: Store, reader: str, made: list[int]
) -> None:
    ticks = Ticks(cost=0.5)
    app = public(commute, store, tmp_path / "reports.db", ticks)
    assert [answer.status for answer in visit(app, ticks, 2)] == [200, 503]
    assert call(app, "GET", "/v1/overview?round=3", token=reader).json["round"] == 3
    assert call(app, "GET", "/results?round=3").status == 200  # what is there is shown to everybody
    assert made == [2, 3]
    assert call(app, "GET", f"/results?round={ROUNDS + 1}").code == "not_found"


@pytest.mark.skipif(not LONG, reason="a matter of seconds; the short form counts computations")
def test_after_200_abandoned_requests_the_next_reader_waits_for_two_estimates_at_most(tmp_path: Path) -> None:
    survey = Survey.load("examples/shopping.toml")
    with local(tmp_path, survey, result_step=5) as server, ExitStack() as opened:
        store, names = server.store, [question.name for question in survey.questions]
        people = simulate_reports(survey, Population.of_shares(survey, 60 * 24, seed=1), seed=1)
        rows = packed(survey, [report for batch in people for report in from_batch(survey, batch)])
        for number in range(24):
            store.add(rows[60 * number : 60 * (number + 1)], {})
            store.close_round()
            store.open_round()
        token = Tokens(server.database).create("reader", "read")
        connection = opened.enter_context(closing(server.connect()))

        def ask(path: str) -> float:
            start = time.perf_counter()
            connection.request("GET", path, headers={"authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, path
            return time.perf_counter() - start

        ask(f"/v1/estimates/{names[0]}.json?round=1")  # loads what estimates need
        alone = max(ask(f"/v1/estimates/{name}.json?round=2") for name in names)
        host, port = server.url.removeprefix("http://").split(":")
        paths = itertools.product(range(3, 24), FORMATS, names)
        sent = []
        for number, kind, name in itertools.islice(paths, 200):
            sent.append(opened.enter_context(closing(socket.create_connection((host, int(port))))))
            head = f"GET /v1/estimates/{name}.{kind}?round={number} HTTP/1.1\r\nhost: localhost\r\n"
            sent[-1].sendall(f"{head}authorization: Bearer {token}\r\n\r\n".encode())
        for each in sent:
            each.close()
        waited = ask(f"/v1/estimates/{names[0]}.json?round=24")
        sys.stdout.write(f"200 abandoned: the next reader waited {waited:.2f} s; an estimate takes {alone:.2f} s\n")
        assert waited <= 2 * alone
