"""Any reports of a survey, as columns: good ones, and ones with everything wrong that columns can hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from pldp.mechanisms import Channel
from pldp.reports.columns import schema
from pldp.survey import SCHEMA, Survey, survey_from_mapping

FRUIT = ["apple", "pear", "plum", "fig"]
LEVELS = {"strict": 1, "o`p\"e'n\\,": 3}  # names with everything that SQL quotes


def survey_of(*questions: dict[str, Any], **keys: Any) -> Survey:
    return survey_from_mapping({"pldp": 1, "title": "any", "levels": LEVELS, "questions": list(questions), **keys})


def choice(name: str, mechanism: Any = "krr", values: int = 4, **keys: Any) -> dict[str, Any]:
    listed = [*FRUIT, *map(str, range(values - 4))][:values]
    return {"name": name, "values": listed, "mechanism": mechanism, **keys}


LABELS = survey_of(
    choice("direct.`'\"\\", values=3),
    choice("mix.ed", {"strict": "sue", "o`p\"e'n\\,": "krr"}, values=9),
    *(choice(name, name, values=11) for name in ("oue", "subset", "lh", "projective", "pairs")),
    choice("few", "subset", values=600),
)
PER_VALUE = survey_of(
    *(choice(name, name, fractions={"fig": "1/2"}) for name in ("iprr", "subset_items", "idue")),
    choice("tiers", "subset_items", values=40, fractions={"fig": "1/4", "3": "1/2"}),
)
SETS = survey_of(
    *({"name": name, "kind": "choices", "values": FRUIT, "mechanism": name, **keys}
      for name, keys in (("item_set", {}), ("boxes", {"budget": "set"}), ("privset", {"budget": "set", "at_most": 2}))),
)  # fmt: skip
NUMBERS = survey_of(
    *({"name": name, "kind": "number", "low": 0, "high": 10, "mechanism": name} for name in ("laplace", "sw")),
    *({"name": name, "kind": "number", "low": 0, "high": 10, "mechanism": name, "purpose": "mean"}
      for name in ("laplace_wide", "sr", "pm", "hm", "minimax")),
)  # fmt: skip
HIDDEN = survey_of(choice("mode", "oue", values=9), choice("late", values=2), hide_level={"epsilon": 1})
ASKED = survey_of(choice("one", "oue", values=5), choice("two"), choice("three"), ask=2)
SURVEYS = {
    "labels": LABELS, "budgets per value": PER_VALUE, "sets": SETS, "numbers": NUMBERS, "hidden": HIDDEN, "ask": ASKED,
}  # fmt: skip


@cache
def outputs_of(channel: Channel) -> list[Any]:
    """Outputs that a device drew."""
    source = Random(1)
    return [channel.draw(place % 2, source.randbytes) for place in range(30)]


def good_row(survey: Survey, seed: int) -> dict[str, Any]:
    """A report that a device could have sent."""
    source = Random(seed)
    row = {"schema": SCHEMA, "survey": survey.hash, "id": source.randbytes(16)}
    row |= dict.fromkeys(schema(survey).names[3:])
    for question in source.sample(survey.questions, source.randint(1, survey.ask or len(survey.questions))):
        level = source.randrange(len(question.levels))
        channel = question.channels[level]
        row[f"{question.name}.level"] = question.levels[level].name
        row[f"{question.name}.{channel.form.column}"] = source.choice(outputs_of(channel))
    return row


def strange(survey: Survey, name: str) -> st.SearchStrategy[Any]:
    """What can be wrong in a column, and what is right at another place."""
    if name in {"schema", "survey", "id"}:
        return {
            "schema": st.sampled_from([0, None, -1]),
            "survey": st.sampled_from([survey.hash.upper(), "", None]),
            "id": st.sampled_from([b"short", b"", bytes(17), None]),
        }[name]
    stem, _, part = name.rpartition(".")
    question = survey.question(stem)
    names = [level.name for level in question.levels]
    if part == "level":
        return st.sampled_from([*names, None, "", names[0].upper(), "none"])
    channels = [channel for channel in question.channels if channel.form.column == part]
    if part == "output":
        limits = [each.form.count for each in channels]
        return st.sampled_from([*limits, *(limit - 1 for limit in limits), 0, -1, 2**40, -(2**63), None])
    packed = st.sampled_from([output for channel in channels for output in outputs_of(channel)])
    flipped = st.builds(_flip, packed, st.integers(0, 10**6))
    lengths = sorted({channel.form.bytes for channel in channels})
    whole = st.one_of(*(st.binary(min_size=length, max_size=length) for length in lengths))
    return st.one_of(packed, flipped, flipped, whole, st.binary(max_size=3), st.none())


def _flip(packed: bytes, place: int) -> bytes:
    place %= 8 * len(packed)
    return bytes(byte ^ (1 << place % 8 if number == place // 8 else 0) for number, byte in enumerate(packed))


@st.composite
def any_row(draw: st.DrawFn, survey: Survey) -> dict[str, Any]:
    row = good_row(survey, draw(st.integers(0, 10**6)))
    for name in draw(st.lists(st.sampled_from(schema(survey).names), max_size=2)):
        row[name] = draw(strange(survey, name))
    return row


def any_rows(survey: Survey) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of columns, about half of them with something wrong."""
    return st.lists(any_row(survey), min_size=1, max_size=40)


def write_rows(path: Path, survey: Survey, rows: list[dict[str, Any]]) -> Path:
    """Write rows with types wide enough for what is wrong with them."""
    kinds = {"schema": pa.int16(), "survey": pa.string(), "id": pa.binary()}
    parts = {"level": pa.string(), "output": pa.int64(), "bits": pa.binary()}
    fields = [(name, kinds.get(name) or parts[name.rpartition(".")[2]]) for name in schema(survey).names]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), path, row_group_size=20)
    return path
