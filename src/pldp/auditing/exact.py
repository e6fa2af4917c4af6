"""Exact ε of published channels, by enumeration: plain, per output, per pair, per value, per item, and of the level."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pldp.auditing.published import read_table
from pldp.auditing.tables import Direct, Ratio, Sets, Table, Tiers
from pldp.epsilon import Micro, epsilon_text, micro_epsilon, micro_epsilon_of_powers
from pldp.errors import AuditError
from pldp.mechanisms import LevelPairs
from pldp.records import Brief
from pldp.survey import Question, add_pairs, largest_pairs, most_told

SHOWN = 32  # values and outputs for which numbers are listed one by one
SHOWN_PAIRS = 8  # values between which numbers are listed pair by pair


@dataclass(frozen=True, repr=False)
class Exact(Brief):
    """What one channel promises and keeps, in micro-ε rounded up; `math.inf` without a limit.

    `claimed` is the level's ε and `found` the largest of what it promises: of a report, of a value with a budget, or of
    an item. `plain` is over all outputs and pairs of values, whatever was promised; the next three are of each output,
    of each value or item, and between each two values, where there are few. `broken` says what is not kept.
    """

    claimed: int
    found: Micro
    plain: Micro
    by_output: tuple[Micro, ...]
    by_value: tuple[Micro, ...]
    by_pair: tuple[tuple[Micro, ...], ...]
    broken: tuple[str, ...]
    parts: tuple[Micro, ...] = ()  #: What is kept of each promise: of the report, or of each value or present item.
    absent: tuple[Micro, ...] = ()  #: What is kept of an item's absence.


def micro_of(odds: Iterable[Ratio]) -> Micro:
    """Return the logarithm of a product of ratios in micro-ε, rounded up.

    >>> micro_of([(3, 1, 1)]), micro_of([(1, 0, 1)])
    (1098613, inf)
    """
    factors = list(odds)
    if any(less <= 0 < more for more, less, _ in factors):
        return math.inf
    return micro_epsilon_of_powers((Fraction(more, less), power) for more, less, power in factors if more > less)


def exact_epsilon(mechanism: str, size: int, weights: Mapping[str, Any]) -> Micro:
    """Return the plain ε of published weights in micro-ε, rounded up; `math.inf` without a limit.

    >>> from pldp.mechanisms import build
    >>> built = build("oue", 1000, 1_000_000)
    >>> exact_epsilon("oue", 1000, built.weights())
    1000000
    """
    return micro_of(read_table(mechanism, size, weights).plain())


def audit_channel(
    mechanism: str,
    size: int,
    weights: Mapping[str, Any],
    claimed: int,
    budgets: Sequence[Micro] = (),
    *,
    whole: bool = False,
    sides: Sequence[Sequence[Micro]] = (),
) -> Exact:
    """Compare what published weights keep with the ε of their level and the budgets of values or items.

    Bits of items are compared item by item, unless the level's ε is that of the `whole` set; `sides` are the budgets of
    an item's presence and of its absence, where these differ.

    >>> from pldp.mechanisms import build
    >>> audit_channel("krr", 4, build("krr", 4, 1_000_400).weights(), 1_000_000).broken
    ('a report tells 1.0004, above the claimed 1',)
    """
    table = read_table(mechanism, size, weights)
    wrong = table.check()
    if wrong is not None:
        return Exact(claimed, math.inf, math.inf, (), (), (), (wrong,))
    plain = micro_of(table.plain())
    bounds = list(budgets) or [claimed] * size
    by_item = isinstance(table, Sets) and not whole
    if isinstance(table, Sets):
        by_value = [micro_of([table.item_odds(item)]) for item in range(size)]
        kept, what = (by_value, "about item number") if by_item else ([plain], "")
    elif budgets and table.by_output and isinstance(table, Direct | Tiers):
        columns = {value: table.column(value) for value in range(size)}
        micro = {column: micro_of([column]) for column in set(columns.values())}
        by_value = [micro[column] for column in columns.values()]
        kept, what = by_value, "with value number" if isinstance(table, Tiers) else "as output number"
    else:
        by_value = [_of_value(table, value) for value in range(size if size <= SHOWN or budgets else 0)]
        kept, what = (by_value, "about value number") if budgets else ([plain], "")
    broken = [
        f"a report tells {epsilon_text(found)}{f' {what} {place}' if what else ''}, above the claimed "
        f"{epsilon_text(bound)}"
        for place, (found, bound) in enumerate(zip(kept, bounds if what else [claimed], strict=True))
        if found > bound
    ]
    if isinstance(table, Sets):
        broken += _broken_sides(table, sides)
    if by_item and math.inf not in bounds:
        charge = sum(bounds)
        if plain > charge:
            broken.append(f"a report tells {epsilon_text(plain)} about the set, above the sum {epsilon_text(charge)}")
    found = max((micro for micro, bound in zip(kept, bounds, strict=False) if bound < math.inf), default=0)
    by_pair = () if isinstance(table, Sets) else _by_pair(table)
    outputs = map(table.column, range(table.outputs)) if isinstance(table, Direct) and table.outputs <= SHOWN else ()
    by_output = tuple(micro_of([odds]) for odds in outputs)
    parts = [
        tuple(micro if bound < math.inf else math.inf for micro, bound in zip(side, bounds, strict=False))
        for side in (_kept_sides(table) if isinstance(table, Sets) and by_item else [kept])
    ]
    return Exact(claimed, found, plain, by_output, tuple(by_value[:SHOWN]), by_pair, tuple(broken), *parts)


def audit_level(question: Question, level: int) -> Exact:
    """Compare what a question's channel keeps at a level with what the question promises."""
    channel, promises = question.channels[level], question.promises(level)
    budgets = promises if len(promises) > 1 else ()
    return audit_channel(
        channel.mechanism,
        channel.size,
        channel.weights(),
        question.levels[level].micro_epsilon,
        budgets,
        whole=not budgets,
        sides=question.side_promises(level),
    )


