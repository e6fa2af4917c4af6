"""A number between public bounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final, Self

from pldp.budgets import Level
from pldp.errors import SurveyError
from pldp.mechanisms import (
    AUTO,
    FOR_DISTRIBUTIONS,
    FOR_MEANS,
    Channel,
    Domain,
    Grid,
    Micro,
    hideable,
    noise_at,
    noise_variances,
)
from pldp.survey.question import Budgets, Entry, Question, Schema, ref
from pldp.survey.reading import LONGEST_NAME, fail, naming, read_number, read_text
from pldp.survey.sharing import Form

MOST_BUCKETS: Final = 4096
BUCKETS: Final = 256  #: Buckets where the file does not say.

OUTSIDE: Final = ("refuse", "clip")  #: What happens to a number outside the bounds.

MEAN: Final = "mean"
PURPOSES: Final = ("distribution", MEAN)  #: What the answers are for.


@dataclass(frozen=True, repr=False)
class Number(Question):
    """A question that is answered with a number, rounded to the buckets of `grid`; a budget protects the number.

    `bounds` are text, as they are published; `outside` says what happens to a number beyond them. Where the `purpose`
    is the mean, a number is rounded at random to one of two neighbouring centres of the grid, which reach from bound to
    bound.
    """

    grid: Grid
    bounds: tuple[str, str]
    unit: str = ""
    outside: str = OUTSIDE[0]
    purpose: str = PURPOSES[0]

    kind: ClassVar[str] = "number"
    domain: ClassVar[Domain] = "numbers"
    keys: ClassVar[Mapping[str, Schema]] = {
        **Question.keys,
        "low": ref("bound"),
        "high": ref("bound"),
        "buckets": {"type": "integer", "minimum": 2, "maximum": MOST_BUCKETS},
        "unit": {"type": "string", "maxLength": LONGEST_NAME},
        "outside": {"enum": list(OUTSIDE), "description": "what happens to numbers outside the bounds"},
        "purpose": {
            "enum": list(PURPOSES),
            "description": "what is estimated: mean, quantiles and density, or the mean alone with the least error",
        },
    }
    required: ClassVar[tuple[str, ...]] = (*Question.required, "low", "high")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Build the question."""
        table, key = entry.table, entry.key
        purpose = _one_of(PURPOSES, table, key, "purpose")
        outside = _one_of(OUTSIDE, table, key, "outside")
        if purpose == MEAN:
            entry = _for_mean(entry)
        buckets = _buckets(entry)
        low, high = (_read_bound(table[name], f"{key}.{name}") for name in ("low", "high"))
        with naming(key):
            grid = (Grid.of_points if purpose == MEAN else Grid)(float(low), float(high), buckets)
        stages = cls.read_stages(entry, buckets)
        channels = tuple(each.channel for each in stages) or cls.read_channels(entry, buckets)
        unit = read_text(table.get("unit", ""), f"{key}.unit", LONGEST_NAME, empty=True)
        bounds = (_bound_text(low), _bound_text(high))
        return cls(entry.name, entry.text, entry.levels, channels, grid, bounds, unit, outside, purpose, stages=stages)

    @classmethod
    def forms(cls, entry: Entry, *, free: bool = True) -> tuple[Form, ...]:  # noqa: ARG003 - there is one
        """Return one form: the variance of the mean of evenly spread numbers, the bounds being 0 and 1.

        It stands for the whole distribution too, whose own errors depend on how smooth it is and fall with ε alike.
        """
        for_mean = _one_of(PURPOSES, entry.table, entry.key, "purpose") == MEAN
        entry = _for_mean(entry) if for_mean else entry

        def variances(levels: tuple[Level, ...]) -> list[float]:
            own = entry._replace(levels=levels)
            size = _buckets(own)
            stages = cls.read_stages(own, size)
            noise = (
                noise_variances([each.channel for each in stages])
                if stages
                else [noise_at(own.mechanisms()[level.name], size, level.micro_epsilon) for level in levels]
            )
            # Channels scale the buckets to [−1, 1]. Points reach from bound to bound, and rounding to them adds noise.
            scale = (size / (size - 1)) ** 2 / 4 if for_mean else 1 / 4
            rounding = 1 / (6 * (size - 1) ** 2) if for_mean else 0.0
            return [scale * each + rounding + 1 / 12 for each in noise]

        return (Form(variances),)

    @property
    def scale(self) -> tuple[str | int, ...]:
        """Bounds and number of buckets; that these are points where the mean is wanted."""
        return (*self.bounds, self.grid.size, *([MEAN] if self.for_mean else []))

    @property
    def for_mean(self) -> bool:
        """Whether only the mean is wanted."""
        return self.purpose == MEAN

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds as numbers."""
        return float(self.bounds[0]), float(self.bounds[1])

    def describe(self) -> str:
        """Name the bounds and the steps between them."""
        steps = f"at {self.grid.size:,} points, for the mean" if self.for_mean else f"in {self.grid.size:,} steps"
        return f"{' to '.join(self.bounds)} {self.unit}".rstrip() + f" {steps}"

    def shown_texts(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the text and the unit."""
        yield from super().shown_texts()
        if self.unit:
            yield ("unit",), self.unit

    def answers_document(self) -> dict[str, Any]:
        """Return bounds, buckets and unit, and the purpose where it is the mean."""
        low, high = self.bounds
        document = {"low": low, "high": high, "buckets": self.grid.size, "outside": self.outside}
        extras = {"unit": self.unit, "purpose": self.purpose if self.for_mean else ""}
        return document | {name: text for name, text in extras.items() if text}

    @classmethod
    def hidden_candidates(
        cls, entry: Entry, mechanism: str, size: int, budgets: Sequence[Micro | Budgets]
    ) -> Iterator[tuple[Channel, ...]] | None:
        """Numbers have one output grid for all levels; `auto` stands for what suits the purpose."""
        if mechanism == AUTO and entry.table.get("purpose") != MEAN:
            mechanism = FOR_DISTRIBUTIONS
        return hideable(mechanism, size, budgets, domain=cls.domain)

    def no_table(self) -> str | None:
        """Reports for the mean alone show no distribution."""
        reason = 'it is asked for its mean only (purpose = "mean"); ask with purpose = "distribution"'
        return reason if self.for_mean else None

    def hideable(self) -> str | None:
        """They can."""
        return None


