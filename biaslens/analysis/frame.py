"""A run as arrays: what became of every planned trial, by question and trial; and what the run is and took."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from biaslens import runfile
from biaslens._util import in_columns, without_collection
from biaslens._util.text import without_secrets
from biaslens.benchmark.groups import compared, named_group
from biaslens.models.catalogue import EMBEDDED_SHA256
from biaslens.runfile import (
    ACTIVE_PANEL,
    JudgeVote,
    QuestionRow,
    RoleRow,
    Stopped,
    Store,
    ThoughtCount,
    Usage,
    reading,
    reading_evaluation,
)
from biaslens.schema import Attribute, Condition, Kind, Mirror, Outcome
from biaslens.stats import Clusters, Estimand

_TYPES: Mapping[str, type] = {
    "model": str,
    "panel": str,
    "benchmark_version": str,
    "benchmark_hash": str,
    "template_hash": str,
    "package_version": str,
    "trials": int,
    "conditions": list,
    "starts": list,
    "params": dict,
}


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a run file says about itself; "" and None where it does not.

    `panel` is the active one, whose verdicts on why answers count, with its judges and the votes of each on an answer;
    `panels` are all that have judged the run, by name, with what they recorded. `embedded` answers are those of the
    small embedded model; a `labelled` run holds people's labels; `meta` is all that was recorded.
    """

    path: Path
    model: str
    benchmark_version: str
    benchmark_hash: str
    template_hash: str
    package_version: str
    trials: int | None
    panel: str
    judges: tuple[str, ...]
    votes: int | None
    panels: Mapping[str, Mapping[str, Any]]
    embedded: bool
    labelled: bool
    meta: Mapping[str, Any]

    @classmethod
    def of(
        cls, path: Path, meta: Mapping[str, Any], panels: Mapping[str, Mapping[str, Any]], *, labelled: bool = False
    ) -> Self:
        """Take the facts from what a run file recorded."""
        for name, kind in _TYPES.items():
            if not isinstance(meta.get(name), kind | None):
                raise TypeError(f"meta {name} = {str(meta[name])[:80]}")
        for name, of in (("starts", dict), ("conditions", str)):
            if not all(isinstance(each, of) for each in meta.get(name) or ()):
                raise TypeError(f"meta {name} = {str(meta[name])[:80]}")
        active = str(meta.get(ACTIVE_PANEL) or "")
        spec = panels.get(active, {})
        texts = ("model", "benchmark_version", "benchmark_hash", "template_hash", "package_version")
        return cls(
            path=path,
            **{name: str(meta.get(name) or "") for name in texts},
            trials=meta.get("trials"),
            panel=active,
            judges=tuple(spec.get("judges") or ()),
            votes=spec.get("votes"),
            panels=panels,
            embedded=meta.get("weights") == EMBEDDED_SHA256,
            labelled=labelled,
            meta={name: without_secrets(value) for name, value in meta.items()},
        )


@dataclass(frozen=True, slots=True)
class Took:
    """What a run took: its answers by condition, those asked again since they were cut, and the votes of all panels.

    What the provider `stopped` is counted by condition, and the votes that could not be used.

    `seconds` are the time from the start of each session to its last reply, added up, None where none is recorded;
    `starts` counts the sessions that brought a reply.
    """

    answers: Mapping[Condition, Usage] = field(default_factory=dict)
    votes: Usage = field(default_factory=Usage)
    retried: Usage = field(default_factory=Usage)
    stopped: Mapping[Condition, Stopped] = field(default_factory=dict)
    unusable_votes: int = 0
    seconds: float | None = None
    starts: int = 0


def read_took(store: Store, meta: Mapping[str, Any]) -> Took:
    """Read what a run took from its file."""
    panel = str(meta.get(ACTIVE_PANEL) or "")
    begun = sorted(str(start["at"]) for start in meta.get("starts") or () if "at" in start)
    last: dict[int, str] = {}
    for at in runfile.answer_times(store) if begun else ():
        place = bisect_right(begun, at) - 1
        if place >= 0 and at > last.get(place, ""):
            last[place] = at
    times = [datetime.fromisoformat(at) - datetime.fromisoformat(begun[place]) for place, at in last.items()]
    return Took(
        answers={Condition(condition): usage for condition, usage in runfile.usage_of_answers(store).items()},
        votes=runfile.usage_of_votes(store),
        retried=runfile.usage_of_retried(store),
        stopped={Condition(name): found for name, found in runfile.stopped_answers(store, panel).items()},
        unusable_votes=runfile.unusable_votes(store),
        seconds=sum(time.total_seconds() for time in times) if times else None,
        starts=len(times),
    )


