"""The words of one protected attribute: rows of forms that stand for each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from biaslens.usecase.tokens import words_of


@dataclass(frozen=True, slots=True)
class Row:
    """Forms of one grammatical kind, one cell a group.

    Parameters
    ----------
    kind
        What the forms are: noun, plural, adjective, attributive, collective, country, subject, title, number, name ...
    needs
        Context in which the forms count; "" where the kind and the word say it.
    recognised
        By group: the forms that are looked for in a text.
    written
        By group: the form that a substitution writes; "" where it drops the word. A group without one has no form.
    """

    kind: str
    needs: str
    recognised: Mapping[str, tuple[str, ...]]
    written: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """When a word counts that may also mean something else.

    Parameters
    ----------
    needs
        Name of a rule of :mod:`biaslens.usecase.words.context`; "" for none.
    also
        Words that serve as a person noun for the rule "person".
    after
        Words of which one has to stand directly before; empty for any.
    not_before, not_after
        Words that must not follow it, or stand before it.
    """

    needs: str = ""
    also: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    not_before: frozenset[str] = frozenset()
    not_after: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class AttributeWords:
    """The words of one protected attribute.

    Parameters
    ----------
    name
        The attribute: "gender".
    groups
        Its groups, in a fixed order.
    compared
        The groups compared unless the user says otherwise.
    neutral
        The group of neutral forms, or None where there is none.
    source
        What the lists were made from.
    rows
        The forms.
    context
        By word or phrase in lower case: when it counts.
    """

    name: str
    groups: tuple[str, ...]
    compared: tuple[str, ...]
    neutral: str | None
    source: str
    rows: tuple[Row, ...]
    context: Mapping[str, Context] = field(default_factory=dict)

    @cached_property
    def words_by_group(self) -> Mapping[str, tuple[str, ...]]:
        """Words and phrases that are looked for, in lower case as :func:`words_of` splits them, without numbers."""
        return {
            group: tuple(
                dict.fromkeys(
                    phrase(form)
                    for row in self.rows
                    if row.kind not in {"number", "decade"}
                    for form in row.recognised.get(group, ())
                )
            )
            for group in self.groups
        }


def phrase(form: str) -> str:
    """A form as the words it is found by.

    Examples
    --------
    >>> phrase("Middle-aged")
    'middle aged'
    """
    return " ".join(words_of(form))
