"""Any number of answers: a share per item, frequent sets of items, and rules between them."""

from typing import Any

from pldp.show.kinds.choice import Choice
from pldp.show.kinds.kind import NAMED, sayable
from pldp.show.markup import paragraph
from pldp.show.numbers import Writer, as_sentence, brief, listed, percents
from pldp.show.table import MOST_ROWS, Mapped, Table


class Choices(Choice):
    """Shares of people who have each item, and the sets that many of them have together."""

    phrase = "any number of answers"
    heads = ("item", "share")
    noun, verb = "box", "tick"

    def more(self, result: Mapped) -> str:
        """Draw frequent sets, or say that there are none."""
        found = self._sets(result) if sayable(result["rows"]) else None
        if found is None:
            return ""
        sets = _named_sets(result)
        drawing = self.dotted(result, sets, "Frequent sets with their intervals") if sets else ""
        words = paragraph(found.title, "note") if sets else ""
        return f'<div class="sets"><h3>Frequent sets</h3>{words}{drawing}{paragraph(found.note, "note")}</div>'

    def tables(self, result: Mapped) -> list[Table]:
        """Return single items, frequent sets and rules."""
        together = (self._sets(result), _rules(result)) if sayable(result["rows"]) else ()
        return [*super().tables(result), *filter(None, together)]

    def further(self, result: Mapped) -> str:
        """Name the largest frequent sets, or say that there are none."""
        if "min_support" not in result or result.get("largest") == 1:
            return ""
        sets, floor = _named_sets(result), f"{brief(100 * result['min_support'])} %"
        if not sets:
            return f"No two boxes are surely ticked together by {floor} or more."
        largest = sorted(sets, key=lambda row: -row["estimate"])[:NAMED]
        write = self.writer({**result, "rows": largest})
        named = [f"{row['label']} ({write(row).interval(row['low'], row['high'])})" for row in largest]
        return f"Ticked together by {floor} or more: {listed(named, NAMED, count=len(sets))}."

    def _sets(self, result: Mapped) -> Table | None:
        """Return sets of two items and more; the first table has the single ones."""
        if "min_support" not in result or result.get("largest") == 1:
            return None
        sets = _named_sets(result)
        floor = f"{brief(100 * result['min_support'])} %"
        promise = as_sentence(result.get("promise", ""))
        if not sets:
            none = f"No set of two or more surely has a share of {floor}."
            return Table("", (), [], note=" ".join(filter(None, (none, promise))))
        found = self.table(result, sets, f"frequent sets: items that at least {floor} of the people have together")
        return found._replace(note=" ".join(filter(None, (found.note, promise))))


def _named_sets(result: Mapped) -> list[dict[str, Any]]:
    """Return sets of two items and more under one label each."""
    found = [row for row in result.get("sets") or () if len(row["items"]) > 1]
    return [{**row, "label": " + ".join(row["items"])} for row in found]


def _rules(result: Mapped) -> Table | None:
    rules = result.get("rules") or ()
    if not rules:
        return None
    write = percents([rule["confidence_error"] for rule in rules], more=1)
    cells = [
        (
            *(" + ".join(rule[side]) for side in ("antecedent", "consequent")),
            *(write(rule[name]) for name in ("confidence", "confidence_error")),
            Writer(2)(rule["lift"]),
        )
        for rule in rules[:MOST_ROWS]
    ]
    note = f"The first {MOST_ROWS:,} of {len(rules):,}." if len(rules) > MOST_ROWS else ""
    return Table("rules", ("who has", "also has", "confidence", "std. error", "lift"), cells, left=2, note=note)
