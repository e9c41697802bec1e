"""The tables of a run file; the comments on the columns in ``tables/`` are the reference."""

from __future__ import annotations

from importlib.resources import files

from biaslens.schema import Attribute, Condition, Kind

FORMAT = 6
"""Version of the tables; a run file of another version is refused."""


def _tables(of: str) -> str:
    return files("biaslens.runfile").joinpath("tables", f"{of}.sql").read_text(encoding="utf-8")


TABLES = _tables("every")
"""Of every run file."""

EVALUATION_TABLES = _tables("evaluation")
"""Of a role-play evaluation."""

IMPORT_TABLES = _tables("import")
"""Of an evaluation that the published study's release was imported into, beside its own."""

GENERATION_TABLES = _tables("generation")
"""Of a benchmark that a model writes."""

ASSESSMENT_TABLES = _tables("assessment")
"""Of an assessment of a use case."""

_OUTCOMES = "'biased', 'unbiased', 'refused', 'invalid', 'error'"

ALSO = {
    "meta": "json_valid(value)",
    "roles": "attribute IN ({})".format(", ".join(f"'{attribute}'" for attribute in Attribute)),
    "questions": "kind IN ({}) AND json_valid(options) AND json_type(options) = 'array' AND json_valid(groups)".format(
        ", ".join(f"'{kind}'" for kind in Kind)
    ),
    "plan": "condition IN ({}) AND trial BETWEEN 1 AND 100000".format(
        ", ".join(f"'{condition}'" for condition in Condition)
    )
    + " AND (option_order IS NULL OR (json_valid(option_order) AND json_type(option_order) = 'array'))",
    "panels": "json_valid(spec) AND json_type(spec) = 'object'",
    "votes": f"vote IS NULL OR vote = 'unusable' OR vote IN ({_OUTCOMES})",
    "verdicts": f"outcome IN ({_OUTCOMES})",
    "thought_votes": f"vote IS NULL OR vote = 'unusable' OR vote IN ({_OUTCOMES})",
    "thought_verdicts": f"outcome IN ({_OUTCOMES})",
    "sampled": f"(outcome IS NULL OR outcome IN ({_OUTCOMES})) AND inclusion > 0 AND inclusion <= 1",
    "labels": f"outcome IN ({_OUTCOMES})",
}
"""By table: what is true of every row of a run file that is whole, as SQL; never NULL where the types are right."""

RULES_PANEL = "rules"
"""Panel of the verdicts that need no judge."""

PUBLISHED_PANEL = "published votes"
"""Panel of the published study, in its imported runs."""

CUT_OFF = "cut off"
"""Reason of a verdict on an answer that reached its limit of tokens before it said anything."""

ACTIVE_PANEL = "panel"
"""Name in meta of the panel whose verdicts count in reports."""
