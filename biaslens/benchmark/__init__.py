"""Make, read and slice a benchmark."""

from __future__ import annotations

from biaslens.benchmark.bank import Bank, load_bank
from biaslens.benchmark.expansion import capacity, expand
from biaslens.benchmark.files import Benchmark, content_hash, read, shipped, write
from biaslens.benchmark.slices import select

__all__ = [
    "Bank",
    "Benchmark",
    "capacity",
    "content_hash",
    "expand",
    "load_bank",
    "read",
    "select",
    "shipped",
    "write",
]
