"""A page opened before the person who asked for it."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path


def opened(page: str) -> bool:
    """Open a file in the browser; False where nobody would see it: no terminal, no desktop, a file that is elsewhere."""
    desktop = sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if not (sys.stdout.isatty() and desktop and Path(page).is_file()):
        return False
    return webbrowser.open(Path(page).absolute().as_uri())
