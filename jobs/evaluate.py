"""`rageval run` as a Spark job: spark-submit jobs/evaluate.py CONFIG [options of `rageval run`]"""

from __future__ import annotations

import sys

from rageval_spark.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "run")
    main()
