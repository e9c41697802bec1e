"""What a question says, and its words: the common ground of all measures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from biaslens.benchmark.validation import normalised
from biaslens.schema import Kind, Question

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
