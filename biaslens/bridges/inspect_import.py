"""Logs of Inspect as a run: of our task, of one that was exported, or of another task by a stated mapping.

The mapping says which fields of another task's samples hold what biaslens needs to know of a question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from biaslens import runfile
from biaslens.benchmark.files import read_toml
from biaslens.bridges.collected import (
    JUDGE,
    AnswerSource,
    Collected,
    GivenVote,
    ImportedLogs,
    question_of,
    save_collected,
)
from biaslens.bridges.inspect_export import OURS, SCORE, whole_record
from biaslens.errors import InputError
from biaslens.models import Params, thoughts
from biaslens.runfile import Record
from biaslens.schema import Condition, Kind, Outcome, Verdict, Vote, content_hash

_NEEDED = ("kind", "attribute", "role")
_OPTIONAL = {
    "question": "$input",
    "options": "$choices",
    "abstain": None,
    "persona": None,
    "condition": "no_role",
    "target": None,
    "groups": None,
    "encounter": None,
    "stereotype": None,
}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping: by name, a value for all samples, or "$" and a path to a field of each, such as "$metadata.group"."""

    path: Path
    values: Mapping[str, Any]

    def told(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """What a sample says, as `question_of` reads it; `order` are the positions of the options as shown.

        Raises `InputError` when it lacks a field, or the abstaining option is not among the options.
        """
        told = {name: self._value(name, sample) for name in self.values}
        told["persona"] = told["persona"] or told["role"]
        options = list(map(str, told["options"] or ())) if told["kind"] == Kind.CHOICE else []
        order = None
        if options:
            place = _place(told["abstain"], options)
            if place != len(options) - 1:
                order = [*range(place), len(options) - 1, *range(place, len(options) - 1)]
            options = [*options[:place], *options[place + 1 :], options[place]]
        return told | {"options": options, "option_order": order}

    def _value(self, name: str, sample: Mapping[str, Any]) -> Any:  # noqa: ANN401
        value = self.values[name]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        found: Any = sample
        for part in value[1:].split("."):
            if not isinstance(found, Mapping) or part not in found:
                if value == _OPTIONAL.get(name):
                    return None
                raise InputError(f"it has no field {value[1:]}, which {self.path.name} names as {name}")
            found = found[part]
        return question_text(found) if value == "$input" else found


def read_mapping(path: Path) -> Mapped:
    """Read a mapping, a TOML file: kind, attribute and role must be there.

    Raises `BenchmarkError` when it cannot be read; `InputError` when it has another name in it, or one is missing.
    """
    given = read_toml(path)
    unknown = sorted(given.keys() - {*_NEEDED, *_OPTIONAL})
    missing = [name for name in _NEEDED if name not in given]
    if unknown or missing:
        wrong = f"{unknown[0]!r} is no part of a mapping" if unknown else f"{missing[0]} is missing"
        raise InputError(f"{path}: {wrong}; it names {', '.join(_NEEDED)}, and may name {', '.join(_OPTIONAL)}")
    return Mapped(path, {**_OPTIONAL, **given})


def question_text(found: Any) -> str:  # noqa: ANN401
    """Text of what was asked: the input itself, or its last message of the user."""
    if isinstance(found, str):
        return found
    asked = [message["content"] for message in found if message.get("role") == "user"]
    if not asked:
        raise InputError("its input has no message of the user")
    return said(asked[-1])


def said(content: Any) -> str:  # noqa: ANN401
    """Text of a message's content, which may come in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return str(content or "")


def read_elsewhere(letter: object, order: list[int]) -> Verdict | None:
    """Verdict of a choice that another scorer read as a letter of the options as shown; None for no such letter."""
    from biaslens.oracles import choice

    text = str(letter or "").strip().strip("()").upper()
    place = ord(text) - ord("A") if len(text) == 1 else -1
    if not 0 <= place < len(order):
        return None
    taken = order[place]
    return choice.decide(chr(ord("A") + taken), [f"option {number}" for number in range(len(order))])


def _place(abstain: object, options: list[str]) -> int:
    """Position of the abstaining option: given as a position, a letter or its text; the last one without."""
    if abstain is None:
        return len(options) - 1
    text = str(abstain).strip()
    if text in options:
        return options.index(text)
    if len(text) == 1 and text.isalpha():
        text = str(ord(text.upper()) - ord("A"))
    if not text.isdecimal() or int(text) >= len(options):
        raise InputError(f"its abstaining option {abstain!r} is none of {len(options)} options")
    return int(text)


_FAULTS_KEPT = 1000

_SENT = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop_seqs": "stop",
    "reasoning_effort": "reasoning_effort",
}
_NOT_SENT = ("max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections", "batch", "cache")


class EvalFile:
    """An ``.eval`` file: a zip archive with a member for each sample."""

    def __init__(self, path: Path, file: ZipFile) -> None:
        self.path = path
        self._file = file
        names = file.namelist()
        self.samples = sorted(name for name in names if name.startswith("samples/") and name.endswith(".json"))
        if "header.json" not in names:
            raise InputError(f"{path}: no whole log, its evaluation did not end; `inspect eval-retry` finishes it")
        self.header = self.read("header.json")

    def read(self, name: str) -> Any:  # noqa: ANN401
        """Read a member."""
        try:
            return json.loads(self._file.read(name))
        except (ValueError, BadZipFile, OSError, RecursionError) as error:
            raise InputError(f"{self.path}: {name} cannot be read ({error}); the log is damaged") from None
        except NotImplementedError:
            raise InputError(
                f"{self.path}: compressed as only Inspect's own packages read it: pip install 'biaslens[inspect]'"
            ) from None

    @property
    def spec(self) -> Mapping[str, Any]:
        """What was evaluated."""
        return self.header["eval"]  # type: ignore[no-any-return]

    @property
    def ours(self) -> Mapping[str, Any]:
        """What we wrote of ourselves into its metadata; nothing in other tasks' logs."""
        found: Mapping[str, Any] = (self.spec.get("metadata") or {}).get(OURS) or {}
        return found


@contextmanager
def open_eval(path: Path) -> Iterator[EvalFile]:
    """Open a log.

    Raises `InputError` when it is none, or cannot be read.
    """
    with suppress(ImportError):  # Inspect compresses with Zstandard, which Python reads from 3.14 on
        import zipfile_zstd  # noqa: F401
    try:
        with ZipFile(path) as file:
            yield EvalFile(path, file)
    except BadZipFile:
        hint = "`inspect log convert` makes one of a .json log"
        raise InputError(f"{path}: not a log in Inspect's .eval format; {hint}") from None
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def import_inspect(paths: Sequence[Path], out: Path, mapping: Mapped | None = None) -> list[ImportedLogs]:
    """Make a run of logs of one model, or add them to it: conditions, slices, and trials of one benchmark.

    What `biaslens export` wrote becomes the run that it was. In logs of our task, answers are decided anew by our
    rules, and why answers have the votes that were given there. Samples of other tasks need a `mapping`.

    Raises `InputError` when a log cannot be read; `RunMismatchError` when it is of another model, benchmark or setting
    than the run file; `StorageError` when that cannot be written.
    """
    found = []
    for path in paths:
        with open_eval(path) as log:
            if "run" in log.ours:
                found.append(_restore(log, out))
            else:
                found.append(_collect(log, out, mapping))
    return found


_IDENTITY = (
    "model", "benchmark_version", "benchmark_hash", "template_hash", "params", "system", "seed", "shuffle_options",
)  # fmt: skip


def _restore(log: EvalFile, out: Path) -> ImportedLogs:
    meta = {name: value for name, value in log.ours["run"].items() if name != "format"}
    faults: list[str] = []
    count = 0

    def records() -> Iterator[Record]:
        nonlocal count
        for name in log.samples:
            sample = log.read(name)
            count += 1
            try:
                yield whole_record(sample["metadata"], sample["output"])
            except (KeyError, TypeError, ValueError) as error:
                _fault(faults, f"{log.path.name}, {name}: {type(error).__name__}: {error}")

    with runfile.open_to_write(out, tables=runfile.IMPORT_TABLES if meta.get("imported") else "") as store:
        known = store.meta()
        own = {name: meta[name] for name in _IDENTITY if name in meta}
        store.check_meta(own, hint="import it into another file with --out")
        before = len(runfile.answered_keys(store))
        runfile.restore(store, log.ours["rows"], records())
        store.set_meta(meta if "model" not in known else own)
        panel = str(store.meta().get(runfile.ACTIVE_PANEL) or "")
        new, unjudged = len(runfile.answered_keys(store)) - before, runfile.count_undecided(store, panel)
    return ImportedLogs(out, str(meta.get("model") or ""), count, new, unjudged, tuple(faults))


def _collect(log: EvalFile, out: Path, mapping: Mapped | None) -> ImportedLogs:
    if not log.ours and mapping is None:
        raise InputError(
            f"{log.path}: a log of {log.spec.get('task')}, which is no task of biaslens; say with --map which fields "
            "of its samples are what (docs/bridges.md)"
        )
    if not log.samples:
        raise InputError(f"{log.path}: no samples; evaluate with --log-samples")
    faults: list[str] = []
    return save_collected(out, _source(log), _collected(log, mapping, faults), faults)


def _source(log: EvalFile) -> AnswerSource:
    spec, ours = log.spec, log.ours
    task = content_hash("inspect task", spec.get("task"), spec.get("task_version"))
    panel, name = _panel(log)
    return AnswerSource(
        program=f"inspect_ai {spec.get('packages', {}).get('inspect_ai', '')}".strip(),
        model=str(spec["model"]),
        benchmark_version=str(ours.get("benchmark_version") or spec.get("task_version") or ""),
        benchmark_hash=ours.get("benchmark_hash") or task,
        template_hash=ours.get("template_hash") or task,
        generator=ours.get("generator") or str(spec.get("task")),
        params=_params(log),
        shuffle_options=bool(ours.get("shuffle_options")),
        judges=panel.get("judges") or (),
        panel=name,
        panel_spec=panel,
    )


def _panel(log: EvalFile) -> tuple[Mapping[str, Any], str]:
    """What is recorded of the judges of our task's why answers, and their name; nothing and "" without any."""
    named = (log.spec.get("model_roles") or {}).get(JUDGE)
    if log.ours.get("panel_name"):
        return log.ours["panel"], str(log.ours["panel_name"])
    if not log.ours or not named:
        return {}, ""
    judges = [str(judge["model"]) for judge in (named if isinstance(named, list) else [named])]
    votes = (log.spec.get("task_args") or {}).get("votes") or (3 if len(judges) == 1 else 1)
    return {"judges": judges, "votes": votes, "asked_by": "inspect"}, f"{', '.join(judges)} (by Inspect)"


def _params(log: EvalFile) -> dict[str, Any]:
    config = {**(log.header.get("plan", {}).get("config") or {}), **(log.spec.get("model_generate_config") or {})}
    known = {ours: config[name] for name, ours in _SENT.items() if config.get(name) is not None}
    more = {n: v for n, v in config.items() if n not in _SENT and n not in _NOT_SENT and n != "seed" and v is not None}
    if "stop" in known:
        known["stop"] = tuple(known["stop"])
    return Params(**known, extra=more).record()


def _collected(log: EvalFile, mapping: Mapped | None, faults: list[str]) -> Iterator[Collected]:
    for name in log.samples:
        sample = log.read(name)
        try:
            yield _of_ours(sample) if mapping is None else _of_another(sample, mapping)
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            what = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            _fault(faults, f"{log.path.name}, {name}: {what}")


def _fault(faults: list[str], text: str) -> None:
    if len(faults) < _FAULTS_KEPT:
        faults.append(text)


def _of_ours(sample: Mapping[str, Any]) -> Collected:
    told = sample["metadata"]
    score = (sample.get("scores") or {}).get(SCORE) or {}
    about = score.get("metadata") or {}
    votes = [
        GivenVote(each["judge"], each["vote_number"], Vote(each["vote"]), each["reason"], each["reply"])
        for each in about.get("votes") or ()
    ]
    is_judged = bool(votes) or about.get("probability") is not None
    judged = Verdict(Outcome(about["outcome"]), about["reason"]) if is_judged and "reason" in about else None
    return Collected(
        question=question_of(told),
        condition=Condition(told["condition"]),
        trial=sample["epoch"],
        order=told.get("option_order"),
        votes=votes,
        judged=judged,
        probability=about.get("probability"),
        **_said(sample),
    )


def _of_another(sample: Mapping[str, Any], mapping: Mapped) -> Collected:
    told = mapping.told(sample)
    question, order, taken = question_of(told), told["option_order"], None
    if order is not None:
        letters = [score.get("answer") for score in (sample.get("scores") or {}).values()]
        taken = next((verdict for letter in letters if (verdict := read_elsewhere(letter, order))), None)
        if taken is None and sample.get("output", {}).get("choices"):
            taken = Verdict(Outcome.INVALID, "no letter")
    return Collected(
        question=question,
        condition=Condition(told["condition"]),
        trial=sample["epoch"],
        order=order,
        taken=taken,
        **_said(sample),
    )


def _said(sample: Mapping[str, Any]) -> dict[str, Any]:
    """What was answered, and what that took."""
    output = sample.get("output") or {}
    error = (sample.get("error") or {}).get("message")
    if not output.get("choices"):
        return {"text": None, "error": error or output.get("error"), "answered_at": sample.get("completed_at") or ""}
    first = output["choices"][0]
    content, usage = first["message"]["content"], output.get("usage") or {}
    parts = [part for part in content if part.get("type") == "reasoning"] if isinstance(content, list) else []
    thought = "\n".join(part.get("reasoning") or part.get("summary") or "" for part in parts) or None
    cached = sum(usage.get(name) or 0 for name in ("input_tokens_cache_read", "input_tokens_cache_write"))
    return {
        "text": said(content),
        "finish_reason": thoughts.finish(first.get("stop_reason") or "unknown"),
        "resolved_model": output.get("model") or "",
        "thought": thought,
        "prompt_tokens": usage["input_tokens"] + cached if "input_tokens" in usage else None,
        "completion_tokens": usage.get("output_tokens"),
        "reasoning_tokens": usage.get("reasoning_tokens"),
        "latency": output.get("time"),
        "answered_at": sample.get("completed_at") or "",
    }
