"""Read one question of a survey file: a choice of one label, a choice of several, or a number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

from pldp.budgets import Level
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import (
    Channel,
    Grid,
    ItemSet,
    build,
    epsilon_text,
    names,
    read,
)
from pldp.survey.hiding import Hiding, hidden_channels
from pldp.survey.model import KINDS, OUTSIDE, Budgets, Question
from pldp.survey.reading import (
    LONGEST_NAME,
    LONGEST_TEXT,
    check_distinct,
    fail,
    read_epsilon,
    read_fraction,
    read_table,
    read_text,
)

MOST_VALUES: Final = 1_000_000
MOST_BUCKETS: Final = 4096
BUCKETS: Final = 256
"""Buckets of a number where the file does not say."""

_KEYS: Final = {"name", "text", "kind", "levels", "mechanism", "weights"}
_LABEL_KEYS: Final = {"values", "fractions", "unprotected", "budgets"}
_NUMBER_KEYS: Final = {"low", "high", "buckets", "unit", "outside"}


def read_question(entry: object, key: str, survey_levels: tuple[Level, ...], hiding: Hiding | None) -> Question:
    """Build a question from its table."""
    table = read_table(entry, key, _KEYS | _LABEL_KEYS | _NUMBER_KEYS, required=("name",))
    name = read_text(table["name"], f"{key}.name", LONGEST_NAME)
    kind = table.get("kind", "choice")
    if kind not in KINDS:
        fail(f"{key} ({name}).kind", f"must be one of {', '.join(KINDS)}", kind)
    own = _NUMBER_KEYS if kind == "number" else _LABEL_KEYS
    read_table(table, key, _KEYS | own, required=("low", "high") if kind == "number" else ("values",))
    key = f"{key} ({name})"
    levels = _question_levels(table.get("levels"), f"{key}.levels", survey_levels)
    if hiding is not None and [level.name for level in levels] != [level.name for level in survey_levels]:
        fail(
            f"hide_level: {key}.levels",
            "must offer every level in the survey's order",
            [level.name for level in levels],
        )
    shared = {
        "name": name,
        "text": read_text(table.get("text", ""), f"{key}.text", LONGEST_TEXT, empty=True),
        "levels": levels,
        "kind": kind,
    }
    if kind == "number":
        return Question(**shared, **_number(table, key, levels))
    return Question(**shared, **_labels(table, key, kind, levels, hiding))


def _labels(
    table: Mapping[str, Any], key: str, kind: str, levels: tuple[Level, ...], hiding: Hiding | None
) -> dict[str, Any]:
    values = _values(table["values"], f"{key}.values")
    budgets = _value_budgets(table, key, values, levels)
    mechanisms = _per_level(table.get("mechanism", "auto"), f"{key}.mechanism", levels, default="auto")
    weights = _per_level(table.get("weights", {}), f"{key}.weights", levels, default=None)
    plain = kind == "choice" and not budgets
    if plain and hiding is not None and len(set(mechanisms.values())) == 1 and not any(weights.values()):
        channels: tuple[Channel, ...] = hidden_channels(key, len(values), levels, mechanisms[levels[0].name], hiding)
    else:
        channels = tuple(
            _label_channel(
                f"{key}, level {level.name}",
                kind,
                budgets[place] if budgets else None,
                (len(values), level.micro_epsilon, mechanisms[level.name], weights[level.name]),
            )
            for place, level in enumerate(levels)
        )
    return {"values": values, "channels": channels, "budgets": budgets}


def _label_channel(where: str, kind: str, budgets: Budgets | None, asked: tuple[int, int, object, object]) -> Channel:
    size, micro, mechanism, weights = asked
    if not isinstance(mechanism, str):
        fail(f"{where}: mechanism", "must be a name", mechanism)
    if weights is not None:
        _check_weights(where, weights, size if kind == "choices" or budgets is not None else None)
    try:
        if kind == "choices":
            return _set_channel(where, mechanism, budgets or (micro,) * size, weights)
        if budgets is not None:
            return _item_channel(where, mechanism, budgets, weights)
        if weights is None:
            return build(mechanism, size, micro)
        return read(mechanism, size, weights)
    except EpsilonError as error:
        raise SurveyError(f"{where}: {error}") from None


def _item_channel(where: str, mechanism: str, budgets: Budgets, weights: Any) -> Channel:
    if mechanism == "auto":
        mechanism = "iprr"
    if mechanism in names("labels", per_value=False):
        known = ", ".join(names("labels", per_value=True))
        fail(f"{where}: mechanism", f"must be one of {known}, which know budgets", mechanism)
    return build(mechanism, len(budgets), budgets) if weights is None else read(mechanism, len(budgets), weights)


def _set_channel(where: str, mechanism: str, budgets: Budgets, weights: Any) -> ItemSet:
    if mechanism not in {"auto", ItemSet.mechanism}:
        fail(f"{where}: mechanism", f"must be {ItemSet.mechanism} for a choice of several", mechanism)
    if weights is None:
        return ItemSet.of(budgets)
    if weights.keys() != {"kept", "raised"}:
        fail(f"{where}: weights", "must be exactly kept and raised", sorted(weights))
    return ItemSet(len(budgets), tuple(weights["kept"]), tuple(weights["raised"]))


def _check_weights(where: str, weights: object, length: int | None = None) -> None:
    """Accept a table of integers, or of lists with so many integers, nothing else."""
    entries = list(weights.values()) if isinstance(weights, dict) else [None]
    if length is None:
        if not all(type(entry) is int for entry in entries):
            fail(f"{where}: weights", "must be a table of integers", weights)
    elif not all(
        isinstance(entry, list) and len(entry) == length and all(type(number) is int for number in entry)
        for entry in entries
    ):
        fail(f"{where}: weights", f"must be a table of lists of {length} integers", weights)


def _value_budgets(
    table: Mapping[str, Any], key: str, values: tuple[str, ...], levels: tuple[Level, ...]
) -> tuple[Budgets, ...]:
    """Return a budget per value for each level, or nothing if all values share the level's ε."""
    given = {name for name in ("fractions", "unprotected", "budgets") if name in table}
    if not given:
        return ()
    if "budgets" in given:
        if len(given) > 1:
            fail(key, "must give either budgets, or fractions and unprotected values", sorted(given))
        return _spelled_budgets(table["budgets"], f"{key}.budgets", values, levels)
    fractions = dict.fromkeys(values, Fraction(1))
    for name, part in read_table(table.get("fractions", {}), f"{key}.fractions", set(values), required=()).items():
        fractions[name] = read_fraction(part, f"{key}.fractions.{name}")
    unprotected = table.get("unprotected", [])
    if not isinstance(unprotected, list) or not set(unprotected) <= set(values):
        fail(f"{key}.unprotected", "must be a list of labels of this question", unprotected)
    for name in unprotected:
        if name in table.get("fractions", {}):
            fail(f"{key}.unprotected", "must not name labels that have a fraction", name)
    return tuple(
        tuple(
            math.inf if name in unprotected else _part(level.micro_epsilon, fractions[name], f"{key}.fractions.{name}")
            for name in values
        )
        for level in levels
    )


