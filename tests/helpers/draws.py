"""What devices draw from, and what forms of outputs admit."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import numpy as np

from pldp.mechanisms import Bits
from pldp.mechanisms.rows import rows_of


def seeded_bytes(seed: int) -> Callable[[int], bytes]:
    """Return a source of random bytes that gives the same ones again; NumPy's takes ten times as long for a few."""
    return Random(seed).randbytes  # noqa: S311 - nobody is protected here


class Counting:
    """A source of random bytes that records how many were asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, length: int) -> bytes:
        self.asked.append(length)
        return os.urandom(length)


def check_form(form: Bits) -> None:
    """Hold what a form admits, one by one and in rows, against its outputs."""
    outputs = set(form.outputs())
    assert len(outputs) == form.count
    every = [number.to_bytes(form.bytes, "little") for number in range(256**form.bytes)]
    assert {each for each in every if form.admits(each)} == outputs
    rows = np.frombuffer(b"".join(every), np.uint8).reshape(-1, form.bytes)
    assert rows_of(form).admitted(rows).tolist() == [each in outputs for each in every]
