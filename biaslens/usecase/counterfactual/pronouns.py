"""Whether "her" stands for "his" or "him", and "his" for "her" or "hers".

What follows decides: a determiner needs a noun behind it. A tagger says which words may begin or be a noun; rules say
where English puts something else behind an object ("they made her cry", "she called her Friday").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tomllib import loads

from biaslens.usecase.counterfactual.tagger import tags
from biaslens.usecase.words.context import BREAK
from biaslens.usecase.words.grammar import grammar


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a pronoun is a determiner ("her book"), and whether that is sure."""

    determiner: bool
    sure: bool = True


_PUNCTUATION = frozenset({BREAK, "."})
YES, NO = Decision(determiner=True), Decision(determiner=False)


@dataclass(frozen=True, slots=True)
class _Classes:
    begins_noun: frozenset[str]
    never_noun: frozenset[str]
    causing: frozenset[str]
    perceiving: frozenset[str]
    judging: frozenset[str]
    giving: frozenset[str]
    given: frozenset[str]
    bare: frozenset[str]
    either: frozenset[str]
    times: frozenset[str]
    days: frozenset[str]
    periods: frozenset[str]
    states: frozenset[str]


@cache
def _classes() -> _Classes:
    table = loads(Path(__file__).with_name("pronouns.toml").read_text(encoding="utf-8"))
    return _Classes(**{key: frozenset(text.split()) for key, text in table.items()})


def decide(words: Sequence[str], spelled: Sequence[str], place: int) -> Decision:
    """Decide about the "her" or "his" at `place`.

    Parameters
    ----------
    words
        The words of the text in lower case, with :data:`BREAK` for punctuation.
    spelled
        The same as they are spelled, for the tagger.
    place
        Where the pronoun stands.
    """
    after = words[place + 1] if place + 1 < len(words) else BREAK
    if words[place] == "his":
        return _his(words, spelled, place, after)
    return _her(words, spelled, place, after)


def tagged(spelled: Sequence[str], place: int) -> Decision:
    """What the tagger alone says."""
    return Decision(determiner=_tags(spelled, place)[place - _begin(spelled, place)] == "DPS", sure=False)


def _begin(spelled: Sequence[str], place: int) -> int:
    begin = place
    while begin > 0 and place - begin < 6 and spelled[begin - 1] not in _PUNCTUATION:
        begin -= 1
    return begin


def _tags(spelled: Sequence[str], place: int) -> list[str]:
    begin, end = _begin(spelled, place), place + 1
    while end < len(spelled) and end - place < 5 and spelled[end] not in _PUNCTUATION:
        end += 1
    return tags([*spelled[begin:end], "."])


def _at(words: Sequence[str], place: int) -> str:
    return words[place] if 0 <= place < len(words) else BREAK


def _his(words: Sequence[str], spelled: Sequence[str], place: int, after: str) -> Decision:
    known = _classes()
    if after == BREAK:
        return NO
    if after in {"and", "or"} and _at(words, place + 2) in {"her", "hers", "their", "my", "your", "our"}:
        return Decision(determiner=words[place + 2] != "hers")
    if after in known.never_noun:
        return NO
    if after in known.begins_noun or after in known.days:
        return Decision(determiner=not _ends(_at(words, place + 2)) or after in {"own", "first", "last", "best", "all"})
    if _one_of_his(words, place, after):
        return NO
    following = _tags(spelled, place)[place - _begin(spelled, place) + 1]
    if _at(words, place - 1) in grammar().be and following in {"AV0", "TO0"}:
        return NO
    return YES


def _one_of_his(words: Sequence[str], place: int, after: str) -> bool:
    """Whether it is the end of "a friend of his", with the verb behind it."""
    if _at(words, place - 1) != "of" or _at(words, place - 3) not in _ONE:
        return False
    return grammar().verb(after) and _at(words, place + 2) in _classes().never_noun | {BREAK}


