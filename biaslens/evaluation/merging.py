"""Merge run files of one run: shards of it, and copies that have gone on apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from biaslens import runfile
from biaslens._util.files import sync_folder
from biaslens.errors import InputError, StorageError
from biaslens.evaluation.judge import readjudicate
from biaslens.runfile import Clash, open_to_write, reading_evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a merge came to."""

    run: Path
    planned: int  #: responses planned, and those of them without an answer
    missing: int
    clashes: tuple[Clash, ...]  #: requests that two files have different answers to


def merge(sources: Sequence[Path], out: Path) -> Merged:
    """Write a new run file that holds all that some files of one run hold, in whatever order they are given.

    Of two answers to one request the earlier counts, with the votes and labels on it; the later is kept in the table
    ``other_answers``. Where votes have changed by that, what they come to is decided anew. The files are only read.

    Raises `InputError` where `out` exists; `RunMismatchError` where the files are of different models, benchmarks,
    wordings or parameters; `StorageError` as `reading_evaluation`.
    """
    if out.exists():
        raise InputError(f"{out}: exists already; name a new file with --out")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.")
    except OSError as error:
        raise StorageError(f"{out}: cannot be written ({error.strerror}); name another --out") from error
    with folder:
        made = Path(folder.name) / out.name
        gather(sources, made)
        with reading_evaluation(made) as store:
            found = Merged(
                run=out,
                planned=len(runfile.planned_keys(store)),
                missing=runfile.count_unanswered(store),
                clashes=tuple(runfile.clashes(store)),
            )
        made.replace(out)
        sync_folder(out.parent)
    return found


def gather(sources: Sequence[Path], run: Path) -> None:
    """Take all that some files of one run hold into a run file, made where there is none; as `merge`, and in place."""
    with open_to_write(run) as store:
        for path in sources:
            with reading_evaluation(path) as source:
                runfile.take_in(store, source)
        runfile.tidy(store)
        readjudicate(store)
