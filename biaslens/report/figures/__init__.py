"""Figures for papers and pages, drawn from the tables of the analyses."""

from biaslens.report.figures.counts import counts_by_attribute
from biaslens.report.figures.heat_map import heat_map
from biaslens.report.figures.intervals import bias_rates, paired_rates
from biaslens.report.figures.shares import consistency_bars, trigger_shares
from biaslens.report.figures.style import save

__all__ = [
    "bias_rates",
    "consistency_bars",
    "counts_by_attribute",
    "heat_map",
    "paired_rates",
    "save",
    "trigger_shares",
]
