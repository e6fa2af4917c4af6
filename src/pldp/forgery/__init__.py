"""Do the reports of a tally look forged? It needs no estimate: only what no population makes of honest reports."""

from pldp.forgery.invariants import Forgery, ForgeryTest, forgery_of

__all__ = ["Forgery", "ForgeryTest", "forgery_of"]
