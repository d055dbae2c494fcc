"""Agreement of a run with people for a person at a terminal: plain sentences, with the figures in brackets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from rageval_spark.report.terminal import MOST_SLICES, console
from rageval_spark.statistics.corrected import FEWEST

FEW = 30
MOST_SHOWN = 20
WORDS = ((0.0, "no better than chance"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
"""What kappa is called up to a value (Landis and Koch 1977); above the last: almost perfect."""


def show(found: Mapping[str, Any]) -> None:
    """Print what rageval_spark.finished.agree.agree() returns."""
    out = console()
    for one in found["metrics"]:
        out.print(f"{one['metric']} (fields: {one['field_group']})", soft_wrap=True)
        for line in _lines(one, found["scale"]):
            out.print(f"  {line}", soft_wrap=True)
        if one["confusion"]:
            out.print(_confusion(one["confusion"]))
    for what in _slices(found["slices"]):
        out.print(what)
    if elsewhere := found["labels_elsewhere"]:
        out.print(f"labels of what the run has not: {', '.join(f'{name} {count:,}' for name, count in elsewhere.items())}")
    if found["rows_without_label"]:
        out.print(f"{found['rows_without_label']:,} rows of {found['labels']} have no label", soft_wrap=True)
    for line in _differing(found["disagreements"]):
        out.print(line, soft_wrap=True)


def _lines(one: Mapping[str, Any], scale: int) -> Iterator[str]:
    yield _counted(one)
    if one["not_random"]:
        yield (f"NOT a random part of the run: {one['not_random']}. What follows is true of them, not of the run; "
               f"for figures of the run label a random part (rageval pick --random)")
    if people := one["people"]:
        kappa = "" if people["kappa"] is None else f" (kappa among people {people['kappa']:.2f}, {word(people['kappa'])})"
        yield (f"{_samples(people['n_several'])} labelled more than once: people differ on {people['n_differ']:,}{kappa}. "
               f"The mean of their labels counts, for good or bad the majority")
    if one["n_decided"]:
        yield from _decided(one)
    elif one["n_scored"]:
        yield ("the labels are grades: --good-from tells from which on a sample is good, for agreement and the best threshold"
               if one["graded"] else "of every sample as many people say good as bad")
    if one["spearman"]:
        yield f"order: the higher the label, the {'lower' if one['direction'] == 'lower' else 'higher'} the score: Spearman " \
              f"{_figure(one['spearman'])} (1 always, 0 no relation)"
    if one["corrected"]:
        yield from _corrected(one, scale)
    if 0 < one["n_scored"] < FEW:
        yield f"these are few labels: with others the figures may be quite different. Take {FEW} or more"


def _counted(one: Mapping[str, Any]) -> str:
    left = {"skipped": one["n_skipped"], "failed": one["n_failed"]}
    why = f" ({', '.join(f'{code} {count}' for code, count in one['codes'].items())})" if one["codes"] else ""
    parts = [f"{_samples(one['n_labelled'])} labelled, {one['n_scored']:,} with a score",
             *(f"{count:,} {what}" for what, count in left.items() if count)]
    parts[-1] += why
    if one["n_not_in_run"]:
        parts.append(f"{one['n_not_in_run']:,} not in the run")
    if one["n_repeated_id"]:
        parts.append(f"{one['n_repeated_id']:,} left out, whose id several rows of the run have")
    return "; ".join(parts)


def _decided(one: Mapping[str, Any]) -> Iterator[str]:
    count = one["n_decided"]
    if count < one["n_scored"]:
        yield f"{_samples(one['n_scored'] - count)} left out here: as many people say good as bad"
    yield _agreed(one)
    if one["auc"] is None:
        table = one["confusion"]
        all_good = table and bool(table["good_passed"] + table["good_missed"])
        alike = "the same" if table is None else "good" if all_good else "bad"
        yield f"people call all of them {alike}: how well scores tell good from bad cannot be seen"
        return
    yield (f"of two samples, one good and one bad, the good one has the better score in {one['auc']['value']:.0%} of cases: "
           f"AUC {_figure(one['auc'])} (0.5 is chance)")
    yield _threshold(one)


def _agreed(one: Mapping[str, Any]) -> str:
    """Say how often the metric decides as people do."""
    count, right, kappa = one["n_decided"], one["agreement"], one["kappa"]
    if right is None:
        return "the metric has no threshold, so that its scores pass or fail nothing"
    in_words = "" if kappa is None else f": kappa {_figure(kappa)}, {word(kappa['value'])}"
    sure = "" if right["low"] is None else f" [{right['low']:.0%}, {right['high']:.0%}]"
    agreed = f"{round(right['value'] * count):,} of {_samples(count)}"
    return (f"people and the metric agree on {agreed} ({right['value']:.0%}{sure}); "
            f"by chance it would be {one['by_chance']:.0%}{in_words}")


def _threshold(one: Mapping[str, Any]) -> str:
    """Say how well the threshold separates good from bad, and which one would do it clearly better."""
    best, passes = one["best_threshold"], "at most" if one["direction"] == "lower" else "from"
    at_best = one["best_balanced_accuracy"]
    if one["threshold"] is None:
        return f"a threshold {passes} {_figure(best, 3)} would be right for {at_best:.0%} of the good and the bad (mean of both)"
    now = one["balanced_accuracy"]["value"]
    better = (f"; {passes} {_figure(best, 3)} it would be {at_best:.0%} of these" if round(at_best, 2) > round(now, 2) else
              "; no other is clearly better here")
    return (f"threshold: passes {passes} {_shown(one['threshold'])}, right for {now:.0%} of the good and the bad (mean of both)"
            f"{better}")


def _corrected(one: Mapping[str, Any], scale: int) -> Iterator[str]:
    found, part = one["corrected"], one["corrected"]["labelled_part"]
    alone, best = (f"{_shown(each['average'])} {_range(each)}".strip() for each in (part, found))
    publish = "" if one["not_random"] or found["low"] is None else ", the number to publish"
    yield f"average: {_shown(found['run_average'])} by the metric; {alone} by labels alone; corrected {best}{publish}"
    if not found["n_others"]:
        yield "every scored sample is labelled: the labels alone are the answer"
    elif found["n_labelled"] < FEWEST:
        yield f"with fewer than {FEWEST} labels the scores correct nothing: the corrected average is that of the labels"
    elif not found["weight"]:
        yield "the scores add nothing to these labels: the corrected average is that of the labels"


def _confusion(table: Mapping[str, int]) -> Table:
    shown = Table("", "passes", "misses")
    for word_, name in (("good by people", "good"), ("bad by people", "bad")):
        shown.add_row(word_, f"{table[f'{name}_passed']:,}", f"{table[f'{name}_missed']:,}")
    return shown


def _slices(rows: Sequence[Mapping[str, Any]]) -> Iterator[Table | str]:
    """A table per column, of its values that have labelled scores."""
    for name in dict.fromkeys(row["slice"] for row in rows):
        mine = [row for row in rows if row["slice"] == name and row["n_scored"]]
        if len({row["slice_value"] for row in mine}) > MOST_SLICES:
            yield f"{name} has more than {MOST_SLICES} values with labels: --json has their figures"
            continue
        shown = Table("metric", name, "labelled", "agree", "kappa", "AUC", "best threshold", "average", "corrected",
                      title=f"by {name}", title_justify="left")
        for row in mine:
            average = row["corrected"] or {}
            figures = (_shown((row[figure] or {}).get("value")) for figure in ("agreement", "kappa", "auc", "best_threshold"))
            shown.add_row(row["metric"], row["slice_value"], str(row["n_scored"]), *figures, _shown(average.get("run_average")),
                          f"{_shown(average.get('average'))} {_range(average)}".strip())
        yield shown


def _differing(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if rows:
        more = f", the {MOST_SHOWN} that are furthest apart (all: --json)" if len(rows) > MOST_SHOWN else ", furthest apart first"
        yield f"\npeople and the metric differ on {len(rows):,} score{'' if len(rows) == 1 else 's'}{more}:"
    for row in rows[:MOST_SHOWN]:
        yield (f"  {row['sample_id']}  {row['metric']} {_shown(row['score'])} ({'passes' if row['passed'] else 'misses'}), "
               f"people {'good' if not row['passed'] else 'bad'} ({row['label']:.2g}): {row['reason'] or ''}".rstrip(": "))


def word(kappa: float) -> str:
    return next((name for upto, name in WORDS if kappa <= upto), "almost perfect")


def _samples(count: int) -> str:
    return f"{count:,} sample{'' if count == 1 else 's'}"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _range(found: Mapping[str, Any], digits: int = 3) -> str:
    return "" if found.get("low") is None else f"[{found['low']:.{digits}f}, {found['high']:.{digits}f}]"


def _figure(found: Mapping[str, Any], digits: int = 2) -> str:
    return f"{found['value']:.{digits}f} {_range(found, digits)}".strip()
