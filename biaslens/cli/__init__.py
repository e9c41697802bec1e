"""The command line: parsing and printing only."""

from __future__ import annotations

import click

from biaslens.cli.agreement import agreement_command
from biaslens.cli.analyze import analyze_command, compare_command
from biaslens.cli.annotate import annotate_command
from biaslens.cli.assess import assess_command
from biaslens.cli.check import check_command
from biaslens.cli.counterfactual import counterfactual_command
from biaslens.cli.evaluate import evaluate_command, plan_command
from biaslens.cli.generate import generate_command
from biaslens.cli.import_ import import_command
from biaslens.cli.judge import judge_command, upgrade_command
from biaslens.cli.models import fetch_command, models_command
from biaslens.cli.page import page_command, publish_command
from biaslens.cli.probe import probe_group
from biaslens.cli.report import export_command, leaderboard_command, report_command
from biaslens.cli.reproduce import reproduce_command
from biaslens.cli.sample import sample_command
from biaslens.cli.streams import guarded
from biaslens.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="biaslens")
def app() -> None:
    """Measure the social bias of language models when they play a role.

    Exit code 0: done. 1: it cannot be done, and one line says why. 2: wrong usage. 3: the run is incomplete.
    """


for _command in (
    models_command,
    fetch_command,
    generate_command,
    check_command,
    plan_command,
    evaluate_command,
    judge_command,
    upgrade_command,
    sample_command,
    annotate_command,
    agreement_command,
    report_command,
    leaderboard_command,
    export_command,
    import_command,
    reproduce_command,
    analyze_command,
    compare_command,
    page_command,
    publish_command,
    assess_command,
    counterfactual_command,
    probe_group,
):
    app.add_command(_command)


def main() -> None:
    """Run the command line; an error of biaslens becomes one line on stderr and exit code 1."""
    guarded(app)
