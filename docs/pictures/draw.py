"""The parts of a picture: text, axes, curves, bars, boxes; colours follow the reader's light or dark setting."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import log
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "images"

STYLE = """
.ink { fill: #1c2733; } .soft { fill: #5b6b7b; } .line { stroke: #5b6b7b; stroke-width: 1; fill: none; }
.a { fill: #1f5fa8; } .b { fill: #c25b12; } .g { fill: #0b6e4f; } .r { fill: #b3382c; }
.grid { stroke: #dfe5ea; stroke-width: 1; }
.curve { fill: none; stroke-width: 2.5; } .ca { stroke: #1f5fa8; } .cb { stroke: #0b6e4f; } .cc { stroke: #b3382c; }
text { font: 14px system-ui, sans-serif; } .small { font-size: 12px; } .title { font-weight: 600; font-size: 15px; }
.paper { fill: #ffffff; } .box { fill: #eef3f7; stroke: #5b6b7b; } .device { fill: #e3f2ea; stroke: #0b6e4f; }
@media (prefers-color-scheme: dark) {
.ink { fill: #e8edf2; } .soft { fill: #a5b2bf; } .line { stroke: #a5b2bf; } .grid { stroke: #33404d; }
.a { fill: #7ab4f5; } .b { fill: #f2a365; } .g { fill: #5fd0a5; } .r { fill: #f08a7d; }
.ca { stroke: #7ab4f5; } .cb { stroke: #5fd0a5; } .cc { stroke: #f08a7d; }
.paper { fill: #131a21; } .box { fill: #1e2933; stroke: #a5b2bf; } .device { fill: #12362a; stroke: #5fd0a5; }
}
"""


def text(x: float, y: float, words: str, kind: str = "ink", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def write(name: str, size: tuple[int, int], about: str, parts: list[str]) -> None:
    """Write a picture with its description for screen readers."""
    width, height = size
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">'
        f"<title>{escape(about)}</title><style>{STYLE}</style>"
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>'
    )
    (FOLDER / f"concept-{name}.svg").write_text("\n".join([head, *parts, "</svg>\n"]), encoding="utf-8")


@dataclass(frozen=True)
class Frame:
    """A rectangle with a scale on both sides; `logarithmic` bends the vertical one."""

    left: float
    top: float
    width: float
    height: float
    across: tuple[float, float]
    up: tuple[float, float]
    logarithmic: bool = False

    def x(self, value: float) -> float:
        """Return the place of a value on the horizontal scale."""
        first, last = self.across
        return self.left + self.width * (value - first) / (last - first)

    def y(self, value: float) -> float:
        """Return the place of a value on the vertical scale."""
        first, last = self.up
        part = log(value / first) / log(last / first) if self.logarithmic else (value - first) / (last - first)
        return self.top + self.height * (1 - part)

    def axes(self, across: dict[float, str], up: dict[float, str], title: str) -> list[str]:
        """Return lines and labels of both scales."""
        lines = [f'<path class="grid" d="M {self.left:g} {self.y(at):.1f} h {self.width:g}"/>' for at in up]
        words = [text(self.left - 8, self.y(at) + 4, name, "soft small", "end") for at, name in up.items()]
        below = self.top + self.height
        words += [text(self.x(at), below + 20, name, "soft small", "middle") for at, name in across.items()]
        return [*lines, *words, text(self.left + self.width / 2, below + 42, title, "soft", "middle")]

    def curve(self, points: Iterable[tuple[float, float]], kind: str) -> str:
        """Return a curve through points."""
        path = " L ".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return f'<path class="curve {kind}" d="M {path}"/>'

    def whisker(self, x: float, low: float, high: float, kind: str) -> str:
        """Return an interval with a dot in its middle."""
        middle = (low + high) / 2
        return (
            f'<path class="curve {kind}" d="M {self.x(x):.1f} {self.y(low):.1f} V {self.y(high):.1f}"/>'
            f'<circle class="{DOTS[kind]}" cx="{self.x(x):.1f}" cy="{self.y(middle):.1f}" r="4"/>'
        )


DOTS = {"ca": "a", "cb": "g", "cc": "r"}


def bar(x: float, y: float, width: float, height: float = 22, kind: str = "a") -> str:
    """Return a bar that grows to the right."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{max(width, 1):.1f}" height="{height:g}" rx="3"/>'


def box(x: float, y: float, width: float, lines: Sequence[str], kind: str = "box") -> str:
    """Return a box with a title and lines below it."""
    height = 22 + 20 * len(lines)
    words = [
        text(x + width / 2, y + 24 + 20 * place, line, "ink" if place == 0 else "soft small", "middle")
        for place, line in enumerate(lines)
    ]
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height}" rx="6"/>' + "".join(words)


def arrow(x: float, y: float, length: float, words: str = "") -> str:
    """Return an arrow to the right, with words above it."""
    head = f'<path class="line" d="M {x:g} {y:g} h {length:g} m -9 -6 l 9 6 l -9 6"/>'
    return head + (text(x + length / 2, y - 10, words, "soft small", "middle") if words else "")
