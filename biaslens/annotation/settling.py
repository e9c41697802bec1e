"""One label an answer: what all agree on, or what a third person decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from biaslens.annotation.annotators import Annotator
from biaslens.annotation.label import Label
from biaslens.schema import Outcome

How = Literal["agreed", "settled", "single", "open"]


@dataclass(frozen=True, slots=True)
class Settled:
    """What an answer is in the end.

    Parameters
    ----------
    key
        Of the response.
    outcome
        None where it is open.
    sure
        Whether everybody is whose label it is; False where it is open.
    how
        "agreed": two or more say the same. "settled": they differ, or are too few, and a third person decided.
        "single": one person's word. "open": people differ, and nobody has decided (or those who did differ too).
    """

    key: str
    outcome: Outcome | None
    sure: bool
    how: How


def settle(annotators: Mapping[str, Annotator]) -> dict[str, Settled]:
    """Put everybody's labels together.

    Parameters
    ----------
    annotators
        By name, as `read_all` gives them.

    Returns
    -------
    dict
        By key, in the order in which the labels come; answers without any label are missing.
    """
    labelled, settled = _by_key(annotators, settles=False), _by_key(annotators, settles=True)
    return {key: _decide(key, labelled.get(key, []), settled.get(key, [])) for key in labelled | settled}


def disputed(annotators: Mapping[str, Annotator]) -> dict[str, list[Label]]:
    """Labels of the answers whose outcome people differ on, settled or not, by key.

    The labels of an answer are in the order of outcomes, so that their place does not tell whose they are.
    """
    outcomes = list(Outcome)
    return {
        key: sorted(labels, key=lambda label: (outcomes.index(label.outcome), not label.sure, label.comment))
        for key, labels in _by_key(annotators, settles=False).items()
        if _unanimous(labels) is None
    }


def _by_key(annotators: Mapping[str, Annotator], *, settles: bool) -> dict[str, list[Label]]:
    found: dict[str, list[Label]] = {}
    for annotator in annotators.values():
        if annotator.settles == settles:
            for label in annotator.labels.values():
                found.setdefault(label.key, []).append(label)
    return found


def _decide(key: str, labels: list[Label], settling: list[Label]) -> Settled:
    how: How = "agreed" if len(labels) > 1 else "single"
    if settling and not (how == "agreed" and _unanimous(labels)):
        labels, how = settling, "settled"
    outcome = _unanimous(labels)
    if outcome is None:
        return Settled(key, None, sure=False, how="open")
    return Settled(key, outcome, all(label.sure for label in labels), how)


def _unanimous(labels: list[Label]) -> Outcome | None:
    """The one outcome of all labels; None where there are several, or no label."""
    outcomes = {label.outcome for label in labels}
    return outcomes.pop() if len(outcomes) == 1 else None
