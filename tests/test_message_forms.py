"""Messages and tool calls in the forms of servers, SDKs and frameworks: the same calls and texts, whatever the form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from rageval_spark import score as score_one
from rageval_spark.errors import SampleFault
from rageval_spark.measures.conversation import calls_in, conversation_of
from rageval_spark.messages import read_messages
from rageval_spark.metrics.goal_achievement import GoalAchievement
from rageval_spark.metrics.tool_call_f1 import ToolCallF1
from rageval_spark.metrics.tool_call_precision import ToolCallPrecision
from rageval_spark.metrics.tool_call_recall import ToolCallRecall
from rageval_spark.metrics.turn_efficiency import TurnEfficiency
from rageval_spark.sample import Sample
from tests.playing import played

OSLO, TEAM = {"city": "Oslo"}, {"to": "team"}
OSLO_TEXT, TEAM_TEXT = json.dumps(OSLO), json.dumps(TEAM)
EXPECTED = [{"name": "get_weather", "args": OSLO}, {"name": "send_mail", "args": TEAM}]
ASK, FINAL, RESULT, SENT = "Mail the weather in Oslo to the team.", "It is 4 degrees.", "4 degrees", "sent"


def stored(kind: str, **data: Any) -> dict[str, Any]:
    """A message as LangChain's messages_to_dict writes it."""
    return {"type": kind, "data": {"additional_kwargs": {}, "response_metadata": {}, "type": kind, "name": None, **data}}


