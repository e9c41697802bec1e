"""What people say answers are, which answers they were asked about, and what the published study took answers for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from biaslens.runfile._plan import shown_options
from biaslens.runfile._store import Store


class SampledRow(NamedTuple):
    """A row of ``sampled``; the columns say what each field means."""

    response_key: str
    sample: str
    stratum: str
    inclusion: float
    outcome: str | None
    sure: bool
    how: str


class LabelRow(NamedTuple):
    """A row of ``labels``; the columns say what each field means."""

    response_key: str
    annotator: str
    outcome: str
    sure: bool
    comment: str
    adjudicates: bool


class LabelCounts(NamedTuple):
    """What people have labelled of a run: answers sampled, with a final label, and open; labels by annotator."""

    sampled: int
    final: int
    open: int
    annotators: dict[str, int]


class LabelledItem(NamedTuple):
    """A labelled response and what it was asked."""

    key: str
    kind: str
    attribute: str
    role: int
    condition: str
    stratum: str
    inclusion: float
    outcome: str | None
    sure: int
    how: str


class JudgedTrial(NamedTuple):
    """A trial that counts in a bias rate, with people's outcome and inclusion probability where it was drawn."""

    condition: str
    attribute: str
    kind: str
    role: int
    question_id: str
    verdict: str
    label: str | None
    inclusion: float | None


def samples(store: Store) -> set[str]:
    """Ids of the samples that the run holds labels of."""
    return set(store.column("SELECT DISTINCT sample FROM sampled"))


def count_labels(store: Store) -> LabelCounts:
    """Count what people have labelled."""
    ((sampled, final, open_),) = store.rows(
        "SELECT count(*), count(outcome), coalesce(sum(outcome IS NULL AND how <> 'unlabelled'), 0) FROM sampled"
    )
    by = store.rows("SELECT annotator, count(*) FROM labels GROUP BY annotator ORDER BY annotator")
    return LabelCounts(sampled, final, open_, dict(by))


def save_labels(
    store: Store, sample: str, sampled: Sequence[SampledRow], labels: Iterable[LabelRow]
) -> tuple[str, ...]:
    """Replace what the run holds of a sample, within a transaction.

    Other samples that share an answer with this one are gone from the run; their ids are given.
    """
    connection = store.connection
    held = dict(store.rows("SELECT response_key, sample FROM sampled"))
    others = sorted({held[row.response_key] for row in sampled if row.response_key in held} - {sample})
    for name in (sample, *others):
        connection.execute(
            "DELETE FROM labels WHERE response_key IN (SELECT response_key FROM sampled WHERE sample = ?)", (name,)
        )
        connection.execute("DELETE FROM sampled WHERE sample = ?", (name,))
    connection.executemany("INSERT INTO sampled VALUES (?, ?, ?, ?, ?, ?, ?)", sampled)
    connection.executemany("INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?)", labels)
    return tuple(others)


def labelled_items(store: Store) -> list[LabelledItem]:
    """Responses that somebody has labelled, in the order of their keys."""
    rows = store.rows(
        "SELECT response_key, questions.kind, roles.attribute, questions.role_id, plan.condition, stratum, inclusion, "
        "sampled.outcome, sure, how FROM sampled JOIN plan ON plan.key = response_key "
        "JOIN questions USING (question_id) JOIN roles USING (role_id) "
        "WHERE how <> 'unlabelled' ORDER BY response_key"
    )
    return [LabelledItem(*row) for row in rows]


def annotators_labels(store: Store) -> list[tuple[str, str, str, int]]:
    """Labels of those who do not adjudicate: response key, annotator, outcome, and 1 where sure."""
    return store.rows("SELECT response_key, annotator, outcome, sure FROM labels WHERE adjudicates = 0")


def verdicts_on_sampled(store: Store) -> list[tuple[str, str, str]]:
    """Verdicts on sampled responses: response key, panel, outcome."""
    return store.rows("SELECT response_key, panel, verdicts.outcome FROM verdicts JOIN sampled USING (response_key)")


