"""Files of labelled texts: SST-5, SemEval-2018 valence, and any CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from biaslens.errors import InputError

LabelMap = Literal["paper", "sign"]
Part = tuple[tuple[str, ...], tuple[int, ...]]

_FASTTEXT = re.compile(r"__label__(\S+)[\t ]+(.*)")
_LEAF = re.compile(r"\([0-4] ([^()\s]+)\)")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_NAMES = {
    "train": ("train",),
    "dev": ("dev", "validation", "valid", "val"),
    "test": ("test",),
}


@dataclass(frozen=True, slots=True)
class Found:
    """What files held: texts and labels by part ("train", "dev", "test"), and how the labels were read."""

    parts: dict[str, Part]
    note: str


def read_sst5(source: Path) -> Found:
    """Read a folder of SST-5, as fastText lines or as trees; five labels become three."""
    files = _files(source, ".txt", "sst5")
    return Found(
        {name: _part(path, _sst_lines(path)) for name, path in files.items()},
        "SST-5: very negative and negative / neutral / positive and very positive",
    )


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


def read_semeval(source: Path, label_map: LabelMap = "paper") -> Found:
    """Read SemEval-2018 valence, ordinal classification: one file, or a folder with the three."""
    files = {"train": source} if source.is_file() else _files(source, ".txt", "semeval")
    parts = {}
    for name, path in files.items():
        rows = [(number, line.split("\t")) for number, line in _lines(path)]
        if not rows or len(rows[0][1]) < 4 or not rows[0][1][3].startswith("Intensity Class"):
            raise InputError(f"{path}: the first line is not ID, Tweet, Affect Dimension, Intensity Class with tabs")
        parts[name] = _part(path, _semeval_lines(path, rows[1:]), SEMEVAL[label_map])
    shown = {"paper": "-3, -2 / -1 to 1 / 2, 3", "sign": "below 0 / 0 / above 0"}[label_map]
    return Found(parts, f"SemEval-2018 valence, label map {label_map}: {shown}")


def _semeval_lines(path: Path, rows: list[tuple[int, list[str]]]) -> Iterator[tuple[int, str, str]]:
    for number, row in rows:
        if len(row) != 4:
            raise InputError(f"{path}:{number}: {len(row)} columns with tabs, not 4")
        yield number, row[3].partition(":")[0].strip(), row[1]


def read_csv(source: Path) -> Found:
    """Read a CSV file with the columns text and label, or a folder of them."""
    files = {"train": source} if source.is_file() else _files(source, ".csv", "csv")
    rows = {name: list(_csv_lines(path)) for name, path in files.items()}
    signed = any(label.strip() == "-1" for part in rows.values() for _, label, _ in part)
    labels = WORDS | ({"-1": 0, "0": 1, "1": 2, "+1": 2} if signed else {"0": 0, "1": 1, "2": 2})
    parts = {name: _part(files[name], iter(part), labels) for name, part in rows.items()}
    return Found(parts, f"CSV: labels {'-1, 0, 1' if signed else '0, 1, 2'} or negative, neutral, positive")


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


def _part(path: Path, lines: Iterator[tuple[int, str, str]], known: dict[str, int] = SST5) -> Part:
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
    return tuple(texts), tuple(labels)


def _files(folder: Path, suffix: str, kind: str) -> dict[str, Path]:
    """Files of the three parts by their names; the one with gold labels where there are two."""
    if not folder.is_dir():
        raise InputError(f"{folder}: {kind} needs a folder with train, dev and test{suffix}")
    found: dict[str, Path] = {}
    for path in sorted(folder.glob(f"*{suffix}"), key=lambda path: ("gold" in path.name, path.name)):
        words = re.split(r"[^a-z]+", path.stem.lower())
        for part, names in _NAMES.items():
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
