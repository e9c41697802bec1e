"""The whole assessment of a use case by one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from biaslens.engine import ordinary, this_command
from biaslens.errors import InputError
from biaslens.settings import Settings, load_settings
from biaslens.usecase._asking import Asking
from biaslens.usecase._framework import (
    Intervention,
    UseCase,
    check_unawareness,
    classification_path,
    recommendation_path,
)
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._reading import Table, check_groups, name_of, read_predictions, read_recommendations
from biaslens.usecase._result import Assessment, Measure, Resampling, Standout
from biaslens.usecase._running import TextRun
from biaslens.usecase._spec import AssessmentWatcher, Recorder, TextOptions
from biaslens.usecase._tables import classification_measures, recommendation_measures
from biaslens.usecase.metrics import Variant
from biaslens.version import __version__


def assess_texts(
    source: Table,
    options: TextOptions | None = None,
    *,
    settings: Settings | None = None,
    watcher: AssessmentWatcher | None = None,
    recorder: Recorder | None = None,
) -> Assessment:
    """Assess a use case that generates text: prompts to be asked, or responses that are there.

    Parameters
    ----------
    source
        With a model, prompts: a table with a column ``prompt``. Without one, responses: see `ResponseTable`.
    options
        Everything else; the defaults work offline.
    settings
        Keys and defaults; from the environment where not given.
    watcher, recorder
        One watches requests and scores being made, the other hears every score, so that the responses behind a number
        can be looked at.

    Raises
    ------
    InputError
        When the table, a name, or an option cannot be used.
    RunInterruptedError
        When it was told to stop. The first Ctrl-C waits for answers in flight, a second one drops them.
    RunError
        When asking or scoring cannot go on; everything answered is kept.
    """
    settings = settings or load_settings()
    run = TextRun(source, options or TextOptions(), settings=settings, watcher=watcher, recorder=recorder)
    return ordinary(run.assess)()


def plan_texts(source: Table, options: TextOptions, *, settings: Settings | None = None) -> Asking:
    """Count what `assess_texts` would ask the model, and its price; asks nothing and needs no key.

    Raises InputError when the table or an option cannot be used, or there is no model.
    """
    return TextRun(source, options, settings=settings or load_settings()).plan()


def assess_predictions(
    source: Table,
    *,
    group: str,
    prediction: str,
    label: str | None = None,
    cluster: str | None = None,
    positives: Sequence[str] = ("1",),
    parity: bool = False,
    intervention: Intervention | None = None,
    families: Sequence[str] | None = None,
    resampling: Resampling | None = None,
) -> Assessment:
    """Assess a use case that classifies, by a table with a row a prediction.

    Parameters
    ----------
    group, prediction, label, cluster
        Columns: the protected group, what was predicted, the truth, and what rows belong to, such as a person.
    positives
        The classes that count, each against all others.
    parity
        Whether equal predicted prevalence is what fairness means here.
    intervention
        What a positive prediction leads to.
    families
        Families of metrics to measure instead of those that apply.

    Raises
    ------
    InputError
        When the table or a name cannot be used.
    """
    resampling = resampling or Resampling()
    rows = read_predictions(source, group=group, label=label, prediction=prediction, cluster=cluster)
    groups = sorted(set(rows.group))
    check_groups(len(groups), f"column {group!r}")
    path = classification_path(groups=groups, column=group, parity=parity, intervention=intervention, wanted=families)
    if label is None and any(path.applies(name) for name in ("misses", "false alarms")):
        raise InputError(
            "these metrics compare predictions with the truth; give the column of labels, or ask for parity"
        )
    measures = classification_measures(rows, path, positives=positives, resampling=resampling)
    counts = {"rows": len(rows.group), "left out for a missing value": rows.left_out}
    counts |= {f"of {name}": rows.group.count(name) for name in groups}
    warnings = []
    if cluster is None:
        warnings.append("Rows count as independent. If several are of one person, name the column that says which.")
    if cluster is not None and any(m.test and np.isnan(m.p) and not m.estimate.reason for m in measures):
        warnings.append("There is no p-value where a cluster has rows of both groups.")
    return Assessment(
        task=str(UseCase.CLASSIFICATION),
        source=f"predictions of {name_of(source)}",
        counts={what: count for what, count in counts.items() if count},
        steps=path.steps,
        families=path.families,
        measures=measures,
        warnings=warnings,
        record=_table_record(resampling) | {"positive_classes": list(positives)},
    )


def assess_lists(
    source: Table,
    *,
    k: int = 10,
    group: str = "group",
    attributes: Sequence[str] | None = None,
    invariance: bool = True,
    families: Sequence[str] | None = None,
    variant: Variant = "paper",
    resampling: Resampling | None = None,
) -> Assessment:
    """Assess a use case that recommends, by its ranked lists; for the table see `read_recommendations`.

    Parameters
    ----------
    k
        Items that count in each list.
    group
        Column of the group that a list was made for; an empty cell, or "neutral", for nobody in particular.
    attributes
        Attributes to look for in the prompts, where they are in the table; None for all.
    invariance
        Whether lists should be the same whatever the group.
    families, variant, resampling
        As for `assess_texts`.

    Raises
    ------
    InputError
        When the table cannot be used.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    resampling = resampling or Resampling()
    found = read_recommendations(source, group=group)
    lexicon = load_words(attributes)
    unawareness = check_unawareness(found.prompts.values(), lexicon) if found.prompts else None
    path = recommendation_path(
        mentions=None if unawareness is None else str(unawareness),
        satisfied=None if unawareness is None else unawareness.satisfied,
        invariance=invariance,
        wanted=families,
    )
    measures: list[Measure] = []
    examples: dict[str, list[Standout]] = {}
    if path.applies("similarity of lists"):
        measures, examples = recommendation_measures(found, k=k, resampling=resampling, variant=variant)
    lists = sum(len(trials) for by_prompt in found.lists.values() for trials in by_prompt.values())
    counts = {"lists": lists, "groups": len(found.lists), "repeated items taken out": found.repeated}
    return Assessment(
        task=str(UseCase.RECOMMENDATION),
        source=f"lists of {name_of(source)}",
        counts={what: count for what, count in counts.items() if count},
        steps=path.steps,
        families=path.families,
        mentions=[] if unawareness is None else unawareness.mentions([name for _, name in found.prompts]),
        measures=measures,
        examples=examples,
        record=_table_record(resampling) | {"k": k, "variant": variant},
    )


def _table_record(resampling: Resampling) -> dict[str, object]:
    return {"command": this_command(), "package_version": __version__, "resampling": asdict(resampling)}
