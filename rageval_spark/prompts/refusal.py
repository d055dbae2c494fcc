"""Refusals: does a text decline to answer?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.prompt import Binary, Prompt, ReplyModel


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
1. A real attempt is 0, even if it is wrong, partial, hedged or followed by a warning.
2. An apology with nothing of the answer behind it is 1, however long it is and whatever else it offers.
3. "No" or "there is none" as the answer to the question is 0.
4. Whether declining was right does not matter. Where "history" is given, "question" is the next turn of that conversation.

Refused (1): question "How long is the warranty?", text "The handbook does not say how long the warranty is. Please contact support."
Not refused (0): the same question, text "I am not certain, but the handbook mentions two years for batteries".""",
        "zh": """\
判断 "text" 是否拒绝回答 "question"。

定义：文本完全没有给出答案时 refused 为 1：它说不知道、不能或不便回答、文档中没有说明，或者只是要求澄清、问候、表示收到。否则为 0。

规则：
1. 真正尝试回答为 0，即使答错、只答一部分、语气不确定或附有提醒。
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
