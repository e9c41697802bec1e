"""Files and tables for people, all of them from the same `Summary` of a run."""

from biaslens.report.export import Format, by_attribute, export, export_parts, leaderboard
from biaslens.report.run import print_table

__all__ = [
    "Format",
    "by_attribute",
    "export",
    "export_parts",
    "leaderboard",
    "print_table",
]
