"""Files and tables for people, all of them from the same `Summary` of a run."""

from biaslens.report.export import export
from biaslens.report.leaderboard import leaderboard
from biaslens.report.records import by_attribute
from biaslens.report.sinks import Format
from biaslens.report.summary import Cell, ConditionSummary, Counts, RunInfo, Summary, summarise
from biaslens.report.table import print_table

__all__ = [
    "Cell",
    "ConditionSummary",
    "Counts",
    "Format",
    "RunInfo",
    "Summary",
    "by_attribute",
    "export",
    "leaderboard",
    "print_table",
    "summarise",
]
