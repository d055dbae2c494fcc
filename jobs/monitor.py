"""`rageval monitor` as a Spark job: spark-submit jobs/monitor.py CONFIG [options of `rageval monitor`]"""

from __future__ import annotations

import sys

from rageval_spark.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "monitor")
    main()
