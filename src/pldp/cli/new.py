"""`pldp new`: write a survey in the browser or in the terminal, and see at once what it reveals, costs and is worth."""

import argparse
import sys
import webbrowser
from threading import Thread

from pldp.cli.arguments import with_extra
from pldp.cli.output import add_json_option, emit
from pldp.cli.summary import show_summary
from pldp.design import summarise
from pldp.errors import UsageError
from pldp.survey import load


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("survey", nargs="?", metavar="FILE", help="survey file to open, or to make (.toml or .json)")
    add("--terminal", action="store_true", help="ask in the terminal instead of a page in the browser")
    add("--no-browser", action="store_true", help="print the path of the file that opens the page, without opening it")
    add("--people", type=int, default=1000, metavar="N", help="people for whom errors are named (default 1000)")
    add_json_option(parser)
    parser.epilog = "With --json, the summary of FILE is written and nothing is asked."
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    if args.people < 1:
        raise UsageError(f"--people must be at least 1, not {args.people}")
    if args.json:
        if args.survey is None:
            raise UsageError("--json writes the summary of a survey: name its file")
        found = summarise(load(args.survey), args.people)
        emit(args, found, lambda console: show_summary(console, found))
    elif args.terminal:
        from pldp.cli.asking import ask_survey  # noqa: PLC0415 - the page needs none of it

        ask_survey(args.survey, args.people)
    else:
        _serve(args)


def _serve(args: argparse.Namespace) -> None:
    """Serve the page on this machine only, at a port that is free, to the browser that reads the file first."""
    with with_extra("collector"):
        from pldp.collector import Settings  # noqa: PLC0415 - optional
        from pldp.collector.web import serve_app  # noqa: PLC0415
        from pldp.design import Designer  # noqa: PLC0415
    designer = Designer(args.survey, people=args.people)

    def tell(address: str) -> None:
        path = designer.entry.write(address)
        sys.stdout.write(f"page       {path}\n")
        sys.stdout.flush()
        verb = "open" if args.no_browser else "if no page opens, open"
        sys.stderr.write(f"pldp: note: {verb} this file in your browser; it works once, only for you; Ctrl-C ends it\n")
        if not args.no_browser:  # some browsers keep the caller waiting until they are closed
            Thread(target=webbrowser.open, args=(path.as_uri(),), name="pldp-new-browser", daemon=True).start()

    serve_app(designer, Settings(port=0, rate_limit=0), tell, bool)
