"""Data classes that may hold long tuples and arrays: a `repr` of one line, and equality by content.

A class says `@dataclass(frozen=True, repr=False)` and inherits `Brief`; one with arrays adds `eq=False` and inherits
`Record`. NumPy is asked only through the arrays themselves, so that devices can use this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

_LISTED: Final = 4
_LONGEST: Final = 60
_LONGEST_LINE: Final = 400
_LARGEST: Final = 10**18
"""What is longer, or larger, is described instead of shown."""


class Brief:
    """A data class whose `repr` is one line, however much it holds."""

    def __repr__(self) -> str:
        shown, length = [], 0
        for each in fields(self):  # type: ignore[arg-type] # what inherits this is a data class
            if each.repr and not each.name.startswith("_"):
                shown.append(f"{each.name}={describe(getattr(self, each.name))}")
                length += len(shown[-1])
            if length > _LONGEST_LINE:
                shown.append("…")
                break
        return f"{type(self).__name__}({', '.join(shown)})"


class Record(Brief):
    """A data class with arrays: equal to another of its class that holds the same."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            same(getattr(self, each.name), getattr(other, each.name))
            for each in fields(self)  # type: ignore[arg-type]
            if each.compare
        )

    __hash__ = None  # type: ignore[assignment] # it holds arrays

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]


def describe(value: Any) -> str:
    """Return a value as `repr` shows it, or what it is where that is long.

    >>> describe((1, 2)), describe(range(1000)), describe("x" * 100)[-4:]
    ('(1, 2)', '<1,000 items>', "xx…'")
    """
    if hasattr(value, "dtype"):
        return f"<{'×'.join(f'{length:,}' for length in value.shape) or 'one'} {value.dtype}>"
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…")
    if isinstance(value, int) and abs(value) > _LARGEST:
        return f"<{value.bit_length():,} bits>"
    if isinstance(value, Sequence | Mapping | set | frozenset) and len(value) > _LISTED:
        return f"<{len(value):,} {'bytes' if isinstance(value, bytes) else 'items'}>"
    if type(value) in {tuple, list}:
        inside = ", ".join(map(describe, value))
        shown = f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    elif isinstance(value, Mapping):
        shown = "{" + ", ".join(f"{describe(key)}: {describe(item)}" for key, item in value.items()) + "}"
    else:
        shown = repr(value)
    return shown if len(shown) <= 2 * _LONGEST and "\n" not in shown else f"<{type(value).__name__}>"


def same(one: Any, other: Any) -> bool:
    """Say whether two values hold the same; what is not a number equals itself.

    >>> same({"a": (1.0, float("nan"))}, {"a": (1.0, float("nan"))}), same([1], [2])
    (True, False)
    """
    if hasattr(one, "dtype") and hasattr(other, "dtype"):
        alike = one.shape == other.shape and one.dtype == other.dtype
        return alike and bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124 - NaN
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list) and type(one) is type(other):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (one != one and other != other)  # noqa: PLR0124 - NaN
    return bool(one == other)
