"""The config file: its keys (schema), how it is read (load), and what its metrics come to (metrics)."""

from __future__ import annotations

from rageval_spark.config.load import load, load_monitor, output_of, parse, sampling_of
from rageval_spark.config.metrics import class_of, field_group, mapping, metric_of, planned, use_of
from rageval_spark.config.monitor import MonitorConfig
from rageval_spark.config.schema import Config, Diagnosis, Output

__all__ = ["Config", "Diagnosis", "MonitorConfig", "Output", "class_of", "field_group", "load", "load_monitor", "mapping",
           "metric_of", "output_of", "parse", "planned", "sampling_of", "use_of"]
