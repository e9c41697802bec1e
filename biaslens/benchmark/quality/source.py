"""A benchmark to be checked, as it stands in its files, faults included."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from biaslens.benchmark.files import ABOUT, QUESTION_COLUMNS, QUESTIONS, ROLE_COLUMNS, ROLES, content_hash, read_about
from biaslens.benchmark.validation import SEPARATOR, normalised
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Mirror, Question, Role


class Rule(StrEnum):
    """What a benchmark must keep; the value is the name a report gives it."""

    FILE = "file"
    EMPTY = "empty text"
    CHARACTER = "character"
    PLACEHOLDER = "placeholder"
    VAGUE = "vague group"
    FORM = "form"
    TAG = "tag question"
    OPTIONS = "options"
    ARTICLE = "article"
    DOUBLED = "doubled word"
    SPACING = "spacing"
    PUNCTUATION = "punctuation"
    CAPITAL = "capital"
    AGREEMENT = "agreement"
    REPEAT = "exact repeat"
    MIRROR = "mirror"

    @property
    def meaning(self) -> str:
        """What the rule asks for, in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Rule.FILE: "Every file and row can be read, and its cells hold known terms.",
    Rule.EMPTY: "No name, persona, question or option is empty.",
    Rule.CHARACTER: "Texts are made of characters that can be read, and of no separator.",
    Rule.PLACEHOLDER: "No placeholder is left unfilled.",
    Rule.VAGUE: "Groups are named, not hinted at (“certain races”).",
    Rule.FORM: "Yes/no begins with an auxiliary verb, why with Why, a lead-in apart; all end with a question mark.",
    Rule.TAG: "A yes/no question asks, and does not assert and then ask for assent (“…, right?”).",
    Rule.OPTIONS: "A choice has two or more groups, all different, then the abstaining option; no other kind has any.",
    Rule.ARTICLE: "“a” before a consonant sound and “an” before a vowel sound, and neither before a plural.",
    Rule.DOUBLED: "No word stands twice in a row.",
    Rule.SPACING: "One blank between words, none before a mark and one after it.",
    Rule.PUNCTUATION: "One mark at a time, and brackets and quotation marks in pairs.",
    Rule.CAPITAL: "A question begins with a capital.",
    Rule.AGREEMENT: "Verb and subject agree in number, where that is cheap to see.",
    Rule.REPEAT: "No question says word for word what another one says, once the role is off.",
    Rule.MIRROR: "A mirror names an original of the same role and kind, and differs from it.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One breach of one rule.

    Parameters
    ----------
    rule
        The rule.
    place
        File and line: "questions.csv:12"; the file alone where it is about all of it.
    message
        What is wrong, in one line, with the words at fault.
    """

    rule: Rule
    place: str
    message: str


_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def statement(question: Question) -> str:
    """Say all of a question in one text: the question, and the groups among its options that it does not name.

    Some benchmarks name the groups in the question, some only in the options. So put, they compare. The abstaining
    option, which is last, says nothing of the question and is left out.

    Examples
    --------
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


def words(text: str) -> list[str]:
    """Split a text into its words, in lower case; an apostrophe or hyphen inside a word belongs to it.

    Examples
    --------
    >>> words("Is it a well-kept garden's gate?")
    ['is', 'it', 'a', 'well-kept', "garden's", 'gate']
    """
    return _WORD.findall(text.lower())


