"""Plan a choice of one label: the share of each label."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from pldp.errors import PlanError
from pldp.estimates import expected_reports, norm_sub
from pldp.mechanisms import Channel, names
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray, LabelArrays, label_arrays
from pldp.planning.kinds.kind import (
    NEARLY_ALL,
    Expected,
    Family,
    Given,
    Hidden,
    OneReport,
    PlannedKind,
    disproportion,
    earlier_rows,
    normalise,
    order_shares,
    unprotected_labels,
)
from pldp.survey import Choice

SEARCHED_BUDGETS: Final = 5
"""Different budgets of labels among which the worst shares are sought: the extreme ones, and some between."""


class PlannedChoice(PlannedKind[Choice]):
    """Shares that sum to 1; levels are decoded for the assumed shares, as estimates do for rough ones."""

    def shares(self, question: Choice, given: Given) -> FloatArray:
        """Return the shares of the labels; by default one of them has half of the people."""
        size = len(question.values)
        if given is None:
            return _one_label(size, _least_protected(question), 0.5)
        if isinstance(given, str):
            return np.full(size, 1 / size)
        return normalise(question, order_shares(question, question.values, given), size)

    def guess(self, question: Choice) -> str:
        """One label is common, and of labels with different budgets it is the least sensitive."""
        if len(question.values) == 2:
            return "half of the people have each label"
        least = f"{question.values[_least_protected(question)]!r}, the least protected label,"
        return f"{least if question.budgets else 'one label'} has half of the people, and the others share the rest"

    def earlier(self, question: Choice, entry: Mapping[str, Any]) -> Given:
        """Return the nearest shares that could be true."""
        rows = earlier_rows(question, entry)
        return dict(zip(rows, norm_sub(np.array(list(rows.values()))).tolist(), strict=True))

    def families(self, question: Choice) -> Sequence[Family]:
        """One label has any share, and the others share the rest, or one other has all of it.

        The variance of a share from one level grows with that share up to a point; the others matter through the
        weights of levels and through Σ f = 1. Labels with different budgets are tried in turn.
        """
        return [
            _family(question, label, others)
            for label in _typical_labels(question)
            for others in (None, *(other for other in _typical_labels(question, label) if other != label))
        ]

    def rows(self, question: Choice, shares: FloatArray) -> dict[str, float]:
        """Return the share of each label."""
        return dict(zip(question.values, shares.tolist(), strict=True))

    def one_report(self, question: Choice, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of each share, also where budgets differ between labels."""
        decoded = expected_reports(
            [_form(channel)], np.eye(1), np.ones(1), shares, visible=True, summed=not question.stages
        )
        variance = decoded.variance() * decoded.reports
        return OneReport(variance, float(variance.mean()), decoded.manipulation)

    def remarks(self, question: Choice) -> tuple[str, ...]:
        """Name labels without protection."""
        return unprotected_labels(question)

    def special(self, question: Choice) -> str | None:
        """Budgets of labels that are other fractions at other levels are special."""
        return disproportion(question)

    def rivals(self, question: Choice, channel: Channel) -> tuple[str, ...]:
        """Return the mechanisms with one budget for a channel with one."""
        return () if channel.per_value else names("labels", per_value=False)

    def hidden(self, question: Choice, levels: Hidden, shares: FloatArray) -> Expected:
        """Return what to expect of decoded shares."""
        if len(shares) > LARGEST_DENSE:
            raise PlanError(f"hidden levels can be planned for {LARGEST_DENSE:,} values at most, not {len(shares):,}")
        if (levels.reports <= 0).any():
            raise PlanError("level_mix must give every level some people where levels are hidden")
        forms, label = [_form(channel) for channel in levels.channels], label_arrays(levels.label).matrix()
        expect = partial(expected_reports, visible=False, summed=not question.stages)
        found = expect(forms, label, levels.mix, shares, differ=levels.differ, reports=levels.counted)
        return Expected.decoded(found, levels.people)


@lru_cache(maxsize=16)
def _form(channel: Channel) -> LabelArrays:
    """Return the array form of a channel, with what it has computed for other shares."""
    return label_arrays(channel)


def _one_label(size: int, label: int, share: float, other: int | None = None) -> FloatArray:
    """Return shares where one label has this share, and one other, or all others alike, the rest."""
    shares = np.full(size, (1 - share) / (size - 1)) if other is None else np.zeros(size)
    if other is not None:
        shares[other] = 1 - share
    shares[label] = share
    return shares


def _least_protected(question: Choice) -> int:
    """Return the place of the label with the largest budget, the first of them: sensitive answers are rare ones."""
    return int(np.argmax(question.promises(len(question.levels) - 1)))


def _typical_labels(question: Choice, besides: int | None = None) -> list[int]:
    """Return one label of every budget, or of some where they are many; others than this one where there are any."""
    budgets: dict[object, int] = {}
    for place in range(len(question.values)):
        if place != besides:
            own = tuple(
                each[place] for each in question.budgets
            )  # of every level; the same for all where there are none
            budgets.setdefault(own, place)
    places = [budgets[key] for key in sorted(budgets)]  # type: ignore[type-var] # tuples of numbers
    some = np.unique(np.linspace(0, len(places) - 1, SEARCHED_BUDGETS).round().astype(int))
    return [places[place] for place in some]


def _family(question: Choice, label: int, other: int | None) -> Family:
    size, values = len(question.values), question.values

    def words(share: float) -> str:
        ordered = (label, other) if other is None or share >= 0.5 else (other, label)
        named = [repr(values[place or 0]) for place in ordered] if question.budgets else ["one label", "one other"]
        part = max(share, 1 - share) if other is not None else share
        rest = "the others share the rest" if other is None else f"{named[1]} has the rest"
        if part < 1 - NEARLY_ALL:
            return f"nobody has {named[0]}, and the others share all people"
        if part > NEARLY_ALL:
            return f"{named[0]} has everybody"
        return f"{named[0]} has {100 * part:.0f} % of the people, and {rest}"

    return Family(lambda share: _one_label(size, label, share, other), words)
