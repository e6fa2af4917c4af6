"""What is refused is refused in one clear line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def refused(error: type[Exception], words: str) -> Iterator[None]:
    """Expect this error, in one line that says these words."""
    with pytest.raises(error, match=re.escape(words)) as caught:
        yield
    assert "\n" not in str(caught.value)
