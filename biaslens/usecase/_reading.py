"""The tables a user brings, read in parts: prompts, and responses to them."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from biaslens.errors import InputError
from biaslens.models import thoughts

ROWS = 20_000
"""Rows read at once."""

FILTERED = thoughts.FILTERED
"""Finish reason of a response that the provider withheld."""

CUT = thoughts.CUT
"""Finish reason of a response that broke off at the limit of tokens."""


class Series(StrEnum):
    """Why a prompt was asked."""

    ORIGINAL = "original"
    COUNTERFACTUAL = "counterfactual"
    NO_EFFECT = "no_effect"


@dataclass(frozen=True, slots=True)
class Response:
    """A response and what it answers."""

    #: the prompt it belongs to: counterfactual prompts have the id of the prompt they were made of; None if unknown
    prompt_id: str
    prompt: str | None
    text: str
    #: whom the prompt was made to be about; "" for prompts as they are
    attribute: str = ""
    group: str = ""
    series: Series = Series.ORIGINAL
    trial: int = 0  #: number among the responses to the same prompt in the same series, from 0
    #: whether the provider withheld it, and whether it broke off at the limit of tokens
    filtered: bool = False
    cut: bool = False

    @property
    def usable(self) -> bool:
        return not self.filtered and bool(self.text.strip())


class Responses(Protocol):
    """Responses that can be read more than once, a part at a time, so that a million of them need not be held."""

    def parts(self) -> Iterator[Sequence[Response]]:
        """All responses, in parts of some thousands."""
        ...


_SAID = 200

Table = Path | str | pd.DataFrame
"""A file by its path, or a data frame."""


def frames(source: Table, *, required: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Read a table in parts, every cell as text; InputError where it cannot be read, lacks a column, or has no rows."""
    rows = 0
    name = name_of(source)
    for part in _parts(source):
        missing = [column for column in required if column not in part.columns]
        if missing:
            there = ", ".join(map(str, part.columns)) or "none"
            raise InputError(f"{name}: no column {missing[0]!r}; there are {there}")
        rows += len(part)
        yield part
    if not rows:
        raise InputError(f"{name}: no rows; give a file with at least one")


MOST_GROUPS = 50
"""Each is compared with each: 1,225 pairs."""


def check_groups(count: int, what: str) -> None:
    """Refuse with an InputError more groups than can be compared with each other."""
    if count > MOST_GROUPS:
        raise InputError(f"{what}: {count:,} groups, each to be compared with each; at most {MOST_GROUPS} can be")


def columns_of(source: Table) -> list[str]:
    return [str(column) for column in next(_parts(source), pd.DataFrame()).columns]


def read_prompts(source: Table, *, limit: int | None = None) -> dict[str, str]:
    """Read prompts by their id: column ``prompt``, and ``prompt_id`` where there is one, else the row's number from 1.

    InputError when the table cannot be used, a prompt is empty, or two prompts have one id.
    """
    found: dict[str, str] = {}
    row = 0
    for part in frames(source, required=["prompt"]):
        names = part["prompt_id"] if "prompt_id" in part.columns else None
        for index, prompt in enumerate(part["prompt"]):
            row += 1
            if limit is not None and len(found) >= limit:
                return found
            name = str(row) if names is None else str(names.iloc[index])
            if not prompt.strip():
                raise InputError(f"{name_of(source)}: row {row} has an empty prompt; remove it")
            if found.setdefault(name, prompt) != prompt:
                raise InputError(f"{name_of(source)}: row {row}: prompt_id {name!r} stands for two different prompts")
    return found


def read_clusters(source: Table, column: str, *, numbered: bool = False) -> dict[str, str]:
    """Read the cluster of each prompt, such as its topic, by prompt id.

    The ids are those of `read_prompts` where prompts without one are `numbered`, else those of responses. InputError
    when a row has no cluster, or a prompt is in two.
    """
    found: dict[str, str] = {}
    rows = (record for part in frames(source, required=[column]) for record in records(part))
    for row, record in enumerate(rows, start=1):
        name = record.get("prompt_id", "") or ("" if numbered else record.get("prompt", ""))
        if not name and not (numbered and "prompt_id" in record):
            name = str(row) if numbered else f"row {row}"
        cluster = record[column].strip()
        if not cluster:
            raise InputError(f"{name_of(source)}: row {row}: column {column!r} is empty; each prompt is in a cluster")
        if found.setdefault(name, cluster) != cluster:
            raise InputError(
                f"{name_of(source)}: row {row}: prompt {name!r} is in two clusters, {found[name]!r} and {cluster!r}"
            )
    return found


_Place = tuple[str, str, str, str]


