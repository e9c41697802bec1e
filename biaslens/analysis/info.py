"""What a run file says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from biaslens.models.weights import EMBEDDED_SHA256


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a run file says about itself; "" and None where it does not.

    Parameters
    ----------
    path
        The run file.
    model
        The model as the user named it.
    benchmark_version, benchmark_hash, template_hash, package_version
        What was asked, in which words, by which version of biaslens.
    trials
        Trials a question.
    judges, votes
        Judges of the why answers, and votes of each of them an answer.
    embedded
        Whether the answers are the small embedded model's.
    meta
        All that was recorded.
    """

    path: Path
    model: str
    benchmark_version: str
    benchmark_hash: str
    template_hash: str
    package_version: str
    trials: int | None
    judges: tuple[str, ...]
    votes: int | None
    embedded: bool
    meta: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path, meta: Mapping[str, Any]) -> Self:
        """Take the facts from what a run file recorded."""

        def text(name: str) -> str:
            return str(meta.get(name) or "")

        return cls(
            path=path,
            model=text("model"),
            benchmark_version=text("benchmark_version"),
            benchmark_hash=text("benchmark_hash"),
            template_hash=text("template_hash"),
            package_version=text("package_version"),
            trials=meta.get("trials"),
            judges=tuple(meta.get("judges") or ()),
            votes=meta.get("votes"),
            embedded=meta.get("weights") == EMBEDDED_SHA256,
            meta=meta,
        )
