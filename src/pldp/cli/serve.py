"""`pldp serve`: a collector in one command."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Final

from pldp import __version__
from pldp.cli.arguments import with_extra
from pldp.collector import PREFIX, Settings, log_json
from pldp.errors import PldpError, UsageError
from pldp.survey import load

PREVIEW_PEOPLE: Final = 2000
_PREVIEW_SEED: Final = 1  # every preview of a survey shows the same people
log = logging.getLogger("pldp.collector")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = f"Flags come before environment variables ({PREFIX}PORT and so on), these before the file."
    parser.add_argument("survey", help="survey file, preferably signed")
    words = "show the pages with simulated people: nothing is stored, and reports are refused"
    parser.add_argument("--preview", action="store_true", help=words)
    words = f"with --preview: number of simulated people (default {PREVIEW_PEOPLE})"
    parser.add_argument("--people", type=int, metavar="N", help=words)
    words = "end when standard input ends, and so with the program that started it"
    parser.add_argument("--until-input-ends", action="store_true", help=words)
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings, such as port = 8300")
    add_settings(parser)
    parser.set_defaults(run=_run)


def add_settings(parser: argparse.ArgumentParser, *names: str) -> None:
    """Give a verb the settings of a collector as flags, all or those named."""
    for setting in fields(Settings):
        if not names or setting.name in names:
            shown = f" (default {setting.default})" if setting.default != "" else ""
            flag = f"--{setting.name.replace('_', '-')}"
            parser.add_argument(flag, metavar="VALUE", help=setting.metadata["help"] + shown)


def _run(args: argparse.Namespace) -> None:
    settings = Settings.read(vars(args), file=args.config)
    with with_extra("collector"):
        from pldp.collector import Tokens, serve, token_command, warnings  # noqa: PLC0415 - optional

    def tell(address: str) -> None:
        found = warnings(load(args.survey, running=True), settings, Tokens(settings.database))
        if settings.log == "json":
            _log(address, found)
        else:
            _tell(address, settings, token_command(settings), found)

    if args.people is not None and not args.preview:
        raise UsageError("--people is the number of simulated people: it goes with --preview")
    stop = _watch_input() if args.until_input_ends else bool
    with _told_to_end(), _logged(settings):
        if args.preview:
            _preview(args, settings, partial(serve, stop=stop))
        else:
            serve(args.survey, settings, tell, stop)


def _preview(args: argparse.Namespace, settings: Settings, serve: Callable[..., None]) -> None:
    """Serve simulated people from a store that is deleted at the end."""
    if args.database is not None:
        raise UsageError("--preview has a store of its own: leave --database out")
    people = PREVIEW_PEOPLE if args.people is None else args.people
    if people < 1:
        raise UsageError(f"--people must be at least 1, not {people}")
    with TemporaryDirectory(prefix="pldp-preview-") as folder:
        own = replace(settings, database=str(Path(folder) / "reports.db"))
        token = _fill(args.survey, own, people)

        def tell(address: str) -> None:
            sys.stdout.write(
                f"{people:,} simulated people; reports are refused, and nothing is kept\n"
                f"survey     {address}/\n"
                f"dashboard  {address}/dashboard#{token}\n"
            )
            sys.stdout.flush()

        serve(args.survey, own, tell, preview=True)


def _fill(survey_file: str, settings: Settings, people: int) -> str:
    """Store the reports of simulated people and return a token to read the results."""
    from pldp.collector import Store, Tokens  # noqa: PLC0415 - optional
    from pldp.reports.columns import from_batch  # noqa: PLC0415 - a collector of real people needs none of this
    from pldp.simulate import Population, simulate_reports  # noqa: PLC0415

    survey = load(survey_file)
    population = Population.of_shares(survey, people, seed=_PREVIEW_SEED)
    pairs = settings.question_pairs()
    # Simulated people are shown also after the closing date.
    store = Store(survey, settings.database, pairs=pairs, step=settings.result_step, clock=float)
    with closing(store):
        batches: Any = simulate_reports(survey, population, seed=_PREVIEW_SEED)
        for batch in batches:
            store.add([store.packing.pack(report) for report in from_batch(survey, batch)], {})
    return Tokens(settings.database).create("preview", "read")


def _watch_input() -> Callable[[], bool]:
    """Return a function that tells whether standard input has ended, also because its other end was killed."""
    ended = Event()

    def read() -> None:
        while os.read(0, 1024):  # not sys.stdin, whose lock this thread would hold when the interpreter ends
            pass
        ended.set()

    Thread(target=read, name="pldp-serve-input", daemon=True).start()
    return ended.is_set


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Let SIGTERM end the process as Ctrl-C does, so that the store is closed; the server hands it on when done."""

    def end(*_: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(address: str, settings: Settings, command: str, warnings: Sequence[str]) -> None:
    lines = {"survey": f"{address}/", "dashboard": f"{address}/dashboard", "API": f"{address}/v1/openapi.json"}
    if settings.public:
        lines["public"] = f"{address}/results"
    lines["tokens"] = command
    sys.stdout.write("".join(f"{name:<11}{words}\n" for name, words in lines.items()))
    sys.stdout.flush()
    sys.stderr.write("".join(f"pldp: {line}\n" for line in warnings))
    sys.stderr.flush()


def _log(address: str, warnings: Sequence[str]) -> None:
    """Say the same as log lines."""
    log.info("listening", extra={"more": {"address": address, "version": __version__}})
    for line in warnings:
        severity, _, words = line.partition(": ")
        log.log(logging.WARNING if severity == "warning" else logging.INFO, "%s", words)


@contextmanager
def _logged(settings: Settings) -> Iterator[None]:
    """Where the log is JSON, let an error that ends the collector be a line of it, too."""
    if settings.log != "json":
        yield
        return
    log_json()
    try:
        yield
        log.info("ended")
    except PldpError as error:
        log.critical("%s", error)
        raise SystemExit(2) from None
