"""What the command line does for people who mistype, look around, or do not know what they have installed."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from pldp.cli import VERBS, doctor, main
from pldp.errors import SurveyError
from pldp.survey import load


def told(capsys, *arguments: object) -> tuple[int, str, str]:
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["estmate"], "did you mean 'estimate'?"),
        (["survey", "chek", "x.toml"], "did you mean 'check'?"),
        (["estimate", "x.tally", "--questoin", "a"], "unknown option --questoin; did you mean '--question'?"),
        (["plan", "examples/commute.toml", "--eror=0.1"], "did you mean '--error'?"),
        (["completion", "bahs"], "did you mean 'bash'?"),
    ],
)
def test_a_mistyped_word_gets_the_nearest_one(capsys, arguments: list[str], hint: str) -> None:
    code, out, err = told(capsys, *arguments)
    assert (code, out) == (2, "")
    assert hint in err


def test_words_too_many_are_counted_and_not_repeated(capsys) -> None:
    code, _, err = told(capsys, "datasets", "I", "am", "ill")
    assert code == 2
    assert "ill" not in err


SURVEY = """pldp = 1
title = "t"

[levels]
strict = 0.5

[[questions]]
name = "mode"
values = ["car", "bus"]

[[questions]]   # the second
name = "late"
vales = ["yes", "no"]
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("nothing", "", 13),  # the mistyped key
        ("vales", "# vales", 11),  # a key that is missing: its table
        ("vales = ", 'kind = "chocies"\nvales = ', 13),
        ("strict = 0.5", "strict = -1", 5),
        ('title = "t"', "title = 5", 2),
    ],
)
def test_an_error_in_a_survey_file_names_its_line(tmp_path: Path, old: str, new: str, line: int) -> None:
    file = tmp_path / "survey.toml"
    meant = "vales" if old in {"nothing", "vales", "vales = "} else "values"
    file.write_text(SURVEY.replace(old, new).replace("vales", meant), encoding="utf-8")
    with pytest.raises(SurveyError, match=rf"survey\.toml, line {line}: "):
        load(file)


def test_completion_of_a_real_shell_knows_verbs_actions_and_options(capsys) -> None:
    code, script, _ = told(capsys, "completion", "bash")
    assert code == 0
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    for words, expected in (
        (["pldp", "est"], ["estimate"]),
        (["pldp", "survey", "ch"], ["check"]),
        (["pldp", "survey", "check", "--trus"], ["--trusted-key"]),
        (["pldp", "survey", "check", "--k"], []),  # an option of survey sign
        (["pldp", "store", "token"], ["token", "tokens"]),
        (["pldp", "plan", "x.toml", "--err"], ["--error"]),
        (["pldp", "completion", "z"], ["zsh"]),
        (["pldp", "sql", "s.toml", "--dialect", "d"], ["duckdb"]),
        (["pldp", "tally", "r.parquet", "--engine", "s"], ["spark"]),
    ):
        ask = f"{script}\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _pldp; echo ${{COMPREPLY[*]}}"
        said = subprocess.run([bash, "-c", ask], capture_output=True, text=True, check=True)
        assert said.stdout.split() == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_every_verb(capsys, shell: str) -> None:
    _, script, _ = told(capsys, "completion", shell)
    assert all(verb in script for verb in VERBS)


def test_fish_tells_the_verb_tally_from_the_action_of_store(capsys) -> None:
    lines = told(capsys, "completion", "fish")[1].splitlines()
    of_verb = [line for line in lines if "contains -- tally (commandline -opc)[2]" in line]
    of_store = [line for line in lines if "contains -- tally (commandline -opc)[3]" in line]
    assert any(line.endswith("-l from-counts") for line in of_verb)
    assert any(line.endswith("-x -a 'local duckdb spark'") for line in of_verb)
    assert any(line.endswith("-l database") for line in of_store)
    assert all("contains -- store (commandline -opc)[2]; and " in line for line in of_store)
    assert not any(line.endswith("-l from-counts") for line in of_store)


def test_the_help_of_completion_says_where_its_output_goes(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    for words in ("~/.bashrc", "~/.zshrc", "~/.config/fish/config.fish"):
        assert words in out


def test_the_doctor_names_what_is_there_and_what_is_not(capsys, tmp_path: Path, monkeypatch) -> None:
    code, out, _ = told(capsys, "doctor", "--json", "-")
    content = json.loads(out)
    assert (code, content["problems"]) == (0, 0)
    assert {"pldp", "Python", "numpy", "plots", "clock"} <= {each["what"] for each in content["findings"]}
    monkeypatch.setitem(doctor.EXTRAS, "plots", (("no-such-package",), "pictures"))
    code, out, _ = told(capsys, "doctor")
    assert code == 0
    assert "pip install 'pldp[plots]'" in " ".join(out.split())
    database = tmp_path / "pldp.db"
    database.touch(mode=0o644)
    database.chmod(0o644)
    code, out, _ = told(capsys, "doctor", "--database", database, "--json", "-")
    assert (code, json.loads(out)["problems"]) == (1, 1)
    database.chmod(0o600)
    assert told(capsys, "doctor", "--database", database)[0] == 0
    with closing(sqlite3.connect(database)) as made:
        made.execute("CREATE TABLE t (x)")
    assert told(capsys, "doctor", "--database", database)[0] == 0


def test_the_doctor_says_what_is_wrong_with_a_database(capsys, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no database", encoding="utf-8")
    text.chmod(0o600)
    for path, problem in (
        (text, "is not an SQLite database"),
        (tmp_path, "is not a file"),
        (tmp_path / "none" / "pldp.db", "is not a folder"),
    ):
        code, out, _ = told(capsys, "doctor", "--database", path)
        words = " ".join(out.split())
        assert code == 1
        assert problem in words
        assert "1 problem" in words
        assert "pldp serve makes it" not in words
    code, out, _ = told(capsys, "doctor", "--database", tmp_path / "pldp.db")
    assert (code, "pldp serve makes it" in " ".join(out.split())) == (0, True)
    assert "No problems; what is missing is optional." in out
