"""A judge in this process: it holds words against words. A heuristic screen for a first look; it knows no meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rageval_spark.judges.lexical import LEAST_WORDS, Found, Premise, found, premise, shared_language, support, wording
from rageval_spark.judges.refusals import ASKS, declines, language_in_doubt, languages_of, names, refused
from rageval_spark.judges.settings import EmbeddedJudge
from rageval_spark.measures.markers import cited
from rageval_spark.metric import Metric, Reply, play, played
from rageval_spark.prompts.claims import ListClaims, VerifyClaims
from rageval_spark.prompts.contexts import JudgeUsefulness, RateContexts1, RateContexts2
from rageval_spark.prompts.detection import prompt_language
from rageval_spark.prompts.prompt import Prompt
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.sentences import FindStatements, JudgeSentences
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Skip

SUPPORTED = 0.6
"""The share of a claim's content words that must be found for it to count as supported."""
RATED_2_1: Mapping[str, tuple[float, float]] = {"en": (0.5, 0.3), "zh": (0.4, 0.2)}
"""The shares of a question's content words in a context from which it is rated 2 and 1; pairs of characters recur less."""
REASONS: Mapping[str, Mapping[str, str]] = {
    "en": {"numbers": "numbers not found: {}", "names": "names not found: {}", "words": "words not found: {}", "and": "; "},
    "zh": {"numbers": "未找到数字：{}", "names": "未找到名称：{}", "words": "未找到词语：{}", "and": "；"},
}

PLEASANTRIES = re.compile(
    r"^\W*(?:(?:i |we )?(?:really )?hope (?:this|that|it) (?:helps|answers|clarifies|information)|(?:please )?let me know if"
    r"|feel free to (?:ask|reach)|(?:thank you|thanks) for|you['’]re welcome|have a (?:great|nice|good)|is there anything else"
    r"|ich hoffe,? (?:das|dies|ich konnte)|lassen sie (?:es )?mich wissen|vielen dank für|j['’]espère que"
    r"|n['’]hésitez pas|merci (?:pour|de)\b|espero que|no dud(?:e|es) en|gracias por|spero (?:di|che)|non esit(?:are|i)\b"
    r"|grazie per|fico à disposição|obrigad[oa] por|ik hoop dat (?:dit|dat|ik)|laat (?:het )?me weten"
    r"|mam nadzieję|daj(?:cie)? znać|надеюсь"
    r"|спасибо за|umarım|希望(?:这|以上|对您|能)|お役に立て|도움이 되)[^\d]*$", re.I)
"""Sentences of politeness, which no source must hold."""


def unsupported(metric: Metric) -> str | None:
    """Why this judge cannot be asked for a metric: it asks kinds of prompt that need a model. None where it can."""
    needs = [kind for kind in metric.asks if kind not in ANSWERS]
    return f"the embedded judge has no model to answer {', '.join(needs)}" if needs else None


def score(metric: Metric, sample: Sample) -> Score:
    """Play a metric over a sample without any request. Skipped (JUDGE_UNSUPPORTED) if it needs a model, or asks for a refusal
    in a language that is not known."""
    if why := unsupported(metric):
        return Score.skipped("JUDGE_UNSUPPORTED", why)
    try:
        scored = played(play(metric, sample, token_limit=None), _reply)
    except Skip as skip:
        return skip.score
    assert scored is not None  # every prompt is answered
    return scored


def _reply(prompt: Prompt) -> Reply:
    """Answer a prompt. Raises Skip if it asks for a refusal in a language whose refusals are not recognized."""
    flags = ["HEURISTIC"]
    if isinstance(prompt, (ListClaims, DetectRefusal, FindStatements)):
        text = _text_of(prompt)
        if not languages_of(text, prompt.question)[0]:
            if isinstance(prompt, DetectRefusal):
                language = language_in_doubt(text, prompt.question)
                raise Skip("JUDGE_UNSUPPORTED", f"the embedded judge does not recognize refusals in {language}, only in "
                                                f"{names()}; take a model as the judge")
            flags.append("REFUSALS_UNKNOWN")
    return Reply(prompt.value(answer(prompt)), judge=EmbeddedJudge.model, flags=tuple(flags))


def answer(prompt: Prompt) -> dict[str, Any]:
    """The reply to a prompt of a kind in ANSWERS, of the shape that any judge's has."""
    return ANSWERS[prompt.kind](prompt)


def _list_claims(prompt: ListClaims) -> dict[str, Any]:
    if refused(prompt.text, prompt.question):  # "Please contact support." beside a refusal is no claim
        return {"claims": []}
    languages, _ = languages_of(prompt.text, prompt.question)
    # without markers, whose numbers no source has
    stated = [sentence.text for sentence in cited(prompt.text) if _states(sentence.text, languages)]
    return {"claims": [{"id": id, "text": text} for id, text in enumerate(stated, 1)]}


