"""The options of estimates: one vocabulary for every kind of question."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from textwrap import fill
from typing import Any, Final, Literal, TypedDict, get_args

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.results.facts import Note
from pldp.estimates.results.intervals import CONFIDENCE, check_confidence, check_plan
from pldp.estimates.results.notes import known_scaled
from pldp.known import parse_known, parse_mix, parse_ranges
from pldp.mechanisms.arrays import FloatArray
from pldp.words import unknown

Pool = Literal["precision", "size"]
Target = Literal["population", "respondents"]
ShareMethod = Literal["unbiased", "likelihood"]

Mix = Mapping[str, float | tuple[float, float]]  # the share of people who chose each level, or its bounds
Known = Mapping[str, Mapping[str, float]]  # a question, and the known share of each of its labels
Edges = Mapping[str, Sequence[float]]  # of numbers, the ends of the ranges that a table has
Progress = Callable[[int], None]  # called with the number of steps of a fit

POOL_IS_DIFFER: Final = (
    "pool is no option any more: results assume nothing about levels, as by size; differ=0 (--differ 0) takes people "
    "of all levels to be alike, as by precision"
)

NO_BOUND: Final = "{} take no bound on differences of levels but 0: leave differ out, or say differ=0"

SHARE_METHODS: Final[tuple[str, ...]] = get_args(ShareMethod)
ROUNDING: Final = 0.01  # how far the sum of known shares may be from 1: published ones are rounded


@dataclass(frozen=True)
class Option:
    """What is said of an option, once: verbs, the command line and its pages read it from here."""

    help: str  # what it does, in a line for the command, where `{default}` stands for the default
    more: str = ""  # what else a programmer wants to know
    kinds: tuple[str, ...] | None = None  # of questions that take it; `None` stands for every kind
    tables: bool = False  # whether tables of several questions take it
    joined: bool = True  # whether the joined reports of several services do
    metavar: str | None = None  # what follows its flag on the command line
    choices: tuple[str, ...] | None = None
    repeated: bool = False  # whether the flag may come again
    number: Callable[[str], float] | None = None
    read: Callable[[Any], Any] | None = None  # what turns a text, or several, into the option
    flag: str = ""

    def taken_by(self, kind: str) -> bool:
        """Tell whether questions of this kind take it."""
        return self.kinds is None or kind in self.kinds


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a question is estimated: options and their defaults."""

    target: Target = "population"
    differ: float | None = None
    method: str | None = None
    confidence: float = CONFIDENCE
    progress: Progress | None = None
    live: int | None = None
    min_support: float = 0.1
    largest: int = 3
    known: Known | None = None
    ranges: Edges | None = None
    mix: Mix | None = None

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_plan(self.live)
        check_differ(self.differ)

    @property
    def pool(self) -> Pool:
        """How levels are pooled: by precision where they are declared to be alike, otherwise by size."""
        return pool_of(self.differ)

    @staticmethod
    def former() -> Mapping[str, str]:
        """Return the options that there are no more, and what took their place."""
        return {"pool": POOL_IS_DIFFER}

    @staticmethod
    def stated() -> Mapping[str, Option]:
        """Return what is said of each option, by name."""
        return _STATED


_TEXTS: Final = {
    "target": Option(
        "whose numbers: of the population that the respondents are a sample of, or of exactly the people who reported "
        "(default: {default})",
        "Errors of the population include that the respondents are a random sample.",
        tables=True,
        choices=get_args(Target),
    ),
    "differ": Option(
        "at most how much people of different levels, or who gave to different services, differ: percentage points of "
        "a share, per cent of the range of a number, 0 if they are alike (default: nothing is assumed)",
        "Here 5 points are 0.05. Without it results hold no matter who chose which level, and `alike` of a result says "
        "what they would be at 0. A bound in between makes intervals wide enough for every difference within it, and "
        "is refused where the reports contradict it.",
        tables=True,
        metavar="POINTS",
        number=lambda text: float(text) / 100,
    ),
    "method": Option(
        "unbiased or likelihood for one answer (default: unbiased), weights, average, posterior or fitted for the mean "
        "of a number (default: weights)",
        "Joined reports of sets take `unbiased`, those of numbers also `ua`, `uwa` and `ule`, the names of average, "
        "posterior and fitted in the paper on several services.",
        metavar="NAME",
    ),
    "confidence": Option("of the intervals (default {default:g})", tables=True, metavar="SHARE", number=float),
    "progress": Option("what is called with the number of steps, where a kind needs a fit"),
    "live": Option(
        "for results that are read while reports come in: intervals hold however often you look, and are narrowest "
        "from this planned number of reports on (default: intervals for one look)",
        "They are narrowest to five times as many.",
        metavar="REPORTS",
        number=int,
    ),
    "min_support": Option(
        "of frequent sets in questions of kind choices: the share of people that must have all items (default "
        "{default:g})",
        kinds=("choices",),
        metavar="SHARE",
        number=float,
    ),
    "largest": Option(
        "number of items of the largest frequent sets (default {default})",
        kinds=("choices",),
        metavar="ITEMS",
        number=int,
    ),
    "known": Option(
        "known shares of another question, late:yes=0.2,no=0.8, to which those of a choice of one label are corrected "
        "(tally both as a pair)",
        "The shares are those in the population.",
        kinds=("choice",),
        joined=False,
        metavar="SHARES",
        read=parse_known,
    ),
    "ranges": Option(
        "in tables, the ends of the ranges of a number from bound to bound, spent=0,10,50,200 (may be repeated; "
        "default: four ranges of equal width)",
        kinds=(),
        tables=True,
        joined=False,
        metavar="NAME=EDGES",
        repeated=True,
        read=parse_ranges,
    ),
    "mix": Option(
        "where levels are hidden, the known share of people who chose some of them, strict=0.4,open=0.6, or bounds of "
        "it, strict=0.3..0.5",
        "Errors then do not include that of a known share.",
        tables=True,
        joined=False,
        metavar="SHARES",
        read=parse_mix,
    ),
}

