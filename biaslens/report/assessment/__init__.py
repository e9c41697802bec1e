"""An assessment of one's own use case for people: a table, files, and a page."""

from biaslens.report.assessment.files import write_assessment
from biaslens.report.assessment.scores import score_files
from biaslens.report.assessment.table import print_assessment

__all__ = ["print_assessment", "score_files", "write_assessment"]
