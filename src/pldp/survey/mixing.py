"""Read `shuffle`: who mixes the reports, and how many at least, before anybody else sees them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pldp.survey.question import Schema, ref
from pldp.survey.reading import LONGEST_TEXT, fail, read_table, read_text

MOST_PEOPLE: Final = 10**10

KEYS: Final[Mapping[str, Schema]] = {
    "by": ref("text", "who mixes reports and is trusted to: hands them on in random order, without anything else"),
    "people": {
        "type": "integer",
        "minimum": 2,
        "maximum": MOST_PEOPLE,
        "description": "reports that are mixed together at least before any is handed on",
    },
}
"""Keys of `shuffle` with their JSON Schema; all are required."""


class Shuffle(NamedTuple):
    """A promise of a third party, which no device can check: what it is worth is computed, and said with it."""

    by: str
    people: int

    @property
    def words(self) -> str:
        """What people are told."""
        return (
            f"{self.by} promises to mix your report with at least {self.people - 1:,} others before anyone else sees "
            "it, and to pass on no name, address or time. If that is so, anyone who sees only mixed reports or results "
            f"learns far less about you than your level allows. If it is not so, and towards {self.by} itself, only "
            "your level protects you."
        )


def read_shuffle(entry: object) -> Shuffle | None:
    """Read the table of a survey file."""
    if entry is None:
        return None
    table = read_table(entry, "shuffle", KEYS, required=tuple(KEYS))
    people = table["people"]
    if type(people) is not int or not 2 <= people <= MOST_PEOPLE:
        fail("shuffle.people", f"must be a whole number from 2 to {MOST_PEOPLE:,}", people)
    return Shuffle(read_text(table["by"], "shuffle.by", LONGEST_TEXT), people)
