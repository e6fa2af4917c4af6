"""Budgets of both sides of a label: what a report may tell for "ticked", and for "not ticked".

`ticked` and `unticked` are fractions of the level's ε for some labels, as `fractions` are for both sides. A person who
ticks "HIV" fears a report that says so more than one that denies it: with `ticked = { HIV = "1/4" }` no report makes it
more than e^{ε/4} times as likely that they ticked the box, and none more than e^ε times as likely that they did not.
"""

import math
from fractions import Fraction

from pldp.mechanisms import Micro, epsilon_text
from pldp.survey.labels import BUDGET_KEYS, read_parts
from pldp.survey.question import Entry
from pldp.survey.reading import fail, read_epsilon, read_fraction, read_table

Pair = tuple[Micro, Micro]
"""Micro-ε of a label's two sides: ticked, and not ticked; `math.inf` sets no limit."""

Sides = tuple[Pair, ...]  #: Of every label.

SIDE_KEYS = ("ticked", "unticked")
SPELLED = "sides"


def read_side_parts(entry: Entry, values: tuple[str, ...]) -> tuple[tuple[Fraction, Fraction] | None, ...]:
    """Return the parts of a level's ε for both sides of each label, exactly; `None` for one without protection."""
    both = dict(zip(values, read_parts(entry, values), strict=True))
    found = []
    for key in SIDE_KEYS:
        parts = dict(both)
        for name, part in read_table(entry.table.get(key, {}), f"{entry.key}.{key}", set(values)).items():
            if both[name] is None:
                fail(f"{entry.key}.{key}", "must not name labels that are unprotected", name)
            parts[name] = read_fraction(part, f"{entry.key}.{key}.{name}")
        found.append(parts)
    ticked, unticked = found
    return tuple(
        None if one is None or two is None else (one, two)
        for one, two in ((ticked[name], unticked[name]) for name in values)
    )


def read_sides(entry: Entry, values: tuple[str, ...]) -> tuple[Sides, ...]:
    """Return the budgets of both sides of every label for each level; nothing where both sides are alike."""
    table, key = entry.table, entry.key
    if SPELLED in table:
        others = sorted({*SIDE_KEYS, *BUDGET_KEYS} & table.keys())
        if others:
            fail(key, f"must give either {SPELLED}, or fractions of the level's ε", others)
        return _spelled(entry, values)
    present = [name for name in SIDE_KEYS if name in table]
    if not present:
        return ()
    if "budgets" in table:
        fail(
            f"{key}.{present[0]}", "must come with fractions, not with budgets that are spelled out", table[present[0]]
        )
    parts = read_side_parts(entry, values)

    def micro(level: int, part: Fraction, name: str) -> int:
        found = int(level * part)
        if found < 1:
            fail(f"{key}.{present[0]}.{name}", "must leave the value at least a millionth of epsilon", str(part))
        return found

    return tuple(
        tuple(
            (math.inf, math.inf)
            if pair is None
            else (micro(level.micro_epsilon, pair[0], name), micro(level.micro_epsilon, pair[1], name))
            for name, pair in zip(values, parts, strict=True)
        )
        for level in entry.levels
    )


def _spelled(entry: Entry, values: tuple[str, ...]) -> tuple[Sides, ...]:
    key, names = f"{entry.key}.{SPELLED}", tuple(level.name for level in entry.levels)
    table = read_table(entry.table[SPELLED], key, names, required=names)
    found = []
    for level in entry.levels:
        lines = table[level.name]
        pairs = isinstance(lines, list) and all(
            isinstance(line, list) and len(line) == len(SIDE_KEYS) for line in lines
        )
        if not pairs or len(lines) != len(values):
            fail(f"{key}.{level.name}", f"must be a list with two epsilons per label ({len(values)})", lines)
        sides = tuple(
            (_micro(ticked, f"{key}.{level.name}"), _micro(unticked, f"{key}.{level.name}"))
            for ticked, unticked in lines
        )
        if any(min(pair) < max(pair) == math.inf for pair in sides):
            fail(f"{key}.{level.name}", "must give both sides of a label an epsilon, or none", lines)
        if any(level.micro_epsilon < side < math.inf for pair in sides for side in pair):
            fail(f"{key}.{level.name}", "must not be above the level's epsilon", epsilon_text(level.micro_epsilon))
        found.append(sides)
    return tuple(found)


def _micro(text: object, key: str) -> Micro:
    return math.inf if text == epsilon_text(math.inf) else read_epsilon(text, key)
