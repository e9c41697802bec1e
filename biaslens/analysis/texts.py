"""Texts of questions, read from the run file when they are needed: a `Run` holds none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from biaslens.engine.damage import decoding
from biaslens.engine.store import Store, storage_errors


def question_texts(path: Path, ids: Iterable[str]) -> dict[str, str]:
    """Read what questions ask, by id; ids that the run file does not hold are left out.

    Parameters
    ----------
    path
        The run file.
    ids
        Question ids, such as those of `top_questions`.

    Returns
    -------
    dict
        The question without its role; the options of a choice follow it, as "(A) ... (B) ...".

    Raises
    ------
    StorageError
        When the file cannot be read.
    """
    wanted = json.dumps(list(ids))
    with Store(path) as store, decoding(path), storage_errors(path):
        rows = store.connection.execute(
            "SELECT question_id, text, options FROM questions WHERE question_id IN (SELECT value FROM json_each(?))",
            (wanted,),
        ).fetchall()
    return {question_id: " ".join([text, *_lettered(json.loads(options))]) for question_id, text, options in rows}


def _lettered(options: list[str]) -> list[str]:
    return [f"({chr(ord('A') + place)}) {option}" for place, option in enumerate(options)]
