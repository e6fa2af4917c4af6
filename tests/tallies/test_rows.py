"""Rows of packed bits are counted and refused like in a plain loop, however long they are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from helpers.any_reports import choice, survey_of
from pldp import Survey, tally
from pldp.mechanisms import Bits
from pldp.mechanisms.arrays import rows_of
from pldp.reports import Rejection
from pldp.simulate import Population, simulate_reports
from pldp.tallies import BitCounts


@pytest.mark.parametrize("form", [Bits(length, ones) for length in range(1, 131) for ones in (None, -(-length // 3))])
def test_rows_are_admitted_and_counted_like_in_a_plain_loop(form: Bits) -> None:
    """Half of the rows are outputs, at least of their length; there are none, a few, or more than are added at once."""
    generator = np.random.default_rng(form.length)
    rows = generator.integers(0, 256, (300, form.bytes), dtype=np.uint8)
    outputs = (generator.permuted(np.arange(form.length)) < (form.ones or form.length // 2) for _ in rows[::2])
    rows[::2] = np.packbits(np.array(list(outputs)), axis=1, bitorder="little")
    admitted = rows_of(form).admitted(rows)
    assert admitted.tolist() == [form.admits(row.tobytes()) for row in rows]
    assert admitted[::2].all()
    for count in (0, 7, 300):
        bits = [form.unpack(row.tobytes()) for row in rows[:count]]
        ones = [sum(number >> place & 1 for number in bits) for place in range(form.length)]
        counts = BitCounts.of_rows(rows[:count], form, patterns=True)
        assert counts.ones.tolist() == BitCounts.of_rows(rows[:count], form, patterns=False).ones.tolist() == ones
        assert Counter(map(bytes, counts.rows())) == Counter(map(bytes, rows[:count]))


def why_refused(survey: Survey, level: str | None, output: bytes | None) -> Rejection | None:
    (question,) = survey.questions
    if level is None:
        return Rejection.NO_ANSWER
    if level not in question.level_index:
        return Rejection.UNKNOWN_LEVEL
    form = question.channels[question.level_index[level]].form
    if output is None:
        return Rejection.WRONG_TYPE
    if len(output) != form.bytes:
        return Rejection.WRONG_LENGTH
    return None if form.admits(output) else Rejection.OUT_OF_RANGE


@pytest.mark.parametrize("mechanism", ["subset", "oue"])
@pytest.mark.parametrize("values", [6, 12, 16, 20, 64, 129])
def test_wrong_rows_are_refused_for_their_reason_and_all_others_counted(values: int, mechanism: str) -> None:
    survey = survey_of(choice("one", mechanism, values))
    (batch,) = simulate_reports(survey, Population.of_shares(survey, 2000, seed=1), seed=1)
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    levels, outputs = columns["one.level"], columns["one.bits"]
    for place in range(0, 2000, 10):
        outputs[place] = (None, b"", outputs[place] + b"\0", b"\xff" * len(outputs[place]))[place // 10 % 4]
        levels[place + 1] = (None, "nobody")[place // 10 % 2]
    found = tally(survey, pa.RecordBatch.from_pydict(columns))
    expected = Counter(why_refused(survey, *row) for row in zip(levels, outputs, strict=True))
    assert found.reports == expected.pop(None)
    assert found.rejections == expected
    for level in survey.questions[0].level_index:
        good = [output for name, output in zip(levels, outputs, strict=True) if name == level]
        good = [int.from_bytes(output, "little") for output in good if not why_refused(survey, level, output)]
        assert found.counts["one", level].ones.tolist() == [
            sum(row >> place & 1 for row in good) for place in range(values)
        ]
