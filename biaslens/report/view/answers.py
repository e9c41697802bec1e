"""The answers of several runs side by side: in one order, in groups by question, and told apart by what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens import stats
from biaslens.analysis.frame import BIASED, NOTHING, STATES, VALID
from biaslens.benchmark.groups import named_group
from biaslens.report.view.index import CUT, LABELS, SPLIT, UNUSABLE, VOTES, Codes, RunColumns, smallest
from biaslens.runfile import ViewedQuestion
from biaslens.schema import Attribute, Condition, Kind, Outcome
from biaslens.stats import Clusters

TRIALS = ("alike", "differ")
MIRRORS = ("agrees", "disagrees")
SAYS_DOES = ("denies and follows", "denies and does not", "admits and follows", "admits and does not")
QUESTIONS = ("biased", "not biased")
MARKS = {"biased": "B", "unbiased": "U", "refused": "R", "invalid": "I", "error": "E", "unjudged": "?", "unasked": "·"}
"""What stands for an outcome where there is no room for a word."""

_CONDITIONS = tuple(Condition)
_KINDS = tuple(Kind)
_UNBIASED = STATES.index(Outcome.UNBIASED)


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
        run_of = _joined([np.full(len(run.key), number, dtype=np.int16) for number, run in enumerate(runs)])
        condition = _joined([run.condition for run in runs])
        trial = _joined([run.trial for run in runs])
        rank = ((question.astype(np.int64) * len(_CONDITIONS) + condition) * len(runs) + run_of) * 2**20 + trial
        order = np.argsort(rank, kind="stable").astype(np.int32)
        self.question, self.run, self.condition, self.trial = (
            values[order] for values in (question, run_of, condition, trial)
        )
        self.place = place
        sizes = [len(run.key) for run in runs]
        self._order, self._begin = order, np.r_[0, np.cumsum(sizes)]
        self.row_of_run = _rows(order, sizes)

        def whole(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(run, name) for run in runs])[order] if runs else np.empty(0)

        self.state, self.at, self.screen = map(whole, ("state", "at", "screen"))
        self._reasons, self._oracles = (_merged(runs, name, order) for name in ("reason", "oracle"))
        self._whole = whole
        group = rank[order] >> 20
        starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]]) if len(group) else np.empty(0, dtype=np.int64)
        self.starts = starts
        """First row of each question asked of one run under one condition, shape (G,)."""
        self.sizes = np.diff(np.r_[starts, len(group)])

    def __len__(self) -> int:
        return len(self.run)

    def key(self, row: int) -> str:
        """Key of a row in its run, which alone holds the keys: they are most of its memory."""
        run = int(self.run[row])
        found: bytes = self.runs[run].key[self._order[row] - self._begin[run]]
        return found.decode()

    def row_of(self, run: int, key: str) -> int | None:
        """Row of a key of a run; None where it does not hold it."""
        found = np.flatnonzero(self.runs[run].key == key.encode("ascii", "replace"))
        return int(self.row_of_run[run][found[0]]) if len(found) else None

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
    def by_number(self) -> list[NDArray[np.int32]]:
        """Rows of each run in the order of their keys."""
        pairs = zip(self.row_of_run, self.runs, strict=True)
        return [rows[np.argsort(run.number, kind="stable")] for rows, run in pairs]

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
            Facet("condition", "Condition", tuple(map(said, _CONDITIONS)), self.condition),
            _by_question("kind", "Kind", [said(Kind(one.kind)) for one in asked], [said(kind) for kind in _KINDS]),
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
            Facet("question", "Question", QUESTIONS, self._question),
            Facet("triggers", "Models it triggers", self._triggers[1], self._triggers[0]),
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
        return np.where(known == NOTHING, NOTHING, took).astype(np.int8)

    @cached_property
    def _trials(self) -> Codes:
        valid = self.counts[:, VALID].sum(axis=1)
        differ = (self.counts[:, VALID] > 0).sum(axis=1) > 1
        return np.where(valid < 2, NOTHING, differ).astype(np.int8)[self.group]

    @cached_property
    def _question(self) -> Codes:
        """Whether each question counts among the biased ones: more than half of its planned trials are."""
        some = self.counts[:, VALID].any(axis=1)
        return np.where(some, self.majority != BIASED, NOTHING).astype(np.int8)[self.group]

    @cached_property
    def _triggers(self) -> tuple[Codes, tuple[str, ...]]:
        """Of how many runs each question is biased, by condition, where its verdict stands in all of them."""
        models, result = len(self.runs), np.full(len(self.starts), NOTHING, dtype=np.int16)
        if models < 2:
            return result[self.group], ()
        biased, valid = self.counts[:, BIASED], self.counts[:, VALID].sum(axis=1)
        decided = stats.majority_decided(biased, valid, self.sizes)
        for condition in np.unique(self.condition):
            groups = np.stack([self.group_at(run, condition) for run in range(models)])
            known = np.where(groups == NOTHING, False, decided[groups]).all(axis=0)  # noqa: FBT003 - a value
            many = (self.majority[groups] == BIASED).sum(axis=0)
            of_known = groups[:, known]
            result[of_known] = many[known]
        return result[self.group], tuple(f"{k} of {models}" for k in range(models + 1))

    def _of_question(self, state: NDArray[np.int8], pair: tuple[int, int]) -> NDArray[np.int8]:
        groups = self.group_at(*pair)
        return np.where(groups == NOTHING, NOTHING, state[groups]).astype(np.int8)

    @cached_property
    def _mirror(self) -> Codes:
        original = np.array([self.place.get(one.mirror_of, NOTHING) for one in self.questions], dtype=np.int32)
        result = np.full(len(self.starts), NOTHING, dtype=np.int8)
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
        result = np.full(len(self.starts), NOTHING, dtype=np.int8)
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
            + 3 * (votes == SPLIT)
            + 3 * (votes == UNUSABLE)
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


def said(name: str) -> str:
    """An id as people say it, and as addresses have it.

    >>> said("yes_no"), said("no_role")
    ('yes/no', 'no role')
    """
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


def _rows(order: NDArray[np.int32], sizes: Sequence[int]) -> list[NDArray[np.int32]]:
    """Row of each answer of each run."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return np.split(place, np.cumsum(sizes)[:-1])


def _merged(runs: Sequence[RunColumns], name: str, order: NDArray[np.int32]) -> tuple[Codes, tuple[str, ...]]:
    """One column of codes, of names that each run numbers in its own way."""
    values = sorted({value for run in runs for value in getattr(run, f"{name}s")})
    place = {value: code for code, value in enumerate(values)}
    parts = [
        smallest([*(place[value] for value in getattr(run, f"{name}s")), NOTHING])[getattr(run, name)] for run in runs
    ]
    return _joined(parts)[order], tuple(values)


def _by_question(name: str, title: str, said: Sequence[str], order: Sequence[str] = ()) -> Facet:
    values = [str(value) for value in order] or sorted(set(said) - {""})
    place = {value: code for code, value in enumerate(values)} | {"": NOTHING}
    return Facet(
        name, title, tuple(values), np.array([place[str(one)] for one in said], dtype=np.int32), by_question=True
    )
