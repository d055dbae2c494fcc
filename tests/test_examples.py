"""What guides, README and `--help` show in passing works as it is shown: fragments of configs, options, conditions, commands."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import typer
import yaml

from rageval_spark.cli import app, main
from rageval_spark.commands.prompts import export
from rageval_spark.config import load, parse, planned
from rageval_spark.config.monitor import MonitorConfig
from rageval_spark.errors import RagevalError
from rageval_spark.metrics import CATALOGUE
from tests.playing import PARAMETERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile(r"…|<\w+>|\b[A-Z]{4,}\b(?!_)|\$\{")
"""What stands for something of the reader's own: no example as it is."""


class Example(NamedTuple):
    where: str
    text: str


def spans(document: Path) -> list[str]:
    """What stands in `code` within the sentences and tables of a document."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.S | re.M)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


# fragments of configs

URL = "http://127.0.0.1:1/v1"
JUDGE = {"model": "m", "base_url": URL}
BASE: Mapping[str, Any] = {"input": {"path": "data.jsonl"}, "judge": JUDGE, "embeddings": JUDGE, "scale": 10,
                           "slices": ["tenant"], "evaluate": [{"metrics": ["faithfulness"]}]}


def merged(*path: str) -> Callable[[Any], None]:
    """A place of a config that a fragment may belong to: it is read as if it stood there."""

    def read(fragment: Any) -> None:
        for key in reversed(path):
            fragment = {key: fragment}
        values = json.loads(json.dumps(BASE))
        target, rest = values, fragment
        while isinstance(rest, dict) and len(rest) == 1 and isinstance(target.get(next(iter(rest))), dict):
            target, rest = target[next(iter(rest))], next(iter(rest.values()))
        if not isinstance(rest, dict):
            raise ValueError("no mapping")
        if "provider" in rest or ("table" in rest and target is values["input"]):
            target.clear()
        target.update(rest)
        planned(parse(values))

    return read


def of_a_metric(fragment: Any) -> None:
    """Parameters, or settings of its use, of some metric; or an entry in a list of metrics."""
    reasons = []
    for name in CATALOGUE:
        try:
            planned(parse({**BASE, "evaluate": [{"metrics": [{name: {**PARAMETERS.get(name, {}), **fragment}}]}]}))
            return
        except (RagevalError, TypeError) as error:
            reasons.append(str(error))
    raise ValueError(reasons[0])


def among_metrics(fragment: Any) -> None:
    planned(parse({**BASE, "evaluate": [{"metrics": [fragment]}]}))


def in_a_body(fragment: Any) -> None:
    """A body may hold whatever its server knows; the guides show this of vLLM's."""
    if "chat_template_kwargs" not in fragment:
        raise ValueError("no parameter of a server that the guides name")
    merged("judge", "extra_body")(fragment)


def of_fields(fragment: Any) -> None:
    fields = {"user_input": "q", "response": "a", **fragment}
    planned(parse({**BASE, "evaluate": [{"fields": fields, "metrics": ["faithfulness"]}]}))


def of_a_monitor(fragment: Any) -> None:
    MonitorConfig.model_validate({"input": {"path": "x"}, "time": "at", **fragment})


PLACES: Mapping[str, Callable[[Any], None]] = {
    "config": merged(), "judge": merged("judge"), "embeddings": merged("embeddings"), "limits": merged("limits"),
    "input": merged("input"), "fields": of_fields,
    "sample": merged("sample"), "extra_body": in_a_body, "diagnosis": merged("diagnosis"),
    "gate": merged("gates", "faithfulness"), "evaluate": lambda fragment: among_metrics(fragment["metrics"][0]),
    "metric": of_a_metric, "metrics": among_metrics, "monitor": of_a_monitor,
}


