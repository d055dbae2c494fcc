"""What the user says of a judge. Pydantic models, so that a config is these classes and nothing beside them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rageval_spark.prompts.kinds import KINDS
from rageval_spark.prompts.own import Wording, wording_of
from rageval_spark.prompts.prompt import Reasons
from rageval_spark.score import Usage

BATCH_DISCOUNT = 0.5
"""What the Batch APIs take of the price."""
ReplyFormat = Literal["json_schema", "json_object", "text"]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


SECRETIVE = ("headers", "query", "extra_body", "options", "conf")
"""Keys under which a user may have put a secret: of what they hold only the names are written down."""


def public(value: Any) -> Any:
    """Settings as they may be written down: what is SECRETIVE by its names, a URL without user and password."""
    if isinstance(value, Mapping):
        return {key: sorted(one) if key in SECRETIVE and isinstance(one, Mapping) else public(one)
                for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [public(one) for one in value]
    return re.sub(r"(?<=://)[^/@]*@", "", value) if isinstance(value, str) else value


class Price(Settings):
    """Money per million tokens, in whatever currency the user counts."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class Reuse(Settings):
    """Which stored replies answer a prompt: those at most `max_age_days` old."""

    max_age_days: float | None = Field(default=None, gt=0)


class Endpoint(Settings):
    """Where a model is and how to reach it. The key itself is never part of it, only the name of its variable.

    `ca_bundle` is a PEM file (or a folder of them) with the authorities to trust in place of the machine's.
    """

    model: str = Field(min_length=1)
    base_url: str = Field(min_length=1)
    api_key_env: str | None = None
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    query: Mapping[str, str] = Field(default_factory=dict)
    extra_body: Mapping[str, Any] = Field(default_factory=dict)
    ca_bundle: Path | None = None
    timeout_s: float = Field(default=60, gt=0)
    deadline_h: float = Field(default=26, gt=0)

    @field_validator("base_url")
    @classmethod
    def _with_scheme(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"must start with http:// or https://, found {url!r}")
        return url.rstrip("/")

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @property
    def label(self) -> str:
        """The name under which usage is counted."""
        return self.model

    def public(self) -> dict[str, Any]:
        """The settings as they may be written down."""
        found: dict[str, Any] = public(self.model_dump(mode="json"))
        return found


