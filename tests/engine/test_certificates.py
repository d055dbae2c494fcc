"""Servers with certificates of an authority of one's own, and proxies: alike in the preflight, in batches and in the run."""

from __future__ import annotations

import os
import socketserver
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from rageval_spark.engine.single import score
from rageval_spark.errors import ConfigError, JudgeRefused
from rageval_spark.judges.batch import BatchApi
from rageval_spark.judges.certificates import VARIABLES, read_roots
from rageval_spark.judges.http import Secret
from rageval_spark.judges.preflight import check_embeddings, check_judge
from rageval_spark.judges.settings import HttpEmbeddings, HttpJudge
from rageval_spark.metrics.faithfulness import Faithfulness
from tests.engine.scene import Refuses, judge_at, plan_of, rows_of, run, values, work_of
from tests.judge_server import JudgeServer
from tests.tls import Front, behind_tls

KEY = Secret("sk-1")
SAMPLE = {"question": "Where does the Rhine flow?", "answer": "The Rhine flows north. It is deep.",
          "contexts": ["The Rhine flows north."]}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as judge:
        yield judge


def trust(how: str, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Name an authority in one of the ways; the settings that it takes."""
    if how == "ca_bundle":
        return {"ca_bundle": bundle}
    monkeypatch.setenv(how, f"{bundle.parent}{os.pathsep}{bundle.parent}" if how == "SSL_CERT_DIR" else str(bundle))
    return {}


@pytest.mark.parametrize("how", ["ca_bundle", *VARIABLES])
def test_an_authority_that_is_named_once_counts_everywhere(how: str, server: JudgeServer, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    with behind_tls(server.url, tmp_path) as (url, bundle):
        settings = trust(how, bundle, monkeypatch)
        judge = judge_at(url, **settings)
        form = check_judge(judge, KEY)
        check_embeddings(HttpEmbeddings(model="vectors", base_url=url, **settings), KEY)
        batch = BatchApi(judge, KEY).submit(b"", "requests.jsonl", "chat/completions", "tag")
        assert BatchApi(judge, KEY).look(batch.id).ended
        assert score(Faithfulness(), SAMPLE, judge).value == 0.5
        plan = plan_of(judge, metrics=[Refuses()])
        plan = plan.equipped({judge: KEY}, {judge: form})
        if how == "ca_bundle":
            bundle.unlink()  # an executor has no such file
        assert set(values(run(work_of(plan), rows_of(5))).values()) == {0.0}


def test_without_it_the_remedy_is_named_in_one_attempt(server: JudgeServer, tmp_path: Path) -> None:
    with behind_tls(server.url, tmp_path) as (url, _):
        with pytest.raises(JudgeRefused) as refused:
            check_judge(judge_at(url), KEY)
        scored = score(Faithfulness(), SAMPLE, judge_at(url))
    for words in (str(refused.value), str(scored.reason)):
        assert "the certificate of 127.0.0.1 is not trusted" in words
        assert "ca_bundle" in words
        assert "SSL_CERT_FILE" in words
    assert server.requests == []


def test_a_certificate_for_another_name_is_not_taken(server: JudgeServer, tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("judge.example").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with Front(server.url, context) as front, pytest.raises(JudgeRefused, match=r"not trusted \(.*127\.0\.0\.1"):
        check_judge(judge_at(f"{front.url}/v1", ca_bundle=tmp_path / "ca.pem"), KEY)


@pytest.mark.parametrize("how", ["ca_bundle", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
@pytest.mark.parametrize(("content", "fault"), [
    (None, "cannot be read"),
    ("no certificate", "holds no certificate"),
    ("-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n", "holds no usable certificate"),
])
def test_a_bundle_that_is_missing_or_no_bundle_is_a_mistake_that_is_named(
        how: str, content: str | None, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "company.pem"
    if content is not None:
        bundle.write_text(content)
    settings = trust(how, bundle, monkeypatch)
    for act in (lambda judge: check_judge(judge, KEY), lambda judge: BatchApi(judge, KEY)):
        with pytest.raises(ConfigError) as error:
            act(judge_at("https://127.0.0.1:9/v1", **settings))
        assert fault in str(error.value)
        assert str(bundle) in str(error.value)
        assert how in str(error.value)


def test_the_setting_counts_before_the_environment_and_several_variables_count_together(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pems = []
    for name in ("one", "two", "three"):
        trustme.CA().cert_pem.write_to_path(str(tmp_path / f"{name}.pem"))
        pems.append((tmp_path / f"{name}.pem").read_text().strip())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "one.pem"))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "two.pem"))
    assert read_roots(judge_at("https://judge.example/v1")) == f"{pems[0]}\n{pems[1]}"
    assert read_roots(judge_at("https://judge.example/v1", ca_bundle=tmp_path / "three.pem")) == pems[2]
    assert read_roots(judge_at("http://judge.example/v1", ca_bundle=tmp_path / "none.pem")) == ""


def test_no_setting_changes_the_key_of_a_reply(tmp_path: Path) -> None:
    judge = judge_at("https://judge.example/v1")
    assert judge.signature() == judge_at("https://judge.example/v1", ca_bundle=tmp_path / "ca.pem").signature()


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy"])
def test_a_proxy_with_a_password_is_used_by_preflight_run_and_batches(
        name: str, server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with behind_tls(server.url, tmp_path) as (url, bundle), Front("http://unused", proxy=True) as proxy:
        monkeypatch.setenv(name, proxy.url.replace("://", "://me:secret@"))
        judge = judge_at(url, ca_bundle=bundle)
        check_judge(judge, KEY)
        assert score(Faithfulness(), SAMPLE, judge).value == 0.5
        BatchApi(judge, KEY).submit(b"", "requests.jsonl", "chat/completions", "tag")
        assert len(proxy.heads) >= 3
        assert all(head.startswith("CONNECT 127.0.0.1:") for head in proxy.heads)
        assert all("Proxy-Authorization: Basic bWU6c2VjcmV0" in head for head in proxy.heads)
        used = len(proxy.heads)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        check_judge(judge, KEY)
        assert score(Faithfulness(), SAMPLE, judge).value == 0.5
        assert len(proxy.heads) == used


def test_a_proxy_of_another_protocol_is_a_mistake_that_is_named(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://me:secret@proxy:1080")
    with pytest.raises(ConfigError, match="socks5") as error:
        check_judge(judge_at(server.url), KEY)
    assert "secret" not in str(error.value)


def test_a_server_without_tls_is_not_taken_for_one() -> None:
    class Plain(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Plain) as plain:
        thread = threading.Thread(target=plain.serve_forever)
        thread.start()
        url = f"https://127.0.0.1:{plain.server_address[1]}/v1"
        with pytest.raises(JudgeRefused, match="does base_url begin with the protocol that the server speaks"):
            check_judge(HttpJudge(model="judge", base_url=url, max_attempts=1), KEY)
        plain.shutdown()
        thread.join()
