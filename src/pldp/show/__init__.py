"""One renderer of `to_mapping()` data: page, card, picture, table and sentence. It needs the standard library only."""

from pldp.show.card import card
from pldp.show.kinds import BY_KIND
from pldp.show.markup import bullets, details, figure, paragraph, table
from pldp.show.numbers import brief
from pldp.show.page import page, panel, results_body, results_page, snippet
from pldp.show.sentence import assumptions, footing, sentence, verdict
from pldp.show.table import Table, groups_table
from pldp.show.terminal import heading, tables

__all__ = [
    "BY_KIND",
    "Table",
    "assumptions",
    "brief",
    "bullets",
    "card",
    "details",
    "figure",
    "footing",
    "groups_table",
    "heading",
    "page",
    "panel",
    "paragraph",
    "results_body",
    "results_page",
    "sentence",
    "snippet",
    "table",
    "tables",
    "verdict",
]
