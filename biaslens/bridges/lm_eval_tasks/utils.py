"""What the task files of this folder call."""

from biaslens.bridges.lm_eval import dataset, process_results

__all__ = ["dataset", "process_results"]
