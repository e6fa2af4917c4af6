"""The overview and the estimates: what readers see, what stays hidden, and what looking costs."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helpers.claims import runs
from helpers.collector.client import JSON, LINES, call, lines, send
from helpers.collector.senders import make_reports, packed, receipt_of
from pldp.cli import main
from pldp.collector import Collector, Packing, Settings, Store, Tokens, answers
from pldp.collector.answers import ClosedRounds, estimate, overview
from pldp.collector.arrivals import HOURS, Arrivals
from pldp.collector.formats import encode
from pldp.collector.http import ProblemError
from pldp.collector.live import Live
from pldp.device import Device
from pldp.errors import StoreError, UsageError
from pldp.estimates import Result, frequencies, mean, trend
from pldp.estimates import estimate as estimate_result
from pldp.reports.columns import from_batch
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import Tally, fused_of, tally

LONG = bool(os.environ.get("PLDP_LONG"))
OPEN = Settings(rate_limit=0)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


CLOCK = Clock()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer than readers are asked to wait."""
    monkeypatch.setattr("pldp.collector.live.PATIENCE", 60)


@pytest.fixture
def store(tmp_path: Path, commute: Survey) -> Iterator[Store]:
    store = Store(commute, tmp_path / "reports.db", pairs=[("late", "mode")], step=1)
    yield store
    store.close()


@pytest.fixture
def app(commute: Survey, store: Store, tmp_path: Path) -> Collector:
    return Collector(commute, store, Tokens(tmp_path / "reports.db"), OPEN, clock=CLOCK)


@pytest.fixture
def reader(app: Collector, tmp_path: Path) -> str:
    return Tokens(tmp_path / "reports.db").create("reader", "read")


@pytest.fixture(scope="module")
def shopping() -> tuple[Survey, Tally]:
    """All kinds of questions; in the short form the number has few buckets, so that it is estimated soon."""
    text = Path("examples/shopping.toml").read_text(encoding="utf-8")
    survey = loads(text if LONG else text.replace("high = 300", "high = 300\nbuckets = 32"))
    people = Population.of_shares(survey, 3000, seed=1)
    return survey, tally(survey, simulate_reports(survey, people, seed=1))


def look(app: Collector, token: str, query: str = "", **headers: str) -> Any:
    """Look at the overview as if the last look was long ago."""
    CLOCK.wait(1000)
    return call(app, "GET", f"/v1/overview{query}", token=token, headers=headers)


def shown_of(counted: Tally, question: str) -> Result:
    """What is shown."""
    return estimate_result(counted, question)


@pytest.mark.parametrize("planned", [0, 250])
def test_intervals_hold_at_every_look_unless_the_collector_is_told_that_nobody_looks(
    commute: Survey, store: Store, tmp_path: Path, planned: int
) -> None:
    """Overview, exports and closed rounds alike: a round may have been closed because of what was seen."""
    tokens, settings = Tokens(tmp_path / "reports.db"), Settings(rate_limit=0, planned_reports=planned)
    app, token = Collector(commute, store, tokens, settings, clock=CLOCK), tokens.create("reader", "read")
    reports = make_reports(commute, 400)
    store.add(packed(commute, reports), {})
    expected = estimate_result(tally(commute, reports), "late", live=planned or None)
    wanted = expected.to_mapping()["rows"]
    for closed in (False, True):
        if closed:
            store.close_round()
        shown = {each["name"]: each for each in look(app, token).json["questions"]}["late"]
        exported = call(app, "GET", "/v1/estimates/late.json", token=token).json
        for found in (shown, exported):
            assert found["live"] == (planned or None)
            assert found["conclusions"]
            for name in ("low", "high"):
                assert [row[name] for row in found["rows"]] == pytest.approx([row[name] for row in wanted], rel=1e-4)


