"""Groups joined by "and" or "or" that have become one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from biaslens.usecase.counterfactual.edits import Edit
from biaslens.usecase.counterfactual.hits import Hit

_JOIN = re.compile(r",?\s*(?:/|\bor\b|\band\b)\s*", re.IGNORECASE)
_COMMA = re.compile(r",\s*")
_SINGULAR = frozenset({"noun", "thing", "name", "title"})


def collapsed(text: str, hits: Sequence[Hit], edits: Sequence[Edit]) -> list[Edit]:
    """Write "she" for "she or she", "Jews" for "Jews, Jews and Jews", and "old" for "aged or old"."""
    replaced = {edit.end: edit for edit in edits if edit.kind == "word"}
    gone: set[int] = set()
    joined: list[Edit] = []
    for chain in _chains(text, hits):
        stay = [text[hit.start : hit.end] for hit in chain if hit.end not in replaced]
        if len(stay) == len(chain) or any(hit.end in gone for hit in chain):
            continue
        forms = [replaced[hit.end].text if hit.end in replaced else text[hit.start : hit.end] for hit in chain]
        if len({form.casefold() for form in forms}) > 1:
            if not stay or len({hit.reading.row.kind for hit in chain}) > 1:
                continue
            first = replaced.get(chain[0].end)
            if first:
                first.text = stay[0].capitalize() if first.text.istitle() and stay[0].islower() else stay[0]
        for left, right in pairwise(chain):
            gone.add(right.end)
            joined.append(Edit(left.end, right.end, "", text[left.end : right.end], "joined"))
    kept = [edit for edit in edits if not (edit.kind == "word" and edit.end in gone)]
    return sorted([*kept, *joined], key=lambda edit: (edit.start, edit.end))


def _chains(text: str, hits: Sequence[Hit]) -> Iterator[list[Hit]]:
    """Mentions joined by "and" or "or", with commas between the first ones; singular nouns by "or" alone."""
    chain: list[Hit] = []
    for hit in hits:
        gap = text[chain[-1].end : hit.start] if chain else ""
        if chain and _JOIN.fullmatch(gap) and not ("and" in gap.lower() and hit.reading.row.kind in _SINGULAR):
            yield [*chain, hit]
            chain = []
        elif chain and _COMMA.fullmatch(gap):
            chain.append(hit)
        else:
            chain = [hit]
