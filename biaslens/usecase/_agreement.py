"""English grammar of a swap: "her" as "his" or "him", verbs after "they", and "a" or "an".

Whether "her" stands for "his" or "him", and "his" for "her" or "hers", what follows decides: a determiner needs a noun
behind it. A tagger says which words may begin or be a noun; rules say where English puts something else behind an
object ("they made her cry", "she called her Friday"). The rules are tried in order, and the first that knows decides.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from biaslens.usecase._context import BREAK, WordClasses, grammar

if TYPE_CHECKING:
    from biaslens.usecase._lexicon import Spoken


@cache
def _tagger() -> Any:  # noqa: ANN401 - the package has no types
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from HanTa.HanoverTagger import HanoverTagger

        # The model ships with HanTa; its tags are those of the British National Corpus (C5).
        return HanoverTagger("morphmodel_en.pgz")


@lru_cache(maxsize=4096)
def _tagged(words: tuple[str, ...]) -> tuple[str, ...]:
    """Tags of the words of a sentence, punctuation included: PNP, VVZ, AV0 for "She walks home"."""
    return tuple(tag for _, _, tag in _tagger().tag_sent(list(words))) if words else ()


_STOP = re.compile(r"[.!?;:\n]")
_BREAK = re.compile(r"[.,;:!?()\[\]{}\n–—…|/\"“”«»]")


class Punctuated:
    """A text's words with :data:`BREAK` where punctuation stands, in lower case and as they are `spelled`.

    `places` says where each word of the text stands among them, `origin` which word each is; that before for a break.
    """

    def __init__(self, spoken: Spoken) -> None:
        self.words: list[str] = []
        self.spelled: list[str] = []
        self.places: list[int] = []
        self.origin: list[int] = []
        begins = [start for start, _ in spoken.spans[1:]]
        for number, (word, (start, end)) in enumerate(zip(spoken.words, spoken.spans, strict=True)):
            self.places.append(len(self.words))
            self._add(word, spoken.text[start:end], number)
            gap = spoken.text[end : begins[number]] if number < len(begins) else "."
            if _BREAK.search(gap):
                self._add(BREAK, "." if _STOP.search(gap) else BREAK, number)

    def _add(self, word: str, spelled: str, origin: int) -> None:
        self.words.append(word)
        self.spelled.append(spelled)
        self.origin.append(origin)

    def word(self, place: int) -> str:
        """The word at a place, or a break beyond the ends."""
        return self.words[place] if 0 <= place < len(self.words) else BREAK

    def tags(self, place: int, *, back: int = 8, forth: int = 4) -> tuple[str, ...]:
        """Tags of a word and those behind it, read with the words around it that no punctuation cuts off."""
        begin, end = place, place + 1
        while place - begin < back and self.word(begin - 1) != BREAK:
            begin -= 1
        while end - place < forth and self.word(end) != BREAK:
            end += 1
        return _tagged((*self.spelled[begin:end], "."))[place - begin :]


class Decision(NamedTuple):
    """Whether a pronoun is a determiner ("her book"), and whether that is certain."""

    determiner: bool
    certain: bool = True


_PRONOUNS = WordClasses("pronouns")
_VERBS = WordClasses("agreement")

YES, NO = Decision(determiner=True), Decision(determiner=False)

_LATER = frozenset({"ago", "later", "earlier", "before"})


class _Spot:
    """A pronoun in its text: the two words `after` and `behind` it, the verb that governs it, the tags of all three."""

    def __init__(self, text: Punctuated, place: int) -> None:
        self._text, self._place = text, place
        self.own, self.after, self.behind = (self.word(offset) for offset in range(3))
        before = self.word(-1)
        adverb = before in {"not", "just", "always", "never", "also"} or (before.endswith("ly") and before != "only")
        self.verb = self.word(-2) if adverb else before

    def word(self, offset: int) -> str:
        return self._text.word(self._place + offset)

    def tag(self, offset: int) -> str:
        return (*self._text.tags(self._place, back=6, forth=5), "PUN", "PUN")[offset]


def decide(text: Punctuated, place: int) -> Decision:
    """Decide about the "her" or "his" at `place` of the words."""
    rules = _his if text.word(place) == "his" else _her
    return next(rules(_Spot(text, place)), YES)


def _ends(word: str) -> bool:
    """Whether no noun phrase can begin with this word."""
    return word == BREAK or word in _PRONOUNS.never_noun


def _his(here: _Spot) -> Iterator[Decision]:
    yield from _ended_or_joined(here)
    known, after, behind = _PRONOUNS, here.after, here.behind
    if after in known.begins_noun or after in known.days:
        yield Decision(determiner=not _ends(behind) or after in {"own", "first", "last", "best", "all"})
    if here.word(-1) == "of" and here.word(-3) in known.one and grammar().verb(after) and _ends(behind):
        yield NO  # a friend of his called me
    if here.word(-1) in grammar().be and here.tag(1) in {"AV0", "TO0"}:
        yield NO


def _her(here: _Spot) -> Iterator[Decision]:
    yield from _ended_or_joined(here)
    if here.after == "own":
        yield YES
    for rule in (_before_time, _before_verb, _after_giving, _before_state, _before_adverb):
        yield from rule(here)
    if here.after in _PRONOUNS.begins_noun:
        yield Decision(determiner=not _ends(here.behind) or here.after in {"best", "all"})
    # No noun begins with a preposition, a conjunction, an auxiliary ...
    if here.tag(1) in _PRONOUNS.closed or (here.tag(1) == "AV0" and _ends(here.behind)):
        yield NO


def _ended_or_joined(here: _Spot) -> Iterator[Decision]:
    """No determiner where no noun phrase follows; one where it is joined to one: "his or her book"."""
    if here.after in {BREAK, "s"}:
        yield NO
    if here.after in {"and", "or"} and here.behind in _PRONOUNS.determiners - {here.own}:
        yield Decision(determiner=here.behind != "hers" and (here.own == "his" or not _ends(here.word(3))))
    if here.word(-1) in {"and", "or"} and here.word(-2) in _PRONOUNS.determiners:
        yield Decision(determiner=not _ends(here.after))
    if here.after in _PRONOUNS.never_noun:
        yield NO


def _before_time(here: _Spot) -> Iterator[Decision]:
    """After "her Friday", "her last", "her first": a time ends the phrase, before a noun it is a part of it."""
    known, after, behind = _PRONOUNS, here.after, here.behind
    if after.isdigit() or after in known.numbers:
        if here.word(3) in _LATER or (after.isdigit() and here.verb in known.giving):
            yield NO
    elif after in known.days or after in known.times:
        if _ends(behind):
            yield NO
        if after in {"last", "next"}:
            yield Decision(determiner=behind not in known.periods and behind not in known.days)
        if after in known.days and behind in known.times | known.periods:
            yield Decision(determiner=behind in {"night", "morning"} and not _ends(here.word(3)))
        yield YES


def _before_verb(here: _Spot) -> Iterator[Decision]:
    """Before an infinitive or a participle: "made her cry", "saw her running"; not "saw her running shoes"."""
    known, verb, after = _PRONOUNS, here.verb, here.after
    if verb in known.causing | known.perceiving and after in known.bare:
        yield NO
    if verb in known.causing and after in known.either:
        if verb in known.letting or here.tag(2) not in {"VBZ", "VBD", "VVD", "VVZ", "VM0"}:
            yield NO
    elif verb in known.perceiving and after in known.either and _ends(here.behind):
        yield Decision(determiner=False, certain=False)
    if after.endswith("ing") and verb in known.perceiving | known.judging | {"stop", "stopped"}:
        yield Decision(determiner=here.tag(2).startswith("NN") and not _ends(here.behind), certain=False)


def _after_giving(here: _Spot) -> Iterator[Decision]:
    """Before a second object: "gave her flowers"; not "gave her flowers to Ann"."""
    known, after, behind = _PRONOUNS, here.after, here.behind
    if here.verb not in known.giving:
        return
    if after in known.given:
        if behind != "to" and (_ends(behind) or behind in grammar().follow or behind in {"every", "each"}):
            yield NO
    elif after in grammar().modifiers and behind in known.given and here.word(3) != "to":
        yield NO


def _before_state(here: _Spot) -> Iterator[Decision]:
    """Before what describes the object: "made her happy", "found her guilty", "elected her captain"."""
    known, verb, after = _PRONOUNS, here.verb, here.after
    if not (_ends(here.behind) or here.behind in grammar().follow):
        return
    if (verb in known.judging and after in known.states) or (verb in known.appointing and after in grammar().singular):
        yield NO
    if verb in known.judging | known.causing and here.tag(1).startswith("AJ") and after not in grammar().singular:
        yield NO


def _before_adverb(here: _Spot) -> Iterator[Decision]:
    """Before an adverb: "treated her badly"; not "her recently published book"."""
    known, after = _PRONOUNS, here.after
    if after == "very" and here.behind in known.manner:
        yield NO
    if after.endswith("ly") and after not in known.ly_adjectives and here.tag(1) in {"AV0", "AJ0"}:
        yield Decision(determiner=here.tag(2)[:2] in {"AJ", "VV", "NN", "OR"} and not _ends(here.behind))


_IRREGULAR = {
    "is": "are", "was": "were", "has": "have", "does": "do", "isn": "aren", "wasn": "weren", "hasn": "haven",
    "doesn": "don", "goes": "go",
}  # fmt: skip
_REACH = 40
"""So many words around a pronoun are looked at."""

_JOINS = frozenset({"and", "or", "but", "then", BREAK})
QUESTION_WORDS = frozenset({"what", "where", "how", "who", "when", "why"})


def base(verb: str) -> str | None:
    """The base form of a verb in the third person singular, in lower case; None where it is not in that form."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if not verb.endswith("s") or len(verb) < 4 or verb.endswith(("ss", "us", "is")):
        return None
    if verb.endswith("ies"):
        return f"{verb[:-3]}y" if len(verb) > 4 else verb[:-1]
    long = verb.endswith(("oes", "focuses", "sses", "shes", "ches", "xes", "zzes")) and verb != "aches"
    return verb[:-2] if long else verb[:-1]


