"""Any number of answers: a share per item, frequent sets of items, and rules between them."""

from pldp.show.kinds.choice import Choice
from pldp.show.kinds.kind import sayable
from pldp.show.numbers import Writer, as_sentence, brief, percents
from pldp.show.table import MOST_ROWS, Mapped, Table


class Choices(Choice):
    """Shares of people who have each item, and the sets that many of them have together."""

    phrase = "any number of answers"
    heads = ("item", "share")
    noun, verb, nobody = "item", "have", "perhaps nobody has"
    legend = "The dot is the unbiased estimate, the line its {confidence} % interval; both may reach below 0."

    def tables(self, result: Mapped) -> list[Table]:
        """Return single items, frequent sets and rules."""
        together = (self._sets(result), _rules(result)) if sayable(result["rows"]) else ()
        return [*super().tables(result), *filter(None, together)]

    def _sets(self, result: Mapped) -> Table | None:
        """Return sets of two items and more; the first table has the single ones."""
        if "min_support" not in result or result.get("largest") == 1:
            return None
        sets = [{**row, "label": " + ".join(row["items"])} for row in result.get("sets") or () if len(row["items"]) > 1]
        floor = f"{brief(100 * result['min_support'])} %"
        promise = as_sentence(result.get("promise", ""))
        if not sets:
            none = f"No set of two or more surely has a share of {floor}."
            return Table("", (), [], note=" ".join(filter(None, (none, promise))))
        found = self.table(result, sets, f"frequent sets: items that at least {floor} of the people have together")
        return found._replace(note=" ".join(filter(None, (found.note, promise))))


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
