"""Runs the cells of a notebook in a session of Spark Connect, and prints what the last of them left as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rageval_spark import Run

SEPARATOR = "\n# COMMAND ----------\n"


def main(notebook: str) -> None:
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    shown: list[str] = []
    names: dict[str, Any] = {"__name__": "notebook", "displayHTML": shown.append}
    for number, cell in enumerate(Path(notebook).read_text().split(SEPARATOR), 1):
        if "run.report()" not in cell or hasattr(Run, "report"):
            exec(compile(cell, f"{notebook}, cell {number}", "exec"), names)
    json.dump({
        "connect": type(spark).__module__.startswith("pyspark.sql.connect"),
        "screened": names["screened"].summary["total"], "judged": names["run"].summary["coverage"],
        "in_sql": [[row.id, row.score] for row in names["in_sql"].collect()],
        "batched": names["serverless"].summary["coverage"], "shown": [text[:300] for text in shown],
        "runs": sorted({row.run_id for row in spark.table(f"{names['tables']}scores").collect()}),
        "history": sorted({(row.run_id, row.metric) for row in names["history"].collect()}),
    }, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