def _kept_sides(table: Sets) -> list[list[Micro]]:
    """What a 1 tells for the presence of each item, and what a 0 tells for its absence."""
    return [[micro_of([table.side_odds(item)[side]]) for item in range(table.size)] for side in (0, 1)]


def _broken_sides(table: Sets, sides: Sequence[Sequence[Micro]]) -> list[str]:
    """Say for which items a report tells more for one side than claimed."""
    found = list(zip(*_kept_sides(table), strict=True))[: len(sides)]
    return [
        f"a report tells {epsilon_text(true)} for the {side} of item number {item}, above the claimed "
        f"{epsilon_text(bound)}"
        for item, (own, bounds) in enumerate(zip(found, sides, strict=True))
        for side, true, bound in zip(("presence", "absence"), own, bounds, strict=True)
        if true > bound
    ]


def _by_pair(table: Table) -> tuple[tuple[Micro, ...], ...]:
    """The larger ε of both directions, a matrix of few values."""
    values = range(table.size if table.size <= SHOWN_PAIRS else 0)
    ways = [[() if one == two else tuple(table.odds(one, table, two)) for two in values] for one in values]
    micro = {odds: micro_of(odds) for row in ways for odds in row}
    return tuple(tuple(max((micro[ways[one][two]], micro[ways[two][one]])) for two in values) for one in values)


def _of_value(table: Table, value: int) -> Micro:
    """The largest ε between the value and another one, in either direction."""
    others = {*table.values()} - {value}
    return max(
        micro_of(odds)
        for odds in {tuple(table.odds(*pair)) for two in others for pair in ((value, table, two), (two, table, value))}
    )


def question_tables(question: Question) -> list[Table]:
    """Return what the published integers say at each level of a question, for the answers that may be given."""
    tables = (read_table(each.mechanism, each.size, each.weights()) for each in question.channels)
    return [table.limited(question.set_limits) for table in tables]


def told_pairs(tables: Sequence[Table], *, values: bool = False) -> LevelPairs:
    """Return what an output tells for each level against each other one; with `values`, about answers too."""
    return tuple(
        tuple(
            max(map(micro_of, one.level_odds(two, values=values)), default=0) if one is not two or values else 0
            for two in tables
        )
        for one in tables
    )


def report_odds(questions: Sequence[LevelPairs], label: Table, ask: int) -> Micro:
    """Return what a label and the answers to `ask` questions tell: for each pair of levels those that tell most."""
    levels = range(label.size)
    shown = tuple(tuple(0 if one == two else micro_of(label.odds(one, label, two)) for two in levels) for one in levels)
    return most_told(add_pairs([shown, largest_pairs(questions, ask)]))


def level_odds(tables: Sequence[Table], label: Table | None = None, *, values: bool = False) -> Micro:
    """Return what output and label tell about the level of a person, for one value; with `values`, about both.

    >>> from pldp.mechanisms import build
    >>> tables = [read_table("krr", 16, build("krr", 16, micro).weights()) for micro in (100_000, 1_000_000)]
    >>> level_odds(tables)
    804544
    """
    found: list[Micro] = [0]
    for one, first in enumerate(tables):
        for two, second in enumerate(tables):
            shown = [] if label is None or one == two else label.odds(one, label, two)
            if one != two or values:
                found += [micro_of([*odds, *shown]) for odds in first.level_odds(second, values=values)]
    return max(found)


def read_micro(text: object) -> Micro:
    """Read an ε of a document: a number as text, or `infinite`."""
    if text == epsilon_text(math.inf):
        return math.inf
    if not isinstance(text, str | int | float):
        raise AuditError(f"an epsilon of the survey must be a number, not {type(text).__name__}")
    return micro_epsilon(text)
