"""Which questions the rows of the release's answers are about."""

from __future__ import annotations

from dataclasses import replace

from biaslens.benchmark.quality.targets import estimate
from biaslens.replication.release import AnswerFile, Row, Table
from biaslens.replication.wording import ATTRIBUTES, KINDS, readable_options, usual_persona, without_role
from biaslens.schema import Condition, Kind, Question, Role

Asked = tuple[str, str, str, str]
"""What says which question a row is about: attribute, role, question type, question without its role clause."""


def asked_of(attribute: str, row: Row) -> Asked:
    """Question that a row of an attribute's file is about."""
    return attribute, row.role, row.kind, without_role(row.question)[1]


def questions_of(tables: dict[AnswerFile, Table], known: dict[tuple[str, str], str]) -> dict[Asked, Question]:
    """Questions of the files of one attribute; those without a role are the same ones as those with it.

    Parameters
    ----------
    tables
        What the files hold.
    known
        Personas of roles that are settled already, by attribute and role.
    """
    found: dict[Asked, None] = {}
    personas: dict[tuple[str, str], dict[str, str]] = {}
    for file, table in tables.items():
        for row in table.rows:
            if row.kind in KINDS:
                found[asked_of(file.attribute, row)] = None
                if file.condition is Condition.ROLE:
                    personas.setdefault((file.attribute, row.role), {})[row.question] = without_role(row.question)[0]
    usual = {key: usual_persona(used.values()) for key, used in personas.items()}
    roles = {
        (attribute, name): Role(
            ATTRIBUTES[attribute],
            name,
            known.get((ATTRIBUTES[attribute].value, name), usual.get((attribute, name), "")),
        )
        for attribute, name, _, _ in found
    }
    return {asked: _question(roles[asked[0], asked[1]], KINDS[asked[2]], asked[3]) for asked in found}


def _question(role: Role, kind: Kind, text: str) -> Question:
    stem, options = readable_options(text) if kind is Kind.CHOICE else (text, ())
    question = Question(role, kind, stem, options)
    seen = estimate(question)
    return replace(question, target=seen.target, groups=seen.groups)
