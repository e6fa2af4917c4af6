"""The options of estimates: one vocabulary for every kind of question."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from textwrap import fill
from typing import Any, Final, Literal, TypedDict, get_args

from pldp.errors import EstimateError
from pldp.estimates.results.intervals import CONFIDENCE
from pldp.known import parse_known, parse_mix, parse_ranges

Pool = Literal["precision", "size"]
Target = Literal["population", "respondents"]
ShareMethod = Literal["unbiased", "likelihood"]

SHARE_METHODS: Final[tuple[str, ...]] = get_args(ShareMethod)

Mix = Mapping[str, float | tuple[float, float]]
"""The share of people who chose each level, or its bounds."""

Known = Mapping[str, Mapping[str, float]]
"""A question, and the known share of each of its labels."""

Edges = Mapping[str, Sequence[float]]
"""Of numbers, the ends of the ranges that a table has."""

Progress = Callable[[int], None]
"""Called with the number of steps of a fit."""


@dataclass(frozen=True)
class Option:
    """What is said of an option, once: verbs, the command line and its pages read it from here.

    Attributes
    ----------
    help, more
        What it does, in a line for the command; and what else a programmer wants to know.
    kinds
        The kinds of questions that take it: `None` for every kind, `()` for none, as some are about tables only.
        `method` is taken by each kind that has methods.
    tables, joined
        Whether tables of several questions take it; whether the joined reports of several services do.
    flag, metavar, choices, repeated
        Its flag on the command line, if it has one, what follows, and whether the flag may come again.
    number, read
        Type of a number; or what turns a text, or several, into the option.
    """

    help: str
    more: str = ""
    kinds: tuple[str, ...] | None = None
    tables: bool = False
    joined: bool = True
    flag: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    repeated: bool = False
    number: Callable[[str], float] | None = None
    read: Callable[[Any], Any] | None = None

    def taken_by(self, kind: str) -> bool:
        """Tell whether questions of this kind take it."""
        return self.kinds is None or kind in self.kinds


def _said(words: str, more: str = "", **facts: Any) -> dict[str, Option]:
    """Return the metadata of a field; `{default}` in the help stands for the default."""
    return {"option": Option(words, more, **facts)}


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a question is estimated: the one place where options, their kinds, flags and help are stated."""

    target: Target = field(
        default="population",
        metadata=_said(
            "whose numbers: of the population that the respondents are a sample of, or of exactly the people who "
            "reported (default: {default})",
            "Errors of the population include that the respondents are a random sample.",
            tables=True,
            flag="--target",
            choices=get_args(Target),
        ),
    )
    pool: Pool = field(
        default="precision",
        metadata=_said(
            "how people of different levels, or who gave to different services, are weighted (default: {default})",
            "`precision` weights them by inverse variance and assumes that they agree, which is tested. The weights of "
            "shares come from a first, rough estimate, which adds a bias far below the standard errors. `size` weights "
            "by the number of reports and needs no such assumption.",
            tables=True,
            flag="--pool",
            choices=get_args(Pool),
        ),
    )
    method: str | None = field(
        default=None,
        metadata=_said(
            "unbiased or likelihood for one answer (default: unbiased), weights, average, posterior or fitted for the "
            "mean of a number (default: weights)",
            "Joined reports of sets take `unbiased`, those of numbers also `ua`, `uwa` and `ule`, the names of "
            "average, posterior and fitted in the paper on several services.",
            flag="--method",
            metavar="NAME",
        ),
    )
    confidence: float = field(
        default=CONFIDENCE,
        metadata=_said(
            "of the intervals (default {default:g})",
            tables=True,
            flag="--confidence",
            metavar="SHARE",
            number=float,
        ),
    )
    progress: Progress | None = field(
        default=None, metadata=_said("what is called with the number of steps, where a kind needs a fit")
    )
    live: int | None = field(
        default=None,
        metadata=_said(
            "for results that are read while reports come in: intervals hold however often you look, and are narrowest "
            "from this planned number of reports on (default: intervals for one look)",
            "They are narrowest to five times as many.",
            flag="--live",
            metavar="REPORTS",
            number=int,
        ),
    )
    min_support: float = field(
        default=0.1,
        metadata=_said(
            "of frequent sets in questions of kind choices: the share of people that must have all items (default "
            "{default:g})",
            kinds=("choices",),
            flag="--min-support",
            metavar="SHARE",
            number=float,
        ),
    )
    largest: int = field(
        default=3,
        metadata=_said(
            "number of items of the largest frequent sets (default {default})",
            kinds=("choices",),
            flag="--largest",
            metavar="ITEMS",
            number=int,
        ),
    )
    known: Known | None = field(
        default=None,
        metadata=_said(
            "known shares of another question, late:yes=0.2,no=0.8, to which those of a choice of one label are "
            "corrected (tally both as a pair)",
            "The shares are those in the population.",
            kinds=("choice",),
            joined=False,
            flag="--known",
            metavar="SHARES",
            read=parse_known,
        ),
    )
    ranges: Edges | None = field(
        default=None,
        metadata=_said(
            "in tables, the ends of the ranges of a number from bound to bound, spent=0,10,50,200 (may be repeated; "
            "default: four ranges of equal width)",
            kinds=(),
            tables=True,
            joined=False,
            flag="--ranges",
            metavar="NAME=EDGES",
            repeated=True,
            read=parse_ranges,
        ),
    )
    mix: Mix | None = field(
        default=None,
        metadata=_said(
            "where levels are hidden, the known share of people who chose some of them, strict=0.4,open=0.6, or bounds "
            "of it, strict=0.3..0.5",
            "Errors then do not include that of a known share.",
            tables=True,
            joined=False,
            flag="--mix",
            metavar="SHARES",
            read=parse_mix,
        ),
    )

    @staticmethod
    def stated() -> dict[str, Option]:
        """Return what is said of each option, by name."""
        return {each.name: _with_default(each.metadata["option"], each.default) for each in fields(Options)}


def _with_default(option: Option, default: object) -> Option:
    return replace(option, help=option.help.format(default=default))


def _attributes() -> str:
    """Return the part of the docstring that explains each option."""
    texts = {name: f"{option.help}. {option.more}" for name, option in Options.stated().items()}
    entries = [
        f"    {name}\n{fill(text, 120, initial_indent=' ' * 8, subsequent_indent=' ' * 8)}"
        for name, text in texts.items()
    ]
    return "\n".join(["", "", "    Attributes", "    ----------", *entries, "    "])


Options.__doc__ = f"{Options.__doc__}{_attributes()}"


class TableOptions(TypedDict, total=False):
    """Options by name, as tables of two or three questions take them."""

    target: Target
    pool: Pool
    ranges: Edges | None
    mix: Mix | None


class GivenOptions(TableOptions, total=False):
    """Options by name, as `estimate` takes them: what type checkers cannot derive from `Options`; a test does."""

    method: str | None
    confidence: float
    progress: Progress | None
    live: int | None
    min_support: float
    largest: int
    known: Known | None


def check_names(names: Iterable[str]) -> None:
    """Refuse options that there are not."""
    for name in names:
        if name not in Options.stated():
            raise EstimateError(f"{name} is not an option of estimate; options are {', '.join(Options.stated())}")


def check_pooling(pool: str, target: str) -> None:
    """Refuse another way of pooling, or another target, than there are."""
    one_of("pool", pool, get_args(Pool))
    one_of("target", target, get_args(Target))


def one_of(argument: str, given: str, known: Sequence[str]) -> None:
    """Refuse what is not known."""
    if given not in known:
        raise EstimateError(f"{argument} must be one of {', '.join(known)}, not {given!r}")
