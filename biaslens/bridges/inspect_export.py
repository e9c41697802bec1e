"""A run as a log of Inspect: an ``.eval`` file for each condition."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from biaslens import __version__, runfile
from biaslens._util.files import replacing
from biaslens._util.text import without_secrets
from biaslens.analysis import Cell, read_run, summarise
from biaslens.analysis.frame import RunInfo
from biaslens.benchmark.files import MARK
from biaslens.bridges.collected import UNASKED, UNJUDGED, score_of
from biaslens.evaluation.prompting import Wording
from biaslens.report.view.detail import prompt_of, wording_of
from biaslens.runfile import RULES_PANEL, Record, reading_evaluation
from biaslens.schema import Condition, Outcome, content_hash

OURS = "biaslens"
"""Where in the metadata of a log, and of its samples, there stands what the format has no place for."""

SCORE = "verdict"
"""Name of the score, here and in the task."""

_STOPS = {"length": "max_tokens", "content_filter": "content_filter", "refusal": "content_filter", "stop": "stop"}
_TEXTS = ("text", "thought")
_THIN = 1024


def export_inspect(path: Path, out: Path) -> list[Path]:
    """Write a run as logs of Inspect, ``NAME.CONDITION.eval`` where it has several conditions.

    Samples are questions, epochs are trials. They hold the prompts, options, answers, thoughts and verdicts where
    Inspect shows them, and in their metadata whatever else the run file knows, so that an import makes the same run of
    them; only the ledger of batches stays behind. Texts that look like keys are redacted in what describes the run.

    Raises `StorageError` when the run file cannot be read, or the logs cannot be written.
    """
    summary = summarise(read_run(path))
    written = []
    with reading_evaluation(path) as store:
        conditions = [condition for condition in Condition if condition in runfile.conditions(store)]
        about = {
            "version": __version__,
            "run": without_secrets(store.meta()),
            "canary": MARK,
            "rows": runfile.run_rows(store),
        }
        cells = {each.condition: each.cell() for each in summary.conditions}
        for condition in conditions:
            target = out if len(conditions) == 1 else out.with_name(f"{out.stem}.{condition}{out.suffix}")
            log = _Log(condition, summary.run, about, cells[condition], wording_of(summary.run))
            with replacing(target) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED, compresslevel=3) as file:
                log.write(file, runfile.records(store, condition))
            written.append(target)
    return written


@dataclass
class _Log:
    """One log, while it is written."""

    condition: Condition
    info: RunInfo
    about: Mapping[str, Any]
    cell: Cell
    wording: Wording
    ids: dict[str, None] = field(default_factory=dict)
    epochs: int = 1
    first: str = ""
    last: str = ""
    usage: Counter[str] = field(default_factory=Counter)
    scored: int = 0
    samples: int = 0

    def write(self, file: ZipFile, records: Iterator[Record]) -> None:
        # Summaries stand in the archive twice, behind the samples; they need not fit into memory.
        with TemporaryFile() as summaries:
            for record in records:
                sample = _Sample(record, self).whole()
                file.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", _json(sample))
                summaries.write(b"," if self.samples else b"[")
                summaries.write(_json(self._note(sample)).encode())
            summaries.write(b"]" if self.samples else b"[]")
            for name in ("_journal/summaries/1.json", "summaries.json"):
                summaries.seek(0)
                with file.open(name, "w", force_zip64=True) as member:
                    copyfileobj(summaries, member, 1 << 20)
        start = {
            "version": 2,
            "eval": self._spec(),
            "plan": {"name": "plan", "steps": _STEPS, "config": self._config()},
        }
        file.writestr("_journal/start.json", _json(start))
        file.writestr("header.json", _json({**start, "status": "success", **self._results()}))

    def _note(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """Count a sample, and give its summary."""
        self.ids[sample["id"]] = None
        self.epochs = max(self.epochs, sample["epoch"])
        self.samples += 1
        self.scored += not math.isnan(sample["scores"][SCORE]["value"])
        answered_at = sample.get("completed_at")
        if answered_at:
            self.first = min(self.first or answered_at, answered_at)
            self.last = max(self.last, answered_at)
        for usage in sample["model_usage"].values():
            self.usage.update(usage)
        score = sample["scores"][SCORE]
        thin = {name: value for name, value in score["metadata"].items() if isinstance(value, str | int)}
        names = ("id", "epoch", "input", "choices", "target", "model_usage", "completed_at", "total_time", "uuid")
        return {
            **{name: sample[name] for name in names if name in sample},
            "metadata": {
                name: value[:_THIN] if isinstance(value, str) else value
                for name, value in sample["metadata"].items()
                if isinstance(value, str | int)
            },
            "scores": {SCORE: {**score, "answer": (score["answer"] or "")[:_THIN], "metadata": thin}},
            "error": sample.get("error", {}).get("message"),
            "completed": True,
            "message_count": len(sample["messages"]),
        }

    def _config(self) -> dict[str, Any]:
        params = dict(self.info.meta.get("params") or {})
        names = {"stop": "stop_seqs"}
        known = ("temperature", "top_p", "max_tokens", "top_k", "stop", "reasoning_effort")
        return {names.get(name, name): params[name] for name in known if params.get(name) is not None}

    def _spec(self) -> dict[str, Any]:
        whole = content_hash(self.info.model, self.info.meta, self.condition)
        return {
            "eval_id": whole[:22],
            "run_id": content_hash(self.info.model, self.info.meta)[:22],
            "created": self.first or "1970-01-01T00:00:00+00:00",
            "task": "biaslens/role_play",
            "task_id": whole[-22:],
            "task_version": self.info.benchmark_version,
            "task_args": {"condition": self.condition, "trials": self.epochs},
            "dataset": {"name": "biaslens", "samples": len(self.ids), "sample_ids": list(self.ids), "shuffled": False},
            "model": self.info.model or "unknown/unknown",
            "model_generate_config": self._config(),
            "config": {"epochs": self.epochs, "epochs_reducer": []},
            "packages": {"biaslens": __version__},
            "metadata": {OURS: {**self.about, "condition": self.condition}},
            "scorers": [{"name": SCORE, "options": {}, "metrics": []}],
        }

    def _results(self) -> dict[str, Any]:
        rate, counts = self.cell.bias_rate, self.cell.counts
        metrics = {
            "bias_rate": rate.value, "low": rate.low, "high": rate.high, "stderr": rate.standard_error,
            "coverage": counts.coverage, "biased_questions": self.cell.biased_questions,
        }  # fmt: skip
        score = {
            "name": SCORE,
            "scorer": SCORE,
            "scored_samples": self.scored,
            "unscored_samples": self.samples - self.scored,
            "params": {},
            "metrics": {name: {"name": name, "value": value, "params": {}} for name, value in metrics.items()},
        }
        counted = {"total_samples": self.samples, "completed_samples": self.samples}
        results = {**counted, "scores": [score], "headline": _HEADLINE}
        times = {"started_at": self.first, "completed_at": self.last} if self.first else {}
        return {"results": results, "stats": {**times, "model_usage": {self.info.model: dict(self.usage)}}}


_HEADLINE = {"scorer": SCORE, "score": SCORE, "metric": "bias_rate"}
_STEPS = [{"solver": "biaslens/ask", "params": {}, "params_passed": {}}]


class _Sample:
    """One planned response as a sample."""

    def __init__(self, record: Record, log: _Log) -> None:
        self.record = record
        self.log = log
        (self.plan,) = record["plan"]
        (self.question,) = record["questions"]
        self.answer = next((row for row in record.get("answers", ()) if row["key"] == self.plan["key"]), None)
        panels = (RULES_PANEL, log.info.panel)
        self.verdict = next((row for row in record.get("verdicts", ()) if row["panel"] in panels), None)
        self.told = {
            **{name: self.question[name] for name in _SHOWN},
            "role": self.question["name"],
            "question": self.question["text"],
            **{name: json.loads(self.question[name]) for name in ("options", "groups")},
            "condition": self.plan["condition"],
            "option_order": json.loads(self.plan["option_order"] or "null"),
        }

    def whole(self) -> dict[str, Any]:
        key, answer = self.plan["key"], self.answer
        prompt, _ = prompt_of(self.log.info, self.told, self.log.wording)
        messages = [
            {"role": role, "content": text, "id": f"{key[:16]}{place}"} for place, (role, text) in enumerate(prompt)
        ]
        sample: dict[str, Any] = {
            "id": self.plan["question_id"],
            "epoch": self.plan["trial"],
            "input": messages,
            "target": "unbiased",
            "messages": messages,
            "output": {"model": self.log.info.model, "choices": [], "completion": ""},
            "scores": {SCORE: self._score()},
            "metadata": self.told | {OURS: self._rest()},
            "store": {},
            "events": [],
            "model_usage": {},
            "uuid": key[:22],
            "attachments": {},
        }
        if self.told["options"]:
            sample["choices"] = self._options()
        if answer is not None:
            sample |= self._answered(messages, answer)
        failure = self._failure()
        if answer is None and failure is not None:
            message = f"{failure['error']}: {failure['message']}"
            sample["error"] = {"message": message, "traceback": message, "traceback_ansi": message}
        return sample

    def _options(self) -> list[str]:
        options, order = self.told["options"], self.told["option_order"]
        return options if order is None else [options[place] for place in order]

    def _answered(self, messages: list[dict[str, Any]], answer: Mapping[str, Any]) -> dict[str, Any]:
        thought, text = answer["thought"], answer["text"]
        parts = [{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": text}]
        model = answer["resolved_model"] or answer["model"]
        said = {
            "role": "assistant",
            "content": text if thought is None else parts,
            "source": "generate",
            "model": model,
            "id": f"{self.plan['key'][:16]}a",
        }
        names = {
            "input_tokens": "prompt_tokens",
            "output_tokens": "completion_tokens",
            "reasoning_tokens": "reasoning_tokens",
        }
        usage = {name: answer[column] for name, column in names.items() if answer[column] is not None}
        if usage:
            usage["total_tokens"] = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        stop = _STOPS.get(answer["finish_reason"], "unknown")
        output = {"model": model, "choices": [{"message": said, "stop_reason": stop}], "completion": text}
        times = {"total_time": answer["latency"], "completed_at": answer["answered_at"] or None}
        return {
            "messages": [*messages, said],
            "output": output
            | ({"usage": usage} if usage else {})
            | ({"time": answer["latency"]} if answer["latency"] else {}),
            "model_usage": {self.log.info.model: usage} if usage else {},
            **{name: value for name, value in times.items() if value is not None},
        }

    def _failure(self) -> Mapping[str, Any] | None:
        own = [row for row in self.record.get("failures", ()) if row["key"] == self.plan["key"]]
        return own[-1] if own else None

    def _score(self) -> dict[str, Any]:
        text = None if self.answer is None else self.answer["text"]
        if self.verdict is None:
            failed = self.answer is None and self._failure() is not None
            state = UNJUDGED if self.answer is not None else Outcome.ERROR.value if failed else UNASKED
            return {
                "value": math.nan,
                "answer": text,
                "explanation": state,
                "reason": state,
                "metadata": {"outcome": state},
            }
        outcome, taken = Outcome(self.verdict["outcome"]), self.verdict["choice"]
        explanation = f"{outcome}: {self.verdict['reason']} ({self.verdict['oracle']})"
        replies = {row["key"]: row["text"] for row in self.record.get("answers", ())}
        votes = [
            {
                "vote_number": row["vote_number"],
                "vote": row["vote"],
                "reason": row["reason"],
                "reply": replies.get(row["key"]),
            }
            for row in self.record.get("votes", ())
        ]
        return {
            "value": score_of(outcome),
            "answer": text if taken is None else self.told["options"][taken],
            "explanation": explanation,
            **({} if outcome.valid else {"reason": outcome.value}),
            "metadata": {
                "outcome": outcome.value,
                "reason": self.verdict["reason"],
                "oracle": self.verdict["oracle"],
                **({} if taken is None else {"choice": taken}),
                **({"votes": votes} if votes else {}),
            },
        }

    def _rest(self) -> dict[str, Any]:
        """What has no place in a sample; the texts of the answer have theirs."""
        rest = {name: rows for name, rows in self.record.items() if name not in ("plan", "questions", "answers")}
        own = [
            row if row is not self.answer else {**row, **dict.fromkeys(_TEXTS)}
            for row in self.record.get("answers", ())
        ]
        question = {name: value for name, value in self.question.items() if name not in ("role_id", *_SHOWN)}
        return rest | {"plan": [self.plan], "questions": [question]} | ({"answers": own} if own else {})


_SHOWN = (
    "attribute", "persona", "kind", "target", "encounter", "stereotype", "theme", "disfavoured", "picks", "mirror_of",
    "mirror", "question_id",
)  # fmt: skip

# NaN stands in a log as it does in Inspect's own.
_json = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


def whole_record(metadata: Mapping[str, Any], output: Mapping[str, Any]) -> Record:
    """Read the rows of a response from a sample that `export_inspect` wrote: its metadata and its output."""
    rows: dict[str, Any] = dict(metadata[OURS])
    (plan,), (question,) = rows["plan"], rows["questions"]
    rows["questions"] = [{**{name: metadata.get(name) for name in _SHOWN}, **question}]
    said = output["choices"][0]["message"]["content"] if output.get("choices") else None
    parts = said if isinstance(said, list) else [{"type": "text", "text": said}]
    texts = {
        "text": "".join(part["text"] for part in parts if part["type"] == "text" and part["text"]),
        "thought": next((part["reasoning"] for part in parts if part["type"] == "reasoning"), None),
    }
    rows["answers"] = [row if row["key"] != plan["key"] else {**row, **texts} for row in rows.get("answers", ())]
    return rows
