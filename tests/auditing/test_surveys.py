"""Audits of surveys on the Python device and on the JavaScript one, their certificate, and the command."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.power import tamper
from pldp import Device, Survey
from pldp.auditing import NAMES, Audit, AuditSettings, JavaScript, Row, audit, certificate_page, write_certificate
from pldp.auditing import devices as audited_devices
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.surveys import HIDDEN, audit_survey
from pldp.cli import main
from pldp.errors import AuditError
from pldp.mechanisms import REGISTRY, ItemSet, build, names
from pldp.reports import Report
from pldp.survey import loads

UNTIMED = AuditSettings(timed=False)
ROW_KEYS = {"mechanism", "question", "level", "device", "claimed", "exact", "sampled_lower_bound", "verdict"}


def test_every_mechanism_has_an_exact_row_that_holds_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    settings = AuditSettings(progress=lambda *done: told.append(done))
    rows = audit(samples=0, settings=settings).rows
    assert {row.question for row in rows} == {*NAMES, "all 1"}
    assert all(row.verdict == "exact" and row.exact <= row.claimed for row in rows)
    assert told[-1] == (len(NAMES), len(NAMES))
    audit(Survey.load("examples/commute.toml"), samples=0, settings=settings)
    assert told[-1] == (11, 12)


def test_every_kind_of_question_is_sampled_on_a_device() -> None:
    asked = [
        {"name": "one", "values": ["a", "b", "c"]},
        {"name": "some", "kind": "choices", "values": ["a", "b"]},
        {"name": "number", "kind": "number", "low": 0, "high": 10, "buckets": 16},
    ]
    survey = Survey.read({"pldp": 1, "title": "t", "levels": {"one": 1}, "questions": asked})
    single = list(audit_survey(survey, 100, UNTIMED, sequences=False))
    assert [(row.question, row.device) for row in single] == [
        *((name, "python") for name in ("one", "some", "number")),
        ("all 3", "python"),
    ]
    assert single[-1].mechanism == "all answers"
    assert single[-1].verdict == "not refuted"  # all answers together have no exact ε
    found = audit(survey, samples=100, settings=replace(UNTIMED, only=("number",)))
    assert [row.rounds for row in found.rows] == [1, 3]
    assert found.false_alarm == pytest.approx(1e-5)
    assert found.people == sum(row.people for row in found.rows) > 500
    assert all(row.sampled is not None and not row.refuted for row in (*single, *found.rows))


def test_hidden_levels_are_audited_with_their_label() -> None:
    found = audit(Survey.load("clients/js/test/surveys/hidden.toml"), samples=0)
    hidden = [row for row in found.rows if row.level == HIDDEN]
    *questions, whole = hidden
    assert (len(questions), whole.question) == (4, "all 4")
    assert all(row.verdict == "exact" and row.exact == row.claimed for row in hidden)
    assert all(row.details["value_and_level"] >= row.exact for row in questions)
    assert whole.details["whole_report"] >= whole.exact


def test_a_leak_that_is_understated_is_seen(monkeypatch) -> None:
    survey = Survey.load("clients/js/test/surveys/hidden.toml")
    monkeypatch.setattr(Survey, "level_leak", lambda *_: 100_000)
    monkeypatch.setattr(Survey, "value_and_level_epsilon", lambda *_: 100_000)
    row = next(row for row in audit(survey, samples=0).rows if row.level == HIDDEN)
    assert [words.split(" can be")[0] for words in row.refutations] == ["levels", "pairs of value and level"]


class Telling(Device):
    """Says the value in the id."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        return replace(report, id=f"{len(str(values)):02x}" + report.id[2:])


def test_a_telling_device_is_refuted() -> None:
    survey = loads('pldp=1\ntitle="t"\nlevels={one=1}\nquestions=[{name="q",values=["short","much longer"]}]')
    found = replace(audit(survey, samples=200, settings=replace(UNTIMED, device=Telling)), source="survey.toml")
    row, _ = found.rows
    assert row.sampled.refutes
    assert any("sent.report.id" in bound.event for bound in row.bounds if bound.refutes)
    assert found.command(row) == 'pldp audit survey.toml --only "q/one/python" --samples 200'


def test_fewer_than_two_protected_values_cannot_be_compared() -> None:
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={one=1}\nquestions=[{name="q",values=["a","b","c"],unprotected=["b","c"]}]'
    )
    row, _ = audit(survey, samples=200).rows
    assert row.sampled is None
    assert [note.split(":")[0] for note in row.notes] == [
        "an answer 'b' can be proved", "an answer 'c' can be proved", "fewer than two protected values"
    ]  # fmt: skip
    assert row.details["plain"] == "infinite"


