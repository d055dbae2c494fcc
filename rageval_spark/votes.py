"""Votes: one score from several of the same metric and sample, each from replies of its own."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rageval_spark.score import Score, Usage


def elected(votes: Sequence[Score], binary: bool) -> Score:
    """The score of an odd number of votes: their mean, or of a binary metric what most say.

    Skipped where most are skipped; failed, with the first fault's code, where no more than half are scored. Details,
    measures and reason are those of the vote that is nearest to it; `details.votes` has their values (None: no value),
    codes, spread (max − min) and standard deviation (of the population). Flags are those of any vote, usage is the sum.
    """
    scored = [vote for vote in votes if vote.value is not None]
    skipped = [vote for vote in votes if vote.status == "skipped"]
    told = {"values": [vote.value for vote in votes], "codes": [vote.code for vote in votes]}
    if len(scored) * 2 > len(votes):
        values = [vote.value for vote in scored if vote.value is not None]
        result = _majority(values) if binary else math.fsum(values) / len(values)
        nearest = min(scored, key=lambda vote: abs((vote.value or 0.0) - result))
        score = replace(nearest, value=result, reason=_reason(nearest.reason, values, len(votes), binary))
        told |= {"spread": max(values) - min(values), "std_dev": statistics.pstdev(values)}
    elif len(skipped) * 2 > len(votes):
        [(code, _)] = Counter(vote.code for vote in skipped).most_common(1)
        score = next(vote for vote in skipped if vote.code == code)
    else:
        fault = next(vote for vote in votes if vote.status == "failed")
        score = replace(fault, reason=f"{len(scored)} of {len(votes)} votes were scored; {fault.reason}")
    judges = dict.fromkeys(name for vote in votes if vote.judge for name in vote.judge.split(", "))
    return replace(
        score, details={**score.details, "votes": told}, usage=sum((vote.usage for vote in votes), Usage()),
        flags=tuple(dict.fromkeys(flag for vote in votes for flag in vote.flags)), judge=", ".join(judges) or None,
    )


def _majority(values: Sequence[float]) -> float:
    """What most of these zeros and ones are; the first of them, as without votes, where half are either."""
    ones = sum(values)
    return values[0] if ones * 2 == len(values) else float(ones * 2 > len(values))


def _reason(said: str | None, values: Sequence[float], count: int, binary: bool) -> str:
    if binary:
        how = f"{sum(values):g} of {len(values)} votes say 1"
    else:
        how = f"mean of {len(values)} votes from {min(values):.3g} to {max(values):.3g}"
    missing = f", {count - len(values)} without a value" if count > len(values) else ""
    return f"{how}{missing}" + (f"; the nearest: {said}" if said else "")
