"""Figures and tables of the bias probe of open weights."""

from biaslens.report.probe.figures import gap_figure
from biaslens.report.probe.files import write_probe_report
from biaslens.report.probe.table import print_gaps

__all__ = ["gap_figure", "print_gaps", "write_probe_report"]
