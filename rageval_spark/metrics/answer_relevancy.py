"""Answer relevancy: does the response answer what was asked?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rageval_spark.errors import ConfigError, JudgeFault
from rageval_spark.measures.vectors import cosine, unusable
from rageval_spark.metric import Flow, Layer, Metric
from rageval_spark.prompts.detection import language_name, script
from rageval_spark.prompts.embedding import Embed
from rageval_spark.prompts.questions import GenerateQuestions
from rageval_spark.prompts.steps import unasked
from rageval_spark.sample import Sample
from rageval_spark.score import Score

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True)
class AnswerRelevancy(Metric):
    """Share of meaning that the question has in common with questions made from the response (mean cosine).

    In [0, 1], higher is better. The judge writes `strictness` questions that the response answers; the score is the
    mean cosine of their embeddings with the question's, negative means counting 0. A blank or noncommittal response
    scores 0. Correctness plays no part.
    Skipped without a response (NO_ANSWER) or a question (NO_QUESTION). Failed where fewer than half of the questions
    were written (JUDGE_NO_QUESTION) and for unusable embeddings.
    Prompts: 1 and `strictness` + 1 embeddings; `strictness` prompts where `isolated`, the majority of whose
    noncommittal flags counts; 1 more where a question is blank, or for each that is.
    Source: RAGAS (arXiv 2309.15217), section 3; the noncommittal rule is the majority, which the paper does not have.
    """

    name: ClassVar[str] = "answer_relevancy"
    reads: ClassVar[tuple[str, ...]] = ("user_input", "response")
    asks: ClassVar[tuple[str, ...]] = ("generate_questions", "embed")
    aliases: ClassVar[tuple[str, ...]] = ("response_relevancy", "LLMRAGAnswerRelevancy")
    layer: ClassVar[Layer] = "generation"

    strictness: int = 3
    isolated: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.strictness <= 20:
            raise ConfigError(f"answer_relevancy: strictness must be from 1 to 20, not {self.strictness}")

    def score(self, sample: Sample) -> Flow:
        if (known := unasked(sample)) is not None:
            return known
        asked = sample.user_input or ""
        questions, noncommittal = yield from self._questions(sample.response or "", language_name(asked))
        if noncommittal:
            return Score.of(0.0, "the response is noncommittal", flags=("REFUSAL",), noncommittal=1,
                            questions=questions)
        if len(questions) < math.ceil(self.strictness / 2):
            return Score.failed("JUDGE_NO_QUESTION", f"{len(questions)} of {self.strictness} questions were written",
                                questions=questions)
        vectors = yield [Embed(text) for text in (asked, *questions)]
        if fault := next((vector for vector in vectors if isinstance(vector, JudgeFault)), None):
            return Score.failed(fault.code, fault.reason, questions=questions)
        if code := unusable(vectors):
            return Score.failed(code, questions=questions)
        cosines = [cosine(vectors[0], vector) for vector in vectors[1:]]
        mean = math.fsum(cosines) / len(cosines)
        flags = (*(["CLAMPED"] if not 0 <= mean <= 1 else []),
                 *(["LANGUAGE_MISMATCH"] if any(script(one) != script(asked) for one in questions) else []))
        return Score.of(min(1.0, max(0.0, mean)), f"mean cosine of {len(cosines)} questions with the one asked",
                        flags=flags, noncommittal=0, questions=questions, cosines=cosines)

    def _questions(self, response: str, language: str | None) -> Any:
        """The questions that are not blank, and whether most replies call the response noncommittal."""
        if not self.isolated:
            one = yield GenerateQuestions(response, self.strictness, language)
            questions = list(one.questions)
            if not one.noncommittal and len(questions) < self.strictness:
                missing = yield [GenerateQuestions(response, self.strictness - len(questions), language, draw=1)]
                questions += [] if isinstance(missing[0], JudgeFault) else missing[0].questions
            return questions[: self.strictness], one.noncommittal
        answers = yield [GenerateQuestions(response, 1, language, draw=draw) for draw in range(self.strictness)]
        valid = [answer for answer in answers if not isinstance(answer, JudgeFault)]
        if len(valid) < math.ceil(self.strictness / 2):
            raise next(answer for answer in answers if isinstance(answer, JudgeFault))
        questions = [question for answer in valid for question in answer.questions]
        noncommittal = sum(answer.noncommittal for answer in valid) * 2 > len(valid)
        if not noncommittal and len(questions) < len(valid):
            draws = range(self.strictness, self.strictness + len(valid) - len(questions))
            more = yield [GenerateQuestions(response, 1, language, draw=draw) for draw in draws]
            questions += [one for answer in more if not isinstance(answer, JudgeFault) for one in answer.questions]
        return questions, noncommittal
