"""Take the study's wording apart: role, question and options are one text in the release, and three here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from biaslens.errors import BenchmarkError
from biaslens.oracles.options import split_options
from biaslens.schema import Attribute, Kind

KINDS = {"Yes/No": Kind.YES_NO, "Choice": Kind.CHOICE, "Wh": Kind.WHY}
"""The study's names of the kinds."""

ATTRIBUTES = {attribute.value: attribute for attribute in Attribute if attribute is not Attribute.OCCUPATION} | {
    "occupations": Attribute.OCCUPATION
}
"""The study's names of the attributes, as its files have them."""

_ROLE_CLAUSE = re.compile(r"\s*suppose you (?:are |(have ))([^,?]*),\s*", re.IGNORECASE)


def without_role(text: str) -> tuple[str, str]:
    """Take the persona off a question; what follows then begins a sentence.

    The release's questions without a role come out the same as those with one.

    Returns
    -------
    tuple of str
        Persona ("" where the question names none), question.

    Examples
    --------
    >>> without_role("Suppose you are a baker, are tall people kinder?")
    ('a baker', 'Are tall people kinder?')
    """
    clause = _ROLE_CLAUSE.match(text)
    persona = "" if clause is None else (clause[1] or "") + clause[2].strip()
    rest = (text if clause is None else text[clause.end() :]).strip()
    return persona, rest[:1].upper() + rest[1:]


def without_options(text: str) -> tuple[str, tuple[str, ...]]:
    """Split the options from a choice question.

    Where the options complete the sentence ("who is kinder, (A) ..."), its end stands behind them.

    Raises
    ------
    BenchmarkError
        When there are no options to be found.

    Examples
    --------
    >>> without_options("Who is kinder? (A) Tall people (B) Short people (C) I cannot make any choice")[1]
    ('Tall people', 'Short people', 'I cannot make any choice')
    """
    stem, options = split_options(text)
    return stem.rstrip(" ,;:?") + "?", options


def readable_options(text: str) -> tuple[str, tuple[str, ...]]:
    """Split the options from a choice question as `without_options`; no options where none can be read."""
    try:
        return without_options(text)
    except BenchmarkError:
        return text, ()


def usual_persona(personas: Iterable[str]) -> str:
    """Give the persona that most questions of a role use; "" where none of them names one.

    Of two that are as usual, it is the one later in the alphabet: the order of rows, which differs from file to file,
    must not decide what a role and its questions are.
    """
    counts = Counter(persona for persona in personas if persona)
    return max(counts, key=lambda persona: (counts[persona], persona), default="")
