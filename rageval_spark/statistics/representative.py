"""Whether a part may have been drawn from a whole at random: how likely one as different is, in [0, 1], from counts of both.

By drawing parts of the same size, since counts are few and scores repeat. A part that makes up much of the whole is taken for
likelier than it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

DRAWS = 4_000
MOST_VALUES = 500
"""Of what is counted: among more, nothing is said."""
Counts = np.ndarray[Any, np.dtype[np.float64]]


def spread_so(part: Sequence[int], whole: Sequence[int]) -> float:
    """By the greatest distance of the cumulated shares (Kolmogorov and Smirnov), from counts in bins, in order."""
    return _as_far(part, whole, lambda counts, expected: np.abs((counts - expected).cumsum(axis=-1)).max(axis=-1))


def mixed_so(part: Sequence[int], whole: Sequence[int]) -> float:
    """By the squared distance from what was to be expected of each value (Pearson's chi-squared), from counts by value."""
    return _as_far(part, whole, lambda counts, expected: ((counts - expected) ** 2 / expected).sum(axis=-1))


def _as_far(part: Sequence[int], whole: Sequence[int], far: Callable[[Counts, Counts], Counts]) -> float:
    found, total = np.array(part, dtype=float), np.array(whole, dtype=float)
    found, total = found[total > 0], total[total > 0]
    count = int(found.sum())
    if not count or len(total) > MOST_VALUES:
        return 1.0
    shares = total / total.sum()
    drawn = np.random.default_rng(7).multinomial(count, shares, size=DRAWS).astype(float)
    as_far = far(drawn, count * shares) >= far(found, count * shares) - 1e-9
    return float((1 + as_far.sum()) / (1 + DRAWS))
