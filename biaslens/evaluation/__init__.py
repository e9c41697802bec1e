"""The role-play run: questions x conditions x trials asked of one model, decided, resumable."""

from biaslens.evaluation.decide import decide
from biaslens.evaluation.judge import Judged, judge, judge_async
from biaslens.evaluation.observer import Observer
from biaslens.evaluation.panel import Panel
from biaslens.evaluation.run import Evaluation, evaluate, evaluate_async
from biaslens.evaluation.spec import Slice, Spec, default_run

__all__ = [
    "Evaluation",
    "Judged",
    "Observer",
    "Panel",
    "Slice",
    "Spec",
    "decide",
    "default_run",
    "evaluate",
    "evaluate_async",
    "judge",
    "judge_async",
]