_STATED: Final = {
    each.name: replace(
        _TEXTS[each.name],
        help=_TEXTS[each.name].help.format(default=each.default),
        flag="" if each.name == "progress" else f"--{each.name.replace('_', '-')}",
    )
    for each in fields(Options)
}


def _attributes() -> str:
    """Return the part of the docstring that explains each option."""
    entries = []
    for name, option in Options.stated().items():
        text = fill(f"{option.help}. {option.more}", 120, initial_indent=" " * 8, subsequent_indent=" " * 8)
        entries.append(f"    {name}\n{text}")
    return "\n".join(["", "", "    Attributes", "    ----------", *entries, "    "])


Options.__doc__ = f"{Options.__doc__}{_attributes()}"


class TableOptions(TypedDict, total=False):
    """Options by name, as tables of two or three questions take them."""

    target: Target
    differ: float | None
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
        if name in Options.former():
            raise EstimateError(Options.former()[name])
        if name not in Options.stated():
            raise EstimateError(f"{name} is not an option of estimate; options are {', '.join(Options.stated())}")


def check_differ(differ: float | None) -> None:
    """Refuse a bound on differences of levels that is none."""
    number = isinstance(differ, int | float) and not isinstance(differ, bool)
    if differ is not None and not (number and 0 <= differ < 1):
        raise EstimateError(f"differ must be a share from 0 to below 1, such as 0.05, not {differ!r}")


def check_options(differ: float | None, target: str) -> None:
    """Refuse another bound, or another target, than there are."""
    check_differ(differ)
    one_of("target", target, get_args(Target))


def pool_of(differ: float | None) -> Pool:
    """Return how levels are pooled if they differ by at most so much."""
    return "precision" if differ == 0 else "size"


def assumed_about_levels(differ: float | None) -> str:
    """Return what a result assumes about people of different levels, as files and pages say it.

    >>> [assumed_about_levels(differ) for differ in (None, 0, 0.05)]
    ['nothing', 'alike', 'differ by at most 0.05']
    """
    return "nothing" if differ is None else f"differ by at most {differ:g}" if differ else "alike"


def pooling_words(differ: float | None) -> str:
    """Return how levels are weighted, as the method of a result says it.

    >>> pooling_words(None), pooling_words(0)
    ('all people count alike', 'levels weighted by precision')
    """
    if differ is None:
        return "all people count alike"
    return f"levels weighted for differences of at most {differ:g}" if differ else "levels weighted by precision"


def one_of(argument: str, given: str, known: Sequence[str]) -> None:
    """Refuse what is not known."""
    if given not in known:
        raise EstimateError(f"{argument} must be one of {', '.join(known)}, not {given!r}")


def known_shares(
    given: Mapping[str, float], names: Sequence[str], what: str, of: str, noun: str
) -> tuple[FloatArray, tuple[Note, ...]]:
    """Return one share per name, scaled to sum to 1, and the note that says so; refuse what cannot be known shares."""
    if not isinstance(given, Mapping):
        raise EstimateError(f'{what}: known shares must be given by {noun}, as {{"{names[0]}": 0.2, …}}')
    for name in given:
        if name not in names:
            raise EstimateError(f"{what}: {unknown(noun, name, names, 'it')}")
    missing = [name for name in names if name not in given]
    if missing:
        raise EstimateError(f"{what}: every {noun} needs its known share; {missing[0]!r} has none")
    for name in names:
        share = given[name]
        number = isinstance(share, int | float) and not isinstance(share, bool) and math.isfinite(share)
        if not number or share <= 0:
            raise EstimateError(f"{what}: the known share of {name!r} must be a number above 0, not {share!r}")
    shares = np.array([given[name] for name in names], np.float64)
    total = float(shares.sum())
    part = min(total, total / 100, key=lambda sum_of: abs(sum_of - 1))
    if abs(part - 1) > ROUNDING:
        raise EstimateError(f"{what}: known shares must sum to 1, or to 100 as percentages, not to {total:g}")
    return shares / total, (known_scaled(of, part),) if abs(part - 1) > 1e-9 else ()
