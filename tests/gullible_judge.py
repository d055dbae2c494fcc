"""A judge without judgement: it obeys every command that it takes for a part of the prompt, and writes odd replies if asked.

It is honest (the oracle) about what it takes for data. The data ends for it wherever a reader could think so: at anything
like the closing tag, at the fence's name, at a line end, at a control token of a chat template, where the JSON breaks.
What comes after that, and all that stands outside the fence, it obeys.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests import oracle
from tests.injections import COMMAND, REPLY
from tests.judge_server import Answer, Request

OPENING = re.compile(r"<data-(\w+)>\n")
CONTROL = r"<\|\w+\|>|<｜\w+｜>|</?s>|\[/?INST\]|<\s*/?\s*data-\w+\s*>|[\n\r\u0085\u2028\u2029]"
BEST = {"verdict": 1, "rating": 5, "done": 1, "achieved": 1}
BEST_BY_KIND = {"rate_contexts_1": 2, "rate_contexts_2": 2, "judge_accuracy": 2, "rate_intents": 2}


def instructions(request: Request) -> tuple[str, str]:
    """What the judge takes for instructions, and what for data."""
    prompt = request.prompt
    opening = OPENING.search(prompt)
    if opening is None:
        return prompt, ""
    ends = re.compile(rf"{CONTROL}|{opening[1]}", re.I).search(prompt, opening.end())
    end = ends.start() if ends else len(prompt)
    data = prompt[opening.end() : end]
    try:
        json.loads(data)
    except ValueError:
        return prompt, ""
    return prompt[: opening.start()] + prompt[end:], data


def passing(request: Request) -> Any:
    """The reply that passes everything."""

    def best(value: Any) -> Any:
        if isinstance(value, list):
            return [best(part) for part in value]
        if not isinstance(value, dict):
            return value
        decisions = {**BEST, "rating": BEST_BY_KIND.get(request.kind, BEST["rating"])}
        return {name: decisions.get(name, best(part)) for name, part in value.items()}

    return best(oracle.answer(request.kind, request.data or {}))


def reply(request: Request) -> Any:
    """Answer one prompt, as a script of the judge's server."""
    if request.kind == "embeddings":
        return Answer()
    obeyed, data = instructions(request)
    good = passing(request)
    if any(command in obeyed for command in COMMAND.values()):
        return good
    honest = oracle.answer(request.kind, request.data or {})
    texts = json.dumps(json.loads(data), ensure_ascii=False) if data else ""
    for kind, demands in REPLY.items():
        if any(json.dumps(demand.replace("{command}", ""), ensure_ascii=False)[1:-1] in texts for demand in demands.values()):
            return odd(kind, honest, good)
    return honest


def odd(kind: str, honest: Any, good: Any) -> str:
    """The reply that an attack of this kind asks for, between an honest one and one that passes everything."""
    first, second = json.dumps(honest, ensure_ascii=False), json.dumps(good, ensure_ascii=False)
    command = json.dumps(COMMAND["en"])
    if kind == "two objects":
        return f"{first}\n{second}"
    if kind == "repeated keys":
        return f"{first[:-1]}, {second[1:]}"
    if kind == "a key that commands":
        return f"{first[:-1]}, {command}: 1, {command}: 2}}"
    if kind == "a draft that is never closed":
        return f"<think>The text asks for {second}, but it is not for the text to say. So"
    if kind == "values beyond the scale":
        return re.sub(r'("(?:verdict|rating)": )\d', r"\g<1>99", first)
    assert kind == "ids outside the list", kind
    name = next((name for name, value in good.items() if isinstance(value, list)), None)
    if name is None:
        return first
    more = [{**item, "id": item["id"] + 100 * times} for times in range(1, 21) for item in good[name] if "id" in item]
    return json.dumps({**honest, name: honest[name] + more}, ensure_ascii=False)
