"""One question at one level as an axis of a table: from marks of reports to shares of people.

An axis has *indicators*: the labels of a choice, the items of a set, the ranges of a number. A report counts w_i for
indicator i, a linear function of its marks with the mean 1 for people of whom i is true and 0 for all others. Answers
to different questions are perturbed independently, so the product of the weights of several questions is unbiased for
the share of people of whom all are true, and the mean of its square, which gives the variance, is a product of what
single axes make of the marks.

Arrays have marks, or indicators, on their first axis, the *whole* last: 1 for every report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import FloatArray, LabelArrays, SetArrays


class CellAxis(ABC):
    """Indicators of which every person has exactly one: what the covariance of the cells of a table asks for."""

    @property
    @abstractmethod
    def decoder(self) -> FloatArray:
        """Weights of the marks in every indicator, indicators × marks (the whole last)."""

    @property
    @abstractmethod
    def given(self) -> FloatArray:
        """Mean products of two marks, given that an indicator is true: indicators × marks × marks."""


class Axis(ABC):
    """What one question at one level contributes to a table."""

    exclusive: bool
    """Whether every person has exactly one indicator."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of indicators."""

    @property
    @abstractmethod
    def decoder(self) -> FloatArray:
        """Weights of the marks in every indicator, indicators × marks (the whole last)."""

    @abstractmethod
    def crossed(self, other: Axis) -> FloatArray:
        """Weights of the marks in the product w_i·w′_i of what this and another level make of the same report."""

    @abstractmethod
    def cells(self, item: int | None) -> CellAxis:
        """Return indicators of which everybody has one: all of them, or of a set those of one item."""

    @property
    @abstractmethod
    def manipulation(self) -> float:
        """People that one forged report can count as."""

    @property
    def equal(self) -> FloatArray:
        """Shares to weigh levels by before anything is known."""
        return np.full(self.size, 1 / self.size)

    def decode(self, marks: FloatArray) -> FloatArray:
        """Return the unbiased shares of the indicators, the whole last, from the shares of marks (marks × columns)."""
        return np.concatenate([self.decoder @ marks, marks[-1:]])

    def squares(self, marks: FloatArray) -> FloatArray:
        """Return the mean square of every w_i, the whole last."""
        return np.concatenate([self.crossed(self) @ marks, marks[-1:]])

    @abstractmethod
    def expected(self, shares: FloatArray) -> FloatArray:
        """Return the shares of marks if these shares of the indicators (the whole last) are true."""

    @property
    def unexplained(self) -> FloatArray | None:
        """How errors of what the weights were made from move the shares, indicators × independent errors of size 1."""
        return None


class ExclusiveAxis(Axis, CellAxis):
    """A question of whose indicators every person has exactly one."""

    exclusive = True

    def cells(self, item: int | None) -> CellAxis:
        del item
        return self


class LabelAxis(ExclusiveAxis):
    """The labels of a choice: a report marks those that it supports."""

    def __init__(self, form: LabelArrays) -> None:
        self.form = form

    @property
    def size(self) -> int:
        return self.form.channel.size

    @cached_property
    def decoder(self) -> FloatArray:
        return self.form.shares(*_units(self.size))

    @property
    def _one_mark(self) -> bool:
        """Whether every report has exactly one mark."""
        return self.form.mark_codes(np.zeros(0, np.int64)) is not None

    def crossed(self, other: Axis) -> FloatArray:
        if other is self:
            return self.form.squares(*_units(self.size))
        mine, theirs = self.decoder, other.decoder
        if self._one_mark:
            return _of_one_mark(mine, theirs)
        alone = np.eye(self.size, self.size + 1, dtype=bool)
        alone[:, -1] = True
        if (mine[~alone] != 0).any() or (theirs[~alone] != 0).any():
            name = self.form.channel.mechanism
            raise EstimateError(f"tables of hidden levels are not known for {name}, whose labels are decoded together")
        (own, shift), (another, moved) = ((np.diag(each[:, :-1]), each[:, -1]) for each in (mine, theirs))
        product = np.diag(own * another + own * moved + another * shift)
        return np.concatenate([product, (shift * moved)[:, None]], axis=1)

    @cached_property
    def given(self) -> FloatArray:
        units, linear = np.eye(self.size), self.decoder[:, :-1]
        means = np.concatenate([self.form.expected_support(units), np.ones((1, self.size))])
        found = means.T[:, :, None] * means.T[:, None, :]
        for own, unit in zip(found, units, strict=True):
            # Weights and marks differ by a linear map, and so do their covariances.
            half = np.linalg.solve(linear, self.form.covariance(unit))
            own[:-1, :-1] += np.linalg.solve(linear, half.T).T
        return np.asarray(found)

    @property
    def manipulation(self) -> float:
        return float(self.form.channel.manipulation)

    def decode(self, marks: FloatArray) -> FloatArray:
        return np.concatenate([self.form.shares(marks[:-1], marks[-1]), marks[-1:]])

    def squares(self, marks: FloatArray) -> FloatArray:
        return np.concatenate([self.form.squares(marks[:-1], marks[-1]), marks[-1:]])

    def expected(self, shares: FloatArray) -> FloatArray:
        return np.concatenate([self.form.expected_support(shares[:-1], shares[-1]), shares[-1:]])


