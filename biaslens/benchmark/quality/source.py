"""A benchmark to be checked, as it stands in its files, faults included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from biaslens.benchmark.files import (
    ABOUT,
    QUESTIONS,
    ROLES,
    Reader,
    check_folder,
    content_hash,
    normalised,
    read_about,
    read_bytes,
)
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Question, Role


class Requirement(StrEnum):
    """What a benchmark must keep: the name a report gives it, and what it asks for, in a sentence."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Requirement:
        """Make one."""
        rule = str.__new__(cls, name)
        rule._value_, rule.meaning = name, meaning
        return rule

    FILE = "file", "Every file and row can be read, and its cells hold known terms."
    EMPTY = "empty text", "No name, persona, question or option is empty."
    CHARACTER = "character", "Texts are made of characters that can be read, and of no separator."
    PLACEHOLDER = "placeholder", "No placeholder is left unfilled."
    VAGUE = "vague group", "Groups are named, not hinted at (“certain races”)."
    FORM = (
        "form",
        "Scene and lead-in apart, yes/no begins with an auxiliary verb, why with Why; all end with a question mark.",
    )
    TAG = "tag question", "A yes/no question asks, and does not assert and then ask for assent (“…, right?”)."
    OPTIONS = (
        "options",
        "A choice has two or more groups, all different, then the abstaining option; no other kind has any.",
    )
    ARTICLE = "article", "“a” before a consonant sound and “an” before a vowel sound, and neither before a plural."
    DOUBLED = "doubled word", "No word stands twice in a row."
    SPACING = "spacing", "One blank between words, none before a mark and one after it."
    PUNCTUATION = "punctuation", "One mark at a time, and brackets and quotation marks in pairs."
    CAPITAL = "capital", "A question begins with a capital."
    AGREEMENT = "agreement", "Verb and subject agree in number, where that is cheap to see."
    REPEAT = "exact repeat", "No question says word for word what another one says, once the role is off."
    MIRROR = "mirror", "A mirror names an original of the same role and kind, and differs from it."


@dataclass(frozen=True, slots=True)
class Fault:
    """One breach of a rule: what is wrong, in one line, with the words at fault.

    `place` is file and line: "questions.csv:12"; the file alone where it is about all of it.
    """

    rule: Requirement
    place: str
    message: str


_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?]) +")


def statement(question: Question) -> str:
    """Say all of a question in one text: the question, and the groups among its options that it does not name.

    Some benchmarks name the groups in the question, some only in the options. So put, they compare. The abstaining
    option, which is last, says nothing of the question and is left out.

    >>> from biaslens.schema import Attribute, Role
    >>> bakers = Role(Attribute.OCCUPATION, "Bakers", "a baker")
    >>> statement(Question(bakers, Kind.CHOICE, "Who is kinder?", ("Cats", "Dogs", "I cannot say")))
    'Who is kinder? Cats, Dogs'
    >>> statement(Question(bakers, Kind.CHOICE, "Who is kinder: cats or dogs?", ("Cats", "Dogs", "I cannot say")))
    'Who is kinder: cats or dogs?'
    """
    if question.kind is not Kind.CHOICE:
        return question.text
    said = f" {normalised(question.text)} "
    unsaid = [option for option in question.options[:-1] if f" {normalised(option)} " not in said]
    return f"{question.text} {', '.join(unsaid)}" if unsaid else question.text


def last_sentence(text: str) -> str:
    """Take off the scene in front of a question.

    >>> last_sentence("Two guests are cold. Whom do you let in?")
    'Whom do you let in?'
    """
    return _BETWEEN_SENTENCES.split(text.strip())[-1]


def ngrams(items: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """List the runs of `size` items; empty where there are fewer.

    >>> ngrams(["who", "is", "kinder"], 2)
    [('who', 'is'), ('is', 'kinder')]
    """
    return [tuple(items[start : start + size]) for start in range(len(items) - size + 1)]


@dataclass(frozen=True)
class Source:
    """Roles and questions as they were found, in file order, and file and line of each.

    What no role, question or term could be made of is missing and stands in `faults`, with all else that reading came
    upon. `name` is the path; `version` what it says of itself, "" where it says nothing; `notes` are what a reader of
    the numbers should know of it, a sentence each.
    """

    name: str
    version: str
    roles: tuple[Role, ...] = field(repr=False)
    questions: tuple[Question, ...] = field(repr=False)
    role_places: tuple[str, ...] = field(repr=False)
    question_places: tuple[str, ...] = field(repr=False)
    faults: tuple[Fault, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()


class _Lister(Reader):
    """Goes on after a fault, and lists it."""

    strict = False

    def __init__(self, path: Path, faults: list[Fault], data: bytes | None = None) -> None:
        super().__init__(path)
        self.faults = faults
        self._data = data

    def place(self, line: int) -> str:
        return f"{self.path.name}:{line}"

    def fault(self, line: int, message: str) -> None:
        self.faults.append(Fault(Requirement.FILE, self.place(line), message))

    def text(self) -> str:
        """The whole file; a line that is not UTF-8 is a fault, and gets replacement characters."""
        data = read_bytes(self.path) if self._data is None else self._data
        for number, line in enumerate(data.split(b"\n"), start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                self.faults.append(Fault(Requirement.CHARACTER, self.place(number), "not valid UTF-8"))
        return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def csv_rows(
    data: bytes, path: Path, columns: Sequence[str], faults: list[Fault]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rows of a CSV file that fit its first line, each with its place; the others become faults.

    BenchmarkError when it is no CSV, or its first line lacks one of `columns`.
    """
    reader = _Lister(path, faults, data)
    for line, cells in reader.rows(columns):
        yield reader.place(line), dict(zip(columns, cells, strict=True))


def read_source(path: Path) -> Source:
    """Read a benchmark folder and list what stands in the way; `biaslens.benchmark.read` stops at the first fault.

    BenchmarkError when the folder, ``roles.csv`` or ``questions.csv`` is missing, has not the columns, or holds no
    question.
    """
    check_folder(path)
    faults: list[Fault] = []
    reader = _Lister(path / ROLES, faults)
    roles, seen = [], dict[tuple[Attribute, str], str]()
    for line, role in reader.roles():
        place = reader.place(line)
        if (first := seen.setdefault((role.attribute, role.name), place)) != place:
            faults.append(Fault(Requirement.REPEAT, place, f"role {role.name!r} of {role.attribute} repeats {first}"))
        roles.append((place, role))
    reader = _Lister(path / QUESTIONS, faults)
    questions = [(reader.place(line), question) for line, question in reader.questions(role for _, role in roles)]
    if not questions:
        raise BenchmarkError(f"{path / QUESTIONS}: no questions; a benchmark needs at least one")
    read = Source(
        name=str(path),
        version="",
        roles=tuple(role for _, role in roles),
        questions=tuple(question for _, question in questions),
        role_places=tuple(place for place, _ in roles),
        question_places=tuple(place for place, _ in questions),
    )
    version = _version(path / ABOUT, read, faults)
    return replace(read, version=version, faults=tuple(faults))


def _version(path: Path, read: Source, faults: list[Fault]) -> str:
    try:
        about = read_about(path)
    except BenchmarkError as error:
        faults.append(Fault(Requirement.FILE, ABOUT, str(error).removeprefix(f"{path}: ")))
        return ""
    if about.hash not in ("", content_hash(read.roles, read.questions)):
        faults.append(Fault(Requirement.FILE, ABOUT, f"hash {about.hash} is not that of {ROLES} and {QUESTIONS}"))
    return about.version
