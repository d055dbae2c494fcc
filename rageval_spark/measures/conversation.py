"""A sample as a conversation: who said what, and which tools were called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rageval_spark.errors import JudgeFault
from rageval_spark.measures.calls import Call, calls_of
from rageval_spark.sample import Sample, blank, well_formed

ASSISTANT, USER = "assistant", "user"
ROLES: Mapping[str, str] = {"ai": ASSISTANT, "bot": ASSISTANT, "model": ASSISTANT, "human": USER, "function": "tool"}
"""Other words for the roles of OpenAI's messages, as other tools have them."""


@dataclass(frozen=True)
class Message:
    role: str
    text: str
    calls: tuple[Call, ...] = ()


def conversation_of(sample: Sample) -> tuple[Message, ...]:
    """The sample's `messages`; without them its history, question and response, as far as there are any.

    A history without roles is taken to alternate. Raises JudgeFault(INVALID_INPUT) for a message that is none.
    """
    if sample.messages is not None:
        return tuple(map(_message, sample.messages))
    history = sample.history or ()
    if not any(role for role, _ in history):
        roles = (ASSISTANT, USER) * len(history)  # from the last back: the question comes after an answer
        history = tuple((role, text) for role, (_, text) in zip(reversed(roles[: len(history)]), history, strict=True))
    last = ((USER, sample.user_input), (ASSISTANT, sample.response))
    return tuple(Message(_role(role), text) for role, text in (*history, *last) if text is not None and not blank(text))


def replies_in(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The turns of the assistant: each message of it is one."""
    return tuple(message for message in messages if message.role == ASSISTANT)


def calls_in(messages: Iterable[Message]) -> tuple[Call, ...]:
    """The calls of all turns of the assistant, in their order."""
    return tuple(call for message in replies_in(messages) for call in message.calls)


def _message(item: Any) -> Message:
    """A message in the form of OpenAI's chat API, or of its Responses API or Anthropic's; role may stand as type or speaker,
    content as text."""
    role = next((item[key] for key in ("role", "type", "speaker") if item.get(key)), None) if isinstance(item, Mapping) else None
    if not isinstance(role, str):
        shown = well_formed(repr(item))
        raise JudgeFault("INVALID_INPUT", f"messages: expected objects with role and content, found {shown[:80]}")
    if role == "function_call":  # an item of OpenAI's Responses API
        return Message(ASSISTANT, "", calls_of("messages", [item]))
    called = item.get("tool_calls") or ([item["function_call"]] if item.get("function_call") else _used(item.get("content")))
    if not isinstance(called, Sequence) or isinstance(called, str):
        raise JudgeFault("INVALID_INPUT", f"messages: expected tool_calls as a list, found {well_formed(repr(called))[:80]}")
    return Message(_role(role), _text(item.get("content", item.get("text"))), calls_of("messages", called))


def _used(content: Any) -> list[Any]:
    """The calls that stand among the parts of a content, as Anthropic's API has them."""
    parts = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    return [part for part in parts if isinstance(part, Mapping) and part.get("type") == "tool_use"]


def _role(role: str) -> str:
    return ROLES.get(role.strip().casefold(), well_formed(role.strip().casefold()))


def _text(content: Any) -> str:
    """The text of a message's content, which may come in parts; a part without text leaves its type."""
    if isinstance(content, str):
        return well_formed(content)
    if isinstance(content, Sequence):
        return "\n".join(filter(None, map(_part, content)))
    return "" if content is None else well_formed(str(content))


def _part(part: Any) -> str:
    if isinstance(part, Mapping):
        return well_formed(part["text"] if isinstance(part.get("text"), str) else f"[{part.get('type', 'no text')}]")
    return well_formed(str(part))
