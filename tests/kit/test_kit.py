"""A trust kit says what survey and certificate say, in every file; and its page finds what does not agree."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from helpers.browsers import Visits
from pldp.cli import main
from pldp.collector import Tokens
from pldp.design import look
from pldp.errors import AuditError, UsageError
from pldp.kit import About, make_kit
from pldp.kit.texts import LANGUAGES, Language
from pldp.show import qr_svg
from pldp.survey import load, make_key

ROOT = Path(__file__).parent.parent.parent
SHOPPING = str(ROOT / "examples" / "shopping.toml")
ABOUT = About("https://survey.example", "privacy@example.org")
PAGES = ("privacy-notice", "data-protection-annex", "datenschutzhinweis", "datenschutz-anhang", "certificate", "verify")
SCANNED = PAGES if os.environ.get("PLDP_LONG") else (PAGES[0], *PAGES[3:])
"""Where axe looks for barriers: in the short form at a notice in English and at an annex in German, not at all four."""

SCHEMES = ("light", "dark")
LONG = bool(os.environ.get("PLDP_LONG"))


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The kit of a survey with sets, numbers, budgets per value and a label without protection; signed."""
    folder = tmp_path_factory.mktemp("kit") / "kit"
    return make_kit(load(ROOT / "examples" / "shopping.toml"), folder, key=make_key()[0], about=ABOUT, samples=0)


def read(kit: Any, name: str) -> str:
    return (kit.folder / name).read_text(encoding="utf-8")


def test_the_kit_has_every_file_that_it_lists_and_no_other(kit) -> None:
    assert sorted(kit.files) == sorted(path.name for path in kit.folder.iterdir())
    assert all(name in read(kit, "README.txt") for name in kit.files if name != "README.txt")
    survey = load(kit.folder / "survey.json")
    assert survey.signer
    assert json.loads(read(kit, "certificate.json"))["survey_hash"] == survey.hash
    assert qr_svg("https://survey.example") == read(kit, "link.svg")


@pytest.mark.parametrize("name", ["privacy-notice.html", "datenschutzhinweis.html"])
def test_the_notice_says_what_a_whole_report_reveals_and_what_it_can_prove(kit, name: str) -> None:
    text = read(kit, name)
    for level in look(load(SHOPPING))["reveals"]:
        sure = level["sure"].replace(".", ",") if name.startswith("daten") else level["sure"]
        assert f"{sure} s" in text  # sure, sicher
        assert f"ε = {level['epsilon']})" in text
    proved = re.findall(r'class="warning"><strong>([^<]+)</strong>', text)
    assert proved
    assert all("reason" in line for line in proved)
    assert text.index(proved[0]) < text.index("ε = ")  # what can be proved is said first
    assert "privacy@example.org" in text
    assert kit.open_points[name]
    assert all(point in text for point in kit.open_points[name])


@pytest.mark.parametrize("name", ["data-protection-annex.html", "datenschutz-anhang.html"])
def test_the_annex_has_the_exact_epsilon_of_every_question_and_level(kit, name: str) -> None:
    text, survey = read(kit, name), load(kit.folder / "survey.json")
    rows = [row for row in json.loads(read(kit, "certificate.json"))["rows"] if row["rounds"] == 1]
    for row in rows:
        numbers = f'<td class="number">{row["claimed"]:g}</td><td class="number">{row["exact"]:g}</td>'
        assert f'<th scope="row">{row["question"]}</th><td>{row["level"]}</td>{numbers}' in text
    assert len(rows) == sum(len(question.levels) for question in survey.questions)
    assert survey.hash in text
    assert survey.signer in text


def test_both_languages_have_the_same_texts_with_the_same_places() -> None:
    def shape(language: Language) -> dict[str, Any]:
        texts = {**language.words, **{f"rule {name}": text for name, text in language.rules.items()}}
        return {
            name: (len(text) if isinstance(text, list) else 0, sorted(set(re.findall(r"\{\w+\}", str(text)))))
            for name, text in texts.items()
        }

    english, german = map(shape, LANGUAGES)
    assert english == german


