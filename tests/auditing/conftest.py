"""The JavaScript client that is audited."""

from __future__ import annotations

import pytest

from helpers.machine import lacks
from pldp.auditing import JavaScript


@pytest.fixture(scope="module")
def client() -> JavaScript:
    return JavaScript.find() or lacks("there is no Node here")
