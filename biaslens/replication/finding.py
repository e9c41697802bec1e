"""What the study's answers come to with other oracles and hand labels, told in words."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis import corrected_rates, oracle_agreement, read_labels
from biaslens.analysis.comparison import Comparison, align
from biaslens.analysis.frame import BIASED, KINDS, NOTHING, STATES
from biaslens.analysis.labels import read_judged
from biaslens.analysis.rates import ALL, rates
from biaslens.annotation.folder import INFO, read_info
from biaslens.errors import InputError
from biaslens.replication.release import ATTRIBUTES, FOLDERS
from biaslens.replication.reproduce import PublishedRun, Reproduction, printed
from biaslens.report.page import markdown
from biaslens.report.table import NOTHING as DASH
from biaslens.report.table import Table, between, percent
from biaslens.runfile import (
    PUBLISHED_PANEL,
    imported_files,
    reading,
    ruled_answers,
    samples,
)
from biaslens.schema import Condition, Kind, Outcome
from biaslens.stats import (
    Clusters,
    Estimand,
    Estimate,
    LabelledRate,
    labelled_difference,
    labelled_rate,
    pairs_of,
    prediction_powered,
    rank_intervals,
    share,
    with_comparisons,
)

RULED = (Kind.YES_NO, Kind.CHOICE)
"""Kinds that rules decide; why answers keep the published votes."""

_UNBIASED = STATES.index(Outcome.UNBIASED)
_ECHOES = ("echo", "listing")


class Change(StrEnum):
    """Why a trial is decided differently, or left out."""

    CAPITAL_C = "a group was taken; a capital C in the text hid it"
    PHRASE = "a group was taken; a phrase of the abstaining list hid it"
    HIDDEN_YES = "yes; hidden by the letters no in the text"
    OTHER_YES = "yes in other words"
    NO_SIDE = "takes no side in words the list does not have"
    REFUSED = "a refusal, counted apart"
    ECHO = "an echo or listing of the answer format: invalid"
    NOTHING_SAID = "empty, an error text or off task: invalid"
    MISSING = "no answer in the release"
    OTHER = "something else"


def changes(run: PublishedRun) -> pd.DataFrame:
    """Count the yes/no and choice trials that our oracles decide differently.

    A trial counts when one oracle calls it biased and the other does not, or when ours takes it out of the
    denominator or counts it as a refusal. Columns: ``model``, ``condition``, ``kind``, ``change``, ``published``
    ("biased" or "unbiased"), ``ours`` (an outcome, or "unasked"), ``trials``, ``share`` (of the planned trials of the
    kind).
    """
    counts: Counter[tuple[Condition, Kind, Change, str, str]] = Counter()
    ruled = np.isin(run.questions.kind, [KINDS.index(kind) for kind in RULED])[:, None]
    changed: dict[str, NDArray[np.bool_]] = {}
    planned: Counter[tuple[Condition, Kind]] = Counter()
    for condition, published in run.conditions.items():
        states = run.run.trials(condition).states
        decided = np.where(published.biased == 1, states == BIASED, states == _UNBIASED)
        changed[condition] = ruled & (states != NOTHING) & ~decided
        for kind in RULED:
            planned[condition, kind] = int((states[run.questions.select(kind=kind)] != NOTHING).sum())
    position = {question_id: code for code, question_id in enumerate(run.questions.ids)}
    path = run.run.info.path
    with reading(path) as store:
        for question_id, name, trial, text, reason in ruled_answers(store):
            place = position[question_id], trial - 1
            if changed[name][place]:
                condition, kind = Condition(name), KINDS[run.questions.kind[place[0]]]
                ours = str(STATES[run.run.trials(condition).states[place]])
                was = "biased" if run.conditions[condition].biased[place] == 1 else "unbiased"
                counts[condition, kind, _change(kind, ours, text, reason or ""), was, ours] += 1
    order = list(Change)
    rows = sorted(counts.items(), key=lambda item: (item[0][:2], order.index(item[0][2]), item[0][3:]))
    return pd.DataFrame(
        [
            (run.model, condition.value, kind.value, change.value, was, ours, count, count / planned[condition, kind])
            for (condition, kind, change, was, ours), count in rows
        ],
        columns=["model", "condition", "kind", "change", "published", "ours", "trials", "share"],
    )


def _change(kind: Kind, ours: str, text: str | None, reason: str) -> Change:
    if text is None:
        return Change.MISSING
    if ours == Outcome.REFUSED:
        return Change.REFUSED
    if ours == Outcome.INVALID:
        return Change.ECHO if reason in _ECHOES else Change.NOTHING_SAID
    if kind is Kind.CHOICE and ours == Outcome.BIASED:
        return Change.CAPITAL_C if "C" in text else Change.PHRASE
    if kind is Kind.YES_NO and ours == Outcome.BIASED:
        return Change.HIDDEN_YES if "yes" in text.lower() else Change.OTHER_YES
    return Change.NO_SIDE if ours == Outcome.UNBIASED else Change.OTHER


def rescored(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    """Both oracles side by side, by model, condition and kind ("all" for the total), for each `estimand`.

    ``rate_published`` is of all planned trials, as the study's oracle decides them; ``rank_published`` and ``rank`` are
    among the models (1: the lowest rate). ``corrected_rate``, of why answers and of all kinds, has the why answers
    corrected by the ``labels`` that the run holds (prediction-powered inference), and the others as our rules decide
    them; it is not known where there are none. ``rank_corrected_low`` and ``_high`` are the ranks that the differences
    of the corrected rates leave open. Only the intervals hang on the estimand.
    """
    keys = ["model", "condition", "kind", "estimand"]
    frame = pd.concat([_rescored(run, estimand) for estimand in Estimand for run in runs], ignore_index=True)
    frame = frame.merge(_corrected(runs), how="left", on=keys)
    for column, rank in (
        ("rate_published", "rank_published"), ("bias_rate", "rank"), ("corrected_rate", "rank_corrected")
    ):  # fmt: skip
        frame[rank] = frame.groupby(["condition", "kind", "estimand"])[column].rank(method="min")
    ranks = ["rank_corrected", "rank_corrected_low", "rank_corrected_high"]
    return frame[[*frame.columns.drop([*_CORRECTED, *ranks]), *_CORRECTED, *ranks]]


_CORRECTED = ("labels", "corrected_rate", "corrected_low", "corrected_high")


def _corrected(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    """Labels, rates with the why answers corrected by them, and ranks, by condition, kind and estimand."""
    judged = {run.model: read_judged(run.run.info.path, panel=PUBLISHED_PANEL) for run in runs}
    frames = []
    for condition, kind in product(Condition, (Kind.WHY.value, ALL)):
        table = align([run.run for run in runs], condition)
        asked = np.flatnonzero((table.kind == KINDS.index(Kind.WHY)) | (kind == ALL))
        position = {table.ids[question]: place for place, question in enumerate(asked.tolist())}
        found = {
            model: _of_labels(held.trials[held.trials["condition"] == condition], position)
            for model, held in judged.items()
            if held is not None
        }
        known = {model: both for model, both in found.items() if both[1].labels}
        frames += [
            _for_estimand(known, table.clusters(estimand).at(asked)).assign(
                condition=condition.value, kind=kind, estimand=estimand.value
            )
            for estimand in Estimand
        ]
    return pd.concat(frames, ignore_index=True)


def _of_labels(trials: pd.DataFrame, position: Mapping[str, int]) -> tuple[Estimate, LabelledRate]:
    """Corrected rate over the questions of which the position is given, and the same taken apart by question.

    Where rules decide, which are right in nearly all cases, the verdict is the label.
    """
    trials = trials[trials["question_id"].isin(position)]
    why = (trials["kind"] == Kind.WHY).to_numpy()
    labelled = why & (trials["label"] >= 0).to_numpy()
    verdict, label = trials["verdict"].to_numpy(), trials["label"].where(why, trials["verdict"]).to_numpy()
    role = np.unique(trials["role"], return_inverse=True)[1]
    inclusion, strata = trials["inclusion"].where(why, 1.0).fillna(1.0).to_numpy(), why.astype(np.int64)
    if not labelled.any():
        return Estimate.undefined("no label"), LabelledRate(math.nan, np.zeros(len(position)), reason="no label")
    question = trials["question_id"].map(position).to_numpy(dtype=np.int64)
    rate = labelled_rate(
        verdict, label, question, questions=len(position), inclusion=inclusion, clusters=role, strata=strata
    )
    rate = replace(rate, labels=int(labelled.sum()), clusters=len(np.unique(role[labelled])))
    return prediction_powered(verdict, label, inclusion=inclusion, clusters=role, strata=strata), rate


def _for_estimand(known: Mapping[str, tuple[Estimate, LabelledRate]], clusters: Clusters) -> pd.DataFrame:
    rates_ = [rate for _, rate in known.values()]
    found = [with_comparisons(estimate, rate, clusters) for estimate, rate in known.values()]
    pairs = list(combinations(range(len(known)), 2))
    differences = [labelled_difference(rates_[a], rates_[b], clusters) for a, b in pairs]
    low, high = rank_intervals(pairs_of(pairs, differences), models=len(known))
    return pd.DataFrame(
        {
            "model": pd.Series(list(known), dtype=object),
            "labels": [rate.labels for rate in rates_],
            "corrected_rate": [rate.value for rate in found],
            "corrected_low": [rate.low for rate in found],
            "corrected_high": [rate.high for rate in found],
            "rank_corrected_low": low,
            "rank_corrected_high": high,
        }
    )


_LIKE, _THESE = Estimand.LIKE_THESE.value, Estimand.THESE.value


def _side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of `rescored` for questions like these, with the bounds for these questions in columns ``…_these``."""
    keys = ["model", "condition", "kind"]
    bounds = [name for name in table if str(name).endswith(("_low", "_high"))]
    like, these = (table[table["estimand"] == estimand] for estimand in (_LIKE, _THESE))
    return like.merge(these[[*keys, *bounds]], how="left", on=keys, suffixes=("", "_these"))


