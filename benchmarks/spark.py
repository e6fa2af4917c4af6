"""Tallies on one machine and on a Spark cluster of two executors: CPU time, memory, and how both grow.

The reports are written once, as Parquet, and not part of the times. CPU time on Spark is that of every process of the
run (driver, two executors, their Pythons) from the start of the tally to its end, read from /proc; starting the cluster
is told apart. The same tally is then made again: what the first one took more is virtual machines and Pythons that load
and compile code. Memory of the driver is that of its Python and its virtual machine at their highest.
"""

from __future__ import annotations

import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Clock, Context, Row, memory_text, serve
from pldp.simulate import Partitions
from pldp.survey import Survey, survey_from_mapping
from pldp.tallies import Tally, tally

TITLE = "Tallies of Parquet reports on one machine and on Spark (two executors)"

MODULE = "benchmarks.spark"
MASTER = "local-cluster[2,1,2048]"
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1500m",
}
LEVELS = {"strict": 1, "standard": 2, "open": 3, "free": 4}
FILE_REPORTS = 2_000_000


def survey_of(mechanism: str, size: int) -> Survey:
    """Return a survey of one question with four levels."""
    question = {"name": "q", "values": [str(value) for value in range(size)], "mechanism": mechanism}
    return survey_from_mapping({"pldp": 1, "title": "spark", "levels": LEVELS, "questions": [question]})


def write(folder: str, mechanism: str, size: int, reports: int) -> dict[str, Any]:
    """Write the reports, a file at a time."""
    partitions = Partitions(survey_of(mechanism, size), reports, max(2, reports // FILE_REPORTS), seed=1)
    Path(folder).mkdir()
    clock = Clock()
    for place in range(partitions.count):
        clock.time(lambda place=place: partitions.write(Path(folder), place), repeats=1)
    bytes_written = sum(file.stat().st_size for file in Path(folder).iterdir())
    return {"seconds": [sum(clock.seconds)], "count": reports, "bytes": bytes_written}


def local(folder: str, mechanism: str, size: int, reports: int) -> dict[str, Any]:
    """Count them on this machine."""
    survey = survey_of(mechanism, size)
    clock = Clock()
    counted = clock.time(lambda: tally(survey, folder), repeats=1)
    assert counted.reports == reports
    return clock.result(reports, resident=memory_of(os.getpid()), sums=checksum(counted))


def spark(folder: str, mechanism: str, size: int, reports: int) -> dict[str, Any]:
    """Count them on a cluster that this process starts: executors open the files."""
    from pldp.tallies import spark as engine  # noqa: PLC0415 - only cases of Spark need it

    return _on_cluster(
        lambda survey, session: engine.tally_files(survey, session, [folder]), survey_of(mechanism, size), reports
    )


def frames(folder: str, mechanism: str, size: int, reports: int) -> dict[str, Any]:
    """Count them on a cluster that this process starts: Spark reads the files."""
    from pldp.tallies import spark as engine  # noqa: PLC0415 - only cases of Spark need it

    return _on_cluster(
        lambda survey, session: engine.tally(survey, session.read.parquet(folder)), survey_of(mechanism, size), reports
    )


def _on_cluster(count: Callable[[Survey, Any], Tally], survey: Survey, reports: int) -> dict[str, Any]:
    from pldp.tallies.spark.cluster import connect  # noqa: PLC0415 - only cases of Spark need it

    os.setsid()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = connect(MASTER, SETTINGS)
    clock = [(cpu_of_session(), time.monotonic())]
    for _ in range(2):
        counted = count(survey, session)
        clock.append((cpu_of_session(), time.monotonic()))
        assert counted.reports == reports
    (start, begin), (first, end), (second, _) = clock
    java = session.sparkContext._gateway.proc.pid  # noqa: SLF001
    driver = memory_of(os.getpid()) + memory_of(java)
    session.stop()
    facts = {"start": start, "again": second - first, "wall": end - begin, "driver": driver}
    return {"count": reports, "seconds": [first - start], "sums": checksum(counted), **facts}


def checksum(counted: Any) -> list[int]:
    """Return numbers that two tallies share only if they are the same, for all practical purposes."""
    arrays = [array for counts in counted.counts.values() for array in counts.arrays().values()]
    return [zlib.crc32(array.astype("<u8").tobytes()) for array in arrays]


def cpu_of_session() -> float:
    """CPU seconds of all processes of this session, ended ones included as far as their parents know."""
    ticks, own = 0, os.getsid(0)
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = process.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == own:
            ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_of(process: int) -> int:
    """Return the most memory that a process ever had resident, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def run(context: Context) -> Iterator[list[Row]]:
    """Yield a row per size and mechanism."""
    hundred = context.people(100_000_000)
    costs = []
    for mechanism, size, reports in (
        ("krr", 128, hundred // 100),
        ("krr", 128, hundred // 10),
        ("krr", 128, hundred),
        ("oue", 1024, context.people(10_000_000)),
    ):
        folder = context.folder / f"{mechanism}{reports}"
        what = {"folder": str(folder), "mechanism": mechanism, "size": size, "reports": reports}
        written = context.ours(MODULE, "write", **what)
        here, there, frame = (context.ours(MODULE, case, **what) for case in ("local", "spark", "frames"))
        shutil.rmtree(folder)
        assert here["sums"] == there["sums"] == frame["sums"]
        yield [_row(what, written, here, there, frame, largest=reports == hundred)]
        if mechanism == "krr":
            costs.append((reports, here, there, frame))
    yield [_growth(costs)]


def _row(what: dict[str, Any], written: Any, here: Any, there: Any, frame: Any, *, largest: bool) -> Row:
    own, cluster = min(here["seconds"]), min(there["seconds"])
    met = own <= 60 and here["resident"] <= 1e9 and cluster <= 3 * own if largest else None
    return Row(
        what=f"{what['reports']:,} reports, {what['mechanism']}, k = {what['size']:,}, {written['bytes'] / 1e9:.2g} GB",
        ours=f"local {own:.1f} CPU s; Spark {cluster:.1f} CPU s, again {there['again']:.1f} (cluster started in "
        f"{there['start']:.0f}); read by Spark {min(frame['seconds']):.1f}, again {frame['again']:.1f}",
        ratio=cluster / own,
        target="local ≤ 60 CPU s, ≤ 1 GB; Spark ≤ 3 ×" if largest else "–",
        met=met,
        memory=f"local {memory_text(here['resident'])}, driver {memory_text(there['driver'])}",
        raw={"written": written, "local": here, "spark": there, "frames": frame},
    )


def _growth(costs: list[tuple[int, Any, Any, Any]]) -> Row:
    """Say what a report costs more, from size to size."""
    (few, *cheap), *_, (many, *dear) = costs
    lines = []
    for start, end in zip(cheap, dear, strict=True):
        slope = (min(end["seconds"]) - min(start["seconds"])) / (many - few)
        lines.append((min(end["seconds"]) - slope * many, slope * 1e9))
    text = "; ".join(
        f"{name} {fixed:.1f} s + {slope:.0f} ns/report"
        for name, (fixed, slope) in zip(("local", "Spark", "read by Spark"), lines, strict=True)
    )
    memory = f"driver {memory_text(cheap[1]['driver'])} to {memory_text(dear[1]['driver'])}"
    return Row(f"cost from {few:,} to {many:,} reports", text, ratio=lines[1][1] / lines[0][1], memory=memory)


if __name__ == "__main__":
    serve({"write": write, "local": local, "spark": spark, "frames": frames})
