"""The JavaScript device does what the Python device does, byte for byte."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from make_vectors import CASES, make_mutants, make_vectors

from helpers.browsers import Visits
from helpers.machine import lacks
from helpers.modules import with_imports
from helpers.torsion import P, small_order_points, spellings
from pldp import Device, Survey
from pldp.collector.static import assets
from pldp.errors import SurveyError
from pldp.mechanisms import names
from pldp.mechanisms.tracking.stages import STAGES
from pldp.reports import read_report
from pldp.survey import KINDS, loads

CLIENT = Path(__file__).parent.parent.parent / "clients" / "js"
SOURCE = CLIENT / "src"
SURVEYS = CLIENT / "test" / "surveys"
LARGEST_CORE = 57_500
OLDEST_NODE = 20
LONG = bool(os.environ.get("PLDP_LONG"))


@pytest.fixture(scope="module")
def node() -> str:
    """Path of Node; without it these tests fail where everything is tested, and are skipped elsewhere."""
    found = shutil.which("node")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout if found else "v0"
    if found and int(version[1:].split(".")[0]) >= OLDEST_NODE:
        return found
    reason = f"the JavaScript client is tested with Node {OLDEST_NODE} or newer, which is not installed here"
    return lacks(reason)


def run(*command: str | Path, folder: Path = CLIENT, text: str = "") -> str:
    command = tuple(map(str, command))
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


REPORTS = 100_000 if LONG else 25


@pytest.fixture(scope="module")
def replayed(node: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one Node made of the vectors of every case: how much came out the same, or the first error."""
    paths = []
    for number, case in enumerate(CASES):
        paths.append(tmp_path_factory.mktemp("vectors") / f"{number}.jsonl")
        with paths[-1].open("w", encoding="utf-8") as file:
            for vectors in (make_vectors(case, REPORTS), make_mutants(case, REPORTS // (10 if LONG else 1))):
                file.writelines(json.dumps(vector) + "\n" for vector in vectors)
    command = [node, str(CLIENT / "vectors" / "replay.js"), *map(str, paths)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return dict(zip(CASES, map(json.loads, told.splitlines()), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_give_the_same_reports(case: str, replayed: dict[str, Any]) -> None:
    """100,000 of 100,000 in the long form; also refusals, states, explanations, hashes, and altered surveys."""
    reports, counts = REPORTS, replayed[case]
    assert "error" not in counts, counts["error"]
    rules = {rule: counts[rule] for rule in ("once", "fresh", "tracked")}
    assert sum(rules.values()) >= reports
    trackable = not {*STAGES, "kinds"}.isdisjoint(case.split())
    assert {rule for rule, made in rules.items() if made} == {"once", "fresh", *(["tracked"] if trackable else [])}
    assert min(counts["refusals"], counts["accepted"], counts["refused"]) >= max(1, reports // 50)


def test_a_changed_vector_is_found(node: str, tmp_path: Path) -> None:
    survey, *devices = make_vectors(CASES[0], 1)
    made = [
        (device, chapter["results"], place)
        for device in devices
        for chapter in device["story"]
        for place, result in enumerate(chapter["results"])
        if result.startswith("{")
    ]
    device, results, place = made[0]
    results[place] = results[place].replace('"id":"', '"id":"0')
    path = tmp_path / "vectors.jsonl"
    path.write_text(f"{json.dumps(survey)}\n{json.dumps(device)}\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="deep-equal|deepStrictEqual"):
        run(node, CLIENT / "vectors" / "replay.js", path)


def test_the_clients_own_tests_pass(node: str) -> None:
    """All in one Node: `node --test` starts one for each file."""
    tests = sorted((CLIENT / "test").glob("*.test.js"))
    told = run(node, "--input-type=module", "--eval", "\n".join(f'import "{path.as_uri()}";' for path in tests))
    assert int(re.findall(r"^# pass (\d+)$", told, re.MULTILINE)[0]) > 5 * len(tests)
    assert "# fail 0\n" in told


@pytest.mark.parametrize("page", [CLIENT / "README.md", CLIENT.parent.parent / "docs" / "javascript.md"], ids=str)
def test_the_examples_run(page: Path, node: str, tmp_path: Path, commute: Survey) -> None:
    commute.save(tmp_path / "commute.json")
    blocks = re.findall(r"^```js\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        nobody = block.replace("https://collector.example", "http://127.0.0.1:9")
        script = tmp_path / "example.mjs"
        script.write_text(nobody.replace('"pldp-device"', json.dumps((SOURCE / "index.js").as_uri())), encoding="utf-8")
        assert run(node, script, folder=tmp_path).strip()


def test_the_page_names_everything_that_is_exported() -> None:
    page = (CLIENT.parent.parent / "docs" / "javascript.md").read_text(encoding="utf-8")
    assert not [name for name in exported() if f"`{name}" not in page]


def test_both_languages_continue_one_state_file(node: str, tmp_path: Path, commute: Survey) -> None:
    state = tmp_path / "state.json"
    spelled = tmp_path / "survey.json"
    commute.save(spelled)

    def answer(*arguments: str) -> Any:
        return read_report(commute, run(node, CLIENT / "vectors" / "answer.js", spelled, state, *arguments))

    first = Device(commute, state=state).answer("mode", "bike", "open")
    assert answer("mode", "car", "strict") == first
    second = answer("late", "yes", "standard")
    device = Device(commute, state=state)
    assert device.ledger.total == 3_000_000
    assert device.answer("late", "no", "open") == second
    assert device.withdraw("mode") == device.receipt(first)
    assert answer("mode", "bike", "strict").id != first.id
    assert Device(commute, state=state).ledger.total == 3_500_000


def test_the_surveys_of_the_clients_tests_are_what_python_makes(commute: Survey) -> None:
    key = (SURVEYS / "commute.pub").read_text().strip()
    assert Survey.load(SURVEYS / "commute.signed.json", trusted_key=key).hash == commute.hash
    assert (SURVEYS / "commute.json").read_bytes() == commute.canonical + b"\n"
    for name in ("hidden", "kinds", "lottery", "tracked"):
        assert (SURVEYS / f"{name}.json").read_bytes() == Survey.load(SURVEYS / f"{name}.toml").canonical + b"\n"


STATIC = r'from "(\.[^"]+)"'
STATIC_OR_LATER = r'(?:from |import\()"(\.[^"]+)"'
SERVED = {path.removeprefix("/pages/"): asset.body.decode() for path, asset in assets().items() if path.endswith(".js")}
MODULES = {name.removeprefix("device/") for name in SERVED if name.startswith("device/")}


def loaded(*modules: str, pattern: str = STATIC, folder: str = "device/") -> set[str]:
    """Names of the modules that come with these, through imports of this form."""
    return with_imports(modules, pattern, lambda name: SERVED[folder + name])


def size_of(modules: set[str]) -> int:
    return sum((SOURCE / name).stat().st_size for name in modules)


def test_what_the_simplest_survey_needs_is_small_and_nothing_else_is_needed() -> None:
    assert size_of(loaded("index.js", *SIMPLEST)) <= LARGEST_CORE
    assert loaded("index.js", pattern=STATIC_OR_LATER) == MODULES
    package = json.loads((CLIENT / "package.json").read_text())
    assert not {"dependencies", "devDependencies", "peerDependencies", "optionalDependencies"} & package.keys()


SIMPLEST = ("kinds/choice.js", "mechanisms/response.js")
NUMBERS = ("laplace", "rounding", "window", "hybrid", "minimax")
LATER = (
    ("signature.js",),
    ("hiding.js", "mechanisms/response.js"),
    ("lottery.js",),
    ("mechanisms/stages.js",),
    SIMPLEST,
    ("kinds/choice.js", "mechanisms/unary.js"),
    ("kinds/choice.js", "mechanisms/subset.js"),
    ("kinds/choice.js", "mechanisms/hashing.js"),
    ("kinds/choice.js", "mechanisms/projective.js"),
    ("kinds/budgets.js", "mechanisms/budgets.js"),
    ("kinds/choices.js", "mechanisms/sets.js"),
    ("kinds/sides.js", "mechanisms/sets.js"),
    ("kinds/whole.js", "mechanisms/boxes.js", "mechanisms/privset.js"),
    ("kinds/number.js", *(f"mechanisms/{name}.js" for name in NUMBERS)),
)


def test_the_page_tells_the_true_sizes() -> None:
    """The table of sizes: what every survey loads, and what some load in addition."""
    page = (CLIENT.parent.parent / "docs" / "javascript.md").read_text(encoding="utf-8")
    core = loaded("index.js")
    sizes = [core, *(loaded(*modules) - core for modules in LATER), MODULES]
    told = [float(number) for number in re.findall(r"^\| .* \| ([0-9.]+) kB \|$", page, re.MULTILINE)]
    assert told == [round(size_of(names) / 1000, 1) for names in sizes]


def names_in_python() -> dict[str, set[str]]:
    """Every mechanism and every kind that the Python package knows."""
    return {
        "mechanisms": set(names()),
        "kinds": set(KINDS),
    }


def test_every_mechanism_and_kind_of_python_is_in_the_registries_of_the_client(node: str) -> None:
    script = """
        import { KINDS } from "./src/kinds/registry.js";
        import { MECHANISMS } from "./src/mechanisms/registry.js";
        console.log(JSON.stringify({ mechanisms: [...MECHANISMS.keys()], kinds: [...KINDS.keys()] }));
    """
    registered = json.loads(run(node, "--input-type=module", "--eval", script))
    assert {axis: set(names) for axis, names in registered.items()} == names_in_python()


def test_only_registries_tell_kinds_and_mechanisms_apart() -> None:
    """In the device and in what the survey page loads."""
    modules = loaded("survey.js", pattern=STATIC_OR_LATER, folder="")
    assert {f"device/{name}" for name in MODULES} <= modules
    named = "|".join(names_in_python()["mechanisms"])
    for name in modules:
        if not name.startswith("device/mechanisms/"):
            assert not re.search(f"[\"'`]({named})[\"'`]", SERVED[name]), name
        assert not re.search(r"\bkind\b *[!=]==?", SERVED[name]), name


def exported() -> set[str]:
    exports = re.findall(r"export \{ (.+?) \}", (SOURCE / "index.js").read_text())
    return {name for part in exports for name in part.split(", ")}


def test_every_exported_name_is_declared() -> None:
    declared = re.findall(r"^export (?:function|class) (\w+)", (SOURCE / "index.d.ts").read_text(), re.MULTILINE)
    assert exported() == set(declared)


def test_keys_with_which_anybody_can_sign_are_refused(node: str) -> None:
    """Points of small order and second spellings, named by a survey or trusted; an ordinary key is accepted."""
    key = (SURVEYS / "commute.pub").read_text().strip()
    weak = sorted(set().union(*map(spellings, small_order_points())))
    weak += [number.to_bytes(32, "little").hex() for number in range(P, 2**255)]
    script = """
        import { readFileSync } from "node:fs";
        import { readSurvey } from "./src/index.js";
        const { signed, keys } = JSON.parse(readFileSync(0, "utf8"));
        const file = JSON.parse(signed);
        const named = (public_key) => JSON.stringify({ ...file, signature: { ...file.signature, public_key } });
        const say = (reading) => reading.then(({ signer }) => signer, ({ name, message }) => `${name}: ${message}`);
        const said = [];
        for (const key of keys)
            said.push([await say(readSurvey(named(key))), await say(readSurvey(signed, { trustedKey: key }))]);
        console.log(JSON.stringify(said));
    """
    sent = json.dumps({"signed": (SURVEYS / "commute.signed.json").read_text(encoding="utf-8"), "keys": [key, *weak]})
    told = run(node, "--input-type=module", "--eval", script, text=sent)
    ordinary, *refused = json.loads(told)
    assert ordinary == [key, key]
    line = "SignatureError: signature: anybody can sign with this key; make one with pldp survey key"
    assert refused == [[line, line]] * len(weak)


MARKS = "\n\t\r\x00\x1b\x7f\x85\u00ad\u200b\u200d\u2028\u2029\u202e\u2066\ufe0f\ufeff\ud800\U000e0041"
PLACES: dict[str, Callable[[dict[str, Any], str], object]] = {
    "title": lambda file, text: file.update(title=text),
    "collector": lambda file, text: file.update(collector=text),
    "question": lambda file, text: file["questions"][1].update(name=text),
    "text": lambda file, text: file["questions"][1].update(text=text),
    "label": lambda file, text: file["questions"][1]["values"].__setitem__(0, text),
    "thanks": lambda file, text: file.update(texts={"thanks": text}),
}


def test_both_languages_accept_the_same_characters_in_every_text(node: str, commute: Survey) -> None:
    """Of compiled surveys, which is all that devices in browsers read."""
    texts, accepted = [], []
    for change in PLACES.values():
        for mark in MARKS:
            file = json.loads(commute.canonical)
            change(file, f"a{mark}b")
            texts.append(json.dumps(file))
            try:
                accepted.append(loads(texts[-1]).hash)
            except SurveyError:
                accepted.append("SurveyError")
    script = """
        import { readFileSync } from "node:fs";
        import { readSurvey } from "./src/index.js";
        const say = (text) => readSurvey(text).then(({ hash }) => hash, ({ name }) => name);
        console.log(JSON.stringify(await Promise.all(JSON.parse(readFileSync(0, "utf8")).map(say))));
    """
    assert json.loads(run(node, "--input-type=module", "--eval", script, text=json.dumps(texts))) == accepted
    kept = {mark for mark, outcome in zip(MARKS, accepted, strict=False) if outcome != "SurveyError"}
    assert kept == set("\n\u200d\u2028\u2029\ufe0f")


class _Pages(SimpleHTTPRequestHandler):
    """Serves the client."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def browser_result(visit: Visits) -> Iterator[Any]:
    """Open the test page in a browser and return what it found."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pages, directory=str(CLIENT)))
    Thread(target=server.serve_forever, daemon=True).start()
    page = visit().page
    page.goto(f"http://127.0.0.1:{server.server_port}/test/browser/page.html")
    yield page.evaluate("window.result")
    server.shutdown()
    server.server_close()


def test_a_browser_checks_signatures_and_does_not_spend_twice(browser_result: Any, commute: Survey) -> None:
    assert "error" not in browser_result, browser_result
    assert browser_result["hash"] == commute.hash
    assert browser_result["altered"] == "SignatureError"
    assert read_report(commute, browser_result["report"]).answers[0].level == "strict"
    assert browser_result["kept"] == 500_000
    for name, answers in (("kinds", 4), ("hidden", 1)):
        report = read_report(Survey.load(SURVEYS / f"{name}.json"), browser_result[name])
        assert len(report.answers) == answers
    for race in ("withLocks", "withoutLocks"):
        outcomes = [outcome for worker in browser_result[race] for outcome in worker]
        assert sorted(outcomes) == ["BudgetError"] * 58 + ["report"] * 6, race
