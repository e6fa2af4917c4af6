"""One thread for the linear algebra of an estimate.

The matrices of an estimate are small. Two BLAS threads take as long as one and two to eight times the CPU, as they wait
for each other in a loop. Programs that want all cores estimate several questions or surveys at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Find the loaded libraries once: the search takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread while an estimate is made, and restore what the program had; usable as a decorator.

    Most BLAS libraries have one limit per process. While several threads estimate, the first of them sets it and the
    others leave it alone: what they may lose is CPU time, never a result.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield
