"""Finish reasons: the words with which servers say why a reply ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Ending = Literal["cut", "filtered", "failed"]

_WORDS: Mapping[Ending, str] = {
    # by the output limit: OpenAI, vLLM, Anthropic, Gemini, Mistral, Cohere, TGI and gateways to them
    "cut": "length max_tokens max_output_tokens model_length max_length token_limit model_context_window_exceeded "
    "context_length context_window_exceeded incomplete",
    # by a content filter, or by the model itself: OpenAI, Azure, Gemini, Anthropic, Bedrock, Cohere, Zhipu, Alibaba
    "filtered": "content_filter content_filtered content_filtering safety image_safety prohibited_content recitation blocklist "
    "spii refusal guardrail_intervened error_toxic toxic sensitive moderation data_inspection_failed",
    # because the server failed: whatever came until then is no answer
    "failed": "error error_limit failed abort aborted cancelled canceled cancel interrupted timeout network_error internal_error "
    "server_error insufficient_system_resource malformed_function_call malformed_response unexpected_tool_call",
}
_ENDINGS: dict[str, Ending] = {word: ending for ending, words in _WORDS.items() for word in words.split()}


def ending_of(finish_reason: str | None) -> Ending | None:
    """Return how a reply ended early, or None if it ended by itself or for an unknown reason.

    Gateways put a server's own reason before or behind the general one ("content_filter: SAFETY", "FinishReason.SAFETY").
    """
    for word in re.split(r"[^a-z_]+", (finish_reason or "").casefold()):
        if word in _ENDINGS:
            return _ENDINGS[word]
    return None
