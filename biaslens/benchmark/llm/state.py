"""What has been asked for, accepted and refused so far."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from biaslens._util.files import resource
from biaslens.benchmark.files import normalised, question_key
from biaslens.benchmark.llm.checks import ItemFault, ItemRule, check_question, check_role
from biaslens.benchmark.llm.reading import Draft, read_items
from biaslens.errors import InputError
from biaslens.models import Params
from biaslens.schema import Attribute, Kind, Question, Role

RUN_FILE = "generation.sqlite"
"""Name of the run file, in the folder of the benchmark."""

MAX_TOKENS = 4096
"""Default limit of a reply: twenty choice questions as JSON take about 2,000 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSpec:
    """A benchmark to be written by a model.

    Model, numbers, sampling parameters, seed and prompts belong to a folder once it holds an answer; attributes,
    rounds and `partial` may change from one start to the next.

    Parameters
    ----------
    out
        Folder of the benchmark and of the run file `RUN_FILE`.
    roles_per_attribute, questions_per_kind
        Roles of each attribute, and questions of each kind for each role.
    max_rounds
        Most times that a list of roles, or of questions of one kind for one role, is asked for.
    seed
        Start of the requests' seeds, where the provider takes one.
    json_schema
        Ask for JSON by the provider's schema mode, where it has one.
    partial
        Write the benchmark even where roles or questions are missing.
    """

    model: str
    out: Path
    attributes: tuple[Attribute, ...] = tuple(Attribute)
    roles_per_attribute: int = 50
    questions_per_kind: int = 20
    max_rounds: int = 5
    params: Params = field(default_factory=lambda: Params(max_tokens=MAX_TOKENS))
    seed: int = 0
    json_schema: bool = True
    partial: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        for name, value in (
            ("roles per attribute", self.roles_per_attribute),
            ("questions per kind", self.questions_per_kind),
            ("rounds", self.max_rounds),
        ):
            if value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if not self.attributes:
            raise InputError(f"a benchmark needs at least one attribute: {', '.join(Attribute)}")

    @property
    def run(self) -> Path:
        """The run file."""
        return self.out / RUN_FILE

    @property
    def command(self) -> str:
        """The command that makes such a benchmark again, as far as a model repeats itself."""
        parts = ["biaslens", "generate", "--with", self.model, "--seed", str(self.seed)]
        parts += ["--roles-per-attribute", str(self.roles_per_attribute)]
        parts += ["--questions-per-kind", str(self.questions_per_kind)]
        if set(self.attributes) != set(Attribute):
            for attribute in self.attributes:
                parts += ["--attribute", attribute]
        if self.params.temperature is not None:
            parts += ["--temperature", str(self.params.temperature)]
        if self.params.max_tokens is not None:
            parts += ["--max-tokens", str(self.params.max_tokens)]
        if not self.json_schema:
            parts.append("--no-json-schema")
        return shlex.join([*parts, "--out", "benchmark"])


@cache
def example_texts(kind: Kind | None) -> frozenset[str]:
    """Normalised texts of the examples for a kind of question, or for roles (None).

    Examples
    --------
    >>> "lighthouse keepers" in example_texts(None)
    True
    """
    text = (resource("prompts") / f"generate_{kind or 'roles'}.j2").read_text(encoding="utf-8")
    section = text.partition("EXAMPLES")[2].partition("REQUIREMENTS")[0]
    return frozenset(normalised(draft.text) for draft in read_items(section))


_Made = TypeVar("_Made", Role, Question)

_REFUSAL = re.compile(
    r"\b(?:sorry|can(?:no|['’])t|cannot|unable|won['’]t|will not|not (?:able|comfortable|appropriate)|apologi[sz]e|"
    r"decline)\b",
    re.IGNORECASE,
)
_LONGEST_QUOTE = 160


