"""Everything in the paper on scores and levels, and where it is here."""

from typing import Final

from pldp.papers.paper import Element

ELEMENTS: Final[tuple[Element, ...]] = ()
