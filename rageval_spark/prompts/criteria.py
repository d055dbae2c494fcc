"""A user's own criterion: a rating on a scale of five levels, or a question that is answered by yes or no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.errors import ConfigError
from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.prompt import Binary, Level, Prompt, Reason, ReplyModel, Text
from rageval_spark.sample import Sample, blank
from rageval_spark.score import Skip

NEEDED: Mapping[str, str | None] = {
    "user_input": "NO_QUESTION", "response": "NO_ANSWER", "retrieved_contexts": "NO_CONTEXT", "reference": "NO_REFERENCE",
    "history": None,
}  # fmt: skip
"""The sample fields that a judge can be shown, and the code where one is missing; a first turn has no history."""


@dataclass(frozen=True)
class Shown:
    """What a judge is shown of a sample, as far as a metric asks for it."""

    contexts: tuple[Text, ...] = ()
    history: tuple[tuple[str, str], ...] | None = None
    question: str | None = None
    response: str | None = None
    reference: str | None = None

    @classmethod
    def of(cls, sample: Sample, fields: Sequence[str]) -> Shown:
        """These fields of the sample; contexts keep their rank as id, blank ones are left out.

        Raises Skip with a field's code where it is missing or blank; a response may be blank, but not missing.
        """
        missing = {"user_input": not sample.has_question, "response": sample.response is None,
                   "retrieved_contexts": not sample.has_context, "reference": blank(sample.reference_text)}
        for name in fields:
            if missing.get(name) and (code := NEEDED[name]):
                raise Skip(code)
        chunks = enumerate(sample.retrieved_contexts or (), 1)
        values: dict[str, Any] = {
            "retrieved_contexts": tuple((rank, text) for rank, text in chunks if not blank(text)), "history": sample.history,
            "user_input": sample.user_input, "response": sample.response, "reference": sample.reference_text}
        names = {"retrieved_contexts": "contexts", "user_input": "question"}
        return cls(**{names.get(name, name): values[name] for name in fields})

    def data(self) -> dict[str, Any]:
        texts = {"question": self.question, "response": self.response, "reference": self.reference}
        contexts = {"contexts": self.contexts} if self.contexts else {}
        return {**contexts, **turns(self.history), **{name: text for name, text in texts.items() if text is not None}}


def checked(metric: str, question: str, fields: Sequence[str]) -> tuple[str, ...]:
    """The fields of a metric's parameters. Raises ConfigError for a blank question and for fields that cannot be shown."""
    if blank(question):
        raise ConfigError(f"{metric} needs question: what is to be judged, in your own words")
    if not set(fields) & (set(NEEDED) - {"history"}) or not set(fields) <= set(NEEDED):
        raise ConfigError(f"{metric}: fields lists what the judge is shown, of {', '.join(NEEDED)} (not history alone), "
                          f"found {list(fields)!r}")
    return tuple(dict.fromkeys(fields))


class Leveled(ReplyModel):
    reason: Reason = ""
    rating: Level


class Held(ReplyModel):
    reason: Reason = ""
    verdict: Binary


@dataclass(frozen=True)
class ScoreRubric(Prompt):
    """The level, 1 to 5, of a user's scale that fits best: a Decision. Never divided: a scale is of the whole."""

    kind: ClassVar[str] = "score_rubric"
    model: ClassVar[type[ReplyModel]] = Leveled
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Rate the data by a scale. What is rated: {criterion}

Definition: the rating is the level of this scale whose description fits the data best.
{levels}

Rules:
1. Read all levels before you decide. Where two fit equally well, take the lower.
2. The descriptions alone decide, not how well you like a text. Length, style and language count only where they are named there.
3. Judge by the data alone. What you know yourself counts only where what is rated cannot be judged without it.
4. "question" is what a user asked, "response" what the system answered, "contexts" what it had found, "reference" the right answer, "history" the earlier turns, as far as they are given.

Passes: rated is "Is the response polite?", level 4 is "polite, but cool", response "The form is on page 2. Kind regards." is 4.
Fails: the same response rated 2 because it is short: the scale does not name length.

{reasons}Give one rating.""",
        "zh": """\