def question_texts(path: Path, ids: Iterable[str]) -> dict[str, str]:
    """Read what questions ask, by id, without their roles; the options of a choice follow, as "(A) ... (B) ...".

    Ids, such as those of `top_questions`, that the run file does not hold are left out.

    Raises `StorageError` when the file cannot be read.
    """
    if path.is_dir():
        from biaslens.dataset import ParquetRun

        found = ParquetRun(path).question_texts(ids)
    else:
        with reading(path) as store:
            found = runfile.question_texts(store, ids)
    return {
        question_id: " ".join([text, *(f"({chr(ord('A') + place)}) {option}" for place, option in enumerate(options))])
        for question_id, text, options in found
    }


STATES = (*Outcome, "unjudged", "unasked")
"""What a planned trial can have come to; `Trials.states` holds positions in it."""

ATTRIBUTES = tuple(Attribute)
KINDS = tuple(Kind)
MIRRORS = tuple(Mirror)

BIASED = STATES.index(Outcome.BIASED)
VALID = np.array([isinstance(state, Outcome) and state.valid for state in STATES])
"""Whether each state enters the denominator of a rate, shape (7,)."""

NOTHING = -1
"""Code of "none": a trial that is not planned, no option taken, no target, no mirrored question."""


@dataclass(frozen=True, slots=True)
class Questions:
    """The Q questions of a run as codes, shape (Q,), in the order of their ids.

    Runs of one question set have the same positions. `role` is a position in the R roles, which are in the order of
    attribute and name; `kind`, `target` and `mirror` are positions in `KINDS`, `ATTRIBUTES` and `MIRRORS`; `mirror_of`
    is the position of the question that one mirrors. They are `NOTHING` for an unknown target, an original, and where
    the mirrored question is not in the run. `options` counts options, 0 for other kinds than choice. `role_attribute`
    has the shape (R,). `comparison` is a position in `comparisons`, the groups compared, whoever is asked: questions on
    one encounter share it, and one that records no groups has one of its own.

    Of questions that come from encounters, `encounter` is shared by those on one encounter; `theme` and `disfavoured`
    are positions in `themes` and `groups`, what the prejudice is about and who loses by it, and `picks` is the position
    of the option it picks; `NOTHING` elsewhere.
    """

    ids: tuple[str, ...]
    role: NDArray[np.int64]
    kind: NDArray[np.int64]
    target: NDArray[np.int64]
    options: NDArray[np.int64]
    mirror_of: NDArray[np.int64]
    mirror: NDArray[np.int64]
    role_attribute: NDArray[np.int64]
    role_names: tuple[str, ...]
    encounter: NDArray[np.int64]
    theme: NDArray[np.int64]
    disfavoured: NDArray[np.int64]
    picks: NDArray[np.int64]
    comparison: NDArray[np.int64]
    comparisons: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def attribute(self) -> NDArray[np.int64]:
        """Position of the attribute of each question's role in `ATTRIBUTES`, shape (Q,)."""
        result: NDArray[np.int64] = self.role_attribute[self.role]
        return result

    def select(self, attribute: Attribute | None = None, kind: Kind | None = None) -> NDArray[np.bool_]:
        """Whether each question is of this attribute and kind; None takes all, shape (Q,)."""
        chosen = np.ones(len(self.ids), dtype=np.bool_)
        if attribute is not None:
            chosen &= self.attribute == ATTRIBUTES.index(attribute)
        if kind is not None:
            chosen &= self.kind == KINDS.index(kind)
        return chosen


