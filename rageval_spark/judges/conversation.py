"""How one prompt is brought to an accepted reply: asked, repaired, enlarged, halved. A generator without I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rageval_spark.errors import JudgeFault
from rageval_spark.judges.reading import CUT, FILTERED, read
from rageval_spark.prompts.items import ItemPrompt
from rageval_spark.prompts.prompt import Prompt, Unacceptable
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
    """What to send next: a prompt (or the part of it still open), a note on the last reply, an output budget."""

    prompt: Prompt
    note: str = ""
    max_output_tokens: int | None = None


@dataclass(frozen=True)
class Completion:
    """What a server sent back for one turn. Tokens are None where it does not say."""

    text: str
    finish_reason: str | None = "stop"
    model: str | None = None
    fingerprint: str | None = None
    usage: Usage = Usage()


@dataclass(frozen=True)
class Answer:
    """An accepted reply: its JSON with repairs merged in, the texts as received, what it took, flags for the score."""

    reply: Mapping[str, Any]
    raw: tuple[str, ...]
    usage: Usage
    served_model: str | None
    fingerprint: str | None
    flags: tuple[str, ...] = ()


def converse(prompt: Prompt, language: str, budget: int | None = None) -> Generator[Turn, Completion, Answer]:
    """Ask until every item is accepted: at most two repairs, which ask for what is missing alone; a reply cut by the
    output limit once with twice the budget, then in halves.

    Raises JudgeFault with the last fault's code, and the items that were accepted as `partial`.
    """
    open_turns = deque([Turn(prompt, max_output_tokens=budget)])
    replies: list[dict[str, Any]] = []
    raw: list[str] = []
    usage, last, repairs, enlarged, halved, surplus = Usage(prompts=1), Completion(""), 0, False, False, False

    def fault(code: str, why: str) -> JudgeFault:
        said = f"{why}; the judge wrote: {_shown(last.text)}" if last.text else f"{why}; the reply is empty"
        partial = prompt.value(prompt.merge(replies)) if replies and isinstance(prompt, ItemPrompt) else {}
        return JudgeFault(code, said, partial=partial, usage=usage)

    while open_turns:
        turn = open_turns.popleft()
        last = yield turn
        usage += last.usage
        raw.append(last.text)
        if last.finish_reason in FILTERED:
            raise fault("JUDGE_CONTENT_FILTER", "the judge's content filter stopped the reply")
        if last.finish_reason in CUT:
            if not enlarged:
                enlarged = True
                used = turn.max_output_tokens or last.usage.completion_tokens or 1024
                open_turns.appendleft(replace(turn, max_output_tokens=2 * used))
            elif not halved and (halves := turn.prompt.halves()):
                halved = True
                open_turns.extendleft(replace(turn, prompt=half) for half in reversed(halves))
            else:
                raise fault("JUDGE_TRUNCATED", "the reply was cut by the output limit")
            continue
        missing: Mapping[int, tuple[str, str]] = {}
        try:
            accepted = read(turn.prompt, last.text)
            replies.append(accepted.reply)
            surplus |= accepted.surplus
            missing = accepted.missing
            if not missing:
                continue
            code, why = next(iter(missing.values()))
            why = f"id {next(iter(missing))}: {why}"
        except Unacceptable as refused:
            code, why = refused.code, refused.why
        if repairs == MAX_REPAIRS:
            raise fault(code, why)
        repairs += 1
        ask = ASK_IDS[language].format(ids=", ".join(map(str, missing))) if missing else ASK_ALL[language]
        note = REPAIR[language].replace("{fault}", why).replace("{ask}", ask)
        rest = turn.prompt.only(tuple(missing)) if missing else turn.prompt
        open_turns.appendleft(replace(turn, prompt=rest, note=note))
    flags = ("REPAIRED",) if repairs or surplus else ()
    return Answer(prompt.merge(replies), tuple(raw), usage, last.model, last.fingerprint, flags)


def _shown(text: str, width: int = 120) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= width else line[: width - 1] + "…")
