"""Goals: what did the user of a conversation want, and was it reached?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts import length
from rageval_spark.prompts.language import normalised
from rageval_spark.prompts.prompt import (
    Accepted,
    Binary,
    Id,
    Prompt,
    Reason,
    ReplyModel,
    ReplyText,
    Unacceptable,
)
from rageval_spark.prompts.rendering import one_line

Spoken = tuple[str, str, tuple[str, ...]]
"""A message: its role, its text, and the tool calls in it as texts."""


class Goal(ReplyModel):
    goal: ReplyText
    end_state: ReplyText


class Step(ReplyModel):
    id: Id
    text: ReplyText
    done: Binary


class Checked(ReplyModel):
    steps: list[Step]
    reason: Reason = ""
    achieved: Binary
    notes: Reason = ""


@dataclass(frozen=True)
class InferredGoal:
    """What the user wanted, and the state in which it is reached."""

    goal: str
    end_state: str


@dataclass(frozen=True)
class GoalCheck:
    """Whether a goal was achieved, the distinct steps that it needs with whether each is done, and remarks."""

    achieved: bool
    steps: tuple[tuple[str, bool], ...]
    reason: str = ""
    notes: str = ""


@dataclass(frozen=True)
class ConversationPrompt(Prompt):
    """A prompt over a whole conversation, which is never cut: one that is too long is not asked."""

    messages: tuple[Spoken, ...]

    def spoken(self) -> dict[str, Any]:
        return {"messages": [{"role": role, "text": text, **({"calls": list(calls)} if calls else {})}
                             for role, text, calls in self.messages]}

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        needs = length.tokens(one_line(self.data())) + length.INSTRUCTION_TOKENS
        if needs > token_limit:
            raise JudgeFault("CONTEXT_TOO_LONG", f"the conversation makes a prompt of about {needs} tokens, and the judge takes "
                                                 f"{token_limit} (judge.prompt_token_limit); it is not judged in parts")
        return (self,)


@dataclass(frozen=True)
class InferGoal(ConversationPrompt):
    """What the user of a conversation wanted; its value is InferredGoal."""

    kind: ClassVar[str] = "infer_goal"
    deciding: ClassVar[bool] = False
    model: ClassVar[type[ReplyModel]] = Goal
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
State what the user wants in the conversation under "messages", and the state in which that is reached.

Definition: goal is what the user asks to have done or to know, in one sentence. end_state is what must be true or visible at the end of the conversation so that anyone can see that the goal is reached.

Rules:
1. Take the goal from what the user says alone. What the assistant did or claims is no goal.
2. Keep every condition: numbers, names, dates, limits, the form that is asked for. Add none.
3. Where the user changes the goal on the way, the last form holds; goals that are added belong to it.
4. Where the user wants to know something, end_state is that the assistant has told it.

Good: user "Book me a table for two tonight", later "Make it three" gives goal "Book a table for three tonight.", end_state "A table for three people is booked for tonight."
Bad: goal "Help the user." (says nothing), end_state "The assistant says that it booked a table." (a claim is no state).

Write both in the language of the user.""",
        "zh": """\
写出 "messages" 这段对话中用户想要什么，以及怎样的状态表示已经达到。

定义：goal 用一句话写明用户要求完成或想知道的事。end_state 写明对话结束时什么必须成立或可见，任何人据此都能看出目标已达到。

规则：
1. 目标只取自用户所说的话。助手做了什么、声称什么，都不是目标。
2. 保留每个条件：数字、名称、日期、限制、要求的形式。不添加条件。
3. 用户中途改变目标的，以最后的说法为准；追加的目标也算在内。
4. 用户想知道某事时，end_state 就是助手已把它告诉用户。

正确：用户“帮我订今晚两人的位子”，后来“改成三人”，得到 goal“预订今晚三人的位子。”，end_state“今晚三人的位子已经订好。”
错误：goal“帮助用户。”（没有内容），end_state“助手说它订好了位子。”（声称不是状态）。

两者都用用户的语言书写。""",
    }

    def data(self) -> dict[str, Any]:
        return self.spoken()

    def accept(self, reply: Any) -> Accepted:
        accepted = super().accept(reply)
        if blank := [name for name in ("goal", "end_state") if not accepted.reply[name].strip()]:
            raise Unacceptable("JUDGE_SCHEMA", f"{blank[0]}: must not be blank")
        return accepted

    def value(self, reply: Mapping[str, Any]) -> InferredGoal:
        return InferredGoal(reply["goal"].strip(), reply["end_state"].strip())


