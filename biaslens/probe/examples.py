"""Labelled texts that prompts are tuned on, from the formats in which they are handed around."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Literal, TextIO

import numpy as np

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
