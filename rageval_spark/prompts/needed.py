"""Which claims of a response the question asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.items import Item, ItemPrompt, Verdict, Verdicts, chunked
from rageval_spark.prompts.prompt import Prompt, ReplyModel, Text


@dataclass(frozen=True)
class JudgeNeeded(ItemPrompt):
    """Which claims of a response are needed to answer the question: a Decision of 1 or 0 by claim id."""

    kind: ClassVar[str] = "judge_needed"
    model: ClassVar[type[ReplyModel]] = Verdicts
    element: ClassVar[type[Item]] = Verdict
    replies_in: ClassVar[str] = "verdicts"
    decides: ClassVar[str] = "verdict"
    max_items: ClassVar[int] = 20
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Someone asked "question" and was given the claims under "claims". Decide for each claim whether it was needed.

Definition: needed is 1 when the claim answers the question or a part of it, or when without it an answer among the claims could not be understood or would mislead; otherwise 0.

Rules:
1. True, interesting or on the same subject is not enough. What was not asked for is 0. Where "history" is given, "question" is the next turn of that conversation.
2. A claim that repeats in other words what an earlier claim says is 0.
3. A condition, exception or unit that changes the answer is needed; background, history and praise are not.
4. Whether a claim is right does not matter: a wrong answer to the question is an answer (1).

Passes: question "What does the pass cost?", claim "The pass costs 90 euros a year, 60 for students." is 1.
Fails: the same question, claim "The pass was introduced in 1998." is 0.

{reasons}Give one verdict for each id.""",
        "zh": """\
有人提出了 "question"，得到了 "claims" 中的陈述。判断每条陈述是否必要。

定义：陈述回答了问题或其中一部分，或者缺少它，其他作为答案的陈述就无法理解或会误导人，为 1；否则为 0。

规则：
1. 真实、有趣或主题相同还不够。没有问到的内容为 0。给出 "history" 时，"question" 是该对话的下一轮。
2. 换一种说法重复先前陈述的为 0。
3. 会改变答案的条件、例外或单位是必要的；背景、历史和赞美不是。
4. 陈述是否正确不论：对问题的错误回答也是回答（1）。

通过：问题“年票多少钱？”，陈述“年票90元，学生60元。”为 1。
不通过：同一问题，陈述“年票于1998年推出。”为 0。

{reasons}每个编号给出一个判断。""",
    }

    claims: tuple[Text, ...]
    question: str = ""
    history: tuple[tuple[str, str], ...] | None = None

    @property
    def items(self) -> tuple[Text, ...]:
        return self.claims

    def with_items(self, items: tuple[Text, ...]) -> JudgeNeeded:
        return replace(self, claims=items)

    def data(self) -> dict[str, Any]:
        return {**turns(self.history), "question": self.question, "claims": self.claims}

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        return [replace(self, claims=tuple(claims)) for claims in chunked(self.claims, self.max_items)]
