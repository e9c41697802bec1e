"""A first look at the responses: how many there are, to which prompts, and which of them are the use case's own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from biaslens.errors import InputError
from biaslens.usecase.responses import Response, Responses, Series


@dataclass(slots=True)
class Index:
    """What is known of the responses before any is measured.

    Parameters
    ----------
    units
        Number of each prompt of the population, by its id.
    prompts
        The prompts whose text is known, by id.
    population
        Series that the use case's own responses are in: the original ones, or, where there are none, those to the
        counterfactual prompts.
    counts
        Responses by what they are: "responses", "withheld by a filter", "empty".
    groups
        Groups that there are responses for, by attribute, in the order of appearance.
    """

    units: dict[str, int] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    population: Series = Series.ORIGINAL
    counts: Counter[str] = field(default_factory=Counter)
    groups: dict[str, dict[str, None]] = field(default_factory=dict)

    def counts_in(self, response: Response) -> bool:
        """Whether a response is one of the population, and can be scored."""
        return response.series is self.population and not response.filtered


def index(responses: Responses) -> Index:
    """Look through the responses once.

    Raises
    ------
    InputError
        When there are none, or none that says anything.
    """
    found = Index()
    own: dict[Series, dict[str, int]] = {Series.ORIGINAL: {}, Series.COUNTERFACTUAL: {}}
    prompts: dict[Series, dict[str, str]] = {Series.ORIGINAL: {}, Series.COUNTERFACTUAL: {}}
    usable = 0
    for part in responses.parts():
        for response in part:
            found.counts["responses"] += 1
            found.counts["withheld by a filter"] += response.filtered
            found.counts["cut off at the limit of tokens"] += response.cut
            found.counts["empty"] += not response.filtered and not response.text.strip()
            usable += response.usable
            if response.group:
                found.groups.setdefault(response.attribute, {}).setdefault(response.group)
            if response.series in own:
                units = own[response.series]
                units.setdefault(response.prompt_id, len(units))
                if response.prompt is not None:
                    prompts[response.series].setdefault(response.prompt_id, response.prompt)
    if not usable:
        raise InputError(
            f"none of the {found.counts['responses']:,} responses has any text; there is nothing to assess"
        )
    found.population = Series.ORIGINAL if own[Series.ORIGINAL] else Series.COUNTERFACTUAL
    found.units, found.prompts = own[found.population], prompts[found.population]
    return found
