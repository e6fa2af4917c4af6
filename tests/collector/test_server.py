"""A real collector in its own process: one command, faults of all kinds, nothing acknowledged is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.collector.senders import make_reports
from helpers.collector.servers import SURVEY, Server, local, report_line, running, stored_ids
from pldp.cli import main
from pldp.collector import Sender, Settings
from pldp.errors import ReportError, UsageError
from pldp.reports import body_length
from pldp.survey import Survey
from pldp.tallies import tally

ROOT = Path(__file__).parent.parent.parent
ONE = {"content-type": "application/json"}
MANY = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A collector for claims that no other claim can spoil: starting one takes longer than most of them."""
    with running(tmp_path_factory.mktemp("collector"), survey=str(ROOT / SURVEY)) as server:
        yield server


def test_headers_that_never_end_are_ended(tmp_path: Path, commute: Survey) -> None:
    with local(tmp_path, commute, body_seconds=1) as server:
        address = server.url.removeprefix("http://").split(":")
        begun = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
        sockets = [socket.create_connection(address, timeout=10) for _ in range(3)]
        sockets[1].sendall(begun)
        sockets[2].sendall(begun + b"\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += sockets[2].recv(1 << 16)
        sockets[2].sendall(begun)
        assert [each.recv(1 << 16) for each in sockets] == [b""] * 3
        for each in sockets:
            each.close()


def test_a_client_that_leaves_in_the_middle_is_no_matter(tmp_path: Path, commute: Survey) -> None:
    with running(tmp_path) as server:
        for _ in range(5):
            raw = socket.create_connection(server.url.removeprefix("http://").split(":"))
            raw.sendall(b"POST /v1/reports HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{")
            raw.close()
        connection = server.connect()
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()
        assert server.stop() == 0
    assert server.logged() == ""


def files_with(canary: str, folder: Path, fault: str = "") -> list[str]:
    """Send a canary wherever a client can put words; return the files in which it is found, backup and log included."""
    survey = Survey.load(SURVEY)
    with running(folder, fault=fault) as server:
        connection = server.connect()
        _, line = report_line(survey)
        for body in (line.replace(b'"output":1', b'"output":"%s"' % canary.encode()), canary.encode(), line):
            for kind in (ONE, MANY):
                connection.request("POST", "/v1/reports", body, {**kind, "user-agent": canary, "referer": canary})
                assert canary not in connection.getresponse().read().decode()
        for path in ("/v1/withdraw", f"/v1/estimates/{canary}?{canary}"):
            headers = {**ONE, "authorization": f"Bearer {canary}", "cookie": canary}
            connection.request("POST" if path == "/v1/withdraw" else "GET", path, f'{{"receipt":"{canary}"}}', headers)
            response = connection.getresponse()
            assert response.status in {401, 404}
            assert canary not in response.read().decode()
        connection.close()
        assert main(["store", "backup", str(folder / "copy.db"), "--database", str(server.database)]) == 0
        files = [path for path in folder.iterdir() if path.is_file()]
        assert {"reports.db", "reports.db-wal", "log.txt", "copy.db"} <= {path.name for path in files}
        content = {path.name: path.read_bytes() for path in files}
    assert not [name for name, text in content.items() if b"127.0.0.1" in text]
    return [name for name, text in content.items() if canary.encode() in text]


def test_what_a_person_answers_is_in_no_file(tmp_path: Path) -> None:
    """Not in store, log, backup: neither the words of a rejected report, nor an address, nor a token that is wrong."""
    assert files_with("canary-7f3a", tmp_path) == []


def test_a_collector_that_logs_what_comes_is_found(tmp_path: Path) -> None:
    assert files_with("canary-7f3a", tmp_path, fault="chatty") == ["log.txt"]


@pytest.mark.parametrize("day", ["Thu, 01 Jan 1970 00:00:00 GMT", "Tue, 19 Jan 2038 03:14:08 GMT"])
def test_the_clock_of_a_device_is_no_matter(server: Server, commute: Survey, day: str) -> None:
    """Reports have no time: one that brings its own is malformed, and what a header says of the time is not read."""
    with closing(server.connect()) as connection:
        _, line = report_line(commute)
        connection.request("POST", "/v1/reports", line, {**ONE, "date": day, "if-modified-since": day})
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["outcome"]) == (200, "accepted")
        for time_of in (b"0", b"2147483648", b'"%s"' % day.encode()):
            connection.request("POST", "/v1/reports", line.replace(b'"pldp":1', b'"time":%s,"pldp":1' % time_of), ONE)
            response = connection.getresponse()
            assert (response.status, json.loads(response.read())["code"]) == (422, "malformed")


