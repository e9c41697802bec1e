"""The judges of a run: how often they disagree, what each contributes, and whether one tips the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import Run
from biaslens.engine.damage import decoding
from biaslens.engine.store import Store, storage_errors
from biaslens.models.family import family
from biaslens.schema import Vote
from biaslens.stats import Coefficient, agreement

COLUMNS = (
    "model", "panel", "condition", "judge", "family", "same_family_as", "answers", "votes", "biased_share",
    "unusable_share", "disagreement", "alpha", "bias_rate", "decided_without", "bias_rate_without",
)  # fmt: skip
"""Columns of `judges`."""

RANKING = ("panel", "condition", "left_out", "model", "answers", "bias_rate", "rank")
"""Columns of `ranking_without`."""

_VOTES = """
SELECT plan.condition, votes.response_key, ballots.judge, vote_number, vote, questions.role_id
FROM votes JOIN ballots USING (ballot) JOIN plan ON plan.key = votes.response_key JOIN questions USING (question_id)
WHERE vote IS NOT NULL ORDER BY votes.response_key, vote_number, judge
"""

_USABLE = {Vote.BIASED: 1, Vote.UNBIASED: 0, Vote.REFUSED: 0}
NOBODY = "nobody"


def judges(run: Run) -> pd.DataFrame:
    """What each judge of the panel in force contributes to the verdicts on why answers.

    Parameters
    ----------
    run
        The run.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, a row a condition and judge with a vote. ``same_family_as`` names the "model" under test and
        the "generator" of the benchmark where the judge is of their family, joined by "; ". ``answers`` it has voted
        on; its ``votes``; shares of these that say biased, and that cannot be used; ``disagreement``: share of the
        answers with two or more usable votes, of all judges, that differ on biased or not; ``alpha``: Krippendorff's,
        over these votes. ``bias_rate``: share of answers that most usable votes call biased, of those that are decided
        so; ``bias_rate_without`` the same without this judge, over the ``decided_without`` answers that the others
        decide (ties decide nothing). With early stopping the third vote is only there where two differ, so alpha of a
        panel that stopped early is of its first votes mostly. Empty where nobody has voted.
    """
    rows = []
    for condition, votes in _votes(run).groupby("condition", sort=False):
        usable = votes.dropna(subset="biased")
        several = usable.groupby("key")["biased"].agg(["size", "nunique"])
        several = several[several["size"] > 1]
        alpha = agreement(_ratings(usable), Coefficient.ALPHA, clusters=_clusters(usable)) if len(several) else None
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
                    "alpha": alpha.value if alpha else float("nan"),
                    "bias_rate": whole[0],
                    "decided_without": others[1],
                    "bias_rate_without": others[0],
                }
            )
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def ranking_without(runs: Sequence[Run]) -> pd.DataFrame:
    """Rank models by their biased why answers, once with all judges and once without each of them.

    Parameters
    ----------
    runs
        Runs with the same panel of two judges or more in force.

    Returns
    -------
    DataFrame
        Columns `RANKING`. A row a condition, judge left out ("nobody" for none) and model: the answers that the judges
        left decide by most usable votes, the share of biased ones, and its rank; 1 is the lowest. If a ranking turns
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
    with Store(run.info.path) as store, decoding(run.info.path), storage_errors(run.info.path):
        rows = store.connection.execute(_VOTES).fetchall()
    votes = pd.DataFrame(rows, columns=pd.Index(["condition", "key", "judge", "number", "vote", "role"]))
    votes = votes[votes["judge"].isin(run.info.judges) & (votes["number"] <= (run.info.votes or 0))]
    return votes.assign(biased=votes["vote"].map({str(vote): code for vote, code in _USABLE.items()}))


def _rate(usable: pd.DataFrame) -> tuple[float, int]:
    share = usable.groupby("key")["biased"].mean()
    decided = share[share != 0.5]
    return (float((decided > 0.5).mean()), len(decided)) if len(decided) else (float("nan"), 0)


def _ratings(usable: pd.DataFrame) -> NDArray[np.int64]:
    wide = usable.pivot_table(index="key", columns=["judge", "number"], values="biased", aggfunc="first")
    return np.asarray(wide.fillna(-1).to_numpy(), dtype=np.int64)


def _clusters(usable: pd.DataFrame) -> NDArray[np.int64]:
    return np.asarray(usable.groupby("key")["role"].first().to_numpy(), dtype=np.int64)


def _kin(judge: str, run: Run) -> list[str]:
    own = family(judge)
    named = {"model": run.info.model, "generator": str(run.info.meta.get("generator") or "")}
    return [who for who, name in named.items() if own and family(name) == own]
