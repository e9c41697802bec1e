"""What runs say: arrays read from run files, and the numbers computed from them."""

from biaslens.analysis.ablation import ablation, ablation_by_role
from biaslens.analysis.abstention import abstention
from biaslens.analysis.agreement import oracle_agreement, people_agreement
from biaslens.analysis.aligned import distinct_names
from biaslens.analysis.comparable import require_comparable
from biaslens.analysis.comparison import Comparison, compare
from biaslens.analysis.consistency import consistency
from biaslens.analysis.corrected import corrected_rates, corrections
from biaslens.analysis.frame import Questions, Run, Trials, read_run
from biaslens.analysis.info import RunInfo
from biaslens.analysis.judges import judges, ranking_without
from biaslens.analysis.labels import Labels, read_labels
from biaslens.analysis.position import mirrored, option_position
from biaslens.analysis.rates import rates
from biaslens.analysis.summary import Cell, ConditionSummary, Counts, Summary, summarise
from biaslens.analysis.texts import question_texts
from biaslens.analysis.triggers import top_questions, top_roles, trigger_counts

__all__ = [
    "Cell",
    "Comparison",
    "ConditionSummary",
    "Counts",
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
    "judges",
    "mirrored",
    "option_position",
    "oracle_agreement",
    "people_agreement",
    "question_texts",
    "ranking_without",
    "rates",
    "read_labels",
    "read_run",
    "require_comparable",
    "summarise",
    "top_questions",
    "top_roles",
    "trigger_counts",
]