def test_send_brings_files_to_a_collector_once(tmp_path: Path, commute: Survey, capsys) -> None:
    reports = make_reports(commute, 30)
    lines = tmp_path / "reports.jsonl"
    lines.write_text("\n".join(report.to_json() for report in reports) + "\n{\n")
    assert main(["simulate", SURVEY, "--people", "2500", "--out", str(tmp_path / "made.parquet")]) == 0
    with local(tmp_path, commute) as server:
        for _ in range(2):
            files = [str(lines), str(tmp_path / "made.parquet")]
            capsys.readouterr()
            assert main(["send", *files, "--to", server.url, "--round", "1", "--json", "-"]) == 0
            assert json.loads(capsys.readouterr().out) == {"accepted": 2530, "rejections": {"malformed": 1}}
        assert main(["send", str(lines), "--to", server.url]) == 0
        assert main(["send", str(tmp_path / "none.jsonl"), "--to", server.url]) == 2
        made = tally(commute, tmp_path / "made.parquet") + tally(commute, reports)
        assert replace(server.store.tally(), rejections={}) == made
        assert made.reports == 2530


def test_simulated_people_send_to_a_collector(tmp_path: Path, commute: Survey, capsys) -> None:
    with local(tmp_path, commute) as server:
        send = ["simulate", SURVEY, "--people", "1500", "--to", f"{server.url}/", "--json"]
        capsys.readouterr()
        for _ in range(2):
            assert main([*send, "-"]) == 0
            shown = json.loads(capsys.readouterr().out)
            assert (shown["reports"], shown["accepted"], shown["rejections"]) == (1500, 1500, {})
            assert shown["reports_per_second"] == pytest.approx(1500 / shown["seconds"])
            assert [question["name"] for question in shown["questions"]] == ["mode", "late"]
        assert main([*send, str(tmp_path / "sent.json")]) == 0
        assert re.search(r"1,500 reports accepted in \d+\.\d s \([\d,]+/s\)", capsys.readouterr().out)
        for survey, address, words in (
            ("examples/health.toml", server.url, "collects another survey, or another version of it"),
            (SURVEY, f"{server.url}/elsewhere", "status 404"),
            (SURVEY, "nowhere", "must look like https://example.org"),
        ):
            assert main(["simulate", survey, "--people", "5", "--to", address]) == 2
            assert words in capsys.readouterr().err
        assert server.store.tally().reports == 4500


def test_the_sender_tries_again_and_gives_up_with_one_line(monkeypatch) -> None:
    waits: list[float] = []
    sender = Sender("http://127.0.0.1:1", wait=waits.append)
    with pytest.raises(ReportError, match="does not answer after 8 tries"):
        list(sender.send([b"{}"]))
    assert len(waits) == 8
    assert waits[-1] > waits[0]
    with pytest.raises(UsageError, match="address of a collector"):
        Sender("ftp://example.org")


