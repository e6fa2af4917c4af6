"""How experiments run: parts in parallel processes, progress, and means with their sampling errors."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Task = TypeVar("Task")
Part = TypeVar("Part")

Progress = Callable[[int, int], None]  #: Called with the number of parts done and the number in all.


def in_parallel(run: Callable[[Task], Part], tasks: Sequence[Task]) -> Iterator[Part]:
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


def track(parts: Iterable[Part], total: int, progress: Progress | None) -> Iterator[Part]:
    """Yield every part, and report it as done when the next one is asked for.

    >>> list(track("ab", 2, print))
    1 2
    2 2
    ['a', 'b']
    """
    for done, part in enumerate(parts, start=1):
        yield part
        if progress is not None:
            progress(done, total)


def mean_and_error(name: str, samples: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return the mean of one number per run, and its standard error as NAME_error.

    >>> mean_and_error("mse", np.array([1.0, 3.0]))
    {'mse': 2.0, 'mse_error': 1.0}
    """
    return {name: float(samples.mean()), f"{name}_error": float(samples.std(ddof=1) / np.sqrt(len(samples)))}
