"""Every analysis of some runs, worked out once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from biaslens import analysis
from biaslens.analysis import Comparison, Run, Summary
from biaslens.analysis.corrected import CorrectedRates
from biaslens.analysis.labels import Corrections, corrections_in
from biaslens.analysis.rates import ALL
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
        self.runs = analysis.distinct_names(runs)
        self.force = force

    @cached_property
    def summaries(self) -> list[Summary]:
        """The numbers of each run."""
        known = zip(self.runs, self._corrections, strict=True)
        return [analysis.summarise(run, corrected=corrected) for run, corrected in known]

    @cached_property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Every analysis by its name; results/README.md documents the columns.

        Those that need more than the runs have (a second condition, mirrors, another model) are left out.

        Raises `RunMismatchError` when the runs asked or judged differently, and are not forced together.
        """
        self._require_comparable()
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
        asked = [condition for condition in Condition if any(condition in run.conditions for run in self.runs)]
        if asked:
            tops = [analysis.top_questions(self.runs, condition=each, limit=QUESTIONS_LISTED) for each in asked]
            found["top_questions"] = pd.concat(tops, ignore_index=True)
        if len(self.runs) > 1:
            found |= self._over_runs()
        return {name: frame for name, frame in found.items() if len(frame)}

    def of(self, name: str, **values: str) -> pd.DataFrame:
        """Rows of a table with these values; no row, and no column, where the table is left out."""
        frame = self.tables.get(name)
        if frame is None:
            return pd.DataFrame()
        for column, value in values.items():
            frame = frame[frame[column] == value]
        return frame

    def comparison(self, condition: Condition, kind: Kind | None) -> Comparison:
        """Compare the models on the questions of a kind (None for all) that all of them answered, as `compare` does."""
        self._require_comparable()
        return analysis.compare(
            self.runs,
            condition=condition,
            kind=kind,
            force=True,
            corrected=self._corrections,
            corrections_of=self._by_labels,
        )

    def _require_comparable(self) -> None:
        if len(self.runs) > 1 and not self.force:
            analysis.require_comparable(self.summaries)

    def _over_runs(self) -> dict[str, pd.DataFrame]:
        found: dict[str, list[pd.DataFrame]] = {}
        for condition in Condition:
            if not all(condition in run.conditions for run in self.runs):
                continue
            for kind in (None, *Kind):
                both = self.comparison(condition, kind)
                for name, frame in (("comparison", both.models), ("comparison_pairs", both.pairs)):
                    frame.insert(0, "kind", kind.value if kind else ALL)
                    frame.insert(0, "condition", condition.value)
                    found.setdefault(name, []).append(frame[frame["questions"] > 0])
            found.setdefault("triggers", []).append(analysis.trigger_counts(self.runs, condition=condition))
        without = analysis.ranking_without(self.runs)
        tables = {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}
        return tables | ({"ranking_without_judge": without} if len(without) else {})

    @cached_property
    def _corrected(self) -> list[pd.DataFrame | None]:
        return [analysis.corrected_rates(run) if run.info.labelled else None for run in self.runs]

    @cached_property
    def _by_labels(self) -> CorrectedRates:
        return CorrectedRates()

    @cached_property
    def _corrections(self) -> list[Corrections]:
        return [{} if labelled is None else corrections_in(labelled) for labelled in self._corrected]


def _of_run(run: Run) -> Iterator[tuple[str, pd.DataFrame]]:
    by_attribute = analysis.rates(run, ["attribute", "kind"], totals=["attribute", "kind"])
    yield "rates", analysis.pooled(by_attribute, "attribute")
    yield "rates_by_target", analysis.rates(run, ["attribute", "target"], totals=["attribute"])
    if run.questions.themes:
        yield "rates_by_theme", analysis.rates(run, ["theme"])
    if run.questions.groups:
        # First those of which it is surest that the model is biased against them.
        groups = analysis.pooled(analysis.rates(run, ["target", "disfavoured"]), "disfavoured", families=["target"])
        yield "rates_by_disfavoured", groups.sort_values("bias_rate_low", ascending=False, kind="stable")
    yield "leaning", analysis.leaning(run)
    yield "says_does", analysis.says_does(run)
    yield "rates_by_role", analysis.pooled(analysis.rates(run, ["role"]), "role", families=["attribute"])
    for against in _AGAINST:
        if Condition.ROLE in run.conditions and against in run.conditions:
            yield "ablation", analysis.ablation(run, against=against)
            yield "ablation_by_role", analysis.ablation_by_role(run, against=against)
    if run.info.judges:
        yield "judges", analysis.judges(run)
    yield "consistency", analysis.consistency(run)
    yield "variance", analysis.variance(run)
    yield "abstention", analysis.abstention(run, ["attribute", "kind"], totals=["attribute", "kind"])
    yield "abstention_by_target", analysis.abstention(run, ["attribute", "target"], totals=["attribute"])
    yield "option_position", analysis.option_position(run)
    yield "mirrors", analysis.mirrored(run)
    for condition in run.conditions:
        yield "top_roles", analysis.top_roles(run, condition=condition, limit=20)


def write_tables(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write each table as ``NAME.csv``."""
    return [write_csv(frame, out / f"{name}.csv") for name, frame in found.items()]
