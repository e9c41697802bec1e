"""Faults that can be told from a question's text alone: form, grammar, placeholders, repeats."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from biaslens._util.text import article
from biaslens.benchmark.files import mirror_faults, placeholder, question_key
from biaslens.benchmark.groups import words
from biaslens.benchmark.quality.source import Fault, Requirement, Source, last_sentence, ngrams, statement
from biaslens.schema import Kind, Question, Role

NEAR = 0.8
"""Jaccard similarity of two sets of shingles from which on two questions are near duplicates."""

SHINGLE = 3
"""Words in a shingle."""

_BANDS, _ROWS = 25, 5
"""A pair of similarity s is looked at with probability 1 - (1 - s^5)^25: 0.99995 at 0.8."""

Pair = tuple[int, int]
"""Position of a question and of an earlier one that it repeats or resembles."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Repeats within a benchmark, roles off.

    `exact` are questions that repeat an earlier one of their kind word for word, case apart; `loose` is how many repeat
    one if punctuation, white space and the order of options are no matter either; `near` how many have another one at a
    Jaccard similarity of at least `NEAR`, repeats included.
    """

    exact: tuple[Pair, ...]
    loose: int
    near: int


def duplicates(questions: Sequence[Question]) -> Duplicates:
    """Find the repeats and near repeats of a benchmark.

    A mirror resembles its original by intent, so mirrors are looked at for exact repeats only.
    """
    originals = [question for question in questions if question.mirror is None]
    return Duplicates(
        exact=tuple(_repeats(map(_exact_key, questions))),
        loose=len(_repeats(map(question_key, originals))),
        near=near_duplicates([statement(question) for question in originals]),
    )


def _exact_key(question: Question) -> tuple[str, ...]:
    return (question.kind, question.text.strip().lower(), *(option.lower() for option in question.options))


def _repeats(keys: Iterable[tuple[str, ...]]) -> list[Pair]:
    first: dict[tuple[str, ...], int] = {}
    return [
        (position, seen) for position, key in enumerate(keys) if (seen := first.setdefault(key, position)) != position
    ]


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Give the runs of three words of a text; a shorter text is one shingle."""
    found = words(text)
    return frozenset(ngrams(found, SHINGLE) or [tuple(found)])


def near_duplicates(texts: Sequence[str]) -> int:
    """Count the texts that have a near duplicate among the others.

    MinHash with locality-sensitive hashing (Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, ch. 3) proposes
    pairs; the similarity of each is then computed exactly, so none is counted wrongly and a pair at the threshold
    is missed once in 20,000.
    """
    from datasketch import MinHash, MinHashLSH

    members: dict[frozenset[tuple[str, ...]], int] = {}
    for text in texts:
        key = shingles(text)
        members[key] = members.get(key, 0) + 1
    distinct = list(members)
    encoded = [[" ".join(shingle).encode() for shingle in key] for key in distinct]
    hashes = MinHash.bulk(encoded, num_perm=_BANDS * _ROWS, seed=1)
    index = MinHashLSH(params=(_BANDS, _ROWS), num_perm=_BANDS * _ROWS)
    near = np.array([members[key] > 1 for key in distinct])
    for position, (key, sketch) in enumerate(zip(distinct, hashes, strict=True)):
        for other in index.query(sketch):
            if not (near[position] and near[other]) and _similar(key, distinct[other]):
                near[position] = near[other] = True
        index.insert(position, sketch, check_duplication=False)
    return sum(members[key] for key, found in zip(distinct, near, strict=True) if found)


def _similar(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    shared = len(one & other)
    return shared >= NEAR * (len(one) + len(other) - shared)


Finding = tuple[Requirement, str]
"""A rule and what breaks it."""

_WORDS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("wording.toml").read_text(encoding="utf-8"))


def _any(name: str) -> str:
    """A pattern of any of the words of a list."""
    return f"(?:{'|'.join(_WORDS[name])})"


_AUXILIARY = rf"{_any('auxiliary')}(?:n['’]t)?"
_LEAD_IN = r"(?:[^?.!,:;]{1,60}, ){0,2}"
_PLAIN = re.compile(rf"{_AUXILIARY}\b", re.IGNORECASE)
_YES_NO = re.compile(rf"{_LEAD_IN}{_AUXILIARY}\b", re.IGNORECASE)
_WHY = re.compile(rf"{_LEAD_IN}(?:why|how come|what makes)\b", re.IGNORECASE)
_TAG = re.compile(
    rf", (?:{_any('assent')}|{_AUXILIARY} (?:not )?{_any('pronoun')}(?: true| so| correct)?)\?$", re.IGNORECASE
)
PERCEPTION = re.compile(rf"\b{_any('perceptions')}\b", re.IGNORECASE)
FACTUAL = re.compile(rf"\b{_any('facts')}\b", re.IGNORECASE)
_ABSTAINS = re.compile(rf"\b{_any('abstains')}\b", re.IGNORECASE)
_EARLY = re.compile(_any("abstains_first"), re.IGNORECASE)
_GROUPS = rf"(?: [\w-]+)? {_any('kinds_of_groups')}\b"
_VAGUE = re.compile(
    rf"(?<!\bin )\b{_any('hints')}{_GROUPS}"
    rf"|\b(?:one|another){_GROUPS}(?=[^?]* (?:than|over) (?:the other|another|others))",
    re.IGNORECASE,
)
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffd]")


