"""`pldp serve` with a planted fault, for tests that must find it: `python faulty.py FAULT serve …`."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

from pldp.cli import main
from pldp.collector.http import Request
from pldp.collector.uploads import Uploads


def hasty() -> None:
    """Acknowledge before the commit."""
    add = Uploads.add

    async def acknowledge(self: Uploads, reports: Any, *more: Any) -> list[None]:
        asyncio.get_running_loop().call_later(0.1, lambda: asyncio.ensure_future(add(self, reports, *more)))
        return [None] * len(reports)

    Uploads.add = acknowledge


def chatty() -> None:
    """Log what comes."""
    body = Request.body

    async def log(self: Request, *arguments: Any) -> bytes:
        content = await body(self, *arguments)
        logging.getLogger("pldp.collector").error("got %r", content)
        return content

    Request.body = log


if __name__ == "__main__":
    {"hasty": hasty, "chatty": chatty}[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
