"""Files and tables for people, all of them from the same `Summary` of a run."""

from biaslens.report.export import Format, export, export_parts
from biaslens.report.leaderboard import by_attribute, leaderboard
from biaslens.report.run import print_table

__all__ = [
    "Format",
    "by_attribute",
    "export",
    "export_parts",
    "leaderboard",
    "print_table",
]
