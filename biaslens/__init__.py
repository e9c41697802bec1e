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

from biaslens._util import lazily
from biaslens.version import __version__

# ``__init__.pyi`` has the same names for type checkers.
_HOMES = {
    "analysis": "Comparison Run Summary ablation compare consistency rates read_run summarise",
    "benchmark": "Benchmark expand load_bank read select shipped write",
    "benchmark.llm": "Generation GenerationSpec generate generate_async",
    "engine": "Exchange Observer Pace RetryPolicy",
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
    "stats": "Estimate clustered_rate",
}

__all__ = ["__version__", *sorted(" ".join(_HOMES.values()).split())]  # noqa: PLE0604
__getattr__ = lazily(__name__, {f"biaslens.{home}": names for home, names in _HOMES.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
