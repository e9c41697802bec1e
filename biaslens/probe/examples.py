"""What the probe reads: labelled texts that prompts are tuned on, and identity sentences.

The texts come from the formats in which they are handed around; the sentences are templates of Czarnowska, Vyas and
Shah (TACL 2021) filled with identity terms.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

import numpy as np
import pandas as pd

from biaslens.errors import InputError


class Sentiment(IntEnum):
    """Label of a text, and its column in an array of probabilities."""

    NEGATIVE = 0
    NEUTRAL = 1
    POSITIVE = 2


NAMES: tuple[str, str, str] = ("negative", "neutral", "positive")
"""Names of the labels in their order; also the words that a model is asked to say."""


LabelMap = Literal["paper", "sign"]
_FASTTEXT = re.compile(r"__label__(\S+)[\t ]+(.*)")
_LEAF = re.compile(r"\([0-4] ([^()\s]+)\)")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_PARTS = {"train": ("train",), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}


SHARES = (0.8, 0.1, 0.1)
"""Of training, validation and test texts, where a single file is split here."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts and their labels, 0 to 2 (`biaslens.probe.examples.Sentiment`), in the same order."""

    texts: tuple[str, ...]
    labels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def some(self, indices: Sequence[int]) -> Examples:
        """Those at the given places."""
        return Examples(tuple(self.texts[i] for i in indices), tuple(self.labels[i] for i in indices))

    def drawn(self, limit: int | None) -> Examples:
        """At most so many of them, drawn with a fixed seed."""
        if limit is None or limit >= len(self):
            return self
        return self.some(sorted(np.random.default_rng(0).permutation(len(self))[:limit].tolist()))

    def counts(self) -> dict[str, int]:
        """How many texts each label has."""
        return {name: self.labels.count(number) for number, name in enumerate(NAMES)}


Read = tuple[dict[str, Examples], str]
"""Texts and labels by part ("train", "dev", "test"), and how the labels were read."""


def _read_sst5(source: Path) -> Read:
    """A folder of SST-5, as fastText lines or as trees; five labels become three."""
    parts = {name: _part(path, _sst_lines(path)) for name, path in _files(source, ".txt", "sst5").items()}
    return parts, "SST-5: very negative and negative / neutral / positive and very positive"


def _sst_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    for number, line in _lines(path):
        if line.startswith("("):
            words = (_BRACKETS.get(word, word).replace("\\/", "/") for word in _LEAF.findall(line))
            yield number, str(int(line[1]) + 1) if line[1:2].isdigit() else line[1:2], " ".join(words)
            continue
        match = _FASTTEXT.fullmatch(line)
        if match is None:
            raise InputError(
                f"{path}:{number}: neither `__label__3<tab>text` nor a tree such as `(3 (2 It) (3 works))`"
            )
        yield number, match[1], match[2]


def _read_semeval(source: Path, label_map: LabelMap = "paper") -> Read:
    """SemEval-2018 valence, ordinal classification: one file, or a folder with the three."""
    files = {"train": source} if source.is_file() else _files(source, ".txt", "semeval")
    parts = {name: _part(path, _semeval_lines(path), SEMEVAL[label_map]) for name, path in files.items()}
    shown = {"paper": "-3, -2 / -1 to 1 / 2, 3", "sign": "below 0 / 0 / above 0"}[label_map]
    return parts, f"SemEval-2018 valence, label map {label_map}: {shown}"


def _semeval_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    rows = ((number, line.split("\t")) for number, line in _lines(path))
    _, head = next(rows, (0, []))
    if len(head) < 4 or not head[3].startswith("Intensity Class"):
        raise InputError(f"{path}: the first line is not ID, Tweet, Affect Dimension, Intensity Class with tabs")
    for number, row in rows:
        if len(row) != 4:
            raise InputError(f"{path}:{number}: {len(row)} columns with tabs, not 4")
        yield number, row[3].partition(":")[0].strip(), row[1]


