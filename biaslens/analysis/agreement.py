"""How far people, oracles and judges agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import ATTRIBUTES, KINDS, Run, judge_votes
from biaslens.analysis.labels import Labels, oracles_of
from biaslens.analysis.rates import ALL, with_ends
from biaslens.models.catalogue import family
from biaslens.runfile import JudgeVote
from biaslens.schema import Outcome, Vote
from biaslens.stats import Coefficient, agreement, verdict_accuracy

_OUTCOMES = [str(outcome) for outcome in Outcome]
_VALID = frozenset(str(outcome) for outcome in Outcome if outcome.valid)
_UNKNOWN = -1

PEOPLE = (
    "kind", "subset", "measure", "annotator_a", "annotator_b", "items", "prevalence", "agreement", "kappa", "kappa_low",
    "kappa_high", "alpha", "ac1", "reason",
)  # fmt: skip
"""Columns of `people_agreement`."""

_SHARES = ("agreement", "prevalence", "sensitivity", "specificity", "precision")

ORACLES = (
    "oracle", "kind", "attribute", "subset", "items", "kappa", "kappa_low", "kappa_high", "ac1",
    *(f"{name}{bound}" for name in _SHARES for bound in ("", "_low", "_high")),
    "missed_bias", "false_alarms", "only_oracle_invalid", "only_people_invalid", "people_kappa", "people_items",
    "reason",
)  # fmt: skip
"""Columns of `oracle_agreement`."""


def people_agreement(labels: Labels) -> pd.DataFrame:
    """Agreement between annotators: each pair, and all of them together ("all", "all").

    Columns are those of agreement_people.csv in results/README.md. ``kappa`` is Cohen's for a pair, ``alpha``
    Krippendorff's for all, and ``kappa_low`` and ``kappa_high`` the bootstrap interval of either (`stats.agreement`,
    clustered by role); ``ac1`` is Gwet's, to be read where nearly all labels are of one class. Nothing is weighted:
    this is how people agree on what they read. Empty with labels of one person.
    """
    rows = []
    for kind in (ALL, *map(str, KINDS)):
        of_kind = labels if kind == ALL else labels.of_kind(kind)
        for subset, people in (("all", of_kind.people), ("sure", of_kind.confident)):
            clusters = of_kind.items["role"].to_numpy()
            rows += [{"kind": kind, "subset": subset, **row} for row in _between(people, clusters)]
    return pd.DataFrame(rows, columns=pd.Index(PEOPLE))


def _between(people: pd.DataFrame, clusters: NDArray[np.int64]) -> Iterator[dict[str, object]]:
    names = list(people.columns)
    for measure in ("biased", "outcome"):
        codes = {name: _codes(people[name], measure) for name in names}
        categories, biased = (2, 1) if measure == "biased" else (len(_OUTCOMES), _OUTCOMES.index(Outcome.BIASED))
        pairs = [(a, b, Coefficient.COHEN) for a, b in combinations(names, 2)]
        everybody = [(ALL, ALL, Coefficient.ALPHA)] if len(names) > 1 else []
        for a, b, coefficient in [*pairs, *everybody]:
            ratings = np.stack([codes[a], codes[b]] if a != ALL else list(codes.values()), axis=1)
            both = (ratings != _UNKNOWN).sum(axis=1) > 1
            if not both.any():
                continue
            found = agreement(ratings[both], coefficient, clusters=clusters[both])
            raw = agreement(ratings[both], Coefficient.RAW, clusters=clusters[both])
            ac1 = agreement(ratings[both], Coefficient.AC1, clusters=clusters[both], categories=categories)
            given = ratings[both][ratings[both] != _UNKNOWN]
            yield {
                "measure": measure,
                "annotator_a": a,
                "annotator_b": b,
                "items": int(both.sum()),
                "prevalence": float((given == biased).mean()),
                "agreement": raw.value,
                "kappa": found.value if a != ALL else float("nan"),
                "kappa_low": found.low,
                "kappa_high": found.high,
                "alpha": found.value if a == ALL else float("nan"),
                "ac1": ac1.value,
                "reason": found.reason,
            }


def _codes(outcomes: pd.Series, measure: str) -> NDArray[np.int64]:
    fine = measure == "outcome"
    code = {name: number if fine else int(name == Outcome.BIASED) for number, name in enumerate(_OUTCOMES)}
    return np.array([_UNKNOWN if pd.isna(value) else code[value] for value in outcomes], dtype=np.int64)


def oracle_agreement(labels: Labels) -> pd.DataFrame:
    """Agreement of every oracle with the final labels, biased against not biased.

    Columns are those of agreement_oracles.csv in results/README.md. Answers that people or the oracle call invalid or
    an error have no place in a comparison of biased with not biased and are counted apart. Everything else is weighted
    by one over the inclusion probability, and clustered by role: ``kappa`` is Cohen's with its bootstrap interval, the
    shares are as in `stats.Accuracy`. ``people_kappa`` is the ceiling: Krippendorff's alpha between people on the
    answers of the group that two or more of them labelled, also where nobody has adjudicated where they differ. Numbers
    are NaN, with the ``reason``, where people or oracle use one class only. The reason also names an oracle that has
    learned from these very labels, and agrees with them for that.
    """
    rows = []
    for kind in map(str, KINDS):
        of_kind = labels.of_kind(kind)
        final = of_kind.items["outcome"].notna().to_numpy()
        for oracle, verdicts in oracles_of(labels, kind).items():
            for attribute in (ALL, *map(str, ATTRIBUTES)):
                for subset in ("all", "sure"):
                    of_group = (of_kind.items["attribute"].isin([attribute]) | (attribute == ALL)).to_numpy()
                    chosen = of_group & final & verdicts.notna().to_numpy()
                    if subset == "sure":
                        chosen &= of_kind.items["sure"].to_numpy()
                    if chosen.any():
                        rows.append(
                            {"oracle": oracle, "kind": kind, "attribute": attribute, "subset": subset}
                            | _against_people(of_kind.items[chosen], verdicts[chosen], labels.learned.get(oracle, ""))
                            | _ceiling(of_kind, of_group, confident=subset == "sure")
                        )
    return pd.DataFrame(rows, columns=pd.Index(ORACLES))


def _ceiling(labels: Labels, chosen: NDArray[np.bool_], *, confident: bool) -> dict[str, object]:
    people = (labels.confident if confident else labels.people)[chosen]
    if len(people.columns) < 2:
        return {"people_kappa": float("nan"), "people_items": 0}
    ratings = np.stack([_codes(people[name], "biased") for name in people], axis=1)
    found = agreement(ratings, Coefficient.ALPHA, clusters=labels.items["role"].to_numpy()[chosen])
    return {"people_kappa": found.value, "people_items": found.items}


def _against_people(items: pd.DataFrame, said: pd.Series, learned: str) -> dict[str, object]:
    people_valid, oracle_valid = items["outcome"].isin(_VALID).to_numpy(), said.isin(_VALID).to_numpy()
    both = people_valid & oracle_valid
    truth = np.where(both, (items["outcome"] == Outcome.BIASED).to_numpy(), _UNKNOWN).astype(np.int64)
    verdict = np.where(both, (said == Outcome.BIASED).to_numpy(), _UNKNOWN).astype(np.int64)
    weights, clusters = 1 / items["inclusion"].to_numpy(), items["role"].to_numpy()
    ratings = np.stack([truth, verdict], axis=1)
    kappa = agreement(ratings, Coefficient.COHEN, weights=weights, clusters=clusters)
    ac1 = agreement(ratings, Coefficient.AC1, weights=weights, clusters=clusters, categories=2)
    accuracy = verdict_accuracy(truth, verdict, weights=weights, clusters=clusters)
    shares = {name: getattr(accuracy, name) for name in _SHARES}
    return {
        "items": int(both.sum()),
        **with_ends("kappa", kappa),
        "ac1": ac1.value,
        **{column: value for name, share in shares.items() for column, value in with_ends(name, share).items()},
        "missed_bias": 1 - accuracy.sensitivity.value,
        "false_alarms": 1 - accuracy.specificity.value,
        "only_oracle_invalid": int((people_valid & ~oracle_valid).sum()),
        "only_people_invalid": int((oracle_valid & ~people_valid).sum()),
        "reason": "; ".join(dict.fromkeys(filter(None, [kappa.reason, *(s.reason for s in shares.values()), learned]))),
    }


COLUMNS = (
    "model", "panel", "condition", "judge", "family", "same_family_as", "answers", "votes", "biased_share",
    "unusable_share", "disagreement", "alpha", "bias_rate", "decided_without", "bias_rate_without",
)  # fmt: skip
"""Columns of `judges`."""

RANKING = ("panel", "condition", "left_out", "model", "answers", "bias_rate", "rank")
"""Columns of `ranking_without`."""

_USABLE = {Vote.BIASED: 1, Vote.UNBIASED: 0, Vote.REFUSED: 0}
NOBODY = "nobody"


def judges(run: Run) -> pd.DataFrame:
    """What each judge of the active panel contributes to the verdicts on why answers; empty where nobody has voted.

    Columns are those of judges.csv in results/README.md, a row a condition and judge with a vote. ``same_family_as``
    names the "model" under test and the "generator" of the benchmark where the judge is of their family.
    ``disagreement`` and ``alpha`` are over the usable votes of all judges; ``bias_rate`` is by most usable votes,
    ``bias_rate_without`` the same without this judge (ties decide nothing). With early stopping the third vote is only
    there where two differ, so alpha of a panel that stopped early is of its first votes mostly.
    """
    rows = []
    for condition, votes in _votes(run).groupby("condition", sort=False):
        usable = votes.dropna(subset="biased")
        several = usable.groupby("key")["biased"].agg(["size", "nunique"])
        several = several[several["size"] > 1]
        alpha = _alpha(usable) if len(several) else float("nan")
        whole = _rate(usable)
        for judge, own in votes.groupby("judge", sort=True):
            others = _rate(usable[usable["judge"] != judge])
            rows.append(
                {
                    "model": run.info.model,
                    "panel": run.info.panel,
                    "condition": condition,
                    "judge": judge,
                    "family": family(str(judge)),
                    "same_family_as": "; ".join(_kin(str(judge), run)),
                    "answers": own["key"].nunique(),
                    "votes": len(own),
                    "biased_share": float((own["biased"] == 1).mean()),
                    "unusable_share": float(own["biased"].isna().mean()),
                    "disagreement": float((several["nunique"] > 1).mean()) if len(several) else float("nan"),
                    "alpha": alpha,
                    "bias_rate": whole[0],
                    "decided_without": others[1],
                    "bias_rate_without": others[0],
                }
            )
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def ranking_without(runs: Sequence[Run]) -> pd.DataFrame:
    """Rank models by their biased why answers, once with all judges and once without each of them.

    Columns are those of ranking_without_judge.csv in results/README.md; rank 1 is the lowest rate. If a ranking turns
    with one judge left out, it is that judge's ranking. Empty where the runs have not one panel of several judges.
    """
    several = len({run.info.panel for run in runs}) == 1 and len(runs[0].info.judges) > 1
    votes = [_votes(run).assign(model=run.info.model) for run in runs] if several else []
    if not votes:
        return pd.DataFrame(columns=pd.Index(RANKING))
    usable = pd.concat(votes, ignore_index=True).dropna(subset="biased")
    rows = []
    for condition, of_condition in usable.groupby("condition", sort=False):
        for left_out in (NOBODY, *sorted(of_condition["judge"].unique())):
            kept = of_condition[of_condition["judge"] != left_out]
            rates = {str(model): _rate(own) for model, own in kept.groupby("model", sort=True)}
            ranks = pd.Series({model: rate for model, (rate, _) in rates.items()}).rank(method="min")
            rows += [
                {
                    "panel": runs[0].info.panel,
                    "condition": condition,
                    "left_out": left_out,
                    "model": model,
                    "answers": answers,
                    "bias_rate": rate,
                    "rank": ranks[model],
                }
                for model, (rate, answers) in rates.items()
            ]
    return pd.DataFrame(rows, columns=pd.Index(RANKING))


def _votes(run: Run) -> pd.DataFrame:
    votes = pd.DataFrame(judge_votes(run), columns=pd.Index(JudgeVote._fields))
    votes = votes[votes["judge"].isin(run.info.judges) & (votes["number"] <= (run.info.votes or 0))]
    return votes.assign(biased=votes["vote"].map({str(vote): code for vote, code in _USABLE.items()}))


def _rate(usable: pd.DataFrame) -> tuple[float, int]:
    share = usable.groupby("key")["biased"].mean()
    decided = share[share != 0.5]
    return (float((decided > 0.5).mean()), len(decided)) if len(decided) else (float("nan"), 0)


def _alpha(usable: pd.DataFrame) -> float:
    """Krippendorff's, over the usable votes of all judges."""
    wide = usable.pivot_table(index="key", columns=["judge", "number"], values="biased", aggfunc="first")
    ratings = np.asarray(wide.fillna(-1).to_numpy(), dtype=np.int64)
    clusters = np.asarray(usable.groupby("key")["role"].first().to_numpy(), dtype=np.int64)
    return agreement(ratings, Coefficient.ALPHA, clusters=clusters).value


def _kin(judge: str, run: Run) -> list[str]:
    own = family(judge)
    named = {"model": run.info.model, "generator": str(run.info.meta.get("generator") or "")}
    return [who for who, name in named.items() if own and family(name) == own]
