"""Refusals: does a text decline to answer, and is there an answer in the contexts?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts import length
from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.prompt import Binary, Prompt, Reason, ReplyModel, Text


class Refused(ReplyModel):
    refused: Binary


@dataclass(frozen=True)
class DetectRefusal(Prompt):
    """Whether a text declines to answer the question; its value is a bool."""

    kind: ClassVar[str] = "detect_refusal"
    model: ClassVar[type[ReplyModel]] = Refused
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide whether "text" declines to answer "question".

Definition: refused is 1 when the text gives no answer at all: it says that it does not know, cannot or may not answer, that the documents do not tell, or it only asks back, greets or acknowledges. Otherwise it is 0.

Rules:
1. A real attempt is 0, even if it is wrong, hedged or followed by a warning, or answers one part and says that it does not know another.
2. An apology with nothing of the answer behind it is 1, however long it is and whatever else it offers.
3. "No" or "there is none" as the answer to the question is 0.
4. Whether declining was right does not matter. Where "history" is given, "question" is the next turn of that conversation.

Refused (1): question "How long is the warranty?", text "The handbook does not say how long the warranty is. Please contact support."
Not refused (0): the same question, text "I am not certain, but the handbook mentions two years for batteries".""",
        "zh": """\
判断 "text" 是否拒绝回答 "question"。

定义：文本完全没有给出答案时 refused 为 1：它说不知道、不能或不便回答、文档中没有说明，或者只是要求澄清、问候、表示收到。否则为 0。

规则：
1. 真正尝试回答为 0，即使答错、语气不确定、附有提醒，或只答一部分而说明其余不知道。
2. 只有道歉而没有任何答案内容为 1，无论写得多长、另外提供了什么。
3. 对问题本身回答“不”“没有”为 0。
4. 拒绝得是否恰当不作考虑。给出 "history" 时，"question" 是该对话的下一轮。

拒绝（1）：问题“保修期多长？”，文本“手册没有说明保修期，请联系客服。”
未拒绝（0）：同一问题，文本“我不太确定，但手册提到电池保修两年。”""",
    }

    question: str
    text: str
    history: tuple[tuple[str, str], ...] | None = None

    def data(self) -> dict[str, Any]:
        return {**turns(self.history), "question": self.question, "text": self.text}

    def value(self, reply: Mapping[str, Any]) -> bool:
        return bool(reply["refused"])


class Answerable(ReplyModel):
    reason: Reason = ""
    answerable: Binary


@dataclass(frozen=True)
class JudgeAnswerable(Prompt):
    """Whether the contexts hold an answer to the question: a Decision of 1 or 0.

    Contexts beyond the token limit are judged in groups; one group with an answer is enough.
    """

    kind: ClassVar[str] = "judge_answerable"
    model: ClassVar[type[ReplyModel]] = Answerable
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide whether "question" can be answered from "contexts".

Definition: answerable is 1 when the contexts, alone or taken together, state the answer to the question or to one whole part of it, or that the thing asked for does not exist. Otherwise it is 0.

Rules:
1. The same subject is not enough: contexts about the same name but another matter, another time or another version are 0.
2. What follows at once from the contexts (sums, "older than", a part of a list) is an answer. What could be guessed is none.
3. What you know yourself does not count, nor whether the contexts are right.
4. Where "history" is given, "question" is the next turn of that conversation.

Answerable (1): question "How long is the trial and what does it cost?", contexts "The trial of every plan runs for 14 days."
Not answerable (0): the same question, contexts "Every plan can be tried before it is bought."

{reasons}Give one verdict.""",
        "zh": """\
判断能否依据 "contexts" 回答 "question"。

定义：各段内容单独或合起来说明了问题的答案或其中一个完整部分的答案，或说明所问之事不存在，answerable 为 1；否则为 0。

规则：
1. 主题相同不够：名称相同但说的是另一件事、另一时间或另一版本，为 0。
2. 由内容直接推出的（求和、“早于”、列表的一部分）是答案。只能猜测的不是。
3. 你自己的知识不算，内容是否正确也不论。
4. 给出 "history" 时，"question" 是该对话的下一轮。

可以回答（1）：问题“试用期多长，费用多少？”，内容“所有版本均可试用14天。”
无法回答（0）：同一问题，内容“所有版本购买前均可试用。”

{reasons}给出一个判断。""",
    }

    question: str
    contexts: tuple[Text, ...]
    history: tuple[tuple[str, str], ...] | None = None

    def data(self) -> dict[str, Any]:
        return {"contexts": self.contexts, **turns(self.history), "question": self.question}

    def value(self, reply: Mapping[str, Any]) -> Decision:
        return Decision(reply["answerable"], reply.get("reason", ""))

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        space = length.room(token_limit, self.question, *(text for _, text in self.history or ()))
        groups, split = length.packed(self.contexts, space)
        return [replace(self, contexts=group, context_split=split) for group in groups]

    def join(self, parts: Sequence[Any], answers: Sequence[Any]) -> Decision:
        decided = [answer for answer in answers if isinstance(answer, Decision)]
        if found := next((one for one in decided if one.value), None):
            return found
        if fault := next((answer for answer in answers if isinstance(answer, JudgeFault)), None):
            raise fault
        return decided[0]
