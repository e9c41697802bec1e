"""People's labels in a run, beside what every oracle says of the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biaslens.analysis.frame import require_responses
from biaslens.engine.damage import decoding
from biaslens.engine.store import Store, storage_errors
from biaslens.evaluation.panel import panels
from biaslens.evaluation.tables import RULES_PANEL
from biaslens.oracles import screen

_SAMPLED = """
SELECT response_key, questions.kind, roles.attribute, questions.role_id, plan.condition, stratum, inclusion,
       sampled.outcome, sure, how
FROM sampled JOIN plan ON plan.key = response_key JOIN questions USING (question_id) JOIN roles USING (role_id)
WHERE how <> 'unlabelled' ORDER BY response_key
"""


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of a run; every table has the same answers as rows, in the order of their keys.

    Parameters
    ----------
    items
        Columns ``kind``, ``attribute``, ``role`` (a number), ``condition``, ``stratum``, ``inclusion``, ``outcome``
        (what people settled on; None where they differ), ``sure`` and ``how``.
    people
        A column an annotator who does not settle, with the outcome; None where that person has not labelled it.
    sure
        The same with the outcomes that the annotator is sure of, and None for the others.
    verdicts
        A column an oracle ("rules", or the name of a panel), with its outcome; None where it has given none.
    learned
        Oracles that have learned from these labels, which therefore tell nothing about them, and a sentence that says
        so.
    """

    items: pd.DataFrame
    people: pd.DataFrame
    sure: pd.DataFrame
    verdicts: pd.DataFrame
    learned: Mapping[str, str]

    def of_kind(self, kind: str) -> Labels:
        """Labels of one kind of question."""
        chosen = self.items["kind"] == kind
        return Labels(self.items[chosen], self.people[chosen], self.sure[chosen], self.verdicts[chosen], self.learned)


def read_labels(path: Path) -> Labels:
    """Read the labels that a run holds; none where nobody has labelled it.

    Raises
    ------
    StorageError
        When the run cannot be read.
    """
    with Store(path) as store, decoding(path), storage_errors(path):
        require_responses(store)
        learned = learned_from(store)
        rows = store.connection.execute(_SAMPLED).fetchall()
        labels = store.connection.execute(
            "SELECT response_key, annotator, outcome, sure FROM labels WHERE settles = 0"
        ).fetchall()
        verdicts = store.connection.execute(
            "SELECT response_key, panel, verdicts.outcome FROM verdicts JOIN sampled USING (response_key)"
        ).fetchall()
    names = ["key", "kind", "attribute", "role", "condition", "stratum", "inclusion", "outcome", "sure", "how"]
    items = pd.DataFrame(rows, columns=pd.Index(names)).set_index("key")
    items["sure"] = items["sure"].astype(bool)
    people = _wide([(key, who, outcome) for key, who, outcome, _ in labels], items.index)
    certain = _wide([(key, who, outcome) for key, who, outcome, sure in labels if sure], items.index)
    certain = certain.reindex(columns=people.columns).astype(object)
    return Labels(items, people, certain.where(certain.notna(), None), _wide(verdicts, items.index), learned)


def learned_from(store: Store) -> dict[str, str]:
    """Panels whose local judge has learned from labels that the run holds, and a sentence that says so."""
    samples = {sample for (sample,) in store.connection.execute("SELECT DISTINCT sample FROM sampled")}
    if samples.isdisjoint(screen.load().learned_from):
        return {}
    return {
        name: f"{screen.load().name} has learned from these labels; how it does on others stands in its model card"
        for name, spec in panels(store).items()
        if (spec.get("screen") or {}).get("name") == screen.load().name
    }


def oracles_of(labels: Labels, kind: str) -> Mapping[str, pd.Series]:
    """Verdicts of every oracle that decides questions of a kind; a why answer that no judge needed counts for all."""
    of_kind = labels.of_kind(kind).verdicts
    if kind != "why":
        return {RULES_PANEL: of_kind[RULES_PANEL]} if RULES_PANEL in of_kind else {}
    by_rule = of_kind.get(RULES_PANEL)
    found = {}
    for name in of_kind.columns:
        if name != RULES_PANEL and of_kind[name].notna().any():
            found[str(name)] = of_kind[name] if by_rule is None else of_kind[name].fillna(by_rule)
    return found


def _wide(rows: list[tuple[str, str, str]], keys: pd.Index) -> pd.DataFrame:
    long = pd.DataFrame(rows, columns=pd.Index(["key", "who", "outcome"]))
    wide = long.pivot_table(index="key", columns="who", values="outcome", aggfunc="first").reindex(keys)
    return wide.astype(object).where(wide.notna(), None)
