"""Every analysis of some runs, worked out once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from biaslens.analysis import (
    Run,
    Summary,
    ablation,
    ablation_by_role,
    abstention,
    compare,
    consistency,
    corrected_rates,
    distinct_names,
    judges,
    mirrored,
    option_position,
    ranking_without,
    rates,
    require_comparable,
    summarise,
    top_questions,
    top_roles,
    trigger_counts,
)
from biaslens.analysis.labels import Corrections, corrections_in
from biaslens.report.table import write_csv
from biaslens.schema import Condition, Kind

QUESTIONS_LISTED = 200
"""Rows of the table of most triggering questions."""

_AGAINST = (Condition.NO_ROLE, Condition.NEUTRAL_ROLE)


class Analyses:
    """What is worked out of some runs: each of it once, when it is first asked for.

    Runs of one model are told apart by the names of their files. With `force` they are put together even if they asked
    or judged differently.
    """

    def __init__(self, runs: Sequence[Run], *, force: bool = False) -> None:
        self.runs = distinct_names(runs)
        self.force = force

    @cached_property
    def summaries(self) -> list[Summary]:
        """The numbers of each run."""
        return [
            summarise(run, corrected=corrected) for run, corrected in zip(self.runs, self._corrections, strict=True)
        ]

    @cached_property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Every analysis by its name; results/README.md documents the columns.

        Those that need more than the runs have (a second condition, mirrors, another model) are left out.

        Raises
        ------
        RunMismatchError
            When the runs asked or judged differently, and are not forced together.
        """
        if len(self.runs) > 1 and not self.force:
            require_comparable(self.summaries)
        each: dict[str, list[pd.DataFrame]] = {}
        for run, labelled in zip(self.runs, self._corrected, strict=True):
            for name, frame in _of_run(run):
                each.setdefault(name, []).append(frame)
            if labelled is not None:
                each.setdefault("corrected", []).append(labelled.assign(model=run.info.model))
        found = {
            name: pd.concat(filled, ignore_index=True)
            for name, frames in each.items()
            if (filled := [frame for frame in frames if len(frame)])
        }
        conditions = [condition for condition in Condition if any(condition in run.conditions for run in self.runs)]
        if conditions:
            tops = [top_questions(self.runs, condition=condition, limit=QUESTIONS_LISTED) for condition in conditions]
            found["top_questions"] = pd.concat(tops, ignore_index=True)
        if len(self.runs) > 1:
            found |= _over_runs(self.runs, self._corrections)
        return {name: frame for name, frame in found.items() if len(frame)}

    def of(self, name: str, **values: str) -> pd.DataFrame:
        """Rows of a table with these values; no row, and no column, where the table is left out."""
        frame = self.tables.get(name)
        if frame is None:
            return pd.DataFrame()
        for column, value in values.items():
            frame = frame[frame[column] == value]
        return frame

    @cached_property
    def _corrected(self) -> list[pd.DataFrame | None]:
        return [corrected_rates(run.info.path) if run.info.labelled else None for run in self.runs]

    @cached_property
    def _corrections(self) -> list[Corrections]:
        return [{} if labelled is None else corrections_in(labelled) for labelled in self._corrected]


def _of_run(run: Run) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "rates", rates(run, ["attribute", "kind"], totals=["attribute", "kind"])
    yield "rates_by_target", rates(run, ["attribute", "target"], totals=["attribute"])
    yield "rates_by_role", rates(run, ["role"])
    for against in _AGAINST:
        if Condition.ROLE in run.conditions and against in run.conditions:
            yield "ablation", ablation(run, against=against)
            yield "ablation_by_role", ablation_by_role(run, against=against)
    if run.info.judges:
        yield "judges", judges(run)
    yield "consistency", consistency(run)
    yield "abstention", abstention(run, ["attribute", "kind"], totals=["attribute", "kind"])
    yield "abstention_by_target", abstention(run, ["attribute", "target"], totals=["attribute"])
    yield "option_position", option_position(run)
    yield "mirrors", mirrored(run)
    for condition in run.conditions:
        yield "top_roles", top_roles(run, condition=condition, limit=20)


def _over_runs(runs: Sequence[Run], corrected: Sequence[Corrections]) -> dict[str, pd.DataFrame]:
    models: list[pd.DataFrame] = []
    pairs: list[pd.DataFrame] = []
    triggers: list[pd.DataFrame] = []
    for condition in Condition:
        if not all(condition in run.conditions for run in runs):
            continue
        triggers.append(trigger_counts(runs, condition=condition))
        for kind in (None, *Kind):
            comparison = compare(runs, condition=condition, kind=kind, force=True, corrected=corrected)
            for frame, into in ((comparison.models, models), (comparison.pairs, pairs)):
                named = frame.copy()
                named.insert(0, "kind", kind.value if kind else "all")
                named.insert(0, "condition", condition.value)
                into.append(named[named["questions"] > 0])
    without = ranking_without(runs)
    frames = {"comparison": models, "comparison_pairs": pairs, "triggers": triggers}
    found = {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items() if parts}
    return found | ({"ranking_without_judge": without} if len(without) else {})


def write_tables(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write each table as ``NAME.csv``."""
    return [write_csv(frame, out / f"{name}.csv") for name, frame in found.items()]
