"""Work on a Spark cluster: connect, add up by a tree, and say in one line what went wrong. Needs the extra `spark`."""

import os
import pickle
import re
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from math import inf
from subprocess import DEVNULL
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import pyarrow as pa

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import DataFrame, SparkSession

from pldp import errors
from pldp.errors import ClusterError, PldpError, ReportError, UnreadableError
from pldp.reports.columns import parquet_files

Part = TypeVar("Part")
Task = TypeVar("Task")

VERSION: Final = metadata.version("pldp")

WIDTH: Final = 64
"""Partial results that one task adds up; where there are more, so many tasks at most add them up first."""

FEW_CORES: Final = 8  # cores that are too few to be worth a first round, if the number of partial results is not known
PENDING_BYTES: Final = 1 << 26  # partial results that wait to be added, at most (or one of them)
_JAVA: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=50000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
"""Spend the dear second compiler on what really runs often: a tally is a short life for a virtual machine."""

SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    "spark.driver.defaultJavaOptions": _JAVA,
    "spark.executor.defaultJavaOptions": _JAVA,
}
"""What a session of ours has unless the user says otherwise."""

_PATIENCE = 10.0


def connect(master: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session on a master such as `local[2]`, `spark://host:7077`, `yarn` or `k8s://…`.

    Executors use this Python unless PYSPARK_PYTHON names another. Spark's own log is not shown.
    """
    _require_answer(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setAll([*SETTINGS.items(), *(settings or {}).items()]).setMaster(master).setAppName("pldp")
    with one_line(), _calm():
        if SparkContext._gateway is None:  # noqa: SLF001 - the only way to a silent virtual machine
            conf.setIfMissing("spark.log.level", "OFF")
            gateway = launch_gateway(conf, {"stderr": DEVNULL})  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001
        return SparkSession.builder.config(conf=conf).getOrCreate()


@contextmanager
def _calm() -> Iterator[None]:
    """Keep Spark from warning about releases of pandas, which nothing here uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _require_answer(master: str) -> None:
    """Spark would knock for a minute before it gives up."""
    places = re.findall(r"([^,/]+):([0-9]+)", master) if master.startswith("spark://") else []
    failures = []
    for host, port in places:
        try:
            socket.create_connection((host, int(port)), _PATIENCE).close()
        except (OSError, OverflowError) as error:
            failures.append(str(error))
    if places and len(failures) == len(places):
        raise ClusterError(f"master {master} does not answer ({failures[0]}): is it running, and is the port right?")


def data_files(spark: SparkSession, paths: Sequence[str]) -> dict[str, int]:
    """Return the Parquet files at these addresses, or in these folders, and their sizes in bytes."""
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Python has no door of its own to Spark's file systems
    configuration = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    found: dict[str, int] = {}
    for path in paths:
        place = java.org.apache.hadoop.fs.Path(path)
        system = place.getFileSystem(configuration)
        if system.getUri().getScheme() == "file":
            here = parquet_files(system.makeQualified(place).toUri().getPath())
            try:
                found |= {str(file): file.stat().st_size for file in here}
            except FileNotFoundError:
                raise ReportError(f"{here[0]}: there is no such file") from None
            continue
        files = system.listFiles(place, True)  # noqa: FBT003
        inside = []
        while files.hasNext():
            file = files.next()
            name = file.getPath().getName()
            if name == place.getName() or (name.endswith(".parquet") and not name.startswith((".", "_"))):
                inside.append((file.getPath().toString(), int(file.getLen())))
        if not inside:
            raise ReportError(f"{path}: there is no Parquet file in this folder")
        found |= dict(sorted(inside))
    return found


def summed(
    frame: DataFrame, count: Callable[[Iterator[pa.RecordBatch]], Part], merge: Callable[[Sequence[Part]], Part]
) -> Part:
    """Run `count` on every partition and add the results by a tree; only the sum comes to this machine.

    The frame's rows stay with the executors. A partition whose executor dies is counted again by another one, and the
    sum takes each partition's result once.
    """

    def added(batches: Iterator[pa.RecordBatch]) -> Part | None:
        return _added((part.as_py() for batch in batches for part in batch.column(0)), merge)

    cores = frame.sparkSession.sparkContext.defaultParallelism
    with one_line():
        parts = _mapped(frame, count)
        for width in (1,) if cores <= FEW_CORES else (min(WIDTH, cores), 1):
            parts = _mapped(parts.repartition(width), added)
        found = [row.part for row in parts.collect()]
    return pickle.loads(found[0]) if found else count(iter(()))  # noqa: S301 - made by our own executors


def sum_tasks(
    spark: SparkSession,
    tasks: Sequence[Task],
    count: Callable[[Task], Part],
    merge: Callable[[Sequence[Part]], Part],
    *,
    part_bytes: float = inf,
) -> Part:
    """Run `count` on every task and add the results like `summed`, but without SQL, whose planning takes seconds.

    Results of so few bytes that all of them are little for this machine are added here, which saves a round more.
    """

    def counted(own: Iterable[Task]) -> Part:
        (task,) = own  # to the end: Spark starts a Python anew after one that leaves something unread
        return count(task)

    context = spark.sparkContext
    little = len(tasks) == 1 or len(tasks) * part_bytes <= PENDING_BYTES
    widths = () if little else (1,) if len(tasks) <= WIDTH else (min(WIDTH, context.defaultParallelism), 1)
    with one_line():
        parts = context.parallelize(tasks, len(tasks)).mapPartitions(_packed(counted))
        for width in widths:
            parts = parts.repartition(width).mapPartitions(_packed(lambda own: _added(own, merge)))
        return merge([pickle.loads(part) for part in parts.collect()])  # noqa: S301 - made by our own executors


def _packed(work: Callable[[Any], Any]) -> Callable[[Iterable[Any]], Iterator[bytes]]:
    """Return what an executor does with a partition: its one result, if any, in bytes."""
    version = VERSION

    def packed(rows: Iterable[Any]) -> Iterator[bytes]:
        own = metadata.version("pldp")  # that of the executor, where this runs
        if own != version:
            raise ClusterError(f"executors have pldp {own}, this machine {version}: install the same there")
        result = work(rows)
        if result is not None:
            yield pickle.dumps(result)

    return packed


def _mapped(frame: DataFrame, work: Callable[[Iterator[pa.RecordBatch]], Any]) -> DataFrame:
    """Turn each partition into at most one row: what `work` makes of it."""
    packed = _packed(work)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (pa.RecordBatch.from_pydict({"part": [part]}) for part in packed(batches))

    with _calm():
        return frame.mapInArrow(rows, "part binary")


def _added(parts: Iterable[bytes], merge: Callable[[Sequence[Part]], Part]) -> Part | None:
    """Add results as they come, a few at a time; nothing of nothing."""
    waiting: list[Part] = []
    size = 0
    for part in parts:
        waiting.append(pickle.loads(part))  # noqa: S301 - made by our own executors
        size += len(part)
        if size > PENDING_BYTES:
            waiting, size = [merge(waiting)], 0
    return merge(waiting) if waiting else None


@contextmanager
def one_line() -> Iterator[None]:
    """Turn whatever Spark raises into one of our errors: what failed, why, and what to do."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise explained(str(error)) from None


def explained(told: str) -> PldpError:
    """Find in the text of Spark's error what a person needs to know.

    >>> print(explained("… ModuleNotFoundError: No module named 'pldp' …").args[0].partition(":")[0])
    executors lack the Python package pldp
    """
    if ours := re.search(r"pldp\.errors\.(\w+): (.+)", told):
        kind: type[PldpError] = getattr(errors, ours[1])
        return kind(ours[2])
    nothing = r"FileNotFoundException: File (?:file:)?(\S+) does not exist|Path does not exist: (?:file:)?(\S+?)\. "
    if missing := re.search(nothing, told):
        return ReportError(f"{missing[1] or missing[2]}: there is no such file")
    if file := re.search(r"reading file (?:file:/+)?(\S+?)\.? ", told):
        path = unquote(file[1])
        return _file_error(f"/{path}" if "reading file file:" in told else path, told)
    for pattern, words in _EXPLANATIONS:
        if found := re.search(pattern, told):
            return ClusterError(words.format(*found.groups(), version=VERSION))
    return ClusterError(f"Spark failed: {_reason(told)}")


def _file_error(path: str, told: str) -> PldpError:
    if column := re.search(r"Parquet column \[(.+?)\]\. Expected Spark type (\w+), actual Parquet type (\w+)", told):
        return ReportError(f"{path}: column {column[1]} must be of one type in all files, {column[2]}, not {column[3]}")
    cause = re.findall(r"^Caused by: [\w.$]+: (.+)$", told, re.MULTILINE)
    return UnreadableError(path, cause[-1] if cause else _reason(told))


def _reason(told: str) -> str:
    """Return the first line that says something, without the name of its class."""
    lines = [line.strip() for line in told.splitlines() if line.strip() and "An error occurred while" not in line]
    return re.sub(r"^(: )?([\w.$]+(Exception|Error): )*", "", lines[0])[:200] if lines else "it did not say why"


_EXPLANATIONS: Final = (
    (
        r"No module named '(\w+)",
        "executors lack the Python package {0}: install 'pldp[spark]=={version}' there, "
        "or name a Python that has it in PYSPARK_PYTHON",
    ),
    (
        r"Cannot run program \"(.+?)\"",
        "executors have no Python at {0}: name the one that has 'pldp[spark]=={version}' in PYSPARK_PYTHON",
    ),
    (
        r"PYTHON_VERSION_MISMATCH.*?worker has a different version \(?(\S+?)\)? .*?driver[: ]+\(?([\d.]+)",
        "executors run Python {0}, this machine {1}: they must be the same",
    ),
    (r"JAVA_GATEWAY_EXITED", "Java did not start: Spark needs Java 17 or newer; install it or name it in JAVA_HOME"),
)
