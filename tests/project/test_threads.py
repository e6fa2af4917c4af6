"""Estimates use one BLAS thread and give the program back what it had."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from pldp import threads


def _blas() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads() -> object:
    with threadpool_limits(2, user_api="blas"):
        if _blas() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_the_limit_holds_inside_and_ends_after_also_after_an_error() -> None:
    with threads.one_thread(), threads.one_thread():
        assert _blas() == {1}
    assert _blas() == {2}
    with pytest.raises(ZeroDivisionError), threads.one_thread():
        _ = 1 / 0
    assert _blas() == {2}


def test_several_threads_that_estimate_leave_the_limit_as_it_was() -> None:
    together = Barrier(4)

    def run(_: int) -> None:
        with threads.one_thread():
            together.wait(10)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert _blas() == {2}
