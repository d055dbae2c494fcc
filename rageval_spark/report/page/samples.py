"""Samples as a page shows them: texts with marks, scores, and each claim or chunk with its verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval_spark.report.findings import counted, labelled
from rageval_spark.report.page.marks import marked, words
from rageval_spark.score import FAILED, FLAGS, SKIPPED

TEXTS = {"user_input": "Question", "response": "Answer", "reference": "Reference", "retrieved_contexts": "Contexts"}
"""The fields that are texts, with their names on the page, in order; others are shown as JSON."""
VERDICTS = ("verdict", "supported", "correct", "achieved", "done")
RATINGS = ("rating", "ratings", "mean", "cosine", "score")
SAID = ("reason", "reasons", "why")
NAMED = ("text", "question", "intent", "step", "name", "sentence")
SAID_OF = {"chunks": "in chunks {}", "citations": "cites {}", "precise": "of use: {}", "level": "level {} of 2"}
"""How what else is known of a claim, intent or statement is told; what is not here goes by its name."""
FULL = 2
"""The rating of a chunk that is relevant in full."""
HOWS: Mapping[str, Mapping[str, str]] = {
    "most": {"option": "missing most thresholds", "sample": "One of those that miss most thresholds, here of",
             "those": "those that miss most thresholds"},
    "worst": {"option": "worst", "sample": "Among the worst of", "those": "those that miss one by most"},
    "borderline": {"option": "borderline", "sample": "Near the threshold of", "those": "some near one"},
    "random": {"option": "random", "sample": "Drawn by chance", "those": "some drawn by chance"},
    "unscored": {"option": "without a score", "sample": "Without a score of", "those": "some without a score"},
}
"""Why samples are shown: as a choice, as said of one before its metrics, and of all of them."""
MEANING = {**SKIPPED, **FAILED}


def viewed(sample: Mapping[str, Any], scale: float, several: bool) -> dict[str, Any]:
    """A sample of report.json as the template takes it, with scores on `scale`, and metrics with their field groups where there
    are `several`."""
    texts = sample["texts"]
    groups: dict[str, dict[str, Any]] = {}
    details = sample["details"] if isinstance(sample["details"], list) else []
    for place, score in enumerate(sample["scores"]):
        key = score["field_group"]
        mine = texts.get(key) if isinstance(texts, Mapping) else None
        group = groups.setdefault(key, {"key": key, "fields": list(_fields(mine or {}, sample["absent"].get(key, ()))),
                                        "scores": []})
        found = details[place] if place < len(details) else {}
        label = labelled(score["metric"], key, several)
        group["scores"].append({**_score(score, found if isinstance(found, Mapping) else {}, scale), "label": label,
                                "how": [why for why, metrics in sample["how"].items() if label in metrics]})
    first = next((mine for mine in texts.values() if isinstance(mine, Mapping)), {}) if isinstance(texts, Mapping) else {}
    return {"id": sample["sample_id"], "how": sample["how"], "slices": sample["slices"], "groups": list(groups.values()),
            "question": str(first.get("user_input") or ""), "cut": texts if isinstance(texts, str) else None}


def worst(samples: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of samples as viewed those that miss most thresholds, in their order, each with the scores that do, by most first."""
    found = []
    for place, sample in enumerate(samples, 1):
        missed = [score for group in sample["groups"] for score in group["scores"] if score["tone"] == "bad"]
        if "most" in sample["how"] and missed:
            missed.sort(key=lambda score: -abs(score["value"] - score["threshold"]))
            found.append({"place": place, "id": sample["id"], "question": sample["question"], "missed": missed})
    return found


def shown(samples: Sequence[Mapping[str, Any]], total: int) -> str:
    """Which of all samples are shown, as a sentence."""
    if len(samples) >= total:
        return f"All {counted(total, 'sample')}." if total > 1 else "The only sample."
    those = [named["those"] for how, named in HOWS.items() if any(how in sample["how"] for sample in samples)]
    return f"{len(samples):,} of {counted(total, 'sample')}: {', '.join(those)}."


def choices(samples: Sequence[Mapping[str, Any]], slices: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each slice with the values that these samples have of it."""
    return [(name, sorted({str(sample["slices"].get(name, "")) for sample in samples})) for name in slices]


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
    tone = "none" if score["passed"] is None else "good" if score["passed"] else "bad"
    lists = [{"name": name.replace("_", " "), "rows": [_item(one) for one in value]} for name, value in details.items()
             if isinstance(value, list) and any(isinstance(one, Mapping) for one in value)]
    return {
        **score, "tone": tone, "value": None if score["score"] is None else score["score"] * scale,
        "threshold": None if score["threshold"] is None else score["threshold"] * scale,
        "meaning": MEANING.get(score["code"] or ""),
        "flags": [FLAGS.get(flag, flag) for flag in score["flags"] or () if flag != "HEURISTIC"],  # which is said of all
        "lists": lists,
        "facts": "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in details.items()
                           if isinstance(value, str) and value and name != "signature"),  # numbers are the reason's to tell
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
    verdict = _rated(rating) if decided is None else "yes" if decided else "no"
    rest = ", ".join(SAID_OF.get(name, f"{name.replace('_', ' ')} {{}}").format(_short(value)) for name, value in one.items()
                     if name not in used and value not in (None, [], {}))
    return {"text": str(one[named]) if named else "", "tone": tone, "verdict": verdict, "why": why, "rest": rest}


def _rated(rating: Any) -> str:
    """A rating in words; those of a chunk that was rated twice."""
    if not isinstance(rating, list):
        return _short(rating)
    known = [_short(one) for one in rating if one is not None]
    return f"rated {' and '.join(known)} of {FULL}" if known else ""


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(_short(one) for one in value) or "none"
    return f"{value:.3g}" if isinstance(value, float) else str(value) if not isinstance(value, Mapping) else json.dumps(
        value, ensure_ascii=False)

