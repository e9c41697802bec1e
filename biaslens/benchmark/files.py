"""A benchmark as a folder of plain files: roles.csv, questions.csv and benchmark.toml."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from biaslens import schema
from biaslens._util.files import write_text
from biaslens.benchmark.parsing import (
    ABOUT,
    ENCOUNTER_COLUMNS,
    MIRROR_COLUMNS,
    QUESTION_COLUMNS,
    QUESTIONS,
    ROLE_COLUMNS,
    ROLES,
    read_about,
    read_questions,
    read_roles,
)
from biaslens.benchmark.validation import SEPARATOR, check_questions, check_roles
from biaslens.errors import BenchmarkError
from biaslens.resources import resource
from biaslens.schema import Kind, Question, Role


@dataclass(frozen=True)
class Benchmark:
    """Roles and their questions, and where they come from.

    Parameters
    ----------
    version
        As "1-A": the number changes when results stop being comparable, the letter when only the interface does.
    hash
        Content hash of roles and questions, see `content_hash`.
    path
        The folder it was read from; None for one made in memory.
    roles, questions
        In file order.
    generator
        What made it: "bank", or a model's name; "" where unknown.
    seed
        Seed of the generator, where it has one.
    command
        The command that makes it again; "" where there is none.
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
            + ((q.encounter, q.stereotype, q.theme, q.disfavoured) if q.encounter else ())
            for q in questions
        ],
    )


def shipped() -> Benchmark:
    """Read the benchmark that comes with the package."""
    return read(resource("benchmark"))


def read(path: Path) -> Benchmark:
    """Read and check a benchmark folder.

    ``benchmark.toml`` may lack ``hash``, and ``questions.csv`` the columns ``target`` and ``groups``.

    Raises
    ------
    BenchmarkError
        At the first fault: one line with file, line, what is wrong and what to do.
    """
    if not path.is_dir():
        raise BenchmarkError(f"{path}: no such folder; give one that holds {ROLES}, {QUESTIONS} and {ABOUT}")
    about = read_about(path / ABOUT)
    roles = read_roles(path / ROLES)
    questions = read_questions(path / QUESTIONS, roles)
    found = content_hash(roles, questions)
    if about.hash not in ("", found):
        raise BenchmarkError(
            f'{path}: {ROLES} or {QUESTIONS} was changed since hash = "{about.hash}" was written to {ABOUT}; '
            "if you meant to, delete that line and give the benchmark a version of its own, else restore the files"
        )
    return Benchmark(
        version=about.version,
        hash=found,
        path=path,
        roles=roles,
        questions=questions,
        generator=about.generator,
        seed=about.seed,
        command=about.command,
    )


def write(benchmark: Benchmark, path: Path) -> None:
    """Write a benchmark to a folder, made where missing; the same benchmark always gives the same bytes.

    The hash written is that of the content.

    Raises
    ------
    BenchmarkError
        When the content could not be read back.
    StorageError
        When the folder cannot be written.
    """
    check_roles(benchmark.roles, lambda index: f"role {index + 1}")
    check_questions(benchmark.questions, lambda index: f"question {index + 1}")
    columns = [*QUESTION_COLUMNS]
    if any(question.mirror_of for question in benchmark.questions):
        columns += MIRROR_COLUMNS
    if any(question.encounter for question in benchmark.questions):
        columns += ENCOUNTER_COLUMNS
    texts = {
        ROLES: _csv(ROLE_COLUMNS, ((role.attribute, role.name, role.persona) for role in benchmark.roles)),
        QUESTIONS: _csv(columns, (itemgetter(*columns)(_question_row(question)) for question in benchmark.questions)),
        ABOUT: _about(benchmark),
    }
    for name, text in texts.items():
        # A crash half-way leaves whole files; one that belongs to another content shows by its hash.
        write_text(path / name, text, hint="choose a folder you may write to")


def _question_row(question: Question) -> dict[str, str]:
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
        "encounter": question.encounter,
        "stereotype": question.stereotype,
        "theme": question.theme,
        "disfavoured": question.disfavoured,
    }


def _csv(columns: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue()


def _about(benchmark: Benchmark) -> str:
    values = {
        "version": benchmark.version,
        "hash": content_hash(benchmark.roles, benchmark.questions),
        "generator": benchmark.generator,
        "seed": benchmark.seed,
        "command": benchmark.command,
    }
    kinds = [question.kind for question in benchmark.questions]
    counts = {"roles": len(benchmark.roles), "questions": len(kinds)} | {kind: kinds.count(kind) for kind in Kind}
    # A JSON string or integer is also a TOML one.
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items() if value is not None]
    lines += ["", "[counts]", *(f"{name} = {count}" for name, count in counts.items())]
    return "\n".join(lines) + "\n"
