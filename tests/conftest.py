"""What all tests share. The Spark session is made when a test first asks for it, and only then."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# Short runs never repay the second compiler or a parallel collector; also for the JVMs of commands under test.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture
def judge() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole suite, two cores, its files in a folder that goes."""
    from rageval_spark.spark.session import own_session

    scratch = tmp_path_factory.mktemp("spark")
    session = own_session("local[2]", {
        "spark.sql.shuffle.partitions": "2",  # a shuffle of ten rows into sixteen parts is all overhead
        "spark.default.parallelism": "2",
        "spark.sql.codegen.wholeStage": "false",  # compiling a stage for ten rows costs more than running it
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch),
    })
    yield session
    session.stop()
