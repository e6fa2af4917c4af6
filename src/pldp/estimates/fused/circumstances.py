"""What every result of joined reports says, whatever its kind."""

from collections.abc import Collection

from pldp.errors import EstimateError
from pldp.estimates.result import Note
from pldp.mechanisms import epsilon_text
from pldp.tallies import Fused
from pldp.words import listed


def join_note(fused: Fused) -> Note:
    """Say how many people were joined and what that costs each of them."""
    several = sum(people for services, people in fused.subsets.items() if len(services) > 1)
    text = (
        f"reports of {fused.people:,} people were joined by a key, {several:,} of whom gave to several services: "
        f"together they cost a person up to epsilon {epsilon_text(fused.micro_epsilon)}"
    )
    return Note("joined", text, "info")


def require_method(method: str | None, known: Collection[str]) -> None:
    """Refuse a method that this kind of question does not have."""
    if method is not None and method not in known:
        raise EstimateError(f"method must be one of {listed(known)} for this kind of question, not {method!r}")
