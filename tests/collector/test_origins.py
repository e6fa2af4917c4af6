"""Pages of other origins: those on the list may use the API, nobody else, and never with cookies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.collector.client import JSON, call
from helpers.collector.senders import make_reports
from pldp.collector import Collector, Settings, Store, Tokens
from pldp.errors import UsageError
from pldp.survey import Survey

APP = "https://app.example.org"
OTHERS = ("https://app.example.org.evil.org", "https://app.example.org:444", "http://app.example.org", "null", "*", "")


@pytest.fixture
def store(tmp_path: Path, commute: Survey) -> Iterator[Store]:
    store = Store(commute, tmp_path / "reports.db")
    yield store
    store.close()


def collector(store: Store, commute: Survey, tmp_path: Path, origins: str) -> Collector:
    settings = Settings.read({"origins": origins, "rate_limit": "0", "uploads": "token"}, {})
    return Collector(commute, store, Tokens(tmp_path / "reports.db"), settings)


def ask(app: Collector, origin: str, path: str = "/v1/reports", **more: str) -> object:
    return call(app, "OPTIONS", path, headers={"origin": origin, "access-control-request-method": "POST", **more})


def test_a_page_on_the_list_may_send_and_read(store: Store, commute: Survey, tmp_path: Path) -> None:
    app = collector(store, commute, tmp_path, f"{APP} http://localhost:5173")
    for origin in (APP, "http://localhost:5173"):
        before = ask(app, origin)
        assert (before.status, before.body) == (204, b"")
        assert before.headers["access-control-allow-origin"] == origin
        assert before.headers["access-control-allow-methods"] == "GET, POST"
        assert {"authorization", "content-type"} <= set(before.headers["access-control-allow-headers"].split(", "))
    token = Tokens(tmp_path / "reports.db").create("app", "upload")
    (report,) = make_reports(commute, 1)
    for sent, status in ((token, 200), ("guess", 401)):
        answer = call(app, "POST", "/v1/reports", report.to_json().encode(), JSON, sent, headers={"origin": APP})
        assert answer.status == status
        assert answer.headers["access-control-allow-origin"] == APP
        assert answer.headers["vary"] == "origin"
        assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origin", OTHERS)
def test_other_pages_get_nothing_that_lets_them_read(
    store: Store, commute: Survey, tmp_path: Path, origin: str
) -> None:
    app = collector(store, commute, tmp_path, APP)
    for answer in (ask(app, origin), call(app, "GET", "/v1/survey", headers={"origin": origin})):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["vary"] == "origin"
    assert ask(app, origin).code == "method_not_allowed"


def test_no_origin_is_allowed_by_default(store: Store, commute: Survey, tmp_path: Path) -> None:
    app = collector(store, commute, tmp_path, "")
    for answer in (ask(app, APP), call(app, "GET", "/v1/survey", headers={"origin": APP}), ask(app, "")):
        assert not [name for name in answer.headers if name.startswith("access-control") or name == "vary"]


def test_a_plain_options_request_is_no_question_of_a_page(store: Store, commute: Survey, tmp_path: Path) -> None:
    app = collector(store, commute, tmp_path, APP)
    assert call(app, "OPTIONS", "/v1/reports", headers={"origin": APP}).code == "method_not_allowed"


@pytest.mark.parametrize(
    "origins", ["*", "null", "app.example.org", f"{APP}/", f"{APP},{APP}", "https://*.example.org"]
)
def test_what_is_no_origin_is_refused(origins: str) -> None:
    with pytest.raises(UsageError, match="origins must be origins such as https://app.example.org, not"):
        Settings.read({"origins": origins}, {})


def test_who_may_upload_is_one_of_three_words() -> None:
    assert Settings.read({}, {"PLDP_UPLOADS": "ledger"}).uploads == "ledger"
    with pytest.raises(UsageError, match="uploads must be open, token or ledger, not 'all'"):
        Settings.read({"uploads": "all"}, {})