def _one_of(known: tuple[str, ...], table: Mapping[str, Any], key: str, name: str) -> str:
    """Return what the file says under a name, the first of the known words by default."""
    found = table.get(name, known[0])
    if found not in known:
        fail(f"{key}.{name}", f"must be one of {', '.join(known)}", found)
    return str(found)


def _for_mean(entry: Entry) -> Entry:
    """Return the entry with the mechanism for means named where the file leaves the choice."""
    if entry.tracked:
        raise SurveyError(
            f'{entry.key}: a number with purpose = "mean" is rounded at random and cannot be tracked; ask with '
            'repeat = "fresh", or with purpose = "distribution"'
        )
    weights = entry.per_level("weights")
    if entry.hiding is not None and {*entry.mechanisms().values()} == {AUTO} and not any(weights.values()):
        return entry  # minimax has other outputs at every level
    named = {
        level: FOR_MEANS if mechanism == AUTO and weights[level] is None else mechanism
        for level, mechanism in entry.mechanisms().items()
    }
    return entry._replace(table={**entry.table, "mechanism": named})


def _buckets(entry: Entry) -> int:
    """Return the number of buckets, or of points."""
    buckets = entry.table.get("buckets", _default_buckets(entry))
    if type(buckets) is not int or not 2 <= buckets <= MOST_BUCKETS:
        fail(f"{entry.key}.buckets", f"must be a whole number from 2 to {MOST_BUCKETS:,}", buckets)
    return buckets


def _default_buckets(entry: Entry) -> int:
    """Return as many points as the mechanism for means needs at the largest ε, where it is used; 256 otherwise."""
    if FOR_MEANS in entry.mechanisms().values():
        from pldp.mechanisms import enough_points  # noqa: PLC0415 - other surveys, and built ones, need it not

        return enough_points(max(level.micro_epsilon for level in entry.levels))
    return BUCKETS


def _read_bound(entry: object, key: str) -> Decimal:
    try:
        number = Decimal(read_number(entry, key))
    except InvalidOperation:
        fail(key, "must be a number", entry)
    if not number.is_finite() or abs(number) > Decimal("1e15") or number != round(number, 9):
        fail(key, "must be a finite number of at most 15 digits before and 9 after the point", entry)
    return number


def _bound_text(number: Decimal) -> str:
    """One spelling of a number: no exponent, no trailing zeros."""
    return f"{number.normalize() + 0:f}"
