"""One query that checks and counts the reports of a survey, in any dialect.

The result has four columns. `question`, `level`, `output` and `count` say how many accepted reports gave an output at a
level. A few more rows make the result complete in itself, and a result that was cut off is noticed:

- `'', 'survey', hash, n`: n reports were read for the survey with this hash;
- `'', 'accepted', '', n`, and `'', 'rejected', reason, n` for every reason that columns can give, 0 included;
- `question, '', '', n`: n accepted reports answer the question.

Integers are written in decimal digits, packed outputs as x and hexadecimal digits. Questions that are counted together
have their names, and their levels, in a JSON list, and commas between outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal

from pldp.errors import TallyError
from pldp.mechanisms import Bits
from pldp.reports import Rejection
from pldp.reports.columns import Forms, schema
from pldp.survey import SCHEMA, Question, Survey
from pldp.tallies.sql.dialects import ANY_VALUE, DIALECTS, Dialect
from pldp.tallies.sql.packed import ALWAYS, PackedTests, count_ones
from pldp.tallies.tally import Tally
from pldp.tallies.together import Pair
from pldp.words import unknown

ID_BYTES: Final = 16
GROUPED_OUTPUTS: Final = 1 << 16
"""Combinations of answers up to which equal reports are put together before they are checked."""

LISTED_OUTPUTS: Final = 1 << 32
"""Outputs of a question from which on hardly two reports are alike."""

REASONS: Final = (
    Rejection.WRONG_SCHEMA,
    Rejection.WRONG_SURVEY,
    Rejection.BAD_ID,
    Rejection.UNKNOWN_LEVEL,
    Rejection.WRONG_TYPE,
    Rejection.WRONG_LENGTH,
    Rejection.OUT_OF_RANGE,
    Rejection.NO_ANSWER,
    Rejection.TOO_MANY_ANSWERS,
)
"""Why a row of columns is rejected; 1, 2, … stand for them inside a query."""

Bytes = Literal["binary", "text"]
"""Whether ids and packed outputs are in binary columns, or in hexadecimal digits."""


def query(
    survey: Survey, table: str, dialect: str = "duckdb", *, pairs: Sequence[Pair] = (), bytes_as: Bytes = "binary"
) -> str:
    """Return the query that checks and counts the reports of a table; `read_counts` makes a tally of its result.

    Parameters
    ----------
    survey
        The survey; reports of another one are rejected and counted as such.
    table
        What stands behind FROM: a table, a view or a function, with the columns that `pldp` writes to Parquet.
    dialect
        One of `DIALECTS`.
    pairs
        Names of two or three questions each, to be counted together for a table.
    bytes_as
        `binary` where ids and packed outputs are bytes, `text` where they are lower-case hexadecimal digits.

    Examples
    --------
    >>> from pldp import Survey
    >>> text = query(Survey.load("examples/commute.toml"), "reports", "sqlite")
    >>> text.startswith("WITH pldp_reports AS") and "FROM reports" in text
    True
    """
    return Query(survey, table, _dialect(dialect), pairs, bytes_as).text()


def _dialect(name: str) -> Dialect:
    if name not in DIALECTS:
        raise TallyError(unknown("dialect", name, DIALECTS, "pldp"))
    return DIALECTS[name]


def pair_name(names: Iterable[str]) -> str:
    """Return how names of questions, or of levels, that belong together are written.

    >>> pair_name(("mode", "late"))
    '["mode", "late"]'
    """
    return json.dumps(list(names), ensure_ascii=False)


@dataclass(frozen=True)
class InPlace:
    """What a query that is run at once can do without, or has besides."""

    streamed: bool = False  #: Outputs that hardly ever repeat are left as they come, a row per report.
    kept: str = ""  #: A column to carry along.
    good_ids: bool = False  #: Every report has an id of the right length, so that they need not be read.


_PLAIN = InPlace()


class Query:
    """The parts of a query."""

    def __init__(
        self,
        survey: Survey,
        table: str,
        dialect: Dialect,
        pairs: Sequence[Pair] = (),
        bytes_as: Bytes = "binary",
        how: InPlace = _PLAIN,
    ) -> None:
        empty = Tally.empty(survey, pairs=pairs)  # refuses what cannot be counted
        self.survey, self.table, self.dialect, self.bytes_as = survey, table, dialect, bytes_as
        self.streamed, self.kept, self.good_ids = how.streamed, how.kept, how.good_ids
        if not table.strip() or ";" in table:
            raise TallyError("the table must be what stands behind FROM, such as reports or analytics.reports")
        self.pairs = empty.paired
        names = {question.name for question in survey.questions}
        clash = next((pair_name(pair) for pair in self.pairs if pair_name(pair) in names), None)
        if clash is not None:
            raise TallyError(f"a question is called {clash}, which is also the name of a pair in the result; rename it")
        self.column = dialect.columns(schema(survey).names)
        self.questions = [_QuestionSql(self, place, question) for place, question in enumerate(survey.questions)]
        outputs = (1 + sum(channel.form.count for channel in each.channels) for each in survey.questions)
        self.grouped = not self.kept and prod(outputs) <= GROUPED_OUTPUTS

    def text(self) -> str:
        """Return the whole query."""
        rows = [self._summary_rows(), *(question.rows() for question in self.questions)]
        rows += [self._pair_rows(pair) for pair in self.pairs]
        return f"{self.tables()},\n{self._summary()}\n" + "\nUNION ALL\n".join(rows) + "\n"

    def tables(self) -> str:
        """Return the common tables up to the one of checked reports."""
        often = self.dialect.materialized and (self.grouped or len(self.questions) + len(self.pairs) > 1)
        kept = "MATERIALIZED " if often else "NOT MATERIALIZED " if self.dialect.materialized else ""
        return f"WITH pldp_reports AS (\n{self._reports()}\n),\npldp_checked AS {kept}(\n{self._checked()}\n)"

    def rejected(self) -> str:
        """Return the query that lists the kept column of the reports that are rejected."""
        return f"{self.tables()}\nSELECT {self.kept} FROM pldp_checked WHERE reason > 0"

    def _reports(self) -> str:
        """Select what is looked at of every report, in one form whatever the engine."""
        columns = {"envelope": self._envelope(), **({self.kept: self.kept} if self.kept else {})}
        for question in self.questions:
            columns |= question.raw()
        number = ", COUNT(*) AS number" if self.grouped else ""
        behind = "\n  GROUP BY " + ", ".join(str(place + 1) for place in range(len(columns))) if self.grouped else ""
        listed = ",\n    ".join(f"{expression} AS {name}" for name, expression in columns.items())
        return f"  SELECT\n    {listed}{number}\n  FROM {self.table}{behind}"

    def _envelope(self) -> str:
        """Return the reason for which schema, survey or id reject a report, 0 where they do not."""
        schema_column, survey_column, id_column = (self.column[name] for name in ("schema", "survey", "id"))
        if self.bytes_as == "text":
            right_id = f"LENGTH({id_column}) = {2 * ID_BYTES} AND NOT {self.dialect.not_hex.format(id_column)}"
            right_id = f"{self.dialect.is_text.format(id_column)} AND {right_id}"
        else:
            count = self.dialect.byte_count.format(id_column)
            right_id = f"{self.dialect.is_bytes.format(id_column)} AND {count} = {ID_BYTES}"
        tests = {
            Rejection.WRONG_SCHEMA: f"{self.dialect.is_integer.format(schema_column)} AND {schema_column} = {SCHEMA}",
            Rejection.WRONG_SURVEY: f"{survey_column} IS NOT NULL AND "
            f"{survey_column} = {self.dialect.literal(self.survey.hash)}",
            **({} if self.good_ids else {Rejection.BAD_ID: right_id}),
        }
        cases = " ".join(f"WHEN NOT ({test}) THEN {_code(reason)}" for reason, test in tests.items())
        return f"CASE {cases} ELSE 0 END"

    def _checked(self) -> str:
        """Give every report its first reason to be rejected, in the order of the local tally."""
        cases = ["WHEN envelope > 0 THEN envelope"]
        columns = [self.kept] if self.kept else []
        for question in self.questions:
            cases += [f"WHEN {test} THEN {_code(reason)}" for test, reason in question.tests()]
            columns += question.checked()
        answered = [f"CASE WHEN {question.level} IS NULL THEN 0 ELSE 1 END" for question in self.questions]
        nothing = " AND ".join(f"{question.level} IS NULL" for question in self.questions)
        cases.append(f"WHEN {nothing} THEN {_code(Rejection.NO_ANSWER)}")
        if self.survey.ask is not None:
            number = " + ".join(answered)
            cases.append(f"WHEN {number} > {self.survey.ask} THEN {_code(Rejection.TOO_MANY_ANSWERS)}")
        if self.grouped:
            columns.append("number")
        listed = "".join(f",\n    {column}" for column in columns)
        return (
            "  SELECT CASE\n      "
            + "\n      ".join(cases)
            + f"\n      ELSE 0 END AS reason{listed}\n  FROM pldp_reports"
        )

    def number_where(self, condition: str = "") -> str:
        """Return the aggregate that counts reports."""
        if self.grouped:
            summed = f"CASE WHEN {condition} THEN number ELSE 0 END" if condition else "number"
            return f"COALESCE(SUM({summed}), 0)"
        return f"COUNT(CASE WHEN {condition} THEN 1 END)" if condition else "COUNT(*)"

    def _sides(self, pair: Pair) -> list[_QuestionSql]:
        places = {question.name: place for place, question in enumerate(self.survey.questions)}
        return [self.questions[places[name]] for name in pair]

    def _answered(self, *sides: _QuestionSql) -> str:
        return " AND ".join(["reason = 0", *(f"{side.level} IS NOT NULL" for side in sides)])

    def _summary_lines(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield question, level, output and whom to count, of every row that is always there."""
        yield "", "survey", self.survey.hash, ""
        yield "", "accepted", "", "reason = 0"
        for reason in REASONS:
            yield "", "rejected", reason.value, f"reason = {_code(reason)}"
        for question in self.questions:
            yield question.name, "", "", self._answered(question)
        for pair in self.pairs:
            yield pair_name(pair), "", "", self._answered(*self._sides(pair))

    def _summary(self) -> str:
        """Count in one pass everything of which there is one row; one table then has these rows."""
        lines = list(self._summary_lines())
        sums = ",\n    ".join(
            f"{self.number_where(condition)} AS n{place}" for place, (*_, condition) in enumerate(lines)
        )
        places = " UNION ALL ".join(f"SELECT {place} AS place" for place in range(len(lines)))
        return f"pldp_summary AS (\n  SELECT\n    {sums}\n  FROM pldp_checked\n),\npldp_places AS ({places})"

    def _summary_rows(self) -> str:
        lines = list(self._summary_lines())
        texts: list[str] = []
        for column in range(3):
            cases = " ".join(
                f"WHEN {place} THEN {self.dialect.literal(line[column])}"
                for place, line in enumerate(lines)
                if line[column]
            )
            texts.append(f"CASE place {cases} ELSE '' END")
        numbers = " ".join(f"WHEN {place} THEN n{place}" for place in range(len(lines)))
        question, level, output = texts
        count = f"CASE place {numbers} END"
        return self.row(question, level, output, count) + "\nFROM pldp_summary CROSS JOIN pldp_places"

    def row(self, question: str, level: str, output: str, count: str) -> str:
        """Return the start of a part of the result."""
        number = f"CAST({count} AS {self.dialect.integer})"
        named = zip((question, level, output, number), ("question", "level", "output", "count"), strict=True)
        return "SELECT " + ", ".join(f"{expression} AS {self.dialect.quoted(name)}" for expression, name in named)

    def rows(self, names: tuple[str, str, str], keys: Sequence[str], sides: Sequence[_QuestionSql]) -> str:
        """Count the accepted reports that answer some questions, by these columns."""
        listed = prod(sum(channel.form.count for channel in side.question.channels) for side in sides)
        alone = self.streamed and not self.grouped and listed > LISTED_OUTPUTS
        count = "1" if alone else self.number_where()
        grouped = "" if alone else f"\nGROUP BY {', '.join(keys)}"
        return f"{self.row(*names, count)}\nFROM pldp_checked WHERE {self._answered(*sides)}{grouped}"

    def _pair_rows(self, pair: Pair) -> str:
        sides = self._sides(pair)
        level = (
            f"{self.dialect.literal('[')} || " + " || ', ' || ".join(side.json_level() for side in sides) + " || ']'"
        )
        output = " || ',' || ".join(side.output_text() for side in sides)
        keys = [key for side in sides for key in side.keys]
        return self.rows((self.dialect.literal(pair_name(pair)), level, output), keys, sides)


