"""Runs in parallel processes, one thread of linear algebra each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Found = TypeVar("Found")


def in_parallel(run: Callable[[Task], Found], tasks: Sequence[Task]) -> Iterator[Found]:
    """Yield the results of all tasks in their order."""
    workers = min(os.cpu_count() or 1, len(tasks))
    # One thread of linear algebra per process; the variables must be set before a fresh process loads NumPy.
    inherited = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    os.environ.update(dict.fromkeys(inherited, "1"))
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield from pool.map(run, tasks)
    finally:
        for name, value in inherited.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
