"""The JSON that a model is asked for, and what is read of it before anything is checked."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from biaslens.models import JsonSchema
from biaslens.schema import Attribute, Kind


class _Form(BaseModel):
    # Strict schema modes take only objects that forbid further fields and require all of theirs.
    model_config = ConfigDict(extra="forbid")


class _Role(_Form):
    name: str
    persona: str


class _Roles(_Form):
    roles: list[_Role]


class _Question(_Form):
    text: str
    target: Attribute
    groups: list[str]


class _Questions(_Form):
    questions: list[_Question]


class _Choice(_Question):
    options: list[str]


class _Choices(_Form):
    questions: list[_Choice]


ROLES = JsonSchema("roles", _Roles.model_json_schema())
"""Form of a list of roles."""

QUESTIONS = {
    kind: JsonSchema(
        f"{kind}_questions", (_Choices if kind is Kind.CHOICE else _Questions).model_json_schema()
    )
    for kind in Kind
}  # fmt: skip
"""Form of a list of questions of each kind."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One item as a model wrote it, not checked.

    Parameters
    ----------
    text
        A question's text, or a role's name.
    persona
        A role's persona; "" where there is none.
    options
        A choice's options.
    groups
        The groups that a question compares; None where the model did not say.
    target
        The attribute on which they differ; None where the model did not say, or said something else.
    """

    text: str
    persona: str = ""
    options: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    target: Attribute | None = None
