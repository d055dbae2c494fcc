"""Reverse questions: which questions does a text answer?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.prompts.prompt import Binary, Id, Prompt, ReplyModel, ReplyText


class Question(ReplyModel):
    id: Id
    question: ReplyText


class Questions(ReplyModel):
    noncommittal: Binary
    questions: list[Question]


@dataclass(frozen=True)
class Generated:
    """The questions that were written (blanks left out), and whether the text evades an answer."""

    noncommittal: bool
    questions: tuple[str, ...]


@dataclass(frozen=True)
class GenerateQuestions(Prompt):
    """`n` questions that a text answers, and whether it is noncommittal; its value is Generated.

    The judge does not see the user's question, only the name of its language.
    """

    kind: ClassVar[str] = "generate_questions"
    model: ClassVar[type[ReplyModel]] = Questions
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Write {n} questions that "text" answers, and decide whether it is noncommittal.

Definition: each question is one that a user may have asked to get exactly this text: the whole of the text answers it, and nothing in it is beside the point. noncommittal is 1 when the text evades an answer ("I do not know", "that depends" and no more, "the documents do not say"), else 0.

Rules:
1. Ask for what the text mainly says, with its names and terms. Do not ask for a side remark or a single word.
2. Ask as a user would, without "according to the text". Do not put the answer into the question.
3. Several questions differ in wording or angle, not in subject.
4. A text that commits to something is 0, even with a caveat. Write questions for a noncommittal text too: those it evades.

Good: text "Orders can be returned within 30 days in the original box." gives "What are the conditions for returning an order?"
Bad: "Can orders be returned within 30 days?" (holds the answer), "What box is needed?" (a side remark).
noncommittal 1: text "I am sorry, I have no information on that." noncommittal 0: text "Usually 30 days, though sales items may differ."

Write every question in {language}. Number them from 1.""",
        "zh": """\
写出 {n} 个由 "text" 回答的问题，并判断它是否回避作答。

定义：每个问题都应是用户为得到这段文本而可能提出的问题：文本整体回答了它，且没有离题内容。文本回避作答（“我不知道”“视情况而定”“文档没有说明”）时 noncommittal 为 1，否则为 0。

规则：
1. 针对文本的主要内容提问，使用其中的名称和术语。不要针对旁枝末节或单个词提问。
2. 像用户那样提问，不写“根据文本”。不要把答案写进问题里。
3. 各个问题措辞或角度不同，但主题相同。
4. 文本作出了明确回答即为 0，附带保留也一样。回避作答的文本也要写出问题：即它所回避的问题。

正确：文本“订单可在30天内凭原包装退货。”得到“订单退货需要满足什么条件？”
错误：“订单可以在30天内退货吗？”（含有答案），“需要什么包装？”（旁枝末节）。
noncommittal 为 1：文本“抱歉，我没有这方面的信息。”为 0：文本“一般是30天，促销商品可能不同。”

每个问题都用{language}书写，从 1 开始编号。""",
    }
    SAME_LANGUAGE: ClassVar[Mapping[str, str]] = {"en": 'the language of "text"', "zh": ' "text" 所用的语言'}
    IN_CHINESE: ClassVar[Mapping[str, str]] = {
        "Chinese": "中文", "English": "英文", "Japanese": "日文", "Korean": "韩文", "German": "德文", "French": "法文",
        "Spanish": "西班牙文", "Portuguese": "葡萄牙文", "Italian": "意大利文", "Dutch": "荷兰文", "Russian": "俄文",
        "Thai": "泰文", "Arabic": "阿拉伯文", "Hebrew": "希伯来文", "Hindi": "印地文", "Greek": "希腊文",
    }  # fmt: skip

    text: str
    n: int = 3
    language: str | None = None

    def data(self) -> dict[str, Any]:
        return {"text": self.text, "n": self.n}

    def fill_in(self, language: str) -> Mapping[str, str]:
        name = self.language or self.SAME_LANGUAGE[language]
        return {"n": str(self.n), "language": self.IN_CHINESE.get(name, name) if language == "zh" else name}

    def value(self, reply: Mapping[str, Any]) -> Generated:
        written = [one["question"] for one in reply["questions"] if one["question"].strip()]
        return Generated(bool(reply["noncommittal"]), tuple(written[: self.n]))
