"""The response as an answer to its question: how far it goes, and which of the things asked for it covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.items import Decisions, Item, ItemPrompt, Rated
from rageval_spark.prompts.prompt import (
    Accepted,
    Binary,
    Id,
    Level,
    Prompt,
    Reason,
    ReplyModel,
    ReplyText,
    Text,
)
from rageval_spark.values import well_formed


class GradedAnswer(ReplyModel):
    reason: Reason = ""
    refused: Binary
    rating: Level


@dataclass(frozen=True)
class Graded:
    """A rating from 1 to 5, and whether the response declines to answer."""

    rating: int
    refused: bool
    reason: str = ""


@dataclass(frozen=True)
class RateAnswer(Prompt):
    """How far a response answers its question, right or wrong; its value is Graded."""

    kind: ClassVar[str] = "rate_answer"
    model: ClassVar[type[ReplyModel]] = GradedAnswer
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Rate how far "response" answers "question".

Definition: 5 = it answers all that was asked and nothing else; 4 = it answers all that was asked, with a digression or a small gap; 3 = it answers a part of what was asked; 2 = it touches the subject, but answers no part; 1 = it is about something else, or declines to answer. refused is 1 when the response gives no answer at all (it does not know, may not, or only asks back), else 0.

Rules:
1. Whether the answer is right does not count, nor what you know yourself.
2. Length, style and politeness do not count, only what is answered.
3. A hedged or partial answer is rated for what it answers; it does not decline.
4. Where "history" is given, "question" is the next turn of that conversation.

Rating 5: question "What does the pass cost, and who pays less?", response "90 euros; students pay 60."
Rating 3: the same question, response "The pass costs 90 euros."

{reasons}Give one rating.""",
        "zh": """\
评价 "response" 在多大程度上回答了 "question"。

定义：5 = 回答了所问的全部且没有多余内容；4 = 回答了所问的全部，但有离题或小缺漏；3 = 回答了所问的一部分；2 = 触及主题，但没有回答任何部分；1 = 说的是别的事，或拒绝回答。回复完全没有给出答案（不知道、不便回答或只是反问）时 refused 为 1，否则为 0。

规则：
1. 答案是否正确不论，你自己的知识也不算。
2. 长短、文风和礼貌不论，只看回答了什么。
3. 语气不确定或只答一部分的，按其回答的内容评分，不算拒绝。
4. 给出 "history" 时，"question" 是该对话的下一轮。

评 5 分：问题“年票多少钱，谁可以优惠？”，回复“90元，学生60元。”
评 3 分：同一问题，回复“年票90元。”

{reasons}给出一个评分。""",
    }

    question: str
    response: str
    history: tuple[tuple[str, str], ...] | None = None

    def data(self) -> dict[str, Any]:
        return {**turns(self.history), "question": self.question, "response": self.response}

    def value(self, reply: Mapping[str, Any]) -> Graded:
        return Graded(reply["rating"], bool(reply["refused"]), reply.get("reason", ""))


class Intent(ReplyModel):
    id: Id
    text: ReplyText


class Intents(ReplyModel):
    intents: list[Intent]


@dataclass(frozen=True)
class ListIntents(Prompt):
    """The things that a question asks for; its value is their texts in order, blanks left out."""

    kind: ClassVar[str] = "list_intents"
    deciding: ClassVar[bool] = False
    model: ClassVar[type[ReplyModel]] = Intents
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
List what "question" asks for.

Definition: an intent is one thing that the asker wants to be told, which can be answered or left out by itself.

Rules:
1. One thing an intent: "What does it cost and how long is the trial?" has two. A condition ("for students") belongs to its intent.
2. Only what is asked. Do not add what might be useful as well.
3. Each intent must be understood alone: put names in place of "it" or "there" (from "history", the earlier turns, where it is given).
4. From 1 to 8 intents; a simple question has one.

Good: question "How do I export a report, and can I schedule it?" gives "how to export a report" and "whether the export of a report can be scheduled".
Bad: "the formats of a report" (not asked).

Write each in the language of "question". Number them from 1.""",
        "zh": """\
列出 "question" 所问的各个方面。

定义：一个方面是提问者想知道的一件事，可以单独回答，也可以单独遗漏。

