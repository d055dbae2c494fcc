"""Messages, read from the forms that judges' servers, SDKs and agent frameworks write.

What each kind of part is good for stands in one table, names.PARTS. A form that is not known is a SampleFault, never an empty
text or no calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rageval_spark.errors import SampleFault
from rageval_spark.messages.calls import Call, drop_repeats, read_calls, read_invalid_call
from rageval_spark.messages.names import (
    ASSISTANT,
    ASSISTANT_KEYS,
    CALL_KEYS,
    CALL_ROLES,
    CALLS_BEHIND,
    CONTENT_KEYS,
    LOOKS_LIKE_CALLS,
    NEUTRAL_KEYS,
    PARTS,
    REPEATING_KINDS,
    ROLE_KEYS,
    ROLES,
    SECOND_KEYS,
    SYSTEM,
    TOOL,
    USER,
    USER_KEYS,
    body_of,
    form_fault,
    is_hosted,
    kind_of,
    parse_text,
    read_role,
    snake_case,
)
from rageval_spark.messages.parts import Pieces, result_text, split_calls
from rageval_spark.values import is_missing, plain, well_formed


@dataclass(frozen=True)
class Message:
    role: str
    text: str
    calls: tuple[Call, ...] = ()


def read_messages(name: str, items: Iterable[Any]) -> tuple[Message, ...]:
    """Return the messages that a list holds. Calls belong to the assistant's message, results of calls are the tool's.

    Raises SampleFault naming the field `name`, the item, and what was found in it.
    """
    messages: list[Message] = []
    for number, item in enumerate(items, 1):
        place = f"{name}: item {number}"
        try:
            for message in _read_item(place, plain(item)):
                _append(messages, message)
        except RecursionError:
            raise SampleFault(f"{place}: it is nested too deeply") from None
    return tuple(messages)


def read_turns(name: str, items: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Return (role, text) of earlier turns: messages of any form, pairs of question and answer, or texts without roles.

    Messages that only call tools are left out. Raises SampleFault as read_messages does.
    """
    turns: list[tuple[str, str]] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, str) and not item.lstrip().startswith("{"):
            turns.append(("", well_formed(item)))
            continue
        if _is_exchange(item):
            sides = zip((USER, ASSISTANT), item, strict=True)
            messages = tuple(Message(role, text) for role, text in sides if not is_missing(text))
        else:
            try:
                messages = tuple(_read_item(f"{name}: item {number}", plain(item)))
            except RecursionError:
                raise SampleFault(f"{name}: item {number}: it is nested too deeply") from None
        turns += [(message.role, well_formed(message.text)) for message in messages if message.text or not message.calls]
    return tuple(turns)


def _append(messages: list[Message], message: Message) -> None:
    """Add a message; bare calls, as the Responses API lists them, belong to the reply that they follow."""
    if message.role == CALL_ROLES[0]:
        if messages and messages[-1].role == ASSISTANT:
            messages[-1] = replace(messages[-1], calls=(*messages[-1].calls, *message.calls))
            return
        message = replace(message, role=ASSISTANT)
    messages.append(message)


def _read_item(place: str, item: Any) -> Iterator[Message]:
    if isinstance(item, str) and item.lstrip().startswith("{"):
        item = parse_text(item)
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and read_role(item[0]) in ROLES.values():
        item = {"role": item[0], "content": item[1]}
    if not isinstance(item, Mapping):
        raise form_fault(place, "objects with role and content", item)
    body = body_of(item)
    kind = kind_of(body)
    role = _role(place, body, kind, item)
    # Envelopes: stored messages of LangChain, and those of servers and exports that keep the message under a key of its own.
    for key in ("kwargs", "data", "message"):
        if isinstance(body.get(key), Mapping) and not (role and body.keys() & {"content", "parts"}):
            inner = dict(body[key])
            return (yield from _read_item(place, {**inner, "role": role} if role and key != "message" else inner))
    content = body.get("content")
    if isinstance(content, Mapping) and {"role", "parts"} <= body_of(content).keys():  # an event of Google's ADK
        return (yield from _read_item(place, content))
    if role is None:
        if kind in PARTS or kind.startswith("tool-") or is_hosted(kind) or body.get("method") == "tools/call":
            yield from _lone_part(place, item)
        else:
            yield from _exchange(place, body, item)
    elif role in CALL_ROLES:
        text = next((body[key] for key in CONTENT_KEYS if key in body), None)
        if isinstance(text, list) and (pieces := _texts_of_parts(text)):
            text = "\n".join(pieces)
        parsed = parse_text(text.rpartition(CALLS_BEHIND)[2].strip()) if isinstance(text, str) else text
        calls = read_calls(place, parsed if isinstance(parsed, list) else [parsed])
        yield Message(CALL_ROLES[0], "", calls)
    elif role == TOOL:
        # body leaves out objects of nulls, but here they are what the tool returned
        held = {snake_case(str(key)): value for key, value in item.items() if value is not None}
        yield Message(TOOL, result_text(next((held[key] for key in CONTENT_KEYS if key in held), held)))
    else:
        yield from _message(place, role, body, item)


