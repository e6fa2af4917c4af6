"""The obvious collector: a web framework with models, one row per report, the id as its key, a commit per request.

It checks types and the survey's hash; ours also checks every output against its channel and gives receipts.
Run by the peers' Python: `python benchmarks/peers_collector.py DATABASE PORT HASH`.
"""

from __future__ import annotations

import sqlite3
import sys

import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    question: str
    level: str
    output: int | str


class Report(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    pldp: int
    survey: str
    id: str = Field(pattern="^[0-9a-f]{32}$")
    answers: list[Answer]


def make_app(database: str, survey: str) -> FastAPI:
    app = FastAPI()
    connection = sqlite3.connect(database, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE reports (id TEXT PRIMARY KEY, content TEXT)")

    def store(reports: list[Report]) -> dict[str, int]:
        if any(report.survey != survey for report in reports):
            raise HTTPException(422)
        with connection:
            connection.executemany(
                "INSERT OR IGNORE INTO reports VALUES (?, ?)",
                [(report.id, report.model_dump_json()) for report in reports],
            )
        return {"accepted": len(reports)}

    @app.post("/one")
    async def one(report: Report) -> dict[str, int]:
        return store([report])

    @app.post("/many")
    async def many(reports: list[Report]) -> dict[str, int]:
        return store(reports)

    return app


if __name__ == "__main__":
    path, port, survey_hash = sys.argv[1:]
    uvicorn.run(make_app(path, survey_hash), port=int(port), log_level="error", access_log=False)
