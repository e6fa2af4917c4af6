"""Make test vectors for clients in other languages: surveys, random bytes, and what a device does with them.

    python tests/clients/make_vectors.py 2000 vectors.jsonl

One JSON object per line. A line with `text` is a survey in its spelled-out form with its hash, its explanation at every
level and whether it is signed; the lines after it are devices of that survey. A device has a `stream` (see `Stream`),
what it was asked (`calls`) and what came of it (`results`): the JSON of a report, or the name of an error. Some devices
also have the `state` that they leave behind. A line with `mutant` is a spelled-out survey with something changed, and
whether a client that reads nothing but the spelled-out form must accept it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pldp import Device, Survey
from pldp.errors import PldpError, SurveyError
from pldp.survey import loads, make_key, sign

REPORTS_PER_SURVEY = 20
NAMES = (
    "strict",
    "open",
    "1",
    "10",
    "2",
    "constructor",
    "__proto__",
    "Straße",
    "\U0001f6b2",
    "\uffe6",
    "a b",
    'say "no"',
)
SIZES = (2, 2, 3, 5, 7, 8, 9, 16, 17, 64, 100, 257)
MECHANISMS = ("krr", "sue", "oue", "lh", "auto")


class Stream:
    """Bytes that look random and are the same everywhere: SHA-256 of "name:0", "name:1", … one behind the other."""

    def __init__(self, name: str) -> None:
        self._blocks = (hashlib.sha256(f"{name}:{count}".encode()).digest() for count in itertools.count())
        self._left = b""

    def __call__(self, count: int) -> bytes:
        missing = max(0, -(-(count - len(self._left)) // 32))
        text = self._left + b"".join(itertools.islice(self._blocks, missing))
        self._left = text[count:]
        return text[:count]


def _chance(name: str) -> random.Random:
    return random.Random(name)  # noqa: S311 - the same vectors every time


def make_surveys() -> Iterator[Survey]:
    """One survey per mechanism, shown and hidden, alone and as one of several questions, and then random ones."""
    for mechanism, hidden, ask in itertools.product(MECHANISMS, (False, True), (None, 2)):
        questions = [
            {"name": f"q{size}", "mechanism": mechanism, "values": [f"v{value}" for value in range(size)]}
            for size in (2, 9, 64)
        ]
        document: dict[str, Any] = {"pldp": 1, "title": mechanism, "levels": {"low": "2", "mid": "1", "high": "0.25"}}
        document |= {"hide_level": {"epsilon": "1"}} if hidden else {}
        document |= {"ask": ask} if ask else {}
        yield loads(json.dumps(document | {"questions": questions}))
    values = [f"v{value}" for value in range(1024)]
    large = [{"name": name, "mechanism": name, "values": values} for name in MECHANISMS]
    yield loads(json.dumps({"pldp": 1, "title": "large", "levels": {"a": "0.5", "b": "20"}, "questions": large}))
    for number in itertools.count():
        survey = _random_survey(_chance(f"survey {number}"))
        if survey is not None:
            yield survey


def _random_survey(rng: random.Random) -> Survey | None:
    names = rng.sample(NAMES, rng.randint(1, 4))
    hidden = rng.random() < 0.4
    document: dict[str, Any] = {
        "pldp": 1,
        "title": "Größe\n“x” \U0001f6b2",
        "levels": {name: {"epsilon": _epsilon(rng), "text": rng.choice(["", "more"])} for name in names},
        "questions": [_random_question(rng, place, names, hidden) for place in range(rng.randint(1, 4))],
        "collector": rng.choice(["", "Stadt Köln"]),
    }
    if rng.random() < 0.5:
        document["total_epsilon"] = _epsilon(rng, 20)
    if rng.random() < 0.4:
        document["ask"] = rng.randint(1, len(document["questions"]))
    if hidden:
        document["hide_level"] = {rng.choice(["epsilon", "leak_cap"]): _epsilon(rng, 6)}
    try:
        return loads(json.dumps(document))
    except SurveyError:
        return None


def _random_question(rng: random.Random, place: int, names: list[str], hidden: bool) -> dict[str, Any]:
    values = [f"ä{value}" for value in range(rng.choice(SIZES))]
    entry: dict[str, Any] = {"name": f"{place}{rng.choice(NAMES)}", "values": values, "text": "?"}
    entry["mechanism"] = rng.choice(MECHANISMS)
    if not hidden and rng.random() < 0.3:
        entry["mechanism"] = {name: rng.choice(MECHANISMS) for name in names}
        del entry["text"]
    elif not hidden and rng.random() < 0.3:
        entry["levels"] = {name: _epsilon(rng) for name in rng.sample(names, rng.randint(1, len(names)))}
    return entry


def _epsilon(rng: random.Random, most: float = 4) -> str:
    return f"{rng.uniform(0.06, most):.{rng.choice([1, 2, 6])}f}"


def make_vectors(reports: int) -> Iterator[dict[str, Any]]:
    """Yield surveys and devices until so many reports have been made."""
    private, public = make_key()
    made = 0
    for number, survey in enumerate(make_surveys()):
        signed = number % 5 == 0
        yield {
            "text": sign(survey, private) if signed else survey.canonical.decode(),
            "trusted": public if signed else None,
            "hash": survey.hash,
            "explain": [
                Device(survey).explain(level.name) for level in survey.levels if _everywhere(survey, level.name)
            ],
            "levels": [level.name for level in survey.levels if _everywhere(survey, level.name)],
        }
        here = 0
        for count in itertools.count():
            device = _device(survey, f"{number}/{count}", _chance(f"{number}/{count}"), keep_state=count == 0)
            yield device
            here += sum(result.startswith("{") for result in device["results"])
            if here >= REPORTS_PER_SURVEY or made + here >= reports:
                break
        made += here
        if made >= reports:
            return


WORDS = (
    "",
    " ",
    "x" * 65,
    "x" * 2001,
    "e\u0301",
    "a\x00",
    "a\tb",
    "a\nb",
    "\u3000",
    "\ufeff",
    "krr",
    "sue",
    "oue",
    "lh",
    "open",
)
EPSILONS = (
    "0",
    "0.5",
    "0.50",
    "1.0",
    "1e0",
    "20",
    "20.000001",
    "21",
    "0.0000001",
    "0.0000010",
    "-1",
    "+1",
    " 1",
    "\u0661",
)
NUMBERS = (-1, 0, 1, 2, 3, 61, 67, 2**31, 2**32, 2**52, 2**53, 2**53 + 1, 2**60)


def make_mutants(count: int) -> Iterator[dict[str, Any]]:
    """Yield spelled-out surveys with one or two changes, and the verdict of this package's reader."""
    surveys = [survey for survey in itertools.islice(make_surveys(), 100) if survey.title != "large"]
    for number in range(count):
        rng = _chance(f"mutant {number}")
        document = json.loads(rng.choice(surveys).canonical)
        for _ in range(rng.randint(0, 2)):
            _change(rng, document)
        text = json.dumps(document, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
        if rng.random() < 0.2:
            text = _change_spelling(rng, text)
        yield {"mutant": text, "hash": _hash_if_spelled_out(text)}


def _hash_if_spelled_out(text: str) -> str | None:
    try:
        survey = loads(text)
    except SurveyError:
        return None
    same = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return survey.hash if same == survey.canonical else None


def _change(rng: random.Random, document: Any) -> None:
    """Change one entry somewhere in a document."""
    places = [(document, key) for key in document]
    for holder, key in places:
        below = holder[key]
        places += (
            [(below, inner) for inner in (below if isinstance(below, dict) else range(len(below)))]
            if isinstance(below, dict | list) and len(below) < 20
            else []
        )
    holder, key = rng.choice(places)
    old = holder[key]
    choices: list[Any] = [None, True, 1.0, [], {}, {"a": 1}, *rng.sample(WORDS, 3)]
    if isinstance(old, str):
        choices = [*WORDS, *EPSILONS]
    elif isinstance(old, int):
        choices = [old - 1, old + 1, old * 2, -old, str(old), float(old), *NUMBERS]
    elif isinstance(old, list) and old:
        choices += [old[:1], old + old[:1], old[::-1], old[1:]]
    elif isinstance(old, dict):
        choices += [old | {"more": 1}, dict(list(old.items())[1:])]
    if isinstance(holder, dict) and rng.random() < 0.15:
        del holder[key]
    else:
        holder[key] = rng.choice(choices)


def _change_spelling(rng: random.Random, text: str) -> str:
    """Change the JSON without changing what most readers see."""
    changes = [
        ('"pldp": 1', '"pldp": 1.0'),
        ('"pldp": 1', '"pldp": 1, "pldp": 1'),
        ('"pldp": 1', '"pldp": 1e0'),
        ("00}", "e2}"),
        ('"name":', '"name": "x", "name":'),
        (
            "{",
            "{ \n",
        ),
        ("}", "},"),
        ("a", "\\u0061"),
    ]
    return text.replace(*rng.choice(changes))


def _everywhere(survey: Survey, level: str) -> bool:
    return all(level in question.level_index for question in survey.questions)


def _device(survey: Survey, name: str, rng: random.Random, *, keep_state: bool) -> dict[str, Any]:
    cap = _epsilon(rng, 12) if rng.random() < 0.3 else None
    device = Device(survey, cap=cap, random=Stream(name))
    calls: list[Any] = []
    results = []
    for _ in range(rng.randint(1, 5)):
        calls.append(rng.choice(calls) if calls and rng.random() < 0.3 else _call(rng, survey, device.asked))
        values, levels = calls[-1]
        try:
            results.append(
                device.answer_all(dict(values), dict(levels) if isinstance(levels, list) else levels).to_json()
            )
        except PldpError as error:
            results.append(type(error).__name__)
    made = {"stream": name, "cap": cap, "asked": device.asked, "calls": calls, "results": results}
    if keep_state:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state"
            device._state._write(path)
            made["state"] = json.loads(path.read_text())
    return made | {"remaining": device.remaining(), "spent": device.ledger.total}


def _call(rng: random.Random, survey: Survey, asked: tuple[str, ...]) -> list[Any]:
    """Return values and levels to answer with; now and then something that must be refused."""
    known = [question for question in survey.questions if question.name in asked or rng.random() < 0.05]
    questions = rng.sample(known, rng.randint(1, len(known)))
    values = [[each.name, rng.choice(each.values) if rng.random() > 0.02 else "?"] for each in questions]
    choice = rng.random()
    if choice < 0.2:
        return [values, None]
    if choice < 0.4:
        return [values, rng.choice(survey.levels).name]
    levels = [[each.name, rng.choice([None, *(level.name for level in each.levels)])] for each in questions]
    return [values, levels if rng.random() > 0.03 else levels[1:]]


if __name__ == "__main__":
    with Path(sys.argv[2]).open("w", encoding="utf-8") as file:
        vectors = itertools.chain(make_vectors(int(sys.argv[1])), make_mutants(int(sys.argv[1]) // 4))
        file.writelines(json.dumps(vector) + "\n" for vector in vectors)
