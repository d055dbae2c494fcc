"""What a run pays again after kill -9 at random moments, and whether its scores are those of an undisturbed run.

    python -m benchmarks.killed [--moments 10] [--samples 200] [--latency-ms 100] [--max-concurrency 64]

Each time the whole process group (driver, JVM, Python workers) is killed, and the same command is run again. All
traffic stays on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.throughput import call, configured, judge_server


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "rageval_spark.cli", "run", str(folder / "config.yaml"), "--run-id", "r"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def scores(folder: Path) -> dict[tuple[str, str], Any]:
    rows = pq.read_table(folder / "out" / "runs" / "r" / "scores", columns=["sample_id", "metric", "score"]).to_pylist()
    return {(row["sample_id"], row["metric"]): row["score"] for row in rows}


def whole(url: str, folder: Path) -> dict[str, Any]:
    """A run to its end; what the server counted since its last reset."""
    if start(folder).wait() not in (0, 1):
        raise SystemExit(f"the run of {folder} failed")
    return call(url, "/stats")


def killed(url: str, folder: Path, prompts: int) -> bool:
    """A run that is killed at so many prompts; False where it had ended before."""
    process = start(folder)
    while call(url, "/stats")["chats"] < prompts:
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while call(url, "/stats")["in_flight"]:
        time.sleep(0.02)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--latency-ms", type=float, default=100)
    parser.add_argument("--max-concurrency", type=int, default=64)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    moments = random.Random(given.seed)
    table = Table("killed at", "prompts in all", "beyond an undisturbed run", "paid twice", "scores equal")
    with judge_server(given.latency_ms) as url, tempfile.TemporaryDirectory() as scratch:
        configured(url, Path(scratch) / "whole", given.samples, given.max_concurrency)
        undisturbed = whole(url, Path(scratch) / "whole")
        expected = scores(Path(scratch) / "whole")
        for moment in range(given.moments):
            folder = Path(scratch) / str(moment)
            configured(url, folder, given.samples, given.max_concurrency)
            at = moments.randrange(1, undisturbed["chats"])
            call(url, "/reset", json.dumps({}).encode())
            if not killed(url, folder, at):
                table.add_row(f"{at:,} prompts", "ended before", "", "", "")
                continue
            seen = whole(url, folder)
            table.add_row(f"{at:,} prompts", f"{seen['chats']:,}", f"{seen['chats'] - undisturbed['chats']:,}",
                          str(seen["repeats_after_ok"]), "yes" if scores(folder) == expected else "NO")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