@dataclass(frozen=True)
class CheckGoal(ConversationPrompt):
    """Whether a conversation reaches a goal, and by which steps; its value is GoalCheck."""

    kind: ClassVar[str] = "check_goal"
    model: ClassVar[type[ReplyModel]] = Checked
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
Decide whether the conversation under "messages" reaches "goal".{with_end_state}

Definition: steps are the parts that "goal" consists of, 1 to 10, each of which can be done or left undone. done is 1 when the conversation shows that the step is completed, else 0. achieved is 1 when at the end of the conversation everything that "goal" asks for is the case, else 0.

Rules:
1. List what "goal" needs, not what the assistant did; a goal of one part is one step. Add no condition of your own.
2. The assistant saying that it did something is no proof: done needs the result of a tool, or content that stands in the conversation itself. Information counts as given when the assistant states it to the user.
3. A tool call without a result, or whose result is an error, completes nothing. An attempt, a promise or an offer is 0.
4. Another number, name, date or condition than "goal" asks for is 0. How the goal was reached does not matter, nor how politely.
5. What was done counts unless it was undone or failed later.

Achieved (1): goal "Book a table for three tonight", a call book(people=3), its result "confirmed, 19:30", the assistant "Your table is booked."
Not achieved (0): the same goal, and only the assistant "Done, your table for three is booked!": no result shows it.

{reasons}In "notes" say in one short sentence what was good or poor about the way to the goal, or leave it empty. Number the steps from 1. Write in the language of "goal".""",
        "zh": """\
判断 "messages" 这段对话是否达到了 "goal"。{with_end_state}

定义：steps 是 "goal" 所包含的各个部分，1 至 10 个，每个都可以完成或未完成。对话表明该步骤已完成则 done 为 1，否则为 0。对话结束时 "goal" 要求的一切都已成立则 achieved 为 1，否则为 0。

规则：
1. 列出 "goal" 所需要的，而不是助手做过的；只有一个部分的目标就是一个步骤。不要自行添加条件。
2. 助手声称做了某事不是证明：done 需要工具的结果，或对话中确实存在的内容。助手把信息告诉了用户，即算已提供。
3. 没有结果的工具调用，或结果为错误的调用，什么也没有完成。尝试、承诺、提议都是 0。
4. 数字、名称、日期或条件与 "goal" 的要求不同，即为 0。以何种方式、是否礼貌地达到，不作考虑。
5. 已完成的算数，除非后来被撤销或失败。

达到（1）：目标“预订今晚三人的位子”，调用 book(people=3)，结果“已确认，19:30”，助手“位子订好了。”
未达到（0）：同一目标，只有助手说“好了，三人的位子已订好！”：没有结果能表明这一点。

{reasons}在 "notes" 中用一句短话说明达到目标的过程好在哪里或差在哪里，也可留空。步骤从 1 开始编号。用 "goal" 的语言书写。""",
    }
    WITH_END_STATE: ClassVar[Mapping[str, str]] = {
        "en": ' "end_state" says what is the case when it is reached.',
        "zh": ' "end_state" 说明达到时的状态。',
    }

    goal: str
    end_state: str | None = None

    def data(self) -> dict[str, Any]:
        end_state = {"end_state": self.end_state} if self.end_state else {}
        return {**self.spoken(), "goal": self.goal, **end_state}

    def fill_in(self, language: str) -> Mapping[str, str]:
        return {"with_end_state": self.WITH_END_STATE[language] if self.end_state else ""}

    def accept(self, reply: Any) -> Accepted:
        accepted = super().accept(reply)
        steps: dict[str, int] = {}
        for step in accepted.reply["steps"]:
            text = normalised(step["text"])
            if text and steps.setdefault(text, step["done"]) != step["done"]:
                raise Unacceptable("JUDGE_AMBIGUOUS", f"steps: the step with id {step['id']} is listed as done and as not done")
        if not steps:
            raise Unacceptable("JUDGE_SCHEMA", "steps: must list at least one step that the goal needs")
        if accepted.reply["achieved"] and not any(steps.values()):
            raise Unacceptable("JUDGE_AMBIGUOUS", "achieved is 1, but no step is done")
        return accepted

    def value(self, reply: Mapping[str, Any]) -> GoalCheck:
        distinct = {normalised(step["text"]): (step["text"].strip(), bool(step["done"])) for step in reply["steps"]}
        steps = tuple(step for text, step in distinct.items() if text)
        return GoalCheck(bool(reply["achieved"]), steps, reply["reason"], reply["notes"])