class HttpJudge(Endpoint):
    """A judge behind an OpenAI-compatible API.

    `max_concurrency` bounds what is in flight over all tasks together, embeddings of the same `base_url` included.
    A prompt is given up after `max_attempts` failed attempts or `deadline_s` seconds. `price` is per million tokens.
    `mode` "batch" has prompts answered through the Batch API, and takes no batch for alive after `deadline_h` hours;
    "files" leaves them as files for whoever answers them.
    `repeat` so many prompts are asked once more after a run, live. `prompts` is own wording: texts by kind and language, or a
    folder of files `<kind>.<language>.txt`, which is read at once.
    """

    provider: Literal["http"] = "http"
    mode: Literal["live", "batch", "files"] = "live"
    temperature: float | None = Field(default=0, ge=0)
    seed: int | None = None
    max_output_tokens: int | None = Field(default=None, gt=0)
    reply_format: ReplyFormat | None = None
    reasons: Reasons = "failed"
    language: Literal["auto", "en", "zh"] = "auto"
    max_concurrency: int = Field(default=64, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    max_attempts: int = Field(default=6, gt=0)
    deadline_s: float = Field(default=600, gt=0)
    prompt_token_limit: int = Field(default=100_000, ge=1000)
    prompts: Wording | str | Path = Field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    reuse: bool | Reuse = True
    repeat: int = Field(default=0, ge=0)
    price: Price | None = None

    __hash__ = Endpoint.__hash__

    def cost(self, usage: Usage) -> float | None:
        """Money for these tokens, cached ones at the prompt's price unless they have one of their own; half of it in
        batches. None where the price or the tokens are not known."""
        if self.price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        cached = (usage.cached_tokens or 0) if self.price.cached is not None else 0
        prompts = self.price.prompt * (usage.prompt_tokens - cached) + (self.price.cached or 0) * cached
        whole = float(prompts + self.price.completion * usage.completion_tokens) / 1e6
        return whole * (BATCH_DISCOUNT if self.mode == "batch" else 1)

    def reuse_since(self, now: float) -> float:
        """When replies of other runs must have been made to be used, as `now` in seconds since 1970."""
        if not isinstance(self.reuse, Reuse):
            return 0.0 if self.reuse else math.inf
        days = self.reuse.max_age_days
        return 0.0 if days is None else now - days * 86_400

    @property
    def wording(self) -> Wording:
        """Own wording by kind and language."""
        return cast("Wording", self.prompts)  # a folder was read when the settings were made

    def signature(self) -> str:
        """What of a judge is part of a reply's key: model and sampling as configured, not how it is reached."""
        sampling = {"temperature": self.temperature, "seed": self.seed, "max_output_tokens": self.max_output_tokens,
                    "extra_body": dict(self.extra_body)}
        return json.dumps([self.model, sampling], sort_keys=True, ensure_ascii=False)

    def for_kind(self, kind: str) -> HttpJudge:
        """The judge that answers prompts of a kind: this one, with what `kinds` says otherwise."""
        return self.altered(self.kinds[kind]) if kind in self.kinds else self

    def altered(self, changes: Mapping[str, Any]) -> HttpJudge:
        """This judge with changes. Another server is not sent this one's key and headers."""
        apart = {"kinds", "api_key_env", "headers"} if "base_url" in changes else {"kinds"}
        return HttpJudge.model_validate({**self.model_dump(exclude=apart), **changes})

    @model_validator(mode="after")
    def _repeats_live(self) -> HttpJudge:
        if self.repeat and self.mode != "live":
            raise ValueError(f"repeat asks at once after a run, which needs mode: live, found {self.mode}")
        return self

    @field_validator("prompts", mode="before")
    @classmethod
    def _read(cls, given: Any) -> Wording:
        return wording_of(given)

    @field_validator("kinds")
    @classmethod
    def _known_kinds(cls, kinds: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        for kind, changes in kinds.items():
            if kind not in KINDS:
                raise ValueError(f"no kind of prompt is called {kind!r}; the kinds are {', '.join(KINDS)}")
            if unknown := [key for key in changes if key not in cls.model_fields]:
                raise ValueError(f"{kind}: unknown key {unknown[0]}; the keys are {', '.join(cls.model_fields)}")
        return {kind: {**changes, "prompts": wording_of(changes["prompts"])} if "prompts" in changes else changes
                for kind, changes in kinds.items()}


class EmbeddedJudge(Settings):
    """A judge in this process that compares words: no model, no key, no requests. A heuristic screen."""

    model: ClassVar[str] = "embedded"
    provider: Literal["embedded"] = "embedded"

    @model_validator(mode="before")
    @classmethod
    def _nothing_else(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and (more := [str(key) for key in given if key != "provider"]):
            raise ValueError(f"the embedded judge has nothing to set; leave out {', '.join(more)}, or make it provider: http")
        return given


Judge = HttpJudge | EmbeddedJudge


class HttpEmbeddings(Endpoint):
    """An embedding model behind an OpenAI-compatible API; `batch_size` texts go into a request."""

    batch_size: int = Field(default=256, gt=0)
    dimensions: int | None = Field(default=None, gt=0)
    max_attempts: int = Field(default=6, gt=0)
    deadline_s: float = Field(default=600, gt=0)
    price: float | None = Field(default=None, ge=0)

    __hash__ = Endpoint.__hash__

    @property
    def label(self) -> str:
        return f"{self.model} (embeddings)"

    def cost(self, usage: Usage) -> float | None:
        """Money for these tokens; None where the price or the tokens are not known."""
        return None if self.price is None or usage.prompt_tokens is None else self.price * usage.prompt_tokens / 1e6

    def signature(self) -> str:
        return json.dumps([self.model, self.dimensions, dict(self.extra_body)], sort_keys=True, ensure_ascii=False)