def test_one_look_has_all_that_a_dashboard_shows(app: Collector, commute: Survey, reader: str) -> None:
    reports = make_reports(commute, 400)
    call(app, "POST", "/v1/reports", lines(reports) + b"\n{", LINES)
    shown = look(app, reader).json
    assert (shown["scope"], shown["round"], shown["reports"]) == ("read", 1, 400)
    assert (shown["title"], shown["survey"]) == (commute.title, commute.hash)
    assert shown["rounds"] == [{"number": 1, "open": True, "reports": 400, "withdrawn": 0}]
    assert {reason: count for reason, count in shown["rejections"].items() if count} == {"malformed": 1}
    assert [hour["stored"] for hour in shown["hours"]] == [400]
    for question in shown["questions"]:
        expected = shown_of(tally(commute, reports), question["name"])
        assert [row["estimate"] for row in question["rows"]] == pytest.approx(expected.estimates.tolist(), rel=1e-5)
        assert question["manipulation"] == pytest.approx(expected.manipulation, rel=1e-5)
        assert all(row["low"] < row["estimate"] < row["high"] for row in question["rows"])
    assert [group["reports"] for group in shown["questions"][0]["groups"]] == [67, 66, 67]


def test_the_overview_changes_with_new_reports_and_withdrawals(app: Collector, commute: Survey, reader: str) -> None:
    reports = make_reports(commute, 300)
    call(app, "POST", "/v1/reports", lines(reports[:200]), LINES)
    before = look(app, reader)
    call(app, "POST", "/v1/reports", lines(reports[200:]), LINES)
    more = look(app, reader)
    call(app, "POST", "/v1/withdraw", json.dumps({"receipt": receipt_of(reports[200].id)}).encode(), JSON)
    fewer = look(app, reader)
    assert [each.json["reports"] for each in (before, more, fewer)] == [200, 300, 299]
    assert len({each.headers["etag"] for each in (before, more, fewer)}) == 3
    kept = tally(commute, [*reports[:200], *reports[201:]])
    rows = fewer.json["questions"][0]["rows"]
    assert [row["estimate"] for row in rows] == pytest.approx(shown_of(kept, "mode").estimates.tolist(), rel=1e-5)


def test_who_knows_the_overview_is_told_so_in_a_few_bytes(app: Collector, commute: Survey, reader: str) -> None:
    call(app, "POST", "/v1/reports", lines(make_reports(commute, 100)), LINES)
    tag = look(app, reader).headers["etag"]
    again = look(app, reader, **{"if-none-match": tag})
    assert (again.status, again.body) == (304, b"")
    call(app, "POST", "/v1/reports", lines(make_reports(commute, 1)), LINES)
    assert look(app, reader, **{"if-none-match": tag}).status == 200


def test_a_reader_and_an_administrator_do_not_share_a_tag(app: Collector, reader: str, tmp_path: Path) -> None:
    admin = Tokens(tmp_path / "reports.db").create("admin", "admin")
    tag = look(app, reader).headers["etag"]
    answer = look(app, admin, **{"if-none-match": tag})
    assert (answer.status, answer.json["scope"]) == (200, "admin")


def test_everybody_who_looks_shares_one_overview_a_second(
    app: Collector, store: Store, commute: Survey, reader: str, monkeypatch
) -> None:
    made: list[int] = []
    count = store.shown
    monkeypatch.setattr(store, "shown", lambda *given: made.append(1) or count(*given))
    call(app, "POST", "/v1/reports", lines(make_reports(commute, 100)), LINES)

    async def many() -> list[Any]:
        headers = {"authorization": f"Bearer {reader}"}
        return await asyncio.gather(*(send(app, "GET", "/v1/overview", headers=headers) for _ in range(20)))

    assert len({answer.body for answer in asyncio.run(many())}) == 1
    assert len(made) == 1
    call(app, "POST", "/v1/reports", lines(make_reports(commute, 1)), LINES)
    assert call(app, "GET", "/v1/overview", token=reader).json["reports"] == 100
    assert look(app, reader).json["reports"] == 101
    look(app, reader)
    assert len(made) == 2


@pytest.mark.parametrize(("seconds", "pause"), [(0.01, 1), (5, 50)])
def test_estimates_that_take_long_are_made_less_often(
    store: Store, commute: Survey, seconds: float, pause: float
) -> None:
    work, clock = itertools.count(0, seconds), Clock()
    live = Live(store, clock=clock, work=lambda: next(work))

    def reports() -> int:
        return json.loads(asyncio.run(live.overview(None, "read")).body)["reports"]

    assert reports() == 0
    store.add(packed(commute, make_reports(commute, 1)), {})
    clock.wait(pause * 0.99)
    assert reports() == 0
    clock.wait(pause * 0.02)
    assert reports() == 1
    live.queue.close()


