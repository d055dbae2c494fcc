"""The names of roles, parts and keys in messages of judges' servers, SDKs and agent frameworks.

Names are compared in snake case, so that `toolCalls`, `ToolCalls` and `tool-calls` are one spelling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rageval_spark.cells import read_cell
from rageval_spark.errors import SampleFault
from rageval_spark.values import is_missing, well_formed

ASSISTANT, USER, SYSTEM, TOOL = "assistant", "user", "system", "tool"
ROLES: Mapping[str, str] = {
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt", "chatgpt", "chatbot", "agent", "llm", "bard", "response",
                     "aimessage", "aimessagechunk"), ASSISTANT),
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk", "customer", "request"), USER),
    **dict.fromkeys(("system", "developer", "systemmessage"), SYSTEM),
    **dict.fromkeys(("tool", "function", "observation", "ipython", "toolmessage", "functionmessage", "tool_response",
                     "tool-response"), TOOL),
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
                     "tool_return", "builtin_tool_return", "retry_prompt", "tool_call_result", "tool_call_response",
                     "tool_output",
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
CONTENT_KEYS = ("content", "contents", "parts", "blocks", "items", "text", "value", "message", "refusal")
CALL_KEYS = ("tool_calls", "invalid_tool_calls", "tools_called", "mcp_tools_called", "tool_invocations", "function_calls",
             "tool_uses", "tool_requests")
SECOND_KEYS = ("function_call", "tool_call", "tool_use")
"""Keys of a message that hold one call, and often repeat one that stands under CALL_KEYS."""
REPEATING_KINDS = ("tool_call_summary_message",)
"""Kinds of messages that list calls of earlier ones once more."""
IGNORED_KEYS = ("tool_call_id", "tool_call_chunks", "tools", "functions", "tool_choice", "tool_name", "tool_results",
                "mcp_prompts_called", "mcp_resources_called", "is_tool_call", "tool_use_id", "call_id", "function_name")
"""Keys that look like calls, but are not: definitions, ids and results."""
NEUTRAL_KEYS = (*ROLE_KEYS, *KIND_KEYS, *IGNORED_KEYS, "source", "id", "name", "lc", "example", "status", "index", "metadata",
                "additional_kwargs", "response_metadata", "usage_metadata", "annotations", "audio", "finish_reason", "timestamp",
                "created_at", "model", "ai_model_id", "encoding", "reasoning", "reasoning_content", "thinking", "phase", "usage")
"""Keys beside the content of a message that carry neither text nor calls."""
LOOKS_LIKE_CALLS = re.compile("tool|function|call(?!back)|invocation")

NAME_KEYS = ("function_name", "name", "tool_name", "recipient_name", "tool", "function", "action")
ARGUMENT_KEYS = ("args", "arguments", "parameters", "input", "input_parameters", "params", "tool_input", "tool_args",
                 "tool_kwargs", "action_input", "kwargs")
"""The names under which tools keep a call's arguments."""
WRAPPER_KEYS = ("function", "function_call", "tool_call", "tool_use", "tool_invocation")
"""Keys of a call under which its name and arguments may stand."""
ID_KEYS = ("id", "call_id", "tool_call_id", "tool_use_id")
RESULT_KEYS = ("function_response", "tool_result", "tool_call_result", "json", "text", "output", "result", "response", "content",
               "value", "message")
"""Keys under which the result of a call may stand."""
CALLS_IN_TEXT = (("<tool_call>", "</tool_call>"), ("[TOOL_CALLS]", "</s>"), ("<|python_tag|>", "<|eom_id|>"))
"""The marks between which models write calls into their text (Hermes and Qwen, Mistral, Llama). Servers without a parser for
them leave them there."""
CALL_NAME = re.compile(r"""["']name["']\s*:\s*["']([^"']+)["']""")
CALLS_BEHIND = "Calling tools:"
"""The words that smolagents puts before the calls of a message."""
PARALLEL = re.compile(r"(?:functions\.)?multi_?tool_?use(?:[._-]?parallel)?", re.IGNORECASE)
"""The name under which OpenAI's models sometimes wrap several calls into one."""
MOST_NESTED = 8
USER_KEYS = ("user", "human", "question", "query", "prompt", "user_input", "input", "inputs")
ASSISTANT_KEYS = ("assistant", "ai", "bot", "answer", "response", "completion", "output", "outputs")
"""Keys of an object that holds a question and its answer."""


def read_role(word: str) -> str:
    """Return the role that a word stands for; a word that is not known stands for itself."""
    word = well_formed(word.strip().rstrip(":").casefold())
    return ROLES.get(word) or ROLES.get(word.rpartition(".")[2], word)  # str() of an Enum: "messagerole.user"


def snake_case(name: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("$@_"))
    return re.sub(r"[-. ]", "_", name).lower()


def body_of(item: Mapping[Any, Any]) -> dict[str, Any]:
    """The values of an object that are there, by their names in snake case.

    An object with nothing but null in it is not there: tables that keep all rows in one type fill them with such objects.
    """
    return {snake_case(str(key)): value for key, value in item.items() if not _is_void(value)}


def _is_void(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, Mapping) and len(value) > 0 and all(map(_is_void, value.values())))


def kind_of(body: Mapping[str, Any]) -> str:
    """The kind that an object gives itself, in snake case but for the prefixes of AI SDK's parts; "" without any."""
    kind = next((body[key] for key in KIND_KEYS if isinstance(body.get(key), str)), "")
    if kind.startswith(("tool-", "data-")) and snake_case(kind) not in PARTS:
        return kind
    return snake_case(kind)


def is_hosted(kind: str) -> bool:
    """Whether a kind is that of a tool which the judge's server runs itself, or of its result: web_search_call."""
    return kind.endswith(("_call", "_call_output", "_tool_result"))


def parse_text(text: str) -> Any:
    try:
        return read_cell(text)
    except ValueError:
        return text


def form_fault(place: str, expected: str, value: Any) -> SampleFault:
    shown = well_formed(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True))
    return SampleFault(f"{place}: expected {expected}, found {shown[:120]}{'...' if shown[120:] else ''}")


def looks_like_message(names: Iterable[str]) -> bool:
    """Whether an object with these names may be a message, or a question with its answer."""
    keys = {snake_case(name) for name in names}
    if keys & {*ROLE_KEYS, *KIND_KEYS, "source"} and keys & {*CONTENT_KEYS, *CALL_KEYS, "data", "kwargs"}:
        return True
    return bool(keys & {*USER_KEYS} and keys & {*ASSISTANT_KEYS})
