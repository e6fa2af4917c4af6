"""Results become JSON in one way."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pldp.plain import json_text, plain


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("é"), "é"),
        (np.array([[1.5, np.nan], [np.inf, -np.inf]]), [[1.5, None], [None, None]]),
        ({1: (np.float32(0.25), None)}, {"1": [0.25, None]}),
    ],
)
def test_numbers_of_numpy_are_those_of_python(content: object, expected: object) -> None:
    assert json.loads(json_text(content)) == expected
    assert type(plain(content)) is type(expected)


def test_all_digits_are_kept_unless_fewer_are_asked_for() -> None:
    numbers = np.random.default_rng(1).normal(size=100).tolist()
    assert json.loads(json_text(numbers)) == numbers
    assert plain(numbers, 6) == [float(f"{number:.6g}") for number in numbers] != numbers
