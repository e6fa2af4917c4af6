"""What numbers can tell: "too few to say" in place of wild intervals, and which values can be told apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.claims import rate_is_at_most, runs
from pldp import Survey, show, tally
from pldp.estimates import Result, estimate
from pldp.mechanisms import build
from pldp.mechanisms.arrays import label_arrays
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads
from pldp.tallies import OutputCounts, Tally

WILD = re.compile(r"[1-9]\d\d[\d,.]* %|−[5-9]\d[\d,.]* %")  # shares of 100 % and more, or far below 0
VALUES = ("daily", "weekly", "rarely", "never")


def asked(name: str, people: int, question: str, **options: object) -> Result:
    survey = Survey.load(f"examples/{name}.toml")
    population = Population.of_shares(survey, people, seed=1)
    return estimate(tally(survey, simulate_reports(survey, population, seed=1)), question, **options)


def often(counts: list[int], **options: object) -> Result:
    """Return shares behind randomised response with ε = 1."""
    survey = loads(
        json.dumps(
            {
                "pldp": 1,
                "title": "t",
                "levels": {"open": 1},
                "questions": [{"name": "often", "values": VALUES, "mechanism": "krr"}],
            }
        )
    )
    return estimate(Tally(survey, {("often", "open"): OutputCounts(np.array(counts))}, sum(counts)), "often", **options)


@pytest.mark.parametrize(("name", "question"), [("commute", "mode"), ("shopping", "basket"), ("shopping", "reason")])
@pytest.mark.parametrize("live", [None, 1_000])
def test_where_reports_are_too_few_no_renderer_shows_a_wild_number(name: str, question: str, live: int | None) -> None:
    found = asked(name, 2, question, live=live)
    content = found.to_mapping()
    assert found.notes[0].code == "too-few-to-say"
    assert re.match(
        r"too few reports to say anything( about .+)?; about [\d,]+ needed for ± 10 points", found.notes[0].text
    )
    for row in content["rows"]:
        assert row["estimate"] is not None  # JSON keeps the numbers
        assert row.get("too_few", 0) > 2 or 0 <= row["low"] <= row["high"] <= 1
    (first, *_) = show.tables(content)
    for text in (
        str(found),
        show.card({**content, "groups": []}),
        " ".join(cell for row in first.rows for cell in row),
    ):
        assert "too few to say" in text or "Too few answers to say" in text
        assert not WILD.search(re.sub(r"<style>.*?</style>|\d+(\.\d+)?%|together 100 %", "", text))
    assert "too few" in str(found)


def test_the_number_of_reports_that_are_needed_gives_ten_points() -> None:
    few = often([3, 2, 1, 1])
    (row, *_) = few.to_mapping()["rows"]
    assert row["too_few"] == few.to_mapping()["rows"][0]["too_few"]
    times = row["too_few"] / 7
    later = often([round(times * each) for each in (3, 2, 1, 1)])
    low, high = later.interval()
    assert high[0] - low[0] == pytest.approx(0.2, rel=0.05)
    assert not any("too_few" in row for row in later.to_mapping()["rows"])


def test_with_live_intervals_the_number_allows_for_their_width() -> None:
    few = often([3, 2, 1, 1], live=1_000)
    (row, *_) = few.to_mapping()["rows"]
    times = row["too_few"] / 7
    low, high = often([round(times * each) for each in (3, 2, 1, 1)], live=1_000).interval()
    assert high[0] - low[0] == pytest.approx(0.2, rel=0.05)


def test_a_mean_says_so_in_its_own_unit() -> None:
    found = asked("shopping", 12, "spent", live=1_000)
    content = found.to_mapping()
    assert content["rows"][0]["too_few"]
    assert "for ± 10 % of the range" in found.notes[0].text
    assert "Too few answers to say anything about the mean and median; about" in str(found)
    assert "−" not in str(found)


def test_enough_reports_are_not_called_too_few() -> None:
    for name, question in (("commute", "mode"), ("shopping", "basket"), ("shopping", "spent")):
        found = asked(name, 20_000, question)
        assert not any(note.code == "too-few-to-say" for note in found.notes)
        assert not any("too_few" in row for row in found.to_mapping()["rows"])


def test_two_values_that_are_close_cannot_be_told_apart_and_the_number_that_would_is_right() -> None:
    """The difference has its own error, from the covariance; so many more reports tell with a probability of 80 %."""
    found = often([900, 860, 420, 420])
    lead = found.lead()
    assert lead is not None
    assert (lead["label"], lead["tied"], lead["ties"][0]["label"]) == ("daily", 1, "weekly")
    error = found.difference_errors(0)[1]
    contrast = np.array([1.0, -1, 0, 0])
    assert error == pytest.approx(np.sqrt(contrast @ found.covariance @ contrast))
    assert error < found.standard_error[:2].sum()
    assert f"about {lead['ties'][0]['more']:,} more answers would tell." in str(found)
    # Draw surveys of that size whose shares are the estimates: about four in five tell the two apart.
    reports = found.reports + lead["ties"][0]["more"]
    channel = label_arrays(build("krr", 4, 1_000_000))
    support = channel.expected_support(found.estimates)
    drawn = np.random.default_rng(3).multinomial(reports, support / support.sum(), runs(300, 3_000))
    told = [not (again := often(each.tolist()).lead())["ties"] and again["label"] == "daily" for each in drawn]
    assert 0.65 < np.mean(told) < 0.92


def test_the_largest_value_is_named_falsely_in_at_most_five_of_a_hundred_surveys() -> None:
    """All four values are equal: whichever is called the largest, it is a mistake."""
    drawn = np.random.default_rng(4).multinomial(2_000, [0.25] * 4, runs(100, 4_000))
    assert rate_is_at_most([not often(each.tolist()).lead()["ties"] for each in drawn], 0.05)


def test_where_intervals_are_disjoint_and_errors_of_differences_unknown_nothing_is_said_of_them() -> None:
    """Errors that are added as if opposed keep two apart; the twin, whose intervals overlap, cannot be told apart."""
    found = often([90_000, 60_000, 9000, 5000])
    blind = replace(found, covariance_matrix=None)
    low, high = blind.interval()
    assert high[1] < low[0]
    gap = float(found.estimates[0] - found.estimates[1])
    reach = blind.reach(comparisons=3)
    error = gap / reach / 2 * 1.02  # added, both errors reach just across the gap; each interval alone does not
    near = replace(blind, standard_error=np.full(4, error))
    assert near.interval().high[1] < near.interval().low[0]
    lead = near.lead()
    assert lead is not None
    assert (lead["ties"], lead["unclear"]) == ([], 1)
    assert show.conclusions(near.to_mapping())[0].endswith('answer "daily".')
    far = replace(blind, standard_error=np.full(4, 1.5 * error))
    tied = far.lead()
    assert tied is not None
    assert [tie["label"] for tie in tied["ties"]] == ["weekly"]
    assert found.lead()["ties"] == []
