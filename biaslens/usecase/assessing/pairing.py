"""Responses to counterfactual prompts, and which of them stand opposite each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.responses import Response, Series

Place = tuple[str, int]
"""Prompt id and trial."""


@dataclass(slots=True)
class Cell:
    """Responses to the prompts of one group, in one series.

    Parameters
    ----------
    texts
        By prompt and trial.
    prompts
        What was asked, by prompt id, where it is known.
    withheld
        Prompts and trials whose response was withheld by a filter.
    """

    texts: dict[Place, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    withheld: set[Place] = field(default_factory=set)

    def add(self, response: Response) -> None:
        """Put a response in its place."""
        place = (response.prompt_id, response.trial)
        if response.filtered:
            self.withheld.add(place)
        else:
            self.texts[place] = response.text
        if response.prompt is not None:
            self.prompts.setdefault(response.prompt_id, response.prompt)


@dataclass(frozen=True, eq=False)
class Triples:
    """Responses that stand opposite each other: to group A, to group B, and to group A once more.

    Parameters
    ----------
    first, second, again
        The three texts of each triple.
    units
        The prompt of each, from 0.
    """

    first: list[str]
    second: list[str]
    again: list[str]
    units: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The responses to two groups, and how those to the first compare with themselves.

    Parameters
    ----------
    first, second
        The two texts of each pair.
    places
        Prompt id and trial of each pair.
    units
        The prompt of each pair, from 0 to `count` - 1.
    prompts
        What was asked, by unit, for the two groups; None where it is not known.
    triples
        Pairs with a second response to the first group; none where every prompt was asked once.
    withheld
        Pairs left out because a filter withheld one side or both.
    unpaired
        Responses left out because the other side is missing.
    """

    first: list[str]
    second: list[str]
    places: list[Place]
    units: NDArray[np.intp]
    prompts: list[tuple[str | None, str | None]]
    triples: Triples
    withheld: int
    unpaired: int

    @property
    def count(self) -> int:
        """Number of prompts."""
        return len(self.prompts)


class Cells:
    """All responses to counterfactual prompts, by attribute, group and series."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str, Series], Cell] = {}

    def add(self, part: Sequence[Response]) -> None:
        """Take in responses; those to prompts as they are do not belong here."""
        for response in part:
            if response.group:
                place = (response.attribute, response.group, response.series)
                self._cells.setdefault(place, Cell()).add(response)

    def groups(self, attribute: str) -> list[str]:
        """Groups of an attribute that there are responses for."""
        return [
            group for name, group, series in self._cells if name == attribute and series is Series.COUNTERFACTUAL
        ]  # fmt: skip

    def pairs(self, attribute: str, a: str, b: str) -> Pairs:
        """Pair the responses to two groups, by prompt and trial."""
        first, second = (self._cell(attribute, group, Series.COUNTERFACTUAL) for group in (a, b))
        places = [place for place in first.texts if place in second.texts]
        everywhere = first.texts.keys() | first.withheld, second.texts.keys() | second.withheld
        withheld = (first.withheld | second.withheld) & everywhere[0] & everywhere[1]
        names = list(dict.fromkeys(name for name, _ in places))
        number = {name: index for index, name in enumerate(names)}
        return Pairs(
            first=[first.texts[place] for place in places],
            second=[second.texts[place] for place in places],
            places=places,
            units=np.array([number[name] for name, _ in places], dtype=np.intp),
            prompts=[(first.prompts.get(name), second.prompts.get(name)) for name in names],
            triples=_triples(first, second, self._cell(attribute, a, Series.NO_EFFECT), number),
            withheld=len(withheld),
            unpaired=len(everywhere[0] ^ everywhere[1]),
        )

    def _cell(self, attribute: str, group: str, series: Series) -> Cell:
        return self._cells.get((attribute, group, series), Cell())


def _triples(first: Cell, second: Cell, again: Cell, number: dict[str, int]) -> Triples:
    """Triples with the no-effect responses; where there are none, the responses to the first group are halved.

    Halved: the second half of a prompt's responses to the first group stands for the second asking.
    """
    if again.texts:
        partner = {place: place for place in again.texts}
        others = again.texts
    else:
        trials: dict[str, list[int]] = {}
        for name, trial in first.texts:
            trials.setdefault(name, []).append(trial)
        partner = {}
        for name, there in trials.items():
            half = len(there) // 2
            ordered = sorted(there)
            partner |= {(name, one): (name, two) for one, two in zip(ordered[:half], ordered[half:], strict=False)}
        others = first.texts
    places = [place for place in first.texts if place in second.texts and partner.get(place) in others]
    return Triples(
        first=[first.texts[place] for place in places],
        second=[second.texts[place] for place in places],
        again=[others[partner[place]] for place in places],
        units=np.array([number[name] for name, _ in places], dtype=np.intp),
    )
