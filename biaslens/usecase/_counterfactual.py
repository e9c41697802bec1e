"""Counterfactual prompts: every word of an attribute set to one group, and pairs of prompts made so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

from biaslens._util.text import article
from biaslens.errors import InputError
from biaslens.usecase._agreement import QUESTION_WORDS, Punctuated, agree, decide
from biaslens.usecase._context import REACH, holds
from biaslens.usecase._lexicon import AttributeWords, FormRow, Lexicon, Spoken, WordReading
from biaslens.usecase._reading import check_groups

_ROUNDS = 3
"""Passes at most: new words may make others count ("wealthy beggar"); in nearly every text the second finds none."""


class Swap(NamedTuple):
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

    Words of the group itself stay, so that substituting twice is the same as once. Case is kept, and "a" or "an"
    follows the sound. Where a form is missing for the group, the word stays, with a note. InputError when the attribute
    has no such group, or the lexicon no such attribute.

    >>> from biaslens.usecase import load_words
    >>> lexicon = load_words(["gender"])
    >>> substitute("She is a waitress; the tip is hers.", lexicon.attributes["gender"], "neutral", lexicon).text
    'They are a server; the tip is theirs.'
    """
    _check_group(attribute, group)
    if attribute.name not in lexicon.attributes:
        raise InputError(f"the lexicon has no words of {attribute.name!r}; load them with it")
    swaps: list[Swap] = []
    notes: dict[str, None] = {}
    origin: Sequence[int] = range(len(text))
    for number in range(_ROUNDS):
        one = _Pass(text, attribute, group, lexicon)
        edits = one.edits()
        swapped = [edit for edit in edits if edit.kind in {"word", "dropped", "joined"}]
        if swapped or not number:
            notes |= dict.fromkeys(one.notes)
        if not swapped:
            break
        for edit in swapped:
            there = origin[edit.start : edit.start + len(edit.before)]
            # A word that an earlier pass wrote is none of the original.
            if _NEW not in there and there[-1] - there[0] == len(there) - 1:
                after = edit.text if edit.kind == "word" else ""
                swaps.append(Swap(edit.before, after, there[0], there[-1] + 1))
        text, kept = _written(text, edits)
        origin = [_NEW if place == _NEW else origin[place] for place in kept]
    return Substitution(text, tuple(sorted(swaps, key=lambda swap: (swap.start, swap.end))), tuple(notes))


def _check_group(attribute: AttributeWords, group: str) -> None:
    if group not in attribute.groups:
        raise InputError(f"{attribute.name} has no group {group!r}; there are: {', '.join(attribute.groups)}")


@dataclass(slots=True)
class _Edit:
    """Characters to replace, by what, and why: "word", "dropped" or "joined" of the attribute, "verb", "ending"."""

    start: int
    end: int
    text: str
    before: str
    kind: str


_NEW = -1
"""Origin of a character that was not in the text before."""
_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+[\"'“‘(*]*)$", re.IGNORECASE)
_AFTER_ARTICLE = re.compile(r"[\"'“‘(*]*([^\W_][\w'’-]*(?:\s+\w+)?)")


def _written(text: str, edits: Sequence[_Edit]) -> tuple[str, list[int]]:
    """Carry out edits, and set articles before them right; and the place that each character comes from, or `_NEW`."""
    parts: list[tuple[str, int]] = []
    articles: list[tuple[int, re.Match[str]]] = []
    at = 0
    for edit in edits:
        if edit.start < at:
            continue
        gap = text[at : edit.start]
        found = _ARTICLE.search(gap) if edit.kind in {"word", "dropped"} else None
        parts.append((gap[: found.start()] if found else gap, at))
        if found:
            articles.append((len(parts), found))
            parts.append((found[0], _NEW))
        parts.append((edit.text, _NEW))
        at = edit.end
    parts.append((text[at:], at))
    for index, found in articles:
        if after := _AFTER_ARTICLE.match("".join(part for part, _ in parts[index + 1 : index + 8])):
            old, new = found[1], article(after[1])
            new = new.upper() if old.isupper() and len(old) > 1 else new.capitalize() if old[0].isupper() else new
            parts[index] = new + found[2], _NEW
    origin: list[int] = []
    for part, start in parts:
        origin += [_NEW] * len(part) if start == _NEW else range(start, start + len(part))
    return "".join(part for part, _ in parts), origin


