"""Make test vectors for clients in other languages: surveys, random bytes, and what a device does with them.

    python tests/clients/make_vectors.py "number sw" 2000 vectors.jsonl

One JSON object per line. A line with `editions` is a survey in its spelled-out form and the same survey a little
changed; each has its hash, its explanation at every level, the key that is trusted, and a hash of permanent outputs
where answers are tracked. The lines after it are devices of that survey. A device has a `stream` (see `Stream`) and a
`story`: in which edition and round it was asked what (`calls`), and what came of it (`results`): the JSON of a report
with its receipt, a receipt, or an error. It also has a hash of the `state` that it leaves behind. A line with `mutant`
is a spelled-out survey with something changed, and whether a client that reads nothing but the spelled-out form must
accept it. A number that JSON cannot write is `{"number": "NaN"}`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from pldp import Device, Survey
from pldp.device.state import DeviceState
from pldp.errors import PldpError, SurveyError
from pldp.mechanisms import REGISTRY, epsilon_text, names, read
from pldp.mechanisms.tracking.stages import STAGES
from pldp.reports import body_length
from pldp.survey import Question, loads, sign

PLAIN, BUDGETED = names("labels", per_value=False), names("labels", per_value=True)

HIDEABLE = (*PLAIN, *BUDGETED, *names("sets"), *(each for each in names("numbers") if each != "minimax"))
"""Mechanisms whose levels can be hidden."""

CASES = (
    *(f"choice {mechanism}" for mechanism in (*PLAIN, *BUDGETED)),
    *(f"choices {mechanism}" for mechanism in names("sets")),
    *(f"number {mechanism}" for mechanism in names("numbers")),
    "all kinds",
)
"""Kind and mechanism of every question of a survey; in the last one, each question has a kind of its own."""

RULES = ("once", "fresh", "tracked")
LEAST_SURVEYS = 6
MOST_REPORTS_PER_SURVEY = 500
MUTANTS_PER_SURVEY = 100
MOST_SILENT = 20  # devices of a survey that send nothing
MOST_SETTLED = 64
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
LARGE = 1024


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


def make_surveys(case: str) -> Iterator[Survey]:
    """Random surveys whose questions are all of this case."""
    found = (_random_survey(case, number) for number in itertools.count())
    yield from (survey for survey in found if survey is not None)


@lru_cache(32)
def _random_survey(case: str, number: int) -> Survey | None:
    rng, repeat = _chance(f"{case} {number}"), RULES[number % 3]
    names = rng.sample(NAMES, rng.randint(1, 4))
    hidden = rng.random() < 0.4 and repeat != "tracked" and case.split()[1] in HIDEABLE
    cases = CASES[:-1] if case == CASES[-1] else (case,)
    if repeat == "tracked":
        cases = tuple(each for each in cases if each.split()[1] in STAGES) or cases
    count = rng.randint(3, 6) if case == CASES[-1] else rng.randint(1, 4)
    document: dict[str, Any] = {
        "pldp": 1,
        "title": "Größe\n“x” \U0001f6b2",
        "levels": {name: {"epsilon": _epsilon(rng, case), "text": rng.choice(["", "more"])} for name in names},
        "questions": [_random_question(rng, rng.choice(cases), place, names, hidden) for place in range(count)],
        "collector": rng.choice(["", "Stadt Köln"]),
        "repeat": repeat,
    }
    for question in document["questions"]:
        question.update(_random_rules(_chance(json.dumps(question)), question))
    texts = _chance(json.dumps(document))
    document |= _random_texts(texts, document) if texts.random() < 0.4 else {}
    for question in document["questions"]:
        if repeat == "tracked":
            question.pop("purpose", None)  # what is rounded at random cannot be tracked
        if repeat == "tracked" and rng.random() < 0.3:
            question["permanent"] = _epsilon(rng, most=8, least=4.1)
        if len(cases) > 1 and question["mechanism"] in PLAIN and rng.random() < 0.3:
            table = dict.fromkeys(list(question.get("levels", names))[:1], question["mechanism"])
            question["mechanism"] = rng.choice(["auto", table])
    if rng.random() < 0.3:
        document["total_epsilon"] = _epsilon(rng, most=rng.choice([20, 1000]))
    if rng.random() < 0.4:
        document["ask"] = rng.randint(1, count)
    if hidden:
        document["hide_level"] = _random_label(rng, case, names)
    elif len(names) > 1 and _chance(f"lottery {case} {number}").random() < 0.5:
        document["hide_level"] = {"lottery": _epsilon(rng, most=6)}
        _drop_levels(rng, document["questions"])
    try:
        return loads(json.dumps(document), running=True)  # devices read surveys of any age
    except SurveyError:
        return None


def _drop_levels(rng: random.Random, questions: list[dict[str, Any]]) -> None:
    """Leave few questions levels of their own: most are in another order, which a lottery refuses."""
    for question in questions:
        if rng.random() < 0.8:
            question.pop("levels", None)


def _random_label(rng: random.Random, case: str, names: list[str]) -> dict[str, Any]:
    """What hides levels behind a label."""
    key = rng.choice(["epsilon", "leak_cap"])
    most = 100 if case.startswith("choices ") and key == "leak_cap" else 6  # sets tell much about the level
    parts = {"mechanism": "iprr", "fractions": {rng.choice(names): "1/3"}}
    return {key: _epsilon(rng, most=most), **(parts if rng.random() < 0.4 else {})}


def _random_texts(rng: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """Texts beside the questions, a closing date, a logo, and some of all texts in other languages."""
    question, level = rng.choice(document["questions"]), rng.choice(list(document["levels"]))
    words: dict[str, Any] = {"text": rng.choice(["was?", "wo?"])}
    if "values" in question:
        words["values"] = {rng.choice(question["values"]): "ö"}
    german = {
        "title": "Straße",
        "levels": {level: rng.choice(["streng", {"name": "auf"}])},
        "questions": {question["name"]: words},
    }
    return {
        "language": rng.choice(["en", "nl"]),
        "languages": {"de": german, **({"ar-XB": {"title": "ا"}} if rng.random() < 0.5 else {})},
        "closes": rng.choice(["2026-12-31", "2028-02-29"]),
        **({"texts": {"introduction": "hallo\n\nda", "notice": "https://example.org"}} if rng.random() < 0.5 else {}),
        **({"logo": "logo.svg"} if rng.random() < 0.5 else {}),
    }


def _random_rules(rng: random.Random, question: dict[str, Any]) -> dict[str, Any]:
    """Rules for answers that reports do not show."""
    rules: dict[str, Any] = {"required": True} if rng.random() < 0.05 else {}
    if "values" in question and rng.random() < 0.2:
        rules["option_order"] = "random"
    if question["kind"] == "choices" and rng.random() < 0.3:
        rules["exclusive"] = rng.sample(question["values"], rng.randint(1, min(2, len(question["values"]) - 1)))
    return rules


def _random_question(rng: random.Random, case: str, place: int, names: list[str], hidden: bool) -> dict[str, Any]:
    kind, mechanism = case.split()
    entry: dict[str, Any] = {"name": f"{place}{rng.choice(NAMES)}", "kind": kind, "text": "?", "mechanism": mechanism}
    if rng.random() < (0.15 if hidden else 0.3):
        entry["levels"] = {name: _epsilon(rng, case) for name in rng.sample(names, rng.randint(1, len(names)))}
        del entry["text"]
    if kind == "number":
        return entry | _random_bounds(rng, REGISTRY[mechanism].most)
    size = LARGE if rng.random() < 0.02 else rng.choice(SIZES)
    if hidden and mechanism == "idue":
        size = 2 + size % 16  # its weights are sought when the survey is read
    values = [f"ä{value}" for value in range(size)]
    entry["values"] = values
    if kind == "choices":
        entry |= _random_set(rng, mechanism, values)
    if hidden and mechanism in BUDGETED:
        parts = _random_fractions(rng, values)
        plain = {"idue": {**parts, "unprotected": []}, "aprr": {"fractions": {}}, "prr": {"fractions": {}}}
        entry |= plain.get(mechanism, parts)
    elif mechanism in {"iprr", "subset_items"} and rng.random() < 0.5:
        entry |= _random_fractions(rng, values)
    elif mechanism in BUDGETED:
        entry |= _random_budgets(rng, mechanism, len(values), names)
    return entry


def _random_set(rng: random.Random, mechanism: str, values: list[str]) -> dict[str, Any]:
    """Budgets of labels or of the whole set, with or without a limit on the labels that may be ticked."""
    limit = {"at_most": rng.randint(1, len(values))} if rng.random() < 0.5 else {}
    if mechanism in names("sets", per_value=False) or rng.random() < 0.2:
        return {"budget": "set", **limit}
    parts = _random_fractions(rng, values) if rng.random() < 0.5 else {}
    if rng.random() < 0.3:  # each side of some labels has a budget of its own; such sets are not tracked
        for side in ("ticked", "unticked"):
            parts[side] = {
                value: rng.choice(["1/4", "0.9", "1"])
                for value in values
                if value not in parts.get("unprotected", ()) and rng.random() < 0.5
            }
    return {**limit, **parts}


def _random_bounds(rng: random.Random, most: int) -> dict[str, Any]:
    """Bounds, unit, buckets and purpose of a number."""
    low = round(rng.choice([0, rng.uniform(-1000, 1000), rng.uniform(-1e15, 1e14)]), rng.randint(0, 6))
    bounds = {"low": f"{low:.6f}", "high": f"{low + rng.choice([1, 100, rng.uniform(0.1, 1e9)]):.6f}"}
    buckets = rng.choice([2, 3, 4, 16, 100, 256, 1000, rng.randint(2, 4096)])
    unit, outside = rng.choice(["", "€", "km/h"]), rng.choice(["clip", "refuse"])
    if most < LARGE:
        buckets = 2 + buckets % 16  # few points: such channels take time to build
    purpose = rng.choice(["mean", "distribution"])
    return {**bounds, "buckets": buckets, "unit": unit, "outside": outside, "purpose": purpose}


def _random_fractions(rng: random.Random, values: list[str]) -> dict[str, Any]:
    free = rng.sample(values, rng.randint(0, len(values) - 1) if rng.random() < 0.5 else 0)
    part = [value for value in values if value not in free and rng.random() < 0.6]
    return {"unprotected": free, "fractions": {value: rng.choice(["1/5", "0.5", "1/3"]) for value in part}}


def _random_budgets(rng: random.Random, mechanism: str, size: int, names: list[str]) -> dict[str, Any]:
    """Spelled-out budgets of a few kinds of values, just what random weights keep, or a little more."""
    entry: dict[str, Any] = {"mechanism": mechanism, "levels": {}, "weights": {}, "budgets": {}}
    for name in rng.sample(names, rng.randint(1, len(names))):
        weights = _random_weights(rng, mechanism, size)
        channel = read(mechanism, size, weights)
        slack = rng.choice([0, 0, 1, 1000])
        promised = [channel.promised(value) for value in range(size)]
        budgets = [micro if micro == math.inf else min(micro + slack, 20_000_000) for micro in promised]
        largest = max((micro for micro in budgets if micro != math.inf), default=1_000_000)
        entry["levels"][name] = epsilon_text(largest)
        entry["weights"][name] = weights
        entry["budgets"][name] = [epsilon_text(micro) for micro in budgets]
    return entry


def _random_weights(rng: random.Random, mechanism: str, size: int) -> dict[str, list[int]]:
    kinds = [(rng.uniform(0.05, 1), rng.uniform(0.3, 0.95)) for _ in range(rng.randint(1, 4))]
    drawn = [rng.choice(kinds) for _ in range(size)]
    if mechanism == "idue":
        truth = [int(2**32 * high) for _, high in drawn]
        other = [int(weight * low * 0.9) for weight, (low, _) in zip(truth, drawn, strict=True)]
        return {"truth": truth, "other": other}
    kept = 2**53 * rng.uniform(0.1, 0.95)
    whole = sum(part for part, _ in drawn) if mechanism in {"iprr", "subset_items"} else size
    other = [int((2**53 - kept) * part / whole) for part, _ in drawn]
    for value in rng.sample(range(size), rng.randint(0, size - 1) if rng.random() < 0.3 else 0):
        other[value] = 0
    if mechanism == "subset_items":
        sizes = {weight: rng.randint(1, max(1, other.count(weight) - 1)) if weight else 1 for weight in set(other)}
        return {"other": other, "chosen": [sizes[weight] for weight in other]}
    return {"other": other}


def _epsilon(rng: random.Random, case: str = "", most: float = 4, least: float = 0.06) -> str:
    least = 0.7 if case == "number hm" else least  # a small ε makes another mechanism of it
    return f"{rng.uniform(least, most):.{rng.choice([1, 2, 6])}f}"


def make_vectors(case: str, reports: int) -> Iterator[dict[str, Any]]:
    """Yield surveys and devices until so many reports have been made."""
    made = 0
    here_at_least = min(reports // LEAST_SURVEYS, MOST_REPORTS_PER_SURVEY)
    for number, survey in enumerate(make_surveys(case)):
        name = f"{case}/{number}"
        files = list(_sign(case, number // 3 % 3, [survey, *_edit(_chance(name), survey)]))
        editions = [loads(text, trusted_key=key) for text, key in files]
        yield {"editions": [_describe(name, *each) for each in zip(editions, files, strict=True)], "name": name}
        here = 0
        for count in itertools.count():
            device = _device(editions, f"{name}/{count}", _chance(f"{name}/{count}"))
            yield device
            here += sum(result.startswith("{") for chapter in device["story"] for result in chapter["results"])
            # Some surveys nobody can answer: the total, or the cap on what is told about a level, is too low.
            if here >= here_at_least or made + here >= reports or count > MOST_SILENT + here:
                break
        made += here
        if made >= reports:
            return


def _edit(rng: random.Random, survey: Survey) -> Iterator[Survey]:
    """Yield the survey under another title, with another text, label, order or rule."""
    for _ in range(rng.randint(1, 3)):
        document = json.loads(survey.canonical)
        question = rng.choice(document["questions"])
        match rng.choice(["title", "text", "label", "order", "rule"]):
            case "title":
                document["title"] += rng.choice("abc")
            case "text":
                question["text"] += "?"
            case "label" if "values" in question:
                old, question["values"][0] = question["values"][0], question["values"][0] + "!"
                if "exclusive" in question:
                    question["exclusive"] = [f"{old}!" if each == old else each for each in question["exclusive"]]
                document.pop("languages", None)
            case "rule" if survey.repeat != "tracked":
                document["repeat"] = rng.choice(["once", "fresh"])
            case _:
                document["questions"].reverse()
        yield loads(json.dumps(document), running=True)


def _sign(case: str, how: int, surveys: list[Survey]) -> Iterator[tuple[str, str | None]]:
    """Yield the text of each survey with the key to trust: unsigned, signed by a key that is trusted, or by another.

    Editions after the second come in another way, so that one person has several authors and accounts.
    """
    private = hashlib.sha256(case.encode()).hexdigest()
    for number, survey in enumerate(surveys):
        way = (how + (number > 1)) % 3
        text = sign(survey, private) if way else survey.canonical.decode()
        yield text, json.loads(text)["signature"]["public_key"] if way == 1 else None


def _describe(name: str, survey: Survey, file: tuple[str, str | None]) -> dict[str, Any]:
    levels = [level.name for level in survey.levels if _everywhere(survey, level.name)]
    return {
        "text": file[0],
        "trusted": file[1],
        "hash": survey.hash,
        "length": body_length(survey),
        "explain": [Device(survey).explain(level) for level in levels],
        "levels": levels,
        "identities": [question.identity for question in survey.questions],
        "settled": _settled_hash(name, survey),
    }


def _settled_hash(name: str, survey: Survey) -> str:
    """Hash the permanent outputs of many values at every level, of a device whose secret is the start of a stream."""
    state = DeviceState(None, cap=None, level_cap=None, random=Stream(name))
    lines = []
    for question in survey.questions:
        for level, stages in zip(question.levels, question.stages, strict=False):
            parts = ("permanent", survey.author, question.identity, level.name)
            for value in range(min(question.size, MOST_SETTLED)):
                encoded = value**5 % 2**question.size if question.kind == "choices" else value
                output = stages.settle(encoded, lambda kept, count, parts=parts: state.kept_bytes(count, *parts, kept))
                lines.append(str(int.from_bytes(output, "little") if isinstance(output, bytes) else output))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


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
    "iprr",
    "aprr",
    "pm",
    "sw",
    "open",
    "clip",
    "infinite",
    "once",
    "fresh",
    "tracked",
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
    "1000",
    "1000.000001",
    "9999",
    "10000",
    "0.0000001",
    "0.0000010",
    "-1",
    "+1",
    " 1",
    "\u0661",
    "-0",
    "0.0000000001",
    "1000000000000000",
    "1000000000000000.1",
    "99999999999999999",
)
NUMBERS = (-1, 0, 1, 2, 3, 61, 67, 2**31, 2**32, 2**52, 2**53, 2**53 + 1, 2**60)


def make_mutants(case: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield spelled-out surveys with one or two changes, and the verdict of this package's reader."""
    bases = max(LEAST_SURVEYS, count // MUTANTS_PER_SURVEY)
    surveys = [survey for survey in itertools.islice(make_surveys(case), bases) if len(survey.canonical) < 20_000]
    for number in range(count):
        rng = _chance(f"{case} mutant {number}")
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


def _device(editions: list[Survey], name: str, rng: random.Random) -> dict[str, Any]:
    """Let one person answer editions of a survey, round after round."""
    cap = _epsilon(rng, most=rng.choice([4, 1000])) if rng.random() < 0.3 else None
    stream = Stream(name)
    story, state, round_ = [], None, 1
    for _ in range(rng.randint(1, 4)):
        number = rng.choice([0, *range(len(editions))])
        survey = editions[number]
        device = Device(survey, cap=None if story else cap, round=round_, random=stream)
        device._state = state = state or device._state
        chapter: dict[str, Any] = {"edition": number, "round": round_, "asked": device.asked}
        chapter["options"] = [device.options(name) for name in device.asked if survey.question(name).size < LARGE]
        chapter["calls"] = [_request(rng, survey, device.asked) for _ in range(rng.randint(1, 3))]
        chapter["results"] = [_result(device, *call) for call in chapter["calls"]]
        chapter |= {"answered": device.answered, "remaining": device.remaining()}
        story.append(chapter)
        round_ = max(1, round_ + rng.choice([-1, 0, 1, 1, 2]))
    return {"stream": name, "cap": cap, "story": story, "spent": device.ledger.total, "state": _state_hash(state)}


def _state_hash(state: DeviceState) -> str:
    """Hash what the state file has, without the spaces that this package writes between entries."""
    content = {
        "pldp_device": 3,
        "secret": state._secret.hex(),
        "cap": state.ledger.cap,
        "level_cap": state.level_cap,
        "ledger": [spend._asdict() for spend in state.ledger.spends],
        "sent": [{**sent._asdict(), "answers": [each._asdict() for each in sent.answers]} for sent in state.sent],
        "labels": [label._asdict() for label in state.labels],
    }
    text = json.dumps(content, default=bytes.hex, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


SAME_WORDS = (
    "question must be one that this device",
    "question '",
    "all answers ",
    "level '",
    "this answer costs",
    "this report would bring",
    "round must",
)
"""Errors that say the same in all languages begin so; of others only the name is the same."""


def _result(device: Device, verb: str, *what: Any) -> str:
    try:
        if verb == "withdraw":
            return device.withdraw(*what)
        if verb == "change cap":
            device.change_cap(what[0], level_cap=what[1])
            return ""
        values, levels, new_label = what
        given = {name: float(value["number"]) if isinstance(value, dict) else value for name, value in values}
        report = device.answer_all(given, dict(levels) if isinstance(levels, list) else levels, new_label=new_label)
        return f"{report.to_json()} {device.receipt(report)}"
    except PldpError as error:
        return f"{type(error).__name__}: {error if str(error).startswith(SAME_WORDS) else ''}"


def _request(rng: random.Random, survey: Survey, asked: tuple[str, ...]) -> list[Any]:
    """Return what to do: mostly to answer."""
    choice = rng.random()
    if choice < 0.1:
        return ["withdraw", rng.choice(asked)]
    if choice < 0.15:
        return ["change cap", _epsilon(rng, most=1000), None]
    if choice < (0.15 if survey.level_channel is None else 0.4):
        return ["change cap", None, _epsilon(rng, most=200)]
    return ["answer", *_call(rng, survey, asked), _has_one_level(survey) and rng.random() < 0.2]


def _has_one_level(survey: Survey) -> bool:
    """Tell whether all answers of a report have one level, which is hidden or drawn."""
    return survey.level_channel is not None or survey.lottery is not None


def _call(rng: random.Random, survey: Survey, asked: tuple[str, ...]) -> list[Any]:
    """Return values and levels to answer with; now and then something that must be refused."""
    known = [question for question in survey.questions if question.name in asked or rng.random() < 0.05]
    questions = rng.sample(known, rng.randint(1, len(known)))
    values = [[each.name, _answer(rng, each) if rng.random() > 0.02 else "?"] for each in questions]
    choice = rng.random()
    if choice < 0.2:
        return [values, None]
    if choice < (0.9 if _has_one_level(survey) else 0.4):
        return [values, rng.choice(survey.levels).name]
    levels = [[each.name, rng.choice([None, *(level.name for level in each.levels)])] for each in questions]
    return [values, levels if rng.random() > 0.03 else levels[1:]]


def _answer(rng: random.Random, question: Question) -> Any:
    """Return an answer; to a number or several labels, now and then one that must be refused."""
    if question.kind == "choice":
        return rng.choice(question.values)
    if question.kind == "choices":
        labels = rng.sample(question.values, rng.randint(0, question.at_most or len(question.values)))
        if question.exclusive and rng.random() < 0.9:
            together = [label for label in labels if label not in question.exclusive]
            labels = together if rng.random() < 0.7 else [rng.choice(question.exclusive)]
        wrong: list[Any] = [[*labels, "?"], [*labels, *labels, question.values[0]], list(question.values), 3]
        return labels if rng.random() > 0.03 else rng.choice(wrong)
    low, high, width = question.grid.low, question.grid.high, question.grid.width
    near = low + rng.randint(0, question.grid.size) * width
    inside = [rng.uniform(low, high), int(rng.uniform(low, high))]
    numbers = [low, high, near, math.nextafter(near, low), *inside, high + 1]
    odd: list[Any] = [{"number": rng.choice(["NaN", "Infinity", "-Infinity", "-0"])}, True, None, [low], str(low)]
    return rng.choice(numbers if rng.random() > 0.03 else odd)


if __name__ == "__main__":
    case, count = sys.argv[1], int(sys.argv[2])
    with Path(sys.argv[3]).open("w", encoding="utf-8") as file:
        vectors = itertools.chain(make_vectors(case, count), make_mutants(case, count // 10))
        file.writelines(json.dumps(vector) + "\n" for vector in vectors)
