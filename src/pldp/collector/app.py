"""The collector as an ASGI application: a table of routes, and one path through which every request goes."""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property, partial
from time import monotonic, perf_counter
from typing import Final

import msgspec

from pldp.budgets import epsilon_text
from pldp.collector import http
from pldp.collector.callers import Held, HeldBody, Hosts, Origins, RateLimit, address_of, plain_address
from pldp.collector.formats import FORMATS, METRICS, Accepted, Batch, Rejected, metrics, wanted
from pldp.collector.http import Deadlines, Problem, ProblemError, Request, Response, Route, json_response, with_etag
from pldp.collector.live import PUBLIC, Live
from pldp.collector.notices import notice
from pldp.collector.openapi import openapi
from pldp.collector.operations import Durations, Operations
from pldp.collector.packing import Packed
from pldp.collector.published import Version
from pldp.collector.reading import Reader
from pldp.collector.results import COMPARED, compared, encoded, everything, round_number
from pldp.collector.retention import TOO_LATE, promise, retained_days
from pldp.collector.rounds import Round
from pldp.collector.settings import Settings
from pldp.collector.static import LOGO_TYPES, POLICY, assets, picture, published
from pldp.collector.store import Outcome, Store
from pldp.collector.tokens import Tokens, token_hash
from pldp.collector.uploads import Uploads, problem_of
from pldp.errors import EstimateError, StoreError, TallyError, UsageError
from pldp.reports import Rejection, ReportRejected
from pldp.survey import Logo, Survey, dearest_report

ONE: Final = "application/json"
MANY: Final = "application/x-ndjson"
LEDGER_BYTES: Final = 96  # of every account: the length of a number would tell what a report cost, and so its level
RECEIPT_BYTES: Final = 1024  # largest body of a withdrawal
SMALL: Final = 1 << 14
"""Bytes of a report that need not be counted while they are held: connections are, and each holds one."""

UPKEEP_SECONDS: Final = 1.0  # between two looks at what other collectors did
DELETE_SECONDS: Final = 600.0  # between two looks for rounds whose reports were kept for long enough

Hold = Callable[[int], object]
log = logging.getLogger("pldp.collector")


class _Withdrawal(msgspec.Struct, forbid_unknown_fields=True):
    receipt: str


