"""The answers of a run that people can label, by stratum."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from biaslens.annotation.folder import Item
from biaslens.engine import Store
from biaslens.evaluation.plan import shown_options
from biaslens.evaluation.tables import RULES_PANEL
from biaslens.schema import Condition, Kind

SURE = 0.95
"""From which probability on, that an answer is biased or that it is not, the local judge counts as sure."""

# In the order of the key the tables are read side by side.
_RESPONSES = f"""
SELECT plan.key, questions.kind, plan.condition, roles.attribute, verdicts.outcome, screened.probability,
       CASE WHEN answers.key IS NULL THEN 'not answered'
            WHEN trim(answers.text, char(9, 10, 13, 32)) = '' THEN 'empty'
            WHEN verdicts.outcome IS NULL THEN 'not judged'
       END
FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) LEFT JOIN answers USING (key)
LEFT JOIN verdicts ON verdicts.response_key = plan.key AND verdicts.panel IN ('{RULES_PANEL}', ?)
LEFT JOIN screened ON screened.response_key = plan.key
ORDER BY plan.key
"""

_ITEM = """
SELECT questions.kind, roles.attribute, roles.name, roles.persona, plan.condition, questions.text, questions.options,
       plan.option_order, answers.text
FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) JOIN answers USING (key) WHERE plan.key = ?
"""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Answers that are drawn from with equal chances.

    Parameters
    ----------
    kind, condition, attribute
        What was asked of whom.
    outcome
        By the oracle.
    certainty
        Of the local judge: "sure", "unsure", or "" for what it has not read.
    keys
        Of the responses, ascending.
    """

    kind: Kind
    condition: Condition
    attribute: str
    outcome: str
    certainty: str
    keys: Sequence[str]

    @property
    def name(self) -> str:
        """What distinguishes it: "why/role/age/biased/unsure"."""
        return "/".join(filter(None, (self.kind, self.condition, self.attribute, self.outcome, self.certainty)))


@dataclass(frozen=True, slots=True)
class Population:
    """What a sample is drawn from.

    Parameters
    ----------
    strata
        By kind, where there is any answer, in the order of their names.
    left_out
        By kind: planned answers that nobody can label, because they are "not answered", "empty" or "not judged".
    """

    strata: Mapping[Kind, Sequence[Stratum]]
    left_out: Mapping[Kind, Mapping[str, int]]

    @property
    def sizes(self) -> dict[Kind, int]:
        """Answers of each kind."""
        return {kind: sum(len(stratum.keys) for stratum in strata) for kind, strata in self.strata.items()}


def read_population(
    store: Store, panel: str, *, kinds: Collection[Kind], conditions: Collection[Condition]
) -> Population:
    """Read which answers there are, judged by the rules and by a panel."""
    found: dict[tuple[str, str, str, str, str], list[str]] = defaultdict(list)
    left_out: dict[Kind, Counter[str]] = defaultdict(Counter)
    wanted = {(str(kind), str(condition)) for kind in kinds for condition in conditions}
    for key, kind, condition, attribute, outcome, probability, fault in store.connection.execute(_RESPONSES, (panel,)):
        if (kind, condition) not in wanted:
            continue
        if fault is not None:
            left_out[Kind(kind)][fault] += 1
        else:
            found[kind, condition, attribute, outcome, _certainty(kind, probability)].append(key)
    strata = [
        Stratum(Kind(kind), Condition(condition), attribute, outcome, certainty, keys)
        for (kind, condition, attribute, outcome, certainty), keys in sorted(found.items())
    ]
    by_kind = {kind: [stratum for stratum in strata if stratum.kind is kind] for kind in Kind}
    return Population(
        {kind: of_kind for kind, of_kind in by_kind.items() if of_kind},
        {kind: dict(sorted(left_out[kind].items())) for kind in Kind if kind in left_out},
    )


def _certainty(kind: str, probability: float | None) -> str:
    if kind != Kind.WHY or probability is None:
        return ""
    return "sure" if probability >= SURE or 1 - probability >= SURE else "unsure"


def read_item(store: Store, key: str) -> Item:
    """Read an answer as it is shown to annotators."""
    row = store.connection.execute(_ITEM, (key,)).fetchone()
    kind, attribute, role, persona, condition, question, options, order, answer = row
    return Item(key, kind, attribute, role, persona, condition, question, tuple(shown_options(options, order)), answer)
