"""A benchmark as a folder of plain files: roles.csv, questions.csv and benchmark.toml; and smaller parts of it."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from biaslens import schema
from biaslens._util import without_collection
from biaslens._util.files import resource, write_text
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Mirror, Question, Role

ROLES, QUESTIONS, ABOUT = "roles.csv", "questions.csv", "benchmark.toml"

CANARY = "Data of a benchmark, not for training: biaslens canary b3ffdec7-8932-48be-a25c-ae8c92f74464"
"""Stands in benchmark.toml and the datasheet. Whoever filters training data can look for it, and a model that completes
it has read them."""

MARK = CANARY.partition(": ")[2]
"""What of it stands in a column "canary" of each row that holds a text, for rows are parted from their file."""

ROLE_COLUMNS = ("attribute", "name", "persona")
QUESTION_COLUMNS = ("attribute", "role", "kind", "target", "groups", "text", "options")
MIRROR_COLUMNS = ("mirror", "mirror_of")
"""Of questions.csv, only where a benchmark has mirrors."""

ENCOUNTER_COLUMNS = ("encounter", "stereotype", "theme", "disfavoured", "picks")
"""Of questions.csv, only where questions come from encounters."""

_OPTIONAL_COLUMNS = frozenset({"target", "groups", *MIRROR_COLUMNS, *ENCOUNTER_COLUMNS})

_ATTRIBUTES = {attribute.value: attribute for attribute in Attribute}
_KINDS = {kind.value: kind for kind in Kind}
_MIRRORS = {mirror.value: mirror for mirror in Mirror}

_Term = TypeVar("_Term", bound=StrEnum)

MOST_OPTIONS = 26
"""Letters from A to Z."""

SEPARATOR = " | "
"""Between the items of a list in one CSV cell."""

_NOT_A_WORD = re.compile(r"[\W_]+")
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_PLACEHOLDER = re.compile(r"\b[Gg]roups? (?:[A-HXYZ]|[1-9])\b|\bGROUP [A-Z1-9]\b|[\[{<][A-Za-z][^\]}>]*[\]}>]")


@dataclass(frozen=True, slots=True)
class About:
    """What benchmark.toml says; a text is "" and the seed None where it says nothing."""

    version: str
    hash: str
    generator: str
    seed: int | None
    command: str


def read_bytes(path: Path) -> bytes:
    """Read a file of a benchmark; in a dataset repository, what its Parquet files hold of it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        from biaslens.benchmark.hub import csv_bytes  # only here: Arrow takes long to load

        if (found := csv_bytes(path)) is not None:
            return found
        raise BenchmarkError(
            f"{path}: no such file; a benchmark folder holds {ROLES}, {QUESTIONS} and {ABOUT}"
        ) from None
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """Read a UTF-8 file, with or without a byte order mark, with Unix or Windows line ends."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BenchmarkError(f"{path}:{line}: not valid UTF-8; save the file as UTF-8") from None


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BenchmarkError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        raise BenchmarkError(f"{path}: not valid TOML: nested too deep") from None


def read_about(path: Path) -> About:
    """Read benchmark.toml; only the version must be there."""
    table = read_toml(path)

    def text(name: str) -> str:
        value = table.get(name, "")
        if not isinstance(value, str):
            raise BenchmarkError(f"{path}: {name} = {value!r} should be a text in quotes")
        return value

    seed = table.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise BenchmarkError(f"{path}: seed = {seed!r} should be a whole number")
    if not text("version"):
        raise BenchmarkError(f'{path}: no version; add a line such as version = "1-A"')
    return About(text("version"), text("hash"), text("generator"), seed, text("command"))


class Reader:
    """Reads a CSV file of a benchmark and refuses it at the first fault; `biaslens.benchmark.quality` lists faults."""

    strict = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self) -> str:
        """The whole file."""
        return read_text(self.path)

    def fault(self, line: int, message: str) -> None:
        """Something is wrong in a line."""
        raise BenchmarkError(f"{self.path}:{line}: {message}")

    def rows(
        self, columns: Sequence[str], optional: Collection[str] = _OPTIONAL_COLUMNS
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield each row's first line and its cells in the columns; an optional column that is missing is empty."""
        reader = csv.reader(io.StringIO(self.text(), newline=""), strict=self.strict)
        try:
            header = [name.strip() for name in next(reader, [])]
            # Whoever adds a row by hand may leave the canary out.
            marked = header[-1:] == ["canary"]
            header = header[: len(header) - marked]
            missing = [name for name in columns if name not in header and name not in optional]
            if missing:
                raise BenchmarkError(
                    f"{self.path}: no column {', '.join(map(repr, missing))}; the first line must name "
                    f"{', '.join(name for name in columns if name not in optional or name in QUESTION_COLUMNS)}"
                )
            # What no column holds is read from an empty cell put behind the last one.
            pick = itemgetter(*(header.index(name) if name in header else len(header) for name in columns))
            line = reader.line_num + 1
            for cells in reader:
                if marked and len(cells) > len(header):
                    cells.pop()
                if cells and len(cells) != len(header):
                    self.fault(
                        line,
                        f"{len(cells)} cells where the first line has {len(header)}; "
                        "put a cell that contains a comma in double quotes",
                    )
                elif cells:
                    cells.append("")
                    yield line, pick(cells)
                line = reader.line_num + 1
        except csv.Error as error:
            raise BenchmarkError(f"{self.path}:{reader.line_num}: not valid CSV: {error}") from None

    def roles(self) -> Iterator[tuple[int, Role]]:
        """Yield the roles of roles.csv and their lines."""
        for line, (of, name, persona) in self.rows(ROLE_COLUMNS):
            attribute = self._term(_ATTRIBUTES, of, "attribute", line)
            if attribute is not None:
                yield line, Role(attribute, name, persona)

    def questions(self, roles: Iterable[Role]) -> Iterator[tuple[int, Question]]:
        """Yield the questions of questions.csv, whose roles are those given, and their lines."""
        by_name: dict[tuple[str, str], Role] = {(role.attribute, role.name): role for role in roles}
        items = cache(_items)  # most lists occur many times: keep one of each
        for line, row in self.rows((*QUESTION_COLUMNS, *MIRROR_COLUMNS, *ENCOUNTER_COLUMNS)):
            of, name, form, on, groups, text, options, how, mirror_of, *origin = row
            attribute = self._term(_ATTRIBUTES, of, "attribute", line)
            kind = self._term(_KINDS, form, "kind", line)
            if attribute is None or kind is None:
                continue
            role = by_name.get((attribute, name))
            if role is None:
                where = "add it there or correct it here"
                self.fault(line, f"role {name!r} of {attribute} is not in {ROLES}; {where}")
                role = Role(attribute, name, "")
            target = self._term(_ATTRIBUTES, on, "target", line) if on else None
            mirror = self._term(_MIRRORS, how, "mirror", line) if how else None
            asked = (text, items(options), target, items(groups))
            yield line, Question(role, kind, *asked, mirror_of or None, mirror, *origin)

    def _term(self, terms: Mapping[str, _Term], cell: str, column: str, line: int) -> _Term | None:
        term = terms.get(cell)
        if term is None:
            self.fault(line, f"{column} {cell!r} is unknown; use one of {', '.join(terms)}")
        return term


