"""What one person has to label: every item, or those on which others differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from biaslens.annotation.annotators import read_all
from biaslens.annotation.folder import Item, read_items
from biaslens.annotation.label import Label, check_name
from biaslens.annotation.settling import disputed
from biaslens.errors import InputError


@dataclass(frozen=True, slots=True)
class Task:
    """The work of one person.

    Parameters
    ----------
    items
        To be labelled, in the order of the sample.
    others
        Who settles: the labels that differ, by key. None for everybody else, who must not see any.
    """

    items: Sequence[Item]
    others: Mapping[str, Sequence[Label]] | None = None


def open_task(folder: Path, annotator: str, *, settles: bool) -> Task:
    """Find out what a person has to label.

    Raises
    ------
    InputError
        When the folder cannot be used, or there is nothing to settle, or nobody else to settle between.
    """
    check_name(annotator)
    items = read_items(folder)
    if not items:
        raise InputError(f"{folder}: the sample is empty; draw another one with `biaslens sample`")
    if not settles:
        return Task(items)
    people = read_all(folder)
    labelling = [person.name for person in people.values() if not person.settles]
    if annotator in labelling:
        raise InputError(f"{folder}: {annotator} has labelled; whoever labels cannot settle")
    if len(labelling) < 2:
        names = ", ".join(labelling) or "none"
        raise InputError(f"{folder}: settling needs two people who differ; labels so far: {names}")
    others = disputed(people)
    if not others:
        raise InputError(f"{folder}: nothing to settle: {', '.join(labelling)} agree wherever two of them labelled")
    return Task([item for item in items if item.key in others], others)


def standing_labels(folder: Path, annotator: str) -> dict[str, Label]:
    """Labels a person has given so far, by key."""
    person = read_all(folder).get(annotator)
    return {} if person is None else person.labels
