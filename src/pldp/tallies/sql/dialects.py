"""The dialects of SQL: a table of the few functions and rules in which they differ.

A dialect says how to quote, how bytes become hexadecimal text, and how columns are named. Everything else of a query
is the SQL that all of them share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pldp.errors import TallyError

ANY_VALUE: Final = "{} IS NOT NULL"  #: What tests a value's type where a column has one type.


@dataclass(frozen=True)
class Dialect:
    """What differs between engines; `{}` or `{0}` in a text stands for the expression that it is applied to."""

    name: str
    hex: str  #: Bytes as lower-case hexadecimal text.
    byte_count: str  #: Number of bytes.
    not_hex: str  #: Whether a text has anything but lower-case hexadecimal digits.
    text: str  #: Type of texts.
    integer: str = "BIGINT"  #: Type of counts.
    quote: str = '"'  #: Around names.
    escaped_texts: bool = False  #: Whether a backslash in a text starts an escape; otherwise quotes are doubled.
    escaped_names: bool = False  #: The same of quoted names.
    caseless: bool = False  #: Whether names of columns that differ in capitals only are the same.
    is_integer: str = ANY_VALUE  #: Whether a value is an integer: some columns hold values of any type.
    is_bytes: str = ANY_VALUE  #: The same of bytes.
    is_text: str = ANY_VALUE  #: The same of texts.
    ones: str = ""  #: Number of bits of bytes that are 1, where there is such a function.
    ordered: str = "{}"  #: A text that is compared byte by byte.
    materialized: bool = False  #: Whether a common table can be asked to be computed once.
    rename: Callable[[str], str] = str  #: The name that a column of reports has in this engine.

    def quoted(self, name: str) -> str:
        """Quote a name."""
        inside = _escape(name, self.quote) if self.escaped_names else name.replace(self.quote, 2 * self.quote)
        return f"{self.quote}{inside}{self.quote}"

    def literal(self, text: str) -> str:
        """Quote a text.

        >>> DIALECTS["sqlite"].literal("it's")
        "'it''s'"
        """
        inside = _escape(text, "'") if self.escaped_texts else text.replace("'", "''")
        return f"'{inside}'"

    def columns(self, names: Sequence[str]) -> dict[str, str]:
        """Return the quoted name of every column; refuse columns that this engine cannot tell apart."""
        found: dict[str, str] = {}
        taken: dict[str, str] = {}
        for name in names:
            renamed = self.rename(name)
            key = renamed.lower() if self.caseless else renamed
            if key in taken:
                raise TallyError(
                    f"{self.name} cannot tell the columns {taken[key]!r} and {name!r} apart: both are called {key!r} "
                    "there; rename a question, or use another engine"
                )
            taken[key] = name
            found[name] = self.quoted(renamed)
        return found


def _escape(text: str, quote: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace(quote, "\\" + quote)


def _short_name(name: str) -> str:
    """Cut a name after 63 bytes, between characters, as PostgreSQL does."""
    return name.encode()[:63].decode(errors="ignore")


def _plain_name(name: str) -> str:
    """Keep letters, digits and underscores, and no digit first, as BigQuery asks."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{plain}" if plain[0].isdigit() else plain


DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "duckdb",
            hex="lower(hex({}))",
            byte_count="octet_length({})",
            not_hex="regexp_matches({}, '[^0-9a-f]')",
            text="VARCHAR",
            ones="bit_count(CAST(CASE WHEN octet_length({0}) > 0 THEN {0} END AS BIT))",
            caseless=True,
            materialized=True,
        ),
        Dialect(
            "postgresql",
            hex="encode({}, 'hex')",
            byte_count="octet_length({})",
            not_hex="{} ~ '[^0-9a-f]'",
            text="TEXT",
            ordered='({} COLLATE "C")',
            materialized=True,
            rename=_short_name,
        ),
        Dialect(
            "sqlite",
            hex="lower(hex({}))",
            byte_count="length({})",
            not_hex="{} GLOB '*[^0-9a-f]*'",
            text="TEXT",
            integer="INTEGER",
            is_integer="typeof({}) = 'integer'",
            is_bytes="typeof({}) = 'blob'",
            is_text="typeof({}) = 'text'",
            caseless=True,
            materialized=True,
        ),
        Dialect(
            "spark",
            hex="lower(hex({}))",
            byte_count="octet_length({})",
            not_hex="{} RLIKE '[^0-9a-f]'",
            text="STRING",
            quote="`",
            escaped_texts=True,
            caseless=True,
        ),
        Dialect(
            "bigquery",
            hex="TO_HEX({})",
            byte_count="BYTE_LENGTH({})",
            not_hex="REGEXP_CONTAINS({}, '[^0-9a-f]')",
            text="STRING",
            integer="INT64",
            quote="`",
            escaped_texts=True,
            escaped_names=True,
            caseless=True,
            ones="BIT_COUNT({})",
            rename=_plain_name,
        ),
        Dialect(
            "snowflake",
            hex="HEX_ENCODE({}, 0)",
            byte_count="OCTET_LENGTH({})",
            not_hex="REGEXP_INSTR({}, '[^0-9a-f]') > 0",
            text="VARCHAR",
            escaped_texts=True,
        ),
        Dialect(
            "clickhouse",
            hex="lower(hex({}))",
            byte_count="length({})",
            not_hex="match({}, '[^0-9a-f]')",
            text="Nullable(String)",
            integer="Int64",
            quote="`",
            escaped_texts=True,
            escaped_names=True,
        ),
    )
}
"""Every dialect by its name."""