def _code(reason: Rejection) -> int:
    return REASONS.index(reason) + 1


def _of_type(test: str, column: str) -> str:
    """Return a column with nothing where its value is of another type; most engines have one type per column."""
    return column if test == ANY_VALUE else f"CASE WHEN {test.format(column)} THEN {column} END"


class _QuestionSql:
    """What a query says of one question: its columns are numbered, so that names of questions may be anything."""

    def __init__(self, query: Query, place: int, question: Question) -> None:
        self.query, self.question, self.name, self.dialect = query, question, question.name, query.dialect
        self.forms = Forms(question)
        parts = ("level", "output", "bits", "digits", "ones")
        self.level, self.output, self.bits, self.digits, self.ones = (f"{part}{place}" for part in parts)
        if query.bytes_as == "text":
            self.digits = self.bits
        if query.bytes_as == "text" or not query.dialect.ones:
            self.ones = count_ones(self.digits)
        self.used = " ".join(map(self._condition, self.forms.bits.values()))

    def _condition(self, form: Bits) -> str:
        """Return the condition that bytes of the right length are an output."""
        return form.condition(PackedTests(self.dialect, self.digits, form.bytes, self.ones))

    @property
    def keys(self) -> list[str]:
        """The columns that tell answers apart."""
        both = ((self.output, self.forms.integers), (self.bits, self.forms.bits))
        return [self.level, *(column for column, used in both if used)]

    def raw(self) -> dict[str, str]:
        """Return the columns of the table, in one form."""
        column = self.query.column
        found = {self.level: column[f"{self.name}.level"]}
        if self.forms.integers:
            own = column[f"{self.name}.output"]
            found[self.output] = _of_type(self.dialect.is_integer, own)
        if self.forms.bits:
            own = column[f"{self.name}.bits"]
            text = self.query.bytes_as == "text"
            found[self.bits] = _of_type(self.dialect.is_text if text else self.dialect.is_bytes, own)
            if not text and self.digits in self.used:
                found[self.digits] = self.dialect.hex.format(own)
            if self.ones in self.used and self.dialect.ones and not text:
                found[self.ones] = self.dialect.ones.format(own)
        return found

    def _levels(self, places: Iterable[int]) -> str:
        """Return the condition that the level is one of these."""
        names = ", ".join(self.dialect.literal(self.question.levels[place].name) for place in places)
        return f"{self.level} IN ({names})"

    def tests(self) -> Iterator[tuple[str, Rejection]]:
        """Yield conditions to reject a report, first things first."""
        every = range(len(self.question.levels))
        yield f"{self.level} IS NOT NULL AND NOT {self._levels(every)}", Rejection.UNKNOWN_LEVEL
        integers = [place for place in every if place not in self.forms.bits]
        if integers:
            yield f"{self._levels(integers)} AND {self.output} IS NULL", Rejection.WRONG_TYPE
        for form, places in self._alike(integers).items():
            yield f"{self._levels(places)} AND NOT ({form.condition(self.output)})", Rejection.OUT_OF_RANGE
        if self.forms.bits:
            yield f"{self._levels(self.forms.bits)} AND {self.bits} IS NULL", Rejection.WRONG_TYPE
        for form, places in self._alike(self.forms.bits).items():
            yield from self._packed_tests(form, self._levels(places))

    def _packed_tests(self, form: Bits, chosen: str) -> Iterator[tuple[str, Rejection]]:
        text = self.query.bytes_as == "text"
        length = f"LENGTH({self.bits})" if text else self.dialect.byte_count.format(self.bits)
        yield f"{chosen} AND {length} <> {2 * form.bytes if text else form.bytes}", Rejection.WRONG_LENGTH
        if text:
            yield f"{chosen} AND {self.dialect.not_hex.format(self.bits)}", Rejection.WRONG_TYPE
        condition = self._condition(form)
        if condition != ALWAYS:
            yield f"{chosen} AND NOT {condition}", Rejection.OUT_OF_RANGE

    def _alike(self, places: Iterable[int]) -> dict[Any, list[int]]:
        """Return the places of levels by the form of their outputs."""
        alike: dict[Any, list[int]] = {}
        for place in places:
            alike.setdefault(self.question.channels[place].form, []).append(place)
        return alike

    def checked(self) -> list[str]:
        """Return the columns that are counted: of each report the one that its level uses."""
        mixed = len({bool(limit) for limit in self.forms.limits}) > 1
        found = [self.level]
        for column, places in (
            (self.output, [place for place, limit in enumerate(self.forms.limits) if limit]),
            (self.bits, list(self.forms.bits)),
        ):
            if places:
                used = f"CASE WHEN {self._levels(places)} THEN {column} END AS {column}"
                found.append(used if mixed else column)
        return found

    def output_text(self) -> str:
        """Return the output of an accepted report as text."""
        whole = f"CAST({self.output} AS {self.dialect.text})"
        packed = f"'x' || {self.bits if self.query.bytes_as == 'text' else self.dialect.hex.format(self.bits)}"
        if self.forms.integers and self.forms.bits:
            return f"COALESCE({whole}, {packed})"
        return whole if self.forms.integers else packed

    def json_level(self) -> str:
        """Return the level as JSON."""
        names = [level.name for level in self.question.levels]
        quoted = (
            (self.dialect.literal(name), self.dialect.literal(json.dumps(name, ensure_ascii=False))) for name in names
        )
        return f"CASE {self.level} " + " ".join(f"WHEN {name} THEN {text}" for name, text in quoted) + " END"

    def rows(self) -> str:
        """Count the accepted answers."""
        names = (self.dialect.literal(self.name), self.level, self.output_text())
        return self.query.rows(names, self.keys, [self])
