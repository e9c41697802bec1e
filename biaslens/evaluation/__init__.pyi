"""The role-play run: questions x conditions x trials asked of one model, decided, resumable."""

from biaslens.evaluation.judge import Judged, judge, judge_async
from biaslens.evaluation.run import Evaluation, decide, evaluate, evaluate_async, evaluate_study, evaluate_study_async
from biaslens.evaluation.spec import Panel, Slice, Spec, Task, default_run

__all__ = [
    "Evaluation",
    "Judged",
    "Panel",
    "Slice",
    "Spec",
    "Task",
    "decide",
    "default_run",
    "evaluate",
    "evaluate_async",
    "evaluate_study",
    "evaluate_study_async",
    "judge",
    "judge_async",
]
