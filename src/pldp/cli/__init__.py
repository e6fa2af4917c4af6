"""The command `pldp`: thin verbs over public names."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

# Matrices here are small: threads of the linear algebra library cost more than they give, above all beside others.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from pldp import __version__
from pldp.cli.parser import Parser
from pldp.errors import PldpError

__all__ = ["main", "make_parser"]

VERBS: Final = {
    "demo": "32,561 people choose among four levels; compare estimates with the truth",
    "new": "write a survey in the browser or in the terminal, and see what it reveals, costs and is worth",
    "survey": "check, compile and sign survey files",
    "plan": "say what errors to expect, and which design is best, before asking",
    "score": "turn people's scores of how sensitive values are into budgets, and into the questions of a survey",
    "serve": "collect reports over HTTP: a page to answer on, a dashboard, a durable store",
    "send": "send reports to a collector",
    "store": "look after a collector's database: tokens, rounds, backups",
    "simulate": "write or send the reports that simulated people would send",
    "tally": "count reports, or add up tallies, into one small file",
    "sql": "print one SQL query that checks and counts reports where they are",
    "fuse": "join the reports of several services by a key, and estimate from all of them",
    "estimate": "turn a tally into estimates with errors and intervals",
    "shuffle": "say what a report is worth to anyone who sees only the tally or a shuffled batch",
    "audit": "try to refute every promise of a survey or a mechanism",
    "kit": "put signed survey, certificate, privacy notices, invitations and a page to verify them into a folder",
    "reproduce": "run the experiments of the papers again and judge their claims",
    "datasets": "list the datasets of the experiments, and get what is missing",
    "doctor": "say what this installation has, what it lacks and how to get it",
    "completion": "print a script that completes verbs and options in bash, zsh or fish",
}
"""Every verb in the order of the help, and what it does. Its module is loaded when it is called."""


def make_parser(*called: str) -> Parser:
    """Return the parser of the command; only verbs that are called have their options, as loading them takes long."""
    parser = Parser(
        prog="pldp",
        description="Personalised local differential privacy: perturb, collect, estimate with honest errors.",
    )
    parser.add_argument("--version", action="version", version=f"pldp {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, words in VERBS.items():
        options = verbs.add_parser(verb, help=words)
        if verb in called:
            import_module(f"pldp.cli.{verb}").add_to(options)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; bad input gets one clear line on standard error and exit code 2."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parsed = make_parser(*given[:1]).read(given)
    try:
        return int(parsed.run(parsed) or 0)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.stderr.write("pldp: interrupted\n")
        return 130  # as shells do
    except (PldpError, OSError, UnicodeDecodeError, MemoryError, OverflowError) as error:
        sys.stderr.write(f"pldp: {_words(error)}\n")
        return 2
    return 0


def _words(error: Exception) -> str:
    if isinstance(error, PldpError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error).splitlines()[0]
    if isinstance(error, UnicodeDecodeError):
        return "a file that should be UTF-8 text is not"
    return "this is too large for the memory of this machine"