def _items(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split(SEPARATOR.strip())) if cell else ()


def read_roles(path: Path) -> tuple[Role, ...]:
    """Read and check roles.csv."""
    found = list(Reader(path).roles())
    roles = tuple(role for _, role in found)
    check_roles(roles, _places(path, [line for line, _ in found]))
    return roles


def _places(path: Path, lines: Sequence[int]) -> Callable[[int], str]:
    return lambda index: f"{path}:{lines[index]}" if lines else str(path)


@dataclass(frozen=True)
class Benchmark:
    """Roles and their questions, in file order, and where they come from.

    `version` is as "1-A": the number changes when results stop being comparable, the letter when only the interface
    does. `hash` is the `content_hash`, `path` the folder it was read from, None for one made in memory. `generator`
    ("bank", "encounters", a model's name) made it with `seed`, by `command`; "" and None where there is none.
    """

    version: str
    hash: str
    path: Path | None
    roles: tuple[Role, ...] = field(repr=False)
    questions: tuple[Question, ...] = field(repr=False)
    generator: str = ""
    seed: int | None = None
    command: str = ""


def content_hash(roles: Sequence[Role], questions: Sequence[Question]) -> str:
    """Hash of all that roles and questions say, in their order: 32 hexadecimal digits, whatever the line ends."""
    return schema.content_hash(
        [(role.attribute, role.name, role.persona) for role in roles],
        [
            (q.role.attribute, q.role.name, q.kind, q.target, q.groups, q.text, q.options)
            + ((q.mirror, q.mirror_of) if q.mirror_of else ())
            + ((q.encounter, q.stereotype, q.theme, q.disfavoured, q.picks) if q.encounter else ())
            for q in questions
        ],
    )


