"""What all pictures share: an empty one, and colours that can be told apart without seeing colours."""

from typing import Any, Final

from pldp.errors import EstimateError

BLUE: Final = "#0b5394"
ORANGE: Final = "#d55e00"
GREY: Final = "#c9ced6"


def new_axes(width: float, height: float) -> Any:
    """Return the axes of a new picture of this size in inches; matplotlib is optional."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise EstimateError("plot needs matplotlib: pip install 'pldp[plots]'") from None
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def shorten(label: str, longest: int = 32) -> str:
    """Return a label that fits beside an axis."""
    return label if len(label) <= longest else label[: longest - 1] + "…"
