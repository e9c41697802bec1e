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

from biaslens.analysis import (
    Comparison,
    Run,
    Summary,
    ablation,
    compare,
    consistency,
    rates,
    read_run,
    summarise,
)
from biaslens.benchmark import Benchmark, expand, load_bank, read, select, shipped, write
from biaslens.benchmark.llm import Generation, GenerationSpec, generate, generate_async
from biaslens.engine import Pace, RetryPolicy
from biaslens.errors import BiasLensError
from biaslens.evaluation import (
    Evaluation,
    Judged,
    Observer,
    Panel,
    Slice,
    Spec,
    decide,
    default_run,
    evaluate,
    evaluate_async,
    judge,
    judge_async,
)
from biaslens.evaluation.estimate import Load, estimate
from biaslens.evaluation.study import Task, read_study
from biaslens.models import ChatModel, Completion, Message, Params, open_model
from biaslens.report import export, leaderboard, print_table
from biaslens.schema import Attribute, Condition, Kind, Outcome, Question, Role, Verdict, Vote
from biaslens.settings import Settings, load_settings
from biaslens.stats import Rate, clustered_rate
from biaslens.version import __version__

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
