"""Both bounds of one report of known channels among others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.errors import ShuffleError
from pldp.mechanisms import Channel
from pldp.shuffling.accounting import epsilon_above
from pldp.shuffling.binary import Pair, epsilon_between
from pldp.shuffling.crowd import Crowd, Others, crowd_of, fewest
from pldp.shuffling.events import View, epsilon_below
from pldp.shuffling.laws import Law, by_epsilon, dominated_law, law_in_report, laws_of, matrix_of, product
from pldp.shuffling.pairs import cover_of, epsilon_in_pairs
from pldp.shuffling.views import joined_view, labelled, views_of

FloatArray = npt.NDArray[np.float64]

CUT = 1e-4
"""Numbers of reports are cut off where they are rarer than this part of δ."""

SMALLEST_DELTA = 1e-12


class Bounds(NamedTuple):
    """ε of one report towards an observer of the batch, from both sides; `low` is 0 where no event is known."""

    high: float
    low: float


@dataclass(frozen=True)
class Group:
    """Others at one level: so many, with these channels (one per question), and how often each label comes."""

    people: int
    channels: tuple[Channel, ...]
    labels: tuple[float, ...] = (1.0,)


def amplified(own: Group, others: Sequence[Group], delta: float, *, asked: float = 1.0) -> Bounds:
    """Return both bounds of the report of a person with `own` channels and labels, hidden among the others.

    `own.people` is not used. Every other person is `asked` with this probability, on their own; the lower bound takes
    as many as are asked on average. Everybody's outputs have one form.

    >>> from pldp.mechanisms import build
    >>> channel = (build("krr", 16, 2_000_000),)
    >>> bounds = amplified(Group(0, channel), [Group(9_999, channel)], 1e-6)
    >>> round(bounds.high, 4), round(bounds.low, 4)
    (0.0675, 0.0675)
    """
    if not SMALLEST_DELTA <= delta < 1:
        raise ShuffleError(f"delta must be at least {SMALLEST_DELTA:g} and below 1, not {delta:g}")
    most = sum(channel.epsilon for channel in own.channels)
    if not math.isfinite(most):
        raise ShuffleError("some answers are not protected at this level, and a crowd does not hide what is not")
    if _two_outputs(own) and len(own.labels) == 1 and all(group.channels == own.channels for group in others):
        return _exact(own.channels[0], sum(group.people for group in others), delta, most, asked)
    high = min(_above(own, others, delta, most, asked), most)
    return Bounds(high, min(_below(own, others, delta, high, asked), high))


def _two_outputs(own: Group) -> bool:
    """Tell whether there are two values and two outputs only."""
    (channel, *more) = own.channels
    values = {"labels": channel.size, "sets": 1 << min(channel.size, 8)}.get(channel.domain, 0)
    return not more and values == 2 and channel.form.count == 2


def _exact(channel: Channel, others: int, delta: float, most: float, asked: float) -> Bounds:
    """The truth about two values and two outputs; among as many as are asked almost surely, and on average."""
    least, mean = (
        (others, others) if asked == 1 else (fewest([Others(others, asked)], delta * CUT), round(others * asked))
    )
    allowed = delta if asked == 1 else delta * (1 - CUT)
    output = next(iter(channel.outputs()))
    one, two = (float(channel.probability(output, value)) for value in (0, 1))

    def bounds(people: int, at: float) -> Bounds:
        if people < 1:
            return Bounds(most, most)
        found = [epsilon_between(pair, people, at, most) for pair in (Pair(one, two), Pair(two, one))]
        return Bounds(max(each.high for each in found), max(each.low for each in found))

    high = bounds(least, allowed)
    return high if least == mean else Bounds(high.high, min(high.high, bounds(mean, delta).low))


def _above(own: Group, others: Sequence[Group], delta: float, most: float, asked: float) -> float:
    """The best of several bounds, each of which gives an observer something for nothing.

    The reports of other levels: those of one's own hide the report, whatever their labels. The person's own label: all
    with that label hide the report. Or nothing, where all levels share a blanket, labels included.
    """
    laws = _laws(own.channels)
    alike = [group for group in others if group.channels == own.channels]
    hiding = _Hiding(own, delta, most, asked)
    choices = [max(hiding.together(law, alike, [law.blanket] * len(alike)) for law in laws)]
    people = sum(group.people for group in alike)
    if _two_outputs(own):
        choices.append(_exact(own.channels[0], people, delta, most, asked).high)
    cover = cover_of(own.channels[0]) if len(own.channels) == 1 else None
    if cover:
        choices.append(epsilon_in_pairs(cover, people, delta, most, asked=asked, cut=CUT))
    if len(alike) < len(others):
        common = _common(own, others)
        if common:
            choices.append(max(hiding.by_label(law, others, chances) for law, chances in common))
        if common and len(own.labels) > 1:
            shared = [_with_labels(law, own, others, chances) for law, chances in common]
            choices.append(max(hiding.together(law, others, chances) for law, chances in shared))
    return min(choices)


class _Hiding(NamedTuple):
    """A person's report at one δ."""

    own: Group
    delta: float
    most: float
    asked: float

    def together(self, law: Law, others: Sequence[Group], chances: Sequence[float]) -> float:
        """Bound ε among all of them."""
        return self._among(law, [(1.0, [1.0] * len(others))], others, chances)

    def by_label(self, law: Law, others: Sequence[Group], chances: Sequence[float]) -> float:
        """Bound ε among those who show the person's label, whichever it is."""
        shown = [(part, [group.labels[place] for group in others]) for place, part in enumerate(self.own.labels)]
        return self._among(law, shown, others, chances)

    def _among(
        self,
        law: Law,
        ways: Sequence[tuple[float, Sequence[float]]],
        others: Sequence[Group],
        chances: Sequence[float],
    ) -> float:
        crowds: list[tuple[float, Crowd]] = []
        for part, shown in ways:
            people = [
                Others(group.people, chance * (1 - law.slack) * self.asked * own)
                for group, chance, own in zip(others, chances, shown, strict=True)
                if group.people > 0 and chance * own > 0
            ]
            if not people:
                return self.most
            crowds.append((part, crowd_of(people, self.delta * CUT)))
        return epsilon_above(law, crowds, self.delta, self.most)


