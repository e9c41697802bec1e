"""Decide the answers of a dataset anew: by the rules, and why answers by the local judge where that is wanted.

A file of responses is a unit of work: it is read, decided and written a row group at a time, in as many processes as
there are cores. Nobody is asked.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from biaslens import __version__, dataset
from biaslens._util.files import json_text, replacing
from biaslens.dataset import ParquetRun
from biaslens.errors import InputError, RunStoppedError
from biaslens.evaluation.judge import screen_verdict
from biaslens.evaluation.run import ruled
from biaslens.evaluation.spec import Panel
from biaslens.oracles import RULES, screen
from biaslens.runfile import ACTIVE_PANEL, CUT_OFF, Answered
from biaslens.schema import Kind, Outcome, Verdict, content_hash

_RULES = RULES.split(maxsplit=1)[0]
_BY_PROVIDER = ("content_filter", "refusal")

_Counts = Counter[tuple[str, str]]

_DECIDED_BY = {
    Kind.YES_NO: ("answer", "finish_reason"),
    Kind.CHOICE: ("answer", "finish_reason", "question_id", "option_order"),
    Kind.WHY: ("answer", "finish_reason", "question_id"),
}
"""What an answer's verdict hangs on: where all of it is the same, it is decided once in a row group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What deciding a run of a dataset anew came to."""

    run: Path
    answers: int
    changed: int  #: answers with another outcome than before
    undecided: int  #: why answers that wait for a judge
    outcomes: Mapping[str, int]


def rescore(source: Path, out: Path, *, screened: bool = False, jobs: int | None = None) -> Iterator[Rescored]:
    """Decide every answer of a run or of all runs of a dataset by this version's rules; each run as it is done.

    Why answers keep the verdicts of their judges, except where the rules decide; when `screened`, ``local/screen``
    decides them in the judges' place. The runs are written into the folder `out`, and not changed where they lie. Files
    that were decided before, of the same bytes and by the same rules and judge, are not decided again.

    Raises `InputError` when `out` is where they lie, or holds something else; `StorageError` when a run cannot be read,
    or `out` not be written; `RunStoppedError` when a process dies.
    """
    runs = dataset.runs_in(source)
    if any(run.parent.resolve() == out.resolve() for run in runs):
        raise InputError(f"{out}: the dataset itself; a dataset is not changed, name another --out")
    count = jobs or os.cpu_count() or 1
    # Arrow has threads, with which no process may fork.
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn")) if count > 1 else nullcontext()
    with pool as executor:
        for run in runs:
            try:
                yield _rescore_run(ParquetRun(run), out / run.name, executor, screened=screened)
            except BrokenProcessPool:
                raise RunStoppedError(
                    f"{run}: a process that decided it died, perhaps for want of memory; what is decided is kept, and "
                    "the same command goes on; --jobs 1 takes the least memory"
                ) from None


def _rescore_run(run: ParquetRun, out: Path, pool: Executor | None, *, screened: bool) -> Rescored:
    spread: Callable[..., Iterator[_Counts]] = map if pool is None else pool.map
    files = run.files
    names = {path.name for path in files} | {dataset.QUESTIONS, dataset.VOTES, dataset.INFO}
    done = list(spread(_done, files, [out / path.name for path in files], [screened] * len(files)))
    found = sum((counts for counts in done if counts is not None), _Counts())
    if None in done or not _is_whole(run, out, names, _info(run.info, found, screened=screened)):
        with dataset.new_run(out, resume=True) as folder:
            for path in folder.iterdir():
                if path.name not in names:
                    path.unlink()
            parts = spread(_rescore_file, files, [folder / path.name for path in files], [screened] * len(files))
            found = sum(parts, _Counts())
            for name in (dataset.QUESTIONS, dataset.VOTES):
                (folder / name).write_bytes((run.path / name).read_bytes())
            dataset.write_info(folder, _info(run.info, found, screened=screened))
    outcomes = {name: number for (what, name), number in sorted(found.items()) if what == "outcome"}
    return Rescored(
        run=out,
        answers=found["rows", "answered"],
        changed=found["rows", "changed"],
        undecided=found["rows", "undecided"],
        outcomes=outcomes,
    )


