"""The examples in the prompts: what a model copies from them is nothing that it wrote."""

from __future__ import annotations

from functools import cache

from biaslens.benchmark.llm.forms import Draft
from biaslens.benchmark.llm.reading import read_items
from biaslens.benchmark.validation import normalised
from biaslens.resources import resource
from biaslens.schema import Kind


@cache
def example_texts(kind: Kind | None) -> frozenset[str]:
    """Normalised texts of the examples for a kind of question, or for roles (None).

    Examples
    --------
    >>> "lighthouse keepers" in example_texts(None)
    True
    """
    text = (resource("prompts") / f"generate_{kind or 'roles'}.j2").read_text(encoding="utf-8")
    section = text.partition("EXAMPLES")[2].partition("REQUIREMENTS")[0]
    return frozenset(normalised(draft.text) for draft in read_items(section))


def is_example(draft: Draft, kind: Kind | None) -> bool:
    """Whether a draft is one of the examples."""
    return normalised(draft.text) in example_texts(kind)
