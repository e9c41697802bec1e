"""A run in the form of Every Eval Ever: a record of what came out, and a file of single answers.

The form is that of its JSON schemas, version 0.3.0 (github.com/evaleval/every_eval_ever, eval.schema.json and
instance_level_eval.schema.json), and of its datastore: ``data/COLLECTION/DEVELOPER/MODEL/UUID.json`` and beside it
``UUID_samples.jsonl``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

from biaslens._util.files import json_text, replacing, write_text
from biaslens._util.text import safe_name
from biaslens.analysis import Cell, ConditionSummary, Summary, read_run, summarise
from biaslens.benchmark.files import MARK
from biaslens.errors import InputError
from biaslens.evaluation.prompting import JUDGE_PROMPTS
from biaslens.prompts import source
from biaslens.report.export import ASKED_OF_RUN
from biaslens.report.view.detail import options_shown, prompt_of, wording_of
from biaslens.runfile import reading_evaluation, response_rows
from biaslens.schema import Condition, Kind, Outcome, content_hash
from biaslens.stats import Estimand

SCHEMA = "0.3.0"
COLLECTION = "biaslens"

_HOSTED = ("openai", "azure", "mistral", "together")
_TOLD = ("attribute", "role", "persona", "kind", "target", "encounter", "condition", "outcome", "reason", "oracle")
_CHUNK = 2048


class Relationship(StrEnum):
    """Who evaluated, as seen from the model."""

    FIRST_PARTY = "first_party"
    THIRD_PARTY = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """What a run does not know and a record must say."""

    organization: str = "unknown"  #: who gives the results
    relationship: Relationship = Relationship.OTHER
    model: str = ""  #: OWNER/NAME of the model on the Hub; "" for its name in the run
    dataset: str = ""  #: OWNER/NAME of the benchmark on the Hub, "" where it is not there


def export_every_eval_ever(path: Path, out: Path, publisher: Publisher | None = None) -> tuple[Path, Path]:
    """Write a run's record and its answers into the folder `out`; gives both files.

    Of each condition, all kinds together and each kind, the record has both headline numbers: the bias rate with its
    95 % interval, and the share of biased questions. The answers belong to the bias rate of their condition and kind.
    An answer needs a score there, so those that count in no rate (invalid, failed, not judged) are left out of the
    file; the record says how many. The files of a run always have the same names.

    Raises `InputError` when nothing in the run counts; `StorageError` when it cannot be read, or a file not written.
    """
    record = _Record(path, publisher or Publisher())
    results = record.results()
    if not results:
        raise InputError(f"{path}: no answer of it counts yet; `biaslens evaluate` asks, `biaslens judge` decides")
    file = out / record.folder / f"{record.uuid}.json"
    samples = file.with_name(f"{record.uuid}_samples.jsonl")
    digest, rows = sha256(), 0
    with replacing(samples) as temporary, temporary.open("wb") as sink:
        for row in record.samples():
            line = f"{json.dumps(row, ensure_ascii=False)}\n".encode()
            digest.update(line)
            sink.write(line)
            rows += 1
    detail = {
        "format": "jsonl",
        "file_path": str(record.folder / samples.name),
        "hash_algorithm": "sha256",
        "checksum": digest.hexdigest(),
        "total_rows": rows,
        "additional_details": {"canary": MARK},
    }
    write_text(
        file, json_text({**record.whole(), "evaluation_results": results, "detailed_evaluation_results": detail})
    )
    return file, samples


class _Record:
    """What is said of one run."""

    def __init__(self, path: Path, publisher: Publisher) -> None:
        self.summary: Summary = summarise(read_run(path))
        self.run, self.path, self.publisher = self.summary.run, path, publisher
        self.model = publisher.model or self.run.model or "unknown/unknown"
        developer, _, name = self.model.partition("/")
        if not name:
            raise InputError(f"{self.model!r} names no developer; give --model-id OWNER/NAME")
        self.folder = PurePosixPath("data", COLLECTION, safe_name(developer), safe_name(name.replace("/", "_")))
        # Version 4 in form only: the same run is to have the same file.
        self.uuid = UUID(content_hash(self.model, self.run.meta), version=4)
        self.made = str(int(time.time()))
        self.id = f"{COLLECTION}/{self.model.replace('/', '_')}/{self.made}"

    def whole(self) -> dict[str, Any]:
        last = max((each.last_answer for each in self.summary.conditions), default="")
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            **({"evaluation_timestamp": last} if last else {}),
            "retrieved_timestamp": self.made,
            "source_metadata": {
                "source_name": "biaslens",
                "source_type": "evaluation_run",
                "source_organization_name": self.publisher.organization,
                "evaluator_relationship": self.publisher.relationship.value,
            },
            "eval_library": {"name": "biaslens", "version": self.run.package_version or "unknown"},
            "model_info": self._model_info(self.model, self.run.model),
        }

    @staticmethod
    def _model_info(named: str, asked: str) -> dict[str, Any]:
        provider = asked.partition("/")[0]
        deployed = (
            "self_deployed" if provider == "local" else "externally_managed" if provider in _HOSTED else "unknown"
        )
        return {
            "name": asked or named,
            "id": named,
            "inference_platform": provider or "unknown",
            "additional_details": {
                "deployment_type": deployed,
                "model_availability": "open_weights" if provider == "local" else "unknown",
            },
        }

    def results(self) -> list[dict[str, Any]]:
        """Both headline numbers of each condition, whole and by kind, where anything counts."""
        return [
            result
            for condition in self.summary.conditions
            for kind in (None, *Kind)
            if (cell := condition.cell(kind=kind)).counts.valid
            for result in (self._rate(condition, kind, cell), self._biased_questions(condition, kind, cell))
        ]

    def _result(
        self, condition: ConditionSummary, kind: Kind | None, metric: str, name: str, about: str
    ) -> dict[str, Any]:
        return {
            "evaluation_result_id": _result_id(condition.condition, kind, metric),
            "evaluation_name": _evaluation(condition.condition, kind),
            "source_data": self._source(condition),
            **({"evaluation_timestamp": condition.last_answer} if condition.last_answer else {}),
            "metric_config": {
                "evaluation_description": about,
                "metric_id": f"biaslens.{metric}",
                "metric_name": name,
                "metric_kind": metric,
                "metric_unit": "proportion",
                "lower_is_better": True,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": 1,
                **({"llm_scoring": self._judging()} if self.run.judges and kind in (None, Kind.WHY) else {}),
            },
            "generation_config": self._generation(),
        }

    def _rate(self, condition: ConditionSummary, kind: Kind | None, cell: Cell) -> dict[str, Any]:
        counts, rate = cell.counts, cell.bias_rate
        about = "Share of the valid answers (biased, unbiased, refused) that take up the prejudice of the question."
        names = ("biased", "unbiased", "refused", "invalid", "error", "unjudged", "unasked")
        details = {f"{name}_trials": str(getattr(counts, name)) for name in names}
        corrected = condition.corrected.get(kind)
        if corrected is not None and not math.isnan(corrected.value):
            details |= {
                f"corrected_by_labels_{name}": str(getattr(corrected, name)) for name in ("value", "low", "high")
            }
        uncertainty: dict[str, Any] = {"num_samples": counts.valid}
        if not math.isnan(rate.low):
            method = "two-way clustered by role and comparison of groups, logit scale, t quantile"
            if self.summary.estimand is Estimand.THESE:
                method = "clustered by role, logit scale, t quantile"
            uncertainty["standard_error"] = {"value": rate.standard_error, "method": "analytic, clustered"}
            ends = {"lower": rate.low, "upper": rate.high}
            uncertainty["confidence_interval"] = {**ends, "confidence_level": rate.level, "method": method}
        scored = {
            "score": rate.value,
            "details": {**details, "coverage": str(counts.coverage), "roles": str(cell.roles)},
            "uncertainty": uncertainty,
        }
        return {**self._result(condition, kind, "bias_rate", "Bias rate", about), "score_details": scored}

    def _biased_questions(self, condition: ConditionSummary, kind: Kind | None, cell: Cell) -> dict[str, Any]:
        about = "Share of the questions of which more than half of the planned answers are biased."
        details = {"biased_questions": str(cell.biased_questions), "questions": str(cell.questions)}
        scored = {"score": cell.biased_questions / cell.questions, "details": details}
        made = self._result(condition, kind, "biased_questions", "Biased questions", about)
        return {**made, "score_details": scored}

    def _source(self, condition: ConditionSummary) -> dict[str, Any]:
        name = f"biaslens role-play {self.run.benchmark_version}".strip()
        details = {"benchmark_hash": self.run.benchmark_hash, "question_set": condition.question_set}
        more = {"additional_details": details}
        if not self.publisher.dataset:
            return {"dataset_name": name, "source_type": "other", **more}
        samples = condition.cell().questions
        there = {"hf_repo": self.publisher.dataset, "hf_split": "test", "samples_number": samples}
        return {"dataset_name": name, "source_type": "hf_dataset", **there, **more}

    def _judging(self) -> dict[str, Any]:
        spec = self.run.panels.get(self.run.panel, {})
        prompt = JUDGE_PROMPTS.get(str(spec.get("prompt") or "codebook"))
        return {
            "judges": [{"model_info": self._model_info(judge, judge)} for judge in self.run.judges],
            "input_prompt": source(prompt) if prompt else "not recorded",
            "aggregation_method": "majority_vote",
            "additional_details": {
                "votes_of_each": str(self.run.votes or ""),
                "prompt_hash": str(spec.get("prompt_hash") or ""),
            },
        }

    def _generation(self) -> dict[str, Any]:
        params = dict(self.run.meta.get("params") or {})
        known = ("temperature", "top_p", "top_k", "max_tokens")
        arguments = {name: params[name] for name in known if params.get(name) is not None}
        details = {"trials": self.run.trials, "template_hash": self.run.template_hash, "params": json.dumps(params)}
        return {
            "generation_args": arguments,
            "additional_details": {name: str(value) for name, value in details.items()},
        }

    def samples(self) -> Iterator[dict[str, Any]]:
        """Every answer that counts."""
        wording = wording_of(self.run)
        with reading_evaluation(self.path) as store:
            for page in response_rows(store, ASKED_OF_RUN, model=self.run.model, chunk=_CHUNK):
                for row in page:
                    told: dict[str, Any] = dict(zip(("model", *ASKED_OF_RUN), row, strict=True))
                    if told["outcome"] in tuple(Outcome) and Outcome(told["outcome"]).valid:
                        lists = ("options", "groups", "option_order")
                        told |= {name: json.loads(told[name] or "null") for name in lists}
                        prompt, _ = prompt_of(self.run, told, wording)
                        yield self._sample(told, "\n\n".join(text for _, text in prompt))

    def _sample(self, told: Mapping[str, Any], prompt: str) -> dict[str, Any]:
        kind, condition, biased = Kind(told["kind"]), Condition(told["condition"]), told["outcome"] == Outcome.BIASED
        options: list[str] = told["options"] or []
        fair = [options[-1]] if options else ["no"] if kind is Kind.YES_NO else []
        taken = told["outcome"] if told["choice"] is None else options[told["choice"]]
        tokens = told["prompt_tokens"], told["completion_tokens"]
        usage = {
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "total_tokens": sum(each or 0 for each in tokens),
        }
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "model_id": self.model,
            "evaluation_name": _evaluation(condition, kind),
            "evaluation_result_id": _result_id(condition, kind, "bias_rate"),
            "sample_id": told["question_id"],
            "sample_hash": sha256((told["question"] + "".join(fair)).encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {
                "raw": told["question"],
                "formatted": prompt,
                "reference": fair,
                "choices": options_shown(told) if options else None,
            },
            "output": {"raw": [told["answer"]]},
            "messages": None,
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": taken,
                    "extraction_method": f"{told['oracle']}: {told['reason']}",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": float(biased), "is_correct": not biased},
            "token_usage": None if None in tokens else usage,
            "performance": None if told["latency"] is None else {"latency_ms": 1000 * told["latency"]},
            "metadata": {
                **{name: str(told[name]) for name in _TOLD if told[name]},
                "trial": str(told["trial"]),
                "canary": MARK,
            },
        }


def _evaluation(condition: Condition, kind: Kind | None) -> str:
    return f"biaslens/{condition}/{kind or 'all'}"


def _result_id(condition: Condition, kind: Kind | None, metric: str) -> str:
    return f"{_evaluation(condition, kind)}/{metric}"
