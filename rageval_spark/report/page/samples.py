"""Samples as a page shows them: texts with marks, scores, and each claim or chunk with its verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval_spark.report.page.marks import marked, words
from rageval_spark.score import FAILED, FLAGS, SKIPPED

TEXTS = {"user_input": "Question", "response": "Answer", "reference": "Reference", "retrieved_contexts": "Contexts"}
"""The fields that are texts, with their names on the page, in order; others are shown as JSON."""
VERDICTS = ("verdict", "supported", "correct", "achieved", "done")
RATINGS = ("rating", "ratings", "mean", "cosine", "score")
SAID = ("reason", "reasons", "why")
NAMED = ("text", "question", "intent", "step", "name", "sentence")
REASONED = ("numerator", "denominator")
"""What a score's reason says too."""
MEANING = {**SKIPPED, **FAILED}


def viewed(sample: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """A sample of report.json as the template takes it, with scores on `scale`."""
    texts = sample["texts"]
    groups: dict[str, dict[str, Any]] = {}
    details = sample["details"] if isinstance(sample["details"], list) else []
    for place, score in enumerate(sample["scores"]):
        key = score["field_group"]
        mine = texts.get(key) if isinstance(texts, Mapping) else None
        group = groups.setdefault(key, {"key": key, "fields": list(_fields(mine or {}, sample["absent"].get(key, ()))),
                                        "scores": []})
        found = details[place] if place < len(details) else {}
        group["scores"].append(_score(score, found if isinstance(found, Mapping) else {}, scale))
    first = next((mine for mine in texts.values() if isinstance(mine, Mapping)), {}) if isinstance(texts, Mapping) else {}
    return {"id": sample["sample_id"], "how": sample["how"], "slices": sample["slices"], "groups": list(groups.values()),
            "question": str(first.get("user_input") or ""), "cut": texts if isinstance(texts, str) else None}


def _fields(texts: Mapping[str, Any], absent: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Name and paragraphs of each field that has a value; lists of texts are numbered."""
    answer = texts.get("response")
    said = set(words(answer)) if isinstance(answer, str) else set()
    for field in (*TEXTS, *(name for name in texts if name not in TEXTS)):
        value = texts.get(field)
        if value in (None, "", []):
            continue
        if field not in TEXTS:
            yield {"name": field, "json": json.dumps(value, ensure_ascii=False, indent=1)}
            continue
        parts = [str(one) for one in (value if isinstance(value, list) else [value])]
        if field == "response":
            shown: Sequence[Any] = [marked(text, set(absent), "absent") for text in parts]
        else:
            shown = [marked(text, said, "found") for text in parts] if field == "retrieved_contexts" else parts
        yield {"name": TEXTS[field], "parts": shown, "numbered": field == "retrieved_contexts"}


def _score(score: Mapping[str, Any], details: Mapping[str, Any], scale: float) -> dict[str, Any]:
    tone = "none" if score["score"] is None else "good" if score["passed"] else "bad"
    lists = [{"name": name.replace("_", " "), "rows": [_item(one) for one in value]} for name, value in details.items()
             if isinstance(value, list) and any(isinstance(one, Mapping) for one in value)]
    return {
        **score, "tone": tone, "value": None if score["score"] is None else score["score"] * scale,
        "threshold": None if score["threshold"] is None else score["threshold"] * scale,
        "meaning": MEANING.get(score["code"] or ""),
        "flags": [FLAGS.get(flag, flag) for flag in score["flags"] or () if flag != "HEURISTIC"],  # which is said of all
        "lists": lists,
        "facts": ", ".join(f"{name.replace('_', ' ')} {_short(value)}" for name, value in details.items()
                           if not isinstance(value, (Mapping, list)) and value is not None and name not in REASONED),
    }


def _item(one: Any) -> dict[str, Any]:
    """A claim, chunk or step: its text, what was decided of it (`tone`, and in words), why, and what else is known."""
    if not isinstance(one, Mapping):
        return {"text": str(one), "tone": "none", "verdict": "", "why": "", "rest": ""}
    decided = next((one[name] for name in VERDICTS if name in one), None)
    rating = next((one[name] for name in RATINGS if name in one), None)
    named = next((name for name in NAMED if name in one), None)
    why = next((one[name] for name in SAID if one.get(name)), "")
    why = "; ".join(dict.fromkeys(str(reason) for reason in why if reason)) if isinstance(why, list) else why
    used = {*VERDICTS, *RATINGS, *SAID, named, "id"}
    tone = "none" if decided is None else "good" if decided else "bad"
    verdict = _short(rating) if decided is None else "yes" if decided else "no"
    rest = ", ".join(f"{name.replace('_', ' ')} {_short(value)}" for name, value in one.items() if name not in used)
    return {"text": str(one[named]) if named else "", "tone": tone, "verdict": verdict, "why": why, "rest": rest}


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(_short(one) for one in value) or "none"
    return f"{value:.3g}" if isinstance(value, float) else str(value) if not isinstance(value, Mapping) else json.dumps(
        value, ensure_ascii=False)

