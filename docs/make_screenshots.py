"""Take the pictures of pages in docs/images: .venv/bin/python docs/make_screenshots.py."""

from __future__ import annotations

import sys
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
LARGEST = 150_000
sys.path[:0] = [str(ROOT / "tests")]

from helpers.browsers import Visit, Visits, open_browser, visits  # noqa: E402 - they are found where the tests are
from helpers.collector.servers import local, running  # noqa: E402
from helpers.designers import designing  # noqa: E402
from pldp.auditing import audit, write_certificate  # noqa: E402
from pldp.collector import Tokens  # noqa: E402
from pldp.kit import make_kit  # noqa: E402
from pldp.reports.columns import from_batch  # noqa: E402
from pldp.simulate import Population, simulate_reports  # noqa: E402
from pldp.survey import Survey  # noqa: E402

WIDE = {"viewport": {"width": 980, "height": 900}, "device_scale_factor": 1}
DESKTOP = {"viewport": {"width": 760, "height": 900}, "device_scale_factor": 1.25}
DESK = {"viewport": {"width": 1280, "height": 900}}
BOARD = {"viewport": {"width": 1000, "height": 1000}}
BESIDE = """body { margin: 0; display: flex; gap: 20px; padding: 14px; background: #e8edf2; font: 600 17px system-ui }
figure { margin: 0 } figcaption { padding: 2px 4px 10px; color: #1c2733 } img { display: block; border-radius: 8px }"""
PHONE = {"viewport": {"width": 360, "height": 720}, "device_scale_factor": 1.5, "color_scheme": "dark"}


def main() -> None:
    """Answer the example survey twice, at a desk and on a phone."""
    with (
        TemporaryDirectory() as folder,
        running(Path(folder)) as server,
        open_browser() as browser,
        visits(browser) as visit,
    ):
        take_survey(visit(**DESKTOP), server.url)
        take_phone(visit(**PHONE), server.url)
        take_german(visit)
        take_dashboard(visit(**BOARD), "commute", "dashboard")
        take_dashboard(visit(**PHONE), "shopping", "dashboard-phone", card=2)
        take_certificate(visit(**WIDE), Path(folder))
        take_new(visit(**DESK), visit(**PHONE), Path(folder))
        take_kit(visit(**WIDE), Path(folder))
        take_beside(visit, server.url)


