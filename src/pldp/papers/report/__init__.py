"""One report of all papers: what they show, how it is drawn, and the page that has it all."""

from pldp.papers.report.run import reproduce_all

__all__ = ["reproduce_all"]
