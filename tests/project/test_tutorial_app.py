"""The tutorial of the JavaScript device, done literally: its page in a browser, its collector on another origin."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

from playwright.sync_api import expect

from helpers.browsers import Visits
from helpers.collector.servers import local
from helpers.folders import served
from pldp.cli import main
from pldp.survey import load

ROOT = Path(__file__).parent.parent.parent
TUTORIAL = (ROOT / "docs" / "tutorial-app.md").read_text(encoding="utf-8")
DEVICE = ROOT / "clients" / "js" / "src"


def saved(name: str) -> str:
    """The block that the tutorial says to save under a name."""
    block = re.search(rf"Save this as `{re.escape(name)}`.*?\n```\w+\n(.+?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    assert block
    return block[1]


def make_app(folder: Path) -> Path:
    """Do steps 1 to 3; return the survey file."""
    survey = folder / "app.toml"
    survey.write_text(saved("app.toml"), encoding="utf-8")
    app = folder / "app"
    app.mkdir()
    assert main(["survey", "compile", str(survey), "--out", str(app / "app.json")]) == 0
    shutil.copytree(DEVICE, app / "pldp-device")
    return survey


def test_the_page_of_the_tutorial_sends_one_report_to_a_collector_of_another_origin(
    visit: Visits, tmp_path: Path
) -> None:
    survey = load(make_app(tmp_path))
    with served(tmp_path / "app") as page, local(tmp_path, survey, origins=page) as collector:
        text = saved("index.html")
        assert "http://127.0.0.1:8300" in text
        (tmp_path / "app" / "index.html").write_text(text.replace("http://127.0.0.1:8300", collector.url))
        person = visit(viewport={"width": 390, "height": 700})
        person.page.goto(page)
        expect(person.page.locator("#explained")).to_contain_text("ε = 0.5")
        person.page.get_by_label("Topic").select_option("health")
        for _ in range(2):  # the second time the same report goes out
            person.page.get_by_role("button", name="Send").click()
            expect(person.page.locator("output")).to_contain_text("Left: ε = 1.5")
        reports = [json.loads(body) for method, _, body in person.requests if method == "POST"]
        assert {report["id"] for report in reports} == {reports[0]["id"]}
        assert "health" not in "".join(body for _, _, body in person.requests)
        assert not person.complaints
        assert sum(batch.num_rows for batch in collector.store.batches()) == 1


def test_the_example_for_node_runs(tmp_path: Path) -> None:
    make_app(tmp_path)
    (example,) = re.findall(r"^```js\n(.+?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
    script = tmp_path / "app" / "example.mjs"
    script.write_text(example.replace('"pldp-device"', '"./pldp-device/index.js"'), encoding="utf-8")
    shown = subprocess.run(["node", script], cwd=script.parent, capture_output=True, text=True, check=True).stdout
    assert shown == "topic 0\n"
