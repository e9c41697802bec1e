"""The command line: parsing and printing only."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO, cast

import click

from biaslens import __version__
from biaslens._util import without_collection
from biaslens._util.text import Unfailing
from biaslens.errors import BiasLensError


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is not imported yet.

    `place` is its module within this package ("" for the package itself) and its name there,
    "report:report_command"; `summary`, with which help lists it, is the first line of the command's own help without
    its full stop.
    """

    place: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.place.partition(":")
        with without_collection():
            command: click.Command = getattr(import_module(f"biaslens.cli.{module}".rstrip(".")), attribute)
        return command


class LazyGroup(click.Group):
    """A group of lazy commands; `sections` are commands by name, by heading."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, Lazy]], **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.sections = sections
        self.lazy = {name: lazy for section in sections.values() for name, lazy in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names in the order of the sections."""
        del ctx
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of a name."""
        return self.lazy[cmd_name].load() if cmd_name in self.lazy else super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; one that has nothing to say about Ctrl-C ends by it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            sys.exit(130)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section, without importing a command."""
        del ctx
        width = max(map(len, self.lazy))
        for heading, section in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), lazy.summary) for name, lazy in section.items()])


SECTIONS = {
    "Evaluate": {
        "models": Lazy("evaluate:models_command", "List providers, models with prices, and which keys are set"),
        "fetch": Lazy("evaluate:fetch_command", "Download the embedded model's weights (98 MB) and check them"),
        "plan": Lazy("evaluate:plan_command", "Show what an evaluation would take, without asking anything"),
        "evaluate": Lazy("evaluate:evaluate_command", "Evaluate a model, or resume an evaluation"),
        "batches": Lazy("batches:batches_command", "List the batches of a run, or cancel one"),
        "merge": Lazy("batches:merge_command", "Join run files of one run: shards, or copies that went on apart"),
    },
    "Judge": {
        "judge": Lazy("evaluate:judge_command", "Judge the why answers of a run"),
        "sample": Lazy("labels:sample_command", "Draw a stratified sample of a run's answers to label"),
        "annotate": Lazy("labels:annotate_command", "Label the answers of a sample"),
        "labels": Lazy("labels:labels_group", "Take people's labels into a run"),
        "agreement": Lazy("labels:agreement_command", "Compare annotators with each other and every oracle with them"),
    },
    "Analyse and publish": {
        "report": Lazy("report:report_command", "Show a run: rates by attribute and kind, and coverage"),
        "status": Lazy("report:status_command", "Show how far a run is, also while it is being evaluated"),
        "view": Lazy("report:view_command", "Look at every answer of runs in a browser"),
        "analyze": Lazy("report:analyze_command", "Analyse runs: role ablation, consistency, position, triggers"),
        "compare": Lazy("report:compare_command", "Compare models on the questions that all of them answered"),
        "gate": Lazy("report:gate_command", "Pass or fail a run against a baseline and limits, for CI"),
        "leaderboard": Lazy("report:leaderboard_command", "Write leaderboard.csv, and the same by attribute and kind"),
        "export": Lazy("exchange:export_command", "Write every response of a run with the judges' votes"),
        "rescore": Lazy("batches:rescore_command", "Decide the answers of a dataset anew, by this version's rules"),
        "page": Lazy("report:page_command", "Write a static page: the leaderboard and each model's results"),
        "publish": Lazy("report:publish_command", "Write leaderboard, analyses, tables, figures and a page"),
        "import": Lazy(":import_group", "Import answers that others have collected"),
        "lm-eval-path": Lazy("exchange:lm_eval_path_command", "Print the folder of tasks for lm-evaluation-harness"),
        "reproduce": Lazy("exchange:reproduce_command", "Recompute the tables of the published study"),
    },
    "Benchmark": {
        "generate": Lazy("benchmark:generate_command", "Make a benchmark: roles and questions of each kind"),
        "check": Lazy("benchmark:check_command", "Find faults in a benchmark and measure its quality"),
    },
    "Use case": {
        "assess": Lazy("usecase:assess_command", "Assess your own use of a model with the metrics that apply"),
        "counterfactual": Lazy(
            "usecase:counterfactual_command", "Make counterfactual prompts by swapping the words for groups"
        ),
    },
    "Probe": {"probe": Lazy(":probe_group", "Measure the bias of open weights with soft prompts")},
}

IMPORT_SECTIONS = {
    "Commands": {
        "published": Lazy(
            "exchange:published_command", "Import the published study's data release: one run file per model"
        ),
        "inspect": Lazy("exchange:inspect_command", "Make a run of logs of Inspect"),
        "hf": Lazy("exchange:hf_command", "Make a benchmark folder of a dataset repository"),
        "lm-eval": Lazy("exchange:lm_eval_command", "Make a run of samples that lm-evaluation-harness logged"),
    }
}

PROBE_SECTIONS = {
    "Commands": {
        "selftest": Lazy("probe:selftest_command", "Plant a bias in a toy model and find it"),
        "tune": Lazy("probe:tune_command", "Tune soft prompts and classify identity sentences"),
        "gaps": Lazy("probe:gaps_command", "Measure how groups differ in false positives"),
        "report": Lazy("probe:report_command", "Write figures and tables that compare models"),
    }
}


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
)
@click.version_option(__version__, prog_name="biaslens")
def app() -> None:
    """Measure the social bias of language models when they play a role.

    Exit codes: 0 done; 1 it cannot be done, and one line says why; 2 wrong usage; 3 incomplete; 130 Ctrl-C.
    """


@click.group("import", cls=LazyGroup, sections=IMPORT_SECTIONS)
def import_group() -> None:
    """Import answers that others have collected."""


@click.group("probe", cls=LazyGroup, sections=PROBE_SECTIONS)
def probe_group() -> None:
    """Measure the bias of open weights with soft prompts."""


def main() -> None:
    """Run the command line; what it cannot do, or cannot say, becomes one line on stderr and exit code 1."""
    # Nobody may be listening to progress any more; that ends no run.
    with redirect_stderr(cast(TextIO, Unfailing(sys.stderr))):
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A file's name may hold bytes that are no text; it is shown with them escaped.
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            try:
                app(prog_name="biaslens")
            finally:
                sys.stdout.flush()
                # What was imported is not looked through for garbage at the end: half of what ending takes.
                gc.freeze()
        except BiasLensError as error:
            click.echo(f"biaslens: {error}", err=True)
        except BrokenPipeError:  # whoever read it has seen enough
            _silence()
        except OSError as error:
            _silence()
            place = "standard output" if error.filename is None else os.fsdecode(error.filename)
            click.echo(f"biaslens: {place}: {error.strerror or error}; free some space or name another", err=True)
        sys.exit(1)


def _silence() -> None:
    """Let nothing be written to standard output any more, not even at the end of the process."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