def test_while_counting_takes_long_the_reader_sees_how_far_it_is(
    app: Collector, store: Store, commute: Survey, reader: str, monkeypatch
) -> None:
    monkeypatch.setattr("pldp.collector.live.PATIENCE", 0.2)
    monkeypatch.setattr("pldp.collector.counting.STEP", 60)
    for start in range(3):
        store.add(packed(commute, make_reports(commute, 60 + start)), {})
    count = store.shown

    async def slowly() -> Any:
        held, proceed = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait(done: int) -> None:
            loop.call_soon_threadsafe(held.set)
            asyncio.run_coroutine_threadsafe(proceed.wait(), loop).result(10)

        def slow(number: int, progress: Any) -> Tally:
            return count(number, lambda done: (progress(done), wait(done)))

        monkeypatch.setattr(store, "shown", slow)
        headers = {"authorization": f"Bearer {reader}"}
        early = await send(app, "GET", "/v1/overview", headers=headers)
        proceed.set()
        monkeypatch.setattr("pldp.collector.live.PATIENCE", 60)
        return early, await send(app, "GET", "/v1/overview", headers=headers)

    early, late = asyncio.run(slowly())
    assert early.json == {"scope": "read", "counted": 60, "reports": 183}
    assert "etag" not in early.headers
    assert late.json["questions"]


def test_reports_are_stored_while_the_first_overview_is_counted(
    app: Collector, store: Store, commute: Survey, reader: str, monkeypatch
) -> None:
    """Looking and storing share no thread and no lock for longer than one step."""
    reports = make_reports(commute, 400)
    monkeypatch.setattr("pldp.collector.counting.STEP", 100)
    for start in range(0, 200, 50):
        store.add(packed(commute, reports[start : start + 50]), {})
    stored: list[list[Any]] = []

    def store_more(_: int) -> None:
        if not stored:
            stored.append(store.add(packed(commute, reports[200:]), {}))

    assert store.tally(1, store_more).reports == 400
    assert stored == [[None] * 200]


def test_rounds_are_chosen_and_a_closed_one_changes_by_withdrawals_only(
    app: Collector, store: Store, commute: Survey, reader: str
) -> None:
    reports = make_reports(commute, 120)
    store.add(packed(commute, reports[:100]), {})
    store.close_round()
    store.open_round()
    store.add(packed(commute, reports[100:]), {})
    first, latest = look(app, reader, "?round=1").json, look(app, reader).json
    assert (first["round"], first["reports"], latest["round"], latest["reports"]) == (1, 100, 2, 20)
    assert look(app, reader, "?round=1").json["questions"] == first["questions"]
    assert store.withdraw(receipt_of(reports[0].id))
    fewer = look(app, reader, "?round=1").json
    assert (fewer["reports"], fewer["rounds"][0]["withdrawn"]) == (99, 1)
    rows, kept = fewer["questions"][0]["rows"], tally(commute, reports[1:100])
    assert [row["estimate"] for row in rows] == pytest.approx(shown_of(kept, "mode").estimates.tolist(), rel=1e-5)
    assert look(app, reader, "?round=3").code == "not_found"
    for wrong in ("x", "0"):
        assert look(app, reader, f"?round={wrong}").code == "bad_request"


def test_trends_are_those_of_the_rounds_up_to_the_chosen_one(
    app: Collector, store: Store, commute: Survey, reader: str
) -> None:
    reports = make_reports(commute, 900)
    for start in (0, 300, 600):
        store.add(packed(commute, reports[start : start + 300]), {})
        if start < 600:
            store.close_round()
            store.open_round()
    assert look(app, reader, "?round=1").json["trends"] == []
    for number in (2, 3):
        shown = look(app, reader, f"?round={number}").json
        (mode, late) = shown["trends"]
        assert (mode["name"], mode["of"], late["name"]) == ("mode", "choice", "late")
        assert [each["name"] for each in mode["rounds"]] == [f"round {each}" for each in range(1, number + 1)]
        counted = [tally(commute, reports[300 * place : 300 * (place + 1)]) for place in range(number)]
        expected = trend([estimate_result(each, "late", live=Settings().planned_reports) for each in counted])
        for name in ("estimate", "standard_error", "low", "high"):
            wanted = [row[name] for row in expected.to_mapping()["rows"]]
            assert [row[name] for row in late["rows"]] == pytest.approx(wanted, rel=1e-5)
        assert late["test"]["p_value"] == pytest.approx(expected.test().p_value, rel=1e-5)
        assert late["says"].startswith(f"Did anything change? The largest of {2 * (number - 1)} changes")