def _part(micro: int, fraction: Fraction, key: str) -> int:
    part = int(micro * fraction)
    if part < 1:
        fail(key, "must leave the value at least a millionth of epsilon", str(fraction))
    return part


def _spelled_budgets(
    entry: object, key: str, values: tuple[str, ...], levels: tuple[Level, ...]
) -> tuple[Budgets, ...]:
    names = [level.name for level in levels]
    table = read_table(entry, key, set(names), required=tuple(names))
    found = []
    for level in levels:
        lines = table[level.name]
        if not isinstance(lines, list) or len(lines) != len(values):
            fail(f"{key}.{level.name}", f"must be a list with one epsilon per value ({len(values)})", lines)
        budgets = tuple(
            math.inf if line == epsilon_text(math.inf) else read_epsilon(line, f"{key}.{level.name}") for line in lines
        )
        if any(level.micro_epsilon < micro < math.inf for micro in budgets):
            fail(f"{key}.{level.name}", "must not be above the level's epsilon", epsilon_text(level.micro_epsilon))
        found.append(budgets)
    return tuple(found)


def _number(table: Mapping[str, Any], key: str, levels: tuple[Level, ...]) -> dict[str, Any]:
    buckets = table.get("buckets", BUCKETS)
    if type(buckets) is not int or not 2 <= buckets <= MOST_BUCKETS:
        fail(f"{key}.buckets", f"must be a whole number from 2 to {MOST_BUCKETS:,}", buckets)
    outside = table.get("outside", "refuse")
    if outside not in OUTSIDE:
        fail(f"{key}.outside", f"must be one of {', '.join(OUTSIDE)}", outside)
    low, high = (_bound(table[name], f"{key}.{name}") for name in ("low", "high"))
    mechanisms = _per_level(table.get("mechanism", "auto"), f"{key}.mechanism", levels, default="auto")
    weights = _per_level(table.get("weights", {}), f"{key}.weights", levels, default=None)
    channels = []
    try:
        grid = Grid(float(low), float(high), buckets)
    except EpsilonError as error:
        raise SurveyError(f"{key}: {error}") from None
    for level in levels:
        where = f"{key}, level {level.name}"
        mechanism, published = mechanisms[level.name], weights[level.name]
        if mechanism not in {"auto", *names("numbers")}:
            fail(f"{where}: mechanism", f"must be one of {', '.join(names('numbers'))} or auto", mechanism)
        try:
            if published is None:
                named = "sw" if mechanism == "auto" else mechanism
                channels.append(build(named, buckets, level.micro_epsilon))
            else:
                _check_weights(where, published)
                channels.append(read(mechanism, buckets, published))
        except EpsilonError as error:
            raise SurveyError(f"{where}: {error}") from None
    return {
        "values": (),
        "channels": tuple(channels),
        "grid": grid,
        "bounds": (_plain(low), _plain(high)),
        "unit": read_text(table.get("unit", ""), f"{key}.unit", LONGEST_NAME, empty=True),
        "outside": outside,
    }


