"""What a survey reveals, costs and is worth, for people who read a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from pldp.cli.output import PLAIN, make_table, proof_line
from pldp.design import proofs


def show_summary(console: Console, found: Mapping[str, Any]) -> None:
    """Print the summary of a survey."""
    console.print(found["title"], style="bold", markup=False)
    for line in found["warnings"]:
        console.print(f"Warning: {line}.", style="bold red", markup=False)
    for line in found["remarks"]:
        console.print(f"{line}.", markup=False)
    for proof in proofs(found["reveals"]):
        console.print(proof_line(*proof), style="bold", markup=False)
    heads = ("level", "answers", "ε of a whole report", "at most so sure")
    rows = [(each["level"], str(each["answers"]), each["epsilon"], each["sure"]) for each in found["reveals"]]
    console.print(make_table(heads, rows, range(1, 4), title="what a whole report can reveal", **PLAIN))
    cost = found["cost"]
    total = "" if cost["total"] is None else f"; one person can spend ε = {cost['total']} in all"
    console.print(f"The dearest report costs ε = {cost['dearest_report']}{total}. Asked again: {cost['repeat']}.")
    if found["level"] is not None:
        console.print(f"Reports hide the level; a report tells at most ε = {found['level']['epsilon']} about it.")
    if found["lottery"] is not None:
        told = f"for a stricter choice, all reports together tell at most ε = {found['lottery']}"
        console.print(f"A lottery draws the level that devices use and show; {told}.")
    if found["no_plan"]:
        console.print(f"No plan: {found['no_plan']}.", markup=False)
        return
    columns = ("question", "answers", "widest 95 % interval", "at the worst shares", "people for ± 2 pp")
    errors = [
        (each["question"], f"{each['answers']:,}", each["interval"], each["worst"], _needed(each["people_needed"]))
        for each in found["errors"]
    ]
    title = f"errors to expect of {found['people']:,} people"
    console.print(make_table(columns, errors, range(1, 5), title=title, **PLAIN))
    for each in found["errors"]:
        for words in each["advice"]:
            console.print(f"{each['question']}: {words}.", markup=False)
    console.print(found["better"]["words"], markup=False)


def _needed(entry: Mapping[str, Any] | None) -> str:
    return "–" if entry is None else f"{entry['plausible']:,} (at worst {entry['worst']:,})"
