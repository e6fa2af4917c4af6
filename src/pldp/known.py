"""What is known beforehand, as people write it: shares of labels, groups or hidden levels, and ranges of numbers."""

from collections.abc import Sequence

from pldp.errors import UsageError


def parse_known(text: str) -> dict[str, dict[str, float]]:
    """Read a question and the known share of each of its labels.

    >>> parse_known("late:yes=0.2,no=0.8")
    {'late': {'yes': 0.2, 'no': 0.8}}
    """
    question, colon, rest = text.partition(":")
    if not (colon and question.strip()):
        raise UsageError(f"known must look like late:yes=0.2,no=0.8, not {text[:60]!r}")
    return {question.strip(): parse_shares(rest)}


def parse_shares(text: str) -> dict[str, float]:
    """Read names, each with a share.

    >>> parse_shares("women=51,men=49")
    {'women': 51.0, 'men': 49.0}
    """
    shares = {}
    for part in text.split(","):
        name, equals, share = part.rpartition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            equals = ""
        if not (equals and name.strip()):
            raise UsageError(f"known shares must look like yes=0.2,no=0.8, not {text[:60]!r}") from None
    return shares


def parse_mix(text: str) -> dict[str, tuple[float, float]]:
    """Read hidden levels, each with its known share or with two bounds of it.

    >>> parse_mix("strict=0.4,open=0.5..0.6")
    {'strict': (0.4, 0.4), 'open': (0.5, 0.6)}
    """
    mix = {}
    for part in text.split(","):
        name, _, share = part.rpartition("=")
        low, _, high = share.partition("..")
        try:
            mix[name.strip()] = (float(low), float(high or low))
        except ValueError:
            name = ""
        if not name.strip():
            raise UsageError(f"mix must look like strict=0.4,open=0.5..0.6, not {text[:60]!r}") from None
    return mix


def parse_ranges(texts: Sequence[str]) -> dict[str, list[float]]:
    """Read the ends of the ranges of numbers.

    >>> parse_ranges(["spent=0,10,50,200"])
    {'spent': [0.0, 10.0, 50.0, 200.0]}
    """
    ranges: dict[str, list[float]] = {}
    for text in texts:
        name, _, edges = text.partition("=")
        try:
            ranges[name.strip()] = [float(edge) for edge in edges.split(",")]
        except ValueError:
            raise UsageError(f"ranges must look like spent=0,10,50,200, not {text[:60]!r}") from None
    return ranges
