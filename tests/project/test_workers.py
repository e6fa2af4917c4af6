"""Tests that share something dear stay on one worker: otherwise every worker would start its own browser and Spark."""

from __future__ import annotations

import os

import pytest


def test_the_tests_of_a_file_are_one_group(request: pytest.FixtureRequest) -> None:
    """Versions of pytest and pytest-xdist that do not fit drop the group without a word."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("there is one worker: nothing is divided")
    assert request.node.nodeid.endswith("@tests/project/test_workers.py")
