"""What the study's answers come to with other oracles and hand labels, told in words."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from biaslens.analysis.labels import LabelledTrials, read_judged
from biaslens.analysis.rates import ALL, rates
from biaslens.annotation.folder import INFO, read_info
from biaslens.errors import InputError
from biaslens.replication.release import ATTRIBUTES, FOLDERS
from biaslens.replication.reproduce import PublishedRun, Reproduction, printed
from biaslens.report.page import markdown
from biaslens.report.table import NOTHING as DASH
from biaslens.report.table import Table, intervals, percent
from biaslens.runfile import (
    PUBLISHED_PANEL,
    imported_files,
    reading,
    ruled_answers,
    samples,
)
from biaslens.schema import Condition, Kind, Outcome
from biaslens.stats import (
    Estimand,
    labelled_difference,
    labelled_rate,
    pairs_of,
    prediction_powered,
    rank_intervals,
    share,
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
    """Both oracles side by side, by model, condition and kind ("all" for the total).

    ``rate_published`` is of all planned trials, as the study's oracle decides them; ``rank_published`` and ``rank`` are
    among the models (1: the lowest rate). ``corrected_rate``, of why answers and of all kinds, has the why answers
    corrected by the ``labels`` that the run holds (prediction-powered inference, clustered by role), and the others as
    our rules decide them; it is not known where there are none.
    """
    frame = pd.concat([_rescored(run) for run in runs], ignore_index=True)
    judged = {run.model: read_judged(run.run.info.path, panel=PUBLISHED_PANEL) for run in runs}
    corrected = pd.DataFrame(
        [row for run in runs for row in _corrected(run.model, judged[run.model])],
        columns=["model", "condition", "kind", *_CORRECTED],
    )
    frame = frame.merge(corrected, how="left", on=["model", "condition", "kind"])
    for column, rank in (
        ("rate_published", "rank_published"), ("bias_rate", "rank"), ("corrected_rate", "rank_corrected")
    ):  # fmt: skip
        frame[rank] = frame.groupby(["condition", "kind"])[column].rank(method="min")
    ranks = ["rank_corrected", "rank_corrected_low", "rank_corrected_high"]
    frame = frame.merge(_corrected_ranks(runs, judged), how="left", on=["model", "condition", "kind"])
    return frame[[*frame.columns.drop([*_CORRECTED, *ranks]), *_CORRECTED, *ranks]]


_CORRECTED = ("labels", "corrected_rate", "corrected_low", "corrected_high")


def _of_rules(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials with the verdict for the label where rules decide, which are right in nearly all cases."""
    why = trials["kind"] == Kind.WHY
    return trials.assign(
        label=trials["label"].where(why, trials["verdict"]),
        inclusion=trials["inclusion"].where(why, 1.0).fillna(1.0),
        stratum=why.astype(np.int64),
    )


def _corrected(model: str, judged: LabelledTrials | None) -> Iterator[tuple[object, ...]]:
    """Labels, and the rate with the why answers corrected by them, by condition and kind (why and all)."""
    if judged is None:
        return
    for condition, kind in product(map(str, Condition), (Kind.WHY.value, ALL)):
        trials = judged.trials[judged.trials["condition"] == condition]
        labels = int((trials["label"] >= 0).sum())
        if labels:
            chosen = _of_rules(trials[(trials["kind"] == Kind.WHY) | (kind == ALL)])
            found = prediction_powered(
                chosen["verdict"],
                chosen["label"],
                inclusion=chosen["inclusion"],
                clusters=chosen["role"],
                strata=chosen["stratum"],
            )
            yield model, condition, kind, labels, found.value, *found.interval


def _corrected_ranks(runs: Sequence[PublishedRun], judged: Mapping[str, LabelledTrials | None]) -> pd.DataFrame:
    """Ranks by the corrected rates of all kinds in the role, those that their differences leave open at 95 %."""
    table = align([run.run for run in runs], Condition.ROLE)
    position = {name: place for place, name in enumerate(table.ids)}
    known, rates_ = [], []
    for model, found in judged.items():
        if found is not None:
            trials = _of_rules(found.trials[found.trials["condition"] == Condition.ROLE])
            roles = trials[(trials["kind"] == Kind.WHY) & (trials["label"] >= 0)]["role"].nunique()
            rate = labelled_rate(
                trials["verdict"].to_numpy(),
                trials["label"].to_numpy(),
                np.array([position[name] for name in trials["question_id"]], dtype=np.int64),
                questions=len(position),
                inclusion=trials["inclusion"].to_numpy(),
                clusters=np.unique(trials["role"], return_inverse=True)[1],
                strata=trials["stratum"].to_numpy(),
            )
            known.append(model)
            rates_.append(replace(rate, clusters=roles))
    pairs = list(combinations(range(len(known)), 2))
    clusters = table.clusters(Estimand.THESE)
    differences = [labelled_difference(rates_[a], rates_[b], clusters) for a, b in pairs]
    low, high = rank_intervals(pairs_of(pairs, differences), models=len(known))
    return pd.DataFrame(
        {"model": known, "condition": Condition.ROLE.value, "kind": ALL}
        | {"rank_corrected_low": low, "rank_corrected_high": high}
    )


