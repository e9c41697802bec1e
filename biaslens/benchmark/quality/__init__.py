"""What is wrong with a benchmark, and how good it is."""

from __future__ import annotations

from biaslens.benchmark.quality.measure import MEASUREMENTS, SAMPLE, Quality, as_record, check
from biaslens.benchmark.quality.source import Fault, Requirement, Source, csv_rows, read_source

__all__ = [
    "MEASUREMENTS",
    "SAMPLE",
    "Fault",
    "Quality",
    "Requirement",
    "Source",
    "as_record",
    "check",
    "csv_rows",
    "named_group",
    "read_source",
]