def dumped(kind: str, **kwargs: Any) -> dict[str, Any]:
    """A message as LangChain's dumpd writes it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


def openai_call(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


OPENAI_CALLS = [openai_call(1, "get_weather", OSLO_TEXT), openai_call(2, "send_mail", TEAM_TEXT)]
LANGCHAIN_CALLS = [{"name": "get_weather", "args": OSLO, "id": "call_1", "type": "tool_call"},
                   {"name": "send_mail", "args": TEAM, "id": "call_2", "type": "tool_call"}]  # fmt: skip

FORMS: dict[str, list[Any]] = {
    "OpenAI chat": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": None, "refusal": None, "annotations": [], "tool_calls": OPENAI_CALLS},
        {"role": "tool", "tool_call_id": "call_1", "content": RESULT},
        {"role": "tool", "tool_call_id": "call_2", "content": SENT},
        {"role": "assistant", "content": FINAL},
    ],
    "OpenAI chat with content parts": [
        {"role": "user", "content": [{"type": "text", "text": ASK}]},
        {"role": "assistant", "content": [], "tool_calls": OPENAI_CALLS},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": RESULT}]},
        {"role": "tool", "tool_call_id": "call_2", "content": SENT},
        {"role": "assistant", "content": [{"type": "text", "text": FINAL}]},
    ],
    "OpenAI Responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASK}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Two tools."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get_weather", "arguments": OSLO_TEXT},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "send_mail", "arguments": TEAM_TEXT},
        {"type": "function_call_output", "call_id": "c1", "output": RESULT},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": SENT}]},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
         "content": [{"type": "output_text", "text": FINAL, "annotations": [], "logprobs": []}]},
    ],
    "Anthropic": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Two tools.", "signature": "x"},
            {"type": "tool_use", "id": "t1", "name": "get_weather", "input": OSLO},
            {"type": "tool_use", "id": "t2", "name": "send_mail", "input": TEAM}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": RESULT},
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": SENT}], "is_error": False}]},
        {"role": "assistant", "content": [{"type": "text", "text": FINAL, "citations": None}]},
    ],
    "Gemini REST": [
        {"role": "user", "parts": [{"text": ASK}]},
        {"role": "model", "parts": [
            {"text": "Two tools.", "thought": True},
            {"functionCall": {"name": "get_weather", "args": OSLO}, "thoughtSignature": "x"},
            {"functionCall": {"name": "send_mail", "args": TEAM}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "get_weather", "response": {"result": RESULT}}},
            {"functionResponse": {"name": "send_mail", "response": {"output": SENT}}}]},
        {"role": "model", "parts": [{"text": FINAL}]},
    ],
    "Gemini SDK dump": [
        {"parts": [{"text": ASK, "function_call": None, "thought": None}], "role": "user"},
        {"parts": [{"text": None, "function_call": {"id": None, "args": OSLO, "name": "get_weather"}, "inline_data": None},
                   {"text": None, "function_call": {"id": None, "args": TEAM, "name": "send_mail"}}], "role": "model"},
        {"parts": [{"function_response": {"name": "get_weather", "response": {"result": RESULT}}, "text": None},
                   {"function_response": {"name": "send_mail", "response": {"result": SENT}}}], "role": "function"},
        {"parts": [{"text": FINAL, "function_call": None}], "role": "model"},
    ],
    "Bedrock Converse": [
        {"role": "user", "content": [{"text": ASK}]},
        {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Two tools.", "signature": "x"}}},
            {"toolUse": {"toolUseId": "t1", "name": "get_weather", "input": OSLO}},
            {"toolUse": {"toolUseId": "t2", "name": "send_mail", "input": TEAM}}]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "t1", "content": [{"json": {"result": RESULT}}], "status": "success"}},
            {"toolResult": {"toolUseId": "t2", "content": [{"text": SENT}]}}, {"cachePoint": {"type": "default"}}]},
        {"role": "assistant", "content": [{"text": FINAL}]},
    ],
    "AI SDK 4 UI": [
        {"id": "m1", "role": "user", "content": ASK, "parts": [{"type": "text", "text": ASK}], "createdAt": "2026-01-01"},
        {"id": "m2", "role": "assistant", "content": "", "revisionId": "r", "toolInvocations": [
            {"state": "result", "step": 0, "toolCallId": "c1", "toolName": "get_weather", "args": OSLO, "result": RESULT},
            {"state": "result", "step": 0, "toolCallId": "c2", "toolName": "send_mail", "args": TEAM, "result": SENT}],
         "parts": [
            {"type": "step-start"},
            {"type": "tool-invocation", "toolInvocation": {
                "state": "result", "toolCallId": "c1", "toolName": "get_weather", "args": OSLO, "result": RESULT}},
            {"type": "tool-invocation", "toolInvocation": {
                "state": "result", "toolCallId": "c2", "toolName": "send_mail", "args": TEAM, "result": SENT}}]},
        {"id": "m3", "role": "assistant", "content": FINAL, "parts": [{"type": "text", "text": FINAL}]},
    ],
    "AI SDK 5 model messages": [
        {"role": "user", "content": [{"type": "text", "text": ASK}]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "Two tools."},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather", "input": OSLO},
            {"type": "tool-call", "toolCallId": "c2", "toolName": "send_mail", "input": TEAM}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "get_weather",
                                      "output": {"type": "text", "value": RESULT}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c2", "toolName": "send_mail",
                                      "output": {"type": "json", "value": SENT}}]},
        {"role": "assistant", "content": [{"type": "text", "text": FINAL}]},
    ],
    "AI SDK 5 UI": [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": ASK}]},
        {"id": "m2", "role": "assistant", "metadata": {}, "parts": [
            {"type": "step-start"},
            {"type": "tool-get_weather", "toolCallId": "c1", "state": "output-available", "input": OSLO, "output": RESULT},
            {"type": "dynamic-tool", "toolName": "send_mail", "toolCallId": "c2", "state": "output-available", "input": TEAM,
             "output": SENT},
            {"type": "data-progress", "data": {"done": 1}}]},
        {"id": "m3", "role": "assistant", "parts": [{"type": "text", "text": FINAL, "state": "done"}]},
    ],
    "LangChain dump": [
        {"content": ASK, "additional_kwargs": {}, "response_metadata": {}, "type": "human", "name": None, "example": False},
        {"content": "", "additional_kwargs": {}, "response_metadata": {"finish_reason": "stop"}, "type": "ai", "id": "run-1",
         "tool_calls": LANGCHAIN_CALLS, "invalid_tool_calls": [], "usage_metadata": {"input_tokens": 5}},
        {"content": RESULT, "type": "tool", "name": "get_weather", "tool_call_id": "call_1", "artifact": None},
        {"content": SENT, "type": "tool", "name": "send_mail", "tool_call_id": "call_2", "artifact": None},
        {"content": FINAL, "additional_kwargs": {}, "type": "ai", "tool_calls": [], "invalid_tool_calls": []},
    ],
    "LangChain with calls in additional_kwargs": [
        {"content": ASK, "type": "human"},
        {"content": "", "type": "ai", "tool_calls": [], "additional_kwargs": {"tool_calls": OPENAI_CALLS}},
        {"content": RESULT, "type": "tool", "tool_call_id": "call_1"},
        {"content": SENT, "type": "tool", "tool_call_id": "call_2"},
        {"content": FINAL, "type": "ai"},
    ],
    "LangChain with calls in both": [
        {"content": ASK, "type": "human"},
        {"content": [{"type": "tool_use", "id": "call_1", "name": "get_weather", "input": OSLO}], "type": "AIMessageChunk",
         "tool_calls": LANGCHAIN_CALLS, "tool_call_chunks": [{"name": "get_weather", "args": OSLO_TEXT, "id": "call_1"}],
         "additional_kwargs": {"tool_calls": OPENAI_CALLS}},
        {"content": RESULT, "type": "tool", "tool_call_id": "call_1"},
        {"content": SENT, "type": "tool", "tool_call_id": "call_2"},
        {"content": FINAL, "type": "ai"},
    ],
    "LangChain messages_to_dict": [
        stored("human", content=ASK, example=False),
        stored("ai", content="", tool_calls=LANGCHAIN_CALLS, invalid_tool_calls=[]),
        stored("tool", content=RESULT, tool_call_id="call_1"),
        stored("tool", content=SENT, tool_call_id="call_2"),
        stored("ai", content=FINAL, tool_calls=[]),
    ],
    "LangChain messages_to_dict of an old version": [
        {"type": "human", "data": {"content": ASK, "additional_kwargs": {}}},
        {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": OPENAI_CALLS}}},
        {"type": "tool", "data": {"content": RESULT, "tool_call_id": "call_1"}},
        {"type": "tool", "data": {"content": SENT, "tool_call_id": "call_2"}},
        {"type": "ai", "data": {"content": FINAL, "additional_kwargs": {}}},
    ],
    "LangChain dumpd": [
        dumped("HumanMessage", content=ASK, type="human"),
        dumped("AIMessage", content="", additional_kwargs={"tool_calls": OPENAI_CALLS}, tool_calls=LANGCHAIN_CALLS, id="run-1"),
        dumped("ToolMessage", content=RESULT, tool_call_id="call_1"),
        dumped("ToolMessage", content=SENT, tool_call_id="call_2"),
        dumped("AIMessage", content=FINAL),
    ],
    "LlamaIndex": [
        {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": ASK}]},
        {"role": "assistant", "additional_kwargs": {"tool_calls": OPENAI_CALLS}, "blocks": []},
        {"role": "tool", "additional_kwargs": {"tool_call_id": "call_1"}, "blocks": [{"block_type": "text", "text": RESULT}]},
        {"role": "tool", "additional_kwargs": {"tool_call_id": "call_2"}, "blocks": [{"block_type": "text", "text": SENT}]},
        {"role": "assistant", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": FINAL}]},
    ],
    "LlamaIndex with call blocks": [
        {"role": "user", "blocks": [{"block_type": "text", "text": ASK}]},
        {"role": "assistant", "additional_kwargs": {"tool_calls": OPENAI_CALLS}, "blocks": [
            {"block_type": "thinking", "content": "Two tools."},
            {"block_type": "tool_call", "tool_call_id": "call_1", "tool_name": "get_weather", "tool_kwargs": OSLO},
            {"block_type": "tool_call", "tool_call_id": "call_2", "tool_name": "send_mail", "tool_kwargs": TEAM_TEXT}]},
        {"role": "tool", "blocks": [{"block_type": "text", "text": RESULT}]},
        {"role": "tool", "blocks": [{"block_type": "text", "text": SENT}]},
        {"role": "assistant", "blocks": [{"block_type": "text", "text": FINAL}]},
    ],
    "Semantic Kernel in Python": [
        {"content_type": "message", "role": "user", "items": [{"content_type": "text", "text": ASK}]},
        {"content_type": "message", "role": "assistant", "finish_reason": "tool_calls", "items": [
            {"content_type": "function_call", "id": "c1", "index": 0, "name": "weather-get_weather",
             "function_name": "get_weather", "plugin_name": "weather", "arguments": OSLO_TEXT},
            {"content_type": "function_call", "id": "c2", "name": "mail-send_mail", "function_name": "send_mail",
             "plugin_name": "mail", "arguments": TEAM}]},
        {"content_type": "message", "role": "tool", "items": [
            {"content_type": "function_result", "id": "c1", "result": RESULT}]},
        {"content_type": "message", "role": "tool", "items": [{"content_type": "function_result", "id": "c2", "result": SENT}]},
        {"content_type": "message", "role": "assistant", "items": [{"content_type": "text", "text": FINAL, "encoding": None}]},
    ],
    "Semantic Kernel in .NET": [
        {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": ASK}]},
        {"Role": {"Label": "assistant"}, "ModelId": "m", "Metadata": {"Id": "x"}, "Items": [
            {"$type": "FunctionCallContent", "Id": "c1", "PluginName": "w", "FunctionName": "get_weather", "Arguments": OSLO},
            {"$type": "FunctionCallContent", "Id": "c2", "PluginName": "mail", "FunctionName": "send_mail", "Arguments": TEAM}]},
        {"Role": {"Label": "tool"}, "Items": [{"$type": "FunctionResultContent", "CallId": "c1", "Result": RESULT}]},
        {"Role": {"Label": "tool"}, "Items": [{"$type": "FunctionResultContent", "CallId": "c2", "Result": SENT}]},
        {"Role": {"Label": "assistant"}, "Items": [{"$type": "TextContent", "Text": FINAL}]},
    ],
    "DeepEval turns": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": FINAL, "tools_called": [
            {"name": "get_weather", "description": None, "output": RESULT, "input_parameters": OSLO},
            {"name": "send_mail", "input_parameters": TEAM, "output": SENT}]},
    ],
    "DeepEval turns with MCP": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": FINAL, "mcp_resources_called": [{"uri": "x"}], "tools_called": [
            {"name": "get_weather", "input_parameters": OSLO}],
         "mcp_tools_called": [{"name": "send_mail", "args": TEAM, "result": {"content": [{"type": "text", "text": SENT}]}}]},
    ],
    "ragas": [
        {"content": ASK, "metadata": None, "type": "human"},
        {"content": "", "metadata": None, "type": "ai", "tool_calls": EXPECTED},
        {"content": RESULT, "metadata": None, "type": "tool"},
        {"content": SENT, "metadata": None, "type": "tool"},
        {"content": FINAL, "metadata": None, "type": "ai", "tool_calls": None},
    ],
    "MCP requests": [
        {"role": "user", "content": {"type": "text", "text": ASK}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_weather", "arguments": OSLO}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "send_mail", "arguments": TEAM}},
        {"role": "tool", "content": [{"type": "text", "text": RESULT}]},
        {"role": "tool", "content": [{"type": "text", "text": SENT}]},
        {"role": "assistant", "content": {"type": "text", "text": FINAL}},
    ],
    "ShareGPT": [
        {"from": "human", "value": ASK},
        {"from": "function_call", "value": json.dumps([{"name": "get_weather", "arguments": OSLO},
                                                       {"name": "send_mail", "arguments": TEAM}])},
        {"from": "observation", "value": RESULT},
        {"from": "observation", "value": SENT},
        {"from": "gpt", "value": FINAL},
    ],
    "Cohere": [
        {"role": "USER", "message": ASK},
        {"role": "CHATBOT", "message": "", "tool_calls": [{"name": "get_weather", "parameters": OSLO},
                                                         {"name": "send_mail", "parameters": TEAM}]},
        {"role": "TOOL", "tool_results": [], "message": RESULT},
        {"role": "TOOL", "message": SENT},
        {"role": "CHATBOT", "message": FINAL},
    ],
    "Haystack": [
        {"role": "user", "content": [{"text": ASK}], "meta": {}, "name": None},
        {"role": "assistant", "content": [{"tool_call": {"tool_name": "get_weather", "arguments": OSLO, "id": "c1"}},
                                          {"tool_call": {"tool_name": "send_mail", "arguments": TEAM, "id": "c2"}}]},
        {"role": "tool", "content": [{"tool_call_result": {"result": RESULT, "origin": {}, "error": False}}]},
        {"role": "tool", "content": [{"tool_call_result": {"result": SENT, "origin": {}, "error": False}}]},
        {"role": "assistant", "content": [{"text": FINAL}], "meta": {"model": "m"}},
    ],
    "pydantic-ai": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASK, "timestamp": "2026-01-01"}]},
        {"kind": "response", "usage": {}, "model_name": "m", "timestamp": "2026-01-01", "parts": [
            {"part_kind": "tool-call", "tool_name": "get_weather", "args": OSLO_TEXT, "tool_call_id": "c1"},
            {"part_kind": "tool-call", "tool_name": "send_mail", "args": TEAM, "tool_call_id": "c2"}]},
        {"kind": "request", "parts": [
            {"part_kind": "tool-return", "tool_name": "get_weather", "content": RESULT, "tool_call_id": "c1"},
            {"part_kind": "tool-return", "tool_name": "send_mail", "content": SENT, "tool_call_id": "c2"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": FINAL}]},
    ],
    "AutoGen": [
        {"source": "user", "type": "TextMessage", "content": ASK, "models_usage": None, "metadata": {}},
        {"source": "weather_agent", "type": "ToolCallRequestEvent", "content": [
            {"id": "c1", "arguments": OSLO_TEXT, "name": "get_weather"},
            {"id": "c2", "arguments": TEAM_TEXT, "name": "send_mail"}]},
        {"source": "weather_agent", "type": "ToolCallExecutionEvent", "content": [
            {"content": RESULT, "name": "get_weather", "call_id": "c1", "is_error": False},
            {"content": SENT, "name": "send_mail", "call_id": "c2", "is_error": False}]},
        {"source": "weather_agent", "type": "TextMessage", "content": FINAL},
    ],
    "AutoGen with a summary of calls": [
        {"source": "user", "type": "TextMessage", "content": ASK},
        {"source": "weather_agent", "type": "ToolCallRequestEvent", "content": [
            {"id": "c1", "arguments": OSLO_TEXT, "name": "get_weather"},
            {"id": "c2", "arguments": TEAM_TEXT, "name": "send_mail"}]},
        {"source": "weather_agent", "type": "ToolCallSummaryMessage", "content": FINAL, "tool_calls": [
            {"id": "c1", "arguments": OSLO_TEXT, "name": "get_weather"},
            {"id": "c2", "arguments": TEAM_TEXT, "name": "send_mail"}]},
    ],
    "Google ADK events": [
        {"author": "user", "content": {"role": "user", "parts": [{"text": ASK}]}},
        {"author": "weather_agent", "actions": {"state_delta": {}}, "content": {"role": "model", "parts": [
            {"function_call": {"id": "1", "name": "get_weather", "args": OSLO}},
            {"function_call": {"id": "2", "name": "send_mail", "args": TEAM}}]}},
        {"author": "weather_agent", "content": {"role": "model", "parts": [{"text": FINAL}]}},
    ],
    "Microsoft.Extensions.AI": [
        {"authorName": None, "role": "user", "contents": [{"$type": "text", "text": ASK}]},
        {"role": "assistant", "contents": [
            {"$type": "functionCall", "callId": "1", "name": "get_weather", "arguments": OSLO},
            {"$type": "functionCall", "callId": "2", "name": "send_mail", "arguments": TEAM}]},
        {"role": "tool", "contents": [{"$type": "functionResult", "callId": "1", "result": RESULT},
                                      {"$type": "functionResult", "callId": "2", "result": SENT}]},
        {"role": "assistant", "contents": [{"$type": "text", "text": FINAL}]},
    ],
    "OpenTelemetry": [
        {"role": "user", "parts": [{"type": "text", "content": ASK}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "get_weather", "arguments": OSLO},
                                        {"type": "tool_call_response", "id": "1", "response": RESULT}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "2", "name": "send_mail", "arguments": TEAM}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "2", "response": SENT}]},
        {"role": "assistant", "parts": [{"type": "text", "content": FINAL}], "finish_reason": "stop"},
    ],
    "OpenInference": [
        {"message": {"role": "user", "content": ASK}},
        {"message": {"role": "assistant", "tool_calls": [{"tool_call": {"id": "1", "function": {
            "name": "get_weather", "arguments": OSLO_TEXT}}}, {"tool_call": {"id": "2", "function": {
                "name": "send_mail", "arguments": TEAM_TEXT}}}]}},
        {"message": {"role": "assistant", "content": FINAL}},
    ],
    "smolagents": [
        {"role": "user", "content": [{"type": "text", "text": ASK}]},
        {"role": "tool-call", "content": [{"type": "text", "text": "Calling tools:\n" + repr([
            {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": OSLO}},
            {"id": "2", "type": "function", "function": {"name": "send_mail", "arguments": TEAM}}])}]},
        {"role": "tool-response", "content": [{"type": "text", "text": RESULT}, {"type": "text", "text": SENT}]},
        {"role": "assistant", "content": [{"type": "text", "text": FINAL}]},
    ],
    "Hermes": [
        {"from": "human", "value": ASK},
        {"from": "gpt", "value": f'<tool_call>\n{{"name": "get_weather", "arguments": {OSLO_TEXT}}}\n</tool_call>\n'
                                 f"<tool_call>\n{{'name': 'send_mail', 'arguments': {TEAM}}}\n</tool_call>"},
        {"from": "gpt", "value": FINAL},
    ],
    "Mistral's marks": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": f'[TOOL_CALLS][{{"name": "get_weather", "arguments": {OSLO_TEXT}}}, '
                                         f'{{"name": "send_mail", "arguments": {TEAM_TEXT}}}]</s>'},
        {"role": "assistant", "content": FINAL},
    ],
    "Llama's marks": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": f'<|python_tag|>{{"name": "get_weather", "parameters": {OSLO_TEXT}}}<|eom_id|>'},
        {"role": "assistant", "content": f'<|python_tag|>{{"name": "send_mail", "parameters": {TEAM_TEXT}}}<|eom_id|>'},
        {"role": "assistant", "content": FINAL},
    ],
    "one type for all rows": [
        {"role": "user", "content": ASK, "tool_calls": None, "function_call": {"name": None, "arguments": None}},
        {"role": "assistant", "content": [{"text": None, "toolUse": {"name": "get_weather", "input": OSLO}},
                                          {"text": None, "toolUse": {"name": "send_mail", "input": TEAM}}]},
        {"role": "assistant", "content": [{"text": FINAL, "toolUse": {"name": None, "input": {"city": None, "to": None}}}],
         "tool_calls": "NaN"},
    ],
    "an agent by its name": [
        {"role": "user", "content": ASK},
        {"role": "Planner", "content": None, "tool_calls": OPENAI_CALLS},
        {"role": "assistant", "content": FINAL},
    ],
    "multi_tool_use.parallel": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "tool_calls": [openai_call(1, "multi_tool_use.parallel", json.dumps({"tool_uses": [
            {"recipient_name": "functions.get_weather", "parameters": OSLO},
            {"recipient_name": "functions.send_mail", "parameters": TEAM}]}))]},
        {"role": "assistant", "content": FINAL},
    ],
    "JSON text of each message": [json.dumps({"role": "user", "content": ASK}),
                                  json.dumps({"role": "assistant", "content": None, "tool_calls": OPENAI_CALLS}),
                                  json.dumps({"role": "assistant", "content": FINAL})],
    "pairs of role and text": [("human", ASK), {"role": "assistant", "tool_calls": OPENAI_CALLS}, ["ai", FINAL]],
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_calls_of_each_form_are_found(form: str) -> None:
    sample = {"messages": FORMS[form], "reference_tool_calls": EXPECTED}
    for metric in (ToolCallF1(order="sequence"), ToolCallF1(), ToolCallPrecision(), ToolCallRecall()):
        score, _ = played(metric, sample)
        assert (score.value, score.code, score.reason) == (1.0, None, "2 calls made, 2 expected; 2 matched"), form


@pytest.mark.parametrize("form", FORMS)
def test_the_texts_of_each_form_reach_the_judge(form: str) -> None:
    check = {"steps": [{"id": 1, "text": "mail", "done": 1}], "reason": "", "achieved": 1, "notes": ""}
    score, [prompt] = played(GoalAchievement(), {"messages": FORMS[form], "reference_goal": "The team knows."}, check_goal=check)
    assert score.value == 1.0
    texts = [(role, text) for role, text, _ in prompt.messages]
    assert texts[0] == ("user", ASK)
    assert ("assistant", FINAL) in texts
    assert not any("Two tools." in text for _, text in texts), "thoughts are no part of the conversation"
    results = [text for role, text in texts if role == "tool"]
    assert "\n".join(results) in (f"{RESULT}\n{SENT}", "")
    assert {role for role, _ in texts} <= {"user", "assistant", "tool"}


@pytest.mark.parametrize("form", FORMS)
def test_a_list_as_text_is_read_as_the_list(form: str) -> None:
    as_list = Sample.parse({"messages": FORMS[form]})
    for text in (json.dumps(FORMS[form]), repr(FORMS[form])):
        assert conversation_of(Sample.parse({"messages": text})) == conversation_of(as_list)


@pytest.mark.parametrize("form", ["OpenAI chat", "OpenAI Responses", "Anthropic", "Gemini REST", "LangChain dumpd",
                                  "AI SDK 5 UI"])
def test_turns_do_not_depend_on_the_form(form: str) -> None:
    score, _ = played(TurnEfficiency(), {"messages": FORMS[form], "reference_turns": 2})
    assert (score.value, score.details["turns"]) == (1.0, 2)


@pytest.mark.parametrize("form", FORMS)
def test_history_is_read_as_messages_are(form: str) -> None:
    turns = Sample.parse({"history": FORMS[form]}).history
    assert turns is not None
    assert turns[0] == ("user", ASK)
    assert ("assistant", FINAL) in turns


CALL_FORMS: list[Any] = [
    {"name": "get_weather", "args": OSLO},
    {"name": "get_weather", "arguments": OSLO_TEXT},
    {"name": "get_weather", "input": OSLO, "id": "t1", "type": "tool_use"},
    {"name": "get_weather", "input_parameters": OSLO, "output": RESULT},
    {"name": "get_weather", "parameters": OSLO},
    {"type": "function", "id": "c", "function": {"name": "get_weather", "arguments": OSLO_TEXT}},
    {"type": "function_call", "name": "get_weather", "arguments": OSLO_TEXT, "call_id": "c"},
    {"function_call": {"name": "get_weather", "args": OSLO}},
    {"functionCall": {"name": "get_weather", "args": OSLO}},
    {"toolUse": {"toolUseId": "t", "name": "get_weather", "input": OSLO}},
    {"toolName": "get_weather", "args": OSLO, "toolCallId": "c"},
    {"type": "tool-call", "toolName": "get_weather", "input": OSLO},
    {"tool_name": "get_weather", "tool_kwargs": OSLO, "tool_id": "c"},
    {"tool_name": "get_weather", "tool_args": OSLO},
    {"tool": "get_weather", "tool_input": OSLO},
    {"action": "get_weather", "action_input": OSLO},
    {"function": "get_weather", "arguments": OSLO},
    {"function_name": "get_weather", "plugin_name": "weather", "arguments": OSLO},
    {"method": "tools/call", "params": {"name": "get_weather", "arguments": OSLO}},
    {"name": "functions.get_weather", "arguments": OSLO},
    '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
    "{'name': 'get_weather', 'args': {'city': 'Oslo'}}",
]  # fmt: skip


@pytest.mark.parametrize("made", CALL_FORMS)
def test_calls_in_a_list_have_the_same_forms(made: Any) -> None:
    [expected, _] = EXPECTED
    for sample in ({"tool_calls": [made], "reference_tool_calls": [expected]},
                   {"tool_calls": [expected], "reference_tool_calls": [made]},
                   {"messages": [{"role": "assistant", "tool_calls": [made]}], "reference_tool_calls": json.dumps([expected])}):
        assert played(ToolCallF1(), sample)[0].value == 1.0


def test_the_name_of_a_plugin_may_stand_before_that_of_its_function() -> None:
    made = {"name": "weather-get_weather", "function_name": "get_weather", "plugin_name": "weather", "arguments": OSLO}
    for name, value in (("get_weather", 1.0), ("weather-get_weather", 1.0), ("mail-get_weather", 0.0)):
        sample = {"tool_calls": [made], "reference_tool_calls": [{"name": name, "args": OSLO}]}
        assert played(ToolCallF1(), sample)[0].value == value


@pytest.mark.parametrize("name", ["multi_tool_use.parallel", "multi_tool_use_parallel", "multi_tool_use-parallel",
                                  "multi_tool_use", "functions.multi_tool_use.parallel"])
@pytest.mark.parametrize("as_text", [True, False])
def test_parallel_calls_are_taken_out_of_their_wrapper(name: str, as_text: bool) -> None:
    mail = {"recipient_name": "functions.send_mail", "parameters": TEAM}
    inner = {"recipient_name": name, "parameters": {"tool_uses": [mail]}}
    wrapped: Any = {"tool_uses": [{"recipient_name": "functions.get_weather", "parameters": OSLO}, inner]}
    made = [{"name": name, "arguments": json.dumps(wrapped) if as_text else wrapped}]
    assert played(ToolCallF1(), {"tool_calls": made, "reference_tool_calls": EXPECTED})[0].value == 1.0
    assert played(ToolCallF1(), {"tool_calls": EXPECTED, "reference_tool_calls": made})[0].value == 1.0


def test_a_broken_wrapper_of_parallel_calls_is_one_wrong_call() -> None:
    made = [{"name": "multi_tool_use.parallel", "arguments": '{"tool_uses": [{"recipient_name"'}, EXPECTED[1]]
    score, _ = played(ToolCallF1(), {"tool_calls": made, "reference_tool_calls": EXPECTED})
    assert (score.value, score.flags) == (0.5, ("UNREADABLE_ARGUMENTS",))


@pytest.mark.parametrize("message", [
    {"role": "assistant", "content": None, "tool_calls": [openai_call(1, "get_weather", '{"city": "Oslo"'), OPENAI_CALLS[1]]},
    {"type": "ai", "content": "", "tool_calls": [LANGCHAIN_CALLS[1]], "additional_kwargs": {"tool_calls": [
        openai_call(1, "get_weather", '{"city": "Oslo"'), OPENAI_CALLS[1]]},
     "invalid_tool_calls": [{"name": "get_weather", "args": '{"city": "Oslo"', "id": "call_1", "error": None}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "get_weather", "input": '{"city": "Oslo"'},
                                      {"type": "tool_use", "id": "2", "name": "send_mail", "input": TEAM}]},
    {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": "{'city'"}},
                                {"functionCall": {"name": "send_mail", "args": TEAM}}]},
    {"role": "assistant", "content": '<tool_call>{"name": "get_weather", "arguments": {"city</tool_call>\n'
                                     f'<tool_call>{{"name": "send_mail", "arguments": {TEAM_TEXT}}}</tool_call>'},
])  # fmt: skip
def test_a_call_with_broken_arguments_in_a_message_is_wrong_and_the_others_count(message: dict[str, Any]) -> None:
    sample = {"messages": [{"role": "user", "content": ASK}, message], "reference_tool_calls": EXPECTED}
    for metric in (ToolCallF1(), ToolCallPrecision(), ToolCallRecall()):
        score, _ = played(metric, sample)
        assert (score.value, score.flags) == (0.5, ("UNREADABLE_ARGUMENTS",))
    assert played(ToolCallF1(match="name_only"), sample)[0].value == 1.0


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"role": "assistant", "utterance": "Hello."}, "utterance"),
        ({"role": "assistant", "content": None, "steps": [{"run": "get_weather"}]}, "steps"),
        ({"role": "assistant", "content": "Done.", "function_invocations": [{"run": "get_weather"}]}, "function_invocations"),
        ({"role": "assistant"}, "assistant"),
        ({"role": "assistant", "content": [{"type": "sticker", "url": "x"}]}, "sticker"),
        ({"role": "assistant", "parts": [{"execute": {"name": "get_weather"}}]}, "execute"),
        ({"role": "assistant", "content": 5}, "5"),
        ({"role": "assistant", "content": [5]}, "5"),
        ({"role": "assistant", "tool_calls": [{"id": "c1"}]}, "c1"),
        ({"role": "assistant", "tool_calls": "get_weather"}, "get_weather"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "t1"}]}, "t1"),
        ({"role": "user", "content": "x", "tool_calls": OPENAI_CALLS}, "user"),
        ({"role": 5, "content": "x"}, "5"),
        ({"content": "x"}, "x"),
        ({"type": "text", "text": "x"}, "x"),
        ({"from": "function_call", "value": "get_weather(Oslo)"}, "get_weather"),
        ({"question": "Who?"}, "question"),
        ({"user": "U123", "text": "Hello."}, "text"),
        ({"user": "Who?", "assistant": "Me.", "tool_calls": OPENAI_CALLS}, "tool_calls"),
        ({"role": "assistant", "content": "<tool_call><function=get_weather></function></tool_call>"}, "get_weather"),
        ({}, "{}"),
        ("hello", "hello"),
        (["one", "two", "three"], "three"),
        (None, "null"),
        (5, "5"),
    ],
)
def test_a_form_that_is_not_known_is_named(message: Any, named: str) -> None:
    messages = [{"role": "user", "content": ASK}, message]
    for metric in (ToolCallF1(), GoalAchievement()):
        score, _ = played(metric, {"messages": messages, "reference_tool_calls": EXPECTED, "reference_goal": "x"})
        assert (score.status, score.code) == ("failed", "INVALID_INPUT")
        assert str(score.reason).startswith("messages: item 2: ")
        assert named in str(score.reason)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}, "I cannot."),
        ({"role": "assistant", "content": None, "refusal": "I cannot."}, "I cannot."),
        ({"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hello."}}, "Hello."),
        ({"role": "assistant", "content": [{"type": "text", "text": {"value": "Hello.", "annotations": []}}]}, "Hello."),
        ({"role": "user", "content": ["Look:", {"type": "image_url", "image_url": {"url": "x"}}]}, "Look:\n[image_url]"),
        ({"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "x"}}, {"text": "What?"}]},
         "[inline_data]\nWhat?"),
        ({"role": "user", "content": [{"image": {"format": "png", "source": {}}}, {"text": "What?"}]}, "[image]\nWhat?"),
        ({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}, ""),
        ({"role": "assistant", "content": ""}, ""),
        ({"role": "assistant", "content": None}, ""),
        ({"role": "assistant", "content": "Half \ud83d."}, "Half \ufffd."),
        ({"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["Hello."]}}, "Hello."),
        ({"message": {"role": "assistant", "content": "Hello."}, "index": 0, "finish_reason": "stop"}, "Hello."),
        ({"role": "MessageRole.ASSISTANT", "content": "Hello."}, "Hello."),
        ({"role": "user", "content": '[{"type": "text", "text": "Hello."}]'}, "Hello."),
        ({"role": "user", "content": '[{"type": "dog", "text": "Hello."}]'}, '[{"type": "dog", "text": "Hello."}]'),
        ({"role": "model", "parts": [{"text": "Hello.", "thought_signature": "x"}]}, "Hello."),
        ({"type": "message", "role": "user", "content": [{"type": "input_audio", "transcript": "Hello."}]}, "Hello."),
        ({"role": "user", "content": "NaN"}, ""),
        ({"role": "assistant", "content": "A <tool_call> begins a call."}, "A <tool_call> begins a call."),
        ({"role": "tool", "content": {"price": None}}, '{"price": null}'),
    ],
)
def test_the_text_of_a_message(message: dict[str, Any], text: str) -> None:
    [read] = read_messages("messages", [message])
    assert (read.text, read.calls) == (text, ())


@pytest.mark.parametrize(
    ("item", "name", "args"),
    [
        ({"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "Oslo"}},
         "web_search", {"type": "search", "query": "Oslo"}),
        ({"type": "file_search_call", "id": "f", "queries": ["Oslo"], "results": None}, "file_search", {"queries": ["Oslo"]}),
        ({"type": "mcp_call", "name": "roll", "arguments": '{"n": 1}', "server_label": "dice", "output": "4"}, "roll", {"n": 1}),
        ({"type": "custom_tool_call", "call_id": "c", "name": "shell", "input": "ls -l"}, "shell", {"input": "ls -l"}),
        ({"type": "code_interpreter_call", "code": "1 + 1", "container_id": "x"}, "code_interpreter", {"code": "1 + 1"}),
    ],
)
def test_calls_of_tools_that_the_server_runs(item: dict[str, Any], name: str, args: Any) -> None:
    messages = read_messages("messages", [{"role": "user", "content": "x"}, item])
    [call] = calls_in(messages)
    assert (call.name, call.args) == (name, args)


@pytest.mark.parametrize(
    ("history", "read"),
    [
        ([["When is it open?", "From nine to five."]], (("user", "When is it open?"), ("assistant", "From nine to five."))),
        ([("q", None)], (("user", "q"),)),
        ([("human", "q"), ("ai", "a")], (("user", "q"), ("assistant", "a"))),
        ([{"user": "q", "assistant": "a"}], (("user", "q"), ("assistant", "a"))),
        ([{"question": "q", "answer": "a"}], (("user", "q"), ("assistant", "a"))),
        ([{"inputs": {"question": "q"}, "outputs": {"answer": "a"}}], (("user", "q"), ("assistant", "a"))),
        ([{"role": "assistant", "content": None, "tool_calls": OPENAI_CALLS}, {"role": "assistant", "content": "a"}],
         (("assistant", "a"),)),
        ({"messages": [{"role": "user", "content": "q"}]}, (("user", "q"),)),
        ("[['q', 'a']]", (("user", "q"), ("assistant", "a"))),
        (["q", "a"], (("", "q"), ("", "a"))),
        ([], ()),
        (float("nan"), None),
        ("", None),
    ],
)
def test_what_a_history_may_be(history: Any, read: Any) -> None:
    assert Sample.parse({"history": history}).history == read


class Role(str, Enum):
    ASSISTANT = "assistant"


class Function(BaseModel):
    name: str
    arguments: str


class ToolCall(BaseModel):
    id: str
    function: Function
    type: str = "function"


class LiveMessage(BaseModel):
    role: Role = Role.ASSISTANT
    content: str | None = None
    tool_calls: list[ToolCall] | None = None


@dataclass
class TextContent:
    text: str


@dataclass
class DataMessage:
    _role: Role
    _content: list[Any]


def test_live_objects_are_read_like_what_they_are_stored_as() -> None:
    calls = [ToolCall(id="1", function=Function(name="get_weather", arguments=OSLO_TEXT)),
             ToolCall(id="2", function=Function(name="send_mail", arguments=TEAM_TEXT))]
    messages = [DataMessage(Role.ASSISTANT, [TextContent("I look.")]), LiveMessage(tool_calls=calls)]
    assert played(ToolCallF1(), {"messages": messages, "reference_tool_calls": EXPECTED})[0].value == 1.0
    assert played(ToolCallF1(), {"tool_calls": calls, "reference_tool_calls": calls})[0].value == 1.0
    assert [message.text for message in conversation_of(Sample.parse({"messages": messages}))] == ["I look.", ""]


def test_a_message_that_is_nested_too_deeply_is_named() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(SampleFault, match="messages"):
        Sample.parse({"messages": [{"role": "user", "content": deep}]})


KEYS = st.sampled_from(["role", "type", "content", "text", "parts", "tool_calls", "name", "args", "function", "id", "input",
                        "user", "assistant", "toolUse", "functionCall", "data", "kwargs", "lc", "message"]) | st.text(max_size=5)
WORDS = st.sampled_from(["assistant", "user", "tool", "ai", "text", "tool_use", "function_call", "tool-x", "function"])
json_values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
                           lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner | WORDS, max_size=4),
                           max_leaves=12)


@settings(max_examples=400, deadline=None)
@given(st.lists(json_values, max_size=3))
def test_anything_is_read_or_refused_with_the_sample_fault(messages: list[Any]) -> None:
    for sample in ({"messages": messages}, {"history": messages}, {"tool_calls": messages, "reference_tool_calls": messages}):
        score = score_one(ToolCallF1(), {"reference_tool_calls": [], **sample})
        assert score.code in (None, "INVALID_INPUT", "NO_CALLS"), score.reason
