"""One small prompt before any work: is the judge there, does it know us, how does it want to be asked?"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

import aiohttp

from rageval_spark.errors import ConfigError, JudgeFault, JudgeRefused
from rageval_spark.judges import dialect, http
from rageval_spark.judges.certificates import read_roots
from rageval_spark.judges.conversation import converse
from rageval_spark.judges.dialect import FORMATS, Transport
from rageval_spark.judges.http import Secret, connection_of, headers_of
from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.judges.settings import Endpoint, HttpEmbeddings, HttpJudge
from rageval_spark.judges.wire import ChatWire, completion, embeddings, embeddings_body, embeddings_parameters
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.prompts.rendering import Rendered, Rendering

ATTEMPTS = 5
PROBE = DetectRefusal("Which day follows Monday?", "Tuesday follows Monday.")
Ask = Callable[[Transport], Awaitable[object]]


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


def first_form(endpoint: Endpoint) -> Transport:
    """The form in which an endpoint is asked before anything is known of it."""
    chosen = endpoint.reply_format if isinstance(endpoint, HttpJudge) else None
    return Transport(reply_format=chosen or FORMATS[0])


def render_probe(judge: HttpJudge) -> Rendered:
    return Rendering(judge.signature(), "en", judge.reasons).render(PROBE, "en")


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
    """Ask the judge one prompt, in other forms until it is answered and the reply can be used.

    Sends one prompt if nothing is amiss, and at most about a dozen. Raises JudgeRefused if the judge cannot be used, and
    ConfigError if its certificates or its proxy cannot.
    """
    return http.run_in_own_loop(_Check(judge, key).judge())


def check_embeddings(settings: HttpEmbeddings, key: Secret) -> Transport:
    """Embed one text, in other forms until it is embedded. Raises JudgeRefused or ConfigError as `check_judge` does."""
    return http.run_in_own_loop(_Check(settings, key).embeddings())


class _Check:
    """The preflight of one endpoint."""

    def __init__(self, endpoint: HttpJudge | HttpEmbeddings, key: Secret):
        self._endpoint, self._key = endpoint, key
        self._start = replace(first_form(endpoint), roots=read_roots(endpoint))
        self._connection = connection_of(endpoint, self._start.roots)

    async def judge(self) -> Transport:
        judge = self._endpoint
        assert isinstance(judge, HttpJudge)
        chat, probe = ChatWire(judge, self._start), render_probe(judge)

        def sent(form: Transport) -> dict[str, Any]:
            return chat.sent(probe, judge.max_output_tokens, form)

        async with http.session(limit=1) as session:
            async def ask(form: Transport) -> None:
                talk = converse(PROBE, "en", judge.max_output_tokens)
                turn = next(talk)
                try:
                    while True:
                        body = chat.body(probe, turn.note, turn.max_output_tokens, form)
                        turn = talk.send(completion(*await self._post(session, "chat/completions", body)))
                except StopIteration:
                    return

            form = self._start
            while True:
                try:
                    form = await self._negotiate(ask, sent, form)
                    break
                except JudgeFault as fault:  # some servers take a format and ignore it
                    rest = FORMATS[FORMATS.index(form.reply_format) + 1 :]
                    if judge.reply_format or not rest:
                        raise self._unusable(fault) from None
                    form = replace(form, reply_format=rest[0])
        self._report(form)
        return form

    async def embeddings(self) -> Transport:
        settings = self._endpoint
        assert isinstance(settings, HttpEmbeddings)

        def sent(form: Transport) -> dict[str, Any]:
            return embeddings_parameters(settings, form)

        async with http.session(limit=1) as session:
            async def ask(form: Transport) -> None:
                body = embeddings_body(settings, form, [PROBE.text])
                answer, ms = await self._post(session, "embeddings", body)
                embeddings(answer, 1, ms)

            form = await self._negotiate(ask, sent, self._start)
        self._report(form)
        return form

    async def _negotiate(self, ask: Ask, sent: Callable[[Transport], dict[str, Any]], start: Transport) -> Transport:
        """The form that is answered. Raises JudgeRefused, and JudgeFault if the first is answered with what cannot be used."""
        try:
            await self._patiently(ask, start)
            return start
        except Unanswered as refusal:
            first = refusal
        attempts = ATTEMPTS
        if dialect.may_be_about_the_form(first):
            forms = dialect.search(start, first, dialect.variations(self._endpoint), sent)
        elif first.status == 500:
            forms = _plainer_forms(start)  # some servers fail at a schema, or at a system message, without a word about it
            attempts = 1
        else:
            raise self._refused(first)
        last, unusable, form = first, None, next(forms, None)
        while form is not None:
            try:
                await self._patiently(ask, form, attempts)
                return form
            except Unanswered as refusal:
                last = refusal
            except JudgeFault as fault:
                last, unusable = first, fault  # answered, but of no use: as if this form had been refused too
            try:
                form = forms.send(last)
            except StopIteration:
                form = None
        if unusable is not None:
            raise self._unusable(unusable)
        raise self._refused(first if dialect.may_be_about_the_form(last) else last)

    async def _patiently(self, ask: Ask, form: Transport, attempts: int = ATTEMPTS) -> None:
        give_up_at, attempt = time.monotonic() + self._endpoint.deadline_s, 1
        while True:
            try:
                await ask(form)
                return
            except Unanswered as refusal:
                wait_s = min(refusal.retry_after_s or 0.25 * 2**attempt, 10)
                patient = refusal.transient and not dialect.may_be_about_the_form(refusal)
                if (not patient or attempt >= min(attempts, self._endpoint.max_attempts)
                        or time.monotonic() + wait_s > give_up_at):
                    raise
                await asyncio.sleep(wait_s)
                attempt += 1

    async def _post(self, session: aiohttp.ClientSession, path: str, body: bytes) -> tuple[bytes, float]:
        headers = headers_of(self._endpoint, self._key)
        return await http.post(session, self._endpoint, path, headers, body, self._key, self._connection)

    def _report(self, form: Transport) -> None:
        """Say what the user set and the server does not take."""
        dialect.report_ignored(self._endpoint, form)

    def _unusable(self, fault: JudgeFault) -> JudgeRefused:
        endpoint = self._endpoint
        where = f"the judge {endpoint.model} at {endpoint.base_url}"
        return JudgeRefused(f"{where} answers, but no reply can be used: {fault.reason}")

    def _refused(self, refusal: Unanswered) -> JudgeRefused:
        endpoint = self._endpoint
        hint = ""
        if refusal.budget_too_large:
            hint = ". Lower max_output_tokens"
        elif refusal.status in (401, 403):
            hint = (f". The key was read from {endpoint.api_key_env}" if endpoint.api_key_env
                    else ". No key was sent: name its environment variable with api_key_env")
        elif refusal.status == 404:
            hint = f". Is {endpoint.model!r} a model of this server, and does base_url end where /chat/completions begins?"
        return JudgeRefused(f"{endpoint.model} at {endpoint.base_url} cannot be used: {refusal.reason.rstrip('.')}{hint}")


def _plainer_forms(start: Transport) -> Generator[Transport, Unanswered, None]:
    form = start
    for name in FORMATS[FORMATS.index(start.reply_format) + 1 :]:
        form = replace(start, reply_format=name)
        yield form
    yield replace(start, system=False)
    yield replace(form, system=False)