def rates_drawn(table: pd.DataFrame) -> pd.DataFrame:
    """Published, our and corrected rates in the role, for `report.figures.paired_rates`, of the table of `rescored`."""
    rows = _side_by_side(table[table["condition"] == Condition.ROLE.value])
    whole = rows[rows["kind"] == ALL].set_index("model")["rate_published"]
    rows = rows.sort_values("model", key=lambda names: -whole.reindex(names).to_numpy(), kind="stable")
    ends = ("bias_rate_low", "bias_rate_high", "inner_low", "inner_high")
    names = {
        "published": ("rate_published", "rate_published"),
        "ours": ("bias_rate", "bias_rate"),
        "corrected": ("corrected_rate", "corrected"),
    }
    drawn = []
    for scored, (rate, stem) in names.items():
        if rows[rate].notna().any():
            columns = [f"{stem}_{end}" for end in ("low", "high", "low_these", "high_these")]
            values = {end: rows.get(name, rows[rate]) for end, name in zip(ends, columns, strict=True)}
            cells = {"model": _named(rows["model"]), "kind": rows["kind"], "scored": scored, "bias_rate": rows[rate]}
            drawn.append(pd.DataFrame(cells | values))
    return pd.concat(drawn, ignore_index=True)


def _named(models: Iterable[str]) -> list[str]:
    return [printed().names.get(model, model) for model in models]


