"""The Batch API from the driver: files of requests up, batches made and looked at, files of answers down."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests

from rageval_spark.errors import JudgeRefused
from rageval_spark.judges.http import Secret, as_it_is, headers_of
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.judges.wire import Unanswered, refused

ENDED = ("completed", "failed", "expired", "cancelled")
WINDOW = "24h"
TAG = "rageval"
UPLOAD_TIMEOUT_S = 600.0
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

    def submit(self, content: bytes, name: str, path: str, tag: str) -> Batch:
        """Upload requests and have them answered. `tag` names the batch, so that `find` knows it after a crash."""
        sent = self._json(lambda: self._send("POST", "files", files={"file": (name, content, "application/jsonl")},
                                             data={"purpose": "batch"}, timeout=UPLOAD_TIMEOUT_S))
        made = {"input_file_id": sent["id"], "endpoint": f"/v1/{path}", "completion_window": WINDOW, "metadata": {TAG: tag}}
        return self._create(made, tag)

    def _create(self, made: Mapping[str, Any], tag: str) -> Batch:
        try:
            return _batch(self._send("POST", "batches", json=made).json())
        except Unanswered as refusal:
            if not refusal.transient:
                raise self._refused(refusal) from None
        return self.find(tag) or _batch(self._json(lambda: self._send("POST", "batches", json=made)))

    def find(self, tag: str) -> Batch | None:
        """The batch of a tag among the latest hundred; None where there is none, or the server lists none."""
        try:
            listed = self._json(lambda: self._send("GET", "batches", params={"limit": 100})).get("data", [])
        except JudgeRefused:
            return None
        return next((_batch(one) for one in listed if (one.get("metadata") or {}).get(TAG) == tag), None)

    def look(self, id: str) -> Batch:
        return _batch(self._json(lambda: self._send("GET", f"batches/{id}")))

    def cancel(self, id: str) -> None:
        self._json(lambda: self._send("POST", f"batches/{id}/cancel"))

    @contextmanager
    def content(self, file: str) -> Iterator[Iterator[bytes]]:
        """The content of a file, piece by piece."""
        answer = self._patiently(lambda: self._send("GET", f"files/{file}/content", stream=True))
        with answer:
            yield answer.iter_content(1 << 20)

    def _json(self, send: Callable[[], requests.Response]) -> dict[str, Any]:
        said: dict[str, Any] = self._patiently(send).json()
        return said

    def _patiently(self, send: Callable[[], requests.Response]) -> requests.Response:
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

    def _send(self, method: str, path: str, timeout: float | None = None, **what: Any) -> requests.Response:
        headers = headers_of(self._endpoint, self._key)
        if "json" not in what:
            del headers["Content-Type"]  # requests names the boundary of a form
        params = {**self._endpoint.query, **what.pop("params", {})}
        try:
            answer = requests.request(method, f"{self._endpoint.base_url}/{path}", headers=headers, params=params,
                                      timeout=timeout or self._endpoint.timeout_s, auth=as_it_is, **what)
        except requests.RequestException as error:
            raise Unanswered("JUDGE_HTTP", self._key.hidden_in(f"no connection ({type(error).__name__})"),
                             transient=True) from None
        if answer.ok:
            return answer
        raise refused(answer.status_code, answer.headers, answer.content)

    def _refused(self, refusal: Unanswered) -> JudgeRefused:
        return JudgeRefused(f"the batch API of {self._endpoint.base_url}: {self._key.hidden_in(refusal.reason)}")


def _batch(said: Mapping[str, Any]) -> Batch:
    files = tuple(said[name] for name in ("output_file_id", "error_file_id") if said.get(name))
    counts = said.get("request_counts") or {}
    errors = (said.get("errors") or {}).get("data") or []
    why = "; ".join(f"{one.get('code')}: {one.get('message')}" for one in errors)
    return Batch(said["id"], said["status"], int(counts.get("completed") or 0) + int(counts.get("failed") or 0), files, why)


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
