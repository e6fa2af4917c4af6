"""What the collector renders: the same as its JSON, for readers and for everybody, and files of everything."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from helpers.collector.client import call
from helpers.collector.servers import running
from pldp import show
from pldp.collector import Collector, Settings, Store, Tokens
from pldp.errors import UsageError
from pldp.reports.columns import from_batch
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey

PUBLIC = {"pairs": "mode+late", "public": "late, mode+late"}


def fill(store: Store, survey: Survey, people: int, seed: int) -> None:
    population = Population.of_shares(survey, people, seed=seed)
    for batch in simulate_reports(survey, population, seed=seed):
        store.add([store.packing.pack(report) for report in from_batch(survey, batch)], {})


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collector, str]]:
    survey, database = Survey.load("examples/commute.toml"), tmp_path_factory.mktemp("views") / "reports.db"
    settings = Settings(rate_limit=0, **PUBLIC)
    store = Store(survey, database, pairs=settings.question_pairs(), step=50)
    fill(store, survey, 2400, seed=1)
    store.close_round()
    store.open_round()
    fill(store, survey, 2500, seed=2)
    tokens = Tokens(database)
    yield Collector(survey, store, tokens, settings), tokens.create("reader", "read")
    store.close()


def test_markup_shows_what_the_json_says_and_nothing_else(serving: tuple[Collector, str]) -> None:
    """It is a function of the JSON: two looks that read the same are rendered alike."""
    app, token = serving
    overview = call(app, "GET", "/v1/overview", token=token).json
    answer = call(app, "GET", "/v1/overview.html", token=token)
    assert answer.body.decode() == show.board(overview)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    again = call(app, "GET", "/v1/overview.html", token=token, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert call(app, "GET", "/v1/overview.html").status == 401
    assert call(app, "GET", "/v1/overview.html?round=9", token=token).status == 404


def test_the_card_of_an_estimate_is_that_of_its_json(serving: tuple[Collector, str]) -> None:
    app, token = serving
    content = call(app, "GET", "/v1/estimates/mode.json", token=token).json
    assert call(app, "GET", "/v1/estimates/mode.html", token=token).body.decode() == show.card(content)


def test_everybody_sees_chosen_questions_only_and_no_counts_of_what_went_wrong(
    serving: tuple[Collector, str],
) -> None:
    app, token = serving
    answer = call(app, "GET", "/results")
    page = answer.body.decode()
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert titles == ["Were you late for work because of traffic last week?", "mode and late together"]
    assert "Over rounds" in page
    assert not re.search(r"usually get to work|[Rr]eject|Withdrawn|per hour|data-|<script|<button", page)
    assert "Results change in steps of 50 reports per level" in page
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    overview = call(app, "GET", "/v1/overview", token=token).json
    counts = {int(text.replace(",", "")) for text in re.findall(r"([\d,]+) reports ·", page)}
    assert counts <= {each["reports"] for each in (*overview["questions"], *overview["tables"])}
    first = call(app, "GET", "/results?round=1").body.decode()
    assert "Round 1, 2,400 reports." in first
    assert "Over rounds" not in first


def test_nothing_is_public_unless_somebody_says_so(tmp_path: Path, commute: Survey) -> None:
    store = Store(commute, tmp_path / "reports.db", step=50)
    app = Collector(commute, store, Tokens(tmp_path / "reports.db"), Settings(rate_limit=0))
    assert call(app, "GET", "/results").status == 404
    store.close()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"public": "mod"}, "'mod' is no question of the survey, nor in pairs; did you mean 'mode'?"),
        ({"public": "mode+late"}, "'mode+late' is no question of the survey, nor in pairs"),
        ({"public": "mode", "result_step": 1}, "results for everybody change in steps; set result_step to 2 or more"),
    ],
)
def test_results_for_everybody_are_refused_where_they_are_unknown_or_exact(
    commute: Survey, given: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        Settings(**given).public_names(commute)


def test_the_archive_has_everything_that_single_downloads_have(serving: tuple[Collector, str]) -> None:
    app, token = serving
    with ZipFile(io.BytesIO(call(app, "GET", "/v1/results.zip", token=token).body)) as files:
        assert json.loads(files.read("overview.json")) == call(app, "GET", "/v1/overview", token=token).json
        names = [f"{place:02}-{name}.{ending}" for place, name in ((1, "mode"), (2, "late")) for ending in ENDINGS]
        assert files.namelist() == ["overview.json", *names]
        for name in names:
            question, ending = name[3:].split(".")
            single = call(app, "GET", f"/v1/estimates/{question}.{ending}", token=token).body
            assert files.read(name) == single
        assert len(list(csv.DictReader(io.StringIO(files.read("01-mode.csv").decode())))) == 6
    assert call(app, "GET", "/v1/results.zip?round=9", token=token).status == 404


ENDINGS = ("json", "csv", "arrow")


def test_the_page_on_reading_names_sections_that_the_documentation_has(serving: tuple[Collector, str]) -> None:
    page = call(serving[0], "GET", "/reading").body.decode()
    named = re.findall(r"More: (.*?) in <code>(docs/[\w-]+\.md)</code>", page)
    assert len(named) > 4
    for titles, path in named:
        headings = set(re.findall(r"(?m)^##+ (.*)$", Path(path).read_text()))
        assert set(re.findall(r"“(.*?)”", titles)) <= headings


def test_the_printed_command_makes_a_token_for_this_collector_wherever_it_is_typed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with running(tmp_path) as server:
        assert server.process.stdout is not None
        lines = (server.process.stdout.readline().decode() for _ in range(3))
        printed = next(line for line in lines if line.startswith("tokens")).split(maxsplit=1)[1]
        words = shlex.split(printed.replace("NAME", "ana"))
        command = [sys.executable, "-m", *words]
        made = subprocess.run(command, cwd=elsewhere, check=True, capture_output=True, text=True)
        connection = server.connect()
        connection.request("GET", "/v1/rounds", headers={"authorization": f"Bearer {made.stdout.strip()}"})
        assert connection.getresponse().status == 200
        connection.close()
    assert not list(elsewhere.iterdir())
    assert made.stderr == ""
