"""`rageval run` as a Spark job: spark-submit jobs/evaluate.py CONFIG [options of `rageval run`]"""

from __future__ import annotations

import sys

from rageval_spark.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "run")
    try:
        main()
    except SystemExit as end:
        if end.code:  # a job of Databricks takes any exit for a failure, also that with 0
            raise
