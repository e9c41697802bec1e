"""The report for a program."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from biaslens.benchmark.quality.coverage import Coverage
from biaslens.benchmark.quality.measure import Quality
from biaslens.embedding import HOW_TO_INSTALL, MODEL


def as_record(quality: Quality) -> dict[str, Any]:
    """Give a report as JSON-able values, all faults included; what was not measured is null."""
    source, found = quality.source, quality.duplicates
    record = {
        "benchmark": source.name,
        "version": source.version,
        "roles": len(source.roles),
        "questions": len(source.questions),
        "counts": [
            {"attribute": attribute, "kind": kind, "questions": count}
            for (attribute, kind), count in quality.counts.items()
        ],
        "notes": source.notes,
        "faults_by_rule": {rule.value: count for rule, count in quality.by_rule.items()},
        "faults": [asdict(fault) for fault in quality.faults],
        "repeats": {"exact": len(found.exact), "loose": found.loose, "with_near_duplicate": found.near},
        "diversity": asdict(quality.diversity) | {"seed": quality.seed},
        "embeddings": _embeddings(quality),
        "estimated": _coverage(quality.estimated) | {"agreement_with_recorded": quality.agreement},
        "recorded": _coverage(quality.recorded) if quality.recorded else None,
        "leaks": [
            {"attribute": leak.role.attribute, "role": leak.role.name, "persona": leak.role.persona}
            | {"word": leak.word, "theme": leak.theme, "by_design": leak.by_design}
            for leak in quality.leaks
        ],
        "readability": {kind or "all": asdict(part) for kind, part in quality.readability.items()},
        "balance": asdict(quality.balance),
    }
    cleaned: dict[str, Any] = _without_nan(record)
    return cleaned


def _embeddings(quality: Quality) -> dict[str, Any]:
    if quality.spread is None:
        return {"model": MODEL, "similarity": None, "vendi": None, "not_measured": HOW_TO_INSTALL}
    return {"model": MODEL} | asdict(quality.spread)


def _coverage(found: Coverage) -> dict[str, Any]:
    return {
        "known": found.known,
        "targets": asdict(found.targets),
        "groups": asdict(found.pairs),
        "matrix": [
            {"role": role, "target": target, "questions": count} for (role, target), count in found.matrix.items()
        ],
    }


def _without_nan(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Replace NaN, which JSON has not, by null."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