def _rescored(run: PublishedRun, estimand: Estimand) -> pd.DataFrame:
    frame = rates(replace(run.run, estimand=estimand), ["kind"], totals=["kind"]).assign(model=run.model)
    cells = [
        (run.conditions[Condition(condition)], run.questions.select(kind=None if kind == ALL else Kind(kind)))
        for condition, kind in zip(frame["condition"], frame["kind"], strict=True)
    ]
    frame["biased_questions_published"] = [int((found.biased_questions & chosen).sum()) for found, chosen in cells]
    frame["biased_trials_published"] = [int((found.biased[chosen] == 1).sum()) for found, chosen in cells]
    frame["rate_published"] = frame["biased_trials_published"] / frame["planned_trials"]
    for outcome in ("invalid", "refused"):
        frame[f"{outcome}_share"] = frame[f"{outcome}_trials"] / frame["planned_trials"]
    return frame[
        [
            "model", "condition", "kind", "estimand", "questions", "planned_trials",
            "biased_questions_published", "biased_questions", "biased_trials_published", "biased_trials",
            "rate_published", "bias_rate", "bias_rate_low", "bias_rate_high", "coverage", "invalid_share",
            "refused_share",
        ]
    ]  # fmt: skip


_AGREEMENT = ("kappa", "sensitivity", "specificity", "precision", "false_alarms", "missed_bias")

COLUMNS = (
    "model", "condition", "valid_trials", "labels", "labelled_by", "rate_published", "rate_published_low",
    "rate_published_high", "corrected_rate", "corrected_low", "corrected_high", "biased_trials_published",
    "biased_trials_corrected", "biased_trials_corrected_low", "biased_trials_corrected_high", *_AGREEMENT,
    "estimand",
)  # fmt: skip
"""Columns of `why_corrected`."""


