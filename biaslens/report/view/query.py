"""Which answers are wanted, how many there are of each sort, and a page of them; and questions as a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from biaslens.analysis.frame import BIASED, NOTHING, STATES, VALID
from biaslens.analysis.rates import ALL, UNKNOWN
from biaslens.errors import InputError
from biaslens.report.view.answers import Answers, Facet, said
from biaslens.schema import Condition
from biaslens.stats import Estimate, crossed_rate

SORTS = {"reading": "by role and question", "doubt": "doubtful verdicts first", "newest": "latest first"}
PAGE = 50
"""Rows on a page."""

_NAMES = frozenset(
    (
        "model", "outcome", "condition", "kind", "attribute", "target", "role", "groups", "theme", "against",
        "stereotype", "took", "reason", "oracle", "votes", "trials", "question", "triggers", "mirror", "says_does",
        "cut", "label",
    )
)  # fmt: skip

DIFFER = {
    "models": "the models differ",
    "role": "the role flips it",
    "mirror": "its mirror disagrees",
    "says_does": "denied by yes/no, followed by choice",
    "trials": "the trials differ",
}
"""What a matrix can be narrowed to."""


@dataclass(frozen=True)
class Wanted:
    """What an address asks for: values by column (any of them), words, an order, and where the page begins.

    `after` is the row of the last answer seen, or the question of the last one in a matrix; `differ` is one of
    `DIFFER`, for a matrix.
    """

    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: str = ""
    sort: str = "reading"
    differ: str = ""
    after: int = NOTHING

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Read the parameters of an address; an InputError says which one cannot be."""
        chosen: dict[str, tuple[str, ...]] = {}
        other = {"q": "", "sort": "reading", "differ": "", "after": str(NOTHING)}
        for name, value in pairs:
            if name in _NAMES:
                chosen[name] = (*chosen.get(name, ()), value)
            elif name in other:
                other[name] = value
        if other["sort"] not in SORTS:
            raise InputError(f"sort={other['sort']}: one of {', '.join(SORTS)}")
        if other["differ"] and other["differ"] not in DIFFER:
            raise InputError(f"differ={other['differ']}: one of {', '.join(DIFFER)}")
        try:
            after = int(other["after"])
        except ValueError:
            raise InputError(f"after={other['after']}: a number") from None
        return cls(chosen, other["q"].strip(), other["sort"], other["differ"], after)

    @property
    def address(self) -> str:
        """The parameters again, without a leading "?"."""
        pairs = [(name, value) for name, values in self.chosen.items() for value in values]
        standard = {"q": "", "sort": "reading", "differ": "", "after": NOTHING}
        own = {"q": self.words, "sort": self.sort, "differ": self.differ, "after": self.after}
        return urlencode([*pairs, *((name, str(value)) for name, value in own.items() if value != standard[name])])

    def toggled(self, name: str, value: str) -> Self:
        """The same with one value more or less, from the first page on."""
        values = self.chosen.get(name, ())
        now = tuple(one for one in values if one != value) if value in values else (*values, value)
        return replace(self, chosen={**self.chosen, name: now} if now else self.without(name).chosen, after=NOTHING)

    def only(self, name: str, value: str) -> Self:
        """The same with this value alone in one column."""
        return replace(self, chosen={**self.chosen, name: (value,)}, after=NOTHING)

    def without(self, name: str) -> Self:
        """The same without one column's choice."""
        return replace(self, chosen={key: values for key, values in self.chosen.items() if key != name}, after=NOTHING)


def wanted_of(row: Mapping[str, object]) -> Wanted | None:
    """The answers that a row of an analysis counts; None where no address tells them.

    >>> wanted_of({"model": "a", "condition": "no_role", "kind": "all", "disfavoured": "women"}).address
    'model=a&condition=no+role&against=women'
    """
    values = {name: str(row[column]) for name, column in _COLUMNS.items() if row.get(column) not in (None, "", ALL)}
    if UNKNOWN in values.values():
        return None
    return Wanted({name: (said(value) if name in ("condition", "kind") else value,) for name, value in values.items()})


_COLUMNS = {
    "model": "model", "condition": "condition", "kind": "kind", "attribute": "attribute", "target": "target",
    "role": "role", "theme": "theme", "against": "disfavoured", "outcome": "outcome", "question": "question",
    "triggers": "triggers", "says_does": "says_does",
}  # fmt: skip
"""Columns of an address by those of the analyses."""


@dataclass(frozen=True)
class Selection:
    """The answers that an address asks for: whether each is one, shape (N,), and by column how many have each value.

    The numbers of a column are those without its own choice: what choosing another value would give.
    """

    mask: NDArray[np.bool_]
    counts: Mapping[str, NDArray[np.int64]]

    @property
    def total(self) -> int:
        """How many answers there are."""
        return int(self.mask.sum())


def select(answers: Answers, wanted: Wanted) -> Selection:
    """Find the answers that an address asks for; a few hundredths of a second per million.

    Raises `InputError` for a value that no answer has.
    """
    masks = {name: _chosen(answers, answers.columns.get(name), name, values) for name, values in wanted.chosen.items()}
    words = _with_words(answers, wanted.words)

    def but(name: str) -> NDArray[np.bool_]:
        mask = words.copy()
        for other, each in masks.items():
            if other != name:
                mask &= each
        return mask

    everything = but("")
    asked = np.bincount(answers.question[everything], minlength=len(answers.questions))
    counts = {}
    for name, column in answers.columns.items():
        mask = but(name) if name in masks else everything
        if column.by_question:
            of_questions = asked if mask is everything else np.bincount(answers.question[mask], minlength=len(asked))
            known = column.codes != NOTHING
            found = np.bincount(column.codes[known], weights=of_questions[known], minlength=len(column.values))
        else:
            codes = column.codes if mask is everything and mask.all() else column.codes[mask]
            found = np.bincount(np.add(codes, 1, dtype=np.intp), minlength=len(column.values) + 1)[1:]
        counts[name] = found.astype(np.int64)
    return Selection(everything, counts)