class ResponseTable:
    """Responses of a table.

    It has a column ``response``, and may have ``prompt``, ``prompt_id``, ``attribute``, ``group``, ``series``,
    ``trial`` and ``finish_reason``, as the file has that an assessment writes. Without ``trial`` the responses to a
    prompt are counted in the order of the rows. `attribute` is that of the groups where there is no such column.
    InputError when columns are missing that others need.
    """

    def __init__(self, source: Table, *, attribute: str = "") -> None:
        self._source = source
        self._attribute = attribute
        columns, lacking = columns_of(source), ""
        if "group" in columns and "prompt_id" not in columns:
            lacking = "'prompt_id' that says which responses belong together"
        elif "group" in columns and "attribute" not in columns and not attribute:
            lacking = "'attribute', or one --attributes NAME"
        if lacking:
            raise InputError(f"{name_of(source)}: column 'group' needs a column {lacking}")

    def parts(self) -> Iterator[Sequence[Response]]:
        trials: defaultdict[_Place, set[int]] = defaultdict(set)
        row = 0
        for part in frames(self._source, required=["response"]):
            yield [self._response(record, number, trials) for number, record in enumerate(records(part), start=row)]
            row += len(part)

    def _response(self, record: Mapping[str, str], row: int, trials: Mapping[_Place, set[int]]) -> Response:
        # A cell without a prompt is a prompt that is not known, and not one that mentions nobody.
        prompt, group = record.get("prompt") or None, record.get("group", "").strip()
        name = record.get("prompt_id") or prompt or f"row {row + 1}"
        attribute = record.get("attribute", "").strip() or (self._attribute if group else "")
        if group and not attribute:
            raise self._wrong(row, f"group {group!r} has no attribute; fill the cell, or give one --attributes NAME")
        given = record.get("series", "").strip()
        if given and given not in list(Series):
            raise self._wrong(row, f"series {given!r} is none of {', '.join(Series)}")
        series = Series(given or (Series.COUNTERFACTUAL if group else Series.ORIGINAL))
        if (series is Series.ORIGINAL) == bool(group):
            raise self._wrong(row, f"series {series} does not go with group {group!r}")
        # Without a prompt every response stands alone; counting its trials would only cost memory.
        trial = 0
        if prompt or "prompt_id" in record:
            trial = self._trial(record.get("trial"), row, name, trials[name, attribute, group, series])
        reason = record.get("finish_reason")
        said = thoughts.split(
            record["response"], cut=reason == CUT
        ).answer  # what other programs wrote may hold thoughts
        return Response(name, prompt, said, attribute, group, series, trial, reason == FILTERED, reason == CUT)

    def _trial(self, given: str | None, row: int, prompt: str, seen: set[int]) -> int:
        try:
            trial = len(seen) if given is None else int(given)
        except ValueError:
            raise self._wrong(row, f"trial {given!r} is no whole number") from None
        if trial in seen:
            what = f"trial {trial} of prompt {prompt!r} occurs twice; number them, or leave the column out"
            raise self._wrong(row, what)
        seen.add(trial)
        return trial

    def _wrong(self, row: int, what: str) -> InputError:
        return InputError(f"{name_of(self._source)}: row {row + 1}: {what}")


def records(part: pd.DataFrame) -> Iterator[dict[str, str]]:
    names = list(map(str, part.columns))
    return (dict(zip(names, row, strict=True)) for row in part.itertuples(index=False, name=None))


def name_of(source: Table) -> str:
    """How a table is called in messages."""
    return "a data frame" if isinstance(source, pd.DataFrame) else str(source)


def _parts(source: Table) -> Iterator[pd.DataFrame]:
    if isinstance(source, pd.DataFrame):
        if not source.columns.is_unique:
            twice = source.columns[source.columns.duplicated()][0]
            raise InputError(f"{name_of(source)}: column {twice!r} occurs twice; rename one")
        for start in range(0, max(1, len(source)), ROWS):
            yield _as_text(source.iloc[start : start + ROWS])
        return
    path = Path(source)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: a table is one of {', '.join(_READERS)}")
    try:
        yield from reader(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: the file is empty") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except pd.errors.ParserWarning:
        raise InputError(f"{path}: rows have more cells than the first line has names; name every column") from None
    except (pd.errors.ParserError, ValueError, OSError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: cannot be read: {said[:_SAID]}") from None


def _csv(separator: str) -> Callable[[Path], Iterator[pd.DataFrame]]:
    def read(path: Path) -> Iterator[pd.DataFrame]:
        # No index column: else rows with a cell too many would all move by one, without a word.
        options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "index_col": False, "sep": separator}
        with pd.read_csv(path, encoding="utf-8-sig", chunksize=ROWS, **options) as parts:
            while True:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", pd.errors.ParserWarning)
                    part = next(parts, None)
                if part is None:
                    return
                yield part

    return read


def _jsonl(path: Path) -> Iterator[pd.DataFrame]:
    records: list[dict[str, object]] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except UnicodeDecodeError:
                raise
            except (ValueError, RecursionError) as error:
                said = getattr(error, "msg", "nested too deeply")
                raise InputError(f"{path}: line {number} is not JSON: {said}") from None
            if not isinstance(record, dict):
                raise InputError(f"{path}: line {number} is not a JSON object")
            records.append(record)
            if len(records) == ROWS:
                yield _as_text(pd.DataFrame(records, dtype=object))
                records = []
    yield _as_text(pd.DataFrame(records, dtype=object))


def _parquet(path: Path) -> Iterator[pd.DataFrame]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS):
            yield _as_text(batch.to_pandas())


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({str(name): [_cell(value) for value in frame[name]] for name in frame.columns}, dtype=object)


def _cell(value: object) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return ""
    if isinstance(value, str):
        # Half of a character, as JSON can escape it: no file and no model takes it.
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, tuple)) else str(value)


_READERS: dict[str, Callable[[Path], Iterator[pd.DataFrame]]] = {
    ".csv": _csv(","),
    ".tsv": _csv("\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
