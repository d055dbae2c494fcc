"""Words of error messages, for errors without a code of their own: a prompt that is too long, a filter, an empty account."""

from __future__ import annotations

import re


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I | re.S)


NO_CREDIT = _any_of(
    "insufficient_quota",
    "billing_(hard_limit|not_active)",
    "insufficient[ _]?(account )?(balance|credit|fund)",  # DeepSeek, OpenRouter
    "credit balance is too low",  # Anthropic
    "arrearage",  # Alibaba
    "requires? (more|additional) credits",
)
FILTERED = _any_of(
    "content[_ ]?(filter|policy|management|moderation)",  # OpenAI, Azure, Zhipu
    "responsible_?ai_?policy",
    "content exists risk",  # DeepSeek
    "data_?inspection_?failed|inappropriate content",  # Alibaba
    "(input|prompt|content|request|message)s? (was|were|has been|is|are) (flagged|blocked)",  # OpenRouter, gateways
    "flagged (for|as|by)|requires moderation",
    "guardrail",  # Bedrock, Databricks
    "prohibited_content|blocked.{0,30}(safety|policy)|safety (system|settings|filter)",  # Gemini, OpenAI
    "violat(e|es|ed|ing|ion).{0,40}(usage|content|safety|acceptable).{0,20}polic",
    "considered high risk|new_sensitive|sensitive (content|words?)",  # Moonshot, MiniMax
)
BUDGET = _any_of(
    r"max_?((completion|output|new)_?)?tokens\W.{0,60}(too (large|high|big)|exceeds?\b|must be|at most|greater than|less than)",
    "maximum (value )?(for|of) .{0,3}max_",
    r"requested (up to )?\d+ output tokens",
    r"\d+ in the completion",
    r"supports? at most \d+ (completion|output) tokens",
    r"maxoutputtokens",
)
TOO_LONG = _any_of(
    "context[ _-]?(length|window|size|limit)",  # OpenAI, vLLM, llama.cpp, Groq, LiteLLM
    "maximum context|exceed_context_size|string_above_max_length",
    "(prompt|input|inputs|request|message|text)s? (is|are|was|were) too (long|large)",  # Anthropic, Bedrock, Mistral
    "(request|payload|body|input|prompt)( entity)? too (large|long)",  # OpenAI by tokens per minute, servers by bytes
    "too many (input |prompt |total )?tokens",  # Cohere, Bedrock
    r"inputs?\W{0,2} (must have less than|tokens \+)",  # TGI
    "input (token count|length).{0,60}exceed|exceed.{0,60}(input|prompt) (token|length)",  # Gemini, Ollama
    r"range of input length",  # Alibaba
    "(maximum|max) (input|prompt|sequence|model) (token |sequence )?(length|limit|size)|max_(model|seq|input)_len",
    r"(prompt|input|request) (contains|has|of|consists of) (at least )?\d+ tokens.{0,80}(exceed|limit|maximum|only)",
    r"reduce the length of the (messages|prompt|input)",
    r"(input|prompt|total) tokens?.{0,40}(exceed|larger than|greater than|over the)",
    r"exceeds? (the )?(model'?s? )?(maximum|max)\w* (number of |allowed )?(input |prompt )?tokens",
)
"""Servers have no common code for a prompt that is too long, so that only their words show it."""
SUM = re.compile(r"(\d+) \+ (\d+) > (\d+)")
"""Tokens of the input, of the output, and the limit, as Anthropic writes them."""
LIMIT = _any_of(
    r"(?:maximum context length (?:is|of)|must be <=|context (?:size|window|length|limit)[^\d]{0,25}|supports? at most) ?\(?(\d+)"
)
INPUT = _any_of(
    r"(\d+) (?:in the (?:messages|prompt)|`?inputs`? tokens|input tokens|prompt tokens|tokens from the input)",
    r"(?:prompt contains|messages resulted in|request has)(?: at least)? (\d+)",
)

KEY = _any_of(
    "api[ _-]?key.{0,30}(not valid|invalid|incorrect|expired|missing|required)",
    r"(invalid|incorrect|expired|missing|no) (api[ _-]?key|credentials|authentication|authorization|token\b)",
    "unauthorized|unauthenticated|authentication_error|access denied|permission",
)
MODEL = _any_of(
    "model_not_found|model_not_exist|unknown_url|unknown_model|invalid_model|invalid url",
    r"\b(model|deployment|endpoint)\b.{0,80}(not (exist|found|available|recognized|deployed|a valid)|no longer|unknown)",
    r"(no such|unknown|invalid|not find|unsupported|not a valid|find the requested) (the )?(model|deployment)\b",
)

IN_A_200 = {
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "exceed_context_size_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "overloaded_error": 503,
    "server_error": 500,
    "api_error": 500,
}
"""Type of an error → the status that it usually comes with, for errors in the body of a 200."""
