"""Commands of the bias probe of open weights."""

from __future__ import annotations

import click

from biaslens.cli.probe.gaps import gaps_command
from biaslens.cli.probe.report import report_command
from biaslens.cli.probe.selftest import selftest_command
from biaslens.cli.probe.tune import tune_command


@click.group("probe")
def probe_group() -> None:
    """Measure the bias inside open weights, with soft prompts."""


for _command in (selftest_command, tune_command, gaps_command, report_command):
    probe_group.add_command(_command)
