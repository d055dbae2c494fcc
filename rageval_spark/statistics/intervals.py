"""Intervals of an average."""

from __future__ import annotations

import math

from scipy.special import ndtri, stdtrit  # scipy.stats takes a second to import, of every run

CONFIDENCE = 0.95
ALIKE = 1e-9
"""A standard deviation that is nothing but rounding."""
ROUNDING = 1e-12
"""Differences below this are rounding errors of floating point."""


def interval(average: float | None, std_dev: float | None, count: float, binary: bool) -> tuple[float | None, float | None]:
    """A 95 % interval of an average of scores in [0, 1]; (None, None) below two scores.

    `count` is how many there are; of weighted scores, how many of equal weight would tell as much.
    Wilson's for 0/1 scores, and where all scores are alike, of which Student's t would be too sure (no scores in [0, 1] of that
    average vary more than 0/1 scores); else Student's t with the sample's standard deviation (from the population's), cut to
    [0, 1].
    """
    if average is None or std_dev is None or count < 2:
        return None, None
    upper = (1 + CONFIDENCE) / 2
    if binary or std_dev < ALIKE:
        z = float(ndtri(upper))
        centre = (average + z * z / (2 * count)) / (1 + z * z / count)
        half = z / (1 + z * z / count) * math.sqrt(average * (1 - average) / count + z * z / (4 * count * count))
    else:
        centre, half = average, float(stdtrit(count - 1, upper)) * std_dev / math.sqrt(count - 1)
    return _snap_to_ends(centre - half), _snap_to_ends(centre + half)


def _snap_to_ends(end: float) -> float:
    """Return an end of an interval within [0, 1]: exactly 0 or 1 if it differs from that by rounding alone."""
    if end < ROUNDING:
        return 0.0
    return 1.0 if end > 1 - ROUNDING else end


def likely_range(low: float | None, high: float | None, worst: float | None, best: float | None, failed: int,
                 ) -> tuple[float | None, float | None]:
    """Return the range in which an average likely lies. It is the interval from `low` to `high`; if judgements `failed`, it also
    includes the averages with these at `worst` and at `best`, since what failed is no random part of the samples."""
    if not failed or worst is None or best is None:
        return low, high
    ends = [end for end in (low, high, worst, best) if end is not None]
    return min(ends), max(ends)
