"""What a question brings to a table: its margin, and what its reports show of each of its values.

A *value* of a choice is a label, of a set an item, of a number a range. Of each a report shows one of a few patterns
(`pldp.estimates.linear.patterns`), made of the marks that tallies of several questions count. Tables of shares are
*augmented*: behind the values of every question stands everybody, the whole, so that one array holds the shares of all
combinations of fewer questions as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.linear.patterns import Patterns, as_patterns, label_patterns, label_states
from pldp.estimates.results.facts import Homogeneity, Note
from pldp.mechanisms.arrays import FloatArray, LabelArrays, SetArrays
from pldp.records import Record

if TYPE_CHECKING:
    from pldp.estimates.kinds.ranges import RangeReach


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

    def consistent(self) -> FloatArray:
        """Return the shares that could be true."""
        return self.possible.copy()


@dataclass(frozen=True, eq=False, kw_only=True)
class Side(ABC):
    """One question of a table; `beside` is its margin pooled by size, where that was computed along with it."""

    margin: Margin
    beside: Margin | None = None

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
    def equal(self) -> FloatArray:
        """Shares of the values before anything is known, and the whole."""
        return np.append(np.full(self.size, 1 / self.size if self.margin.exclusive else 0.5), 1.0)

    @property
    def noise(self) -> FloatArray:
        """The mean square of what a report counts for a value, at each level."""
        law, states = np.asarray(self.patterns.law), self.states(self.equal)
        law = np.broadcast_to(law, (len(law), self.size, *law.shape[2:]))
        chances = np.einsum("tixc,ix->tic", law, states)
        return np.asarray((chances * self.patterns.weights[:, -1] ** 2).sum(axis=2).mean(axis=1))

    def for_worth(self, worth: Sequence[float]) -> Side:
        """Return the side for so many noiseless reports of each level."""
        del worth
        return self

    def assumptions(self) -> tuple[str, ...]:
        """Return what its shares assume to be unbiased."""
        return ()

    def by_size(self) -> Side | None:
        """Return the same question with its levels pooled by size, where that was computed along with it."""
        return None if self.beside is None else replace(self, margin=self.beside, beside=None)

    def reach(self, *, apart: bool) -> RangeReach | None:
        """Return where its shares can be, if that is farther than their errors say.

        With `apart` people of every level may have a distribution of their own.
        """
        del apart
        return None

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
        assert found.law is not None  # noqa: S101 - labels have one
        law, ones = found.law, np.ones_like(found.whole)
        if law.shape[2] > 2:
            # Labels of tiers: another label is of any tier, as likely as the question alone says.
            states = label_states(self.forms, self.margin.possible)[:, None, :-1]
            others = states / np.maximum(states.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
            law = np.concatenate([others @ law[:, :, :-1], law[:, :, -1:]], axis=2)
        return Patterns(law, found.weights, ones)

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        counts = self.forms[level].pattern_counts(marks[:-1], marks[-1:])
        return np.moveaxis(as_patterns(counts, self.patterns.weights.shape[-1]), -1, 1)

    def states(self, augmented: FloatArray) -> FloatArray:
        return np.stack([augmented[-1:] - augmented[:-1], augmented[:-1]], axis=1)

    def given(self, level: int) -> FloatArray:
        read = self.read(np.eye(self.size + 1), level).reshape(-1, self.size + 1)
        return np.asarray(read @ self.marks(level) @ read.T)

    def marks(self, level: int) -> FloatArray:
        """Return the mean products of two marks (the whole last), given each label: labels × marks × marks."""
        form, size = self.forms[level], self.size
        units = np.eye(size)
        means = np.concatenate([form.expected_support(units), np.ones((1, size))])
        products = means.T[:, :, None] * means.T[:, None, :]
        linear = form.shares(np.eye(size, size + 1), np.eye(size + 1)[-1])[:, :-1]
        for own, unit in zip(products, units, strict=True):
            # Unbiased shares and marks differ by a linear map, and so do their covariances.
            half = np.linalg.solve(linear, form.covariance(unit))
            own[:-1, :-1] += np.linalg.solve(linear, half.T).T
        return np.asarray(products)


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemSide(Side):
    """The items of a set: a report marks those that it shows, and, where not every report tells, those it tells of."""

    forms: Sequence[SetArrays]

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray]:
        law, weights = zip(*map(_item_patterns, self.forms), strict=True)
        return np.array(law), np.array(weights)

    @cached_property
    def patterns(self) -> Patterns:
        return certain(*self._parts)

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        del level
        shown, whole = marks[: self.size], marks[-1:]
        told = marks[self.size : -1] if len(marks) > self.size + 1 else whole
        silent = [] if told is whole else [whole - told]
        return np.stack([told - shown, shown, *silent], axis=1)

    def given(self, level: int) -> FloatArray:
        del level
        raise EstimateError("items of a set are not exclusive: look at one item at a time")

    def reach(self, *, apart: bool) -> RangeReach | None:
        """Return where its shares can be, if that is farther than their errors say.

        With `apart` people of every level may have a distribution of their own.
        """
        del apart
        return None

    def items(self) -> list[tuple[tuple[str, ...], Side]]:
        return [((name,), self._item(place)) for place, name in enumerate(self.margin.values)]

    def _item(self, place: int) -> Side:
        share, name = float(np.clip(self.margin.shares[place], 0, 1)), self.margin.values[place]
        both = np.array([share, 1 - share])
        margin = replace(self.margin, values=(name, f"not {name}"), shares=both, possible=both, exclusive=True)
        law, weights = (each[:, place] for each in self._parts)
        return OneItem(
            margin=margin, law=law, weights=weights, of_item=lambda marks, level: self.read(marks, level)[place]
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class OneItem(Side):
    """People who have an item, and all others: `law` is levels × states × patterns, `weights` levels × patterns."""

    law: FloatArray
    weights: FloatArray
    of_item: Callable[[FloatArray, int], FloatArray]

    @cached_property
    def patterns(self) -> Patterns:
        law = np.stack([self.law, self.law[:, ::-1]], axis=1)
        return certain(law, np.stack([self.weights, 1 - self.weights], axis=1))

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        own = self.of_item(marks, level)
        return np.broadcast_to(own, (2, *own.shape))

    def given(self, level: int) -> FloatArray:
        """Both values have the same patterns, of which a report shows one."""
        return np.array([np.kron(np.ones((2, 2)), np.diag(chances)) for chances in self.law[level][::-1]])


def certain(law: FloatArray, weights: FloatArray) -> Patterns:
    """Return patterns of values that a person has or has not, of whom every report is one, from weights of the values.

    `law` is levels × values × 2 × patterns, `weights` levels × values × patterns.
    """
    return Patterns(law, np.stack([1 - weights, weights], axis=1), np.ones((len(law), 1, law.shape[3])))


def _item_patterns(form: SetArrays) -> tuple[FloatArray, FloatArray]:
    """Return the law of "not shown, shown" (and of not telling), and what each counts for having the item."""
    size, telling = form.channel.size, form.telling(1)
    singles = np.arange(size)[:, None]
    weights = np.broadcast_to(form.pattern_weights(singles, 1), (size, 2)) / telling
    if not np.isfinite(weights).all():
        raise EstimateError(f"some items of {form.channel.mechanism} are never told of: they have no table")
    law = np.stack([form.pattern_chances(singles, np.full(size, own)) for own in (0.0, 1.0)], axis=1) * telling
    if form.mark_count == size:
        return law, weights
    silent = np.full((size, 2, 1), 1 - telling)
    return np.concatenate([law, silent], axis=2), np.concatenate([weights, np.zeros((size, 1))], axis=1)


def possible_shares(shares: FloatArray) -> FloatArray:
    """Return shares of items that could be true: each between 0 and 1."""
    return np.clip(shares, 0.0, 1.0)


def refuse_ranges(name: str, kind: str, edges: Sequence[float] | None) -> None:
    """Refuse edges of ranges for what is no number."""
    if edges is not None:
        raise EstimateError(f"ranges are for numbers; question {name!r} is of kind {kind}")
