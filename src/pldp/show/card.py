"""The card of a result: the same on the dashboard, in reports, in notebooks and on the public page."""

from html import escape
from typing import Final

from pldp.show.kinds import BY_KIND
from pldp.show.kinds.kind import REGARDLESS
from pldp.show.markup import bullets, details, paragraph, table
from pldp.show.numbers import as_sentence, brief, count_of
from pldp.show.sentence import checks, conclusions, verdict
from pldp.show.table import Mapped, groups_table

MOST_DIFFERENT: Final = 20  # rows of a difference between levels that are shown, the largest
_STYLES: Final = {"warning": "warning", "info": "note"}  # of notes, by their severity


def card(result: Mapped, *, anchor: str = "", over_rounds: Mapped | None = None, foot: str = "") -> str:
    """Return one result: notes first, then the picture, the numbers and what stands behind them.

    Rows that have a `true` share show it beside the estimate. `anchor` is an id that links can lead to, `over_rounds`
    the trend of the same question, `foot` more markup at the end.
    """
    kind = BY_KIND[result["kind"]]
    shown = kind.shown(result)
    facts = (count_of(result["reports"], "report"), kind.phrase)
    # Scripts and options use the question's name, so it stands here where the title is its text.
    name = f"<code>{escape(result['name'])}</code> · " if result.get("text") else ""
    levels = groups_table(result)
    tables = () if kind.picture_is_table else kind.tables(shown)
    return _section(
        kind.title(result),
        f'<p class="note">{name}{escape(" · ".join(filter(None, facts)))}</p>'
        + "".join(paragraph(text, "says") for text in filter(None, (_verdict(result), *conclusions(result))))
        + notes(result)
        + _drawn(shown)
        + kind.more(shown)
        + _corrected(result)
        + (_rounds(over_rounds) if over_rounds else "")
        + '<div class="foot">'
        + details("All numbers", "".join(map(table, tables)))
        + details("Levels", table(levels._replace(title="")) if levels else "")
        + details("Checks", bullets((*filter(None, (as_sentence(result.get("method", "")),)), *checks(result))))
        + details("Assumptions", bullets(map(as_sentence, result.get("assumptions", ()))))
        + f"{foot}</div>",
        anchor,
    )


def _verdict(result: Mapped) -> str:
    return verdict(result.get("test"), result.get("names"))


def missing_card(missing: Mapped, *, anchor: str = "") -> str:
    """Return what has no result, and why."""
    return _section(missing.get("text") or missing["name"], paragraph(as_sentence(missing["reason"])), anchor)


def notes(result: Mapped) -> str:
    """Return the notes of a result, warnings first."""
    found = sorted(result.get("notes", ()), key=lambda note: note["severity"] != "warning")
    return "".join(paragraph(as_sentence(note["text"]), _STYLES[note["severity"]]) for note in found)


def _section(title: str, content: str, anchor: str) -> str:
    if not anchor:
        return f'<section class="card"><h2>{escape(title)}</h2>{content}</section>'
    named = f'<h2 id="{anchor}" tabindex="-1">{escape(title)}</h2>'
    return f'<section class="card" aria-labelledby="{anchor}">{named}{content}</section>'


def _drawn(result: Mapped) -> str:
    """Return the picture with its legend."""
    kind = BY_KIND[result["kind"]]
    picture = kind.picture(result)
    legend = kind.legend_of(result).format(confidence=brief(100 * result["confidence"]))
    if any(row.get("low_if_alike") is not None for row in result["rows"]):
        legend += f" The thick part holds {REGARDLESS}."
    if any("true" in row for row in result["rows"]):
        legend += " The diamond is the truth."
    if result.get("left_out"):
        shown = len(result["rows"]) // len(result.get("rounds") or (1,))
        legend += f" The {shown:,} largest of {shown + result['left_out']:,} are shown; downloads have all."
    return f"<figure>{picture}<figcaption>{escape(legend)}</figcaption></figure>" if picture else ""


def _corrected(result: Mapped) -> str:
    """Return shares corrected to known ones of another question, where a collector was told them."""
    corrected = result.get("corrected")
    if not corrected:
        return ""
    title = "<h3>Corrected for who answered</h3>"
    if "missing" in corrected:
        return title + paragraph(as_sentence(corrected["missing"]))
    assumed = paragraph(as_sentence(f"this assumes: {corrected['assumptions'][0]}"), "note")
    return title + notes(corrected) + _drawn(BY_KIND[corrected["kind"]].shown(corrected)) + assumed


def by_level_part(content: Mapped) -> str:
    """Return the differences of levels: for each the test in words, its picture, and all numbers to open."""
    parts = [bullets(map(as_sentence, content["remarks"]), "note")]
    for each in content["differences"]:
        first, second = each["names"]
        shown = BY_KIND[each["kind"]].shown(_most_different(each))
        tables = "".join(map(table, BY_KIND[shown["kind"]].tables(shown)))
        says = "".join(paragraph(text, "says") for text in filter(None, (_verdict(each), *conclusions(each))))
        parts.append(
            f"<h3>{escape(first)} minus {escape(second)}</h3>{says}{notes(each)}{_drawn(shown)}"
            f"{details(f'{first} minus {second} as a table', tables)}"
        )
    parts += [paragraph(f"{level}: {reason}.", "note") for level, reason in content["missing"].items()]
    return f'<div class="groups">{"".join(parts)}</div>'


def _most_different(difference: Mapped) -> Mapped:
    """Keep the rows with the largest differences, in their order."""
    rows = difference["rows"]
    kept = sorted(range(len(rows)), key=lambda place: -abs(rows[place]["estimate"] or 0.0))[:MOST_DIFFERENT]
    return {**difference, "rows": [rows[place] for place in sorted(kept)], "left_out": len(rows) - len(kept)}


def _rounds(trend: Mapped) -> str:
    """Return a question over its rounds: the test of change in words, pictures, and all numbers to open."""
    trend = BY_KIND[trend["kind"]].shown(trend)
    tables = "".join(map(table, BY_KIND[trend["kind"]].tables(trend)))
    return (
        f"<h3>Over rounds</h3>{paragraph(trend['says'])}{notes(trend)}{_drawn(trend)}"
        f"{details('Rounds as a table', tables)}"
    )
