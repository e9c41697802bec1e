"""What the study's answers come to with other oracles and hand labels, told in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from biaslens.analysis.comparison import Comparison
from biaslens.analysis.rates import ALL
from biaslens.replication.release import ATTRIBUTES, FOLDERS
from biaslens.replication.reproduce import PublishedRun, Reproduction
from biaslens.replication.rescoring import LIKE, THESE, Change, named, side_by_side
from biaslens.report.page import markdown
from biaslens.report.table import NOTHING as DASH
from biaslens.report.table import Table, between, percent
from biaslens.runfile import (
    imported_files,
    reading,
)
from biaslens.schema import Condition, Kind
from biaslens.stats import (
    share,
)

COMMAND = "biaslens reproduce runs/ --out results/published/"

PICTURE = "three_rates"
"""Name of the figure that the finding shows, without suffix."""

_MANY_ECHOES = 0.05


def finding(
    runs: Sequence[PublishedRun],
    reproduction: Reproduction,
    table: pd.DataFrame,
    changed: pd.DataFrame,
    *,
    comparisons: Sequence[Comparison] = (),
    why: pd.DataFrame | None = None,
) -> str:
    """Write the finding in Markdown, of the tables of `rescored`, of `changes` for all models, and of `why_corrected`.

    The comparisons are of the models under our oracles, one for each estimand, none where there is only one model.
    """
    both = side_by_side(table)
    role = both[both["condition"] == Condition.ROLE.value]
    changed = changed[changed["condition"] == Condition.ROLE.value]
    return markdown(
        "biaslens.replication",
        "finding.md.j2",
        command=COMMAND if why is None else f"{COMMAND} --labels labels/",
        picture=PICTURE,
        models=named(dict.fromkeys(table["model"])),
        reproduction=reproduction,
        biased=f"{role[role['kind'] == ALL]['biased_questions_published'].sum():,}",
        rates=_rates_table(role),
        corrected=_corrected_table(role) if role["corrected_rate"].notna().any() else "",
        compared=_comparisons(runs[0]),
        echoes=_echoes(role, changed),
        hidden=f"{changed[changed['change'] == Change.CAPITAL_C.value]['trials'].sum():,}",
        rescored=_rescored_table(role),
        changed=_changed_table(changed),
        why=_why(why, both),
        ranking=_ranking(comparisons),
        copies=_copies(runs),
        labelled=why is not None,
    )


def _comparisons(run: PublishedRun) -> dict[str, str]:
    """Groups that most of a run's questions compare, how many do, and for how many equal ones all comparisons count."""
    compared = run.questions.comparison
    counts = np.bincount(compared)
    largest, shares = int(counts.argmax()), counts / counts.sum()
    return {
        "groups": run.questions.comparisons[largest],
        "share": percent(shares[largest]),
        "of_choice": percent(float((compared[run.questions.select(kind=Kind.CHOICE)] == largest).mean())),
        "number": f"{np.count_nonzero(counts):,}",
        "effective": f"{1 / np.square(shares).sum():,.0f}",
    }


_FOR = {estimand: f"95 % for {estimand}" for estimand in (LIKE, THESE)}


def _bounds(rows: pd.DataFrame, stem: str) -> dict[str, list[str]]:
    """Columns of the intervals for both estimands, the default first."""
    columns = {}
    for estimand, end in ((LIKE, ""), (THESE, "_these")):
        ends = zip(rows[f"{stem}_low{end}"], rows[f"{stem}_high{end}"], strict=True)
        columns[_FOR[estimand]] = [DASH if pd.isna(low) else between(low, high) for low, high in ends]
    return columns


def _rates_table(role: pd.DataFrame) -> str:
    rows = role[role["kind"] == ALL].sort_values("rate_published", ascending=False)
    return Table.of(
        {
            "model": named(rows["model"]),
            "biased questions, published": _counts(rows["biased_questions_published"]),
            "rank, published": _ranks(rows["rank_published"], rows["rank_published"]),
            "ours": _ranks(rows["rank"], rows["rank"]),
            "published rate": map(percent, rows["rate_published"]),
            "our rate": map(percent, rows["bias_rate"]),
            **_bounds(rows, "bias_rate"),
            "coverage": map(percent, rows["coverage"]),
        }
    ).markdown()


def _corrected_table(role: pd.DataFrame) -> str:
    rows = role[role["kind"] == ALL].sort_values("rate_published", ascending=False)
    return Table.of(
        {
            "model": named(rows["model"]),
            "rate, why answers corrected": map(percent, rows["corrected_rate"]),
            **_bounds(rows, "corrected"),
            f"rank, {_FOR[LIKE]}": _ranks(rows["rank_corrected_low"], rows["rank_corrected_high"]),
            f"rank, {_FOR[THESE]}": _ranks(rows["rank_corrected_low_these"], rows["rank_corrected_high_these"]),
        }
    ).markdown()


def _ranks(lowest: Iterable[float], highest: Iterable[float]) -> list[str]:
    return [
        DASH if pd.isna(low) else f"{low:.0f} to {high:.0f}" if low != high else f"{low:.0f}"
        for low, high in zip(lowest, highest, strict=True)
    ]


