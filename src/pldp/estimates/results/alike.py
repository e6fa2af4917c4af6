"""What a result would be if people of all levels were alike, and what may be said of that beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from pldp.estimates.results import notes

if TYPE_CHECKING:
    from pldp.estimates.results.result import Result

SHARPER: Final = 0.85  # of the width of an interval, from which a sharper one is worth its assumption

Made = TypeVar("Made", bound="Result")


def beside_alike(made: Callable[[float | None], Made], differ: float | None, *, several: bool) -> Made:
    """Return a result for a bound on differences of levels, with that of people who are alike beside it.

    `made` gives the result for a bound. Without `several` levels nothing is assumed by any, and the law says most.
    """
    if not several:
        return made(0)
    found = replace(made(differ), differ=differ)
    if differ:
        declared = notes.within_bound(differ)
        texts = (declared if text in notes.NOTHING_ASSUMED else text for text in found.assumptions)
        found = replace(found, assumptions=tuple(texts))
    return found if differ == 0 else replace(found, alike=replace(made(0), differ=0))


def describe_alike(result: Result, alike: Result, confidence: float | None) -> dict[str, Any]:
    """Return the result if people of all levels are alike, and whether it may be said beside this one.

    It may if the test does not reject it and its intervals are narrower by more than `SHARPER`, in the median.
    """
    own, other = (each.interval(confidence) for each in (result, alike))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = (other.high - other.low) / (own.high - own.low)
    rejected = result.homogeneity is not None and result.homogeneity.rejected
    return {
        "method": alike.method,
        "assumptions": list(alike.assumptions),
        "rows": [
            {**row, "unseen_bias": shift}
            for row, shift in zip(alike.marked(confidence), result.unseen_bias.tolist(), strict=True)
        ],
        "p_value": None if result.homogeneity is None else result.homogeneity.p_value,
        "rejected": rejected,
        "said": not rejected and bool(np.median(ratios) <= SHARPER),
    }
