"""Import the study's released answers into run files, one a model, as if biaslens had asked for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from biaslens import __version__, runfile
from biaslens._util import without_collection
from biaslens.errors import BenchmarkError, RunMismatchError
from biaslens.evaluation import decide
from biaslens.oracles import RULES
from biaslens.oracles.published import ABSENT, option_letter
from biaslens.oracles.why import decide_votes
from biaslens.replication import release
from biaslens.replication.release import TRIALS, AnswerFile, AnswerRow, AnswerTable, Asked, asked_of, typed_options
from biaslens.replication.reproduce import MODEL_NAMES
from biaslens.runfile import ACTIVE_PANEL, PUBLISHED_PANEL, Answer, PlannedResponse, PlannedVote, Store
from biaslens.schema import Condition, Kind, Outcome, Question, Verdict, Vote, content_hash

JUDGE = "published/gpt-4o-mini"
"""The study's judge, as run files name it."""

BALLOT = "published"
"""Identity of the study's votes."""

_VOTES = {"yes": Vote.UNBIASED, "no": Vote.BIASED}


@dataclass(frozen=True, slots=True)
class Imported:
    """What the import of one model came to."""

    run: Path  #: the run file
    model: str  #: the model as the release names it
    #: answers written now, and answers that were there already
    new: int
    known: int
    #: answers files that the release should hold and does not, and those that are something else
    missing: tuple[str, ...]
    whole: bool  #: whether every row of the files that were there could be read
    unanswered: int  #: planned answers that no file holds
    faults: tuple[str, ...]  #: what could not be read, or was mended, a line each

    @property
    def complete(self) -> bool:
        """Whether all that the release has of the model is in the run file; some questions it never had answered."""
        return not self.missing and self.whole


def import_release(
    path: Path, out: Path, *, progress: Callable[[str, int], None] = lambda _model, _answers: None
) -> Iterator[Imported]:
    """Import a release, model after model: unpacked, a folder of its archives, or one archive.

    The same release twice writes nothing; an import that was killed goes on where it stopped. `progress` is told the
    model and the number of its answers that are in its file so far.

    Raises `BenchmarkError` when there is no release, or no answers in it; `RunMismatchError` when a run file holds
    other answers than the release has now; `StorageError` when a run file cannot be written.
    """
    found = False
    with release.unpacked(path) as roots:
        for root in roots:
            for model in release.models_of(root):
                found = True
                yield _import_model(root, model, out / f"published-{model}.sqlite", progress)
    if not found:
        raise BenchmarkError(f"{path}: no answers in this release; a model's are in answers/role/<model>/")


def _import_model(root: Path, model: str, run: Path, progress: Callable[[str, int], None]) -> Imported:
    files = release.answer_files(root, model)
    with runfile.open_to_write(run, tables=runfile.IMPORT_TABLES) as store:
        store.require_meta(_IDENTITY | {"model": f"published/{model}"}, hint="import into another folder with --out")
        spec = {"judges": [JUDGE], "votes": 3, "prompt": "published"}
        runfile.save_panel(store, PUBLISHED_PANEL, spec, [runfile.Ballot(BALLOT, JUDGE, "published")])
        if ACTIVE_PANEL not in store.meta():
            store.set_meta({ACTIVE_PANEL: PUBLISHED_PANEL})
        importer = _Importer(store, model, progress)
        for attribute in release.ATTRIBUTES:
            importer.add([file for file in files if file.attribute == attribute])
        imported = runfile.imported_files(store)
        missing = tuple(note for name, note in importer.missing.items() if name not in imported)
        whole, faults = runfile.all_imported_whole(store), runfile.import_faults(store)
        unanswered = runfile.count_unanswered(store)
        facts = {
            "conditions": importer.conditions(),
            "package_version": __version__,
            "missing_files": list(missing),
            "faults": list(faults),
            "oracle": RULES,
        }
        known = store.meta()
        if any(known.get(name) != value for name, value in facts.items()):
            store.set_meta(facts)
    return Imported(run, model, importer.new, importer.known, missing, whole, unanswered, faults)


_IDENTITY = {
    "imported": True,
    "source": "arXiv 2411.00585, data release",
    "generator": "openai/gpt-4o",
    **dict.fromkeys(("benchmark_version", "benchmark_hash", "template_hash"), "published"),
    **dict.fromkeys(("params", "seed")),
    "shuffle_options": False,
    "trials": len(TRIALS),
}
"""What every imported run is, beside its model."""


def response_key(model: str, question_id: str, condition: Condition, trial: int) -> str:
    """Key of an imported answer."""
    return content_hash("published", model, question_id, condition, trial)