@pytest.mark.parametrize("rule", ["fresh", "tracked"])
def test_trends_allow_for_people_who_were_asked_again(tmp_path: Path, rule: str) -> None:
    """The same devices answer in both rounds."""
    survey = loads(Path("examples/commute.toml").read_text().replace("pldp = 1", f'pldp = 1\nrepeat = "{rule}"'))
    with closing(Store(survey, tmp_path / "reports.db", step=1)) as store:
        for number in (1, 2):
            for person in range(80):
                bytes_of = np.random.default_rng([person, number]).bytes
                device = Device(survey, state=tmp_path / f"{person}.json", round=number, random=bytes_of)
                store.add(packed(survey, [device.answer("late", "yes" if person % 2 else "no", level="standard")]), {})
            if number == 1:
                store.close_round()
                store.open_round()
        (late,) = overview(store.tally(), 2, store.rounds(), [], 50, ClosedRounds(store.tally))["trends"]
        rounds = [estimate_result(store.tally(number), "late") for number in (1, 2)]
    assert [each["reports"] for each in late["rounds"]] == [80, 80]
    assert [note["code"] for note in late["notes"]][-1] == "people-overlap"
    for row, one, two in zip(late["changes"], *(each.standard_error for each in rounds), strict=True):
        assert row["standard_error"] ** 2 > one**2 + two**2


def test_where_levels_disagree_in_one_round_trends_hold(store: Store, commute: Survey) -> None:
    for seed, mix in (
        (1, {"strict": [1, 0, 0, 0, 0, 0], "open": [0, 0, 0, 0, 0, 1]}),
        (2, {"open": [1, 1, 1, 1, 1, 1]}),
    ):
        for level, shares in mix.items():
            people = Population.of_shares(commute, 1500, {"mode": shares}, level_mix={level: 1}, seed=seed)
            for batch in simulate_reports(commute, people, seed=seed):
                store.add(packed(commute, list(from_batch(commute, batch))), {})
        if seed == 1:
            store.close_round()
            store.open_round()
    closed = ClosedRounds(store.tally)
    mode = overview(store.tally(), 2, store.rounds(), [], 50, closed)["trends"][0]
    expected = [estimate_result(store.tally(number), "mode").estimates[0] for number in (1, 2)]
    assert [row["estimate"] for row in mode["rows"] if row["label"] == "car"] == pytest.approx(expected)


def test_a_closed_round_is_estimated_once_however_many_there_are(store: Store, commute: Survey, monkeypatch) -> None:
    reports, made = make_reports(commute, 400), []
    known = answers.estimates.estimate
    monkeypatch.setattr(answers.estimates, "estimate", lambda *given, **more: made.append(1) or known(*given, **more))
    closed = ClosedRounds(store.tally)
    for start in range(0, 300, 100):
        store.add(packed(commute, reports[start : start + 100]), {})
        store.close_round()
        store.open_round()
    store.add(packed(commute, reports[300:]), {})
    counted = store.tally()
    for expected in (4, 5, 6):
        overview(counted, 4, store.rounds(), [], 50, closed)
        assert len(made) == expected