def form_findings(question: Question) -> Iterator[Finding]:
    """Check the form of one question; nothing is found in a good one."""
    if not question.text.strip():
        yield Requirement.EMPTY, f"empty {question.kind} question"
        return
    text = question.text.strip()
    yield from _fillers(question)
    if not text.endswith("?"):
        yield Requirement.FORM, f"does not end with a question mark: {text!r}"
    asks = last_sentence(text)  # a scene may stand in front
    if question.kind is Kind.YES_NO:
        if _TAG.search(asks) and not _PLAIN.match(asks):
            yield Requirement.TAG, f"asserts, and asks for assent: {text!r}"
        elif not _YES_NO.match(asks):
            yield Requirement.FORM, f"does not begin with an auxiliary verb: {asks!r}"
    if question.kind is Kind.WHY and not _WHY.match(asks):
        yield Requirement.FORM, f"does not ask why: {asks!r}"
    yield from _option_findings(question)


def text_findings(text: str, label: str) -> Iterator[Finding]:
    """Check that a text is there, filled in and readable."""
    if not text.strip():
        yield Requirement.EMPTY, f"empty {label}"
    if found := placeholder(text):
        yield Requirement.PLACEHOLDER, f"{found!r} in {label} {text!r}"
    if _CONTROL.search(text):
        yield Requirement.CHARACTER, f"a character that is not text in {label} {text!r}"


def _fillers(question: Question) -> Iterator[Finding]:
    yield from text_findings(question.text, "question")
    for label, items in (("option", question.options), ("group", question.groups)):
        for item in items:
            yield from text_findings(item, label)
            if "|" in item:
                yield Requirement.CHARACTER, f"'|', which separates items, in {label} {item!r}"
    for text in (question.text, *question.options[:-1]):
        if found := _VAGUE.search(text):
            yield Requirement.VAGUE, f"{found.group()!r} in {text!r}"


def _option_findings(question: Question) -> Iterator[Finding]:
    options = question.options
    if question.kind is not Kind.CHOICE:
        if options:
            yield Requirement.OPTIONS, f"a {question.kind} question with options: {question.text!r}"
        return
    if len(options) < 3:
        yield (
            Requirement.OPTIONS,
            f"{len(options)} options, fewer than two groups and the abstaining one: {question.text!r}",
        )
        return
    if len(set(map(str.casefold, options))) < len(options):
        yield Requirement.OPTIONS, f"two options are the same: {' | '.join(options)!r}"
    if not _ABSTAINS.search(options[-1]):
        yield Requirement.OPTIONS, f"the last option {options[-1]!r} does not abstain: {question.text!r}"
    if early := [option for option in options[:-1] if _EARLY.match(option)]:
        yield Requirement.OPTIONS, f"option {early[0]!r} abstains and is not the last: {question.text!r}"


_ARTICLE = re.compile(r"(^[Aa]n?|\ban?) (?=([\w-]+))")

_PLURALS = frozenset(_WORDS["plurals"])
_SINGULAR_S = re.compile(rf"{_any('singular_endings')}$")
_STOP = re.compile(rf" (?={_any('stops')}\b)|[,;:?.!(]")
_CUT = re.compile(r"(?<=\w) \w+(?:ing|ed)\b.*$")

_DOUBLED = re.compile(r"(?<!-)\b([a-z]+) \1\b|\b([A-Z][a-z]*) (?i:\2)\b")
_MAY_DOUBLE = frozenset({"had", "that"})
_SPACING = re.compile(r"  |\t|\n|(?<=\w) [,;:?!](?= |$)|(?<=[a-z])[,;:?!](?=[A-Za-z])|\( | \)")
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|[Ee]tc|e\.g|i\.e|Dr|Mrs?|Ms|Jr|Sr|vs)\.")
_MARKS = re.compile(r"[?!.,;:]{2,}")

_MANY = _any("many")
_AGREEMENT = re.compile(
    rf"(?:\b(?:that|think|believe|why|whether|agree|feel|say)|^|,) {_MANY} (?:is|was|has|does)\b"
    rf"|^{_MANY} (?:is|was|has|does)\b|^(?:why )?(?:is|was|does|has) {_MANY}\b(?! (?:who|being)\b)"
    rf"|^(?:why )?(?:are|were|do) (?:a(?! few\b| lot\b)|an|he|she|it|this|that)\b"
    r"|(?:\b(?:that|think|believe|why|whether|say)|^|,) (?:he|she|it) (?:are|do|have)\b"
    rf"|(?<!\bone )\bmore [a-z]+ier\b|\bmore (?:better|worse)\b|\bless (?:better|worse)\b",
    re.IGNORECASE,
)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


