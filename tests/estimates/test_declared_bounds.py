"""A declared bound on how much levels differ: intervals hold for every difference within it, and fail beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import pldp
from helpers.claims import runs
from helpers.coverage import FAMILY
from pldp.errors import EstimateError
from pldp.estimates import estimate_fused
from pldp.simulate import Population, simulate_reports
from pldp.tallies import join_services, keyed_reports

BOUND: Final = 0.05
NOMINAL, LOWEST = 0.95, 0.93


@dataclass(frozen=True)
class Cell:
    """People of two levels, half of them each, whose shares (or means, in parts of the range) differ by `apart`."""

    kind: str
    people: int
    label: float | None = None

    def survey(self) -> pldp.Survey:
        """Return the survey."""
        about: dict[str, Any] = {"name": "q", "kind": self.kind}
        if self.kind == "number":
            about |= {"low": 0, "high": 20, "purpose": "mean"}
        else:
            about["values"] = ["yes", "no"] if self.kind == "choice" else ["yes", "other"]
        hidden = {} if self.label is None else {"hide_level": {"epsilon": self.label}}
        levels = {"strict": 0.5 if self.label is None else 1, "open": 2 if self.label is None else 4}
        return pldp.Survey.read({"pldp": 1, "title": "t", "levels": levels, "questions": [about], **hidden})

    def draw(self, seed: int, apart: float) -> pldp.Tally:
        """Return one collection: the worst layout, in which those who count most differ by all of it."""
        survey, generator = _survey(self), np.random.default_rng([seed, 40])
        level = generator.integers(0, 2, self.people).astype(np.uint8)
        chance = 0.4 + apart * (level - 0.5)
        yes = generator.random(self.people) < chance
        if self.kind == "number":
            values: Any = 20 * yes
        elif self.kind == "choice":
            values = np.where(yes, "yes", "no").tolist()
        else:
            other = generator.random(self.people) < 0.3
            values = [["yes"] * bool(one) + ["other"] * bool(two) for one, two in zip(yes, other, strict=True)]
        drawn = Population.of_values(survey, {"q": values}, seed=seed)
        return pldp.tally(survey, simulate_reports(survey, Population(drawn.values, {"q": level}), seed=seed))

    def truth(self) -> float:
        """Return the first number of the result."""
        return 0.4 * (20 if self.kind == "number" else 1)


CELLS: Final = (
    Cell("choice", 1_000),
    Cell("choice", 5_000),
    Cell("choices", 5_000),
    Cell("number", 20_000),
    Cell("choice", 20_000, 1.0),
    Cell("number", 20_000, 1.0),
)


@cache
def _survey(cell: Cell) -> pldp.Survey:
    return cell.survey()


def options(cell: Cell) -> dict[str, Any]:
    return {"largest": 1} if cell.kind == "choices" else {}


@cache
def covered(cell: Cell, apart: float, count: int) -> npt.NDArray[np.bool_]:
    """Return in which collections the interval holds; where the reports contradict the bound, there is none."""
    hits = []
    for seed in range(count):
        counted = cell.draw(seed, apart)
        try:
            row = pldp.estimate(counted, "q", differ=BOUND, **options(cell)).rows()[0]
        except EstimateError:  # the bound is refused
            hits.append(False)
        else:
            hits.append(row.low <= cell.truth() <= row.high)
    return np.array(hits)


def test_intervals_hold_at_the_worst_difference_within_the_bound() -> None:
    """Every cell at 95 % but for what few people leave, with 1 % false alarms over all of them."""
    count = runs(60, 2_000)
    rarely = [
        cell
        for cell in CELLS
        if stats.binom.cdf(covered(cell, BOUND, count).sum(), count, LOWEST) < FAMILY / len(CELLS)
    ]
    assert rarely == []


def test_intervals_fail_at_three_times_the_bound_where_reports_can_tell() -> None:
    """The twin: fewer than half of them hold, of the same collections otherwise."""
    count = runs(60, 400)
    for cell in (CELLS[1], CELLS[2], CELLS[3], CELLS[5]):
        assert covered(cell, 3 * BOUND, count).mean() < 0.5, cell


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.kind} {cell.people} {cell.label}")
def test_bounds_lie_between_alike_and_nothing_assumed(cell: Cell) -> None:
    """Zero is pooling by precision's own path; a bound is no shorter than that, and never longer than none."""
    counted = cell.draw(1, 0.0)
    free, bound, alike = (pldp.estimate(counted, "q", differ=differ, **options(cell)) for differ in (None, BOUND, 0))
    widths = [float(each.rows()[0].high - each.rows()[0].low) for each in (alike, bound, free)]
    assert widths[0] < widths[1] <= widths[2] * (1 + 1e-9)
    assert free.alike.to_mapping()["rows"] == alike.to_mapping()["rows"]
    content = bound.to_mapping()
    assert content["differ"] == BOUND
    assert content["assumes_about_levels"] == "differ by at most 0.05"
    assert content["conclusions"][0].startswith("If people of different levels differ by at most ")
    assert any("(declared)" in text for text in bound.assumptions)


def test_a_bound_that_reports_contradict_is_refused_with_what_they_say() -> None:
    counted = Cell("choice", 20_000).draw(1, 0.4)
    with pytest.raises(EstimateError, match=r"differ by at most 5 points. The reports contradict that: .* at least"):
        pldp.estimate(counted, "q", differ=BOUND)


@pytest.mark.parametrize("differ", [-0.1, 1, 5, True, "0.05", float("nan")])
def test_what_is_no_bound_is_refused_in_one_line(differ: Any) -> None:
    with pytest.raises(EstimateError, match="differ must be a share from 0 to below 1") as raised:
        pldp.estimate(CELLS[0].draw(1, 0.0), "q", differ=differ)
    assert "\n" not in str(raised.value)


def test_joined_services_take_no_bound_but_zero() -> None:
    survey = _survey(CELLS[0])
    people = Population.of_shares(survey, 500, seed=1)
    reports = [simulate_reports(survey, people, seed=seed) for seed in (1, 2)]
    parts = [keyed_reports(name, survey, own, range(500)) for name, own in zip("ab", reports, strict=True)]
    with pytest.raises(EstimateError, match="take no bound on differences of levels but 0"):
        estimate_fused(join_services(parts)["q"], differ=BOUND)
