"""Sentences: which of the contexts' help with a question, and which of a response's state a fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rageval_spark.prompts import length
from rageval_spark.prompts.claims import turns
from rageval_spark.prompts.items import Item, ItemPrompt, Verdict, Verdicts
from rageval_spark.prompts.prompt import Prompt, ReplyModel, Text


@dataclass(frozen=True)
class SentencePrompt(ItemPrompt):
    """One verdict per sentence: at most twenty a prompt; a sentence beyond the token limit in pieces, one of which is
    enough."""

    model: ClassVar[type[ReplyModel]] = Verdicts
    element: ClassVar[type[Item]] = Verdict
    replies_in: ClassVar[str] = "verdicts"
    decides: ClassVar[str] = "verdict"
    max_items: ClassVar[int] = 20

    sentences: tuple[Text, ...]
    question: str = ""
    history: tuple[tuple[str, str], ...] | None = None

    @property
    def items(self) -> tuple[Text, ...]:
        return self.sentences

    def with_items(self, items: tuple[Text, ...]) -> SentencePrompt:
        return replace(self, sentences=items)

    def data(self) -> dict[str, Any]:
        return {**turns(self.history), "question": self.question, "sentences": self.sentences}

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        space = length.room(token_limit, self.question, *(text for _, text in self.history or ()))
        groups, split = length.packed(self.sentences, space, self.max_items)
        return [replace(self, sentences=group, context_split=split) for group in groups]


@dataclass(frozen=True)
class JudgeSentences(SentencePrompt):
    """Which sentences of the contexts help to answer the question: a Decision of 1 or 0 by id."""

    kind: ClassVar[str] = "judge_sentences"
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide for each sentence under "sentences" whether it helps to answer "question". The sentences stand in the order of the documents they come from.

Definition: 1 when the sentence states something that belongs in an answer of a few sentences to the question: the answer, a part of it, a condition of it, or the evidence for it; otherwise 0.

Rules:
1. The same subject is not enough: a sentence about the same thing that tells nothing of what is asked is 0, and so are consequences and further details. Where "history" is given, "question" is the next turn of that conversation.
2. Read a sentence with those before it, to know what "it" or "there" stands for. A sentence that only names the person, thing or time which such a "it" or "there" refers to is 1 where the question does not name it.
3. Where one sentence was cut into pieces, the piece that carries the content is 1; a bare piece of a name is 0. Headings, links, advertisements and introductions without a fact are 0.
4. Whether the sentence is right does not matter, nor what you know yourself. That the thing asked for does not exist, or that the question takes something wrong for granted, is an answer: 1.

Passes: question "When is the museum closed?", sentence "On Mondays its doors stay shut." is 1.
Fails: the same question, sentence "The museum shows glass from four centuries." is 0.

{reasons}Give one verdict for each id.""",
        "zh": """\
判断 "sentences" 中的每个句子是否有助于回答 "question"。句子按其所在文档中的顺序排列。

定义：句子陈述了应写入几句话答案的内容，即答案本身、其中一部分、其条件或依据，为 1；否则为 0。

规则：
1. 主题相同不够：说的是同一事物、但与所问无关的句子为 0，后果和进一步的细节也为 0。给出 "history" 时，"question" 是该对话的下一轮。
2. 请结合前面的句子来理解“它”“那里”所指。只给出所指的人、事物或时间的句子，如果问题没有点名，则为 1。
3. 一句话被切成几段时，承载内容的一段为 1，只剩名称片段的为 0。没有事实的标题、链接、广告和引言为 0。
4. 句子是否正确不论，你自己的知识也不算。说明所问之事不存在，或问题的前提有误，也是答案：1。

通过：问题“博物馆哪天闭馆？”，句子“周一大门不开。”为 1。
不通过：同一问题，句子“博物馆展出四百年来的玻璃器皿。”为 0。

{reasons}每个编号给出一个判断。""",
    }


@dataclass(frozen=True)
class FindStatements(SentencePrompt):
    """Which sentences of a response state a fact, for which a source can be asked: a Decision of 1 or 0 by id."""

    kind: ClassVar[str] = "find_statements"
    deciding: ClassVar[bool] = False
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide for each sentence under "sentences", which together answer "question", whether it states a fact.

Definition: 1 when the sentence says something that is true or false and for which a reader could ask the source; otherwise 0.

Rules:
1. Questions, greetings, offers of help and announcements ("Here is an overview:") are 0. So are statements that the answer is not known or not in the documents.
2. A step to take, a recommendation with its content, a number, a heading that states something: 1.
3. A sentence with a fact and a greeting is 1. Where "history" is given, "question" is the next turn of that conversation.
4. Whether the fact is right, important or well known does not matter.

Passes: "Yes, the pass costs 90 euros." is 1.
Fails: "I hope this helps with your plans." is 0.

{reasons}Give one verdict for each id.""",
        "zh": """\
"sentences" 中的句子合起来回答 "question"。判断每个句子是否陈述了事实。

定义：句子说了可以判断真假、读者可以追问出处的内容，为 1；否则为 0。

规则：
1. 提问、问候、主动提供帮助和引语（“概述如下：”）为 0；“答案未知”“文档中没有”之类的说法也为 0。
2. 操作步骤、有具体内容的建议、数字、陈述了内容的标题为 1。
3. 既有事实又有问候的句子为 1。给出 "history" 时，"question" 是该对话的下一轮。
4. 事实是否正确、是否重要、是否众所周知，均不考虑。

通过：“是的，年票90元。”为 1。
不通过：“希望对您的计划有帮助。”为 0。

{reasons}每个编号给出一个判断。""",
    }
