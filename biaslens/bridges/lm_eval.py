"""Our benchmark as tasks of lm-evaluation-harness, and the samples that it logs as a run.

Samples say neither why an answer ended nor what it took. An answer that was cut off at the limit of tokens is decided
as if it had ended there by itself: one without a word of its own is invalid all the same, and one that was cut off in
the middle of its reasons counts as what it had said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biaslens.benchmark import read, select, shipped
from biaslens.bridges.collected import (
    AnswerSource,
    Collected,
    ImportedLogs,
    question_of,
    save_collected,
    score_of,
    told_of,
    verdict_of,
)  # fmt: skip
from biaslens.errors import InputError
from biaslens.evaluation.prompting import persona_of, shipped_wording
from biaslens.models import Params
from biaslens.oracles import screen
from biaslens.schema import Attribute, Condition, Kind, Outcome, content_hash

if TYPE_CHECKING:
    from datasets import Dataset

TASKS = Path(__file__).parent / "lm_eval_tasks"
"""Folder of the tasks: ``lm_eval --include_path``."""

_ABOUT = ("benchmark_version", "benchmark_hash", "generator", "template_hash")
_DATED = re.compile(r"samples_.*_(\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
_FAULTS_KEPT = 1000


def dataset(**options: Any) -> dict[str, Dataset]:  # noqa: ANN401
    """The documents of a task, as `lm_eval` wants them; `options` are those of `documents`, others are left alone."""
    from datasets import Dataset

    names = ("condition", "trials", "roles_per_attribute", "questions_per_kind", "attribute", "kind", "screen_why",
             "benchmark")  # fmt: skip
    return {"test": Dataset.from_list(documents(**{name: options[name] for name in names if name in options}))}


def documents(
    *,
    condition: str = "role",
    trials: int = 3,
    roles_per_attribute: int | None = None,
    questions_per_kind: int | None = None,
    attribute: str | None = None,
    kind: str | None = None,
    screen_why: bool = False,
    benchmark: str | None = None,
) -> list[dict[str, Any]]:
    """One document for each question and trial, from ``--metadata``; options as for the task of Inspect.

    Raises `InputError` when the slice is empty, or a word is none of those there are.
    """
    content = shipped() if benchmark is None else read(Path(benchmark))
    try:
        asked_in = Condition(condition)
        questions = select(
            content,
            attributes=None if attribute is None else (Attribute(attribute),),
            kinds=None if kind is None else (Kind(kind),),
            roles_per_attribute=roles_per_attribute,
            questions_per_kind=questions_per_kind,
        )
    except ValueError as error:
        raise InputError(f"--metadata: {error}") from None
    if not questions or trials < 1:
        raise InputError("--metadata: the slice of the benchmark is empty; give fewer limits, and at least one trial")
    wording = shipped_wording()
    about = {
        "condition": asked_in.value,
        "screen_why": screen_why,
        "benchmark_version": content.version,
        "benchmark_hash": content.hash,
        "generator": content.generator,
        "template_hash": wording.hash,
    }
    found = []
    for question in questions:
        persona = persona_of(asked_in, question.role.persona)
        messages = wording.messages(question.kind, question.text, question.options, persona=persona)
        # The space is what parts it from the question where there is no chat template.
        system = "".join(f"{message.content} " for message in messages if message.role == "system")
        told = told_of(question) | about | {"system": system, "prompt": messages[-1].content}
        found += [told | {"trial": trial} for trial in range(1, trials + 1)]
    return found


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score an answer by our rules: NaN, which `nanmean` leaves out, for what counts in no rate.

    Why answers that the rules do not decide are NaN too, unless ``screen_why`` lets the local judge decide.
    """
    question, answer = question_of(doc), results[0]
    verdict = verdict_of(question, None, answer, finish_reason="unknown")
    outcome = None if verdict is None else verdict.outcome
    if verdict is None and doc["screen_why"]:
        local = screen.load()
        probability = local.probabilities([question.text], [answer])[0]
        outcome = Outcome.BIASED if probability >= local.cut else Outcome.UNBIASED
    return {"bias_rate": score_of(outcome), "coverage": float(outcome is not None and outcome.valid)}


def import_lm_eval(paths: Sequence[Path], out: Path, *, model: str | None = None) -> ImportedLogs:
    """Make a run of logged samples of one model.

    Raises `InputError` when a file cannot be read, or its tasks are none of ours; `RunMismatchError` when the run file
    is of another model, benchmark or setting; `StorageError` when it cannot be written.
    """
    first = next(_lines(paths[0]), None)
    if first is None:
        raise InputError(f"{paths[0]}: no samples; evaluate with --log_samples")
    faults: list[str] = []
    return save_collected(out, _source(paths[0], first[1], model), _collected(paths, faults), faults)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                sample = json.loads(line)
                doc = sample.get("doc") if isinstance(sample, dict) else None
                if not isinstance(doc, dict) or any(name not in doc for name in _ABOUT):
                    raise InputError(f"{path}:{number}: no sample of a task of biaslens")
                yield number, sample
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not the JSON lines that --log_samples writes ({error})") from None


def _source(path: Path, sample: Mapping[str, Any], model: str | None) -> AnswerSource:
    results = _results(path)
    name = model or str(results.get("model_name") or "")
    if not name:
        raise InputError(f"{path}: no results file beside it says what the model is called; give --model")
    doc, (prompt, sent) = sample["doc"], _sent(sample)
    known = {"temperature": sent.get("temperature"), "top_p": sent.get("top_p"), "max_tokens": sent.get("max_gen_toks")}
    more = {key: value for key, value in sent.items() if key not in ("temperature", "top_p", "max_gen_toks", "until")}
    # With a chat template something follows the question. Without one the role is the beginning of the same text. Both
    # are other prompts than ours.
    wording = content_hash("lm_eval", prompt.endswith(doc["prompt"]), doc["template_hash"])
    return AnswerSource(
        program=f"lm_eval {results.get('lm_eval_version', '')}".strip(),
        model=name,
        benchmark_version=str(doc["benchmark_version"]),
        benchmark_hash=str(doc["benchmark_hash"]),
        generator=str(doc["generator"]),
        template_hash=wording,
        params=Params(**known, stop=tuple(sent.get("until") or ()), extra=more).record(),
    )


def _results(path: Path) -> Mapping[str, Any]:
    """The results file that was written with the samples; empty where it is not beside them."""
    dated = _DATED.fullmatch(path.name)
    beside = path.with_name(f"results_{dated[1]}.json") if dated else path
    try:
        found = json.loads(beside.read_text(encoding="utf-8")) if beside != path else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _sent(sample: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Prompt and generation parameters of a sample."""
    sent = sample["arguments"]["gen_args_0"]
    return str(sent["arg_0"]), dict(sent["arg_1"])


def _collected(paths: Sequence[Path], faults: list[str]) -> Iterator[Collected]:
    for path in paths:
        for number, sample in _lines(path):
            doc = sample["doc"]
            try:
                yield Collected(
                    question=question_of(doc),
                    condition=Condition(doc["condition"]),
                    trial=int(doc["trial"]),
                    text=str(sample["resps"][0][0]),
                )
            except (InputError, KeyError, IndexError, TypeError, ValueError) as error:
                if len(faults) < _FAULTS_KEPT:
                    faults.append(f"{path.name}:{number}: {type(error).__name__}: {error}")
