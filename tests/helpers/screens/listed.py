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
        "levels",
        "First step: people choose a level of protection and see what a whole report could reveal at it",
        shows=("opening", "introduction", "choosing"),
    ),
    Screen("questions", "Second step: the questions, to answer or to skip", shows=("answering",)),
    Screen("report", "Third step: the report in words and byte for byte, before anything is sent", shows=("preview",)),
    Screen("waiting", "The collector cannot be reached, so the report waits on the device", shows=("reports",)),
    Screen("sent", "The report was sent; the receipt below can withdraw it later", shows=("thanks",)),
    Screen(
        "answered",
        "On a second visit: what the report says, and what it would cost to withdraw it and answer again",
        shows=("answered",),
    ),
    Screen("withdrawing", "Withdrawing a report asks for confirmation first", shows=("confirming",)),
    Screen("closed", "The round is closed, but reports can still be withdrawn", shows=("closed",)),
    Screen("ended", "The survey has ended, but reports can still be withdrawn", shows=("closed",)),
    Screen("simulated", "A preview with simulated people: answers are refused", shows=("simulated",)),
    Screen("uninvited", "This survey is only for people with an invitation", shows=("uninvited",)),
    Screen("refused", "The invitation is invalid or has expired", shows=("uninvited",)),
    Screen("used", "The invitation has been used up", shows=("uninvited",)),
    Screen("replacing", "A link with another valid invitation asks before it replaces the first", shows=("replacing",)),
    Screen("spent", "The person has spent all the ε that their own limit allows", shows=("spent-out",)),
    Screen(
        "terms",
        "A long introduction can be collapsed; below it, the page says how long a report can be withdrawn",
        shows=("introduction-details", "mixing", "retention"),
    ),
    Screen("unreachable", "The survey could not be loaded", shows=("error",)),
)

PAGE_STATES = {screen.name: screen.shows for screen in SURVEY}
"""Parts of the survey page that are visible in each of its states."""


OTHERS = (
    Screen("survey-without-scripts", "Without JavaScript, the page says why it needs it", "/"),
    Screen("survey-printed", "The page as printed, with the receipt", "/"),
    Screen("survey-german", "The page in German, in dark mode on a small phone", "/"),
    Screen("notice-missing", "There is no page at this address", "notice:missing"),
    Screen("notice-later", "Too many requests, or the database is unavailable", "notice:later"),
    Screen("dashboard-sign-in", "Signing in to the dashboard", "/dashboard", ("entering",)),
    Screen("dashboard-wrong-token", "The token is invalid", "/dashboard", ("error",)),
    Screen(
        "dashboard-counting", "The collector has just started and is still counting reports", "/dashboard", ("board",)
    ),
    Screen("dashboard-results", "Estimates with their 95 % intervals", "/dashboard", ("board", "controls")),
    Screen(
        "dashboard-rounds-compared",
        "One question over several rounds, with a test of whether anything changed",
        "/dashboard",
    ),
    Screen("dashboard-levels-compared", "Answers of people who chose different levels, compared", "/dashboard"),
    Screen("dashboard-table", "A table of two questions", "/dashboard"),
    Screen("dashboard-rounds", "Reports per hour, rejected reports, and rounds", "/dashboard"),
    Screen("dashboard-closing", "Closing a round asks for confirmation first", "/dashboard", ("closing",)),
    Screen("dashboard-lost", "The connection to the collector is lost; the page keeps trying", "/dashboard"),
    Screen("dashboard-nothing-yet", "No results yet: they begin with 50 reports at one level", "/dashboard"),
    Screen("dashboard-too-few", "Too few reports: the dashboard says how many are needed", "/dashboard"),
    Screen("public-results", "The public results page, without signing in", "/results"),
    Screen("reading", "The page that explains how to read results", "/reading"),
    Screen("new-empty", "An empty form", "new"),
    Screen("new-troubles", "Missing entries are marked at their fields", "new"),
    Screen("new-draft", "A survey with missing entries is saved as a draft", "new"),
    Screen("new-refused", "The page opens once, in one browser", "new"),
    Screen("new-form", "The questions on the left, and what a whole report can reveal on the right", "new"),
    Screen("new-errors", "The errors to expect, and a better design for the same total ε", "new"),
    Screen("new-started", "The survey is running with simulated people", "new"),
    Screen("kit-privacy-notice", "The privacy notice for participants", "kit"),
    Screen("kit-datenschutzhinweis", "The privacy notice in German", "kit"),
    Screen(
        "kit-data-protection-annex", "The data-protection annex, with the exact ε of every question and level", "kit"
    ),
    Screen("kit-datenschutz-anhang", "The annex in German", "kit"),
    Screen("kit-invitations", "Invitation links with QR codes", "kit"),
    Screen("kit-certificate", "The certificate of the audit", "kit"),
    Screen("kit-verify", "Anyone can verify the certificate: everything agrees", "kit"),
    Screen("kit-verify-refused", "The same page with a different survey: the hash and several ε differ", "kit"),
    Screen("report", "The report that `pldp estimate --html` writes to a file", "report"),
    Screen("notebook-survey", "A survey: its questions and levels", "notebook"),
    Screen("notebook-tally", "A tally: the number of reports per question and level", "notebook"),
    Screen("notebook-result", "A result: sentences, a chart and intervals", "notebook"),
    Screen("notebook-plan", "A plan: the errors to expect", "notebook"),
    Screen("notebook-audit", "An audit: the claimed and the exact ε of every question and level", "notebook"),
)

SCREENS = (*(each._replace(name=f"survey-{each.name}", page="/") for each in SURVEY), *OTHERS)
"""Every screen, in the order of the gallery."""
