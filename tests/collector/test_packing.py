"""Packed rows say what the reports said; the fast reader takes no report that the slow one rejects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.collector.senders import make_reports
from pldp.collector import Packing
from pldp.reports import ReportRejected, read_report
from pldp.survey import Survey
from pldp.tallies import tally


def test_columns_of_packed_rows_have_the_tally_of_the_reports(every_form: Survey) -> None:
    reports = make_reports(every_form, 200)
    packing = Packing(every_form)
    read = [packing.read(report.to_json().encode()) for report in reports]
    assert read == [packing.pack(report) for report in reports]
    batch = packing.batch(b"".join(one.id for one in read), b"".join(one.row for one in read))
    assert tally(every_form, [batch]) == tally(every_form, reports)


def test_a_report_in_another_encoding_is_read_by_the_slow_reader(every_form: Survey) -> None:
    (report,) = make_reports(every_form, 1)
    packing = Packing(every_form)
    assert packing.read(report.to_json().encode("utf-16")) == packing.pack(report)


texts = st.sampled_from(["", "00", "ff", "0a02", "0A02"])
scalars = st.none() | st.booleans() | st.integers(-2, 300) | st.floats() | texts
answers = st.fixed_dictionaries(
    {
        "question": st.sampled_from(["direct", "bits", "hashed", "mixed", "none"]),
        "level": st.sampled_from(["strict", "open", "none"]),
        "output": scalars,
    }
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    found=st.lists(answers, max_size=5),
    changes=st.dictionaries(st.sampled_from(["pldp", "id", "more"]), scalars, max_size=1),
)
def test_both_readers_agree_on_any_report(every_form: Survey, found: list[Any], changes: dict[str, Any]) -> None:
    survey = every_form
    entry = {"pldp": 1, "survey": survey.hash, "id": "0f" * 16, "answers": found, **changes}
    text = json.dumps(entry).encode()
    packing = Packing(survey)
    try:
        report = read_report(survey, text)
    except ReportRejected as rejected:
        with pytest.raises(ReportRejected) as caught:
            packing.read(text)
        assert caught.value.reason == rejected.reason  # noqa: PT017
    else:
        assert packing.read(text) == packing.pack(report)
