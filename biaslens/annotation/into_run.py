"""Take people's labels into the run file, where reports find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biaslens import runfile
from biaslens.annotation.annotators import Annotator, adjudicate, read_all
from biaslens.annotation.folder import DESIGN, Placed, answers_hash, read_design, read_info
from biaslens.errors import InputError
from biaslens.runfile import LabelRow, SampledRow, Store, open_to_write


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken into a run."""

    sample: str  #: id of the sample
    sampled: int  #: answers in the sample
    annotators: Mapping[str, int]  #: labels by annotator
    #: answers with an outcome, and labelled answers on which people differ and nobody has decided
    final: int
    open: int
    #: other samples that the run held, and that share an answer with this one; their labels are gone from the run
    replaced: tuple[str, ...]


def take_labels(run: Path, folder: Path) -> Taken:
    """Copy the labels of a folder into the run they are of; what the folder held before is replaced.

    A run may hold labels of several samples, such as one for each kind, as long as no answer is in two of them: an
    answer has one inclusion probability. A sample that shares an answer with this one, such as a smaller one of the
    same run, is replaced as a whole; its folder keeps its labels.

    Raises `InputError` when the folder cannot be read, has no label, or is of another run; nothing is changed then;
    `RunLockedError` or `StorageError` when the run file cannot be written.
    """
    info = read_info(folder)
    sample = str(info["sample"])
    design = read_design(folder)
    annotators = read_all(folder)
    if not any(annotator.labels for annotator in annotators.values()):
        raise InputError(f"{folder}: nobody has labelled anything yet; `biaslens annotate {folder} --as NAME`")
    _check_design(folder, design, annotators)
    final = adjudicate(annotators)
    with open_to_write(run, create=False) as store, store.transaction():
        _check_run(store, run, folder, info, design)
        rows = []
        for placed in design:
            found = final.get(placed.key)
            outcome, sure, how = (found.outcome, found.sure, found.how) if found else (None, False, "unlabelled")
            rows.append(SampledRow(placed.key, sample, placed.stratum, placed.inclusion, outcome, sure, how))
        replaced = runfile.save_labels(store, sample, rows, _labels(annotators))
    return Taken(
        sample=sample,
        sampled=len(design),
        annotators={name: len(annotator.labels) for name, annotator in annotators.items()},
        final=sum(each.outcome is not None for each in final.values()),
        open=sum(each.outcome is None for each in final.values()),
        replaced=replaced,
    )


def _check_design(folder: Path, design: Sequence[Placed], annotators: Mapping[str, Annotator]) -> None:
    known = {placed.key for placed in design}
    for name, annotator in annotators.items():
        for key in annotator.labels:
            if key not in known:
                raise InputError(f"{folder / DESIGN}: has no answer {key}, which {name} has labelled; restore the file")


def _check_run(store: Store, run: Path, folder: Path, info: Mapping[str, Any], design: Sequence[Placed]) -> None:
    known = runfile.planned_keys(store)
    foreign = [placed.key for placed in design if placed.key not in known]
    if foreign:
        raise InputError(
            f"{folder}: {len(foreign):,} of {len(design):,} sampled answers are not in {run} (the first is "
            f"{foreign[0]}); the labels are of another run"
        )
    # Keys are of what was asked: a second run of one model has the same keys and other answers.
    texts = runfile.answer_texts(store, [placed.key for placed in design])
    if info.get("answers_hash", "") not in ("", answers_hash(texts.items())):
        raise InputError(
            f"{folder}: the answers in {run} are not the ones that were labelled; the labels are of another run"
        )


def _labels(annotators: Mapping[str, Annotator]) -> list[LabelRow]:
    return [
        LabelRow(label.key, name, label.outcome, label.sure, label.comment, annotator.adjudicates)
        for name, annotator in annotators.items()
        for label in annotator.labels.values()
    ]