def agree(text: Punctuated, place: int) -> Iterator[tuple[int, str]]:
    """Verbs to change where "she" or "he" at `place` becomes "they" as a subject: their places, and their new forms."""
    yield from _inverted(text, place)
    verb = _first_verb(text, _behind_aside(text, place + 1))
    if verb is None:
        return
    word, near = text.word(verb), verb == place + 1
    if word == "s" and near:
        yield verb, _contracted(text, verb)
    elif (changed := base(word)) is not None and (near or word in _IRREGULAR or text.tags(verb)[0] == "VVZ"):
        yield verb, changed
    yield from _joined(text, verb)


def _inverted(text: Punctuated, place: int) -> Iterator[tuple[int, str]]:
    before = place - 1
    while text.word(before) in {"t", "not"}:
        before -= 1
    word, first = text.word(before), text.word(before - 1)
    if word in _VERBS.auxiliary and (first in _VERBS.opening or _question_phrase(text, before)):
        yield before, _IRREGULAR[word]  # not where a subject stands before the verb: "the fact is he ..."
    elif word == "s" and first in QUESTION_WORDS:
        yield before, "'re"


def _question_phrase(text: Punctuated, verb: int) -> bool:
    begin = verb
    while verb - begin < _REACH and text.word(begin - 1) != BREAK:
        begin -= 1
    second = begin + 1 < verb and text.word(begin + 1) in {"what", "which", "whose", "how"}
    return second or text.word(begin) in _VERBS.asking