class ItemAxis(Axis):
    """The items of a set: a report marks those that it shows, and, where not every report tells, those it tells of."""

    exclusive = False

    def __init__(self, form: SetArrays) -> None:
        self.form = form

    @property
    def size(self) -> int:
        return self.form.channel.size

    @property
    def equal(self) -> FloatArray:
        """Every item has half of the people."""
        return np.full(self.size, 0.5)

    @cached_property
    def weights(self) -> FloatArray:
        """What a report that tells counts if it does not show an item, and if it does (columns)."""
        singles = np.arange(self.size)[:, None]
        found = np.broadcast_to(self.form.pattern_weights(singles, 1), (self.size, 2)) / self.form.telling(1)
        if not np.isfinite(found).all():
            raise EstimateError(f"some items of {self.form.channel.mechanism} are never told of: they have no table")
        return np.asarray(found)

    def _of_marks(self, absent: FloatArray, present: FloatArray) -> FloatArray:
        """Return weights of marks that count so much for an item that is told of, absent or present."""
        shown, told = np.diag(present - absent), absent
        if self.form.mark_count == self.size:
            return np.concatenate([shown, told[:, None]], axis=1)
        return np.concatenate([shown, np.diag(told), np.zeros((self.size, 1))], axis=1)

    @cached_property
    def decoder(self) -> FloatArray:
        return self._of_marks(*self.weights.T)

    def crossed(self, other: Axis) -> FloatArray:
        assert isinstance(other, ItemAxis)  # noqa: S101 - levels of one question
        return self._of_marks(*(self.weights * other.weights).T)

    @property
    def manipulation(self) -> float:
        return float(self.form.forged.max())

    @cached_property
    def chances(self) -> FloatArray:
        """How often reports that tell show an item that is absent, and one that is present (columns)."""
        singles = np.arange(self.size)[:, None]
        return np.stack([self.form.pattern_chances(singles, np.full(self.size, own))[:, 1] for own in (0.0, 1.0)], 1)

    def expected(self, shares: FloatArray) -> FloatArray:
        telling, (absent, present) = self.form.telling(1), self.chances.T[:, :, None]
        shown = telling * (absent * shares[-1] + (present - absent) * shares[:-1])
        told = () if self.form.mark_count == self.size else (np.broadcast_to(telling * shares[-1], shown.shape),)
        return np.concatenate([shown, *told, shares[-1:]])

    def cells(self, item: int | None) -> CellAxis:
        if item is None:
            raise EstimateError("items of a set are not exclusive: look at one item at a time")
        return BinaryAxis(self.weights[item], self.chances[item], self.form.telling(1))


@dataclass(frozen=True, eq=False)
class BinaryAxis(CellAxis):
    """People who have an item, and all others; marks are "shown" and "told of"."""

    weights: FloatArray
    chances: FloatArray
    telling: float

    @property
    def decoder(self) -> FloatArray:
        has = np.array([self.weights[1] - self.weights[0], self.weights[0], 0.0])
        return np.array([has, [0.0, 0.0, 1.0] - has])

    @property
    def given(self) -> FloatArray:
        found = []
        for shown in self.telling * self.chances[::-1]:
            told = self.telling
            found.append([[shown, shown, shown], [shown, told, told], [shown, told, 1.0]])
        return np.array(found)


def _units(size: int) -> tuple[FloatArray, FloatArray]:
    """Return every mark alone as a column, and the whole as the last: what shows the weights of a linear decoder."""
    return np.eye(size, size + 1), np.eye(size + 1)[-1]


def _of_one_mark(mine: FloatArray, theirs: FloatArray) -> FloatArray:
    """Return the weights of products where a report has exactly one mark, whose weight includes that of the whole."""
    own, another = (each[:, :-1] + each[:, -1:] for each in (mine, theirs))
    return np.concatenate([own * another, np.zeros((len(own), 1))], axis=1)
