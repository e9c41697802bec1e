"""Every planned answer of some runs as columns of codes, and what is kept beside a run so that it opens at once."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens import runfile
from biaslens._util.files import replacing, write_text
from biaslens._util.text import safe_name
from biaslens.analysis.frame import NOTHING, STATES, RunInfo
from biaslens.benchmark.groups import compared
from biaslens.errors import StorageError
from biaslens.models import thoughts
from biaslens.runfile import Store, ViewedQuestion, WordIndex, reading_evaluation
from biaslens.schema import Attribute, Condition, Outcome, Vote

Codes = NDArray[np.signedinteger[Any]]
"""As few bytes as the codes need: some runs have a million answers."""

VOTES = ("unanimous", "split", "some unusable")
LABELS = ("agrees", "differs")
CUT = ("whole", "cut off")
_CONDITIONS = tuple(Condition)
_VERSION = 4
SPLIT, UNUSABLE = VOTES.index("split"), VOTES.index("some unusable")


@dataclass(frozen=True)
class RunColumns:
    """One run: a row a planned answer, by question, condition and trial; arrays have the shape (N,).

    `number` is the position of a row's key among all planned keys, by which `words` knows it; `states` are positions in
    `STATES`, `reasons` and `oracles` in their names; `at` counts microseconds, `NOTHING` without an answer; `screen` is
    the local judge's probability, NaN where it was not asked. Other columns are positions in the tuples of this module,
    `NOTHING` where they say nothing. `dollars` is what answers and votes cost, None where no price is known.
    `comparisons` are the groups that each question compares, whoever is asked.
    """

    info: RunInfo
    questions: Sequence[ViewedQuestion]
    comparisons: Sequence[str]
    question: Codes
    key: NDArray[np.bytes_]
    number: Codes
    condition: Codes
    trial: Codes
    state: Codes
    reason: Codes
    reasons: tuple[str, ...]
    oracle: Codes
    oracles: tuple[str, ...]
    taken: Codes
    cut: Codes
    votes: Codes
    label: Codes
    at: NDArray[np.int64]
    screen: NDArray[np.float32]
    dollars: float | None
    words: WordIndex


_ARRAYS = (
    "question", "key", "number", "condition", "trial", "state", "reason", "oracle", "taken", "cut", "votes", "label",
    "at", "screen",
)  # fmt: skip

_NAMES = ("reasons", "oracles", "comparisons")


def open_run(path: Path, *, keep: bool = True) -> RunColumns:
    """Read a run, or what was kept of it when it was last as it is now, and unless told not to keep it.

    The first time takes about 3 seconds per 100,000 planned answers. The index of their words is left to `index_words`.

    Raises `StorageError` when there is no such run, it cannot be read, or it holds no role-play evaluation.
    """
    state = state_of(path)
    beside = _beside(path) if keep else _folder(path)
    words = WordIndex(beside / "words.sqlite")
    kept = _kept(beside / "columns.npz", state)
    # What was kept was made of this very file, which was looked through then.
    with reading_evaluation(path) if kept is None else Store(path, checked=True) as store:
        info = RunInfo.of(path, store.meta(), runfile.panels(store), labelled=runfile.has_labels(store))
        if kept is None:
            kept = _read(store, info.panel)
            kept["dollars"] = np.array(_dollars(store))
            if keep:
                _keep(beside / "columns.npz", state, kept)
    names: dict[str, Any] = {
        name: tuple(json.loads(str(kept.pop(name)))) for name in ("reasons", "oracles", "comparisons")
    }
    questions = _questions(str(kept.pop("questions")))
    dollars = float(kept.pop("dollars"))
    known = None if math.isnan(dollars) else dollars
    return RunColumns(info=info, questions=questions, words=words, dollars=known, **names, **kept)


def index_words(run: RunColumns) -> None:
    """Bring the index of a run's words up to date; it takes about as long as reading the run, and is kept as well."""
    stamp = run.words.path.with_name("words.state")
    state = state_of(run.info.path)
    if run.words.ready and stamp.exists() and stamp.read_text(encoding="utf-8") == state:
        return
    with Store(run.info.path, checked=True) as store:
        run.words.update(store)
    with suppress(StorageError):
        write_text(stamp, state)


@lru_cache(maxsize=4)
def _questions(text: str) -> list[ViewedQuestion]:
    """Questions as they are kept; those of several runs are mostly the same."""
    return [ViewedQuestion._make((*each[:5], tuple(each[5]), *each[6:])) for each in json.loads(text)]


@cache
def _beside(path: Path) -> Path:
    """The folder beside a run for what is kept of it; one for this session where none can be made there."""
    folder = _folder(path)
    try:
        folder.mkdir(exist_ok=True)
        (folder / ".writable").touch()
    except OSError:
        return Path(tempfile.mkdtemp(prefix=f"biaslens-view-{safe_name(path.stem)}-"))
    return folder


def _folder(path: Path) -> Path:
    return path.with_name(path.name + ".view")


def state_of(path: Path) -> str:
    """What changes whenever a run file does."""
    parts: list[object] = [_VERSION]
    for each in (path, path.with_name(path.name + "-wal")):
        with suppress(OSError):
            found = each.stat()
            # An empty log is made by whoever reads.
            parts.append((found.st_size, found.st_mtime_ns) if each == path or found.st_size else None)
    return json.dumps(parts)