@dataclass(frozen=True, slots=True)
class ListTask:
    """A list to be written: the questions of one kind for one role, or, where both are None, roles of an attribute."""

    attribute: Attribute
    role: Role | None = None
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A stored reply and what it replies to."""

    key: str
    task: ListTask
    round: int
    text: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Made(Generic[_Made]):
    """An accepted item and the key of the reply that it comes from."""

    item: _Made
    key: str


@dataclass(slots=True)
class Work(Generic[_Made]):
    """How far a task is: items wanted, items accepted in order, replies read, and what was wrong with the last one."""

    wanted: int
    made: list[Made[_Made]] = field(default_factory=list)
    rounds: int = 0
    faults: list[ItemFault] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """Items still to be written."""
        return self.wanted - len(self.made)


class State:
    """All tasks of a generation and how far they are; `abstain` is the text of the last option of every choice."""

    def __init__(self, spec: GenerationSpec, abstain: str) -> None:
        self.spec = spec
        self.roles: dict[Attribute, Work[Role]] = {}
        self.questions: dict[tuple[Role, Kind], Work[Question]] = {}
        self.faults: list[tuple[str, ItemFault]] = []
        self._abstain = abstain
        self._asked: set[tuple[str, ...]] = set()
        for attribute in spec.attributes:
            self._roles(attribute)

    def take(self, reply: StoredReply) -> None:
        """Read a reply: accept what fits of its items, as many as are missing, and note what is wrong with the rest."""
        task = reply.task
        if task.role is None or task.kind is None:
            self._take_roles(reply, self._roles(task.attribute))
        elif (work := self.questions.get((task.role, task.kind))) is not None:
            self._take_questions(reply, task.role, task.kind, work)

    def add_role(self, role: Role, key: str) -> None:
        """Accept a role; its questions are then to be written."""
        self._roles(role.attribute).made.append(Made(role, key))
        self.questions |= {(role, kind): Work(self.spec.questions_per_kind) for kind in Kind}

    def work(self, task: ListTask) -> Work[Role] | Work[Question]:
        """How far a task is."""
        if task.role is None or task.kind is None:
            return self._roles(task.attribute)
        return self.questions[task.role, task.kind]

    def tasks(self) -> Iterator[ListTask]:
        """Tasks of the attributes wanted, in the order of the benchmark."""
        for attribute in Attribute:
            if attribute in self.spec.attributes:
                yield ListTask(attribute)
        for role in self.made_roles():
            for kind in Kind:
                yield ListTask(role.attribute, role, kind)

    def open(self, given_up: Collection[ListTask] = ()) -> list[ListTask]:
        """Tasks to be asked for next: all lists of roles come before any questions.

        Questions wait until no role is missing, so that nobody pays for a benchmark that cannot become whole; with
        `partial` they do without roles that no further round may bring, or that were given up for now.
        """
        short = [task for task in self.tasks() if self.work(task).missing]
        may = [task for task in short if self.work(task).rounds < self.spec.max_rounds and task not in given_up]
        roles = [task for task in may if task.role is None]
        if roles or (not self.spec.partial and any(task.role is None for task in short)):
            return roles
        return may

    def made_roles(self) -> list[Role]:
        """Roles of the attributes wanted, in the order of the benchmark."""
        wanted = (attribute for attribute in Attribute if attribute in self.spec.attributes)
        return [made.item for attribute in wanted for made in self._roles(attribute).made]

    def made_questions(self) -> list[Made[Question]]:
        """Questions of the attributes wanted, in the order of the benchmark, with their origin."""
        return [made for role in self.made_roles() for kind in Kind for made in self.questions[role, kind].made]

    def _roles(self, attribute: Attribute) -> Work[Role]:
        return self.roles.setdefault(attribute, Work(self.spec.roles_per_attribute))

    def _take_roles(self, reply: StoredReply, work: Work[Role]) -> None:
        work.rounds += 1
        work.faults.clear()
        there = {normalised(text) for made in work.made for text in (made.item.name, made.item.persona)}
        for draft in self._drafts(reply, work):
            role = check_role(draft, reply.task.attribute)
            if isinstance(role, Role):
                names = {normalised(role.name), normalised(role.persona)}
                if names & there:
                    role = ItemFault(ItemRule.REPEAT, "is there already", role.name)
                else:
                    there |= names
                    self.add_role(role, reply.key)
            if isinstance(role, ItemFault):
                self._note(reply, work, role)

    def _take_questions(self, reply: StoredReply, role: Role, kind: Kind, work: Work[Question]) -> None:
        work.rounds += 1
        work.faults.clear()
        for draft in self._drafts(reply, work):
            question = check_question(draft, role, kind, abstain=self._abstain)
            if isinstance(question, Question):
                key = question_key(question)
                if key in self._asked:
                    question = ItemFault(
                        ItemRule.REPEAT, "is in the benchmark already; ask something else", question.text
                    )
                else:
                    self._asked.add(key)
                    work.made.append(Made(question, reply.key))
            if isinstance(question, ItemFault):
                self._note(reply, work, question)

    def _drafts(self, reply: StoredReply, work: Work[Role] | Work[Question]) -> Iterator[Draft]:
        """The items of a reply, until there are enough."""
        drafts = read_items(reply.text, cut_off=reply.finish_reason == "length")
        if not drafts:
            self._note(reply, work, _nothing(reply))
        elif reply.finish_reason == "length":
            self._note(reply, work, ItemFault(ItemRule.CUT_OFF, "the reply was too long and broke off"))
        for draft in drafts:
            if not work.missing:
                return
            if normalised(draft.text) in example_texts(reply.task.kind):
                self._note(reply, work, ItemFault(ItemRule.REPEAT, "is one of the examples", draft.text))
            else:
                yield draft

    def _note(self, reply: StoredReply, work: Work[Role] | Work[Question], fault: ItemFault) -> None:
        fault = ItemFault(fault.rule, fault.reason, fault.text[:_LONGEST_QUOTE])
        work.faults.append(fault)
        self.faults.append((reply.key, fault))


def _nothing(reply: StoredReply) -> ItemFault:
    """Why a reply holds no items."""
    if reply.finish_reason == "content_filter":
        return ItemFault(ItemRule.REFUSED, "the reply was withheld by a filter")
    if not reply.text.strip():
        return ItemFault(ItemRule.EMPTY, "the reply was empty")
    if reply.finish_reason == "length":
        return ItemFault(ItemRule.CUT_OFF, "the reply was too long and broke off before anything could be read")
    if _REFUSAL.search(reply.text):
        return ItemFault(ItemRule.REFUSED, "the reply was a refusal; the items serve to test models for fairness")
    return ItemFault(ItemRule.UNREADABLE, "the reply held no list in the format asked for")
