"""What a machine may lack."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacks(reason: str) -> NoReturn:
    """Fail where everything is tested, and skip elsewhere."""
    (pytest.fail if os.environ.get("CI") or os.environ.get("PLDP_CI") else pytest.skip)(reason)
