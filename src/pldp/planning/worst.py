"""The shares at which a question has its widest interval.

The families of shares that each kind names depend on one number. The variance of a share from one level is concave in
it, so along a family there is usually one hill: it is found on a coarse grid and then climbed. This is a search, not a
proof; no shares drawn at random were ever found to need more people.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize_scalar

from pldp.mechanisms.arrays import FloatArray
from pldp.planning.kinds.kind import Family
from pldp.records import Brief

AS_ASSUMED: Final = "the same"
"""Words for the worst shares where they are the plausible ones."""

_GRID: Final = np.linspace(0, 1, 11)
_CLOSE: Final = 1e-3


@dataclass(frozen=True, repr=False)
class Worst(Brief):
    """The largest standard error that any row of a question can have, and the shares that give it, in words."""

    standard_error: float
    shares: str

    def to_mapping(self, reach: float) -> dict[str, Any]:
        """Return plain data, with the width of an interval that reaches so many standard errors to both sides."""
        width = 2 * reach * self.standard_error
        return {"shares": self.shares, "standard_error": self.standard_error, "interval_width": width}


def find_worst(families: Sequence[Family], widest: Callable[[FloatArray], float], least: float) -> Worst:
    """Return the worst of the families' shares, where `widest` is the largest variance of any row.

    Where all have less variance than the shares assumed (`least`), those are the worst.
    """
    best, words = least, AS_ASSUMED
    for family in families:
        found, part = _climb(family, widest)
        if found > best * (1 + 1e-9):
            best, words = found, family.words(part)
    return Worst(float(np.sqrt(best)), words)


def _climb(family: Family, widest: Callable[[FloatArray], float]) -> tuple[float, float]:
    """Return the largest variance of a family and where it is."""
    heights = [widest(family.shares(float(part))) for part in _GRID]
    top = int(np.argmax(heights))
    near = (float(_GRID[max(0, top - 1)]), float(_GRID[min(len(_GRID) - 1, top + 1)]))
    found = minimize_scalar(
        lambda part: -widest(family.shares(part)), bounds=near, method="bounded", options={"xatol": _CLOSE}
    )
    return max((heights[top], float(_GRID[top])), (-float(found.fun), float(found.x)))
