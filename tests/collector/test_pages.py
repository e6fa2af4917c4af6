"""What a browser gets: the files of the pages, nothing else, under rules that keep other code out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath

import pytest

from helpers.collector.client import call
from pldp.collector import Collector, Settings, Store, Tokens
from pldp.collector.static import assets
from pldp.survey import Survey

DEVICE = Path("clients/js/src")


@pytest.fixture
def app(commute: Survey, tmp_path: Path) -> Iterator[Collector]:
    store = Store(commute, tmp_path / "reports.db")
    yield Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=0))
    store.close()


def test_a_page_is_sent_under_rules_that_keep_other_code_out(app: Collector) -> None:
    for path in assets():
        answer = call(app, "GET", path)
        assert answer.status == 200
        rules = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
        assert {"base-uri", "form-action", "frame-ancestors"} <= rules.keys()
        assert {name for name, sources in rules.items() if sources != "'none'"} == {
            "script-src",
            "style-src",
            "img-src",
            "connect-src",
        }
        assert set(rules.values()) == {"'none'", "'self'"}
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_an_unchanged_file_is_not_sent_again(app: Collector) -> None:
    first = call(app, "GET", "/")
    again = call(app, "GET", "/", headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert call(app, "HEAD", "/").headers["content-length"] == str(len(first.body))
    assert call(app, "POST", "/").status == 405


def test_the_device_that_pages_load_is_the_one_in_the_source_tree(app: Collector) -> None:
    modules = list(DEVICE.rglob("*.js"))
    assert DEVICE / "mechanisms" / "registry.js" in modules
    for module in modules:
        answer = call(app, "GET", f"/pages/device/{module.relative_to(DEVICE).as_posix()}")
        assert answer.body == module.read_bytes()
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", ["/pages/", "/pages/../static.py", "/pages/device/index.d.ts", "/survey", "/pages/x"])
def test_no_other_file_can_be_named(app: Collector, path: str) -> None:
    assert call(app, "GET", path).status == 404


def test_pages_load_only_what_the_collector_serves() -> None:
    """Nothing inline, no other host; addresses are relative, so that a proxy can put the collector anywhere."""
    served = assets()
    for path, asset in served.items():
        text = asset.body.decode()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            path
        )
        if asset.kind.startswith("text/html"):
            assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?![^>]*\ssrc=)", text), path
            loaded = re.findall(r'(?:src|href)="([^"#]+)"', text)
            assert loaded, path
            assert {f"/{name}".removesuffix("./") for name in loaded} <= served.keys(), path
        if asset.kind.startswith("text/javascript"):
            loaded = re.findall(r'(?:from |import\()"(\.[^"]+)"', text)
            assert {normpath(f"{path}/../{name}") for name in loaded} <= served.keys(), path


@pytest.mark.parametrize(
    ("path", "languages", "title"),
    [
        ("/nothing/here", "", "There is nothing at this address"),
        ("/nothing", "xx, de-CH;q=0.7, en;q=0.2", "Unter dieser Adresse gibt es nichts"),
        ("/nothing", "de;q=0, fr", "There is nothing at this address"),
        ("/nothing", "de;q=often, en;q=0.1", "There is nothing at this address"),
    ],
)
def test_a_person_reads_that_nothing_is_here_in_the_language_of_the_browser(
    app: Collector, path: str, languages: str, title: str
) -> None:
    answer = call(app, "GET", path, headers={"accept": "text/html", "accept-language": languages})
    assert answer.status == 404
    assert f"<title>{title}</title>" in answer.body.decode()
    assert answer.headers["vary"] == "accept, accept-language"
    assert f'href="{"../" * (path.count("/") - 1)}./"' in answer.body.decode()


def test_the_address_can_ask_for_a_language(app: Collector) -> None:
    answer = call(app, "GET", "/nothing?lang=de", headers={"accept": "text/html", "accept-language": "en"})
    assert '<html lang="de">' in answer.body.decode()


def test_too_many_requests_get_a_page_for_people_and_when_to_come_back(commute: Survey, tmp_path: Path) -> None:
    store = Store(commute, tmp_path / "reports.db")
    app = Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=1), clock=lambda: 0.0)
    asked = {"accept": "text/html", "accept-language": "de"}
    answers = [call(app, "GET", "/", headers=asked) for _ in range(100)]
    assert (answers[0].status, answers[-1].status) == (200, 429)
    assert "<h1>Bitte versuchen Sie es später noch einmal</h1>" in answers[-1].body.decode()
    assert "default-src 'none'" in answers[-1].headers["content-security-policy"]
    assert int(answers[-1].headers["retry-after"]) >= 1
    program = call(app, "GET", "/", headers={"accept": "application/json"})
    assert program.headers["content-type"] == "application/problem+json"
    store.close()
