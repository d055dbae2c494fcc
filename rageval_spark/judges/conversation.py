"""How one prompt is brought to an accepted reply: asked, repaired, enlarged, halved. A generator without I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rageval_spark.errors import JudgeFault
from rageval_spark.judges.endings import ending_of
from rageval_spark.judges.reading import read
from rageval_spark.prompts.items import ItemPrompt
from rageval_spark.prompts.prompt import Accepted, Prompt, Unacceptable
from rageval_spark.score import Usage

MAX_REPAIRS = 2
REPAIR = {
    "en": "Your last reply could not be used: {fault}. {ask}",
    "zh": "你上一次的回复无法使用：{fault}。{ask}",
}
ASK_ALL = {"en": "Reply again, with one JSON object as described.", "zh": "请按要求重新回复一个 JSON 对象。"}
ASK_IDS = {"en": "Reply again for these ids only: {ids}.", "zh": "请只对以下编号重新回复：{ids}。"}


@dataclass(frozen=True)
class Turn:
    """What to send next: a prompt (or the part of it still open), a note on the last reply, an output budget.

    If the server refuses an `enlarged` budget, the conversation is sent a BudgetRefused and goes on with less to write.
    """

    prompt: Prompt
    note: str = ""
    max_output_tokens: int | None = None
    enlarged: bool = False


@dataclass(frozen=True)
class Completion:
    """What a server sent back for one turn. Tokens are None where it does not say.

    `elsewhere` says what an empty reply holds in other fields than those of an answer.
    """

    text: str
    finish_reason: str | None = "stop"
    model: str | None = None
    fingerprint: str | None = None
    usage: Usage = Usage()
    elsewhere: str = ""


@dataclass(frozen=True)
class BudgetRefused:
    """The server refused a turn with an enlarged output budget, in these words."""

    reason: str


@dataclass(frozen=True)
class Answer:
    """An accepted reply: its JSON with repairs merged in, the texts as received, what it took, flags for the score."""

    reply: Mapping[str, Any]
    raw: tuple[str, ...]
    usage: Usage
    served_model: str | None
    fingerprint: str | None
    flags: tuple[str, ...] = ()


REFUSES_A_BUDGET = (400, 413, 422)


def budget_refused(turn: Turn, fault: JudgeFault) -> BudgetRefused:
    """Return what to send the conversation if a server refused a turn, perhaps for its budget. Re-raises all other faults."""
    status = getattr(fault.__cause__, "status", None)
    if not turn.enlarged or status not in REFUSES_A_BUDGET or fault.code == "JUDGE_CONTENT_FILTER":
        raise fault
    return BudgetRefused(fault.reason)


def converse(prompt: Prompt, language: str, budget: int | None = None) -> Generator[Turn, Completion | BudgetRefused, Answer]:
    """Ask until every item is accepted. At most MAX_REPAIRS repairs ask for missing items alone. After a reply that was cut by
    the output limit, the turn is asked once with twice the budget, then in halves, and halves of these.

    A whole reply is accepted even if the server says that it was cut. Raises JudgeFault with the last fault's code,
    and the items that were accepted as `partial`.
    """
    open_turns = deque([Turn(prompt, max_output_tokens=budget)])
    replies: list[dict[str, Any]] = []
    raw: list[str] = []
    usage, last, repairs, enlarged, surplus = Usage(prompts=1), Completion(""), 0, False, False

    def fault(code: str, why: str) -> JudgeFault:
        if last.text:
            reason = f"{why}; the judge wrote: {_shown(last.text)}"
        else:
            reason = f"{why}; the reply is empty{last.elsewhere and f': {last.elsewhere}'}"
        partial = prompt.value(prompt.merge(replies)) if replies and isinstance(prompt, ItemPrompt) else {}
        return JudgeFault(code, reason, partial=partial, usage=usage)

    def halve(turn: Turn, why: str) -> None:
        halves = turn.prompt.halves()
        if not halves:
            raise fault("JUDGE_TRUNCATED", why)
        open_turns.extendleft(replace(turn, prompt=half) for half in reversed(halves))

    while open_turns:
        turn = open_turns.popleft()
        completion = yield turn
        if isinstance(completion, BudgetRefused):
            # the server's limit is not known: the halves are asked with the first budget, which it accepted
            halve(
                replace(turn, max_output_tokens=budget, enlarged=False),
                f"the reply was cut by the output limit, and a larger one was refused ({completion.reason})",
            )
            continue
        last = completion
        usage += last.usage
        raw.append(last.text)
        ending = ending_of(last.finish_reason)
        if ending == "filtered":
            raise fault("JUDGE_CONTENT_FILTER", f"the reply was stopped or declined (finish_reason {last.finish_reason!r})")
        missing: Mapping[int, tuple[str, str]] = {}
        try:
            accepted = _accept(turn.prompt, prompt, last.text, cut=ending == "cut")
            missing = accepted.missing
            if ending != "cut" or not missing:
                replies.append(accepted.reply)
                surplus |= accepted.surplus
                if not missing:
                    continue
                code, why = next(iter(missing.values()))
                why = f"id {next(iter(missing))}: {why}"
        except Unacceptable as unacceptable:
            code, why = unacceptable.code, unacceptable.why
        if ending == "cut":
            if enlarged:
                halve(turn, "the reply was cut by the output limit")
            else:
                enlarged = True
                used = turn.max_output_tokens or last.usage.completion_tokens or 1024
                open_turns.appendleft(replace(turn, max_output_tokens=2 * used, enlarged=True))
            continue
        if repairs == MAX_REPAIRS:
            raise fault(code, why)
        repairs += 1
        ask = ASK_IDS[language].format(ids=", ".join(map(str, missing))) if missing else ASK_ALL[language]
        note = REPAIR[language].replace("{fault}", why).replace("{ask}", ask)
        rest = turn.prompt.only(tuple(missing)) if missing else turn.prompt
        open_turns.appendleft(replace(turn, prompt=rest, note=note))
    flags = ("REPAIRED",) if repairs or surplus else ()
    return Answer(prompt.merge(replies), tuple(raw), usage, last.model, last.fingerprint, flags)


def _accept(part: Prompt, whole: Prompt, text: str, *, cut: bool) -> Accepted:
    """Read a reply to a part of a prompt. Raises Unacceptable, also if it answers ids that the whole does not have.

    Ids of the whole that are not open any more are dropped: the judge answered them before.
    """
    accepted = read(part, text, cut=cut)
    asked = {id for id, _ in whole.items} if isinstance(whole, ItemPrompt) else set()
    unknown = [id for id in accepted.not_asked if id not in asked]
    if unknown:
        ids = ", ".join(str(id)[:20] for id in unknown[:5])
        raise Unacceptable("JUDGE_COUNT_MISMATCH", f"the reply answers ids that were not asked: {ids}")
    return accepted


def _shown(text: str, width: int = 120) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= width else line[: width - 1] + "…")
