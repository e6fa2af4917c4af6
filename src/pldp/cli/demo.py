"""`pldp demo`: the whole way of the data on 32,561 people, through a real collector, in seconds."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from rich.console import Console

from pldp import Device, __version__, show
from pldp.cli.arguments import add_seed_option, check_seed
from pldp.cli.output import (
    add_details_option,
    add_html_option,
    add_json_option,
    console_for,
    emit_json,
    show_results,
    write_page,
)
from pldp.cli.simulate import send_people
from pldp.collector import Sender, Settings
from pldp.errors import ReportError
from pldp.estimates import Result, estimate
from pldp.papers.datasets import DATASETS, demo_survey_text, load_counts
from pldp.reports import Report
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import Tally, tally

LEVEL_MIX: Final = {"strictest": 0.4, "strict": 0.3, "standard": 0.2, "open": 0.1}  # how the simulated people choose
QUESTION: Final = "education"
NEEDED: Final = ("msgspec", "granian")  # packages of the extra `collector`


class _Collected(NamedTuple):
    tally: Tally  # of the closed round
    shares: list[float]  # as the API estimates them
    accepted: int
    withdrawn: int
    seconds: float  # that sending took


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_seed_option(parser, "of the simulated devices")
    add_html_option(parser, "table and picture")
    add_json_option(parser)
    add_details_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    check_seed(args)
    survey = loads(demo_survey_text())
    device = Device(survey)
    report = device.answer(QUESTION, "Masters", level="standard")
    counted, truth, collected = _collect(survey, args.seed, report, device.receipt(report))
    results = estimate(counted, target="respondents")
    result = results[QUESTION]
    content = results.to_mapping()
    for row, share in zip(content["questions"][0]["rows"], truth, strict=True):
        row["true"] = float(share)
    cost = _cost_of_one_level(survey, result, truth, args.seed)
    low, high = result.interval(0.95)
    covered = int(((low <= truth) & (truth <= high)).sum())
    verdict = _verdict(covered, len(truth), cost)
    mapping: dict[str, Any] = {
        "people": result.reports,
        "dataset": DATASETS["adult_education"],
        "seed": args.seed,
        "version": __version__,
        "questions": content["questions"],
        "everybody_at_the_strictest_level": cost,
        "covered": covered,
        "collector": None,
    }
    if collected is not None:
        figures = {"accepted": collected.accepted, "withdrawn": collected.withdrawn}
        mapping["collector"] = {**figures, "reports_per_second": collected.accepted / collected.seconds}
    emit_json(args, mapping)
    console = console_for(args)
    if args.json != "-":
        _show_way(console, survey, report, collected)
        show_results(console, content["questions"][:1], args)
        console.print(verdict)
    if args.html:
        words = (f"{result.reports:,} people of {DATASETS['adult_education']}.", verdict)
        closing = f"Survey {survey.hash}. Made by pldp {__version__}."
        page = show.results_page(content, introduction=words, closing=closing)
        write_page(args, page)


def _people(survey: Survey, mix: Mapping[str, float], seed: int) -> tuple[Population, Any]:
    """Let everybody choose a level; return them, and the truth that no collector sees."""
    people = Population.of_counts(survey, {QUESTION: load_counts("adult_education")}, level_mix=mix, seed=seed)
    return people, people.shares(survey.question(QUESTION))


def _collect(survey: Survey, seed: int, report: Report, receipt: str) -> tuple[Tally, Any, _Collected | None]:
    """Bring everybody's report to a collector, or straight to a tally where its packages are missing."""
    people, truth = _people(survey, LEVEL_MIX, seed)
    if not all(map(find_spec, NEEDED)):
        sys.stderr.write("pldp: reports go straight to the tally; for a collector: pip install 'pldp[collector]'\n")
        return tally(survey, simulate_reports(survey, people, seed=seed)), truth, None
    collected = _serve_people(survey, people, seed, report, receipt)
    if not np.allclose(collected.shares, estimate(collected.tally, QUESTION).estimates, rtol=0, atol=1e-12):
        raise ReportError("the collector gives another estimate than its reports do")
    return collected.tally, truth, collected


