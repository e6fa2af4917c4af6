"""Pieces of a page: every text escaped, no script, nothing from elsewhere."""

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from pldp.show.table import Table

_LETTERS: Final = 24  # labels with more may be broken into lines
_LONG: Final = ' class="long"'


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph of plain text, in one of the page's styles.

    >>> paragraph("1 < 2", "note")
    '<p class="note">1 &lt; 2</p>'
    """
    return f'<p class="{style}">{escape(text)}</p>' if style else f"<p>{escape(text)}</p>"


def bullets(texts: Iterable[str], style: str = "") -> str:
    """Return a list of plain texts, or nothing."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="{style}">{items}</ul>' if items else ""


def details(summary: str, content: str) -> str:
    """Return what the reader opens; `content` is already markup, and without it there is nothing to open."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>" if content else ""


def table(content: Table, shades: Sequence[Sequence[int]] = ()) -> str:
    """Return a table; columns after the first `left` ones hold numbers, and cells may have shades from 0 to 5.

    >>> '<th scope="row">a &amp; b</th>' in table(Table("", ("value",), [("a & b",)]))
    True
    """

    def style(row: int, column: int) -> str:
        shade = f" shade{shades[row][column]}" if 0 <= row < len(shades) and column < len(shades[row]) else ""
        return f' class="number{shade}"' if column >= content.left else ""

    caption = f"<caption>{escape(content.title)}</caption>" if content.title else ""
    head = "".join(f'<th scope="col"{style(-1, place)}>{escape(text)}</th>' for place, text in enumerate(content.heads))
    body = "".join(
        "<tr>"
        + f'<th scope="row"{_LONG if len(cells[0]) > _LETTERS else ""}>{escape(cells[0])}</th>'
        + "".join(f"<td{style(row, place)}>{escape(text)}</td>" for place, text in enumerate(cells[1:], 1))
        + "</tr>"
        for row, cells in enumerate(content.rows)
    )
    note = paragraph(content.note, "note") if content.note else ""
    grid = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    named = f' role="group" aria-label="{escape(content.title, quote=True)}"' if content.title else ""
    return (f'<div class="scroll" tabindex="0"{named}>{grid}</div>' if content.rows else "") + note


def figure(drawing: Any, label: str) -> str:
    """Return a figure of matplotlib as SVG with a description for people who cannot see it."""
    text = io.StringIO()
    drawing.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return f'<div class="paper" role="img" aria-label="{escape(label, quote=True)}">{svg[svg.index("<svg") :]}</div>'
