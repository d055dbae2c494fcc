"""Rounds over several processes: usage and limits of the whole run, reply files that are not as they should be, who goes on."""

from __future__ import annotations

import gzip
import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.cli import main
from rageval_spark.config import Config, parse
from rageval_spark.engine.round_files import Round
from rageval_spark.errors import ConfigError, Pending
from rageval_spark.rounds import Rounds
from rageval_spark.run import Run, run
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLES = 4
METRICS = ["faithfulness", "context_recall"]
ASKED = 4 * SAMPLES
"""A claim list and a verification of each metric for each sample."""


@pytest.fixture
def server(spark: SparkSession) -> Iterator[JudgeServer]:
    with JudgeServer() as judge:
        yield judge


def values(folder: Path, judge: JudgeServer, mode: str = "files", **changes: Any) -> dict[str, Any]:
    rows = [{"id": str(i), "question": f"How deep is lake {i}?", "answer": f"Lake {i} is {i} m deep. It is cold.",
             "contexts": [f"Lake {i} is {i} m deep.", f"Nobody swims at pier {i}."],
             "ground_truth": f"Lake {i} is {i} m deep, as was measured."} for i in range(SAMPLES)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"input": {"path": str(folder / "rows.jsonl")}, "output": {"path": str(folder / "out")},
            "judge": {"model": "judge", "base_url": judge.url, "mode": mode, "price": {"prompt": 1, "completion": 2}},
            "evaluate": [{"metrics": METRICS}], **changes}


def config(folder: Path, judge: JudgeServer, mode: str = "files", **changes: Any) -> Config:
    return parse(values(folder, judge, mode, **changes))


def requests(folder: Path) -> list[Path]:
    """The files of requests without replies, oldest first."""
    return [path for path in sorted((folder / "out" / "batches").glob("*/requests-*.jsonl"))
            if not list(path.parent.glob(path.name.replace("requests", "replies") + "*"))]


def reply_lines(server: JudgeServer, asked: Path) -> list[str]:
    lines = []
    for line in map(json.loads, asked.read_text().splitlines()):
        status, body = server.answer_in_batch(line["url"], json.dumps(line["body"]).encode())
        lines.append(json.dumps({"custom_id": line["custom_id"], "response": {"status_code": status, "body": json.loads(body)}}))
    return lines


def reply(server: JudgeServer, folder: Path, edit: Callable[[list[str]], list[str]] = lambda lines: lines) -> Path:
    """Answer the one file of requests that waits; `edit` may spoil the lines."""
    [asked] = requests(folder)
    answers = asked.with_name(asked.name.replace("requests", "replies"))
    answers.write_text("".join(line + "\n" for line in edit(reply_lines(server, asked))))
    return answers


def finish(server: JudgeServer, folder: Path, of: Config, **options: Any) -> tuple[Run, int]:
    """Run the same command, answering what it asks, until it ends; how often it had to wait."""
    for waits in range(9):
        try:
            return run(of, **options), waits
        except Pending:
            reply(server, folder)
    raise AssertionError("it never ends")


def usage(of: Run) -> dict[str, Any]:
    return {name: of.summary["usage"][name] for name in ("prompts", "prompt_tokens", "completion_tokens", "cost")}


def scores(of: Run) -> dict[tuple[str, str], Any]:
    return {(row.sample_id, row.metric): row.score for row in of.scores.collect()}


@pytest.fixture
def live(server: JudgeServer, tmp_path: Path) -> Run:
    done = run(config(tmp_path, server, "live", output={"path": str(tmp_path / "live")}))
    server.reset()
    assert done.summary["usage"]["prompts"] == ASKED
    return done


