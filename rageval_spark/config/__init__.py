"""The config file: its keys (schema), how it is read (load), and what its metrics come to (metrics)."""

from __future__ import annotations

from rageval_spark.config.load import load, output_of, parse, sampling_of
from rageval_spark.config.metrics import class_of, field_group, metric_of, planned, use_of
from rageval_spark.config.schema import Config, Output

__all__ = [
    "Config", "Output", "class_of", "field_group", "load", "metric_of", "output_of", "parse", "planned", "sampling_of", "use_of",
]  # fmt: skip
