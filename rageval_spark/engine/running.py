"""Which runs are under way on an output: two at once would pay twice for what both ask."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.errors import ConfigError

log = logging.getLogger(__name__)
PERIOD_S = 1.0
GONE_S = 5 * PERIOD_S
"""Without a sign for so long a run is taken for one that was killed."""


@contextmanager
def under_way(output: Folder, run_id: str) -> Iterator[None]:
    """Give a sign of life every PERIOD_S, as running/RUN_ID.json, while the block lasts.

    Raises ConfigError where another process gives signs of the same run, and warns of other runs. A run that was killed a
    moment ago is waited for, GONE_S at most. Where no file can be written no sign is given: the run itself will tell.
    """
    folder, mine = output / "running", uuid.uuid4().hex
    for name in folder.names(".json"):
        if (age := _age(_sign(folder, name))) is None:
            continue
        other = name.removesuffix(".json")
        if other != run_id:
            log.warning("the run %s is under way on this output, too: what both ask is paid twice. Let it end first, or give "
                        "each an output of its own", other)
        elif _moves(folder, name):
            raise ConfigError(f"the run {run_id} is under way in another process (last sign {age:.0f} s ago); two at once would "
                              f"pay twice. Wait for its end, or give another --run-id")
    over = threading.Event()

    def give_signs() -> None:
        while True:
            try:
                folder.write_json(f"{run_id}.json", {"of": mine, "at": time.time()})
            except OSError:
                return
            if over.wait(PERIOD_S):
                return

    thread = threading.Thread(target=give_signs, name="rageval-running", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if _sign(folder, f"{run_id}.json").get("of") == mine:
            folder.delete(f"{run_id}.json")


def _sign(folder: Folder, name: str) -> Mapping[str, Any]:
    try:
        sign: Mapping[str, Any] = folder.read_json(name)
    except (OSError, ValueError):
        return {}
    return sign


def _age(sign: Mapping[str, Any]) -> float | None:
    """Seconds since the sign was given; None where its run is gone."""
    age = max(0.0, time.time() - sign.get("at", 0.0))
    return age if age < GONE_S else None


def _moves(folder: Folder, name: str) -> bool:
    """Whether another sign follows before the last one is too old."""
    first = _sign(folder, name)
    while _age(now := _sign(folder, name)) is not None:
        if now.get("at") != first.get("at"):
            return True
        time.sleep(PERIOD_S / 10)
    return False
