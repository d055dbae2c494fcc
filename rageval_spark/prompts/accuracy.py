"""Accuracy: is a response right by the reference?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.items import Decision
from rageval_spark.prompts.prompt import Prompt, Rating, Reason, ReplyModel


class Accuracy(ReplyModel):
    reason: Reason = ""
    rating: Rating


@dataclass(frozen=True)
class JudgeAccuracy(Prompt):
    """How far a response agrees with the reference, or with the nearest of several: a Decision of 0, 1 or 2."""

    kind: ClassVar[str] = "judge_accuracy"
    model: ClassVar[type[ReplyModel]] = Accuracy
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Rate how far "response" gives the right answer to "question". What is right is what "reference" says.

Definition: 2 = it gives all that the reference answers to the question, and contradicts none of it; 1 = it gives a part of that answer, and another part is missing or wrong; 0 = it gives none of it, or no answer at all.

Rules:
1. Only what "question" asks for counts. Background that the response leaves out, and additions that do not contradict "reference", change nothing.
2. Another number, date, name, unit, condition or negation than in "reference" is wrong, even if you know it to be true. What you know yourself does not count.
3. Other words, another order, a shorter form of the same name, another way to write the same number or date, and an answer that follows at once from the response are right. Repeating the question, or a step on the way to the answer, is no part of it.
4. Where "reference" says that there is no answer, a response that says so too is 2, and any other is 0.
5. Where "reference" lists several texts, each alone is a right answer: rate by the one that is nearest. Where "history" is given, "question" is the next turn of that conversation.

Rating 2: question "When did the bridge open and who built it?", reference "In May 1932; Dorman Long built it after eight years of planning.", response "Built by Dorman Long, it opened in 05/1932."
Rating 1: the same question and reference, response "It opened in May 1932."
Rating 0: the same question and reference, response "It opened in 1923 and is 500 m long."

{reasons}Give one rating.""",
        "zh": """\
评定 "response" 在多大程度上给出了 "question" 的正确答案。以 "reference" 所说为正确。

定义：2 = 给出了参考答案对该问题的全部回答，且没有与之矛盾；1 = 给出了其中一部分，另一部分缺少或错误；0 = 完全没有给出，或根本没有回答。

规则：
1. 只看 "question" 所问的内容。未提及背景，或补充了与 "reference" 不矛盾的内容，都不影响评分。
2. 数字、日期、名称、单位、条件或否定与 "reference" 不同即为错误，即使你知道它是真的。你自己的知识不算。
3. 措辞不同、顺序不同、同一名称的简称、同一数字或日期的另一种写法，均为正确；由回复直接推出的答案也正确。重复问题或只给出得出答案的中间步骤，不算答案的一部分。
4. "reference" 说明没有答案时，同样这样说的回答为 2，其他回答为 0。
5. "reference" 列出多个文本时，每个单独都是正确答案：按最接近的一个评分。给出 "history" 时，"question" 是该对话的下一轮。

评 2 分：问题“大桥何时通车，由谁建造？”，参考答案“1932年5月；由多门朗公司建造，筹划了八年。”，回答“由多门朗公司建造，1932/05通车。”
评 1 分：同样的问题和参考答案，回答“1932年5月通车。”
评 0 分：同样的问题和参考答案，回答“1923年通车，全长500米。”

{reasons}给出一个评分。""",
    }

    question: str
    response: str
    references: tuple[str, ...]
    history: tuple[tuple[str, str], ...] | None = None

    def data(self) -> dict[str, Any]:
        several = len(self.references) > 1
        reference = tuple(enumerate(self.references, 1)) if several else self.references[0]
        return {**turns(self.history), "question": self.question, "response": self.response, "reference": reference}

    def fill_in(self, language: str) -> Mapping[str, str]:
        return {"fails": {"en": "0 or 1", "zh": " 0 或 1 "}[language]}

    def value(self, reply: Mapping[str, Any]) -> Decision:
        return Decision(reply["rating"], reply.get("reason", ""))
