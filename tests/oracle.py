"""The honest judge, without any I/O: what it was asked, what it decides, how it says it.

It decides by words alone, so that the author of a test can work out every score by hand:
1. Words are runs of letters or digits in lower case, and single Chinese or Japanese characters; REFUSALS refuse.
2. A claim is a sentence that does not refuse; its verdict is 1 when every word of it stands in the contexts (or text).
3. A context is useful when it holds every word of some sentence of the reference (or response).
4. A context rates 2 when it holds all words of the question but FILLERS, 1 when it holds some of them, else 0.
5. The goal of a conversation is what its first message says; its steps are the sentences of the goal, and one is done
   when all its words but FILLERS stand in messages of others than the user.
6. A question is answerable when a context rates 2. A response is right when it holds all words of a reference, partly right
   when it holds some. Its level on any rubric is the number of its sentences, 1 to 5; any aspect holds unless it refuses.
7. Embeddings of one text have cosine 1, of two different texts 0.8 (within 0.07 at 256 dimensions).
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import struct
from bisect import bisect_left
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

REFUSALS = ("do not know", "don't know", "cannot answer", "can't answer", "no information", "不知道", "无法回答")
CHAT, EMBEDDINGS, MODELS = "/v1/chat/completions", "/v1/embeddings", "/v1/models"
Data = dict[str, Any]

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_ASKING = "a an and are at by can did do does for from has have how in is it many much of on or the there to was were"
_ASKING += " what when where which who whose why will with 的是什么吗呢谁哪里了在有多少"
FILLERS = frozenset(_WORD.findall(_ASKING))
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


@lru_cache(maxsize=4096)  # the prompts of one sample come close together and share their contexts
def words(text: str) -> frozenset[str]:
    """The distinct words of a text."""
    return frozenset(_WORD.findall(text.lower()))


def sentences(text: str) -> list[str]:
    """The sentences of a text that hold a word, each with its full stop."""
    return [part.strip() for part in _SENTENCE_END.split(text) if words(part)]


def refuses(text: str) -> bool:
    return any(marker in text.lower().replace("’", "'") for marker in REFUSALS)


def _verdicts(items: list[Data], decide: Callable[[frozenset[str]], int], name: str = "verdict") -> list[Data]:
    return [{"id": item["id"], "reason": "by its words", name: int(decide(words(item["text"])))} for item in items]


def list_claims(data: Data) -> Data:
    claims = [sentence for sentence in sentences(data.get("text", "")) if not refuses(sentence)]
    return {"claims": [{"id": i, "text": claim} for i, claim in enumerate(claims, 1)]}


def verify_claims(data: Data) -> Data:
    premise = data.get("contexts") or [{"text": data.get("text", "")}]
    said = frozenset[str]().union(*(words(item["text"]) for item in premise))
    return {"verdicts": _verdicts(data.get("claims", []), lambda claim: claim <= said)}


def detect_refusal(data: Data) -> Data:
    return {"refused": int(refuses(data.get("text", "")))}


def generate_questions(data: Data) -> Data:
    text = data.get("text", "")
    questions = [{"id": i, "question": f"Question {i}: {text[:60]}?"} for i in range(1, data.get("n", 3) + 1)]
    return {"noncommittal": int(refuses(text)), "questions": questions}


def rate_contexts(data: Data) -> Data:
    asked = words(data.get("question", "")) - FILLERS
    ratings = _verdicts(data.get("contexts", []), lambda c: 0 if not c & asked else 2 if c >= asked else 1, "rating")
    return {"ratings": ratings}


def judge_usefulness(data: Data) -> Data:
    wanted = [words(sentence) for sentence in sentences(data.get("reference") or data.get("response") or "")]
    return {"verdicts": _verdicts(data.get("contexts", []), lambda c: any(sentence <= c for sentence in wanted))}


def judge_sentences(data: Data) -> Data:
    """A sentence helps when it has a word of the question that is none of FILLERS."""
    asked = words(data.get("question", "")) - FILLERS
    return {"verdicts": _verdicts(data.get("sentences", []), lambda sentence: bool(sentence & asked))}


def find_statements(data: Data) -> Data:
    return {"verdicts": [{"id": item["id"], "reason": "", "verdict": int(not (refuses(item["text"]) or "?" in item["text"]))}
                         for item in data.get("sentences", [])]}


def list_entities(data: Data) -> Data:
    """The words that begin with a capital letter, those at the beginning of a sentence included, and numbers."""
    text = data.get("text") or " ".join(item["text"] for item in data.get("contexts", []))
    names = dict.fromkeys(re.findall(r"\b[A-Z]\w+|\d+", text))
    return {"entities": [{"id": i, "name": name} for i, name in enumerate(names, 1)]}


def judge_needed(data: Data) -> Data:
    asked = words(data.get("question", "")) - FILLERS
    return {"verdicts": _verdicts(data.get("claims", []), lambda claim: bool(claim & asked))}


def rate_answer(data: Data) -> Data:
    """5 where the response has all words of the question but FILLERS, 3 where some, else 1."""
    asked, said = words(data.get("question", "")) - FILLERS, words(data.get("response", ""))
    rating = 5 if asked <= said else 3 if asked & said else 1
    return {"reason": "by its words", "refused": int(refuses(data.get("response", ""))), "rating": rating}


def list_intents(data: Data) -> Data:
    parts = re.split(r" and |, | 和 ", data.get("question", ""))
    return {"intents": [{"id": i, "text": part} for i, part in enumerate(filter(words, parts), 1)]}


def rate_intents(data: Data) -> Data:
    said = words(data.get("response", ""))
    rate = lambda intent: 2 if intent - FILLERS <= said else int(bool(intent - FILLERS & said))  # noqa: E731
    return {"ratings": _verdicts(data.get("intents", []), rate, "rating"), "redundant": []}


def infer_goal(data: Data) -> Data:
    asked = next((message["text"] for message in data.get("messages", [])), "")
    return {"goal": asked or "nothing", "end_state": asked or "nothing"}


def check_goal(data: Data) -> Data:
    said = frozenset[str]().union(*(words(one["text"]) for one in data.get("messages", []) if one["role"] != "user"))
    goal = data.get("goal", "")
    steps = [{"id": i, "text": text, "done": int(words(text) - FILLERS <= said)}
             for i, text in enumerate(sentences(goal) or [goal], 1)]
    return {"steps": steps, "reason": "by its words", "achieved": int(all(step["done"] for step in steps)), "notes": ""}


def judge_answerable(data: Data) -> Data:
    return {"reason": "by its words", "answerable": int(any(one["rating"] == 2 for one in rate_contexts(data)["ratings"]))}


def judge_accuracy(data: Data) -> Data:
    given, said = data.get("reference", ""), words(data.get("response", ""))
    wanted = [words(text) for text in ([given] if isinstance(given, str) else [item["text"] for item in given])]
    rating = max((2 if one <= said else 1 if one & said else 0 for one in wanted), default=0)
    return {"reason": "by its words", "rating": rating}


def score_rubric(data: Data) -> Data:
    return {"reason": "by its words", "rating": min(5, max(1, len(sentences(data.get("response", "")))))}


def check_aspect(data: Data) -> Data:
    return {"reason": "by its words", "verdict": int(not refuses(data.get("response", "")))}


KINDS: dict[str, Callable[[Data], Data]] = {
    "list_claims": list_claims,
    "verify_claims": verify_claims,
    "detect_refusal": detect_refusal,
    "generate_questions": generate_questions,
    "rate_contexts_1": rate_contexts,
    "rate_contexts_2": rate_contexts,
    "judge_usefulness": judge_usefulness,
    "judge_sentences": judge_sentences,
    "find_statements": find_statements,
    "list_entities": list_entities,
    "judge_needed": judge_needed,
    "rate_answer": rate_answer,
    "list_intents": list_intents,
    "rate_intents": rate_intents,
    "infer_goal": infer_goal,
    "check_goal": check_goal,
    "judge_answerable": judge_answerable,
    "judge_accuracy": judge_accuracy,
    "score_rubric": score_rubric,
    "check_aspect": check_aspect,
}
_KNOWN_KIND = re.compile(rf"\b({'|'.join(KINDS)})\b")
_FENCE = re.compile(r"<data-([\w-]+)>\n(.*)\n</data-\1>")  # data is one line, so what it quotes cannot end the fence


def answer(kind: str, data: Data) -> Data:
    """The reply to a prompt of this kind over this data; KeyError when the kind is none of KINDS."""
    return KINDS[kind](data)


@lru_cache(maxsize=4096)
def vector(text: str, dim: int) -> bytes:
    """The embedding of a text: a unit vector of two or more dimensions, as little-endian float32."""
    own = math.sqrt(0.2 / (dim - 1))  # all share the first component; the signs of the others are the text's
    signs = [own if byte & 1 else -own for byte in hashlib.shake_128(text.encode()).digest(dim - 1)]
    return struct.pack(f"<{dim}f", math.sqrt(0.8), *signs)


@dataclass(eq=False)
class Settings:
    """Each can be given at the start, over POST /config, and as an attribute while the judge runs."""

    port: int = 0
    latency_ms: float = 0.0
    error_rate: float = 0.0  # the rates are shares of the requests that are not scripted
    malformed_rate: float = 0.0  # cuts the message short; embeddings stay whole
    reset_rate: float = 0.0
    hang_rate: float = 0.0
    max_in_flight_allowed: int = 0  # 429 beyond it, and beyond max_rps; 0 = no limit
    max_rps: float = 0.0  # with bursts of one second's worth
    retry_after: float = 1.0
    require_key: str = ""  # as Bearer token or as header api-key
    models: Set[str] = frozenset()  # empty = any
    reject_formats: Set[str] = frozenset()
    reject_parameters: Set[str] = frozenset()
    embedding_dim: int = 256
    served_model: str = ""  # empty = the one asked for
    cached_share: float = 0.0  # of prompt_tokens, as the usage tells it
    record: bool = True  # False keeps only counts and digests

    def update(self, settings: Mapping[str, Any]) -> None:
        """Change settings by name; a set may come as a list or comma-separated. ValueError lists the known names."""
        known: dict[str, Any] = {item.name: type(item.default) for item in fields(Settings)}
        for name, value in settings.items():
            if name not in known:
                raise ValueError(f"no setting {name!r}; there are {', '.join(known)}")
            by_comma = known[name] is frozenset and isinstance(value, str)
            setattr(self, name, known[name](filter(None, value.split(",")) if by_comma else value))


@dataclass(frozen=True)
class Request:
    """One request as it came; `kind` is "embeddings", the kind of the prompt, or "" where nothing tells it."""

    path: str
    headers: dict[str, str]  # names in lower case
    body: Data
    data: Data | None  # the fenced JSON of the prompt, of the last fence if there are several
    kind: str
    raw: bytes
    at: float  # time.monotonic()
    texts: list[str]  # of the messages, or to embed
    prefix: str  # the prompt up to the end of the data: what prompts over the same contexts can share at best

    @cached_property
    def prompt(self) -> str:
        """All texts, joined by newlines."""
        return "\n".join(self.texts)

    @cached_property
    def digest(self) -> bytes:
        """Tells whether the same body came to the same path."""
        return hashlib.blake2b(self.path.encode() + b" " + self.raw, digest_size=16).digest()

    def luck(self, times: int) -> float:
        """A number in [0, 1) that is always the same for this body when it comes for the same time."""
        return int.from_bytes(hashlib.blake2b(b"%s %d" % (self.digest, times), digest_size=6).digest(), "big") / 2**48


@dataclass(frozen=True)
class Answer:
    """What to answer; `content` is the message (dumped unless a str), the vectors of embeddings, or the error."""

    status: int = 200
    content: Any = ...  # ... = what the oracle says
    finish_reason: str = "stop"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes | None = None  # verbatim, in place of all that would be made of content
    delay_s: float = 0.0  # on top of the latency; math.inf = never
    drop: bool = False  # close the connection instead
    usage: dict[str, Any] | str | None = "counted"  # None leaves it out

    @cached_property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else json.dumps(self.content, ensure_ascii=False)

    def cut_short(self) -> Answer:
        """The same with the message broken off in the middle."""
        is_message = self.status == 200 and isinstance(self.content, (str, dict))
        return replace(self, content=self.text[: len(self.text) // 2]) if is_message else self

    def is_well(self) -> bool:
        """Whether a client can accept it, so that the same body once more would be paying twice."""
        if (self.status, self.finish_reason, self.body, self.drop) != (200, "stop", None, False):
            return False
        try:
            return self.content is not None and (not isinstance(self.content, str) or bool(json.loads(self.content)))
        except ValueError:
            return False


Given = str | dict[str, Any] | list[Any] | Answer | Callable[[Request], Any]


def failure(status: int, message: str, code: str, param: str | None = None, **headers: str) -> Answer:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Answer(status, {"error": error}, headers={name.replace("_", "-"): text for name, text in headers.items()})


def read_request(path: str, headers: dict[str, str], raw: bytes, at: float) -> Request:
    """Find texts, data and kind; ValueError when body or data are not JSON objects."""
    body = json.loads(raw or b"{}")
    if not isinstance(body, dict):
        raise ValueError("the body is not a JSON object")
    if path == EMBEDDINGS:
        given = body.get("input", [])
        texts = [given] if isinstance(given, str) else [str(text) for text in given]
        return Request(path, headers, body, None, "embeddings", raw, at, texts, "")
    contents = [message.get("content") or "" for message in body.get("messages", [])]
    texts = [c if isinstance(c, str) else "\n".join(part.get("text", "") for part in c) for c in contents]
    prompt = "\n".join(texts)
    *_, fence = [None, *_FENCE.finditer(prompt)]
    data = json.loads(fence[2]) if fence else None
    kind = ((body.get("response_format") or {}).get("json_schema") or {}).get("name")
    if not kind:
        named = _KNOWN_KIND.search(_FENCE.sub("", prompt))
        kind = named[1] if named else ""
    return Request(path, headers, body, data, kind, raw, at, texts, prompt[: fence.end(2)] if fence else "")


def refuse(settings: Settings, request: Request) -> Answer | None:
    """What a real server refuses for its body alone."""
    model, reply_format = request.body.get("model"), (request.body.get("response_format") or {}).get("type")
    if settings.models and model not in settings.models:
        return failure(404, f"The model '{model}' does not exist.", "model_not_found", "model")
    if reply_format in settings.reject_formats:
        message = f"Invalid parameter: 'response_format' of type '{reply_format}' is not supported with this model."
        return failure(400, message, "unsupported_value", "response_format")
    for name in settings.reject_parameters & request.body.keys():
        message = f"Unsupported parameter: '{name}' is not supported with this model."
        return failure(400, message, "unsupported_parameter", name)
    return None


def decide(settings: Settings, given: Given, request: Request) -> Answer:
    """What was scripted, in full: where it says `...`, the oracle answers."""
    given = given(request) if callable(given) else given
    result = given if isinstance(given, Answer) else Answer(content=given)
    if result.status != 200 or result.content is not ... or result.body is not None or result.drop:
        return result
    if request.kind == "embeddings":
        dim = int(request.body.get("dimensions") or settings.embedding_dim)
        return replace(result, content=[vector(text, dim) for text in request.texts])
    if request.kind not in KINDS:
        return failure(400, f"The oracle knows no kind '{request.kind}': script it.", "unknown_kind")
    return replace(result, content=answer(request.kind, request.data or {}))


def render(settings: Settings, request: Request, answer: Answer) -> bytes:
    """The HTTP body of an answer."""
    if answer.drop or answer.body is not None:
        return answer.body.encode() if isinstance(answer.body, str) else answer.body or b""
    if answer.status != 200:
        message = "The judge was told to fail." if answer.content is ... else answer.content
        return json.dumps(message if isinstance(message, dict) else {"error": {"message": message}}).encode()
    name = settings.served_model or request.body.get("model")
    reply: Data = {"id": request.digest.hex(), "model": name, "system_fingerprint": "fp_loopback"}
    told = 0
    if request.kind == "embeddings":
        as_base64 = request.body.get("encoding_format") == "base64"
        rows = [{"index": i, "embedding": _encoded(row, as_base64)} for i, row in enumerate(answer.content)]
        reply |= {"object": "list", "data": rows}
    else:
        message = {"role": "assistant", "content": answer.content if answer.content is None else answer.text}
        told = len(message["content"] or "") // 4
        choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
        reply |= {"object": "chat.completion", "choices": [choice]}
    asked = sum(map(len, request.texts)) // 4
    usage: Data = {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}
    usage["prompt_tokens_details"] = {"cached_tokens": int(asked * settings.cached_share)}
    if answer.usage is not None:
        reply["usage"] = usage if answer.usage == "counted" else answer.usage
    return json.dumps(reply, ensure_ascii=False).encode()


def _encoded(row: bytes | list[float] | None, as_base64: bool) -> str | tuple[float, ...] | None:
    if row is None:
        return None  # scripted: a vector that is missing
    packed = row if isinstance(row, bytes) else struct.pack(f"<{len(row)}f", *row)
    return base64.b64encode(packed).decode() if as_base64 else struct.unpack(f"<{len(packed) // 4}f", packed)


def common_prefix(a: str, b: str) -> int:
    """How many leading characters two texts share, by bisection: a loop over them would cost a benchmark dear."""
    return bisect_left(range(min(len(a), len(b))), True, key=lambda i: a[: i + 1] != b[: i + 1])
