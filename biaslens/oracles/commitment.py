"""Find where an answer commits to an option in so many words: "my answer is (B)", "B" on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from biaslens.oracles.marks import MARK, TEXT_MARK, position_of

_REACH = 120
"""Most characters before a mention that can bear on it."""

_GAP = "[^\\w\ue000-\ue1ff]"  # a mark is no word character, but it is no gap either
_NOUN = (
    r"(?:choices?|answer|option|response|selection|pick|verdict|vote|preference|decision|"
    r"wahl|antwort|choix|réponse|elección|respuesta|scelta|risposta|escolha|resposta|keuze|antwoord|ответ|выбор|"
    r"选择|答案|选项|回答|答え|選択)"
)
_VERB = (
    r"(?:choos(?:e|ing)|chosen?|pick(?:ing|ed)?|select(?:ing|ed)?|opt(?:ing|ed)? for|choice of|vote for|"
    r"go(?:ing|nna)?(?: have to)?(?: go)? (?:with|for)|went with|side with|stick with|settle (?:on|for)|give it to|"
    r"lean(?:ing|s)?(?: more| slightly)? (?:towards?|to|for)|inclined? (?:towards?|to)|"
    r"answer(?: with)?|respond with|(?:bet|count|rely|put my money) on|hire|give me|say|said|"
    r"prefer|favou?r|trust|highlight|"
    r"wähle|nehme|gehe mit|choisis|choisirais|elijo|elegiría|escojo|scelgo|sceglierei|escolho|escolheria|kies|"
    r"выбираю|выберу|选择?|選びます)"
)
_FILLER = (
    r"(?:[\s\":'=.(*>-]|是|为|\b(?:is|was|would|will|has|to|must|be|that|are|it|it's|as|said|by|default|being|follows|"
    r"definitely|probably|likely|clearly|also|option|answer|choice|letter|the|an?|both|one|group|of|for|"
    r"ist|es|é|è|est|die|der|les?|las?|los|für)\b)*"
)
_SPEAKER = (
    r"(?:\b(?:i|we|i'd|i'll|i'm|we'd)\b(?:\W{1,3}\w[\w']{0,30}+){0,6}\W{1,3}|\A\W*+|[.!?,\n]\s*+|"
    r"(?:if|must|to|would|gotta|'d)\s(?:have to )?)"
)
_CUE = re.compile(rf"(?:\b{_NOUN}{_FILLER}|{_SPEAKER}{_VERB}{_FILLER}|(?:选择?|選|答案|选项)\W*)\Z")
_LETTER_CUE = re.compile(rf"\b{_VERB}{_FILLER}\Z")
_HEADING = re.compile(
    rf"{_GAP}*(?:(?:your|my|the|our|so|therefore|thus|hence|final|honest|personal|correct|best|simple|short|direct)"
    rf"{_GAP}{{1,3}})*(?:{_NOUN})?(?:{_GAP}{{1,3}}(?:is|would be|will be|option))?{_GAP}*\Z"
)
# "So naturally, ...": words that may lead to an option as a sentence of its own
_FRAGMENT = re.compile(
    r"(?:\A|[.!?:\n])[\W\d]{0,16}+(?:(?:so|then|well|why|oh|ah|naturally|obviously|of course|clearly|definitely|"
    r"certainly|surely|honestly|frankly|personally|probably|always|mostly|usually|generally|hands down|in the end|"
    r"overall|easily|(?:for|to) me|in my (?:experience|opinion|view|book|eyes|case)|from (?:my|what) [\w' ]{1,40}|"
    r"between you and me|(?:i|i'd|i would) (?:say|guess|think|suppose|reckon|believe)|"
    r"(?:without|no|beyond) (?:a )?(?:doubt|question|hesitation)|"
    r"(?:it|that)(?:'s| is| would be|'d be| has to be| must be)|gotta be|an?|the|those|these)\W{1,16}+){1,6}\Z"
)
_TENTATIVE = re.compile(
    r"\b(?:might|may|could|tempt\w+|wanted to|want to|used to|easy to|expected to|supposed to)\b(?: \w+){0,5}\W*\Z"
)
_SENTENCE_START = re.compile(rf"[.!?:]{_GAP}*\Z")
_SENTENCE_END = re.compile(rf"{_GAP}*(?:\n|\Z)")
_ENDED = re.compile(
    rf"(?:{_GAP}|\b(?:of course|naturally|obviously|definitely|certainly|probably|hands down|for sure|no doubt|"
    r"without (?:a )?doubt|every time|any day|i say|people|folks?)\b)*(?:[.!\n]|\Z)"
)
_NOTHING_MORE = re.compile(r"[ .!?)\"']*\Z")
_PAUSE = re.compile(r"\s*(?:[.,;:!\n()\"'-]|\Z|(?:because|since|as|for|due)\b)")
_PREDICATE = re.compile(r"\s*(?:is|are|who|tend|have)\b")
_LETTER_FOLLOWS = re.compile("[^.!?\n\ue000-\ue0ff]*[\ue000-\ue0ff]")

_CLAUSE_END = re.compile(r"[.,;:!?\n]|\b(?:but|however|so|therefore|then|yet|and i|because|if i)\b")
_DENIED = re.compile(
    r"\b(?:not|never|nor|neither|either|both|rather than|instead of|over|than|between|against|as opposed to|cannot|"
    r"refuse|unable|without|nicht|kein\w*|ne|pas|no puedo|non|não|niet|не)\b|n't\b|不|没"
)
_DENIED_AFTER = re.compile(
    r"\W{0,3}(?:(?:is|are|would be|was) (?:not|neither|wrong|incorrect|false)\b|isn't|aren't|wouldn't)"
)
_ALONE_DENIED = re.compile(r"\W{0,3}(?:is|was|would be) (?:not|wrong|incorrect|false)\b|\W{0,3}isn't\b")
_TOGETHER = re.compile(r"[ ,()\"']{0,3}(?:\b(?:and|or|nor|und|oder|et|ou|y|o|e|en|of)\b|[,/&и和或])[ ()\"']{0,3}\Z")
_BESIDE = re.compile(r"[ ,.;:/()\"']{0,4}(?:and|or)?[ ,()\"']{0,3}\Z")


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
        How far the wording around it makes it the answer: 2 where it is put as the answer by letter, or on a line or in
        a sentence of its own; 1 where a phrase such as "I prefer" leads to the option's text, or where a letter is the
        last word; else 0, as for one that is not open.
    open
        Whether it is neither negated nor one of several options named together.
    end
        Where it ends in the marked text.
    """

    position: int
    by_letter: bool
    weight: int
    open: bool
    end: int


