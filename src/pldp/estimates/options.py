"""The options of estimates: one vocabulary for every kind of question."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypedDict, get_args

from pldp.errors import EstimateError
from pldp.estimates.mix_bounds import Mix
from pldp.estimates.result import CONFIDENCE

Pool = Literal["precision", "size"]
Target = Literal["population", "respondents"]
ShareMethod = Literal["unbiased", "likelihood"]

SHARE_METHODS: Final[tuple[str, ...]] = get_args(ShareMethod)

Known = Mapping[str, Mapping[str, float]]
"""A question, and the known share of each of its labels."""

Edges = Mapping[str, Sequence[float]]
"""Of numbers, the ends of the ranges that a table has."""

Progress = Callable[[int], None]
"""Called with the number of steps of a fit."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a question is estimated.

    Attributes
    ----------
    target
        `population`: errors include that the respondents are a random sample. `respondents`: about exactly the people
        who reported.
    pool
        `precision` weights levels by inverse variance and assumes that they agree, which is tested. The weights of
        shares come from a first, rough estimate, which adds a bias far below the standard errors. `size` weights by the
        number of reports and needs no such assumption.
    method
        How the numbers are made; each kind has its own methods.
    confidence, progress
        Confidence of the intervals; and what is called with the number of steps, where a kind needs a fit.
    live
        The planned number of reports, where results are read while reports come: intervals then hold however often you
        look, and are narrowest from that number to five times as much. Without it they are for one look.
    min_support, largest
        Of frequent sets: the share of people that must have all items, and the number of items of the largest sets.
    known
        Of choices of one label: another question and the share of each of its labels in the population, to which the
        shares are corrected. Both must be tallied as a pair.
    ranges
        Of tables: by the name of a number, the ends of the ranges that it is tabulated by, from bound to bound.
    mix
        Where levels are hidden: the share of people who chose some of the levels, if it is known, or two bounds of it,
        such as `{"strict": 0.4}` or `{"strict": (0.3, 0.5)}`. Errors then do not include that of a known share.
    """

    target: Target = "population"
    pool: Pool = "precision"
    method: str | None = None
    confidence: float = CONFIDENCE
    progress: Progress | None = None
    live: int | None = None
    min_support: float = 0.1
    largest: int = 3
    known: Known | None = None
    ranges: Edges | None = None
    mix: Mix | None = None


class GivenOptions(TypedDict, total=False):
    """Options by name, as `estimate` takes them."""

    target: Target
    pool: Pool
    method: str | None
    confidence: float
    progress: Progress | None
    live: int | None
    min_support: float
    largest: int
    known: Known | None
    ranges: Edges | None
    mix: Mix | None


SHARED: Final = ("target", "pool", "confidence", "progress", "live")
"""Options that every kind takes."""

OF_TABLES: Final = ("ranges",)
"""Options of tables of several questions, whatever their kinds."""


def check_pooling(pool: str, target: str) -> None:
    """Refuse another way of pooling, or another target, than there are."""
    one_of("pool", pool, get_args(Pool))
    one_of("target", target, get_args(Target))


def one_of(argument: str, given: str, known: Sequence[str]) -> None:
    """Refuse what is not known."""
    if given not in known:
        raise EstimateError(f"{argument} must be one of {', '.join(known)}, not {given!r}")
