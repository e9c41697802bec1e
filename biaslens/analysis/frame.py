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
from biaslens._util.text import without_secrets
from biaslens.models.local import EMBEDDED_SHA256
from biaslens.runfile import PANEL_IN_FORCE, Store, reading, reading_evaluation
from biaslens.runfile import Usage as Usage  # noqa: PLC0414 - part of `Took`
from biaslens.schema import Attribute, Condition, Kind, Mirror, Outcome

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

    Parameters
    ----------
    path
        The run file.
    model
        The model as the user named it.
    benchmark_version, benchmark_hash, template_hash, package_version
        What was asked, in which words, by which version of biaslens.
    trials
        Trials a question.
    panel
        Name of the panel whose verdicts on why answers count.
    judges, votes, sure
        Its judges, votes of each of them an answer, and how sure the local judge must be to decide without them.
    panels
        All panels that have judged the run, by name, with what they recorded.
    embedded
        Whether the answers are the small embedded model's.
    labelled
        Whether the run holds labels by people.
    meta
        All that was recorded.
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
    sure: float | None
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
        panel = panels.get(meta.get(PANEL_IN_FORCE) or "", {})

        def text(name: str) -> str:
            return str(meta.get(name) or "")

        return cls(
            path=path,
            model=text("model"),
            benchmark_version=text("benchmark_version"),
            benchmark_hash=text("benchmark_hash"),
            template_hash=text("template_hash"),
            package_version=text("package_version"),
            trials=meta.get("trials"),
            panel=text(PANEL_IN_FORCE),
            judges=tuple(panel.get("judges") or ()),
            votes=panel.get("votes"),
            sure=(panel.get("screen") or {}).get("sure"),
            panels=panels,
            embedded=meta.get("weights") == EMBEDDED_SHA256,
            labelled=labelled,
            meta={name: without_secrets(value) for name, value in meta.items()},
        )


@dataclass(frozen=True, slots=True)
class Took:
    """What a run took.

    Parameters
    ----------
    answers
        By condition.
    votes
        Judges' votes of all panels.
    seconds
        Time from each start to its last reply, added up; None where no start is recorded.
    starts
        Starts that brought a reply.
    """

    answers: Mapping[Condition, Usage] = field(default_factory=dict)
    votes: Usage = field(default_factory=Usage)
    seconds: float | None = None
    starts: int = 0


def read_took(store: Store, meta: Mapping[str, Any]) -> Took:
    """Read what a run took from its file."""
    begun = sorted(str(start["at"]) for start in meta.get("starts") or () if "at" in start)
    last = _last_replies(store, begun) if begun else {}
    return Took(
        answers={Condition(condition): usage for condition, usage in runfile.usage_of_answers(store).items()},
        votes=runfile.usage_of_votes(store),
        seconds=sum(_seconds(begun[place], at) for place, at in last.items()) if last else None,
        starts=len(last),
    )


def _last_replies(store: Store, begun: Sequence[str]) -> dict[int, str]:
    last: dict[int, str] = {}
    for at in runfile.answer_times(store):
        place = bisect_right(begun, at) - 1
        if place >= 0 and at > last.get(place, ""):
            last[place] = at
    return last


