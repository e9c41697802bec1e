"""A run as arrays: what became of every planned trial, by question and trial; and what the run is and took."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from biaslens._util.text import without_secrets
from biaslens.engine.damage import decoding
from biaslens.engine.store import Store, storage_errors
from biaslens.errors import StorageError
from biaslens.evaluation.panel import panels
from biaslens.evaluation.tables import PANEL_IN_FORCE, check_run
from biaslens.evaluation.upgrade import require_current
from biaslens.models.local import EMBEDDED_SHA256
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


_CUT = "finish_reason IN ('length', 'model_length', 'max_tokens')"

_SUMS = (
    f"count(*), coalesce(sum({_CUT}), 0), count(completion_tokens), coalesce(sum(prompt_tokens), 0), "
    "coalesce(sum(completion_tokens), 0), count(price), coalesce(sum(price), 0.0)"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Replies of one sort.

    Parameters
    ----------
    replies
        How many there are.
    cut
        Those that ended at the limit of tokens.
    counted
        Those whose tokens the provider told.
    prompt_tokens, completion_tokens
        Their tokens.
    priced
        Those with a price.
    dollars
        What these cost.
    """

    replies: int = 0
    cut: int = 0
    counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    priced: int = 0
    dollars: float = 0.0


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


def read_took(connection: sqlite3.Connection, meta: Mapping[str, Any]) -> Took:
    """Read what a run took from its file."""
    rows = connection.execute(f"SELECT condition, {_SUMS} FROM plan JOIN answers USING (key) GROUP BY condition")
    votes = connection.execute(f"SELECT {_SUMS} FROM votes JOIN answers USING (key)").fetchone()
    begun = sorted(str(start["at"]) for start in meta.get("starts") or () if "at" in start)
    last = _last_replies(connection, begun) if begun else {}
    return Took(
        answers={Condition(condition): Usage(*sums) for condition, *sums in rows},
        votes=Usage(*votes),
        seconds=sum(_seconds(begun[place], at) for place, at in last.items()) if last else None,
        starts=len(last),
    )


def _last_replies(connection: sqlite3.Connection, begun: Sequence[str]) -> dict[int, str]:
    last: dict[int, str] = {}
    for (at,) in connection.execute("SELECT answered_at FROM answers"):
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
    wanted = json.dumps(list(ids))
    with Store(path) as store, decoding(path), storage_errors(path):
        rows = store.connection.execute(
            "SELECT question_id, text, options FROM questions WHERE question_id IN (SELECT value FROM json_each(?))",
            (wanted,),
        ).fetchall()
    return {question_id: " ".join([text, *_lettered(json.loads(options))]) for question_id, text, options in rows}


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

# What the view `responses` says, without the questions and roles it joins to each row: twice as fast.
_RESPONSES = """
SELECT plan.question_id, plan.condition, plan.trial,
       CASE WHEN verdicts.outcome IS NOT NULL THEN verdicts.outcome
            WHEN answers.key IS NULL AND EXISTS (SELECT 1 FROM failures WHERE failures.key = plan.key) THEN 'error'
       END,
       verdicts.choice, plan.option_order, answers.resolved_model, answers.answered_at
FROM plan LEFT JOIN answers USING (key)
LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?)
ORDER BY plan.key
"""


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
    with Store(path) as store, decoding(path), storage_errors(path):
        require_responses(store)
        # One snapshot: another process may be adding questions and answers.
        store.connection.execute("BEGIN")
        info = RunInfo.of(path, store.meta(), panels(store), labelled=has_labels(store))
        questions = _questions(store.connection)
        took = read_took(store.connection, info.meta)
        return Run(info, questions, _conditions(store.connection, questions, info.panel), took)


def require_responses(store: Store) -> None:
    """Refuse a run file that is not a role-play evaluation."""
    if store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'responses'").fetchone() is None:
        raise StorageError(f"{store.path}: holds no role-play evaluation; give a file made by `biaslens evaluate`")
    require_current(store)
    check_run(store.connection, store.path)


def has_labels(store: Store) -> bool:
    """Whether people have settled what some answers of a run are."""
    return store.connection.execute("SELECT 1 FROM sampled WHERE outcome IS NOT NULL LIMIT 1").fetchone() is not None


def _questions(connection: sqlite3.Connection) -> Questions:
    roles = connection.execute("SELECT role_id, attribute, name FROM roles ORDER BY attribute, name").fetchall()
    rows = connection.execute(
        "SELECT question_id, role_id, kind, target, json_array_length(options) FROM questions ORDER BY question_id"
    ).fetchall()
    mirrors = _mirrors(connection)
    role_code = {role_id: code for code, (role_id, _, _) in enumerate(roles)}
    position = {row[0]: code for code, row in enumerate(rows)}
    mirrored = [mirrors.get(row[0]) for row in rows]
    return Questions(
        ids=tuple(position),
        role=_codes([role_code[row[1]] for row in rows]),
        kind=_codes([KINDS.index(Kind(row[2])) for row in rows]),
        target=_codes([NOTHING if row[3] is None else ATTRIBUTES.index(Attribute(row[3])) for row in rows]),
        options=_codes([row[4] for row in rows]),
        mirror_of=_codes([NOTHING if pair is None else position.get(pair[0], NOTHING) for pair in mirrored]),
        mirror=_codes([NOTHING if pair is None else MIRRORS.index(Mirror(pair[1])) for pair in mirrored]),
        role_attribute=_codes([ATTRIBUTES.index(Attribute(attribute)) for _, attribute, _ in roles]),
        role_names=tuple(name for _, _, name in roles),
    )


def _mirrors(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'mirrors'").fetchone() is None:
        return {}
    rows = connection.execute("SELECT question_id, mirror_of, mirror FROM mirrors")
    return {question_id: (mirror_of, mirror) for question_id, mirror_of, mirror in rows}


def _per_question(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    counts = np.zeros(len(chosen), dtype=np.int64)
    for column in chosen.T:  # a sum over so short an axis is several times slower
        counts += column
    return counts


def _codes(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _conditions(connection: sqlite3.Connection, questions: Questions, panel: str) -> dict[Condition, Trials]:
    found = connection.execute("SELECT DISTINCT condition FROM plan").fetchall()
    (trials,) = connection.execute("SELECT max(trial) FROM plan").fetchone()
    position = {question_id: code for code, question_id in enumerate(questions.ids)}
    state = {str(name): code for code, name in enumerate(STATES)}
    pending = {None: state["unasked"]}
    unjudged = state["unjudged"]
    filled = {name: _no_trials(len(position), trials) for (name,) in found}
    models: dict[str, set[str]] = {name: set() for name in filled}
    last = dict.fromkeys(filled, "")
    # In the order of the key plan, answers and verdicts are read side by side: five times faster than any other.
    rows = connection.execute(_RESPONSES, (panel,))
    for question_id, condition, trial, outcome, choice, order, resolved_model, answered_at in rows:
        into, place = filled[condition], (position[question_id], trial - 1)
        if outcome is None:
            into.states[place] = pending.get(answered_at, unjudged)
        else:
            into.states[place] = state[outcome]
        if choice is not None:
            into.taken[place] = choice
            into.shown[place] = choice if order is None else _order(order).index(choice)
        if answered_at is not None:
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
