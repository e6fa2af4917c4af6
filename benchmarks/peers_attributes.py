"""The peer's side of the table of many attributes: multi-freq-ldpy splits ε equally over them, one person per call."""

from __future__ import annotations

from typing import Any

import numpy as np
from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_UE_Aggregator_MI, SPL_UE_Client

from benchmarks.measure import Clock, serve


def pipeline(peer: str, sizes: list[int], people: int, repeats: int) -> dict[str, Any]:  # noqa: ARG001 - one peer only
    """Perturb all answers by OUE and estimate all shares."""
    _pipeline(sizes, 3)
    clock = Clock()
    clock.time(lambda: _pipeline(sizes, people), repeats=repeats)
    return clock.result(people)


def _pipeline(sizes: list[int], people: int) -> Any:
    generator = np.random.default_rng(1)
    values = np.stack([generator.integers(0, size, people) for size in sizes], axis=1).tolist()
    reports = [SPL_UE_Client(person, sizes, len(sizes), 20.0) for person in values]
    return SPL_UE_Aggregator_MI(reports, len(sizes), 20.0)


if __name__ == "__main__":
    serve({"pipeline": pipeline})
