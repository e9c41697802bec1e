"""Every answer of some runs as a page that needs no server: scripts of packed JSON, each loaded when it is opened.

Scripts and not data, because a browser loads these from a folder too, where it refuses to fetch a file.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens import runfile
from biaslens._util.files import write_text
from biaslens.report.analyses import Watched
from biaslens.report.page import environment
from biaslens.report.view.answers import MARKS, Answers
from biaslens.report.view.listing import LONGEST, VALUES_SHOWN
from biaslens.runfile import Store
from biaslens.schema import Condition

QUESTIONS_A_SHARD = 500
"""Questions, and what a model answered to them, that are loaded at once."""

_FIRST_CODE = 49


def write_answers(
    answers: Answers,
    out: Path,
    folders: Sequence[str | None],
    names: Sequence[str],
    *,
    work: Watched,
) -> list[Path]:
    """Write ``index.html`` and what it loads; the same runs give the same bytes.

    Parameters
    ----------
    folders
        Of each run the name of its folder; None for one whose answers stay away.
    names
        What each run is called there.
    work
        Watches.

    Raises
    ------
    StorageError
        When the folder cannot be written, or a run not be read.
    """
    pages = environment("biaslens.report.view", script="shards.js")
    # A script that is trusted by its hash may load others, wherever the page lies.
    policy = f"{pages.globals['policy']} 'strict-dynamic'"
    text = pages.get_template("shards.html.j2").render(policy=policy)
    files = [out / "index.html"]
    write_text(files[0], text)
    shown = [(number, folder) for number, folder in enumerate(folders) if folder is not None]
    blocks = range(-(-len(answers.questions) // QUESTIONS_A_SHARD))
    work.begin("writing answers", total=len(blocks) * (len(shown) + 1))
    about = _about(answers, [(names[number], folder) for number, folder in shown])
    files.append(_pack(out, "about", about))
    asked = np.bincount(answers.question[np.isin(answers.run, [number for number, _ in shown])], minlength=1)
    for block in blocks:
        files.append(_pack(out, f"questions/{block}", list(_questions(answers, block, asked))))
        work.step()
    for number, folder in shown:
        rows = np.flatnonzero(answers.run == number)
        files.append(_pack(out, f"{folder}/rows", _columns(answers, rows)))
        of_block = answers.question[rows] // QUESTIONS_A_SHARD
        ends = np.searchsorted(of_block, [*blocks, len(blocks)])
        with Store(answers.runs[number].info.path, checked=True) as store:
            for block in blocks:
                keys = [answers.key(row) for row in rows[ends[block] : ends[block + 1]].tolist()]
                found = runfile.answer_texts(store, keys)
                files.append(_pack(out, f"{folder}/{block}", [found.get(key) for key in keys]))
                work.step()
    return files


def _about(answers: Answers, runs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """What the page must know before it can show anything: the columns, and of each question its codes."""
    columns = [
        {
            "name": column.name,
            "title": column.title,
            "values": [name for name, _ in runs] if column.name == "model" else column.values,
            "codes": column.codes.tolist() if column.by_question else None,
        }
        for column in answers.columns.values()
    ]
    return {
        "columns": columns,
        "runs": [{"name": name, "folder": folder} for name, folder in runs],
        "questions": len(answers.questions),
        "block": QUESTIONS_A_SHARD,
        "longest": LONGEST,
        "few": VALUES_SHOWN,
        "role": list(Condition).index(Condition.ROLE),
        "marks": MARKS,
    }


def _questions(answers: Answers, block: int, asked: NDArray[np.int64]) -> Iterator[list[Any] | None]:
    """Text, options and persona of each question of a block; None for one of a run that stays away."""
    numbers = range(block * QUESTIONS_A_SHARD, min((block + 1) * QUESTIONS_A_SHARD, len(answers.questions)))
    ids = [answers.questions[number].question_id for number in numbers]
    texts: dict[str, list[Any]] = {}
    for run in answers.runs:
        missing = [question_id for question_id in ids if question_id not in texts]
        if missing:
            with Store(run.info.path, checked=True) as store:
                texts |= {one: [text, options] for one, text, options in runfile.question_texts(store, missing)}
                personas = runfile.personas(store)
            for number in numbers:
                one = answers.questions[number]
                if len(texts.get(one.question_id, ())) == 2:
                    texts[one.question_id].append(personas[one.attribute, one.role])
    yield from (
        texts.get(question_id) if number < len(asked) and asked[number] else None
        for number, question_id in zip(numbers, ids, strict=True)
    )


def _columns(answers: Answers, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Columns of a run's answers, a character an answer: the value's place after "1", and "0" where it has none."""
    columns = {
        column.name: column.codes[rows]
        for column in answers.columns.values()
        if not column.by_question and column.name != "model"
    }
    columns["trial"] = answers.trial[rows]
    texts = {
        name: (codes.astype(np.uint32) + np.uint32(_FIRST_CODE)).astype("<u4").tobytes().decode("utf-32-le")
        for name, codes in columns.items()
    }
    question = answers.question[rows]
    return {"columns": texts, "question": np.diff(question, prepend=question.dtype.type(0)).tolist()}


def _pack(out: Path, name: str, values: object) -> Path:
    packed = gzip.compress(json.dumps(values, separators=(",", ":")).encode("ascii"), mtime=0)
    path = out / f"{name}.js"
    write_text(path, f'biaslens("{name}","{base64.b64encode(packed).decode("ascii")}")\n')
    return path
