"""What runs say: arrays read from run files, and the numbers computed from them."""

from biaslens.analysis.frame import Questions, Run, Trials, read_run
from biaslens.analysis.info import RunInfo
from biaslens.analysis.summary import Cell, ConditionSummary, Counts, Summary, summarise

__all__ = [
    "Cell",
    "ConditionSummary",
    "Counts",
    "Questions",
    "Run",
    "RunInfo",
    "Summary",
    "Trials",
    "read_run",
    "summarise",
]