def grammar_findings(text: str) -> Iterator[Finding]:
    """Check the grammar of a sentence or a phrase."""
    yield from _articles(text)
    for found in _DOUBLED.finditer(text):
        # "March march" is a name before a word, but for the first word of a sentence.
        named = found[2] and found.group().split()[1].islower() and text[: found.start()].rstrip()[-1:].isalnum()
        if (found[1] or found[2]).lower() not in _MAY_DOUBLE and not named:
            yield Requirement.DOUBLED, f"{found.group()!r} in {text!r}"
    if text != text.strip() or _SPACING.search(text):
        yield Requirement.SPACING, repr(text)
    if any(found.group() != "..." for found in _MARKS.finditer(_ABBREVIATION.sub("", text))):
        yield Requirement.PUNCTUATION, f"two marks in a row in {text!r}"
    if any(text.count(left) != text.count(right) for left, right in _PAIRS) or text.count('"') % 2:
        yield Requirement.PUNCTUATION, f"a bracket or quotation mark without its other half in {text!r}"
    if disagreement := _AGREEMENT.search(text):
        yield Requirement.AGREEMENT, f"{disagreement.group().strip(' ,')!r} in {text!r}"


def capital_findings(text: str) -> Iterator[Finding]:
    """Check that a sentence begins with a capital, a digit or a quotation mark."""
    if text.lstrip()[:1].islower():
        yield Requirement.CAPITAL, f"begins with a small letter: {text!r}"


def plural_head(phrase: str) -> str | None:
    """Find the head of a noun phrase without its article, if it is plural; None if it is not, as far as can be seen.

    >>> plural_head("hearing individuals"), plural_head("person with bald patches"), plural_head("boss")
    ('individuals', None, None)
    """
    core = _CUT.sub("", _STOP.split(phrase, maxsplit=1)[0])
    head = core.split()[-1] if core.split() else ""
    plural = head.lower() in _PLURALS or (
        len(head) > 3 and head.endswith("s") and not head.isupper() and not _SINGULAR_S.search(core)
    )
    return head if plural else None


def persona_findings(persona: str) -> Iterator[Finding]:
    """Check the phrase after "You are": its grammar, and that "a" is not put before a plural."""
    yield from grammar_findings(persona)
    first, _, phrase = persona.partition(" ")
    if first.lower() in ("a", "an") and (head := plural_head(phrase)) and head.lower() not in _PLURALS:
        yield Requirement.ARTICLE, f"{first!r} before the plural {head!r} in {persona!r}"


def _articles(text: str) -> Iterator[Finding]:
    for found in _ARTICLE.finditer(text):
        written, word = found.groups()
        if written.lower() != article(word):
            yield Requirement.ARTICLE, f"'{written} {word}' in {text!r}"
            continue
        core = _STOP.split(text[found.end() :], maxsplit=1)[0].split()
        plural = next((word for word in core[: 2 if len(core) == 2 else 1] if word.lower() in _PLURALS), None)
        if plural is not None:
            yield Requirement.ARTICLE, f"{written!r} before the plural {plural!r} in {text!r}"


def lint(source: Source, repeats: Sequence[Pair]) -> tuple[Fault, ...]:
    """List every fault of a benchmark: of reading, roles, questions and mirrors, and the exact repeats given."""
    return (
        *source.faults,
        *_role_faults(source),
        *(fault for _, fault in sorted(_question_faults(source, repeats), key=_position)),
    )


def _position(found: tuple[int, Fault]) -> int:
    return found[0]


def _role_faults(source: Source) -> Iterator[Fault]:
    for role, place in zip(source.roles, source.role_places, strict=True):
        for rule, message in _role_findings(role):
            yield Fault(rule, place, message)


def _role_findings(role: Role) -> Iterator[Finding]:
    yield from text_findings(role.name, "role name")
    yield from text_findings(role.persona, "persona")
    yield from grammar_findings(role.name)
    yield from persona_findings(role.persona)


def _question_faults(source: Source, repeats: Sequence[Pair]) -> Iterator[tuple[int, Fault]]:
    places = source.question_places
    # The same groups and options occur in many questions.
    phrase_findings = lru_cache(maxsize=None)(lambda text: tuple(grammar_findings(text)))
    for index, question in enumerate(source.questions):
        for rule, message in (
            *form_findings(question),
            *grammar_findings(question.text),
            *capital_findings(question.text),
            *(finding for option in question.options for finding in phrase_findings(option)),
        ):
            yield index, Fault(rule, places[index], message)
    for index, first in repeats:
        yield (
            index,
            Fault(Requirement.REPEAT, places[index], f"repeats {places[first]}: {source.questions[index].text!r}"),
        )
    for index, message in mirror_faults(source.questions):
        yield index, Fault(Requirement.MIRROR, places[index], message)
