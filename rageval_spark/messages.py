"""Messages and tool calls, read from the forms that judges' servers, SDKs and agent frameworks write.

Names are compared in snake case, so that `toolCalls`, `ToolCalls` and `tool-calls` are one spelling. What each kind of part is
good for stands in one table, PARTS. A form that is not known is a SampleFault, never an empty text or no calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rageval_spark.cells import read_cell
from rageval_spark.errors import SampleFault
from rageval_spark.values import is_missing, plain

ASSISTANT, USER, SYSTEM, TOOL = "assistant", "user", "system", "tool"
ROLES: Mapping[str, str] = {
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt", "chatgpt", "chatbot", "agent", "llm", "bard", "response", "aimessage",
                     "aimessagechunk"), ASSISTANT),
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk", "customer", "request"), USER),
    **dict.fromkeys(("system", "developer", "systemmessage"), SYSTEM),
    **dict.fromkeys(("tool", "function", "observation", "ipython", "toolmessage", "functionmessage", "tool_response"), TOOL),
}  # fmt: skip
"""The roles of OpenAI's messages by the words that other tools have for them."""
CALL_ROLES = ("function_call", "tool_call")
"""Words in place of a role that say that the message's text is a call (as in LLaMA-Factory's ShareGPT)."""
ROLE_KEYS = ("role", "speaker", "from", "author", "sender")
KIND_KEYS = ("type", "kind", "part_kind", "content_type", "block_type")

Part = Literal["text", "call", "result", "media", "nothing"]
PARTS: Mapping[str, Part] = {
    **dict.fromkeys(("text", "input_text", "output_text", "text_content", "text_block", "refusal", "user_prompt", "system_prompt",
                     "summary_text", "citations_content"), "text"),
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call", "function_call_content",
                     "tool_invocation", "dynamic_tool", "mcp_call", "custom_tool_call", "server_tool_call", "builtin_tool_call",
                     "function", "executable_code"), "call"),
    **dict.fromkeys(("tool_result", "function_response", "function_result", "function_result_content", "function_call_output",
                     "tool_return", "builtin_tool_return", "retry_prompt", "tool_call_result", "tool_output",
                     "code_execution_result", "function_execution_result"), "result"),
    **dict.fromkeys(("image", "image_url", "input_image", "image_content", "image_file", "audio", "audio_url", "input_audio",
                     "output_audio", "audio_content", "video", "video_url", "file", "input_file", "file_url", "file_content",
                     "file_data", "inline_data", "document", "document_url", "binary", "binary_content", "media", "resource",
                     "resource_link", "search_result", "container_upload"), "media"),
    **dict.fromkeys(("thinking", "redacted_thinking", "reasoning", "reasoning_content", "thought", "step_start", "source",
                     "source_url", "source_document", "cache_point", "cache", "guard_content", "item_reference", "mcp_list_tools",
                     "mcp_approval_request", "mcp_approval_response", "tool_call_chunk", "compaction", "thought_signature"),
                    "nothing"),
}  # fmt: skip
"""What a part of a message is: its text, a call, the result of a call (shown as the tool's own message), a medium (shown as its
kind in brackets), or nothing that belongs to the conversation, such as the model's thoughts."""
CONTENT_KEYS = ("content", "parts", "blocks", "items", "text", "value", "message", "refusal")
CALL_KEYS = ("tool_calls", "invalid_tool_calls", "tools_called", "mcp_tools_called", "tool_invocations", "function_calls",
             "tool_uses", "tool_requests")
SECOND_KEYS = ("function_call", "tool_call", "tool_use")
"""Keys of a message that hold one call, and often repeat one that stands under CALL_KEYS."""
IGNORED_KEYS = ("tool_call_id", "tool_call_chunks", "tools", "functions", "tool_choice", "tool_name", "tool_results",
                "mcp_prompts_called", "mcp_resources_called", "is_tool_call", "tool_use_id", "call_id", "function_name")
"""Keys that look like calls, but are not: definitions, ids and results."""
NEUTRAL_KEYS = (*ROLE_KEYS, *KIND_KEYS, *IGNORED_KEYS, "source", "id", "name", "lc", "example", "status", "index", "metadata",
                "additional_kwargs", "response_metadata", "usage_metadata", "annotations", "audio", "finish_reason", "timestamp",
                "created_at", "model", "ai_model_id", "encoding", "reasoning", "reasoning_content", "thinking", "phase", "usage")
