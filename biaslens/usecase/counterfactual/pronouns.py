"""Whether "her" stands for "his" or "him", and "his" for "her" or "hers".

What follows decides: a determiner needs a noun behind it. A tagger says which words may begin or be a noun; rules say
where English puts something else behind an object ("they made her cry", "she called her Friday"). The rules are tried
in order, and the first that knows decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
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


YES, NO = Decision(determiner=True), Decision(determiner=False)

_PUNCTUATION = frozenset({BREAK, "."})
_BACK, _FORTH = 6, 5
"""So many words around a pronoun are tagged."""


@dataclass(frozen=True, slots=True)
class _Classes:
    """Words by what they are; the file ``pronouns.toml`` says what each class is for."""

    begins_noun: frozenset[str]
    never_noun: frozenset[str]
    manner: frozenset[str]
    numbers: frozenset[str]
    letting: frozenset[str]
    causing: frozenset[str]
    perceiving: frozenset[str]
    judging: frozenset[str]
    appointing: frozenset[str]
    giving: frozenset[str]
    given: frozenset[str]
    bare: frozenset[str]
    either: frozenset[str]
    times: frozenset[str]
    days: frozenset[str]
    periods: frozenset[str]
    states: frozenset[str]
    determiners: frozenset[str]
    one: frozenset[str]
    ly_adjectives: frozenset[str]
    closed: frozenset[str]


@cache
def _classes() -> _Classes:
    table = loads(Path(__file__).with_name("pronouns.toml").read_text(encoding="utf-8"))
    return _Classes(**{key: frozenset(text.split()) for key, text in table.items()})


@dataclass(frozen=True)
class _Place:
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
        begin, end = self.index, self.index + 1
        while begin > 0 and self.index - begin < _BACK and self.spelled[begin - 1] not in _PUNCTUATION:
            begin -= 1
        while end < len(self.spelled) and end - self.index < _FORTH and self.spelled[end] not in _PUNCTUATION:
            end += 1
        found = tags([*self.spelled[begin:end], "."])
        return [*found, "PUN", "PUN"][self.index - begin :]


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
    here = _Place(words, spelled, place)
    for rule in _HIS if words[place] == "his" else _HER:
        decision = rule(here)
        if decision is not None:
            return decision
    return YES


def tagged(spelled: Sequence[str], place: int) -> Decision:
    """What the tagger alone says."""
    return Decision(determiner=_Place(spelled, spelled, place).tags[0] == "DPS", sure=False)


def _ends(word: str) -> bool:
    """Whether no noun phrase can begin with this word."""
    return word == BREAK or word in _classes().never_noun


def _nothing_follows(here: _Place) -> Decision | None:
    return NO if here.after in {BREAK, "s"} else None


def _his_and_hers(here: _Place) -> Decision | None:
    """A determiner where it is joined to one: "his or her book"; not so "his or hers"."""
    if here.after in {"and", "or"} and here.behind in _classes().determiners - {here.word(0)}:
        return Decision(determiner=here.behind != "hers" and (here.word(0) == "his" or not _ends(here.word(3))))
    if here.word(-1) in {"and", "or"} and here.word(-2) in _classes().determiners:
        return Decision(determiner=not _ends(here.after))
    return None


def _no_noun_follows(here: _Place) -> Decision | None:
    return NO if here.after in _classes().never_noun else None


def _his_alone(here: _Place) -> Decision | None:
    known = _classes()
    if here.after in known.begins_noun or here.after in known.days:
        return Decision(determiner=not _ends(here.behind) or here.after in {"own", "first", "last", "best", "all"})
    if here.word(-1) == "of" and here.word(-3) in known.one and grammar().verb(here.after) and _ends(here.behind):
        return NO  # a friend of his called me
    return NO if here.word(-1) in grammar().be and here.tags[1] in {"AV0", "TO0"} else None


def _own(here: _Place) -> Decision | None:
    return YES if here.after == "own" else None


def _time(here: _Place) -> Decision | None:
    """After "her Friday", "her last", "her first": a time ends the phrase, before a noun it is a part of it."""
    known = _classes()
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


def _infinitive(here: _Place) -> Decision | None:
    """Before a bare infinitive: "made her cry", "let her go", "heard her sing"."""
    known = _classes()
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
    return Decision(determiner=False, sure=False) if _ends(here.behind) else None


def _participle(here: _Place) -> Decision | None:
    """Before a participle: "saw her running", "kept her waiting"; not "saw her running shoes"."""
    known = _classes()
    if here.after.endswith("ing") and here.verb in known.perceiving | known.judging | {"stop", "stopped"}:
        return Decision(determiner=here.tags[2].startswith("NN") and not _ends(here.behind), sure=False)
    return None


def _gift(here: _Place) -> Decision | None:
    """Before a second object: "gave her flowers"; not "gave her flowers to Ann"."""
    known = _classes()
    if here.verb not in known.giving:
        return None
    if here.after in known.given:
        ends = _ends(here.behind) or here.behind in grammar().follow or here.behind in {"every", "each"}
        return NO if ends and here.behind != "to" else None
    given = here.after in grammar().modifiers and here.behind in known.given and here.word(3) != "to"
    return NO if given else None


def _state(here: _Place) -> Decision | None:
    """Before what describes the object: "made her happy", "found her guilty", "elected her captain"."""
    known = _classes()
    ends = _ends(here.behind) or here.behind in grammar().follow
    if not ends:
        return None
    if here.verb in known.judging and here.after in known.states:
        return NO
    if here.verb in known.appointing and here.after in grammar().singular:
        return NO
    adjective = here.tags[1].startswith("AJ") and here.after not in grammar().singular
    return NO if adjective and here.verb in known.judging | known.causing else None


def _manner(here: _Place) -> Decision | None:
    """Before an adverb: "treated her badly"; not "her recently published book"."""
    if here.after == "very" and here.behind in _classes().manner:
        return NO
    if not here.after.endswith("ly") or here.after in _classes().ly_adjectives or here.tags[1] not in {"AV0", "AJ0"}:
        return None
    return Decision(determiner=here.tags[2][:2] in {"AJ", "VV", "NN", "OR"} and not _ends(here.behind))


def _begins(here: _Place) -> Decision | None:
    if here.after not in _classes().begins_noun:
        return None
    return Decision(determiner=not _ends(here.behind) or here.after in {"best", "all"})


def _by_tag(here: _Place) -> Decision | None:
    """By the tagger: no noun begins with a preposition, a conjunction, an auxiliary ..."""
    if here.tags[1] in _classes().closed:
        return NO
    return NO if here.tags[1] == "AV0" and _ends(here.behind) else None


_HIS: tuple[Callable[[_Place], Decision | None], ...] = (_nothing_follows, _his_and_hers, _no_noun_follows, _his_alone)
_HER: tuple[Callable[[_Place], Decision | None], ...] = (
    _nothing_follows,
    _his_and_hers,
    _own,
    _no_noun_follows,
    _time,
    _infinitive,
    _participle,
    _gift,
    _state,
    _manner,
    _begins,
    _by_tag,
)
