"""A run for a person at a terminal: tables by metric and slice, gates, the worst samples."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rageval_spark.engine.sampling import told
from rageval_spark.judges.settings import EmbeddedJudge
from rageval_spark.report.findings import counted, elsewhere, evidence, labelled, likely, number, outcomes, place, value
from rageval_spark.report.visible import cut, visible

MOST_SLICES = 12
"""Values of slices up to which they are shown; more are in the stats."""
MOST_FINDINGS = 3
WIDE = 160


class _Plain(Console):
    """A console that does nothing which texts say: characters that act on a terminal are shown by their numbers."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


def console() -> Console:
    return _Plain(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else WIDE)


def show(summary: Mapping[str, Any], worst: Mapping[str, Sequence[Mapping[str, Any]]],
         failures: Sequence[Mapping[str, Any]] = ()) -> None:
    """Print a run: its summary, its worst samples, and for each code of failed scores an example."""
    out = console()
    for key, group in summary["metrics_score"].items():
        out.print(_metrics(key, group["stats"]))
    judges = {stat["judge"] for group in summary["metrics_score"].values() for stat in group["stats"].values()}
    if EmbeddedJudge.model in judges:
        out.print("judged by the embedded judge, which compares words: a heuristic screen, no substitute for a model")
    several = len(summary["metrics_score"]) > 1
    lower = {metric for group in summary["metrics_score"].values() for metric, stat in group["stats"].items()
             if stat["direction"] == "lower"}
    for table in _slices(summary["slices"], lower, several):
        out.print(table)
    if summary.get("sample"):
        out.print(f"a part of the dataset: {told(summary['sample'])}")
    out.print(outcomes(summary), soft_wrap=True)
    if any(stat["n_failed"] and stat["score_count"] for group in summary["metrics_score"].values()
           for stat in group["stats"].values()):
        out.print("where judgements failed, the range of an average includes what it would be with these at worst and at best",
                  soft_wrap=True)
    usage = summary["usage"]
    if usage["prompts"] or usage["reused"]:
        earlier = usage["earlier"].get("prompts")
        before = f"; attempts before: {earlier:,.0f} prompts" if earlier else ""
        out.print(f"{spent(usage)}{before}")
    for note in summary.get("notes", ()):
        out.print(f"note: {note}", soft_wrap=True)
    for failure in failures:
        out.print(f"failed with {failure['code']}, {failure['count']:,} times; once, in {failure['metric']} of "
                  f"{failure['sample_id']}: {cut(failure['reason'])}", soft_wrap=True)
    for line in (*_again(summary.get("noise"), summary["scale"]), *_gates(summary["gates"])):
        out.print(line, soft_wrap=True)
    for line in _diagnosis(summary["diagnosis"], several):
        out.print(line, soft_wrap=True)
    if worst:
        out.print("\nthe samples that did worst:")
    for sample, scores in worst.items():
        out.print(f"  {sample}")
        for line in _missed(scores, summary["scale"], several):
            out.print(f"    {line}", soft_wrap=True)


def spent(usage: Mapping[str, Any]) -> str:
    """The prompts of a run and their cost."""
    cost = f"{usage['cost']:.4f}" if usage["cost"] is not None else \
        f"unknown (no price given for {', '.join(usage['unpriced'])})"
    return f"{counted(usage['prompts'], 'prompt')}, {usage['reused']:,} reused; cost {cost}"


def _again(noise: Mapping[str, Any] | None, scale: int) -> Iterator[str]:
    """How far the judge agreed with itself, a line per metric."""
    if noise:
        yield f"{noise['prompts']:,} prompts were asked once more, of samples that run {noise['since']} judged:"
        for group, metrics in noise["metrics"].items():
            for metric, shift in metrics.items():
                name = labelled(metric, group, len(noise["metrics"]) > 1)
                same = f"{shift['agreed']:,} of {shift['decisions']:,} decisions are the same, " if shift["decisions"] else ""
                yield (f"  {name}: {same}the average of {shift['count']:,} samples moves by {shift['mean'] * scale:+.3f}, "
                       f"a sample by {shift['std_dev'] * scale:.3f}")
        yield from (f"  THE JUDGE HAS DRIFTED: {sentence}" for sentence in noise["drift"])


