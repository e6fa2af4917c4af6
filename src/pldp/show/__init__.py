"""One renderer of `to_mapping()` data: page, card, picture, table and sentence.

It needs the standard library only; `plot` loads matplotlib, and `make_frame` pandas or Polars, when they are called.
"""

from pldp.show.board import board, public_page
from pldp.show.card import by_level_part, card
from pldp.show.kinds import BY_KIND
from pldp.show.markup import bullets, details, figure, paragraph, table
from pldp.show.numbers import Writer, amounts, brief, listed, percents
from pldp.show.page import page, panel, results_body, results_page, snippet, style
from pldp.show.plots import plot, plot_density
from pldp.show.qr import qr_svg
from pldp.show.screen import screen
from pldp.show.sentence import assumptions, conclusions, footing, heading, in_full, sentence, tables, verdict
from pldp.show.table import Table, groups_table, make_frame

__all__ = [
    "BY_KIND",
    "Table",
    "Writer",
    "amounts",
    "assumptions",
    "board",
    "brief",
    "bullets",
    "by_level_part",
    "card",
    "conclusions",
    "details",
    "figure",
    "footing",
    "groups_table",
    "heading",
    "in_full",
    "listed",
    "make_frame",
    "page",
    "panel",
    "paragraph",
    "percents",
    "plot",
    "plot_density",
    "public_page",
    "qr_svg",
    "results_body",
    "results_page",
    "screen",
    "sentence",
    "snippet",
    "style",
    "table",
    "tables",
    "verdict",
]
