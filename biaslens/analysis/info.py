"""What a run file says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from biaslens._util.text import without_secrets
from biaslens.evaluation.tables import PANEL_IN_FORCE
from biaslens.models.weights import EMBEDDED_SHA256

_TYPES: Mapping[str, type] = {
    "model": str,
    "panel": str,
    "benchmark_version": str,
    "benchmark_hash": str,
    "template_hash": str,
    "package_version": str,
    "trials": int,
    "conditions": list,
    "starts": list,
    "params": dict,
}


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
    panel
        Name of the panel whose verdicts on why answers count.
    judges, votes, sure
        Its judges, votes of each of them an answer, and how sure the local judge must be to decide without them.
    panels
        All panels that have judged the run, by name, with what they recorded.
    embedded
        Whether the answers are the small embedded model's.
    labelled
        Whether the run holds labels by people.
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
    panel: str
    judges: tuple[str, ...]
    votes: int | None
    sure: float | None
    panels: Mapping[str, Mapping[str, Any]]
    embedded: bool
    labelled: bool
    meta: Mapping[str, Any]

    @classmethod
    def of(
        cls, path: Path, meta: Mapping[str, Any], panels: Mapping[str, Mapping[str, Any]], *, labelled: bool = False
    ) -> Self:
        """Take the facts from what a run file recorded."""
        for name, kind in _TYPES.items():
            if not isinstance(meta.get(name), kind | None):
                raise TypeError(f"meta {name} = {str(meta[name])[:80]}")
        for name, of in (("starts", dict), ("conditions", str)):
            if not all(isinstance(each, of) for each in meta.get(name) or ()):
                raise TypeError(f"meta {name} = {str(meta[name])[:80]}")
        panel = panels.get(meta.get(PANEL_IN_FORCE) or "", {})

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
            panel=text(PANEL_IN_FORCE),
            judges=tuple(panel.get("judges") or ()),
            votes=panel.get("votes"),
            sure=(panel.get("screen") or {}).get("sure"),
            panels=panels,
            embedded=meta.get("weights") == EMBEDDED_SHA256,
            labelled=labelled,
            meta={name: without_secrets(value) for name, value in meta.items()},
        )
