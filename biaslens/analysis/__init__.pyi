"""What runs say: arrays read from run files, and the numbers computed from them."""

from biaslens.analysis.ablation import ablation, ablation_by_role, mirrored, option_position
from biaslens.analysis.agreement import judges, oracle_agreement, people_agreement, ranking_without
from biaslens.analysis.comparison import (
    Comparison,
    compare,
    distinct_names,
    require_comparable,
    top_questions,
    top_roles,
    trigger_counts,
)
from biaslens.analysis.forms import forms, leaning, pair_forms, says_does
from biaslens.analysis.frame import Questions, Run, RunInfo, Trials, question_texts, read_run
from biaslens.analysis.gate import GateCheck, GateDecision, GateResult, gate
from biaslens.analysis.labels import Labels, corrected_rates, corrections, read_labels
from biaslens.analysis.power import variance
from biaslens.analysis.rates import abstention, consistency, pooled, rates
from biaslens.analysis.summary import Cell, ConditionSummary, Counts, Summary, summarise

__all__ = [
    "Cell",
    "Comparison",
    "ConditionSummary",
    "Counts",
    "GateCheck",
    "GateDecision",
    "GateResult",
    "Labels",
    "Questions",
    "Run",
    "RunInfo",
    "Summary",
    "Trials",
    "ablation",
    "ablation_by_role",
    "abstention",
    "compare",
    "consistency",
    "corrected_rates",
    "corrections",
    "distinct_names",
    "forms",
    "gate",
    "judges",
    "leaning",
    "mirrored",
    "option_position",
    "oracle_agreement",
    "pair_forms",
    "people_agreement",
    "pooled",
    "question_texts",
    "ranking_without",
    "rates",
    "read_labels",
    "read_run",
    "require_comparable",
    "says_does",
    "summarise",
    "top_questions",
    "top_roles",
    "trigger_counts",
    "variance",
]
