"""Make, read and slice a benchmark."""

from __future__ import annotations

from biaslens.benchmark.files import Benchmark, content_hash, read, shipped, write
from biaslens.benchmark.slices import select

__all__ = ["Benchmark", "content_hash", "read", "select", "shipped", "write"]
