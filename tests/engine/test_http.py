"""One exchange over HTTP: proxies are used, ~/.netrc does not dispute the key, and no answer takes more than it may."""

from __future__ import annotations

import gzip
import socketserver
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rageval_spark.engine.single import score
from rageval_spark.errors import JudgeRefused
from rageval_spark.judges.http import Secret, proxy_of
from rageval_spark.judges.preflight import check_judge
from rageval_spark.judges.settings import HttpJudge
from tests.engine.scene import Refuses, judge_at, plan_of, row_of, run, values, work_of
from tests.judge_server import Answer, JudgeServer

ELSEWHERE = "http://judge.invalid/v1"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with JudgeServer() as judge:
        yield judge


def scored(judge: HttpJudge, key: Secret) -> object:
    plan = replace(plan_of(judge, metrics=[Refuses()]), keys={judge: key})
    return values(run(work_of(plan), [row_of(0)]))


def test_a_password_in_netrc_is_no_key(server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password something\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    judge, key = judge_at(server.url), Secret("sk-right")
    check_judge(judge, key)
    assert scored(judge, key) == {("s0", "refuses"): 0.0}
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-right"}


def test_the_proxy_of_the_environment_is_used(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = server.url.removesuffix("/v1")
    monkeypatch.setenv("http_proxy", proxy.replace("://", "://me:secret@"))
    judge = judge_at(ELSEWHERE)
    assert scored(judge, Secret("sk-right")) == {("s0", "refuses"): 0.0}
    [request] = server.requests
    assert request.headers["host"] == "judge.invalid"
    assert request.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert request.headers["authorization"] == "Bearer sk-right"


@pytest.mark.parametrize(("names", "url"), [
    ({}, None),
    ({"http_proxy": "http://proxy:3128"}, "http://proxy:3128"),
    ({"http_proxy": "proxy:3128"}, "http://proxy:3128"),
    ({"https_proxy": "http://proxy:3128"}, None),
    ({"http_proxy": "http://proxy:3128", "no_proxy": "judge.invalid"}, None),
    ({"http_proxy": "http://proxy:3128", "no_proxy": ".invalid,localhost"}, None),
    ({"http_proxy": "http://proxy:3128", "no_proxy": "other"}, "http://proxy:3128"),
])
def test_a_proxy_is_chosen_by_scheme_and_host(server: JudgeServer, monkeypatch: pytest.MonkeyPatch, names: dict[str, str],
                                              url: str | None) -> None:
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    proxy = proxy_of(judge_at(ELSEWHERE))
    assert (str(proxy).rstrip("/") if proxy else None) == url


def reply_of(server: JudgeServer, answer: Answer, **settings: object) -> tuple[str | None, str]:
    server.always("*", answer)
    result = score(Refuses(), {"question": "Where?", "answer": "Here."}, judge_at(server.url, max_attempts=2, **settings))
    return result.code, str(result.reason)


def test_a_redirect_is_not_followed_and_its_target_is_named(server: JudgeServer) -> None:
    with JudgeServer() as other:
        code, reason = reply_of(server, Answer(307, headers={"location": f"{other.url}/chat/completions?token=abc"}))
        assert (code, other.url.removesuffix("/v1") in reason, "token" in reason) == ("JUDGE_HTTP", True, False)
        assert other.requests == []
    assert len(server.requests) == 1
    with pytest.raises(JudgeRefused, match="name the final address in base_url"):
        check_judge(judge_at(server.url), Secret())


def test_an_answer_of_any_size_is_not_taken_into_memory(server: JudgeServer) -> None:
    code, reason = reply_of(server, Answer(body="x" * (9 << 20)))
    assert (code, reason) == ("JUDGE_HTTP", "the server's answer has more than 8 MB")
    assert len(server.requests) == 1


def test_an_answer_that_grows_when_it_is_unpacked_is_not_either(server: JudgeServer) -> None:
    packed = gzip.compress(b" " * (64 << 20)).decode("latin-1")
    assert len(packed) < 1 << 20
    with Plain(f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n{packed}") as plain:
        result = score(Refuses(), {"question": "Where?", "answer": "Here."}, judge_at(plain.url, max_attempts=1))
    assert (result.code, result.reason) == ("JUDGE_HTTP", "the server's answer has more than 8 MB")


def test_an_answer_that_drips_ends_with_the_time_for_one_exchange() -> None:
    began = time.monotonic()
    with Plain("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", drips=True) as plain:
        result = score(Refuses(), {"question": "Where?", "answer": "Here."}, judge_at(plain.url, max_attempts=1, timeout_s=0.5))
    assert (result.code, result.reason) == ("JUDGE_TIMEOUT", "no answer within 0.5 s")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("value", ["0", "-5", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_that_is_over_keeps_the_back_off(value: str, server: JudgeServer) -> None:
    server.script("*", *[Answer(429, headers={"retry-after": value})] * 2)
    assert score(Refuses(), {"question": "Where?", "answer": "Here."}, judge_at(server.url)).value == 0.0
    first, second, third = (request.at for request in server.requests)
    assert second - first >= 0.25
    assert third - second >= 0.5


class Plain:
    """A server that answers everything with the same bytes, and then perhaps with a byte every 50 ms for ever."""

    def __init__(self, answer: str, drips: bool = False):
        stop = self._stop = threading.Event()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.recv(1 << 16)
                self.request.sendall(answer.encode("latin-1"))
                while drips and not stop.wait(0.05):
                    self.request.sendall(b" ")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Plain:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
