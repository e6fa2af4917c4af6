"""A number between public bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final, Self

from pldp.mechanisms import Domain, Grid
from pldp.survey.question import Entry, Question, Schema, ref
from pldp.survey.reading import LONGEST_NAME, fail, naming, read_number, read_text

MOST_BUCKETS: Final = 4096
BUCKETS: Final = 256  #: Buckets where the file does not say.

OUTSIDE: Final = ("refuse", "clip")  #: What happens to a number outside the bounds.


@dataclass(frozen=True, repr=False)
class Number(Question):
    """A question that is answered with a number, rounded to the buckets of `grid`; a budget protects the number.

    `bounds` are text, as they are published; `outside` says what happens to a number beyond them.
    """

    grid: Grid
    bounds: tuple[str, str]
    unit: str = ""
    outside: str = OUTSIDE[0]

    kind: ClassVar[str] = "number"
    domain: ClassVar[Domain] = "numbers"
    keys: ClassVar[Mapping[str, Schema]] = {
        **Question.keys,
        "low": ref("bound"),
        "high": ref("bound"),
        "buckets": {"type": "integer", "minimum": 2, "maximum": MOST_BUCKETS},
        "unit": {"type": "string", "maxLength": LONGEST_NAME},
        "outside": {"enum": list(OUTSIDE), "description": "what happens to numbers outside the bounds"},
    }
    required: ClassVar[tuple[str, ...]] = (*Question.required, "low", "high")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Build the question."""
        table, key = entry.table, entry.key
        buckets = table.get("buckets", BUCKETS)
        if type(buckets) is not int or not 2 <= buckets <= MOST_BUCKETS:
            fail(f"{key}.buckets", f"must be a whole number from 2 to {MOST_BUCKETS:,}", buckets)
        outside = table.get("outside", OUTSIDE[0])
        if outside not in OUTSIDE:
            fail(f"{key}.outside", f"must be one of {', '.join(OUTSIDE)}", outside)
        low, high = (_read_bound(table[name], f"{key}.{name}") for name in ("low", "high"))
        with naming(key):
            grid = Grid(float(low), float(high), buckets)
        stages = cls.read_stages(entry, buckets)
        channels = tuple(each.channel for each in stages) or cls.read_channels(entry, buckets)
        unit = read_text(table.get("unit", ""), f"{key}.unit", LONGEST_NAME, empty=True)
        bounds = (_bound_text(low), _bound_text(high))
        return cls(entry.name, entry.text, entry.levels, channels, grid, bounds, unit, outside, stages=stages)

    @property
    def scale(self) -> tuple[str | int, ...]:
        """Bounds and number of buckets."""
        return (*self.bounds, self.grid.size)

    def describe(self) -> str:
        """Name the bounds and the steps between them."""
        return f"{' to '.join(self.bounds)} {self.unit}".rstrip() + f" in {self.grid.size:,} steps"

    def answers_document(self) -> dict[str, Any]:
        """Return bounds, buckets and unit."""
        low, high = self.bounds
        document = {"low": low, "high": high, "buckets": self.grid.size, "outside": self.outside}
        return {**document, "unit": self.unit} if self.unit else document

    def hideable(self) -> str | None:
        """Means and densities are not estimated from hidden levels yet."""
        return (
            "the mean of a number cannot be estimated yet where levels are hidden; "
            "ask for ranges as a choice of one label, or let reports show the level"
        )


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
