"""Verbs after "they": "she is" becomes "they are", "he walks and talks" becomes "they walk and talk"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tomllib import loads

from biaslens.usecase.counterfactual.tagger import tags
from biaslens.usecase.words.context import BREAK
from biaslens.usecase.words.grammar import grammar

_IRREGULAR = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "isn": "aren",
    "wasn": "weren",
    "hasn": "haven",
    "doesn": "don",
    "goes": "go",
}
_REACH = 40
"""So many words around a pronoun are looked at."""

_JOINS = frozenset({"and", "or", "but", "then", BREAK})
_NO_S = ("ss", "us", "is")


@dataclass(frozen=True, slots=True)
class _Classes:
    """Words by what they are; the file ``agreement.toml`` says what each class is for."""

    auxiliary: frozenset[str]
    manner: frozenset[str]
    adverbs: frozenset[str]
    participles: frozenset[str]
    states: frozenset[str]
    subjects: frozenset[str]
    opening: frozenset[str]
    asking: frozenset[str]
    objects: frozenset[str]


@cache
def _classes() -> _Classes:
    table = loads(Path(__file__).with_name("agreement.toml").read_text(encoding="utf-8"))
    return _Classes(**{key: frozenset(text.split()) for key, text in table.items()})


def base(verb: str) -> str | None:
    """The base form of a verb in the third person singular, in lower case; None where it is not in that form.

    Examples
    --------
    >>> [base(verb) for verb in ("walks", "tries", "watches", "goes", "has", "can", "lies", "uses")]
    ['walk', 'try', 'watch', 'go', 'have', None, 'lie', 'use']
    """
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
    """Verbs to change where the pronoun at `place` becomes "they": their places, and their new forms.

    Parameters
    ----------
    words, spelled
        The words of the text, in lower case and as they are spelled, with breaks.
    place
        Where "she" or "he" stands as a subject.
    """
    yield from _inverted(words, place)
    verb = _first_verb(words, _behind_aside(words, spelled, place + 1))
    if verb is None:
        return
    if words[verb] == "s" and verb == place + 1:
        yield verb, _contracted(words, spelled, verb)
    elif (changed := base(words[verb])) is not None and _is_verb(words, spelled, verb, sure=verb == place + 1):
        yield verb, changed
    yield from _joined(words, spelled, verb)


def _inverted(words: Sequence[str], place: int) -> Iterator[tuple[int, str]]:
    before = place - 1
    while before >= 0 and words[before] in {"t", "not"}:
        before -= 1
    if before < 0:
        return
    if words[before] in _classes().auxiliary and not _subject_before(words, before):
        yield before, _IRREGULAR[words[before]]
    elif words[before] == "s" and before > 0 and words[before - 1] in {"what", "where", "how", "who", "when", "why"}:
        yield before, "'re"


def _subject_before(words: Sequence[str], verb: int) -> bool:
    """Whether the verb before the pronoun belongs to a subject before it: "the fact is he ..."."""
    before = words[verb - 1] if verb else BREAK
    return before not in _classes().opening and not _question_phrase(words, verb)


def _question_phrase(words: Sequence[str], verb: int) -> bool:
    begin = verb
    while begin > 0 and verb - begin < _REACH and words[begin - 1] != BREAK:
        begin -= 1
    return words[begin] in _classes().asking or (
        begin + 1 < verb and words[begin + 1] in {"what", "which", "whose", "how"}
    )


def _behind_aside(words: Sequence[str], spelled: Sequence[str], place: int) -> int:
    """Where the verb may stand behind a short aside in commas: "He, however, is late"."""
    if place >= len(words) or words[place] != BREAK or _sentence_ends(spelled, place):
        return place
    for end in range(place + 2, min(place + 6, len(words))):
        if words[end] == BREAK:
            after = words[end + 1] if end + 1 < len(words) else BREAK
            aside = after in _IRREGULAR and not _sentence_ends(spelled, end)
            return end + 1 if aside else place
    return place


def _first_verb(words: Sequence[str], place: int) -> int | None:
    while place < len(words) and (
        words[place] in _classes().adverbs or (words[place].endswith("ly") and base(words[place]) is None)
    ):
        place += 1
    return place if place < len(words) and words[place] != BREAK else None


def _contracted(words: Sequence[str], spelled: Sequence[str], verb: int) -> str:
    after = _first_verb(words, verb + 1)
    if after is None:
        return "'re"
    word = words[after]
    if word in _classes().participles:
        return "'ve"
    if word.endswith("ed") and word not in _classes().states and _tag(words, spelled, after) != "AJ0":
        following = words[after + 1] if after + 1 < len(words) else BREAK
        return "'re" if following in {"by", BREAK} else "'ve"
    return "'re"


def _is_verb(words: Sequence[str], spelled: Sequence[str], place: int, *, sure: bool) -> bool:
    if words[place] in _IRREGULAR or sure:
        return True
    return _tag(words, spelled, place) == "VVZ"


def _tag(words: Sequence[str], spelled: Sequence[str], place: int) -> str:
    begin = place
    while begin > 0 and place - begin < 8 and words[begin - 1] != BREAK:
        begin -= 1
    end = place + 1
    while end < len(words) and end - place < 4 and words[end] != BREAK:
        end += 1
    return tags([*spelled[begin:end], "."])[place - begin]


def _joined(words: Sequence[str], spelled: Sequence[str], verb: int) -> Iterator[tuple[int, str]]:
    """Further verbs of the same subject: behind "and", "or", "but" or a comma, up to the next subject."""
    place = last = verb
    end = min(len(words), verb + _REACH)
    while place + 1 < end:
        place += 1
        word = words[place]
        if word in _classes().subjects or (word == BREAK and _sentence_ends(spelled, place)):
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


def _sentence_ends(spelled: Sequence[str], place: int) -> bool:
    return spelled[place] == "."


def _looks_like_verb(words: Sequence[str], spelled: Sequence[str], place: int) -> bool:
    after = words[place + 1] if place + 1 < len(words) else BREAK
    adverb = after in _classes().manner or after in _classes().adverbs or after.endswith("ly")
    if words[place] in grammar().verbs and (adverb or after in grammar().follow):
        return True
    if after in _classes().objects:
        return _tag(words, spelled, place) == "VVZ" or after in {"a", "an", "the", "his", "her", "their", "him", "them"}
    return _tag(words, spelled, place) == "VVZ"
