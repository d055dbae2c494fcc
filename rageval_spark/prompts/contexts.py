"""Contexts: how much each helps with the question, and which were of use for a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.prompts import length
from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.items import ContextItemPrompt, Item, Rated, Ratings, Verdict, Verdicts
from rageval_spark.prompts.prompt import ReplyModel


@dataclass(frozen=True)
class RateContexts(ContextItemPrompt):
    """How much each context helps with the question: a Decision of 0, 1 or 2 by context id."""

    model: ClassVar[type[ReplyModel]] = Ratings
    element: ClassVar[type[Item]] = Rated
    replies_in: ClassVar[str] = "ratings"
    decides: ClassVar[str] = "rating"
    best: ClassVar[int] = 2

    question: str = ""
    history: tuple[tuple[str, str], ...] | None = None

    def data(self) -> dict[str, Any]:
        return {"contexts": self.contexts, **turns(self.history), "question": self.question}

    def room(self, token_limit: int) -> int:
        return length.room(token_limit, self.question, *(text for _, text in self.history or ()))


@dataclass(frozen=True)
class RateContexts1(RateContexts):
    """The first of two independently worded rubrics: what does the context hold?"""

    kind: ClassVar[str] = "rate_contexts_1"
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Rate each context under "contexts" by how much of an answer to "question" it holds.

Definition: 2 = it is enough to answer the question, or to answer one whole part of it; 1 = it is about what is asked, but gives too little to answer any part; 0 = it holds nothing that helps.

Rules:
1. Rate each context by itself, as if it were the only one. Their order means nothing. Where "history" is given, "question" is the next turn of that conversation.
2. Shared words are not enough: about the same name but another matter, another time or another version is 0.
3. What you know yourself does not count, nor whether the context is right: it is rated for what it says.
4. A context that states that the thing asked for does not exist answers the question: 2.

Rating 2: question "What does the Pro plan cost and how long is its trial?", context "Pro is 20 euros a month."
Rating 1: the same question, context "Pro is our plan for growing teams and can be tried for free."
Rating 0: the same question, context "Professional services are billed by the hour."

{reasons}Give one rating for each id.""",
        "zh": """\
按 "contexts" 中每段内容包含多少 "question" 的答案来评分。

定义：2 = 足以回答问题，或足以完整回答其中一个部分；1 = 与所问有关，但不足以回答任何一个部分；0 = 没有任何有帮助的内容。

规则：
1. 每段单独评分，就像只有这一段。先后顺序没有意义。给出 "history" 时，"question" 是该对话的下一轮。
2. 仅有相同的词语不够：名称相同但说的是另一件事、另一时间或另一版本，为 0。
3. 你自己的知识不算，内容是否正确也不论：只看它说了什么。
4. 说明所问之事不存在的内容就是答案：2。

评 2 分：问题“专业版多少钱，试用期多长？”，内容“专业版每月20元。”
评 1 分：同一问题，内容“专业版适合成长中的团队，可免费试用。”
评 0 分：同一问题，内容“专业服务按小时计费。”

{reasons}每个编号给出一个评分。""",
    }


@dataclass(frozen=True)
class RateContexts2(RateContexts):
    """The second rubric: what could a writer do with the context?"""

    kind: ClassVar[str] = "rate_contexts_2"
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
A writer must answer "question" and may use one passage only. Rate for each passage under "contexts" how far the writer gets.

Definition: 2 = from this passage alone the writer can completely answer the question or one whole part of it (also that the thing asked for does not exist); 1 = the passage is on the right subject, but the writer must look further before writing anything definite; 0 = the passage is of no use, and setting it aside loses nothing.

Rules:
1. Take the passages one at a time; do not compare them and do not combine them. Where "history" is given, "question" is the next turn of that conversation.
2. A passage that could mislead, because it treats a similar but different thing, is 0.
3. The writer knows nothing but the passage. Do not fill gaps from your own knowledge.
4. Length and style do not count: one short sentence with the answer is 2, a long page without it is 1 or 0.

Rating 2: question "Which ports must be open for the agent?", passage "The agent talks over 443 and 8125."
Rating 1: the same question, passage "The agent needs outbound network access; see the port list."
Rating 0: the same question, passage "The agents of our call centre are reachable from 8 to 18."

