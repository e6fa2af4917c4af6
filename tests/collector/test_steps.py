"""Results in steps: what readers see is made of whole steps of reports, and no two looks give a single report away."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.collector.adversary import Adversary, addresses, attack, few_apart, watched
from helpers.collector.client import call
from helpers.collector.places import query
from helpers.collector.senders import make_id, packed, receipt_of, with_receipts
from pldp.collector import Collector, Packed, Settings, Store, Tokens
from pldp.collector.published import Version
from pldp.reports import Rejection, Report
from pldp.reports.columns import from_batch
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import Tally, tally

LONG = bool(os.environ.get("PLDP_LONG"))
STEP = 50
HIDDEN = """
pldp = 1
title = "hidden levels"
levels = { a = 1, b = 2 }
hide_level = { epsilon = 2 }
questions = [{ name = "q", values = ["x", "y"] }, { name = "r", values = ["x", "y", "z"] }]
"""


def shopping() -> Survey:
    """Sets and a number; in the short form the number has few buckets, so that it is estimated soon."""
    text = Path("examples/shopping.toml").read_text(encoding="utf-8")
    return loads(text if LONG else text.replace("high = 300", "high = 300\nbuckets = 16"))


SURVEYS: dict[str, Callable[[], Survey]] = {
    "commute": lambda: Survey.load("examples/commute.toml"),
    "shopping": shopping,
    "hidden": lambda: loads(HIDDEN),
}
PAIRS = {"How people get to work": [("mode", "late")]}  # tables are of choices whose levels show


@pytest.fixture(params=SURVEYS)
def survey(request: pytest.FixtureRequest) -> Survey:
    """One with two levels per answer, one with sets and a number, one that hides levels."""
    return SURVEYS[request.param]()


def reports_of(survey: Survey, people: int, seed: int = 1, level_mix: Any = None) -> list[Report]:
    population = Population.of_shares(survey, people, level_mix=level_mix, seed=seed)
    batches = simulate_reports(survey, population, seed=seed)
    return with_receipts(survey, [report for batch in batches for report in from_batch(survey, batch)])


def skip_some(reports: list[Report]) -> list[Report]:
    """Let every fifth person skip a question."""
    return [replace(each, answers=each.answers[1:]) if place % 5 == 0 else each for place, each in enumerate(reports)]


def sizes(counted: Tally) -> dict[Any, int]:
    return {cell: counts.reports for cell, counts in (*counted.counts.items(), *counted.pairs.items())}


def in_log(store: Store, number: int | None = None) -> list[Report]:
    """All reports of a round in the order in which they are stored."""
    return [report for batch in store.batches(number) for report in from_batch(store.packing.survey, batch)]


def whole_steps(survey: Survey, reports: list[Report]) -> Tally:
    """Count, without the store's own code, the first answers of each question and level, as many as fill steps."""
    found: dict[tuple[str, str], list[Report]] = {}
    for report in reports:
        for answer in report.answers:
            level = answer.level if survey.level_channel is None else ""
            found.setdefault((answer.question, level), []).append(replace(report, answers=(answer,)))
    kept = [each for answers in found.values() for each in answers[: len(answers) // STEP * STEP]]
    return tally(survey, kept) if kept else Tally.empty(survey)


def is_part_of(part: Any, whole: Any) -> bool:
    """Whether counts are those of some of the reports, as far as sums can tell."""
    mine, theirs = part.arrays(), whole.arrays()
    sums = [name for name in mine if "pattern" not in name]
    return all((mine[name] <= theirs[name]).all() for name in sums) and patterns(part) <= patterns(whole)


def patterns(counts: Any) -> Counter[bytes]:
    """Whole rows of bits with their numbers, where they are kept."""
    held = counts.arrays()
    rows = [row.tobytes() for row in held.get("patterns", ())]
    return Counter(dict(zip(rows, held.get("pattern_counts", np.zeros(0)).tolist(), strict=True)))


def test_what_is_shown_is_the_tally_of_whole_steps_of_reports(tmp_path: Path, survey: Survey) -> None:
    """In the order of the log, whatever came together; a level with less than a step has no report in it."""
    reports, chance, waiting = skip_some(reports_of(survey, 390)), random.Random(1), 0  # noqa: S311
    with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as store:
        start = 0
        while start < len(reports):
            some = reports[start : start + chance.randrange(1, 60)]
            store.add(packed(survey, some), {})
            start, waiting = start + len(some), waiting + len(some)
            waiting *= waiting < STEP
            shown = store.shown()
            assert shown.counts == whole_steps(survey, in_log(store)[: start - waiting]).counts
            assert shown.reports == store.shown_rounds()[0].reports == (start - waiting) // STEP * STEP
        assert waiting
        store.close_round()
        assert store.shown().counts == whole_steps(survey, in_log(store)).counts
        assert any(sizes(store.shown()).values())


def test_one_report_changes_a_level_by_whole_steps_or_not_at_all(tmp_path: Path, survey: Survey) -> None:
    pairs = PAIRS.get(survey.title, [])
    mix = {survey.levels[0].name: 0.8, survey.levels[-1].name: 0.2}
    rows = packed(survey, skip_some(reports_of(survey, 320, level_mix=mix)))
    with closing(Store(survey, tmp_path / "reports.db", pairs=pairs, step=STEP)) as store:
        seen = [store.shown()]
        for row in rows:
            store.add([row], {})
            seen.append(store.shown())
        exact = store.tally()
    assert sum(one != two for one, two in pairwise(seen)) == len(rows) // STEP
    for shown in seen[::STEP]:
        for cell, counts in (*shown.counts.items(), *shown.pairs.items()):
            assert counts.reports % STEP == 0 or survey.level_channel is not None
            assert is_part_of(counts, (exact.counts | exact.pairs)[cell])
    for one, two in pairwise(seen):
        for cell, size in sizes(two).items():
            changed = size - sizes(one)[cell]
            assert changed % STEP == 0 or survey.level_channel is not None
            if not changed:
                cells = (one.counts | one.pairs)[cell], (two.counts | two.pairs)[cell]
                assert is_part_of(*cells) or cell in two.pairs
    if pairs:
        assert any(counts.reports for counts in seen[-1].pairs.values())


def changes(survey: Survey, step: int, looks: list[int]) -> dict[str, list[int]]:
    """Return by address after how many reports, which come one by one, its bytes are not those of the look before."""
    rows = packed(survey, reports_of(survey, looks[-1], level_mix={survey.levels[0].name: 1}))
    with watched(survey, step, PAIRS.get(survey.title, ())) as (store, spy):
        for start, end in pairwise([0, *looks]):
            for row in rows[start:end]:
                store.add([row], {})
            spy.gather()
    differ = zip(looks[1:], pairwise(spy.seen), strict=True)
    found = [(number, path) for number, (one, two) in differ for path in one if one[path] != two[path]]
    return {path: [number for number, changed in found if changed == path] for path in addresses(survey)}


def test_every_address_gives_the_same_bytes_until_a_step_is_full(survey: Survey) -> None:
    """At the step each of them changes, but for the number of the round."""
    many = LONG or survey.title in PAIRS
    looks = [*range(102)] if LONG else [0, 1, 2, 49, 50, 51, 99, 100, 101] if many else [0, 1, 49, 50]
    found = changes(survey, STEP, looks)
    assert found.pop("/v1/round") == []
    steps = [number for number in (50, 100) if number in looks]
    assert all(set(found.pop(path)) <= set(steps) for path in [*found] if "groups" in path)  # with two levels, in time
    assert all(changed == steps for changed in found.values())


def test_where_every_report_shows_every_address_changes_with_it(commute: Survey) -> None:
    found = changes(commute, 1, [0, 1, 2, 3])
    assert found.pop("/v1/round") == []
    assert all(changed == [1, 2, 3] for path, changed in found.items() if "groups" not in path)


def test_nothing_is_shown_before_the_first_step_and_that_is_said(tmp_path: Path, survey: Survey) -> None:
    mix = {survey.levels[0].name: 1}
    rows = packed(survey, reports_of(survey, STEP - 1, level_mix=mix))
    with watched(survey, STEP) as (store, spy):
        store.add(rows, {})
        spy.look()
    overview = json.loads(spy.seen[0]["/v1/overview"])
    assert (overview["reports"], overview["questions"], overview["rounds"][0]["reports"]) == (0, [], 0)
    per_level = " per level" if survey.level_channel is None else ""
    words = f"too few reports so far: results count whole steps of {STEP} reports{per_level}"
    assert {each["reason"] for each in overview["missing"]} == {words}
    for path in addresses(survey):
        if path.startswith("/v1/estimates"):
            problem = json.loads(spy.seen[0][path])
            assert (problem["status"], problem["code"], problem["detail"]) == (409, "no_estimate", words)
    assert b'pldp_reports{round="1"} 0' in spy.seen[0]["/metrics"]


def withdrawals_shown(
    survey: Survey, folder: Path, step: int, looks: list[int], *, closed: bool
) -> dict[str, list[int]]:
    """Return by address after how many withdrawals, of which each look sees more, its bytes are not those before."""
    database, clock, public = folder / "reports.db", count(0, 1000), survey.questions[0].name if step > 1 else ""
    rows = packed(survey, reports_of(survey, 3 * STEP, level_mix={survey.levels[0].name: 1}))
    with closing(Store(survey, database, step=step)) as store:
        store.add(rows, {})
        if closed:
            store.close_round()
            store.open_round()
        settings = Settings(rate_limit=0, result_step=step, public=public)
        app = Collector(survey, store, Tokens(database), settings, clock=lambda: next(clock))
        token = Tokens(database).create("reader", "read")
        paths = [path for path in (*addresses(survey), "/results") if path not in {"/v1/round", "/metrics"}]
        seen: list[dict[str, bytes]] = []
        for start, end in pairwise([0, *looks]):
            store.withdraw_all([receipt_of(row.id) for row in rows[start:end]])
            answers = {}
            for path in paths:
                of_round = "?round=1" if path != "/v1/rounds" else ""
                answers[path] = call(app, "GET", path + of_round, token=token).body
            overview = json.loads(answers["/v1/overview"])
            answers["/v1/overview"] = json.dumps({**overview, "hours": None}).encode()
            answers["/metrics"] = b"\n".join(
                line
                for line in call(app, "GET", "/metrics", token=token).body.splitlines()
                if b"pldp_problems_total" not in line
            )
            seen.append(answers)
    differ = zip(looks[1:], pairwise(seen), strict=True)
    found = [(number, path) for number, (one, two) in differ for path in one if one[path] != two[path]]
    return {path: [number for number, changed in found if changed == path] for path in seen[0]}


@pytest.mark.parametrize("closed", [False, True])
def test_no_address_shows_a_withdrawal_before_a_step_of_them_has_gathered(
    tmp_path: Path, commute: Survey, closed: bool
) -> None:
    """Neither the public page nor what a token opens, of an open round and of a closed one."""
    changed = withdrawals_shown(commute, tmp_path, STEP, [0, 1, 49, 50, 51], closed=closed)
    assert {path: numbers for path, numbers in changed.items() if numbers != [50] and "groups" not in path} == {}
    assert all(set(numbers) <= {50} for numbers in changed.values())


@pytest.mark.usefixtures("_restarts")
def test_figures_that_follow_each_withdrawal_would_be_noticed(tmp_path: Path, commute: Survey) -> None:
    changed = withdrawals_shown(commute, tmp_path, STEP, [0, 1], closed=True)
    assert changed["/results"] == changed["/v1/overview"] == changed["/v1/rounds"] == [1]


def test_a_withdrawal_shows_with_the_next_step_of_arrivals_and_when_the_round_is_closed(
    tmp_path: Path, survey: Survey
) -> None:
    """The store is without it at once."""
    reports = reports_of(survey, 700)
    rows = packed(survey, reports)
    with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as store:
        store.add(rows[:300], {})
        before = store.shown()
        assert store.withdraw(receipt_of(reports[0].id))
        assert store.tally() == tally(survey, reports[1:300])
        store.add(rows[300 : 300 + STEP - 1], {})  # they wait for one more
        assert store.shown() == before
        store.add(rows[300 + STEP - 1 : 600], {})
        after = store.shown()
        assert after != before
        assert all(is_part_of(counts, store.tally().counts[cell]) for cell, counts in after.counts.items())
        assert store.withdraw(receipt_of(reports[1].id))
        assert store.shown() == after
        store.close_round()
        assert store.shown() != after


def test_a_collector_that_starts_shows_other_reports_after_a_withdrawal(tmp_path: Path, survey: Survey) -> None:
    """It leaves out a step's worth, drawn anew with each withdrawal; counts stay whole steps."""
    reports = reports_of(survey, 900)
    with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as store:
        store.add(packed(survey, reports), {})
        before = store.shown()
    seen = []
    for report in reports[:6]:
        with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as store:
            assert store.withdraw(receipt_of(report.id))
        with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as store:
            seen.append(store.shown())
            live = Counter((answer.question, answer.level) for each in in_log(store) for answer in each.answers)
            for cell, counts in seen[-1].counts.items():
                if survey.level_channel is None:
                    assert counts.reports == max(0, live[cell] // STEP - 1) * STEP
                    assert before.counts[cell].reports - counts.reports >= STEP or not before.counts[cell].reports
                assert is_part_of(counts, store.tally().counts[cell])
    for number, one in enumerate(seen):
        for two in seen[number + 1 :]:
            assert one.counts != two.counts
    with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as again:
        assert again.shown() == seen[-1]


def test_who_withdraws_from_a_closed_round_leaves_its_results(tmp_path: Path, survey: Survey) -> None:
    """The other rounds stay as they were, and no tally is stored that the report could be subtracted from."""
    reports = reports_of(survey, 610)
    with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as store:
        store.add(packed(survey, reports[:310]), {})
        store.close_round()
        store.open_round()
        store.add(packed(survey, reports[310:]), {})
        first, second, gone = store.shown(1), store.shown(2), reports[:STEP]
        assert store.withdraw(receipt_of(gone[0].id))
        assert store.tally(1) == tally(survey, reports[1:310])
        assert (store.shown(1), store.shown(2)) == (first, second)
        assert query(tmp_path / "reports.db", "SELECT * FROM tallies") == []  # what is shown is not stored
        assert all(store.withdraw_all([receipt_of(each.id) for each in gone]))
        fewer = store.shown(1)
        assert first.reports - fewer.reports == 2 * STEP
        assert store.shown(2) == second
        assert store.tidy()
        assert all(is_part_of(counts, store.tally(1).counts[cell]) for cell, counts in fewer.counts.items())
    with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as again:
        assert (again.shown(1), again.shown(2)) == (fewer, second)
    tables = {name for (name,) in query(tmp_path / "reports.db", "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {
        *("acts", "blocks", "head", "ledger", "meta", "rejections", "rounds", "seen", "tail", "tallies", "tokens"),
        "version",
    }
    assert query(tmp_path / "reports.db", "SELECT * FROM tallies") == []


def test_nothing_stored_gives_a_withdrawn_report_back(tmp_path: Path) -> None:
    """Of an open and of a closed round, from blocks and from the tail. Wide rows are unique; the twin stays."""
    labels = ",".join(f'"{number}"' for number in range(300))
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1}}\nquestions=[{{name="q",values=[{labels}],mechanism="oue"}}]')
    chance = random.Random(1)  # noqa: S311 - the same rows every time
    rows = [Packed(make_id(survey, number), b"\x01" + chance.randbytes(37) + b"\x0f") for number in range(190)]
    gone = [rows[3], rows[120], rows[185]]
    with closing(Store(survey, tmp_path / "reports.db", step=STEP)) as store:
        store.add(rows[:100], {})
        store.close_round()
        store.open_round()
        for start in (100, 160):
            store.add(rows[start : start + 60], {})
        store.shown()
        for row in gone:
            assert store.withdraw(receipt_of(row.id))
            store.shown()
        assert store.tidy()
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    found = [any(row.row[at : at + 12] in content for at in (1, 13, 25)) for row in rows]
    assert found == [row not in gone for row in rows]


def tiers(sizes: dict[str, int], step: int) -> Adversary:
    """Look at a closed round in which so many people chose each level; large tiers are the same people."""
    survey = SURVEYS["commute"]()
    rows: list[Packed] = []
    for number, (level, size) in enumerate(sizes.items()):
        people = Population.of_shares(survey, max(size, STEP), level_mix={level: 1}, seed=number + 1)
        batches = simulate_reports(survey, people, seed=number + 1)
        some = [report for batch in batches for report in from_batch(survey, batch)]
        ids = (make_id(survey, 1000 * number + place) for place in range(size))
        rows += [Packed(identity, row.row) for identity, row in zip(ids, packed(survey, some[:size]), strict=True)]
    with watched(survey, step, [("late", "mode")]) as (store, spy):
        store.add(rows, {})
        store.close_round()
        store.open_round()
        look, of_rounds = spy.read, ("/v1/overview", "/v1/estimates")
        spy.read = lambda path: look(f"{path}?round=1" if path.startswith(of_rounds) else path)
        spy.look()
    return spy


def test_the_size_of_a_small_tier_is_in_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates, standard errors, weights, `manipulation`, notes: all the same bytes for 3 people and for 49."""
    monkeypatch.setattr(
        "pldp.collector.store.secrets.token_bytes", bytes
    )  # otherwise tables leave out different people
    three, many = ({"strict": 600, "standard": 300, "open": size} for size in (3, 49))
    few, more = tiers(three, STEP), tiers(many, STEP)
    assert few.seen == more.seen
    assert few.size_of("mode", "open") == more.size_of("mode", "open")
    twins = tiers(three, 1), tiers(many, 1)
    assert [each.size_of("mode", "open") for each in twins] == [3, 49]
    for path in ("/v1/overview", "/v1/estimates/mode.json", "/v1/estimates/mode.csv", "/metrics"):
        assert twins[0].seen[0][path] != twins[1].seen[0][path]


@pytest.fixture
def _restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every withdrawal show at once, as if the collector started anew after each of them."""
    monkeypatch.setattr(Version, "gate", lambda version, _: version)


@pytest.mark.parametrize("restarts", [False, True])
def test_somebody_who_looks_after_every_change_recovers_no_report(
    restarts: bool, request: pytest.FixtureRequest
) -> None:
    """Neither by trying reports nor by subtracting readings; the twin below recovers all of them."""
    if restarts:
        request.getfixturevalue("_restarts")
    before, uploads, withdrawals, labels = (0, 130, 12, 30) if LONG else (90, 15, 6, 6)
    spy, truth = attack(STEP, before=before, uploads=uploads, withdrawals=withdrawals, labels=labels)
    assert len(truth) == uploads + withdrawals
    assert spy.found == []
    assert len(spy.counts("q")) > (
        35 if LONG else 15
    )  # counts are solved for: it is their differences that tell nothing
    assert few_apart(spy.counts("q")) == 0


def test_where_every_report_shows_the_same_looks_recover_all() -> None:
    uploads, withdrawals, labels = (12, 4, 30) if LONG else (5, 2, 4)
    spy, truth = attack(1, before=0, uploads=uploads, withdrawals=withdrawals, labels=labels)
    assert len(truth) == uploads + withdrawals
    assert spy.found == truth
    assert few_apart(spy.counts("q")) > len(truth)


@pytest.mark.usefixtures("_restarts")
def test_levels_that_are_compared_are_whole_steps_too() -> None:
    """Each level is solved for its outputs: readings differ by whole steps; where every report shows, by one report."""
    before, uploads, labels = (150, 24, 6) if LONG else (190, 12, 4)
    spy, _ = attack(STEP, before=before, uploads=uploads, withdrawals=4, labels=labels, levels="ab")
    twin, _ = attack(1, before=40, uploads=6, withdrawals=2, labels=labels, levels="ab")
    for level in "ab":
        assert len(spy.counts_of_level("q", level)) > uploads - 4
        assert few_apart(spy.counts_of_level("q", level)) == 0
        assert few_apart(twin.counts_of_level("q", level)) >= 3


def test_few_rejections_are_named_and_many_are_counted_in_steps(tmp_path: Path, commute: Survey) -> None:
    database = tmp_path / "reports.db"
    with closing(Store(commute, database, step=STEP)) as store:
        ticks: Iterator[float] = iter(range(0, 100_000, 1000))
        app = Collector(commute, store, Tokens(database), Settings(rate_limit=0), clock=lambda: next(ticks))
        token = Tokens(database).create("reader", "read")

        def look() -> tuple[int, int, list[str]]:
            shown = call(app, "GET", "/v1/overview", token=token).json
            return shown["rejections"]["malformed"], shown["rejections"]["bad_id"], shown["few"]

        assert look() == (0, 0, [])
        store.add([], {Rejection.MALFORMED: 1})
        assert look() == (0, 0, ["malformed"])
        store.add([], {Rejection.MALFORMED: 48, Rejection.BAD_ID: 3})
        assert look() == (0, 0, ["bad_id", "malformed"])
        store.add([], {Rejection.MALFORMED: 1})
        assert look() == (50, 0, ["bad_id"])
        store.close_round()
        store.open_round()
        assert look() == (0, 0, [])


def test_a_table_starts_a_new_step_also_where_no_single_result_does(tmp_path: Path, commute: Survey) -> None:
    """Two of its levels can fill a step between those of either question."""
    both = reports_of(commute, 130, level_mix={"open": 1})
    both, alone = both[:100], [replace(each, answers=(answer,)) for each in both[100:115] for answer in each.answers]
    alone = [replace(each, id=make_id(commute, 500 + place).hex()) for place, each in enumerate(alone)]
    others = reports_of(commute, 40, seed=2, level_mix={"strict": 1})
    others = [replace(each, id=make_id(commute, 900 + place).hex()) for place, each in enumerate(others)]
    with closing(Store(commute, tmp_path / "reports.db", pairs=[("mode", "late")], step=STEP)) as store:
        shown = []
        for some in ([*both[:90], *alone], [*both[90:], *others]):
            store.add(packed(commute, some), {})
            shown.append(sizes(store.shown()))
    cell, late = (("mode", "open"), ("late", "open")), ("late", "open")
    assert [each[late] for each in shown] == [100, 100]
    assert [each[cell] for each in shown] == [0, 50]
