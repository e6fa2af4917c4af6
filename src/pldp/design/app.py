"""The page of `pldp new` as an ASGI application, for one person on this machine.

It answers only the browser that was let in (`pldp.design.entry`): no other page and no other user of the machine gets
anything. Requests that are addressed to another host are refused, as the collector does.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pldp.collector import Settings
from pldp.collector.web import (
    KINDS,
    POLICY,
    Asset,
    Deadlines,
    Hosts,
    Problem,
    ProblemError,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    assets,
    picture,
    respond,
)
from pldp.design.checking import Trouble, check_document, document_of, form_of
from pldp.design.draft import ChangedError, Draft, to_json
from pldp.design.entry import ENTRANCE, REFUSED, Entry
from pldp.design.fields import kept_keys, kinds_mapping, survey_fields
from pldp.design.starting import Started
from pldp.design.summary import change_design, expect, look
from pldp.errors import PldpError, SurveyError
from pldp.plain import json_text
from pldp.survey import Logo, Survey, read_logo

PEOPLE: Final = 1000  # people that a plan is made for until another number is entered
MOST_PEOPLE: Final = 10**9
MOST_BYTES: Final = 4 << 20
_MOST_CODE: Final = 1 << 10  # bytes of a form with a code
_SECONDS: Final = 30.0
_FRAME: Final = (POLICY[0], POLICY[1].replace(b"frame-ancestors 'none'", b"frame-ancestors 'self'"))
_FRAMES: Final = (POLICY[0], POLICY[1].replace(b"default-src 'none'", b"default-src 'none'; frame-src 'self'"))
_WRITTEN: Final = frozenset({"check", "plan", "save", "start", "stop", "better"})


class Designer:
    """Serves the form of one survey file.

    Without a `path`, the page asks for a name, and the file is made in `folder`.
    """

    def __init__(self, path: str | Path | None = None, *, folder: str | Path = ".", people: int = PEOPLE) -> None:
        self.entry = Entry()
        self._folder = Path(folder)
        self._people = people
        self._draft = None if path is None else Draft.open(path)
        self._hosts = Hosts(Settings())
        self._deadlines = Deadlines(_SECONDS)
        self._shown: Survey | None = None
        self._logo: Asset | None = None
        self._started: Started | None = None
        self._starting = asyncio.Lock()  # of two that start at once, the first would run on with no way to stop it
        self._assets = assets()
        self._own = _own_assets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ProblemError as problem:
            response = problem.response()
        await respond(send, response, with_body=request.method != "HEAD")

    async def upkeep(self) -> None:
        """Nothing: a page on one's own machine keeps nothing that grows old."""

    async def close(self) -> None:
        """End a collector that was started here, and delete the file that opens the page."""
        self.entry.remove()
        await self._stop({})

    async def _answer(self, request: Request) -> Response:
        if not self._hosts.allow(request.headers.get(b"host", b"")):
            raise ProblemError(Problem.WRONG_HOST)
        if request.method == "POST" and request.path == ENTRANCE:
            return self.entry.exchange(await request.body(_MOST_CODE, self._deadlines))
        reads = request.method in {"GET", "HEAD"}
        if reads and self.entry.admits_preview(request):
            return await self._preview(request, request.path.removeprefix(self.entry.preview))
        rest = request.path.removeprefix("/")
        if not self.entry.admits(request, with_key=not reads or rest == "state"):
            return REFUSED
        if reads:
            return await self._get(request, rest)
        if request.method != "POST" or rest not in _WRITTEN:
            raise ProblemError(Problem.METHOD_NOT_ALLOWED)
        return await self._post(request, rest)

    async def _get(self, request: Request, rest: str) -> Response:
        if rest == "state":
            return Response(json_text(await asyncio.to_thread(self._state)).encode())
        asset = self._own.get(f"/{rest}") or self._assets.get(f"/{rest}" if rest else "")
        if asset is None or not (rest == "" or rest.startswith("pages/")):
            raise ProblemError(Problem.NOT_FOUND)
        response = await asset.get(request)
        return response if rest else _with_policy(response, _FRAMES)

    async def _preview(self, request: Request, path: str) -> Response:
        """Serve the survey page with the survey as it is in the form; it takes no reports."""
        if path == "/v1/survey" and self._shown is not None:
            return Response(self._shown.canonical)
        if path == "/v1/round":
            return Response(b'{"round":1,"open":true,"preview":true}')
        if path == "/v1/logo" and self._logo is not None:
            return await self._logo.get(request)
        asset = self._assets.get(path)
        if asset is None:
            raise ProblemError(Problem.NOT_FOUND)
        response = await asset.get(request)
        return _with_policy(response, _FRAME)

    async def _post(self, request: Request, what: str) -> Response:
        if request.content_type() != "application/json":
            raise ProblemError(Problem.WRONG_CONTENT_TYPE, "send application/json")
        body = await request.body(MOST_BYTES, self._deadlines)
        try:
            content = json.loads(body, parse_float=Decimal)
        except ValueError:
            raise ProblemError(Problem.BAD_REQUEST, "the body must be JSON") from None
        work: Mapping[str, Callable[[Any], Awaitable[dict[str, Any]]]] = {
            "check": self._check,
            "plan": self._plan,
            "better": self._better,
            "save": self._save,
            "start": self._start,
            "stop": self._stop,
        }
        try:
            answer = await work[what](content)
        except ChangedError as error:
            answer = {"error": str(error), "changed": True}
        except (PldpError, OSError) as error:
            answer = {"error": str(error)}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ProblemError(Problem.BAD_REQUEST, "the form is not what this page sends") from None
        return Response(json_text(answer).encode())

    def _state(self) -> dict[str, Any]:
        draft = self._draft or Draft(self._folder / "survey.toml")
        document = json.loads(to_json(draft.document))
        return {
            "file": None if self._draft is None else draft.path.name,
            "draft": self._missing(draft.document) if draft.seen else None,
            "form": form_of(document),
            "kept": kept_keys(document),
            "fields": [asdict(each) for each in survey_fields()],
            "kinds": kinds_mapping(),
            "people": self._people,
            "preview": f"{self.entry.preview}/",
            "started": self._started.links if self._started is not None and self._started.running else None,
        }

    def _examine(self, document: Mapping[str, Any]) -> tuple[Survey | None, Logo | None, list[Trouble]]:
        """Read a survey as a collector does when it starts, with its logo."""
        survey, troubles = check_document(document)
        if survey is None:
            return None, None, troubles
        try:
            logo = read_logo(survey, self._folder / "survey.toml" if self._draft is None else self._draft.path)
        except SurveyError as error:
            return None, None, [Trouble(("logo",), str(error).removeprefix("logo: "))]
        return survey, logo, []

    def _missing(self, document: Mapping[str, Any]) -> str | None:
        """Return in one line why a survey cannot be started yet, `None` if it can."""
        troubles = self._examine(document)[2]
        return troubles[0].line(document) if troubles else None

    async def _check(self, content: Mapping[str, Any]) -> dict[str, Any]:
        document, doubled = document_of(content["form"])
        survey, logo, troubles = await asyncio.to_thread(self._examine, document)
        if survey is None or doubled:
            return {"troubles": [each.to_mapping() for each in (*doubled, *troubles)]}
        self._shown, self._logo = survey, None if logo is None else picture(logo)
        return {"troubles": [], **await asyncio.to_thread(look, survey)}

    async def _plan(self, content: Mapping[str, Any]) -> dict[str, Any]:
        survey, _ = await asyncio.to_thread(check_document, document_of(content["form"])[0])
        if survey is None:
            return {"errors": [], "better": None, "no_plan": "Correct the marked fields to see this."}
        people = content["people"]
        if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
            return {"errors": [], "better": None, "no_plan": "people must be a whole number of at least 1"}
        self._people = people
        return await asyncio.to_thread(expect, survey, people)

    async def _better(self, content: Mapping[str, Any]) -> dict[str, Any]:
        document, _ = document_of(content["form"])
        return {"form": form_of(json.loads(to_json(change_design(document, content["change"]))))}

    async def _save(self, content: Mapping[str, Any]) -> dict[str, Any]:
        document, doubled = document_of(content["form"])
        if doubled:
            raise SurveyError(doubled[0].text)
        draft = self._draft or Draft(self._named(str(content.get("name") or "")))
        await asyncio.to_thread(lambda: draft.save(document, overwrite=content.get("overwrite") is True))
        self._draft = draft
        missing = await asyncio.to_thread(self._missing, document)
        return {"file": draft.path.name, "kept": kept_keys(document), "draft": missing}

    def _named(self, name: str) -> Path:
        if not name or Path(name).name != name or Path(name).suffix not in {".toml", ".json"} or name.startswith("."):
            raise SurveyError("the name of the file must end in .toml, without a folder: survey.toml")
        return self._folder / name

    async def _start(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Start what is saved; a form with other content is refused, so that nobody collects with an older survey."""
        document, _ = document_of(content["form"])
        draft = self._draft
        if draft is None or not draft.seen or json.loads(to_json(draft.document)) != json.loads(to_json(document)):
            raise SurveyError("save the survey first; what is started is the file")
        preview = content.get("preview") is True
        async with self._starting:
            await self._end()
            self._started = started = await asyncio.to_thread(lambda: Started(draft.path, preview=preview))
            return await asyncio.to_thread(lambda: started.links)

    async def _stop(self, _: Mapping[str, Any]) -> dict[str, Any]:
        async with self._starting:
            await self._end()
        return {}

    async def _end(self) -> None:
        if self._started is not None:
            await asyncio.to_thread(self._started.stop)
        self._started = None


def _with_policy(response: Response, policy: tuple[bytes, bytes]) -> Response:
    """Return a response with another content-security policy."""
    return response._replace(headers=(*(each for each in response.headers if each[0] != policy[0]), policy))


def _own_assets() -> dict[str, Asset]:
    """Return the files of this page: `/` and `/pages/NAME`; others are those of the collector's pages."""
    found = {}
    for file in (Path(__file__).parent / "pages").iterdir():
        if file.suffix in KINDS:
            body = file.read_bytes()
            path = "/" if file.suffix == ".html" else f"/pages/{file.name}"
            found[path] = Asset(body, f"{KINDS[file.suffix]}; charset=utf-8", sha256(body).hexdigest())
    return found