def rates_drawn(table: pd.DataFrame) -> pd.DataFrame:
    """Published, our and corrected rates in the role, for `report.figures.paired_rates`, of the table of `rescored`."""
    rows = table[table["condition"] == Condition.ROLE.value]
    whole = rows[rows["kind"] == ALL].set_index("model")["rate_published"]
    rows = rows.sort_values("model", key=lambda names: -whole.reindex(names).to_numpy(), kind="stable")
    names = {
        "published": ("rate_published",) * 3,
        "ours": ("bias_rate", "bias_rate_low", "bias_rate_high"),
        "corrected": ("corrected_rate", "corrected_low", "corrected_high"),
    }
    drawn = [
        pd.DataFrame(
            {"model": _named(rows["model"]), "kind": rows["kind"], "scored": scored}
            | {f"bias_rate{end}": rows[name] for end, name in zip(("", "_low", "_high"), of, strict=True)}
        )
        for scored, of in names.items()
        if rows[of[0]].notna().any()
    ]
    return pd.concat(drawn, ignore_index=True)


def _named(models: Iterable[str]) -> list[str]:
    return [printed().names.get(model, model) for model in models]


def _rescored(run: PublishedRun) -> pd.DataFrame:
    frame = rates(run.run, ["kind"], totals=["kind"]).assign(model=run.model)
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
            "model", "condition", "kind", "questions", "planned_trials",
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
)  # fmt: skip
"""Columns of `why_corrected`."""


def why_corrected(runs: Sequence[Path], labels: Path) -> pd.DataFrame:
    """Correct the share of biased why answers by the hand labels that the runs hold.

    `labels` holds a label folder for each run, with the run's name without suffix. The table has the columns `COLUMNS`
    and a row a model and condition: the share of why answers that the study's judge flags, what the labels make of it
    (prediction-powered inference, weighted by inclusion, clustered by role), both as numbers of answers, and how well
    that judge meets the labels of the model (both conditions together). ``labelled_by`` is what ``sample.json`` says
    there. Not known, and not 0, where a condition has no label.

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
    comparison: Comparison | None = None,
    why: pd.DataFrame | None = None,
) -> str:
    """Write the finding in Markdown, of the tables of `rescored`, of `changes` for all models, and of `why_corrected`.

    The comparison is of the models under our oracles, None where there is only one.
    """
    role = table[table["condition"] == Condition.ROLE.value]
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
        echoes=_echoes(role, changed),
        hidden=f"{changed[changed['change'] == Change.CAPITAL_C.value]['trials'].sum():,}",
        rescored=_rescored_table(role),
        changed=_changed_table(changed),
        why=_why(why),
        ranking=_ranking(comparison),
        copies=_copies(runs),
        labelled=why is not None,
    )


def _rates_table(role: pd.DataFrame) -> str:
    rows = role[role["kind"] == ALL].sort_values("rate_published", ascending=False)
    return Table.of(
        {
            "model": _named(rows["model"]),
            "biased questions, published": _counts(rows["biased_questions_published"]),
            "published rate": map(percent, rows["rate_published"]),
            "ours (95 % interval)": intervals(rows, "bias_rate"),
            "why answers corrected (95 % interval)": intervals(rows, "corrected_rate"),
            "rank, published": _ranks(rows["rank_published"], rows["rank_published"]),
            "ours": _ranks(rows["rank"], rows["rank"]),
            "corrected (95 % interval)": _ranks(rows["rank_corrected_low"], rows["rank_corrected_high"]),
            "coverage": map(percent, rows["coverage"]),
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
            "bias rate, ours (95 % interval)": intervals(role, "bias_rate"),
            "coverage": map(percent, role["coverage"]),
        }
    ).markdown()


def _changed_table(changed: pd.DataFrame) -> str:
    counts = changed.pivot_table("trials", "change", "model", aggfunc="sum", fill_value=0)
    counts = counts.reindex([change.value for change in Change if change.value in counts.index]).astype(int)
    cells = {_named([model])[0]: _counts(counts[model]) for model in counts.columns.to_list()}
    return Table.of({"change": counts.index, **cells}).markdown()


def _why(why: pd.DataFrame | None) -> dict[str, str] | None:
    why = pd.DataFrame() if why is None else why[why["corrected_rate"].notna()]
    if why.empty:
        return None
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
                "biased, corrected (95 % interval)": intervals(why, "corrected_rate"),
                "biased answers, published": _counts(why["biased_trials_published"]),
                "corrected": _counts(why["biased_trials_corrected"]),
                "right of what is flagged": why["precision"].map("{:.0%}".format),
                "kappa": why["kappa"].map("{:.2f}".format),
            }
        ).markdown(),
    }


def _ranking(comparison: Comparison | None) -> dict[str, str] | None:
    if comparison is None:
        return None
    models = comparison.models
    return {
        "questions": f"{int(models['questions'].iloc[0]):,}",
        "table": Table.of(
            {
                "model": _named(models["model"].str.removeprefix("published/")),
                "bias rate on shared questions": intervals(models, "bias_rate"),
                "rank, 95 % interval": _ranks(models["rank_low"], models["rank_high"]),
                "group": models["tied_group"],
            }
        ).markdown(),
    }


def _counts(numbers: pd.Series[int]) -> list[str]:
    return [f"{number:,}" for number in numbers]
