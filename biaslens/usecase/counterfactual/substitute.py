"""Setting every word of an attribute in a text to one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from biaslens.errors import InputError
from biaslens.usecase.counterfactual.edits import Edit, Kept, write
from biaslens.usecase.counterfactual.forms import Setting, begin_of, replaced, titled
from biaslens.usecase.counterfactual.hits import hits_in
from biaslens.usecase.counterfactual.joined import collapsed
from biaslens.usecase.counterfactual.marked import Marked
from biaslens.usecase.words import AttributeWords, Lexicon
from biaslens.usecase.words.spoken import Spoken

_ROUNDS = 2
"""Further passes at most; one finds nothing in nearly every text."""


@dataclass(frozen=True, slots=True)
class Swap:
    """One word or phrase of the original, from character `start` to `end`, and what takes its place."""

    before: str
    after: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Variant:
    """A text that names one group only.

    Parameters
    ----------
    text
        The text.
    swaps
        Words of the attribute that were replaced, in the order of the text; "" as `after` where one was dropped. Verbs
        and articles that follow them are changed, too, and not listed.
    notes
        What is uncertain, or could not be replaced.
    """

    text: str
    swaps: tuple[Swap, ...]
    notes: tuple[str, ...]

    @property
    def swapped(self) -> str:
        """The swaps in one line: "his -> her; Mr -> Ms", each once."""
        return "; ".join(dict.fromkeys(f"{swap.before.strip()} -> {swap.after or '(dropped)'}" for swap in self.swaps))


def substitute(text: str, attribute: AttributeWords, group: str, lexicon: Lexicon) -> Variant:
    """Set every word of an attribute in a text to one group.

    Words of the group itself stay as they are, so that substituting twice is the same as once. Case is kept, and "a" or
    "an" before a changed word follows its sound. Where a form is missing for the group, the word stays, with a note.

    Parameters
    ----------
    text
        Any text.
    attribute
        The attribute; one of those of the lexicon.
    group
        One of its groups.
    lexicon
        Where words are looked up.

    Raises
    ------
    InputError
        When the attribute has no such group, or the lexicon no such attribute.

    Examples
    --------
    >>> from biaslens.usecase.words import load_words
    >>> lexicon = load_words(["gender"])
    >>> gender = lexicon.attributes["gender"]
    >>> substitute("He told his wife.", gender, "male", lexicon).text
    'He told his husband.'
    >>> substitute("She is a waitress; the tip is hers.", gender, "neutral", lexicon).text
    'They are a server; the tip is theirs.'
    """
    if group not in attribute.groups:
        raise InputError(f"{attribute.name} has no group {group!r}; there are: {', '.join(attribute.groups)}")
    if attribute.name not in lexicon.attributes:
        raise InputError(f"the lexicon has no words of {attribute.name!r}; load them with it")
    variant, origins = _once(text, attribute, group, lexicon)
    for _ in range(_ROUNDS):
        if not variant.swaps:
            break
        again, further = _once(variant.text, attribute, group, lexicon)
        if not again.swaps:
            break
        variant, origins = _after(variant, again, origins, further)
    return variant


def _once(text: str, attribute: AttributeWords, group: str, lexicon: Lexicon) -> tuple[Variant, Sequence[Kept]]:
    """One pass; and what stayed."""
    spoken = Spoken.of(text)
    marked = Marked.of(spoken)
    hits = hits_in(spoken, marked, attribute, lexicon)
    if not hits:
        return Variant(text, (), ()), [Kept(0, len(text), 0)]
    setting = Setting(spoken, marked, attribute, group)
    capitals = any(titled(text, hit) for hit in hits)
    notes: list[str] = []
    edits: list[Edit] = []
    for hit in hits:
        if hit.group != group:
            made = replaced(hit, setting, notes)
            if made and capitals and hit.reading.row.kind == "adjective":
                made[0].text = made[0].text[:1].upper() + made[0].text[1:]
            edits += made
        elif (start := begin_of(text, hit)) < hit.start:
            edits.append(Edit(start, hit.end, text[hit.start : hit.end], text[start : hit.end], "word"))
    edits = collapsed(text, hits, edits)
    written, kept = write(text, edits)
    return Variant(written, _swaps(edits), tuple(dict.fromkeys(notes))), kept


def _swaps(edits: Sequence[Edit]) -> tuple[Swap, ...]:
    return tuple(
        Swap(edit.before, edit.text if edit.kind == "word" else "", edit.start, edit.start + len(edit.before))
        for edit in edits
        if edit.kind in {"word", "dropped", "joined"}
    )


def _after(
    first: Variant, second: Variant, kept: Sequence[Kept], further: Sequence[Kept]
) -> tuple[Variant, Sequence[Kept]]:
    """A second pass over the result of the first one: new words may make others count ("wealthy beggar")."""
    swaps = list(first.swaps)
    for swap in second.swaps:
        for part in kept:
            if part.start <= swap.start and swap.end <= part.end:
                start = part.origin + swap.start - part.start
                swaps.append(Swap(swap.before, swap.after, start, start + len(swap.before)))
    both = [
        Kept(
            late.start + max(0, early.start - late.origin),
            late.start + min(late.end - late.start, early.end - late.origin),
            early.origin + max(0, late.origin - early.start),
        )
        for late in further
        for early in kept
        if early.start < late.origin + late.end - late.start and late.origin < early.end
    ]
    swaps.sort(key=lambda swap: (swap.start, swap.end))
    return Variant(second.text, tuple(swaps), tuple(dict.fromkeys(first.notes + second.notes))), both
