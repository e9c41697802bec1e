"""Encounters: moments in a role's life in which a known prejudice could tip the scales, each asked in three forms."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from biaslens._util.text import article
from biaslens.benchmark.files import SEPARATOR, Benchmark, Reader, check_questions, content_hash, marked_csv, normalised
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Mirror, Question, Role
from biaslens.schema import content_hash as hash_parts

VERSION = "2-A"
ABSTAIN = "I cannot make any choice."
THEMES = (
    *("competence", "diligence", "honesty", "danger", "warmth", "morality", "authority", "worth", "care", "taste"),
    *("loyalty", "independence"),
)
"""What a stereotype is about."""

PER_ROLE = 20
MOST_OF_A_TARGET = 4
"""Encounters of one role with the same target."""

_WHOLE = 550 * PER_ROLE
"""Encounters from which quotas hold; parts of a benchmark may lean to one side."""

COLUMNS = (
    *("role", "target", "theme", "stereotype", "disfavoured", "a", "b", "c", "a_one", "b_one", "c_one"),
    *("yes_no", "choice", "options", "picks", "why"),
)

_LETTERS = "abc"
_SLOT = re.compile(r"\{([abc])(_one)?\}")
_SENTENCE = re.compile(r"(^|[.?!] )([a-zà-öø-ÿ])")


@dataclass(frozen=True, slots=True)
class Encounter:
    """One moment in a role's life, and the three questions it is asked in.

    The two or three groups, plural noun phrases without article, differ on the target and are equal in all else; `ones`
    are one member of each. `disfavoured` is the position of the group that loses by the prejudice, the stereotype,
    which a plain sentence says. In `yes_no` and `why` ``{a}`` stands for the first group and ``{a_one}`` for one of its
    members; `choice` names no group, and has an option for each, in their order, of which the prejudice picks the one
    at `picks`.
    """

    role: Role
    target: Attribute
    theme: str
    stereotype: str
    groups: tuple[str, ...]
    ones: tuple[str, ...]
    disfavoured: int
    yes_no: str
    choice: str
    options: tuple[str, ...]
    picks: int
    why: str

    def template(self, kind: Kind) -> str:
        """Text of a question with its slots."""
        return {Kind.YES_NO: self.yes_no, Kind.CHOICE: self.choice, Kind.WHY: self.why}[kind]

    def text(self, kind: Kind, *, swapped: bool = False) -> str:
        """Text of a question with its groups filled in; `swapped` puts two in each other's place, one of them named."""
        named = sorted({_LETTERS.index(match[1]) for match in _SLOT.finditer(self.template(kind))})
        first, second = named[:2] if len(named) > 1 else (0, max([1, *named]))
        places = {first: second, second: first} if swapped else {}

        def fill(match: re.Match[str]) -> str:
            position = _LETTERS.index(match[1])
            return (self.ones if match[2] else self.groups)[places.get(position, position)]

        return _SENTENCE.sub(lambda match: match[1] + match[2].upper(), _SLOT.sub(fill, self.template(kind)))

    @property
    def pair(self) -> str:
        """The groups in one order and case, to count how often they are compared."""
        return " / ".join(sorted(map(str.casefold, self.groups)))

    @property
    def id(self) -> str:
        """Content hash of all it says; its three questions share it."""
        return hash_parts(
            *(self.role.attribute, self.role.name, self.role.persona, self.groups, self.ones),
            *(self.yes_no, self.choice, self.options, self.why),
        )


def read_encounters(folder: Path, roles: Sequence[Role]) -> tuple[Encounter, ...]:
    """Read ``<attribute>.csv`` of each attribute in a folder, in the order of the roles.

    BenchmarkError when a file is missing a column, or a row cannot be an encounter: one line with file and line.
    """
    by_name = {(role.attribute, role.name): role for role in roles}
    found: dict[Role, list[Encounter]] = defaultdict(list)
    for attribute in Attribute:
        path = folder / f"{attribute}.csv"
        if path.exists():
            for line, cells in Reader(path).rows(COLUMNS, optional=()):
                row, where = dict(zip(COLUMNS, map(str.strip, cells), strict=True)), f"{path}:{line}"
                role = by_name.get((attribute, row["role"]))
                if role is None:
                    raise BenchmarkError(f"{where}: role {row['role']!r} of {attribute} is not in roles.csv")
                try:
                    found[role].append(encounter_of(role, row))
                except BenchmarkError as error:
                    raise BenchmarkError(f"{where}: {error}") from None
    if not found:
        raise BenchmarkError(f"{folder}: no encounters; it should hold files such as age.csv")
    return tuple(encounter for role in roles for encounter in found[role])


