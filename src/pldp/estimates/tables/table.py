"""The result of two or three questions together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pldp.estimates.consistency import nearest_tables, with_margins
from pldp.estimates.frames import make_frame
from pldp.estimates.picture import plot_table
from pldp.estimates.result import Interval, PersonWeights, Result, check_confidence
from pldp.estimates.tables.association import Association, Spread
from pldp.estimates.tables.groups import inner
from pldp.estimates.tables.ranges import RangeReach
from pldp.estimates.tables.sides import Margin
from pldp.mechanisms.arrays import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Table(Result):
    """Unbiased shares of people by their answers to two or three questions, an axis per question.

    An axis has the labels of a choice, the items of a set (people who have it, whatever else they have) or the ranges
    of a number. `margins` are the questions on their own; `reports` those that answer all of them; `people` are those
    of each combination of levels with the weight of one of them, where levels show. `decoded` are the shares with one
    more place on every axis, for everybody: the shares of fewer questions.

    With a number, intervals reach to wherever the share of its range can be (`reaches`), whatever its distribution is,
    and are conservative; with `smooth` they are those of its smooth curve.
    """

    kind: ClassVar[str] = "table"

    margins: tuple[Margin, ...]
    decoded: FloatArray
    people: PersonWeights | None
    spreads: Mapping[tuple[str, ...], Spread] = field(default_factory=dict)
    reaches: tuple[RangeReach | None, ...] = ()

    @property
    def shares(self) -> FloatArray:
        """The shares of all combinations."""
        return inner(self.decoded)

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """The combinations of values, row by row."""
        return list(product(*(margin.values for margin in self.margins)))

    @property
    def estimates(self) -> FloatArray:
        """The shares."""
        return self.shares

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person."""
        return self.people

    @property
    def assumes_smoothness(self) -> bool:
        """Whether a number is one of the questions."""
        return any(self.reaches)

    @property
    def conservative(self) -> npt.NDArray[np.bool_]:
        """Whether few reports speak for a combination, or a number is one of the questions."""
        return self.rare_rows() | self.assumes_smoothness

    def interval(
        self, confidence: float | None = None, *, simultaneous: bool = False, smooth: bool = False
    ) -> Interval:
        """Return intervals for each share; those of a number's ranges hold whatever its distribution is.

        A cell's share is that of its range times how often people of the range have the other answers. The interval
        reaches as far as the errors of both: to the ends of where the share of the range can be, and from there as many
        standard errors as any other interval.
        """
        found = super().interval(confidence, simultaneous=simultaneous)
        if smooth or not self.assumes_smoothness:
            return found
        wanted = self._confidence(confidence)
        allowed = self.fit_confidence(1 - (1 - wanted) / (self.estimates.size if simultaneous else 1))
        low, high = (np.asarray(each, np.float64).reshape(self.shares.shape) for each in found)
        for place, reach in enumerate(self.reaches):
            if reach is not None:
                below, above = self._moves(place, reach, allowed)
                low, high = low - below, high + above
        return Interval(low.reshape(found.low.shape), high.reshape(found.high.shape))

    def _moves(self, place: int, reach: RangeReach, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return by how much every cell can be smaller and larger if the shares of the ranges are at their ends."""
        alone = tuple(slice(None, -1) if axis == place else -1 for axis in range(self.decoded.ndim))
        shares = self.decoded[alone]
        others = np.clip(inner(np.take(self.decoded, -1, axis=place)), 0, 1)
        low, high = reach.ends(confidence)
        ends = (np.maximum(shares - low, 0), np.maximum(high - shares, 0))
        below, above = (np.moveaxis(np.multiply.outer(each, others), 0, place) for each in ends)
        return below, above

    def association(self, confidence: float | None = None) -> list[Association]:
        """Return Cramér's V of two questions with its interval, or that of every item where one is a set.

        It is 0 where answers are independent and 1 where one says what the other is. There is none of three questions,
        and of tables of very many cells.
        """
        wanted = self._confidence(confidence)
        check_confidence(wanted)
        return [Association(label, own.estimate, *own.interval(wanted)) for label, own in self.spreads.items()]

    def consistent(self) -> FloatArray:
        """Return the nearest table that could be true: at least 0, with the consistent shares of every question."""
        return self._consistent.copy()

    @cached_property
    def _consistent(self) -> FloatArray:
        if len(self.margins) == 2 and all(margin.exclusive for margin in self.margins):
            return with_margins(self.shares, *(margin.consistent() for margin in self.margins))
        return _nearest(self.decoded, self.margins)

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows with the consistent share beside each."""
        rows, consistent = super().records(confidence), self._consistent.ravel().tolist()
        if self.assumes_smoothness:
            smooth = self.interval(confidence, smooth=True)
            ends = zip(np.ravel(smooth.low).tolist(), np.ravel(smooth.high).tolist(), strict=True)
            about = ({"conservative": True, "smooth_low": low, "smooth_high": high} for low, high in ends)
            rows = [{**row, **more} for row, more in zip(rows, about, strict=True)]
        return [{**row, "consistent": share} for row, share in zip(rows, consistent, strict=True)]

    def to_frame(self, confidence: float | None = None, *, library: str | None = None) -> Any:
        """Return the rows as a data frame, with a column of values for each question."""
        names = [margin.question for margin in self.margins]
        records = self.records(confidence)
        return make_frame([{**dict(zip(names, row.pop("label"), strict=True)), **row} for row in records], library)

    def _extras(self, confidence: float) -> dict[str, Any]:
        sides = zip(self.margins, [margin.consistent() for margin in self.margins], strict=True)
        return {
            "questions": [margin.question for margin in self.margins],
            "margins": [
                {"name": own.question, "exclusive": own.exclusive, "values": list(own.values), "shares": shares}
                for own, shares in sides
            ],
            "association": [each._asdict() for each in self.association(confidence)],
        }

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the consistent shares as shaded cells with the reach of their intervals (needs the extra `plots`)."""
        return plot_table(self, confidence, truth=truth, axes=axes)


def _nearest(decoded: FloatArray, margins: tuple[Margin, ...]) -> FloatArray:
    """Return the nearest tables, one for each combination of items, of people who have an item and who do not."""
    tables, sums, shape = decoded[None], list[FloatArray](), list[int]()
    for axis, margin in enumerate(margins):
        moved = np.moveaxis(tables, axis + 1, 1)
        if margin.exclusive:
            moved, own, count = moved[:, :-1], margin.possible[None], 1
        else:
            has, whole = moved[:, :-1], moved[:, -1:]
            count = has.shape[1]
            moved = np.stack([has, whole - has], axis=2).reshape(-1, 2, *moved.shape[2:])
            own = np.stack([margin.possible, 1 - margin.possible], axis=1)
        sums = [np.repeat(each, count, axis=0) for each in sums]
        sums.append(np.tile(own, (len(moved) // len(own), 1)))
        shape.append(count)
        tables = np.moveaxis(moved, 1, axis + 1)
    found = nearest_tables(tables, sums).reshape(*shape, *tables.shape[1:])
    count = len(margins)
    for axis, margin in enumerate(margins):
        if not margin.exclusive:
            found = found.take([0], axis=count + axis)  # those who have the item
    order = [each for axis in range(count) for each in (axis, count + axis)]
    return found.transpose(order).reshape([size - 1 for size in decoded.shape])