def why_corrected(runs: Sequence[Path], labels: Path) -> pd.DataFrame:
    """Correct the share of biased why answers by the hand labels that the runs hold.

    `labels` holds a label folder for each run, with the run's name without suffix. The table has the columns `COLUMNS`
    and a row a model and condition: the share of why answers that the study's judge flags, what the labels make of it
    (prediction-powered inference, weighted by inclusion), both as numbers of answers, and how well that judge meets the
    labels of the model (both conditions together). Intervals are for these questions, clustered by role; `rescored` has
    the others too. ``labelled_by`` is what ``sample.json`` says there. Not known, and not 0, where a condition has no
    label.

    Raises `InputError` when a run has no label folder, or does not hold its labels.
    """
    rows = []
    for run in runs:
        folder = labels / run.stem
        if not (folder / INFO).is_file():
            raise InputError(f"{labels}: has no folder {run.stem} with labels of {run}")
        info = read_info(folder)
        with reading(run) as store:
            if str(info["sample"]) not in samples(store):
                raise InputError(
                    f"{run}: does not hold the labels of {folder}; "
                    f"`{shlex.join(['biaslens', 'labels', 'import', str(run), str(folder)])}` takes them in"
                )
        labelled_by = str(info.get("labelled_by", ""))
        agreement = oracle_agreement(read_labels(run))
        whole = agreement[(agreement["attribute"] == ALL) & (agreement["subset"] == "all")]
        judge = next(iter(whole[whole["oracle"] == PUBLISHED_PANEL].to_dict("records")), {})
        found = corrected_rates(run, panel=PUBLISHED_PANEL)
        whole_why = (found["kind"] == Kind.WHY.value) & (found["attribute"] == ALL)
        for row in found[whole_why].to_dict("records"):
            trials = row["valid_trials"]
            counts = {
                f"biased_trials_corrected{bound}": trials * row[f"corrected_{name}"]
                for bound, name in (("", "rate"), ("_low", "low"), ("_high", "high"))
            }
            published = {f"rate_published{bound}": row[f"bias_rate{bound}"] for bound in ("", "_low", "_high")}
            facts = {
                "model": str(row["model"]).removeprefix("published/"),
                "labelled_by": labelled_by,
                "biased_trials_published": trials * row["bias_rate"],
                "estimand": _THESE,
            }
            rows.append(row | published | facts | counts | {name: judge.get(name, math.nan) for name in _AGREEMENT})
    table = pd.DataFrame(rows, columns=pd.Index(COLUMNS))
    numbers = [name for name in COLUMNS if name.startswith("biased_trials")]
    return (
        table.astype(dict.fromkeys(numbers, float))
        .round(dict.fromkeys(numbers, 0))
        .astype(dict.fromkeys(numbers, "Int64"))
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
    both = _side_by_side(table)
    role = both[both["condition"] == Condition.ROLE.value]
    changed = changed[changed["condition"] == Condition.ROLE.value]
    return markdown(
        "biaslens.replication",
        "finding.md.j2",
        command=COMMAND if why is None else f"{COMMAND} --labels labels/",
        picture=PICTURE,
        models=_named(dict.fromkeys(table["model"])),
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


_FOR = {estimand: f"95 % for {estimand}" for estimand in (_LIKE, _THESE)}


def _bounds(rows: pd.DataFrame, stem: str) -> dict[str, list[str]]:
    """Columns of the intervals for both estimands, the default first."""
    columns = {}
    for estimand, end in ((_LIKE, ""), (_THESE, "_these")):
        ends = zip(rows[f"{stem}_low{end}"], rows[f"{stem}_high{end}"], strict=True)
        columns[_FOR[estimand]] = [DASH if pd.isna(low) else between(low, high) for low, high in ends]
    return columns


def _rates_table(role: pd.DataFrame) -> str:
    rows = role[role["kind"] == ALL].sort_values("rate_published", ascending=False)
    return Table.of(
        {
            "model": _named(rows["model"]),
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
            "model": _named(rows["model"]),
            "rate, why answers corrected": map(percent, rows["corrected_rate"]),
            **_bounds(rows, "corrected"),
            f"rank, {_FOR[_LIKE]}": _ranks(rows["rank_corrected_low"], rows["rank_corrected_high"]),
            f"rank, {_FOR[_THESE]}": _ranks(rows["rank_corrected_low_these"], rows["rank_corrected_high_these"]),
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
            "model": _named([str(model)])[0],
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
            {"models": _named([one, other]), "files": f"{folder}/{attribute}", "count": count}
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
            "model": _named(role["model"]),
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
    cells = {_named([model])[0]: _counts(counts[model]) for model in counts.columns.to_list()}
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
                "model": _named(why["model"]),
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
        "model": _named(first["model"].str.removeprefix("published/")),
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
