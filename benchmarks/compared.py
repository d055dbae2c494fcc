"""How long it takes to compare two runs of many scores, and what memory the driver has at its most.

    python -m benchmarks.compared [--samples 1000000]

Writes two runs of five metrics with two slices to a temporary folder, and compares them in a session of two cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from rageval_spark.finished.comparison import compare
from rageval_spark.spark.session import own_session
from rageval_spark.spark.tables import SCORES

METRICS = ("faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision")


def written(spark: SparkSession, folder: Path, samples: int, better: float) -> str:
    """A run as its files: scores of claims (shares of 1 to 7), the same samples in every run, `better` by so much on average."""
    kind = F.pmod(F.hash("sample_id", "metric"), F.lit(1000)) / 1000
    of = (F.pmod(F.hash("metric", "sample_id"), F.lit(7)) + 1).cast("double")
    score: Column = F.least(F.lit(1.0), F.floor((kind * 0.5 + F.rand(int(better * 1000)) * (0.5 + better)) * (of + 1)) / of)
    tenant = F.pmod(F.hash("sample_id"), F.lit(50)).cast("string")
    language = F.element_at(F.array(F.lit("en"), F.lit("zh")), F.pmod(F.crc32("sample_id"), F.lit(2)).cast("int") + 1)
    known = {"run_id": F.lit(folder.name), "field_group": F.lit("question,answer,contexts"), "score": score,
             "status": F.lit("scored"), "passed": score >= 0.5, "threshold": F.lit(0.5),
             "slices": F.create_map(F.lit("language"), language, F.lit("tenant"), tenant)}
    rows = spark.range(samples).select(F.sha2(F.col("id").cast("string"), 256).substr(1, 16).alias("sample_id"),
                                       F.explode(F.array(*map(F.lit, METRICS))).alias("metric"))
    empty = spark.createDataFrame([], SCORES).schema
    columns = [rows[field.name] if field.name in rows.columns else known.get(field.name, F.lit(None)).cast(field.dataType)
               .alias(field.name) for field in empty]
    rows.select(*columns).write.parquet(str(folder / "scores"))
    group = "question,answer,contexts"
    metrics = [{"name": name, "metric": name, "parameters": {}, "threshold": 0.5, "votes": 1, "judge": "m"} for name in METRICS]
    (folder / "manifest.json").write_text(json.dumps({
        "run_id": folder.name, "status": "complete", "config": {}, "rows": samples, "slices": ["language", "tenant"],
        "field_groups": [{"key": group, "fields": {}, "metrics": metrics}], "judges": [], "wording": "1", "versions": {}}))
    (folder / "summary.json").write_text(json.dumps({"scale": 1}))
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000, help="in either run; each has five scores")
    samples = parser.parse_args().samples
    spark = own_session("local[2]", {})
    with tempfile.TemporaryDirectory() as place:
        base, new = (written(spark, Path(place, name), samples, better) for name, better in (("base", 0.0), ("new", 0.05)))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.monotonic()
        found = compare(base, new)
        took = time.monotonic() - began
    for line in found.lines:
        print(line.sentence("base", "new"))
    print(f"{2 * len(METRICS) * samples:,} score rows, {len(found.by_slice)} lines by slice: {took:.0f} s; driver's Python "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at its most, {before / 1024:.0f} MB before")


if __name__ == "__main__":
    main()