def ngrams(items: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """List the runs of `size` items; empty where there are fewer.

    Examples
    --------
    >>> ngrams(["who", "is", "kinder"], 2)
    [('who', 'is'), ('is', 'kinder')]
    """
    return [tuple(items[start : start + size]) for start in range(len(items) - size + 1)]


_OPTIONAL = frozenset({"target", "groups"})
_Term = TypeVar("_Term", bound=StrEnum)


@dataclass(frozen=True)
class Source:
    """Roles and questions as they were found, and where each one stands.

    Parameters
    ----------
    name
        What to call it: its path.
    version
        What it says of itself; "" where it says nothing.
    roles, questions
        In file order; what no role, question or term could be made of is missing and stands in `faults`.
    role_places, question_places
        File and line of each.
    faults
        What reading came upon.
    notes
        What a reader of the numbers should know of this source, a sentence each.
    """

    name: str
    version: str
    roles: tuple[Role, ...] = field(repr=False)
    questions: tuple[Question, ...] = field(repr=False)
    role_places: tuple[str, ...] = field(repr=False)
    question_places: tuple[str, ...] = field(repr=False)
    faults: tuple[Fault, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()


def read_source(path: Path) -> Source:
    """Read a benchmark folder and list what stands in the way; `biaslens.benchmark.read` stops at the first fault.

    Raises
    ------
    BenchmarkError
        When the folder, ``roles.csv`` or ``questions.csv`` is missing, has not the columns, or holds no question.
    """
    if not path.is_dir():
        raise BenchmarkError(f"{path}: no such folder; give one that holds {ROLES}, {QUESTIONS} and {ABOUT}")
    faults: list[Fault] = []
    roles = list(_roles(path / ROLES, faults))
    questions = list(_questions(path / QUESTIONS, [role for _, role in roles], faults))
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
        faults.append(Fault(Rule.FILE, ABOUT, str(error).removeprefix(f"{path}: ")))
        return ""
    if about.hash not in ("", content_hash(read.roles, read.questions)):
        faults.append(Fault(Rule.FILE, ABOUT, f"hash {about.hash} is not that of {ROLES} and {QUESTIONS}"))
    return about.version


def _roles(path: Path, faults: list[Fault]) -> Iterator[tuple[str, Role]]:
    seen: dict[tuple[str, str], str] = {}
    for place, row in csv_rows(_bytes(path), path, ROLE_COLUMNS, faults):
        attribute = _term(Attribute, row["attribute"], "attribute", place, faults)
        if attribute is None:
            continue
        key = (row["attribute"], row["name"])
        if (first := seen.setdefault(key, place)) != place:
            faults.append(Fault(Rule.REPEAT, place, f"role {row['name']!r} of {attribute} repeats {first}"))
        yield place, Role(attribute, row["name"], row["persona"])


def _questions(path: Path, roles: Sequence[Role], faults: list[Fault]) -> Iterator[tuple[str, Question]]:
    by_name = {(role.attribute.value, role.name): role for role in roles}
    for place, row in csv_rows(_bytes(path), path, QUESTION_COLUMNS, faults):
        attribute = _term(Attribute, row["attribute"], "attribute", place, faults)
        kind = _term(Kind, row["kind"], "kind", place, faults)
        if attribute is None or kind is None:
            continue
        role = by_name.get((attribute, row["role"]))
        if role is None:
            faults.append(Fault(Rule.FILE, place, f"role {row['role']!r} of {attribute} is not in {ROLES}"))
            role = Role(attribute, row["role"], "")
        target = _term(Attribute, row["target"], "target", place, faults) if row.get("target") else None
        mirror = _term(Mirror, row["mirror"], "mirror", place, faults) if row.get("mirror") else None
        options, groups = _items(row["options"]), _items(row.get("groups", ""))
        yield (
            place,
            Question(role, kind, row["text"], options, target, groups, row.get("mirror_of") or None, mirror),
        )


def csv_rows(
    data: bytes, path: Path, columns: Sequence[str], faults: list[Fault]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rows of a CSV file that fit its first line, each with its place; the others become faults.

    Raises
    ------
    BenchmarkError
        When it is no CSV, or its first line lacks one of `columns` (but "target" and "groups").
    """
    text = _decoded(data, path.name, faults)
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [name.strip() for name in next(reader, [])]
        if missing := [name for name in columns if name not in header and name not in _OPTIONAL]:
            raise BenchmarkError(
                f"{path}: no column {', '.join(map(repr, missing))}; the first line must name {', '.join(columns)}"
            )
        line = reader.line_num + 1
        for cells in reader:
            place = f"{path.name}:{line}"
            if cells and len(cells) != len(header):
                message = f"{len(cells)} cells where the first line has {len(header)}"
                faults.append(Fault(Rule.FILE, place, message))
            elif cells:
                yield place, dict(zip(header, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise BenchmarkError(f"{path}:{reader.line_num}: not valid CSV: {error}") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BenchmarkError(
            f"{path}: no such file; a benchmark folder holds {ROLES}, {QUESTIONS} and {ABOUT}"
        ) from None
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read: {error.strerror or error}") from error


def _decoded(data: bytes, name: str, faults: list[Fault]) -> str:
    """Decode UTF-8; a line that is none is a fault, and gets replacement characters."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        for number, line in enumerate(data.split(b"\n"), start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                faults.append(Fault(Rule.CHARACTER, f"{name}:{number}", "not valid UTF-8"))
        text = data.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n")


def _term(terms: type[_Term], cell: str, column: str, place: str, faults: list[Fault]) -> _Term | None:
    try:
        return terms(cell)
    except ValueError:
        faults.append(Fault(Rule.FILE, place, f"{column} {cell!r} is unknown; use one of {', '.join(terms)}"))
        return None


def _items(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split(SEPARATOR.strip())) if cell else ()
