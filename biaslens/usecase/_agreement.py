"""English grammar of a swap: "her" as "his" or "him", verbs after "they", and "a" or "an".

Whether "her" stands for "his" or "him", and "his" for "her" or "hers", what follows decides: a determiner needs a noun
behind it. A tagger says which words may begin or be a noun; rules say where English puts something else behind an
object ("they made her cry", "she called her Friday"). The rules are tried in order, and the first that knows decides.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from biaslens.usecase._context import BREAK, WordClasses, grammar

MODEL = "morphmodel_en.pgz"
"""The model that ships with HanTa; its tags are those of the British National Corpus (C5)."""


@cache
def _tagger() -> Any:  # noqa: ANN401 - the package has no types
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from HanTa.HanoverTagger import HanoverTagger

        return HanoverTagger(MODEL)


@lru_cache(maxsize=4096)
def tags(words: tuple[str, ...]) -> tuple[str, ...]:
    """Tags of the words of a sentence, punctuation included: PNP, VVZ, AV0 for "She walks home"."""
    return tuple(tag for _, _, tag in _tagger().tag_sent(list(words))) if words else ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a pronoun is a determiner ("her book"), and whether that is certain."""

    determiner: bool
    certain: bool = True


_PRONOUNS = WordClasses("pronouns")
_VERBS = WordClasses("agreement")

YES, NO = Decision(determiner=True), Decision(determiner=False)

_PUNCTUATION = frozenset({BREAK, "."})


@dataclass(frozen=True)
class _Spot:
    """A pronoun in its text: `after` and `behind` are the two words that follow, `verb` the one that governs it."""

    words: Sequence[str]
    spelled: Sequence[str]
    index: int

    def word(self, offset: int) -> str:
        """The word so many places on, or a break."""
        place = self.index + offset
        return self.words[place] if 0 <= place < len(self.words) else BREAK

    @property
    def after(self) -> str:
        return self.word(1)

    @property
    def behind(self) -> str:
        return self.word(2)

    @cached_property
    def verb(self) -> str:
        before = self.word(-1)
        adverb = before in {"not", "just", "always", "never", "also"} or (before.endswith("ly") and before != "only")
        return self.word(-2) if adverb else before

    @cached_property
    def tags(self) -> list[str]:
        """Tags of the pronoun and the two words behind it."""
        return [*_tags_from(self.spelled, self.spelled, self.index, back=6, forth=5), "PUN", "PUN"]


def decide(words: Sequence[str], spelled: Sequence[str], place: int) -> Decision:
    """Decide about the "her" or "his" at `place` of the words, in lower case and as they are spelled, with breaks."""
    here = _Spot(words, spelled, place)
    for rule in _HIS if words[place] == "his" else _HER:
        decision = rule(here)
        if decision is not None:
            return decision
    return YES


def _ends(word: str) -> bool:
    """Whether no noun phrase can begin with this word."""
    return word == BREAK or word in _PRONOUNS.never_noun


def _ended_or_joined(here: _Spot) -> Decision | None:
    """No determiner where no noun phrase follows; one where it is joined to one: "his or her book"."""
    if here.after in {BREAK, "s"}:
        return NO
    if here.after in {"and", "or"} and here.behind in _PRONOUNS.determiners - {here.word(0)}:
        return Decision(determiner=here.behind != "hers" and (here.word(0) == "his" or not _ends(here.word(3))))
    if here.word(-1) in {"and", "or"} and here.word(-2) in _PRONOUNS.determiners:
        return Decision(determiner=not _ends(here.after))
    return NO if here.after in _PRONOUNS.never_noun else None


def _his_alone(here: _Spot) -> Decision | None:
    known = _PRONOUNS
    if here.after in known.begins_noun or here.after in known.days:
        return Decision(determiner=not _ends(here.behind) or here.after in {"own", "first", "last", "best", "all"})
    if here.word(-1) == "of" and here.word(-3) in known.one and grammar().verb(here.after) and _ends(here.behind):
        return NO  # a friend of his called me
    return NO if here.word(-1) in grammar().be and here.tags[1] in {"AV0", "TO0"} else None


def _own(here: _Spot) -> Decision | None:
    return YES if here.after == "own" else None


def _time(here: _Spot) -> Decision | None:
    """After "her Friday", "her last", "her first": a time ends the phrase, before a noun it is a part of it."""
    known = _PRONOUNS
    after, behind = here.after, here.behind
    if after.isdigit() or after in known.numbers:
        number = here.verb in known.giving or here.word(3) in {"ago", "later", "earlier", "before"}
        return NO if number and (after.isdigit() or here.word(3) in {"ago", "later", "earlier", "before"}) else None
    if after not in known.days and after not in known.times:
        return None
    if _ends(behind):
        return NO
    if after in {"last", "next"}:
        return Decision(determiner=behind not in known.periods and behind not in known.days)
    if after in known.days and behind in known.times | known.periods:
        return Decision(determiner=behind in {"night", "morning"} and not _ends(here.word(3)))
    return YES


