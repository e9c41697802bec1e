"""Counterfactual prompts: every word of an attribute set to one group, and pairs of prompts made so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from operator import attrgetter
from typing import Self, overload

from biaslens._util.text import article
from biaslens.errors import InputError
from biaslens.usecase._agreement import agree, decide
from biaslens.usecase._context import BREAK, REACH, holds
from biaslens.usecase._lexicon import AttributeWords, FormRow, Lexicon, Spoken, WordReading
from biaslens.usecase._reading import check_groups


def cased(form: str, before: str, listed: str, *, begins: bool) -> str:
    """Write `form` as its predecessor was: that is `before` in the text and `listed` in the list.

    Examples
    --------
    >>> cased("his", "HER", "her", begins=False), cased("white", "Asian", "Asian", begins=False)
    ('HIS', 'white')
    >>> cased("husband", "Wife", "wife", begins=False), cased("a b", "X", "x", begins=True)
    ('Husband', 'A b')
    """
    letters = [character for character in before if character.isalpha()]
    if len(letters) > 1 and before.isupper() and not listed.isupper():
        return form.upper()
    if begins and letters and letters[0].isupper():
        return form[:1].upper() + form[1:]
    if not letters or not letters[0].isupper() or listed[:1].isupper():
        return form
    words = before.replace("-", " ").split()
    if len(words) > 1 and all(word[:1].isupper() for word in words):
        return " ".join(word[:1].upper() + word[1:] for word in form.split(" "))
    return form[:1].upper() + form[1:]


_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+[\"'“‘(*]*)$", re.IGNORECASE)
_AFTER_ARTICLE = re.compile(r"[\"'“‘(*]*([^\W_][\w'’-]*(?:\s+\w+)?)")


@dataclass(slots=True)
class Edit:
    """Characters from `start` to `end`, what takes their place, what they were, and why they change.

    The kind is "word", "dropped" or "joined" for a word of the attribute, else "verb" or "ending".
    """

    start: int
    end: int
    text: str
    before: str
    kind: str


@dataclass(frozen=True, slots=True)
class Kept:
    """Characters that stayed: from `start` to `end` of the result, from `origin` on in the original."""

    start: int
    end: int
    origin: int


def write(text: str, edits: Sequence[Edit]) -> tuple[str, list[Kept]]:
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
        after = _AFTER_ARTICLE.match("".join(parts[index + 1 : index + 6]))
        if after:
            parts[index] = parts[index][: found.start()] + _same_case(article(after[1]), found[1]) + found[2]
    starts = list(accumulate((len(part) for part in parts), initial=0))
    return "".join(parts), [Kept(starts[index], starts[index] + length, origin) for index, origin, length in kept]


def _same_case(new: str, old: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new.capitalize() if old[0].isupper() else new


@dataclass(frozen=True, slots=True)
class Punctuated:
    """A text's words with :data:`BREAK` where punctuation stands, in lower case and as they are spelled.

    `places` says where each word of the text stands among them, `origin` which word each is; that before for a break.
    """

    words: Sequence[str]
    spelled: Sequence[str]
    places: Sequence[int]
    origin: Sequence[int]

    @classmethod
    def of(cls, spoken: Spoken) -> Self:
        """Mark the punctuation of a text."""
        words: list[str] = []
        spelled: list[str] = []
        places: list[int] = []
        origin: list[int] = []
        for number, (word, (start, end)) in enumerate(zip(spoken.words, spoken.spans, strict=True)):
            places.append(len(words))
            words.append(word)
            spelled.append(spoken.text[start:end])
            origin.append(number)
            if spoken.ends(number):
                words.append(BREAK)
                spelled.append("." if spoken.stops(number) else BREAK)
                origin.append(number)
        return cls(words, spelled, places, origin)


@dataclass(frozen=True, slots=True)
class Hit:
    """A mention: its characters, where it stands among the marked words, its group, and what it is."""

    start: int
    end: int
    place: int
    group: str
    reading: WordReading


def hits_in(spoken: Spoken, marked: Punctuated, attribute: AttributeWords, lexicon: Lexicon) -> list[Hit]:
    """Mentions of the attribute, in the order of the text."""
    mentions = lexicon.match(spoken.tokens, prefer=attribute.name)
    number = list(lexicon.attributes).index(attribute.name)
    own = mentions.attribute == number
    found = []
    for token, length, group in zip(
        mentions.token[own].tolist(), mentions.length[own].tolist(), mentions.group[own].tolist(), strict=True
    ):
        key = spoken.words[token : token + length]
        readings = [one for one in lexicon.readings(key) if (one.attribute, one.group) == (number, group)]
        reading = _reading(readings, spoken, marked, token, length)
        place = marked.places[token]
        found.append(Hit(*spoken.span(token, token + length), place, attribute.groups[group], reading))
    return found


def _reading(
    readings: Sequence[WordReading], spoken: Spoken, marked: Punctuated, token: int, length: int
) -> WordReading:
    """The first reading whose rule holds with the punctuation, else by the words alone, as the mention was found."""
    begin, end = marked.places[token], marked.places[token + length - 1] + 1
    for words, start, stop in ((marked.words, begin, end), (spoken.words, token, token + length)):
        low = max(0, start - REACH)
        window = words[low : stop + REACH]
        for reading in readings:
            if holds(reading.rule, window, start - low, stop - low, reading.context):
                return reading
    return readings[0]


_BEGINS = re.compile(r"(?:^|[.!?:\n]|[\"“])[\s\"'“‘(*\-]*$")
_POSSESSIVE = re.compile(r"['’](s?)(?!\w)", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_PRONOUNS = frozenset({"subject", "object", "determiner", "possessive", "reflexive"})


@dataclass(frozen=True, slots=True)
class Setting:
    """A text in which the words of an attribute are set to a group."""

    spoken: Spoken
    marked: Punctuated
    attribute: AttributeWords
    group: str


def replaced(hit: Hit, setting: Setting, notes: list[str]) -> list[Edit]:
    """Edits for one mention of another group, its own first; what is uncertain or impossible is added to `notes`."""
    text = setting.spoken.text
    before = text[hit.start : hit.end]
    row = _row(hit, before, setting, notes)
    form = row.written.get(setting.group)
    if form is None:
        notes.append(f'"{before}" has no form for {setting.group}')
        return []
    if form == "":
        if _hyphenated(text, hit.start, hit.end):
            notes.append(f'"{before}" cannot be dropped beside a hyphen')
            return []
        return [_dropped(text, hit.start, hit.end)]
    listed = _listed(row.recognised.get(hit.group, ()), before)
    start = begin_of(text, hit)
    written = cased(form, before, listed, begins=_begins(text, hit.start))
    edits = [Edit(start, hit.end, written, text[start : hit.end], "word")]
    if row.kind in {"plural", "things"}:
        edits += _possessive(text, hit.start, hit.end, form)
    if row.kind == "subject" and setting.group == setting.attribute.neutral:
        edits += _agreeing(setting.spoken, setting.marked, hit.place)
    return edits


def _row(hit: Hit, before: str, setting: Setting, notes: list[str]) -> FormRow:
    row = hit.reading.row
    if row.kind not in _PRONOUNS or before.lower() not in {"her", "his"}:
        return row
    decision = decide(setting.marked.words, setting.marked.spelled, hit.place)
    if not decision.sure:
        notes.append(f'"{before}" may be read in two ways')
    kind = "determiner" if decision.determiner else ("object" if before.lower() == "her" else "possessive")
    return next((other for other in setting.attribute.rows if other.kind == kind), row)


def begin_of(text: str, hit: Hit) -> int:
    """Where a mention begins; "s/he" and "(s)he" do before the "he"."""
    if hit.reading.row.kind == "subject":
        for written in ("(s)", "s/"):
            begin = hit.start - len(written)
            if (
                begin >= 0
                and text[begin : hit.start].lower() == written
                and not text[max(0, begin - 1) : begin].isalnum()
            ):
                return begin
    return hit.start


def titled(text: str, hit: Hit) -> bool:
    """Whether a text writes an adjective with a capital that the list writes without: "a Black man"."""
    before = text[hit.start : hit.end]
    if hit.reading.row.kind != "adjective" or not before[0].isupper() or before.isupper():
        return False
    listed = _listed(hit.reading.row.recognised.get(hit.group, ()), before)
    return listed[:1].islower() and not _begins(text, hit.start)


def _begins(text: str, start: int) -> bool:
    """Whether a sentence or a quotation begins there."""
    return bool(_BEGINS.search(text[max(0, start - 20) : start]))


def _possessive(text: str, start: int, end: int, form: str) -> list[Edit]:
    """The ending of a possessive: "men's" and "boys'"."""
    after = _POSSESSIVE.match(text, end)
    if after is None:
        return []
    if after[1] and form.endswith("s"):
        return [Edit(after.start(1), after.end(1), "", after[1], "ending")]
    bare = not after[1] and text[start:end].lower().endswith("s") and not form.endswith("s")
    if not bare or text[max(0, start - 1) : start] in {"'", "‘"}:
        return []
    return [Edit(after.end(), after.end(), "S" if text[start:end].isupper() else "s", "", "ending")]


def _listed(forms: Iterable[str], before: str) -> str:
    plain = re.sub(r"[\W_]+", " ", before).casefold()
    for form in forms:
        if re.sub(r"[\W_]+", " ", form).casefold() == plain:
            return form
    return before.lower()


def _hyphenated(text: str, start: int, end: int) -> bool:
    return text[end : end + 1] == "-" or text[max(0, start - 1) : start] == "-"


def _dropped(text: str, start: int, end: int) -> Edit:
    space = _SPACE.match(text, end)
    until = space.end() if space else end
    if text[start].isupper() and _begins(text, start) and until < len(text):
        return Edit(start, until + 1, text[until].upper(), text[start:end], "dropped")
    return Edit(start, until, "", text[start:end], "dropped")


def _agreeing(spoken: Spoken, marked: Punctuated, place: int) -> list[Edit]:
    edits = []
    for verb, form in agree(marked.words, marked.spelled, place):
        start, end = spoken.spans[marked.origin[verb]]
        before = spoken.text[start:end]
        if form.startswith("'"):
            start -= 1
            apostrophe = spoken.text[start]
            asks = marked.words[verb - 1] in {"what", "where", "how", "who", "when", "why"}
            written = " are" if asks else apostrophe + form.removeprefix("'")
            edits.append(Edit(start, end, written.upper() if before.isupper() else written, before, "verb"))
            continue
        edits.append(Edit(start, end, cased(form, before, before.lower(), begins=False), before, "verb"))
    return edits


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
class Substitution:
    """A text that names one group only, the words that were replaced, and what is uncertain or impossible.

    A swap has "" as `after` where a word was dropped. Verbs and articles are changed, too, and not listed.
    """

    text: str
    swaps: tuple[Swap, ...]
    notes: tuple[str, ...]

    @property
    def swapped(self) -> str:
        """The swaps in one line: "his -> her; Mr -> Ms", each once."""
        return "; ".join(dict.fromkeys(f"{swap.before.strip()} -> {swap.after or '(dropped)'}" for swap in self.swaps))


def substitute(text: str, attribute: AttributeWords, group: str, lexicon: Lexicon) -> Substitution:
    """Set every word of an attribute in a text to one group.

    Words of the group itself stay as they are, so that substituting twice is the same as once. Case is kept, and "a" or
    "an" before a changed word follows its sound. Where a form is missing for the group, the word stays, with a note.

    Raises
    ------
    InputError
        When the attribute has no such group, or the lexicon no such attribute.

    Examples
    --------
    >>> from biaslens.usecase import load_words
    >>> lexicon = load_words(["gender"])
    >>> gender = lexicon.attributes["gender"]
    >>> substitute("He told his wife.", gender, "male", lexicon).text
    'He told his husband.'
    >>> substitute("She is a waitress; the tip is hers.", gender, "neutral", lexicon).text
    'They are a server; the tip is theirs.'
    """
    _check_group(attribute, group)
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


def _check_group(attribute: AttributeWords, group: str) -> None:
    if group not in attribute.groups:
        raise InputError(f"{attribute.name} has no group {group!r}; there are: {', '.join(attribute.groups)}")


def _once(text: str, attribute: AttributeWords, group: str, lexicon: Lexicon) -> tuple[Substitution, Sequence[Kept]]:
    """One pass; and what stayed."""
    spoken = Spoken.of(text)
    marked = Punctuated.of(spoken)
    hits = hits_in(spoken, marked, attribute, lexicon)
    if not hits:
        return Substitution(text, (), ()), [Kept(0, len(text), 0)]
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
    return Substitution(written, _swaps(edits), tuple(dict.fromkeys(notes))), kept


def _swaps(edits: Sequence[Edit]) -> tuple[Swap, ...]:
    return tuple(
        Swap(edit.before, edit.text if edit.kind == "word" else "", edit.start, edit.start + len(edit.before))
        for edit in edits
        if edit.kind in {"word", "dropped", "joined"}
    )


def _after(
    first: Substitution, second: Substitution, kept: Sequence[Kept], further: Sequence[Kept]
) -> tuple[Substitution, Sequence[Kept]]:
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
    return Substitution(second.text, tuple(swaps), tuple(dict.fromkeys(first.notes + second.notes))), both


COUNTERFACTUAL, NO_EFFECT = "counterfactual", "no_effect"
"""Kinds of pairs."""

PAIR_COLUMNS = (
    "pair", "kind", "prompt", "attribute", "group_a", "group_b", "prompt_a", "prompt_b", "swapped_a", "swapped_b",
    "note",
)  # fmt: skip
"""Columns of a table of pairs."""


@dataclass(frozen=True, slots=True)
class PromptPair:
    """Two prompts that differ in the group they name, or the same prompt twice.

    Parameters
    ----------
    number, kind
        Number of the counterfactual pair, from 0, which its pair without an effect has, too; "counterfactual", or
        "no_effect": the prompt of group a twice, the baseline of every comparison.
    prompt
        Index of the prompt that it was made from.
    swapped_a, swapped_b
        What was swapped in the original: "his -> her; Mr -> Ms"; empty where nothing was.
    original_a, original_b
        Whether the side is the original prompt, word for word.
    notes
        Where a substitution is uncertain.
    """

    number: int
    kind: str
    prompt: int
    attribute: str
    group_a: str
    group_b: str
    text_a: str
    text_b: str
    swapped_a: str
    swapped_b: str
    original_a: bool
    original_b: bool
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PromptPairs(Sequence[PromptPair]):
    """The counterfactual pairs of prompts, behind each the one without an effect.

    So many prompts are `without` a group of the attribute; so many pairs came out the `same` on both sides: left out.
    """

    pairs: tuple[PromptPair, ...]
    without: int
    same: int

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[PromptPair]:
        return iter(self.pairs)

    @overload
    def __getitem__(self, index: int) -> PromptPair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PromptPair, ...]: ...
    def __getitem__(self, index: int | slice) -> PromptPair | tuple[PromptPair, ...]:
        return self.pairs[index]

    @property
    def counterfactual(self) -> tuple[PromptPair, ...]:
        """Those that differ in the group."""
        return tuple(pair for pair in self.pairs if pair.kind == COUNTERFACTUAL)


def make_pairs(
    prompts: Sequence[str], attribute: AttributeWords, groups: Sequence[str] | None, lexicon: Lexicon
) -> PromptPairs:
    """Make the counterfactual pairs of prompts, of each group with each; None for the groups that the words compare.

    Raises
    ------
    InputError
        When a group is unknown, or there are fewer than two.

    Examples
    --------
    >>> from biaslens.usecase import load_words
    >>> lexicon = load_words(["gender"])
    >>> pairs = make_pairs(["He lost his book.", "Hello!"], lexicon.attributes["gender"], None, lexicon)
    >>> [(pair.kind, pair.text_a, pair.text_b) for pair in pairs][0]
    ('counterfactual', 'She lost her book.', 'He lost his book.')
    >>> len(pairs), pairs.without
    (2, 1)
    """
    chosen = list(dict.fromkeys(attribute.compared if groups is None else groups))
    check_groups(len(chosen), attribute.name)
    for group in chosen:
        _check_group(attribute, group)
    if len(chosen) < 2:
        raise InputError(f"{attribute.name}: give two groups or more to compare, of: {', '.join(attribute.groups)}")
    made: list[PromptPair] = []
    without = same = number = 0
    for index, prompt in enumerate(prompts):
        if not any(found.attribute == attribute.name for found in lexicon.find(prompt, prefer=attribute.name)):
            without += 1
            continue
        variants = {group: substitute(prompt, attribute, group, lexicon) for group in chosen}
        for a, b in combinations(chosen, 2):
            if variants[a].text == variants[b].text:
                same += 1
                continue
            made += _pair(number, index, attribute.name, (a, b), (variants[a], variants[b]))
            number += 1
    return PromptPairs(tuple(made), without, same)


def _pair(
    number: int, index: int, attribute: str, groups: tuple[str, str], sides: tuple[Substitution, Substitution]
) -> tuple[PromptPair, PromptPair]:
    a, b = sides
    texts, swapped = (a.text, b.text), (a.swapped, b.swapped)
    same = (not a.swaps, not b.swaps)
    notes = tuple(dict.fromkeys(a.notes + b.notes))
    first = PromptPair(number, COUNTERFACTUAL, index, attribute, *groups, *texts, *swapped, *same, notes)
    twice = (groups[0], groups[0], a.text, a.text, a.swapped, a.swapped, same[0], same[0])
    return first, PromptPair(number, NO_EFFECT, index, attribute, *twice, a.notes)


def pair_rows(pairs: Sequence[PromptPair]) -> list[dict[str, str]]:
    """Rows of a table of pairs with :data:`PAIR_COLUMNS`, all text."""
    cells = attrgetter(
        "number", "kind", "prompt", "attribute", "group_a", "group_b", "text_a", "text_b", "swapped_a", "swapped_b"
    )
    return [dict(zip(PAIR_COLUMNS, [*map(str, cells(pair)), "; ".join(pair.notes)], strict=True)) for pair in pairs]
