"""Screens beside the survey page: dashboard, public results, notices, `pldp new`, the kit, reports, notebooks."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from playwright.sync_api import Locator, Page, Route

from helpers.collector.servers import Local, local
from helpers.designers import designing
from pldp import audit, estimate, plan, show, tally
from pldp.cli import main
from pldp.collector import Tokens
from pldp.collector.notices import NOTICES, notice_page
from pldp.reports.columns import from_batch
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey

ROOT = Path(__file__).parents[3]
PEOPLE = 6000
STEP = 50
PATIENT = 180_000  # milliseconds for the first count


def fill(server: Local, survey: Survey, people: int, seed: int) -> None:
    """Put reports of people whose answers are made up into a store."""
    crowd = Population.of_shares(survey, people, seed=seed)
    for batch in simulate_reports(survey, crowd, seed=seed):
        server.store.add([server.store.packing.pack(report) for report in from_batch(survey, batch)], {})


@contextmanager
def collecting(folder: Path) -> Iterator[tuple[Local, str]]:
    """A collector with two rounds, a table of two questions, results for everybody, and an administrator's token."""
    survey = Survey.load(ROOT / "examples" / "commute.toml")
    folder.mkdir()
    with local(folder, survey, result_step=STEP, pairs=(("mode", "late"),), public="mode") as server:
        fill(server, survey, PEOPLE, 1)
        server.store.close_round("admin")
        server.store.open_round("admin")
        fill(server, survey, PEOPLE, 2)
        yield server, Tokens(server.database).create("anna", "admin")