def cased(form: str, before: str, listed: str, *, begins: bool) -> str:
    """Write `form` as its predecessor was: that is `before` in the text and `listed` in the list."""
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


class _Hit(NamedTuple):
    """A mention: its characters, its place among the marked words, whether a sentence or quotation begins there."""

    start: int
    end: int
    before: str
    place: int
    group: str
    row: FormRow
    begins: bool


_BEGINS = re.compile(r"(?:^|[.!?:\n]|[\"“])[\s\"'“‘(*\-]*$")
_POSSESSIVE = re.compile(r"['’](s?)(?!\w)", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_PRONOUNS = frozenset({"subject", "object", "determiner", "possessive", "reflexive"})


class _Pass:
    """One pass over a text; what is uncertain or impossible is added to `notes`."""

    def __init__(self, text: str, attribute: AttributeWords, group: str, lexicon: Lexicon) -> None:
        self.text, self.attribute, self.group = text, attribute, group
        self.notes: list[str] = []
        self.spoken = Spoken(text)
        self.marked = Punctuated(self.spoken)
        self.hits = list(self._hits(lexicon))

    def _hits(self, lexicon: Lexicon) -> Iterator[_Hit]:
        number = list(lexicon.attributes).index(self.attribute.name)
        for token, length, attribute, group in lexicon.match(self.spoken.tokens, prefer=self.attribute.name).rows():
            if attribute != number:
                continue
            key = self.spoken.words[token : token + length]
            readings = [one for one in lexicon.readings(key) if (one.attribute, one.group) == (number, group)]
            start, end = self.spoken.span(token, token + length)
            row = self._reading(readings, token, length).row
            begins = bool(_BEGINS.search(self.text[max(0, start - 20) : start]))
            place, of = self.marked.places[token], self.attribute.groups[group]
            yield _Hit(start, end, self.text[start:end], place, of, row, begins)

    def _reading(self, readings: Sequence[WordReading], token: int, length: int) -> WordReading:
        """The first reading whose rule holds with the punctuation, else by the words alone, as it was found."""
        begin, end = self.marked.places[token], self.marked.places[token + length - 1] + 1
        for words, start, stop in ((self.marked.words, begin, end), (self.spoken.words, token, token + length)):
            low = max(0, start - REACH)
            window = words[low : stop + REACH]
            for reading in readings:
                if holds(reading.rule, window, start - low, stop - low, reading.context):
                    return reading
        return readings[0]

    def edits(self) -> list[_Edit]:
        # Where the text writes an adjective with a capital that the list writes without: "a Black man".
        capitals = any(
            hit.row.kind == "adjective"
            and hit.before[0].isupper()
            and not hit.before.isupper()
            and _listed(hit.row, hit)[:1].islower()
            and not hit.begins
            for hit in self.hits
        )
        edits: list[_Edit] = []
        for hit in self.hits:
            if hit.group != self.group:
                made = self._replaced(hit)
                if made and capitals and hit.row.kind == "adjective":
                    made[0].text = made[0].text[:1].upper() + made[0].text[1:]
                edits += made
            elif (start := self._start(hit)) < hit.start:
                edits.append(_Edit(start, hit.end, hit.before, self.text[start : hit.end], "word"))
        return _collapsed(self.text, self.hits, edits) if self.hits else []

    def _replaced(self, hit: _Hit) -> list[_Edit]:
        """Edits for one mention of another group, its own first."""
        text, before = self.text, hit.before
        row = self._row(hit)
        form = row.written.get(self.group)
        if form is None:
            self.notes.append(f'"{before}" has no form for {self.group}')
            return []
        if form == "":
            if "-" in (text[hit.end : hit.end + 1], text[max(0, hit.start - 1) : hit.start]):
                self.notes.append(f'"{before}" cannot be dropped beside a hyphen')
                return []
            after = _SPACE.match(text, hit.end)
            until, capital = after.end() if after else hit.end, before[0].isupper() and hit.begins
            if capital and until < len(text):
                return [_Edit(hit.start, until + 1, text[until].upper(), before, "dropped")]
            return [_Edit(hit.start, until, "", before, "dropped")]
        start = self._start(hit)
        written = cased(form, before, _listed(row, hit), begins=hit.begins)
        edits = [_Edit(start, hit.end, written, text[start : hit.end], "word")]
        if row.kind in {"plural", "things"}:
            edits += self._possessive(hit, form)
        if row.kind == "subject" and self.group == self.attribute.neutral:
            edits += self._agreeing(hit.place)
        return edits

    def _row(self, hit: _Hit) -> FormRow:
        before = hit.before.lower()
        if hit.row.kind not in _PRONOUNS or before not in {"her", "his"}:
            return hit.row
        decision = decide(self.marked, hit.place)
        if not decision.certain:
            self.notes.append(f'"{hit.before}" may be read in two ways')
        kind = "determiner" if decision.determiner else ("object" if before == "her" else "possessive")
        return next((other for other in self.attribute.rows if other.kind == kind), hit.row)

    def _start(self, hit: _Hit) -> int:
        """Where a mention begins; "s/he" and "(s)he" do before the "he"."""
        if hit.row.kind == "subject":
            for written in ("(s)", "s/"):
                start = hit.start - len(written)
                inside = self.text[max(0, start - 1) : start].isalnum()
                if start >= 0 and self.text[start : hit.start].lower() == written and not inside:
                    return start
        return hit.start

    def _possessive(self, hit: _Hit, form: str) -> list[_Edit]:
        """The ending of a possessive: "men's" and "boys'"."""
        after = _POSSESSIVE.match(self.text, hit.end)
        if after is None:
            return []
        if after[1] and form.endswith("s"):
            return [_Edit(after.start(1), after.end(1), "", after[1], "ending")]
        bare = not after[1] and hit.before.lower().endswith("s") and not form.endswith("s")
        if not bare or self.text[max(0, hit.start - 1) : hit.start] in {"'", "‘"}:
            return []
        return [_Edit(after.end(), after.end(), "S" if hit.before.isupper() else "s", "", "ending")]

    def _agreeing(self, place: int) -> Iterator[_Edit]:
        marked = self.marked
        for verb, form in agree(marked, place):
            start, end = self.spoken.spans[marked.origin[verb]]
            before = self.text[start:end]
            if form.startswith("'"):
                start -= 1
                asks = marked.word(verb - 1) in QUESTION_WORDS
                written = " are" if asks else self.text[start] + form.removeprefix("'")
                written = written.upper() if before.isupper() else written
            else:
                written = cased(form, before, before.lower(), begins=False)
            yield _Edit(start, end, written, before, "verb")


def _listed(row: FormRow, hit: _Hit) -> str:
    """The form of a row that the mention is."""
    plain = re.sub(r"[\W_]+", " ", hit.before).casefold()
    forms = row.recognised.get(hit.group, ())
    same = (form for form in forms if re.sub(r"[\W_]+", " ", form).casefold() == plain)
    return next(same, hit.before.lower())


_JOIN = re.compile(r",?\s*(?:/|\bor\b|\band\b)\s*", re.IGNORECASE)
_COMMA = re.compile(r",\s*")
_SINGULAR = frozenset({"noun", "thing", "name", "title"})


def _collapsed(text: str, hits: Sequence[_Hit], edits: Sequence[_Edit]) -> list[_Edit]:
    """Write "she" for "she or she", "Jews" for "Jews, Jews and Jews", and "old" for "aged or old"."""
    replaced = {edit.end: edit for edit in edits if edit.kind == "word"}
    gone: set[int] = set()
    joined: list[_Edit] = []
    for chain in _chains(text, hits):
        stay = [hit.before for hit in chain if hit.end not in replaced]
        if len(stay) == len(chain) or any(hit.end in gone for hit in chain):
            continue
        forms = [replaced[hit.end].text if hit.end in replaced else hit.before for hit in chain]
        if len({form.casefold() for form in forms}) > 1:
            if not stay or len({hit.row.kind for hit in chain}) > 1:
                continue
            if first := replaced.get(chain[0].end):
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
        if chain and _JOIN.fullmatch(gap) and not ("and" in gap.lower() and hit.row.kind in _SINGULAR):
            yield [*chain, hit]
            chain = []
        elif chain and _COMMA.fullmatch(gap):
            chain.append(hit)
        else:
            chain = [hit]


COUNTERFACTUAL, NO_EFFECT = "counterfactual", "no_effect"
"""Kinds of pairs."""

PAIR_COLUMNS = (
    "pair", "kind", "prompt", "attribute", "group_a", "group_b", "prompt_a", "prompt_b", "swapped_a", "swapped_b",
    "note",
)  # fmt: skip
"""Columns of a table of pairs."""


class PromptPair(NamedTuple):
    """Two prompts that differ in the group they name, or the same prompt twice."""

    #: number of the counterfactual pair, from 0, which its two pairs without an effect have, too; "counterfactual", or
    #: "no_effect": the prompt of one of its groups twice, the baseline of every comparison
    number: int
    kind: str
    prompt: int  #: index of the prompt that it was made from
    attribute: str
    group_a: str
    group_b: str
    text_a: str
    text_b: str
    #: what was swapped in the original: "his -> her; Mr -> Ms"; empty where the side is the original, word for word
    swapped_a: str
    swapped_b: str
    notes: tuple[str, ...]  #: where a substitution is uncertain


class PromptPairs(tuple[PromptPair, ...]):
    """Counterfactual pairs and those without an effect; prompts `without` a group, and pairs left out as the `same`."""

    without = 0
    same = 0

    @property
    def counterfactual(self) -> tuple[PromptPair, ...]:
        """Those that differ in the group."""
        return tuple(pair for pair in self if pair.kind == COUNTERFACTUAL)


def make_pairs(
    prompts: Sequence[str], attribute: AttributeWords, groups: Sequence[str] | None, lexicon: Lexicon
) -> PromptPairs:
    """Make the counterfactual pairs of prompts, of each group with each; None for the groups that the words compare.

    >>> from biaslens.usecase import load_words
    >>> lexicon = load_words(["gender"])
    >>> pairs = make_pairs(["He lost his book.", "Hello!"], lexicon.attributes["gender"], None, lexicon)
    >>> [(pair.kind, pair.text_a, pair.text_b) for pair in pairs][0], len(pairs), pairs.without
    (('counterfactual', 'She lost her book.', 'He lost his book.'), 3, 1)
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
        for one, other in combinations(chosen, 2):
            a, b = variants[one], variants[other]
            if a.text == b.text:
                same += 1
                continue
            sides = (COUNTERFACTUAL, (one, a), (other, b)), *((NO_EFFECT, own, own) for own in ((one, a), (other, b)))
            for kind, (group_a, first), (group_b, second) in sides:
                texts = (group_a, group_b, first.text, second.text, first.swapped, second.swapped)
                notes = tuple(dict.fromkeys(first.notes + second.notes))
                made.append(PromptPair(number, kind, index, attribute.name, *texts, notes))
            number += 1
    pairs = PromptPairs(made)
    pairs.without, pairs.same = without, same
    return pairs


def pair_rows(pairs: Sequence[PromptPair]) -> list[dict[str, str]]:
    """Rows of a table of pairs with :data:`PAIR_COLUMNS`, all text."""
    cells = ([*map(str, pair[:-1]), "; ".join(pair.notes)] for pair in pairs)
    return [dict(zip(PAIR_COLUMNS, row, strict=True)) for row in cells]