{reasons}Give one rating for each id.""",
        "zh": """\
有人必须回答 "question"，而且只能使用一段材料。请为 "contexts" 中的每段材料评分：凭它能写到什么程度。

定义：2 = 仅凭这段材料就能完整回答问题或其中一个完整的部分（包括说明所问之事不存在）；1 = 这段材料方向正确，但还须另查才能写出任何确定的内容；0 = 这段材料毫无用处，舍弃它没有任何损失。

规则：
1. 逐段评分，不互相比较，也不合并使用。给出 "history" 时，"question" 是该对话的下一轮。
2. 讲的是相似而不同的事物、可能造成误导的材料为 0。
3. 写作者除这段材料外一无所知。不要用你自己的知识补充。
4. 长短和文风不论：一句话给出答案为 2，长篇而没有答案为 1 或 0。

评 2 分：问题“代理程序需要开放哪些端口？”，材料“代理程序使用443和8125端口。”
评 1 分：同一问题，材料“代理程序需要访问外网，端口见列表。”
评 0 分：同一问题，材料“我们的代理商每天八点到十八点接听电话。”

{reasons}每个编号给出一个评分。""",
    }


@dataclass(frozen=True)
class JudgeUsefulness(ContextItemPrompt):
    """Which contexts help to arrive at a text, the reference or the response: a Decision of 1 or 0 by context id."""

    kind: ClassVar[str] = "judge_usefulness"
    model: ClassVar[type[ReplyModel]] = Verdicts
    element: ClassVar[type[Item]] = Verdict
    replies_in: ClassVar[str] = "verdicts"
    decides: ClassVar[str] = "verdict"
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide for each context under "contexts" whether it helps to arrive at "{target}" as the answer to "question".

Definition: 1 when the context states at least one fact that "{target}" gives as part of the answer, or from which that fact follows; otherwise 0.

Rules:
1. The same subject is not enough: a context that neither states a fact of "{target}" nor lets it follow is 0. Where "history" is given, "question" is the next turn of that conversation.
2. The same matter with another number, date or name than "{target}" is 0.
3. What you know yourself does not count. A context is not useful because you know that "{target}" is true.
4. The fact may be put in other words or be a part of a longer passage: 1. A context need not support all of "{target}".

Passes: {target} "The museum opens at ten and is closed on Mondays.", context "Monday is the day of rest for our museum's staff; the doors stay shut." is 1.
Fails: the same {target}, context "The museum shows glass and silver from four centuries." is 0: it holds neither fact.

{reasons}Give one verdict for each id.""",
        "zh": """\
判断 "contexts" 中的每段内容是否有助于得出 "{target}" 作为 "question" 的答案。

定义：内容至少陈述了 "{target}" 答案中的一个事实，或能由其推出该事实，为 1；否则为 0。

规则：
1. 主题相同不够：既没有陈述、也不能推出 "{target}" 中任何事实的内容为 0。给出 "history" 时，"question" 是该对话的下一轮。
2. 说的是同一件事，但数字、日期或名称与 "{target}" 不同，为 0。
3. 你自己的知识不算。不能因为你知道 "{target}" 是对的，就认为内容有用。
4. 换一种说法，或只是长段中的一部分，也为 1。内容不必支持 "{target}" 的全部。

通过："{target}" 为“博物馆十点开门，周一闭馆。”，内容“周一是本馆员工的休息日，大门不开。”为 1。
不通过：同样的 "{target}"，内容“博物馆展出四百年来的玻璃和银器。”为 0：两个事实都没有。

{reasons}每个编号给出一个判断。""",
    }

    question: str = ""
    reference: str | None = None
    response: str | None = None
    history: tuple[tuple[str, str], ...] | None = None

    def data(self) -> dict[str, Any]:
        target = {"response": self.response} if self.reference is None else {"reference": self.reference}
        return {"contexts": self.contexts, **turns(self.history), "question": self.question, **target}

    def fill_in(self, language: str) -> Mapping[str, str]:
        return {"target": "response" if self.reference is None else "reference"}

    def room(self, token_limit: int) -> int:
        others = (self.question, self.reference or self.response or "", *(text for _, text in self.history or ()))
        return length.room(token_limit, *others)
