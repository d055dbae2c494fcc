"""What the environment of a machine says about servers: proxies are used, and ~/.netrc does not dispute the key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rageval_spark.judges.http import Secret, proxy_of
from rageval_spark.judges.preflight import check_judge
from rageval_spark.judges.settings import HttpJudge
from tests.engine.scene import Refuses, judge_at, plan_of, row_of, run, values, work_of
from tests.judge_server import JudgeServer

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