def refusals(text: str) -> dict[str, str]:
    """Why no place of a config takes a fragment; empty if one does."""
    fragment = yaml.safe_load(text)
    reasons = {}
    for place, read in PLACES.items():
        try:
            read(fragment)
        except (RagevalError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            reasons[place] = str(error)
        else:
            return {}
    return reasons


def fragments() -> list[Example]:
    collected = []
    for document in DOCUMENTS:
        for span in spans(document):
            if "mine.density" in span:
                continue  # a class of the reader's own, which the blocks of that guide define
            if span == "sure: false":
                continue  # what a summary has, not a config
            if re.match(r"[\w.]+: \S|\{\w+: ", span) and not PLACEHOLDER.search(span.replace("OPENAI_API_KEY", "").replace(
                    "DATABRICKS_TOKEN", "")):
                collected.append(Example(document.name, span))
    return collected


@pytest.mark.parametrize("example", fragments(), ids=lambda example: f"{example.where} {example.text}")
def test_a_fragment_of_a_config_is_accepted_where_it_belongs(example: Example, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    export(tmp_path / "my_prompts")  # as the command before that example does
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^judge\.(\w+: .*)$", r"judge: {\1}", example.text)
    assert not refusals(text)


def test_fragments_are_collected_and_nonsense_is_refused() -> None:
    assert len(fragments()) >= 25
    for nonsense in ("judge: {modell: x}", "mode: batches", "{provider: nobody}", "votes: two", "max_cots: 5", "share: 12",
                     "faithfulness: {vote: 3}", "gate: 1"):
        assert refusals(nonsense), nonsense


# options, conditions, commands


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


HELP = {" ".join(path): command for path, command in commands()}
IN_A_HELP = re.compile(r"'([^']+)'|(?<![\w-])(--[\w-]+ [\w.]+=\S+)|\b(\d{4}-\d\d-\d\d)\b|\b(\d+[hdw])\b|\b(http://[^\s)]+)")


def of_options() -> list[tuple[str, str, str]]:
    """Command, option, value: every example that the help of an option has."""
    collected = []
    for name, command in HELP.items():
        for option in command.params:
            for groups in IN_A_HELP.findall(getattr(option, "help", None) or ""):
                value = next(filter(None, groups))
                collected.append((name, option.opts[-1], value.removeprefix(f"{option.opts[-1]} ").rstrip(".")))
    return collected


def conditions() -> list[str]:
    """Every condition that a document shows to `--fail-on`."""
    shown = {text for document in DOCUMENTS for text in re.findall(r"--fail-on \"([^\"]+)\"", document.read_text())}
    helped = {value for command, option, value in of_options() if option == "--fail-on"}
    return sorted(shown | helped)


def test_examples_of_options_are_collected() -> None:
    assert {(command, option) for command, option, _ in of_options()} >= {
        ("run", "--set"), ("plan", "--set"), ("doctor", "--set"), ("monitor", "--set"), ("monitor", "--day"),
        ("compare", "--fail-on"),
        ("store prune", "--older-than"), ("score", "--base-url")}
    assert {"any worsens", "faithfulness drops > 0.02"} <= set(conditions())


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, a config, and a config of a monitor over logs."""
    from rageval_spark import EmbeddedJudge, evaluate

    folder = tmp_path_factory.mktemp("examples")
    rows = [{"id": str(i), "question": f"How high is hill {i}?", "answer": f"Hill {i} is {i} m high.", "tenant": tenant,
             "contexts": [f"Hill {i} is {i} m high."], "retrieved_ids": ["x"], "relevant_ids": ["x"]}
            for i, tenant in enumerate(["acme", "other"] * 10)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame: Any = spark.read.json(str(folder / "rows.jsonl"))
    for run_id in ("base", "new"):
        evaluate(frame, ["faithfulness", "recall"], judge=EmbeddedJudge(), output=str(folder / "out"), run_id=run_id,
                 slices=["tenant"])
    judge = {"provider": "http", "model": "m", "base_url": URL}
    (folder / "config.json").write_text(json.dumps({
        "input": {"path": str(ROOT / "conf" / "samples.jsonl")}, "output": {"path": str(folder / "out")}, "judge": judge,
        "evaluate": [{"metrics": ["faithfulness"]}]}))
    days = [value for command, option, value in of_options() if (command, option) == ("monitor", "--day")]
    (folder / "logs.jsonl").write_text("".join(
        json.dumps({"id": day, "question": "q?", "answer": "a", "contexts": ["c"], "at": f"{day}T12:00:00Z"}) + "\n"
        for day in days))
    (folder / "monitor.json").write_text(json.dumps({
        "name": "shown", "input": {"path": str(folder / "logs.jsonl")}, "output": {"path": str(folder / "out")}, "time": "at"}))
    return folder


def ends_with(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of a command in this process, and so in one session."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(sys, "argv", ["rageval", *arguments])
    try:
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)
    finally:
        for number, handler in handlers.items():  # a run listens to them
            signal.signal(number, handler)


@pytest.mark.parametrize("condition", conditions())
def test_a_condition_that_is_shown_can_be_given_as_it_is(condition: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, new = str(place / "out/runs/base"), str(place / "out/runs/new")
    assert ends_with(monkeypatch, "compare", base, new, "--fail-on", condition) == 0, "two equal runs meet no condition"


@pytest.mark.parametrize(("command", "option", "value"), [one for one in of_options() if one[1] not in ("--fail-on",)])
def test_an_example_of_an_option_can_be_given_as_it_is(command: str, option: str, value: str, place: Path, capsys: Any,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    if command == "run" or (command == "doctor" and option == "--set"):  # no server is there to ask: the config must be read
        assert planned(load(place / "config.json", [value])).groups
        return
    arguments = {
        "plan": [str(place / "config.json")], "store prune": [str(place / "out")],
        "monitor": [str(place / "monitor.json"), *(["--day", "2026-11-29"] if option == "--set" else [])],
        "score": ["--metric", "faithfulness", "--sample", '{"answer": "a", "contexts": []}', "--model", "m"],
    }[command]
    code = ends_with(monkeypatch, *command.split(), *arguments, option, value)
    assert code == 0, capsys.readouterr().err


def inline_commands() -> list[Example]:
    """Commands within sentences that can be run as they are, the placeholders apart."""
    given = {"RUN": "out/runs/new", "BASE": "out/runs/base", "OUTPUT": "out", "CONFIG": "config.json"}
    collected = []
    for document in DOCUMENTS:
        for span in spans(document):
            if span.startswith("rageval ") and "…" not in span:
                words = [given.get(word, word) for word in shlex.split(span)[1:]]
                if any(name == " ".join(words[: name.count(" ") + 1]) for name in HELP):
                    collected.append(Example(document.name, shlex.join(words)))
    return list({example.text: example for example in collected}.values())


@pytest.mark.parametrize("example", inline_commands(), ids=lambda example: example.text)
def test_a_command_within_a_sentence_is_known(example: Example) -> None:
    """With all its options and, where it has some, arguments."""
    words = shlex.split(example.text)
    name = next(name for name in HELP if " ".join(words).startswith(name))
    command = HELP[name]
    rest = words[len(name.split()):]
    if not rest:
        return  # the command's name alone
    with contextlib.suppress(SystemExit), command.make_context(name, rest) as context:
        assert context.params


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_an_option_that_is_named_exists(document: Path) -> None:
    known = {opt for command in HELP.values() for option in command.params for opt in option.opts} | {"--help", "--version"}
    of_others = {"--py-files", "--archives"}  # of spark-submit
    named = {name for span in spans(document) for name in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
    assert named <= known | of_others