class Collector:
    """Serves one survey from one store.

    `tokens` say who may read estimates, run rounds and, where that needs a token, upload. `document` is what devices
    get when they fetch the survey: its signed form, by default the spelled-out one. A `preview` shows simulated people:
    it says so wherever it shows them, and takes no reports. `logo` is the survey's picture, where it has one. `clock`
    tells seconds, for limits of rates and the age of overviews. `operations` is a second application: counters, health.
    """

    def __init__(  # noqa: PLR0913 - by keyword, and each a fact of its own
        self,
        survey: Survey,
        store: Store,
        tokens: Tokens,
        settings: Settings,
        *,
        document: bytes | None = None,
        preview: bool = False,
        logo: Logo | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._survey = survey
        self._store = store
        self._tokens = tokens
        self._settings = settings
        self._published = published(document or survey.canonical, survey.hash)
        self._reader = Reader(survey, most_reports=settings.batch_reports)
        self._held = Held(settings.held_bytes)
        self._proxy = plain_address(settings.trusted_proxy)
        if settings.trusted_proxy and not self._proxy:
            raise UsageError(f"trusted_proxy must be an IP address, not {settings.trusted_proxy[:40]!r}")
        self._hosts = Hosts(settings)
        self._uploads = Uploads(store, most_waiting=settings.waiting_reports)
        self._preview = preview
        self._logo = None if logo is None else picture(logo)
        self._retained = retained_days(settings.retain)
        known, planned = settings.known_shares(), settings.planned_reports
        self._public = settings.public_names(survey)
        self._live = Live(store, preview=preview, known=known, planned=planned, public=self._public, clock=clock)
        self._limit = RateLimit(settings.rate_limit, clock=clock) if settings.rate_limit else None
        self._deadlines = Deadlines(settings.body_seconds)
        self._origins = Origins(settings.origins)
        self._problems: Counter[str] = Counter()
        self._durations = Durations(store.step)
        self.operations = Operations(store, self._counters, self._durations)
        self.routes = self._table()
        self._assets = assets()
        handlers = {path: asset.get for path, asset in self._assets.items()}
        handlers |= {"/dashboard": self._get_dashboard, **({"/results": self._get_public} if self._public else {})}
        pages = (Route("GET", path, "", handler) for path, handler in handlers.items())
        self._router = http.Router((*self.routes, *pages))

    def _table(self) -> tuple[Route, ...]:
        body = (Problem.TOO_LARGE, Problem.TOO_SLOW, Problem.WRONG_CONTENT_TYPE)
        stored = (Problem.OVERLOADED, Problem.STORE_UNAVAILABLE, Problem.STORE_FULL)
        no_round = (Problem.NOT_FOUND, Problem.BAD_REQUEST, Problem.OVERLOADED)
        read = partial(Route, "GET", scope="read", query=("round",), problems=no_round)
        made = (*no_round, Problem.NO_ESTIMATE, Problem.NOT_ACCEPTABLE)
        operations, round_query = self.operations, "?round=N for another round than the latest"
        return (
            Route("GET", "/v1/survey", "The survey, signed if it was signed", self._get_survey),
            Route("GET", "/v1/logo", "The logo", self._get_logo, gives=LOGO_TYPES, problems=(Problem.NOT_FOUND,)),
            Route(
                "GET",
                "/v1/round",
                "Number of the latest round, whether it is open, needs an invitation, or the survey has ended, "
                "and until when a report can be withdrawn",
                self._get_round,
            ),
            Route(
                "POST",
                "/v1/reports",
                "Upload one report (JSON) or many (JSON lines); each has its own outcome, and again is harmless",
                self._post_reports,
                scope="" if self._settings.uploads == "open" else "upload",
                takes=(ONE, MANY),
                body="report",
                query=("round",),
                problems=(
                    *(*body, *stored, Problem.REJECTED, Problem.TOO_MANY_REPORTS, Problem.BAD_REQUEST),
                    Problem.PREVIEW,
                ),
            ),
            Route(
                "POST",
                "/v1/withdraw",
                "Withdraw a report by its receipt",
                self._post_withdraw,
                takes=(ONE,),
                problems=(*body, *stored, Problem.BAD_REQUEST, Problem.UNKNOWN_RECEIPT, Problem.REPORTS_DELETED),
            ),
            Route(
                "GET",
                "/v1/ledger",
                "What the enrolled person who has this token has spent, and what a report costs",
                self._get_ledger,
                scope="upload",
                problems=(Problem.NOT_FOUND,),
            ),
            Route("GET", "/v1/rounds", "All rounds with their numbers of reports", self._get_rounds, scope="read"),
            Route(
                "POST", "/v1/rounds/close", "Close the open round for good", self._close_round, "admin", problems=stored
            ),
            Route("POST", "/v1/rounds/open", "Open the next round", self._open_round, scope="admin", problems=stored),
            read(
                "/v1/overview",
                f"All that a dashboard shows of a round: results, what is missing, counts; {round_query}",
                self._get_overview,
                tagged=True,
            ),
            read(
                "/v1/overview.html",
                f"The same as markup, which a dashboard shows as it is; {round_query}",
                self._get_board,
                gives=("text/html",),
                tagged=True,
            ),
            read(
                "/v1/results.zip",
                f"Everything as files: the overview, and every question as JSON, CSV and Arrow; {round_query}",
                self._get_everything,
                gives=("application/zip",),
            ),
            read(
                "/v1/estimates/{question}",
                f"The result of a question: rows with errors, notes and assumptions, whatever its kind; {round_query}",
                self._get_estimate,
                gives=tuple(FORMATS.values()),
                problems=made,
            ),
            read(
                "/v1/groups/{question}",
                f"A question by level: the result of each, and how levels differ; {round_query}",
                self._get_groups,
                gives=tuple(FORMATS[kind] for kind in COMPARED),
                problems=made,
            ),
            Route("GET", "/v1/openapi.json", "This description", self._get_openapi),
            Route("GET", "/healthz", "The process lives", operations.get_health),
            Route("GET", "/readyz", "The store works", operations.get_ready, problems=(Problem.STORE_UNAVAILABLE,)),
            Route("GET", "/metrics", "Counters for Prometheus", self._get_metrics, "read", gives=("text/plain",)),
        )

    async def __call__(self, scope: http.Scope, receive: http.Receive, send: http.Send) -> None:
        """Serve one request, as ASGI asks; there is no lifespan, `close` ends the collector."""
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        request = Request(scope, receive)
        start = perf_counter()
        response = await self._answer(request)
        self._durations.add(request.route, perf_counter() - start - request.waited)
        if self._origins.allowed:
            response = response._replace(headers=(*response.headers, *self._origins.headers(request)))
        await http.respond(send, response, with_body=request.method != "HEAD")

    async def _answer(self, request: Request) -> Response:
        try:
            self._check_caller(request)
            if self._origins.asks(request):
                return self._origins.grant(route.method for route in self.routes)
            route = self._router.find(request)
            request.route = route.label
            if route.scope:
                request.scope = await self._check_token(request, route.scope)
            return await route.handler(request)
        except StoreError as error:
            problem = problem_of(error)
        except ProblemError as raised:
            problem = raised
        except Exception as error:  # noqa: BLE001 - the last resort; its message could hold what was sent
            log.error("internal error: %s", type(error).__name__)  # noqa: TRY400
            problem = ProblemError(Problem.INTERNAL)
        problem.forget()
        if problem.problem is not Problem.REJECTED:  # those are counted in steps
            self._problems[problem.code] += 1
        return notice(problem, request) or problem.response()

    async def upkeep(self) -> None:
        """Do what is due beside requests, over and over until cancelled; a store that is away is asked again."""
        deleted_at, mine = -math.inf, True
        while True:
            with suppress(StoreError, ProblemError):
                await self._uploads.run(self._store.recover)
                if self._store.shared:
                    await self._uploads.run(self._store.follow)
                    mine = await self._live.queue.run(self._store.keep)
                if self._retained is not None and mine and monotonic() - deleted_at > DELETE_SECONDS:
                    due = await self._uploads.run(partial(self._store.look_for_due, self._retained))
                    counted = await self._live.queue.run(partial(self._store.count_rounds, due))
                    await self._uploads.delete_reports(counted)
                    deleted_at = monotonic()
            await asyncio.sleep(UPKEEP_SECONDS)

    async def close(self) -> None:
        """Wait until all that was taken is stored; begin nothing more."""
        await self._uploads.drain()
        self._live.queue.close()

    def _check_caller(self, request: Request) -> None:
        if self._proxy:
            request.address = address_of(request, self._proxy)
        wait = self._limit.wait(request.address) if self._limit is not None else 0
        if wait:
            raise ProblemError(Problem.TOO_MANY_REQUESTS, retry_after=wait)
        if not self._hosts.allow(request.headers.get(b"host", b"")):
            raise ProblemError(Problem.WRONG_HOST, "the collector's setting `hosts` names those that are served")

    async def _check_token(self, request: Request, scope: str) -> str:
        """Check tokens in one place and return what this one allows: `admin` includes every other scope."""
        token = request.token()
        caller = await asyncio.to_thread(self._tokens.find, token) if token else None
        if caller is None or caller.expired:
            raise ProblemError(Problem.BAD_TOKEN, "the token has expired; ask for a new one" if caller else "")
        if caller.scope not in {scope, "admin"}:
            raise ProblemError(Problem.WRONG_SCOPE, f"scope {scope} is needed")
        request.caller = caller.name
        return caller.scope

    async def _get_survey(self, request: Request) -> Response:
        return await self._published.get(request)

    async def _get_logo(self, request: Request) -> Response:
        if self._logo is None:
            raise ProblemError(Problem.NOT_FOUND, "the survey has no logo")
        return await self._logo.get(request)

    async def _post_reports(self, request: Request) -> Response:
        if self._preview:
            raise ProblemError(Problem.PREVIEW)
        kind = request.content_type()
        payer = token_hash(request.token()) if self._settings.uploads == "ledger" else b""
        number = round_number(request) or 0
        if kind not in {ONE, MANY}:
            raise ProblemError(Problem.WRONG_CONTENT_TYPE, f"send one report as {ONE}, many as {MANY}")
        if kind == ONE and self._reader.longest <= SMALL:
            return await self._take_one(request, int, payer, number)
        with self._held.of(request.address) as held:  # until the reports are durable
            if kind == ONE:
                return await self._take_one(request, held.add, payer, number)
            return await self._take_many(request, held, payer, number)

    async def _take_one(self, request: Request, hold: Hold, payer: bytes, number: int) -> Response:
        try:
            packed = self._reader.read(await self._body_of_one(request, hold))
        except ReportRejected as rejected:
            await self._uploads.add((), {rejected.reason: 1})
            raise ProblemError(Problem.REJECTED, str(rejected), code=rejected.reason.value) from None
        (outcome,) = await self._uploads.add((packed._replace(round=number) if number else packed,), {}, payer)
        if outcome is not None:
            raise ProblemError(Problem.REJECTED, code=outcome.value)
        return json_response(Accepted(packed.id.hex()))

    def _body_of_one(self, request: Request, hold: Hold) -> Awaitable[bytes]:
        """Read a body that holds one report; what is longer than any report is too long before all of it has come."""
        size = 0

        def count(more: int) -> None:
            nonlocal size
            size += more
            hold(more)
            self._reader.check_length(size)

        return request.body(self._settings.body_bytes, self._deadlines, count)

    async def _take_many(self, request: Request, held: HeldBody, payer: bytes, number: int) -> Response:
        body = await request.body(self._settings.body_bytes, self._deadlines, held.add)
        self._uploads.check_room(self._reader.count(body))
        read = await self._reader.read_many(body)
        reports = [each for each in read if isinstance(each, Packed)]
        if number:
            reports = [each._replace(round=number) for each in reports]
        rejections = Counter(each for each in read if isinstance(each, Rejection))
        stored = iter(await self._uploads.add(reports, rejections, payer))
        outcomes = [self._tell(each, next(stored)) if isinstance(each, Packed) else Rejected(each) for each in read]
        accepted = sum(isinstance(each, Accepted) for each in outcomes)
        return json_response(Batch(accepted, outcomes))

    def _tell(self, report: Packed, outcome: Outcome) -> Accepted | Rejected:
        return Accepted(report.id.hex()) if outcome is None else Rejected(outcome)

    async def _post_withdraw(self, request: Request) -> Response:
        if request.content_type() != ONE:
            raise ProblemError(Problem.WRONG_CONTENT_TYPE, f"send the receipt as {ONE}")
        try:
            body = await request.body(RECEIPT_BYTES, self._deadlines)
            receipt = msgspec.json.decode(body, type=_Withdrawal).receipt
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise ProblemError(Problem.BAD_REQUEST, 'the body must be {"receipt": "…"}') from None
        found = await self._uploads.withdraw(receipt)
        if found is None:
            raise ProblemError(Problem.REPORTS_DELETED, TOO_LATE)
        if not found:
            raise ProblemError(Problem.UNKNOWN_RECEIPT)
        return json_response({"outcome": "withdrawn"})

    async def _get_ledger(self, request: Request) -> Response:
        account = await asyncio.to_thread(self._tokens.account, request.token())
        if account is None:
            raise ProblemError(Problem.NOT_FOUND, "nobody is enrolled with this token")
        amounts = {"budget": account.budget, "spent": account.spent, "price": dearest_report(self._survey)}
        answer = json_response({name: epsilon_text(micro) for name, micro in amounts.items()})
        return answer._replace(body=answer.body.ljust(LEDGER_BYTES))

    async def _get_rounds(self, _: Request) -> Response:
        rounds = await asyncio.to_thread(self._store.shown_rounds)
        return json_response({"survey": self._survey.hash, "rounds": rounds})

    async def _get_round(self, _: Request) -> Response:
        latest = (await asyncio.to_thread(self._store.rounds))[-1]
        facts = {
            "preview": self._preview,
            "invitation": self._settings.uploads != "open",
            "ended": self._store.has_closed() and not self._preview,
        }
        kept = self._retained
        retention = {} if kept is None else {"retain_days": kept, "retention": promise(kept)}
        marked = {name: True for name, holds in facts.items() if holds}
        return json_response({"round": latest.number, "open": latest.open, **marked, **retention})

    async def _close_round(self, request: Request) -> Response:
        return await self._change_round(lambda: self._store.close_round(request.caller))

    async def _open_round(self, request: Request) -> Response:
        return await self._change_round(lambda: self._store.open_round(request.caller))

    async def _change_round(self, change: Callable[[], Round]) -> Response:
        await self._uploads.run(change)
        return json_response((await asyncio.to_thread(self._store.shown_rounds))[-1])

    async def _get_dashboard(self, request: Request) -> Response:
        self._live.prepare()
        return await self._assets["/dashboard"].get(request)

    async def _get_overview(self, request: Request) -> Response:
        return await self._look(request, request.scope, "json")

    async def _get_board(self, request: Request) -> Response:
        return await self._look(request, request.scope, "html")

    async def _get_public(self, request: Request) -> Response:
        return await self._look(request, PUBLIC, "html", (POLICY,))

    async def _look(self, request: Request, scope: str, form: str, headers: http.Headers = ()) -> Response:
        number = (await self._version(request))[0] if request.query else None
        shown = await self._live.overview(number, scope, form, request)
        return with_etag(request, shown.tag, Response(shown.body, FORMATS[form], headers=headers))

    async def _get_everything(self, request: Request) -> Response:
        number, version = await self._version(request)
        overview = await self._live.overview(number, request.scope, request=request)
        make = partial(everything, self._store, self._settings, number, overview.body)
        key = ("everything", number, version, request.scope, overview.tag)
        return Response(await self._live.result(key, make, request), "application/zip")

    async def _version(self, request: Request) -> tuple[int, Version]:
        """Return the number of the round that a request is about, and what its results are computed from."""
        asked, versions = round_number(request), await asyncio.to_thread(self._store.versions)
        number = asked or max(versions)
        if number not in versions:
            raise ProblemError(Problem.NOT_FOUND, "there is no such round")
        return number, versions[number]

    async def _get_estimate(self, request: Request) -> Response:
        return await self._made(request, partial(encoded, self._store, self._settings), tuple(FORMATS))

    async def _get_groups(self, request: Request) -> Response:
        return await self._made(request, partial(compared, self._store), COMPARED)

    async def _made(self, request: Request, make: Callable[..., bytes], kinds: tuple[str, ...]) -> Response:
        """Return what is made of one question when it is asked for."""
        question, kind = wanted(request, {each.name for each in self._survey.questions}, kinds)
        number, version = await self._version(request)
        key = (request.route, question, kind, number, version)
        try:
            body = await self._live.result(key, partial(make, question, kind, number), request)
        except (EstimateError, TallyError) as error:
            raise ProblemError(Problem.NO_ESTIMATE, str(error)) from None
        return Response(body, FORMATS[kind])

    async def _get_openapi(self, _: Request) -> Response:
        return self._description

    @cached_property
    def _description(self) -> Response:
        return json_response(openapi(self.routes))

    async def _get_metrics(self, _: Request) -> Response:
        return Response(await self._counters(), METRICS)

    async def _counters(self) -> bytes:
        rounds = await asyncio.to_thread(self._store.shown_rounds)
        rejections = await asyncio.to_thread(self._store.shown_rejections)
        waiting = self._uploads.waiting // self._store.step * self._store.step
        return metrics(rounds, rejections, self._problems, waiting)
