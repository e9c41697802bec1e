"""Setting every word of an attribute in a text to one group."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from biaslens.errors import InputError
from biaslens.usecase.counterfactual.agreement import agree
from biaslens.usecase.counterfactual.article import article
from biaslens.usecase.counterfactual.case import cased
from biaslens.usecase.counterfactual.marked import Marked
from biaslens.usecase.counterfactual.pronouns import decide
from biaslens.usecase.words import AttributeWords, Lexicon
from biaslens.usecase.words.context import holds
from biaslens.usecase.words.lexicon import Mentions, Reading
from biaslens.usecase.words.spoken import Spoken

_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+[\"'“‘(*]*)$", re.IGNORECASE)
_WORD = re.compile(r"[\"'“‘(*]*([^\W_][\w'’-]*(?:\s+\w+)?)")
_JOIN = re.compile(r",?\s*(?:/|\bor\b|\band\b)\s*", re.IGNORECASE)
_COMMA = re.compile(r",\s*")
_POSSESSIVE = re.compile(r"['’](s?)(?!\w)", re.IGNORECASE)
_SINGULAR = frozenset({"noun", "thing", "name", "title"})
_BEGINS = re.compile(r"(?:^|[.!?:\n]|[\"“])[\s\"'“‘(*\-]*$")
_ROUNDS = 2
"""Further passes at most; one finds nothing in nearly every text."""

_PRONOUNS = frozenset({"subject", "object", "determiner", "possessive", "reflexive"})


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


@dataclass(frozen=True, slots=True)
class _Hit:
    """A mention of the attribute: its words, characters, and what it is."""

    first: int
    last: int
    start: int
    end: int
    group: str
    reading: Reading


@dataclass(slots=True)
class _Edit:
    start: int
    end: int
    text: str
    before: str = ""
    kind: str = ""


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


def _once(
    text: str, attribute: AttributeWords, group: str, lexicon: Lexicon
) -> tuple[Variant, Sequence[tuple[int, int, int]]]:
    """One pass; and which characters of the result come from which of the text, as (from, to, where in the text)."""
    spoken = Spoken.of(text)
    mentions = lexicon.match(spoken.tokens, prefer=attribute.name)
    number = list(lexicon.attributes).index(attribute.name)
    if not (mentions.attribute == number).any():
        return Variant(text, (), ()), [(0, len(text), 0)]
    marked = Marked.of(spoken)
    hits = _hits(spoken, marked, mentions, number, attribute, lexicon)
    notes: list[str] = []
    edits: list[_Edit] = []
    titled = any(_titled(text, hit) for hit in hits)
    for hit in hits:
        if hit.group != group:
            edits += _replaced(hit, spoken, marked, attribute, group, notes)
            if titled and hit.reading.row.kind == "adjective" and edits and edits[-1].end == hit.end:
                edits[-1].text = edits[-1].text[:1].upper() + edits[-1].text[1:]
        elif (start := _with_s(text, hit.start, hit.reading.row.kind)) < hit.start:
            edits.append(_Edit(start, hit.end, text[hit.start : hit.end], text[start : hit.end], "word"))
    edits = _collapsed(text, hits, edits)
    swaps = tuple(
        Swap(e.before, e.text if e.kind == "word" else "", e.start, e.start + len(e.before))
        for e in edits
        if e.kind in {"word", "dropped", "joined"}
    )
    written, origins = _written(text, edits)
    return Variant(written, swaps, tuple(dict.fromkeys(notes))), origins


def _titled(text: str, hit: _Hit) -> bool:
    """Whether a text writes an adjective with a capital that the list writes without: "a Black man"."""
    before = text[hit.start : hit.end]
    if hit.reading.row.kind != "adjective" or not before[0].isupper() or before.isupper():
        return False
    listed = _listed(hit.reading.row.recognised.get(hit.group, ()), before)
    return listed[:1].islower() and not _BEGINS.search(text[max(0, hit.start - 20) : hit.start])


def _after(
    first: Variant,
    second: Variant,
    origins: Sequence[tuple[int, int, int]],
    further: Sequence[tuple[int, int, int]],
) -> tuple[Variant, Sequence[tuple[int, int, int]]]:
    """A second pass over the result of the first one: new words may make others count ("wealthy beggar")."""
    swaps = list(first.swaps)
    for swap in second.swaps:
        for begin, end, origin in origins:
            if begin <= swap.start and swap.end <= end:
                start = origin + swap.start - begin
                swaps.append(Swap(swap.before, swap.after, start, start + len(swap.before)))
    both = [
        (begin + max(0, low - origin), begin + min(end - begin, high - origin), source + max(0, origin - low))
        for begin, end, origin in further
        for low, high, source in origins
        if low < origin + end - begin and origin < high
    ]
    swaps.sort(key=lambda swap: (swap.start, swap.end))
    return Variant(second.text, tuple(swaps), tuple(dict.fromkeys(first.notes + second.notes))), both


def _hits(
    spoken: Spoken, marked: Marked, mentions: Mentions, number: int, attribute: AttributeWords, lexicon: Lexicon
) -> list[_Hit]:
    hits = []
    for token, length, of, group in zip(
        mentions.token.tolist(),
        mentions.length.tolist(),
        mentions.attribute.tolist(),
        mentions.group.tolist(),
        strict=True,
    ):
        if of != number:
            continue
        start, end = spoken.span(token, token + length)
        readings = [
            reading
            for reading in lexicon.readings(spoken.words[token : token + length])
            if (reading.attribute, reading.group) == (of, group)
        ]
        place = marked.places[token]
        behind = marked.places[token + length - 1] + 1
        low, high = max(0, place - 12), behind + 12
        window = marked.words[low:high]
        chosen = [r for r in readings if holds(r.rule, window, place - low, behind - low, r.context)] or _by_words(
            readings, spoken, token, length
        )
        hits.append(_Hit(token, token + length - 1, start, end, attribute.groups[group], chosen[0]))
    return hits


def _by_words(readings: Sequence[Reading], spoken: Spoken, token: int, length: int) -> list[Reading]:
    """Readings by the words alone, where punctuation speaks against all of them."""
    low = max(0, token - 12)
    window = spoken.words[low : token + length + 12]
    start = token - low
    return [r for r in readings if holds(r.rule, window, start, start + length, r.context)] or list(readings)


def _replaced(
    hit: _Hit, spoken: Spoken, marked: Marked, attribute: AttributeWords, group: str, notes: list[str]
) -> list[_Edit]:
    before = spoken.text[hit.start : hit.end]
    row = hit.reading.row
    place = marked.places[hit.first]
    if row.kind in _PRONOUNS and before.lower() in {"her", "his"}:
        decision = decide(marked.words, marked.spelled, place)
        if not decision.sure:
            notes.append(f'"{before}" may be read in two ways')
        kind = "determiner" if decision.determiner else ("object" if before.lower() == "her" else "possessive")
        row = next((other for other in attribute.rows if other.kind == kind), row)
    form = row.written.get(group)
    if form is None:
        notes.append(f'"{before}" has no form for {group}')
        return []
    start, end = hit.start, hit.end
    if form == "":
        if _hyphenated(spoken.text, start, end):
            notes.append(f'"{before}" cannot be dropped beside a hyphen')
            return []
        return [_dropped(spoken.text, start, end)]
    listed = _listed(row.recognised.get(hit.group, ()), before)
    begins = bool(_BEGINS.search(spoken.text[max(0, start - 20) : start]))
    start = _with_s(spoken.text, start, row.kind)
    edits = [_Edit(start, end, cased(form, before, listed, begins=begins), spoken.text[start:end], "word")]
    if row.kind in {"plural", "things"}:
        edits += _possessive(spoken.text, hit.start, end, form)
    if row.kind == "subject" and group == attribute.neutral:
        edits += _agreeing(spoken, marked, place)
    return edits


def _with_s(text: str, start: int, kind: str) -> int:
    """Where "s/he" or "(s)he" begins."""
    if kind == "subject":
        for written in ("(s)", "s/"):
            begin = start - len(written)
            if begin >= 0 and text[begin:start].lower() == written and not text[max(0, begin - 1) : begin].isalnum():
                return begin
    return start


def _possessive(text: str, start: int, end: int, form: str) -> list[_Edit]:
    """The ending of a possessive: "men's" and "boys'"."""
    after = _POSSESSIVE.match(text, end)
    if after is None:
        return []
    if after[1] and form.endswith("s"):
        return [_Edit(after.start(1), after.end(1), "", after[1], "ending")]
    bare = not after[1] and text[start:end].lower().endswith("s") and not form.endswith("s")
    if not bare or text[max(0, start - 1) : start] in {"'", "‘"}:
        return []
    return [_Edit(after.end(), after.end(), "S" if text[start:end].isupper() else "s", "", "ending")]


def _listed(forms: Iterable[str], before: str) -> str:
    plain = re.sub(r"[\W_]+", " ", before).casefold()
    for form in forms:
        if re.sub(r"[\W_]+", " ", form).casefold() == plain:
            return form
    return before.lower()


def _hyphenated(text: str, start: int, end: int) -> bool:
    return text[end : end + 1] == "-" or text[max(0, start - 1) : start] == "-"


def _dropped(text: str, start: int, end: int) -> _Edit:
    space = re.compile(r"\s*").match(text, end)
    until = space.end() if space else end
    upper = text[start].isupper() and bool(_BEGINS.search(text[max(0, start - 20) : start])) and until < len(text)
    if upper:
        return _Edit(start, until + 1, text[until].upper(), text[start:end], "dropped")
    return _Edit(start, until, "", text[start:end], "dropped")


def _agreeing(spoken: Spoken, marked: Marked, place: int) -> list[_Edit]:
    edits = []
    for verb, form in agree(marked.words, marked.spelled, place):
        start, end = spoken.spans[marked.origin[verb]]
        before = spoken.text[start:end]
        if form.startswith("'"):
            start -= 1
            apostrophe = spoken.text[start]
            if marked.words[verb - 1] in {"what", "where", "how", "who", "when", "why"}:
                form, apostrophe = " are", ""
            written = apostrophe + form.removeprefix("'")
            edits.append(_Edit(start, end, written.upper() if before.isupper() else written, before, "verb"))
            continue
        edits.append(_Edit(start, end, cased(form, before, before.lower(), begins=False), before, "verb"))
    return edits


def _collapsed(text: str, hits: Sequence[_Hit], edits: Sequence[_Edit]) -> list[_Edit]:
    """Write "she" for "she or she", "Christians" for "Christians, Christians and Christians", "old" for "aged or old"."""
    replaced = {edit.end: edit for edit in edits if edit.kind == "word"}
    gone: set[int] = set()
    joined: list[_Edit] = []
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
            joined.append(_Edit(left.end, right.end, "", text[left.end : right.end], "joined"))
    kept = [edit for edit in edits if not (edit.kind == "word" and edit.end in gone)]
    return sorted([*kept, *joined], key=lambda edit: (edit.start, edit.end))


def _chains(text: str, hits: Sequence[_Hit]) -> Iterator[list[_Hit]]:
    """Mentions joined by "and" or "or", with commas between the first ones; singular nouns by "or" alone."""
    chain: list[_Hit] = []
    for hit in hits:
        gap = text[chain[-1].end : hit.start] if chain else ""
        if chain and _JOIN.fullmatch(gap) and not ("and" in gap.lower() and hit.reading.row.kind in _SINGULAR):
            yield [*chain, hit]
            chain = []
        elif chain and _COMMA.fullmatch(gap):
            chain.append(hit)
        else:
            chain = [hit]


def _written(text: str, edits: Sequence[_Edit]) -> tuple[str, list[tuple[int, int, int]]]:
    """Carry out edits, and set articles before them right; and where the rest comes from."""
    parts: list[str] = []
    kept: list[tuple[int, int, int]] = []
    at = 0
    articles: list[tuple[int, re.Match[str]]] = []
    for edit in edits:
        if edit.start < at:
            continue
        gap = text[at : edit.start]
        found = _ARTICLE.search(gap) if edit.kind in {"word", "dropped"} else None
        if found:
            articles.append((len(parts), found))
        kept.append((len(parts), at, found.start() if found else len(gap)))
        parts += [gap, edit.text]
        at = edit.end
    kept.append((len(parts), at, len(text) - at))
    parts.append(text[at:])
    for index, found in articles:
        after = _WORD.match("".join(parts[index + 1 : index + 6]))
        if after:
            parts[index] = parts[index][: found.start()] + _same_case(article(after[1]), found[1]) + found[2]
    starts = list(accumulate((len(part) for part in parts), initial=0))
    return "".join(parts), [(starts[index], starts[index] + length, origin) for index, origin, length in kept]


def _same_case(new: str, old: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new.capitalize() if old[0].isupper() else new