"""Keys beside the content of a message that carry neither text nor calls."""
LOOKS_LIKE_CALLS = re.compile("tool|function|call(?!back)|invocation")

NAME_KEYS = ("function_name", "name", "tool_name", "recipient_name", "tool", "function", "action")
ARGUMENT_KEYS = ("args", "arguments", "parameters", "input", "input_parameters", "params", "tool_input", "tool_args", "tool_kwargs",
                 "action_input", "kwargs")
"""The names under which tools keep a call's arguments."""
WRAPPER_KEYS = ("function", "function_call", "tool_call", "tool_use", "tool_invocation")
"""Keys of a call under which its name and arguments may stand."""
ID_KEYS = ("id", "call_id", "tool_call_id", "tool_use_id")
RESULT_KEYS = ("text", "output", "result", "response", "content", "value", "message")
PARALLEL = re.compile(r"(?:functions\.)?multi_?tool_?use(?:[._-]?parallel)?", re.IGNORECASE)
"""The name under which OpenAI's models sometimes wrap several calls into one."""
MOST_NESTED = 8
USER_KEYS = ("user", "human", "question", "query", "prompt", "user_input", "input", "inputs")
ASSISTANT_KEYS = ("assistant", "ai", "bot", "answer", "response", "completion", "output", "outputs")
"""Keys of an object that holds a question and its answer."""


@dataclass(frozen=True)
class Call:
    """A call of a tool. `args` are plain JSON; an argument that is null is left out, as if it were not given.

    `unreadable` is the text of arguments that cannot be read: such a call was made, and is wrong whatever was expected.
    `id` only says which mentions of a call are the same; `qualified` is its name with that of its plugin.
    """

    name: str
    args: Mapping[str, Any]
    unreadable: str | None = None
    qualified: str | None = None
    id: str | None = field(default=None, compare=False, repr=False)

    def shown(self) -> dict[str, Any]:
        unreadable = {} if self.unreadable is None else {"unreadable": self.unreadable[:200]}
        return {"name": self.name, "args": dict(self.args), **unreadable}

    def __str__(self) -> str:
        arguments = json.dumps(self.args, ensure_ascii=False) if self.unreadable is None else self.unreadable
        return f"{self.name}({arguments})"


@dataclass(frozen=True)
class Message:
    role: str
    text: str
    calls: tuple[Call, ...] = ()


