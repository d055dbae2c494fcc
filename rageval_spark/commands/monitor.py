"""`rageval monitor`: logs of production, watched day by day."""

from __future__ import annotations

import json
import signal
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from rageval_spark.errors import ConfigError


def monitor(
    config: Annotated[Path, typer.Argument(help="A config file of a monitor (YAML or JSON).", show_default=False)],
    day: Annotated[str | None, typer.Option(help="One day alone, such as 2026-11-29; by default the config's days up to "
                                                 "yesterday.", show_default=False)] = None,
    set: Annotated[list[str] | None, typer.Option(help="Override a key: --set days=30", metavar="KEY=VALUE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary to stdout, all else to stderr.")] = False,
) -> None:
    """Compute what logs of production tell day by day: empty retrievals, citations, refusals, feedback, a judged sample, drift.

    A day that is computed again replaces its figures. Ends with 0, with 1 where there is an alert, with 2 for a mistake, with 3
    where too many judgements failed, 130 when interrupted. The last line printed is the monitor's directory.
    """
    from rageval_spark.config import load_monitor
    from rageval_spark.engine.stopping import stopping
    from rageval_spark.report.monitor import show

    def stop(_signal: int, _frame: Any) -> None:
        stopping.ask()

    def listen() -> None:  # after the session's start, which installs handlers of its own
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)

    loaded, wanted = load_monitor(config, set or []), _day(day)
    from rageval_spark.monitor import monitor as computed  # Spark is imported once the config is known to be right

    done = computed(loaded, wanted, listen)
    if as_json:
        print(json.dumps(done.summary, ensure_ascii=False, allow_nan=False))
    else:
        show(done.summary)
        print(done.folder)
    raise typer.Exit(done.exit_code)


def _day(given: str | None) -> date | None:
    try:
        return date.fromisoformat(given) if given is not None else None
    except ValueError:
        raise ConfigError(f"--day is a date such as 2026-11-29, found {given!r}") from None
