"""A choice of any number of labels."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final

from pldp.budgets import Level, compose
from pldp.errors import SurveyError
from pldp.mechanisms import (
    Channel,
    Domain,
    Micro,
    SetChannel,
    SetLimits,
    build_whole_set,
    epsilon_text,
    hideable,
    hideable_whole_sets,
    planned_share,
    summed_variances,
)
from pldp.survey.labels import BUDGET_KEYS, LabelQuestion, read_labels
from pldp.survey.question import Budgets, Entry, Schema, ref, table_of
from pldp.survey.reading import check_distinct, check_known, fail
from pldp.survey.sharing import Form
from pldp.survey.sides import SIDE_KEYS, SPELLED, Sides, read_side_parts, read_sides

ITEM: Final = "item"
SET: Final = "set"

_DECIDES: Final = BUDGET_KEYS | {*SIDE_KEYS, SPELLED, "mechanism"}
"""Keys with which a file does not leave it open what a budget protects."""


@dataclass(frozen=True, repr=False)
class Choices(LabelQuestion):
    """A question that is answered with a set of labels.

    A level's ε protects each label, ticked or not (`budget` is `item`), or the whole set: no report tells any two sets
    apart by more (`set`). `at_most` is the most labels that may be ticked, where there is a limit. `sides` has for each
    level and label what a report may tell for "ticked" and for "not ticked", where these differ; the budget of a label
    is then the larger one.
    """

    channels: tuple[SetChannel, ...]
    budget: str = field(default=ITEM, kw_only=True)
    at_most: int | None = field(default=None, kw_only=True)
    sides: tuple[Sides, ...] = field(default=(), kw_only=True)
    exclusive: tuple[str, ...] = field(default=(), kw_only=True)  #: Labels that no other label can be ticked with.

    kind: ClassVar[str] = "choices"
    domain: ClassVar[Domain] = "sets"

    keys: ClassVar[Mapping[str, Schema]] = {
        **LabelQuestion.keys,
        "budget": {
            "enum": [ITEM, SET],
            "description": "what a level's ε protects: each label by itself (the default), or the whole set of labels",
        },
        "ticked": table_of("fraction", "part of the level's ε that a report may tell for some labels' being ticked"),
        "unticked": table_of("fraction", "part of the level's ε that a report may tell for their not being ticked"),
        SPELLED: {
            "type": "object",
            "description": "spelled out: per level and label the ε for ticked and for not ticked, or infinite",
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "array",
                    "minItems": 2,
                    "maxItems": 2,
                    "items": {"anyOf": [ref("epsilon"), {"const": epsilon_text(math.inf)}]},
                },
            },
        },
        "at_most": {
            "type": "integer",
            "minimum": 1,
            "description": "the most labels that may be ticked; reports of whole sets are then more accurate",
        },
        "exclusive": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"type": "string"},
            "description": "labels that cannot be ticked together with another one, such as none of these",
        },
    }

    @classmethod
    def read_extras(cls, entry: Entry, size: int) -> dict[str, Any]:
        """Read `budget`, `at_most` and the budgets of both sides."""
        budget, at_most = entry.table.get("budget", ITEM), _at_most(entry, size)
        check_known(budget, f"{entry.key}.budget", (ITEM, SET))
        if budget == SET and entry.tracked:
            raise SurveyError(
                f"{entry.key}.budget: whole sets cannot be tracked; "
                f'let each label have its budget (budget = "{ITEM}"), or ask with repeat = "fresh"'
            )
        sides = read_sides(entry, read_labels(entry))
        if sides and entry.tracked:
            raise SurveyError(
                f"{entry.key}: labels with a budget for each side cannot be tracked; leave out ticked and unticked, or "
                'ask with repeat = "fresh"'
            )
        return {"budget": budget, "at_most": at_most, "sides": sides, "exclusive": _exclusive(entry)}

    @classmethod
    def read_budgets(cls, entry: Entry, values: tuple[str, ...]) -> tuple[Budgets, ...]:
        """Read budgets of labels; a whole set has one for all of them."""
        sides = read_sides(entry, values)
        budgets = tuple(tuple(map(max, own)) for own in sides) or super().read_budgets(entry, values)
        if budgets and entry.table.get("budget") == SET:
            raise SurveyError(
                f"{entry.key}: labels cannot have budgets of their own where one protects the whole set; "
                f'leave out fractions, unprotected, budgets, ticked and unticked, or set budget = "{ITEM}"'
            )
        return budgets

    @classmethod
    def read_channels(cls, entry: Entry, size: int, budgets: Sequence[Micro | Budgets] = ()) -> tuple[Channel, ...]:
        """Build the channels, with a budget for each side of a label where the file has them."""
        sides: Sequence[Any] = read_sides(entry, read_labels(entry))  # of each label two, where others have one
        return super().read_channels(entry, size, sides or budgets)

    @classmethod
    def forms(cls, entry: Entry, *, free: bool = True) -> tuple[Form, ...]:
        """Return the form that the file names, or both: a budget for each label, and one for the whole set.

        The error is the summed variance of how many people have each label, at the shares that `auto` goes by. A budget
        of each label costs their sum.
        """
        values = read_labels(entry)
        share = planned_share(len(values), _at_most(entry, len(values)))

        def form(budget: str, price: Fraction, words: str) -> Form:
            own = entry._replace(table={**entry.table, "budget": budget})

            def variances(levels: tuple[Level, ...]) -> list[float]:
                return summed_variances(cls.channels_of(own._replace(levels=levels), values), share)

            return Form(variances, price, keys={"budget": budget} if several else {}, words=words)

        named = entry.table.get("budget")
        several = free and named is None and not _DECIDES & entry.table.keys() and not entry.tracked
        forms = []
        if named != SET:
            # A label without protection costs nothing: sets are compared that agree in it.
            sides = [(Fraction(0), Fraction(0)) if pair is None else pair for pair in read_side_parts(entry, values)]
            price = Fraction(cls.read_limits(entry, len(values)).largest_difference(*zip(*sides, strict=True)))
            forms.append(form(ITEM, price or Fraction(1), f"an ε for each of the {len(values)} labels"))
        if named == SET or several:
            forms.append(form(SET, Fraction(1), f"one ε for the whole set of {len(values)} labels"))
        return tuple(forms)

    @classmethod
    def dearest(cls, entry: Entry) -> int:
        """Return the ε of the whole set, or the sum over all labels."""
        if entry.table.get("budget") == SET:
            return super().dearest(entry)
        values = read_labels(entry)
        limits, dearest = cls.read_limits(entry, len(values)), super().dearest(entry)
        budgets = cls.read_budgets(entry, values) or ((dearest,) * len(values),)
        sides = read_sides(entry, values) or [[(micro, micro) for micro in own] for own in budgets]
        return int(max(_largest_difference(limits, *zip(*own, strict=True)) for own in sides))

    @classmethod
    def read_limits(cls, entry: Entry, size: int) -> SetLimits:
        """Return which sets may be ticked."""
        places = {label: place for place, label in enumerate(read_labels(entry))}
        return SetLimits(_at_most(entry, size), frozenset(places[label] for label in _exclusive(entry)))

    @classmethod
    def build_channel(cls, entry: Entry, mechanism: str, size: int, budget: Micro | Budgets) -> Channel:
        """Build the channel of a level for each label, or for the whole set."""
        if entry.table.get("budget") != SET or isinstance(budget, Sequence):
            return super().build_channel(entry, mechanism, size, budget)
        at_most = entry.table.get("at_most")
        return build_whole_set(mechanism, size, int(budget), at_most, answer_bytes=entry.answer_bytes)

    @classmethod
    def hidden_candidates(
        cls, entry: Entry, mechanism: str, size: int, budgets: Sequence[Micro | Budgets]
    ) -> Iterator[tuple[Channel, ...]]:
        """A bit per label has one form at every level; a whole set, one number of boxes or of chosen labels."""
        if entry.table.get("budget") == SET:
            whole = [int(budget) for budget in budgets if not isinstance(budget, tuple)]
            return hideable_whole_sets(mechanism, size, whole, entry.table.get("at_most"))
        return hideable(mechanism, size, budgets, domain=cls.domain, per_value=True)

    @classmethod
    def planned_variance(cls, entry: Entry, size: int) -> Callable[[Any], float]:
        """Compare channels at the share of a label that is planned for."""
        share = planned_share(size, entry.table.get("at_most"))
        return lambda channel: channel.item_variance(share)

    @classmethod
    def tells_less(cls, entry: Entry) -> str:
        """Reports with a bit for every label tell about the level with each of them."""
        return (
            "" if entry.table.get("budget") == SET else f'; one budget for the whole set (budget = "{SET}") tells less'
        )

    @classmethod
    def per_value(cls, entry: Entry, budget: Micro | Budgets) -> bool | None:  # noqa: ARG003 - labels differ by budget
        """Whole sets may be protected by any mechanism, labels by one that has a budget for each."""
        return None if entry.table.get("budget") == SET else True

    def __post_init__(self) -> None:
        """Refuse a channel that does not take every set that may be ticked."""
        for level, channel in zip(self.levels, self.channels, strict=True):
            if channel.largest_set < (self.at_most or len(self.values)):
                raise SurveyError(
                    f"question {self.name}, level {level.name}: weights must be those of a channel for sets of "
                    f"{self.at_most or len(self.values)} labels, not of {channel.largest_set} at most"
                )
        super().__post_init__()
        for level, sides, channel in zip(self.levels, self.sides, self.channels, strict=False):
            for place, bounds in enumerate(sides):
                if any(true > bound for true, bound in zip(channel.item_evidence(place), bounds, strict=True)):
                    raise SurveyError(
                        f"question {self.name}, level {level.name}: weights must keep the promised epsilon of both "
                        f"sides of every label; those of label {place + 1} do not"
                    )

    @property
    def whole(self) -> bool:
        """Whether one budget protects the whole set."""
        return self.budget == SET

    def describe(self) -> str:
        """Count the labels."""
        limit = "" if self.at_most is None else f", at most {self.at_most} ticked"
        return f"{super().describe()}{limit}"

    def answers_document(self) -> dict[str, Any]:
        """Return `values`, and what else there is."""
        document = super().answers_document()
        if self.sides:
            del document["budgets"]  # the larger one of both
            document[SPELLED] = {
                level.name: [list(map(epsilon_text, pair)) for pair in sides]
                for level, sides in zip(self.levels, self.sides, strict=True)
            }
        if self.whole:
            document["budget"] = self.budget
        if self.at_most is not None:
            document["at_most"] = self.at_most
        if self.exclusive:
            document["exclusive"] = list(self.exclusive)
        return document

    @property
    def last_shown(self) -> frozenset[str]:
        """Exclusive labels: people look for "none of these" at the end."""
        return frozenset(self.exclusive)

    def clashes(self, places: Iterable[int]) -> bool:
        """Tell whether a set of labels has an exclusive one and others."""
        ticked = list(places)
        return len(ticked) > 1 and any(self.values[place] in self.exclusive for place in ticked)

    def source(self) -> dict[str, Any]:
        """Return the table with the budgets of both sides as fractions of the level's ε."""
        table = super().source()
        if table.pop(SPELLED, None) is None:
            return table
        most = self.levels[-1].micro_epsilon
        named = list(zip(self.values, self.sides[-1], strict=True))
        finite = [(value, pair) for value, pair in named if max(pair) < math.inf]
        fractions = {
            key: {value: str(Fraction(int(pair[side]), most)) for value, pair in finite}
            for side, key in enumerate(SIDE_KEYS)
        }
        return {**table, **fractions, "unprotected": [value for value, pair in named if max(pair) == math.inf]}

    @property
    def proportional(self) -> bool:
        """Whether every level gives both sides of each label the same part of its ε."""
        most = self.levels[-1].micro_epsilon
        pairs = (
            (own, top, level.micro_epsilon)
            for level, sides in zip(self.levels, self.sides, strict=False)
            for owns, tops in zip(sides, self.sides[-1], strict=True)
            for own, top in zip(owns, tops, strict=True)
        )
        alike = all(own == top if top == math.inf else abs(own - top * micro / most) <= 1 for own, top, micro in pairs)
        return alike if self.sides else super().proportional

    def side_promises(self, level: int) -> Sides:
        """Return what is promised for both sides of each label, where these differ."""
        return self.sides[level] if self.sides else ()

    def promises(self, level: int) -> Budgets:
        """Return the budget of each label, or that of the whole set."""
        if self.budgets:
            return self.budgets[level]
        return (self.levels[level].micro_epsilon,) * (1 if self.whole else len(self.values))

    def true_epsilons(self, level: int) -> Budgets:
        """Return what the channel really keeps, in the order of `promises`."""
        channel = self.channels[level]
        return (channel.micro_epsilon,) if self.whole else tuple(map(channel.promised, range(len(self.values))))

    def between(self, level: int, differing: Iterable[int]) -> Micro:
        """Return in micro-ε what a level promises between two sets that differ in these labels."""
        places, promises = list(differing), self.promises(level)
        if self.whole:
            return promises[0] if places else 0
        return sum(promises[place] for place in places)

    @property
    def set_limits(self) -> SetLimits:
        """Which sets may be ticked."""
        return SetLimits(self.at_most, frozenset(map(self.value_index, self.exclusive)))

    def charge(self, level: int) -> int:
        """Return the most that two sets differ by, over the promises for both sides of their labels."""
        sides = self.side_promises(level) or [(micro, micro) for micro in self.promises(level)]
        return int(self.largest_difference(*zip(*sides, strict=True)))

    def largest_difference(self, parts: Sequence[Micro], absent: Sequence[Micro] = ()) -> Micro:
        """Return the ε of the whole set, or the most that the labels in which two sets differ have together.

        Labels without protection are not counted: sets are compared that agree in them.
        """
        if self.whole:
            return super().largest_difference(parts)
        return _largest_difference(self.set_limits, parts, absent or parts)

    def price(self, channel: Channel) -> int:
        """Return the ε of the whole set, or the sum over all labels that have a price."""
        if self.whole:
            return super().price(channel)
        each = map(channel.promised, range(channel.size))
        return compose(int(micro) for micro in each if micro < math.inf)

    def hideable(self) -> str | None:
        """Shares of labels and of sets are estimated from hidden levels, however they are protected."""
        return None


def _largest_difference(limits: SetLimits, ticked: Sequence[Micro], unticked: Sequence[Micro]) -> Micro:
    """Return the most that two sets differ by in labels that have a budget."""
    finite = ([0 if micro == math.inf else micro for micro in side] for side in (ticked, unticked))
    return limits.largest_difference(*finite)


def _exclusive(entry: Entry) -> tuple[str, ...]:
    """Read the labels that no other label can be ticked with."""
    given, key = entry.table.get("exclusive"), f"{entry.key}.exclusive"
    if given is None:
        return ()
    labels = read_labels(entry)
    if not isinstance(given, list) or not 0 < len(given) < len(labels):
        fail(key, f"must be a list of 1 to {len(labels) - 1} of the question's labels", given)
    for label in given:
        check_known(label, key, labels, "the question's labels: ")
    check_distinct(given, key, "labels")
    return tuple(given)


def _at_most(entry: Entry, size: int) -> int | None:
    """Read the most labels that may be ticked."""
    at_most = entry.table.get("at_most")
    if at_most is not None and (type(at_most) is not int or not 0 < at_most <= size):
        fail(f"{entry.key}.at_most", f"must be a whole number from 1 to {size}, the number of labels", at_most)
    return at_most
