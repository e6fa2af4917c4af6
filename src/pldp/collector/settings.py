"""The collector's settings, each in one place: flags before environment before file before default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from pldp.collector.retention import FORM
from pldp.errors import UsageError
from pldp.known import parse_known
from pldp.survey import Survey
from pldp.words import suggest

PREFIX: Final = "PLDP_"  #: Environment variables are called like settings, in capitals, after this.

FROM_FILE: Final = "_FILE"
"""Environment variables that end so name a file that holds the setting: secrets of containers are such files."""

_ORIGIN: Final = r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?"
_ORIGINS: Final = (rf"({_ORIGIN}( +{_ORIGIN})*)?", "must be origins such as https://app.example.org")
_NAME: Final = r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])"
_NAMES: Final = (rf"({_NAME}( +{_NAME})*)?", "must be names such as survey.example.org, without ports")
_LOGS: Final = ("text|json", "must be text or json")
_UPLOADS: Final = ("open|token|ledger", "must be open, token or ledger")


def _setting(default: str | int, words: str, least: int = 0, form: tuple[str, str] = ("(?s:.*)", "")) -> Any:
    return field(default=default, metadata={"help": words, "least": least, "form": form})


@dataclass(frozen=True)
class Settings:
    """What a collector can be told.

    >>> Settings.read({"port": "0"}, {"PLDP_PORT": "8000", "PLDP_RATE_LIMIT": "5"}, None)
    ... # doctest: +ELLIPSIS
    Settings(host='127.0.0.1', port=0, database='reports.db', rate_limit=5, ...)
    """

    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8300, "port to listen on; 0 picks a free one")
    database: str = _setting(
        "reports.db", "SQLite file of the reports, made if it does not exist, or postgresql:// address"
    )
    rate_limit: int = _setting(200, "requests per second from one address, with bursts of ten seconds; 0: no limit")
    body_bytes: int = _setting(8 << 20, "largest request body, in bytes", 1)
    body_seconds: int = _setting(30, "timeout in seconds for the header of a request, and then for its body", 1)
    batch_reports: int = _setting(10_000, "maximum number of reports in one batch", 1)
    waiting_reports: int = _setting(
        100_000, "maximum number of reports waiting to be stored; beyond it, uploads get 503", 1
    )
    held_bytes: int = _setting(64 << 20, "maximum bytes of bodies not stored yet; one address may hold a quarter", 1)
    connections: int = _setting(2_000, "maximum number of open connections; others wait", 1)
    result_step: int = _setting(
        50, "results change in steps of at least this many reports per level; levels with fewer are left out", 1
    )
    planned_reports: int = _setting(
        1_000,
        "reports planned for a round: intervals hold however often you look, and are narrowest from here to "
        "five times as many; 0: intervals for one look, once the round is closed",
    )
    retain: str = _setting(
        "",
        "delete single reports this long after their round was closed, such as 30 days; results stay; empty: never",
        form=FORM,
    )
    pairs: str = _setting(
        "", "two or three questions to count together for tables, such as mode+late, separated by commas"
    )
    known: str = _setting(
        "", "known shares of a question in pairs, such as late:yes=0.2,no=0.8, to which the other's are corrected"
    )
    public: str = _setting(
        "",
        "questions, and pairs such as mode+late, whose results anyone may see at /results, separated by commas; "
        "empty: none",
    )
    trusted_proxy: str = _setting("", "address of the proxy whose X-Forwarded-For is believed; empty: none")
    hosts: str = _setting(
        "",
        "names that requests may be addressed to, separated by spaces; empty: any, on loopback only this machine's own",
        form=_NAMES,
    )
    uploads: str = _setting(
        "open",
        "who may upload: open (anybody), token (anyone with a token), ledger (enrolled people within their budgets)",
        form=_UPLOADS,
    )
    origins: str = _setting("", "origins allowed to call the API, separated by spaces; empty: none", form=_ORIGINS)
    metrics_port: int = _setting(
        0, "port for operations: counters, durations and health for anyone who reaches it, without a token; 0: none"
    )
    metrics_host: str = _setting("127.0.0.1", "address that metrics_port is on")
    log: str = _setting("text", "form of the log on standard error: text or json", form=_LOGS)

    @classmethod
    def read(
        cls, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, file: str | Path | None = None
    ) -> Settings:
        """Put the settings together; flags that are `None` were not given."""
        try:
            given = tomllib.loads(Path(file).read_text(encoding="utf-8")) if file is not None else {}
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{file}: not valid TOML: {error}") from None
        names = {each.name for each in fields(cls)}
        unknown = given.keys() - names
        if unknown:
            raise UsageError(f"{file}: {min(unknown)[:40]!r} is not a setting")
        for name in names:
            variable = PREFIX + name.upper()
            if variable + FROM_FILE in environment:
                if variable in environment:
                    raise UsageError(f"{variable} and {variable + FROM_FILE} are both set; leave one out")
                given[name] = Path(environment[variable + FROM_FILE]).read_text(encoding="utf-8").strip()
            if variable in environment:
                given[name] = environment[variable]
            if flags.get(name) is not None:
                given[name] = flags[name]
        return cls(**{each.name: _value(each, given[each.name]) for each in fields(cls) if each.name in given})

    def question_pairs(self) -> list[tuple[str, ...]]:
        """Return the names of the questions that are counted together.

        >>> Settings(pairs="mode+late, late+age+mode").question_pairs()
        [('mode', 'late'), ('late', 'age', 'mode')]
        """
        pairs = [tuple(name.strip() for name in pair.split("+")) for pair in self.pairs.split(",") if pair.strip()]
        if not all(len(pair) > 1 and all(pair) for pair in pairs):
            raise UsageError(f"pairs must be names such as mode+late or mode+late+age, not {self.pairs[:40]!r}")
        return pairs

    def public_names(self, survey: Survey) -> frozenset[str]:
        """Return the names of results that anybody may see; refuse what the survey does not have or no step hides."""
        names = [name.strip() for name in self.public.split(",") if name.strip()]
        if names and self.result_step == 1:
            raise UsageError("public: results for everybody change in steps; set result_step to 2 or more")
        known = {each.name: each.name for each in survey.questions}
        known |= {"+".join(pair): " × ".join(pair) for pair in self.question_pairs()}
        for name in names:
            if name not in known:
                hint = suggest(name, [*known]) or f"; it may name {', '.join(known)}"
                raise UsageError(f"public: {name[:40]!r} is no question of the survey, nor in pairs{hint}")
        return frozenset(known[name] for name in names)

    def known_shares(self) -> dict[str, dict[str, float]] | None:
        """Return the question whose shares are known, with them; refuse one that is in no pair.

        >>> Settings(pairs="mode+late", known="late:yes=0.2,no=0.8").known_shares()
        {'late': {'yes': 0.2, 'no': 0.8}}
        """
        if not self.known:
            return None
        known = parse_known(self.known)
        (name,) = known
        if not any(name in pair for pair in self.question_pairs() if len(pair) == 2):
            raise UsageError(f"known: question {name!r} must be in pairs with the questions to correct, as mode+{name}")
        return known


def _value(setting: Any, given: object) -> Any:
    if isinstance(setting.default, str):
        if not isinstance(given, str):
            raise UsageError(f"{setting.name} must be text")
        pattern, rule = setting.metadata["form"]
        if not re.fullmatch(pattern, given):
            raise UsageError(f"{setting.name} {rule}, not {given[:40]!r}")
        return given
    least = setting.metadata["least"]
    text = str(given)
    if isinstance(given, bool) or not text.isascii() or not text.isdigit() or len(text) > 12 or int(text) < least:
        raise UsageError(f"{setting.name} must be a whole number of at least {least}, not {text[:40]!r}")
    return int(text)