@cache
def shipped() -> Benchmark:
    """Read the benchmark that comes with the package, once."""
    return read(resource("benchmark"))


@without_collection()
def read(path: Path) -> Benchmark:
    """Read and check a benchmark folder.

    ``benchmark.toml`` may lack ``hash``, and ``questions.csv`` the columns ``target`` and ``groups``. The folder may
    also be a dataset repository, as `biaslens export --format hf` writes it.

    Raises
    ------
    BenchmarkError
        At the first fault: one line with file, line, what is wrong and what to do.
    """
    check_folder(path)
    about = read_about(path / ABOUT)
    roles = read_roles(path / ROLES)
    lines, questions = [], []
    for line, question in Reader(path / QUESTIONS).questions(roles):
        lines.append(line)
        questions.append(question)
    found = content_hash(roles, questions)
    if found != about.hash:  # `write` has checked what it gave this hash to
        check_questions(questions, _places(path / QUESTIONS, lines))
    if about.hash not in ("", found):
        raise BenchmarkError(
            f'{path}: {ROLES} or {QUESTIONS} was changed since hash = "{about.hash}" was written to {ABOUT}; '
            "if you meant to, delete that line and give the benchmark a version of its own, else restore the files"
        )
    origin = (about.generator, about.seed, about.command)
    return Benchmark(about.version, found, path, roles, tuple(questions), *origin)


def check_folder(path: Path) -> None:
    """Refuse what is no folder."""
    if not path.is_dir():
        raise BenchmarkError(f"{path}: no such folder; give one that holds {ROLES}, {QUESTIONS} and {ABOUT}")


def write(benchmark: Benchmark, path: Path) -> None:
    """Write a benchmark to a folder, made where missing; the same benchmark always gives the same bytes.

    The hash written is that of the content. BenchmarkError when the content could not be read back, StorageError when
    the folder cannot be written.
    """
    check_roles(benchmark.roles, lambda index: f"role {index + 1}")
    check_questions(benchmark.questions, lambda index: f"question {index + 1}")
    columns = columns_of(benchmark.questions)
    rows = (itemgetter(*columns)(question_row(question)) for question in benchmark.questions)
    texts = {
        ROLES: roles_text(benchmark.roles),
        QUESTIONS: marked_csv(columns, rows),
        ABOUT: about_text(benchmark),
    }
    for name, text in texts.items():
        # A crash half-way leaves whole files; one that belongs to another content shows by its hash.
        write_text(path / name, text, hint="choose a folder you may write to")


def columns_of(questions: Sequence[Question]) -> list[str]:
    """Columns of questions.csv that these need."""
    columns = [*QUESTION_COLUMNS]
    if any(question.mirror_of for question in questions):
        columns += MIRROR_COLUMNS
    if any(question.encounter for question in questions):
        columns += ENCOUNTER_COLUMNS
    return columns


def question_row(question: Question) -> dict[str, str]:
    """Cells of questions.csv by column."""
    return {
        "attribute": question.role.attribute,
        "role": question.role.name,
        "kind": question.kind,
        "target": question.target or "",
        "groups": SEPARATOR.join(question.groups),
        "text": question.text,
        "options": SEPARATOR.join(question.options),
        "mirror": question.mirror or "",
        "mirror_of": question.mirror_of or "",
        **{name: getattr(question, name) for name in ENCOUNTER_COLUMNS},
    }


def roles_text(roles: Iterable[Role]) -> str:
    """Contents of roles.csv."""
    return marked_csv(ROLE_COLUMNS, ((role.attribute, role.name, role.persona) for role in roles))


