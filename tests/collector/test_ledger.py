"""Enrolment: every person spends at most the budget, however many try at once, and no report tells whose it is."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import psycopg
import pytest

from helpers.collector.client import JSON, LINES, call, lines, send
from helpers.collector.faults import FaultyDatabase, failing
from helpers.collector.places import query
from helpers.collector.race import check_then_update, conditional, spend_at_once, spend_in_processes
from helpers.collector.senders import packed, receipt_of, remember
from pldp.budgets import micro_epsilon
from pldp.collector import Collector, Settings, Store, Tokens, open_database
from pldp.collector import ledger as ledger_module
from pldp.collector.ledger import Ledger
from pldp.collector.tokens import token_hash
from pldp.device import Device
from pldp.errors import AnswerError, BudgetError, StoreError, StoreFullError, UsageError
from pldp.reports import Rejection, Report
from pldp.survey import Survey, dearest_report, loads, report_price
from pldp.tallies import tally

Open = Callable[[], Store]
OVER = Rejection.OVER_BUDGET
PRICE = 4_000_000  # of one report to the survey `commute`
LIMITS = Settings(rate_limit=0, uploads="ledger")


@pytest.fixture
def tokens(where: str | Path) -> Tokens:
    return Tokens(where)


def strict_reports(survey: Survey, count: int) -> list:
    """Reports that cost their senders 0.5 each; the collector charges for each the price of the dearest one, 4."""
    devices = [Device(survey) for _ in range(count)]
    return [remember(device, device.answer("mode", "bike", level="strict")) for device in devices]


def spent(tokens: Tokens, token: str) -> int:
    account = tokens.account(token)
    assert account is not None
    return account.spent


def test_a_person_sends_as_much_as_the_budget_allows(store: Store, tokens: Tokens, commute: Survey) -> None:
    ana, ben = tokens.enrol(["ana", "ben"], micro_epsilon(14))
    reports = strict_reports(commute, 8)
    rows = packed(commute, reports)
    payers = [token_hash(ana)] * 4 + [token_hash(ben)] * 4
    assert store.add(rows, {}, payers) == ([None] * 3 + [OVER]) * 2
    assert (spent(tokens, ana), spent(tokens, ben)) == (3 * PRICE, 3 * PRICE)
    assert store.rejections() == {OVER: 2}
    assert store.tally().reports == 6
    assert tally(commute, [*reports[:3], *reports[4:7]]).counts.keys() == store.tally().counts.keys()


def test_who_is_not_enrolled_has_no_budget(store: Store, tokens: Tokens, commute: Survey) -> None:
    token = tokens.create("plain", "upload")
    for known in (token, "guess"):
        assert store.add(packed(commute, strict_reports(commute, 1)), {}, [token_hash(known)]) == [OVER]
        assert tokens.account(known) is None
    assert store.tally().reports == 0


def test_the_same_report_is_charged_once(open_store: Open, tokens: Tokens, commute: Survey) -> None:
    store = open_store()
    ana, ben = tokens.enrol(["ana", "ben"], 2 * PRICE)
    rows = packed(commute, strict_reports(commute, 3))
    assert store.add(rows[:1] * 5, {}, [token_hash(ana)] * 5) == [None] * 5
    for who in (ana, ben, ana):
        store = open_store()
        assert store.add(rows[:1], {}, [token_hash(who)]) == [None]
    assert (spent(tokens, ana), spent(tokens, ben)) == (PRICE, 0)
    assert store.add([rows[1], rows[2], rows[2], rows[0]], {}, [token_hash(ana)] * 4) == [None, OVER, OVER, None]
    assert spent(tokens, ana) == 2 * PRICE


def test_withdrawing_gives_nothing_back(store: Store, tokens: Tokens, commute: Survey) -> None:
    (ana,) = tokens.enrol(["ana"], PRICE)
    rows = packed(commute, strict_reports(commute, 2))
    store.add(rows[:1], {}, [token_hash(ana)])
    assert store.withdraw(receipt_of(rows[0].id))
    assert spent(tokens, ana) == PRICE
    assert store.add(rows, {}, [token_hash(ana)] * 2) == [Rejection.WITHDRAWN, OVER]


def test_tokens_rotate_and_end_but_what_is_spent_stays(store: Store, tokens: Tokens, commute: Survey) -> None:
    (first,) = tokens.enrol(["ana"], 4 * PRICE)
    second = tokens.rotate("ana")
    rows = packed(commute, strict_reports(commute, 9))
    assert store.add(rows[:2], {}, [token_hash(first), token_hash(second)]) == [None, None]
    assert spent(tokens, first) == spent(tokens, second) == 2 * PRICE
    tokens.rotate("ana")
    assert store.add(rows[2:3], {}, [token_hash(first)]) == [OVER]
    tokens.revoke("ana")
    assert store.add(rows[2:3], {}, [token_hash(second)]) == [OVER]
    (third,) = tokens.enrol(["ana"], 9 * PRICE)
    assert tokens.account(third) == (4 * PRICE, 2 * PRICE)
    assert store.add(rows[2:], {}, [token_hash(third)] * 7) == [None] * 2 + [OVER] * 5


def test_enrolment_is_all_or_nothing(tokens: Tokens) -> None:
    tokens.create("taken", "read")
    for names, budget in ((["new", "taken"], 5), (["new", "new"], 5), (["new", "n w"], 5), (["new"], 0)):
        with pytest.raises(UsageError):
            tokens.enrol(names, budget)
        assert [each.name for each in tokens.all()] == ["taken"]
    made = tokens.enrol([f"p{number}" for number in range(300)], 7)
    assert len(set(made)) == 300
    assert {tokens.scope(token) for token in made} == {"upload"}
    assert {tokens.account(token) for token in made} == {(7, 0)}


def ledger_after(folder: Path, survey: Survey, level: str, price: Callable[[Report], int] | None) -> list[tuple]:
    """The ledger once two people have answered at a level, one of them twice; `None`: charged as the store does."""
    folder.mkdir()
    where = folder / "reports.db"
    store, tokens = Store(survey, where), Tokens(where)
    ana, ben = map(token_hash, tokens.enrol(["ana", "ben"], micro_epsilon(20)))
    reports = [Device(survey).answer("mode", "bike", level=level) for _ in range(3)]
    if price is None:
        assert store.add(packed(survey, reports), {}, [ana, ben, ana]) == [None] * 3
    store.close()
    if price is not None:
        with closing(open_database(where).connect()) as connection:
            for report, payer in zip(reports, [ana, ben, ana], strict=True):
                assert Ledger(price(report)).charge(connection, payer)
    return query(where, "SELECT * FROM ledger ORDER BY name")


def test_the_ledger_does_not_tell_which_levels_were_chosen(tmp_path: Path, commute: Survey) -> None:
    found = [ledger_after(tmp_path / each.name, commute, each.name, None) for each in commute.levels]
    assert found == [[("ana", 20_000_000, 8_000_000), ("ben", 20_000_000, 4_000_000)]] * 3


def test_a_ledger_of_what_reports_cost_tells_which_levels_were_chosen(tmp_path: Path, commute: Survey) -> None:
    """The twin: charged by the levels in each report, two such ledgers differ."""

    def by_levels(report: Report) -> int:
        questions = [commute.question(answer.question) for answer in report.answers]
        chosen = zip(questions, report.answers, strict=True)
        return sum(question.charge(question.find_level(answer.level)) for question, answer in chosen)

    found = [ledger_after(tmp_path / each.name, commute, each.name, by_levels) for each in commute.levels]
    assert [[row[2] for row in rows] for rows in found] == [[2 * micro, micro] for micro in (500_000, 10**6, 2 * 10**6)]


def test_sums_of_an_older_version_become_whole_reports(open_store: Open, tokens: Tokens, where: str | Path) -> None:
    open_store()
    made = tokens.enrol(["ana", "ben", "cleo"], micro_epsilon(20))
    query(where, "UPDATE ledger SET spent = 500000 WHERE name = 'ana'")
    query(where, "UPDATE ledger SET spent = 4500000 WHERE name = 'ben'")
    open_store()
    assert [spent(tokens, token) for token in made] == [4_000_000, 8_000_000, 0]


BASE = 'pldp=1\ntitle="t"\nlevels={low=0.5,high=2}\n'
QUESTIONS = 'questions=[{name="q",values=["x","y","z"]},{name="r",values=["x","y"]}]'


@pytest.mark.parametrize(
    ("words", "price"),
    [
        ("", 4_000_000),
        ("total_epsilon=2.5\n", 2_500_000),
        ("total_epsilon=9\n", 4_000_000),
        ("ask=1\n", 2_000_000),
        ("hide_level={epsilon=1}\n", None),
    ],
    ids=["all", "total", "large total", "ask", "hidden"],
)
def test_the_price_is_what_the_dearest_report_costs_its_sender(words: str, price: int | None) -> None:
    survey = loads(BASE + words + QUESTIONS)
    costs = []
    if price is None:  # where levels are hidden, all answers have one
        price = report_price(survey, survey.questions, new_label=True)
    for levels in product(("low", "high"), repeat=2):
        device = Device(survey)
        device.change_cap(level_cap=100)
        chosen = dict(zip(("q", "r"), levels, strict=True))
        with suppress(BudgetError, AnswerError):
            device.answer_all(dict.fromkeys(device.asked, "x"), {name: chosen[name] for name in device.asked})
            costs.append(device.ledger.total)
    assert dearest_report(survey) == max(costs) == price


def test_the_price_of_a_tracked_report_is_that_of_the_dearest_round(tmp_path: Path) -> None:
    survey = Survey.load("examples/panel.toml")
    rounds = [Device(survey, state=tmp_path / "device.json", round=number) for number in (1, 2)]
    for device in rounds:
        device.answer_all({"mode": "bus", "owned": ["car"], "minutes": 30}, "open")
    first, both = rounds[0].ledger.total, rounds[1].ledger.total
    assert dearest_report(survey) == max(first, both - first)


def test_what_cannot_be_stored_is_not_charged(tmp_path: Path, commute: Survey) -> None:
    database = FaultyDatabase(tmp_path / "reports.db")
    store, tokens = Store(commute, database), Tokens(tmp_path / "reports.db")
    (ana,) = tokens.enrol(["ana"], 400 * PRICE)
    rows = packed(commute, strict_reports(commute, 400))
    with database.full(), pytest.raises(StoreFullError):
        store.add(rows, {}, [token_hash(ana)] * 400)
    assert spent(tokens, ana) == 0
    lose_the_answer = failing(sqlite3.OperationalError("lost"), "COMMIT")
    with database.disturbed(after=lose_the_answer), pytest.raises(StoreError, match="lost"):
        store.add(rows, {}, [token_hash(ana)] * 400)
    assert spent(tokens, ana) == 400 * PRICE
    assert store.add(rows, {}, [token_hash(ana)] * 400) == [None] * 400
    assert spent(tokens, ana) == 400 * PRICE
    store.close()


def test_64_who_spend_at_once_get_exactly_what_is_allowed(where: str | Path, tokens: Tokens) -> None:
    (ana,) = tokens.enrol(["ana"], 100)
    assert spend_at_once(where, token_hash(ana), 64, 4, conditional) == 100
    assert spent(tokens, ana) == 100


def test_64_in_four_processes_get_exactly_what_is_allowed(where: str | Path, tokens: Tokens) -> None:
    (ana,) = tokens.enrol(["ana"], 100)
    assert spend_in_processes(where, token_hash(ana), 4, 16, 4) == 100
    assert spent(tokens, ana) == 100


def test_the_race_finds_a_ledger_that_looks_before_it_writes(where: str | Path, tokens: Tokens) -> None:
    (ana,) = tokens.enrol(["ana"], 10)
    assert spend_at_once(where, token_hash(ana), 64, 1, check_then_update) == 64
    assert spent(tokens, ana) == 64


def test_64_requests_at_once_get_exactly_what_is_allowed(store: Store, tokens: Tokens, commute: Survey) -> None:
    app = Collector(commute, store, tokens, LIMITS)
    (ana,) = tokens.enrol(["ana"], 10 * PRICE)
    reports = strict_reports(commute, 64)

    async def together():
        headers = {"content-type": JSON, "authorization": f"Bearer {ana}"}
        bodies = [report.to_json().encode() for report in reports]
        return await asyncio.gather(*(send(app, "POST", "/v1/reports", body, headers) for body in bodies))

    answers = asyncio.run(together())
    assert [answer.status for answer in answers].count(200) == 10
    assert {answer.code for answer in answers if answer.status != 200} == {"over_budget"}
    assert store.tally().reports == 10
    assert call(app, "GET", "/v1/ledger", token=ana).json == {"budget": "40", "spent": "40", "price": "4"}


def test_only_who_may_upload_does(store: Store, tokens: Tokens, commute: Survey) -> None:
    reader, plain = tokens.create("reader", "read"), tokens.create("app", "upload")
    (ana,) = tokens.enrol(["ana"], micro_epsilon(7))
    reports = strict_reports(commute, 5)
    for uploads, codes in (
        ("open", {"": 200, reader: 200, plain: 200, ana: 200}),
        ("token", {"": "bad_token", "guess": "bad_token", reader: "wrong_scope", plain: 200, ana: 200}),
        ("ledger", {"": "bad_token", "guess": "bad_token", reader: "wrong_scope", plain: "over_budget", ana: 200}),
    ):
        app = Collector(commute, store, tokens, replace(LIMITS, uploads=uploads))
        for token, expected in codes.items():
            fresh = reports.pop() if uploads == "ledger" else strict_reports(commute, 1)[0]
            answer = call(app, "POST", "/v1/reports", fresh.to_json().encode(), JSON, token)
            assert (answer.status if answer.status == 200 else answer.code) == expected
    batch = call(app, "POST", "/v1/reports", lines(strict_reports(commute, 2)), LINES, ana).json
    assert batch == {"accepted": 0, "outcomes": [{"outcome": "rejected", "code": "over_budget"}] * 2}
    assert call(app, "GET", "/v1/ledger", token=plain).code == "not_found"
    assert call(app, "GET", "/v1/ledger", token=reader).code == "wrong_scope"
    document = call(app, "GET", "/v1/openapi.json").json
    assert document["paths"]["/v1/reports"]["post"]["x-scope"] == "upload"


def test_the_length_of_an_account_does_not_tell_what_was_spent(store: Store, tokens: Tokens, commute: Survey) -> None:
    app = Collector(commute, store, tokens, replace(LIMITS, uploads="ledger"))
    tokens_made = tokens.enrol(["ana"], 1_000_000_000) + tokens.enrol(["ben"], 999_999_999)
    (report,) = strict_reports(commute, 1)
    assert call(app, "POST", "/v1/reports", report.to_json().encode(), JSON, tokens_made[0]).status == 200
    accounts = [call(app, "GET", "/v1/ledger", token=token) for token in tokens_made]
    assert [account.json["spent"] for account in accounts] == ["4", "0"]
    assert len({len(account.body) for account in accounts}) == 1


def transactions(where: str, statement: str) -> list[tuple]:
    with psycopg.connect(where) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.parametrize("where", ["postgres"], indirect=True)
def test_no_stamp_of_a_transaction_joins_people_and_reports(
    where: str, open_store: Open, tokens: Tokens, commute: Survey, monkeypatch
) -> None:
    """PostgreSQL tells the transaction of every row: without mixing, a report sent alone tells its sender."""
    names = [f"p{number:03}" for number in range(40)]
    made = dict(zip(names, tokens.enrol(names, micro_epsilon(9)), strict=True))
    store = open_store()
    order = sorted(names, key=made.__getitem__)  # random, as tokens are
    join = "SELECT name FROM ledger JOIN tail ON ledger.xmin = tail.xmin ORDER BY place"
    stored = "SELECT name FROM ledger ORDER BY ctid"
    for name, row in zip(order, packed(commute, strict_reports(commute, 40)), strict=True):
        store.add([row], {}, [token_hash(made[name])])
    assert [name for (name,) in transactions(where, join)] == order
    assert [name for (name,) in transactions(where, stored)] == order
    store.close_round()
    assert transactions(where, join) == []
    assert transactions(where, "SELECT count(DISTINCT xmin::text) FROM ledger") == [(1,)]
    assert [name for (name,) in transactions(where, stored)] == names
    store.open_round()
    monkeypatch.setattr(ledger_module, "MIX_AT_LEAST", 10)
    store.add(packed(commute, strict_reports(commute, 40)), {}, [token_hash(made[name]) for name in order])
    assert len(transactions(where, join)) == 40
    by_page = "SELECT array_agg(name ORDER BY ctid) FROM ledger GROUP BY (ctid::text::point)[0]"
    for (page,) in transactions(where, by_page):  # room that is freed meanwhile is used from its beginning on
        assert sum(one > two for one, two in pairwise(page)) <= 1


def places(path: Path) -> list[str]:
    """Return names in the order in which their rows of the ledger lie in the file."""
    rows = re.finditer(rb"(p\d{3})" + re.escape(micro_epsilon(9).to_bytes(4, "big")), path.read_bytes())
    return [found[1].decode() for found in rows][::-1]


def test_the_file_does_not_tell_who_came_first(tmp_path: Path, commute: Survey) -> None:
    names = [f"p{number:03}" for number in range(60)]
    store, tokens = Store(commute, tmp_path / "reports.db"), Tokens(tmp_path / "reports.db")
    made = dict(zip(names, tokens.enrol(names, micro_epsilon(9)), strict=True))
    rows = packed(commute, strict_reports(commute, 60))
    for name, row in zip(sorted(names, key=made.__getitem__), rows, strict=True):  # random, as tokens are
        store.add([row], {}, [token_hash(made[name])])
    query(tmp_path / "reports.db", "PRAGMA wal_checkpoint(TRUNCATE)")
    assert sorted(places(tmp_path / "reports.db")) == names
    assert places(tmp_path / "reports.db") != names
    store.close()
    assert places(tmp_path / "reports.db") == names
    assert spent(tokens, made["p000"]) == PRICE


def test_people_who_enrol_while_rows_are_mixed_stay(store: Store, tokens: Tokens, commute: Survey) -> None:
    (ana,) = tokens.enrol(["ana"], 9 * PRICE)
    for number in range(5):
        store.add(packed(commute, strict_reports(commute, 1)), {}, [token_hash(ana)])
        store.close_round()
        tokens.enrol([f"p{number}"], PRICE)
        store.open_round()
    assert len(tokens.all()) == 6
    assert spent(tokens, ana) == 5 * PRICE


@pytest.mark.parametrize(
    ("number", "pauses"), [(1, 0), (999, 0), (1000, 1), (2500, 2)], ids=["one", "few", "enough", "more"]
)
def test_rows_are_mixed_after_enough_charges(number: int, pauses: int, tmp_path: Path) -> None:
    ledger = Ledger(1)
    mixed = 0
    connection = open_database(tmp_path / "reports.db").connect()
    for _ in range(number):
        ledger.charge(connection, b"")
        if ledger.due:
            ledger.mix(connection)
            mixed += 1
    connection.close()
    assert mixed == pauses


def test_reports_and_ledger_share_no_column(where: str | Path, store: Store) -> None:
    statements = ("SELECT * FROM blocks", "SELECT * FROM tail", "SELECT * FROM ledger", "SELECT * FROM tokens")
    with closing(open_database(where).connect()) as connection:
        blocks, tail, *others = (
            {column[0] for column in connection.execute(statement).description} for statement in statements
        )
    assert not (blocks | tail) & set().union(*others)
