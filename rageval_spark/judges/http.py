"""HTTP to judges: one client for the preflight, for batch files and for the data plane of the executors."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from rageval_spark.errors import ConfigError
from rageval_spark.judges.certificates import REMEDY, context_of, read_roots
from rageval_spark.judges.server_errors import Unanswered, error_in_success, refused
from rageval_spark.judges.settings import Endpoint

T = TypeVar("T")
LARGEST_REPLY = 8 << 20
LARGEST_EMBEDDINGS = 64 << 20
"""Most bytes of an answer after decompression. A reply has kilobytes; a batch of long vectors as decimals has tens of MB."""


@dataclass(frozen=True)
class Secret:
    """A key that no repr, log or traceback shows."""

    value: str | None = None

    def __repr__(self) -> str:
        return "Secret(…)"

    def hidden_in(self, text: str) -> str:
        return text.replace(self.value, "…") if self.value else text


class Connection(TypedDict, total=False):
    """Arguments of aiohttp's requests for the connection to one server."""

    proxy: URL
    ssl: ssl.SSLContext


def headers_of(endpoint: Endpoint, key: Secret) -> dict[str, str]:
    authorization = {"Authorization": f"Bearer {key.value}"} if key.value else {}
    return {"Content-Type": "application/json", **authorization, **endpoint.headers}


def session(limit: int) -> aiohttp.ClientSession:
    """One session for one event loop, with room for `limit` requests at once; close it before the loop ends.

    It does not look at the environment: aiohttp would do so for every request, in threads, and let ~/.netrc dispute the key.
    """
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=limit, keepalive_timeout=30),
                                 cookie_jar=aiohttp.DummyCookieJar())


def connection_of(endpoint: Endpoint, roots: str = "") -> Connection:
    """Return how to connect to a server: the proxy of the environment, and the authorities to trust (`roots`, or else read here).

    Raises ConfigError if the proxy or the authorities cannot be used.
    """
    connection = Connection()
    proxy = proxy_of(endpoint)
    if proxy is not None:
        connection["proxy"] = proxy
    if endpoint.base_url.startswith("https://"):
        connection["ssl"] = context_of(roots or read_roots(endpoint))
    return connection


def proxy_of(endpoint: Endpoint) -> URL | None:
    """The proxy that the environment names for a server; None: straight. Raises ConfigError for one of another protocol."""
    server = URL(endpoint.base_url)
    proxies = getproxies()
    named = proxies.get(server.scheme) or proxies.get("all")
    if not named or proxy_bypass(server.authority):
        return None
    proxy = URL(named if "://" in named else f"http://{named}")
    if proxy.scheme not in ("http", "https"):
        raise ConfigError(f"the environment names a proxy of the protocol {proxy.scheme} for {endpoint.base_url}; only HTTP "
                          f"proxies can be used. Set {server.scheme.upper()}_PROXY to one, or name the host in NO_PROXY")
    return proxy


async def post(session: aiohttp.ClientSession, endpoint: Endpoint, path: str, headers: Mapping[str, str],
               body: bytes, key: Secret, connection: Connection) -> tuple[bytes, float]:
    """Return the body of an answer and its milliseconds. Raises Unanswered for everything else, the key hidden in its reason."""
    began = time.perf_counter()
    timeout = aiohttp.ClientTimeout(total=endpoint.timeout_s)
    limit = LARGEST_EMBEDDINGS if path == "embeddings" else LARGEST_REPLY
    try:
        async with session.post(f"{endpoint.base_url}/{path}", data=body, headers=headers, timeout=timeout,
                                params=endpoint.query or None, allow_redirects=False, **connection) as response:
            content = await read_body(response, limit)
            if 200 <= response.status < 300:
                refusal = error_in_success(content)
                if refusal is None:
                    return content, (time.perf_counter() - began) * 1000
            else:
                refusal = refused(response.status, response.headers, content)
            refusal.reason = key.hidden_in(refusal.reason)
            raise refusal
    except (asyncio.TimeoutError, aiohttp.ClientError, OSError) as error:
        raise unanswered(error, endpoint, key) from None


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the body of an answer. Raises Unanswered if it has more than `limit` bytes."""
    length = response.content_length
    if length is not None and length <= limit and "Content-Encoding" not in response.headers:
        return await response.read()
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > limit:
            response.close()
            raise Unanswered("JUDGE_HTTP", f"the server's answer has more than {limit >> 20} MB", status=response.status)
    return bytes(content)


def unanswered(error: Exception, endpoint: Endpoint, key: Secret) -> Unanswered:
    """Return the meaning of an exchange that failed without an answer, in words for the user."""
    if isinstance(error, asyncio.TimeoutError):
        return Unanswered("JUDGE_TIMEOUT", f"no answer within {endpoint.timeout_s:g} s", transient=True, throttled=True)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        reason = getattr(cause, "verify_message", "") or str(cause)
        return Unanswered("JUDGE_HTTP", f"the certificate of {error.host} is not trusted ({reason}); {REMEDY}")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return Unanswered("JUDGE_HTTP", key.hidden_in(f"the proxy refused the connection: HTTP {error.status} {error.message}"),
                          transient=error.status >= 500, status=error.status)
    if isinstance(error, aiohttp.InvalidURL):
        return Unanswered("JUDGE_HTTP", key.hidden_in(f"{error} is no address; look at base_url"))
    return Unanswered("JUDGE_HTTP", key.hidden_in(f"no connection ({type(error).__name__}): {_cause(error)}"), transient=True)


def _cause(error: Exception) -> str:
    """Return the system's reason for a connection that failed."""
    cause = getattr(error, "os_error", error)
    if isinstance(cause, ssl.SSLError):
        return f"{cause.reason or cause}; does base_url begin with the protocol that the server speaks?"
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
        return os.strerror(cause.errno)
    return getattr(cause, "strerror", None) or str(cause) or "it was broken off"


def run_in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a thread of its own: a notebook's thread has a loop already.

    If the caller is interrupted, the coroutine is cancelled before this returns.
    """
    outcome: list[T | BaseException] = []
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        return await work

    def run() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        thread.join()
    except BaseException:
        for loop, task in running:
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result
    return result
