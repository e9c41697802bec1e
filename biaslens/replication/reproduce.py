"""Every printed figure of the study beside the same one worked out again."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from biaslens import runfile
from biaslens._util import in_columns, without_collection
from biaslens.analysis.frame import KINDS, NOTHING, Questions, Run, read_run
from biaslens.errors import InputError
from biaslens.oracles import published
from biaslens.oracles.published import ABSENT, Consistency
from biaslens.runfile import Store, reading
from biaslens.schema import Attribute, Condition, Kind
from biaslens.stats import Estimand


@dataclass(frozen=True, slots=True)
class Printed:
    """Figures of the paper and of the tables in its release."""

    names: Mapping[str, str]  #: the paper's names of the models, by the release's
    #: tables 2 and 3: by model, condition, attribute (None: the total) and kind
    biased_questions: Mapping[tuple[str, Condition, Attribute | None, Kind], int]
    #: table 5, in percent with one decimal: by model and kind, consistent, two biased, one biased
    consistency: Mapping[tuple[str, Kind], tuple[float, float, float]]
    #: by model, how much lower the count is without the role, in percent with one decimal
    ablation: Mapping[str, float]
    ablation_mean: float  #: mean of these
    cells_lower: int  #: in how many of the cells of Table 3 the count is lower than in Table 2
    #: of the questions that trigger a model at all, percent that trigger exactly k: by k and kind (None: all)
    triggered: Mapping[tuple[int, Kind | None], float]


@cache
def printed() -> Printed:
    """Read the figures that come with the package."""
    table = tomllib.loads((files(__package__) / "printed.toml").read_text(encoding="utf-8"))
    ablation = dict(table["ablation"])
    mean, cells = ablation.pop("mean"), ablation.pop("cells_lower")
    return Printed(
        names=table["names"],
        biased_questions={
            (model, Condition(condition), None if attribute == "all" else Attribute(attribute), kind): count
            for condition, models in table["biased_questions"].items()
            for model, rows in models.items()
            for attribute, counts in rows.items()
            for kind, count in zip(Kind, counts, strict=True)
        },
        consistency={
            (model, Kind(kind)): tuple(shares)
            for model, kinds in table["consistency"].items()
            for kind, shares in kinds.items()
        },
        ablation=ablation,
        ablation_mean=mean,
        cells_lower=cells,
        triggered={
            (int(k), kind): share
            for k, shares in table["triggered"].items()
            for kind, share in zip((*Kind, None), shares, strict=True)
        },
    )


MODEL_NAMES: Mapping[str, str] = printed().names
"""The paper's names of the models, by the release's."""

LETTERS = ("", "A", "B", "C")
_LETTER = {letter: code for code, letter in enumerate(LETTERS)}


@dataclass(frozen=True, slots=True)
class PublishedTrials:
    """One condition under the published oracle."""

    #: 1 for a biased trial, 0 for another one, `NOTHING` where none is planned, shape (Q, 3). A missing answer is
    #: biased or not as the study compared it.
    biased: NDArray[np.int8]
    answered: NDArray[np.bool_]  #: whether the release holds an answer, shape (Q, 3)
    #: whether the answer is to the question in the words of the first run, shape (Q, 3)
    joined: NDArray[np.bool_]
    #: choice only: position in `LETTERS` of the letter that Table 5 gives a trial, shape (Q, 3)
    letters: NDArray[np.int8]

    @property
    def base(self) -> NDArray[np.bool_]:
        """Whether the study counts the question: its first run holds it, shape (Q,)."""
        return np.asarray(self.answered[:, 0])

    @property
    def biased_trials(self) -> NDArray[np.int64]:
        """Biased trials by question, shape (Q,)."""
        return np.asarray((self.biased == 1).sum(axis=1, dtype=np.int64))

    @property
    def biased_questions(self) -> NDArray[np.bool_]:
        """Whether the study calls each question biased, shape (Q,)."""
        return np.asarray(self.base & (self.biased_trials >= 2))


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """An imported run with both oracles: `run` has ours, `conditions` the published one."""

    run: Run
    conditions: Mapping[Condition, PublishedTrials]
    #: position of the first of the attribute's questions in the same words, persona included, shape (Q,)
    wording: NDArray[np.int64]

    @property
    def model(self) -> str:
        """The model as the release names it."""
        return self.run.info.model.removeprefix("published/")

    @property
    def questions(self) -> Questions:
        """What was asked."""
        return self.run.questions


@without_collection()
def read_published(path: Path) -> PublishedRun:
    """Read an imported run file under both oracles.

    Raises `InputError` when it was not imported from the release and `StorageError` when it cannot be read.
    """
    # The same questions under two oracles: whether others would do is not asked.
    run = read_run(path, estimand=Estimand.THESE, took=False)
    if not run.info.meta.get("imported"):
        raise InputError(f"{path}: not an imported run; `biaslens import published` makes them")
    with reading(path, checked=True) as store:
        position = {question_id: code for code, question_id in enumerate(run.questions.ids)}
        same = runfile.same_wordings(store)
        wording = np.array([position[same[question_id]] for question_id in position], dtype=np.int64)
        return PublishedRun(run, _decide(store, run.questions, position), wording)


def _decide(store: Store, questions: Questions, position: Mapping[str, int]) -> dict[Condition, PublishedTrials]:
    names = sorted(runfile.conditions(store))
    which = {name: code for code, name in enumerate(names)}
    kinds = [KINDS[code] for code in questions.kind]
    shape = (len(names), len(kinds), runfile.most_trials(store))
    biased, letters = np.full(shape, NOTHING, dtype=np.int8), np.zeros(shape, dtype=np.int8)
    answered, joined = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    for question_ids, conditions, numbers, texts, finals in in_columns(runfile.published_answers(store)):
        asked = [position[question_id] for question_id in question_ids]
        place = [which[name] for name in conditions], asked, np.array(numbers) - 1
        compared = [None if final == ABSENT else text for text, final in zip(texts, finals, strict=True)]
        answered[place] = [text is not None for text in texts]
        joined[place] = [text is not None for text in compared]
        of = [kinds[question] for question in asked]
        letters[place] = [
            _LETTER.get(final or "", 0) if kind is Kind.CHOICE else 0 for kind, final in zip(of, finals, strict=True)
        ]
        biased[place] = [
            published.why_is_biased(final) if kind is Kind.WHY else _RULES[kind](text)
            for kind, text, final in zip(of, compared, finals, strict=True)
        ]
    return {
        condition: PublishedTrials(*(each[which[condition]] for each in (biased, answered, joined, letters)))
        for condition in Condition
        if condition in which
    }


_RULES = {Kind.YES_NO: published.yes_no_is_biased, Kind.CHOICE: published.choice_is_biased}

_CLASSES = tuple(Consistency)
_TABLES = {Condition.ROLE: "Table 2", Condition.NO_ROLE: "Table 3"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed figure and the same one worked out again."""

    table: str  #: where it is printed: "Table 2", "Table 3", "RQ3", "Table 5", "RQ1 triggers"
    model: str  #: the model as the release names it; "all" for figures over all models
    #: which cell; "all" for totals
    attribute: str
    kind: str
    measure: str  #: what is counted
    #: the figures, as text with the printed number of decimals
    printed: str
    computed: str

    @property
    def equal(self) -> bool:
        """Whether both are the same to the last printed digit."""
        return self.printed == self.computed


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All figures that could be checked, and those that could not."""

    figures: tuple[Figure, ...]  #: checked figures
    not_checked: tuple[str, ...]  #: why figures are missing, a line each

    @property
    def different(self) -> tuple[Figure, ...]:
        """Figures that differ from the printed ones."""
        return tuple(figure for figure in self.figures if not figure.equal)


def reproduce(runs: Sequence[PublishedRun]) -> Reproduction:
    """Work out every printed figure that these runs can give.

    Raises `InputError` when two runs are of one model, or a run is of a model that the study did not have.
    """
    models = [run.model for run in runs]
    known = printed().names
    for model in models:
        if model not in known:
            raise InputError(f"the study printed nothing of {model!r}; it had {', '.join(known)}")
        if models.count(model) > 1:
            raise InputError(f"{model}: two imported runs of one model; give one of them")
    by_model = {run.model: run for run in runs}
    figures: list[Figure] = []
    missing = [f"{model} ({name}): no imported run" for model, name in known.items() if model not in by_model]
    for model in (model for model in known if model in by_model):
        run = by_model[model]
        for condition, table in _TABLES.items():
            if condition in run.conditions:
                figures += _counts(run, condition)
            else:
                missing.append(f"{model}: no answers under {condition}, so no {table}")
        if set(_TABLES) <= set(run.conditions):
            figures.append(_ablation(run))
        if Condition.ROLE in run.conditions:
            figures += _consistency(run)
    if set(by_model) == set(known) and all(set(_TABLES) <= set(run.conditions) for run in runs):
        figures += _over_models([by_model[model] for model in known])
    else:
        missing.append(
            f"figures over all six models (the mean of RQ3, cells lower without the role, triggers): "
            f"need both conditions of all six, have {len(by_model)} models"
        )
    return Reproduction(tuple(figures), tuple(missing))


def count_table(run: PublishedRun, condition: Condition) -> NDArray[np.int64]:
    """Biased questions by attribute (in the order of `Attribute`) and kind (of `Kind`), shape (11, 3)."""
    table = np.zeros((len(Attribute), len(Kind)), dtype=np.int64)
    biased = run.conditions[condition].biased_questions
    np.add.at(table, (run.questions.attribute[biased], run.questions.kind[biased]), 1)
    return table


def _counts(run: PublishedRun, condition: Condition) -> Iterator[Figure]:
    table = count_table(run, condition)
    rows = [*zip(Attribute, table, strict=True), (None, table.sum(axis=0))]
    for attribute, counts in rows:
        for kind, count in zip(Kind, counts.tolist(), strict=True):
            expected = printed().biased_questions[run.model, condition, attribute, kind]
            yield Figure(
                _TABLES[condition], run.model, attribute or "all", kind, "biased questions", str(expected), str(count)
            )


def _ablation(run: PublishedRun) -> Figure:
    share = f"{100 * _lower(run):.1f}"
    return Figure("RQ3", run.model, "all", "all", "percent lower", f"{printed().ablation[run.model]:.1f}", share)


def _lower(run: PublishedRun) -> float:
    with_role, without = (int(count_table(run, condition).sum()) for condition in _TABLES)
    return (with_role - without) / with_role if with_role else float("nan")


def consistency_classes(run: PublishedRun, kind: Kind) -> list[Consistency | None]:
    """Class of each question of a kind in Table 5; None where a choice trial has no letter.

    The study counted the wordings, role included, that all three files of an attribute hold, whatever the files call
    the role.
    """
    trials = run.conditions[Condition.ROLE]
    chosen = np.flatnonzero(run.questions.select(kind=kind))
    # By wording and trial, the first question that has an answer.
    holder = np.full(trials.joined.shape, NOTHING, dtype=np.int64)
    for question in chosen[::-1]:
        holder[run.wording[question], trials.joined[question]] = question
    whole = holder[(holder != NOTHING).all(axis=1)]
    columns = np.arange(trials.biased.shape[-1])
    if kind is Kind.CHOICE:
        triples = ((LETTERS[a], LETTERS[b], LETTERS[c]) for a, b, c in trials.letters[whole, columns].tolist())
        return list(map(published.choice_consistency, triples))
    return list(map(published.trial_consistency, (trials.biased[whole, columns] == 1).sum(axis=1).tolist()))


def _consistency(run: PublishedRun) -> Iterator[Figure]:
    for kind in Kind:
        classes = [found for found in consistency_classes(run, kind) if found is not None]
        for name, expected in zip(_CLASSES, printed().consistency[run.model, kind], strict=True):
            share = 100 * classes.count(name) / len(classes) if classes else float("nan")
            yield Figure("Table 5", run.model, "all", kind, f"percent {name}", f"{expected:.1f}", f"{share:.1f}")


def _over_models(runs: Sequence[PublishedRun]) -> Iterator[Figure]:
    shares = [round(100 * _lower(run), 1) for run in runs]
    yield Figure(
        "RQ3", "all", "all", "all", "percent lower, mean", f"{printed().ablation_mean:.1f}", f"{np.mean(shares):.1f}"
    )
    tables = [[count_table(run, condition) for condition in _TABLES] for run in runs]
    lower = sum(int((without < with_role).sum()) for with_role, without in tables)
    yield Figure("RQ3", "all", "all", "all", "cells lower", str(printed().cells_lower), str(lower))
    for kind, k, _, share in triggers(runs):
        expected = printed().triggered[k, kind]
        yield Figure(
            "RQ1 triggers", "all", "all", kind or "all", f"percent trigger {k}", f"{expected:.2f}", f"{100 * share:.2f}"
        )


class Triggered(NamedTuple):
    """Questions of a kind (None: all) that trigger exactly k models, and their share of those that trigger any."""

    kind: Kind | None
    k: int
    questions: int
    share: float


def triggers(runs: Sequence[PublishedRun]) -> list[Triggered]:
    """Count the questions that trigger exactly k of these models under their roles, as the study did for its six.

    Runs without the role are left out. A share is NaN where no question triggers a model.
    """
    with_role = [run for run in runs if Condition.ROLE in run.conditions]
    if not with_role:
        return []
    counts, questions = trigger_counts(with_role), with_role[0].questions
    found = []
    for k, kind in product(range(1, len(with_role) + 1), (None, *Kind)):
        chosen = counts if kind is None else counts[questions.select(kind=kind)]
        exactly, any_model = int((chosen == k).sum()), int((chosen > 0).sum())
        found.append(Triggered(kind, k, exactly, exactly / any_model if any_model else float("nan")))
    return found


def trigger_counts(runs: Sequence[PublishedRun]) -> NDArray[np.int64]:
    """Count the models that each question triggers under its role, in the positions of the first run, shape (Q,)."""
    first = runs[0].questions
    counts = np.zeros(len(first.ids), dtype=np.int64)
    position = {question_id: code for code, question_id in enumerate(first.ids)}
    for run in runs:
        trials: PublishedTrials = run.conditions[Condition.ROLE]
        biased = np.flatnonzero(trials.biased_questions)
        places = [position.get(run.questions.ids[code], -1) for code in biased]
        np.add.at(counts, [place for place in places if place >= 0], 1)
    return counts
