"""`rageval run` as a Spark job: spark-submit jobs/evaluate.py CONFIG [options of `rageval run`]"""

from __future__ import annotations

from rageval_spark.cli import job

if __name__ == "__main__":
    job("run")
