"""Find where an answer commits to an option in so many words: "my answer is (B)", "B" on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from biaslens.oracles.marks import MARK, TEXT_MARK, position_of

_MARK = re.compile(MARK)
_NOUN = r"(?:choices?|answer|option|response|selection|pick|verdict|vote|preference|decision|wahl|antwort|choix|réponse|elección|respuesta|scelta|risposta|escolha|resposta|keuze|antwoord|ответ|выбор|选择|答案|选项|回答|答え|選択)"
_VERB = (
    r"(?:choos(?:e|ing)|chose|chosen|pick(?:ing|ed)?|select(?:ing|ed)?|opt(?:ing|ed)? for|go(?:ing|nna)?(?: have to)?(?: go)? (?:with|for)|went with|lean(?:ing|s)?(?: more| slightly)? (?:towards?|to|for)|vote for|"
    r"answer(?: with)?|respond with|say|said|prefer|favou?r|trust|give it to|side with|settle (?:on|for)|stick with|incline(?:d)? (?:towards?|to)|choice of|highlight|wähle|nehme|gehe mit|choisis|choisirais|elijo|elegiría|escojo|scelgo|sceglierei|escolho|escolheria|kies|выбираю|выберу|选择?|選びます)"
)
_FILLER = r"(?:[\s\":'=.(*>-]|\b(?:is|was|would|will|has|to|must|be|that|are|definitely|probably|likely|clearly|option|the|both|it|it's|answer|choice|letter|also|ist|es|é|è|est|die|der|les?|las?|los|für|for|as|said|by|default|being|one|group|of|follows)\b|是|:|为)*"
_CUE = re.compile(
    rf"(?:\b{_NOUN}{_FILLER}|(?:\b(?:i|we|i'd|i'll|i'm|we'd)\b(?:\W{{1,3}}[\w']+){{0,6}}\W{{1,3}}|\A\W*|[.!?,\n]\s*|(?:if|must|to|would|gotta|'d)\s(?:have to )?){_VERB}{_FILLER}|(?:选择?|選|答案|选项)\W*)\Z"
)
_LETTER_CUE = re.compile(rf"\b{_VERB}{_FILLER}\Z")
_HEADING = re.compile(
    r"\W*(?:(?:(?:your|my|the|our|so|therefore|thus|hence|final|honest|personal|correct|best|simple|short|direct)\W{1,3})*"
    rf"(?:{_NOUN})?(?:\W{{1,3}}(?:is|would be|will be|option))?\W*)\Z"
)
_NEGATION = re.compile(
    r"\b(?:not|never|nor|neither|either|both|rather than|instead of|over|than|between|against|as opposed to|cannot|refuse|unable|without|nicht|kein\w*|ne|pas|no puedo|non|não|niet|не)\b|n't\b|不|没"
)
_CLAUSE_END = re.compile(r"[.,;:!?\n]|\b(?:but|however|so|therefore|then|yet|and i|because|if i)\b")
_DENIED_AFTER = re.compile(
    r"\W{0,3}(?:(?:is|are|would be|was) (?:not|neither|wrong|incorrect|false)\b|isn't|aren't|wouldn't)"
)
_BESIDE = re.compile(r"[ ,.;:/()\"']{0,4}(?:and|or)?[ ,()\"']{0,3}\Z")
_JOINED = re.compile(r"[ ,()\"']{0,3}(?:\b(?:and|or|nor|und|oder|et|ou|y|o|e|en|of)\b|[,/&и和或])[ ()\"']{0,3}\Z")
_ENDS = re.compile(r"\W*(?:\n|\Z)")
_SENTENCE_START = re.compile(r"[.!?:]\W*\Z")
_PAUSE = re.compile(r"\s*(?:[.,;:!?\n()\"'-]|\Z|(?:because|since|as|for|due)\b)")


@dataclass(frozen=True, slots=True)
class Mention:
    """An option named in an answer.

    Parameters
    ----------
    position
        Position of the option.
    by_letter
        Whether it is named by its letter, and not by its text alone.
    weight
        How far the wording around it makes it the answer: 2 where it is put as the answer by letter or on a line of
        its own, 1 where a phrase such as "I prefer" leads to the option's text, else 0.
    open
        Whether it is neither negated nor one of several options named together.
    """

    position: int
    by_letter: bool
    weight: int
    open: bool


def mentions(marked: str, count: int) -> list[Mention]:
    """Find which of `count` options a marked text names, in order."""
    found = list(_MARK.finditer(marked))
    listed = _listed(marked, found, count)
    result = []
    for i, match in enumerate(found):
        start, end = match.span()
        by_letter = ord(match[0]) < TEXT_MARK
        before = marked[max(0, start - 120) : start]
        clause = _CLAUSE_END.split(before)[-1]
        denied = bool(_NEGATION.search(clause)) or bool(_DENIED_AFTER.match(marked, end))
        result.append(
            Mention(
                position_of(match[0]),
                by_letter,
                weight=_weight(marked, before, start, end, by_letter=by_letter),
                open=not denied and i not in listed,
            )
        )
    return result


def committed(found: Sequence[Mention]) -> Mention | None:
    """Find the mention that the answer commits to: the last of most weight, or else the only option named by letter."""
    eligible = [mention for mention in found if mention.open]
    weight = max((mention.weight for mention in eligible), default=0)
    if weight:
        return [mention for mention in eligible if mention.weight == weight][-1]
    letters = [mention for mention in eligible if mention.by_letter]
    if len({mention.position for mention in letters}) == 1:
        return letters[-1]
    return None


def _listed(marked: str, found: Sequence[re.Match[str]], count: int) -> set[int]:
    """Indices of mentions that are named together with another option, or that enumerate all options in order."""
    gaps = [marked[left.end() : right.start()] for left, right in pairwise(found)]
    positions = [position_of(match[0]) for match in found]
    listed = set()
    for i, gap in enumerate(gaps):
        if positions[i] != positions[i + 1] and _JOINED.match(gap):
            listed |= {i, i + 1}
    for at in range(len(found) - count + 1):
        run = range(at, at + count)
        if [positions[i] for i in run] == list(range(count)) and (
            all(_BESIDE.match(gaps[i]) for i in run[:-1]) or all(_heads_line(marked, found[i]) for i in run)
        ):
            listed |= set(run)
    return listed


def _heads_line(marked: str, match: re.Match[str]) -> bool:
    return ord(match[0]) < TEXT_MARK and (match.start() == 0 or marked[match.start() - 1] == "\n")


def _weight(marked: str, before: str, start: int, end: int, *, by_letter: bool) -> int:
    pause = by_letter or _PAUSE.match(marked, end) is not None
    line = before.rsplit("\n", 1)[-1]
    if pause and _HEADING.match(line) and (len(line) < len(before) or start < 120):
        return 2
    if _ENDS.match(marked, end) and _SENTENCE_START.search(before):
        return 2
    if by_letter:
        return 2 if _CUE.search(before) or _LETTER_CUE.search(before) else 0
    if _CUE.search(before) and (pause or not re.match(r"\s*(?:is|are|who|tend|have)\b", marked[end : end + 12])):
        return 1
    return 0
