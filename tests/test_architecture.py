"""The layers, the public list, and what may be imported before Spark is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import rageval_spark

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rageval_spark"


def test_a_lower_layer_never_imports_a_higher_one() -> None:
    done = subprocess.run([sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
                          cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_metric_imports_a_metric() -> None:
    for file in (PACKAGE / "metrics").glob("*.py"):
        if file.stem != "__init__":
            imported = {node.module for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)}
            assert not [name for name in imported if name and name.startswith("rageval_spark.metrics")], file


def test_the_public_list() -> None:
    assert sorted(rageval_spark.__all__) == [
        "Comparison", "ConfigError", "EmbeddedJudge", "Flow", "HttpEmbeddings", "HttpJudge", "InputError", "JudgeRefused",
        "Metric",
        "RagevalError", "Run", "Sample", "Score", "as_udf", "compare", "evaluate", "score",
    ]  # fmt: skip


def test_every_public_name_is_there() -> None:
    program = "import rageval_spark; [getattr(rageval_spark, name) for name in rageval_spark.__all__]"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_commands_and_the_core_import_no_spark() -> None:
    program = ("import sys, rageval_spark, rageval_spark.cli, rageval_spark.config, rageval_spark.engine.task, "
               "rageval_spark.metrics; sys.exit(str([name for name in ('pyspark', 'pandas') if name in sys.modules] or 0))")
    done = subprocess.run([sys.executable, "-c", program.replace("sys.exit(str(", "sys.exit((")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nothing_is_used_that_spark_connect_lacks() -> None:
    lacking = {"sparkContext", "rdd", "_jvm", "_jsc", "cache", "persist", "toPandas"}
    for file in (PACKAGE / "spark").glob("*.py"):
        used = {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
        assert not used & lacking, (file, used & lacking)


def test_the_package_works_from_a_zip_by_a_relative_path(tmp_path: Path) -> None:
    """As executors have it that get it by --py-files."""
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as zipped:
        for file in PACKAGE.rglob("*"):
            if file.suffix != ".pyc" and file.is_file():
                zipped.write(file, file.relative_to(ROOT))
    program = ("import sys; sys.path.insert(0, 'package.zip'); import rageval_spark.spark.score as module; "
               "assert 'package.zip' in module.__file__")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_files_stay_readable() -> None:
    long = {str(file.relative_to(ROOT)): lines for file in PACKAGE.rglob("*.py")
            if (lines := len(file.read_text().splitlines())) > 300}
    assert not long