def _bound(entry: object, key: str) -> Decimal:
    if isinstance(entry, bool) or not isinstance(entry, int | str | Decimal):
        fail(key, "must be a number", entry)
    try:
        number = Decimal(entry)
    except InvalidOperation:
        fail(key, "must be a number", entry)
    if not number.is_finite() or abs(number) > Decimal("1e15") or number != round(number, 9):
        fail(key, "must be a finite number of at most 15 digits before and 9 after the point", entry)
    return number


def _plain(number: Decimal) -> str:
    """One spelling of a number: no exponent, no trailing zeros."""
    return f"{number.normalize() + 0:f}"


def _values(entry: object, key: str) -> tuple[str, ...]:
    if not isinstance(entry, list) or not 2 <= len(entry) <= MOST_VALUES:
        fail(key, f"must be a list of 2 to {MOST_VALUES:,} labels", entry)
    labels = [read_text(label, f"{key}[{index}]", LONGEST_TEXT) for index, label in enumerate(entry)]
    check_distinct(labels, key, "labels")
    return tuple(labels)


def _question_levels(entry: object, key: str, survey_levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """A question may give some or all levels another ε; a level it leaves out of a full table is not on offer."""
    if entry is None:
        return survey_levels
    known = {level.name: level for level in survey_levels}
    if not isinstance(entry, dict) or not entry:
        fail(key, "must be a table such as strict = 0.5", entry)
    levels = []
    for name, epsilon in entry.items():
        if name not in known:
            fail(f"{key}.{name}", f"must be one of the survey's levels: {', '.join(known)}", name)
        levels.append(Level(name, read_epsilon(epsilon, f"{key}.{name}"), known[name].text))
    return tuple(sorted(levels, key=lambda level: (level.micro_epsilon, level.name)))


def _per_level(entry: object, key: str, levels: tuple[Level, ...], *, default: object) -> Mapping[str, Any]:
    if isinstance(entry, str):
        return dict.fromkeys((level.name for level in levels), entry)
    if not isinstance(entry, dict):
        fail(key, "must be one name, or a table with one per level", entry)
    known = [level.name for level in levels]
    for name in entry:
        if name not in known:
            fail(f"{key}.{name}", f"must be one of the question's levels: {', '.join(known)}", name)
    return {name: entry.get(name, default) for name in known}
