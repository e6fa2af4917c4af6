"""`pldp estimate --known` and `--groups`: corrected, combined and compared, or one line that says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pldp import Survey, Tally, combine, estimate, tally
from pldp.cli import main
from pldp.simulate import Population, simulate_reports

KNOWN = {"late": {"yes": 0.2, "no": 0.8}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups")
    survey = Survey.load("examples/commute.toml")
    for seed, name in enumerate(("town", "country", "sea"), start=1):
        people = Population.of_shares(survey, 5000, seed=seed)
        pairs = [] if name == "sea" else [("late", "mode")]
        tally(survey, simulate_reports(survey, people, seed=seed), pairs=pairs).save(path / f"{name}.tally")
    (path / "known.json").write_text(json.dumps(KNOWN))
    (path / "broken.json").write_text("{")
    return path


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["estimate", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("known", ["late:yes=0.2,no=0.8", "late: yes=20, no=80", "known.json"])
def test_shares_are_corrected_to_known_ones(known: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "town.tally", "--question", "mode", "--known", known, "--json", "-")
    (found,) = json.loads(out)["questions"]
    assert code == 0
    expected = estimate(Tally.load("town.tally"), "mode", known=KNOWN).to_mapping()["rows"]
    assert [row["estimate"] for row in found["rows"]] == pytest.approx([row["estimate"] for row in expected])
    assert found["method"].endswith("corrected to the known shares of 'late'")


def test_groups_are_combined_or_compared(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--groups", "town=town.tally", "country=country.tally")
    code, out, _ = run(capsys, *both, "--known", "town=30,country=70", "--json", "-", "--html", "page.html")
    assert code == 0
    parts = {name: estimate(Tally.load(f"{name}.tally")) for name in ("town", "country")}
    expected = combine(parts, {"town": 0.3, "country": 0.7}).to_mapping()
    assert json.loads(out)["questions"] == json.loads(json.dumps(expected["questions"]))
    assert "How people get to work" in Path("page.html").read_text(encoding="utf-8")
    code, out, _ = run(capsys, *both, "--question", "late", "--details")
    assert code == 0
    assert "Do town and country differ?" in " ".join(out.split())


REFUSED = {
    "no shares": (("town.tally", "--known", "late"), "known must look like late:yes=0.2,no=0.8, not 'late'"),
    "no numbers": (("town.tally", "--known", "late:yes,no"), "known shares must look like yes=0.2,no=0.8"),
    "no file": (("town.tally", "--known", "x.json"), "--known: x.json: there is no such file"),
    "broken": (("town.tally", "--known", "broken.json"), "--known: broken.json, line 1: not valid JSON"),
    "no pair": (("sea.tally", "--question", "mode", "--known", "late:yes=0.2,no=0.8"), "not tallied as a pair"),
    "table": (
        ("town.tally", "--pair", "late,mode", "--known", "late:yes=0.2,no=0.8"),
        "--known does not apply to tables of several questions",
    ),
    "one group": (("--groups", "town=town.tally"), "--groups must be two or more different names with their tallies"),
    "no name": (("--groups", "town.tally", "sea.tally"), "--groups must be two or more different names"),
    "three": (
        ("--groups", "a=town.tally", "b=sea.tally", "c=country.tally"),
        "need the share of each in the population: --known a=…,b=…,c=…",
    ),
    "both": (("town.tally", "--groups", "a=town.tally", "b=sea.tally"), "give one tally, or --rounds or --groups"),
    "sets": (("--groups", "a=town.tally", "b=sea.tally", "--largest", "2"), "--groups shows single items"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_known_is_refused_in_one_line(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, expected = REFUSED[case]
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert expected in err
    assert err.count("\n") == 1
