"""A page is opened where somebody sees it, and nowhere else. The browser is a program that writes down what it is given."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

OPENS = "import sys; from rageval_spark.report.browser import opened; sys.exit(0 if opened(sys.argv[1]) else 5)"


def opened(page: Path, folder: Path, terminal: bool = True, desktop: bool = True) -> str | None:
    """The address that the browser was given; None where there was none."""
    seen, browser = folder / "seen", folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    reader, writer = pty.openpty()
    done = subprocess.run([sys.executable, "-c", OPENS, str(page)], stdout=writer if terminal else subprocess.PIPE,
                          env={**env, "BROWSER": f"{browser} %s", **({"DISPLAY": ":0"} if desktop else {})})
    os.close(reader)
    os.close(writer)
    assert done.returncode in (0, 5)
    assert seen.exists() == (done.returncode == 0)
    return seen.read_text().strip() if seen.exists() else None


def test_a_page_is_opened_before_the_person_at_the_terminal(tmp_path: Path) -> None:
    page = tmp_path / "a page.html"
    page.write_text("<p>")
    assert opened(page, tmp_path) == page.as_uri()


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="a desktop is always there")
@pytest.mark.parametrize("without", [{"terminal": False}, {"desktop": False}])
def test_nothing_is_opened_that_nobody_sees(tmp_path: Path, without: dict[str, bool]) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>")
    assert opened(page, tmp_path, **without) is None


def test_a_page_that_is_not_there_is_not_opened(tmp_path: Path) -> None:
    assert opened(tmp_path / "missing.html", tmp_path) is None