def test_every_line_of_the_sender_has_one_length(server: Server, commute: Survey, monkeypatch) -> None:
    """Also of lines with more spaces than any report needs; what no report can be is not sent at all."""
    bodies: list[bytes] = []
    ask = Sender._request

    def request(self: Sender, method: str, path: str, body: bytes) -> object:
        bodies.append(body)
        return ask(self, method, path, body)

    monkeypatch.setattr(Sender, "_request", request)
    made = make_reports(commute, 7)
    plain = [made[0].to_json(), made[1].to_json().encode(), made[2].to_json().replace(",", "," + " " * 100)]
    other = plain[2].replace(commute.hash, "0" * 64)
    too_long = [other, other + "x"]
    with closing(Sender(server.url)) as sender:
        monkeypatch.setattr("pldp.collector.sender.BATCH_BYTES", 3 * body_length(commute))
        assert set(sender.send([*plain, *too_long, *made[3:], "{}"])) == {report.id for report in made}
    assert sender.rejections == {"malformed": 2, "wrong_survey": 1}
    survey, *batches = bodies
    assert not survey
    assert [len(batch.split(b"\n")) for batch in batches] == [3, 3, 2]
    assert {len(line) for batch in batches for line in batch.split(b"\n")} == {body_length(commute)}


@pytest.mark.parametrize("content", [b"<p>", b"[]", b"{}", b"\xff"])
def test_the_sender_says_so_where_there_is_no_survey(content: bytes, monkeypatch) -> None:
    monkeypatch.setattr(Sender, "_ask", lambda *_: content)
    with pytest.raises(ReportError, match="gives no survey that can be read; is it a collector"):
        list(Sender("http://127.0.0.1:1").send([b"{}"]))


def test_the_sender_does_not_repeat_what_is_refused_for_good(tmp_path: Path, commute: Survey) -> None:
    with local(tmp_path, commute, body_bytes=10) as server:
        sender = Sender(server.url, wait=lambda _: None)
        with pytest.raises(ReportError, match="does not take the reports \\(status 413\\)"):
            list(sender.send([b"{}" * 100]))
        sender.close()


def test_the_owner_makes_tokens_and_backups_while_it_runs(tmp_path: Path, commute: Survey, capsys) -> None:
    with running(tmp_path, "--result-step", "1") as server:
        database = ["--database", str(server.database)]
        capsys.readouterr()
        assert main(["store", "token", "ana", *database]) == 0
        token = capsys.readouterr().out.strip()
        connection = server.connect()
        connection.request("POST", "/v1/reports", report_line(commute)[1], ONE)
        assert connection.getresponse().read()
        connection.request("GET", "/metrics", headers={"authorization": f"Bearer {token}"})
        assert b'pldp_reports{round="1"} 1' in connection.getresponse().read()
        assert main(["store", "rotate", "ana", *database]) == 0
        assert main(["store", "revoke", "ana", *database]) == 0
        connection.request("GET", "/metrics", headers={"authorization": f"Bearer {token}"})
        assert connection.getresponse().status == 401
        connection.close()
        assert main(["store", "backup", str(tmp_path / "copy.db"), *database]) == 0
        assert main(["serve", SURVEY, *database]) == 2
        assert "in use by another collector" in capsys.readouterr().err
    assert sum(stored_ids(tmp_path / "copy.db", commute).values()) == 1


def test_enrolled_people_send_within_their_budgets(tmp_path: Path, commute: Survey, capsys, monkeypatch) -> None:
    people, made = tmp_path / "people.txt", tmp_path / "made.parquet"
    people.write_text("ben\ncleo\n")
    assert main(["simulate", SURVEY, "--people", "20", "--level-mix", "strict=1", "--out", str(made)]) == 0
    with local(tmp_path, commute, uploads="ledger") as server:
        enrol = ["store", "enrol", "--budget", "16", "--database", str(server.database)]
        capsys.readouterr()
        assert main([*enrol, "ana", "--names", str(people)]) == 0
        head, *rows = (line.split(",") for line in capsys.readouterr().out.splitlines())
        assert (head, [name for name, _ in rows]) == (["name", "token"], ["ana", "ben", "cleo"])
        send = ["send", str(made), "--to", server.url, "--json", "-"]
        assert main(send) == 2
        assert "does not take the reports (status 401)" in capsys.readouterr().err
        for token, outcome in ((rows[0][1], {"accepted": 4, "rejections": {"over_budget": 16}}),) * 2:
            monkeypatch.setenv("PLDP_TOKEN", token)
            assert main(send) == 0
            assert json.loads(capsys.readouterr().out) == outcome
        for wrong, words in (
            ([*enrol, "ana"], "a token named 'ana' exists"),
            (enrol, "name someone to enrol"),
            ([*enrol[:3], "0", "dora"], "epsilon must be a number above 0"),
            ([*enrol, "--names", str(tmp_path / "none.txt")], "none.txt: No such file"),
        ):
            assert main([*wrong, "--database", str(server.database)]) == 2
            assert words in capsys.readouterr().err
        monkeypatch.setenv("PLDP_TOKEN", "two words")
        assert main(send) == 2
        assert "token must be one word" in capsys.readouterr().err


