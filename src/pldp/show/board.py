"""What a collector shows of a round: the board of those who may read it, and the public page. Both are its overview."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final
from urllib.parse import quote

from pldp.show.card import card, missing_card
from pldp.show.markup import details, paragraph, table
from pldp.show.numbers import as_sentence, brief, count_of
from pldp.show.page import page
from pldp.show.picture import columns
from pldp.show.table import Mapped, Table, rejections_table

ALARMS: Final = frozenset({"forged-reports"})  # codes of notes that stand above all results
FORMATS: Final = {"csv": "CSV", "json": "JSON", "arrow": "Arrow"}
HELP: Final = '<p><a href="reading">How to read these results</a></p>'
AGAIN: Final = '<meta http-equiv="refresh" content="5">'  # a page without scripts looks again by itself
PREVIEW: Final = "Simulated people. Nobody has answered yet; answers sent here are refused."


def board(overview: Mapped) -> str:
    """Return all that the overview of a round has as markup; while reports are counted, how far that is.

    Buttons carry in `data-…` what a script does for those who have a token: `file` is downloaded, `act` done to rounds.
    A part that a script loads when it is opened names its address in `data-more`.
    """
    if "questions" not in overview:
        return _counting(overview)
    about = {
        "round": overview["round"],
        "rounds": len(overview["rounds"]),
        "title": overview["title"],
        "by": overview["collector"],
    }
    data = "".join(f' data-{name}="{escape(str(fact), quote=True)}"' for name, fact in about.items())
    return (
        f"<div{data}>{_told(overview)}{_headline(overview)}{_steps(overview)}{_cards(overview)}"
        f'<div class="pair">{_hours(overview["hours"])}{_rejections(overview)}</div>{_rounds(overview)}'
        f"{HELP}{_survey(overview)}</div>"
    )


def public_page(overview: Mapped, chosen: Collection[str], head: str) -> str:
    """Return the page that anybody may see: the results of chosen questions, and no counts of what went wrong."""
    if "questions" not in overview:
        return page("Results", [_counting(overview)], head=f"{head}{AGAIN}")
    body = (
        paragraph(PREVIEW, "told") if overview["preview"] else "",
        paragraph(f"Round {overview['round']}, {count_of(overview['reports'], 'report')}."),
        _steps(overview),
        _cards(overview, chosen),
        HELP,
        _survey(overview),
    )
    return page(overview["title"], body, head=head, above=overview["collector"])


def _counting(overview: Mapped) -> str:
    done, every = overview["counted"], overview["reports"]
    words = f"Counting: {done:,} of {count_of(every, 'report')}"
    bar = f'<progress aria-labelledby="counted" value="{done}" max="{max(1, every)}"></progress>'
    return f'<p class="card"><span id="counted">{words}</span> {bar}</p>'


def _views(overview: Mapped) -> list[Mapped]:
    """Return results and what is missing in the order of their cards."""
    return [*overview["questions"], *overview["missing"], *overview["tables"]]


def _cards(overview: Mapped, chosen: Collection[str] | None = None) -> str:
    """Return the cards of a round, or of chosen questions for everybody; before the first step there are none."""
    step = overview["step"]
    if step > 1 and not overview["questions"]:
        return paragraph(f"Nothing to show yet: results begin with {step:,} reports of one level.", "card")
    trends = {each["name"]: each for each in overview["trends"]}
    return "".join(
        card(
            each,
            anchor=f"result-{place}",
            over_rounds=trends.get(each["name"]),
            foot=_files(each, overview["round"]) if chosen is None else "",
        )
        if "kind" in each
        else missing_card(each, anchor=f"result-{place}")
        for place, each in enumerate(_views(overview))
        if chosen is None or each["name"] in chosen
    )


def _files(result: Mapped, number: int) -> str:
    """Return buttons for the files of a question, and what is made on demand: frequent sets, levels compared."""
    if "questions" in result:
        return ""
    path = f"estimates/{quote(result['name'], safe='')}"
    name = escape(result["name"], quote=True)
    buttons = (
        f'<button type="button" class="plain" data-file="{path}.{ending}?round={number}" '
        f'data-name="{name}-round-{number}.{ending}" aria-label="Download {name} as {words}">{words}</button>'
        for ending, words in FORMATS.items()
    )
    sets = (
        f'<details data-more="{path}.html?round={number}" data-part=".sets"><summary>Frequent sets</summary></details>'
    )
    counted = [group for group in result.get("groups", ()) if group["reports"]]
    levels = f'<details data-more="groups/{quote(result["name"], safe="")}.html?round={number}" data-part=".groups">'
    levels += "<summary>Compare levels</summary></details>"
    shown = (sets if result.get("largest") == 1 else "") + (levels if len(counted) > 1 else "")
    return f'{shown}<p class="downloads">Download {"".join(buttons)}</p>'


def _told(overview: Mapped) -> str:
    """Return what must be read before any number."""
    alarms = "".join(
        f'<li><a href="#result-{place}">{escape(each.get("text") or each["name"])}</a> '
        f"{escape(as_sentence(note['text']))}</li>"
        for place, each in enumerate(_views(overview))
        for note in each.get("notes", ())
        if note["code"] in ALARMS
    )
    first = '<section class="warning" aria-labelledby="first"><h2 id="first">Read this first</h2>'
    damaged = overview["damaged"]
    lost = (
        f"{count_of(damaged, 'report')} {'is' if damaged == 1 else 'are'} damaged and left out; run pldp store check."
    )
    return (
        (paragraph(PREVIEW, "told") if overview["preview"] else "")
        + (f"{first}<ul>{alarms}</ul></section>" if alarms else "")
        + (paragraph(lost, "warning damaged") if damaged else "")
    )


def _headline(overview: Mapped) -> str:
    here = {each["number"]: each for each in overview["rounds"]}[overview["round"]]
    reports, refused = overview["reports"], sum(overview["rejections"].values())
    latest = overview["hours"][-1] if overview["hours"] else None
    part = f"{brief(100 * refused / (refused + reports))} % of all received" if refused else "of all received"
    tiles = (
        ("Reports", f"{reports:,}", f"round {here['number']}, {_state(here)}"),
        ("This hour", f"{latest['stored']:,}" if latest else "–", f"since {_time(latest['start'])}" if latest else ""),
        ("Withdrawn", f"{here['withdrawn']:,}", "erased and not counted"),
        ("Rejected", f"{refused:,}", part),
    )
    shown = (f"<div><dt>{name}</dt><dd>{number}<span>{note}</span></dd></div>" for name, number, note in tiles)
    return f'<dl class="headline">{"".join(shown)}</dl>'


def _steps(overview: Mapped) -> str:
    """Say how results change."""
    step = overview["step"]
    words = (
        f"Results change in steps of {step:,} reports per level; a level with fewer is not counted yet. "
        f"Once anybody has withdrawn, {step:,} of each level are left out."
    )
    return paragraph(words, "note steps") if step > 1 else ""


def _hours(hours: Sequence[Mapped]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_time(hour["start"], "%a %d %b, %H:%M")}</th>'
        f'<td class="number">{hour["stored"]:,}</td><td class="number">{hour["rejected"]:,}</td></tr>'
        for hour in reversed(hours)
    )
    numbers = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("stored", "rejected"))
    heads = f'<th scope="col">hour</th>{numbers}'
    grid = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    drawing = columns(hours, "Reports per hour; the numbers are in the table below") if hours else ""
    words = "Since the collector started, a week at most. Times are not kept with reports, nor in the store."
    content = f"<figure>{drawing}</figure>{paragraph(words, 'note')}{details('As a table', grid)}"
    return _part("Reports per hour", content)


def _rejections(overview: Mapped) -> str:
    found = rejections_table(overview["rejections"], overview["few"], overview["step"])
    none = paragraph("No report of this round was rejected.", "note")
    return _part("Rejections", table(found) if found.rows else none)


def _rounds(overview: Mapped) -> str:
    """Return all rounds, with buttons for those who may run them."""
    rows = [
        (f"Round {each['number']}", _state(each), f"{each['reports']:,}", f"{each['withdrawn']:,}")
        for each in reversed(overview["rounds"])
    ]
    content = table(Table("", ("round", "state", "reports", "withdrawn"), rows, left=2))
    everything = f'<p class="downloads"><button type="button" data-file="results.zip?round={overview["round"]}" '
    everything += f'data-name="results-round-{overview["round"]}.zip">Download everything</button></p>'
    running = any(each["open"] for each in overview["rounds"])
    buttons = (("close", "Close the open round", running), ("open", "Open the next round", not running))
    acts = "".join(
        f'<button type="button" data-act="{act}"{"" if possible else " disabled"}>{words}</button> '
        for act, words, possible in buttons
    )
    return _part(
        "Rounds", content + f'<div class="foot">{acts if overview["scope"] == "admin" else ""}{everything}</div>'
    )


def _part(title: str, content: str) -> str:
    anchor = title.lower().replace(" ", "-")
    return f'<section class="card" aria-labelledby="{anchor}"><h2 id="{anchor}">{title}</h2>{content}</section>'


def _survey(overview: Mapped) -> str:
    return f'<p class="note">Survey <code>{escape(overview["survey"])}</code></p>'


def _state(each: Mapped) -> str:
    return "open" if each["open"] else "closed"


def _time(seconds: float, form: str = "%H:%M") -> str:
    """Write a time; a script may write it in the reader's own zone."""
    time = datetime.fromtimestamp(seconds, UTC)
    return f'<time datetime="{time:%Y-%m-%dT%H:%MZ}">{time.strftime(form)} UTC</time>'