def _infinitive(here: _Spot) -> Decision | None:
    """Before a bare infinitive: "made her cry", "let her go", "heard her sing"."""
    known = _PRONOUNS
    if here.verb not in known.causing | known.perceiving:
        return None
    if here.after in known.bare:
        return NO
    if here.after not in known.either:
        return None
    if here.verb in known.letting:
        return NO
    if here.verb in known.causing:
        return None if here.tags[2] in {"VBZ", "VBD", "VVD", "VVZ", "VM0"} else NO
    return Decision(determiner=False, certain=False) if _ends(here.behind) else None


def _participle(here: _Spot) -> Decision | None:
    """Before a participle: "saw her running", "kept her waiting"; not "saw her running shoes"."""
    known = _PRONOUNS
    if here.after.endswith("ing") and here.verb in known.perceiving | known.judging | {"stop", "stopped"}:
        return Decision(determiner=here.tags[2].startswith("NN") and not _ends(here.behind), certain=False)
    return None


def _gift(here: _Spot) -> Decision | None:
    """Before a second object: "gave her flowers"; not "gave her flowers to Ann"."""
    known = _PRONOUNS
    if here.verb not in known.giving:
        return None
    if here.after in known.given:
        ends = _ends(here.behind) or here.behind in grammar().follow or here.behind in {"every", "each"}
        return NO if ends and here.behind != "to" else None
    given = here.after in grammar().modifiers and here.behind in known.given and here.word(3) != "to"
    return NO if given else None


def _state(here: _Spot) -> Decision | None:
    """Before what describes the object: "made her happy", "found her guilty", "elected her captain"."""
    known = _PRONOUNS
    ends = _ends(here.behind) or here.behind in grammar().follow
    if not ends:
        return None
    if here.verb in known.judging and here.after in known.states:
        return NO
    if here.verb in known.appointing and here.after in grammar().singular:
        return NO
    adjective = here.tags[1].startswith("AJ") and here.after not in grammar().singular
    return NO if adjective and here.verb in known.judging | known.causing else None


def _manner(here: _Spot) -> Decision | None:
    """Before an adverb: "treated her badly"; not "her recently published book"."""
    if here.after == "very" and here.behind in _PRONOUNS.manner:
        return NO
    if not here.after.endswith("ly") or here.after in _PRONOUNS.ly_adjectives or here.tags[1] not in {"AV0", "AJ0"}:
        return None
    return Decision(determiner=here.tags[2][:2] in {"AJ", "VV", "NN", "OR"} and not _ends(here.behind))


def _begins(here: _Spot) -> Decision | None:
    if here.after not in _PRONOUNS.begins_noun:
        return None
    return Decision(determiner=not _ends(here.behind) or here.after in {"best", "all"})


def _by_tag(here: _Spot) -> Decision | None:
    """By the tagger: no noun begins with a preposition, a conjunction, an auxiliary ..."""
    if here.tags[1] in _PRONOUNS.closed:
        return NO
    return NO if here.tags[1] == "AV0" and _ends(here.behind) else None


_HIS: tuple[Callable[[_Spot], Decision | None], ...] = (_ended_or_joined, _his_alone)
_HER: tuple[Callable[[_Spot], Decision | None], ...] = (
    _ended_or_joined, _own, _time, _infinitive, _participle, _gift, _state, _manner, _begins, _by_tag,
)  # fmt: skip


_IRREGULAR = {
    "is": "are", "was": "were", "has": "have", "does": "do", "isn": "aren", "wasn": "weren", "hasn": "haven",
    "doesn": "don", "goes": "go",
}  # fmt: skip
_REACH = 40
"""So many words around a pronoun are looked at."""

_JOINS = frozenset({"and", "or", "but", "then", BREAK})
_NO_S = ("ss", "us", "is")


