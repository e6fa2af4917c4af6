"""What another local page needs of the collector's web side: requests, answers, the files of its pages, the server."""

from pldp.collector.callers import Hosts
from pldp.collector.http import Deadlines, Problem, ProblemError, Receive, Request, Response, Scope, Send, respond
from pldp.collector.server import serve_app
from pldp.collector.static import KINDS, POLICY, Asset, assets

__all__ = [
    "KINDS", "POLICY", "Asset", "Deadlines", "Hosts", "Problem", "ProblemError", "Receive", "Request", "Response",
    "Scope", "Send", "assets", "respond", "serve_app",
]  # fmt: skip