def _detect_refusal(prompt: DetectRefusal) -> dict[str, Any]:
    return {"refused": int(refused(prompt.text, prompt.question) or False)}


def _text_of(prompt: ListClaims | DetectRefusal | FindStatements) -> str:
    """Return the text that a prompt asks about."""
    return "\n".join(text for _, text in prompt.sentences) if isinstance(prompt, FindStatements) else prompt.text


def _verify_claims(prompt: VerifyClaims) -> dict[str, Any]:
    given = premise((prompt.text,) if prompt.text is not None else tuple(text for _, text in prompt.contexts))
    looked_up = [(id, text, found(text, given)) for id, text in prompt.claims]
    verdicts = [{"id": id, "reason": "" if _holds(result) else _reason(text, result), "verdict": int(_holds(result))}
                for id, text, result in looked_up]
    return {"verdicts": verdicts, "support": support([result for *_, result in looked_up])}


def _rate_contexts(prompt: RateContexts1 | RateContexts2) -> dict[str, Any]:
    language = shared_language(prompt.question, *(text for _, text in prompt.contexts))
    asked = wording(prompt.question, language)
    words = asked.content or list(asked.words)
    ratings = []
    for id, text in prompt.contexts:
        given = premise((text,), language).words
        missing = [word for word in words if word not in given]
        share = 1 - len(missing) / len(words) if words else 0.0
        rating = sum(share >= least for least in RATED_2_1[prompt_language(prompt.question)])
        ratings.append({"id": id, "reason": "" if rating else _explain(prompt.question, {"words": missing}), "rating": rating})
    return {"ratings": ratings}


def _judge_usefulness(prompt: JudgeUsefulness) -> dict[str, Any]:
    target = prompt.reference if prompt.reference is not None else prompt.response or ""
    sentences = [sentence.text for sentence in cited(target)]
    stated = [text for text in sentences if len(wording(text).content) >= LEAST_WORDS] or [target]

    def useful(given: Premise) -> bool:
        return any(_holds(found(text, given)) for text in stated)

    verdicts = []
    for id, text in prompt.contexts:
        given = premise((text,))
        reason = "" if useful(given) else _reason(stated[0], found(stated[0], given))
        verdicts.append({"id": id, "reason": reason, "verdict": int(not reason)})
    return {"verdicts": verdicts}


def _holds(result: Found) -> bool:
    return result.words >= SUPPORTED and not result.absent_numbers and not result.absent_names


def _reason(text: str, result: Found) -> str:
    if result.absent_numbers or result.absent_names:
        return _explain(text, {"numbers": result.absent_numbers, "names": result.absent_names})
    return _explain(text, {"words": result.missing})


def _explain(text: str, absent: Mapping[str, Sequence[str]]) -> str:
    """Say in the language of a text what of it is absent: at most eight numbers, names or words."""
    phrases = REASONS[prompt_language(text)]
    parts = [phrases[kind].format(", ".join(dict.fromkeys(items[:8]))) for kind, items in absent.items() if items]
    return phrases["and"].join(parts)


def _judge_sentences(prompt: JudgeSentences) -> dict[str, Any]:
    contexts = RateContexts1(contexts=prompt.sentences, question=prompt.question)
    return {"verdicts": [{"id": rated["id"], "reason": rated["reason"], "verdict": int(rated["rating"] > 0)}
                         for rated in _rate_contexts(contexts)["ratings"]]}


def _find_statements(prompt: FindStatements) -> dict[str, Any]:
    languages, _ = languages_of(_text_of(prompt), prompt.question)
    declined = refused(_text_of(prompt), prompt.question)
    return {"verdicts": [{"id": id, "reason": "", "verdict": int(not declined and _states(text, languages))}
                         for id, text in prompt.sentences]}


def _states(sentence: str, languages: Sequence[str]) -> bool:
    if len(wording(sentence).content) < LEAST_WORDS or ASKS.search(sentence) or PLEASANTRIES.match(sentence):
        return False
    return not declines(sentence, languages)


ANSWERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    ListClaims.kind: _list_claims,
    DetectRefusal.kind: _detect_refusal,
    VerifyClaims.kind: _verify_claims,
    RateContexts1.kind: _rate_contexts,
    RateContexts2.kind: _rate_contexts,
    JudgeUsefulness.kind: _judge_usefulness,
    JudgeSentences.kind: _judge_sentences,
    FindStatements.kind: _find_statements,
}
"""What can be decided without a model, by kind of prompt."""
