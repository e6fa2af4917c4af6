"""One self-contained page: no script, no outside resource, every text escaped."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

__all__ = ["page", "paragraph", "picture", "table"]

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.2rem}h3{font-size:1.05rem;margin-top:1.8rem}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}
th,td{padding:.25rem .8rem;text-align:right;border-bottom:1px solid #e4e7ec}
th:first-child,td:first-child{text-align:left}
.warning{background:#fff1e5;border-left:4px solid #d55e00;padding:.5rem 1rem}
.note{color:#57606a}.holds{color:#1a6b3c}.fails{color:#b3261e}svg{max-width:100%;height:auto}
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page; `body` is already markup."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"{''.join(body)}</body></html>\n"
    )


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph of plain text, in one of the page's styles.

    >>> paragraph("1 < 2", "note")
    '<p class="note">1 &lt; 2</p>'
    """
    return f'<p class="{style}">{escape(text)}</p>' if style else f"<p>{escape(text)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of plain texts.

    >>> table(["value"], [["a & b"]])
    '<table><thead><tr><th scope="col">value</th></tr></thead><tbody><tr><td>a &amp; b</td></tr></tbody></table>'
    """
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def picture(figure: Any, label: str) -> str:
    """Return a figure of matplotlib as SVG with a description for people who cannot see it."""
    drawing = io.StringIO()
    figure.savefig(drawing, format="svg", metadata={"Date": None})
    svg = drawing.getvalue()
    return f'<div role="img" aria-label="{escape(label, quote=True)}">{svg[svg.index("<svg") :]}</div>'
