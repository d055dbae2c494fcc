"""Reply files as engines, shells and people write them: what can be used is used, what cannot is counted by line."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import numpy as np
import pytest

from rageval_spark.engine.reply_files import Receipt, check
from rageval_spark.score import Usage

ASKED = {f"{name}-0" for name in "abcd"} | {"a-1"}


def completion(text: str = "{}", model: str = "judge-1", **usage: int | None) -> dict[str, Any]:
    tokens = {"prompt_tokens": 10, "completion_tokens": 2} | usage
    return {"model": model, "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": tokens}


def line(id: str, body: Any = None, status: Any = 200) -> str:
    return json.dumps({"custom_id": id, "response": {"status_code": status, "body": completion() if body is None else body}})


def checked(content: bytes | str, before: bytes = b"", embedding: bool = False) -> tuple[Receipt, dict[str, list[str]]]:
    """The receipt, and the lines that were kept by id."""
    kept: dict[str, list[str]] = {}

    def keep(text: bytes) -> None:
        id, _, rest = text.decode().partition("\t")
        assert rest.count("\n") == 1
        kept.setdefault(id, []).append(rest.rstrip("\n"))

    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    return check(stream, ASKED, embedding, keep, before), kept


def faults(receipt: Receipt) -> dict[str, tuple[int, list[int]]]:
    return {name: (fault.count, fault.lines) for name, fault in receipt.faults.items()}


WHOLE = "\n".join([line("a-0"), line("b-0"), line("a-1")]) + "\n"


@pytest.mark.parametrize("content", [
    WHOLE, WHOLE.rstrip(), WHOLE.replace("\n", "\r\n"), WHOLE.replace("\n", "\n\n"), "\ufeff" + WHOLE,
    gzip.compress(WHOLE.encode()),
    gzip.compress(("\ufeff" + WHOLE).encode()), WHOLE.encode("utf-16"), b"\xfe\xff" + WHOLE.encode("utf-16-be"),
], ids=["plain", "no end of line", "windows", "blank lines", "bom", "gzip", "gzip bom", "utf-16", "utf-16 be"])
def test_files_in_all_forms_are_read_alike(content: bytes | str) -> None:
    receipt, kept = checked(content)
    assert (receipt.lines, receipt.prompts, receipt.answers, receipt.errors, receipt.unanswered) == (3, 2, 3, 0, 2)
    assert receipt.usage == Usage(prompt_tokens=30, completion_tokens=6, cached_tokens=None)
    assert (receipt.served, receipt.faults, sorted(kept)) == (["judge-1"], {}, ["a-0", "a-1", "b-0"])
    assert all(json.loads(one) for lines in kept.values() for one in lines)


@pytest.mark.parametrize(("bad", "reason"), [
    ("{not json", "no JSON"), ("[]", "no custom_id"), ("{}", "no custom_id"), ('{"custom_id": 7}', "no custom_id"),
    ("7", "no custom_id"),
    (line("b-0")[:-20], "no JSON"), ("[" * 100_000, "nested too deeply"), ("data: " + line("b-0"), "no JSON"),
])
def test_a_broken_line_costs_its_prompt_only(bad: str, reason: str) -> None:
    receipt, kept = checked("\n".join([line("a-0"), bad, line("c-0")]))
    assert faults(receipt) == {"broken": (1, [2])}
    assert reason in receipt.faults["broken"].reason
    assert (receipt.answers, receipt.unanswered, sorted(kept)) == (2, 3, ["a-0", "c-0"])
    [sentence, rest] = receipt.sentences("replies-0001.jsonl")
    assert sentence.startswith("replies-0001.jsonl: 1 of 3 lines cannot be read (line 2: ")
    assert "3 requests have no line" in rest


def test_a_line_in_another_encoding_costs_its_prompt_only() -> None:
    foreign = line("b-0", completion("Zürich")).encode().decode("unicode_escape").encode("latin-1")
    receipt, kept = checked(b"\n".join([line("a-0").encode(), foreign, line("c-0").encode()]))
    assert faults(receipt) == {"broken": (1, [2])}
    assert "not UTF-8" in receipt.faults["broken"].reason
    assert sorted(kept) == ["a-0", "c-0"]


def test_a_compressed_file_that_breaks_off_gives_what_it_has() -> None:
    lines = [line("a-0"), *(line("x" * 200 + str(i)) for i in range(5000))]
    receipt, kept = checked(gzip.compress("\n".join(lines).encode())[:-500])
    assert sorted(kept) == ["a-0"]
    assert receipt.faults["broken"].count == 1
    assert "breaks off" in receipt.faults["broken"].reason


def test_ids_that_were_not_asked_or_were_answered_before_are_counted_and_not_used() -> None:
    lines = [line("z-0"), line("a-0", completion("first")), line("a-0", completion("second")), line("y-0")]
    receipt, kept = checked("\n".join(lines))
    assert faults(receipt) == {"unknown": (2, [1, 4]), "repeated": (1, [3])}
    assert ["first" in text for text in kept["a-0"]] == [True]
    assert (receipt.answers, receipt.usage.prompt_tokens) == (1, 10), "what is not used is not counted"


def test_only_the_first_lines_of_a_fault_are_named() -> None:
    receipt, _ = checked("\n".join([*(["nonsense"] * 25), line("a-0")]))
    assert faults(receipt) == {"broken": (25, [*range(1, 11)])}
    assert "25 of 26 lines cannot be read (line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …: " in receipt.sentences("f")[0]


@pytest.mark.parametrize(("bad", "settled"), [
    (line("a-0", {"error": {"message": "overloaded", "code": 503}}), 0),  # with status 200
    (line("a-0", {"error": {"message": "down"}}, 500), 0),
    (line("a-0", {"error": {"message": "no", "code": "content_filter"}}, 400), 1),
    (json.dumps({"custom_id": "a-0", "response": None, "error": {"code": "batch_expired", "message": None}}), 0),
    (json.dumps({"custom_id": "a-0", "response": {"status_code": 200, "body": None}, "error": None}), 0),
    (line("a-0", completion(), status="none"), 0), (line("a-0", completion(), status=[200]), 0),
    (json.dumps({"custom_id": "a-0", "response": None, "error": {"code": "content_filter", "message": "filtered"}}), 1),
    (json.dumps({"custom_id": "a-0", "response": {"status_code": 400}, "error": {"message": "bad"}}), 1),
    (json.dumps({"custom_id": "a-0", "response": {"status_code": 503}, "error": "busy"}), 0),
    (json.dumps({"custom_id": "a-0"}), 0),
])
def test_errors_are_kept_as_errors(bad: str, settled: int) -> None:
    receipt, kept = checked(bad)
    assert (receipt.answers, receipt.errors, receipt.prompts, receipt.faults) == (0, 1, settled, {})
    assert receipt.usage == Usage()
    receipt, kept = checked("\n".join([bad, bad, line("a-0"), bad]))
    assert (receipt.answers, receipt.prompts, len(kept["a-0"])) == (1, 1, 2), "an answer counts, whatever errors came for it"


@pytest.mark.parametrize("body", [line("a-0", json.dumps(completion())), line("a-0", status="200"), line("a-0", status=None),
                                  line("a-0", status=200.0), json.dumps({"custom_id": "a-0", "response": completion()}),
                                  json.dumps({"custom_id": "a-0", "body": completion()}),
                                  line("a-0").replace('"prompt_tokens": 10', '"logprob": NaN, "prompt_tokens": 10')])
def test_other_writings_of_an_answer_are_answers(body: str) -> None:
    receipt, _ = checked(body)
    assert (receipt.answers, receipt.errors, receipt.usage.prompt_tokens) == (1, 0, 10)


@pytest.mark.parametrize("content", ["", "\n\n", line("z-0"), "nothing of use", json.dumps([json.loads(line("a-0"))])])
def test_a_file_of_something_else_fits_nothing(content: str) -> None:
    assert not checked(content)[0].fits


def test_what_was_kept_of_an_earlier_state_stands_and_is_counted_once() -> None:
    first, kept = checked("\n".join([line("a-0", completion("first")), "broken", line("b-0", {"error": {}}, 500)]))
    before = "".join(f"{id}\t{text}\n" for id, texts in kept.items() for text in texts).encode()
    receipt, kept = checked("\n".join([line("a-0", completion("other")), line("b-0"), line("c-0"), line("c-0")]), before)
    assert (receipt.answers, receipt.prompts, receipt.usage.prompt_tokens) == (3, 3, 30)
    assert ["first" in text for text in kept["a-0"]] == [True]
    assert faults(receipt) == {"repeated": (1, [4])}
    assert first.answers == 1


def test_embeddings_are_counted_too() -> None:
    vector = {"model": "vectors", "data": [{"index": 0, "embedding": np.ones(3).tolist()}], "usage": {"prompt_tokens": 4}}
    receipt, _ = checked("\n".join([line("a-0", vector), line("b-0", {**vector, "data": []})]), embedding=True)
    assert (receipt.answers, receipt.errors, receipt.prompts, receipt.usage.prompt_tokens) == (1, 1, 0, 4)


def test_a_receipt_survives_its_file() -> None:
    receipt, _ = checked("\n".join([line("a-0"), "broken", line("z-0")]))
    assert Receipt.from_json(json.loads(json.dumps(receipt.to_json()))) == receipt
