"""README and guides do what they say: commands and blocks are run, links lead somewhere, tables are those of the code."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rageval_spark import errors
from rageval_spark.cli import main
from rageval_spark.config import load, load_monitor, planned
from rageval_spark.config.schema import Gate
from rageval_spark.engine.signals import RATES
from rageval_spark.metrics import CATALOGUE
from rageval_spark.report.catalogue import markdown
from rageval_spark.score import FAILED, FLAGS, SKIPPED
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
METRICS = ROOT / "docs" / "metrics.md"
GUIDES = sorted((ROOT / "docs").glob("*.md"))
KEY = "sk-readme"
OPENAI = "https://api.openai.com/v1"
"""In the README's Python the only thing that a test replaces."""
TABLE = re.compile(r"(<!-- metrics -->\n).*?(<!-- /metrics -->)", re.S)
FENCE = re.compile(r"(?:`([\w./-]+)`:\n+)?^```(\w*)\n(.*?)^```", re.S | re.M)


class Block(NamedTuple):
    """A fenced block: the file that the line before it calls it (`name.yaml`:), if any, its language, its text."""

    file: str
    language: str
    text: str


def blocks(document: Path) -> list[Block]:
    return [Block(*found) for found in FENCE.findall(document.read_text())]


def with_table(text: str) -> str:
    return TABLE.sub(lambda found: f"{found[1]}{markdown()}\n{found[2]}", text)


def test_the_metric_table_is_that_of_the_catalogue() -> None:
    assert with_table(METRICS.read_text()) == METRICS.read_text(), "run `make docs`"


