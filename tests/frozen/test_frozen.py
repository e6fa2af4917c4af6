"""The same reports give the same numbers as before the redesign; see `make`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from frozen.cases import FILES, arithmetic
from frozen.counts import FOLDER
from frozen.make import plain

pytestmark = pytest.mark.xdist_group("frozen")  # cases share tallies

SAME_SUMS = arithmetic() == (FOLDER / "arithmetic.txt").read_text().strip()
"""Whether this machine rounds as the one where the files were made."""

ROUNDING = 1e-12
"""The same of all others: twelve digits. Whatever is no float must be equal."""

TOLERANCE = {
    "fits": 1e-6,  # they stop within a certified gap of their maximum
    "densities": 1e-8 if SAME_SUMS else 1e-2,
    "plans": 1e-10,
    "closed_forms": 1e-11 if SAME_SUMS else 1e-6,  # ends of intervals that are searched for
}
"""Relative error that is allowed of a file's numbers.

A density stops where its likelihood hardly grows any more, which leaves its third or fourth digit to rounding: sums in
another order, or another processor, move it by up to 3e-3, and other fits within their certified gap. If only densities
differ, and by less than that, a change has moved the last bits of the sums and nothing else.
"""


@cache
def frozen(file: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{file}.json").read_text())


def is_array(content: Any) -> bool:
    """Tell whether this is a number or an array of numbers with a fraction: one scale for all."""
    if not isinstance(content, list):
        return isinstance(content, float)
    return bool(content) and all(map(is_array, content))


def differences(found: Any, expected: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Name the places where two results differ. In an array a small number may err like 1/100 of the largest one."""
    if is_array(expected):
        one, two = np.asarray(found, np.float64), np.asarray(expected, np.float64)
        scale = np.max(np.abs(two), initial=0.0, where=np.isfinite(two))
        if one.shape != two.shape or not np.allclose(one, two, tolerance, tolerance / 100 * scale, equal_nan=True):
            yield f"{place}: {found} instead of {expected}"
    elif type(found) is not type(expected):
        yield f"{place}: {found!r} instead of {expected!r}"
    elif isinstance(expected, dict | list):
        old, new = (part if isinstance(part, dict) else dict(enumerate(part)) for part in (expected, found))
        if old.keys() != new.keys():
            yield f"{place}: {list(new)} instead of {list(old)}"
        for name in old.keys() & new.keys():
            yield from differences(new[name], old[name], tolerance, f"{place}.{name}")
    elif found != expected:
        yield f"{place}: {found!r} instead of {expected!r}"


@pytest.mark.parametrize("file", FILES)
def test_numbers_are_those_of_the_version_before(file: str) -> None:
    """All cases of a file at once: a test for each would take longer than its numbers."""
    tolerance, expected = TOLERANCE.get(file, ROUNDING), frozen(file)
    assert not [
        difference
        for case, made in FILES[file].items()
        for difference in differences(plain(made()), expected[case], tolerance, case)
    ]


@pytest.mark.parametrize("file", FILES)
def test_no_case_is_left_out(file: str) -> None:
    assert FILES[file].keys() == frozen(file).keys()


class Leaf(NamedTuple):
    """A container, the place of a number or text in it, and the scale of the array around it."""

    container: Any
    place: Any
    scale: float

    @property
    def counts(self) -> bool:
        """Small numbers beside large ones count less; NaN and what is missing cannot change a little."""
        content = self.container[self.place]
        return content is not None and (not isinstance(content, float) or self.scale / 100 < abs(content) < math.inf)


def changed(content: Any, relative: float) -> Any:
    if isinstance(content, float):
        return content * (1 + relative)
    return not content if isinstance(content, bool) else content + type(content)(1)


def leaves(content: Any, scale: float = 0.0) -> Iterator[Leaf]:
    if is_array(content) and not scale:
        scale = float(np.max(np.abs(content), initial=0.0, where=np.isfinite(content)))
    for place in content if isinstance(content, dict) else range(len(content)):
        if isinstance(content[place], dict | list):
            yield from leaves(content[place], scale)
        else:
            yield Leaf(content, place, scale)


@pytest.mark.parametrize("file", FILES)
def test_a_change_of_one_number_in_its_last_digits_is_seen(file: str) -> None:
    """Relative 1e-9 where twelve digits count, a thousand tolerances elsewhere; a few numbers of every case."""
    tolerance = TOLERANCE.get(file, ROUNDING)
    for name, content in frozen(file).items():
        altered = {"": deepcopy(content)}
        found = [leaf for leaf in leaves(altered) if leaf.counts]
        assert found, f"{name} has no number that counts"
        for inner, place, _ in found[:: max(1, len(found) // 4)]:
            kept = inner[place]
            inner[place] = changed(kept, 1000 * tolerance)
            assert any(differences(altered[""], content, tolerance)), f"{name}: {kept!r} could be {inner[place]!r}"
            inner[place] = kept