def well_formed(text: str) -> str:
    """The text with each half of a surrogate pair, as cut JSON escapes leave it, replaced: no UTF-8 can carry one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


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
            messages = tuple(Message(role, text) for role, text in zip((USER, ASSISTANT), item, strict=True) if not is_missing(text))
        else:
            try:
                messages = tuple(_read_item(f"{name}: item {number}", plain(item)))
            except RecursionError:
                raise SampleFault(f"{name}: item {number}: it is nested too deeply") from None
        turns += [(message.role, well_formed(message.text)) for message in messages if message.text or not message.calls]
    return tuple(turns)


def read_calls(name: str, items: Iterable[Any], *, named_by_key: bool = False, made: bool = True) -> tuple[Call, ...]:
    """Return the calls of a list: objects with name and arguments (an object or its text), however wrapped, or their JSON texts.

    With `named_by_key`, also {name: arguments}. Where the arguments of a call that was `made` cannot be read, the call is
    `unreadable`; otherwise, and for what is no call, SampleFault is raised, naming the field `name` and what was found.
    """
    calls: list[Call] = []
    for number, item in enumerate(items, 1):
        try:
            calls += _read_call(f"{name}: item {number}", plain(item), named_by_key=named_by_key, made=made)
        except RecursionError:
            raise SampleFault(f"{name}: item {number}: it is nested too deeply") from None
    return tuple(calls)


def read_role(word: str) -> str:
    """Return the role that a word stands for; a word that is not known stands for itself."""
    word = well_formed(word.strip().rstrip(":").casefold())
    return ROLES.get(word) or ROLES.get(word.rpartition(".")[2], word)  # str() of an Enum: "messagerole.user"


def snake_case(name: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("$@_"))
    return re.sub(r"[-. ]", "_", name).lower()


def _fault(place: str, expected: str, value: Any) -> SampleFault:
    shown = well_formed(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True))
    return SampleFault(f"{place}: expected {expected}, found {shown[:120]}{'...' if shown[120:] else ''}")


def _body(item: Mapping[Any, Any]) -> dict[str, Any]:
    """The values of an object that are there, by their names in snake case."""
    return {snake_case(str(key)): value for key, value in item.items() if value is not None}


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
        item = _parsed(item)
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and read_role(item[0]) in ROLES.values():
        item = {"role": item[0], "content": item[1]}
    if not isinstance(item, Mapping):
        raise _fault(place, "objects with role and content", item)
    body = _body(item)
    kind = _kind(body)
    role = _role(place, body, kind, item)
    # Envelopes: stored messages of LangChain, and those of servers and exports that keep the message under a key of its own.
    for key in ("kwargs", "data", "message"):
        if isinstance(body.get(key), Mapping) and not (role and body.keys() & {"content", "parts"}):
            inner = dict(body[key])
            return (yield from _read_item(place, {**inner, "role": role} if role and key != "message" else inner))
    if role is None:
        if kind in PARTS or kind.startswith("tool-") or _is_hosted(kind) or body.get("method") == "tools/call":
            yield from _lone_part(place, item)
        else:
            yield from _exchange(place, body, item)
    elif role in CALL_ROLES:
        text = next((body[key] for key in CONTENT_KEYS if key in body), None)
        parsed = _parsed(text) if isinstance(text, str) else text
        calls = read_calls(place, parsed if isinstance(parsed, list) else [parsed])
        yield Message(CALL_ROLES[0], "", calls)
    elif role == TOOL:
        yield Message(TOOL, _result_text(next((body[key] for key in CONTENT_KEYS if key in body), body)))
    else:
        yield from _message(place, role, body, item)


def _kind(body: Mapping[str, Any]) -> str:
    """The kind that an object gives itself, in snake case but for the prefixes of AI SDK's parts; "" without any."""
    kind = next((body[key] for key in KIND_KEYS if isinstance(body.get(key), str)), "")
    if kind.startswith(("tool-", "data-")) and snake_case(kind) not in PARTS:
        return kind
    return snake_case(kind)


def _role(place: str, body: Mapping[str, Any], kind: str, item: Any) -> str | None:
    """The role of a message, or None where it names none. Raises SampleFault for a role that is no text."""
    if isinstance(body.get("lc"), int) and isinstance(body.get("id"), list) and body["id"]:
        kind = str(body["id"][-1]).casefold()  # the class that LangChain stored
    word = next((body[key] for key in ROLE_KEYS if body.get(key)), None)
    if isinstance(word, Mapping):  # Semantic Kernel's label, the author of an export
        word = next((value for value in map(_body(word).get, ("role", "label", "name")) if value), None)
    if word is None and isinstance(body.get("source"), str):  # AutoGen: the user, or the name of an agent
        word = read_role(body["source"])
        word = word if word in ROLES.values() else ASSISTANT
    if word is None and read_role(kind.replace("_", "")) in ROLES.values() and not ("name" in body and kind == "function"):
        word = kind.replace("_", "")
    if word is not None and not isinstance(word, str):
        raise _fault(place, "objects with role and content", item)
    if word is None:
        return None
    return snake_case(word) if snake_case(word) in CALL_ROLES else read_role(word)


