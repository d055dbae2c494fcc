"""What stands before a judge server on loopback: TLS with a certificate of its own authority, or a proxy that tunnels."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import trustme


class Front:
    """Passes bytes on to a server, behind TLS if a context is given. As a proxy it lets the client name the server (CONNECT)."""

    def __init__(self, url: str, context: ssl.SSLContext | None = None, proxy: bool = False):
        parts = urlsplit(url)
        self._target, self._context, self._proxy = (str(parts.hostname), int(parts.port or 80)), context, proxy
        self.heads: list[str] = []
        self._ready, self._done = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Front:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(30)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0, ssl=self._context)
        scheme = "https" if self._context else "http"
        self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._done.wait()
        server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            host, port = self._target
            if self._proxy:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                host, _, number = head.split(" ")[1].rpartition(":")
                port = int(number)
                writer.write(b"HTTP/1.1 200 connected\r\n\r\n")
            far_reader, far_writer = await asyncio.open_connection(host, port)
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.contextmanager
def behind_tls(url: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """The address of a judge server behind TLS, and the file of the authority that issued its certificate."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    bundle = folder / "company.pem"
    authority.cert_pem.write_to_path(str(bundle))
    with Front(url, context) as front:
        yield f"{front.url}/v1", bundle