def test_a_run_of_three_processes_has_the_usage_of_all(server: JudgeServer, tmp_path: Path, live: Run,
                                                       caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    done, waits = finish(server, tmp_path, config(tmp_path, server))
    assert (waits, scores(done)) == (2, scores(live))
    assert usage(done) == usage(live)
    assert done.summary["usage"]["models"] == live.summary["usage"]["models"]
    assert (done.summary["usage"]["earlier"], done.summary["notes"]) == ({}, [])
    assert sum(row.n_prompts - row.n_reused for row in done.scores.collect()) == ASKED
    assert [record.message for record in caplog.records if record.message.startswith("round ")] == [
        f"round 1: {2 * SAMPLES} requests", f"round 2: {2 * SAMPLES} requests"]
    assert len([1 for record in caplog.records if "it goes on" in record.message]) == 2
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 1, "one run, though no process was told its id"

    again = run(config(tmp_path, server))  # nothing waits: a new run, which pays nothing
    assert (again.folder != done.folder, usage(again)["prompts"], again.summary["usage"]["reused"]) == (True, 0, ASKED)


def test_batches_that_are_looked_at_by_several_processes_have_the_usage_of_all(server: JudgeServer, tmp_path: Path,
                                                                               live: Run) -> None:
    of = config(tmp_path, server, "batch")
    server.batches.seconds = 3600.0
    for due in (False, True, False, True):
        with pytest.raises(Pending, match=r"^round \d: "):
            run(of, wait=False)
        for batch in server.batches.made.values():
            batch["due"] = 0.0 if due else batch["due"]
    done = run(of, wait=False)
    assert (len(server.batches.made), scores(done)) == (2, scores(live))
    assert {**usage(done), "cost": 2 * usage(done)["cost"]} == pytest.approx(usage(live))  # batches at half the price


@pytest.mark.parametrize("killed_in", ["close", "_report_usage", "save"])
def test_a_process_that_is_killed_between_steps_costs_nothing_and_loses_nothing(
        server: JudgeServer, tmp_path: Path, live: Run, killed_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = config(tmp_path, server, "batch")

    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    for _ in range(2):  # each further process dies there, too
        with monkeypatch.context() as patch:
            patch.setattr(Round if killed_in == "save" else Rounds, killed_in, die)
            with pytest.raises(Killed):
                run(of, run_id="night")
    done = run(of, run_id="night")
    assert (scores(done), len(server.batches.made)) == (scores(live), 2)
    assert usage(done)["prompts"] == ASKED
    assert usage(done)["prompt_tokens"] == usage(live)["prompt_tokens"]
    assert len(list((tmp_path / "out" / "batches").iterdir())) == 2, "unfinished rounds are gone"


def test_limits_hold_for_all_processes_together(server: JudgeServer, tmp_path: Path) -> None:
    of = config(tmp_path, server, limits={"max_prompts": 11})
    done, waits = finish(server, tmp_path, of)
    assert waits == 2
    assert (usage(done)["prompts"], len(server.batched)) == (11, 11)
    assert {row.code for row in done.scores.where("score is null").collect()} == {"BUDGET"}
    over = finish(server, tmp_path, of, run_id=done.summary["run_id"])  # as a scheduler tries again
    assert (over[1], usage(over[0])["prompts"], len(server.batched)) == (0, 11, 11)
    assert usage(finish(server, tmp_path, of)[0])["prompts"] == ASKED - 11, "another run has a budget of its own"


def spoil(lines: list[str]) -> list[str]:
    unknown = json.dumps({**json.loads(lines[3]), "custom_id": "of-another-run-0"})
    return [lines[0], lines[1][:-30], *lines[2:], lines[2], unknown, "\ufeff"]


def test_lines_that_cannot_be_used_are_counted_and_cost_their_prompts_only(
        server: JudgeServer, tmp_path: Path, live: Run, capsys: pytest.CaptureFixture[str]) -> None:
    of = config(tmp_path, server)
    with pytest.raises(Pending):
        run(of)
    answers = reply(server, tmp_path, spoil)
    done, waits = finish(server, tmp_path, of)
    assert (waits, scores(done)) == (2, scores(live))  # what follows the broken line's prompt is asked in a round of its own
    name = f"batches/{answers.parent.name}/{answers.name}"
    assert [note.split(" (")[0] for note in done.summary["notes"]] == [
        f"{name}: 2 of 11 lines cannot be read",
        f"{name}: 1 of 11 lines repeat an id that was answered before; the first answer counts",
        f"{name}: 1 of 11 lines answer no request of this file",
        f"{name}: 1 requests have no line; what is still needed of them is asked again"]
    assert usage(done)["prompts"] == ASKED


@pytest.mark.parametrize("content", [b"", b"nothing of use\n", b'{"custom_id": "z-0", "response": {"body": {}}}\n'],
                         ids=["empty", "no JSON", "of another run"])
def test_a_file_that_answers_nothing_is_waited_for_still(server: JudgeServer, tmp_path: Path, content: bytes) -> None:
    of = config(tmp_path, server)
    with pytest.raises(Pending):
        run(of)
    [asked] = requests(tmp_path)
    answers = asked.with_name("replies-0001.jsonl")
    answers.write_bytes(content)
    for _ in range(2):
        with pytest.raises(Pending, match=f"batches/{asked.parent.name}/replies-0001.jsonl"):
            run(of)
        assert len(list(asked.parent.parent.iterdir())) == 1, "nothing is asked anew"
    answers.unlink()
    (asked.parent / "replies-0001.jsonl.gz").write_bytes(gzip.compress("\n".join(reply_lines(server, asked)).encode()))
    with pytest.raises(Pending, match="round 2"):
        run(of)


def test_a_file_that_grows_is_read_again_and_what_it_brings_is_not_waited_for_elsewhere(
        server: JudgeServer, tmp_path: Path, live: Run) -> None:
    of = config(tmp_path, server, evaluate=[{"metrics": ["faithfulness"]}])
    with pytest.raises(Pending):
        run(of)
    [first] = requests(tmp_path)
    lines = reply_lines(server, first)
    answers = first.with_name("replies-0001.jsonl")
    answers.write_text("\n".join(lines[:2]) + "\n" + lines[2][:40])  # the engine is still writing
    with pytest.raises(Pending, match="round 2"):
        run(of)
    answers.write_text("\n".join(lines) + "\n")
    with pytest.raises(Pending, match="waiting for replies to 2 files"):
        run(of)
    second, third = requests(tmp_path)
    assert len(second.read_text().splitlines()) == 4  # two verifications, and two that the first file has meanwhile
    assert len(third.read_text().splitlines()) == 2
    for asked in (second, third):
        asked.with_name("replies-0001.jsonl").write_text("\n".join(reply_lines(server, asked)))
    done = run(of)
    assert scores(done) == {key: value for key, value in scores(live).items() if key[1] == "faithfulness"}


def test_an_error_with_status_200_is_asked_again(server: JudgeServer, tmp_path: Path, live: Run) -> None:
    def overload(lines: list[str]) -> list[str]:
        bad = json.loads(lines[0])
        bad["response"]["body"] = {"error": {"message": "The engine is overloaded.", "code": 503}}
        return [json.dumps(bad), *lines[1:]]

    of = config(tmp_path, server)
    with pytest.raises(Pending):
        run(of)
    reply(server, tmp_path, overload)
    done, _ = finish(server, tmp_path, of)
    assert (scores(done), usage(done)["prompts"]) == (scores(live), ASKED)


def test_replies_that_never_come_end_the_run_with_a_code(server: JudgeServer, tmp_path: Path) -> None:
    def fail(lines: list[str]) -> list[str]:
        return [json.dumps({"custom_id": json.loads(line)["custom_id"], "response": None, "error": {"message": "lost"}})
                for line in lines]

    of = config(tmp_path, server)
    with pytest.raises(Pending):
        run(of)
    reply(server, tmp_path, fail)
    done = run(of)  # the same requests again would bring nothing
    assert (done.exit_code, {row.code for row in done.scores.collect()}) == (3, {"JUDGE_HTTP"})


def test_another_config_is_another_run_and_asks_only_what_was_not_asked(
        server: JudgeServer, tmp_path: Path, live: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    both, one = config(tmp_path, server), config(tmp_path, server, evaluate=[{"metrics": ["faithfulness"]}])
    with pytest.raises(Pending):
        run(one, run_id="one")
    with pytest.raises(Pending, match="waiting for replies to 2 files"):
        run(both)
    assert "runs of another config wait for replies" in caplog.text
    assert ": one." in caplog.text
    first, second = requests(tmp_path)
    # the claims of the answers, and those of the references
    assert len(first.read_text().splitlines()) == len(second.read_text().splitlines()) == SAMPLES
    for asked in (first, second):
        asked.with_name("replies-0001.jsonl").write_text("\n".join(reply_lines(server, asked)))
    done, _ = finish(server, tmp_path, both)
    assert scores(done) == scores(live)
    assert usage(done)["prompts"] == ASKED - SAMPLES, "what the other run asked is that run's"
    assert sum(row.n_prompts - row.n_reused for row in done.scores.collect()) == ASKED - SAMPLES
    other, waits = finish(server, tmp_path, one)
    assert (other.summary["run_id"], waits, usage(other)["prompts"]) == ("one", 0, SAMPLES)


def test_of_several_runs_that_wait_one_must_be_named(server: JudgeServer, tmp_path: Path) -> None:
    of = config(tmp_path, server)
    for name in ("first", "second"):
        with pytest.raises(Pending):
            run(of, run_id=name)
        (tmp_path / "out" / "batches").rename(tmp_path / f"kept-{name}")  # else the second waits for the first one's round
    (tmp_path / "out" / "batches").mkdir()
    for name in ("first", "second"):
        for folder in (tmp_path / f"kept-{name}").iterdir():
            folder.rename(tmp_path / "out" / "batches" / folder.name)
    with pytest.raises(ConfigError, match=r"first, second.*--run-id"):
        run(of)


def test_waiting_ends_with_3_and_with_no_wait_with_0(server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(values(tmp_path, server)))

    def ends_with(*options: str) -> tuple[Any, str]:
        monkeypatch.setattr(sys, "argv", ["rageval", "run", str(file), *options])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr().err

    try:
        code, said = ends_with()
        assert (code, "round 1" in said, "Traceback" in said) == (3, True, False)
        assert ends_with("--no-wait")[0] == 0
        manifest = next((tmp_path / "out" / "runs").glob("*/manifest.json"))
        assert json.loads(manifest.read_text())["status"] == "waiting"
        reply(server, tmp_path)
        code, said = ends_with()
        assert (code, "round 2" in said) == (3, True)
        reply(server, tmp_path)
        assert ends_with("--no-wait")[0] == 0
        assert json.loads(manifest.read_text())["status"] == "complete"
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
