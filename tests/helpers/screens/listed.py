"""The list of all screens: a name, what one sees, and which parts of a page are shown there."""

from __future__ import annotations

from typing import NamedTuple


class Screen(NamedTuple):
    """One screen: its name, its words in the gallery, the page, and the parts of it that it shows."""

    name: str
    caption: str
    page: str = ""
    shows: tuple[str, ...] = ()


EVERYWHERE = frozenset({"reports", "ledger", "about", "logo", "language", "notice", "contact"})
"""Parts of the survey page that are shown once a survey is loaded, whatever its state."""

SURVEY = (
    Screen(
        "levels", "The start: what a whole report can tell at each level", shows=("opening", "introduction", "choosing")
    ),
    Screen("questions", "The questions, and what the answers so far cost", shows=("answering",)),
    Screen("report", "The report, before it is sent: in words and exactly", shows=("preview",)),
    Screen("waiting", "Without a network the report waits on the device", shows=("reports",)),
    Screen("sent", "Sent, with a receipt", shows=("thanks", "print")),
    Screen("answered", "A second visit: what was said, and the price of a correction", shows=("answered",)),
    Screen("withdrawing", "A question before a report is withdrawn", shows=("confirming",)),
    Screen("closed", "The round is closed", shows=("closed",)),
    Screen("ended", "The survey has ended", shows=("closed",)),
    Screen("simulated", "A preview with simulated people", shows=("simulated",)),
    Screen("uninvited", "Only invited people can answer", shows=("uninvited",)),
    Screen("refused", "The invitation is not valid, or has expired", shows=("uninvited",)),
    Screen("used", "The invitation's budget is spent", shows=("uninvited",)),
    Screen("spent", "The person's own limit is reached", shows=("spent-out",)),
    Screen(
        "terms",
        "A long introduction, reports that are shuffled, and how long a report can be withdrawn",
        shows=("introduction-details", "mixing", "retention"),
    ),
    Screen("unreachable", "The survey cannot be loaded", shows=("error",)),
)

PAGE_STATES = {screen.name: screen.shows for screen in SURVEY}
"""Parts of the survey page that are visible in each of its states."""
