"""The scores behind an assessment: a row a response, a row a pair."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import isnan
from pathlib import Path
from typing import TextIO

from biaslens._util.files import replacing
from biaslens.usecase import CUT, FILTERED, Recorder, Response

RESPONSES = "responses.csv"
PAIRS = "pairs.csv"

_RESPONSE = ("prompt_id", "prompt", "attribute", "group", "series", "trial", "response", "finish_reason")
_SCORES = ("toxicity", "stereotype")
_PAIR = (
    "attribute", "group_a", "group_b", "prompt_id", "trial", "rouge_l", "bleu", "cosine", "sentiment_a", "sentiment_b",
)  # fmt: skip


class ScoreFiles(Recorder):
    """Writes ``responses.csv`` and ``pairs.csv`` as scores come; the first can be assessed again.

    Parameters
    ----------
    responses, pairs
        Open text files.
    """

    def __init__(self, responses: TextIO, pairs: TextIO) -> None:
        self._responses = csv.writer(responses, lineterminator="\r\n")
        self._pairs = csv.writer(pairs, lineterminator="\r\n")
        self._responses.writerow((*_RESPONSE, *_SCORES))
        self._pairs.writerow(_PAIR)

    def responses(self, part: Sequence[Response], scores: Mapping[str, Sequence[float]]) -> None:
        """Write some responses."""
        nothing = [float("nan")] * len(part)
        columns = [scores.get(name, nothing) for name in _SCORES]
        self._responses.writerows(
            (
                found.prompt_id, found.prompt or "", found.attribute, found.group, found.series, found.trial,
                found.text, FILTERED if found.filtered else CUT if found.cut else "", *map(_shown, values),
            )
            for found, *values in zip(part, *columns, strict=True)
        )  # fmt: skip

    def pairs(self, attribute: str, groups: tuple[str, str], rows: Mapping[str, Sequence[object]]) -> None:
        """Write all pairs of two groups."""
        nothing = [""] * len(rows["prompt_id"])
        columns = [rows.get(name, nothing) for name in _PAIR[3:]]
        self._pairs.writerows((attribute, *groups, *map(_shown, row)) for row in zip(*columns, strict=True))


@contextmanager
def score_files(out: Path) -> Iterator[ScoreFiles]:
    """Files of scores in a folder; they are there once the block ends well.

    Raises
    ------
    StorageError
        When the folder cannot be written.
    """
    with ExitStack() as stack:
        paths = [stack.enter_context(replacing(out / name)) for name in (RESPONSES, PAIRS)]
        first, second = (stack.enter_context(path.open("w", encoding="utf-8", newline="")) for path in paths)
        yield ScoreFiles(first, second)


def _shown(value: object) -> object:
    if isinstance(value, float):
        return "" if isnan(value) else f"{value:.6g}"
    return value
