"""Make, read and slice a benchmark."""

from biaslens.benchmark.bank import Bank, load_bank
from biaslens.benchmark.encounters import Encounter, check_encounters, from_encounters, read_encounters
from biaslens.benchmark.expansion import capacity, expand, parallel
from biaslens.benchmark.files import Benchmark, content_hash, read, select, shipped, write

__all__ = [
    "Bank",
    "Benchmark",
    "Encounter",
    "capacity",
    "check_encounters",
    "content_hash",
    "expand",
    "from_encounters",
    "load_bank",
    "parallel",
    "read",
    "read_encounters",
    "select",
    "shipped",
    "write",
]
