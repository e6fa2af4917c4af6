"""Several services about the same people as cases of `coverage`, and all cases together.

A *fused case* is what each service asks: the same labels by different mechanisms, levels shown or hidden. Every person
gives to each service with probability 0.7, at one of two levels: another one at every service, or the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import pldp
from helpers.coverage import CASES, CONFIDENCE, SHAPES, AnyCase, Case, Cell, family, make_choice, make_number, make_sets
from pldp.estimates import Row, estimate_fused, mean
from pldp.mechanisms.arrays import arrays
from pldp.tallies import Asked, Fused, Service, fuse

GIVES = 0.7
"""Probability with which a person gives to a service."""


@dataclass(frozen=True, eq=False)
class FusedCase(AnyCase):
    """What each service asks, the options of the estimate, and whether it is judged without its assumptions.

    With `faithful` people everybody has one level at all services.
    """

    services: tuple[Case, ...]
    options: Mapping[str, Any]
    faithful: bool = False
    free: bool = False

    @property
    def kind(self) -> str:
        """That of the first service, fused."""
        return f"fused {self.services[0].kind.partition(',')[0]}"

    def draw(self, cell: Cell, seed: int) -> Fused:
        """Return the fused tally of one collection."""
        # Runs are pooled over shapes, so those of different shapes are independent.
        generator = np.random.default_rng([seed, 11, list(SHAPES).index(cell.shape)])
        first = self.services[0]
        shares = first.shares(cell.shape)
        if first.question.get("kind") == "choices":
            have = generator.random((cell.people, len(shares))) < shares
            if "at_most" in first.question:
                have = _ticked(have, first.question["at_most"], generator)
            values: Any = np.packbits(have, axis=1, bitorder="little")
        else:
            values = generator.choice(len(shares), cell.people, p=shares / shares.sum())
        everywhere = generator.integers(0, 2, cell.people) if self.faithful else None
        return fuse(
            [
                _service(f"s{place}", _survey(case, cell.epsilon), values, everywhere, generator)
                for place, case in enumerate(self.services)
            ]
        )

    def truth(self, shape: str) -> dict[str, tuple[float, float]]:
        """Return that of the first service: all ask the same."""
        return self.services[0].truth(shape)

    def rows(self, drawn: Fused, *, whole: bool = False) -> Iterator[tuple[Row, bool]]:
        """Yield the rows; quantiles have their own intervals, from one report each.

        Unless the `whole` result is asked for, means are judged without the curve, which takes ten times as long.
        """
        if self.services[0].has_quantiles and not whole:
            yield mean(drawn, method="average").row(CONFIDENCE), False
            return
        judged = self.result(drawn)
        for row, conservative in zip(judged.rows(), judged.conservative.tolist(), strict=True):
            if judged.kind != "number" or row.label == "mean":
                yield row, conservative

    def result(self, drawn: Fused) -> pldp.Result:
        """Return the result, if people are alike unless it is `free`."""
        return estimate_fused(drawn, confidence=CONFIDENCE, differ=None if self.free else 0, **self.options)


@cache
def _survey(case: Case, epsilon: float) -> pldp.Survey:
    return case.survey(epsilon)


def _service(
    name: str, survey: pldp.Survey, values: Any, everywhere: Any | None, generator: np.random.Generator
) -> Service:
    """Return the reports of those who give to a service."""
    question: Any = survey.questions[0]
    here = np.flatnonzero(generator.random(len(values)) < GIVES)
    level = generator.integers(0, 2, len(here)) if everywhere is None else everywhere[here]
    outputs = [_drawn(channel, values[here], generator) for channel in question.channels]
    shown = level if survey.level_channel is None else _drawn(survey.level_channel, level, generator)
    names = tuple(each.name for each in question.levels)
    about: dict[str, Any] = {"level": np.array(names)[shown], "levels": names, "channels": question.channels}
    if question.domain == "numbers":
        about |= {"asked": Asked("q", limits=(0.0, 1.0)), "bounds": (0.0, 1.0)}
    else:
        about["asked"] = Asked("q", values=tuple(question.values))
    chosen = np.where(level == 0 if outputs[0].ndim == 1 else (level == 0)[:, None], *outputs)
    return Service(name, question.channels[0], here, chosen, label_channel=survey.level_channel, **about)


def _drawn(channel: Any, values: Any, generator: np.random.Generator) -> Any:
    form = arrays(channel)
    return form.draw_many(form.checked_values(values), generator)


def _ticked(have: np.ndarray, most: int, generator: np.random.Generator) -> np.ndarray:
    """Let people who have more than so many items tick that many of them at random."""
    order = np.argsort(np.where(have, generator.random(have.shape), 2.0), axis=1).argsort(axis=1)
    return have & (order < most)


def _labels_by(
    name: str, mechanisms: Mapping[str, float | None], *, faithful: bool = False, **options: Any
) -> FusedCase:
    asked = tuple(make_choice(each, 4, hide, mechanism=each) for each, hide in mechanisms.items())
    return FusedCase(name, asked, options, faithful)


def _sets_by(name: str, *services: Case, faithful: bool = True, free: bool = False) -> FusedCase:
    return FusedCase(name, services, {"largest": 1}, faithful, free)


FUSED_CASES: tuple[FusedCase, ...] = (
    _labels_by("fused choice", {"krr": None, "oue": None, "subset": None}),
    _labels_by("fused choice by likelihood", {"krr": None, "oue": None, "lh": None}, method="likelihood"),
    _labels_by("fused choice, hidden levels", {"krr": 1.0, "oue": 1.0}),
    _labels_by("fused choice, hidden levels, the same at all services", {"krr": 1.0, "oue": 1.0}, faithful=True),
    _labels_by("fused choice, one service hides levels", {"krr": 1.0, "oue": None}, faithful=True),
    _labels_by("fused choice, hidden levels, unbiased", {"krr": 1.0, "oue": 1.0}, method="unbiased"),
    _sets_by("fused set", make_sets("a"), make_sets("b", mechanism="item_set"), faithful=False),
    _sets_by("fused set, hidden levels", *(make_sets(name, hide=1.0) for name in "ab"), faithful=False),
    _sets_by("fused set, one service hides levels", make_sets("a", hide=1.0), make_sets("b")),
    _sets_by("fused set, hidden levels, the same at all services", *(make_sets(name, hide=1.0) for name in "abc")),
    _sets_by("fused set, hidden levels, assumption-free", *(make_sets(name, hide=1.0) for name in "ab"), free=True),
    _sets_by(
        "fused set of at most two, one budget, hidden levels",
        *(make_sets(name, 8, 0.2, hide=1.0, budget="set", at_most=2) for name in "ab"),
    ),
    FusedCase("fused mean", (make_number("a", 48), make_number("b", 48, mechanism="pm")), {"method": "ua"}),
)
"""What several services ask."""

EVERY_CASE: tuple[AnyCase, ...] = (*CASES, *FUSED_CASES)
TESTS = family(len(EVERY_CASE))
"""Tests in the family of the whole table."""
