"""After the closing date nothing new is taken; the logo and compressed files of the page."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.collector.client import call
from helpers.collector.senders import make_reports
from pldp.collector import Collector, Settings, Store, Tokens
from pldp.collector.static import assets
from pldp.reports import Rejection
from pldp.survey import Logo, Survey

DAY = 86_400
JSON = {"headers": {"content-type": "application/json"}}
LOGO = Logo(b"<svg/>", "image/svg+xml")


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.seconds = 2.0 * DAY - 1  # the last second of 2 January 1970

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def survey(commute: Survey) -> Survey:
    return replace(commute, closes="1970-01-02")


@pytest.fixture
def store(survey: Survey, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = Store(survey, tmp_path / "reports.db", clock=clock)
    yield opened
    opened.close()


def test_what_is_new_after_the_closing_date_is_refused_and_counted(survey: Survey, store: Store, clock: Clock) -> None:
    first, second = (store.packing.pack(report) for report in make_reports(survey, 2))
    assert store.add([first], {}) == [None]
    clock.seconds += 1
    assert store.add([first, second], {}) == [None, Rejection.CLOSED_SURVEY]  # what is stored is taken again
    assert store.has_closed


def test_a_closed_survey_is_told_and_its_reports_can_be_withdrawn(
    survey: Survey, store: Store, clock: Clock, tmp_path: Path
) -> None:
    app = Collector(survey, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=0))
    report, late = make_reports(survey, 2)
    assert call(app, "POST", "/v1/reports", report.to_json().encode(), **JSON).status == 200
    assert "ended" not in json.loads(call(app, "GET", "/v1/round").body)
    clock.seconds += 1
    assert json.loads(call(app, "GET", "/v1/round").body)["ended"]
    answer = call(app, "POST", "/v1/reports", late.to_json().encode(), **JSON)
    assert (answer.status, answer.code) == (422, "closed_survey")
    receipt = json.dumps({"receipt": "0" * 64}).encode()
    assert call(app, "POST", "/v1/withdraw", receipt, **JSON).code == "unknown_receipt"


def test_a_logo_is_served_alone_and_under_rules_of_its_own(survey: Survey, store: Store, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "reports.db")
    with_logo = Collector(survey, store, tokens, Settings(rate_limit=0), logo=LOGO)
    answer = call(with_logo, "GET", "/v1/logo")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, LOGO.body, LOGO.kind)
    assert answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    without = Collector(survey, store, tokens, Settings(rate_limit=0))
    assert call(without, "GET", "/v1/logo").status == 404


def bare(text: bytes) -> list[str]:
    return [line.strip() for line in text.decode().splitlines() if line.strip()]


def test_files_are_compressed_for_who_takes_that_and_lose_comments_only(
    survey: Survey, store: Store, tmp_path: Path
) -> None:
    app = Collector(survey, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=0))
    for path, asset in assets().items():
        plain = call(app, "GET", path)
        packed = call(app, "GET", path, headers={"accept-encoding": "br, gzip;q=0.8"})
        assert plain.body == asset.body
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["vary"] == "accept-encoding"
        assert packed.headers["etag"] != plain.headers["etag"]
        lines, kept = bare(plain.body), bare(gzip.decompress(packed.body))
        rest = iter(lines)
        assert all(line in rest for line in kept), path  # in the same order
        gone = [line for line in lines if line not in set(kept)]
        assert all(line.startswith(("/*", "*", "//")) or line.endswith("*/") for line in gone), path
    assert "content-encoding" not in call(app, "GET", "/", headers={"accept-encoding": "gzip;q=0"}).headers
    again = call(app, "GET", "/", headers={"accept-encoding": "gzip", "if-none-match": packed.headers["etag"]})
    assert again.status == 200  # the tag of another file
    document = call(app, "GET", "/v1/survey", headers={"accept-encoding": "gzip"})
    assert gzip.decompress(document.body) == survey.canonical