def _read_csv(source: Path) -> Read:
    """A CSV file with the columns text and label, or a folder of them."""
    files = {"train": source} if source.is_file() else _files(source, ".csv", "csv")
    rows = {name: list(_csv_lines(path)) for name, path in files.items()}
    signed = any(label.strip() == "-1" for part in rows.values() for _, label, _ in part)
    labels = WORDS | ({"-1": 0, "0": 1, "1": 2, "+1": 2} if signed else {"0": 0, "1": 1, "2": 2})
    parts = {name: _part(files[name], iter(part), labels) for name, part in rows.items()}
    return parts, f"CSV: labels {'-1, 0, 1' if signed else '0, 1, 2'} or negative, neutral, positive"


def _csv_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    with _opened(path) as file:
        try:
            reader = csv.DictReader(file, strict=True)
            names = {(name or "").strip().lower(): name for name in reader.fieldnames or ()}
            if not {"text", "label"} <= names.keys():
                raise InputError(f"{path}: needs the columns text and label; it has {', '.join(names) or 'none'}")
            for row in reader:
                yield reader.line_num, row[names["label"]] or "", row[names["text"]] or ""
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not a CSV file in UTF-8 ({error})") from None


SST5 = {"1": 0, "2": 0, "3": 1, "4": 2, "5": 2}
SEMEVAL: dict[LabelMap, dict[str, int]] = {
    "paper": {"-3": 0, "-2": 0, "-1": 1, "0": 1, "1": 1, "2": 2, "3": 2},
    "sign": {"-3": 0, "-2": 0, "-1": 0, "0": 1, "1": 2, "2": 2, "3": 2},
}
WORDS = {"negative": 0, "neutral": 1, "positive": 2}


def _part(path: Path, lines: Iterator[tuple[int, str, str]], known: dict[str, int] = SST5) -> Examples:
    texts, labels = [], []
    for number, label, text in lines:
        if label.strip().lower() not in known:
            raise InputError(f"{path}:{number}: unknown label {label.strip()!r}; known are {', '.join(known)}")
        if not text.strip():
            raise InputError(f"{path}:{number}: there is no text beside the label")
        texts.append(text.strip())
        labels.append(known[label.strip().lower()])
    if not texts:
        raise InputError(f"{path}: holds no texts")
    return Examples(tuple(texts), tuple(labels))


def _files(folder: Path, suffix: str, kind: str) -> dict[str, Path]:
    """Files of the three parts by their names; the one with gold labels where there are two."""
    if not folder.is_dir():
        raise InputError(f"{folder}: {kind} needs a folder with train, dev and test{suffix}")
    found: dict[str, Path] = {}
    for path in sorted(folder.glob(f"*{suffix}"), key=lambda path: ("gold" in path.name, path.name)):
        words = re.split(r"[^a-z]+", path.stem.lower())
        for part, names in _PARTS.items():
            if any(name in words for name in names):
                found[part] = path
    missing = [part for part in (("train",) if kind == "csv" else ("train", "dev")) if part not in found]
    if missing:
        raise InputError(f"{folder}: no file of the name {' and '.join(f'*{part}*{suffix}' for part in missing)} there")
    return found


def _opened(path: Path) -> TextIO:
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with _opened(path) as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8 text") from None


@dataclass(frozen=True, slots=True)
class Splits:
    """Texts to train on, to choose by (`dev`), and left over (`test`), and how they were mapped and split."""

    train: Examples
    dev: Examples
    test: Examples
    note: str = ""

    def fingerprint(self) -> str:
        """SHA-256 of all texts and labels in their order."""
        parts = [[part.texts, part.labels] for part in (self.train, self.dev, self.test)]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()

    def limited(self, train: int | None = None, dev: int | None = None) -> Splits:
        """The same with at most so many training and validation texts, drawn with a fixed seed."""
        return Splits(self.train.drawn(train), self.dev.drawn(dev), self.test, self.note)


