"""The tables of a run: their schemas, in Spark's DDL."""

from __future__ import annotations

SCORES = """
run_id string, sample_id string, field_group string, metric string, score double, status string, code string,
reason string, passed boolean, threshold double, label string, flags array<string>, measures map<string,double>,
details string, judge string, n_prompts int, n_reused int, prompt_tokens long, completion_tokens long,
cached_tokens long, latency_ms double, slices map<string,string>,
weight double
"""
"""One row per sample × field group × metric. `score` is in [0, 1], and null exactly where `status` is not "scored". `weight` is
how many rows of the dataset the row stands for: 1 unless a part was chosen (null in runs of older versions: 1)."""

STATS = """
run_id string, slice string, slice_value string, field_group string, metric string, total long, count long,
n_skipped long, n_failed long, coverage double, average double, min double, max double, std_dev double, p10 double,
p50 double, p90 double, ci_low double, ci_high double, average_low double, average_high double, pass_rate double,
extra map<string,double>, layer string
"""
"""One row per slice × field group × metric; `slice` is null for all rows together. `std_dev` is the population's;
`average_low` and `average_high` bound the average that there would be had nothing failed: all that failed at worst, at best.
Where a part of the dataset was chosen, averages, `std_dev`, `pass_rate` and `extra` are weighted, so that they are the dataset's;
counts, `coverage`, `min`, `max` and percentiles are those of the rows that were judged."""

SAMPLES = "sample_id string, bucket int, sample string, slices string, fault string, weight double"
"""What the scoring pass reads: one row per row of the dataset, its mapped columns as JSON in `sample`."""