def test_claims_between_sets_add_up_over_items() -> None:
    question = Survey.load("examples/shopping.toml").question("basket")
    values, claims, timed, _ = BY_KIND["choices"].compare(question, 0)
    assert values[0] == []
    assert len(values[-1]) == 6
    assert claims[0][-1] == pytest.approx(4 * 0.5 + 0.25 + 0.1)
    assert claims[1][6] == pytest.approx(0.5 + 0.1)
    assert timed == [1, 2, 3, 4, 5, 6]  # sets of one label each


def test_what_a_forged_report_can_do() -> None:
    assert build("krr", 4, 1_000_000).manipulation == pytest.approx(2.7459, abs=1e-4)
    assert ItemSet.of([1_000_000]).manipulation == pytest.approx(1.5820, abs=1e-4)
    assert build("sr", 64, 1_000_000).manipulation == pytest.approx(2.1640, abs=1e-4)


def test_a_javascript_device_with_a_stuck_generator_is_refuted(client: JavaScript, tmp_path: Path) -> None:
    """Random bytes that are all 0 always tell the truth."""
    zeros = "openDevice(survey, { random: (count) => new Uint8Array(count) })"
    stuck = tamper(client, tmp_path / "js", "openDevice(survey)", zeros)
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={one=0.5}\nquestions=[{name="q",values=["a","b","c","d"],mechanism="krr"}]'
    )
    settings = AuditSettings(javascript=stuck, timed=False, only=("q", "one", "javascript"))
    row = next(audit_survey(survey, 800, settings, sequences=False))
    assert row.device == "javascript"
    assert any(bound.refutes for bound in row.bounds)


def test_a_javascript_client_that_fails_is_named(client, tmp_path: Path, commute: Survey, monkeypatch) -> None:
    (tmp_path / "vectors").mkdir()
    script = tmp_path / "vectors" / "audit.js"
    broken = replace(client, folder=tmp_path)
    people = [({"mode": "bike"}, "strict")]
    script.write_text("throw new Error('no')", encoding="utf-8")
    with pytest.raises(AuditError, match=r"^the JavaScript device failed: [^\n]+$"):
        broken.call(commute, people, 10)
    script.write_text("setTimeout(() => {}, 100000)", encoding="utf-8")
    monkeypatch.setattr(audited_devices, "START_SECONDS", 0.5)
    with pytest.raises(AuditError, match="did not return within"):
        broken.call(commute, people, 1)
    monkeypatch.undo()
    with pytest.raises(AuditError, match=r"^the JavaScript device refuses this: AnswerError: [^\n]+$"):
        client.call(commute, [({"mode": "rocket"}, "strict")], 1)


def test_what_javascript_refuses_is_a_note(client: JavaScript, monkeypatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise AuditError("the JavaScript device refuses this: SurveyError: unknown kind")

    monkeypatch.setattr(JavaScript, "call", refuses)
    (row,) = audit("krr", samples=100, settings=AuditSettings(javascript=client, timed=False)).rows
    assert row.notes[:1] == ("the JavaScript device refuses this: SurveyError: unknown kind",)


def test_the_certificate_names_what_was_audited(tmp_path: Path, commute: Survey) -> None:
    path, page = write_certificate(audit(commute, samples=0), tmp_path / "certificate.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["survey_hash"] == commute.hash
    assert set(content["versions"]) == {"pldp", "python", "system"}
    assert [row["exact"] for row in content["rows"] if row["rounds"] == 1] == [0.5, 1.0, 2.0] * 2
    html = page.read_text(encoding="utf-8")
    assert commute.hash in html
    assert "No promise was refuted" in html
    assert "<script" not in html
    assert "What was not looked at" in html
    assert "no device was run" in html
    assert content["not_looked_at"][0].startswith("no device was run")
    assert {row["verdict"] for row in content["rows"]} == {"exact"}
    with pytest.raises(AuditError, match=r"^the certificate's file must end in \.json"):
        write_certificate(audit(commute, samples=0), tmp_path / "certificate.txt")


def test_the_page_escapes_names_and_says_what_is_refuted() -> None:
    row = Row("krr", "<b>", "strict", "python", 1.0, float("inf"), refutations=("<i>told</i>",))
    html = certificate_page(Audit("<title>", "", (row,)))
    assert "<b>&lt;b&gt; / strict / python</b>: &lt;i&gt;told&lt;/i&gt;" in html
    assert "1 of 1 promises are refuted" in html
    assert "show it: " in html
    assert "∞" in html
    assert str(Audit("x", "", (row,))) == "x: 1 of 1 promises refuted"


def test_a_certificate_with_samples_says_what_they_would_have_found(tmp_path: Path) -> None:
    found = audit("krr", samples=200, settings=UNTIMED)
    path, page = write_certificate(found, tmp_path / "certificate.json")
    (row,) = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert row["people"] == 800
    assert row["detectable"]["curve"]
    html = page.read_text(encoding="utf-8")
    assert "800 people would have shown ε = " in html
    for words in (
        "the JavaScript device",
        "the survey page in a browser",
        "times",
        "only the holder of a key can read",
    ):
        assert words in html


def test_the_command_looks_at_one_promise_only(capsys) -> None:
    words = ["audit", "examples/commute.toml", "--only", "late/strict", "--samples", "0", "--json", "-"]
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["question"], row["level"], row["rounds"]) for row in rows] == [
        ("late", "strict", 1),
        ("late", "strict", 3),
    ]
    assert main(["audit", "examples/commute.toml", "--only", "lat", "--samples", "0"]) == 2
    assert "there is no promise of lat; the survey asks mode, late" in capsys.readouterr().err
    assert main(["audit", "examples/commute.toml", "--only", "late/strict/phone", "--samples", "0"]) == 2
    assert "the device must be python, or javascript" in capsys.readouterr().err


