"""Do intervals of joined reports cover? The sibling of `coverage.py` for several services about the same people.

A *fused case* is what each service asks, as cases of `coverage.py`: the same labels by different mechanisms, levels
shown or hidden. Every person gives to each service with probability 0.7, at one of two levels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.coverage import CONFIDENCE, Case, Hits, _choice, _number, _sets
from pldp.estimates import estimate_fused
from pldp.mechanisms.arrays import arrays
from pldp.tallies import Asked, Fused, Service, fuse

GIVES = 0.7
"""Probability with which a person gives to a service."""


@dataclass(frozen=True, eq=False)
class FusedCase:
    """What each service asks, and the options of the estimate."""

    name: str
    services: tuple[Case, ...]
    options: Mapping[str, Any]


def _labels_by(name: str, mechanisms: Mapping[str, float | None], **options: Any) -> FusedCase:
    asked = tuple(_choice(each, 4, hide, mechanism=each) for each, hide in mechanisms.items())
    return FusedCase(name, asked, options)


FUSED_CASES: tuple[FusedCase, ...] = (
    _labels_by("fused choice", {"krr": None, "oue": None, "subset": None}),
    _labels_by("fused choice by likelihood", {"krr": None, "oue": None, "lh": None}, method="likelihood"),
    _labels_by("fused choice, hidden levels", {"krr": 1.0, "oue": 1.0}),
    _labels_by("fused choice, one service hides levels", {"krr": 1.0, "oue": None}),
    _labels_by("fused choice, hidden levels, unbiased", {"krr": 1.0, "oue": 1.0}, method="unbiased"),
    FusedCase("fused set", (_sets("a"), _sets("b", mechanism="item_set")), {"largest": 1}),
    FusedCase("fused mean", (_number("a", 48), _number("b", 48, mechanism="pm")), {"method": "ua"}),
)
"""What is asked."""


@dataclass(frozen=True)
class FusedCell:
    """A case with its data."""

    case: FusedCase
    shape: str
    people: int
    epsilon: float

    def __str__(self) -> str:
        return f"{self.case.name}, {self.shape}, {self.people:,} people, ε {self.epsilon:g}"


def draw_fused(cell: FusedCell, seed: int) -> Fused:
    """Return the fused tally of one collection."""
    generator = np.random.default_rng([seed, 11])
    first = cell.case.services[0]
    shares = first.shares(cell.shape)
    if first.question.get("kind") == "choices":
        have = generator.random((cell.people, len(shares))) < shares
        values: Any = np.packbits(have, axis=1, bitorder="little")
    else:
        values = generator.choice(len(shares), cell.people, p=shares / shares.sum())
    services = []
    for place, case in enumerate(cell.case.services):
        survey = case.survey(cell.epsilon)
        question: Any = survey.questions[0]
        here = np.flatnonzero(generator.random(cell.people) < GIVES)
        level = generator.integers(0, 2, len(here))
        outputs = [_drawn(channel, values[here], generator) for channel in question.channels]
        shown = level if survey.level_channel is None else _drawn(survey.level_channel, level, generator)
        names = tuple(each.name for each in question.levels)
        about: dict[str, Any] = {"level": np.array(names)[shown], "levels": names, "channels": question.channels}
        if "values" in case.question:
            about["asked"] = Asked("q", values=tuple(question.values))
        else:
            about |= {"asked": Asked("q", limits=(0.0, 1.0)), "bounds": (0.0, 1.0)}
        chosen = _chosen(outputs, level)
        services.append(
            Service(f"s{place}", question.channels[0], here, chosen, label_channel=survey.level_channel, **about)
        )
    return fuse(services)


def _drawn(channel: Any, values: Any, generator: np.random.Generator) -> Any:
    form = arrays(channel)
    return form.draw_many(form.checked_values(values), generator)


def _chosen(outputs: list[Any], level: Any) -> Any:
    first = level == 0
    return np.where(first if outputs[0].ndim == 1 else first[:, None], *outputs)


def judge_fused(cell: FusedCell, runs: int, first: int = 0, narrow: float = 1.0) -> Hits:
    """Return which intervals of so many collections cover the truth; `narrow` makes them so many times narrower."""
    shares = cell.case.services[0].shares(cell.shape)
    found: dict[str, list[bool]] = {}
    marked: Counter[str] = Counter()
    for run in range(first, first + runs):
        result = estimate_fused(draw_fused(cell, run), confidence=CONFIDENCE, **cell.case.options)
        for place, (row, wide) in enumerate(zip(result.rows(), result.conservative.tolist(), strict=True)):
            if row.label == "mean":
                truth = float(shares @ ((np.arange(len(shares)) + 0.5) / len(shares)))
            elif result.kind == "number":
                continue  # quantiles have their own intervals, from one report each
            else:
                truth = float(shares[place])
            reach = (row.high - row.low) / 2 / narrow
            found.setdefault(str(row.label), []).append(abs(row.estimate - truth) <= reach)
            marked[str(row.label)] += wide
    return {(label, 2 * marked[label] > runs): covered for label, covered in found.items()}
