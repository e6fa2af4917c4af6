"""Tokens expire, tell the day of their last use, and what is done with them is written down; warnings at the start."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import enumerate as threads

import pytest

from helpers.collector.client import JSON, call
from helpers.collector.places import query
from helpers.collector.senders import make_reports
from pldp.cli import main
from pldp.collector import Collector, Settings, Store, Tokens, acts_at, open_database, warnings
from pldp.collector.tokens import USE_THREAD
from pldp.errors import UsageError
from pldp.survey import Survey, loads

DAY = 86_400.0
START = 20_000 * DAY  # 2024-10-04
Open = Callable[[], Store]


class Clock:
    """Tells the time that a test sets."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(where: str | Path, clock: Clock) -> Tokens:
    return Tokens(where, clock=clock)


def wait_for_notes() -> None:
    for thread in threads():
        if thread.name == USE_THREAD:
            thread.join(30)


def used(tokens: Tokens) -> dict[str, str | None]:
    wait_for_notes()
    return {each.name: each.used for each in tokens.all()}


def test_a_token_works_to_the_end_of_its_last_day(tokens: Tokens, clock: Clock) -> None:
    token, lasting = tokens.create("ana", "read", days=2), tokens.create("ben", "read")
    for later, works in ((0, True), (3 * DAY - 1, True), (3 * DAY, False), (900 * DAY, False)):
        clock.now = START + later
        assert (tokens.scope(token) == "read") is works
        assert tokens.scope(lasting) == "read"
    wait_for_notes()


def test_rotating_renews_for_as_long_as_before_or_as_said(tokens: Tokens, clock: Clock) -> None:
    first = tokens.create("ana", "read", days=2)
    clock.now += DAY
    second = tokens.rotate("ana")
    assert (tokens.all()[0].made, tokens.all()[0].expires) == ("2024-10-05", "2024-10-07")
    clock.now += 2 * DAY
    assert (tokens.scope(first), tokens.scope(second)) == (None, "read")
    clock.now += DAY
    assert tokens.scope(second) is None
    third = tokens.rotate("ana", days=9)
    assert (tokens.scope(second), tokens.scope(third)) == (None, "read")
    assert tokens.all()[0].expires == "2024-10-17"
    wait_for_notes()


def test_days_must_make_sense(tokens: Tokens) -> None:
    for days in (0, -1, 40_000):
        with pytest.raises(UsageError, match="days must be a whole number from 1 to 36,500"):
            tokens.create("ana", "read", days=days)
    assert tokens.all() == []


def test_an_expired_token_is_named_as_such(store: Store, tokens: Tokens, clock: Clock, commute: Survey) -> None:
    app = Collector(commute, store, tokens, Settings(rate_limit=0))
    token = tokens.create("ana", "read", days=1)
    assert call(app, "GET", "/metrics", token=token).status == 200
    clock.now += 2 * DAY
    expired, unknown = (call(app, "GET", "/metrics", token=each) for each in (token, "guess"))
    assert (expired.status, expired.code, unknown.status, unknown.code) == (401, "bad_token", 401, "bad_token")
    assert expired.json["detail"] == "the token has expired; ask for a new one"
    assert "detail" not in unknown.json
    wait_for_notes()


def test_the_day_of_the_last_use_is_kept_but_not_of_uploads(
    store: Store, tokens: Tokens, clock: Clock, commute: Survey
) -> None:
    app = Collector(commute, store, tokens, Settings(rate_limit=0, uploads="token"))
    reader, uploader = tokens.create("reader", "read"), tokens.create("app", "upload")
    assert used(tokens) == {"app": None, "reader": None}
    report = make_reports(commute, 1)[0].to_json().encode()
    assert call(app, "POST", "/v1/reports", report, JSON, uploader).status == 200
    assert call(app, "GET", "/metrics", token=reader).status == 200
    assert used(tokens) == {"app": None, "reader": "2024-10-04"}
    clock.now += 3 * DAY
    assert call(app, "GET", "/metrics", token=reader).status == 200
    assert used(tokens) == {"app": None, "reader": "2024-10-07"}


def test_a_use_is_written_once_a_day(tokens: Tokens, where: str | Path, clock: Clock) -> None:
    token = tokens.create("ana", "read")
    for day in range(2):
        clock.now = START + day * DAY
        tokens.scope(token)
        wait_for_notes()
        query(where, "UPDATE tokens SET used = '2000-01-01'")
        for _ in range(5):
            tokens.scope(token)
        assert used(tokens) == {"ana": "2000-01-01"}


def test_a_request_does_not_wait_for_a_store_that_is_busy(tmp_path: Path, clock: Clock) -> None:
    """The token is found while another connection holds the lock of the file; nothing is written before it lets go."""
    database = open_database(tmp_path / "reports.db")
    tokens = Tokens(database, clock=clock)
    token = tokens.create("ana", "read")
    with closing(database.connect()) as other:
        other.execute(database.begin_write)
        assert tokens.scope(token) == "read"
        assert [each.used for each in tokens.all()] == [None]
        other.execute("ROLLBACK")
    assert used(tokens) == {"ana": "2024-10-04"}


