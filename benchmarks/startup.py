"""How long a run takes from its command to its first prompt, beside what Spark alone takes for as much.

    python -m benchmarks.startup [--samples 1000] [--times 3]

The bare program starts a session with the same settings, reads the same JSON lines, counts them by question as placing does,
spreads them over two tasks, and ends where a Python worker has imported pandas and has its first rows. What a run takes
beyond it is our own.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.throughput import configured, judge_server, run

BARE = """
import sys, time
from pathlib import Path
from rageval_spark.spark.session import own_session
samples, session, rows_there = sys.argv[1:]
spark = own_session("local[*]", {})
Path(session).write_text(str(time.monotonic()))
rows = spark.read.json(samples)
rows.groupBy("user_input").count().collect()
def arrived(frames):
    import pandas
    for frame in frames:
        Path(rows_there).write_text(str(time.monotonic()))
        yield frame[["id"]]
rows.repartition(2, "user_input").sortWithinPartitions("user_input").mapInPandas(arrived, "id string").count()
"""


def bare(samples: Path, scratch: Path) -> tuple[float, float]:
    """Seconds from the start of a bare program to its session, and to the first rows in a Python worker."""
    began, marks = time.monotonic(), (scratch / "session", scratch / "rows")
    subprocess.run([sys.executable, "-c", BARE, str(samples), *map(str, marks)], check=True, stderr=subprocess.DEVNULL)
    session, rows = (float(mark.read_text()) - began for mark in marks)
    return session, rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args(arguments)
    seen = []
    with judge_server(200) as url, tempfile.TemporaryDirectory() as scratch:
        for time_of in range(given.times):
            folder = Path(scratch) / str(time_of)
            configured(url, folder, given.samples, 64)
            session, rows = bare(folder / "samples.jsonl", folder)
            stats = run(url, folder / "run", given.samples, 64)
            seen.append((session, rows, stats["scoring_from"] - stats["began"]))
            print("session {:.1f} s, bare Spark's first rows {:.1f} s, first prompt {:.1f} s".format(*seen[-1]), flush=True)
    ratio = statistics.median(ours / rows for _, rows, ours in seen)
    print(f"first prompt ÷ bare Spark's first rows: {ratio:.2f} (median of {given.times})")


if __name__ == "__main__":
    main()
