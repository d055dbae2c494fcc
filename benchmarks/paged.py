"""How long the page of a run of many samples takes beside its statistics, how large it is, and what memory that needs.

    python -m benchmarks.paged [--samples 1000000]

Runs the quickstart, and multiplies its data and its scores under new ids. Two cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from pyspark.sql import functions as F

import rageval_spark
from rageval_spark.config import load, planned
from rageval_spark.report.page.make import again
from rageval_spark.report.recorded import recorded
from rageval_spark.run import run
from rageval_spark.spark.read import read_scores, resolved
from rageval_spark.spark.session import own_session
from rageval_spark.spark.stats import stats, tally

QUICKSTART = Path(rageval_spark.__file__).parent / "quickstart"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    copies = -(-parser.parse_args().samples // 60)
    spark = own_session("local[2]", {})
    with tempfile.TemporaryDirectory() as place:
        config = load(QUICKSTART / "config.yaml", [f"input.path={QUICKSTART / 'samples.jsonl'}", f"output.path={place}/out"])
        small, large = run(config, run_id="small"), Path(place, "large")
        groups = resolved(planned(config).groups, spark.read.json(str(QUICKSTART / "samples.jsonl")))
        copy = F.concat_ws("-", "sample_id", F.col("copy").cast("string"))
        numbers = spark.range(copies).withColumnRenamed("id", "copy")
        near = F.least(F.lit(1.0), F.col("score") * 0.9 + F.rand(3) * 0.1)
        (small.scores.crossJoin(numbers).withColumn("sample_id", copy).withColumn("score", near).drop("copy")
         .write.parquet(f"{large}/scores"))
        samples = spark.read.json(str(QUICKSTART / "samples.jsonl")).withColumnRenamed("id", "sample_id")
        (samples.crossJoin(numbers).withColumn("sample_id", copy).drop("copy").withColumnRenamed("sample_id", "id")
         .write.parquet(f"{large}/data"))
        manifest = json.loads(Path(place, "out/runs/small/manifest.json").read_text())
        manifest["config"]["input"] = {"path": f"{large}/data", "format": "parquet"}
        (large / "manifest.json").write_text(json.dumps(manifest))
        (large / "summary.json").write_text(json.dumps(small.summary))
        found = recorded(str(large))
        scores = read_scores(spark, found.folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.monotonic()
        stats(scores, groups, manifest["slices"], "large")
        tally(scores)
        counted = time.monotonic()
        page = again(found)
        made = time.monotonic()
        print(f"{scores.count():,} score rows: statistics {counted - began:.0f} s, page {made - counted:.0f} s and "
              f"{len(page.encode()) / 1024:.0f} kB; driver's Python "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at its most, {before / 1024:.0f} MB before")


if __name__ == "__main__":
    main()
