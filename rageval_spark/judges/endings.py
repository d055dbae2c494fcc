"""Finish reasons: the words with which servers say why a reply ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Ending = Literal["cut", "filtered", "failed"]

_WORDS: Mapping[Ending, str] = {
    # by a content filter, or by the model itself: OpenAI, Azure, Gemini, Anthropic, Bedrock, Cohere, Zhipu, Alibaba
    "filtered": "content_filter content_filtered content_filtering safety prohibited_content recitation blocklist "
    "spii refusal guardrail guardrail_intervened toxic sensitive moderation data_inspection_failed",
    # by the output limit: OpenAI, vLLM, Anthropic, Gemini, Mistral, Cohere, TGI and gateways to them
    "cut": "length max_tokens max_output_tokens token_limit context_window_exceeded incomplete",
    # because the server failed: whatever came until then is no answer
    "failed": "error failed failure abort aborted cancelled canceled cancel interrupted timeout "
    "insufficient_system_resource malformed_function_call malformed_response unexpected_tool_call",
}
_ENDINGS = [
    (ending, re.compile("|".join(rf"(?<![a-z]){word}(?![a-z])" for word in words.split()))) for ending, words in _WORDS.items()
]


def ending_of(finish_reason: str | None) -> Ending | None:
    """Return how a reply ended early, or None if it ended by itself or for an unknown reason.

    Gateways put a server's own reason before or behind the general one ("content_filter: SAFETY", "FinishReason.SAFETY"), and
    write the words in their own way ("MAX_TOKENS", "max-tokens", "maxTokens").
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", "_", finish_reason or "").casefold()
    return next((ending for ending, known in _ENDINGS if known.search(words)), None)