def test_trends_have_few_rounds_and_labels(store: Store, commute: Survey, monkeypatch) -> None:
    monkeypatch.setattr(answers, "MOST_ROUNDS", 3)
    monkeypatch.setattr(answers, "MOST_LABELS", 2)
    for number in range(5):
        store.add(packed(commute, make_reports(commute, 60 + number)), {})
        store.close_round()
        store.open_round()
    store.add(packed(commute, make_reports(commute, 80)), {})
    mode = overview(store.tally(), 6, store.rounds(), [], 50, ClosedRounds(store.tally))["trends"][0]
    assert [each["name"] for each in mode["rounds"]] == ["round 4", "round 5", "round 6"]
    assert (len(mode["rows"]), len(mode["changes"]), mode["left_out"]) == (6, 4, 4)


def test_rounds_without_reports_are_left_out_of_trends(store: Store, commute: Survey) -> None:
    for number in range(4):
        if number != 1:
            store.add(packed(commute, make_reports(commute, 60 + number)), {})
        if number < 3:
            store.close_round()
            store.open_round()
    (mode, _) = overview(store.tally(), 4, store.rounds(), [], 50, ClosedRounds(store.tally))["trends"]
    assert [each["name"] for each in mode["rounds"]] == ["round 1", "round 3", "round 4"]


def test_a_store_that_fails_is_told_and_looked_at_again(app: Collector, store: Store, reader: str, monkeypatch) -> None:
    def fail() -> None:
        raise StoreError("away")

    with monkeypatch.context() as patched:
        patched.setattr(store, "versions", fail)
        assert look(app, reader).code == "store_unavailable"
    assert look(app, reader).status == 200


def test_overviews_of_few_rounds_are_kept_and_none_of_rounds_that_are_not_there(store: Store, monkeypatch) -> None:
    monkeypatch.setattr("pldp.collector.live.MOST_ROUNDS", 2)
    for _ in range(4):
        store.close_round()
        store.open_round()
    live = Live(store)
    for number in range(1, 6):
        assert json.loads(asyncio.run(live.overview(number, "read")).body)["round"] == number
    assert list(live._rounds) == [4, 5]
    with pytest.raises(ProblemError):
        asyncio.run(live.overview(6, "read"))
    assert list(live._rounds) == [4, 5]
    live.queue.close()


def test_hidden_levels_show_estimated_shares_and_no_counts() -> None:
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={a=1,b=2}\nhide_level={epsilon=2}\nquestions=[{name="q",values=["x","y"]}]'
    )
    counted = tally(survey, simulate_reports(survey, Population.of_shares(survey, 4000, seed=1), seed=1))
    (shown,) = overview(counted, 1, [], [], 50)["questions"]
    assert shown["groups"] == []
    assert sum(level["share"] for level in shown["levels"]) == pytest.approx(1)


def test_every_kind_of_question_has_its_view(shopping: tuple[Survey, Tally]) -> None:
    survey, counted = shopping
    basket, reason, spent = overview(counted, 1, [], [], 50)["questions"]
    assert [row["label"] for row in basket["rows"]] == list(survey.question("basket").values)
    assert [row["estimate"] for row in basket["rows"]] == shown_of(counted, "basket").estimates.tolist()
    assert max(len(row["items"]) for row in basket["sets"]) == 1
    assert basket["manipulation"] > 1
    assert reason["rows"][0]["point"] >= 0
    found = shown_of(counted, "spent").rows()[0]
    assert (spent["rows"][0]["label"], spent["rows"][0]["estimate"]) == ("mean", found.estimate)
    assert spent["unit"] == "euros"
    shares, low, high = (spent["density"][name] for name in ("shares", "low", "high"))
    assert len(shares) + 1 == len(spent["density"]["edges"])
    assert all(a < b < c for a, b, c in zip(low, shares, high, strict=True))
    assert sum(shares) == pytest.approx(1)
    assert [row["label"] for row in spent["rows"][1:]] == ["5 %", "25 %", "50 %", "75 %", "95 %"]


def test_heaped_numbers_are_said_to_be_heaped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    buckets = runs(32, 256)
    question = f'{{name="q",kind="number",low=0,high=1,buckets={buckets},mechanism="sw"}}'
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1,b=2}}\nquestions=[{question}]')
    for numbers, heaped in ((np.full(20_000, 0.7), True), (np.random.default_rng(1).beta(2, 5, 20_000), False)):
        people = Population.of_values(survey, {"q": numbers}, seed=1)
        counted = tally(survey, simulate_reports(survey, people, seed=1))
        (shown,) = overview(counted, 1, [], [], 50)["questions"]
        (said,) = [note["text"] for note in shown["notes"] if note["code"] == "heaped"] or [None]
        assert (said is not None) == heaped
        counted.save(tmp_path / "q.tally")
        main(["estimate", str(tmp_path / "q.tally"), "--details"])
        words = " ".join(capsys.readouterr().out.split())
        assert ("many people seem to share exact numbers" in words) == heaped