def _message(place: str, role: str, body: Mapping[str, Any], item: Mapping[Any, Any]) -> Iterator[Message]:
    texts: list[str] = []
    results: list[str] = []
    sources: list[list[Call]] = [[]]
    known = False
    for key in CALL_KEYS:
        if body.get(key):
            listed = _as_list(place, key, body[key])
            calls = read_calls(f"{place}: {key}", listed) if key != "invalid_tool_calls" else map(_invalid_call, listed)
            sources[0] += calls
    for key in CONTENT_KEYS:
        pieces = _Pieces(place)
        if key in body:
            pieces.add(body[key])
            known = known or pieces.known
        if pieces.texts and not texts:  # a content and its parts often hold the same text
            texts = pieces.texts
        results += pieces.results if not results else []
        sources.append(pieces.calls)
    more = body.get("additional_kwargs")
    for holder in (body, _body(more) if isinstance(more, Mapping) else {}):
        sources += [list(read_calls(f"{place}: {key}", [holder[key]])) for key in SECOND_KEYS if holder.get(key)]
        if holder is not body:
            sources += [list(read_calls(f"{place}: {key}", _as_list(place, key, holder[key]))) for key in CALL_KEYS
                        if holder.get(key)]
        audio = holder.get("audio")
        if not texts and isinstance(audio, Mapping) and isinstance(audio.get("transcript"), str):
            texts = [audio["transcript"]]
        if not texts and isinstance(holder.get("refusal"), str):
            texts = [holder["refusal"]]
    calls = _without_repeats(sources)
    _check_nothing_is_lost(place, body, item, bool(texts or calls or results or known))
    if calls and role not in (ASSISTANT, USER, SYSTEM):
        role = ASSISTANT  # frameworks with several agents give the name of one as the role
    if calls and role != ASSISTANT:
        raise _fault(place, f"tool calls in the assistant's messages, not in the {role}'s", item)
    message = Message(role, "\n".join(filter(None, map(well_formed, texts))), calls)
    told = [Message(TOOL, text) for text in results]
    if role == ASSISTANT:
        yield from (message, *told)
    else:  # Anthropic sends results in a message of the user
        yield from (*told, message) if message.text or not told else told


def _check_nothing_is_lost(place: str, body: Mapping[str, Any], item: Mapping[Any, Any], read: bool) -> None:
    """Raises SampleFault for a message that holds what is not known, in place of text and calls or looking like calls."""
    known = {*CONTENT_KEYS, *CALL_KEYS, *SECOND_KEYS, *NEUTRAL_KEYS}
    others = [key for key, value in body.items() if key not in known and value not in ("", [], {})]
    lost = [key for key in others if isinstance(body[key], (list, Mapping)) and LOOKS_LIKE_CALLS.search(key)]
    if lost or (not read and others):
        raise _fault(place, "a message with text or tool calls in a form that is known; not known: "
                            + ", ".join(lost or others), item)
    names = {snake_case(str(key)) for key in item}
    if not read and not names & {*CONTENT_KEYS, *CALL_KEYS, *SECOND_KEYS}:
        raise _fault(place, "a message with content or tool calls", item)


class _Pieces:
    """What the content of a message consists of."""

    def __init__(self, place: str):
        self.place = place
        self.texts: list[str] = []
        self.calls: list[Call] = []
        self.results: list[str] = []
        self.known = False
        """Whether anything was there that is known, though it may leave no trace."""

    def add(self, content: Any) -> None:
        if isinstance(content, str):
            self.texts += [content] if content else []
        elif isinstance(content, list):
            for part in content:
                if part is not None:
                    self.add(part)
        elif isinstance(content, Mapping):
            self._add_part(content)
        elif content is not None:
            raise _fault(self.place, "a message's content as text or parts", content)

    def _add_part(self, part: Mapping[Any, Any]) -> None:
        body = _body(part)
        kind = _kind(body)
        if body.get("thought") is True:  # Gemini marks a text so
            self.known = True
            return
        held: Any = part
        if kind not in PARTS and not kind.startswith("tool-") and not _is_hosted(kind):
            kind, held = self._union_kind(body, kind, part)
        what = PARTS.get(kind) or ("result" if kind.endswith(("_output", "_result")) else "call")
        self.known = True
        if what == "text":
            inner = next((body[key] for key in (kind, "text", "content", "value") if key in body), None)
            self.add(_body(inner).get("value", "") if isinstance(inner, Mapping) and "value" in _body(inner) else inner)
        elif what == "call":
            self.calls += _read_part_call(self.place, kind, held)
            result = next((body[key] for key in ("output", "result") if key in body), None)
            nested = body.get("tool_invocation")
            result = _body(nested).get("result") if result is None and isinstance(nested, Mapping) else result
            self.results += [_result_text(result)] if result is not None else []
        elif what == "result":
            self.results.append(_result_text(held))
        elif what == "media":
            self.texts.append(f"[{kind}]")

    def _union_kind(self, body: Mapping[str, Any], kind: str, part: Mapping[Any, Any]) -> tuple[str, Any]:
        """The kind of a part that is named by its key, as Bedrock and Gemini do, or that only its keys give away."""
        if kind.startswith("data-"):
            return "nothing", part
        for key in body:
            if key in PARTS and key not in KIND_KEYS and not (key == "function" and isinstance(body[key], str)):
                return key, body[key] if isinstance(body[key], Mapping) and PARTS[key] != "text" else part
        if not kind and any(key in body for key in NAME_KEYS) and any(key in body for key in ARGUMENT_KEYS):
            return "tool_call", part
        if not kind and any(key in body for key in ID_KEYS) and any(key in body for key in ("content", "result", "output")):
            return "tool_result", part
        raise _fault(self.place, "parts with text, tool calls or media of a known kind", part)


