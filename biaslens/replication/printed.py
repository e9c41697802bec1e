"""The figures that the study printed, to stand beside those worked out again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from biaslens.schema import Attribute, Condition, Kind

KIND_ORDER = (Kind.YES_NO, Kind.CHOICE, Kind.WHY)


@dataclass(frozen=True, slots=True)
class Printed:
    """Figures of the paper and of the tables in its release.

    Parameters
    ----------
    names
        The paper's names of the models, by the release's.
    biased_questions
        Tables 2 and 3: by model, condition, attribute (None: the total) and kind.
    consistency
        Table 5, in percent with one decimal: by model and kind, consistent, two biased, one biased.
    ablation
        By model, how much lower the count is without the role, in percent with one decimal.
    ablation_mean
        Mean of these.
    cells_lower
        In how many of the cells of Table 3 the count is lower than in Table 2.
    triggered
        Of the questions that trigger a model at all, percent that trigger exactly k: by k and kind (None: all).
    """

    names: Mapping[str, str]
    biased_questions: Mapping[tuple[str, Condition, Attribute | None, Kind], int]
    consistency: Mapping[tuple[str, Kind], tuple[float, float, float]]
    ablation: Mapping[str, float]
    ablation_mean: float
    cells_lower: int
    triggered: Mapping[tuple[int, Kind | None], float]


@cache
def printed() -> Printed:
    """Read the figures that come with the package."""
    table = tomllib.loads((files(__package__) / "printed.toml").read_text(encoding="utf-8"))
    ablation = dict(table["ablation"])
    mean, cells = ablation.pop("mean"), ablation.pop("cells_lower")
    return Printed(
        names=table["names"],
        biased_questions={
            (model, Condition(condition), None if attribute == "all" else Attribute(attribute), kind): count
            for condition, models in table["biased_questions"].items()
            for model, rows in models.items()
            for attribute, counts in rows.items()
            for kind, count in zip(KIND_ORDER, counts, strict=True)
        },
        consistency={
            (model, Kind(kind)): tuple(shares)
            for model, kinds in table["consistency"].items()
            for kind, shares in kinds.items()
        },
        ablation=ablation,
        ablation_mean=mean,
        cells_lower=cells,
        triggered={
            (int(k), kind): share
            for k, shares in table["triggered"].items()
            for kind, share in zip((*KIND_ORDER, None), shares, strict=True)
        },
    )


MODEL_NAMES: Mapping[str, str] = printed().names
"""The paper's names of the models, by the release's."""
