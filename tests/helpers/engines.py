"""The engines behind one door: what the contract suite calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from pldp import Survey, Tally, tallies
from pldp.estimates import baskets_of
from pldp.tallies import Fused, Service


class Engine(Protocol):
    """Counts the same reports somewhere."""

    name: str

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally: ...
    def tally_texts(self, survey: Survey, path: Path) -> Tally: ...
    def fuse(self, services: Sequence[Service], **how: Any) -> Fused: ...
    def baskets(self, survey: Survey, path: Path, question: str) -> Any: ...


class Local:
    name = "local"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return tallies.tally(survey, path, **how)

    def tally_texts(self, survey: Survey, path: Path) -> Tally:
        return tallies.tally(survey, path.read_text(encoding="utf-8").splitlines())

    def fuse(self, services: Sequence[Service], **how: Any) -> Fused:
        return tallies.fuse(services, **how)

    def baskets(self, survey: Survey, path: Path, question: str) -> Any:
        return baskets_of(tallies.tally(survey, path), question)


class Spark:
    """Executors open the files."""

    name = "spark"

    def __init__(self, folder: Path, session: Any) -> None:
        from pldp.tallies import spark  # noqa: PLC0415 - not every environment has it

        self.folder, self.session, self.module = folder, session, spark

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return self.module.tally_files(survey, self.session, [str(path)], **how)

    def tally_texts(self, survey: Survey, path: Path) -> Tally:
        return self.module.tally(survey, self.session.read.text(str(path)))

    def fuse(self, services: Sequence[Service], **how: Any) -> Fused:
        frames = []
        for place, service in enumerate(services):
            path = self.folder / f"service{place}.parquet"
            pq.write_table(pa.table({"key": service.keys, "output": service.outputs}), path)
            frame = self.session.read.parquet(str(path)).repartition(2)
            frames.append(self.module.FrameService(service.name, service.channel, frame, service.bounds))
        return self.module.fuse(frames, **how)

    def baskets(self, survey: Survey, path: Path, question: str) -> Any:
        return self.module.baskets(survey, self.session.read.parquet(str(path)), question)


class Frames(Spark):
    """Spark reads the files, as it does at addresses that executors cannot open themselves."""

    name = "frames"

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return self.module.tally_files(survey, self.session, [f"viewfs://here{path}"], **how)