def _lone_part(place: str, item: Mapping[Any, Any]) -> Iterator[Message]:
    """A part that stands among the messages, as those of the Responses API do, or a request of MCP."""
    body = _body(item)
    if body.get("method") == "tools/call":
        yield Message(CALL_ROLES[0], "", read_calls(place, [item]))
        return
    kind = _kind(body)
    if PARTS.get(kind) == "text" and kind not in ("input_text", "output_text"):
        raise _fault(place, "objects with role and content", item)
    pieces = _Pieces(place)
    pieces.add(item)
    if pieces.calls:
        yield Message(CALL_ROLES[0], "", tuple(pieces.calls))
    if pieces.texts:
        yield Message(USER if kind.startswith("input_") else ASSISTANT, "\n".join(map(well_formed, pieces.texts)))
    yield from (Message(TOOL, text) for text in pieces.results)


def _is_hosted(kind: str) -> bool:
    """Whether a kind is that of a tool which the judge's server runs itself, or of its result: web_search_call."""
    return kind.endswith(("_call", "_call_output", "_tool_result"))


def _read_part_call(place: str, kind: str, part: Any) -> tuple[Call, ...]:
    body = _body(part)
    if kind.startswith("tool-") and kind not in PARTS:  # AI SDK: the name is in the kind
        return read_calls(place, [{"name": kind[len("tool-"):], **part}])
    if any(isinstance(body.get(key), (str, Mapping)) for key in (*NAME_KEYS, *WRAPPER_KEYS)):
        if isinstance(body.get("input"), str) and kind == "custom_tool_call":  # takes any text
            part = {**part, "input": {"input": body["input"]}}
        return read_calls(place, [part])
    if kind == "executable_code" or (_is_hosted(kind) and kind not in PARTS):
        name = kind.removesuffix("_call")
        action = body.get("action", body.get("arguments"))
        held = action if isinstance(action, Mapping) else {key: body[key] for key in ("queries", "query", "code") if key in body}
        return read_calls(place, [{"name": name, "args": held}])
    raise _fault(place, "calls with a name and arguments", part)


