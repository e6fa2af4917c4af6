"""Pictures stay readable whatever the numbers: round ticks, few labels, and nothing outside the frame."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import mappings
from pldp import show
from pldp.show.axis import WIDEST, Axis


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_distinct_inside_the_axis_and_have_room(low: float, span: float) -> None:
    high = low + span
    axis = Axis.between(low, high)
    labels = [axis.label(tick) for tick in axis.ticks]
    slack = 1e-9 * max(abs(low), abs(high), span)
    assert all(low - slack <= tick <= high + slack for tick in axis.ticks)
    assert span < 1e-5 * abs(low) or len(set(labels)) == len(labels)
    assert sum(len(label) + 2 for label in labels) <= WIDEST or len(labels) <= 3


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_an_axis_holds_its_numbers_between_round_ends(numbers: list[float]) -> None:
    axis = Axis.around(numbers)
    slack = 1e-6 * axis.step
    assert axis.low - slack <= min(numbers)
    assert max(numbers) <= axis.high + slack
    assert 2 <= len(axis.ticks) <= 8


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 1e-5), (-1, 1), (1e6, 1e6 + 10), (0, 5e7), (-3e5, 2e3)])
@pytest.mark.parametrize("noise", [0.0, 0.3, 40.0])
def test_curves_stay_in_their_frame(low: float, high: float, noise: float) -> None:
    picture = show.BY_KIND["number"].picture(mappings.number(low=low, high=high, noise=noise))
    for path in re.findall(r' d="M([^"]+?)Z?"', picture):
        points = [tuple(map(float, point.split())) for point in path.split("L")]
        assert all(0 <= x <= 100 and 0 <= y <= 100 for x, y in points)
    shares = [float(text) for text in re.findall(r">([\d.]+) %<", picture)]
    assert len(shares) >= 2
    assert max(shares) <= 60
    assert ("The band is cut" in picture) == (noise > 1)


def test_intervals_that_leave_the_picture_are_cut_and_that_is_said() -> None:
    rows = [mappings.row("a", 0.4, 5.0), mappings.row("b", 0.6, 0.1)]
    picture = show.BY_KIND["choice"].picture(mappings.result("q", "choice", rows))
    assert "Lines that leave the picture" in picture
    assert all(0 <= float(text) <= 100 for text in re.findall(r'x\d?="([\d.-]+)%"', picture))
    assert "Lines that leave" not in show.BY_KIND["choice"].picture(mappings.choice())