def marked_csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A CSV file whose rows hold texts, the canary in the last column."""
    return csv_text((*columns, "canary"), ((*row, MARK) for row in rows))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A CSV file with its first line."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([columns, *rows])
    return buffer.getvalue()


def about_text(benchmark: Benchmark) -> str:
    """Contents of benchmark.toml."""
    values = {
        "version": benchmark.version,
        "hash": content_hash(benchmark.roles, benchmark.questions),
        "generator": benchmark.generator,
        "seed": benchmark.seed,
        "command": benchmark.command,
        "canary": CANARY,
    }
    kinds = [question.kind for question in benchmark.questions]
    counts = {"roles": len(benchmark.roles), "questions": len(kinds)} | {kind: kinds.count(kind) for kind in Kind}
    # A JSON string or integer is also a TOML one.
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items() if value is not None]
    lines += ["", "[counts]", *(f"{name} = {count}" for name, count in counts.items())]
    return "\n".join(lines) + "\n"


def select(
    benchmark: Benchmark,
    *,
    attributes: Collection[Attribute] | None = None,
    kinds: Collection[Kind] | None = None,
    roles_per_attribute: int | None = None,
    questions_per_kind: int | None = None,
) -> list[Question]:
    """Choose questions, in file order; empty where nothing fits, ValueError for a negative number.

    Slices nest: one with smaller numbers is contained in one with larger numbers, so a run on a small slice is a head
    start for a run on a larger one. `attributes` are those of the **role**; of each, `roles_per_attribute` takes the
    first so many, and `questions_per_kind` the first so many questions of each kind for each role. Mirrors do not
    count: each comes along with its original. None takes all.
    """
    for number in (roles_per_attribute, questions_per_kind):
        if number is not None and number < 0:
            raise ValueError(f"cannot take {number} of something; give 0 or more")
    ranks: Counter[object] = Counter()

    def fits(place: object, limit: int | None) -> bool:
        ranks[place] += 1
        return limit is None or ranks[place] <= limit

    kept = {
        role
        for role in benchmark.roles
        if fits(role.attribute, roles_per_attribute) and (attributes is None or role.attribute in attributes)
    }
    chosen = {
        index
        for index, question in enumerate(benchmark.questions)
        if not question.mirror_of
        and question.role in kept
        and (kinds is None or question.kind in kinds)
        and fits((question.role, question.kind), questions_per_kind)
    }
    if any(question.mirror_of for question in benchmark.questions):
        originals = {benchmark.questions[index].id for index in chosen}
        chosen |= {i for i, question in enumerate(benchmark.questions) if question.mirror_of in originals}
    return [benchmark.questions[index] for index in sorted(chosen)]


def normalised(text: str) -> str:
    """Strip what does not tell questions apart: case, punctuation, white space, Unicode form.

    >>> normalised("Who is  *kinder*: Women, or men?")
    'who is kinder women or men'
    """
    if text.isascii():  # the same as below, and much faster
        return " ".join(text.lower().translate(_BLANKS).split())
    text = unicodedata.normalize("NFKC", text)
    return _NOT_A_WORD.sub(" ", text.casefold()).strip()


def placeholder(text: str) -> str | None:
    """Find the first unfilled placeholder in the text ("Group A", "[group]", "{role}"); None where there is none.

    >>> placeholder("Why is Group B lazier than Group A?")
    'Group B'
    >>> placeholder("Is this group a danger to others?") is None
    True
    """
    # Looking for these first is much faster than the pattern alone.
    if not ("roup" in text or "ROUP" in text or "[" in text or "{" in text or "<" in text):
        return None
    found = _PLACEHOLDER.search(text)
    return found.group() if found else None


def question_key(question: Question) -> tuple[str, ...]:
    """Reduce a question to what repeats when another one asks the same, the role and the order of options apart."""
    return (question.kind, normalised(question.text), *sorted(map(str.casefold, question.options)))


def check_roles(roles: Sequence[Role], where: Callable[[int], str]) -> None:
    """Refuse empty, repeated or unprintable roles: BenchmarkError at the first fault, in one line.

    `where` names the place of the i-th role, for messages: "roles.csv:3".
    """
    if not roles:
        raise BenchmarkError(f"{where(0)}: no roles; a benchmark needs at least one")
    seen: dict[tuple[Attribute, str], int] = {}
    for index, role in enumerate(roles):
        for label, text in (("name", role.name), ("persona", role.persona)):
            _check_text(text, label, partial(where, index))
        key = (role.attribute, role.name)
        if key in seen:
            raise BenchmarkError(
                f"{where(index)}: role {role.name!r} of {role.attribute} repeats {where(seen[key])}; "
                "give every role of an attribute its own name"
            )
        seen[key] = index


def check_questions(questions: Sequence[Question], where: Callable[[int], str]) -> None:
    """Refuse questions that are empty, repeated within a role, unfilled, or not of the form of their kind.

    `where` and errors are as for `check_roles`.
    """
    if not questions:
        raise BenchmarkError(f"{where(0)}: no questions; a benchmark needs at least one")
    seen: dict[str, int] = {}
    good: set[tuple[str, ...]] = set()
    for index, question in enumerate(questions):
        _check_question(question, partial(where, index), good)
        # A mirrored choice may differ from its original in the order of the options only.
        key = "\n".join((question.role.attribute, question.role.name, question.mirror or "", *question_key(question)))
        if (first := seen.setdefault(key, index)) != index:
            raise BenchmarkError(
                f"{where(index)}: question {question.text!r} repeats {where(first)} for the same role; remove one"
            )
    for index, message in mirror_faults(questions):
        raise BenchmarkError(f"{where(index)}: {message}")


def repeats(questions: Iterable[Question]) -> list[tuple[Question, Question]]:
    """Questions that are the same once the role is off, each with the first one it repeats."""
    first: dict[tuple[str, ...], Question] = {}
    return [
        (first[key], question)
        for question in questions
        if first.setdefault(key := question_key(question), question) is not question
    ]


def mirror_faults(questions: Sequence[Question]) -> Iterator[tuple[int, str]]:
    """Positions of mirrors that belong to no original of their role and kind, or are no other than it; what to do."""
    if not any(question.mirror_of or question.mirror for question in questions):
        return
    originals = {question.id: question for question in questions if question.mirror_of is None}
    for index, question in enumerate(questions):
        if (question.mirror is None) != (question.mirror_of is None):
            yield index, "a mirror has both 'mirror' and 'mirror_of'; fill in both cells or neither"
        if question.mirror_of is None:
            continue
        original = originals.get(question.mirror_of)
        if original is None or (original.role, original.kind) != (question.role, question.kind):
            yield (
                index,
                f"mirror_of {question.mirror_of!r} is no id of an original of the same role and kind; give the "
                "original's id, or leave mirror and mirror_of empty",
            )
        if question.id in originals:
            yield index, f"mirror {question.text!r} says the same as an original; remove it"
        if question.mirror is Mirror.REVERSED and question.kind is not Kind.YES_NO:
            yield index, f"a {question.kind} question has no reversed mirror; swap its groups"


def _check_question(question: Question, where: Callable[[], str], good: set[tuple[str, ...]]) -> None:
    """Check one question; `good` collects lists that need no second look, for most occur many times."""
    _check_text(question.text, "text", where)
    for label, items in (("option", question.options), ("group", question.groups)):
        if items not in good:
            for item in items:
                _check_text(item, label, where)
                if "|" in item:
                    raise BenchmarkError(f"{where()}: {label} {item!r} contains '|', which separates items; reword it")
            good.add(items)
    if question.kind is Kind.CHOICE:
        if len(question.options) < 3:
            raise BenchmarkError(
                f"{where()}: a choice needs at least two groups and the abstaining option, joined by {SEPARATOR!r}; "
                f"got {len(question.options)} options"
            )
        if len(question.options) > MOST_OPTIONS:
            raise BenchmarkError(
                f"{where()}: {len(question.options)} options; a choice has letters for at most {MOST_OPTIONS}"
            )
        if len(set(map(str.casefold, question.options))) < len(question.options):
            raise BenchmarkError(f"{where()}: two options of {question.text!r} are the same; reword one")
    elif question.options:
        raise BenchmarkError(f"{where()}: a {question.kind} question takes no options; leave the cell empty")


def _check_text(text: str, label: str, where: Callable[[], str]) -> None:
    if not text or text.isspace():
        raise BenchmarkError(f"{where()}: empty {label}; fill it in or remove the row")
    if text != text.strip():
        raise BenchmarkError(f"{where()}: {label} {text!r} begins or ends with white space; trim it")
    if not text.isprintable() and _CONTROL.search(text):
        raise BenchmarkError(f"{where()}: {label} {text!r} contains a character that is not text; remove it")
    if found := placeholder(text):
        raise BenchmarkError(f"{where()}: placeholder {found!r} in {label} {text!r}; name a concrete group instead")