def _is_whole(run: ParquetRun, out: Path, names: set[str], info: Mapping[str, Any]) -> bool:
    """Whether `out` is the run decided already, whose responses are known to be."""
    return (
        {path.name for path in out.iterdir()} == names
        and all(
            (out / name).read_bytes() == (run.path / name).read_bytes() for name in (dataset.QUESTIONS, dataset.VOTES)
        )
        and ParquetRun(out).info == json.loads(json_text({"format": dataset.FORMAT, **info}))
    )


def _made_of(path: Path, *, screened: bool) -> str:
    """What the decided file hangs on: the bytes of the file, and who decides."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return content_hash("rescored", sha256, RULES, screen.load().name if screened else None, __version__)


def _done(path: Path, out: Path, screened: bool) -> _Counts | None:  # noqa: FBT001 - by `map`
    """What was counted in a file that is decided already; None where it is not."""
    if not out.exists():
        return None
    found = dataset.marked(out, _made_of(path, screened=screened))
    return None if found is None else _Counts({(what, name): number for (what, name), number in found})


def _info(info: dict[str, Any], found: _Counts, *, screened: bool) -> dict[str, Any]:
    """What the run says of itself now; how thoughts meet the answers' outcomes is not known any more."""
    stopped = {
        condition: of | {"cut_off": found["cut_off", condition], "refused_by_provider": found["provider", condition]}
        for condition, of in info["took"]["stopped"].items()
    }
    changed = {**info, "took": info["took"] | {"stopped": stopped}, "thoughts": []}
    if screened:
        panel = Panel(judges=(screen.NAME,))
        changed["panels"] = info["panels"] | {panel.name: panel.record()}
        changed["meta"] = info["meta"] | {ACTIVE_PANEL: panel.name}
    return changed


def _rescore_file(path: Path, out: Path, screened: bool) -> _Counts:  # noqa: FBT001 - by `map`
    known = _done(path, out, screened)
    if known is not None:
        return known
    made_of = _made_of(path, screened=screened)
    found = _Counts()
    with replacing(out) as temporary:
        writer = None
        for rows in dataset.row_groups(path):
            decided = _rescored(rows, found, judge=screen.load() if screened else None).replace_schema_metadata(None)
            writer = writer or dataset.writer(temporary, decided.schema)
            writer.write_table(decided)
        if writer is not None:
            dataset.mark(writer, made_of, found.items())
            writer.close()
    return found


class _Verdicts:
    """The verdicts of a row group, as columns."""

    def __init__(self, size: int) -> None:
        self.outcome, self.reason, self.oracle = (np.full(size, None, dtype=object) for _ in range(3))
        self.choice = np.full(size, -1, dtype=np.int64)
        self.none = np.ones(size, dtype=np.bool_)

    def put(self, place: NDArray[np.int64], verdicts: Sequence[Verdict], each: NDArray[np.int64], oracle: str) -> None:
        """Give the answers at these places verdicts, by the number of each in the verdicts."""
        for column, values in (
            (self.outcome, [str(verdict.outcome) for verdict in verdicts]),
            (self.reason, [verdict.reason for verdict in verdicts]),
        ):
            column[place] = np.array(values, dtype=object)[each]
        self.choice[place] = np.array([-1 if v.choice is None else v.choice for v in verdicts], dtype=np.int64)[each]
        self.oracle[place] = oracle
        self.none[place] = False