def _diagnosis(findings: Sequence[Mapping[str, Any]], several: bool) -> Iterator[str]:
    """What to mend first: the first findings, each with what shows it and what to do; the field group where there are several."""
    if findings:
        yield "\ndiagnosis, by rules of thumb:"
    for finding in findings[:MOST_FINDINGS]:
        where = place(finding, several)
        yield f"  {where + ': ' if where else ''}{finding['finding']}{elsewhere(finding, findings)} {finding['advice']}"
        yield f"    {', '.join(map(evidence, finding['evidence']))}"
    if len(findings) > MOST_FINDINGS:
        yield f"  {len(findings) - MOST_FINDINGS} more in summary.json"


def _metrics(key: str, stats: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table("metric", "average", "95 %", "min", "max", "scored", "skipped", "failed", title=f"fields: {key}",
                  title_justify="left")
    for name, stat in stats.items():
        figures = [number(stat[f"score_{figure}"]) for figure in ("average", "min", "max")]
        name += " (lower is better)" if stat["direction"] == "lower" else ""
        table.add_row(name, figures[0], likely(stat), *figures[1:], str(stat["score_count"]),
                      _coded(stat["n_skipped"], stat["skipped"]), _coded(stat["n_failed"], stat["failed"]))
    return table


def _slices(rows: Sequence[Mapping[str, Any]], lower: Set[str], several: bool) -> Iterator[Table]:
    """Per field group (named if there are several) and column: average and count by metric and value. `lower` are the metrics of
    which lower is better."""
    by_column: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_column[row["field_group"], row["slice"]].append(row)
    for (group, column), mine in by_column.items():
        values = list(dict.fromkeys(row["slice_value"] for row in mine))
        if len(values) > MOST_SLICES:
            continue
        title = labelled(f"by {column}", group, several)
        table = Table("average (scored)", *map(value, values), title=title, title_justify="left")
        for metric in dict.fromkeys(row["metric"] for row in mine):
            cells = {row["slice_value"]: f"{number(row['score_average']) or '–'} ({_counts(row)})"
                     for row in mine if row["metric"] == metric}
            table.add_row(metric + (" (lower is better)" if metric in lower else ""), *(cells.get(one, "") for one in values))
        yield table


def _counts(row: Mapping[str, Any]) -> str:
    """How many samples of a slice are scored, and how many judgements failed if any did."""
    return f"{row['score_count']}, {row['n_failed']} failed" if row["n_failed"] else str(row["score_count"])


def _gates(gates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each gate; of those of slices only the first MOST_SLICES that are not met, and how many others there are."""
    sliced: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for gate in gates:
        if gate["slice"] is None:
            outcome = {True: "met", False: "NOT MET", None: "not decided"}[gate["met"]]
            yield f"gate {gate['gate']}: {gate['said']}: {outcome}"
        else:
            sliced[gate["metric"], gate["figure"], gate["slice"], gate["field_group"]].append(gate)
    for (metric, figure, column, group), mine in sliced.items():
        missed = [gate for gate in mine if gate["met"] is False]
        few = sum(gate["met"] is None for gate in mine)
        yield (f"gate {metric}.{figure} by {column} ({group}): met in {len(mine) - len(missed) - few:,} of {len(mine):,} values"
               f"{f', in {few:,} too few samples to say' if few else ''}{f': NOT MET in {len(missed):,}' if missed else ''}")
        for gate in missed[:MOST_SLICES]:
            yield f"  {column} {value(gate['slice_value'])}: {gate['said']}"
        if len(missed) > MOST_SLICES:
            yield f"  and {len(missed) - MOST_SLICES:,} more, which are in the summary"


def _missed(scores: Sequence[Mapping[str, Any]], scale: int, several: bool) -> Iterator[str]:
    """A line for each score below its threshold, and one for each thing that was missing."""
    for score in scores:
        wrong = [claim for claim in json.loads(score["details"] or "{}").get("claims", ()) if claim.get("verdict") == 0]
        reason = (score["reason"] or "").partition("; not: " if wrong else "\0")[0]
        yield f"{labelled(score['metric'], score['field_group'], several)} {number(score['score'] * scale)}: {cut(reason)}"
        for claim in wrong:
            yield f"  “{cut(claim['text'])}” {cut(claim.get('reason') or '')}".rstrip()


def _coded(count: int, codes: Mapping[str, int]) -> str:
    return f"{count} ({', '.join(f'{code} {n}' for code, n in codes.items())})" if count else "0"
