"""Time and memory of a run as a log of Inspect and back, and of lm-eval samples as a run.

    python scripts/bench/bridges.py [ANSWERS]

Each step runs in a process of its own, so that its memory is its own. The answers are made up; the questions are the
shipped ones. 200,000 answers unless told.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from biaslens.benchmark import shipped
from biaslens.bridges.collected import AnswerSource, Collected, save_collected
from biaslens.bridges.inspect_export import export_inspect
from biaslens.bridges.inspect_import import import_inspect
from biaslens.bridges.lm_eval import documents, import_lm_eval
from biaslens.schema import Condition, Kind

_TEXTS = {
    Kind.YES_NO: "No.",
    Kind.CHOICE: "(C)",
    Kind.WHY: "They are not; people differ, and the question takes for granted what nobody has shown. " * 5,
}
_MODEL = "made/up"


def _make(folder: Path, answers: int) -> None:
    benchmark = shipped()
    collected = (
        Collected(question=question, condition=condition, trial=trial, text=_TEXTS[question.kind], finish_reason="stop")
        for condition in (Condition.ROLE, Condition.NO_ROLE)
        for question in benchmark.questions
        for trial in range(1, 5)
    )
    source = AnswerSource(
        program="made up",
        model=_MODEL,
        benchmark_version=benchmark.version,
        benchmark_hash=benchmark.hash,
        template_hash="made up",
    )
    save_collected(folder / "run.sqlite", source, islice(collected, answers), [])


def _samples(folder: Path, answers: int) -> None:
    trials = -(-answers // len(shipped().questions))
    with (folder / "samples.jsonl").open("w", encoding="utf-8") as file:
        for doc in documents(trials=trials)[:answers]:
            sent = {"temperature": 1.0, "max_gen_toks": 512}
            arguments = {"gen_args_0": {"arg_0": doc["system"] + doc["prompt"], "arg_1": sent}}
            text = _TEXTS[Kind(doc["kind"])]
            file.write(json.dumps({"doc": doc, "arguments": arguments, "resps": [[text]]}) + "\n")


_STEPS = {
    "a run": _make,
    "samples of lm-eval": _samples,
    "run to logs of Inspect": lambda folder, _: export_inspect(folder / "run.sqlite", folder / "run.eval"),
    "logs of Inspect to run": lambda folder, _: import_inspect(sorted(folder.glob("*.eval")), folder / "back.sqlite"),
    "samples of lm-eval to run": lambda folder, _: import_lm_eval(
        [folder / "samples.jsonl"], folder / "lm.sqlite", model=_MODEL
    ),
}


def main() -> None:
    """Time each step once, in its own process."""
    if len(sys.argv) == 4:
        step, folder, answers = sys.argv[1:]
        begun = time.perf_counter()
        _STEPS[step](Path(folder), int(answers))
        seconds, of_cpu = time.perf_counter() - begun, time.process_time()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{step:28}{seconds:9.1f} s{of_cpu:9.1f} s CPU{peak:9} MB", flush=True)
        return
    answers = sys.argv[1] if len(sys.argv) > 1 else "200000"
    with tempfile.TemporaryDirectory() as folder:
        for step in _STEPS:
            subprocess.run([sys.executable, __file__, step, folder, answers], check=True)
        for path in sorted(Path(folder).iterdir()):
            print(f"{path.name:28}{path.stat().st_size / 1e6:9.1f} MB")


if __name__ == "__main__":
    main()
