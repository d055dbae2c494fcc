"""`rageval monitor` as a Spark job: spark-submit jobs/monitor.py CONFIG [options of `rageval monitor`]"""

from __future__ import annotations

from rageval_spark.cli import job

if __name__ == "__main__":
    job("monitor")