def take_new(desk: Visit, phone: Visit, folder: Path) -> None:
    """The survey of the tutorial in `pldp new`, and its end on a phone."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (folder / "sleep.toml").write_text(text.split("```toml\n", 1)[1].split("```", 1)[0], encoding="utf-8")
    for person, name in ((desk, "new"), (phone, "new-phone")):
        page = person.page
        with designing(folder, "sleep.toml", "--people", "5000") as path:
            page.goto(path.as_uri())
            page.locator("#errors table").wait_for()
            page.frame_locator("#seen").locator("#level-0-odds").wait_for()
            if person is phone:
                page.locator("#reveals-title").evaluate("(title) => title.scrollIntoView()")
            keep(page.screenshot(), name)


def take_kit(person: Visit, folder: Path) -> None:
    """The page that verifies a certificate."""
    made = make_kit(Survey.load(ROOT / "examples" / "commute.toml"), folder / "kit", samples=0)
    person.page.goto((made.folder / "verify.html").as_uri())
    person.page.locator("#rows tr").first.wait_for()
    box = {"x": 0, "y": 0, "width": 980, "height": 560}
    keep(person.page.screenshot(clip=box), "verify")


def take_certificate(person: Visit, folder: Path) -> None:
    """The certificate of the example survey."""
    _, page = write_certificate(audit(Survey.load(ROOT / "examples" / "commute.toml")), folder / "audit.json")
    person.page.goto(page.as_uri())
    keep(person.page.screenshot(), "certificate")  # its beginning: verdict, table and findings


def take_survey(person: Visit, url: str) -> None:
    """Levels, report, receipt and account."""
    page = person.page
    page.goto(url)
    page.get_by_label("standard").check()
    keep(page.locator("#choosing").screenshot(), "survey-levels")
    page.get_by_role("button", name="Show the questions").click()
    page.get_by_label("bike").check()
    page.get_by_label("no", exact=True).check()
    page.get_by_role("button", name="Show me what will be sent").click()
    keep(page.locator("#preview").screenshot(), "survey-report")
    page.get_by_role("button", name="Send this report").click()
    page.locator(".receipt").wait_for()
    keep(page.locator("#reports").screenshot(), "survey-receipt")
    keep(page.locator("#ledger").screenshot(), "survey-account")


def take_phone(person: Visit, url: str) -> None:
    """The questions on a small dark screen."""
    page = person.page
    page.goto(url)
    page.get_by_role("button", name="Show the questions").click()
    page.get_by_label("train").check()
    page.locator("#answering summary").first.click()
    page.locator("#answering").evaluate("(form) => form.scrollIntoView()")
    keep(page.screenshot(), "survey-phone")


def take_german(visit: Visits) -> None:
    """A survey with texts in two languages, as people who read German see it on a phone, and the receipt on paper."""
    survey = str(ROOT / "tests" / "helpers" / "whole_way" / "survey.toml")
    with TemporaryDirectory() as folder, running(Path(folder), survey=survey) as server:
        page = visit(**{**PHONE, "color_scheme": "light"}, locale="de").page
        page.goto(server.url)
        page.locator("#choosing").wait_for()
        keep(page.screenshot(), "survey-german")
        page.locator("#choosing button").click()
        page.locator("#question-0-1").check()
        keep(page.screenshot(), "survey-german-questions")
        page.locator("#answering button.main").click()
        page.locator("#send").click()
        page.locator(".receipt").wait_for()
        page.emulate_media(media="print")
        keep(page.screenshot(), "survey-printed")


def take_dashboard(person: Visit, example: str, name: str, *, card: int = -1) -> None:
    """Estimates of people whose answers are made up, from the top or from the card of a question on."""
    survey = Survey.load(ROOT / "examples" / f"{example}.toml")
    people = Population.of_shares(survey, 6000, seed=1)
    with TemporaryDirectory() as folder, local(Path(folder), survey, result_step=50) as server:
        for batch in simulate_reports(survey, people, seed=1):
            server.store.add([server.store.packing.pack(report) for report in from_batch(survey, batch)], {})
        page = person.page
        page.goto(f"{server.url}/dashboard")
        page.get_by_label("Token").fill(Tokens(server.database).create("reader", "read"))
        page.get_by_role("button", name="Show the dashboard").click()
        page.locator(".dots").first.wait_for()
        if card >= 0:
            page.locator("section.card").nth(card).evaluate("(card) => card.scrollIntoView()")
        keep(page.screenshot(), name)


def take_beside(visit: Visits, url: str) -> None:
    """The first picture of the README: the page that people answer on, beside the dashboard."""
    narrow = visit(viewport={"width": 430, "height": 700}).page
    narrow.goto(url)
    narrow.get_by_role("button", name="Show the questions").click()
    narrow.get_by_label("bike").check()
    narrow.locator("#answering").evaluate("(form) => form.scrollIntoView()")
    asked = narrow.screenshot()
    take_dashboard(visit(viewport={"width": 860, "height": 700}), "commute", "beside")
    shown = (IMAGES / "beside.png").read_bytes()
    pictures = "".join(
        f"<figure><figcaption>{words}</figcaption><img src='data:image/png;base64,{b64encode(taken).decode()}'>"
        for words, taken in (("what people see", asked), ("what you see", shown))
    )
    page = visit(viewport={"width": 1354, "height": 770}).page
    page.set_content(f"<style>{BESIDE}</style>{pictures}")
    keep(page.screenshot(), "beside")


def keep(picture: bytes, name: str) -> None:
    """Write one picture."""
    if len(picture) > LARGEST:
        raise SystemExit(f"{name}: {len(picture)} bytes, more than {LARGEST}")
    (IMAGES / f"{name}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
