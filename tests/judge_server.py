"""An OpenAI-compatible judge on loopback: the real HTTP that tests and benchmarks talk to, never a patched client.

In a test, on its own thread:  with JudgeServer(latency_ms=5) as judge: ... judge.url, judge.script(...), judge.chats()
As a process:                  python tests/judge_server.py --port 0 --latency-ms 100
                               GET /stats, POST /reset, POST /config {setting: value}
What nobody scripted is answered by the oracle. Whether a fault strikes depends on the body and on how often it came.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import socket
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import cast
from urllib.parse import urlsplit

if __package__ != "tests":  # run as a script
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tests import oracle
from tests.batch_server import Batches
from tests.judge_stats import CONTROL, Stats
from tests.oracle import CHAT, EMBEDDINGS, MODELS, Answer, Given, Request, Settings, failure

__all__ = ["Answer", "JudgeServer", "Request", "Stats"]


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, one request at a time, bodies by content-length."""

    def __init__(self, judge: JudgeServer) -> None:
        self.judge, self.buffer, self.busy, self.keep, self.in_flight = judge, bytearray(), False, False, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.judge.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.judge.connections.discard(self)
        self.move(False)

    def move(self, in_flight: bool) -> None:
        if in_flight != self.in_flight:
            self.in_flight = in_flight
            self.judge.stats.move(1 if in_flight else -1, time.monotonic())

    def data_received(self, data: bytes = b"") -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if self.busy or (end < 0 and len(self.buffer) < 65536):
            return
        try:
            first, *lines = self.buffer[: max(end, 0)].decode("latin-1").split("\r\n")
            method, target, version = first.split(" ")
            headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
            stop = end + 4 + int(headers.get("content-length", 0))
        except ValueError:
            self.send(400, b'{"error": {"message": "This is not HTTP/1.1."}}')
            return
        if "transfer-encoding" in headers or (method == "POST" and "content-length" not in headers):
            self.send(411, b'{"error": {"message": "A content-length is needed."}}')
        elif len(self.buffer) >= stop:
            raw = bytes(self.buffer[end + 4 : stop])
            del self.buffer[:stop]
            self.busy, self.keep = True, version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
            self.judge.receive(self, method, urlsplit(target).path, headers, raw)

    def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Answer; when no request asked to keep the connection, that was the last on it."""
        lines = {"connection": "keep-alive" if self.keep else "close", "content-length": len(body), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.transport.write(f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\n{head}\r\n".encode() + body)
        if not self.keep:
            self.transport.close()
        elif self.buffer:
            asyncio.get_running_loop().call_soon(self.data_received)
        self.busy, self.keep = not self.keep, False


@dataclass(eq=False)
class JudgeServer(Settings):
    """Listens from the start, serves within `with`, and raises at its end what a scripted callable raised."""

    def __post_init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", self.port), backlog=4096)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"
        self.requests, self.stats, self.connections = list[Request](), Stats(), set[Connection]()
        self.scripts, self.lasting = defaultdict[str, deque[Given]](deque), dict[str, Given]()
        self.allowance, self.allowance_at = 1.0, 0.0
        self.bug: Exception | None = None
        self.done = asyncio.Event()
        self.batched, self.batch_stats = list[Request](), Stats()
        self.batches = Batches(self.answer_in_batch)

    def script(self, kind: str, *answers: Given) -> None:
        """The next answers to prompts of a kind, to "embeddings", or to "*": any that its own script leaves."""
        self.scripts[kind].extend(answers)

    def always(self, kind: str, answer: Given) -> None:
        """The answer when the script of a kind is used up, in place of the oracle's."""
        self.lasting[kind] = answer

    def chats(self, kind: str | None = None) -> list[Request]:
        return [request for request in self.requests if request.path == CHAT and kind in (None, request.kind)]

    def embeddings(self) -> list[Request]:
        return [request for request in self.requests if request.path == EMBEDDINGS]

    @property
    def max_in_flight(self) -> int:
        return self.stats.max_in_flight

    @property
    def repeats_after_ok(self) -> int:
        """How many requests asked again for what had been answered well: paid twice."""
        return self.stats.repeats_after_ok

    def reset(self) -> None:
        """Forget requests and counts; settings and scripts stay."""
        self.requests, self.stats = [], Stats(self.stats.in_flight)

    def __enter__(self) -> JudgeServer:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=[self.serve()], daemon=True)
        self.thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.loop.call_soon_threadsafe(self.done.set)
        self.thread.join()
        self.loop.close()
        if self.bug and error is None:
            raise self.bug

    async def serve(self, seconds: float | None = None) -> None:
        server = await asyncio.get_running_loop().create_server(lambda: Connection(self), sock=self.socket)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.done.wait(), seconds)
        server.close()
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    def answer_in_batch(self, path: str, raw: bytes) -> tuple[int, bytes]:
        """What is said to one line of a batch."""
        request = oracle.read_request(path, {}, raw, time.monotonic())
        self.batched.append(request)
        self.batch_stats.arrive(request)
        answer = oracle.refuse(self, request) or self.chosen(request, self.batch_stats.seen[request.digest])
        self.batch_stats.answer(request, answer, time.monotonic())
        return answer.status, oracle.render(self, request, answer)

    def receive(self, connection: Connection, method: str, path: str, headers: dict[str, str], raw: bytes) -> None:
        if path.startswith(("/v1/files", "/v1/batches")):
            known = not self.require_key or headers.get("authorization") == f"Bearer {self.require_key}"
            connection.send(*(self.batches.serve(method, path, raw) if known else (401, b"{}")))
            return
        try:
            request = oracle.read_request(path, headers, raw, time.monotonic())
            answer = self.gate(method, request)
        except (ValueError, TypeError, AttributeError) as error:
            connection.send(400, json.dumps({"error": {"message": str(error)}}).encode())
            return
        try:
            answer = answer or self.choose(connection, request)
            body = oracle.render(self, request, answer)
        except Exception as bug:  # of a script: the test fails at the end of `with`, and its client does not hang
            self.bug, answer, body = bug, Answer(500), b'{"error": {"message": "The script of the test raised."}}'
        delay_s = answer.delay_s + (self.latency_ms / 1000 if connection.in_flight else 0.0)
        if delay_s <= 0:
            self.finish(connection, request, answer, body)
        elif delay_s < math.inf:
            asyncio.get_running_loop().call_later(delay_s, self.finish, connection, request, answer, body)

    def gate(self, method: str, request: Request) -> Answer | None:
        """The answer to what needs no judging, most of it refusals."""
        if request.path in CONTROL:
            if request.path == "/reset":
                self.reset()
            self.update(request.body)
            return Answer(body=json.dumps(self.stats.dump()))
        if self.record:
            self.requests.append(request)
        bearer, key = request.headers.get("authorization", "").removeprefix("Bearer "), request.headers.get("api-key")
        if self.require_key and self.require_key not in (bearer, key):
            return failure(401, "Incorrect API key provided.", "invalid_api_key")
        if (method, request.path) == ("GET", MODELS):
            return Answer(body=json.dumps({"data": [{"id": name} for name in sorted(self.models) or ["judge"]]}))
        if method != "POST" or request.path not in (CHAT, EMBEDDINGS):
            return failure(404, f"Invalid URL ({method} {request.path})", "unknown_url")
        self.stats.arrive(request)
        grown = self.allowance + (request.at - self.allowance_at) * self.max_rps
        self.allowance, self.allowance_at = min(max(1.0, self.max_rps), grown), request.at
        if 0 < self.max_in_flight_allowed <= self.stats.in_flight or (self.max_rps and self.allowance < 1.0):
            return failure(429, "Rate limit reached.", "rate_limit_exceeded", retry_after=f"{self.retry_after:g}")
        self.allowance -= bool(self.max_rps)
        return oracle.refuse(self, request)

    def choose(self, connection: Connection, request: Request) -> Answer:
        connection.move(True)
        return self.chosen(request, self.stats.seen[request.digest])

    def chosen(self, request: Request, times: int) -> Answer:
        """A scripted answer, else a fault, else the lasting answer, else the oracle's."""
        if queue := self.scripts[request.kind] or self.scripts["*"]:
            return oracle.decide(self, queue.popleft(), request)
        answer = oracle.decide(self, self.lasting.get(request.kind, self.lasting.get("*", Answer())), request)
        luck = request.luck(times)
        for rate, fault in (
            (self.error_rate, failure(500, "The server had an error.", "server_error")),
            (self.malformed_rate, answer.cut_short()),
            (self.reset_rate, Answer(drop=True)),
            (self.hang_rate, Answer(delay_s=math.inf, drop=True)),
        ):
            if luck < rate:
                return fault
            luck -= rate
        return answer

    def finish(self, connection: Connection, request: Request, answer: Answer, body: bytes) -> None:
        connection.move(False)
        if answer.drop or connection.transport.is_closing():
            connection.transport.abort()
        else:
            self.stats.answer(request, answer, time.monotonic())
            connection.send(answer.status, body, answer.headers)


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible judge on 127.0.0.1.")
    parser.add_argument("--max-seconds", type=float, default=3600.0)
    for item in fields(Settings):
        parser.add_argument("--" + item.name.replace("_", "-"), default=item.default)
    settings = vars(parser.parse_args())
    seconds = settings.pop("max_seconds")
    judge = JudgeServer(port=int(settings["port"]), record=False)
    judge.update(settings | {"record": False})
    print(json.dumps({"url": judge.url, "pid": os.getpid()}), flush=True)
    asyncio.run(judge.serve(seconds))


if __name__ == "__main__":
    main()
