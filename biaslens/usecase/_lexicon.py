"""Words that name protected groups: lists as data, found in texts whole and in context."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError
from biaslens.usecase._context import REACH, RULES, Context, holds
from biaslens.usecase._tokens import (
    WORD,
    Mentions,
    Places,
    Tokens,
    of_attribute,
    tokenise,
    toml_data,
    without_overlap,
    words_of,
)


@dataclass(frozen=True, slots=True)
class FormRow:
    """Forms of one grammatical kind (noun, plural, adjective, attributive, collective, subject, title, number ...).

    `needs` is the context in which they count, "" where kind and word say it. By group: the forms `recognised` in a
    text, and the one `written` by a substitution; "" where it drops the word. A group without one has no form.
    """

    kind: str
    needs: str
    recognised: Mapping[str, tuple[str, ...]]
    written: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class AttributeWords:
    """The words of one protected attribute: rows of forms that stand for each other.

    `compared` are the groups compared unless the user says otherwise, `neutral` the group of neutral forms if there is
    one, `source` what the lists were made from, and `context` when a word or phrase in lower case counts.
    """

    name: str
    groups: tuple[str, ...]
    compared: tuple[str, ...]
    neutral: str | None
    source: str
    rows: tuple[FormRow, ...]
    context: Mapping[str, Context] = field(default_factory=dict)

    @cached_property
    def words_by_group(self) -> Mapping[str, tuple[str, ...]]:
        """Words and phrases that are looked for, in lower case as :func:`words_of` splits them, without numbers."""
        rows = [row for row in self.rows if row.kind not in {"number", "decade"}]
        return {
            group: tuple(dict.fromkeys(phrase(form) for row in rows for form in row.recognised.get(group, ())))
            for group in self.groups
        }


def phrase(form: str) -> str:
    """A form as the words it is found by: "middle aged" for "Middle-aged"."""
    return " ".join(words_of(form))


class Spoken:
    """One text, its words as :func:`tokenise` reads them, and where the characters of each begin and end."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens = text, tokenise([text])
        self.words = self.tokens.words(0)
        lower = text.lower()
        self.spans = [found.span() for found in WORD.finditer(lower)]
        if len(lower) != len(text):
            # A character may become several in lower case: "İ" does.
            sizes = [len(character.lower()) for character in text]
            origin = np.repeat(np.arange(len(text)), sizes).tolist()
            self.spans = [(origin[start], origin[end - 1] + 1) for start, end in self.spans]

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self.spans[start][0], self.spans[end - 1][1]


