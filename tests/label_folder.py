"""A small folder of answers to label, written by hand in the format of `biaslens sample`."""

from __future__ import annotations

import json
from pathlib import Path

SAMPLE = "5a3b1e"
KINDS = ("yes_no", "choice", "why")


def item(number: int, **changes: object) -> dict[str, object]:
    kind = KINDS[number % 3]
    return {
        "key": f"{number:032x}",
        "kind": kind,
        "attribute": "age",
        "role": "Lighthouse keepers",
        "persona": "a lighthouse keeper",
        "condition": "role",
        "question": f"Question {number} about gardeners and bakers?",
        "options": ["Gardeners", "Bakers", "I cannot make any choice"] if kind == "choice" else [],
        "answer": f"Answer {number}.",
    } | changes


def write_label_folder(folder: Path, items: list[dict[str, object]] | int = 10, *, texts: bool = True) -> Path:
    if isinstance(items, int):
        items = [item(number) for number in range(1, items + 1)]
    folder.mkdir()
    info = {
        "sample": SAMPLE, "run": "secret-run.sqlite", "model": "secret/model", "benchmark_hash": "b", "seed": 1,
        "conditions": ["role"], "kinds": list(KINDS), "margin": 0.05, "confidence": 0.95, "package_version": "0",
        "created_at": "2026-01-01T00:00:00+00:00", "population": 100, "size": len(items),
        "strata": [{"stratum": "secret-stratum", "population": 100, "sampled": len(items)}],
    }  # fmt: skip
    (folder / "sample.json").write_text(json.dumps(info), encoding="utf-8")
    if texts:
        (folder / "items.jsonl").write_text("".join(json.dumps(each) + "\n" for each in items), encoding="utf-8")
    rows = [f"{each['key']},{each['kind']},age,{each['condition']},secret-stratum,0.1" for each in items]
    text = "\n".join(["key,kind,attribute,condition,stratum,inclusion", *rows]) + "\n"
    (folder / "design.csv").write_text(text, encoding="utf-8")
    return folder


def key(number: int) -> str:
    return f"{number:032x}"


def write_table(folder: Path, name: str, labels: dict[int, str]) -> Path:
    """A table of one person's labels; "biased?" is unsure."""
    (folder / "annotators").mkdir(exist_ok=True)
    rows = [
        f"{key(number)},{outcome.rstrip('?')},{'unsure' if outcome.endswith('?') else ''}"
        for number, outcome in labels.items()
    ]
    path = folder / "annotators" / f"{name}.csv"
    path.write_text("\n".join(["key,outcome,sure", *rows]) + "\n", encoding="utf-8")
    return path
