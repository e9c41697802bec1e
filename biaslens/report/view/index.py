"""Every planned answer of some runs as columns of codes, and what is kept beside a run so that it opens at once."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens import runfile
from biaslens._util.files import replacing, write_text
from biaslens._util.text import safe_name
from biaslens.analysis.frame import BIASED, NOTHING, STATES, VALID, RunInfo
from biaslens.benchmark.groups import compared, named_group
from biaslens.errors import StorageError
from biaslens.models import thoughts
from biaslens.runfile import Store, ViewedQuestion, WordIndex, reading_evaluation
from biaslens.schema import Attribute, Condition, Kind, Outcome, Vote
from biaslens.stats import Clusters

Codes = NDArray[np.int32]

VOTES = ("unanimous", "split", "some unusable")
TRIALS = ("alike", "differ")
MIRRORS = ("agrees", "disagrees")
LABELS = ("agrees", "differs")
CUT = ("whole", "cut off")
SAYS_DOES = ("denies and follows", "denies and does not", "admits and follows", "admits and does not")
_CONDITIONS = tuple(Condition)
_KINDS = tuple(Kind)
_UNBIASED = STATES.index(Outcome.UNBIASED)
_VERSION = 3
_SPLIT, _UNUSABLE = VOTES.index("split"), VOTES.index("some unusable")


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


def open_run(path: Path) -> RunColumns:
    """Read a run, or what was kept of it when it was last as it is now.

    The first time takes about 2 seconds per 100,000 planned answers. The index of their words is left to `index_words`.

    Raises `StorageError` when there is no such run, it cannot be read, or it holds no role-play evaluation.
    """
    state = state_of(path)
    beside = _beside(path)
    words = WordIndex(beside / "words.sqlite")
    kept = _kept(beside / "columns.npz", state)
    # What was kept was made of this very file, which was looked through then.
    with reading_evaluation(path) if kept is None else Store(path, checked=True) as store:
        info = RunInfo.of(path, store.meta(), runfile.panels(store), labelled=runfile.has_labels(store))
        if kept is None:
            kept = _read(store, info.panel)
            kept["dollars"] = np.array(_dollars(store))
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
    folder = path.with_name(path.name + ".view")
    try:
        folder.mkdir(exist_ok=True)
        (folder / ".writable").touch()
    except OSError:
        return Path(tempfile.mkdtemp(prefix=f"biaslens-view-{safe_name(path.stem)}-"))
    return folder


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
        name: np.array(values, dtype=np.int32)
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
        key: _UNUSABLE if Vote.UNUSABLE in votes else int(len(votes) > 1)  # 0 unanimous, 1 split
        for key, votes in given.items()
    }
    return _by_key(keys, codes, np.int32(NOTHING))


def _labels(store: Store, keys: NDArray[np.bytes_], state: Codes) -> Codes:
    outcome = {key: STATES.index(Outcome(said)) for key, said in runfile.label_outcomes(store).items()}
    said = _by_key(keys, outcome, np.int32(NOTHING))
    return np.where(said == NOTHING, NOTHING, said != state).astype(np.int32)


@dataclass(frozen=True)
class Facet:
    """One thing that tells answers apart: its name in addresses and for people, its values, and codes of them.

    Codes are those of the answers, or where it is told `by_question` of the questions; `NOTHING` where it says nothing.
    """

    name: str
    title: str
    values: tuple[str, ...]
    codes: Codes
    by_question: bool = False


class Answers:
    """All answers of some runs, those to one question together: question, condition, run and trial are their order.

    Questions that several runs asked are one. `questions` are those of all, by attribute, role and encounter.
    """

    def __init__(self, runs: Sequence[RunColumns]) -> None:
        self.runs = runs
        known = {question.question_id: question for run in runs for question in run.questions}
        self.questions = sorted(known.values(), key=_reading_order)
        place = {question.question_id: number for number, question in enumerate(self.questions)}
        of_run = [np.array([place[one.question_id] for one in run.questions], dtype=np.int32) for run in runs]
        question = _joined([mapping[run.question] for mapping, run in zip(of_run, runs, strict=True)])
        run_of = _joined([np.full(len(run.key), number, dtype=np.int32) for number, run in enumerate(runs)])
        condition = _joined([run.condition for run in runs])
        trial = _joined([run.trial for run in runs])
        rank = ((question.astype(np.int64) * len(_CONDITIONS) + condition) * len(runs) + run_of) * 2**20 + trial
        order = np.argsort(rank, kind="stable")
        self.question, self.run, self.condition, self.trial = (
            values[order] for values in (question, run_of, condition, trial)
        )
        self.place = place
        self.row_of_run = _rows(order, [len(run.key) for run in runs])

        def whole(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(run, name) for run in runs])[order] if runs else np.empty(0)

        self.key, self.state, self.at, self.screen = map(whole, ("key", "state", "at", "screen"))
        self._reasons, self._oracles = (_merged(runs, name, order) for name in ("reason", "oracle"))
        self._whole = whole
        group = rank[order] >> 20
        starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]]) if len(group) else np.empty(0, dtype=np.int64)
        self.starts = starts
        """First row of each question asked of one run under one condition, shape (G,)."""
        self.sizes = np.diff(np.r_[starts, len(group)])

    def row_of(self, run: int, key: str) -> int | None:
        """Row of a key of a run; None where it does not hold it."""
        mine, wanted = self.by_number[run], key.encode("ascii", "replace")
        found = int(np.searchsorted(self._keys_of[run], wanted))
        return int(mine[found]) if found < len(mine) and self.key[mine[found]] == wanted else None

    def of_role(self, question: int) -> Sequence[int]:
        """Questions of the same role as one."""
        this = self.questions[question]
        first = last = question
        while first and self._is_of(first - 1, this):
            first -= 1
        while last + 1 < len(self.questions) and self._is_of(last + 1, this):
            last += 1
        return range(first, last + 1)

    def _is_of(self, question: int, this: ViewedQuestion) -> bool:
        one = self.questions[question]
        return (one.attribute, one.role) == (this.attribute, this.role)

    @cached_property
    def by_number(self) -> list[NDArray[np.int64]]:
        """Rows of each run in the order of their keys."""
        pairs = zip(self.row_of_run, self.runs, strict=True)
        return [rows[np.argsort(run.number, kind="stable")] for rows, run in pairs]

    @cached_property
    def _keys_of(self) -> list[NDArray[np.bytes_]]:
        return [self.key[rows] for rows in self.by_number]

    @cached_property
    def clusters(self) -> Clusters:
        """What the questions share, as intervals cover it."""
        known = {
            question.question_id: comparison
            for run in self.runs
            for question, comparison in zip(run.questions, run.comparisons, strict=True)
        }
        role, comparison, attribute = (
            np.unique(np.array(values, dtype=object), return_inverse=True)[1]
            for values in (
                [f"{one.attribute}\n{one.role}" for one in self.questions],
                [known[one.question_id] for one in self.questions],
                [one.attribute for one in self.questions],
            )
        )
        return Clusters(role, comparison, attribute)

    @cached_property
    def counts(self) -> NDArray[np.int32]:
        """Trials of each group by state, shape (G, 7)."""
        return (
            np.stack(
                [np.add.reduceat((self.state == code).astype(np.int32), self.starts) for code in range(len(STATES))],
                axis=1,
            )
            if len(self.starts)
            else np.empty((0, len(STATES)), dtype=np.int32)
        )

    @cached_property
    def majority(self) -> NDArray[np.int8]:
        """State of more than half of each group's trials, `NOTHING` where there is none, shape (G,)."""
        most = self.counts.argmax(axis=1)
        return np.where(self.counts.max(axis=1, initial=0) * 2 > self.sizes, most, NOTHING).astype(np.int8)

    @cached_property
    def group(self) -> Codes:
        """Group of each row, shape (N,)."""
        return np.repeat(np.arange(len(self.starts), dtype=np.int32), self.sizes)

    def group_at(self, run: int, condition: int) -> Codes:
        """Group of each question in one run under one condition, `NOTHING` where it was not asked so, shape (Q,)."""
        result = np.full(len(self.questions), NOTHING, dtype=np.int32)
        chosen = np.flatnonzero((self.run[self.starts] == run) & (self.condition[self.starts] == condition))
        result[self.question[self.starts[chosen]]] = chosen
        return result

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Run and condition of every column of a matrix."""
        seen = np.unique(self.run[self.starts].astype(np.int64) * len(_CONDITIONS) + self.condition[self.starts])
        return [(int(each) // len(_CONDITIONS), int(each) % len(_CONDITIONS)) for each in seen]

    @cached_property
    def columns(self) -> dict[str, Facet]:
        """Everything that answers can be told apart by, in the order in which it is shown."""
        asked = self.questions
        made = [
            Facet("model", "Model", tuple(run_names(self.runs)), self.run),
            Facet("outcome", "Outcome", tuple(map(str, STATES)), self.state),
            Facet("condition", "Condition", tuple(map(_said, _CONDITIONS)), self.condition),
            _by_question("kind", "Kind", [_said(Kind(one.kind)) for one in asked], [_said(kind) for kind in _KINDS]),
            _by_question("attribute", "Attribute of the role", [one.attribute for one in asked], list(Attribute)),
            _by_question("target", "Attribute asked about", [one.target for one in asked], list(Attribute)),
            _by_question("role", "Role", [one.role for one in asked]),
            _by_question("groups", "Groups", [" / ".join(one.groups) for one in asked]),
            _by_question("theme", "Theme of the prejudice", [one.theme for one in asked]),
            _by_question("against", "Prejudice against", [_against(one) for one in asked]),
            _by_question("stereotype", "Stereotype", [one.stereotype for one in asked]),
            Facet("took", "Option taken", ("what the prejudice picks", "another group", "neither"), self._took),
            Facet("reason", "Reason of the verdict", self._reasons[1], self._reasons[0]),
            Facet("oracle", "Decided by", self._oracles[1], self._oracles[0]),
            Facet("votes", "Judges' votes", VOTES, self._whole("votes")),
            Facet("trials", "Trials", TRIALS, self._trials),
            Facet("mirror", "Mirrored question", MIRRORS, self._mirror),
            Facet("says_does", "Says and does", SAYS_DOES, self._says_does),
            Facet("cut", "Cut off", CUT, self._whole("cut")),
            Facet("label", "People's label", LABELS, self._whole("label")),
        ]
        return {column.name: column for column in made if (column.codes != NOTHING).any()}

    @cached_property
    def _took(self) -> Codes:
        taken = self._whole("taken")
        picks = np.array([NOTHING if one.picks is None else one.picks for one in self.questions], dtype=np.int32)
        known = picks[self.question] if len(picks) else taken
        neither = (self.state == _UNBIASED) | (self.state == STATES.index(Outcome.REFUSED))
        took = np.where(self.state == BIASED, np.where(taken == known, 0, 1), np.where(neither, 2, NOTHING))
        return np.where(known == NOTHING, NOTHING, took).astype(np.int32)

    @cached_property
    def _trials(self) -> Codes:
        valid = self.counts[:, VALID].sum(axis=1)
        differ = (self.counts[:, VALID] > 0).sum(axis=1) > 1
        return np.where(valid < 2, NOTHING, differ).astype(np.int32)[self.group]

    def _of_question(self, state: NDArray[np.int8], pair: tuple[int, int]) -> NDArray[np.int8]:
        groups = self.group_at(*pair)
        return np.where(groups == NOTHING, NOTHING, state[groups]).astype(np.int8)

    @cached_property
    def _mirror(self) -> Codes:
        original = np.array([self.place.get(one.mirror_of, NOTHING) for one in self.questions], dtype=np.int32)
        result = np.full(len(self.starts), NOTHING, dtype=np.int32)
        mirrors = np.flatnonzero(original != NOTHING)
        for pair in self.pairs if len(mirrors) else ():
            state = self._of_question(self.majority, pair)
            one, other = state[mirrors], state[original[mirrors]]
            said = np.where((one == NOTHING) | (other == NOTHING), NOTHING, (one == BIASED) != (other == BIASED))
            groups = self.group_at(*pair)
            for questions in (mirrors, original[mirrors]):
                asked = groups[questions] != NOTHING
                result[groups[questions][asked]] = said[asked]
        return result[self.group]

    @cached_property
    def _says_does(self) -> Codes:
        """By encounter and condition: whether the yes/no question is denied, and whether the choice follows."""
        result = np.full(len(self.starts), NOTHING, dtype=np.int32)
        forms: dict[str, list[int]] = {}
        for number, one in enumerate(self.questions):
            if one.encounter and not one.mirror_of:
                forms.setdefault(one.encounter, []).append(number)
        kind = [one.kind for one in self.questions]
        first = [({Kind(kind[number]): number for number in reversed(numbers)}, numbers) for numbers in forms.values()]
        whole = [
            (of[Kind.YES_NO], of[Kind.CHOICE], numbers)
            for of, numbers in first
            if {Kind.YES_NO, Kind.CHOICE} <= of.keys()
        ]
        if not whole:
            return result[self.group]
        says, does = (np.array(each) for each in list(zip(*whole, strict=True))[:2])
        width = max(len(numbers) for *_, numbers in whole)
        members = np.array([[*numbers, *[numbers[0]] * (width - len(numbers))] for *_, numbers in whole])
        for pair in self.pairs:
            state, groups = self._of_question(self.majority, pair), self.group_at(*pair)
            follows = self._of_question(self._follows, pair)
            known = (np.isin(state[says], (BIASED, _UNBIASED))) & (follows[does] != NOTHING)
            code = np.where(known, 2 * (state[says] == BIASED) + (follows[does] != 1), NOTHING)
            for form in members.T:
                asked = groups[form] != NOTHING
                result[groups[form][asked]] = code[asked]
        return result[self.group]

    @cached_property
    def _follows(self) -> NDArray[np.int8]:
        """Whether more than half of each group's trials take what the prejudice picks; `NOTHING` without a choice."""
        if not len(self.starts):
            return np.empty(0, dtype=np.int8)
        took = np.add.reduceat((self._took == 0).astype(np.int32), self.starts)
        known = np.add.reduceat((self._took != NOTHING).astype(np.int32), self.starts)
        return np.where(known == 0, NOTHING, took * 2 > self.sizes).astype(np.int8)

    @cached_property
    def doubt(self) -> NDArray[np.float32]:
        """How much speaks for a second look at each verdict, shape (N,); 0 for nothing.

        A label that differs counts most, then split or unusable votes, a local judge on the other side, an answer that
        was cut off, and trials that differ.
        """
        votes, label, cut = (self._whole(name) for name in ("votes", "label", "cut"))
        against = np.abs(np.nan_to_num(self.screen, nan=0.5) - (self.state == BIASED)) - 0.5
        against = np.where(np.isnan(self.screen) | ~VALID[self.state], 0, np.maximum(against, 0) * 4)
        doubt: NDArray[np.float32] = (
            8 * (label == 1)
            + 3 * (votes == _SPLIT)
            + 3 * (votes == _UNUSABLE)
            + against
            + 2 * ((cut == 1) & VALID[self.state])
            + 0.5 * (self._trials == 1)
        ).astype(np.float32)
        return doubt