def judged_trials(store: Store, panel: str) -> list[JudgedTrial]:
    """Trials with a valid verdict of the rules or a panel, in the order of their keys."""
    rows = store.rows(
        "SELECT plan.condition, roles.attribute, questions.kind, role_id, question_id, verdicts.outcome, "
        "sampled.outcome, sampled.inclusion FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) "
        "JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?) "
        "LEFT JOIN sampled ON sampled.response_key = plan.key "
        "WHERE verdicts.outcome IN ('biased', 'unbiased', 'refused') ORDER BY plan.key",
        panel,
    )
    return [JudgedTrial(*row) for row in rows]


Candidate = tuple[str, str, str, str, str | None, float | None, str | None]


def candidates(store: Store, panel: str) -> Iterator[Candidate]:
    """Every planned response that may be drawn for people to label, in the order of the keys.

    Key, kind, condition and attribute; outcome by the rules or a panel, and probability by the local judge; and why it
    may not be drawn, None where it may.
    """
    # In the order of the key the tables are read side by side.
    return store.connection.execute(
        """
        SELECT plan.key, questions.kind, plan.condition, roles.attribute, verdicts.outcome, screened.probability,
               CASE WHEN answers.key IS NULL THEN 'not answered'
                    WHEN trim(answers.text, char(9, 10, 13, 32)) = '' THEN 'empty'
                    WHEN verdicts.outcome IS NULL THEN 'not judged'
               END
        FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) LEFT JOIN answers USING (key)
        LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('rules', ?)
        LEFT JOIN screened ON screened.response_key = plan.key
        ORDER BY plan.key
        """,
        (panel,),
    )


def shown(store: Store, key: str) -> tuple[str, str, str, str, str, str, str, tuple[str, ...], str]:
    """Read an answer as people see it.

    Key, kind, attribute, role, persona, condition, question, options in the order shown, and answer.
    """
    ((*what, options, order, answer),) = store.rows(
        "SELECT questions.kind, roles.attribute, roles.name, roles.persona, plan.condition, questions.text, "
        "questions.options, plan.option_order, answers.text "
        "FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) JOIN answers USING (key) "
        "WHERE plan.key = ?",
        key,
    )
    kind, attribute, role, persona, condition, question = what
    return key, kind, attribute, role, persona, condition, question, tuple(shown_options(options, order)), answer


def imported_files(store: Store) -> dict[str, str]:
    """Answers files that are in this run file, with their SHA-256."""
    return dict(store.rows("SELECT file, sha256 FROM imported"))


def import_faults(store: Store) -> tuple[str, ...]:
    """What could not be read of the files, in the order of their names."""
    texts = store.column("SELECT faults FROM imported ORDER BY file")
    return tuple(fault for text in texts for fault in json.loads(text))


def all_imported_whole(store: Store) -> bool:
    """Whether every row of the files that are in this run file could be read."""
    return store.value("SELECT 1 FROM imported WHERE NOT whole LIMIT 1") is None


def save_imported(store: Store, file: str, *, sha256: str, rows: int, whole: bool, faults: Sequence[str]) -> None:
    """Record that a file is in this run file, within the transaction that wrote its rows."""
    store.connection.execute(
        "INSERT INTO imported VALUES (?, ?, ?, ?, ?)",
        (file, sha256, rows, whole, json.dumps(faults, ensure_ascii=False)),
    )


def save_published(store: Store, finals: Iterable[tuple[str, str]], *, replace: bool = False) -> None:
    """Store what the study took answers for, by key, within a transaction."""
    conflict = "DO UPDATE SET final = excluded.final" if replace else "DO NOTHING"
    store.connection.executemany(f"INSERT INTO published VALUES (?, ?) ON CONFLICT (response_key) {conflict}", finals)


def published_answers(store: Store) -> Iterator[tuple[str, str, int, str | None, str | None]]:
    """Every planned response by key: question id, condition, trial, answer, and what the study took it for."""
    return store.connection.execute(
        "SELECT plan.question_id, plan.condition, plan.trial, answers.text, published.final "
        "FROM plan LEFT JOIN answers USING (key) LEFT JOIN published ON published.response_key = plan.key "
        "ORDER BY plan.key"
    )
