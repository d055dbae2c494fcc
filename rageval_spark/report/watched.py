"""What a monitor tells of days: figures from sums and from runs, and how far both are from an offline run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import accumulate
from typing import Any

from rageval_spark.engine.files import Folder
from rageval_spark.engine.signals import (
    EMPTY,
    LANGUAGE,
    LANGUAGE_DRIFT,
    LENGTH_DRIFT,
    RATES,
    ROWS,
    UNKNOWN,
    UNKNOWN_REFUSALS,
    WORDS,
    Watch,
)
from rageval_spark.judges.refusals import names
from rageval_spark.statistics import drift
from rageval_spark.statistics.intervals import interval

LENGTHS = (3, 6, 10, 16, 25, 40, 80)
"""Words up to which a question is of one length, for the distance."""
Figure = dict[str, Any]
"""A row of the table of figures: day, slice, slice_value, figure, value, count, ci_low, ci_high."""
Of = tuple["str | None", "str | None"]
"""A slice and its value; both None for all rows."""
WHOLE: Of = (None, None)


class Counts:
    """The sums of signals (monitored.COUNTS) by what they are of."""

    def __init__(self, rows: Iterable[Any]):
        self.rates: dict[str, dict[Of, dict[str, tuple[int, int]]]] = defaultdict(lambda: defaultdict(dict))
        self.mixes: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for day, slice, value, name, key, count, hits in rows:
            if name in RATES:
                self.rates[day][slice, value][name] = (count, hits)
            else:
                self.mixes[day, name][key] = count

    def rows(self, day: str) -> int:
        return self.rates[day][WHOLE]["malformed"][0] if day in self.rates else 0

    def readable(self, day: str) -> int:
        return self.readable_of(day, WHOLE)

    def readable_of(self, day: str, of: Of) -> int:
        """How many rows of a day and a part of it can be read."""
        count, malformed = self.rates[day][of]["malformed"] if day in self.rates else (0, 0)
        return count - malformed

    def nulls(self, day: str, rate: str) -> int:
        """How many readable rows of a day have null in the columns of an EMPTY rate."""
        return self.readable(day) - self._with_value(day, rate)

    def has_values(self, rate: str) -> bool:
        """Return whether any row of the window has a value for a rate."""
        return any(self._with_value(day, rate) for day in list(self.rates))

    def rate(self, day: str, of: Of, name: str) -> tuple[int, int]:
        """Return over how many rows a rate is taken, and for how many of them it holds. For EMPTY rates a null counts as empty if
        other rows of the window have values: on the day of an outage a retriever logs nothing at all."""
        count, hits = self.rates[day][of][name]
        nulls = self.readable_of(day, of) - count if name in EMPTY and self.has_values(name) else 0
        return count + nulls, hits + nulls

    def _with_value(self, day: str, rate: str) -> int:
        """How many rows of a day have a value for a rate."""
        return self.rates[day][WHOLE].get(rate, (0, 0))[0] if day in self.rates else 0

    def mix(self, name: str, days: Sequence[str]) -> dict[str, int]:
        """Counts by value over some days."""
        total: dict[str, int] = defaultdict(int)
        for day in days:
            for key, count in self.mixes.get((day, name), {}).items():
                total[key] += count
        return dict(total)


def figures(counts: Counts, day: str, offline: Mapping[str, Mapping[str, int]]) -> Iterator[Figure]:
    """The figures of a day that need no judge. `offline`: the mixes of WORDS and LANGUAGE there, where they are known."""
    rates = counts.rates.get(day) or {WHOLE: {"malformed": (0, 0)}}
    for of, found in sorted(rates.items(), key=lambda one: (one[0][0] or "", one[0][1] or "")):
        rows = found["malformed"][0]
        yield _figure(day, of, ROWS, float(rows), rows)
        for name in RATES:
            if name in found:
                count, hits = counts.rate(day, of, name) if rows else found[name]
                share = hits / count if count else None
                yield _figure(day, of, name, share, count, *interval(share, 0.0, count, binary=True))
    for name, mix in (LENGTH_DRIFT, WORDS), (LANGUAGE_DRIFT, LANGUAGE):
        if mix in offline:
            mine = counts.mix(mix, [day])
            yield _figure(day, WHOLE, name, drift.distance(*(by_length(one) if mix == WORDS else one
                                                             for one in (mine, offline[mix]))), sum(mine.values()))


def judged(summary: Mapping[str, Any], day: str) -> Iterator[Figure]:
    """The figures of a day from the summary of its run."""
    whole = ({**stat, "slice": None, "slice_value": None, "metric": name} for group in summary["metrics_score"].values()
             for name, stat in group["stats"].items())
    for row in (*whole, *summary["slices"]):
        value, low, high = (None if row[name] is None else row[name] / summary["scale"]
                            for name in ("score_average", "ci_low", "ci_high"))
        yield _figure(day, (row["slice"], row["slice_value"]), row["metric"], value, row["score_count"], low, high)


def _figure(day: str, of: Of, name: str, value: float | None, count: int, low: float | None = None,
            high: float | None = None) -> Figure:
    return {"day": date.fromisoformat(day), "slice": of[0], "slice_value": of[1], "figure": name, "value": value, "count": count,
            "ci_low": low, "ci_high": high}


def by_length(words: Mapping[str, int]) -> dict[str, int]:
    """Counts by number of words as counts by LENGTHS."""
    found: dict[str, int] = defaultdict(int)
    for number, count in words.items():
        found[str(next((most for most in LENGTHS if int(number) <= most), "more"))] += count
    return found


def median(words: Mapping[str, int]) -> int:
    """The least number of words that half of the questions do not exceed."""
    numbers = sorted((int(number), count) for number, count in words.items())
    until = accumulate(count for _, count in numbers)
    half = sum(words.values()) / 2
    return next(number for (number, _), reached in zip(numbers, until, strict=True) if reached >= half)


def question_drifts(mine: Mapping[str, Mapping[str, int]], offline: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """How the questions of all days together differ from those of the offline set, in a sentence each."""
    for name, mix in ("question_length", WORDS), ("question_language", LANGUAGE):
        if not mine.get(mix) or not offline.get(mix):
            continue
        sides = [by_length(one[mix]) if mix == WORDS else one[mix] for one in (mine, offline)]
        differs = drift.drifted(*sides)
        words = (_length_said if mix == WORDS else _language_said)(mine[mix], offline[mix], differs)
        yield {"what": name, "distance": drift.distance(*sides), "differs": differs, "worse": None,
               "said": words if differs is not None else f"too few questions to say whether {name.replace('_', ' ')} differs "
                                                         f"(fewer than {drift.FEWEST})"}


def _length_said(mine: Mapping[str, int], offline: Mapping[str, int], differs: bool | None) -> str:
    here, there = median(mine), median(offline)
    how = "longer than" if here > there else "shorter than" if here < there else "otherwise spread in length than"
    found = f"median {here} words, {there} there"
    return f"questions are {how if differs else 'as long as'} in the offline set: {found}"


def _language_said(mine: Mapping[str, int], offline: Mapping[str, int], differs: bool | None) -> str:
    here, there = ({value: count / sum(one.values()) for value, count in one.items()} for one in (mine, offline))
    most = max(sorted({*here, *there}), key=lambda value: abs(here.get(value, 0.0) - there.get(value, 0.0)))
    found = f"{most} {here.get(most, 0.0):.0%} of them, {there.get(most, 0.0):.0%} there"
    how = "in other languages than in" if differs else "in the languages of"
    return f"questions are {how} the offline set: {found}".replace("%", " %")


def metric_drift(metric: str, production: drift.Sums | None, offline: drift.Sums | None, binary: bool, lower: bool,
                 scale: int) -> dict[str, Any]:
    """How a metric's average over all days differs from the offline run's; None where a side has no score. On `scale`."""
    if production is None or offline is None:
        side = "production" if production is None else "the offline run"
        return {"what": metric, "differs": None, "worse": None, "said": f"{metric}: {side} has no score of it"}
    found = drift.difference(production, offline, binary)
    here, there, by, low, high = (None if one is None else one * scale
                                  for one in (production.mean, offline.mean, found.difference, found.low, found.high))
    differs = found.shown
    worse = (found.difference > 0) == lower if differs else None if differs is None else False
    said = f"{metric} is {here:.3f} in production, {there:.3f} offline"
    if differs is None:
        said += "; too few scores to say more"
    else:
        verdict = ("worse" if worse else "better") if differs else "no difference shown"
        said += f": {verdict} by {abs(found.difference) * scale:.3f} [{low:+.3f}, {high:+.3f}]" if differs else f": {verdict}"
    return {"what": metric, "production": here, "offline": there, "difference": by, "low": low, "high": high,
            "n_production": production.count, "n_offline": offline.count, "differs": differs, "worse": worse, "said": said}


def notes(watch: Watch, counts: Counts, days: Sequence[str], undated: int, time: str) -> Iterator[str]:
    """What to know of the figures: what is left out and why, rows that tell nothing. `undated` rows have no time in the column
    `time`."""
    fields = watch.group.fields
    if absent := [name for name in RATES if name not in watch.rates()]:
        yield (f"left out, since no column tells them: {', '.join(absent)}. Read are "
               f"{', '.join(f'{column} ({name})' for name, column in fields.items())}"
               f"{'' if watch.feedback else ', and no column of feedback'}")
    if undated:
        yield (f"{undated:,} rows are of no day: in {time} there is no time that can be read. They count nowhere, also not in "
               f"malformed")
    if malformed := sum(counts.rows(day) - counts.readable(day) for day in days):
        yield f"{malformed:,} rows cannot be read; they count in rows and malformed alone"
    if empty := [day for day in days if not counts.rows(day)]:
        yield f"no rows on {', '.join(empty)}"
    yield from _null_notes(watch, counts, days)
    if "refusal" in watch.rates() and (in_doubt := counts.mix(UNKNOWN_REFUSALS, days)):
        yield unknown_refusals(in_doubt)
    if watch.feedback and (said := unknown_feedback(counts, days)):
        yield said


def _null_notes(watch: Watch, counts: Counts, days: Sequence[str]) -> Iterator[str]:
    """Say how rows count that have null for what was retrieved or for the answer, and on which days they are."""
    for rate, more, known in (("empty_retrieval", ("cited", "citation_hit"), ("retrieved_contexts", "retrieved_ids")),
                              ("empty_answer", ("refusal", "cited", "citation_hit"), ("response",))):
        nulls = {day: counts.nulls(day, rate) for day in days if counts.nulls(day, rate)}
        if rate not in watch.rates() or not nulls:
            continue
        columns = " and ".join(watch.group.fields[name] for name in known if name in watch.group.fields)
        others = ", ".join(name for name in more if name in watch.rates())
        on = ", ".join(f"{count:,} of {counts.readable(day):,} rows on {day}" for day, count in nulls.items())
        if counts.has_values(rate):
            rest = f"; they tell nothing of {others}" if others else ""
            yield f"null in {columns} counts as empty, since other rows have values ({rate}): {on}{rest}"
        else:
            yield f"null in {columns} in every row, so that nothing is known of {', '.join(filter(None, (rate, others)))}: {on}"


def unknown_refusals(in_doubt: Mapping[str, int]) -> str:
    """Say how many answers are left out of the rate of refusals. `in_doubt`: their numbers by language."""
    languages = ", ".join(f"{count:,} in {language}" if language != "unsure" else f"{count:,} in a language that is unsure"
                          for language, count in sorted(in_doubt.items(), key=lambda item: (-item[1], item[0])))
    return (f"refusal: answers left out, since it is unknown whether they decline: {sum(in_doubt.values()):,} ({languages}). "
            f"Refusals are recognized in {names()}")


def unknown_feedback(counts: Counts, days: Sequence[str]) -> str | None:
    """What to know of values of feedback that are neither negative nor positive."""
    unknown = counts.mix(UNKNOWN, days)
    zeros, rated = unknown.pop("0", 0), sum(counts.rates[day][WHOLE].get("negative_feedback", (0, 0))[1]
                                            for day in days if day in counts.rates)
    if unknown:
        most = max(sorted(unknown), key=lambda value: unknown[value])
        return (f"feedback: {sum(unknown.values()):,} values are known neither as negative nor as positive, such as {most!r}; "
                f"say which they are: feedback: {{column: …, negative: […], positive: […]}}")
    if zeros and not rated:
        return (f"feedback: {zeros:,} values are 0, which is taken for no feedback, and none is negative; where 0 is a thumbs "
                f"down, say feedback: {{column: …, negative: [0]}}")
    return None


def write(folder: Folder, day: str, rows: Sequence[Figure]) -> None:
    """Write the figures of a day as figures/DAY.parquet, in place of what was there. Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts, floats = ("slice", "slice_value", "figure"), ("ci_low", "ci_high")
    schema = pa.schema([("day", pa.date32()), *((name, pa.string()) for name in texts), ("value", pa.float64()),
                        ("count", pa.int64()), *((name, pa.float64()) for name in floats)])
    with (folder / "figures").writing(f"{day}.parquet") as out:
        pq.write_table(pa.Table.from_pylist(list(rows), schema), out)


def series(folder: Folder, since: date) -> list[Figure]:
    """The figures of all rows together from a day on, by day. Raises OSError, ValueError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found: list[Figure] = []
    for name in (folder / "figures").names(".parquet"):
        if name >= f"{since}.parquet":
            table = pq.read_table(pa.BufferReader((folder / "figures").read(name)))
            found += [row for row in table.to_pylist() if row["slice"] is None]
    return found