def _serve_people(survey: Survey, people: Population, seed: int, report: Report, receipt: str) -> _Collected:
    """Serve the survey, send everybody's report and one that is withdrawn, close the round, read the estimate."""
    from pldp.collector import Store, Tokens  # noqa: PLC0415 - optional

    with tempfile.TemporaryDirectory(prefix="pldp-") as folder:
        database = Path(folder) / "reports.db"
        survey.save(Path(folder) / "survey.json")
        settings = Settings(port=0, database=str(database), rate_limit=0, result_step=1)  # nobody else looks
        with _serve(Path(folder) / "survey.json", settings) as url, closing(Sender(url)) as sender:
            token = Tokens(database).create("demo", "admin")
            list(sender.send([report]))
            seconds = send_people(sender, survey, people, seed=seed)
            _call(url, "POST", "/v1/withdraw", {"receipt": receipt})
            closed = _call(url, "POST", "/v1/rounds/close", token=token)
            rows = _call(url, "GET", f"/v1/estimates/{QUESTION}", token=token)["rows"]
        with closing(Store(survey, database)) as store:
            shares = [row["estimate"] for row in rows]
            return _Collected(store.tally(), shares, sender.accepted, closed["withdrawn"], seconds)


@contextmanager
def _serve(survey: Path, settings: Settings) -> Iterator[str]:
    """Serve in another thread and yield the address; the collector has ended when this has."""
    from pldp.collector import serve  # noqa: PLC0415 - optional

    stop, started = Event(), Queue[str | BaseException]()

    def run() -> None:
        try:
            serve(survey, settings, started.put, stop.is_set)
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            started.put(error)

    thread = Thread(target=run, name="pldp-collector")
    thread.start()
    try:
        address = started.get()
        if isinstance(address, BaseException):
            raise address
        yield address
    finally:
        stop.set()
        thread.join()


def _call(url: str, method: str, path: str, content: dict[str, str] | None = None, token: str = "") -> Any:
    """Ask the API; whatever is not done ends the work."""
    body = b"" if content is None else json.dumps(content).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=60)) as connection:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
    if response.status != 200:
        raise ReportError(f"{url}: {method} {path} got {response.status} {answer['code']}")
    return answer


def _cost_of_one_level(survey: Survey, result: Result, truth: Any, seed: int) -> dict[str, float]:
    """Say what it would cost to give everybody the strictest level: mean squared errors, expected and seen."""
    strictest = survey.levels[0]
    people, _ = _people(survey, {strictest.name: 1.0}, seed)
    uniform = estimate(tally(survey, simulate_reports(survey, people, seed=seed)), QUESTION, target="respondents")
    return {
        "epsilon": strictest.epsilon,
        "expected_variance_ratio": float(np.mean(uniform.standard_error**2) / np.mean(result.standard_error**2)),
        "mean_standard_error": float(np.mean(uniform.standard_error)),
        "mean_squared_error": float(np.mean((uniform.estimates - truth) ** 2)),
        "personalised_mean_standard_error": float(np.mean(result.standard_error)),
        "personalised_mean_squared_error": float(np.mean((result.estimates - truth) ** 2)),
    }


def _show_way(console: Console, survey: Survey, report: Report, collected: _Collected | None) -> None:
    """Show what one real device tells its person, what it sends, and how reports came to the collector."""
    console.print("What a person reads before answering, and what the device then sends:", style="bold")
    console.print(Device(survey).explain("standard"))
    console.print(report.to_json() + "\n", soft_wrap=True)
    if collected is not None:
        console.print(
            f"A collector on this machine accepted {collected.accepted:,} reports, each on the disk before it said so, "
            f"in {collected.seconds:.1f} s. The report above was withdrawn by its receipt; the round is closed.\n"
        )


def _verdict(covered: int, intervals: int, cost: dict[str, float]) -> str:
    return (
        f"{covered} of {intervals} intervals contain the truth. "
        f"Had everybody been given the strictest level (ε = {cost['epsilon']:g}) instead of a choice, "
        f"the mean standard error would be {cost['mean_standard_error']:.4f} "
        f"instead of {cost['personalised_mean_standard_error']:.4f}: "
        f"as if only one in {cost['expected_variance_ratio']:.1f} people had answered."
    )
