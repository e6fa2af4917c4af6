"""One self-contained page: no script, no outside resource, every text escaped; dark where the reader's system is."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from pldp.show.card import card, missing_card
from pldp.show.markup import paragraph, table
from pldp.show.numbers import count_of
from pldp.show.table import Mapped, Table, rejections_table


def style() -> str:
    """Return the style of everything below an element of class `pldp`."""
    return (files("pldp.show") / "style.css").read_text(encoding="utf-8")


def page(title: str, body: Iterable[str], *, head: str = "", above: str = "") -> str:
    """Return a whole page; `body` is already markup, `above` a line of text above the title.

    It holds its own style, unless a server with a policy of its own gives links to it as `head`.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    own = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style()}</style>'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        + f"{head or own}"
        + f'<title>{escape(title)}</title></head><body class="pldp"><main>{paragraph(above, "note") if above else ""}'
        + f"<h1>{escape(title)}</h1>{''.join(body)}</main></body></html>\n"
    )


def results_page(results: Mapped, *, introduction: Iterable[str] = (), closing: str = "") -> str:
    """Return the page of all results of a tally, and of what has none, with the reason."""
    return page(
        results["title"],
        (*map(paragraph, introduction), results_body(results), paragraph(closing, "note") if closing else ""),
    )


def results_body(results: Mapped) -> str:
    """Return all results of a tally as markup: counts, rejections, a card each, and what has no result."""
    return "".join(
        (
            paragraph(f"{count_of(results['reports'], 'report')} counted, {results['rejected']:,} rejected."),
            table(rejections_table(results["rejections"])) if any(results["rejections"].values()) else "",
            *map(missing_card, results["missing"]),
            *map(card, (*results["questions"], *results["tables"])),
        )
    )


def snippet(markup: str) -> str:
    """Return markup with its style, for notebooks."""
    return f'<div class="pldp"><style>{style()}</style>{markup}</div>'


def panel(title: str, *content: str | Table) -> str:
    """Return texts and tables as a card with its style, for notebooks.

    >>> "<p>two &lt; three</p>" in panel("A survey", "two < three")
    True
    """
    parts = (paragraph(each) if isinstance(each, str) else table(each) for each in content)
    return snippet(f'<section class="card"><h2>{escape(title)}</h2>{"".join(parts)}</section>')
