"""Wrong arguments: say in one line which call is right."""

from pldp.errors import CallError

_HOW = {
    "Survey": ": read one with pldp.Survey.load(path), or pldp.Survey.read(text)",
    "Tally": ": count reports with pldp.tally(survey, reports)",
}
"""How to get what is needed."""


def require(given: object, needed: type, call: str) -> None:
    """Refuse an argument of another type; its content, which could be an answer, is not repeated.

    >>> require(["bike"], dict, "pldp.Survey.read(source)")
    Traceback (most recent call last):
    pldp.errors.CallError: pldp.Survey.read(source) needs a dict, not list
    """
    if not isinstance(given, needed):
        name = needed.__name__
        raise CallError(f"{call} needs a {name}, not {type(given).__name__}{_HOW.get(name, '')}")
