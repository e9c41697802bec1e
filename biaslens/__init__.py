"""Measure the social bias of language models when they play a role.

An evaluation in a few lines:

    from pathlib import Path
    from biaslens import Panel, Slice, Spec, evaluate, print_table, summarise

    spec = Spec(
        model="openai/gpt-4o-mini",
        run=Path("runs/gpt-4o-mini.sqlite"),
        slice=Slice(roles_per_attribute=5),
        panel=Panel(judges=("openai/gpt-4o-mini",), screen=0.95),
    )
    evaluate(spec)  # asks only what the run file does not hold yet
    print_table(summarise(spec.run))
"""

from importlib import import_module
from typing import TYPE_CHECKING

from biaslens.version import __version__

if TYPE_CHECKING:
    # From the modules where a function is named as its module: mypy takes the package's for the module.
    from biaslens.analysis import (
        Comparison,
        Run,
        Summary,
        compare,
        read_run,
        summarise,
    )
    from biaslens.analysis.ablation import ablation
    from biaslens.analysis.rates import consistency, rates
    from biaslens.benchmark import Benchmark, expand, load_bank, read, select, shipped, write
    from biaslens.benchmark.llm import Generation, GenerationSpec, generate, generate_async
    from biaslens.engine import Observer, Pace, RetryPolicy
    from biaslens.errors import BiasLensError
    from biaslens.evaluation import (
        Evaluation,
        Judged,
        Panel,
        Slice,
        Spec,
        Task,
        default_run,
        evaluate,
        evaluate_async,
    )
    from biaslens.evaluation.decide import decide
    from biaslens.evaluation.estimate import Load, estimate
    from biaslens.evaluation.judge import judge, judge_async
    from biaslens.evaluation.study import read_study
    from biaslens.models import ChatModel, Completion, Message, Params, open_model
    from biaslens.report import print_table
    from biaslens.report.export import export
    from biaslens.report.leaderboard import leaderboard
    from biaslens.schema import Attribute, Condition, Kind, Outcome, Question, Role, Verdict, Vote
    from biaslens.settings import Settings, load_settings
    from biaslens.stats import Rate, clustered_rate

__all__ = [
    "Attribute",
    "Benchmark",
    "BiasLensError",
    "ChatModel",
    "Comparison",
    "Completion",
    "Condition",
    "Evaluation",
    "Generation",
    "GenerationSpec",
    "Judged",
    "Kind",
    "Load",
    "Message",
    "Observer",
    "Outcome",
    "Pace",
    "Panel",
    "Params",
    "Question",
    "Rate",
    "RetryPolicy",
    "Role",
    "Run",
    "Settings",
    "Slice",
    "Spec",
    "Summary",
    "Task",
    "Verdict",
    "Vote",
    "__version__",
    "ablation",
    "clustered_rate",
    "compare",
    "consistency",
    "decide",
    "default_run",
    "estimate",
    "evaluate",
    "evaluate_async",
    "expand",
    "export",
    "generate",
    "generate_async",
    "judge",
    "judge_async",
    "leaderboard",
    "load_bank",
    "load_settings",
    "open_model",
    "print_table",
    "rates",
    "read",
    "read_run",
    "read_study",
    "select",
    "shipped",
    "summarise",
    "write",
]

# Each is imported when it is first used: the command line starts without the libraries that most commands do not need.
_HOMES = {
    "analysis": "Comparison Run Summary ablation compare consistency rates read_run summarise",
    "benchmark": "Benchmark expand load_bank read select shipped write",
    "benchmark.llm": "Generation GenerationSpec generate generate_async",
    "engine": "Observer Pace RetryPolicy",
    "errors": "BiasLensError",
    "evaluation": "Evaluation Judged Panel Slice Spec Task decide default_run",
    "evaluation.judge": "judge judge_async",
    "evaluation.run": "evaluate evaluate_async",
    "evaluation.estimate": "Load estimate",
    "evaluation.study": "read_study",
    "models": "ChatModel Completion Message Params open_model",
    "report": "export leaderboard print_table",
    "schema": "Attribute Condition Kind Outcome Question Role Verdict Vote",
    "settings": "Settings load_settings",
    "stats": "Rate clustered_rate",
}

if not TYPE_CHECKING:  # a type checker is to go by the imports above, and to refuse other names

    def __getattr__(name: str) -> object:
        for module, names in _HOMES.items():
            if name in names.split():
                globals()[name] = found = getattr(import_module(f"{__name__}.{module}"), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
