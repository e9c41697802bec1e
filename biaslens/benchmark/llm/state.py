"""What has been asked for, accepted and refused so far."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from biaslens.benchmark.encounters import PER_ROLE, Encounter, EncounterChecker
from biaslens.benchmark.files import SEPARATOR, Benchmark, normalised
from biaslens.benchmark.llm.reading import FIELDS, Item, read_encounter, read_items, read_role
from biaslens.errors import BenchmarkError, InputError
from biaslens.models import Params
from biaslens.prompts import source
from biaslens.schema import Attribute, Question, Role, content_hash

RUN_FILE = "generation.sqlite"
"""Name of the run file, in the folder of the benchmark."""

MAX_TOKENS = 6144
"""Default limit of a reply: twenty encounters as JSON take about 4,000 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSpec:
    """A benchmark to be written by a model.

    Model, numbers, sampling parameters, seed and prompts belong to a folder once it holds an answer; the rest may
    change from one start to the next.

    Parameters
    ----------
    out
        Folder of the benchmark and of the run file `RUN_FILE`.
    roles
        Roles to write encounters for; the model is asked for roles where there are none.
    roles_per_attribute, questions_per_kind
        Roles of each attribute, and encounters for each role, each of which is a question of each kind.
    max_rounds
        Most times that a list of roles, or the encounters of one role, are asked for.
    seed
        Start of the requests' seeds, where the provider takes one, and of the order of options.
    mirrors
        Add the mirrors of each question.
    json_schema
        Ask for JSON by the provider's schema mode, where it has one.
    partial
        Write the benchmark even where roles or encounters are missing.
    parallel_to
        A benchmark of which this becomes another form: its roles, as many encounters for each on each target as it has,
        and none that nearly repeats one of it.
    """

    model: str
    out: Path
    attributes: tuple[Attribute, ...] = tuple(Attribute)
    roles: tuple[Role, ...] = ()
    roles_per_attribute: int = 50
    questions_per_kind: int = PER_ROLE
    max_rounds: int = 5
    params: Params = field(default_factory=lambda: Params(max_tokens=MAX_TOKENS))
    seed: int = 0
    mirrors: bool = False
    json_schema: bool = True
    partial: bool = False
    parallel_to: Benchmark | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        for name, value, most in (
            ("roles per attribute", self.roles_per_attribute, None),
            ("questions per kind", self.questions_per_kind, PER_ROLE),
            ("rounds", self.max_rounds, None),
        ):
            if value < 1 or (most and value > most):
                raise InputError(f"{name} must be at least 1{f' and at most {most}' if most else ''}, not {value}")
        if not self.attributes:
            raise InputError(f"a benchmark needs at least one attribute: {', '.join(Attribute)}")
        if self.roles and not any(role.attribute in self.attributes for role in self.roles):
            raise InputError(f"none of the {len(self.roles)} roles is of {', '.join(self.attributes)}")

    @property
    def run(self) -> Path:
        """The run file."""
        return self.out / RUN_FILE

    @property
    def command(self) -> str:
        """The command that makes such a benchmark again, as far as a model repeats itself."""
        options: list[tuple[str, object]] = [
            ("--fresh-seed" if self.parallel_to else "--seed", self.seed),
            ("--roles", "roles.csv" if self.roles and not self.parallel_to else None),
            ("--roles-per-attribute", self.roles_per_attribute),
            ("--questions-per-kind", self.questions_per_kind),
            *(("--attribute", each) for each in self.attributes if set(self.attributes) != set(Attribute)),
            ("--temperature", self.params.temperature),
            ("--max-tokens", self.params.max_tokens),
        ]
        parts = [part for name, value in options if value is not None for part in (name, str(value))]
        flags = ["--mirrors"] * self.mirrors + ["--no-json-schema"] * (not self.json_schema)
        return shlex.join(["biaslens", "generate", "--with", self.model, *parts, *flags, "--out", "benchmark"])


class Rule(StrEnum):
    """Why an item was not accepted, or a reply holds none."""

    FORM = "form"
    CHECKER = "checker"
    REPEAT = "repeat"
    EMPTY = "empty reply"
    REFUSED = "refused"
    UNREADABLE = "unreadable reply"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class ItemFault:
    """What is wrong with an item, "" where it is about the whole reply, for the model to mend."""

    rule: Rule
    reason: str
    item: str = ""


@cache
def examples(of: str) -> tuple[Item, ...]:
    """What every model is shown as examples of "roles" or "encounters".

    Examples
    --------
    >>> [item["persona"] for item in examples("roles")]
    ['a lighthouse keeper on the coast of Maine', 'a pastry cook who stammers']
    """
    section = source(f"generate_{of}").partition("EXAMPLES")[2]
    return tuple(read_items(re.split("^[A-Z]+$", section, maxsplit=1, flags=re.MULTILINE)[0]))