def dashboard(page: Page, server: Local, token: str) -> Iterator[str]:
    """Signing in, results, comparisons, rounds, and a lost connection."""
    page.goto(f"{server.url}/dashboard")
    page.locator("#entering").wait_for()
    yield "dashboard-sign-in"
    page.get_by_label("Token").fill("x" * 43)
    page.locator("#enter").click()
    page.locator("#error").wait_for()
    yield "dashboard-wrong-token"
    body = show.board({"scope": "read", "counted": 3_000_000, "reports": 10_000_000})
    page.route("**/v1/overview.html", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.get_by_label("Token").fill(token)
    page.locator("#enter").click()
    page.locator("progress").wait_for()
    yield "dashboard-counting"
    page.unroute("**/v1/overview.html")
    page.locator(".dots").first.wait_for(timeout=PATIENT)
    yield "dashboard-results"
    scroll_to(page, page.get_by_role("heading", name="Over rounds").first)
    yield "dashboard-rounds-compared"
    page.get_by_text("Compare levels").first.click()
    page.locator(".groups").first.wait_for(timeout=PATIENT)
    scroll_to(page, page.get_by_text("Compare levels").first)
    yield "dashboard-levels-compared"
    scroll_to(page, page.get_by_role("heading", name="together"))
    yield "dashboard-table"
    scroll_to(page, page.get_by_role("heading", name="Reports per hour"))
    yield "dashboard-rounds"
    page.get_by_role("button", name="Close the open round").click()
    page.locator("#closing").wait_for()
    yield "dashboard-closing"
    page.locator("#not").click()
    page.evaluate("scrollTo(0, 0)")
    page.route("**/v1/overview.html", lambda route: route.abort())
    page.locator("#error").wait_for()
    yield "dashboard-lost"


def first_reports(page: Page, folder: Path) -> Iterator[str]:
    """Before the first step, and with too few reports to say much."""
    survey = Survey.load(ROOT / "examples" / "shopping.toml")
    for name, people, step in (("dashboard-nothing-yet", 20, STEP), ("dashboard-too-few", 30, 1)):
        place = folder / name
        place.mkdir()
        with local(place, survey, result_step=step) as server:
            fill(server, survey, people, 3)
            page.goto(f"{server.url}/dashboard#{Tokens(server.database).create('reader', 'read')}")
            page.locator("#board dl").wait_for(timeout=PATIENT)
            yield name
            page.goto("about:blank")


def open_to_all(page: Page, server: Local) -> Iterator[str]:
    """What people see who have no token."""
    page.goto(f"{server.url}/results")
    page.locator(".dots").first.wait_for(timeout=PATIENT)  # it looks again while reports are counted
    yield "public-results"
    page.goto(f"{server.url}/reading")
    yield "reading"
    for family in sorted(set(NOTICES.values())):
        page.route("**/nothing", _filled(notice_page(family, "en")))
        page.goto(f"{server.url}/nothing")
        page.locator("h1").wait_for()
        yield f"notice-{family}"
        page.unroute("**/nothing")


def _filled(body: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=404, body=body, content_type="text/html")


def scroll_to(page: Page, part: Locator) -> None:
    """Scroll there, with a little room above."""
    part.evaluate("(part) => scrollTo(0, part.getBoundingClientRect().top + scrollY - 16)")
    page.wait_for_timeout(50)


def new(page: Page, folder: Path) -> Iterator[str]:
    """`pldp new`: an empty form, troubles, a draft, a second use of the file, a whole form, and a survey that runs."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    survey = text.split("```toml\n", 1)[1].split("```", 1)[0]
    (folder / "sleep.toml").write_text(survey, encoding="utf-8")
    with designing(folder) as path:
        copy = Path(shutil.copy(path, folder / "copy.html"))
        page.goto(path.as_uri())
        page.get_by_text("Add a question.").wait_for(timeout=PATIENT)
        yield "new-empty"
        page.get_by_role("button", name="Add: a number").click()
        page.get_by_text("Fill this in.").first.wait_for(timeout=PATIENT)
        yield "new-troubles"
        page.get_by_label("File name").fill("draft.toml")
        page.locator("#save").click()
        page.locator("#status.wrong").wait_for()
        page.locator("#status").scroll_into_view_if_needed()
        yield "new-draft"
        page.goto(copy.as_uri())
        page.get_by_role("heading", name="Not opened").wait_for()
        yield "new-refused"
    with designing(folder, "sleep.toml", "--people", "5000") as path:
        page.goto(path.as_uri())
        page.locator("#errors table").wait_for(timeout=PATIENT)
        page.frame_locator("#seen").locator("#level-0-odds").wait_for()
        yield "new-form"
        page.locator("#errors").evaluate("(part) => part.scrollIntoView({ block: 'center' })")
        yield "new-errors"
        page.get_by_role("button", name="Try it with simulated people").click()
        page.locator("#started").wait_for(timeout=PATIENT)
        page.locator("#stop").scroll_into_view_if_needed()
        yield "new-started"
        page.locator("#stop").click()
        page.locator("#started").wait_for(state="hidden")


def kit(page: Page, folder: Path) -> Iterator[str]:
    """Every page of a trust kit, and the one that verifies when it gets another survey."""
    (folder / "names.txt").write_text("Anna\nBen\n", encoding="utf-8")
    words = ["kit", str(ROOT / "examples" / "commute.toml"), "--samples", "0", "--out", str(folder / "kit")]
    words += ["--link", "https://survey.example/", "--contact", "privacy@example.org"]
    invited = ["--names", str(folder / "names.txt"), "--budget", "4", "--database", str(folder / "kit.db")]
    with redirect_stdout(io.StringIO()):
        assert main([*words, *invited]) == 0
    for path in sorted((folder / "kit").glob("*.html")):
        page.goto(path.as_uri())
        if path.stem == "verify":
            page.locator("#rows tr").first.wait_for()
        yield f"kit-{path.stem}"
    page.goto((folder / "kit" / "verify.html").as_uri())
    page.locator("#rows tr").first.wait_for()
    Survey.load(ROOT / "examples" / "panel.toml").save(folder / "other.json")
    page.locator("#other").set_input_files(folder / "other.json")
    page.locator("#verdict.warning").wait_for()
    yield "kit-verify-refused"


def written(page: Page, folder: Path) -> Iterator[str]:
    """The static report, and what notebooks show."""
    survey = Survey.load(ROOT / "examples" / "shopping.toml")
    people = Population.of_shares(survey, PEOPLE, seed=1)
    counted = tally(survey, simulate_reports(survey, people, seed=1))
    results = estimate(counted)
    report = folder / "report.html"
    report.write_text(show.results_page(results.to_mapping(), closing=f"Survey {survey.hash}."), encoding="utf-8")
    page.goto(report.as_uri())
    yield "report"
    commute = Survey.load(ROOT / "examples" / "commute.toml")
    shown = {
        "survey": commute,
        "tally": counted,
        "result": results["spent"],
        "plan": plan(commute, PEOPLE),
        "audit": audit(commute, samples=0),
    }
    for name, each in shown.items():
        cell = folder / f"{name}.html"
        cell.write_text(
            f"<!doctype html><meta charset=utf-8><title>{name}</title>{each._repr_html_()}", encoding="utf-8"
        )
        page.goto(cell.as_uri())
        yield f"notebook-{name}"
