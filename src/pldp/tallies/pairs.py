"""Counts for two-way tables: how often the reports of two questions support each pair of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import TallyError
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import IntArray, LabelArrays, arrays, label_arrays
from pldp.survey import Survey
from pldp.tallies.counts import Additive

LARGEST_TABLE: Final = 1 << 22  # cells of a two-way table, at most
Pair = tuple[str, str]  #: Names of two questions.
PairCell = tuple[tuple[str, str], tuple[str, str]]  # (question, level) of both
_ROWS_AT_ONCE = 1 << 13


@dataclass(frozen=True, eq=False, repr=False)
class PairCounts(Additive):
    """Reports that answer both questions at one pair of levels."""

    reports: int
    first: IntArray  #: How many support each value of the first question.
    second: IntArray  #: How many support each value of the second.
    both: IntArray  #: How many support a value of the first and a value of the second, first × second.

    @classmethod
    def none(cls, first: Channel, second: Channel) -> PairCounts:
        """Return zero counts."""
        return cls(0, *(np.zeros(shape, np.int64) for shape in (first.size, second.size, (first.size, second.size))))

    @classmethod
    def of_outputs(
        cls, first: Channel, second: Channel, first_outputs: npt.NDArray[Any], second_outputs: npt.NDArray[Any]
    ) -> PairCounts:
        """Count the outputs of the same people: integers, or rows of packed bits."""
        parts, forms = [cls.none(first, second)], (label_arrays(first), label_arrays(second))
        for start in range(0, len(first_outputs), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            one, two = forms[0].supported(first_outputs[part]), forms[1].supported(second_outputs[part])
            # Sums of at most 2¹³ ones are exact in single precision.
            sums = (one.sum(axis=0), two.sum(axis=0), one.T @ two)
            parts = [cls.merge([*parts, cls(len(one), *(np.asarray(array, np.int64) for array in sums))])]
        return parts[0]

    @classmethod
    def from_arrays(cls, first: Channel, second: Channel, arrays: Mapping[str, npt.NDArray[Any]]) -> PairCounts:
        """Rebuild stored counts and refuse what does not fit the channels."""
        one, two, both = (arrays[name].astype(np.int64) for name in ("first", "second", "both"))
        reports = int(arrays["reports"])
        fits = one.shape == (first.size,) and two.shape == (second.size,) and both.shape == (first.size, second.size)
        within = fits and bool((both >= 0).all() and (both <= np.minimum.outer(one, two)).all())
        if not within or max(one.max(), two.max()) > reports:
            raise TallyError("stored counts of two questions do not fit the survey's channels")
        return cls(reports, one, two, both)


def pair_cells(survey: Survey, pairs: Sequence[Pair]) -> dict[PairCell, tuple[Channel, Channel]]:
    """Return every pair of (question, level) of these pairs of questions, with their channels."""
    cells: dict[PairCell, tuple[Channel, Channel]] = {}
    for first, second in pairs:
        one, two = survey.question(first), survey.question(second)
        if first == second:
            raise TallyError(f"pairs must name two different questions, not {first!r} twice")
        if survey.level_channel is not None:
            raise TallyError("pairs need levels that show: two-way tables of hidden levels are not known")
        if survey.ask == 1:
            raise TallyError("pairs need people who answer both questions; this survey asks each person one")
        for each in (one, two):
            if not all(isinstance(arrays(channel), LabelArrays) for channel in each.channels):
                raise TallyError(f"pairs must be choices of one label; question {each.name!r} is of kind {each.kind}")
        rows, columns = one.channels[0].size, two.channels[0].size
        if rows * columns > LARGEST_TABLE:
            raise TallyError(f"pairs must have at most {LARGEST_TABLE:,} cells, not {rows:,} × {columns:,}")
        for level, channel in zip(one.levels, one.channels, strict=True):
            for other_level, other in zip(two.levels, two.channels, strict=True):
                cells[(first, level.name), (second, other_level.name)] = (channel, other)
    return cells