def run_names(runs: Sequence[RunColumns]) -> list[str]:
    """Name of each run for people: its model, with the file's name where several runs are of one."""
    models = [run.info.model or run.info.path.name for run in runs]
    return [
        model if models.count(model) == 1 else f"{model} ({run.info.path.name})"
        for model, run in zip(models, runs, strict=True)
    ]


def _said(name: str) -> str:
    return str(name).replace("_", " ").replace("yes no", "yes/no")


def _against(question: ViewedQuestion) -> str:
    if not question.disfavoured or not question.target:
        return ""
    return named_group(question.disfavoured, Attribute(question.target)) or ""


def _reading_order(question: ViewedQuestion) -> tuple[object, ...]:
    return (
        question.attribute, question.role, question.encounter, _KINDS.index(Kind(question.kind)), question.question_id
    )  # fmt: skip


def _joined(parts: Sequence[Codes]) -> Codes:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


def _rows(order: NDArray[np.int64], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """Row of each answer of each run."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.split(place, np.cumsum(sizes)[:-1])


def _merged(runs: Sequence[RunColumns], name: str, order: NDArray[np.int64]) -> tuple[Codes, tuple[str, ...]]:
    """One column of codes, of names that each run numbers in its own way."""
    values = sorted({value for run in runs for value in getattr(run, f"{name}s")})
    place = {value: code for code, value in enumerate(values)}
    parts = [
        np.array([*(place[value] for value in getattr(run, f"{name}s")), NOTHING], dtype=np.int32)[getattr(run, name)]
        for run in runs
    ]
    return _joined(parts)[order], tuple(values)


def _by_question(name: str, title: str, said: Sequence[str], order: Sequence[str] = ()) -> Facet:
    values = [str(value) for value in order] or sorted(set(said) - {""})
    place = {value: code for code, value in enumerate(values)} | {"": NOTHING}
    return Facet(
        name, title, tuple(values), np.array([place[str(one)] for one in said], dtype=np.int32), by_question=True
    )