def test_a_use_that_cannot_be_written_is_skipped(tmp_path: Path, clock: Clock, monkeypatch) -> None:
    database = open_database(tmp_path / "reports.db")
    tokens = Tokens(database, clock=clock)
    token = tokens.create("ana", "read")
    assert tokens.scope("guess") is None  # from now on its connection for reading is open
    query(tmp_path / "reports.db", "CREATE TRIGGER refuse BEFORE UPDATE ON tokens BEGIN SELECT RAISE(FAIL, 'no'); END")
    for _ in range(3):
        assert tokens.scope(token) == "read"
    assert used(tokens) == {"ana": None}


def test_acts_are_written_down_without_people(open_store: Open, tokens: Tokens, where: str | Path) -> None:
    store = open_store()
    tokens.create("cron", "admin")
    tokens.create("app", "upload")
    tokens.enrol(["ana", "ben"], 4_000_000)
    for name in ("cron", "ana"):
        tokens.rotate(name)
        tokens.revoke(name)
    store.close_round("cron")
    store.close_round("cron")
    store.open_round()
    store.open_round()
    found = acts_at(where)
    assert [each.act for each in found] == [
        "token cron (admin) made",
        "upload token made",
        "people enrolled: 2",
        "token cron (admin) rotated",
        "token cron (admin) revoked",
        "upload token rotated",
        "upload token revoked",
        "round 1 closed",
        "round 2 opened",
    ]
    assert [each.who for each in found] == ["command line"] * 7 + ["cron", "command line"]
    assert {each.hour for each in found[:7]} == {"2024-10-04T00:00Z"}
    assert {each.hour[13:] for each in found} == {":00Z"}


def test_an_act_that_fails_is_not_written_down(tokens: Tokens, where: str | Path) -> None:
    tokens.create("ana", "read")
    for wrong in (lambda: tokens.create("ana", "read"), lambda: tokens.enrol(["new", "ana"], 5)):
        with pytest.raises(UsageError, match="exists"):
            wrong()
    for wrong in (tokens.rotate, tokens.revoke):
        with pytest.raises(UsageError, match="there is no token named 'x'"):
            wrong("x")
    assert len(acts_at(where)) == 1


def test_the_log_names_the_token_that_ran_a_round(store: Store, tokens: Tokens, where: str, commute: Survey) -> None:
    app = Collector(commute, store, tokens, Settings(rate_limit=0))
    boss = tokens.create("boss", "admin")
    for path in ("close", "open"):
        assert call(app, "POST", f"/v1/rounds/{path}", token=boss).status == 200
    assert [(each.act, each.who) for each in acts_at(where)[1:]] == [
        ("round 1 closed", "boss"),
        ("round 2 opened", "boss"),
    ]
    wait_for_notes()


def test_the_command_lists_tokens_and_acts(tmp_path: Path, commute: Survey, capsys) -> None:
    path, copy = tmp_path / "reports.db", tmp_path / "copy.db"
    Store(commute, path).close()
    database = ["--database", str(path)]
    assert main(["store", "token", "ana", "--days", "3", *database]) == 0
    assert main(["store", "token", "app", "--scope", "upload", *database]) == 0
    query(path, "UPDATE tokens SET expires = '2000-01-01' WHERE name = 'ana'")
    assert main(["store", "backup", str(copy), *database]) == 0
    assert main(["store", "restore", str(copy), "--database", str(tmp_path / "new.db")]) == 0
    capsys.readouterr()
    assert main(["store", "tokens", *database, "--json", "-"]) == 0
    first, second = json.loads(capsys.readouterr().out)["tokens"]
    assert (first["name"], first["expires"], first["expired"]) == ("ana", "2000-01-01", True)
    assert (second["name"], second["expires"], second["expired"]) == ("app", None, False)
    assert main(["store", "tokens", *database]) == 0
    shown = capsys.readouterr().out
    assert "2000-01-01 (expired)" in shown
    assert "not kept" in shown
    for where, last in ((path, "backup made"), (tmp_path / "new.db", "restored from a backup")):
        assert main(["store", "log", "--database", str(where), "--json", "-"]) == 0
        acts = json.loads(capsys.readouterr().out)["acts"]
        assert [each["act"] for each in acts] == ["token ana (read) made", "upload token made", last]
        assert main(["store", "log", "--database", str(where)]) == 0
        assert last in capsys.readouterr().out


def test_enrolling_says_how_many_reports_a_budget_allows(tmp_path: Path, commute: Survey, capsys) -> None:
    path = tmp_path / "reports.db"
    enrol = ["store", "enrol", "--database", str(path)]
    assert main([*enrol, "early", "--budget", "1"]) == 0
    assert "its survey is unknown" in capsys.readouterr().err
    Store(commute, path).close()
    for budget, words in (("9", "each may send 2 reports, at epsilon = 4"), ("400", "each may send 100 reports")):
        assert main([*enrol, f"p{budget}", "--budget", budget]) == 0
        assert words in capsys.readouterr().err
    assert main([*enrol, "ana", "--budget", "3.999999"]) == 2
    assert "budget must allow one report, which costs up to epsilon = 4, not 3.999999" in capsys.readouterr().err
    assert [each.name for each in Tokens(path).all()] == ["early", "p400", "p9"]