def _role(place: str, body: Mapping[str, Any], kind: str, item: Any) -> str | None:
    """The role of a message, or None where it names none. Raises SampleFault for a role that is no text."""
    if isinstance(body.get("lc"), int) and isinstance(body.get("id"), list) and body["id"]:
        kind = str(body["id"][-1]).casefold()  # the class that LangChain stored
    word = next((body[key] for key in ROLE_KEYS if body.get(key)), None)
    if isinstance(word, Mapping):  # Semantic Kernel's label, the author of an export
        word = next((value for value in map(body_of(word).get, ("role", "label", "name")) if value), None)
    if word is None and isinstance(body.get("source"), str):  # AutoGen: the user, or the name of an agent
        word = read_role(body["source"])
        word = word if word in ROLES.values() else ASSISTANT
    if word is None and read_role(kind.replace("_", "")) in ROLES.values() and (kind not in PARTS or "content" in body):
        word = kind.replace("_", "")
    if word is not None and not isinstance(word, str):
        raise form_fault(place, "objects with role and content", item)
    if word is None:
        return None
    return snake_case(word) if snake_case(word) in CALL_ROLES else read_role(word)


def _message(place: str, role: str, body: Mapping[str, Any], item: Mapping[Any, Any]) -> Iterator[Message]:
    texts: list[str] = []
    results: list[str] = []
    sources: list[list[Call]] = [[]]
    known = False
    for key in CALL_KEYS if kind_of(body) not in REPEATING_KINDS else ():
        if body.get(key):
            listed = _as_list(place, key, body[key])
            calls = read_calls(f"{place}: {key}", listed) if key != "invalid_tool_calls" else map(read_invalid_call, listed)
            sources[0] += calls
    for key in CONTENT_KEYS:
        pieces = Pieces(place)
        if key in body:
            pieces.add(body[key])
            known = known or pieces.known
        if pieces.texts and not texts:  # a content and its parts often hold the same text
            texts = pieces.texts
        results += pieces.results if not results else []
        sources.append(pieces.calls)
    more = body.get("additional_kwargs")
    for holder in (body, body_of(more) if isinstance(more, Mapping) else {}):
        sources += [list(read_calls(f"{place}: {key}", [holder[key]])) for key in SECOND_KEYS if holder.get(key)]
        if holder is not body:
            sources += [list(read_calls(f"{place}: {key}", _as_list(place, key, holder[key]))) for key in CALL_KEYS
                        if holder.get(key)]
        audio = holder.get("audio")
        if not texts and isinstance(audio, Mapping) and isinstance(audio.get("transcript"), str):
            texts = [audio["transcript"]]
        if not texts and isinstance(holder.get("refusal"), str):
            texts = [holder["refusal"]]
    if role == ASSISTANT:
        split = [split_calls(place, text) for text in texts]
        texts = [text for text, _ in split]
        sources.append([call for _, calls in split for call in calls])
    calls = drop_repeats(sources)
    _check_nothing_is_lost(place, body, item, bool(texts or calls or results or known))
    if calls and role not in (ASSISTANT, USER, SYSTEM):
        role = ASSISTANT  # frameworks with several agents give the name of one as the role
    if calls and role != ASSISTANT:
        raise form_fault(place, f"tool calls in the assistant's messages, not in the {role}'s", item)
    message = Message(role, "\n".join(filter(None, map(well_formed, texts))), calls)
    tool_messages = [Message(TOOL, text) for text in results]
    said = [message] if message.text or calls or not tool_messages else []
    # Anthropic sends results in a message of the user
    yield from (*said, *tool_messages) if role == ASSISTANT else (*tool_messages, *said)


