"""Whatever bytes come, over the wire or in a file: a typed answer, never a mistake of ours."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.collector.client import call
from helpers.collector.places import query
from helpers.collector.senders import make_reports, packed
from pldp.collector import Collector, Packing, Settings, Store, Tokens
from pldp.errors import PldpError
from pldp.reports import ReportRejected, read_report
from pldp.reports.columns import write_parquet
from pldp.survey import Survey
from pldp.tallies import Tally, tally

LONG = bool(os.environ.get("PLDP_LONG"))
ODD = (
    b"NaN", b"-Infinity", b"1e999", b"-0", b"0.0", b"1e0", b"9" * 400, b"null", b"true", b'"\\ud800"', b"\xff", b"\x00",
    b"[" * 2000, b'{"a":' * 2000, b'"id":"",', b"\xef\xbb\xbf", b"\\u0000", b'"pldp":1,', b"[]", b"{}", b'""', b",",
)  # fmt: skip


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same bytes every time


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Damage bytes in one to three ways: flipped, cut out, doubled, replaced by what is odd."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if not content:
            return chance.choice(ODD)
        start = chance.randrange(len(content))
        end = min(len(content), start + chance.choice((1, 1, 2, 8, 64, 4096)))
        middle = chance.choice(
            (
                bytes([content[start] ^ 1 << chance.randrange(8)]) + content[start + 1 : end],
                b"",
                content[start:end] * 2,
                chance.choice(ODD),
                chance.randbytes(end - start),
                bytes(end - start),
            )
        )
        content = content[:start] + middle + content[end:]
    return content if chance.random() < 0.9 else content[: chance.randrange(len(content) + 1)]


def judged(read: Callable[[], Any]) -> object:
    try:
        return read()
    except ReportRejected as rejected:
        return rejected.reason


def test_the_fast_decoder_judges_like_the_slow_one(every_form: Survey) -> None:
    """The reference says of any bytes the same as the decoder of the upload path, rejections included."""
    packing = Packing(every_form)
    lines = [report.to_json().encode() for report in make_reports(every_form, 24)]
    chance = seeded(1)
    seen: Counter[str] = Counter()
    for _ in range(100_000 if LONG else 3_000):
        line = damaged(chance.choice(lines), chance)
        fast = judged(lambda line=line: packing.read(line))
        assert fast == judged(lambda line=line: packing.pack(read_report(every_form, line)))
        seen[getattr(fast, "value", "accepted")] += 1
    assert len(seen) >= 6, seen


def shaped(schema: dict[str, Any]) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one for each kind
    """Make content that a JSON schema describes."""
    if "const" in schema:
        return st.just(schema["const"])
    if "anyOf" in schema:
        return st.one_of([shaped(each) for each in schema["anyOf"]])
    kind = schema.get("type")
    if kind == "object":
        return st.fixed_dictionaries({name: shaped(each) for name, each in schema["properties"].items()})
    if kind == "array":
        return st.lists(shaped(schema["items"]), max_size=3)
    if kind == "integer":
        return st.integers(schema.get("minimum"), schema.get("maximum"))
    if kind == "string":
        return st.from_regex(schema["pattern"], fullmatch=True) if "pattern" in schema else st.text(max_size=12)
    return st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)


@st.composite
def requests(draw: st.DrawFn, document: dict[str, Any]) -> tuple[str, str, str, bytes, str]:
    """Make a request that the description has, perhaps damaged: method, path as described, path, body, content type."""
    path = draw(st.sampled_from(sorted(document["paths"])))
    method = draw(st.sampled_from(sorted(document["paths"][path])))
    operation = document["paths"][path][method]
    target, query = path, ""
    for parameter in operation.get("parameters", ()):
        value = draw(shaped(parameter["schema"]) | st.sampled_from(["mode", "late.csv", "é", "1&1", ""]))
        if parameter["in"] == "path":
            target = target.replace(f"{{{parameter['name']}}}", str(value).replace("?", ""))
        elif draw(st.booleans()):
            query = f"?{parameter['name']}={value}"
    body, kind = b"", ""
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]
        kind = draw(st.sampled_from([*content, "text/plain"]))
        name = content.get(kind, {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
        body = json.dumps(draw(shaped(document["components"]["schemas"].get(name, {})))).encode()
        if draw(st.booleans()):
            body = damaged(body, seeded(draw(st.integers(0, 10**6))))
    return method, path, target + query, body, kind


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collector, str]]:
    survey = Survey.load(Path(__file__).parent.parent.parent / "examples/commute.toml")
    path = tmp_path_factory.mktemp("fuzz") / "reports.db"
    with closing(Store(survey, path)) as store:
        tokens = Tokens(path)
        yield Collector(survey, store, tokens, Settings(rate_limit=0, body_bytes=20_000)), tokens.create("all", "admin")


def test_every_described_request_gets_a_described_answer(app: tuple[Collector, str]) -> None:
    """Requests are made from the description itself; no answer is outside of it, whatever the token."""
    collector, token = app
    document = call(collector, "GET", "/v1/openapi.json").json
    codes = document["components"]["schemas"]["problem"]["properties"]["code"]["enum"]

    @settings(max_examples=3_000 if LONG else 100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(made=requests(document), key=st.sampled_from([token, token, "", "x"]))
    def check(made: tuple[str, str, str, bytes, str], key: str) -> None:
        method, path, target, body, kind = made
        answer = call(collector, method.upper(), target, body, kind, token=key)
        assert answer.status < 500
        assert str(answer.status) in document["paths"][path][method]["responses"] or answer.status == 404
        assert answer.status < 400 or answer.code in codes

    check()


def readers(survey: Survey, folder: Path) -> dict[str, tuple[bytes, Callable[[Path], object]]]:
    """Return for each kind of file a good one, and what reads it."""
    reports = make_reports(survey, 40)
    (folder / "reports.jsonl").write_text("\n".join(report.to_json() for report in reports))
    with closing(Store(survey, folder / "reports.db")) as store:
        store.add(packed(survey, reports), {})
        write_parquet(folder / "reports.parquet", survey, store.batches())
        store.tally().save(folder / "reports.tally")
    query(folder / "reports.db", "PRAGMA wal_checkpoint(TRUNCATE)")

    def open_store(path: Path) -> None:
        with closing(Store(survey, path)) as store:
            store.tally()
            store.add(packed(survey, reports[:3]), {})

    return {
        "jsonl": ((folder / "reports.jsonl").read_bytes(), lambda path: tally(survey, path)),
        "parquet": ((folder / "reports.parquet").read_bytes(), lambda path: tally(survey, path)),
        "tally": ((folder / "reports.tally").read_bytes(), Tally.load),
        "toml": (Path("examples/commute.toml").read_bytes(), Survey.load),
        "json": (survey.canonical, Survey.load),
        "db": ((folder / "reports.db").read_bytes(), open_store),
    }


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "tally", "toml", "json", "db"])
def test_a_corrupt_file_is_read_or_refused(commute: Survey, tmp_path: Path, kind: str) -> None:
    content, read = readers(commute, tmp_path)[kind]
    chance = seeded(len(kind))
    words: list[str] = []
    for number in range(2_000 if LONG else 180):
        path = tmp_path / f"{number}.{kind}"
        path.write_bytes(damaged(content, chance))
        try:
            read(path)
        except PldpError as error:
            words.append(str(error))
    assert words or kind == "jsonl"
    assert not [each for each in words if "\n" in each]
