"""Panels of a figure as small drawings that flow with the width of the page, and one key for all of them."""

import io
import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

from pldp.papers.paper import Panel
from pldp.papers.report.draw import Style, draw, styles_of

_POLYGONS: Final = {"^": (3, 90), "v": (3, 270), "<": (3, 180), ">": (3, 0), "s": (4, 45), "D": (4, 90), "p": (5, 90)}
"""Corners of a marker, and the direction of the first one in degrees."""

_TAG: Final = re.compile(r"<[^>]*>")
_USELESS: Final = re.compile(
    r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>|<clipPath.*?</clipPath>", re.DOTALL
)
_NUMBER: Final = re.compile(r"\d+\.\d{2,}")
_SHORTER: Final = (  # in tags, never in text
    (re.compile(r' id="(?!m[0-9a-f]{10}")[^"]*"'), ""),  # names that nothing refers to, the same in all drawings
    (re.compile(r' clip-path="[^"]*"| transform="rotate\(-0 [^"]*"'), ""),  # nothing is drawn outside of the axes
    (re.compile(r" font-family: [^;]*;"), ""),
    (re.compile(r"xlink:href"), "href"),
    (re.compile(r"\s+"), " "),
    (re.compile(r"([:;]) "), r"\1"),
    (re.compile(r' "'), '"'),
    (re.compile(r"(<use .*)stroke:[^\"]*"), r"\1"),  # a marker has its own stroke
    (re.compile(r' style=""'), ""),
)
_ALIKE: Final = re.compile(r'<path d="([^"]*)" (style="[^"]*")/><path d="([^"]*)" \2/>')


def chart(panels: Sequence[Panel], labels: Sequence[tuple[str, bool]], description: str) -> str:
    """Return the panels of a figure as markup; `labels` are all methods of a paper, so each has one colour throughout.

    `description` is read to people who cannot see the drawing.
    """
    styles = styles_of(labels or [(series.label, series.ours) for panel in panels for series in panel.series])
    measures = list(dict.fromkeys(panel.y_label for panel in panels))
    panels = sorted(panels, key=lambda panel: measures.index(panel.y_label))
    drawings = "".join(f"<div>{compact_svg(draw(panel, styles))}</div>" for panel in panels)
    used = {series.label: series.printed for panel in panels for series in panel.series}
    keys = "".join(
        f"<li>{_sample(styles[label], printed=printed)}{escape(label)}</li>" for label, printed in used.items()
    )
    about = escape(description, quote=True)
    return (
        f'<div class="chart"><div class="panels" role="img" aria-label="{about}">{drawings}</div><ul>{keys}</ul></div>'
    )


def compact_svg(drawing: Any) -> str:
    """Return a figure of matplotlib as SVG whose text is text and whose points are rounded to a tenth of a point."""
    from matplotlib import rc_context  # noqa: PLC0415 - optional

    text = io.StringIO()
    with rc_context({"svg.fonttype": "none"}):
        drawing.savefig(text, format="svg", metadata={"Date": None})
    svg = _USELESS.sub("", text.getvalue())
    svg = _TAG.sub(lambda tag: _shorten(tag[0]), svg[svg.index("<svg") :])
    svg = re.sub(r">\s+<", "><", svg).strip()
    for empty in ("<defs></defs>", "<g></g>"):
        svg = svg.replace(empty, "")
    found = 1
    while found:  # bars of one series are one path
        svg, found = _ALIKE.subn(r'<path d="\1\3" \2/>', svg)
    return svg


def _shorten(tag: str) -> str:
    digits = 2 if ' id="m' in tag else 1  # markers are small
    tag = _NUMBER.sub(lambda number: f"{float(number[0]):.{digits}f}".removesuffix(".0"), tag)
    for pattern, short in _SHORTER:
        tag = pattern.sub(short, tag)
    return tag


def _sample(style: Style, *, printed: bool) -> str:
    """A piece of a method's line with its marker."""
    colour, fill = style["color"], "#fff" if printed else style["color"]
    dashes = ' stroke-dasharray="2 2"' if printed else ""
    line = f'<path d="M0 6H26" stroke="{colour}" stroke-width="{style["linewidth"]}"{dashes}/>'
    mark = f'<path d="{_outline(style["marker"])}" fill="{fill}" stroke="{colour}"/>'
    return f'<svg width="26" height="12" aria-hidden="true">{line}{mark}</svg>'


def _outline(marker: str) -> str:
    """The path of a marker around (13, 6)."""
    if marker == "o":
        return "M9.5 6a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z"
    return "M" + "L".join(f"{13 + x:.1f} {6 - y:.1f}" for x, y in _corners(marker)) + "z"


def _corners(marker: str) -> Iterator[tuple[float, float]]:
    corners, first = _POLYGONS.get(marker, (10, 90))  # a star has ten, every other one further in
    for place in range(corners):
        angle = math.radians(first + 360 * place / corners)
        radius = 2.2 if corners == 10 and place % 2 else 5.5 if corners == 10 else 4.2
        yield radius * math.cos(angle), radius * math.sin(angle)


STYLE: Final = """
.pldp .chart{background:#fff;color:#1b2127;border-radius:.4rem;padding:.4rem;margin:.5rem 0 1rem}
.pldp .chart svg *{stroke-linejoin:round}
.pldp .chart svg text{fill:#1b2127;font-family:"DejaVu Sans",Verdana,sans-serif;stroke:none}
.pldp .chart .panels svg{width:100%;height:auto;display:block}
.pldp .panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,16.5rem),1fr));gap:.3rem}
.pldp .chart ul{list-style:none;margin:.5rem 0 .2rem;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
.pldp .chart li{font-size:.875rem;white-space:nowrap}
.pldp .chart li svg{margin-right:.4rem;vertical-align:-1px}
"""