def _kept(path: Path, state: str) -> dict[str, Any] | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            if str(file["of"]) == state:
                return {
                    name: file[name] for name in (*_ARRAYS, "reasons", "oracles", "comparisons", "questions", "dollars")
                }
    except (OSError, ValueError, KeyError, EOFError):
        pass
    return None


def _keep(path: Path, state: str, columns: Mapping[str, Any]) -> None:
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, of=np.array(state), **columns)
    except StorageError:
        pass  # it only takes longer the next time


def _read(store: Store, panel: str) -> dict[str, Any]:
    questions = runfile.viewed_questions(store)
    place = {question.question_id: number for number, question in enumerate(questions)}
    state_code = {str(name): code for code, name in enumerate(STATES)}
    condition_code = {str(name): code for code, name in enumerate(_CONDITIONS)}
    reasons: dict[str, int] = {}
    oracles: dict[str, int] = {}
    found = [
        (
            key,
            place[question_id],
            condition_code[condition],
            trial,
            state_code[outcome or ("unasked" if answered_at is None else "unjudged")],
            NOTHING if reason is None else reasons.setdefault(_reason(reason), len(reasons)),
            NOTHING if oracle is None else oracles.setdefault(oracle, len(oracles)),
            NOTHING if choice is None else choice,
            NOTHING if finish is None else int(finish == thoughts.CUT),
            "NaT" if answered_at is None else answered_at[:26].removesuffix("Z").partition("+")[0],
        )
        for key, question_id, condition, trial, outcome, reason, oracle, choice, finish, answered_at in (
            runfile.viewed_answers(store, panel)
        )
    ]
    keys, question, condition, trial, state, reason, oracle, choice, cut, at = (
        zip(*found, strict=True) if found else ((),) * 10
    )
    columns: dict[str, Any] = {
        name: smallest(values)
        for name, values in (
            ("question", question), ("condition", condition), ("trial", trial), ("state", state), ("reason", reason),
            ("oracle", oracle), ("taken", choice), ("cut", cut),
        )
    }  # fmt: skip
    columns["key"] = np.array(keys, dtype="S32")
    columns["number"] = np.arange(len(keys), dtype=np.int32)
    columns["at"] = np.array(at, dtype="datetime64[us]").astype(np.int64)
    columns["votes"] = _votes(store, columns["key"])
    columns["label"] = _labels(store, columns["key"], columns["state"])
    columns["screen"] = _by_key(columns["key"], runfile.screen_probabilities(store), np.float32(np.nan))
    order = np.lexsort((columns["trial"], columns["condition"], columns["question"]))
    columns = {name: values[order] for name, values in columns.items()}
    comparisons = [_compared(one) for one in questions]
    told = {"reasons": list(reasons), "oracles": list(oracles), "comparisons": comparisons, "questions": questions}
    return columns | {name: np.array(json.dumps(values)) for name, values in told.items()}


def smallest(values: Sequence[int]) -> Codes:
    """An array of the smallest type that holds the values and `NOTHING`.

    >>> smallest([0, 1, 2]).dtype, smallest([40_000]).dtype
    (dtype('int8'), dtype('int32'))
    """
    found = np.array(values, dtype=np.int64)
    return found.astype(np.min_scalar_type(-int(found.max(initial=0)) - 1))


def _reason(reason: str) -> str:
    """A verdict's reason without its number: the local judge gives its probability."""
    return reason.partition(" ")[0] if reason.startswith("probability ") else reason


def _compared(question: ViewedQuestion) -> str:
    target = Attribute(question.target) if question.target else None
    return compared(question.groups, target, phrases=bool(question.encounter)) or question.question_id


def _dollars(store: Store) -> float:
    took = [*runfile.usage_of_answers(store).values(), runfile.usage_of_votes(store)]
    return sum(each.dollars for each in took) if any(each.priced for each in took) else math.nan


def _by_key(keys: NDArray[np.bytes_], values: Mapping[str, Any], missing: Any) -> NDArray[Any]:  # noqa: ANN401
    """Values by key in the place of their rows; keys are sorted."""
    result = np.full(len(keys), missing)
    if values:
        at = np.searchsorted(keys, np.array(list(values), dtype="S32"))
        result[at] = list(values.values())
    return result


def _votes(store: Store, keys: NDArray[np.bytes_]) -> Codes:
    given: dict[str, set[str]] = {}
    for vote in runfile.judge_votes(store):
        given.setdefault(vote.key, set()).add(vote.vote)
    codes = {
        key: UNUSABLE if Vote.UNUSABLE in votes else int(len(votes) > 1)  # 0 unanimous, 1 split
        for key, votes in given.items()
    }
    return _by_key(keys, codes, np.int8(NOTHING))


def _labels(store: Store, keys: NDArray[np.bytes_], state: Codes) -> Codes:
    outcome = {key: STATES.index(Outcome(said)) for key, said in runfile.label_outcomes(store).items()}
    said = _by_key(keys, outcome, np.int8(NOTHING))
    return np.where(said == NOTHING, NOTHING, said != state).astype(np.int8)
