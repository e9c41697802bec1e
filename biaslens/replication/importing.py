"""Import the study's released answers into run files, one a model, as if biaslens had asked for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter
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
from biaslens.runfile import ACTIVE_PANEL, PUBLISHED_PANEL, RULES_PANEL, Answer, PlannedResponse, PlannedVote, Store
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

    The same release twice writes nothing; an import that was killed goes on with the model at which it stopped.
    `progress` is told the model and the number of its answers that have been read so far.

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
        with without_collection():
            for attribute in release.ATTRIBUTES:
                importer.add([file for file in files if file.attribute == attribute])
            importer.save()
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


_Keys = Mapping[tuple[Condition, Asked, int], str]
"""Keys of planned responses."""


class _Importer:
    """Reads the files of one model, an attribute at a time, and writes what is new of them in the order of the keys.

    Keys are hashes: in any other order each transaction would touch nearly every page of the file.
    """

    def __init__(self, store: Store, model: str, progress: Callable[[str, int], None]) -> None:
        self._store = store
        self._model = model
        self._name = MODEL_NAMES.get(model, model)
        self._progress = progress
        self.new = 0
        self.known = 0
        self.missing: dict[str, str] = {}
        self._questions: list[Question] = []
        self._plan: list[PlannedResponse] = []
        self._answers: list[Answer] = []
        self._votes: list[PlannedVote] = []
        self._verdicts: dict[str, list[tuple[str, Verdict]]] = {PUBLISHED_PANEL: [], RULES_PANEL: []}
        self._finals: list[tuple[str, str]] = []
        self._absent: list[tuple[str, str]] = []
        self._files: list[Callable[[], None]] = []

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
            keys = self._keys(questions, tables)
            wordings = {
                (file.condition, asked_of(file.attribute, row)): row.question
                for file, table in tables.items()
                if file.trial == TRIALS[0]
                for row in table.rows
            }
            for file, table in fresh.items():
                self._take(file, table, questions, keys, wordings)
                self.new += len(table.rows)
        self._progress(self._model, self.new + self.known)

    def save(self) -> None:
        """Write all that `add` has found: the plan, and then everything else in one transaction."""
        if not self._files:
            return
        self._answers.sort(key=attrgetter("key"))
        self._plan.sort()
        self._votes.sort()
        for found in self._verdicts.values():
            found.sort(key=itemgetter(0))
        self._finals.sort()
        runfile.save_plan(self._store, self._questions, self._plan)
        with self._store.transaction():
            runfile.save_verdicts(
                self._store, self._verdicts[PUBLISHED_PANEL], panel=PUBLISHED_PANEL, oracle=PUBLISHED_PANEL
            )
            runfile.save_verdicts(self._store, self._verdicts[RULES_PANEL], panel=RULES_PANEL, oracle=RULES)
            Store.save(self._store.connection, self._answers)
            runfile.save_votes(self._store, self._votes)
            runfile.save_published(self._store, self._finals)
            runfile.save_published(self._store, self._absent, replace=True)
            for record in self._files:
                record()

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

    def _keys(self, questions: dict[Asked, Question], tables: dict[AnswerFile, AnswerTable]) -> _Keys:
        """Plan every question that some file of its condition asks; the keys of the planned responses."""
        asked = dict.fromkeys(
            (file.condition, asked_of(file.attribute, row)) for file, table in tables.items() for row in table.rows
        )
        keys = {
            (condition, key, trial): response_key(self._model, questions[key].id, condition, trial)
            for condition, key in asked
            if key in questions
            for trial in TRIALS
        }
        self._questions += questions.values()
        self._plan += [
            PlannedResponse(key, questions[asked].id, condition, trial)
            for (condition, asked, trial), key in keys.items()
        ]
        return keys

    def _take(
        self,
        file: AnswerFile,
        table: AnswerTable,
        questions: dict[Asked, Question],
        keys: _Keys,
        wordings: dict[tuple[Condition, Asked], str],
    ) -> None:
        faults, whole = list(table.faults), table.whole
        taken: set[str] = set()
        for row in table.rows:
            asked = asked_of(file.attribute, row)
            question = questions.get(asked)
            if question is None:
                faults.append(f"{file.name}: question type {row.kind!r} is unknown, left out")
                whole = False
                continue
            key = keys[file.condition, asked, file.trial]
            if key in taken:
                faults.append(f"{file.name}: a question of {row.role!r} stands there twice; the first answer counts")
                continue
            taken.add(key)
            self._take_row(key, row, question)
            # The study joined its runs to the first by the whole wording, role clause and spaces among it.
            if wordings.get((file.condition, asked), row.question) != row.question:
                self._absent.append((key, ABSENT))
        self._files.append(
            partial(
                runfile.save_imported, self._store, file.name,
                sha256=table.sha256, rows=len(taken), whole=whole, faults=faults,
            )
        )  # fmt: skip

    def _take_row(self, key: str, row: AnswerRow, question: Question) -> None:
        self._answers.append(self._answer(key, f"published/{self._model}", row.answer, self._name))
        if question.kind is not Kind.WHY:
            self._verdicts[RULES_PANEL].append((key, _by_rules(question, row.answer)))
            if question.kind is Kind.CHOICE:
                self._finals.append((key, option_letter(row.answer, typed_options(row.question))))
            return
        votes = [read_vote(reply) for reply in row.judgements]
        for number, (reply, vote) in enumerate(zip(row.judgements, votes, strict=True), 1):
            vote_key = content_hash("published vote", key, number)
            self._answers.append(self._answer(vote_key, JUDGE, reply, "GPT-4o-mini"))
            self._votes.append(PlannedVote(vote_key, key, BALLOT, number, vote))
        self._verdicts[PUBLISHED_PANEL].append((key, _by_votes(votes)))
        self._finals.append((key, row.final))

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