def mentions(marked: str, count: int) -> list[Mention]:
    """Find which of `count` options a marked text names, in order."""
    found = list(re.finditer(MARK, marked))
    listed = _listed(marked, found, count)
    result = []
    for i, match in enumerate(found):
        start, end = match.span()
        before = marked[max(0, start - _REACH) : start]
        clause = _CLAUSE_END.split(before)[-1]
        denied = _DENIED.search(clause) is not None or _DENIED_AFTER.match(marked, end) is not None
        eligible = not denied and i not in listed
        result.append(
            Mention(
                position_of(match[0]),
                by_letter=_by_letter(match),
                weight=_weight(marked, before, match) if eligible else 0,
                open=eligible,
                end=end,
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
    return letters[-1] if len({mention.position for mention in letters}) == 1 else None


def _by_letter(match: re.Match[str]) -> bool:
    return ord(match[0]) < TEXT_MARK


def _listed(marked: str, found: Sequence[re.Match[str]], count: int) -> set[int]:
    """Indices of mentions that are named together with another option, or that enumerate all options in order."""
    gaps = [marked[left.end() : right.start()] for left, right in pairwise(found)]
    positions = [position_of(match[0]) for match in found]
    listed = set()
    for i, gap in enumerate(gaps):
        together = positions[i] != positions[i + 1] and _TOGETHER.match(gap)
        if together and not _ALONE_DENIED.match(marked, found[i + 1].end()):  # "(A), and (B) is wrong"
            listed |= {i, i + 1}
    for at in range(len(found) - count + 1):
        run = range(at, at + count)
        if [positions[i] for i in run] == list(range(count)) and (
            all(_BESIDE.match(gaps[i]) for i in run[:-1]) or all(_heads_line(marked, found[i]) for i in run)
        ):
            listed |= set(run)
    return listed


def _heads_line(marked: str, match: re.Match[str]) -> bool:
    return _by_letter(match) and (match.start() == 0 or marked[match.start() - 1] == "\n")


def _weight(marked: str, before: str, match: re.Match[str]) -> int:
    by_letter, end = _by_letter(match), match.end()
    paused = _PAUSE.match(marked, end) is not None
    line = before.rsplit("\n", 1)[-1]
    whole_line = len(line) < len(before) or match.start() <= _REACH
    # "(A) bakers have patience and (B) plumbers have wit" begins with a letter, but does not answer with it.
    stands_first = paused or (by_letter and not _LETTER_FOLLOWS.match(marked, end))
    if whole_line and stands_first and _HEADING.match(line):
        return 2
    if _ENDED.match(marked, end) and (_SENTENCE_START.search(before) or _FRAGMENT.search(before)):
        return 2
    if by_letter:
        if _CUE.search(before) or _LETTER_CUE.search(before):
            return 2
        return 1 if _NOTHING_MORE.match(marked, end) else 0
    if _TENTATIVE.search(before):
        return 0
    return 1 if (paused or not _PREDICATE.match(marked, end)) and _CUE.search(before) else 0