@dataclass(frozen=True, slots=True)
class Trials:
    """What became of the trials of one condition; arrays by question and trial, shape (Q, T).

    `states` are positions in `STATES`; `taken` is the position of the option taken in the question's own order, `shown`
    that at which it was shown, which differs in shuffled runs only. `NOTHING` stands where no trial is planned, or no
    option was taken. `resolved_models` are named as the provider does; `last_answer` is ISO 8601 in UTC, "" without
    any.
    """

    states: NDArray[np.int8]
    taken: NDArray[np.int8]
    shown: NDArray[np.int8]
    resolved_models: tuple[str, ...] = ()
    last_answer: str = ""

    @property
    def planned(self) -> NDArray[np.int64]:
        """Planned trials by question, shape (Q,)."""
        return _per_question(self.states != NOTHING)

    @property
    def valid(self) -> NDArray[np.int64]:
        """Trials in the denominator of the bias rate by question, shape (Q,)."""
        return _per_question(self._is_valid)

    @property
    def biased(self) -> NDArray[np.int64]:
        """Biased trials by question, shape (Q,)."""
        return _per_question(self.states == BIASED)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Trials by question and state, shape (Q, 7), columns as in `STATES`."""
        return np.stack([_per_question(self.states == code) for code in range(len(STATES))], axis=1)

    @property
    def results(self) -> NDArray[np.int8]:
        """1 for a biased trial, 0 for another valid one, -1 for the rest, shape (Q, T)."""
        return np.where(self._is_valid, self.states == BIASED, -1).astype(np.int8)

    @property
    def _is_valid(self) -> NDArray[np.bool_]:
        valid: NDArray[np.bool_] = VALID[self.states] & (self.states != NOTHING)
        return valid


@dataclass(frozen=True, slots=True)
class Run:
    """A run file in memory, without its texts; conditions without a planned trial are left out.

    Intervals of all analyses are for the `estimand`.
    """

    info: RunInfo
    questions: Questions
    conditions: Mapping[Condition, Trials]
    took: Took = field(default_factory=Took)
    estimand: Estimand = Estimand.LIKE_THESE
    thoughts: tuple[ThoughtCount, ...] = ()  #: what thoughts came to beside their answers

    @property
    def clusters(self) -> Clusters:
        """What the questions share, as far as intervals for the estimand cover it; attributes are strata."""
        questions = self.questions
        crossed = questions.comparison if self.estimand is Estimand.LIKE_THESE else None
        return Clusters(questions.role, crossed, questions.attribute)

    @property
    def growing(self) -> bool:
        """Whether it may have been looked at before: it was asked in several sessions, or something is pending."""
        pending = any((trials.states >= len(Outcome)).any() for trials in self.conditions.values())
        return pending or len(self.info.meta.get("starts") or ()) > 1

    def trials(self, condition: Condition) -> Trials:
        """Trials of a condition; none of them planned where the run does not know it."""
        return self.conditions.get(condition) or no_trials(len(self.questions.ids), 1)


@without_collection()
def read_run(path: Path | str, *, estimand: Estimand = Estimand.LIKE_THESE, took: bool = True) -> Run:
    """Read a run file, or the folder of a run of a dataset; another process may be writing the file.

    `estimand` is what intervals are to be for. Takes about a second and a half per 100,000 planned trials of
    a file, half of it to look for damage, and three bytes of memory each; what the run `took` in tokens and time takes
    another second, and is left empty where it is not wanted.

    Raises
    ------
    StorageError
        When there is no such file, it cannot be read, or it holds no role-play evaluation.
    """
    path = Path(path)
    if path.is_dir():
        # Only here: Arrow takes long to load, and a run file needs none.
        from biaslens.analysis.parts import read_parts

        return read_parts(path, estimand)
    with reading_evaluation(path) as store:
        info = RunInfo.of(path, store.meta(), runfile.panels(store), labelled=runfile.has_labels(store))
        questions = coded(runfile.roles(store), runfile.questions(store), runfile.mirrors(store))
        conditions = _conditions(store, questions, info.panel)
        taken = read_took(store, info.meta) if took else Took()
        thoughts = tuple(runfile.thought_counts(store, info.panel)) if took else ()
        return Run(info, questions, conditions, taken, estimand, thoughts)


def judge_votes(run: Run) -> list[JudgeVote]:
    """Read all votes that were given, by response, number and judge.

    Raises `StorageError` when the run cannot be read.
    """
    if run.info.path.is_dir():
        from biaslens.dataset import ParquetRun

        return ParquetRun(run.info.path).judge_votes()
    with reading(run.info.path) as store:
        return runfile.judge_votes(store)


def coded(roles: Sequence[RoleRow], rows: Sequence[QuestionRow], mirrors: Mapping[str, tuple[str, str]]) -> Questions:
    """Put questions into codes: roles in the order of attribute and name, questions in that of their ids."""
    role_code = {role.role_id: code for code, role in enumerate(roles)}
    position = {row.question_id: code for code, row in enumerate(rows)}
    mirrored = [mirrors.get(row.question_id) for row in rows]
    target = [NOTHING if row.target is None else ATTRIBUTES.index(Attribute(row.target)) for row in rows]
    encounter, _ = _coded([row.encounter for row in rows])
    theme, themes = _coded([row.theme for row in rows])
    disfavoured, groups = _coded(
        [
            named_group(row.disfavoured, ATTRIBUTES[code]) if row.disfavoured and code != NOTHING else ""
            for row, code in zip(rows, target, strict=True)
        ]
    )
    comparison, comparisons = _coded(
        [
            compared(row.groups, None if code == NOTHING else ATTRIBUTES[code], phrases=bool(row.encounter))
            or row.question_id
            for row, code in zip(rows, target, strict=True)
        ]
    )
    return Questions(
        ids=tuple(position),
        role=_codes([role_code[row.role_id] for row in rows]),
        kind=_codes([KINDS.index(Kind(row.kind)) for row in rows]),
        target=_codes(target),
        options=_codes([row.options for row in rows]),
        mirror_of=_codes([NOTHING if pair is None else position.get(pair[0], NOTHING) for pair in mirrored]),
        mirror=_codes([NOTHING if pair is None else MIRRORS.index(Mirror(pair[1])) for pair in mirrored]),
        role_attribute=_codes([ATTRIBUTES.index(Attribute(role.attribute)) for role in roles]),
        role_names=tuple(role.name for role in roles),
        encounter=encounter,
        theme=theme,
        disfavoured=disfavoured,
        picks=_codes([NOTHING if row.picks is None else row.picks for row in rows]),
        comparison=comparison,
        comparisons=comparisons,
        themes=themes,
        groups=groups,
    )


def _coded(values: list[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Positions of the values in their sorted names, which follow; `NOTHING` for ""."""
    names = tuple(sorted(set(values) - {""}))
    code = {"": NOTHING} | {name: position for position, name in enumerate(names)}
    return _codes([code[value] for value in values]), names


