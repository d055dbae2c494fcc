"""One small prompt before any work: is the judge there, does it know us, how does it want to be asked?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import requests

from rageval_spark.errors import ConfigError, JudgeFault, JudgeRefused
from rageval_spark.judges.conversation import Completion, converse
from rageval_spark.judges.http import Secret, as_it_is, headers_of
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, HttpJudge
from rageval_spark.judges.wire import (
    FORMATS,
    ChatWire,
    Transport,
    Unanswered,
    adapted,
    completion,
    embeddings,
    embeddings_body,
    refused,
)
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.rendering import Rendering

T = TypeVar("T")
ATTEMPTS = 5
PROBE = DetectRefusal("Which day follows Monday?", "Tuesday follows Monday.")


def key_of(endpoint: Endpoint, environment: Mapping[str, str] = os.environ) -> Secret:
    """The key from the variable that `api_key_env` names; none where it names none. Raises ConfigError if unset."""
    if endpoint.api_key_env is None:
        return Secret()
    value = environment.get(endpoint.api_key_env, "").strip()
    if not value:
        raise ConfigError(f"the environment variable {endpoint.api_key_env}, which api_key_env names for the key of "
                          f"{endpoint.base_url}, is not set. Set it, or leave api_key_env out where no key is needed.")
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"the environment variable {endpoint.api_key_env} holds characters that no key has, "
                          "such as a line break. Set it to the key alone.")
    return Secret(value)


def checked(keys: Mapping[Endpoint, Secret]) -> dict[Endpoint, Transport]:
    """What a first prompt to each judge and embedding model taught. Raises JudgeRefused where one cannot be used."""
    transports: dict[Endpoint, Transport] = {}
    for endpoint, key in keys.items():
        if isinstance(endpoint, HttpJudge):
            transports[endpoint] = check_judge(endpoint, key)
        elif isinstance(endpoint, HttpEmbeddings):
            transports[endpoint] = check_embeddings(endpoint, key)
    return transports


def check_judge(judge: HttpJudge, key: Secret) -> Transport:
    """Ask the judge one prompt, falling back from strict schema to JSON to text until a reply can be used.

    Sends one prompt where nothing is amiss. Raises JudgeRefused where the judge cannot be used.
    """
    rendered = Rendering(judge.signature(), "en", judge.reasons).render(PROBE, "en")
    transport = Transport(reply_format=judge.reply_format or FORMATS[0])
    while True:
        current = transport

        def ask(transport: Transport = current) -> Transport:
            talk = converse(PROBE, "en", judge.max_output_tokens)
            turn = next(talk)
            try:
                while True:
                    body = ChatWire(judge, transport).body(rendered, turn.note, turn.max_output_tokens)
                    turn = talk.send(_completion(judge, key, body))
            except StopIteration:
                return transport

        try:
            return _patiently(ask, judge)
        except Unanswered as refusal:
            transport = _learnt(judge, current, refusal)
        except JudgeFault as fault:
            rest = FORMATS[FORMATS.index(current.reply_format) + 1 :]
            if judge.reply_format or not rest:
                raise JudgeRefused(f"the judge {judge.model} at {judge.base_url} answers, but no reply can be used: "
                                   f"{fault.reason}") from None
            transport = replace(current, reply_format=rest[0])


def check_embeddings(settings: HttpEmbeddings, key: Secret) -> Transport:
    """Embed one word. Raises JudgeRefused where the embeddings cannot be used."""
    transport = Transport()
    while True:
        current = transport

        def ask(transport: Transport = current) -> Transport:
            body = embeddings_body(settings, transport, [PROBE.text])
            embeddings(_post(settings, "embeddings", key, body), 1, 0.0)
            return transport

        try:
            return _patiently(ask, settings)
        except Unanswered as refusal:
            transport = _learnt(settings, current, refusal)


def _learnt(endpoint: Endpoint, transport: Transport, refusal: Unanswered) -> Transport:
    learnt = adapted(transport, refusal)
    if learnt is not None:
        return learnt
    hint = ""
    if refusal.status in (401, 403):
        hint = (f". The key was read from {endpoint.api_key_env}" if endpoint.api_key_env
                else ". No key was sent: name its environment variable with api_key_env")
    elif refusal.status == 404:
        hint = f". Is {endpoint.model!r} a model of this server, and does base_url end where /chat/completions begins?"
    raise JudgeRefused(f"{endpoint.model} at {endpoint.base_url} cannot be used: {refusal.reason.rstrip('.')}{hint}") from None


def _patiently(ask: Callable[[], T], endpoint: HttpJudge | HttpEmbeddings) -> T:
    give_up_at, attempt = time.monotonic() + endpoint.deadline_s, 1
    while True:
        try:
            return ask()
        except Unanswered as refusal:
            wait_s = min(refusal.retry_after_s or 0.25 * 2**attempt, 10)
            if (not refusal.transient or attempt >= min(ATTEMPTS, endpoint.max_attempts)
                    or time.monotonic() + wait_s > give_up_at):
                raise
            time.sleep(wait_s)
            attempt += 1


def _completion(judge: HttpJudge, key: Secret, body: bytes) -> Completion:
    return completion(_post(judge, "chat/completions", key, body), 0.0)


def _post(endpoint: Endpoint, path: str, key: Secret, body: bytes) -> bytes:
    try:
        answer = requests.post(f"{endpoint.base_url}/{path}", data=body, headers=headers_of(endpoint, key),
                               params=dict(endpoint.query), timeout=endpoint.timeout_s, auth=as_it_is)
    except requests.Timeout:
        raise Unanswered("JUDGE_TIMEOUT", f"no answer within {endpoint.timeout_s:g} s", transient=True) from None
    except requests.RequestException as error:
        raise Unanswered("JUDGE_HTTP", key.hidden_in(f"no connection ({type(error).__name__}): {_root(error)}"),
                         transient=True) from None
    if answer.status_code == 200:
        return answer.content
    refusal = refused(answer.status_code, answer.headers, answer.content)
    refusal.reason = key.hidden_in(refusal.reason)
    raise refusal


def _root(error: BaseException) -> str:
    reason = error.args[0] if error.args else error
    inner = getattr(reason, "reason", reason)
    return str(inner).rsplit(": ", 1)[-1]