def test_the_command_gives_rows_of_every_mechanism_for_scripts(capsys, monkeypatch) -> None:
    """Of two, as if there were no more: what the command does with all of them is the same."""
    monkeypatch.setattr(sys.modules["pldp.auditing.audit"], "NAMES", ("krr", "sr"))
    assert main(["audit", "--samples", "0", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["question"] for row in rows] == ["krr", "sr"]
    assert all(row.keys() >= ROW_KEYS for row in rows)


def test_the_command_audits_one_mechanism_on_both_devices(capsys, client: JavaScript) -> None:
    assert main(["audit", "krr", "--samples", "100", "--javascript", str(client.folder), "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["device"] for row in rows] == ["python", "javascript"]
    assert [row["verdict"] for row in rows] == ["exact", "exact"]
    assert rows[1]["details"]["draws_compared"] > 20
    assert all(row["sampled_lower_bound"] is not None for row in rows)


def test_the_command_shows_a_table_and_writes_a_certificate(tmp_path: Path, capsys) -> None:
    certificate = tmp_path / "certificate.json"
    assert main(["audit", "examples/shopping.toml", "--samples", "0", "--certificate", str(certificate)]) == 0
    assert "none of 12 promises refuted" in capsys.readouterr().out
    assert certificate.with_suffix(".html").exists()


def test_a_survey_that_no_device_accepts_is_refuted_by_its_weights(tmp_path: Path, commute: Survey, capsys) -> None:
    document = json.loads(commute.canonical)
    document["questions"][1]["weights"]["strict"]["other"] -= 2**40
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["audit", str(path)]) == 1
    captured = capsys.readouterr()
    assert "no device accepts this survey" in captured.err.replace("\n", " ")
    assert "refuted" in captured.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "neither a survey file nor a mechanism; mechanisms are krr, sue"),
        (["missing.toml"], "there is no such file"),
        (["krr", "--samples", "3"], "samples must be 0 or at least 100"),
        (["krr", "--samples", "-3"], "samples must be a whole number"),
        (["krr", "--javascript", "/nowhere"], "must hold the client, and node must be installed"),
        (["krr", "--samples", "0", "--certificate", "x.txt"], "must end in .json"),
        (["README.md"], "README.md"),
    ],
)
def test_bad_input_of_the_command_gets_one_clear_line(words: list[str], message: str, capsys) -> None:
    assert main(["audit", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pldp: ")
    assert message in error
    assert error.count("\n") == 1


def test_an_audit_shows_itself_in_five_lines(commute: Survey) -> None:
    found = audit(commute, samples=0)
    assert repr(found) == "Audit of How people get to work: none of 12 promises refuted"
    assert repr(found.rows[0]) == "<subset, mode, strict, python: claimed ε = 0.5, exact 0.5, exact>"
    assert found._repr_html_().count("<tr>") == 13
    bad = Row("krr", "q", "strict", "python", 1.0, 2.0, refutations=("told",))
    lines = repr(Audit("x", "", (bad,) * 9)).splitlines()
    assert len(lines) == 5
    assert lines[1] == "  krr, q, strict, python: claimed ε = 1, exact 2, refuted"
    assert lines[-1] == "  … and 6 more"


def test_every_kind_says_which_mechanisms_it_is_for() -> None:
    assert {kind.domain for kind in BY_KIND.values()} == {family.domain for family in REGISTRY.values()}


def test_only_mechanisms_that_keep_unequal_budgets_are_given_some() -> None:
    given = {name: BY_KIND["choice"].example(name).get("fractions") for name in names("labels")}
    assert {name for name, fractions in given.items() if fractions == {"a": "1/2"}} == {
        "iprr",
        "subset_items",
        "idue",
    }
    assert {name for name, fractions in given.items() if fractions is None} == {*names("labels", per_value=False)}