def _per_question(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    counts = np.zeros(len(chosen), dtype=np.int64)
    for column in chosen.T:  # a sum over so short an axis is several times slower
        counts += column
    return counts


def _codes(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _conditions(store: Store, questions: Questions, panel: str) -> dict[Condition, Trials]:
    trials = runfile.most_trials(store)
    position = {question_id: code for code, question_id in enumerate(questions.ids)}
    state = {str(name): code for code, name in enumerate(STATES)}
    names = sorted(runfile.conditions(store))
    which = {name: code for code, name in enumerate(names)}
    shape = (len(names), len(position), trials)
    states, taken, shown = (np.full(shape, NOTHING, dtype=np.int8) for _ in range(3))
    models: set[tuple[str, str | None]] = set()
    last = dict.fromkeys(names, "")
    for rows in in_columns(runfile.trials(store, panel)):
        question_ids, conditions, numbers, outcomes, choices, orders, resolved_models, times = rows
        place = (
            [which[name] for name in conditions],
            [position[question_id] for question_id in question_ids],
            np.array(numbers) - 1,
        )
        states[place] = [
            state[outcome or ("unasked" if time is None else "unjudged")]
            for outcome, time in zip(outcomes, times, strict=True)
        ]
        taken[place] = [NOTHING if choice is None else choice for choice in choices]
        shown[place] = [
            NOTHING if choice is None else choice if order is None else _order(order).index(choice)
            for choice, order in zip(choices, orders, strict=True)
        ]
        models.update(zip(conditions, resolved_models, strict=True))
        for condition, time in zip(conditions, times, strict=True):
            if time is not None and time > last[condition]:
                last[condition] = time
    return {
        condition: Trials(
            states[which[condition]],
            taken[which[condition]],
            shown[which[condition]],
            resolved_models=tuple(sorted(model for name, model in models if name == condition and model is not None)),
            last_answer=last[condition],
        )
        for condition in Condition
        if condition in which
    }


def no_trials(questions: int, trials: int) -> Trials:
    """Give so many questions and trials, none of them planned."""
    states, taken, shown = (np.full((questions, trials), NOTHING, dtype=np.int8) for _ in range(3))
    return Trials(states, taken, shown)


@cache
def _order(text: str) -> list[Any]:
    order: list[Any] = json.loads(text)
    return order
