"""What a question brings to a table: its margin, and what its reports show of each of its values.

A *value* of a choice is a label, of a set an item, of a number a range. Of each a report shows one of a few patterns
(`pldp.estimates.linear.patterns`), made of the marks that tallies of several questions count. Tables of shares are
*augmented*: behind the values of every question stands everybody, the whole, so that one array holds the shares of all
combinations of fewer questions as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.likelihood.profile import ShareProfile
from pldp.estimates.linear.patterns import Patterns, as_patterns, item_patterns, label_patterns, label_states
from pldp.estimates.results.facts import Facts, Homogeneity, Note
from pldp.mechanisms.arrays import FloatArray, LabelArrays, SetArrays
from pldp.records import Record


@dataclass(frozen=True, eq=False, repr=False)
class Margin(Record):
    """A question on its own: `shares` of its `values`, those that could be true (`possible`), its reports and test.

    Where it is `exclusive`, every person has exactly one of the values; otherwise any number of them.
    """

    question: str
    values: tuple[str, ...]
    shares: FloatArray
    possible: FloatArray
    reports: int
    exclusive: bool = True
    notes: tuple[Note, ...] = ()
    homogeneity: Homogeneity | None = None

    @classmethod
    def of(
        cls, own: Facts, values: tuple[str, ...], shares: FloatArray, possible: FloatArray, *, exclusive: bool = True
    ) -> Margin:
        """Take the shares of a result."""
        return cls(own.question, values, shares, possible, own.reports, exclusive, own.notes, own.homogeneity)

    def consistent(self) -> FloatArray:
        """Return the shares that could be true."""
        return self.possible.copy()


@dataclass(frozen=True, eq=False, kw_only=True)
class Side(ABC):
    """One question of a table."""

    margin: Margin

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.margin.values)

    @property
    @abstractmethod
    def patterns(self) -> Patterns:
        """The law of what reports show of each value, and what it counts, at all levels; every report is 1 in all."""

    @abstractmethod
    def read(self, marks: FloatArray, level: int) -> FloatArray:
        """Return counts of patterns (values × patterns × …) from those of marks (marks and the whole × …)."""

    @abstractmethod
    def given(self, level: int) -> FloatArray:
        """Return the mean products of two `functionals`, given each value: values × functionals × functionals.

        Functionals are those of all values, one value after the other. Only where values are exclusive.
        """

    @property
    def functionals(self) -> FloatArray | None:
        """What patterns count in the functionals of each value, values × functionals × patterns; `None` if alike."""
        return None

    def states(self, augmented: FloatArray) -> FloatArray:
        """Return the shares of states, values × states × …, given those of values (values and the whole × …)."""
        return np.stack([augmented[-1:] - augmented[:-1], augmented[:-1]], axis=1)

    @property
    def noise(self) -> FloatArray:
        """The mean square of what a report counts for a value, at each level, before anything is known of shares."""
        equal = np.full(self.size, 1 / self.size if self.margin.exclusive else 0.5)
        law, states = np.asarray(self.patterns.law), self.states(np.append(equal, 1.0))
        chances = np.einsum("tixc,ix->tic", law, states)
        return np.asarray((chances * self.patterns.weights[:, -1] ** 2).sum(axis=2).mean(axis=1))

    def assumptions(self) -> tuple[str, ...]:
        """Return what its shares assume to be unbiased."""
        return ()

    def reach(self, *, apart: bool) -> tuple[ShareProfile, ...]:
        """Return where its shares can be, if that is farther than their errors say.

        With `apart` people of every level may have a distribution of their own.
        """
        del apart
        return ()

    def items(self) -> list[tuple[tuple[str, ...], Side]]:
        """Return the sides of which every person has exactly one value, by their names: itself, or one per item."""
        return [((), self)]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelSide(Side):
    """The labels of a choice: a report marks those that it supports."""

    forms: Sequence[LabelArrays]

    @cached_property
    def patterns(self) -> Patterns:
        found = label_patterns(self.forms)
        law = np.asarray(found.law)
        if law.shape[2] > 2:
            # Labels of tiers: another label is of any tier, as likely as the question alone says.
            states = label_states(self.forms, self.margin.possible)[:, None, :-1]
            others = states / np.maximum(states.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
            law = np.concatenate([others @ law[:, :, :-1], law[:, :, -1:]], axis=2)
        return replace(found, law=law)

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        counts = self.forms[level].pattern_counts(marks[:-1], marks[-1:])
        return np.moveaxis(as_patterns(counts, self.patterns.weights.shape[-1]), -1, 1)

    def given(self, level: int) -> FloatArray:
        read = self.read(np.eye(self.size + 1), level).reshape(-1, self.size + 1)
        return np.asarray(read @ self.marks(level) @ read.T)

    def marks(self, level: int) -> FloatArray:
        """Return the mean products of two marks (the whole last), given each label: labels × marks × marks."""
        form, size = self.forms[level], self.size
        units = np.eye(size)
        means = np.concatenate([form.expected_support(units), np.ones((1, size))])
        products = means.T[:, :, None] * means.T[:, None, :]
        # Unbiased shares and marks differ by a linear map, and so do their covariances.
        marks = np.linalg.inv(form.shares(np.eye(size, size + 1), np.eye(size + 1)[-1])[:, :-1])
        products[:, :-1, :-1] += [marks @ form.covariance(unit) @ marks.T for unit in units]
        return np.asarray(products)


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemSide(Side):
    """The items of a set: a report marks those that it shows, and, where not every report tells, those it tells of."""

    forms: Sequence[SetArrays]

    @cached_property
    def patterns(self) -> Patterns:
        without = np.tile([1.0, 0.0], (self.size, 1))  # a report that does not tell counts as one without the item
        found = item_patterns(self.forms, np.arange(self.size)[:, None], without)
        if not np.isfinite(found.weights).all():
            raise EstimateError(f"some items of {self.margin.question!r} are never told of: they have no table")
        return found

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        del level
        shown, whole = marks[: self.size], marks[-1:]
        told = marks[self.size : -1] if len(marks) > self.size + 1 else whole + 0 * shown
        return np.stack([told - shown, shown, whole - told][: self.patterns.whole.shape[2]], axis=1)

    def given(self, level: int) -> FloatArray:
        del level
        raise EstimateError("items of a set are not exclusive: look at one item at a time")

    def items(self) -> list[tuple[tuple[str, ...], Side]]:
        return [((name,), self._item(place)) for place, name in enumerate(self.margin.values)]

    def _item(self, place: int) -> OneItem:
        share, name = float(np.clip(self.margin.shares[place], 0, 1)), self.margin.values[place]
        both = np.array([share, 1 - share])
        margin = replace(self.margin, values=(name, f"not {name}"), shares=both, possible=both, exclusive=True)
        return OneItem(margin=margin, item=self, place=place)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneItem(Side):
    """People who have one item of a set, and all others: both have the same patterns, of which a report shows one."""

    item: ItemSide
    place: int

    @cached_property
    def patterns(self) -> Patterns:
        every = self.item.patterns
        law, weights = np.asarray(every.law)[:, self.place], every.weights[:, :, self.place]
        return Patterns.weighted(np.stack([law, law[:, ::-1]], axis=1), np.stack([weights, weights[:, ::-1]], axis=2))

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        own = self.item.read(marks, level)[self.place]
        return np.broadcast_to(own, (2, *own.shape))

    def given(self, level: int) -> FloatArray:
        law = np.asarray(self.patterns.law)[level, 1]
        return np.array([np.kron(np.ones((2, 2)), np.diag(chances)) for chances in law])