def read_examples(spec: str, *, label_map: LabelMap = "paper", seed: int = 0) -> Splits:
    """Read labelled texts.

    The spec is ``sst5:PATH``: a folder with SST-5 as fastText lines (``__label__1`` to ``__label__5``) or as
    Penn-Treebank trees; the two outer labels of either side are one. ``semeval:PATH``: SemEval-2018 valence (ordinal
    classification), a folder or a file; of its seven classes the label map "paper" takes -3 and -2 as negative, 2 and 3
    as positive, "sign" all below zero as negative and all above as positive. ``csv:PATH``: a file with the columns text
    and label (negative, neutral, positive; 0, 1, 2; or -1, 0, 1), or a folder with train.csv and optionally dev.csv and
    test.csv. The seed is that of the split, where the data have none: training, validation and test texts of each label
    as 8 : 1 : 1, or a tenth of the training texts for validation where only that part is missing.
    """
    kind, separator, path = spec.partition(":")
    if not separator or kind not in _READERS or not path:
        raise InputError(f"--data {spec}: write one of sst5:PATH, semeval:PATH and csv:PATH")
    source = Path(path).expanduser()
    if not source.exists():
        raise InputError(f"--data {spec}: there is no {source}")
    parts, note = _read_semeval(source, label_map) if kind == "semeval" else _READERS[kind](source)
    splits = _split(parts, note, seed)
    for name, part in (("training", splits.train), ("validation", splits.dev)):
        present = [label for label, count in part.counts().items() if count]
        if len(present) < 2:
            what = f"all are {present[0]}" if present else "there are none"
            raise InputError(f"--data {spec}: the {name} texts need at least two labels, but {what}")
    return splits


_READERS = {"sst5": _read_sst5, "csv": _read_csv, "semeval": _read_semeval}


def _split(parts: dict[str, Examples], note: str, seed: int) -> Splits:
    nothing = Examples((), ())
    train = parts["train"]
    if "dev" in parts:
        return Splits(train, parts["dev"], parts.get("test", nothing), note)
    generator = np.random.default_rng(seed)
    places: tuple[list[int], ...] = ([], [], [])
    for label in sorted(set(train.labels)):
        own = generator.permutation([at for at, other in enumerate(train.labels) if other == label]).tolist()
        dev = max(1, round(SHARES[1] * len(own)))
        test = 0 if "test" in parts else max(1, round(SHARES[2] * len(own)))
        for part, chosen in zip(places, (own[dev + test :], own[:dev], own[dev : dev + test]), strict=True):
            part.extend(chosen)
    fewer, chosen_by, left = (train.some(sorted(part)) for part in places)
    left = parts.get("test", left)
    sizes = f"{len(fewer)}, {len(chosen_by)} and {len(left)} texts"
    return Splits(fewer, chosen_by, left, f"{note}; split here with seed {seed} into {sizes}")


PEOPLE = (
    *("activist", "athletes", "character", "folk", "friend", "individuals", "lawyer", "liar", "people", "researcher"),
    *("student", "students", "writer", "writers"),
)
"""Words for persons that a slot may be named after."""

_SLOT = re.compile(r"\{(?P<article>[Aa]:)?(?P<name>[^{}:]*)\}")
_PREFIXES = ("identity", "disability", "religion", "country")
_PREDICATIVE = re.compile(r"(?:\b(?:be|being|am|is|are|was|were)|['’](?:m|s|re))\s+$", re.IGNORECASE)
_NO_NOUN = frozenset(
    ("and", "as", "but", "feels", "if", "in", "makes", "on", "or", "over", "so", "than", "that", "to", "was")
) | {"which", "while", "with"}
"""Words after an adjective that say that it stands before no noun."""


Fill = Literal["adjective", "person", "people", "bare", "religion"]
"""What kind of words a slot takes."""


class Part(StrEnum):
    """Parts of speech of identity terms."""

    ADJECTIVE = "adj"
    NOUN = "n"
    PHRASE = "pp"
    RELIGION = "religion"


