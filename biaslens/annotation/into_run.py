"""Take people's labels into the run file, where reports find them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from biaslens.annotation.annotators import Annotator, read_all
from biaslens.annotation.folder import read_design, read_info
from biaslens.annotation.settling import settle
from biaslens.errors import InputError
from biaslens.evaluation.upgrade import open_to_write


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken into a run.

    Parameters
    ----------
    sample
        Id of the sample.
    sampled
        Answers in the sample.
    annotators
        Labels by annotator.
    settled, open
        Answers with an outcome, and labelled answers on which people differ and nobody has decided.
    """

    sample: str
    sampled: int
    annotators: Mapping[str, int]
    settled: int
    open: int


def take_labels(run: Path, folder: Path) -> Taken:
    """Copy the labels of a folder into the run they are of; what the folder held before is replaced.

    A run may hold labels of several samples, as long as no answer is in two of them.

    Raises
    ------
    InputError
        When the folder cannot be read, has no label, or is of another run; nothing is changed then.
    RunLockedError, StorageError
        When the run file cannot be written.
    """
    sample = str(read_info(folder)["sample"])
    design = read_design(folder)
    annotators = read_all(folder)
    if not any(annotator.labels for annotator in annotators.values()):
        raise InputError(f"{folder}: nobody has labelled anything yet; `biaslens annotate {folder} --as NAME`")
    settled = settle(annotators)
    with open_to_write(run, create=False) as store, store.transaction() as connection:
        known = {key for (key,) in connection.execute("SELECT key FROM plan")}
        foreign = [placed.key for placed in design if placed.key not in known]
        if foreign:
            raise InputError(
                f"{folder}: {len(foreign):,} of {len(design):,} sampled answers are not in {run} (the first is "
                f"{foreign[0]}); the labels are of another run"
            )
        connection.execute(
            "DELETE FROM labels WHERE response_key IN (SELECT response_key FROM sampled WHERE sample = ?)", (sample,)
        )
        connection.execute("DELETE FROM sampled WHERE sample = ?", (sample,))
        elsewhere = {key for (key,) in connection.execute("SELECT response_key FROM sampled")}
        twice = next((placed.key for placed in design if placed.key in elsewhere), None)
        if twice is not None:
            raise InputError(f"{folder}: answer {twice} is in another sample of {run} too; give labels of one of them")
        rows = []
        for placed in design:
            found = settled.get(placed.key)
            outcome, sure, how = (found.outcome, found.sure, found.how) if found else (None, False, "unlabelled")
            rows.append((placed.key, sample, placed.stratum, placed.inclusion, outcome, sure, how))
        connection.executemany("INSERT INTO sampled VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?)", _labels(annotators))
    return Taken(
        sample=sample,
        sampled=len(design),
        annotators={name: len(annotator.labels) for name, annotator in annotators.items()},
        settled=sum(each.outcome is not None for each in settled.values()),
        open=sum(each.outcome is None for each in settled.values()),
    )


def _labels(annotators: Mapping[str, Annotator]) -> list[tuple[str, str, str, bool, str, bool]]:
    return [
        (label.key, name, label.outcome, label.sure, label.comment, annotator.settles)
        for name, annotator in annotators.items()
        for label in annotator.labels.values()
    ]
