"""The Batch API from the driver: files of requests up, batches made and looked at, files of answers down."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import aiohttp

from rageval_spark.errors import JudgeRefused
from rageval_spark.judges import http
from rageval_spark.judges.http import Secret, connection_of, headers_of
from rageval_spark.judges.server_errors import Unanswered, refused, start_of
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge

ENDED = ("completed", "failed", "expired", "cancelled")
WINDOW = "24h"
TAG = "rageval"
FILE_TIMEOUT_S = 3600.0
"""For a file to go up or to come down."""
PIECE = 1 << 20
MOST_REQUESTS = 50_000
MOST_BYTES = 100_000_000
"""Of one file. Servers take 200 MB; half of it is in memory when it is written, and again when it is sent."""


@dataclass(frozen=True)
class Batch:
    """A batch as the server describes it."""

    id: str
    status: str
    done: int = 0
    files: tuple[str, ...] = ()
    why: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def queue_is_full(self) -> bool:
        """Whether it was refused for more tokens waiting than the server lets an account have."""
        return self.status == "failed" and ("token_limit" in self.why or "enqueued token" in self.why.casefold())


class BatchApi:
    """One server's Batch API. Every method raises JudgeRefused where the server will not do it."""

    def __init__(self, endpoint: HttpJudge | HttpEmbeddings, key: Secret):
        self._endpoint, self._key = endpoint, key
        self._connection = connection_of(endpoint)

    def submit(self, content: bytes, name: str, path: str, tag: str) -> Batch:
        """Upload requests and have them answered. `tag` names the batch, so that `find` knows it after a crash."""
        def form() -> aiohttp.FormData:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field("file", io.BytesIO(content), filename=name, content_type="application/jsonl")
            return form

        sent = self._patiently(lambda: self._send("POST", "files", form=form))
        if not isinstance(sent.get("id"), str):
            raise JudgeRefused(f"{self._endpoint.base_url}/files takes no file: {str(sent)[:200]}")
        made = {"input_file_id": sent["id"], "endpoint": f"/v1/{path}", "completion_window": WINDOW, "metadata": {TAG: tag}}
        return self._create(made, tag)

    def _create(self, made: Mapping[str, Any], tag: str) -> Batch:
        try:
            return _batch(self._send("POST", "batches", json=made))
        except Unanswered as refusal:
            if not refusal.transient:
                raise self._refused(refusal) from None
        return self.find(tag) or _batch(self._patiently(lambda: self._send("POST", "batches", json=made)))

    def find(self, tag: str) -> Batch | None:
        """The batch of a tag among the latest hundred; None where there is none, or the server lists none."""
        try:
            listed = self._patiently(lambda: self._send("GET", "batches", params={"limit": "100"})).get("data", [])
        except JudgeRefused:
            return None
        return next((_batch(one) for one in listed if (one.get("metadata") or {}).get(TAG) == tag), None)

    def look(self, id: str) -> Batch:
        return _batch(self._patiently(lambda: self._send("GET", f"batches/{id}")))

    def cancel(self, id: str) -> None:
        self._patiently(lambda: self._send("POST", f"batches/{id}/cancel"))

    @contextmanager
    def content(self, file: str) -> Iterator[Iterator[bytes]]:
        """The content of a file, piece by piece. It is whole before the first piece is given."""
        with tempfile.TemporaryFile() as out:
            self._patiently(lambda: self._send("GET", f"files/{file}/content", out=out))
            out.seek(0)
            yield iter(lambda: out.read(PIECE), b"")

    def _patiently(self, send: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Try again while the server may come round, up to the endpoint's deadline."""
        give_up_at, wait_s = time.monotonic() + self._endpoint.deadline_s, 0.5
        while True:
            try:
                return send()
            except Unanswered as refusal:
                wait_s = min(30.0, refusal.retry_after_s or 2 * wait_s)
                if not refusal.transient or time.monotonic() + wait_s > give_up_at:
                    raise self._refused(refusal) from None
                time.sleep(wait_s)

    def _send(
        self,
        method: str,
        path: str,
        *,
        json: Mapping[str, Any] | None = None,
        form: Callable[[], aiohttp.FormData] | None = None,
        params: Mapping[str, str] | None = None,
        out: IO[bytes] | None = None,
    ) -> dict[str, Any]:
        """Return the object in an answer, or write its body to `out` and return {}. Raises Unanswered."""
        return http.run_in_own_loop(self._exchange(method, path, json, form, params, out))

    async def _exchange(self, method: str, path: str, json: Mapping[str, Any] | None, form: Callable[[], aiohttp.FormData] | None,
                        params: Mapping[str, str] | None, out: IO[bytes] | None) -> dict[str, Any]:
        headers = headers_of(self._endpoint, self._key)
        if json is None:
            del headers["Content-Type"]  # the client names the boundary of a form
        seconds = self._endpoint.timeout_s if form is None and out is None else FILE_TIMEOUT_S
        try:
            async with http.session(limit=1) as session, session.request(
                method, f"{self._endpoint.base_url}/{path}", headers=headers, params={**self._endpoint.query, **(params or {})},
                timeout=aiohttp.ClientTimeout(total=seconds, sock_read=max(60.0, self._endpoint.timeout_s)), json=json,
                data=form() if form else None, allow_redirects=out is not None, **self._connection,
            ) as answer:
                if not 200 <= answer.status < 300:
                    raise refused(answer.status, answer.headers, await http.read_body(answer, http.LARGEST_REPLY))
                if out is None:
                    return _object(await http.read_body(answer, http.LARGEST_REPLY))
                out.seek(0)
                out.truncate()
                async for piece in answer.content.iter_chunked(PIECE):
                    out.write(piece)
                return {}
        except (asyncio.TimeoutError, aiohttp.ClientError, OSError) as error:
            raise http.unanswered(error, self._endpoint, self._key) from None

    def _refused(self, refusal: Unanswered) -> JudgeRefused:
        return JudgeRefused(f"the batch API of {self._endpoint.base_url}: {self._key.hidden_in(refusal.reason)}")


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Unanswered("JUDGE_HTTP", f"the server's answer is no JSON object: {start_of(body)}", transient=True)
    return value


def _batch(answer: Mapping[str, Any]) -> Batch:
    """Return the batch that an answer describes. Raises JudgeRefused if it describes none."""
    if not (isinstance(answer.get("id"), str) and isinstance(answer.get("status"), str)):
        raise JudgeRefused(f"the batch API describes no batch: {str(answer)[:200]}. Use mode: files if this server has none")
    files = tuple(answer[name] for name in ("output_file_id", "error_file_id") if answer.get(name))
    counts = answer.get("request_counts") or {}
    errors = (answer.get("errors") or {}).get("data") or []
    why = "; ".join(f"{error.get('code')}: {error.get('message')}" for error in errors)
    return Batch(answer["id"], answer["status"], int(counts.get("completed") or 0) + int(counts.get("failed") or 0), files, why)


@dataclass
class RequestFile:
    """A file of requests while it fills."""

    endpoint: int
    path: str
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    tokens: int = 0

    def is_full(self, line: bytes) -> bool:
        return len(self.lines) == MOST_REQUESTS or self.size + len(line) > MOST_BYTES

    def add(self, line: bytes, tokens: int) -> None:
        self.lines.append(line)
        self.size += len(line)
        self.tokens += tokens


def request_line(id: str, path: str, body: str) -> bytes:
    """One request as a line of such a file."""
    return f'{{"custom_id": {json.dumps(id)}, "method": "POST", "url": "/v1/{path}", "body": {body}}}\n'.encode()