def base(verb: str) -> str | None:
    """The base form of a verb in the third person singular, in lower case; None where it is not in that form."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if not verb.endswith("s") or len(verb) < 4 or verb.endswith(_NO_S):
        return None
    if verb.endswith(("oes", "focuses")):
        return verb[:-2]
    if verb.endswith("ies"):
        return f"{verb[:-3]}y" if len(verb) > 4 else verb[:-1]
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")) and verb not in {"aches"}:
        return verb[:-2]
    return verb[:-1]


def agree(words: Sequence[str], spelled: Sequence[str], place: int) -> Iterator[tuple[int, str]]:
    """Verbs to change where "she" or "he" at `place` becomes "they" as a subject: their places, and their new forms."""
    yield from _inverted(words, place)
    verb = _first_verb(words, _behind_aside(words, spelled, place + 1))
    if verb is None:
        return
    if words[verb] == "s" and verb == place + 1:
        yield verb, _contracted(words, spelled, verb)
    elif (changed := base(words[verb])) is not None and _is_verb(words, spelled, verb, near=verb == place + 1):
        yield verb, changed
    yield from _joined(words, spelled, verb)


def _inverted(words: Sequence[str], place: int) -> Iterator[tuple[int, str]]:
    before = place - 1
    while before >= 0 and words[before] in {"t", "not"}:
        before -= 1
    if before < 0:
        return
    if words[before] in _VERBS.auxiliary and not _subject_before(words, before):
        yield before, _IRREGULAR[words[before]]
    elif words[before] == "s" and before > 0 and words[before - 1] in {"what", "where", "how", "who", "when", "why"}:
        yield before, "'re"


def _subject_before(words: Sequence[str], verb: int) -> bool:
    """Whether the verb before the pronoun belongs to a subject before it: "the fact is he ..."."""
    before = words[verb - 1] if verb else BREAK
    return before not in _VERBS.opening and not _question_phrase(words, verb)


def _question_phrase(words: Sequence[str], verb: int) -> bool:
    begin = verb
    while begin > 0 and verb - begin < _REACH and words[begin - 1] != BREAK:
        begin -= 1
    return words[begin] in _VERBS.asking or (begin + 1 < verb and words[begin + 1] in {"what", "which", "whose", "how"})


def _behind_aside(words: Sequence[str], spelled: Sequence[str], place: int) -> int:
    """Where the verb may stand behind a short aside in commas: "He, however, is late"."""
    if place >= len(words) or words[place] != BREAK or spelled[place] == ".":
        return place
    for end in range(place + 2, min(place + 6, len(words))):
        if words[end] == BREAK:
            after = words[end + 1] if end + 1 < len(words) else BREAK
            aside = after in _IRREGULAR and spelled[end] != "."
            return end + 1 if aside else place
    return place


def _first_verb(words: Sequence[str], place: int) -> int | None:
    while place < len(words) and (
        words[place] in _VERBS.adverbs or (words[place].endswith("ly") and base(words[place]) is None)
    ):
        place += 1
    return place if place < len(words) and words[place] != BREAK else None


def _contracted(words: Sequence[str], spelled: Sequence[str], verb: int) -> str:
    after = _first_verb(words, verb + 1)
    if after is None:
        return "'re"
    word = words[after]
    if word in _VERBS.participles:
        return "'ve"
    if word.endswith("ed") and word not in _VERBS.states and _tag(words, spelled, after) != "AJ0":
        following = words[after + 1] if after + 1 < len(words) else BREAK
        return "'re" if following in {"by", BREAK} else "'ve"
    return "'re"


def _is_verb(words: Sequence[str], spelled: Sequence[str], place: int, *, near: bool) -> bool:
    if words[place] in _IRREGULAR or near:
        return True
    return _tag(words, spelled, place) == "VVZ"


def _tag(words: Sequence[str], spelled: Sequence[str], place: int) -> str:
    return _tags_from(words, spelled, place, back=8, forth=4)[0]


def _tags_from(words: Sequence[str], spelled: Sequence[str], place: int, *, back: int, forth: int) -> tuple[str, ...]:
    """Tags of a word and those behind it, read with the words around it that no punctuation cuts off."""
    begin, end = place, place + 1
    while begin > 0 and place - begin < back and words[begin - 1] not in _PUNCTUATION:
        begin -= 1
    while end < len(words) and end - place < forth and words[end] not in _PUNCTUATION:
        end += 1
    return tags((*spelled[begin:end], "."))[place - begin :]


def _joined(words: Sequence[str], spelled: Sequence[str], verb: int) -> Iterator[tuple[int, str]]:
    """Further verbs of the same subject: behind "and", "or", "but" or a comma, up to the next subject."""
    place = last = verb
    end = min(len(words), verb + _REACH)
    while place + 1 < end:
        place += 1
        word = words[place]
        if word in _VERBS.subjects or (word == BREAK and spelled[place] == "."):
            return
        if word not in _JOINS:
            continue
        following = _first_verb(words, place + 1)
        changed = None if following is None or words[following] in _JOINS else base(words[following])
        if following is None or changed is None:
            continue
        direct = place == last + 1
        if direct or words[following] in _IRREGULAR or _looks_like_verb(words, spelled, following):
            yield following, changed
            last = following
        place = following


def _looks_like_verb(words: Sequence[str], spelled: Sequence[str], place: int) -> bool:
    after = words[place + 1] if place + 1 < len(words) else BREAK
    adverb = after in _VERBS.manner or after in _VERBS.adverbs or after.endswith("ly")
    if words[place] in grammar().verbs and (adverb or after in grammar().follow):
        return True
    if after in _VERBS.objects:
        return _tag(words, spelled, place) == "VVZ" or after in {"a", "an", "the", "his", "her", "their", "him", "them"}
    return _tag(words, spelled, place) == "VVZ"
