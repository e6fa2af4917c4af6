"""Results as JSON: NumPy's numbers become Python's, and numbers that JSON does not know become null."""

import json
import math
from collections.abc import Mapping
from typing import Any


def plain(content: Any, digits: int = 0) -> Any:
    """Return the same in what JSON knows, with so many significant digits; 0: all of them.

    >>> plain({"a": (1 / 3, float("nan"))}, 3)
    {'a': [0.333, None]}
    """
    if isinstance(content, Mapping):
        return {str(key): plain(value, digits) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value, digits) for value in content]
    if isinstance(content, float):
        if not math.isfinite(content):
            return None
        return float(f"{content:.{digits}g}") if digits else float(content)
    return plain(content.tolist(), digits) if hasattr(content, "tolist") else content


def json_text(content: Any, *, digits: int = 0, indent: int | None = None) -> str:
    """Return `plain` content as JSON text.

    >>> json_text({"label": "é", "error": float("inf")})
    '{"label": "é", "error": null}'
    """
    return json.dumps(plain(content, digits), ensure_ascii=False, indent=indent, allow_nan=False)
