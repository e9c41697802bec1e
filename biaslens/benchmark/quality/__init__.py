"""What is wrong with a benchmark, and how good it is."""

from __future__ import annotations

from biaslens.benchmark.quality.faults import Fault, Rule
from biaslens.benchmark.quality.measure import SAMPLE, Quality, check
from biaslens.benchmark.quality.page import page
from biaslens.benchmark.quality.record import as_record
from biaslens.benchmark.quality.source import Source, csv_rows, read_source
from biaslens.benchmark.quality.table import print_quality

__all__ = [
    "SAMPLE",
    "Fault",
    "Quality",
    "Rule",
    "Source",
    "as_record",
    "check",
    "csv_rows",
    "page",
    "print_quality",
    "read_source",
]