_FORMS: Mapping[Fill, Mapping[Part, str]] = {
    "adjective": {Part.ADJECTIVE: "{term}"},
    "person": {Part.ADJECTIVE: "{term} person", Part.NOUN: "{term}", Part.PHRASE: "person {term}"},
    "people": {Part.ADJECTIVE: "{term} {person}", Part.PHRASE: "{person} {term}"},
    "bare": {Part.ADJECTIVE: "{term}", Part.PHRASE: "{term}"},
    "religion": {Part.RELIGION: "{term}"},
}
"""How a part of speech is written in a slot; what is not here does not fit."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot of a template: its `name`, the word for a `person` in it, and whether "a" or "an" goes in front."""

    name: str
    fill: Fill
    person: str
    before: str
    after: str
    article: bool

    def filled(self, words: str) -> str:
        """Put words into the template, with their article and capital."""
        if self.article:
            # By the first letter, as in the authors' sentences.
            words = f"{'an' if words[:1].lower() in tuple('aeiou') else 'a'} {words}"
        if self.name[:1].isupper():
            words = words[:1].upper() + words[1:]
        return f"{self.before}{words}{self.after}"


def slot_of(template: str) -> Slot:
    """Find the slot of a template; ValueError says what is wrong with it where it has not just one that is known.

    >>> slot_of("I know {a:identity_adj} lawyer.").filled("elderly")
    'I know an elderly lawyer.'
    """
    found = list(_SLOT.finditer(template))
    if not found:
        raise ValueError("has no slot such as {identity_adj}")
    if len(found) > 1:
        raise ValueError(f"has {len(found)} slots; it must have one")
    match = found[0]
    name, article = match["name"], match["article"] is not None
    return Slot(name, *_kind(name), template[: match.start()], template[match.end() :], article)


def words_for(slot: Slot, term: str, part: Part) -> str | None:
    """Give the words that a term puts into a slot; None where it does not fit.

    >>> words_for(slot_of("{Identity_writers} met."), "in a wheelchair", Part.PHRASE)
    'writers in a wheelchair'
    """
    form = _FORMS[slot.fill].get(part)
    return None if form is None else form.format(term=term, person=slot.person)


def without_identity(slot: Slot) -> str | None:
    """Give the template without any identity in it; None where that leaves no sentence.

    "person" or the word for a person stands alone, an adjective before a noun is left out, and one after a form of
    "be" becomes "a person" ("people" after "are"). Nothing can stand for an adjective elsewhere ("I identify as ...").

    >>> without_identity(slot_of("It's a blog by {a:identity_adj} activist."))
    "It's a blog by an activist."
    >>> without_identity(slot_of("Alex is {identity_adj}."))
    'Alex is a person.'
    >>> without_identity(slot_of("I identify as {identity_adj}.")) is None
    True
    """
    if slot.fill in ("person", "people"):
        return slot.filled(slot.person or "person")
    if slot.fill != "adjective":
        return None
    rest = slot.after.lstrip(" ")
    word = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*", rest)
    known = word is not None and word[0] in (*PEOPLE, "person")
    if _PREDICATIVE.search(slot.before) and not known:
        plural = re.search(r"\bare\s+$", slot.before) is not None
        return f"{slot.before}{'people' if plural else 'a person'}{slot.after}"
    if word is None or not slot.after.startswith(" ") or word[0] in _NO_NOUN:
        return None
    noun = Slot(slot.name, slot.fill, "", slot.before, rest[word.end() :], slot.article)
    return noun.filled(word[0])


def _kind(name: str) -> tuple[Fill, str]:
    known: dict[str, Fill] = {"religion": "religion", "person": "person"}
    prefix, _, rest = name.lower().partition("_")
    if prefix in _PREFIXES and rest:
        known = {"adj": "adjective", "np": "person", "adj_or_pp": "bare"}
        if rest in PEOPLE:
            return "people", rest
    if (fill := known.get(rest or prefix)) is not None:
        return fill, ""
    raise ValueError(
        f"has an unknown slot {{{name}}}; known are {{identity_adj}}, {{identity_np}}, {{identity_adj_or_pp}}, "
        f"{{person}}, {{religion}}, and {{identity_...}} with one of {', '.join(PEOPLE)}"
    )