def test_a_forged_report_moves_the_mean_by_no_more_than_is_said(shopping: tuple[Survey, Tally]) -> None:
    """Replace one report by the worst one, at every level: the mean moves by at most that, and about that much."""
    _, counted = shopping
    said = overview(counted, 1, [], [], 50)["questions"][2]["moves"]
    moved = []
    for level in ("strict", "open"):
        cell = counted.counts["spent", level]
        outputs = [int(cell.counts.nonzero()[0][place]) for place in (0, -1)]
        means = []
        for output in outputs:
            counts = cell.counts.copy()
            counts[outputs[0]] -= 1
            counts[output] += 1
            changed = {**counted.counts, ("spent", level): replace(cell, counts=counts)}
            means.append(mean(fused_of(replace(counted, counts=changed), "spent")).value)
        moved.append(means[1] - means[0])
    assert 0.9 * said < max(moved) <= 1.02 * said


def test_where_levels_disagree_that_is_said_and_nothing_that_denies_it() -> None:
    """The twin below has levels that agree: nothing is said."""
    survey = loads(
        """
        pldp = 1
        title = "t"
        levels = { strict = 1, open = 2 }
        [[questions]]
        name = "one"
        values = ["x", "y"]
        [[questions]]
        name = "some"
        kind = "choices"
        values = ["x", "y"]
        [[questions]]
        name = "much"
        kind = "number"
        low = 0
        high = 10
        """
    )

    def shown(strict: list[Any], relaxed: list[Any]) -> list[dict[str, Any]]:
        parts = []
        for level, (one, some, much) in (("strict", strict), ("open", relaxed)):
            answers = {"one": [one] * 4000, "some": [some] * 4000, "much": np.linspace(*much, 4000)}
            people = Population.of_values(survey, answers, level_mix={level: 1}, seed=1)
            parts.append(tally(survey, simulate_reports(survey, people, seed=1)))
        return overview(Tally.merge(parts), 1, [], [], 50)["questions"]

    for question in shown(["x", ["x"], (0, 6)], ["y", ["y"], (4, 10)]):
        assert question["notes"][0]["code"] == "levels-disagree"
        assert question["assumes_about_levels"] == "nothing"
        assert not question["alike"]["said"]
    for question in shown(["x", ["x"], (0, 10)], ["x", ["x"], (0, 10)]):
        assert "levels-disagree" not in {note["code"] for note in question["notes"]}
        assert question["assumes_about_levels"] == "nothing"


def test_questions_without_reports_say_what_is_missing(shopping: tuple[Survey, Tally]) -> None:
    survey, _ = shopping
    shown = overview(Tally.empty(survey), 1, [], [], 1)
    assert shown["questions"] == []
    assert [(each["name"], each["text"]) for each in shown["missing"]] == [
        (question.name, question.text) for question in survey.questions
    ]
    assert all("no reports" in each["reason"] for each in shown["missing"])
    in_steps = overview(Tally.empty(survey), 1, [], [], 50)["missing"]
    words = "too few reports so far: results count whole steps of 50 reports per level"
    assert {each["reason"] for each in in_steps} == {words}


def test_questions_with_many_values_show_the_largest_and_say_how_many_are_left() -> None:
    names = ",".join(f'"{number}"' for number in range(80))
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=3}}\nquestions=[{{name="q",values=[{names}]}}]')
    counted = tally(survey, simulate_reports(survey, Population.of_shares(survey, 2000, seed=1), seed=1))
    (shown,) = overview(counted, 1, [], [], 50)["questions"]
    assert (len(shown["rows"]), shown["left_out"]) == (50, 30)
    least = min(row["estimate"] for row in shown["rows"])
    assert sorted(frequencies(counted, "q").shares)[30] == pytest.approx(least)


