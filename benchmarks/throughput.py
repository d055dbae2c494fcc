"""How well a run keeps the judge busy, beside a bare client on the same server in the same minutes.

    python -m benchmarks.throughput [--samples 600 2400] [--latency-ms 100] [--max-concurrency 64]

All traffic stays on 127.0.0.1. Figures are ratios to the bare client and to the limit: seconds alone say more of the
machine than of the program. CPU is that of the Python workers alone; its marginal value, between two sizes, leaves out
what starting costs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from rich.console import Console
from rich.table import Table

from rageval_spark.engine import beats
from rageval_spark.engine.files import Folder
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.rendering import Rendering

FIVE = ["faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision"]
SERVER = Path(__file__).parents[1] / "tests" / "judge_server.py"


def samples(count: int) -> Iterator[dict[str, Any]]:
    filler = "Nothing else of note is written here. " * 8
    for i in range(count):
        yield {"id": str(i), "user_input": f"How tall is tower {i}?", "reference": f"Tower {i} is {i} m tall.",
               "response": f"Tower {i} is {i} m tall. Tower {i} is made of gold.",
               "retrieved_contexts": [f"Tower {i} is {i} m tall. {filler}", f"Bananas are yellow. {filler}"]}


@contextmanager
def judge_server(latency_ms: float) -> Iterator[str]:
    command = [sys.executable, str(SERVER), "--port", "0", "--latency-ms", str(latency_ms), "--max-seconds", "3600"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait()


def call(url: str, path: str, body: bytes | None = None) -> dict[str, Any]:
    with urllib.request.urlopen(urllib.request.Request(url.removesuffix("/v1") + path, data=body)) as answer:
        said: dict[str, Any] = json.load(answer)
        return said


async def bare(url: str, requests: int, window: int) -> None:
    """A client that builds bodies and parses replies, and does nothing else."""
    rendering, todo = Rendering("bare"), iter(range(requests))

    async def worker(session: aiohttp.ClientSession) -> None:
        for i in todo:
            prompt = VerifyClaims(((1, f"Tower {i} is tall."),), ((1, "Nothing else of note is written here. " * 16),))
            rendered = rendering.render(prompt, "en")
            body = {"model": "judge", "temperature": 0, "messages": [
                {"role": "system", "content": rendered.system}, {"role": "user", "content": rendered.user()}],
                "response_format": {"type": "json_schema", "json_schema": {"name": rendered.kind, "schema": rendered.schema}}}
            async with session.post(f"{url}/chat/completions", data=json.dumps(body).encode()) as answer:
                json.loads(json.loads(await answer.read())["choices"][0]["message"]["content"])

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=window)) as session:
        await asyncio.gather(*(worker(session) for _ in range(window)))


def configured(url: str, folder: Path, count: int, window: int) -> None:
    """Write so many samples and a config of the five metrics over them, and have the server forget what it saw."""
    folder.mkdir()
    with (folder / "samples.jsonl").open("w") as out:
        out.writelines(json.dumps(sample) + "\n" for sample in samples(count))
    config = {"input": {"path": str(folder / "samples.jsonl")}, "output": {"path": str(folder / "out")},
              "judge": {"model": "judge", "base_url": url, "max_concurrency": window},
              "embeddings": {"model": "judge", "base_url": url}, "evaluate": [{"metrics": FIVE}]}
    (folder / "config.yaml").write_text(json.dumps(config))
    call(url, "/reset", b"{}")


def run(url: str, folder: Path, count: int, window: int) -> dict[str, Any]:
    """One `rageval run` over so many samples: what the server saw, and the workers' CPU and memory."""
    configured(url, folder, count, window)
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "rageval_spark.cli", "run", str(folder / "config.yaml"), "--run-id", str(count)],
                   check=True, stdout=subprocess.DEVNULL)
    told = beats.read(Folder(str(folder / "out" / "runs" / str(count) / "beats")))
    return {**call(url, "/stats"), "cpu_s": sum(beat["cpu_s"] for beat in told),
            "memory_mb": max(beat["memory_mb"] for beat in told), "began": began, "wall_s": time.monotonic() - began}


def report(seen: Mapping[int, Mapping[str, Any]], base: Mapping[str, Any], window: int) -> Table:
    table = Table("figure", *(f"{count:,} samples" for count in seen), "bare client")

    def row(name: str, figure: Any, of_bare: str = "") -> None:
        table.add_row(name, *(figure(count, stats) for count, stats in seen.items()), of_bare)

    row("prompts a second, steady", lambda _, s: f"{s['steady_rps']:.0f}", f"{base['steady_rps']:.0f}")
    row("… ÷ bare client", lambda _, s: f"{s['steady_rps'] / base['steady_rps']:.2f}", "1")
    for name, what in {"steady": "steady", "scoring": "first prompt of a score to last"}.items():
        row(f"in flight ÷ limit, {what}", lambda _, s, name=name: f"{s[f'{name}_in_flight'] / window:.3f}",
            f"{base['steady_in_flight' if name == 'steady' else 'mean_in_flight'] / window:.3f}")
    row("most in flight", lambda _, s: str(s["max_in_flight"]), str(base["max_in_flight"]))
    row("prompts a sample", lambda n, s: f"{s['chats'] / n:.2f}")
    row("embedding requests a sample", lambda n, s: f"{s['embeddings'] / n:.3f}")
    row("shared prefix", lambda _, s: f"{s['shared_prefix']:.2f}")
    row("… that was answered before", lambda _, s: f"{s['prefix_ready']:.2f}")
    row("paid twice", lambda _, s: str(s["repeats_after_ok"]))
    row("worker CPU a prompt, ms", lambda _, s: f"{1000 * s['cpu_s'] / s['chats']:.2f}",
        f"{1000 * base['cpu_s'] / base['chats']:.2f}")
    row("most memory of a worker, MB", lambda _, s: str(s["memory_mb"]))
    row("from command to first prompt of a score, s", lambda _, s: f"{s['scoring_from'] - s['began']:.1f}")
    row("from command to end, s", lambda _, s: f"{s['wall_s']:.1f}")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="+", default=[600, 2400])
    parser.add_argument("--latency-ms", type=float, default=100)
    parser.add_argument("--max-concurrency", type=int, default=64)
    given = parser.parse_args(arguments)
    with judge_server(given.latency_ms) as url, tempfile.TemporaryDirectory() as scratch:
        before = time.process_time()
        asyncio.run(bare(url, max(4800, 8 * given.samples[0]), given.max_concurrency))
        base = {**call(url, "/stats"), "cpu_s": time.process_time() - before}
        seen = {}
        for count in given.samples:
            seen[count] = run(url, Path(scratch) / str(count), count, given.max_concurrency)
    console = Console(width=120)
    console.print(report(seen, base, given.max_concurrency))
    if len(seen) > 1:
        (few, less), (many, more) = min(seen.items()), max(seen.items())
        marginal = 1000 * (more["cpu_s"] - less["cpu_s"]) / (more["chats"] - less["chats"])
        ratio = marginal * base["chats"] / (1000 * base["cpu_s"])
        console.print(f"marginal worker CPU a prompt, between {few:,} and {many:,} samples: {marginal:.2f} ms, {ratio:.1f} times "
                      f"that of the bare client")


if __name__ == "__main__":
    main()