_NUMBERS = frozenset({"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "several", "many"})
_APPOINTING = frozenset({"elected", "elect", "appointed", "appoint", "crowned", "named", "chose", "voted", "nominated"})
_ONE = frozenset({"a", "an", "some", "any", "no", "this", "that", "these", "those", "two", "another", "every", "few"})


def _her(words: Sequence[str], spelled: Sequence[str], place: int, after: str) -> Decision:
    known = _classes()
    behind, before = _at(words, place + 2), _verb(words, place)
    if after == BREAK:
        return NO
    if _at(words, place - 1) in {"and", "or"} and _at(words, place - 2) in {"his", "their", "my", "your", "our"}:
        return Decision(determiner=not _ends(after))
    if after == "own":
        return YES
    if after in {"or", "and"} and _at(words, place + 2) in {"his", "their", "my", "your", "our"}:
        return Decision(determiner=not _ends(_at(words, place + 3)))
    if after in known.never_noun:
        return NO
    if after in known.days or after in known.times:
        return _time(words, place, after, behind)
    if after.isdigit() and before in known.giving:
        return NO
    if after == "s":
        return NO
    return _noun_or_not(words, spelled, place, (after, behind, before))


def _time(words: Sequence[str], place: int, after: str, behind: str) -> Decision:
    """After "her Friday", "her last", "her first": a time ends the phrase, before a noun it is a part of it."""
    known = _classes()
    if _ends(behind):
        return NO
    if after in {"last", "next", "this", "every"}:
        return Decision(determiner=behind not in known.periods and behind not in known.days)
    if after in known.days:
        return Decision(
            determiner=(behind not in known.times and behind not in known.periods)
            or (behind in {"night", "morning"} and not _ends(_at(words, place + 3)))
        )
    return YES


def _noun_or_not(words: Sequence[str], spelled: Sequence[str], place: int, around: tuple[str, str, str]) -> Decision:
    after, behind, before = around
    known = _classes()
    tag = [*_tags(spelled, place), "PUN", "PUN"][place - _begin(spelled, place) + 1 :]
    if before in known.causing | known.perceiving:
        if after in known.bare:
            return NO
        if after in known.either and (
            before in {"let", "lets", "letting"} or (before in known.causing and not _noun_follows(tag[1]))
        ):
            return NO
        if after in known.either and _ends(behind) and before in known.perceiving:
            return Decision(determiner=False, sure=False)
    if after.endswith("ing") and before in known.perceiving | known.judging | {
        "kept",
        "keep",
        "keeps",
        "stop",
        "stopped",
    }:
        return Decision(determiner=tag[1].startswith("NN") and behind not in known.never_noun, sure=False)
    if before in known.giving and _gift(words, place, after, behind):
        return NO
    if (before in known.judging and after in known.states) and (_ends(behind) or behind in grammar().follow):
        return NO
    if (
        after.endswith("ly")
        and tag[0] in {"AV0", "AJ0"}
        and after not in {"family", "only", "elderly", "early", "daily", "weekly", "monthly", "lovely", "friendly"}
    ):
        return Decision(
            determiner=tag[1][:2] in {"AJ", "VV", "NN", "OR"} and not _ends(behind) and behind not in known.never_noun
        )
    if (
        tag[0][:2] in {"AJ"}
        and after not in grammar().singular
        and (_ends(behind) or behind in known.never_noun)
        and before in known.judging | known.causing
    ):
        return NO
    if (after.isdigit() or after in _NUMBERS) and _at(words, place + 3) in {"ago", "later", "earlier", "before"}:
        return NO
    if before in _APPOINTING and after in grammar().singular and (_ends(behind) or behind in {"of", "for"}):
        return NO
    if after == "very" and behind in {"much", "well", "badly", "highly", "often"}:
        return NO
    if after in known.begins_noun:
        return Decision(determiner=not _ends(behind) or after in {"best", "all"})
    if tag[0] in {
        "PRP",
        "PRF",
        "AT0",
        "CJC",
        "CJS",
        "CJT",
        "DPS",
        "DTQ",
        "PNP",
        "PNQ",
        "AVQ",
        "TO0",
        "AVP",
        "VBZ",
        "VBD",
        "VM0",
        "XX0",
        "EX0",
    }:
        return NO
    if tag[0] == "AV0" and _ends(behind):
        return NO
    return YES


def _noun_follows(tag: str) -> bool:
    return tag in {"VBZ", "VBD", "VVD", "VVZ", "VM0"}


def _gift(words: Sequence[str], place: int, after: str, behind: str) -> bool:
    """Whether a second object follows: "gave her flowers"; not "gave her flowers to Ann"."""
    known = _classes()
    if after in known.given:
        return behind != "to" and (
            _ends(behind) or behind in grammar().follow or behind in {"every", "each", "twice", "once"}
        )
    return after in grammar().modifiers and behind in known.given and _at(words, place + 3) != "to"


def _verb(words: Sequence[str], place: int) -> str:
    """The word that governs the pronoun: the one before it, or before an adverb."""
    before = _at(words, place - 1)
    if before in {"not", "just", "always", "never", "also"} or (before.endswith("ly") and before != "only"):
        return _at(words, place - 2)
    return before


def _ends(word: str) -> bool:
    """Whether no noun can begin with this word."""
    return word == BREAK or word in _classes().never_noun
