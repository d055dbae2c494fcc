"""The Batch API of the judge server: files up, batches made, looked at, listed and cancelled, files down."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Line = dict[str, Any]
Answering = Callable[[str, bytes], tuple[int, bytes]]
"""What the server says to a body posted to a path: status and body."""


@dataclass
class Batches:
    """All files and batches. A batch ends after `seconds`; `ends` scripts how the next ones do, in order."""

    answering: Answering
    seconds: float = 0.0
    most_enqueued: int = 0
    ends: list[str] = field(default_factory=list)
    lists: bool = True
    files: dict[str, bytes] = field(default_factory=dict)
    made: dict[str, Line] = field(default_factory=dict)

    def serve(self, method: str, path: str, raw: bytes) -> tuple[int, bytes]:
        place = path.removeprefix("/v1/").split("/")
        if (method, place) == ("POST", ["files"]):
            return 200, json.dumps({"id": self._file(_content(raw)), "object": "file", "purpose": "batch"}).encode()
        if place[0] == "files" and place[-1] == "content" and place[1] in self.files:
            return 200, self.files[place[1]]
        if (method, place) == ("POST", ["batches"]):
            return 200, self._told(self._make(json.loads(raw)))
        if (method, place) == ("GET", ["batches"]) and self.lists:
            return 200, json.dumps({"data": [json.loads(self._told(batch)) for batch in self.made.values()]}).encode()
        if place[0] == "batches" and len(place) > 1 and place[1] in self.made:
            batch = self.made[place[1]]
            if place[-1] == "cancel" and batch["status"] == "in_progress":
                self._end(batch, "cancelled")
            return 200, self._told(batch)
        return 404, b'{"error": {"message": "no such thing"}}'

    def _file(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    def _make(self, asked: Line) -> Line:
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines() if line.strip()]
        batch = {"id": f"batch_{len(self.made) + 1}", "object": "batch", "status": "in_progress", "endpoint": asked["endpoint"],
                 "metadata": asked.get("metadata"), "errors": None, "output_file_id": None, "error_file_id": None,
                 "request_counts": {"total": len(lines), "completed": 0, "failed": 0}, "due": time.monotonic() + self.seconds,
                 "lines": lines, "how": self.ends.pop(0) if self.ends else "completed"}
        enqueued = sum(len(one["lines"]) for one in self.made.values() if one["status"] == "in_progress")
        if self.most_enqueued and enqueued + len(lines) > self.most_enqueued:
            batch["status"] = "failed"
            batch["errors"] = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}]}
        self.made[batch["id"]] = batch
        return batch

    def _told(self, batch: Line) -> bytes:
        if batch["status"] == "in_progress" and batch["how"] != "never" and time.monotonic() >= batch["due"]:
            self._end(batch, batch["how"])
        return json.dumps({name: value for name, value in batch.items() if name not in ("due", "lines", "how")}).encode()

    def _end(self, batch: Line, how: str) -> None:
        """Answer every line, or of a batch that does not complete the first half; in any order."""
        lines = batch["lines"] if how in ("completed", "partly") else batch["lines"][: len(batch["lines"]) // 2]
        good, bad = list[Line](), list[Line]()
        for number, line in enumerate(lines):
            status, body = self.answering(line["url"], json.dumps(line["body"]).encode())
            if how == "partly" and number % 3 == 0:
                status, body = 500, b'{"error": {"message": "The server had an error."}}'
            said = {"custom_id": line["custom_id"], "error": None, "response": {"status_code": status, "body": json.loads(body)}}
            (good if status == 200 else bad).append(said)
        bad += [{"custom_id": line["custom_id"], "response": None, "error": {"code": "batch_expired", "message": "Expired."}}
                for line in batch["lines"][len(lines):]]
        batch["status"] = "completed" if how == "partly" else how
        for name, rows in (("output_file_id", good), ("error_file_id", bad)):
            random.Random(batch["id"]).shuffle(rows)
            content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
            batch[name] = self._file(content) if rows else None
        batch["request_counts"] = {"total": len(batch["lines"]), "completed": len(good), "failed": len(bad)}


def _content(form: bytes) -> bytes:
    found = re.search(rb'filename="[^"]*".*?\r\n\r\n(.*?)\r\n--', form, re.S)
    assert found, "no file in the form"
    return found[1]