def _check_nothing_is_lost(place: str, body: Mapping[str, Any], item: Mapping[Any, Any], read: bool) -> None:
    """Raises SampleFault for a message that holds what is not known, in place of text and calls or looking like calls."""
    known = {*CONTENT_KEYS, *CALL_KEYS, *SECOND_KEYS, *NEUTRAL_KEYS}
    others = [key for key, value in body.items() if key not in known and value not in ("", [], {})]
    lost = [key for key in others if isinstance(body[key], (list, Mapping)) and LOOKS_LIKE_CALLS.search(key)]
    if lost or (not read and others):
        raise form_fault(place, "a message with text or tool calls in a form that is known; not known: "
                            + ", ".join(lost or others), item)
    names = {snake_case(str(key)) for key in item}
    if not read and not names & {*CONTENT_KEYS, *CALL_KEYS, *SECOND_KEYS}:
        raise form_fault(place, "a message with content or tool calls", item)


def _lone_part(place: str, item: Mapping[Any, Any]) -> Iterator[Message]:
    """A part that stands among the messages, as those of the Responses API do, or a request of MCP."""
    body = body_of(item)
    if body.get("method") == "tools/call":
        yield Message(CALL_ROLES[0], "", read_calls(place, [item]))
        return
    kind = kind_of(body)
    if PARTS.get(kind) == "text" and kind not in ("input_text", "output_text"):
        raise form_fault(place, "objects with role and content", item)
    pieces = Pieces(place)
    pieces.add(item)
    if pieces.calls:
        yield Message(CALL_ROLES[0], "", tuple(pieces.calls))
    if pieces.texts:
        yield Message(USER if kind.startswith("input_") else ASSISTANT, "\n".join(map(well_formed, pieces.texts)))
    yield from (Message(TOOL, text) for text in pieces.results)


def _exchange(place: str, body: Mapping[str, Any], item: Any) -> Iterator[Message]:
    """A question and its answer in one object."""
    sides = [(role, key) for role, keys in ((USER, USER_KEYS), (ASSISTANT, ASSISTANT_KEYS)) for key in keys if key in body]
    if [role for role, _ in sides] not in ([USER, ASSISTANT], [USER], [ASSISTANT]) or not (
            len(sides) == 2 or sides[0][1] in ("user", "assistant", "human", "ai", "bot")):
        raise form_fault(place, "objects with role and content", item)
    if others := [key for key in body if key in (*CONTENT_KEYS, *CALL_KEYS, *SECOND_KEYS)]:
        raise form_fault(place, f"a question and an answer without {', '.join(others)}", item)
    for role, key in sides:
        value = body[key]
        if isinstance(value, Mapping) and len(value) == 1:  # Prompt flow: {"inputs": {"question": ...}}
            [value] = value.values()
        if not isinstance(value, str):
            raise form_fault(place, "a question and an answer as texts", item)
        yield Message(role, well_formed(value))


def _is_exchange(item: Any) -> bool:
    """Whether an item is a pair of question and answer, as Gradio keeps them, and not of role and text."""
    return (isinstance(item, (list, tuple)) and len(item) == 2
            and all(isinstance(text, str) or text is None for text in item)
            and not (isinstance(item[0], str) and read_role(item[0]) in ROLES.values()))


def _texts_of_parts(parts: list[Any]) -> list[str]:
    """The texts of parts that are all texts; none of others."""
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    return [text for text in texts if isinstance(text, str)] if len(texts) == len(parts) else []


def _as_list(place: str, key: str, value: Any) -> list[Any]:
    value = parse_text(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        raise form_fault(place, f"{key} as a list", value)
    return value