@pytest.mark.parametrize("example", ["panel", "wellbeing"])
def test_tracked_and_hidden_surveys_get_their_own_words(tmp_path: Path, example: str) -> None:
    make_kit(load(ROOT / "examples" / f"{example}.toml"), tmp_path / "kit", samples=0)
    text = (tmp_path / "kit" / "privacy-notice.html").read_text(encoding="utf-8")
    words = {"panel": "Answers are tracked", "wellbeing": "Your report hides the level"}
    assert words[example] in text
    assert ("Your report shows the level" in text) == (example == "panel")
    assert "[…]" in text  # whom to ask is left open


def test_a_lottery_is_said_in_both_languages_and_by_the_check(tmp_path: Path, capsys) -> None:
    path = tmp_path / "lots.toml"
    path.write_text(
        'pldp = 1\ntitle = "t"\nhide_level = { lottery = 1 }\nlevels = { strict = 0.5, open = 2 }\n'
        'questions = [{ name = "late", values = ["yes", "no"] }]\n',
        encoding="utf-8",
    )
    make_kit(load(path), tmp_path / "kit", samples=0)
    for name, words in (
        ("privacy-notice", "Who sees “strict” cannot know that you chose it"),
        ("datenschutzhinweis", "Wer „strict“ sieht, kann nicht wissen, ob Sie das gewählt haben"),
    ):
        text = (tmp_path / "kit" / f"{name}.html").read_text(encoding="utf-8")
        assert words in text
        assert "ε = 1)" in text
    assert main(["survey", "check", str(path), "--json", "-"]) == 0
    drawn = json.loads(capsys.readouterr().out)["lottery"]
    assert (drawn["epsilon"], drawn["signed"]) == ("1", False)
    assert drawn["shown"]["open"] == {
        "strict": pytest.approx(0.367879, abs=1e-6),
        "open": pytest.approx(0.632121, abs=1e-6),
    }
    assert main(["survey", "check", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "who sees 'strict' cannot know that it was chosen" in shown
    assert "36.8 %" in shown


def test_every_page_fits_a_phone_and_keeps_nobody_out(kit, visit: Visits) -> None:
    """Light and dark; in the short form in turn, as all pages have one style sheet."""
    person = visit(viewport={"width": 390, "height": 844})
    for place, name in enumerate(PAGES):
        person.page.goto((kit.folder / f"{name}.html").as_uri())
        for scheme in SCHEMES if LONG else SCHEMES[(place + place // 2) % 2 :][:1]:
            person.page.emulate_media(color_scheme=scheme)
            assert person.page.evaluate("document.documentElement.scrollWidth") == 390, (name, scheme)
            assert name not in SCANNED or not person.barriers(), (name, scheme)
    assert not person.complaints
    assert all(url.startswith(("file:", "data:")) for _, url, _ in person.requests)


def verdict(person: Any) -> Any:
    return person.page.locator("#verdict")


def test_the_page_computes_every_epsilon_again_and_finds_a_changed_weight(kit, visit: Visits, tmp_path: Path) -> None:
    person = visit(viewport={"width": 1280, "height": 900})
    person.page.goto((kit.folder / "verify.html").as_uri())
    expect(verdict(person)).to_have_text("Everything that this page computes again agrees with the certificate.")
    rows = person.page.locator("#rows tr")
    expect(rows).to_have_count(6)
    for row in rows.all():
        cells = row.locator("th, td").all_inner_texts()
        assert cells[3] == f"{float(cells[4]):g}"
        assert cells[5] == "equal"
    expect(person.page.locator("#findings")).to_contain_text("The signature fits the survey")
    # Another copy: one with a stricter level is a sound survey, but not the one of the certificate.
    other = load(SHOPPING)
    text = json.loads(other.canonical)
    text["questions"][2]["weights"]["strict"] = text["questions"][2]["weights"]["open"]
    (tmp_path / "weaker.json").write_text(json.dumps(text), encoding="utf-8")
    person.page.locator("#other").set_input_files(tmp_path / "weaker.json")
    expect(verdict(person)).to_have_text("Something does not agree with the certificate. Do not rely on it.")
    expect(person.page.locator("#findings")).to_contain_text("weights must keep the promised epsilon")
    load(ROOT / "examples" / "commute.toml").save(tmp_path / "other.json")
    person.page.locator("#other").set_input_files(tmp_path / "other.json")
    expect(person.page.locator("#rows")).to_contain_text("differs")
    person.page.locator("#other").set_input_files(kit.folder / "survey.json")
    expect(verdict(person)).to_have_text("Everything that this page computes again agrees with the certificate.")


def test_a_certificate_with_another_number_is_found(kit, visit: Visits, tmp_path: Path) -> None:
    changed = (
        read(kit, "verify.html").replace('\\"exact\\": 0.5', '"exact": 0.4').replace('"exact": 0.5', '"exact": 0.4')
    )
    assert changed != read(kit, "verify.html")
    (tmp_path / "verify.html").write_text(changed, encoding="utf-8")
    person = visit()
    person.page.goto((tmp_path / "verify.html").as_uri())
    expect(verdict(person)).to_have_text("Something does not agree with the certificate. Do not rely on it.")


def test_people_are_enrolled_and_get_links_that_only_the_owner_can_read(tmp_path: Path, capsys) -> None:
    (tmp_path / "names.txt").write_text("anna\nben\n", encoding="utf-8")
    words = ["kit", "examples/commute.toml", "--samples", "0", "--link", "https://survey.example/", "--json", "-"]
    invited = ["--names", str(tmp_path / "names.txt"), "--budget", "4", "--database", str(tmp_path / "r.db")]
    assert main([*words, *invited, "--out", str(tmp_path / "kit")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["secret"] == ["invitations.csv", "invitations.html"]
    lines = (tmp_path / "kit" / "invitations.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    assert [row["name"] for row in rows] == ["anna", "ben"]
    tokens = Tokens(tmp_path / "r.db")
    for row in rows:
        page, _, token = row["link"].partition("/#")
        assert page == "https://survey.example"
        assert tokens.scope(token) == "upload"
        assert qr_svg(row["link"], f"QR code of the invitation of {row['name']}").partition("<path")[2] in (
            tmp_path / "kit" / "invitations.html"
        ).read_text(encoding="utf-8")
    assert {(tmp_path / "kit" / name).stat().st_mode & 0o777 for name in told["secret"]} == {0o600}
    assert not any(row["link"] in json.dumps(told) for row in rows)


def test_what_cannot_be_made_leaves_nothing_behind(tmp_path: Path, capsys, monkeypatch) -> None:
    words = ["kit", "examples/commute.toml", "--samples", "0", "--out", str(tmp_path / "kit")]
    for more, expected in (
        (["--names", "x"], "--names invites people: add --budget, --database and --link"),
        (["--budget", "4"], "--budget goes with --names FILE"),
        (["--link", "survey.example"], "must be the address of the survey page"),
        (["--link", "http://survey.example"], "begin with https://, also for localhost"),
        (["--link", "http://127.0.0.1:8300"], "begin with https://, also for localhost"),
        (["--link", "https://survey.example/\nhttps://other.example"], "must be the address of the survey page"),
        (["--key", str(tmp_path / "none")], "No such file"),
    ):
        assert main([*words, *more]) == 2
        assert expected in capsys.readouterr().err
    survey = load(ROOT / "examples" / "commute.toml")

    def refuse() -> Any:
        raise UsageError("nobody was enrolled")

    with pytest.raises(UsageError, match="nobody was enrolled"):
        make_kit(survey, tmp_path / "kit", samples=0, invite=refuse)
    monkeypatch.setattr("pldp.auditing.Audit.refuted", True)
    with pytest.raises(AuditError, match="no kit is made, as the audit refutes a promise"):
        make_kit(survey, tmp_path / "kit", samples=0)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kit").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        make_kit(survey, tmp_path / "kit", samples=0)
