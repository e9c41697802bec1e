"""Predictions of tuned prompts on identity sentences: tables, and their files.

A run folder holds ``predictions.tsv`` in the columns of the authors of arXiv 2306.04735, and ``predictions.parquet``
with the template, the term and the three probabilities beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslens._util.files import replacing
from biaslens.errors import InputError
from biaslens.probe.examples import SHIPPED, expand

TSV_COLUMNS = ("y_true", "y_pred", "category", "group", "text", "model", "run_id", "dataset", "num_params")
"""Of the authors' files; `threshold_accuracy` may follow."""

OPTIONAL = "threshold_accuracy"

PROBABILITIES = ("p_negative", "p_neutral", "p_positive")

_PREFIX = "grouped_"
"""Of the authors' names of attributes, in TSV files only."""

COLUMNS = (*TSV_COLUMNS, "template", "term", *PROBABILITIES)
"""Of the table in memory and of the Parquet file."""


def predictions_table(
    sentences: pd.DataFrame,
    probabilities: ArrayLike,
    *,
    model: str,
    run_id: str | int,
    dataset: str = "",
    num_params: float = float("nan"),
    threshold_accuracy: float | None = None,
) -> pd.DataFrame:
    """Join the sentences from `expand`, N rows, with what one prompt predicts for them.

    The probabilities of negative, neutral and positive have the shape (N, 3), rows that sum to about 1 (ValueError for
    other shapes and for what is no number). The prediction is the largest, the first of them where two are equal. The
    rest is as in the authors' files: `run_id` tells the prompts of a model apart (the seed), `num_params` is in
    billions, `threshold_accuracy` is the validation accuracy by which the prompt was chosen.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if values.shape != (len(sentences), 3):
        raise ValueError(f"probabilities of shape {values.shape} for {len(sentences)} sentences; give (sentences, 3)")
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).any(axis=1).sum())
        raise ValueError(f"{count} sentences have a probability that is no number")
    named = sentences.rename(columns={"label": "y_true", "attribute": "category"}).reset_index(drop=True)
    table = named.astype({"y_true": np.int64}).assign(
        y_pred=values.argmax(axis=1), model=model, run_id=str(run_id), dataset=dataset, num_params=num_params
    )
    table[list(PROBABILITIES)] = values
    optional = {} if threshold_accuracy is None else {OPTIONAL: threshold_accuracy}
    return table[list(COLUMNS)].assign(**optional)


def write_predictions(predictions: pd.DataFrame, folder: Path) -> tuple[Path, Path]:
    """Write ``predictions.parquet``, and ``predictions.tsv`` with the authors' names of attributes ("grouped_age")."""
    optional = [OPTIONAL] if OPTIONAL in predictions.columns else []
    tsv, parquet = folder / "predictions.tsv", folder / "predictions.parquet"
    for path in (tsv, parquet):
        with replacing(path, hint="free some space") as temporary:
            if path is tsv:
                named = {name: f"{_PREFIX}{name}" for name in SHIPPED}
                table = predictions[[*TSV_COLUMNS, *optional]].replace({"category": named})
                table.to_csv(temporary, sep="\t", index=False, lineterminator="\n", encoding="utf-8")
            else:
                predictions[[*COLUMNS, *optional]].to_parquet(temporary, index=False)
    return tsv, parquet


def read_predictions(paths: Path | Iterable[Path]) -> pd.DataFrame:
    """Read predictions of one or several runs: `COLUMNS`, and threshold_accuracy (NaN where a file has none).

    The paths are files (.parquet, .tsv), run folders, or folders of run folders. Of a run folder the Parquet file is
    read, or the TSV file where there is no other; then templates and terms are found by the text, and are empty for
    sentences that are not the shipped ones, and probabilities are NaN. InputError when a path has no predictions, a
    file is malformed, or a prompt of a model stands in two files.
    """
    files = _files([paths] if isinstance(paths, Path) else list(paths))
    tables = [_read(path) for path in files]
    seen: dict[tuple[str, str], Path] = {}
    for path, table in zip(files, tables, strict=True):
        for model, run_id in table[["model", "run_id"]].drop_duplicates().itertuples(index=False):
            other = seen.setdefault((model, run_id), path)
            if other != path:
                raise InputError(f"run {run_id} of {model} is in {other} and in {path}; give one of them")
    return pd.concat(tables, ignore_index=True)


def _files(paths: Sequence[Path]) -> list[Path]:
    if not paths:
        raise InputError("no predictions given; name a run folder or a file")
    done: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
        kept = [found for suffix in ("tsv", "parquet") for found in path.rglob(f"predictions.{suffix}")]
        # Of a folder the last of the two counts, which is the Parquet file.
        found = [path] if path.is_file() else [file for _, file in sorted({f.parent: f for f in kept}.items())]
        if not found:
            what = "no predictions.parquet or predictions.tsv in it; `biaslens probe tune` writes them"
            raise InputError(f"{path}: {what}")
        done |= {file.resolve(): file for file in found if file.resolve() not in done}
    return list(done.values())


def _read(path: Path) -> pd.DataFrame:
    texts = {"category": str, "group": str, "text": str, "model": str, "run_id": str, "dataset": str}
    try:
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, sep="\t", dtype=texts, keep_default_na=False, na_values={"num_params": [""]})
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as predictions ({str(error).splitlines()[0]})") from None
    missing = [name for name in TSV_COLUMNS if name not in table.columns]
    if missing:
        raise InputError(f"{path}: no column {', '.join(missing)}; predictions have {', '.join(TSV_COLUMNS)}")
    if not len(table):
        raise InputError(f"{path}: no predictions in it")
    table = table.astype(texts)
    for name in ("y_true", "y_pred"):
        values = pd.to_numeric(table[name], errors="coerce")
        strange = table.loc[~values.isin((0, 1, 2)), name]
        if len(strange):
            what = f"{name} is {strange.iloc[0]} in {len(strange)} rows"
            raise InputError(f"{path}: {what}; labels are 0 negative, 1 neutral, 2 positive")
        table[name] = values.astype(np.int64)
    table["category"] = table["category"].str.removeprefix(_PREFIX)
    if "template" not in table.columns or "term" not in table.columns:
        table = _with_origins(table)
    for name in (*PROBABILITIES, OPTIONAL):
        table[name] = pd.to_numeric(table[name], errors="coerce") if name in table.columns else np.nan
    return table[[*COLUMNS, OPTIONAL]]


def _with_origins(table: pd.DataFrame) -> pd.DataFrame:
    """Find template and term by the text, for files that do not say them; a text that stands twice takes turns."""
    shipped = expand([name for name in SHIPPED if name in set(table["category"])] or ["age"])
    keys = ["category", "group", "text"]
    shipped = shipped.rename(columns={"attribute": "category"})
    shipped["turn"] = shipped.groupby(keys).cumcount()
    table = table.drop(columns=[name for name in ("template", "term") if name in table.columns])
    table["turn"] = table.groupby([*keys, "model", "run_id"]).cumcount()
    joined = table.merge(shipped[[*keys, "turn", "template", "term"]], on=[*keys, "turn"], how="left")
    return joined.drop(columns="turn").fillna({"template": "", "term": ""})
