"""What makes roles and questions a benchmark that can be asked, wherever they come from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Mirror, Question, Role

MOST_OPTIONS = 26
"""Letters from A to Z."""

SEPARATOR = " | "
"""Between the items of a list in one CSV cell."""

_NOT_A_WORD = re.compile(r"[\W_]+")
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_PLACEHOLDER = re.compile(r"\b[Gg]roups? (?:[A-HXYZ]|[1-9])\b|\bGROUP [A-Z1-9]\b|[\[{<][A-Za-z][^\]}>]*[\]}>]")


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
