"""`rageval report`: the page of a run, made anew from its files."""

from __future__ import annotations

from typing import Annotated

import typer

from rageval_spark.errors import ConfigError


def report(
    run: Annotated[str, typer.Argument(help="Directory of the run.", show_default=False)],
    compare: Annotated[str | None, typer.Option(help="Directory of a run to hold it against, which was there before.",
                                                metavar="BASE", show_default=False)] = None,
    open: Annotated[bool, typer.Option("--open", help="Open it in the browser, where there is a desktop.")] = False,
) -> None:
    """Write the page of a finished run, report.html, anew, and print its path.

    Every run leaves one. This adds a comparison to it, or makes one where it could not be made. Nothing is asked.
    """
    from rageval_spark.report.browser import opened
    from rageval_spark.report.page import FILE
    from rageval_spark.report.page.make import again
    from rageval_spark.report.recorded import recorded

    found = recorded(run)
    comparison = None
    if compare is not None:
        from rageval_spark.finished.comparison import compare as compared

        comparison = compared(compare, run).to_dict()
    try:
        again(found, comparison)
    except OSError as error:
        raise ConfigError(f"{run}/{FILE} cannot be written: {error}") from None
    page = f"{run.rstrip('/')}/{FILE}"
    print(page)
    if open:
        opened(page)
