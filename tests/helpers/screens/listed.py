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
    Screen("sent", "Sent, with a receipt", shows=("thanks",)),
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


OTHERS = (
    Screen("survey-without-scripts", "The survey page in a browser without JavaScript", "/"),
    Screen("survey-printed", "The receipt on paper", "/"),
    Screen("survey-german", "The same page in German, on a small dark phone", "/"),
    Screen("notice-missing", "A wrong address", "notice:missing"),
    Screen("notice-later", "Too many requests, or a store that is away", "notice:later"),
    Screen("dashboard-sign-in", "Signing in to the dashboard", "/dashboard", ("entering",)),
    Screen("dashboard-wrong-token", "A token that is not valid", "/dashboard", ("error",)),
    Screen("dashboard-counting", "Reports are being counted", "/dashboard", ("board",)),
    Screen("dashboard-results", "Results with their intervals", "/dashboard", ("board", "controls")),
    Screen("dashboard-rounds-compared", "A question over rounds, with a test of change", "/dashboard"),
    Screen("dashboard-levels-compared", "People of different levels compared", "/dashboard"),
    Screen("dashboard-table", "Two questions together", "/dashboard"),
    Screen("dashboard-rounds", "Reports per hour, rejections and rounds", "/dashboard"),
    Screen("dashboard-closing", "A question before a round is closed for good", "/dashboard", ("closing",)),
    Screen("dashboard-lost", "The connection is lost", "/dashboard"),
    Screen("dashboard-nothing-yet", "Before the first step of reports", "/dashboard"),
    Screen("dashboard-too-few", "Too few reports to say much", "/dashboard"),
    Screen("public-results", "Results for everybody", "/results"),
    Screen("reading", "How to read these results", "/reading"),
    Screen("new-empty", "`pldp new`: a new survey", "new"),
    Screen("new-troubles", "`pldp new`: what is missing is said at its field", "new"),
    Screen("new-form", "`pldp new`: questions on the left, what they mean on the right", "new"),
    Screen("new-reveals", "`pldp new`: what a whole report can reveal, and what it costs", "new"),
    Screen("new-started", "`pldp new`: the survey runs with simulated people", "new"),
    Screen("kit-privacy-notice", "Privacy notice of `pldp kit`", "kit"),
    Screen("kit-datenschutzhinweis", "The same in German", "kit"),
    Screen("kit-data-protection-annex", "Data-protection annex with every exact number", "kit"),
    Screen("kit-datenschutz-anhang", "The same in German", "kit"),
    Screen("kit-invitations", "Invitation links with QR codes (made-up people)", "kit"),
    Screen("kit-certificate", "The certificate of an audit", "kit"),
    Screen("kit-verify", "The page that verifies a certificate", "kit"),
    Screen("kit-verify-refused", "The same page with another survey: it does not agree", "kit"),
    Screen("report", "The static report of `pldp estimate --html`", "report"),
    Screen("notebook-survey", "A survey in a notebook", "notebook"),
    Screen("notebook-tally", "A tally in a notebook", "notebook"),
    Screen("notebook-result", "A result in a notebook", "notebook"),
    Screen("notebook-plan", "A plan in a notebook", "notebook"),
    Screen("notebook-audit", "An audit in a notebook", "notebook"),
)

SCREENS = (*(each._replace(name=f"survey-{each.name}", page="/") for each in SURVEY), *OTHERS)
"""Every screen, in the order of the gallery."""
