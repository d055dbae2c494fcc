"""A sample as a conversation: who said what, and which tools were called."""

from __future__ import annotations

from collections.abc import Iterable

from rageval_spark.messages import ASSISTANT, USER, Call, Message, read_messages, read_role
from rageval_spark.sample import Sample, blank


def conversation_of(sample: Sample) -> tuple[Message, ...]:
    """The sample's `messages`; without them its history, question and response, as far as there are any.

    A history without roles is taken to alternate. Raises SampleFault for a message of a form that is not known.
    """
    if sample.messages is not None:
        return read_messages("messages", sample.messages)
    history = sample.history or ()
    if not any(role for role, _ in history):
        roles = (ASSISTANT, USER) * len(history)  # from the last back: the question comes after an answer
        history = tuple((role, text) for role, (_, text) in zip(reversed(roles[: len(history)]), history, strict=True))
    last = ((USER, sample.user_input), (ASSISTANT, sample.response))
    return tuple(Message(read_role(role), text) for role, text in (*history, *last) if text is not None and not blank(text))


def replies_in(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The turns of the assistant: each message of it is one."""
    return tuple(message for message in messages if message.role == ASSISTANT)


def calls_in(messages: Iterable[Message]) -> tuple[Call, ...]:
    """The calls of all turns of the assistant, in their order."""
    return tuple(call for message in replies_in(messages) for call in message.calls)