按等级标准为材料评分。评分内容：{criterion}

定义：评分为以下标准中描述与材料最相符的等级。
{levels}

规则：
1. 先读完所有等级再作判断。两个等级同样相符时，取较低者。
2. 只依据等级的描述，不依据你是否喜欢某段文字。长短、文风和语言只有在描述中写明时才算。
3. 只依据材料判断。只有不用你自己的知识就无法评判时，才可以使用。
4. 在给出的范围内，"question" 是用户的提问，"response" 是系统的回答，"contexts" 是系统找到的内容，"reference" 是正确答案，"history" 是先前的对话。

正确：评分内容为“回答是否礼貌？”，等级 4 为“礼貌但冷淡”，回答“表格在第2页。此致敬礼。”评 4。
错误：因为同一回答很短而评 2：标准中没有写明长短。

{reasons}给出一个评分。""",
    }

    criterion: str
    levels: tuple[str, ...]
    shown: Shown

    def data(self) -> dict[str, Any]:
        return self.shown.data()

    def fill_in(self, language: str) -> Mapping[str, str]:
        levels = "\n".join(f"{level} = {words.strip()}" for level, words in enumerate(self.levels, 1))
        return {"criterion": self.criterion.strip(), "levels": levels,
                **{"en": {"fails": "less than 5", "what": "what keeps it from 5"},
                   "zh": {"fails": "低于 5 分", "what": "为何未达到 5"}}[language]}

    def value(self, reply: Mapping[str, Any]) -> Decision:
        return Decision(reply["rating"], reply.get("reason", ""))


@dataclass(frozen=True)
class CheckAspect(Prompt):
    """A user's question about the data, answered by yes (1) or no (0): a Decision. Never divided.

    `yes_is_good` tells which of the two is the one to give a reason for.
    """

    kind: ClassVar[str] = "check_aspect"
    model: ClassVar[type[ReplyModel]] = Held
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Answer a yes-or-no question about the data. It is: {criterion}

Definition: verdict is 1 (yes) when a careful reader of the data must answer it with yes; otherwise 0 (no).

Rules:
1. Take it literally. It alone decides, not how well you like a text. Length, style and language count only where it names them.
2. Where it asks for several things at once, all of them must hold for 1. Where the data does not tell, it is 0.
3. Judge by the data alone. What you know yourself counts only where it cannot be answered without it.
4. "question" is what a user asked, "response" what the system answered, "contexts" what it had found, "reference" the right answer, "history" the earlier turns, as far as they are given.

Yes (1): asked is "Does the response name a price?", response "Pro is 20 euros a month."
No (0): the same, response "Pro is cheaper than our other plans."

{reasons}Give one verdict.""",
        "zh": """\
用是或否回答一个关于材料的问题。问题是：{criterion}

定义：仔细阅读材料的人必然回答“是”时，verdict 为 1（是）；否则为 0（否）。

规则：
1. 按字面理解。只依据这个问题，不依据你是否喜欢某段文字。长短、文风和语言只有在问题中写明时才算。
2. 同时问到几件事时，全部成立才为 1。材料没有说明时为 0。
3. 只依据材料判断。只有不用你自己的知识就无法回答时，才可以使用。
4. 在给出的范围内，"question" 是用户的提问，"response" 是系统的回答，"contexts" 是系统找到的内容，"reference" 是正确答案，"history" 是先前的对话。

是（1）：问题为“回答是否写明了价格？”，回答“专业版每月20元。”
否（0）：同一问题，回答“专业版比其他版本便宜。”

{reasons}给出一个判断。""",
    }

    criterion: str
    shown: Shown
    yes_is_good: bool = True

    def data(self) -> dict[str, Any]:
        return self.shown.data()

    def fill_in(self, language: str) -> Mapping[str, str]:
        bad = 1 - int(self.yes_is_good)
        return {"criterion": self.criterion.strip(), **{"en": {"fails": str(bad), "what": "what decides"},
                                                        "zh": {"fails": f" {bad} ", "what": "依据"}}[language]}

    def value(self, reply: Mapping[str, Any]) -> Decision:
        return Decision(reply["verdict"], reply.get("reason", ""))
