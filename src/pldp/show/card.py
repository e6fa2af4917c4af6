"""One result as a card of a page: notes first, then the picture, the numbers and what stands behind them."""

from collections.abc import Sequence
from html import escape

from pldp.show.kinds import BY_KIND
from pldp.show.markup import bullets, details, paragraph, table
from pldp.show.numbers import as_sentence, brief
from pldp.show.sentence import footing
from pldp.show.table import Mapped, groups_table

_STYLES = {"warning": "warning", "info": "note"}


def card(result: Mapped) -> str:
    """Return the card of one result; rows that have a `true` share show it beside the estimate."""
    kind = BY_KIND[result["kind"]]
    confidence = brief(100 * result["confidence"])
    facts = (f"{result['reports']:,} reports", kind.phrase, result.get("method", ""), f"{confidence} % intervals")
    picture = kind.picture(result)
    legend = kind.legend.format(confidence=confidence)
    if any("true" in row for row in result["rows"]):
        legend += " The diamond is the truth."
    levels = groups_table(result)
    return (
        f'<section class="card"><h2>{escape(kind.title(result))}</h2>'
        + f'<p class="note">{_name(result)}{escape(" · ".join(filter(None, facts)))}</p>'
        + notes(result.get("notes", ()))
        + (f"<figure>{picture}<figcaption>{escape(legend)}</figcaption></figure>" if picture else "")
        + "".join(map(table, kind.tables(result)[kind.picture_is_table :]))
        + "".join(map(paragraph, footing(result)))
        + details("Levels", table(levels._replace(title="")) if levels else "")
        + details("Assumptions", bullets(map(as_sentence, result.get("assumptions", ()))))
        + "</section>"
    )


def _name(result: Mapped) -> str:
    """Return the question's name, where the title is its text: scripts and options use it."""
    return f"<code>{escape(result['name'])}</code> · " if result.get("text") else ""


def notes(found: Sequence[Mapped]) -> str:
    """Return notes, warnings as such."""
    return "".join(paragraph(as_sentence(note["text"]), _STYLES[note["severity"]]) for note in found)
