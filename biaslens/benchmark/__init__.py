"""Make, read and slice a benchmark."""

from pathlib import Path

from biaslens._util import lazily

__all__, __getattr__ = lazily(__name__, Path(__file__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
