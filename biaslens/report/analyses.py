"""Every analysis of some runs, worked out once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

import pandas as pd

from biaslens import analysis
from biaslens.analysis import Comparison, Run, Summary
from biaslens.analysis.labels import CorrectedRates, Corrections, corrections_in
from biaslens.analysis.rates import ALL
from biaslens.report.table import write_csv
from biaslens.schema import Condition, Kind

QUESTIONS_LISTED = 200
"""Rows of the table of most triggering questions."""

_Piece = TypeVar("_Piece")

_AGAINST = (Condition.NO_ROLE, Condition.NEUTRAL_ROLE)


class Watched(Protocol):
    """Watches work that takes long."""

    def begin(self, title: str, *, total: int) -> None:
        """So many pieces of work begin."""

    def step(self) -> None:
        """One of them is done."""


class _Unwatched:
    def begin(self, title: str, *, total: int) -> None:
        pass

    def step(self) -> None:
        pass


class Analyses:
    """What is worked out of some runs: each of it once, when it is first asked for.

    Runs of one model are told apart by the names of their files. With `force` they are put together even if they asked
    or judged differently. `private` are runs of the same models on another form of their benchmark. `work` watches.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        *,
        private: Sequence[Run] = (),
        force: bool = False,
        work: Watched | None = None,
    ) -> None:
        self.forms = analysis.pair_forms(runs, private)
        self.runs = analysis.distinct_names(runs)
        self.force = force
        self.work: Watched = work or _Unwatched()
        self.work.begin("analysing", total=2 * len(self.runs))
        self._of_each: dict[str, pd.DataFrame] = {}

    @cached_property
    def summaries(self) -> list[Summary]:
        """The numbers of each run."""
        return list(self._stepping(map(self._summary, self.runs, self._corrections)))

    @staticmethod
    def _summary(run: Run, corrected: Corrections) -> Summary:
        return analysis.summarise(run, corrected=corrected)

    def _stepping(self, work: Iterable[_Piece]) -> Iterator[_Piece]:
        for each in work:
            self.work.step()
            yield each

    @cached_property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Every analysis by its name; results/README.md documents the columns.

        Those that need more than the runs have (a second condition, mirrors, another model) are left out.

        Raises `RunMismatchError` when the runs asked or judged differently, and are not forced together.
        """
        self._require_comparable()
        conditions = sum(all(condition in run.conditions for run in self.runs) for condition in Condition)
        over_runs = (1 + len(Kind)) * conditions * (len(self.runs) > 1)
        self.work.begin("analysing", total=(len(_OF_RUN) + 1) * len(self.runs) + over_runs)
        found = {name: self._of_runs(name) for name in (*_OF_RUN, "corrected")}
        asked = [condition for condition in Condition if any(condition in run.conditions for run in self.runs)]
        if asked:
            tops = [analysis.top_questions(self.runs, condition=each, limit=QUESTIONS_LISTED) for each in asked]
            found["top_questions"] = pd.concat(tops, ignore_index=True)
        if len(self.runs) > 1:
            found |= self._over_runs()
        if self.forms:
            found["forms"] = analysis.forms(self.forms, force=self.force)
        return {name: frame for name, frame in found.items() if len(frame)}

    def _of_runs(self, name: str) -> pd.DataFrame:
        """A table of each run, put together; no row, and no column, where no run has it."""
        if name not in self._of_each:
            if name == "corrected":
                frames = [frame for frame in self._corrected if frame is not None]
            else:
                frames = [frame for run in self.runs for frame in self._stepping(_OF_RUN[name](run))]
            filled = [frame for frame in frames if len(frame)]
            self._of_each[name] = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
        return self._of_each[name]

    def of(self, name: str, **values: str) -> pd.DataFrame:
        """Rows of a table with these values; no row, and no column, where the table is left out."""
        frame = self._of_runs(name) if name in _OF_RUNS else self.tables.get(name, pd.DataFrame())
        if not len(frame):
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
                self.work.step()
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
        return list(self._stepping(map(self._corrected_rates, self.runs)))

    @staticmethod
    def _corrected_rates(run: Run) -> pd.DataFrame | None:
        return analysis.corrected_rates(run).assign(model=run.info.model) if run.info.labelled else None

    @cached_property
    def _by_labels(self) -> CorrectedRates:
        return CorrectedRates()

    @cached_property
    def _corrections(self) -> list[Corrections]:
        return [{} if labelled is None else corrections_in(labelled) for labelled in self._corrected]


def _rates(run: Run) -> Iterator[pd.DataFrame]:
    yield analysis.pooled(analysis.rates(run, ["attribute", "kind"], totals=["attribute", "kind"]), "attribute")


def _by_disfavoured(run: Run) -> Iterator[pd.DataFrame]:
    if run.questions.groups:
        # First those of which it is surest that the model is biased against them.
        groups = analysis.pooled(analysis.rates(run, ["target", "disfavoured"]), "disfavoured", families=["target"])
        yield groups.sort_values("bias_rate_low", ascending=False, kind="stable")


def _ablation(run: Run, work: Callable[..., pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for against in _AGAINST:
        if Condition.ROLE in run.conditions and against in run.conditions:
            yield work(run, against=against)


_OF_RUN: Mapping[str, Callable[[Run], Iterable[pd.DataFrame]]] = {
    "rates": _rates,
    "rates_by_target": lambda run: (analysis.rates(run, ["attribute", "target"], totals=["attribute"]),),
    "rates_by_theme": lambda run: (analysis.rates(run, ["theme"]),) if run.questions.themes else (),
    "rates_by_disfavoured": _by_disfavoured,
    "leaning": lambda run: (analysis.leaning(run),),
    "says_does": lambda run: (analysis.says_does(run),),
    "rates_by_role": lambda run: (analysis.pooled(analysis.rates(run, ["role"]), "role", families=["attribute"]),),
    "ablation": lambda run: _ablation(run, analysis.ablation),
    "ablation_by_role": lambda run: _ablation(run, analysis.ablation_by_role),
    "judges": lambda run: (analysis.judges(run),) if run.info.judges else (),
    "consistency": lambda run: (analysis.consistency(run),),
    "variance": lambda run: (analysis.variance(run),),
    "abstention": lambda run: (analysis.abstention(run, ["attribute", "kind"], totals=["attribute", "kind"]),),
    "abstention_by_target": lambda run: (analysis.abstention(run, ["attribute", "target"], totals=["attribute"]),),
    "option_position": lambda run: (analysis.option_position(run),),
    "mirrors": lambda run: (analysis.mirrored(run),),
    "top_roles": lambda run: (analysis.top_roles(run, condition=each, limit=20) for each in run.conditions),
}
"""Tables of one run by name, in parts where there is one a condition."""

_OF_RUNS = frozenset((*_OF_RUN, "corrected"))


def write_tables(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write each table as ``NAME.csv``."""
    return [write_csv(frame, out / f"{name}.csv") for name, frame in found.items()]