def test_two_way_tables_are_there_where_pairs_are_counted(
    app: Collector, store: Store, commute: Survey, reader: str
) -> None:
    empty = look(app, reader).json
    assert empty["tables"] == []
    assert empty["missing"][-1]["name"] == "late × mode"
    people = Population.of_shares(commute, 1000, seed=1)
    packing = Packing(commute)
    batch = next(iter(simulate_reports(commute, people, seed=1)))

    store.add([packing.pack(report) for report in from_batch(commute, batch)], {})
    (table,) = look(app, reader).json["tables"]
    assert table["questions"] == ["late", "mode"]
    assert len(table["rows"]) == 12
    assert sum(row["estimate"] for row in table["rows"]) == pytest.approx(1, abs=0.5)


def test_pairs_are_named_in_the_settings() -> None:
    assert Settings().question_pairs() == []
    with pytest.raises(UsageError, match="such as mode\\+late"):
        Settings(pairs="mode").question_pairs()


def test_hours_are_forgotten_after_a_week_and_when_the_clock_is_set_back() -> None:
    now = 1e9
    arrivals = Arrivals(clock=lambda: now)
    for _ in range(3 * HOURS):
        arrivals.add(2, 1)
        now += 3600
    assert len(arrivals.hours()) == HOURS
    assert len(arrivals._counts) <= HOURS + 1
    assert sum(hour.stored for hour in arrivals.hours()) == 2 * (HOURS - 1)
    now = 0
    assert arrivals.hours() == []


def test_estimates_of_every_kind_come_in_every_format(shopping: tuple[Survey, Tally]) -> None:
    """CSV and Arrow have the rows: one per value or item, or the mean and quantiles of a number."""
    survey, counted = shopping
    assert {question.kind for question in survey.questions} == {"choice", "choices", "number"}
    for question in survey.questions:
        content = estimate(counted, question.name, 50)
        assert content["reports"] > 500
        assert [group["level"] for group in content["groups"]] == ["strict", "open"]
        assert json.loads(encode(content, "json"))["survey"] == survey.hash
        table = pa.ipc.open_stream(encode(content, "arrow")).read_all()
        rows = list(csv.DictReader(io.StringIO(encode(content, "csv").decode())))
        assert [row["label"] for row in rows] == table["label"].to_pylist() == [row["label"] for row in content["rows"]]
        assert all(float(row["low"]) < float(row["estimate"]) < float(row["high"]) for row in rows)


def test_a_number_without_reports_has_no_estimate(tmp_path: Path, shopping: tuple[Survey, Tally]) -> None:
    survey, _ = shopping
    store = Store(survey, tmp_path / "shopping.db", step=1)
    app = Collector(survey, store, Tokens(tmp_path / "shopping.db"), OPEN)
    token = Tokens(tmp_path / "shopping.db").create("reader", "read")
    for question in survey.questions:
        assert call(app, "GET", f"/v1/estimates/{question.name}", token=token).code == "no_estimate"
    store.close()


@pytest.mark.parametrize("label", ["=cmd()", " =1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "＝1", "x;=cmd()"])
def test_cells_of_csv_are_no_formulas(label: str) -> None:
    """Whatever separates cells where the file is opened."""
    text = encode({"survey": "", "rows": [{"label": label, "=1": -0.5}]}, "csv").decode()
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            assert not [cell for cell in row if cell.strip().startswith(("=", "+", "@", "＝")) or cell == "-1"]
    assert next(csv.reader(io.StringIO(text), delimiter=",")) == ["label", "'=1"]


def test_reports_are_counted_once_while_the_reader_types_the_token(
    app: Collector, store: Store, commute: Survey, reader: str, monkeypatch
) -> None:
    store.add(packed(commute, make_reports(commute, 30)), {})
    asked: list[tuple[Any, ...]] = []
    count = store.shown
    monkeypatch.setattr(store, "shown", lambda *given: asked.append(given) or count(*given))
    for _ in range(3):
        assert call(app, "GET", "/dashboard").status == 200
    assert look(app, reader).json["reports"] == 30
    assert [len(given) for given in asked] == [0, 2]  # once for who opens the page, once for the overview