_EXAMPLE = Role(Attribute.CULTURE, "Examples", "an example")
_MOST_PAIRS = 60

_Made = TypeVar("_Made", Role, Encounter)

_REFUSAL = re.compile(
    r"\b(?:sorry|can(?:no|['’])t|cannot|unable|won['’]t|will not|not (?:able|comfortable|appropriate)|apologi[sz]e|"
    r"decline)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ListTask:
    """A list to be written: the encounters of a role, or, where that is None, roles of an attribute."""

    attribute: Attribute
    role: Role | None = None

    @property
    def columns(self) -> tuple[str, str | None, str | None]:
        """Attribute, name and persona, as they are stored."""
        name, persona = (None, None) if self.role is None else (self.role.name, self.role.persona)
        return self.attribute, name, persona


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A stored reply and what it replies to."""

    key: str
    task: ListTask
    batch: int
    text: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Made(Generic[_Made]):
    """An accepted item, and the key and batch of the reply that it comes from; "" and 0 for a role that was given."""

    item: _Made
    key: str = ""
    batch: int = 0


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
    """All tasks of a generation and how far they are.

    Attributes
    ----------
    faults
        What was not accepted, each with the key of its reply.
    first_read, first_taken
        Encounters read from the first replies on each role, and how many of these were accepted.
    """

    def __init__(self, spec: GenerationSpec) -> None:
        self.spec = spec
        self.roles: dict[Attribute, Work[Role]] = {}
        self.encounters: dict[Role, Work[Encounter]] = {}
        self.faults: list[tuple[str, ItemFault]] = []
        self.first_read = self.first_taken = 0
        self._checker = EncounterChecker()
        for example in examples("encounters"):
            self._checker.take(read_encounter(example, _EXAMPLE))
        self._public: dict[Role, list[Question]] = defaultdict(list)
        public = spec.parallel_to.questions if spec.parallel_to else ()
        for question in public:
            self._checker.know(question)
            its = self._public[question.role]
            # One of an encounter's forms stands for it.
            original = question.kind is public[0].kind and question.mirror_of is None
            if original and question.target is not None and len(its) < spec.questions_per_kind:
                its.append(question)
        for attribute in spec.attributes:
            self._roles(attribute)

    def take(self, reply: StoredReply) -> None:
        """Read a reply: accept what fits of its items, as many as are missing, and note what is wrong with the rest."""
        role = reply.task.role
        if role is None:
            if not self.spec.roles:
                self._take_roles(reply, self._roles(reply.task.attribute))
        elif (work := self.encounters.get(role)) is not None:
            self._take_encounters(reply, role, work)

    def add_role(self, made: Made[Role]) -> None:
        """Accept a role; its encounters are then to be written."""
        self._roles(made.item.attribute).made.append(made)
        public = self._public.get(made.item)
        self.encounters[made.item] = Work(len(public) if public else self.spec.questions_per_kind)

    def work(self, task: ListTask) -> Work[Role] | Work[Encounter]:
        """How far a task is."""
        return self._roles(task.attribute) if task.role is None else self.encounters[task.role]

    def tasks(self) -> Iterator[ListTask]:
        """Tasks of the attributes wanted, in the order of the benchmark."""
        for attribute in Attribute:
            if attribute in self.spec.attributes:
                yield ListTask(attribute)
        for role in self.made_roles():
            yield ListTask(role.attribute, role)

    def open(self, given_up: Collection[ListTask] = ()) -> list[ListTask]:
        """Tasks to be asked for next: all lists of roles come before any encounters.

        Encounters wait until no role is missing, so that nobody pays for a benchmark that cannot become whole; with
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

    def made_encounters(self) -> list[Made[Encounter]]:
        """Encounters of the attributes wanted, in the order of the benchmark, with their origin."""
        return [made for role in self.made_roles() for made in self.encounters[role].made]

    def targets(self, role: Role) -> dict[Attribute, int]:
        """How many more encounters a role is to have on each target: as many as are missing in all.

        A role's own attribute is wanted most, then those that it has least of; which come first among equals differs
        from role to role, or the first attributes would always be asked about most.
        """
        work = self.encounters[role]
        if self.spec.parallel_to:
            left = Counter(question.target for question in self._public[role] if question.target)
            left.subtract(made.item.target for made in work.made)
            return {target: left[target] for target in Attribute if left[target] > 0}
        has = Counter(made.item.target for made in work.made)
        wanted: Counter[Attribute] = Counter()
        for _ in range(work.missing):
            own = has[role.attribute]
            ranks = {target: (float(has[target]), content_hash(role.name, target)) for target in Attribute}
            ranks[role.attribute] = (own / 2.1 if own > 1 else -1.0, "")
            target = min(Attribute, key=ranks.__getitem__)
            wanted[target] += 1
            has[target] += 1
        return {target: wanted[target] for target in Attribute if wanted[target]}

    def pairs_elsewhere(self, role: Role, *, before: int) -> list[str]:
        """The pairs of groups that other roles have from batches before this one, most frequent ones first.

        Those of the batch at work are left out: what a model is told must not hang on the order of arrival. Those that
        the public form has for this role come before all.
        """
        public = [" / ".join(sorted(map(str.casefold, question.groups))) for question in self._public[role]]
        pairs = Counter(
            made.item.pair
            for other, work in self.encounters.items()
            for made in work.made
            if other != role and made.batch < before
        )
        return [*public, *(pair for pair, _ in pairs.most_common(_MOST_PAIRS) if pair not in public)]

    def _roles(self, attribute: Attribute) -> Work[Role]:
        if attribute not in self.roles:
            given = [role for role in self.spec.roles if role.attribute is attribute][: self.spec.roles_per_attribute]
            self.roles[attribute] = Work(len(given) if self.spec.roles else self.spec.roles_per_attribute)
            for role in given:
                self.add_role(Made(role))
        return self.roles[attribute]

    def _take_roles(self, reply: StoredReply, work: Work[Role]) -> None:
        there = {normalised(text) for made in work.made for text in (made.item.name, made.item.persona)}
        there |= {normalised(text) for example in examples("roles") for text in example.values()}
        for item in self._read(reply, work):
            try:
                role = read_role(item, reply.task.attribute)
            except BenchmarkError as error:
                self._note(reply, work, Rule.FORM, str(error), item)
                continue
            names = {normalised(role.name), normalised(role.persona)}
            if names & there:
                self._note(reply, work, Rule.REPEAT, "is there already", item)
            else:
                there |= names
                self.add_role(Made(role, reply.key, reply.batch))

    def _take_encounters(self, reply: StoredReply, role: Role, work: Work[Encounter]) -> None:
        first, before = not work.rounds, len(work.made)
        for item in self._read(reply, work):
            self.first_read += first
            try:
                one = read_encounter(item, role)
            except BenchmarkError as error:
                self._note(reply, work, Rule.FORM, str(error), item)
                continue
            if self.spec.parallel_to and one.target not in self.targets(role):
                self._note(reply, work, Rule.CHECKER, f"no more encounters are wanted on {one.target}", item)
            elif faults := self._checker.faults(one):
                self._note(reply, work, Rule.CHECKER, "; ".join(faults), item)
            else:
                self._checker.take(one)
                work.made.append(Made(one, reply.key, reply.batch))
        self.first_taken += first * (len(work.made) - before)

    def _read(self, reply: StoredReply, work: Work[Any]) -> Iterator[Item]:
        """The items of a reply, until there are enough."""
        work.rounds += 1
        work.faults.clear()
        items = read_items(reply.text, cut_off=reply.finish_reason == "length")
        if not items:
            self._note(reply, work, *_nothing(reply))
        elif reply.finish_reason == "length":
            self._note(reply, work, Rule.CUT_OFF, "the reply was too long and broke off")
        for item in items:
            if not work.missing:
                return
            yield item

    def _note(self, reply: StoredReply, work: Work[Any], rule: Rule, reason: str, item: Item | None = None) -> None:
        fault = ItemFault(rule, reason, _shown(item) if item else "")
        work.faults.append(fault)
        self.faults.append((reply.key, fault))


def _shown(item: Item) -> str:
    """An item as a model is asked to write it."""
    known = [name for name in FIELDS if name in item] or list(item)
    values = {name: item[name].split(SEPARATOR) if name == "options" else item[name] for name in known}
    return json.dumps(values, ensure_ascii=False)


def _nothing(reply: StoredReply) -> tuple[Rule, str]:
    """Why a reply holds no items."""
    if reply.finish_reason == "content_filter":
        return Rule.REFUSED, "the reply was withheld by a filter"
    if not reply.text.strip():
        return Rule.EMPTY, "the reply was empty"
    if reply.finish_reason == "length":
        return Rule.CUT_OFF, "the reply was too long and broke off before anything could be read"
    if _REFUSAL.search(reply.text):
        return Rule.REFUSED, "the reply was a refusal; the questions serve to test models for fairness"
    return Rule.UNREADABLE, "the reply held no JSON of the form asked for"
