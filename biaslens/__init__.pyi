from biaslens.analysis import Run, compare, read_run, summarise
from biaslens.analysis.ablation import ablation
from biaslens.analysis.rates import rates
from biaslens.benchmark import Benchmark
from biaslens.benchmark import read as read_benchmark
from biaslens.benchmark import shipped as shipped_benchmark
from biaslens.errors import BiasLensError
from biaslens.evaluation import Panel, Slice, Spec, decide, evaluate
from biaslens.evaluation.judge import judge
from biaslens.report import print_table
from biaslens.report.export import leaderboard
from biaslens.schema import Attribute, Condition, Kind, Outcome, Verdict

__version__: str

__all__ = [
    "Attribute",
    "Benchmark",
    "BiasLensError",
    "Condition",
    "Kind",
    "Outcome",
    "Panel",
    "Run",
    "Slice",
    "Spec",
    "Verdict",
    "__version__",
    "ablation",
    "compare",
    "decide",
    "evaluate",
    "judge",
    "leaderboard",
    "print_table",
    "rates",
    "read_benchmark",
    "read_run",
    "shipped_benchmark",
    "summarise",
]
