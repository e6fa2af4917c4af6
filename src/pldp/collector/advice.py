"""What the owner of a collector should know when it starts: one line each, never a reason not to start."""

import shlex
from pathlib import Path
from time import time

from pldp.collector.callers import is_loopback
from pldp.collector.settings import Settings
from pldp.collector.tokens import Tokens
from pldp.survey import Survey, name_warnings


def warnings(survey: Survey, settings: Settings, tokens: Tokens) -> list[str]:
    """Return what is unsafe or missing, and what to do about it."""
    found = [f"warning: {line}" for line in name_warnings(survey)]
    local = settings.host == "localhost" or is_loopback(settings.host)
    if not (local or settings.trusted_proxy):
        found.append(
            f"warning: {settings.host or 'every address'} can be reached from outside without TLS, so reports and "
            "tokens can be read on their way, and one address can take all connections; listen on 127.0.0.1 behind a "
            "proxy with TLS and set trusted_proxy"
        )
    if not settings.hosts and not (local and not settings.trusted_proxy):
        found.append("warning: any name in the header Host is served; set hosts to the name that people see")
    if settings.metrics_port and not (settings.metrics_host == "localhost" or is_loopback(settings.metrics_host)):
        found.append(
            f"warning: port {settings.metrics_port} of {settings.metrics_host or 'every address'} gives counters to "
            "all who reach it; let only the network of your monitoring reach it"
        )
    if not survey.signer:
        found.append(
            "warning: the survey is not signed, so devices cannot tell whether it was changed; "
            "sign it with pldp survey sign"
        )
    if not any(each.scope != "upload" and not tokens.has_expired(each.expires) for each in tokens.all()):
        found.append(f"warning: there is no token, so nobody can read the results; make one: {token_command(settings)}")
    if survey.has_closed(time()):
        found.append(f"warning: the survey closed at the end of {survey.closes} (UTC), so new reports are refused")
    if settings.uploads == "open":
        found.append("note: anybody can send any number of reports; uploads = token or ledger limits who can")
    return found


def token_command(settings: Settings) -> str:
    """Return the command that makes a token for this store, wherever it is typed.

    The address of a database may hold a password, so it is not repeated.
    """
    if "://" in settings.database:
        return "pldp store token NAME (with PLDP_DATABASE set as here)"
    return f"pldp store token NAME --database {shlex.quote(str(Path(settings.database).absolute()))}"
