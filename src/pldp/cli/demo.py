"""`pldp demo`: the whole way of the data on 32,561 people, in seconds and without any file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console

from pldp import Device, __version__
from pldp.cli.output import add_json_option, console_for, emit_json, show_estimate
from pldp.cli.page import write_page
from pldp.datasets import DATASETS, demo_survey_text, load_counts
from pldp.errors import UsageError
from pldp.estimates import Estimate, frequencies
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, loads
from pldp.tallies import Tally, tally

LEVEL_MIX: Final = {"strictest": 0.4, "strict": 0.3, "standard": 0.2, "open": 0.1}
"""How the simulated people choose."""

QUESTION: Final = "education"


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("demo", help="32,561 people choose among four levels; compare estimates with the truth")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated devices (default 0)")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page with table and picture")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, not {args.seed}")
    survey = loads(demo_survey_text())
    counted, truth = _collect(survey, LEVEL_MIX, args.seed)
    estimate = frequencies(counted, QUESTION, target="respondents")
    cost = _cost_of_one_level(survey, estimate, truth, args.seed)
    if args.json:
        emit_json(_mapping(estimate, truth, cost, args.seed), args.json)
    if args.json != "-":
        console = console_for(args)
        _show_device(console, survey)
        show_estimate(console, estimate, 0.95, truth)
        console.print(_verdict(estimate, truth, cost), markup=False)
    if args.html:
        words = [
            f"{estimate.reports:,} people of {DATASETS['adult_education']}.",
            _verdict(estimate, truth, cost),
        ]
        write_page(Path(args.html), survey.title, [estimate], tally=counted, truths=[truth], introduction=words)
        if args.json != "-":
            console_for(args).print(f"The same with a picture: {args.html}", markup=False)


def _collect(survey: Survey, mix: Mapping[str, float], seed: int) -> tuple[Tally, Any]:
    """Let everybody choose a level and report; return what the collector counts, and the truth it never sees."""
    people = Population.of_counts(survey, {QUESTION: load_counts("adult_education")}, level_mix=mix, seed=seed)
    counted = tally(survey, simulate_reports(survey, people, seed=seed))
    return counted, people.shares(survey.question(QUESTION))


def _cost_of_one_level(survey: Survey, estimate: Estimate, truth: Any, seed: int) -> dict[str, float]:
    """Say what it would cost to give everybody the strictest level: mean squared errors, expected and seen."""
    strictest = survey.levels[0]
    counted, _ = _collect(survey, {strictest.name: 1.0}, seed)
    uniform = frequencies(counted, QUESTION, target="respondents")
    return {
        "epsilon": strictest.epsilon,
        "expected_variance_ratio": float(np.mean(uniform.standard_error**2) / np.mean(estimate.standard_error**2)),
        "mean_standard_error": float(np.mean(uniform.standard_error)),
        "mean_squared_error": float(np.mean((uniform.shares - truth) ** 2)),
        "personalised_mean_standard_error": float(np.mean(estimate.standard_error)),
        "personalised_mean_squared_error": float(np.mean((estimate.shares - truth) ** 2)),
    }


def _covered(estimate: Estimate, truth: Any) -> int:
    low, high = estimate.interval(0.95)
    return int(((low <= truth) & (truth <= high)).sum())


def _mapping(estimate: Estimate, truth: Any, cost: dict[str, float], seed: int) -> dict[str, Any]:
    question = estimate.to_mapping()
    rows = [{**row, "true": float(share)} for row, share in zip(question["rows"], truth, strict=True)]
    return {
        "people": estimate.reports,
        "dataset": DATASETS["adult_education"],
        "seed": seed,
        "version": __version__,
        "questions": [{**question, "rows": rows}],
        "everybody_at_the_strictest_level": cost,
        "covered": _covered(estimate, truth),
    }


def _show_device(console: Console, survey: Survey) -> None:
    """Show what one real device tells its person and what it sends."""
    device = Device(survey)
    console.print("What a person reads before answering, and what the device then sends:", style="bold")
    console.print(device.explain("standard"), markup=False)
    console.print(device.answer(QUESTION, "Masters", level="standard").to_json() + "\n", markup=False, soft_wrap=True)


def _verdict(estimate: Estimate, truth: Any, cost: dict[str, float]) -> str:
    return (
        f"{_covered(estimate, truth)} of {len(truth)} intervals contain the truth. "
        f"Had everybody been given the strictest level (ε = {cost['epsilon']:g}) instead of a choice, "
        f"the mean standard error would be {cost['mean_standard_error']:.4f} "
        f"instead of {cost['personalised_mean_standard_error']:.4f}: "
        f"as if only one in {cost['expected_variance_ratio']:.1f} people had answered."
    )