def run(commands: str, folder: Path) -> str:
    """What the commands print in a folder that looks like a clone; their last line must name a finished run there."""
    for name in ("Makefile", "pyproject.toml", "conf", ".venv"):
        (folder / name).symlink_to(ROOT / name)
    commands = commands.replace("make ", "make -o .venv/installed ")  # `make test` has seen to that, and in the real clone
    if not (ROOT / ".venv" / "installed").exists():  # another environment: what it installed stands for `make install`
        commands = commands.replace("make -o .venv/installed quickstart", f"{sys.executable} -m rageval_spark.cli quickstart")
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}  # as from a shell
    done = subprocess.run(["bash", "-euc", commands], cwd=folder, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    finished = folder / done.stdout.strip().splitlines()[-1]
    assert {path.name for path in finished.iterdir()} >= {"manifest.json", "summary.json", "scores", "stats"}
    return done.stdout


def test_the_first_command_shows_what_the_readme_shows(tmp_path: Path) -> None:
    first, second = next(block.text for block in blocks(README) if block.language == "bash").splitlines()
    assert second == "make test"  # which is what runs this test
    printed = run(first, tmp_path)
    excerpt = re.search(r"^```\n(fields: .*?)^```", README.read_text(), re.S | re.M)
    assert excerpt is not None
    for line in excerpt[1].splitlines():
        assert line == "…" or line in printed


@pytest.fixture
def clone(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder with the clone's conf/, in which this process and Spark are, as if both had been started there."""
    classic: Any = spark
    hadoop = classic._jvm.org.apache.hadoop.fs
    system = hadoop.FileSystem.get(classic._jsparkSession.sparkContext().hadoopConfiguration())
    before, handlers = system.getWorkingDirectory(), {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    for name in ("conf", "jobs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    system.setWorkingDirectory(hadoop.Path(str(tmp_path)))
    yield tmp_path
    system.setWorkingDirectory(before)
    for one, handler in handlers.items():  # a run listens to them
        signal.signal(one, handler)


@pytest.mark.parametrize("guide", [README, *GUIDES], ids=lambda path: path.stem)
def test_the_blocks_of_a_guide_work(guide: Path, tmp_path: Path, request: pytest.FixtureRequest,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order: configs are read, Python is run as in a notebook, commands in this process and so in one session. The judge
    wants a key."""
    found = [block for block in blocks(guide) if not block.text.startswith("make ")]  # which a shell runs, above
    if not {block.language for block in found} & {"python", "bash"}:
        for block in found:
            if block.language == "yaml":
                read_config(block, tmp_path)
        return
    clone, spark = request.getfixturevalue("clone"), request.getfixturevalue("spark")
    with JudgeServer(require_key=KEY) as judge:
        for name, value in {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": judge.url}.items():
            monkeypatch.setenv(name, value)
        notebook = ModuleType("__main__")  # what Spark's workers are sent by value, and where dataclasses look
        notebook.__dict__.update(df=spark.read.json(str(ROOT / "conf" / "samples.jsonl")), base_url=judge.url,
                                 output=str(clone / "out"))
        for block in found:
            if block.file:
                (clone / block.file).write_text(block.text)
            if block.language == "yaml":
                read_config(block, clone)
            elif block.language == "python" and guide == README:
                alone = ModuleType("__main__")  # pasted as it is, with nothing before it
                in_notebook(block._replace(text=block.text.replace(OPENAI, judge.url)), alone, monkeypatch)
            elif block.language == "python":
                in_notebook(block, notebook, monkeypatch)
            elif block.language == "bash":
                in_process(block.text, monkeypatch)


def read_config(block: Block, folder: Path) -> None:
    """As the command reads it: the config of a run, or, where rows have a time, of a monitor."""
    file = folder / (block.file or "of-a-guide.yaml")
    file.write_text(block.text)
    loaded = load_monitor(file) if "\ntime:" in block.text else load(file)
    assert planned(loaded).groups


def in_notebook(block: Block, notebook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "__main__", notebook)
        exec(compile(block.text, "a block of a guide", "exec"), notebook.__dict__)


def in_process(commands: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of rageval, which end with 0, or with what a comment behind them says: `# exit code 1`."""
    for line in commands.replace("\\\n", " ").splitlines():
        name, *arguments = shlex.split(line, comments=True) or ["#"]
        if name == "#":
            continue
        assert name in ("rageval", ".venv/bin/rageval"), f"the guides' commands are of rageval, found {line}"
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        wanted = re.search(r"# exit code (\d+)", line)
        assert (end.value.code or 0) == int(wanted[1] if wanted else 0), line


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("document", [README, *GUIDES], ids=lambda path: path.stem)
def test_links_lead_somewhere(document: Path) -> None:
    text = FENCE.sub("", document.read_text())
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    for link in links:
        if not link.startswith(("http://", "https://")):
            path, _, anchor = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            assert target.exists(), f"{document.name}: {link}"
            assert ROOT in target.parents, f"{document.name}: {link}"
            if anchor:
                headings = re.findall(r"^#+ (.*)", FENCE.sub("", target.read_text()), re.M)
                assert anchor in map(slug, headings), f"{document.name}: {link}"
    for named in re.findall(r"`((?:conf|docs|jobs|benchmarks|tests)/[\w./-]+)`", text):
        assert (ROOT / named).exists(), f"{document.name}: {named}"


def test_every_guide_is_found_from_the_index_and_the_readme() -> None:
    for guide in GUIDES:
        assert guide.name == "index.md" or f"]({guide.name})" in (ROOT / "docs" / "index.md").read_text(), guide.name
        assert f"](docs/{guide.name})" in README.read_text(), guide.name


def test_the_guides_are_short() -> None:
    assert len(README.read_text().splitlines()) <= 220
    for guide in GUIDES:
        assert guide == METRICS or 40 <= len(guide.read_text().splitlines()) <= 120, guide.name


def table(guide: str, under: str) -> dict[str, str]:
    """The rows of the first table below a heading: what stands in `code` in the first column, and the second column."""
    text = (ROOT / "docs" / guide).read_text().split(f"\n## {under}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| (.*?) \|", text, re.M))


def test_every_code_is_explained_in_its_own_words() -> None:
    assert table("understand_failures.md", "Failed") == dict(FAILED)
    assert table("understand_failures.md", "Skipped") == dict(SKIPPED)
    assert table("understand_failures.md", "Flags") == dict(FLAGS)


def test_every_exit_code_is_told() -> None:
    def codes(kind: type[errors.RagevalError]) -> set[int]:
        return {kind.exit_code}.union(*map(codes, kind.__subclasses__()))

    assert set(table("understand_failures.md", "Exit codes")) == {"0", "1", *map(str, codes(errors.RagevalError))}


def test_every_figure_of_a_monitor_is_told_in_its_own_words() -> None:
    told = table("watch_production.md", "What is computed")
    assert {name: told.pop(name) for name in RATES} == {name: what for name, (_, what) in RATES.items()}
    assert list(told) == ["rows"]


def test_every_figure_of_a_gate_is_told() -> None:
    assert list(table("gate_a_build.md", "What a gate may be of")) == Gate.figures()


@pytest.mark.parametrize("document", [README, ROOT / "docs" / "choose_metrics.md"], ids=lambda path: path.stem)
def test_every_metric_is_told_by_what_it_answers(document: Path) -> None:
    told = re.findall(r"^\|.*\| (.*?) \|$", document.read_text(), re.M)
    assert set(re.findall(r"`(\w+)`", " ".join(told))) >= set(CATALOGUE)


def test_every_key_of_a_summary_is_told(spark: SparkSession, tmp_path: Path) -> None:
    from rageval_spark import EmbeddedJudge, evaluate

    frame: Any = spark.read.json(str(ROOT / "conf" / "samples.jsonl"))
    summary = evaluate(frame, ["faithfulness"], judge=EmbeddedJudge(), output=str(tmp_path)).summary
    told = {name for cell in re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "read_the_report.md").read_text(), re.M)
            for name in re.findall(r"`(\w+)`", cell)}
    assert set(summary) <= told


if __name__ == "__main__":
    METRICS.write_text(with_table(METRICS.read_text()))