规则：
1. 一件事一个方面：“多少钱，试用期多长？”有两个。条件（“学生”）属于其所在的方面。
2. 只列所问的内容，不添加可能也有用的内容。
3. 每个方面单独读也要明白：把“它”“那里”换成所指的名称（给出 "history" 即先前对话时，从中得知）。
4. 1 到 8 个方面；简单的问题只有一个。

正确：问题“报表怎么导出，能定时吗？”得到“如何导出报表”和“报表导出能否定时”。
错误：“报表有哪些格式”（没有问）。

使用 "question" 的语言书写，从 1 开始编号。""",
    }

    question: str
    history: tuple[tuple[str, str], ...] | None = None

    def data(self) -> dict[str, Any]:
        return {**turns(self.history), "question": self.question}

    def value(self, reply: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(intent["text"] for intent in reply["intents"] if intent["text"].strip())


class IntentRatings(ReplyModel):
    ratings: list[Rated]
    redundant: list[ReplyText]


class IntentDecisions(Decisions):
    """Decisions by intent id, and what the response says that was not asked for."""

    redundant: tuple[str, ...] = ()


@dataclass(frozen=True)
class RateIntents(ItemPrompt):
    """How far a response covers each intent: a Decision of 0, 1 or 2 by intent id, and what it says besides."""

    kind: ClassVar[str] = "rate_intents"
    model: ClassVar[type[ReplyModel]] = IntentRatings
    element: ClassVar[type[Item]] = Rated
    replies_in: ClassVar[str] = "ratings"
    decides: ClassVar[str] = "rating"
    best: ClassVar[int] = 2
    max_items: ClassVar[int] = 20
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide for each intent under "intents" how far "response" covers it, and name what it says besides.

Definition: 2 = the response tells what the intent asks for; 1 = it tells a part, or only where to find it; 0 = it does not.

Rules:
1. Whether what it tells is right does not count, nor what you know yourself.
2. "It does not exist" and "it is not possible" cover an intent (2); "I do not know" does not (0).
3. One sentence may cover several intents.
4. redundant: each matter in the response that no intent asks for, in a few words; greetings and what is needed to understand the answer are none. Leave it empty if there is nothing.

Rating 2: intent "what the pass costs", response "90 euros a year."
Rating 1: the same intent, response "Prices are on our website."

{reasons}Give one rating for each id.""",
        "zh": """\
判断 "response" 对 "intents" 中每个方面的回答程度，并列出它多说的内容。

定义：2 = 回复说明了该方面所问的内容；1 = 只说明了一部分，或只说明去哪里找；0 = 没有说明。

规则：
1. 所说是否正确不论，你自己的知识也不算。
2. “不存在”“不可以”算作回答（2）；“不知道”不算（0）。
3. 一句话可以回答多个方面。
4. redundant：回复中没有任何方面问到的内容，每项用几个词写出；问候语和理解答案所必需的内容不算。没有则留空。

评 2 分：方面“年票的价格”，回复“每年90元。”
评 1 分：同一方面，回复“价格见我们的网站。”

{reasons}每个编号给出一个评分。""",
    }

    intents: tuple[Text, ...]
    response: str

    @property
    def items(self) -> tuple[Text, ...]:
        return self.intents

    def with_items(self, items: tuple[Text, ...]) -> RateIntents:
        return replace(self, intents=items)

    def data(self) -> dict[str, Any]:
        return {"response": self.response, "intents": self.intents}

    def accept(self, reply: Any) -> Accepted:
        accepted = super().accept(reply)
        said = reply.get("redundant")
        besides = [well_formed(one) for one in said if isinstance(one, str) and one.strip()] if isinstance(said, list) else []
        return replace(accepted, reply={**accepted.reply, "redundant": besides})

    def merge(self, replies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        besides = dict.fromkeys(one for reply in replies for one in reply.get("redundant", ()))
        return {**super().merge(replies), "redundant": list(besides)}

    def value(self, reply: Mapping[str, Any]) -> IntentDecisions:
        decisions = IntentDecisions(super().value(reply))
        decisions.redundant = tuple(reply.get("redundant", ()))
        return decisions
