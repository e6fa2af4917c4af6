"""`pldp shuffle`: what a report is worth to anyone who sees only the tally or a shuffled batch."""

import argparse

from pldp.cli.arguments import check_plot, read_level_weights
from pldp.cli.output import add_json_option, emit, progress_bar
from pldp.cli.worth import show_shuffled
from pldp.errors import UsageError
from pldp.shuffling import DELTA, STEP, plot_shuffled, shuffle
from pldp.survey import load


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("survey", help="survey file")
    words = "how many reports are shuffled together (default: what the survey's shuffle declares)"
    add("--people", type=int, metavar="N", help=words)
    add(
        "--delta",
        type=float,
        default=DELTA,
        metavar="D",
        help=f"probability with which ε may be exceeded (default {DELTA})",
    )
    add("--level-mix", metavar="MIX", help="how often each level is chosen: strict=0.5,open=0.5; default equal")
    words = f"reports of a level by which the collector's results change: its result_step (default {STEP})"
    add("--step", type=int, default=STEP, metavar="N", help=words)
    add("--plot", metavar="FILE", help="draw ε against people (.png, .svg or .pdf)")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey)
    check_plot(args)
    mix = read_level_weights(args.level_mix, "shuffle")
    people = survey.shuffle.people if args.people is None and survey.shuffle else args.people
    if people is None:
        raise UsageError("--people is missing: say how many reports are shuffled together (the survey does not)")
    with progress_bar("bounding") as bar:
        found = shuffle(survey, people, delta=args.delta, level_mix=mix, step=args.step, progress=bar.reach)
        if args.plot:
            plot_shuffled(survey, found, level_mix=mix).savefig(args.plot, dpi=150)
    emit(args, found.to_mapping(), lambda console: show_shuffled(console, found))
