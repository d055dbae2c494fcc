from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.scene import engine_threads


@pytest.fixture(autouse=True)
def _no_thread_outlives_its_task() -> Iterator[None]:
    yield
    assert engine_threads() == []