def write_encounters(encounters: Iterable[Encounter]) -> dict[str, str]:
    """Contents of the files that `read_encounters` reads, by name."""
    rows = rows_by_attribute(encounters)
    return {f"{attribute}.csv": marked_csv(COLUMNS, rows[attribute]) for attribute in sorted(rows)}


def rows_by_attribute(encounters: Iterable[Encounter]) -> dict[Attribute, list[tuple[str, ...]]]:
    """Rows of these files, with `COLUMNS`."""
    rows: dict[Attribute, list[tuple[str, ...]]] = defaultdict(list)
    for one in encounters:
        filler = ("",) * (3 - len(one.groups))
        rows[one.role.attribute].append(
            (
                *(one.role.name, one.target, one.theme, one.stereotype, _LETTERS[one.disfavoured]),
                *(*one.groups, *filler, *one.ones, *filler, one.yes_no, one.choice),
                *(SEPARATOR.join(one.options), _LETTERS[one.picks], one.why),
            )
        )
    return rows


def encounter_of(role: Role, row: Mapping[str, str]) -> Encounter:
    """Make an encounter of a row with the columns but the role; BenchmarkError where it cannot be one."""
    groups = tuple(row[letter] for letter in _LETTERS if row[letter])
    letters = _LETTERS[: len(groups)]
    ones = tuple(row[f"{letter}_one"] for letter in letters)
    options = tuple(item.strip() for item in row["options"].split(SEPARATOR.strip()))
    if len(groups) < 2 or not all(ones):
        raise BenchmarkError("an encounter has two or three groups, each with one of its members")
    if len(options) != len(groups):
        raise BenchmarkError(f"{len(options)} options for {len(groups)} groups; give each group one")
    for column in ("disfavoured", "picks"):
        if row[column] not in tuple(letters):
            raise BenchmarkError(f"{column} {row[column]!r} should be one of {', '.join(letters)}")
    if row["target"] not in tuple(Attribute):
        raise BenchmarkError(f"target {row['target']!r} should be one of {', '.join(Attribute)}")
    for column in ("yes_no", "why"):
        slots = set(re.findall(r"\{[^}]*\}", row[column]))
        known = {f"{{{letter}{one}}}" for letter in letters for one in ("", "_one")}
        if not slots or slots - known:
            raise BenchmarkError(f"{column} should name its groups by {{a}}, {{b_one}} and the like")
    disfavoured, picks = (_LETTERS.index(row[column]) for column in ("disfavoured", "picks"))
    return Encounter(
        role, Attribute(row["target"]), row["theme"], row["stereotype"], groups, ones, disfavoured,
        row["yes_no"], row["choice"], options, picks, row["why"],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to mend: in which encounter (a position; None for all of a role, or of the benchmark), and what."""

    role: Role | None
    position: int | None
    text: str


MOST_WORDS = {Kind.YES_NO: 34, Kind.CHOICE: 40, Kind.WHY: 24}
"""Most words of a question, its groups filled in."""

_PRONOUN = re.compile(r"\b(?:he|she|his|her|him|hers|himself|herself)\b")
_OF_ONE_GENDER = re.compile(
    r"\b(?:wom[ae]n|m[ae]n|wi(?:fe|ves)|husbands?|daughters?|sons?|mothers?|fathers?|girls?|boys?|brothers?|sisters?|"
    r"aunts?|uncles?|nieces?|nephews?|waitress(?:es)?|brides?|grooms?|grand\w+)\b"
)
_PERCEPTION = re.compile(
    r"\b(?:seen as|regarded as|perceived|thought of as|considered (?:to be|less|more)|stereotyp\w*|prejudic\w*|"
    r"believed to)\b",
    re.IGNORECASE,
)
_ASKS_WHOM = re.compile(r"\b(?:who|whom|whose|which)\b", re.IGNORECASE)
_ASKS_WHY = re.compile(r"\b(?:why|how come|what makes)\b", re.IGNORECASE)
_DETERMINER = re.compile(
    r"\b(?:an?|the|one|each|every|this|that|these|those|some|any|many|most|all|few|two|your) \{[abc]_one\}",
    re.IGNORECASE,
)
_NOT_PLAIN = re.compile(r"[;—]|\bAs an? \w+,")
_COMPARES = re.compile(r"\bthan (?:\w+ ){0,2}\{")
_MOST_ALIKE = 0.5


def check_encounters(encounters: Sequence[Encounter]) -> list[Remark]:
    """Say what a checker can see to be wrong: form, length, repeats within a role, near repeats, frequent pairs.

    What it cannot see (whether a question is valid, real and sharp) is for readers.
    """
    checker, found = EncounterChecker(), []
    for place, one in enumerate(encounters):
        found += [Remark(one.role, place, text) for text in (*_faults(one), *checker.repeats(one))]
        checker.take(one)
    for role, its in checker.roles.items():
        found += [Remark(role, None, text) for text in _faults_of_role(role, its)]
    return [*found, *(Remark(None, None, text) for text in _quotas(encounters))]


def _faults(one: Encounter) -> Iterator[str]:
    """What is wrong with one encounter by itself."""
    if one.theme not in THEMES:
        yield f"theme {one.theme!r} should be one of {', '.join(THEMES)}"
    if not 1 <= len(one.stereotype.split()) <= 10:
        yield "the stereotype should be a sentence of at most 10 words"
    for group in one.groups:
        if len(group.split()) > 4 or group.lower().startswith(("the ", "a ")):
            yield f"group {group!r} should be a bare plural of at most four words"
    for member in one.ones:
        if not with_article(member):
            yield f"{member!r} should begin with its article"
    for option in one.options:
        if not option.startswith("The ") or re.search("['’]", option):
            yield f"option {option!r} should begin with The, without a possessive"
    for kind in Kind:
        yield from (f"{kind}: {fault}" for fault in _faults_of_text(one, kind))
    try:
        check_questions(_asked([one], seed=0, mirrors=True), lambda _: "")
    except BenchmarkError as error:
        yield str(error).removeprefix(": ")


def with_article(phrase: str) -> bool:
    """Whether a phrase is one person or group, with the article that it takes; "an" may go before any vowel.

    Examples
    --------
    >>> [with_article(phrase) for phrase in ("a European", "an Ewe", "someone in a suit", "a old man", "an sailor")]
    [True, True, True, False, False]
    """
    first, _, rest = phrase.partition(" ")
    if first.lower() == "an" and rest[:1].lower() in tuple("aeiou"):
        return True
    return bool(rest) and first.lower() in ("someone", "somebody", "one", article(rest))


def _faults_of_text(one: Encounter, kind: Kind) -> Iterator[str]:
    template = one.template(kind)
    texts = [one.text(kind, swapped=swapped) for swapped in (False, True)]
    words = max(len(text.split()) for text in texts)
    if words > MOST_WORDS[kind]:
        yield f"{words} words, at most {MOST_WORDS[kind]}"
    if not template.endswith("?") or _NOT_PLAIN.search(template):
        yield "should be a plain question"
    if _PERCEPTION.search(template):
        yield "asks about a perception"
    if kind is Kind.CHOICE:
        if not _ASKS_WHOM.search(template.split(". ")[-1]) or _SLOT.search(template):
            yield "should ask who or whom, and name no group"
        return
    if _PRONOUN.search(template) and not _OF_ONE_GENDER.search(_SLOT.sub("", template)):
        yield "a pronoun of one gender does not survive the mirror"
    if _DETERMINER.search(template):
        yield "a word before a slot that brings its article"
    if kind is Kind.WHY and not _ASKS_WHY.search(template):
        yield "should ask why"


def _faults_of_role(role: Role, its: Sequence[Encounter], *, to_come: int = 0) -> Iterator[str]:
    """What is wrong with the encounters of one role taken together, however those `to_come` will be."""
    if len(its) + to_come != PER_ROLE:
        yield f"{len(its)} encounters, {PER_ROLE} wanted"
    for kind in Kind:
        for opening, times in Counter(_opening(one, kind) for one in its).items():
            if times > 4:
                yield f"{kind}: {times} begin with {opening!r}, at most 4"
    if sum(bool(_COMPARES.search(text)) for one in its for text in (one.yes_no, one.why)) > 6:
        yield "more than 6 yes/no and why questions compare with 'than'"
    targets = Counter(one.target for one in its)
    for target, times in targets.items():
        if times > MOST_OF_A_TARGET:
            yield f"target {target} {times} times, at most {MOST_OF_A_TARGET}"
    if targets[role.attribute] + to_come < 2:
        yield f"target {role.attribute}, the role's own, {targets[role.attribute]} times, at least 2"
    if len(targets) + to_come < 7:
        yield f"{len(targets)} different targets, at least 7"
    for name, values in (
        ("groups", [one.pair for one in its]),
        ("stereotype", [one.stereotype.casefold() for one in its]),
    ):
        for value, times in Counter(values).items():
            if times > 1:
                yield f"{name} {value!r} {times} times"


def _opening(one: Encounter, kind: Kind) -> str:
    return " ".join(re.sub(r"[^\w{}' ]", "", _SLOT.sub("{}", one.template(kind))).lower().split()[:3])


class _Texts:
    """Finds texts that share more than half of their runs of four words with an earlier one."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, frozenset[str]]] = []
        self._places: dict[str, list[int]] = defaultdict(list)

    def like(self, text: str) -> str | None:
        """Find the earlier text that this one nearly repeats."""
        own = _runs(text)
        for place, shared in Counter(place for run in own for place in self._places.get(run, ())).most_common(1):
            other, runs = self._texts[place]
            if shared > _MOST_ALIKE * len(own | runs):
                return other
        return None

    def add(self, text: str) -> None:
        runs = _runs(text)
        for run in runs:
            self._places[run].append(len(self._texts))
        self._texts.append((text, runs))


@lru_cache(maxsize=16)
def _runs(text: str) -> frozenset[str]:
    words = normalised(text).split()
    return frozenset(" ".join(words[i : i + 4]) for i in range(max(len(words) - 3, 1)))


class EncounterChecker:
    """Checks encounters one by one, as `check_encounters` does all at once: each beside those taken before it.

    What is asked of a role as a whole is broken by the encounter after which no others can mend it.
    """

    def __init__(self) -> None:
        self.roles: dict[Role, list[Encounter]] = defaultdict(list)
        self._texts = {kind: _Texts() for kind in Kind}

    def faults(self, one: Encounter) -> list[str]:
        """Say what is wrong with an encounter."""
        its = [*self.roles[one.role], one]
        return [*_faults(one), *_faults_of_role(one.role, its, to_come=PER_ROLE - len(its)), *self.repeats(one)]

    def repeats(self, one: Encounter) -> Iterator[str]:
        """Say which texts it nearly repeats."""
        for kind, texts in self._texts.items():
            if (other := texts.like(one.text(kind))) is not None:
                yield f"{kind}: nearly repeats {other!r}"

    def know(self, question: Question) -> None:
        """Let nothing nearly repeat a question that stands elsewhere."""
        self._texts[question.kind].add(question.text)

    def take(self, one: Encounter) -> None:
        """Add an encounter to those that the next ones are compared with."""
        self.roles[one.role].append(one)
        for kind, texts in self._texts.items():
            texts.add(one.text(kind))


def _quotas(encounters: Sequence[Encounter]) -> Iterator[str]:
    """Groups, stereotypes and targets that are too frequent, or too rare, over a whole benchmark."""
    total = len(encounters)
    if total < _WHOLE:
        return
    for what, most, values in (
        ("groups", 0.01, [one.pair for one in encounters]),
        ("stereotype", 0.005, [one.stereotype.casefold() for one in encounters]),
    ):
        for value, times in Counter(values).items():
            if times > most * total:
                yield f"{what} {value!r} in {times} of {total} encounters, at most {most:.1%}"
    for target, times in Counter(one.target for one in encounters).items():
        if not 0.06 <= times / total <= 0.13:
            yield f"target {target} in {times / total:.1%} of the encounters, 6 to 13 % wanted"


def from_encounters(
    roles: Sequence[Role], encounters: Sequence[Encounter], *, seed: int = 0, mirrors: bool = False
) -> Benchmark:
    """Ask every encounter as a yes/no, a choice and a why question; the same seed gives the same questions.

    Roles without encounters are left out. The options of a choice stand in an order drawn by the seed, the abstaining
    one last. Mirrors swap the first two groups, or in a choice the order of the options. BenchmarkError when two
    questions of a role are the same.
    """
    questions = _asked(encounters, seed=seed, mirrors=mirrors)
    check_questions(questions, lambda index: f"question {index + 1}")
    used = {one.role for one in encounters}
    kept = tuple(role for role in roles if role in used)
    return Benchmark(
        version=VERSION,
        hash=content_hash(kept, questions),
        path=None,
        roles=kept,
        questions=tuple(questions),
        generator="encounters",
        seed=seed,
        command=f"biaslens generate --with encounters --seed {seed}{' --mirrors' * mirrors} --out benchmark",
    )


def _asked(encounters: Sequence[Encounter], *, seed: int, mirrors: bool) -> list[Question]:
    return [asked for one in encounters for kind in Kind for asked in _questions(one, kind, seed=seed, mirrors=mirrors)]


def _questions(one: Encounter, kind: Kind, *, seed: int, mirrors: bool) -> Iterator[Question]:
    order = sorted(range(len(one.groups)), key=lambda position: hash_parts(seed, one.id, "order", position))

    def question(*, swapped: bool) -> Question:
        options: tuple[str, ...] = ()
        groups = one.groups
        if kind is Kind.CHOICE:
            shown = order[::-1] if swapped else order
            options = (*(one.options[position] for position in shown), ABSTAIN)
            groups = tuple(one.groups[position] for position in shown)
        return Question(
            one.role, kind, one.text(kind, swapped=swapped), options, one.target, groups, encounter=one.id,
            stereotype=one.stereotype, theme=one.theme, disfavoured=one.groups[one.disfavoured],
            picks=one.options[one.picks] if options else "",
        )  # fmt: skip

    original = question(swapped=False)
    yield original
    if mirrors:
        yield replace(question(swapped=True), mirror_of=original.id, mirror=Mirror.SWAPPED)
