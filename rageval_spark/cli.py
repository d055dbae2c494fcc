"""The `rageval` command. Nothing here imports Spark before a command needs it."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.table import Table

from rageval_spark.commands.agree import agree
from rageval_spark.commands.compare import compare
from rageval_spark.commands.history import history
from rageval_spark.commands.monitor import monitor
from rageval_spark.commands.pick import pick
from rageval_spark.commands.prompts import prompts
from rageval_spark.commands.report import report
from rageval_spark.commands.store import store
from rageval_spark.errors import ConfigError, Pending, RagevalError
from rageval_spark.report.visible import visible

Input = Annotated[str | None, typer.Option(help="Path of the samples, in place of the config's input.path.")]
Output = Annotated[str | None, typer.Option(help="Folder of the results, in place of the config's output.path.")]
Overrides = Annotated[list[str] | None, typer.Option(help="Override a key: --set judge.model=gpt-4o", metavar="KEY=VALUE")]

app = typer.Typer(
    add_completion=False, no_args_is_help=True, invoke_without_command=True, pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Evaluate RAG systems and agents on Spark: every judge reply paid once, every failure counted.")


@app.callback()
def common(version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False) -> None:
    if version:
        from importlib.metadata import version as installed

        print(installed("rageval-spark"))
        raise typer.Exit


@app.command()
def run(
    config: Annotated[Path, typer.Argument(help="A config file (YAML or JSON).", show_default=False)],
    input: Input = None,
    output: Output = None,
    run_id: Annotated[str | None, typer.Option(help="Name of the run; by default made from the time.")] = None,
    set: Overrides = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary to stdout, all else to stderr.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="End with 0 while replies are waited for; run again later.")] = False,
    junit: Annotated[str | None, typer.Option(help="Write the gates to a file as JUnit XML, for CI.", metavar="FILE")] = None,
) -> None:
    """Score a dataset with the metrics of a config, and write scores, statistics and a summary.

    Ends with 0 where all gates are met, 1 where one is not, 2 for a mistake that cost nothing, 3 where too many
    judgements failed or replies to files are waited for, 130 when interrupted. The last line printed is the run's directory.
    """
    _evaluate(config, _overrides(input, output, set), run_id, as_json, not no_wait, junit)


@app.command()
def quickstart(
    output: Annotated[str, typer.Option(help="Folder of the results.")] = "out",
    open: Annotated[bool, typer.Option("--open", help="Open the page in the browser, where there is a desktop.")] = False,
) -> None:
    """Evaluate sixty samples that come with the package, without a key and without a model.

    They are questions to the assistant of an invented company, with answers that are right, wrong in a number or a
    name, invented, incomplete or refused. The embedded judge compares words: a heuristic screen.
    """
    folder = Path(__file__).with_name("quickstart")
    samples = json.dumps(str(folder / "samples.jsonl"))
    _evaluate(folder / "config.yaml", [f"input.path={samples}", f"output.path={json.dumps(output)}"], None, False, open=open)


def _overrides(input: str | None, output: str | None, more: list[str] | None) -> list[str]:
    return [*(more or []), *([f"input.path={json.dumps(input)}", "input.table=null"] if input else []),
            *([f"output.path={json.dumps(output)}"] if output else [])]


def _evaluate(config: Path, overrides: list[str], run_id: str | None, as_json: bool, wait: bool = True,
              junit: str | None = None, open: bool = False) -> None:
    from rageval_spark.config import load
    from rageval_spark.engine.stopping import stopping
    from rageval_spark.report.browser import opened
    from rageval_spark.report.junit import reporting
    from rageval_spark.report.terminal import show

    def stop(_signal: int, _frame: Any) -> None:
        stopping.ask()

    def listen() -> None:  # after the session's start, which installs handlers of its own
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)

    with reporting(junit) as report:
        loaded = load(config, overrides)
        from rageval_spark.run import run as run_config  # Spark is imported once the config is known to be right

        try:
            done = run_config(loaded, run_id=run_id, wait=wait, on_session=listen)
        except Pending as pending:
            if not wait:
                pending.exit_code = 0
            raise
        report(done.summary)
    if as_json:
        print(json.dumps(done.summary, ensure_ascii=False, allow_nan=False))
    else:
        show(done.summary, done.worst(), done.failures() if any(map(_failed, done.summary["metrics_score"].values())) else ())
        if done.page:
            print(f"report: {done.page}")
            if open:
                opened(done.page)
        print(done.folder)
    raise typer.Exit(done.exit_code)


@app.command()
def score(
    metric: Annotated[str, typer.Option(help="Name of a metric, or package.module:Class.", show_default=False)],
    sample: Annotated[str, typer.Option(help="The sample as a JSON object, or @FILE.", show_default=False)],
    params: Annotated[str, typer.Option(help="The metric's parameters as a JSON object.")] = "{}",
    base_url: Annotated[str | None, typer.Option(help="Where the judge is, for example http://localhost:8000/v1")] = None,
    model: Annotated[str | None, typer.Option(help="The judge's model.")] = None,
    api_key_env: Annotated[str | None, typer.Option(help="Name of the variable with the judge's key.")] = None,
    embedding_model: Annotated[str | None, typer.Option(help="The embedding model; by default the judge's.")] = None,
    votes: Annotated[int, typer.Option(help="How often the judge is asked: an odd number, of which the mean counts.")] = 1,
) -> None:
    """Score one sample without Spark, and print the score with its details as JSON. Ends with 3 where it failed.

    Without --base-url and --model the embedded judge is asked: a heuristic screen that compares words.
    """
    from rageval_spark.config import metric_of
    from rageval_spark.engine.single import score as score_one
    from rageval_spark.judges.settings import EmbeddedJudge, HttpEmbeddings, HttpJudge, Judge
    from rageval_spark.sample import known_names

    parameters = _object(params, "--params")
    if sample.startswith("@"):
        try:
            sample = Path(sample[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"--sample: {error}") from None
    values = _object(sample, "--sample")
    asked = metric_of(metric, parameters)
    judge: Judge = EmbeddedJudge()
    embeddings = None
    if asked.asks and (base_url or model):
        if not base_url or not model:
            raise ConfigError("a judge over HTTP needs --base-url and --model; without both, the embedded judge is asked")
        endpoint = {"base_url": base_url, "api_key_env": api_key_env}
        try:
            judge = HttpJudge.model_validate({"model": model, **endpoint})
            embeddings = HttpEmbeddings.model_validate({"model": embedding_model or model, **endpoint})
        except ValidationError as error:
            raise ConfigError("; ".join(f"--{'-'.join(map(str, one['loc'])).replace('_', '-')}: {one['msg']}"
                                        for one in error.errors())) from None
    if unread := set(values) - set(known_names()):
        print(f"rageval: not read: {', '.join(sorted(unread))}; known are {', '.join(known_names())}", file=sys.stderr)
    found = score_one(asked, values, judge, embeddings, votes)
    print(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False))
    raise typer.Exit(3 if found.status == "failed" else 0)


@app.command()
def plan(
    config: Annotated[Path, typer.Argument(help="A config file (YAML or JSON).", show_default=False)],
    input: Input = None,
    output: Output = None,
    set: Overrides = None,
) -> None:
    """Say what a run of this config will ask and cost, without asking anything, and show three of its prompts.

    Plays the metrics dry over up to a thousand rows. Prompts that stored replies answer are counted apart.
    """
    from rageval_spark.config import load
    from rageval_spark.forecast import forecast, lines

    for line in lines(forecast(load(config, _overrides(input, output, set)))):
        print(line)


@app.command()
def doctor(
    config: Annotated[Path, typer.Argument(help="A config file (YAML or JSON).", show_default=False)],
    input: Input = None,
    output: Output = None,
    set: Overrides = None,
) -> None:
    """Look at all that a run of this config will meet: Java, Spark, judges, columns, and what the data holds.

    Asks each judge and embedding model one prompt. Ends with 2 where something keeps a run from starting.
    """
    from rageval_spark.config import load
    from rageval_spark.doctor import examined

    wrong = False
    for finding in examined(load(config, _overrides(input, output, set))):
        wrong |= finding.state == "wrong"
        print(f"{finding.state:5}  {finding.what:10}  {finding.said}", flush=True)
    raise typer.Exit(2 if wrong else 0)


@app.command()
def metrics(
    name: Annotated[str | None, typer.Argument(help="One metric, to be told all of it.", show_default=False)] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
) -> None:
    """List the metrics, or tell all of one: what it measures, reads, costs and comes from, and its parameters."""
    from rageval_spark.config import class_of
    from rageval_spark.report import catalogue
    from rageval_spark.report.terminal import console

    if name is not None:
        print(*catalogue.described(class_of(name).name), sep="\n\n")
        return

    if as_markdown:
        print(catalogue.markdown())
        return
    table = Table(*catalogue.BRIEF)
    for row in catalogue.rows():
        table.add_row(*row[: len(catalogue.BRIEF)])
    console().print(table)


app.command("agree")(agree)
app.command("compare")(compare)
app.command("history")(history)
app.command("monitor")(monitor)
app.command("pick")(pick)
app.command("report")(report)
app.add_typer(store, name="store")
app.add_typer(prompts, name="prompts")


def _failed(group: Mapping[str, Any]) -> bool:
    return any(stat["n_failed"] for stat in group["stats"].values())


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{option} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{option} takes a JSON object, found {text[:60]!r}")
    return value


def main() -> None:
    """The command's entry: a mistake of the user is a sentence on stderr and an exit code, never a traceback."""
    level = os.environ.get("RAGEVAL_LOG", "WARNING").upper()
    logging.basicConfig(level=level, format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        app()
    except RagevalError as error:
        print(f"rageval: {visible(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("rageval: interrupted", file=sys.stderr)
        sys.exit(130)


def job(command: str) -> None:
    """A command as a Spark job, with the options that the job was given. Where it ends well it returns, since a job of Databricks
    takes any exit for a failure, also that with 0."""
    sys.argv.insert(1, command)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    main()