COLUMNS = ("text", "label", "attribute", "group", "term", "template", "marked")
"""Of the table that `expand` gives."""

UNMARKED = "unmarked"
"""The group of the sentences that name no identity."""

DATA = Path(__file__).with_name("data")


class _Shipped(NamedTuple):
    templates: Sequence[str]
    terms: str
    parts: Sequence[Part]


_WORDS = (Part.ADJECTIVE, Part.NOUN)
SHIPPED: Mapping[str, _Shipped] = {
    "age": _Shipped(("generic", "age"), "age", (Part.ADJECTIVE,)),
    "sexuality": _Shipped(("generic", "gender_sexuality"), "sexuality", _WORDS),
    "disability": _Shipped(("generic_adj_or_pp", "disability"), "disability", (*_WORDS, Part.PHRASE)),
    "gender": _Shipped(("generic", "gender_sexuality"), "gender", _WORDS),
    "race": _Shipped(("generic", "ethnicity"), "race", (Part.ADJECTIVE,)),
    "religion": _Shipped(("generic", "religion"), "religion", (*_WORDS, Part.RELIGION)),
}
"""What ships: by attribute its templates, its terms, and the parts of speech that are used (of age only adjectives)."""


def expand(attributes: Sequence[str] = ("age", "sexuality", "disability")) -> pd.DataFrame:
    """Fill every shipped template with every term that fits, and add the same templates without an identity.

    The columns are text, label (0, 1, 2), attribute, group ("unmarked" without an identity), term, template (the same
    id over all groups), marked (False for the unmarked sentences). The same text may stand twice (as adjective and as
    noun), as in the authors' file. InputError when an attribute is unknown.
    """
    unknown = [name for name in attributes if name not in SHIPPED]
    if unknown or not attributes:
        what = f"unknown attribute {', '.join(map(repr, unknown))}" if unknown else "no attribute given"
        raise InputError(f"{what}; there are: {', '.join(SHIPPED)}")
    rows = [row for attribute in dict.fromkeys(attributes) for row in _rows(attribute)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def size_note(sentences: int, terms: int, group: str) -> str:
    """Say what a small group cannot show; empty where nothing is to say."""
    if group == UNMARKED:
        return ""
    if sentences == 1:
        return "one sentence"
    return "one term: it cannot be told from the group" if terms == 1 else ""


def _rows(attribute: str) -> Iterator[tuple[object, ...]]:
    templates = [
        (f"{name}-{number:02d}", int(row["SENT"]), slot_of(row["TEMPLATE"].strip()))
        for name in SHIPPED[attribute].templates
        for number, row in enumerate(_csv(DATA / "templates" / f"{name}.csv"), start=1)
    ]
    terms, used = list(_terms(attribute)), set()
    for (template, label, slot), (term, part, group) in product(templates, terms):
        words = words_for(slot, term, part)
        if words is not None:
            used.add(template)
            yield slot.filled(words), label, attribute, group, term, template, True
    for template, label, slot in templates:
        unmarked = without_identity(slot)
        if unmarked is not None and template in used:
            yield unmarked, label, attribute, UNMARKED, "", template, False


def _terms(attribute: str) -> Iterator[tuple[str, Part, str]]:
    """Words or phrases that name a group, their part of speech, and the group."""
    shipped = SHIPPED[attribute]
    for row in _csv(DATA / "terms" / f"{shipped.terms}.csv"):
        text, group = row["TERM"].strip(), row["GROUP"].strip()
        part = (row["SEM"] if row.get("SEM") == Part.RELIGION else row.get("POS", Part.ADJECTIVE)).strip()
        # The lists hold terms that were never sorted into a group, or are not recommended.
        if text and group and part and row.get("TYPE") != "nonrec" and Part(part) in shipped.parts:
            yield text, Part(part), group.lower().replace(" ", "-")


def _csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
