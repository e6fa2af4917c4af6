"""What every question has, whatever its kind: names, levels, and the exact channel of each level."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from pldp.budgets import Level, epsilon_text
from pldp.errors import AnswerError, SurveyError
from pldp.mechanisms import (
    ANSWER_BYTES,
    AUTO,
    MICRO,
    Channel,
    Domain,
    LevelPairs,
    Micro,
    SetLimits,
    build,
    family,
    level_evidence,
    pair_evidence,
    read,
)
from pldp.survey.reading import LONGEST_TEXT, fail, naming, read_epsilon, read_per_level
from pldp.words import unknown

if TYPE_CHECKING:
    from pldp.mechanisms import Stages
    from pldp.survey.hiding import Hiding
    from pldp.survey.sharing import Form

Budgets = tuple[Micro, ...]  #: Micro-ε of each value, `math.inf` for values without protection.

MOST_WEIGHT: Final = 1_000_000  #: The largest weight of a question.

Schema = Mapping[str, Any]  #: A part of the JSON Schema of survey files.


def ref(name: str, description: str = "") -> Schema:
    """Return the schema of what is defined once under this name."""
    return {"$ref": f"#/$defs/{name}"} | ({"description": description} if description else {})


def table_of(name: str, description: str = "", **rules: object) -> Schema:
    """Return the schema of a table whose entries are all of one kind."""
    told = {"description": description} if description else {}
    return {"type": "object", **told, "additionalProperties": ref(name), **rules}


def one_or_each(name: str, description: str) -> Schema:
    """Return the schema of one entry for all levels, or a table of them."""
    return {"description": description, "anyOf": [ref(name), table_of(name)]}


class Entry(NamedTuple):
    """One question of a survey file: its table, and what is read alike for every kind.

    All keys of the table are known ones; `key` says where it stands in the file, for errors.
    """

    table: Mapping[str, Any]
    key: str
    name: str
    text: str
    levels: tuple[Level, ...]
    hiding: Hiding | None
    tracked: bool = False
    answer_bytes: int = ANSWER_BYTES

    def mechanisms(self) -> Mapping[str, str]:
        """Return the mechanism that the file names for each level."""
        named = read_per_level(self.table.get("mechanism", AUTO), f"{self.key}.mechanism", self.levels, default=AUTO)
        for level, mechanism in named.items():
            if not isinstance(mechanism, str):
                fail(f"{self.key}, level {level}: mechanism", "must be a name", mechanism)
        return named

    def per_level(self, name: str) -> Mapping[str, Any]:
        """Return what the file has under a name for each level, `None` where it has nothing."""
        return read_per_level(self.table.get(name, {}), f"{self.key}.{name}", self.levels, default=None)


@dataclass(frozen=True, repr=False)
class Question(ABC):
    """One question with the channel that each level uses; its kind says what an answer is.

    `name` is short, for files and results, `text` is what the person reads. `levels` are those on offer, strictest
    first, each with its ε for this question; `channels` has the channel of each in the same order, and `stages` the
    two that make it where answers are tracked.
    """

    name: str
    text: str
    levels: tuple[Level, ...]
    channels: tuple[Channel, ...]
    stages: tuple[Stages, ...] = field(default=(), kw_only=True)
    weight: float = field(default=1.0, kw_only=True, compare=False)
    """How much its errors count where questions share a total: spent when a file is read, and for plans."""
    is_required: bool = field(default=False, kw_only=True)
    """Whether a device makes a report only if this question is answered, where it is asked."""

    kind: ClassVar[str]
    """Name in survey files."""

    domain: ClassVar[Domain]
    """What its channels perturb."""

    keys: ClassVar[Mapping[str, Schema]] = {
        "name": ref("name"),
        "text": {"type": "string", "maxLength": LONGEST_TEXT},
        "kind": {"type": "string"},
        "levels": table_of(
            "epsilon", "another ε for some levels of this question; only these are then on offer", minProperties=1
        ),
        "mechanism": one_or_each("mechanism", "one for all levels, or one per level"),
        "weights": table_of(
            "weights", "per level, the integers that define the channel; checked against the promised ε"
        ),
        "weight": {
            "description": "how much its errors count where questions share total_epsilon; 1 if not given",
            "anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": MOST_WEIGHT}, {"type": "string"}],
        },
        "required": {"type": "boolean", "description": "whether people who are asked it cannot skip it"},
        "permanent": one_or_each(
            "epsilon", "where answers are tracked: ε of an answer that never changes, for all levels or per level"
        ),
        "stages": {
            "type": "object",
            "description": "spelled out: per level the weights of the permanent and of the instant draw",
            "additionalProperties": table_of("weights", required=["permanent", "instant"]),
        },
    }
    """Its keys in survey files with their JSON Schema; here those of every kind."""

    required: ClassVar[tuple[str, ...]] = ("name",)
    """Keys that must be there."""

    @classmethod
    @abstractmethod
    def read(cls, entry: Entry) -> Self:
        """Build the question from its table in a survey file."""

    @classmethod
    def read_channels(cls, entry: Entry, size: int, budgets: Sequence[Micro | Budgets] = ()) -> tuple[Channel, ...]:
        """Build the channel of each level from `mechanism` and `weights`.

        A level has one budget, or one per value; without `budgets` it is the level's ε.
        """
        mechanisms, weights = entry.mechanisms(), entry.per_level("weights")
        budgets = budgets or [level.micro_epsilon for level in entry.levels]
        if entry.hiding is not None and len(set(mechanisms.values())) == 1 and not any(weights.values()):
            candidates = cls.hidden_candidates(entry, next(iter(mechanisms.values())), size, budgets)
            if candidates is not None:
                return entry.hiding.choose(cls, entry, size, candidates)
        channels = []
        for level, budget in zip(entry.levels, budgets, strict=True):
            where = f"{entry.key}, level {level.name}"
            mechanism, published = mechanisms[level.name], weights[level.name]
            if mechanism == AUTO and published is not None:
                fail(f"{where}: weights", "must come with a named mechanism", mechanism)
            with naming(where):
                if mechanism != AUTO:
                    family(mechanism, cls.domain, per_value=cls.per_value(entry, budget))
                channels.append(
                    cls.build_channel(entry, mechanism, size, budget)
                    if published is None
                    else read(mechanism, size, published)
                )
        return tuple(channels)

    @classmethod
    def hidden_candidates(
        cls,
        entry: Entry,  # noqa: ARG003 - others depend on them
        mechanism: str,  # noqa: ARG003
        size: int,  # noqa: ARG003
        budgets: Sequence[Micro | Budgets],  # noqa: ARG003
    ) -> Iterator[tuple[Channel, ...]] | None:
        """Yield channels of one form, one per level, among which `hide_level` chooses; `None`: as where levels show."""
        return None

    @classmethod
    def read_limits(cls, entry: Entry, size: int) -> SetLimits:  # noqa: ARG003 - sets have some
        """Return which sets may be answered, where answers are sets."""
        return SetLimits()

    @classmethod
    def planned_variance(cls, entry: Entry, size: int) -> Callable[[Channel], float]:  # noqa: ARG003 - others differ
        """Return the error of a channel by which candidates are compared."""
        return attrgetter("equal_variance")

    @classmethod
    def tells_less(cls, entry: Entry) -> str:  # noqa: ARG003 - others know something
        """Say how a question would tell less about hidden levels, as the end of a sentence."""
        return ""

    @classmethod
    def build_channel(cls, entry: Entry, mechanism: str, size: int, budget: Micro | Budgets) -> Channel:
        """Build the channel of a level with one budget, or with one per value."""
        return build(mechanism, size, budget, domain=cls.domain, answer_bytes=entry.answer_bytes)

    @classmethod
    def per_value(cls, entry: Entry, budget: Micro | Budgets) -> bool | None:  # noqa: ARG003 - others depend on it
        """Tell whether a level's mechanism must take a budget per value, or must not; `None` if it may be either."""
        return isinstance(budget, tuple) if cls.domain == "labels" else None  # only labels have both sorts

    @classmethod
    def read_stages(cls, entry: Entry, size: int, budgets: Sequence[Micro | Budgets] = ()) -> tuple[Stages, ...]:
        """Build both stages of each level where answers are tracked."""
        for key in ("permanent", "stages"):
            if key in entry.table and not entry.tracked:
                fail(f"{entry.key}.{key}", 'must not be there unless repeat = "tracked"', entry.table[key])
        if not entry.tracked:
            return ()
        from pldp.mechanisms import build_stages, read_stages  # noqa: PLC0415 - other surveys need none

        mechanisms, weights, spelled = entry.mechanisms(), entry.per_level("weights"), entry.per_level("stages")
        asked, named = entry.table.get("permanent", {}), [level.name for level in entry.levels]
        permanent = entry.per_level("permanent") if isinstance(asked, dict) else dict.fromkeys(named, asked)
        found = []
        for level, budget in zip(entry.levels, budgets or [level.micro_epsilon for level in entry.levels], strict=True):
            name, where = level.name, f"{entry.key}, level {level.name}"
            with naming(where):
                if mechanisms[name] != AUTO:
                    family(mechanisms[name], cls.domain)
                if spelled[name] is not None:
                    stages = read_stages(mechanisms[name], size, spelled[name])
                else:
                    limit = None if permanent[name] is None else read_epsilon(permanent[name], f"{where}: permanent")
                    stages = build_stages(mechanisms[name], size, budget, domain=cls.domain, permanent=limit)
            if weights[name] is not None and weights[name] != stages.channel.weights():
                fail(f"{where}: weights", "must be those that both stages make together", weights[name])
            found.append(stages)
        return tuple(found)

    @classmethod
    def forms(cls, entry: Entry, *, free: bool = True) -> tuple[Form, ...]:  # noqa: ARG003 - others have several
        """Return the ways to build the question from a part of a total.

        There are several where the file leaves the choice, and it may be made (`free`). Here there is one: the summed
        variance of all shares, at equal shares.
        """
        from pldp.survey.sharing import Form  # noqa: PLC0415 - built surveys need none

        def variances(levels: tuple[Level, ...]) -> list[float]:
            channels = cls.read(entry._replace(levels=levels)).channels
            return [channel.equal_variance * channel.size for channel in channels]

        return (Form(variances),)

    @classmethod
    def dearest(cls, entry: Entry) -> int:
        """Return in micro-ε what an answer costs at the level that costs most, from the table alone."""
        return max(level.micro_epsilon for level in entry.levels)

    def __post_init__(self) -> None:
        """Refuse a channel that does not keep what is promised, however the question was made."""
        for place, (level, _) in enumerate(zip(self.levels, self.channels, strict=True)):
            for bound, true in zip(self.promises(place), self.true_epsilons(place), strict=True):
                if true > bound:
                    raise SurveyError(
                        f"question {self.name}, level {level.name}: weights must keep the promised epsilon "
                        f"{epsilon_text(bound)}, not {epsilon_text(true)}"
                    )

    @property
    def size(self) -> int:
        """Number of values, items or buckets that its channels know."""
        return self.channels[0].size

    @property
    @abstractmethod
    def scale(self) -> Sequence[str | int]:
        """What an answer is measured by, as published: the labels, or bounds and buckets."""

    @abstractmethod
    def describe(self) -> str:
        """Say in a few words what can be answered."""

    def options(self, place: Callable[[str], bytes]) -> tuple[str, ...]:  # noqa: ARG002 - labels have an order
        """Return the labels in the order in which a person sees them; `place` says where each is if that is random."""
        return ()

    def shown_texts(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield what people read, by its place in the question's table; a question without text shows its name."""
        yield ("text",), self.text or self.name

    @abstractmethod
    def answers_document(self) -> dict[str, Any]:
        """Return the keys that only this kind has, spelled out."""

    @abstractmethod
    def hideable(self) -> str | None:
        """Return why its levels cannot be hidden, and what to do instead; `None` if they can."""

    def no_table(self) -> str | None:
        """Return why it cannot be tabulated with other questions, and what to do instead; `None` if it can."""
        return None

    def provable(self, level: int) -> tuple[tuple[str, Fraction], ...]:  # noqa: ARG002 - labels may be
        """Return the answers that a report can prove, each with the chance that a report of such a person does."""
        return ()

    def promises(self, level: int) -> Budgets:
        """Return in micro-ε what a level promises: the budget of each value, or one of the whole answer."""
        return (self.levels[level].micro_epsilon,)

    def side_promises(self, level: int) -> tuple[tuple[Micro, Micro], ...]:  # noqa: ARG002 - sets have some
        """Return for each label what is promised for its being in an answer and for its absence, where these differ."""
        return ()

    def true_epsilons(self, level: int) -> Budgets:
        """Return what the channel really keeps, in the order of `promises`."""
        return (self.channels[level].micro_epsilon,)

    def charge(self, level: int) -> int:
        """Return in micro-ε the ε of an answer: what any report can tell for a protected answer against another."""
        return int(self.largest_difference(self.promises(level)))

    def answer_epsilon(self, level: int | str) -> float:
        """Return the same as a number, for a level by its place or its name."""
        return self.charge(self.level_index[level] if isinstance(level, str) else level) / MICRO

    @property
    def set_limits(self) -> SetLimits:
        """Which sets may be answered, where answers are sets."""
        return SetLimits()

    def largest_difference(self, parts: Sequence[Micro], absent: Sequence[Micro] = ()) -> Micro:  # noqa: ARG002
        """Return the most that two answers differ by in parts of the answer; here there is one part, or one applies.

        `absent` has of each part what its absence tells, where that is another number.
        """
        return max((part for part in parts if part < math.inf), default=0)

    def price(self, channel: Channel) -> int:
        """Return in micro-ε what a draw from one of its channels costs."""
        return int(channel.micro_epsilon)

    def permanent_charge(self, level: int) -> int:
        """Return in micro-ε what a tracked answer costs that never changes, however often it is asked."""
        return self.price(self.stages[level].permanent)

    def instant_charge(self, level: int) -> int:
        """Return in micro-ε what a report tells about the permanent output of a tracked answer."""
        return self.price(self.stages[level].instant)

    @cached_property
    def level_evidence(self) -> LevelPairs:
        """What an output tells for each level against each other one; see `pldp.mechanisms.leak`."""
        return level_evidence(self.channels, self.set_limits)

    @cached_property
    def pair_evidence(self) -> LevelPairs:
        """What it tells for each pair of answer and level; at one level, that is the ε of an answer."""
        return tuple(
            tuple(self.charge(one) if one == two else micro for two, micro in enumerate(row))
            for one, row in enumerate(pair_evidence(self.channels, self.set_limits))
        )

    @property
    def level_leak(self) -> Micro:
        """What an output tells in micro-ε about the level of its sender."""
        return max(map(max, self.level_evidence))

    @cached_property
    def level_index(self) -> Mapping[str, int]:
        """Place of each level's name in `levels`."""
        return {level.name: index for index, level in enumerate(self.levels)}

    def find_level(self, name: str | None) -> int:
        """Return the place of a level; the strictest one if no name is given."""
        if name is None:
            return 0
        index = self.level_index.get(name) if isinstance(name, str) else None
        if index is None:
            raise AnswerError(unknown("level", name, self.level_index, f"question {self.name!r}"))
        return index

    @cached_property
    def identity(self) -> str:
        """What a device knows the question by: name, text, labels, levels and weights, in one hash."""
        return hash_of(self.document())

    @cached_property
    def scale_identity(self) -> str:
        """A hash of what can be answered: another one needs another name."""
        return hash_of([self.kind, self.scale])

    def source(self) -> dict[str, Any]:
        """Return a table to build the question from anew, with other ε: no levels, channels or weights are in it."""
        document = self.document()
        kept = ("name", "text", "kind", "required", *self.answers_document())
        return {key: document[key] for key in kept if key in document}

    def document(self) -> dict[str, Any]:
        """Return the question as plain data with everything spelled out."""
        named = [(level.name, channel) for level, channel in zip(self.levels, self.channels, strict=True)]
        stages = {level.name: each.weights() for level, each in zip(self.levels, self.stages, strict=False)}
        return {
            "name": self.name,
            "text": self.text,
            "kind": self.kind,
            **({"required": True} if self.is_required else {}),
            **self.answers_document(),
            "levels": {level.name: epsilon_text(level.micro_epsilon) for level in self.levels},
            "mechanism": {name: channel.mechanism for name, channel in named},
            "weights": {name: dict(channel.weights()) for name, channel in named},
            **({"stages": stages} if stages else {}),
        }

    def __repr__(self) -> str:
        levels = ", ".join(f"{level.name} {epsilon_text(level.micro_epsilon)}" for level in self.levels[:_LISTED])
        more = f", {len(self.levels) - _LISTED} more" if len(self.levels) > _LISTED else ""
        return f"<{type(self).__name__} {self.name!r}: {self.describe()}; ε of levels: {levels}{more}>"


_LISTED: Final = 6  #: Levels in a `repr`.


def canonical(content: object) -> bytes:
    """Write plain data as bytes in one and only one spelling: sorted keys, no spaces, UTF-8."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def hash_of(content: object) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(content)).hexdigest()
