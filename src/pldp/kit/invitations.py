"""Invitation links with QR codes, as a table for programs and a page to print."""

import csv
import io
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from pldp.show import page, qr_svg


class Invitation(NamedTuple):
    """A person's name and link; anyone who has the link can answer in their place."""

    name: str
    link: str


def invitation_table(invitations: Sequence[Invitation]) -> str:
    """Return names and links as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Invitation._fields, *invitations])
    return text.getvalue()


def invitation_page(title: str, invitations: Sequence[Invitation]) -> str:
    """Return a page with a card for each person, to print and cut."""
    cards = [
        f'<section class="card"><h2>{escape(each.name)}</h2><div class="qr">'
        f"{_sized(qr_svg(each.link, f'QR code of the invitation of {each.name}'))}</div>"
        f"<p><code>{escape(each.link)}</code></p></section>"
        for each in invitations
    ]
    return page(f"Invitations: {title}", cards)


def _sized(svg: str) -> str:
    return svg.replace("<svg ", '<svg width="180" height="180" ', 1)