def test_a_port_that_is_taken_gets_one_line(tmp_path: Path, capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", SURVEY, "--port", port, "--database", str(tmp_path / "reports.db")]) == 2
    assert "cannot listen there" in capsys.readouterr().err


def test_two_collectors_never_share_a_port(tmp_path: Path, server: Server, capsys) -> None:
    """The HTTP server would let them: the second would get part of the first one's reports."""
    port = server.url.rpartition(":")[2]
    assert main(["serve", str(ROOT / SURVEY), "--port", port, "--database", str(tmp_path / "second.db")]) == 2
    assert "cannot listen there" in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_well_with_a_request_under_way(tmp_path: Path, commute: Survey, how: int) -> None:
    identity, line = report_line(commute)
    head = "POST /v1/reports HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json"
    with running(tmp_path) as server:
        address = server.url.removeprefix("http://").split(":")
        with closing(socket.create_connection(address, timeout=10)) as under_way:
            under_way.sendall(f"{head}\r\ncontent-length: {len(line)}\r\n\r\n".encode() + line[:-1])
            with closing(socket.create_connection(address, timeout=10)) as idle:
                # An answer shows that both are accepted: who still waits for that is sent away, not let to the end.
                idle.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                answer = idle.recv(1 << 16)
                while answer.endswith(b"\r\n\r\n"):  # the body is on its way
                    answer += idle.recv(1 << 16)
                assert answer.startswith(b"HTTP/1.1 200")
                server.process.send_signal(how)
                assert idle.recv(1) == b""  # no more requests are taken …
            under_way.sendall(line[-1:])
            assert under_way.recv(1 << 16).startswith(b"HTTP/1.1 200")  # … but this one is
        assert server.wait() == 0
    assert server.logged() == ""
    assert stored_ids(server.database, commute) == {identity: 1}


def test_it_is_one_process_and_a_kill_leaves_nothing_behind(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        parents = [path.read_text().rpartition(")")[2].split()[1] for path in Path("/proc").glob("[0-9]*/stat")]
        assert (str(os.getpid()) in parents, str(server.process.pid) in parents) == (True, False)
        server.kill()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(server.url.removeprefix("http://").split(":"))


def test_flags_come_before_environment_before_file(tmp_path: Path) -> None:
    file = tmp_path / "collector.toml"
    file.write_text('port = 1\nhost = "::1"\nrate_limit = 7\n')
    environment = {"PLDP_PORT": "2", "PLDP_RATE_LIMIT": "8"}
    read = Settings.read({"port": "3", "host": None}, environment, file)
    assert (read.port, read.rate_limit, read.host, read.database) == (3, 8, "::1", "reports.db")


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("prt = 1", "'prt' is not a setting"),
        ("port = true", "port must be a whole number of at least 0"),
        ("body_bytes = 0", "body_bytes must be a whole number of at least 1"),
        ("host = 1", "host must be text"),
        ("port", "not valid TOML"),
    ],
)
def test_a_wrong_setting_gets_one_line(tmp_path: Path, content: str, rule: str) -> None:
    file = tmp_path / "collector.toml"
    file.write_text(content)
    with pytest.raises(UsageError, match=rule):
        Settings.read({}, {}, file)


def test_the_environment_reaches_the_command(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PLDP_BODY_BYTES", "10")
    assert Settings.read({}).body_bytes == 10
    assert os.environ["PLDP_BODY_BYTES"] == "10"
