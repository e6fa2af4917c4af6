"""Who calls: pages of other origins on the list, hosts that are ours, and addresses as one trusted proxy tells them."""

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
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers.get("vary", "accept-encoding") == "accept-encoding"


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


def test_a_request_to_another_host_is_refused(store: Store, commute: Survey, tmp_path: Path) -> None:
    """A page whose name was made to point here (DNS rebinding) reads nothing."""
    settings = Settings(rate_limit=0)
    app = Collector(commute, store, Tokens(tmp_path / "reports.db"), settings)
    for host in ("localhost", "localhost:8300", "127.0.0.1:1", "[::1]:8300", "LOCALHOST.", ""):
        assert call(app, "GET", "/v1/survey", headers={"host": host}).status == 200
    for host in (
        "evil.example",
        "evil.example:8300",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "[::2]",
        "a b",
        ":",
    ):
        answer = call(app, "GET", "/v1/survey", headers={"host": host})
        assert (answer.status, answer.code) == (421, "wrong_host")


@pytest.mark.parametrize(
    ("given", "served", "refused"),
    [
        ({"host": "192.0.2.7"}, ["any.example", "127.0.0.1"], []),
        ({"trusted_proxy": "127.0.0.1"}, ["any.example"], []),
        ({"hosts": "survey.example.org"}, ["survey.example.org:443", "localhost"], ["any.example"]),
        ({"host": "192.0.2.7", "hosts": "a.example b.example"}, ["b.example", "192.0.2.7"], ["c.example"]),
        ({"host": "127.0.0.9"}, ["127.0.0.9:8300"], ["any.example"]),
    ],
)
def test_which_hosts_are_served(
    store: Store, commute: Survey, tmp_path: Path, given: dict[str, str], served: list[str], refused: list[str]
) -> None:
    app = Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings.read({"rate_limit": "0", **given}, {}))
    found = {host: call(app, "GET", "/healthz", headers={"host": host}).status for host in (*served, *refused)}
    assert found == dict.fromkeys(served, 200) | dict.fromkeys(refused, 421)


@pytest.mark.parametrize("hosts", ["a.example:80", "https://a.example", "*", "a.example,b.example"])
def test_what_is_no_host_is_refused(hosts: str) -> None:
    with pytest.raises(UsageError, match="hosts must be names such as survey.example.org, without ports, not"):
        Settings.read({"hosts": hosts}, {})


def passed(app: Collector, address: str, forwarded: str, count: int = 30) -> int:
    """Return how many requests pass before the rate limit stops them."""
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    return [call(app, "GET", "/healthz", address=address, headers=headers).status for _ in range(count)].count(200)


def test_one_hop_of_forwarding_is_believed_of_the_trusted_proxy_alone(
    store: Store, commute: Survey, tmp_path: Path
) -> None:
    settings = Settings(rate_limit=1, trusted_proxy="127.0.0.1")
    app = Collector(commute, store, Tokens(tmp_path / "reports.db"), settings, clock=lambda: 0.0)
    assert passed(app, "127.0.0.1", "192.0.2.1") == 10
    assert passed(app, "127.0.0.1", "192.0.2.2") == 10  # another person behind the same proxy
    assert passed(app, "127.0.0.1", "192.0.2.9, 192.0.2.2") == 0  # only what the proxy itself added counts
    assert passed(app, "::ffff:127.0.0.1", "192.0.2.2") == 0  # the same proxy, the same person
    assert passed(app, "198.51.100.1", "192.0.2.3") == 10  # somebody else's word is not believed …
    assert passed(app, "198.51.100.1", "192.0.2.4") == 0  # … so a made-up address helps nobody
    assert passed(app, "127.0.0.1", "unknown") == 10  # no address: the proxy's own


def test_a_trusted_proxy_that_is_no_address_is_refused(store: Store, commute: Survey, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="trusted_proxy must be an IP address, not 'proxy.example'"):
        Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings(trusted_proxy="proxy.example"))
