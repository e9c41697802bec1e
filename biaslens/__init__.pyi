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
from biaslens.engine import Batching, Exchange, Observer, Pace, RetryPolicy
from biaslens.errors import BiasLensError
from biaslens.evaluation import (
    Evaluation,
    Judged,
    Panel,
    Slice,
    Spec,
    Task,
    decide,
    default_run,
    evaluate,
    evaluate_async,
)
from biaslens.evaluation.estimate import Load, estimate
from biaslens.evaluation.judge import judge, judge_async
from biaslens.evaluation.study import read_study
from biaslens.models import ChatModel, Completion, Message, Params, open_model
from biaslens.report import print_table
from biaslens.report.export import export
from biaslens.report.leaderboard import leaderboard
from biaslens.schema import Attribute, Condition, Kind, Outcome, Question, Role, Verdict, Vote
from biaslens.settings import Settings, load_settings
from biaslens.stats import Estimate, clustered_rate
from biaslens.version import __version__ as __version__

__all__ = [
    "Attribute",
    "Batching",
    "Benchmark",
    "BiasLensError",
    "ChatModel",
    "Comparison",
    "Completion",
    "Condition",
    "Estimate",
    "Evaluation",
    "Exchange",
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