def _seconds(begun: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()


def question_texts(path: Path, ids: Iterable[str]) -> dict[str, str]:
    """Read what questions ask, by id; ids that the run file does not hold are left out.

    Parameters
    ----------
    path
        The run file.
    ids
        Question ids, such as those of `top_questions`.

    Returns
    -------
    dict
        The question without its role; the options of a choice follow it, as "(A) ... (B) ...".

    Raises
    ------
    StorageError
        When the file cannot be read.
    """
    with reading(path) as store:
        found = runfile.question_texts(store, ids)
    return {question_id: " ".join([text, *_lettered(options)]) for question_id, text, options in found}


def _lettered(options: list[str]) -> list[str]:
    return [f"({chr(ord('A') + place)}) {option}" for place, option in enumerate(options)]


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
    """The questions of a run as codes, a position a question, in the order of their ids.

    Parameters
    ----------
    ids
        Question ids, length Q, ascending: runs of one question set have the same positions.
    role
        Position of each question's role, shape (Q,).
    kind
        Position of each question's kind in `KINDS`, shape (Q,).
    target
        Position of the attribute it asks about in `ATTRIBUTES`, `NOTHING` where unknown, shape (Q,).
    options
        Number of options, 0 for other kinds than choice, shape (Q,).
    mirror_of
        Position of the question it mirrors, `NOTHING` for an original or where that one is not in the run, shape (Q,).
    mirror
        How it mirrors it, as position in `MIRRORS`, `NOTHING` for an original, shape (Q,).
    role_attribute
        Position of each role's attribute in `ATTRIBUTES`, shape (R,).
    role_names
        Names of the roles, length R, in the order of attribute and name.
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
    """What became of the trials of one condition.

    Parameters
    ----------
    states
        Positions in `STATES` by question and trial, `NOTHING` where none is planned, shape (Q, T).
    taken
        Position, in the question's own order, of the option taken, `NOTHING` where none was, shape (Q, T).
    shown
        Position at which the option taken was shown, shape (Q, T). Differs from `taken` only in shuffled runs.
    resolved_models
        Every model that answered, as the provider named it.
    last_answer
        When the last answer came (ISO 8601, UTC), "" without any.
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
    """A run file in memory, without its texts.

    Parameters
    ----------
    info
        What the file says about itself.
    questions
        What was asked.
    conditions
        What became of it, by condition, in the order of `Condition`; conditions without a planned trial are left out.
    took
        Tokens, money, time, and answers that were cut off.
    """

    info: RunInfo
    questions: Questions
    conditions: Mapping[Condition, Trials]
    took: Took = field(default_factory=Took)

    def trials(self, condition: Condition) -> Trials:
        """Trials of a condition; none of them planned where the run does not know it."""
        return self.conditions.get(condition) or _no_trials(len(self.questions.ids), 1)


def read_run(path: Path) -> Run:
    """Read a run file; another process may be writing it.

    Takes about a third of a second per 100,000 planned trials, and three bytes of memory each.

    Raises
    ------
    StorageError
        When there is no such file, it cannot be read, or it holds no role-play evaluation.
    """
    with reading_evaluation(path) as store:
        info = RunInfo.of(path, store.meta(), runfile.panels(store), labelled=runfile.has_labels(store))
        questions = _questions(store)
        took = read_took(store, info.meta)
        return Run(info, questions, _conditions(store, questions, info.panel), took)


def _questions(store: Store) -> Questions:
    roles, rows, mirrors = runfile.roles(store), runfile.questions(store), runfile.mirrors(store)
    role_code = {role.role_id: code for code, role in enumerate(roles)}
    position = {row.question_id: code for code, row in enumerate(rows)}
    mirrored = [mirrors.get(row.question_id) for row in rows]
    return Questions(
        ids=tuple(position),
        role=_codes([role_code[row.role_id] for row in rows]),
        kind=_codes([KINDS.index(Kind(row.kind)) for row in rows]),
        target=_codes([NOTHING if row.target is None else ATTRIBUTES.index(Attribute(row.target)) for row in rows]),
        options=_codes([row.options for row in rows]),
        mirror_of=_codes([NOTHING if pair is None else position.get(pair[0], NOTHING) for pair in mirrored]),
        mirror=_codes([NOTHING if pair is None else MIRRORS.index(Mirror(pair[1])) for pair in mirrored]),
        role_attribute=_codes([ATTRIBUTES.index(Attribute(role.attribute)) for role in roles]),
        role_names=tuple(role.name for role in roles),
    )


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
    pending: dict[str | None, int] = {None: state["unasked"]}
    unjudged = state["unjudged"]
    filled = {name: _no_trials(len(position), trials) for name in runfile.conditions(store)}
    models: dict[str, set[str]] = {name: set() for name in filled}
    last = dict.fromkeys(filled, "")
    rows = runfile.trials(store, panel)
    for question_id, condition, trial, outcome, choice, order, resolved_model, answered_at in rows:
        into, place = filled[condition], (position[question_id], trial - 1)
        if outcome is None:
            into.states[place] = pending.get(answered_at, unjudged)
        else:
            into.states[place] = state[outcome]
        if choice is not None:
            into.taken[place] = choice
            into.shown[place] = choice if order is None else _order(order).index(choice)
        if answered_at is not None and resolved_model is not None:
            models[condition].add(resolved_model)
            last[condition] = max(last[condition], answered_at)
    return {
        condition: Trials(
            states=filled[condition].states,
            taken=filled[condition].taken,
            shown=filled[condition].shown,
            resolved_models=tuple(sorted(models[condition])),
            last_answer=last[condition],
        )
        for condition in Condition
        if condition in filled
    }


def _no_trials(questions: int, trials: int) -> Trials:
    states, taken, shown = (np.full((questions, trials), NOTHING, dtype=np.int8) for _ in range(3))
    return Trials(states, taken, shown)


@cache
def _order(text: str) -> list[Any]:
    order: list[Any] = json.loads(text)
    return order
