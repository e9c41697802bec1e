"""Commands of the bias probe of open weights."""

from __future__ import annotations

import click

from biaslens.cli.shell import Lazy, LazyGroup

SECTIONS = {
    "Commands": {
        "selftest": Lazy("biaslens.cli.probe.selftest:selftest_command", "Plant a bias in a toy model and find it"),
        "tune": Lazy("biaslens.cli.probe.tune:tune_command", "Tune soft prompts and classify identity sentences"),
        "gaps": Lazy("biaslens.cli.probe.gaps:gaps_command", "Measure how groups differ in false positives"),
        "report": Lazy("biaslens.cli.probe.gaps:report_command", "Write figures and tables that compare models"),
    }
}


@click.group("probe", cls=LazyGroup, sections=SECTIONS)
def probe_group() -> None:
    """Measure the bias of open weights with soft prompts."""
