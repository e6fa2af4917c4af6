"""Counts of two or three questions together, for tables: how many reports have each combination of marks.

A question of any kind has marks (`pldp.mechanisms.marks`); the product of those of several questions, added up over
the reports, is all that a table needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import TallyError
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import IntArray, Marked, arrays
from pldp.survey import Survey
from pldp.tallies.counts import Additive
from pldp.words import listed

LARGEST_TABLE: Final = 1 << 22
"""Cells of a table at one combination of levels, at most."""

LARGEST_TABLES: Final = 1 << 26
"""Cells of a table at all combinations of levels, at most."""

MOST_QUESTIONS: Final = 3
"""Questions of a table, at most: the error of a share grows with every question."""

Pair = tuple[str, ...]  #: Names of two or three questions.
PairCell = tuple[tuple[str, str], ...]  # (question, level) of each

_ROWS_AT_ONCE: Final = 1 << 13
"""Sums of at most so many ones are exact in single precision."""


@dataclass(frozen=True, eq=False, repr=False)
class TableCounts(Additive):
    """Reports that answer all questions of a table at one combination of levels.

    `marked` counts them by their marks, an axis per question; the last place of every axis, the whole, counts all.
    """

    marked: IntArray

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.marked[(-1,) * self.marked.ndim])

    @classmethod
    def none(cls, *channels: Channel) -> TableCounts:
        """Return zero counts."""
        return cls(np.zeros(_shape(channels), np.int64))

    @classmethod
    def of_outputs(
        cls, channels: Sequence[Channel], outputs: Sequence[npt.NDArray[Any]], counts: IntArray | None = None
    ) -> TableCounts:
        """Count the outputs of the same people: integers, or rows of packed bits, of each question.

        `counts` says how many people gave each combination of outputs; one each unless it is given.
        """
        return cls(count_marks([arrays(channel) for channel in channels], outputs, counts))

    @classmethod
    def from_arrays(cls, channels: Sequence[Channel], stored: Mapping[str, npt.NDArray[Any]]) -> TableCounts:
        """Rebuild stored counts and refuse what does not fit the channels: no mark comes more often than the whole."""
        marked = stored["marked"].astype(np.int64)
        fits = marked.shape == _shape(channels) and bool((marked >= 0).all())
        wholes = (marked.take([-1], axis=axis) for axis in range(marked.ndim)) if fits else ()
        if not fits or any((marked > whole).any() for whole in wholes):
            raise TallyError("stored counts of several questions do not fit the survey's channels")
        return cls(marked)


def _shape(channels: Sequence[Channel]) -> tuple[int, ...]:
    return tuple(arrays(channel).mark_count + 1 for channel in channels)


def table_cells(survey: Survey, pairs: Sequence[Pair]) -> dict[PairCell, tuple[Channel, ...]]:
    """Return every combination of (question, level) of these pairs and triples of questions, with their channels."""
    cells: dict[PairCell, tuple[Channel, ...]] = {}
    for names in pairs:
        _check_names(survey, names)
        asked = [survey.question(name) for name in names]
        shape = [max(_shape(question.channels)) for question in asked]
        size, combinations = prod(shape), prod(len(question.levels) for question in asked)
        if size > LARGEST_TABLE or size * combinations > LARGEST_TABLES:
            sizes = " × ".join(f"{own - 1:,}" for own in shape)
            raise TallyError(
                f"pairs must have at most {LARGEST_TABLE:,} cells, not {sizes}"
                + (f" at each of {combinations:,} combinations of levels" if size <= LARGEST_TABLE else "")
            )
        sides = [list(zip(question.levels, question.channels, strict=True)) for question in asked]
        for chosen in product(*sides):
            cell = tuple((name, level.name) for name, (level, _) in zip(names, chosen, strict=True))
            cells[cell] = tuple(channel for _, channel in chosen)
    return cells


def _check_names(survey: Survey, names: Pair) -> None:
    """Refuse what is no pair or triple of different questions that one person answers."""
    if isinstance(names, str) or not 2 <= len(names) <= MOST_QUESTIONS:
        found = repr(names) if isinstance(names, str) else f"{len(names)} names"
        raise TallyError(f"pairs must name two or three questions each, such as ('mode', 'late'), not {found}")
    for name in names:
        reason = survey.question(name).no_table()
        if reason is not None:
            raise TallyError(f"pairs: question {name!r} cannot be in a table: {reason}")
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise TallyError(f"pairs must name different questions, not {twice[0]!r} twice")
    if survey.ask is not None and survey.ask < len(names):
        raise TallyError(
            f"pairs need people who answer {listed(names)}; this survey asks each person {survey.ask} of its questions"
        )


def count_marks(
    forms: Sequence[Marked], outputs: Sequence[npt.NDArray[Any]], counts: IntArray | None = None
) -> IntArray:
    """Return in how many reports each combination of marks came, one axis per question, the whole last on each.

    `outputs` are those of the same people, question by question, `counts` how many people each line of them stands for.
    Sums below 2⁵³ are exact.
    """
    people = len(outputs[0])
    every = [form.mark_codes(own) for form, own in zip(forms, outputs, strict=True)]
    codes = {place: own for place, own in enumerate(every) if own is not None}
    coded, others = [*codes], [place for place in range(len(forms)) if place not in codes]
    shape = [forms[place].mark_count for place in coded]
    flat = np.zeros(people, np.intp)
    for place, own in codes.items():
        flat = flat * forms[place].mark_count + own
    if others:
        table = np.zeros((int(np.prod(shape)), *(forms[place].mark_count + 1 for place in others)), np.int64)
        for start in range(0, people, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            table += _count_some([forms[each] for each in others], [outputs[each][part] for each in others],
                                 flat[part] if coded else None, len(table),
                                 None if counts is None else counts[part])  # fmt: skip
    else:
        table = np.bincount(flat, counts, minlength=int(np.prod(shape))).astype(np.int64)
    table = table.reshape(*shape, *(forms[place].mark_count + 1 for place in others))
    for axis in range(len(coded)):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return np.ascontiguousarray(np.moveaxis(table, range(table.ndim), (*coded, *others)))


def _count_some(
    forms: Sequence[Marked],
    outputs: Sequence[npt.NDArray[Any]],
    codes: npt.NDArray[np.intp] | None,
    size: int,
    counts: IntArray | None,
) -> IntArray:
    """Count a few reports, code × marks of each of the forms."""
    marks: list[npt.NDArray[Any]] = [_with_whole(form.marked(own)) for form, own in zip(forms, outputs, strict=True)]
    if counts is not None:
        marks[0] = marks[0] * counts[:, None].astype(np.float64)
    people, *sizes = len(marks[0]), *(own.shape[1] for own in marks)
    products = marks[0]
    for own in marks[1:-1] if codes is None else marks[1:]:
        products = (products[:, :, None] * own[:, None, :]).reshape(people, -1)
    if codes is not None:
        from scipy.sparse import csr_array  # noqa: PLC0415 - executors of a cluster start without it

        each = (np.ones(people, np.float32), (codes, np.arange(people)))
        found = csr_array(each, shape=(size, people)) @ products
    else:
        found = products.T @ marks[-1] if len(marks) > 1 else products.sum(axis=0)
    return np.asarray(found, np.int64).reshape(size, *sizes)


def _with_whole(marks: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.concatenate([marks, np.ones((len(marks), 1), np.float32)], axis=1)