def _with_labels(law: Law, own: Group, others: Sequence[Group], chances: Sequence[float]) -> tuple[Law, list[float]]:
    """Return the law of outputs and labels, under a blanket of labels that is near what people show on average."""
    shown = np.array([group.labels for group in others])
    weights = np.array([group.people * chance for group, chance in zip(others, chances, strict=True)])
    blanket = weights @ shown
    blanket /= blanket.sum()
    parts = [
        chance * float(np.min(labels[blanket > 0] / blanket[blanket > 0]))
        for labels, chance in zip(shown, chances, strict=True)
    ]
    ratio = np.array(own.labels) / blanket
    atoms = (np.outer(blanket, law.mass), np.outer(ratio, law.one), np.outer(ratio, law.two))
    mass, one, two = (each.ravel() for each in atoms)
    return replace(law, mass=mass, one=one, two=two), parts


def _laws(channels: Sequence[Channel]) -> list[Law]:
    """Laws of all questions together; where there are too many atoms, the law that knows ε only."""
    if len(channels) == 1:
        return list(laws_of(channels[0]))
    parts = [law_in_report(channel) for channel in channels]
    joined = None if any(law.shown_one.size for law in parts) else product(parts)
    return [by_epsilon(sum(channel.epsilon for channel in channels)) if joined is None else joined]


def _common(own: Group, others: Sequence[Group]) -> list[tuple[Law, list[float]]]:
    """Laws under a blanket that all levels share, with its part of each level's reports; none where there is none."""
    laws = _laws(own.channels)
    if all(law.common for law in laws):
        parts = {id(group): _laws(group.channels)[0].blanket for group in others}
        return [(law, [parts[id(group)] for group in others]) for law in laws]
    if len(own.channels) > 1 or own.channels[0].contrasts():
        return []
    matrix, *matrices = (matrix_of(group.channels[0]) for group in (own, *others))
    if matrix is None or any(each is None or each.shape != matrix.shape for each in matrices):
        return []
    least = [each.min(axis=1) for each in matrices if each is not None]
    blanket = sum(group.people * low for group, low in zip(others, least, strict=True))
    total = np.asarray(blanket) / float(np.sum(blanket))
    hidden = total > 0
    chances = [float(np.min(low[hidden] / total[hidden])) for low in least]
    return [(dominated_law(matrix, total), chances)]


def _below(own: Group, others: Sequence[Group], delta: float, guess: float, asked: float) -> float:
    """The best event over a few views, looked for again near what it gave."""
    counted = [(round(group.people * asked), group) for group in others if round(group.people * asked) > 0]
    labels = [np.array(group.labels) for _, group in counted]
    views = _views(own, counted)
    if len(own.labels) > 1:
        views = [labelled(view, np.array(own.labels), labels) for view in views]
    if not views:
        return 0.0
    found = [epsilon_below(view, delta, guess) for view in views]
    best = max(found)
    return max(best, epsilon_below(views[found.index(best)], delta, best)) if best > 0 else 0.0


def _views(own: Group, counted: Sequence[tuple[int, Group]]) -> list[View]:
    """Views of all questions together: the first of each, then the second, and so on."""
    each = [
        list(views_of(channel, [(people, group.channels[place]) for people, group in counted]))
        for place, channel in enumerate(own.channels)
    ]
    if not all(each):
        return []
    joined = [joined_view([views[turn % len(views)] for views in each]) for turn in range(max(map(len, each)))]
    return [view for view in joined if view is not None]