def _result_text(value: Any) -> str:
    """The text of a call's result; what has no known form is shown as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return "\n".join(filter(None, map(_result_text, value)))
    if isinstance(value, Mapping):
        body = _body(value)
        for key in RESULT_KEYS:
            if key in body:
                return _result_text(body[key])
        if PARTS.get(kind := _kind(body)) == "media":
            return f"[{kind}]"
    return well_formed(json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True))


def _exchange(place: str, body: Mapping[str, Any], item: Any) -> Iterator[Message]:
    """A question and its answer in one object."""
    sides = [(role, key) for role, keys in ((USER, USER_KEYS), (ASSISTANT, ASSISTANT_KEYS)) for key in keys if key in body]
    if [role for role, _ in sides] not in ([USER, ASSISTANT], [USER], [ASSISTANT]) or not (
            len(sides) == 2 or sides[0][1] in ("user", "assistant", "human", "ai", "bot")):
        raise _fault(place, "objects with role and content", item)
    for role, key in sides:
        value = body[key]
        if isinstance(value, Mapping) and len(value) == 1:  # Prompt flow: {"inputs": {"question": ...}}
            [value] = value.values()
        if not isinstance(value, str):
            raise _fault(place, "a question and an answer as texts", item)
        yield Message(role, well_formed(value))


def _is_exchange(item: Any) -> bool:
    """Whether an item is a pair of question and answer, as Gradio keeps them, and not of role and text."""
    return (isinstance(item, (list, tuple)) and len(item) == 2
            and all(isinstance(text, str) or text is None for text in item)
            and not (isinstance(item[0], str) and read_role(item[0]) in ROLES.values()))


def _parsed(text: str) -> Any:
    try:
        return read_cell(text)
    except ValueError:
        return text


def _as_list(place: str, key: str, value: Any) -> list[Any]:
    value = _parsed(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        raise _fault(place, f"{key} as a list", value)
    return value


def _without_repeats(sources: Iterable[Iterable[Call]]) -> tuple[Call, ...]:
    """The calls of all sources, each once: the same id, or without ids the same call in another source, is a repeat."""
    kept: list[Call] = []
    for source in sources:
        unmatched = list(kept)
        for call in source:
            same = next((other for other in unmatched if (
                call.id == other.id if call.id and other.id else (call.name, call.shown()) == (other.name, other.shown()))), None)
            if same is None:
                kept.append(call)
            else:
                unmatched.remove(same)
    return tuple(kept)


def _invalid_call(item: Any) -> Call:
    """A call whose arguments the framework could not read itself, as LangChain keeps it."""
    body = _body(item) if isinstance(item, Mapping) else {}
    name, id = body.get("name"), body.get("id")
    text = body.get("args", body.get("error", ""))
    return Call(well_formed(str(name or "")), {}, well_formed(text if isinstance(text, str) else repr(text)),
                id=str(id) if id else None)


def _read_call(place: str, item: Any, *, named_by_key: bool, made: bool, depth: int = 0) -> tuple[Call, ...]:
    found = _parsed(item) if isinstance(item, str) else item
    body = _body(found) if isinstance(found, Mapping) else {}
    if named_by_key and len(body) == 1 and isinstance(found, Mapping):
        [(key, given)] = found.items()
        if isinstance(given, Mapping) and snake_case(str(key)) not in WRAPPER_KEYS:
            return (_call(place, str(key), given, item, made),)
    id = next((str(body[key]) for key in ID_KEYS if isinstance(body.get(key), (str, int))), None)
    if body.get("method") == "tools/call" and isinstance(body.get("params"), Mapping):
        body = _body(body["params"])
    for key in (*WRAPPER_KEYS, "data", "kwargs"):
        if isinstance(body.get(key), Mapping) and not any(isinstance(body.get(name), str) for name in NAME_KEYS):
            inner = _body(body[key])
            id = id or next((str(inner[name]) for name in ID_KEYS if isinstance(inner.get(name), (str, int))), None)
            body = inner
            break
    name = next((body[key] for key in NAME_KEYS if isinstance(body.get(key), str)), None)
    if name is None:
        raise _fault(place, "calls with a name and arguments", item)
    given = next((body[key] for key in ARGUMENT_KEYS if key in body), None)
    if PARALLEL.fullmatch(name) and depth < MOST_NESTED and (wrapped := _wrapped_calls(given)):
        nested = [_read_call(place, call, named_by_key=named_by_key, made=made, depth=depth + 1) for call in wrapped]
        return tuple(call for calls in nested for call in calls)
    call = _call(place, name, given, item, made)
    whole = body.get("name") if "function_name" in body else None
    plugin = body.get("plugin_name")
    qualified = whole if isinstance(whole, str) else f"{plugin}-{name}" if isinstance(plugin, str) else None
    return (replace(call, id=id, qualified=qualified),)


def _wrapped_calls(given: Any) -> list[Any] | None:
    """The calls within multi_tool_use.parallel, or None where they cannot be read."""
    given = _parsed(given) if isinstance(given, str) else given
    body = _body(given) if isinstance(given, Mapping) else {}
    listed = next((body[key] for key in ("tool_uses", "tool_calls", "calls") if key in body), given)
    listed = _parsed(listed) if isinstance(listed, str) else listed
    readable = isinstance(listed, list) and all(isinstance(call, Mapping) and {*_body(call)} & {*NAME_KEYS} for call in listed)
    return listed if readable else None


def _call(place: str, name: str, given: Any, item: Any, made: bool) -> Call:
    name = well_formed(name.removeprefix("functions."))
    args: Any = {} if given in (None, "") else given
    for _ in range(2):  # a text of a text: arguments that were written as JSON twice
        args = _parsed(args) if isinstance(args, str) else args
    try:
        if not isinstance(args, Mapping):
            raise ValueError
        args = json.loads(well_formed(json.dumps(plain(args), ensure_ascii=False, allow_nan=False)))
    except (TypeError, ValueError):
        if not made:
            raise _fault(place, "arguments as an object, or as its JSON text", item) from None
        return Call(name, {}, well_formed(given if isinstance(given, str) else repr(given)))
    return Call(name, {key: value for key, value in args.items() if value is not None})
