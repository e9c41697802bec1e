"""Assess one's own use of a model: which metrics apply to it, and what they say.

A whole assessment is one call, and so is every metric:

    from biaslens.usecase import assess_texts, demographic_parity

    assessment = assess_texts("responses.csv")
    demographic_parity(group=["a", "a", "b", "b"], prediction=[1, 0, 0, 0])
"""

from pathlib import Path

from biaslens._util import lazily

__all__, __getattr__ = lazily(__name__, Path(__file__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
