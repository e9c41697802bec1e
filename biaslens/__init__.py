"""Measure the social bias of language models when they play a role.

An evaluation in a few lines::

    from pathlib import Path
    from biaslens import Panel, Slice, Spec, evaluate, print_table, summarise

    spec = Spec(
        model="openai/gpt-6-luna",
        run=Path("runs/gpt-6-luna.sqlite"),
        slice=Slice(roles_per_attribute=5),
        panel=Panel(judges=("openai/gpt-6-luna",), screen=0.95),
    )
    evaluate(spec)  # asks only what the run file does not hold yet
    print_table(summarise(spec.run))
"""

from pathlib import Path

from biaslens._util import lazily

__version__ = "0.2.0"
"""Recorded with every run."""

__all__, __getattr__ = lazily(__name__, Path(__file__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