def _echoes(role: pd.DataFrame, changed: pd.DataFrame) -> list[dict[str, str]]:
    """Models of which many choice answers are echoes."""
    choice = role[role["kind"] == Kind.CHOICE.value].set_index("model")
    echoes = changed[(changed["kind"] == Kind.CHOICE.value) & (changed["change"] == Change.ECHO.value)]
    share = echoes.groupby("model")["share"].sum()
    return [
        {
            "model": named([str(model)])[0],
            "share": percent(share[model]),
            "coverage": percent(choice["coverage"][model]),
            "published": percent(choice["rate_published"][model]),
            "ours": percent(choice["bias_rate"][model]),
        }
        for model in share.index[share > _MANY_ECHOES]
    ]


def _copies(runs: Sequence[PublishedRun]) -> list[dict[str, object]]:
    """Attributes whose answers files are the same, byte for byte, for two models; and both models' rates without them.

    The files are those of all trials of a condition.
    """
    files: dict[str, dict[tuple[str, str], str]] = {}
    for run in runs:
        with reading(run.run.info.path) as store:
            found = imported_files(store)
        files[run.model] = {(Path(name).parts[-3], Path(name).name): digest for name, digest in found.items()}
    by_model = {run.model: run for run in runs}
    copies = []
    for one, other in combinations(files, 2):
        same = Counter(
            (folder, name.partition("_answers")[0])
            for (folder, name), digest in files[one].items()
            if files[other].get((folder, name)) == digest
        )
        copies += [
            {"models": named([one, other]), "files": f"{folder}/{attribute}", "count": count}
            | {"rates": [_rate_without(by_model[model], folder, attribute) for model in (one, other)]}
            for (folder, attribute), count in same.items()
        ]
    return copies


def _rate_without(run: PublishedRun, folder: str, attribute: str) -> str:
    trials = run.run.trials(next(condition for condition, name in FOLDERS.items() if name == folder))
    kept = ~run.questions.select(attribute=ATTRIBUTES[attribute])
    return percent(float(share(trials.biased[kept].sum(), trials.valid[kept].sum())))


def _rescored_table(role: pd.DataFrame) -> str:
    return Table.of(
        {
            "model": named(role["model"]),
            "kind": role["kind"],
            "biased questions, published": _counts(role["biased_questions_published"]),
            "ours": _counts(role["biased_questions"]),
            "share of planned trials biased, published": map(percent, role["rate_published"]),
            "bias rate, ours": map(percent, role["bias_rate"]),
            **_bounds(role, "bias_rate"),
            "coverage": map(percent, role["coverage"]),
        }
    ).markdown()


def _changed_table(changed: pd.DataFrame) -> str:
    counts = changed.pivot_table("trials", "change", "model", aggfunc="sum", fill_value=0)
    counts = counts.reindex([change.value for change in Change if change.value in counts.index]).astype(int)
    cells = {named([model])[0]: _counts(counts[model]) for model in counts.columns.to_list()}
    return Table.of({"change": counts.index, **cells}).markdown()


def _why(why: pd.DataFrame | None, both: pd.DataFrame) -> dict[str, str] | None:
    why = pd.DataFrame() if why is None else why[why["corrected_rate"].notna()]
    if why.empty:
        return None
    rows = both[both["kind"] == Kind.WHY.value].set_index(["model", "condition"])
    rows = rows.loc[list(zip(why["model"], why["condition"], strict=True))]
    published, corrected = why["biased_trials_published"].sum(), why["biased_trials_corrected"].sum()
    names = ", ".join(name for name in why["labelled_by"].unique() if name)
    return {
        "labels": f"{why['labels'].sum():,}",
        "labelled_by": f" (labelled by {names})" if names else "",
        "published": f"{published:,}",
        "corrected": f"{corrected:,}",
        "share": f"{corrected / published:.0%}",
        "table": Table.of(
            {
                "model": named(why["model"]),
                "condition": why["condition"],
                "labels": _counts(why["labels"]),
                "flagged by the study's judge": map(percent, why["rate_published"]),
                "biased, corrected": map(percent, rows["corrected_rate"]),
                **_bounds(rows, "corrected"),
                "biased answers, published": _counts(why["biased_trials_published"]),
                "corrected": _counts(why["biased_trials_corrected"]),
                "right of what is flagged": why["precision"].map("{:.0%}".format),
                "kappa": why["kappa"].map("{:.2f}".format),
            }
        ).markdown(),
    }


def _ranking(comparisons: Sequence[Comparison]) -> dict[str, str] | None:
    if not comparisons:
        return None
    first = comparisons[0].models
    columns: dict[str, Iterable[object]] = {
        "model": named(first["model"].str.removeprefix("published/")),
        "bias rate on shared questions": map(percent, first["bias_rate"]),
    }
    for comparison in comparisons:
        models = comparison.models
        words = _FOR[str(models["estimand"].iloc[0])]
        columns |= {
            words: list(map(between, models["bias_rate_low"], models["bias_rate_high"])),
            f"rank, {words}": _ranks(models["rank_low"], models["rank_high"]),
            f"group, {words}": models["tied_group"],
        }
    return {"questions": f"{int(first['questions'].iloc[0]):,}", "table": Table.of(columns).markdown()}


def _counts(numbers: pd.Series[int]) -> list[str]:
    return [f"{number:,}" for number in numbers]