def _behind_aside(text: Punctuated, place: int) -> int:
    """Where the verb may stand behind a short aside in commas: "He, however, is late"."""
    if text.word(place) == BREAK and place < len(text.words) and text.spelled[place] != ".":
        for end in range(place + 2, min(place + 6, len(text.words))):
            if text.word(end) == BREAK:
                return end + 1 if text.word(end + 1) in _IRREGULAR and text.spelled[end] != "." else place
    return place


def _first_verb(text: Punctuated, place: int) -> int | None:
    while (word := text.word(place)) in _VERBS.adverbs or (word.endswith("ly") and base(word) is None):
        place += 1
    return None if word == BREAK else place


def _contracted(text: Punctuated, verb: int) -> str:
    after = _first_verb(text, verb + 1)
    word = BREAK if after is None else text.word(after)
    if after is None or word in _VERBS.participles:
        return "'re" if after is None else "'ve"
    if word.endswith("ed") and word not in _VERBS.states and text.tags(after)[0] != "AJ0":
        return "'re" if text.word(after + 1) in {"by", BREAK} else "'ve"
    return "'re"


def _joined(text: Punctuated, verb: int) -> Iterator[tuple[int, str]]:
    """Further verbs of the same subject: behind "and", "or", "but" or a comma, up to the next subject."""
    place = last = verb
    end = min(len(text.words), verb + _REACH)
    while place + 1 < end:
        place += 1
        word = text.word(place)
        if word in _VERBS.subjects or (word == BREAK and text.spelled[place] == "."):
            return
        following = _first_verb(text, place + 1) if word in _JOINS else None
        if following is None or text.word(following) in _JOINS:
            continue
        changed = base(text.word(following))
        if changed is None:
            continue
        direct = place == last + 1
        if direct or text.word(following) in _IRREGULAR or _looks_like_verb(text, following):
            yield following, changed
            last = following
        place = following


def _looks_like_verb(text: Punctuated, place: int) -> bool:
    after = text.word(place + 1)
    adverb = after in _VERBS.manner or after in _VERBS.adverbs or after.endswith("ly")
    if text.word(place) in grammar().verbs and (adverb or after in grammar().follow):
        return True
    if after in _VERBS.objects and after in {"a", "an", "the", "his", "her", "their", "him", "them"}:
        return True
    return text.tags(place)[0] == "VVZ"
