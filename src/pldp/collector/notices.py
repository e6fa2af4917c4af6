"""Pages for people where programs get a problem document, in the language that their browser asks for."""

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from pldp.collector.http import Problem, ProblemError, Request, Response
from pldp.collector.results import reads_pages
from pldp.collector.static import POLICY

DEFAULT: Final = "en"
NOTICES: Final = {
    Problem.NOT_FOUND: "missing",
    **dict.fromkeys(
        (Problem.TOO_MANY_REQUESTS, Problem.INTERNAL, Problem.OVERLOADED, Problem.STORE_UNAVAILABLE), "later"
    ),
}
"""The texts of the page for each problem that a person meets who opens an address."""

_PAGES: Final = Path(__file__).with_name("pages")
_FILLED: Final = re.compile(r' data-text="missing\.(\w+)"></')


def notice(problem: ProblemError, request: Request) -> Response | None:
    """Return a page in the place of the problem document, or None where the document is what was asked for."""
    family = NOTICES.get(problem.problem)
    if family is None or not reads_pages(request):
        return None
    body = notice_page(family, language_of(request, _catalogues()))
    # Addresses are relative, so that a proxy can put the collector anywhere.
    body = body.replace('href="', 'href="' + "../" * (request.path.count("/") - 1))
    answer = problem.response()
    headers = (*answer.headers, POLICY, (b"vary", b"accept, accept-language"))
    return answer._replace(body=body.encode(), kind="text/html; charset=utf-8", headers=headers)


def language_of(request: Request, known: frozenset[str]) -> str:
    """Return the language that the address (`?lang=de`) or the browser asks for, of those with a catalogue."""
    asked = parse_qs(request.query.decode("latin-1")).get("lang", [])
    for each in (*asked, *_accepted(request.headers.get(b"accept-language", b"").decode("latin-1"))):
        base = each.lower().split("-")[0]
        if base in known:
            return base
    return DEFAULT


def _accepted(header: str) -> list[str]:
    """Return the languages of a header, the preferred first; a weight of 0 refuses one.

    >>> _accepted("fr;q=0.2, de-AT, en;q=0.5, es;q=0")
    ['de-AT', 'en', 'fr']
    """
    weights = {}
    for each in header.split(","):
        name, _, weight = each.partition(";")
        found = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", weight) if weight else None
        weights[name.strip()] = float(found[1]) if found else float(not weight)
    return sorted((name for name, weight in weights.items() if name and weight), key=lambda name: -weights[name])


@cache
def _catalogues() -> frozenset[str]:
    return frozenset(path.stem for path in (_PAGES / "languages").glob("*.json"))


@cache
def notice_page(family: str, language: str) -> str:
    """Return the page with the texts of a family, such as `missing`, in a language that has a catalogue."""
    texts = json.loads((_PAGES / "languages" / f"{language}.json").read_text(encoding="utf-8"))
    page = (_PAGES / "notice.html").read_text(encoding="utf-8").replace('lang="en"', f'lang="{language}"')
    return _FILLED.sub(lambda found: f">{escape(texts[f'{family}.{found[1]}'])}</", page)
