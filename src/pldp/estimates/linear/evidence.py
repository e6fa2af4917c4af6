"""Counts of patterns by what reports show, and what undoes the labels of hidden levels.

A person of level τ and state x shows s and pattern c with the probability Λ(s|τ)·Q_τ(c|i, x). Where levels show, Λ is
the identity; where they are hidden, it is the law of labels, and for several questions the product over different
levels. With U = Λ⁻¹ a report counts

    W_τx(s, c) = U_τs·W_τ(c | x)      for "level τ and state x",  on average π_τx,
    V_τ(s, c)  = U_τs·Σ_x W_τ(c | x)  for level τ,                on average ρ_τ,

without bias whatever levels depend on. Where patterns are more than states (rows of bits), they tell about the level
as well: then W is the weighted inverse of the law of (s, c) as a whole.

A device draws one label for each level that it uses, whichever questions it is used for, so that answers at one level
show one label and tell no more about it than one does: Λ(s|τ) = Π G(s_l|l) over the different levels l of τ, and 0
where answers at one level show two labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from pldp.estimates.linear.mix import label_matrix
from pldp.estimates.linear.patterns import Patterns, invert
from pldp.estimates.results.consistency import add_reports, norm_sub
from pldp.mechanisms.arrays import FloatArray
from pldp.survey import Survey

if TYPE_CHECKING:
    from pldp.estimates.linear.known import Known

_ENTRIES: Final = 1 << 22  # numbers of one block of targets that are worked on at a time
_ROUNDING: Final = 1e-9  # how far from 1 is nothing but rounding
_SAYS_NOTHING: Final = 1e-12  # part of a report up to which no label that came speaks of a combination of levels

Levels = tuple[int, ...]
"""Place of the level, or of the label, of each question."""


@dataclass(frozen=True, eq=False)
class LabelChances:
    """Λ of one or several questions: `matrix`, shown × levels, both in the order of `combinations`.

    `visible` says that reports show their levels: then Λ is the identity.
    """

    combinations: tuple[Levels, ...]
    matrix: FloatArray
    visible: bool

    @property
    def members(self) -> FloatArray:
        """The share of the questions that have each level, levels × combinations."""
        places = np.array(self.combinations)
        return np.array([(places == level).mean(axis=1) for level in range(places.max() + 1)])


def label_chances(survey: Survey, names: Sequence[str]) -> LabelChances:
    """Return how often reports that answer these questions show each combination of levels or of labels."""
    levels = [len(survey.question(name).levels) for name in names]
    every = tuple(product(*map(range, levels)))
    label = label_matrix(survey.level_channel, max(levels))
    matrix = np.array([[_chance(label, shown, drawn) for drawn in every] for shown in every])
    return LabelChances(every, matrix, visible=np.array_equal(label, np.eye(len(label))))


def _chance(label: FloatArray, labels: Levels, levels: Levels) -> float:
    drawn = set(zip(labels, levels, strict=True))
    if len(drawn) > len(set(levels)):  # two labels of one level
        return 0.0
    return prod(float(label[pair]) for pair in drawn)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What reports say about targets.

    `counts` are shown × targets × patterns; `chance` is Λ, shown × levels; `visible` says that a report shows its
    level, so that how many show each is given. Of `exclusive` targets every person has exactly one. `likely_states`
    are shares of the states of each target that are likely beforehand (targets × states), where those that are
    estimated would be too rough, or what makes them of the shares of the last one. `likely_cells` (shown × targets ×
    patterns) are shares of the reports that are likely beforehand, where no law of states stands behind patterns: those
    of a fitted distribution of a number. `known` are functionals of reports whose mean is known.
    """

    counts: FloatArray
    patterns: Patterns
    chance: FloatArray
    visible: bool
    exclusive: bool = True
    likely_states: FloatArray | Callable[[FloatArray], FloatArray] | None = None
    likely_cells: FloatArray | None = None
    known: tuple[Known, ...] = ()

    @property
    def targets(self) -> int:
        """Number of targets."""
        return int(self.counts.shape[1])

    @cached_property
    def reports(self) -> float:
        """Number of reports."""
        return float(self.counts.sum(axis=(0, 2)).max())

    @cached_property
    def shares(self) -> FloatArray:
        """The share of the reports with every (shown, pattern)."""
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=(0, 2)), 1)[None, :, None])

    @cached_property
    def shown(self) -> FloatArray:
        """The share of the reports that show each level or label."""
        return np.asarray(self.shares.sum(axis=2).mean(axis=1))

    @cached_property
    def undo(self) -> FloatArray:
        """U = Λ⁻¹, levels × shown."""
        return np.asarray(np.linalg.inv(self.chance))

    @cached_property
    def levels(self) -> list[int]:
        """The levels (or combinations of levels) that the reports say anything about."""
        came = self.shown > 0
        return np.flatnonzero(np.abs(self.undo[:, came]).max(axis=1) > _SAYS_NOTHING).tolist()

    def blocks(self) -> Iterator[slice]:
        """Yield targets some at a time: tables of all of them may be large."""
        states = max(self.patterns.states - 1, 1)
        step = max(1, _ENTRIES // (len(self.levels) * states * self.counts.shape[0] * self.counts.shape[2]))
        for start in range(0, self.targets, step):
            yield slice(start, min(start + step, self.targets))

    def of_blocks(self, work: Callable[[slice], FloatArray]) -> FloatArray:
        """Return what comes of all blocks of targets, one after the other."""
        return np.concatenate([work(block) for block in self.blocks()])

    def flat_shares(self, block: slice) -> FloatArray:
        """Return the shares of (shown, pattern) of some targets, targets × cells."""
        return by_target(self.shares[:, block])

    @cached_property
    def _joint(self) -> FloatArray | None:
        """W of (label, pattern) as a whole, where patterns say more than states: (targets or 1) × levels × states × ….

        Exclusive targets must be alike, others have a prior each.
        """
        law = self.patterns.law
        if self.visible or law is None or law.shape[3] <= law.shape[2]:
            return None
        prior = self.likely_states
        if self.exclusive:
            others = law.shape[2] - 1
            prior = np.array([[(1 - 1 / self.targets) / others] * others + [1 / self.targets]])
        if not isinstance(prior, np.ndarray) or (self.exclusive and law.shape[1] > 1):
            return None
        mix = norm_sub(self.undo @ self.shown) + 1e-3
        mixture = (mix / mix.sum())[:, None] * prior[:, None]  # of levels and states, the same states at every level
        both = np.einsum("st,tixc->itxsc", self.chance, law)
        flat = both.reshape(len(both), mixture[0].size, -1)
        found = invert(flat, mixture.reshape(len(mixture), -1))
        return found.reshape(len(found), *both.shape[1:])

    def weights(self, block: slice) -> tuple[FloatArray, FloatArray]:
        """Return W (targets × levels × states but the first × cells) and V (targets × levels × cells).

        The first state is what the others leave: what it counts follows from them. A number has one state.
        """
        if self._joint is None:
            patterns, undo = self.patterns.chosen(self.levels, block), self.undo[self.levels]
            own = np.einsum("ts,txic->itxsc", undo, patterns.weights[:, self.patterns.states > 1 :])
            whole = np.einsum("ts,tic->itsc", undo, patterns.whole)
        else:
            every = self._joint[block if len(self._joint) > 1 else slice(None), self.levels]
            own, whole = every[:, :, 1:], every.sum(axis=2)
        flat = own.reshape(*own.shape[:3], -1), whole.reshape(*whole.shape[:2], -1)
        first, second = (np.broadcast_to(each, (block.stop - block.start, *each.shape[1:])) for each in flat)
        return first, second

    def expected(self, block: slice, states: FloatArray, mix: FloatArray) -> FloatArray:
        """Return the shares of (shown, pattern), targets × cells, if these are the shares of states and levels.

        `states` are targets × states, the same at all levels. Without a law they are those that are likely, or came.
        """
        law = self.patterns.chosen(self.levels, block).law
        if law is None:
            return self.flat_shares(block) if self.likely_cells is None else by_target(self.likely_cells[:, block])
        by_level = np.einsum("tixc,ix->tic", law, states[block])
        return by_target(np.einsum("st,tic->sic", self.chance[:, self.levels] * mix, by_level))

    @cached_property
    def joint(self) -> FloatArray:
        """π̂: the share of people of each level and state, targets × levels × states but the first; unbiased."""
        return self.of_blocks(lambda block: _mean(self.weights(block)[0], self.flat_shares(block)))

    @cached_property
    def mixes(self) -> FloatArray:
        """ρ̂: the share of people of each level as the reports about each target tell, targets × levels."""
        return self.of_blocks(lambda block: _mean(self.weights(block)[1], self.flat_shares(block)))

    @cached_property
    def one_mix(self) -> bool:
        """Whether every report counts 1 for the levels together, whatever it shows: then all targets have one ρ̂."""
        return self._joint is None and bool(np.abs(self.patterns.whole - 1).max() < _ROUNDING)

    @cached_property
    def mix(self) -> FloatArray:
        """The share of people of each level, over all targets; unbiased."""
        return np.asarray(self.mixes.mean(axis=0))

    @cached_property
    def possible_mix(self) -> FloatArray:
        """A mix that could be true, of the levels that reports say anything about."""
        return norm_sub(self.mix)

    @property
    def level_chances(self) -> FloatArray:
        """Λ(s|τ)ρ_τ at the possible mix: how often reports come from each level and show s, shown × levels."""
        return np.asarray(self.chance[:, self.levels] * self.possible_mix)

    def possible(self, shares: FloatArray) -> FloatArray:
        """Return shares of states (targets × states) that could be true, none impossible, near to these estimates.

        `shares` are targets × states but the first. Where no law stands behind states they are means, and stay.
        """
        if self.patterns.law is None:
            return shares
        if callable(self.likely_states):
            return self.likely_states(shares[:, -1])
        if self.likely_states is not None:
            return self.likely_states
        if self.exclusive and self.targets > 1 and shares.shape[1] == 1:
            last = add_reports(shares[:, 0], max(self.reports, 2.0))
            return np.stack([1 - last, last], axis=1)
        return self.inside(shares)

    def inside(self, shares: FloatArray) -> FloatArray:
        """Return shares of states (targets × states) that are near to these estimates of all but the first."""
        least = 1 / max(self.reports, 2.0)
        inside = np.clip(shares, least, 1 - least)
        first = np.maximum(1 - inside.sum(axis=1, keepdims=True), least)
        every = np.concatenate([first, inside], axis=1)
        return np.asarray(every / every.sum(axis=1, keepdims=True))


def _mean(tables: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the mean of tables (targets × … × cells) over the cells of each target."""
    flat = tables.reshape(len(tables), -1, tables.shape[-1])
    return np.asarray((flat @ shares[:, :, None]).reshape(tables.shape[:-1]))


def by_target(table: FloatArray) -> FloatArray:
    """Turn shown × targets × patterns into targets × cells."""
    return np.swapaxes(table, 0, 1).reshape(table.shape[1], -1)


def proportions(states: FloatArray) -> FloatArray:
    """Return the shares of the states but the last among people of whom that is not true."""
    others = states[:, :-1]
    return np.asarray(others / np.maximum(others.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
