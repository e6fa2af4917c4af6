"""How far an estimate is from the frozen one, in its own standard errors; see `frozen.engine_cases`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

Numbers = Mapping[str, Any]


class Gap(NamedTuple):
    """What changed between two estimates of the same reports.

    `labels` is the share of labels that only one of both has. `estimate` and `ends` (of intervals) are the largest
    changes in former standard errors; `error` is the ratio of the root mean square standard errors, new to old, and
    `each` the largest relative change of one. `p_value` is the change of the p-value of the test of levels;
    `statistic`, `noticed` and `manipulation` are relative changes, `levels` is the largest one of their shares. What
    only one of both has counts as infinite.
    """

    labels: float
    estimate: float
    error: float
    each: float
    ends: float
    p_value: float
    statistic: float
    noticed: float
    manipulation: float
    levels: float

    def __str__(self) -> str:
        return " ".join(f"{name} {number:.3g}" for name, number in self._asdict().items())


class Allowed(NamedTuple):
    """The largest gap that still is the same estimate; what is `None` may be anything.

    Ends of intervals follow from the rest: they may move by `estimate` + 2 `each`, as 95 % intervals reach less than 2
    standard errors.
    """

    estimate: float
    error: tuple[float, float]
    each: float
    p_value: float | None = None
    labels: float = 0.0
    exact: float | None = None
    """Largest relative change of all that has no column of its own."""

    def broken(self, gap: Gap) -> Iterator[str]:
        """Yield what changed by more."""
        low, high = self.error
        if not low <= gap.error <= high:
            yield f"ratio of standard errors {gap.error:.6g} is not within {low:g} to {high:g}"
        limits = {
            "labels": self.labels,
            "estimate": self.estimate,
            "each": self.each,
            "ends": self.estimate + 2 * self.each,
            "p_value": self.p_value,
            **dict.fromkeys(("statistic", "noticed", "manipulation", "levels"), self.exact),
        }
        for name, most in limits.items():
            change = getattr(gap, name)
            if most is not None and not change <= most:
                yield f"{name} changed by {change:.3g}, more than {most:g}"


def exactly(tolerance: float) -> Allowed:
    """Allow nothing but rounding."""
    return Allowed(tolerance, (1 - tolerance, 1 + tolerance), tolerance, tolerance, 0.0, tolerance)


def gap_of(new: Numbers, old: Numbers) -> Gap:
    """Return how far the new numbers are from the old ones, label by label."""
    common = [label for label in old["labels"] if label in new["labels"]]
    either = len(old["labels"]) + len(new["labels"]) - len(common)
    columns = ("estimates", "standard errors", "low", "high")
    one, two = (np.array([_of_labels(each, name, common) for name in columns]) for each in (new, old))
    scale = np.maximum(np.where(np.isfinite(two[1]), two[1], (two[3] - two[2]) / 2), 1e-300)
    change = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two) / scale)
    return Gap(
        labels=1 - len(common) / either,
        estimate=float(change[0].max(initial=0.0)),
        error=math.sqrt(np.nansum(one[1] ** 2) / np.nansum(two[1] ** 2)),
        each=float(change[1].max(initial=0.0)),
        ends=float(change[2:].max(initial=0.0)),
        levels=_largest(new["levels"], old["levels"]),
        manipulation=_relative(new["manipulation"], old["manipulation"]),
        **_of_test(new["test"], old["test"]),
    )


def _of_labels(numbers: Numbers, name: str, labels: list[str]) -> list[float]:
    places = {label: place for place, label in enumerate(numbers["labels"])}
    return [numbers[name][places[label]] for label in labels]


def _of_test(new: list[Any] | None, old: list[Any] | None) -> dict[str, float]:
    if new is None or old is None:
        return dict.fromkeys(("p_value", "statistic", "noticed"), 0.0 if new is old else math.inf)
    same = new[1:3] == old[1:3]  # degrees and number of tests
    return {
        "p_value": abs(new[3] - old[3]),
        "statistic": _relative(new[0], old[0]) if same else math.inf,
        "noticed": _relative(new[4], old[4]),
    }


def _largest(new: list[float], old: list[float]) -> float:
    if len(new) != len(old):
        return math.inf
    return float(np.abs(np.subtract(new, old)).max(initial=0.0))


def _relative(new: float | None, old: float | None) -> float:
    if new is None or old is None or math.isnan(new) or math.isnan(old):
        return 0.0 if new == old or (new != new and old != old) else math.inf  # noqa: PLR0124 - both are NaN
    return abs(new - old) / max(abs(old), 1e-300)
