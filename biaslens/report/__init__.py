"""Files and tables for people, all of them from the same `Summary` of a run."""

from biaslens.report.export import export
from biaslens.report.leaderboard import leaderboard
from biaslens.report.records import by_attribute
from biaslens.report.sinks import Format
from biaslens.report.table import print_table

__all__ = [
    "Format",
    "by_attribute",
    "export",
    "leaderboard",
    "print_table",
]
