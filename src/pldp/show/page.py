"""One self-contained page: no script, no outside resource, every text escaped; dark where the reader's system is."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from pldp.show.kinds import BY_KIND
from pldp.show.markup import bullets, details, paragraph, table
from pldp.show.numbers import as_sentence, brief, count_of
from pldp.show.sentence import conclusions, footing
from pldp.show.table import Mapped, Table, groups_table

_STYLES = {"warning": "warning", "info": "note"}  # of notes, by their severity


def style() -> str:
    """Return the style of everything below an element of class `pldp`."""
    return (files("pldp.show") / "style.css").read_text(encoding="utf-8")


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page; `body` is already markup."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<title>{escape(title)}</title><style>{style()}</style></head><body class="pldp"><main>'
        f"<h1>{escape(title)}</h1>{''.join(body)}</main></body></html>\n"
    )


def results_page(results: Mapped, *, introduction: Iterable[str] = (), closing: str = "") -> str:
    """Return the page of all results of a tally, and of what has none, with the reason."""
    return page(results["title"], (*map(paragraph, introduction), results_body(results), paragraph(closing, "note")))


def results_body(results: Mapped) -> str:
    """Return all results of a tally as markup: counts, rejections, missing questions, and a card each."""
    rejections = [(reason, f"{count:,}") for reason, count in results["rejections"].items() if count]
    missing = [f"{each['name']}: {as_sentence(each['reason'])}" for each in results["missing"]]
    return "".join(
        (
            paragraph(f"{count_of(results['reports'], 'report')} counted, {results['rejected']:,} rejected."),
            table(Table("rejected", ("reason", "reports"), rejections)) if rejections else "",
            f'<section class="warning"><h2>Without a result</h2>{bullets(missing)}</section>' if missing else "",
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


def card(result: Mapped) -> str:
    """Return one result: notes first, then the picture, the numbers and what stands behind them.

    Rows that have a `true` share show it beside the estimate.
    """
    kind = BY_KIND[result["kind"]]
    confidence = brief(100 * result["confidence"])
    facts = (count_of(result["reports"], "report"), kind.phrase, result.get("method", ""), f"{confidence} % intervals")
    picture = kind.picture(result)
    legend = kind.legend_of(result).format(confidence=confidence)
    if any("true" in row for row in result["rows"]):
        legend += " The diamond is the truth."
    levels = groups_table(result)
    # Scripts and options use the question's name, so it stands here where the title is its text.
    name = f"<code>{escape(result['name'])}</code> · " if result.get("text") else ""
    return (
        f'<section class="card"><h2>{escape(kind.title(result))}</h2>'
        + f'<p class="note">{name}{escape(" · ".join(filter(None, facts)))}</p>'
        + "".join(paragraph(as_sentence(note["text"]), _STYLES[note["severity"]]) for note in result.get("notes", ()))
        + "".join(paragraph(text, "says") for text in conclusions(result))
        + (f"<figure>{picture}<figcaption>{escape(legend)}</figcaption></figure>" if picture else "")
        + "".join(map(table, kind.tables(result)[kind.picture_is_table :]))
        + "".join(map(paragraph, footing(result)))
        + details("Levels", table(levels._replace(title="")) if levels else "")
        + details("Assumptions", bullets(map(as_sentence, result.get("assumptions", ()))))
        + "</section>"
    )
