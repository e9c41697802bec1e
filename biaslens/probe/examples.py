"""Labelled texts that prompts are tuned on, from the formats in which they are handed around."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biaslens.errors import InputError
from biaslens.probe.formats import LabelMap, read_csv, read_semeval, read_sst5
from biaslens.probe.labels import NAMES

SHARES = (0.8, 0.1, 0.1)
"""Of training, validation and test texts, where a single file is split here."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts and their labels, 0 to 2 (`biaslens.probe.labels.Sentiment`), in the same order."""

    texts: tuple[str, ...]
    labels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def some(self, indices: Sequence[int]) -> Examples:
        """Those at the given places."""
        return Examples(tuple(self.texts[i] for i in indices), tuple(self.labels[i] for i in indices))

    def counts(self) -> dict[str, int]:
        """How many texts each label has."""
        return {name: self.labels.count(number) for number, name in enumerate(NAMES)}


@dataclass(frozen=True, slots=True)
class Splits:
    """Texts to train on, to choose by (`dev`), and left over (`test`, may be empty).

    `note` says how the labels were mapped and who made the split.
    """

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
        return Splits(_draw(self.train, train), _draw(self.dev, dev), self.test, self.note)


def read_examples(spec: str, *, label_map: LabelMap = "paper", seed: int = 0) -> Splits:
    """Read labelled texts.

    Parameters
    ----------
    spec
        ``sst5:PATH``: a folder with SST-5 as fastText lines (``__label__1`` to ``__label__5``) or as Penn-Treebank
        trees; the two outer labels of either side are one. ``semeval:PATH``: SemEval-2018 valence (ordinal
        classification), a folder or a file. ``csv:PATH``: a file with the columns text and label (negative, neutral,
        positive; 0, 1, 2; or -1, 0, 1), or a folder with train.csv and optionally dev.csv and test.csv.
    label_map
        Of SemEval's seven classes: "paper" takes -3 and -2 as negative, 2 and 3 as positive; "sign" takes all below
        zero as negative and all above as positive.
    seed
        Of the split, where the data have none: training, validation and test texts of each label as 8 : 1 : 1, or a
        tenth of the training texts for validation where only that part is missing.

    Raises
    ------
    InputError
        When a file is missing or malformed, a label is unknown, or the texts have a single label.
    """
    kind, separator, path = spec.partition(":")
    if not separator or kind not in _READERS or not path:
        raise InputError(f"--data {spec}: write one of sst5:PATH, semeval:PATH and csv:PATH")
    source = Path(path).expanduser()
    if not source.exists():
        raise InputError(f"--data {spec}: there is no {source}")
    found = read_semeval(source, label_map) if kind == "semeval" else _READERS[kind](source)
    splits = _split({name: Examples(*part) for name, part in found.parts.items()}, found.note, seed)
    for name, part in (("training", splits.train), ("validation", splits.dev)):
        present = [label for label, count in part.counts().items() if count]
        if len(present) < 2:
            what = f"all are {present[0]}" if present else "there are none"
            raise InputError(f"--data {spec}: the {name} texts need at least two labels, but {what}")
    return splits


_READERS = {"sst5": read_sst5, "csv": read_csv, "semeval": read_semeval}


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


def _draw(examples: Examples, limit: int | None) -> Examples:
    if limit is None or limit >= len(examples):
        return examples
    chosen = np.random.default_rng(0).permutation(len(examples))[:limit]
    return examples.some(sorted(chosen.tolist()))