def spelled(number: int) -> str | None:
    """A number from 16 to 99 in words, such as "twenty-five"; None for others."""
    ones, teens, tens = (toml_data("english")[name].split() for name in ("ones", "teens", "tens"))
    if 16 <= number < 20:
        return str(teens[number - 16])
    if not 20 <= number < 100:
        return None
    ten, one = tens[number // 10 - 2], number % 10
    return f"{ten}-{ones[one - 1]}" if one else str(ten)


def _number_rows(ages: object, where: str) -> Iterator[FormRow]:
    """Rows from the table ``[ages]``: from which age to which, which one to write, and which decade ("in her 60s")."""
    if not ages:
        return
    keys = ("from", "to", "write", "decade")
    if not isinstance(ages, dict) or not all(
        isinstance(entry, dict) and all(isinstance(entry.get(key), int) for key in keys) for entry in ages.values()
    ):
        raise InputError(f"{where}: ages needs a table of from, to, write and decade for each group")
    numbers, decades = {}, {}
    for group, entry in ages.items():
        inside = range(entry["from"], entry["to"] + 1)
        numbers[group] = list(dict.fromkeys([entry["write"], *inside]))
        decades[group] = list(dict.fromkeys([entry["decade"], *(age for age in range(20, 100, 10) if age in inside)]))
    names = toml_data("english")["decades"].split()
    for kind, needs, forms in (
        ("number", "age", {group: [str(age) for age in of] for group, of in numbers.items()}),
        ("number", "age", {group: [word for age in of if (word := spelled(age))] for group, of in numbers.items()}),
        ("decade", "decade", {group: [f"{age}s" for age in of] for group, of in decades.items()}),
        ("decade", "decade", {group: [names[age // 10 - 2] for age in of] for group, of in decades.items()}),
    ):
        recognised = {group: tuple(of) for group, of in forms.items()}
        yield FormRow(kind, needs, recognised, {group: of[0] for group, of in recognised.items()})


_NOTHING, _CANDIDATE = -1, -2
_LESS = {"noun": 0, "plural": 0, "attributive": 1, "collective": 1}
"""Order in which readings are tried: as a noun, before a noun or as a group, others (2)."""


@dataclass(frozen=True, slots=True)
class FoundWord:
    """A word of a protected group in a text: characters from `start` to `end`."""

    start: int
    end: int
    text: str
    attribute: str
    group: str


@dataclass(frozen=True, slots=True)
class WordReading:
    """What a phrase may be: a cell of a row, where its rule holds."""

    attribute: int
    group: int
    row: FormRow
    rule: str
    context: Context

    @property
    def certain(self) -> bool:
        """Whether it counts wherever it stands."""
        return not self.rule and self.context == Context()


class Lexicon:
    """The words of one or several attributes, in a fixed order, ready to be found.

    A word that is in the lists of two attributes counts for the first one; of phrases that overlap, the one that
    begins first counts, and of those the longest.
    """

    def __init__(self, attributes: Mapping[str, AttributeWords]) -> None:
        self.attributes: Mapping[str, AttributeWords] = dict(attributes)
        self._readings = _readings(list(self.attributes.values()))
        self._anchors = _anchors(self._readings)
        self._codes, self._plain = _codes(self._readings, self._anchors)

    def match(self, tokens: Tokens, *, prefer: str | None = None) -> Mentions:
        """Find the words in a corpus; of a word in several lists, that of the attribute `prefer` goes first."""
        known = self._codes
        table = np.fromiter((known.get(word, _NOTHING) for word in tokens.vocabulary), np.intp, len(tokens.vocabulary))
        codes = table[tokens.ids]
        at = np.flatnonzero(codes != _NOTHING)
        found = codes[at]
        plain, code = at[found >= 0], found[found >= 0]
        candidates = at[found == _CANDIDATE]
        if not len(candidates):
            return Mentions(plain, np.ones_like(plain), self._plain[code, 1], self._plain[code, 0])
        read = self._read(tokens, candidates, prefer)
        if len(read) and len(plain):
            inside = np.concatenate([np.arange(token, token + length) for token, length in read[:, :2]])
            free = ~np.isin(plain, inside)
            plain, code = plain[free], code[free]
        token = np.concatenate([plain, read[:, 0]])
        order = np.argsort(token, kind="stable")
        return Mentions(
            token[order],
            np.concatenate([np.ones_like(plain), read[:, 1]])[order],
            np.concatenate([self._plain[code, 1], read[:, 3]])[order],
            np.concatenate([self._plain[code, 0], read[:, 2]])[order],
        )

    def find(self, text: str, *, prefer: str | None = None) -> list[FoundWord]:
        """Find the words in one text, as characters; the same ones as :meth:`match` finds."""
        spoken = Spoken(text)
        names = list(self.attributes.values())
        found = []
        for token, length, attribute, group in self.match(spoken.tokens, prefer=prefer).rows():
            start, end = spoken.span(token, token + length)
            words = names[attribute]
            found.append(FoundWord(start, end, text[start:end], words.name, words.groups[group]))
        return found

    def readings(self, words: Sequence[str]) -> Sequence[WordReading]:
        """What a phrase may be, in the order in which its readings are tried."""
        return self._readings.get(tuple(words), ())

    def _read(self, tokens: Tokens, candidates: NDArray[np.intp], prefer: str | None) -> NDArray[np.intp]:
        first = next((number for number, name in enumerate(self.attributes) if name == prefer), -1)
        texts = np.searchsorted(tokens.starts, candidates, side="right") - 1
        begins, ends = tokens.starts[texts].tolist(), tokens.starts[texts + 1].tolist()
        found: set[tuple[int, int, int, int]] = set()
        for place, begin, end in zip(candidates.tolist(), begins, ends, strict=True):
            found.update(self._at(tokens, place, begin, end, first))
        rows = np.array(list(without_overlap(sorted(found))), dtype=np.intp).reshape(-1, 4)
        rows[:, 1] *= -1
        return rows

    def _at(self, tokens: Tokens, place: int, begin: int, end: int, first: int) -> Iterable[tuple[int, int, int, int]]:
        """Phrases around the candidate at `place` of the text from `begin` to `end`; the length is negative."""
        low = max(begin, place - REACH)
        vocabulary = tokens.vocabulary
        words = [vocabulary[number] for number in tokens.ids[low : min(end, place + REACH)].tolist()]
        here = place - low
        for offset, key in self._anchors[words[here]]:
            start, stop = here - offset, here - offset + len(key)
            if start < 0 or tuple(words[start:stop]) != key:
                continue
            readings = self._readings[key]
            if first >= 0:
                readings = sorted(readings, key=lambda reading: reading.attribute != first)
            for reading in readings:
                if holds(reading.rule, words, start, stop, reading.context):
                    yield low + start, -len(key), reading.attribute, reading.group
                    break


def find(tokens: Tokens, groups: Sequence[Iterable[str]], others: Iterable[str] = ()) -> Places:
    """Find words and phrases of groups: from left to right, of several at one place the longest.

    Words of `others` are protected as well, though of no group; those of the groups may stand among them. ValueError
    when a word stands in two groups, or has no letter and no digit.
    """
    group_of: dict[str, int] = {}
    for group, words in (*enumerate(groups), (len(groups), others)):
        for word in words:
            if not (form := phrase(word)):
                raise ValueError(f"{word!r} is no word: it has no letter and no digit")
            if group_of.setdefault(form, group) != group and group < len(groups):
                raise ValueError(f"{word!r} stands in two groups; a word tells groups apart only where it is in one")
    names = tuple(map(str, range(len(groups) + 1)))
    rows = tuple(FormRow("name", "", {names[group]: (form,)}, {}) for form, group in group_of.items())
    lexicon = Lexicon({"": AttributeWords("", names, names, None, "", rows)})
    return of_attribute(lexicon.match(tokens), 0, range(len(groups)))


def _readings(attributes: Sequence[AttributeWords]) -> dict[tuple[str, ...], list[WordReading]]:
    """Readings of each phrase, each with the rule that decides it."""
    readings: dict[tuple[str, ...], list[WordReading]] = {}
    for number, words in enumerate(attributes):
        groups = {group: index for index, group in enumerate(words.groups)}
        own: dict[tuple[str, ...], list[WordReading]] = {}
        for row in words.rows:
            for group, forms in row.recognised.items():
                for form in forms:
                    key = tuple(words_of(form))
                    context = words.context.get(" ".join(key), Context())
                    own.setdefault(key, []).append(WordReading(number, groups[group], row, "", context))
        for key, found in own.items():
            readings.setdefault(key, []).extend(_ruled(found))
    return readings


def _ruled(readings: Sequence[WordReading]) -> list[WordReading]:
    """Readings of one phrase in the order of trial; a noun that is an adjective, too, counts only where used as one."""
    free = {reading.row.kind for reading in readings if not reading.row.needs}
    several = len(free & {"noun", "adjective", "attributive"}) > 1
    ruled = []
    for reading in sorted(readings, key=lambda reading: -1 if reading.row.needs else _LESS.get(reading.row.kind, 2)):
        rule = reading.row.needs or reading.context.needs
        if not reading.row.needs:
            if reading.row.kind == "noun" and several:
                rule = "nominal"
            elif reading.row.kind in {"attributive", "collective"}:
                rule = reading.row.kind
        ruled.append(WordReading(reading.attribute, reading.group, reading.row, rule, reading.context))
    return ruled


def _anchors(readings: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """By the rarest word of each phrase (taken to be the longest): its place in the phrase, and the phrase."""
    anchors: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for key in readings:
        place = max(range(len(key)), key=lambda index: len(key[index]))
        anchors.setdefault(key[place], []).append((place, key))
    for phrases in anchors.values():
        phrases.sort(key=lambda phrase: (-len(phrase[1]), phrase))
    return anchors


def _codes(
    readings: Mapping[tuple[str, ...], Sequence[WordReading]],
    anchors: Mapping[str, Sequence[tuple[int, tuple[str, ...]]]],
) -> tuple[dict[str, int], NDArray[np.intp]]:
    """By word: -2 for what needs a look, else a row of the table of attributes and groups."""
    codes: dict[str, int] = {}
    plain: list[tuple[int, int]] = []
    for word, phrases in anchors.items():
        alone = readings.get((word,), ())
        same = len({(reading.attribute, reading.group) for reading in alone}) == 1
        if len(phrases) == 1 and same and any(reading.certain for reading in alone):
            codes[word] = len(plain)
            plain.append((alone[0].attribute, alone[0].group))
        else:
            codes[word] = _CANDIDATE
    return codes, np.array(plain, dtype=np.intp).reshape(-1, 2)


ATTRIBUTES = (
    "gender", "race", "religion", "age", "sexual_orientation", "disability", "nationality", "socioeconomic_status",
)  # fmt: skip
"""The attributes whose words ship with the package, in the order in which they are looked for."""


def load_words(attributes: Sequence[str] | None = None, *, own: Sequence[Path] = (), names: bool = False) -> Lexicon:
    """Read word lists, in the order of `ATTRIBUTES`; those of the user's `own` files add to an attribute of their name.

    With `names`, given names count as words of gender and race, too. Own files have the format of those in
    ``data/words``. InputError when an attribute is unknown, or a file is missing or malformed.
    """
    extra = [_read(path) for path in own]
    known = list(dict.fromkeys([*ATTRIBUTES, *(found.name for found in extra)]))
    wanted = known if attributes is None else list(dict.fromkeys(attributes))
    for name in wanted:
        if name not in known:
            raise InputError(f"no word list for attribute {name!r}; there are: {', '.join(known)}")
    if not wanted:
        raise InputError(f"no attribute given; there are: {', '.join(known)}")
    if names:
        extra += [parse_words(table, "names.toml") for table in toml_data("words/names").values()]
    chosen: dict[str, AttributeWords] = {}
    for name in known:
        if name in wanted:
            parts = [*([shipped(name)] if name in ATTRIBUTES else []), *(one for one in extra if one.name == name)]
            chosen[name] = reduce(_joined, parts)
    return Lexicon(chosen)


@cache
def shipped(name: str) -> AttributeWords:
    """The package's words of one attribute."""
    return parse_words(toml_data(f"words/{name}"), f"{name}.toml")


def _read(path: Path) -> AttributeWords:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from error
    return parse_words(table, str(path))


def parse_words(table: Mapping[str, Any], where: str) -> AttributeWords:
    """Make the words of an attribute from the content of a file; InputError naming the file and what is wrong in it."""
    unknown = table.keys() - {"attribute", "groups", "compared", "neutral", "source", "words", "context", "ages"}
    if unknown:
        raise InputError(f"{where}: unknown entry {sorted(unknown)[0]!r}")
    name, groups = table.get("attribute"), table.get("groups")
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f'{where}: needs attribute = "NAME" (letters, digits and underscores)')
    if not _are_texts(groups) or len(set(groups)) != len(groups) or not groups:
        raise InputError(f"{where}: needs groups = [...], a list of different names")
    compared = table.get("compared", groups[:4])
    neutral, source = table.get("neutral"), table.get("source", "given by the user")
    if not _are_texts(compared) or set(compared) - set(groups):
        raise InputError(f"{where}: compared has to be a list of some of the groups {', '.join(groups)}")
    if neutral is not None and neutral not in groups:
        raise InputError(f"{where}: neutral has to be one of the groups {', '.join(groups)}")
    if not isinstance(source, str) or not isinstance(table.get("words"), dict):
        raise InputError(f"{where}: needs a [words] table and a source in text")
    rows = [
        _row(kind, cells, groups, f"{where}, {kind} {number}")
        for kind, listed in table["words"].items()
        for number, cells in enumerate(_rows(listed, f"{where}, {kind}"), start=1)
    ]
    rows += _number_rows(table.get("ages", {}), where)
    context = {
        phrase(word): _context(rule, f"{where}, context of {word!r}") for word, rule in table.get("context", {}).items()
    }
    return AttributeWords(name, tuple(groups), tuple(compared), neutral, source, tuple(rows), context)


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _rows(listed: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise InputError(f'{where}: has to be a list of rows such as {{ female = "woman", male = "man" }}')
    return listed


def _row(kind: str, cells: Mapping[str, Any], groups: Sequence[str], where: str) -> FormRow:
    needs = _rule(cells, where)
    recognised: dict[str, tuple[str, ...]] = {}
    written: dict[str, str] = {}
    for group, cell in cells.items():
        if group == "needs":
            continue
        forms = [cell] if isinstance(cell, str) else cell
        if group not in groups or not _are_texts(forms) or not forms:
            raise InputError(f"{where}: {group!r} has to be one of the groups, with a form or a list of forms")
        recognised[group] = tuple(form for form in forms if not form.startswith("="))
        written[group] = forms[0].removeprefix("=")
        if any(not phrase(form) for form in recognised[group]):
            raise InputError(f"{where}: a form of {group!r} has no letters")
    return FormRow(kind, needs, recognised, written)


def _rule(table: Mapping[str, Any], where: str) -> str:
    needs: str = table.get("needs", "")
    if needs and needs not in RULES:
        raise InputError(f"{where}: unknown rule {needs!r}; there are: {', '.join(RULES)}")
    return needs


def _context(rule: object, where: str) -> Context:
    if not isinstance(rule, dict) or rule.keys() - {"needs", "also", "after", "not_before", "not_after"}:
        raise InputError(f"{where}: has to be a table of needs, also, after, not_before and not_after")
    needs = _rule(rule, where)
    lists = {key: rule.get(key, []) for key in ("also", "after", "not_before", "not_after")}
    for key, words in lists.items():
        if not _are_texts(words):
            raise InputError(f"{where}: {key} has to be a list of words")
    return Context(needs, **{key: frozenset(words) for key, words in lists.items()})


def _joined(words: AttributeWords, more: AttributeWords) -> AttributeWords:
    groups, source = tuple(dict.fromkeys(words.groups + more.groups)), f"{words.source} {more.source}"
    rows, context = words.rows + more.rows, {**words.context, **more.context}
    return AttributeWords(words.name, groups, words.compared, words.neutral or more.neutral, source, rows, context)
