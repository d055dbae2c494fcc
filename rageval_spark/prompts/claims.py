"""Claims: list those of a text, and verify them against contexts or another text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts import length
from rageval_spark.prompts.items import Item, ItemPrompt, Verdict, Verdicts, chunked
from rageval_spark.prompts.language import sentences
from rageval_spark.prompts.prompt import Id, Prompt, ReplyModel, ReplyText, Text


class Claim(ReplyModel):
    id: Id
    text: ReplyText


class Claims(ReplyModel):
    claims: list[Claim]


@dataclass(frozen=True)
class ListClaims(Prompt):
    """The claims that a text makes; its value is their texts in order, blanks left out.

    `question` and `history` only serve to understand the text. `insist` asks again after an empty list.
    """

    kind: ClassVar[str] = "list_claims"
    deciding: ClassVar[bool] = False
    model: ClassVar[type[ReplyModel]] = Claims
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
List the claims that "text" makes.

Definition: a claim is one statement of fact that is true or false by itself.

Rules:
1. Cover all that "text" asserts, in its order; a step to take or a recommendation is a claim too ("To export, click Save."). Add nothing and correct nothing: a false statement is a claim.
2. One fact a claim; a claim that is repeated is listed once. Keep numbers, names, dates, units, conditions, negations and hedges ("up to", "may") exactly. Leave out where the text says that it has a fact from ("according to passage 2").
3. Each claim must be understood alone: put names in place of "it", "they", "there". Use "question" (and "history", the earlier turns, where it is given) only for that. If the text is a bare answer ("Paris", "Yes"), make it a full sentence with what the question asks.
4. No claims: questions, greetings, offers of help, and statements that the answer is not known, not given or not in the documents. If there is nothing else, the list is empty.

Good: question "When did the bridge open and who built it?", text "It opened in May 1932, and Dorman Long built it." gives "The bridge opened in May 1932." and "Dorman Long built the bridge."
Bad for that text: "It opened." (not understood alone, the date is lost), "The bridge opened in 1932 and was built by Dorman Long." (two facts, the month is lost).
Good: text "I could not find the price in the manual." gives no claim.

Write each claim in the language of "text". Number them from 1.{insist}""",
        "zh": """\
列出 "text" 所作出的全部陈述。

定义：一条陈述是一个可以单独判断真假的事实性说法。

规则：
1. 按原文顺序覆盖 "text" 断言的全部内容；操作步骤和建议也是陈述（“导出时点击保存。”）。不添加，不纠正：错误的说法同样是一条陈述。
2. 一条陈述只含一个事实，重复的陈述只列一次。数字、名称、日期、单位、条件、否定和限定语（“最多”“可能”）必须原样保留。文本所说的事实出处（“根据第二段”）略去不写。
3. 每条陈述单独读也要明白：把“它”“他们”“那里”换成所指的名称；"question"（以及给出时的 "history"，即先前的对话）只用于此。如果文本只是一个简短的答案（“巴黎”“是的”），请结合问题把它写成完整的句子。
4. 以下不算陈述：提问、问候、主动提供帮助，以及“不知道”“未提供”“文档中没有”之类的说法。若除此之外别无内容，列表为空。

正确：问题“大桥何时通车，由谁建造？”，文本“它于1932年5月通车，由多门朗公司建造。”得到“大桥于1932年5月通车。”和“大桥由多门朗公司建造。”
错误：对同一文本写成“它通车了。”（单独读不明白，且丢了日期）或“大桥于1932年通车并由多门朗公司建造。”（含两个事实，且丢了月份）。
正确：文本“我在手册中没有找到价格。”得到零条陈述。

每条陈述使用 "text" 的语言书写，从 1 开始编号。{insist}""",
    }
    INSISTENCE: ClassVar[Mapping[str, str]] = {
        "en": '\nAn earlier reply listed nothing. Look again, sentence by sentence, and leave the list empty only if "text" really states nothing.',
        "zh": '\n先前的回复没有列出任何内容。请逐句重新查看，只有当 "text" 确实没有任何陈述时才让列表为空。',
    }

    question: str
    text: str
    history: tuple[tuple[str, str], ...] | None = None
    insist: bool = False

    def data(self) -> dict[str, Any]:
        return {**turns(self.history), "question": self.question, "text": self.text}

    def fill_in(self, language: str) -> Mapping[str, str]:
        return {"insist": self.INSISTENCE[language] if self.insist else ""}

    def value(self, reply: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(claim["text"] for claim in reply["claims"] if claim["text"].strip())

    def merge(self, replies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        texts = [claim["text"] for reply in replies for claim in reply["claims"]]
        return {"claims": [{"id": id, "text": text} for id, text in enumerate(texts, 1)]}

    def halves(self) -> Sequence[Prompt]:
        parts = sentences(self.text)
        middle = len(parts) // 2
        return [replace(self, text=" ".join(half)) for half in (parts[:middle], parts[middle:])] if middle else ()

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        space = length.room(token_limit, self.question, *(text for _, text in self.history or ()))
        if length.tokens(self.text) <= space:
            return (self,)
        groups, _ = length.packed(list(enumerate(sentences(self.text), 1)), space)
        return [replace(self, text=" ".join(text for _, text in group)) for group in groups]

    def join(self, parts: Sequence[Any], answers: Sequence[Any]) -> tuple[str, ...]:
        for answer in answers:
            if isinstance(answer, JudgeFault):
                raise answer
        return tuple(claim for answer in answers for claim in answer)


@dataclass(frozen=True)
class VerifyClaims(ItemPrompt):
    """Which claims the contexts (or another text) support: a Decision of 1 or 0 by claim id.

    `question` is given only where the single claim is a short answer that is read together with it. Contexts beyond
    the token limit are judged in groups; a claim is supported when one group supports it.
    """

    kind: ClassVar[str] = "verify_claims"
    model: ClassVar[type[ReplyModel]] = Verdicts
    element: ClassVar[type[Item]] = Verdict
    replies_in: ClassVar[str] = "verdicts"
    decides: ClassVar[str] = "verdict"
    max_items: ClassVar[int] = 20
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide for each claim under "claims" whether "{premise}" supports it.

Definition: a claim is supported (1) when a careful reader of "{premise}" alone must agree that it is true; otherwise it is not supported (0).

Rules:
1. Not mentioned is 0, even if nothing contradicts it. A claim needs support for all of its parts.
2. Another number, date, name, unit, condition, hedge or negation than in "{premise}" is 0. Rounding is 1 only where the claim itself says so ("about", "around", "nearly").
3. True in the world but not in "{premise}" is 0. What you know yourself does not count.
4. A fair summary or paraphrase, and what follows at once from "{premise}" (sums, "older than", a part of a list), is 1. So is a claim that one passage states while others are silent or say otherwise.
{with_question}
Passes: "{premise}" says "The pass costs 90 euros a year and 9 euros a month." Claim "The pass is available monthly for 9 euros." is 1.
Fails: with the same "{premise}", claim "The pass costs 90 euros a year and can be cancelled." is 0: cancelling is not mentioned.

{reasons}Give one verdict for each id.""",
        "zh": """\
判断 "claims" 中的每条陈述是否得到 "{premise}" 的支持。

定义：仅凭 "{premise}" 仔细阅读的人必然同意该陈述为真，则为支持（1）；否则为不支持（0）。

规则：
1. 没有提到即为 0，即使没有任何矛盾。陈述的每个部分都需要得到支持。
2. 数字、日期、名称、单位、条件、限定语或否定与 "{premise}" 不同，即为 0。只有陈述自己写明“约”“左右”“将近”时，四舍五入才算 1。
3. 现实中为真但 "{premise}" 中没有，即为 0。你自己的知识不算。
4. 恰当的概括或转述，以及由 "{premise}" 直接推出的内容（求和、“早于”、列表的一部分）为 1。有一段说明而其他各段未提或说法不同，也为 1。
{with_question}
通过："{premise}" 中写有“年票90元，月票9元。”陈述“月票售价9元。”为 1。
不通过：同样的 "{premise}"，陈述“年票90元，可以退票。”为 0：没有提到退票。

{reasons}每个编号给出一个判断。""",
    }
    WITH_QUESTION: ClassVar[Mapping[str, str]] = {
        "en": 'The claim is a short answer to "question": read the two together as one statement.\n',
        "zh": '该陈述是对 "question" 的简短回答：请把两者合起来当作一条完整的陈述。\n',
    }

    claims: tuple[Text, ...]
    contexts: tuple[Text, ...] = ()
    text: str | None = None
    question: str | None = None

    def data(self) -> dict[str, Any]:
        premise = {"contexts": self.contexts} if self.text is None else {}
        question = {"question": self.question} if self.question else {}
        text = {"text": self.text} if self.text is not None else {}
        return {**premise, **question, **text, "claims": self.claims}

    def fill_in(self, language: str) -> Mapping[str, str]:
        return {
            "premise": "contexts" if self.text is None else "text",
            "with_question": self.WITH_QUESTION[language] if self.question else "",
        }

    @property
    def items(self) -> tuple[Text, ...]:
        return self.claims

    def with_items(self, items: tuple[Text, ...]) -> VerifyClaims:
        return replace(self, claims=items)

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        parts: list[Prompt] = []
        for claims in chunked(self.claims, self.max_items):
            space = length.room(token_limit, self.question or "", *(claim for _, claim in claims))
            whole = self.contexts if self.text is None else ((1, self.text),)
            for group in (packing := length.packed(whole, space))[0]:
                mine = replace(self, claims=tuple(claims), context_split=packing[1])
                parts.append(replace(mine, contexts=group) if self.text is None else replace(mine, text=group[0][1]))
        return parts


def turns(history: tuple[tuple[str, str], ...] | None) -> dict[str, Any]:
    """The data entry of earlier turns; empty where there are none, so that it changes no key."""
    return {"history": [{"role": role, "text": text} for role, text in history]} if history else {}
