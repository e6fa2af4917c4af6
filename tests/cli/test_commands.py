"""The command line: what people and scripts see, and what bad input gets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from helpers.claims import mean_is, runs
from pldp import Survey, Tally, tally
from pldp.cli import demo, main, make_parser
from pldp.device import Device
from pldp.simulate import Population, simulate_reports

SURVEY = "examples/commute.toml"


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys, *arguments: object) -> dict:
    code, out, err = run(capsys, *arguments, "--json", "-")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_demo_prints_what_scripts_rely_on(capsys) -> None:
    result = run_json(capsys, "demo")
    assert result["people"] == 32561
    (question,) = result["questions"]
    assert question["name"] == "education"
    assert len(question["rows"]) == 16
    assert {"label", "true", "estimate", "standard_error", "low", "high"} <= question["rows"][0].keys()
    assert sum(row["true"] for row in question["rows"]) == pytest.approx(1)
    assert result["everybody_at_the_strictest_level"]["expected_variance_ratio"] > 2


def test_demo_goes_through_a_collector_and_leaves_nothing_behind(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run_json(capsys, "demo", "--seed", 5)
    figures = result.pop("collector")
    assert (figures["accepted"], figures["withdrawn"]) == (32562, 1)
    assert figures["reports_per_second"] > 0
    assert not list(tmp_path.iterdir())
    assert "pldp-collector" not in {thread.name for thread in threading.enumerate()}
    monkeypatch.setattr(demo, "NEEDED", ("no_such_package",))
    code, out, err = run(capsys, "demo", "--seed", 5, "--json", "-")
    assert json.loads(out) == {**result, "collector": None}
    assert (code, err.count("\n")) == (0, 1)
    assert "pip install 'pldp[collector]'" in err


def test_demo_ends_its_collector_whatever_happens(capsys, tmp_path: Path, monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "load_counts", lambda _: {"HS-grad": 200, "Masters": 100})
    with monkeypatch.context() as patched:
        patched.setattr("pldp.cli.simulate.simulate_reports", interrupt)
        assert run(capsys, "demo")[0] == 130
    with monkeypatch.context() as patched:
        patched.setattr("pldp.cli.demo._call", lambda *_, **__: {"withdrawn": 1, "rows": [{"estimate": 0.5}] * 16})
        code, _, err = run(capsys, "demo")
        assert (code, err) == (2, "pldp: the collector gives another estimate than its reports do\n")
    with monkeypatch.context() as patched:
        patched.setattr("pldp.collector.sender.Sender.send", lambda *_: iter(()))
        code, _, err = run(capsys, "demo")
        assert code == 2
        assert re.fullmatch(r"pldp: http://127.0.0.1:\d+: POST /v1/withdraw got 404 unknown_receipt\n", err)
    with monkeypatch.context() as patched:
        patched.setattr("pldp.collector.server._reserve", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(capsys, "demo")
    assert not list(tmp_path.iterdir())
    assert "pldp-collector" not in {thread.name for thread in threading.enumerate()}


def test_demo_intervals_cover_the_truth_as_often_as_they_say(capsys, monkeypatch) -> None:
    """Of 16 values 95 %, whichever way the reports go; intervals of another confidence would be noticed."""
    monkeypatch.setattr(demo, "NEEDED", ("no_such_package",))
    told = [run(capsys, "demo", "--seed", seed, "--json", "-")[1] for seed in range(runs(30, 600))]
    found = [json.loads(content)["covered"] / 16 for content in told]
    assert mean_is(found, 0.95)
    assert not mean_is(found, 0.8)


def test_demo_shows_people_everything_and_writes_a_page(capsys, tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    code, out, _ = run(capsys, "demo", "--details", "--html", page)
    assert code == 0
    for words in (
        "of 100 people",
        '"output":',
        "Bachelors",
        "Do people of different levels answer alike?",
        "One forged report",
        "intervals contain",
        "was withdrawn by its receipt",
    ):
        assert words in out
    content = page.read_text()
    assert "<svg" in content
    assert "default-src 'none'" in content
    assert 'class="truth"' in content
    assert "http://" not in content
    assert "<script" not in content


@pytest.fixture
def reports(capsys, tmp_path: Path) -> Path:
    path = tmp_path / "reports.parquet"
    assert run_json(capsys, "simulate", SURVEY, "--people", 4000, "--seed", 3, "--out", path)["reports"] == 4000
    return path


def test_the_way_from_simulation_to_estimate(capsys, reports: Path, tmp_path: Path) -> None:
    counted = run_json(capsys, "tally", reports, "--out", tmp_path / "t.tally")
    assert (counted["reports"], counted["rejected"]) == (4000, 0)
    result = run_json(capsys, "estimate", tmp_path / "t.tally")
    assert [question["name"] for question in result["questions"]] == ["mode", "late"]
    likelihood = run_json(
        capsys, "estimate", tmp_path / "t.tally", "--question", "mode", "--method", "likelihood", "--differ", "0"
    )
    assert sum(row["estimate"] for row in likelihood["questions"][0]["rows"]) == pytest.approx(1)
    assert likelihood["questions"][0]["fit"]["converged"]


def test_estimate_shows_a_table_a_page_and_a_picture(capsys, reports: Path, tmp_path: Path) -> None:
    run(capsys, "tally", reports, "--out", tmp_path / "t.tally")
    page, picture = tmp_path / "e.html", tmp_path / "e.png"
    code, out, _ = run(
        capsys, "estimate", tmp_path / "t.tally", "--question", "mode", "--html", page, "--plot", picture
    )
    assert code == 0
    assert "95 % interval" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "on foot" in page.read_text()


def test_one_seed_gives_one_file(capsys, reports: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.parquet"
    run(capsys, "simulate", SURVEY, "--people", 4000, "--seed", 3, "--out", again)
    for path in (reports, again):
        run(capsys, "tally", path, "--out", f"{path}.tally")
    assert Tally.load(f"{reports}.tally") == Tally.load(f"{again}.tally")


def test_json_lines_and_tallies_are_counted_too(capsys, reports: Path, tmp_path: Path, monkeypatch) -> None:
    survey = Survey.load(SURVEY)
    lines = "\n".join(Device(survey).answer("late", "yes", "open").to_json() for _ in range(30)) + "\n\nnonsense\n"
    (tmp_path / "r.jsonl").write_text(lines)
    first = run_json(capsys, "tally", tmp_path / "r.jsonl", "--survey", SURVEY, "--out", tmp_path / "a.tally")
    assert (first["reports"], first["rejections"]) == (30, {"malformed": 1})
    both = run_json(capsys, "tally", tmp_path / "a.tally", reports, "--out", tmp_path / "b.tally")
    assert both["reports"] == 4030
    piped = subprocess.run(
        [sys.executable, "-m", "pldp", "tally", "-", "--survey", SURVEY, "--out", tmp_path / "c.tally"],
        input=lines.encode(),
        capture_output=True,
        check=True,
    )
    assert b"30 reports counted, 1 rejected" in piped.stdout
    assert Tally.load(tmp_path / "c.tally") == Tally.load(tmp_path / "a.tally")


def test_people_can_be_given_by_counts(capsys, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("question,value,people\nlate,yes,30\nlate,no,70\n")
    mix = tmp_path / "mix.json"
    mix.write_text(json.dumps({"yes": {"strict": 1}, "no": {"open": 1}}))
    arguments = ("--counts", tmp_path / "people.csv", "--level-mix", mix, "--out", tmp_path / "r.parquet")
    result = run_json(capsys, "simulate", SURVEY, *arguments)
    assert result["questions"] == [
        {"name": "late", "kind": "choice", "rows": [{"label": "yes", "true": 0.3}, {"label": "no", "true": 0.7}]}
    ]
    counted = run_json(capsys, "tally", tmp_path / "r.parquet", "--out", tmp_path / "t.tally")
    cells = {(cell["question"], cell["level"]): cell["reports"] for cell in counted["cells"]}
    assert (cells["late", "strict"], cells["late", "open"]) == (30, 70)


def test_surveys_are_checked_compiled_and_signed(capsys, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "survey", "check", SURVEY)
    assert code == 0
    assert "ε of an answer" in out
    assert "ε of a whole report, all answers at one level: strict 1, standard 2, open 4" in out
    checked = run_json(capsys, "survey", "check", SURVEY)
    assert all(0 < float(row["answer_epsilon"]) <= float(row["level_epsilon"]) for row in checked["channels"])
    assert run(capsys, "survey", "compile", SURVEY, "--out", tmp_path / "s.json")[0] == 0
    assert Survey.load(tmp_path / "s.json").hash == checked["hash"]
    code, public, _ = run(capsys, "survey", "key", "--out", tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    assert run(capsys, "survey", "sign", SURVEY, "--key", tmp_path / "key", "--out", tmp_path / "signed.json")[0] == 0
    assert run(capsys, "survey", "check", tmp_path / "signed.json", "--trusted-key", public.strip())[0] == 0
    code, _, err = run(capsys, "survey", "check", tmp_path / "signed.json", "--trusted-key", "1" * 64)
    assert (code, err.count("\n")) == (2, 1)
    assert run(capsys, "survey", "key", "--out", tmp_path / "key")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--seed", "-1"], "--seed must not be negative"),
        (["survey", "check", "none.toml"], "none.toml: there is no such file"),
        (["simulate", SURVEY, "--people", "-1", "--out", "OUT"], "people must be a whole number of at least 0"),
        (["simulate", SURVEY, "--people", "5", "--level-mix", "x", "--out", "OUT"], "--level-mix must look like"),
        (["simulate", SURVEY, "--people", "5", "--level-mix", "x=1", "--out", "OUT"], "unknown level"),
        (["simulate", SURVEY, "--counts", "none.csv", "--out", "OUT"], "none.csv: No such file"),
        (["simulate", SURVEY, "--people", "5", "--out", "no/such/folder/r.parquet"], "r.parquet"),
        (["tally", "none.parquet", "--out", "OUT"], "none.parquet: there is no such file"),
        (["tally", "none.jsonl", "--out", "OUT"], "--survey is needed"),
        (["tally", "none.jsonl", "--survey", SURVEY, "--out", "OUT"], "none.jsonl: there is no such file"),
        (["tally", "README.md", "--out", "OUT"], "not a complete Parquet file"),
        (["estimate", "none.tally"], "none.tally: there is no such file"),
        (["survey", "check", "docs/images/demo.png"], "is not a survey file, which is UTF-8 text"),
        (
            ["tally", "examples/commute.toml", "--out", "none.tally"],
            "is a survey file, not reports; name it with --survey",
        ),
        (["estimate", "examples/commute.toml"], "it is text, perhaps a survey file"),
        (
            ["simulate", SURVEY, "--people", "5", "--level-mix", "MIX.json", "--out", "OUT"],
            "must be an object of numbers",
        ),
        (["simulate", SURVEY, "--people", "99999999999999", "--out", "OUT"], "too large for the memory"),
        (["estimate", "pyproject.toml"], "not a complete tally file"),
    ],
)
def test_bad_input_gets_one_clear_line_and_code_two(capsys, tmp_path: Path, arguments: list, words: str) -> None:
    (tmp_path / "MIX.json").write_text('["strict"]')
    places = {"OUT": str(tmp_path / "out"), "MIX.json": str(tmp_path / "MIX.json")}
    arguments = [places.get(word, word) for word in arguments]
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("pldp: ")
    assert err.count("\n") == 1
    assert words in err
    assert not (tmp_path / "out").exists()


def test_counts_files_are_checked_line_by_line(capsys, tmp_path: Path) -> None:
    for content, words in (
        ("a,b\n1,2\n", "must have the columns question, value, people"),
        ("question,value,people\nlate,yes,many\n", "line 2: people must be a whole number"),
        ("question,value,people\nlate,yes,1\nmode,car,2\n", "same number of people for every question"),
        ("question,value,people\nlate,perhaps,1\n", "labels of question 'late'"),
        ("question,value,people\nlate,yes,1\nlate,no,1\nlate,yes,1\n", "line 4: this value has come before"),
        ("question,value,people\nlate,yes,²\n", "line 2: people must be a whole number"),
    ):
        (tmp_path / "people.csv").write_text(content)
        code, _, err = run(capsys, "simulate", SURVEY, "--counts", tmp_path / "people.csv", "--out", tmp_path / "r")
        assert code == 2
        assert words in err
        assert "perhaps" not in err


def test_estimates_of_nothing_and_too_many_pictures_are_refused(capsys, tmp_path: Path) -> None:
    Tally.empty(Survey.load(SURVEY)).save(tmp_path / "t.tally")
    code, _, err = run(capsys, "estimate", tmp_path / "t.tally")
    assert (code, "has no reports" in err) == (2, True)
    people = Population.of_shares(Survey.load(SURVEY), 500, seed=1)
    tally(Survey.load(SURVEY), simulate_reports(Survey.load(SURVEY), people, seed=1)).save(tmp_path / "t.tally")
    code, _, err = run(capsys, "estimate", tmp_path / "t.tally", "--plot", tmp_path / "p.png")
    assert (code, "--plot draws one question or pair" in err) == (2, True)
    code, _, err = run(capsys, "estimate", tmp_path / "t.tally", "--question", "late", "--plot", tmp_path / "p.xyz")
    assert (code, "must end in .png, .svg, .pdf" in err) == (2, True)


def test_a_question_without_reports_is_left_out_and_named(capsys, tmp_path: Path) -> None:
    survey = Survey.load(SURVEY)
    people = Population.of_counts(survey, {"late": {"yes": 50, "no": 50}}, seed=1)
    tally(survey, simulate_reports(survey, people, seed=1)).save(tmp_path / "t.tally")
    code, out, err = run(capsys, "estimate", tmp_path / "t.tally", "--json", "-")
    assert code == 0
    assert [question["name"] for question in json.loads(out)["questions"]] == ["late"]
    assert [missing["name"] for missing in json.loads(out)["missing"]] == ["mode"]
    assert re.fullmatch("pldp: mode has no result: .*no reports.*\n", err)


def test_levels_that_disagree_are_named_and_nothing_that_denies_it_is_said(capsys, tmp_path: Path) -> None:
    survey = Survey.load(SURVEY)
    mix = {"yes": {"strict": 0.9, "open": 0.1}, "no": {"strict": 0.1, "open": 0.9}}
    people = Population.of_counts(survey, {"late": {"yes": 9000, "no": 9000}}, level_mix=mix, seed=1)
    tally(survey, simulate_reports(survey, people, seed=1)).save(tmp_path / "t.tally")
    page = tmp_path / "e.html"
    code, out, _ = run(capsys, "estimate", tmp_path / "t.tally", "--html", page)
    assert code == 0
    for text in (out, page.read_text()):
        assert "People of different levels answer differently (p = " in text
    assert "If people chose their level regardless" not in out
    for method in ("unbiased", "likelihood"):
        _, out, _ = run(capsys, "estimate", tmp_path / "t.tally", "--method", method, "--differ", "0")
        assert "! People of different levels answer differently" in " ".join(out.split())
        assert "If people chose their level regardless of their answer: " in " ".join(out.split())
    code, out, err = run(capsys, "estimate", tmp_path / "t.tally", "--question", "late", "--differ", "2")
    assert (code, out) == (2, "")
    assert "The reports contradict that: they differ by at least" in err


def test_every_verb_has_help(capsys) -> None:
    for arguments in (["--help"], ["demo", "--help"], ["survey", "sign", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stopped:
            make_parser(*arguments[:1]).parse_args(arguments)
        assert stopped.value.code == 0
    assert "usage" in capsys.readouterr().out


def test_a_closed_pipe_is_no_error() -> None:
    command = [sys.executable, "-m", "pldp", "plan", SURVEY, "--people", "1000", "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()  # the reader goes before anything is written
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_plan_tells_errors_designs_and_people(capsys, tmp_path: Path) -> None:
    counts = tmp_path / "earlier.csv"
    counts.write_text("question,value,people\nlate,yes,30\nlate,no,70\n")
    result = run_json(
        capsys, "plan", SURVEY, "--people", 5000, "--level-mix", "strict=1,open=1", "--shares", counts, "--error", 0.02
    )
    assert [question["question"] for question in result["questions"]] == ["mode", "late"]
    assert [row["assumed"] for row in result["questions"][1]["rows"]] == [0.3, 0.7]
    assert result["people_needed"].keys() == {"mode", "late"}
    assert result["designs"][0]["ask"] == 1
    picture, best = tmp_path / "plan.svg", tmp_path / "best.json"
    code, out, _ = run(
        capsys, "plan", SURVEY, "--people", 5000, "--error", 0.02, "--hide-level", 1, "--plot", picture, "--out", best
    )
    assert code == 0
    assert "ask each person one of the two questions, at random" in " ".join(out.split())
    assert "Margins of mode with 5,000 people and nothing assumed: label ± 13" in " ".join(out.split())
    assert "<svg" in picture.read_text()
    again = run_json(capsys, "plan", best, "--people", 5000)
    assert again["designs"][0]["split"] == "given"
    assert "already the best of those compared" in run(capsys, "plan", best, "--people", 5000)[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--plot", "x.txt"], "--plot: the name must end in"),
        (["--level-mix", "mix.json"], "--level-mix: a plan takes one weight per level"),
        (["--shares", "wrong.csv"], "shares of late must name its labels only: yes, no"),
        (["--people", "0"], "people must be a whole number"),
    ],
)
def test_a_plan_that_makes_no_sense_gets_one_line(capsys, tmp_path: Path, monkeypatch, options, words) -> None:
    survey = Path(SURVEY).resolve()
    monkeypatch.chdir(tmp_path)
    Path("mix.json").write_text('{"yes": {"open": 1}, "no": {"open": 1}}')
    Path("wrong.csv").write_text("question,value,people\nlate,never,5\n")
    code, out, err = run(capsys, "plan", survey, "--people", 100, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"pldp: {words}")
    assert err.count("\n") == 1


def test_two_questions_make_a_table(capsys, reports: Path, tmp_path: Path) -> None:
    counted = tmp_path / "pairs.tally"
    run(capsys, "tally", reports, "--pair", "late,mode", "--out", counted)
    result = run_json(capsys, "estimate", counted, "--pair", "late,mode")
    assert result["questions"] == []
    (pair,) = result["tables"]
    assert pair["questions"] == ["late", "mode"]
    assert len(pair["rows"]) == 12
    assert sum(row["consistent"] for row in pair["rows"]) == pytest.approx(1)
    code, out, _ = run(capsys, "estimate", counted, "--pair", "late,mode", "--question", "late")
    assert code == 0
    assert "late × mode" in out
    code, _, err = run(capsys, "estimate", counted, "--pair", "late,late")
    assert code == 2
    assert "were not tallied as a pair" in err
