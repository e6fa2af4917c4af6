"""Estimates are the frozen ones, for every kind, shown and hidden, fused and crossed.

The rows were made before one engine decoded them all; how far each moved then is in decision note 34. Where numbers
change on purpose, `python tests/frozen/make_engine.py ROW` makes a row again and prints by how much it moved.
"""

from __future__ import annotations

from typing import Final

import pytest

from frozen.cases import arithmetic
from frozen.counts import FOLDER
from frozen.engine_cases import ROWS, Numbers
from frozen.make_engine import kept
from helpers.agreement import exactly, gap_of

SAME_SUMS: Final = arithmetic() == (FOLDER / "arithmetic.txt").read_text().strip()
"""Whether this machine rounds as the one where the files were made: fits stop elsewhere if it does not."""

SAME: Final = exactly(1e-9 if SAME_SUMS else 1e-2)
FIT: Final = exactly(1e-6 if SAME_SUMS else 1e-2)
"""A likelihood is climbed until little is left, so where it ends depends a little on where it began."""

KEPT: Final = kept()


@pytest.mark.parametrize("name", ROWS)
def test_an_estimate_is_the_frozen_one(name: str) -> None:
    numbers = ROWS[name]()
    assert numbers["reports"] == KEPT[name]["reports"], "other reports, so the estimates say nothing"
    same = FIT if name.endswith("likelihood") else SAME
    assert list(same.broken(gap_of(numbers, KEPT[name]))) == []


def test_every_row_is_kept() -> None:
    assert list(ROWS) == list(KEPT)


def changed(numbers: Numbers, *, estimate: float = 0.0, error: float = 1.0) -> Numbers:
    """Move the first estimate by so many standard errors, and multiply all standard errors."""
    errors = numbers["standard errors"]
    first, *others = numbers["estimates"]
    return {
        **numbers,
        "estimates": [first + estimate * errors[0], *others],
        "standard errors": [error * each for each in errors],
    }


def test_a_change_is_noticed() -> None:
    for name, numbers in KEPT.items():
        low, high = SAME.error
        for alone in (
            changed(numbers, estimate=1.01 * SAME.estimate + 1e-13),
            changed(numbers, error=high + 1e-8),
            changed(numbers, error=low - 1e-8),
        ):
            assert list(SAME.broken(gap_of(alone, numbers))), name
        assert not list(SAME.broken(gap_of(numbers, numbers))), name


def test_a_test_of_levels_that_says_something_else_is_noticed() -> None:
    numbers = KEPT["krr shown, precision"]
    statistic, degrees, tests, p_value, noticed = numbers["test"]
    for test in (
        None,
        [1.001 * statistic, degrees, tests, p_value, noticed],
        [statistic, degrees + 1, tests, p_value, noticed],
        [statistic, degrees, tests, p_value + 0.001, noticed],
        [statistic, degrees, tests, p_value, 1.001 * noticed],
    ):
        assert list(exactly(1e-9).broken(gap_of({**numbers, "test": test}, numbers)))