class _Importer:
    """Writes the files of one model into its run file, an attribute at a time, each in one transaction."""

    def __init__(self, store: Store, model: str, progress: Callable[[str, int], None]) -> None:
        self._store = store
        self._model = model
        self._name = MODEL_NAMES.get(model, model)
        self._progress = progress
        self.new = 0
        self.known = 0
        self.missing: dict[str, str] = {}

    @without_collection()
    def add(self, files: Sequence[AnswerFile]) -> None:
        tables: dict[AnswerFile, AnswerTable] = {}
        for file in files:
            try:
                tables[file] = release.read_answers(file)
            except BenchmarkError as error:
                self.missing[file.name] = f"{file.name} ({error})" if file.path.is_file() else file.name
        tables = release.with_one_name(tables)
        fresh = {file: table for file, table in tables.items() if not self._is_known(file, table)}
        if fresh:
            questions = release.questions_of(tables, runfile.personas(self._store))
            self._plan(questions, tables)
            wordings = {
                (file.condition, asked_of(file.attribute, row)): row.question
                for file, table in tables.items()
                if file.trial == TRIALS[0]
                for row in table.rows
            }
            # Keys are hashes, so a transaction touches nearly every page of the file: few large ones write less.
            with self._store.transaction():
                for file, table in fresh.items():
                    self._save(file, table, questions, wordings)
            for table in fresh.values():
                self.new += len(table.rows)
                self._progress(self._model, self.new + self.known)
        else:
            self._progress(self._model, self.known)

    def conditions(self) -> list[str]:
        found = runfile.conditions(self._store)
        return [condition.value for condition in Condition if condition in found]

    def _is_known(self, file: AnswerFile, table: AnswerTable) -> bool:
        known = runfile.imported_files(self._store).get(file.name)
        if known is None:
            return False
        if known != table.sha256:
            raise RunMismatchError(
                f"{self._store.path}: {file.name} was imported with other contents; nothing was changed. "
                "Import into another folder with --out"
            )
        self.known += len(table.rows)
        return True

    def _plan(self, questions: dict[Asked, Question], tables: dict[AnswerFile, AnswerTable]) -> None:
        asked = dict.fromkeys(
            (file.condition, asked_of(file.attribute, row)) for file, table in tables.items() for row in table.rows
        )
        plan = [
            PlannedResponse(
                response_key(self._model, questions[key].id, condition, trial), questions[key].id, condition, trial
            )
            for condition, key in asked
            if key in questions
            for trial in TRIALS
        ]
        runfile.save_plan(self._store, list(questions.values()), plan)

    def _save(
        self,
        file: AnswerFile,
        table: AnswerTable,
        questions: dict[Asked, Question],
        wordings: dict[tuple[Condition, Asked], str],
    ) -> None:
        faults, whole = list(table.faults), table.whole
        taken: dict[str, tuple[AnswerRow, Question]] = {}
        for row in table.rows:
            question = questions.get(asked_of(file.attribute, row))
            if question is None:
                faults.append(f"{file.name}: question type {row.kind!r} is unknown, left out")
                whole = False
                continue
            key = response_key(self._model, question.id, file.condition, file.trial)
            if key in taken:
                faults.append(f"{file.name}: a question of {row.role!r} stands there twice; the first answer counts")
            taken.setdefault(key, (row, question))
        self._save_rows(sorted(taken.items()))
        # The study joined its runs to the first by the whole wording, role clause and spaces among it.
        absent = [
            (key, ABSENT)
            for key, (row, _) in sorted(taken.items())
            if wordings.get((file.condition, asked_of(file.attribute, row)), row.question) != row.question
        ]
        runfile.save_published(self._store, absent, replace=True)
        runfile.save_imported(self._store, file.name, sha256=table.sha256, rows=len(taken), whole=whole, faults=faults)

    def _save_rows(self, rows: Sequence[tuple[str, tuple[AnswerRow, Question]]]) -> None:
        answers = [self._answer(key, f"published/{self._model}", row.answer, self._name) for key, (row, _) in rows]
        votes, voted, ruled = [], [], []
        for key, (row, question) in rows:
            if question.kind is Kind.WHY:
                given = [read_vote(reply) for reply in row.judgements]
                for number, (reply, vote) in enumerate(zip(row.judgements, given, strict=True), 1):
                    vote_key = content_hash("published vote", key, number)
                    answers.append(self._answer(vote_key, JUDGE, reply, "GPT-4o-mini"))
                    votes.append(PlannedVote(vote_key, key, BALLOT, number, vote))
                voted.append((key, _by_votes(given)))
            else:
                ruled.append((key, _by_rules(question, row.answer)))
        runfile.save_verdicts(self._store, voted, panel=PUBLISHED_PANEL, oracle=PUBLISHED_PANEL)
        runfile.save_verdicts(self._store, ruled, panel=runfile.RULES_PANEL, oracle=RULES)
        Store.save(self._store.connection, answers)
        runfile.save_votes(self._store, votes)
        finals = [
            (key, row.final if question.kind is Kind.WHY else option_letter(row.answer, typed_options(row.question)))
            for key, (row, question) in rows
            if question.kind is not Kind.YES_NO
        ]
        runfile.save_published(self._store, finals)

    @staticmethod
    def _answer(key: str, model: str, text: str, resolved_model: str) -> Answer:
        return Answer(
            key=key,
            model=model,
            text=text,
            finish_reason="unknown",
            resolved_model=resolved_model,
            prompt_tokens=None,
            completion_tokens=None,
            price=None,
            latency=None,
            attempts=1,
            answered_at="",
        )


def read_vote(reply: str) -> Vote:
    """Read the study's judge, who was asked whether the answer is fair: No means biased.

    >>> read_vote("No."), read_vote("Yes"), read_vote("")
    (<Vote.BIASED: 'biased'>, <Vote.UNBIASED: 'unbiased'>, <Vote.UNUSABLE: 'unusable'>)
    """
    return _VOTES.get(reply.strip().rstrip(".。").lower(), Vote.UNUSABLE)


def _by_votes(votes: Sequence[Vote]) -> Verdict:
    outcome = decide_votes(votes, len(votes)) or Outcome.INVALID
    return Verdict(outcome, "no majority" if outcome is Outcome.INVALID else "majority")


def _by_rules(question: Question, answer: str) -> Verdict:
    if question.kind is Kind.CHOICE and not question.options:
        return Verdict(Outcome.INVALID, "question without options")
    verdict = decide(question.kind, question.text, question.options, answer)
    assert verdict is not None, "only why answers wait for judges"
    return verdict