def test_enrolled_people_get_links_and_a_new_database_is_said(tmp_path: Path, commute: Survey, capsys) -> None:
    path = tmp_path / "reports.db"
    token = ["store", "token", "ana", "--database", str(path)]
    assert main(token) == 0
    assert f"pldp serve SURVEY --database {path}" in capsys.readouterr().err
    Store(commute, path).close()
    enrol = ["store", "enrol", "ben", "--budget", "4", "--database", str(path), "--link"]
    for address in ("survey.example.org", "http://survey.example.org/", "http://localhost:8300"):
        assert main([*enrol, address]) == 2
        assert "--link must be the address of the survey page and begin with https://" in capsys.readouterr().err
    assert main([*enrol, "https://survey.example.org/"]) == 0
    told = capsys.readouterr()
    assert "new database" not in told.err
    head, row = told.out.splitlines()
    name, made, link = row.split(",")
    assert (head, name, link) == ("name,token,link", "ben", f"https://survey.example.org/#{made}")


@pytest.fixture
def safe(tmp_path: Path, commute: Survey) -> tuple[Survey, Settings, Tokens]:
    """A collector that nothing is wrong with."""
    settings = Settings(database=str(tmp_path / "my reports.db"), uploads="token", hosts="survey.example.org")
    tokens = Tokens(settings.database)
    tokens.create("ana", "read")
    return replace(commute, signer="key"), settings, tokens


def test_a_safe_collector_gets_no_warning(safe: tuple[Survey, Settings, Tokens]) -> None:
    assert warnings(*safe) == []


@pytest.mark.parametrize(
    ("host", "proxy", "warned"),
    [
        ("0.0.0.0", "", True),  # noqa: S104 - nothing listens there
        ("", "", True),
        ("192.0.2.7", "", True),
        ("::", "", True),
        ("example.org", "", True),
        ("192.0.2.7", "192.0.2.1", False),
        ("127.0.0.1", "", False),
        ("127.9.9.9", "", False),
        ("::1", "", False),
        ("localhost", "", False),
    ],
)
def test_a_public_address_without_tls_is_warned_of(
    safe: tuple[Survey, Settings, Tokens], host: str, proxy: str, warned: bool
) -> None:
    survey, settings, tokens = safe
    found = warnings(survey, replace(settings, host=host, trusted_proxy=proxy), tokens)
    assert ["without TLS" in line for line in found] == [True] * warned


def test_a_proxy_without_a_name_is_warned_of(safe: tuple[Survey, Settings, Tokens]) -> None:
    """On loopback without a proxy only this machine's own names are served."""
    survey, settings, tokens = safe
    (line,) = warnings(survey, replace(settings, hosts="", trusted_proxy="127.0.0.1"), tokens)
    assert line.startswith("warning: any name in the header Host is served")
    assert warnings(survey, replace(settings, hosts=""), tokens) == []


def test_a_level_whose_name_promises_too_much_is_warned_of(safe: tuple[Survey, Settings, Tokens]) -> None:
    _, settings, tokens = safe
    for epsilon, warned in ((20, True), (1, False)):
        survey = loads(f'pldp=1\ntitle="t"\nlevels={{strict={epsilon}}}\nquestions=[{{name="q",values=["x","y"]}}]')
        found = warnings(replace(survey, signer="key"), settings, tokens)
        assert ["strict" in line for line in found] == [True] * warned


def test_an_unsigned_survey_is_warned_of(safe: tuple[Survey, Settings, Tokens]) -> None:
    survey, settings, tokens = safe
    (line,) = warnings(replace(survey, signer=""), settings, tokens)
    assert line.startswith("warning: the survey is not signed")


def test_open_uploads_are_noted(safe: tuple[Survey, Settings, Tokens]) -> None:
    survey, settings, tokens = safe
    (line,) = warnings(survey, replace(settings, uploads="open"), tokens)
    assert line.startswith("note: anybody can send any number of reports")
    assert warnings(survey, replace(settings, uploads="ledger"), tokens) == []


def test_a_store_that_nobody_can_read_is_warned_of_with_the_command(safe: tuple[Survey, Settings, Tokens]) -> None:
    survey, settings, tokens = safe
    tokens.revoke("ana")
    tokens.create("app", "upload")
    tokens.create("late", "admin", days=1)
    assert warnings(survey, settings, tokens) == []
    query(settings.database, "UPDATE tokens SET expires = '2000-01-01' WHERE name = 'late'")
    (line,) = warnings(survey, settings, tokens)
    assert line.endswith(f"make one: pldp store token NAME --database '{settings.database}'")
    (line,) = warnings(survey, replace(settings, database="reports.db"), tokens)
    assert line.endswith(f"make one: pldp store token NAME --database {Path('reports.db').absolute()}")
    (line,) = warnings(survey, replace(settings, database="postgresql://pldp:secret@db/pldp"), tokens)
    assert "secret" not in line
    assert "PLDP_DATABASE" in line
