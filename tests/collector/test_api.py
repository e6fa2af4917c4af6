"""The API: what devices, readers and administrators get, and what everybody else gets."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.collector.client import JSON, LINES, call, lines, send
from helpers.collector.places import query
from helpers.collector.senders import make_reports, receipt_of
from pldp.cli import make_parser
from pldp.collector import Collector, Packed, Problem, Settings, Store, Tokens
from pldp.errors import StoreError, StoreFullError, UsageError
from pldp.estimates import frequencies
from pldp.reports import Rejection
from pldp.survey import Survey, loads, make_key, sign
from pldp.tallies import tally

LIMITS = Settings(rate_limit=0, body_bytes=100_000, body_seconds=1, batch_reports=200)


@pytest.fixture
def store(tmp_path: Path, commute: Survey) -> Iterator[Store]:
    store = Store(commute, tmp_path / "reports.db", step=1)
    yield store
    store.close()


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "reports.db")


@pytest.fixture
def app(commute: Survey, store: Store, tokens: Tokens) -> Collector:
    return Collector(commute, store, tokens, LIMITS)


@pytest.fixture
def reader(app: Collector, tokens: Tokens) -> str:
    return tokens.create("reader", "read")


@pytest.fixture
def admin(app: Collector, tokens: Tokens) -> str:
    return tokens.create("admin", "admin")


def test_a_device_fetches_the_survey_it_can_check(commute: Survey, store: Store, tokens: Tokens) -> None:
    private, public = make_key()
    app = Collector(commute, store, tokens, LIMITS, document=sign(commute, private).encode())
    answer = call(app, "GET", "/v1/survey")
    assert loads(answer.body.decode(), trusted_key=public).hash == commute.hash
    again = call(app, "GET", "/v1/survey", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert call(app, "HEAD", "/v1/survey").body == b""


def test_one_report_is_accepted_and_again_with_the_same_answer(app: Collector, commute: Survey) -> None:
    (report,) = make_reports(commute, 1)
    first = call(app, "POST", "/v1/reports", report.to_json().encode(), JSON)
    assert first.status == 200
    assert call(app, "POST", "/v1/reports", report.to_json().encode(), f"{JSON}; charset=utf-8").json == first.json
    assert first.json == {"outcome": "accepted", "id": report.id}  # nothing that withdraws it


def test_each_report_of_a_batch_has_its_outcome(app: Collector, store: Store, commute: Survey) -> None:
    good = make_reports(commute, 3)
    other = replace(good[0], answers=good[1].answers)
    body = b"\n".join([lines(good), b"{", replace(good[0], survey="0" * 64).to_json().encode(), b"", lines([other])])
    answer = call(app, "POST", "/v1/reports", body, LINES).json
    assert answer["accepted"] == 3
    assert [each.get("code", "accepted") for each in answer["outcomes"]] == [
        *["accepted"] * 3,
        "malformed",
        "wrong_survey",
        "conflict",
    ]
    assert store.tally().reports == 3
    assert store.tally().rejected == 3


def test_a_rejected_report_gets_its_reason_and_is_counted(app: Collector, store: Store, commute: Survey) -> None:
    (report,) = make_reports(commute, 1)
    answer = call(app, "POST", "/v1/reports", replace(report, id="x").to_json().encode(), JSON)
    assert (answer.status, answer.code) == (422, "bad_id")
    call(app, "POST", "/v1/reports", report.to_json().encode(), JSON)
    conflict = replace(report, answers=make_reports(commute, 2)[1].answers)
    assert call(app, "POST", "/v1/reports", conflict.to_json().encode(), JSON).code == "conflict"
    assert store.rejections() == {Rejection.BAD_ID: 1, Rejection.CONFLICT: 1}


def test_withdrawing_takes_the_report_out_of_the_estimate(app: Collector, commute: Survey, reader: str) -> None:
    reports = make_reports(commute, 100)
    call(app, "POST", "/v1/reports", lines(reports), LINES)
    for report in reports[:10]:
        body = json.dumps({"receipt": receipt_of(report.id)}).encode()
        assert call(app, "POST", "/v1/withdraw", body, JSON).json == {"outcome": "withdrawn"}
    shown = call(app, "GET", "/v1/estimates/mode", token=reader).json
    expected = frequencies(tally(commute, reports[10:]), "mode")
    assert [row["estimate"] for row in shown["rows"]] == pytest.approx(expected.shares.tolist())
    assert shown["survey"] == commute.hash
    assert call(app, "POST", "/v1/withdraw", b'{"receipt":"00"}', JSON).code == "unknown_receipt"
    assert call(app, "POST", "/v1/withdraw", b'{"receipt":1}', JSON).code == "bad_request"
    assert call(app, "POST", "/v1/withdraw", b'{"receipt":"00"}', LINES).code == "wrong_content_type"


def test_a_closed_round_takes_no_report_and_keeps_its_estimate(app: Collector, commute: Survey, admin: str) -> None:
    reports = make_reports(commute, 62)
    call(app, "POST", "/v1/reports", lines(reports[:60]), LINES)
    assert call(app, "POST", "/v1/rounds/close", token=admin).json["open"] is False
    before = call(app, "GET", "/v1/estimates/mode", token=admin).json
    answer = call(app, "POST", "/v1/reports", reports[60].to_json().encode(), JSON)
    assert (answer.status, answer.code) == (422, "closed_round")
    assert call(app, "POST", "/v1/rounds/open", token=admin).json["number"] == 2
    assert call(app, "POST", "/v1/reports", reports[60].to_json().encode(), JSON).status == 200
    assert call(app, "GET", "/v1/estimates/mode?round=1", token=admin).json == before
    rounds = call(app, "GET", "/v1/rounds", token=admin).json["rounds"]
    assert [each["reports"] for each in rounds] == [60, 1]
    assert call(app, "GET", "/v1/estimates/mode?round=9", token=admin).code == "not_found"
    for wrong in ("round=x", "round=1&round=2", "other=1", "round=²", "round=1" + 9 * "&round=1"):
        assert call(app, "GET", f"/v1/estimates/mode?{wrong}", token=admin).code == "bad_request"


def test_estimates_come_as_json_csv_and_arrow(app: Collector, commute: Survey, reader: str) -> None:
    assert call(app, "GET", "/v1/estimates/mode", token=reader).code == "no_estimate"
    call(app, "POST", "/v1/reports", lines(make_reports(commute, 60)), LINES)
    rows = call(app, "GET", "/v1/estimates/mode.json", token=reader).json["rows"]
    table = list(csv.DictReader(io.StringIO(call(app, "GET", "/v1/estimates/mode.csv", token=reader).body.decode())))
    assert [float(row["estimate"]) for row in table] == [row["estimate"] for row in rows]
    accept = {"accept": "application/vnd.apache.arrow.stream"}
    arrow = pa.ipc.open_stream(call(app, "GET", "/v1/estimates/mode", token=reader, headers=accept).body).read_all()
    # Whether a row says anything is in the JSON only: files keep their columns.
    assert arrow.to_pylist() == [{name: row[name] for name in row if name != "too_few"} for row in rows]
    assert arrow.schema.metadata[b"pldp.survey_hash"].decode() == commute.hash
    assert (
        call(app, "GET", "/v1/estimates/mode", token=reader, headers={"accept": "image/png"}).code == "not_acceptable"
    )
    for path in ("none", "mode.xml", "none.csv", ""):
        assert call(app, "GET", f"/v1/estimates/{path}", token=reader).code == "not_found"


@pytest.mark.parametrize("name", ["why?", "a/b", "50 %", "a%2Fb", "+", "état", "v1.csv", "{question}", "..", "#&;="])
def test_a_question_of_any_name_has_an_address(tmp_path: Path, name: str) -> None:
    """Its name is escaped as a part of a path, and read back once; a slash in it need not be escaped."""
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1}}\nquestions=[{{name="{name}",values=["x","y"]}}]')
    with closing(Store(survey, tmp_path / "reports.db", step=1)) as store:
        tokens = Tokens(tmp_path / "reports.db")
        app, token = Collector(survey, store, tokens, LIMITS), tokens.create("reader", "read")
        store.add([Packed(bytes(16), b"\x01\x00")], {})
        paths = [quote(name, safe=""), quote(name), f"{quote(name, safe='')}.json"]
        answers = [call(app, "GET", f"/v1/estimates/{path}", token=token) for path in paths]
        assert [(answer.status, answer.json["name"]) for answer in answers] == [(200, name)] * 3
        twice = quote(quote(name, safe=""), safe="")
        if twice != quote(name, safe=""):
            assert call(app, "GET", f"/v1/estimates/{twice}", token=token).status == 404


@pytest.mark.parametrize("path", ["/v1/estimates/mode", "/v1/overview", "/metrics", "/v1/rounds"])
def test_who_has_no_token_reads_nothing(app: Collector, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer x"}, {"authorization": "Bearer"}, {"authorization": "Basic eDp5"}):
        answer = call(app, "GET", path, headers=headers)
        assert (answer.status, answer.code) == (401, "bad_token")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_reader_cannot_run_rounds(app: Collector, store: Store, reader: str) -> None:
    answer = call(app, "POST", "/v1/rounds/close", token=reader)
    assert (answer.status, answer.code) == (403, "wrong_scope")
    assert store.rounds()[0].open


def test_tokens_rotate_and_end_and_are_not_in_the_file(app: Collector, tokens: Tokens, tmp_path: Path) -> None:
    first = tokens.create("ana", "read")
    second = tokens.rotate("ana")
    assert {call(app, "GET", "/metrics", token=token).status for token in (first, second)} == {200}
    third = tokens.rotate("ana")
    assert call(app, "GET", "/metrics", token=first).code == "bad_token"
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [token for token in (first, second, third) if token.encode() in content]
    assert [(each.name, each.scope) for each in tokens.all()] == [("ana", "read")]
    tokens.revoke("ana")
    assert call(app, "GET", "/metrics", token=third).code == "bad_token"
    for wrong in (
        lambda: tokens.revoke("ana"),
        lambda: tokens.rotate("ana"),
        lambda: tokens.create("a b", "read"),
        lambda: tokens.create("a", "all"),
        lambda: [tokens.create("twice", "read") for _ in range(2)],
    ):
        with pytest.raises(UsageError):
            wrong()


def test_a_body_is_capped_while_it_streams(app: Collector) -> None:
    told = call(app, "POST", "/v1/reports", b"", LINES, headers={"content-length": str(1 << 30)})
    assert (told.status, told.code) == (413, "too_large")
    endless = call(app, "POST", "/v1/reports", [b"x" * 60_000] * 20_000, LINES)
    assert (endless.code, endless.headers["connection"]) == ("too_large", "close")
    assert call(app, "POST", "/v1/reports", b"", LINES, headers={"content-length": "-1"}).code == "too_large"
    assert call(app, "POST", "/v1/reports", b"{}\n" * 201, LINES).code == "too_many_reports"


def test_a_slow_body_ends_and_others_are_not_held_up(app: Collector, commute: Survey) -> None:
    (report,) = make_reports(commute, 1)

    async def both():
        slow = asyncio.create_task(send(app, "POST", "/v1/reports", [b"{"] * 100, {"content-type": JSON}, pause=0.3))
        good = await send(app, "POST", "/v1/reports", report.to_json().encode(), {"content-type": JSON})
        return await slow, good

    slow, good = asyncio.run(both())
    assert (slow.status, slow.code) == (408, "too_slow")
    assert good.status == 200


def test_bodies_of_another_type_are_refused(app: Collector) -> None:
    for kind in ("", "text/plain", f"{JSON}; charset=utf-16", "application/jsonx"):
        assert call(app, "POST", "/v1/reports", b"{}", kind).code == "wrong_content_type"
    assert (
        call(app, "POST", "/v1/reports", b"", JSON, headers={"content-encoding": "gzip"}).code == "wrong_content_type"
    )


def test_unknown_addresses_and_methods_get_problems(app: Collector) -> None:
    assert call(app, "GET", "/v1/reports").code == "method_not_allowed"
    assert call(app, "DELETE", "/v1/survey").code == "method_not_allowed"
    assert call(app, "GET", "/../etc/passwd").code == "not_found"


def test_one_address_is_limited_and_others_are_not(commute: Survey, store: Store, tokens: Tokens) -> None:
    app = Collector(commute, store, tokens, replace(LIMITS, rate_limit=1))
    answers = [call(app, "GET", "/healthz") for _ in range(12)]
    assert [answer.status for answer in answers].count(200) == 10
    assert answers[-1].code == "too_many_requests"
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert call(app, "GET", "/healthz", address="192.0.2.2").status == 200


def test_the_memory_of_the_rate_limit_is_bounded(monkeypatch) -> None:
    from pldp.collector import callers  # noqa: PLC0415

    monkeypatch.setattr(callers, "MOST_ADDRESSES", 3)
    limit = callers.RateLimit(1, burst=1)
    assert not [limit.wait(str(number)) for number in range(10) if limit.wait(str(number))]
    assert len(limit._buckets) == 3
    assert [callers.sender(odd) for odd in ("", "x:y", "fe80::1%eth0")] == ["", "x:y", "fe80::"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StoreFullError("full"), (507, "store_full")),
        (StoreError("away"), (503, "store_unavailable")),
        (RuntimeError("canary"), (500, "internal")),
    ],
)
def test_a_failing_store_is_told_and_recovers(
    app: Collector, store: Store, commute: Survey, monkeypatch, caplog, error: Exception, told: tuple
) -> None:
    (report,) = make_reports(commute, 1)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(store, "add_gathered", fail)
        answer = call(app, "POST", "/v1/reports", report.to_json().encode(), JSON)
        assert (answer.status, answer.code) == told
    assert store.tally().reports == 0
    assert call(app, "POST", "/v1/reports", report.to_json().encode(), JSON).status == 200
    assert "canary" not in caplog.text


def test_a_mistake_in_a_handler_tells_its_type_and_no_more(app: Collector, store, monkeypatch, caplog) -> None:
    monkeypatch.setattr(store, "check_ready", lambda: 1 / 0)
    assert call(app, "GET", "/readyz").code == "internal"
    assert caplog.messages == ["internal error: ZeroDivisionError"]


def test_too_much_waiting_is_refused(commute: Survey, store: Store, tokens: Tokens) -> None:
    app = Collector(commute, store, tokens, replace(LIMITS, waiting_reports=30))
    bodies = [lines(make_reports(commute, 20)) for _ in range(3)]

    async def together():
        return await asyncio.gather(*(send(app, "POST", "/v1/reports", b, {"content-type": LINES}) for b in bodies))

    answers = asyncio.run(together())
    refused = [answer for answer in answers if answer.status == 503]
    assert refused
    assert refused[0].code == "overloaded"
    assert refused[0].headers["retry-after"] == "1"
    assert store.tally().reports == 20 * sum(answer.status == 200 for answer in answers) > 0


def test_uploads_that_wait_together_share_one_transaction(
    app: Collector, store: Store, commute: Survey, tmp_path: Path
) -> None:
    reports = make_reports(commute, 50)

    async def together():
        kind = {"content-type": JSON}
        return await asyncio.gather(
            *(send(app, "POST", "/v1/reports", report.to_json().encode(), kind) for report in reports)
        )

    assert {answer.status for answer in asyncio.run(together())} == {200}
    ((blocks,),) = query(tmp_path / "reports.db", "SELECT count(*) FROM blocks")
    assert blocks < 5
    assert store.tally() == tally(commute, reports)


def test_metrics_count_what_happened(app: Collector, commute: Survey, reader: str) -> None:
    call(app, "POST", "/v1/reports", lines(make_reports(commute, 3)) + b"\n{", LINES)
    call(app, "GET", "/nowhere")
    shown = call(app, "GET", "/metrics", token=reader).body.decode()
    assert 'pldp_reports{round="1"} 3\n' in shown
    assert 'pldp_rejected_total{reason="malformed"} 1\n' in shown
    assert 'pldp_problems_total{code="not_found"} 1\n' in shown
    assert re.fullmatch(r'((# TYPE \w+ (gauge|counter)|\w+(\{\w+="\w+"\})? \d+)\n)+', shown)


def test_it_says_that_it_lives_and_is_ready(app: Collector, store: Store, monkeypatch) -> None:
    assert call(app, "GET", "/healthz").json == {"status": "ok"}
    assert call(app, "GET", "/readyz").json == {"status": "ready"}

    def fail() -> None:
        raise StoreError("away")

    monkeypatch.setattr(store, "check_ready", fail)
    assert call(app, "GET", "/readyz").code == "store_unavailable"


def test_every_answer_has_the_headers_that_forbid(app: Collector) -> None:
    for path in ("/v1/survey", "/healthz", "/nowhere"):
        headers = call(app, "GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["cache-control"] in {"no-store", "no-cache"}


def test_the_description_has_every_route_and_every_code(app: Collector) -> None:
    document = call(app, "GET", "/v1/openapi.json").json
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in app.routes}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            named = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
            assert named == set(re.findall(r"\{(.*?)\}", path))
    for method, path in described:
        reached = call(app, method, path.replace("{question}", "mode"))
        assert str(reached.status) in document["paths"][path][method.lower()]["responses"]
    codes = document["components"]["schemas"]["problem"]["properties"]["code"]["enum"]
    assert codes == [*(problem.code for problem in Problem), *Rejection]


def test_every_address_code_and_setting_is_on_the_page(app: Collector) -> None:
    page = Path("docs/collector.md").read_text(encoding="utf-8")
    assert not [problem for problem in Problem if f"| `{problem.code}` | {problem.status} |" not in page]
    for setting in fields(Settings):
        row = ("", f"`{setting.name}`", setting.default, setting.metadata["help"], "")
        assert re.sub(" +", " ", " | ".join(map(str, row)).strip()) in page
    addresses = [f"`{route.method} {route.path.replace('{question}', 'QUESTION')}`" for route in app.routes]
    assert not [address for address in addresses if address not in page]


bodies = st.binary(max_size=300) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
).map(lambda content: json.dumps(content).encode())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD"]),
    path=st.sampled_from(["/v1/reports", "/v1/withdraw", "/v1/estimates/mode", "/v1/overview", "/v1/rounds/close"])
    | st.text(max_size=20).map(lambda text: f"/{text}".replace("?", "")),
    body=bodies,
    kind=st.sampled_from([JSON, LINES, "text/plain", "é"]),
    query=st.text(max_size=10),
)
def test_whatever_is_sent_gets_a_typed_answer(
    app: Collector, store: Store, method: str, path: str, body: bytes, kind: str, query: str
) -> None:
    answer = call(app, method, f"{path}?{query}", body, kind, token=query)
    assert answer.status < 500
    if answer.status >= 400 and method != "HEAD":
        assert answer.code
    assert store.rounds()[0].reports == 0


def test_deep_nesting_is_malformed(app: Collector) -> None:
    assert call(app, "POST", "/v1/reports", b"[" * 90_000, JSON).code == "malformed"
    assert call(app, "POST", "/v1/withdraw", b"[" * 900, JSON).code == "bad_request"
    assert call(app, "POST", "/v1/withdraw", b"[" * 90_000, JSON).code == "too_large"


def test_the_page_on_production_says_what_is_there(app: Collector) -> None:
    """Its settings are settings, its metrics those that are shown, its unit starts what the command line takes."""
    page = Path("docs/production.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```toml\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    assert Settings.read(tomllib.loads(example), {}).trusted_proxy == "127.0.0.1"
    shown = call(app.operations, "GET", "/metrics").body.decode()
    metrics = set(re.findall(r"^# TYPE (\w+)", shown, re.MULTILINE))
    assert set(re.findall(r"^\| `(pldp_\w+)` \|", page, re.MULTILINE)) == metrics
    (command,) = re.findall(r"^ExecStart=\S+/pldp (.+)$", page, re.MULTILINE)
    assert make_parser("serve").parse_args(command.split()).config == "/etc/pldp/collector.toml"


def test_a_report_made_for_another_round_is_rejected_and_a_known_one_is_not(
    app: Collector, commute: Survey, admin: str
) -> None:
    known, late, new = make_reports(commute, 3)
    assert call(app, "GET", "/v1/round").json == {"round": 1, "open": True}
    assert call(app, "POST", "/v1/reports?round=1", known.to_json().encode(), JSON).status == 200
    call(app, "POST", "/v1/rounds/close", token=admin)
    assert call(app, "GET", "/v1/round").json == {"round": 1, "open": False}
    call(app, "POST", "/v1/rounds/open", token=admin)
    again = call(app, "POST", "/v1/reports?round=1", lines([known, late]), LINES).json
    assert [each.get("code", "accepted") for each in again["outcomes"]] == ["accepted", "closed_round"]
    assert call(app, "POST", "/v1/reports?round=2", new.to_json().encode(), JSON).status == 200
    assert call(app, "POST", "/v1/reports?round=3", late.to_json().encode(), JSON).code == "closed_round"
    assert call(app, "POST", "/v1/reports?round=x", late.to_json().encode(), JSON).code == "bad_request"


def test_neither_the_store_nor_the_bytes_of_a_report_withdraw_it(app: Collector, store: Store, commute: Survey) -> None:
    (report,) = make_reports(commute, 1)
    answer = call(app, "POST", "/v1/reports", report.to_json().encode(), JSON).body.decode()
    stored = [bytes(cell).hex() for cell in store.packing.pack(report)[:2]]
    for stolen in (report.id, report.id * 2, commute.hash, *stored, *answer.split('"')):
        assert not store.withdraw(stolen)
    assert receipt_of(report.id) not in report.to_json() + answer
    assert store.withdraw(receipt_of(report.id))


def test_a_preview_says_so_and_takes_no_reports(commute: Survey, tmp_path: Path) -> None:
    """The twin is every other collector: nothing there says preview."""
    database = tmp_path / "preview.db"
    token = Tokens(database).create("reader", "read")
    body = lines(make_reports(commute, 1))
    with closing(Store(commute, database, step=1)) as store:
        for preview in (True, False):
            app = Collector(commute, store, Tokens(database), Settings(rate_limit=0), preview=preview)
            assert call(app, "GET", "/v1/overview", token=token).json["preview"] is preview
            assert call(app, "GET", "/v1/round").json.get("preview", False) is preview
            for kind in (JSON, LINES):
                answer = call(app, "POST", "/v1/reports", body, kind)
                assert (answer.status == 403 and answer.code == "preview") if preview else answer.status == 200
            assert store.rounds()[0].reports == (0 if preview else 1)