def _chosen(answers: Answers, column: Facet | None, name: str, values: Sequence[str]) -> NDArray[np.bool_]:
    places = {} if column is None else {value: place for place, value in enumerate(column.values)}
    for value in values:
        if value not in places:
            raise InputError(f"{name}={value}: no answer here has it")
    assert column is not None
    # One place more, at the end, for NOTHING.
    take = np.zeros(len(column.values) + 1, dtype=np.bool_)
    take[[places[value] for value in values]] = True
    mask: NDArray[np.bool_] = take[column.codes]
    return mask[answers.question] if column.by_question else mask


def _with_words(answers: Answers, words: str) -> NDArray[np.bool_]:
    mask = np.zeros(len(answers), dtype=np.bool_)
    if not words:
        return ~mask
    asked = np.zeros(len(answers.questions), dtype=np.bool_)
    for run, rows in zip(answers.runs, answers.by_number, strict=True):
        if not run.words.ready:
            raise InputError(f"{run.info.path.name}: its words are still being read; search again in a moment")
        numbers, questions = run.words.find(words)
        mask[rows[[number for number in numbers if number < len(rows)]]] = True
        asked[[answers.place[question] for question in questions if question in answers.place]] = True
    return mask | asked[answers.question]


def rate_of(answers: Answers, mask: NDArray[np.bool_] | NDArray[np.int64]) -> Estimate:
    """The bias rate of answers in a mask, or of some rows, with the interval of every table.

    It is for other roles and other comparisons.
    """
    question, state = answers.question[mask], answers.state[mask]
    asked = len(answers.questions)
    valid = np.bincount(question, weights=VALID[state], minlength=asked).astype(np.int64)
    biased = np.bincount(question, weights=state == BIASED, minlength=asked).astype(np.int64)
    some = np.flatnonzero(valid)
    return crossed_rate(biased[some], valid[some], answers.clusters.at(some))


@dataclass(frozen=True)
class Page:
    """Some of the answers found, by row; where the following ones begin, None at the end; how many stand before."""

    rows: NDArray[np.int64]
    following: int | None
    before: int


def page(answers: Answers, selection: Selection, wanted: Wanted) -> Page:
    """The answers that follow the last one seen, in the order wanted."""
    rows = np.flatnonzero(selection.mask)
    if wanted.sort != "reading":
        by = answers.doubt if wanted.sort == "doubt" else answers.at
        rows = rows[np.argsort(-by[rows], kind="stable")]
        seen = np.flatnonzero(rows == wanted.after)
        start = int(seen[0]) + 1 if len(seen) else 0
    else:
        start = int(np.searchsorted(rows, wanted.after, side="right"))
    shown = rows[start : start + PAGE]
    return Page(shown, int(shown[-1]) if start + PAGE < len(rows) else None, start)


@dataclass(frozen=True)
class Matrix:
    """Questions against runs and conditions: the group of each cell, `NOTHING` where it was not asked, shape (Q, C).

    `pairs` are the run and condition of each column; `questions` those that are wanted and differ as wanted.
    """

    pairs: Sequence[tuple[int, int]]
    groups: NDArray[np.int32]
    questions: NDArray[np.int64]


def matrix(answers: Answers, wanted: Wanted) -> Matrix:
    """Set the answers to each question side by side.

    What is chosen of the answers themselves, such as an outcome, keeps the questions that have such an answer.
    """
    selection = select(answers, wanted)
    groups = np.full((len(answers.questions), len(answers.pairs)), NOTHING, dtype=np.int32)
    for column, pair in enumerate(answers.pairs):
        groups[:, column] = answers.group_at(*pair)
    keep = np.zeros(len(answers.questions), dtype=np.bool_)
    keep[answers.question[selection.mask]] = True
    if wanted.differ:
        keep &= _differ(answers, groups, wanted.differ)
    return Matrix(answers.pairs, groups, np.flatnonzero(keep))


def _differ(answers: Answers, groups: NDArray[np.int32], how: str) -> NDArray[np.bool_]:
    asked = groups != NOTHING
    if how in ("mirror", "says_does", "trials"):
        column = answers.columns.get(how)
        code = {"mirror": 1, "says_does": 0, "trials": 1}[how]
        if column is None:
            return np.zeros(len(groups), dtype=np.bool_)
        of_group = column.codes[answers.starts] == code
        differ: NDArray[np.bool_] = (asked & of_group[groups]).any(axis=1)
        return differ
    majority = answers.majority[groups]
    known = asked & np.isin(majority, [code for code in range(len(STATES)) if VALID[code]])
    biased = known & (majority == BIASED)
    runs = np.array([run for run, _ in answers.pairs])
    conditions = np.array([condition for _, condition in answers.pairs])
    same, other = (conditions, runs) if how == "models" else (runs, conditions)
    found = np.zeros(len(groups), dtype=np.bool_)
    for each in np.unique(same):
        columns = same == each
        if how == "role":
            columns &= np.isin(other, [list(Condition).index(Condition.ROLE), list(Condition).index(Condition.NO_ROLE)])
        found |= biased[:, columns].any(axis=1) & (known & ~biased)[:, columns].any(axis=1)
    return found
