"""One attempt over HTTP: the data plane of the executors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from rageval_spark.judges.settings import Endpoint
from rageval_spark.judges.wire import Unanswered, refused


@dataclass(frozen=True)
class Secret:
    """A key that no repr, log or traceback shows."""

    value: str | None = None

    def __repr__(self) -> str:
        return "Secret(…)"

    def hidden_in(self, text: str) -> str:
        return text.replace(self.value, "…") if self.value else text


def headers_of(endpoint: Endpoint, key: Secret) -> dict[str, str]:
    authorization = {"Authorization": f"Bearer {key.value}"} if key.value else {}
    return {"Content-Type": "application/json", **authorization, **endpoint.headers}


def as_it_is(request: Any) -> Any:
    """How `requests` is to authenticate: not at all, or the password that ~/.netrc has for a host takes the key's place."""
    return request


def session(limit: int) -> aiohttp.ClientSession:
    """One session for one event loop, with room for `limit` requests at once; close it before the loop ends.

    It does not look at the environment: aiohttp would do so for every request, in threads, and let ~/.netrc dispute the key.
    """
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=limit, keepalive_timeout=30),
                                 cookie_jar=aiohttp.DummyCookieJar())


def proxy_of(endpoint: Endpoint) -> URL | None:
    """The proxy that the environment names for a server; None: straight."""
    server = URL(endpoint.base_url)
    named = getproxies().get(server.scheme)
    if not named or proxy_bypass(server.authority):
        return None
    return URL(named if "://" in named else f"http://{named}")


async def post(session: aiohttp.ClientSession, endpoint: Endpoint, path: str, headers: Mapping[str, str],
               body: bytes, key: Secret, proxy: URL | None) -> tuple[bytes, float]:
    """The body of a 200 and its milliseconds. Raises Unanswered for everything else, the key hidden in its reason."""
    began = time.perf_counter()
    timeout = aiohttp.ClientTimeout(total=endpoint.timeout_s)
    try:
        async with session.post(f"{endpoint.base_url}/{path}", data=body, headers=headers, timeout=timeout,
                                params=endpoint.query or None, proxy=proxy) as response:
            content = await response.read()
            if response.status == 200:
                return content, (time.perf_counter() - began) * 1000
            refusal = refused(response.status, response.headers, content)
            refusal.reason = key.hidden_in(refusal.reason)
            raise refusal
    except asyncio.TimeoutError:
        raise Unanswered("JUDGE_TIMEOUT", f"no answer within {endpoint.timeout_s:g} s", transient=True,
                         throttled=True) from None
    except (aiohttp.ClientError, OSError) as error:
        raise Unanswered("JUDGE_HTTP", key.hidden_in(f"{type(error).__name__}: {error}"), transient=True) from None