def _rescored(rows: pa.Table, found: _Counts, *, judge: screen.Screen | None) -> pa.Table:
    kinds, conditions, finish, before, reason, oracle = (
        _texts(rows[name]) for name in ("kind", "condition", "finish_reason", "outcome", "reason", "oracle")
    )
    answered = rows["finish_reason"].is_valid().to_numpy()
    verdicts = _Verdicts(len(rows))
    for kind, columns in _DECIDED_BY.items():
        place = np.flatnonzero(answered & (kinds == kind))
        if len(place):
            _decide(rows.select([*columns, "question", "options"]).take(pa.array(place)), place, kind, verdicts, judge)
    # What no rule decides keeps what its judges said.
    judged = np.array([name is not None and not name.startswith(_RULES) for name in oracle], dtype=np.bool_)
    kept = verdicts.none & (~answered | judged)
    for column, old in ((verdicts.outcome, before), (verdicts.reason, reason), (verdicts.oracle, oracle)):
        column[kept] = old[kept]
    outcomes = Counter(verdicts.outcome[answered].tolist())
    found["rows", "answered"] += int(answered.sum())
    found["rows", "undecided"] += outcomes.pop(None, 0)
    found["rows", "changed"] += int((answered & (before != verdicts.outcome)).sum())
    by_provider = answered & (verdicts.outcome == str(Outcome.REFUSED)) & np.isin(finish.astype(str), _BY_PROVIDER)
    for what, counts in (
        ("outcome", outcomes),
        ("cut_off", Counter(conditions[verdicts.reason == CUT_OFF].tolist())),
        ("provider", Counter(conditions[by_provider].tolist())),
    ):
        found.update({(what, name): number for name, number in counts.items()})
    decided = {name: pa.array(getattr(verdicts, name), pa.string()) for name in ("outcome", "reason", "oracle")}
    decided["choice"] = pa.array(verdicts.choice, pa.int64(), mask=verdicts.choice < 0)
    for name, column in decided.items():
        rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows


def _texts(column: pa.ChunkedArray) -> NDArray[np.object_]:
    """The texts of a dictionary column, None for null."""
    values = column.combine_chunks()
    codes = values.indices.fill_null(len(values.dictionary)).to_numpy(zero_copy_only=False)
    texts: NDArray[np.object_] = np.array([*values.dictionary.to_pylist(), None], dtype=object)[codes]
    return texts


def _decide(
    rows: pa.Table, place: NDArray[np.int64], kind: Kind, verdicts: _Verdicts, judge: screen.Screen | None
) -> None:
    """Decide the answers of a kind, which stand at these places of the row group."""
    first, each = _distinct([rows[name] for name in _DECIDED_BY[kind]])
    distinct = rows.take(pa.array(first)).to_pylist()
    found = [_by_rules(kind, row) for row in distinct]
    known = np.array([verdict is not None for verdict in found], dtype=np.bool_)
    chosen = known[each]
    number = (np.cumsum(known) - 1)[each]
    verdicts.put(place[chosen], [verdict for verdict in found if verdict is not None], number[chosen], RULES)
    if judge is not None and not known.all():
        left = [row for row, verdict in zip(distinct, found, strict=True) if verdict is None]
        values = judge.probabilities([row["question"] for row in left], [row["answer"] for row in left])
        number = (np.cumsum(~known) - 1)[each]
        screened = [screen_verdict(float(value), judge.cut) for value in values]
        verdicts.put(place[~chosen], screened, number[~chosen], judge.name)


def _by_rules(kind: Kind, row: Mapping[str, Any]) -> Verdict | None:
    order, options = row.get("option_order"), row["options"]
    shown = options if order is None else [options[position] for position in order]
    return ruled(Answered("", kind, row["question"], shown, order, row["answer"], row["finish_reason"]))


def _distinct(columns: Sequence[pa.ChunkedArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct combination of values first stands, and which of them each row has."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values = column.combine_chunks()
        if pa.types.is_list(values.type):
            values = pa.array([None if one is None else str(one) for one in values.to_pylist()], pa.string())
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        own = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
        code = np.unique(code * (len(encoded.dictionary) + 1) + own + 1, return_inverse=True)[1]
    _, first, each = np.unique(code, return_index=True, return_inverse=True)
    return first, each
